//! Books: their text, their values, their growth, and when they are played from.

use super::grow::{Growth, grow};
use super::*;
use crate::engine::limits::{ClockLimits, SearchLimits};
use crate::engine::material::MaterialSearcher;
use crate::engine::network::Networks;
use crate::engine::report::ReportOrigin;
use crate::engine::search::AlphaBeta;
use crate::engine::searcher::Searcher;
use crate::engine::stop::StopFlag;
use crate::engine::transposition::Table;
use crate::rules::{CastlingMode, History};
use std::collections::BTreeSet;
use std::time::Duration;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq -";
const AFTER_E4: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR[] b KQkq -";

fn book(lines: &[String]) -> Result<Book, BookError> {
    let text = format!("seneschal book 1 crazyhouse\n{}\n", lines.join("\n"));
    Book::from_text("test", &text)
}

fn start() -> Position {
    Position::start(Variant::Crazyhouse)
}

fn clocks() -> SearchLimits {
    SearchLimits {
        clock: Some(ClockLimits {
            remaining: Duration::from_secs(60),
            ..ClockLimits::default()
        }),
        ..SearchLimits::default()
    }
}

#[test]
fn every_embedded_book_can_be_read_and_leads_to_many_openings() {
    for text in TEXTS {
        let book = Book::from_text("embedded", text).expect("it can be read");
        assert!(book.len() >= 200, "{:?}: {}", book.variant(), book.len());
        assert!(text.len() <= 1 << 20, "{:?}", book.variant());
        let mut random = SplitMix64::new(7);
        let openings: BTreeSet<String> = (0..300)
            .map(|_| {
                let mut at = Position::start(book.variant());
                let mut played = String::new();
                while let Some(m) = book.choose(&at, &mut random) {
                    played += &at.uci(m);
                    at.play(m).expect("moves of a book are legal");
                }
                played
            })
            .collect();
        assert!(
            openings.len() >= 30,
            "{:?}: {}",
            book.variant(),
            openings.len()
        );
    }
}

#[test]
fn what_is_known_of_later_positions_counts_for_earlier_ones() {
    // At the start e2e4 looks best, but the answer e7e5 is known to refute it.
    let book = book(&[
        format!("{START}; e2e4 60; d2d4 40; g1f3 30"),
        String::new(),
        "# a remark".to_owned(),
        format!("{AFTER_E4}; e7e5 20; c7c5 -70"),
    ])
    .expect("a book");
    assert_eq!(book.len(), 2);
    let values: Vec<i32> = book
        .get(&start())
        .expect("known")
        .iter()
        .map(|c| c.value)
        .collect();
    assert_eq!(values, [-20, 40, 30]);
    let mut random = SplitMix64::new(1);
    let chosen: BTreeSet<String> = (0..100)
        .filter_map(|_| book.choose(&start(), &mut random))
        .map(|m| start().uci(m))
        .collect();
    assert_eq!(
        chosen,
        BTreeSet::from(["d2d4".to_owned(), "g1f3".to_owned()])
    );
}

/// Four positions in a circle of knights going out and home, each with a move that leads out of it and has this score.
fn circle(outs: [i32; 4]) -> Book {
    let ranks = |knights: [&str; 2]| {
        let [black, white] = knights;
        format!(
            "{black}/pppppppp/{}/8/8/{}/PPPPPPPP/{white}",
            out(black, 'n'),
            out(white, 'N')
        )
    };
    let [home, away] = [["rnbqkbnr", "RNBQKBNR"], ["rnbqkb1r", "RNBQKB1R"]];
    let lines = [
        format!("{}[] w KQkq -; g1f3 10; e2e4 {}", ranks(home), outs[0]),
        format!(
            "{}[] b KQkq -; g8f6 20; e7e5 {}",
            ranks([home[0], away[1]]),
            outs[1]
        ),
        format!("{}[] w KQkq -; f3g1 40; e2e3 {}", ranks(away), outs[2]),
        format!(
            "{}[] b KQkq -; f6g8 15; d7d5 {}",
            ranks([away[0], home[1]]),
            outs[3]
        ),
    ];
    book(&lines).expect("a book")
}

#[test]
fn moves_that_go_round_in_a_circle_come_to_the_same_values_every_time() {
    // Nobody gains by going round: Black leaves at the second move, which is worth 5 to White, and e2e4 is better.
    let left = circle([30, -5, 25, 0]);
    let values = left.get(&start()).expect("known").iter().map(|c| c.value);
    assert_eq!(values.collect::<Vec<_>>(), [5, 30]);
    // Everybody goes round for ever, so that no value is the right one; but it is the same whatever the order of the map.
    let round = circle([-400; 4]);
    for _ in 0..20 {
        assert_eq!(circle([-400; 4]), round);
    }
}

/// The rank with a knight that has left its home, if it has.
fn out(home: &str, knight: char) -> String {
    if home.contains('1') {
        format!("5{knight}2")
    } else {
        "8".to_owned()
    }
}

#[test]
fn impossible_lines_are_refused_with_place_and_reason() {
    for (line, problem) in [
        ("nonsense; e2e4 5".to_owned(), "nonsense"),
        (format!("{START}; e2e5 5"), "e2e5"),
        (format!("{START}; e2e4"), "no score"),
        (format!("{START}; e2e4 much"), "much"),
        (format!("{START}; e2e4 9999"), "9999"),
        (START.to_owned(), "no move"),
    ] {
        let error = book(&["# first".to_owned(), line])
            .expect_err("refused")
            .to_string();
        assert!(error.contains("test, line 3"), "{error}");
        assert!(error.contains(problem), "{error} without {problem}");
    }
    for text in [
        "",
        "seneschal book 2 crazyhouse",
        "seneschal book 1 xiangqi",
    ] {
        assert!(
            matches!(Book::from_text("test", text), Err(BookError::Header { .. })),
            "{text}"
        );
    }
    assert!(matches!(
        Books::parse("/nonexistent/book"),
        Err(BookError::File { .. })
    ));
}

#[test]
fn books_are_the_programs_own_unless_replaced_or_switched_off() {
    let own = Books::parse("<embedded>").expect("no file");
    assert!(own.get(Variant::Crazyhouse).is_some() && !own.is_none());
    assert!(own.get(Variant::Atomic).is_none());
    let none = Books::parse("<none>").expect("no file");
    assert!(none.is_none() && none.get(Variant::Crazyhouse).is_none());
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = format!("{}\n{START}; a2a3 0\n", Book::header(Variant::Crazyhouse));
    std::fs::write(file.path(), text).expect("written");
    let books = Books::parse(file.path().to_str().expect("a plain name")).expect("a book");
    assert_eq!(
        books.get(Variant::Crazyhouse).map(|book| book.len()),
        Some(1)
    );
    assert_eq!(books.get(Variant::Capablanca), own.get(Variant::Capablanca));
}

#[test]
fn only_moves_of_games_come_from_the_book() {
    let book = book(&[format!("{START}; a2a3 0")]).expect("a book");
    let books = Books::none().with(Arc::new(book));
    let searcher = Box::new(MaterialSearcher::default());
    let mut player = BookPlayer::with_seed(books, searcher, 3);
    let history = History::new(start());
    let mut origin = |history: &History, limits: &SearchLimits| {
        player
            .search(history, limits, &StopFlag::new(), &mut |_| {})
            .origin
    };
    assert_eq!(origin(&history, &clocks()), ReportOrigin::Book);
    assert!(!ReportOrigin::Book.has_score());
    for limits in [
        SearchLimits::nodes(100),
        SearchLimits {
            ponder: true,
            nodes: Some(100),
            ..clocks()
        },
        SearchLimits {
            multi_pv: 2,
            nodes: Some(100),
            ..clocks()
        },
        SearchLimits {
            search_moves: vec![start().legal_moves()[3]],
            nodes: Some(100),
            ..clocks()
        },
    ] {
        assert_eq!(
            origin(&history, &limits),
            ReportOrigin::Search,
            "{limits:?}"
        );
    }
    let mut again = History::new(start());
    for text in ["g1f3", "g8f6", "f3g1", "f6g8"] {
        let m = again.position().parse_uci(text).expect("legal");
        again.play(m).expect("legal");
    }
    let limits = SearchLimits {
        nodes: Some(100),
        ..clocks()
    };
    assert_eq!(origin(&again, &limits), ReportOrigin::Search);
}

/// By the hand-written evaluation, so that no new net changes what the books hold.
fn searcher() -> AlphaBeta {
    AlphaBeta::new(Arc::new(Table::new(1 << 20)), 1).with_networks(Networks::none())
}

#[test]
fn a_book_grows_to_its_size_and_goes_on_after_half_a_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("zh.txt");
    let growth = |positions| Growth {
        variant: Variant::Crazyhouse,
        positions,
        nodes: 300,
        lines: 3,
        margin: 200,
        ply_cost: 10,
    };
    let run = |positions| {
        let mut searcher = searcher();
        grow(
            &growth(positions),
            &path,
            &mut searcher,
            &StopFlag::new(),
            &mut |_| {},
        )
    };
    assert_eq!(run(8).expect("it grows").len(), 8);
    let text = std::fs::read_to_string(&path).expect("a file");
    std::fs::write(&path, format!("{text}rnbqkb")).expect("written");
    let book = run(12).expect("it goes on");
    assert_eq!(book.len(), 12);
    assert_eq!(Book::load(&path).expect("it can be read"), book);
    let grown = std::fs::read_to_string(&path).expect("a file");
    assert!(grown.starts_with(&text), "what was known stays");
    assert_eq!(book.get(&start()).map(<[_]>::len), Some(3));
    let other = Growth {
        variant: Variant::Capablanca,
        ..growth(5)
    };
    let mut searcher = searcher();
    let refused = grow(&other, &path, &mut searcher, &StopFlag::new(), &mut |_| {});
    assert!(matches!(refused, Err(BookError::OtherVariant { .. })));
}

#[test]
fn positions_of_chess960_are_not_looked_up() {
    let book = book(&[format!("{START}; a2a3 0")]).expect("a book");
    let mut player = BookPlayer::with_seed(
        Books::none().with(Arc::new(book)),
        Box::new(MaterialSearcher::default()),
        3,
    );
    let fen = format!("{START} 0 1");
    let free =
        Position::from_fen(Variant::Crazyhouse, CastlingMode::Chess960, &fen).expect("legal");
    let limits = SearchLimits {
        nodes: Some(100),
        ..clocks()
    };
    let report = player.search(&History::new(free), &limits, &StopFlag::new(), &mut |_| {});
    assert_eq!(report.origin, ReportOrigin::Search);
}
