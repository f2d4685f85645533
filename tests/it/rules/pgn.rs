//! The reader and the writer of games, in the cases that files of real servers bring.

use std::time::Duration;

use seneschal::rules::notation::pgn::Evaluation;
use seneschal::rules::notation::{PgnError, PgnFault, PgnGame, PgnMove, PgnReader};
use seneschal::rules::{Adjudication, CastlingMode, Color, History, Outcome, Position, Variant};

fn read(text: &str) -> Vec<Result<PgnGame, PgnError>> {
    PgnReader::new(text.as_bytes()).collect()
}

fn read_one(text: &str) -> PgnGame {
    let mut games = read(text);
    assert_eq!(games.len(), 1, "{text}");
    games
        .pop()
        .unwrap()
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn line(game: &PgnGame) -> String {
    let mut position = game.start.clone();
    let mut text = Vec::new();
    for step in &game.moves {
        text.push(position.san(step.played));
        position.play(step.played).unwrap();
    }
    text.join(" ")
}

#[test]
fn annotations_are_kept_and_variations_skipped() {
    let game = read_one(
        "[Event \"x\"]\n\n{before} 1. e4 {[%eval 0.3] [%clk 0:01:00] best} $1 e5 (1... c5 {a ) in it} 2. Nf3 (2. c3 d5) d6) \
         2. Nf3! ; rest of line ( {\nNc6 (2... f5?!)(2... d6) 3. Bb5 $13 $146 a6!? {one} {two}\n% an escaped line 4. Zz9\n4. Ba4 *",
    );
    assert_eq!(line(&game), "e4 e5 Nf3 Nc6 Bb5 a6 Ba4");
    assert_eq!(game.comment, "before");
    assert_eq!(
        game.moves[0],
        PgnMove {
            played: game.moves[0].played,
            clock: Some(Duration::from_secs(60)),
            evaluation: Some(Evaluation::Centipawns(30)),
            nags: vec![1],
            comment: "best".to_owned(),
        }
    );
    assert_eq!(game.moves[2].nags, [1]);
    assert_eq!(game.moves[2].comment, "rest of line ( {");
    assert_eq!(game.moves[4].nags, [13, 146]);
    assert_eq!(
        (
            game.moves[5].nags.as_slice(),
            game.moves[5].comment.as_str()
        ),
        (&[5][..], "one two")
    );
    assert_eq!(game.result, None);
}

#[test]
fn forms_of_moves_and_numbers() {
    let game = read_one("1.e4 e5 2 . Nf3 2...Nc6 3.Bc4 Bc5 4. 0-0 Nf6 5. d3 0-0 6.Bg5 h6 1/2");
    assert_eq!(line(&game), "e4 e5 Nf3 Nc6 Bc4 Bc5 O-O Nf6 d3 O-O Bg5 h6");
    assert_eq!(game.result, Some(Outcome::Draw));
    let game = read_one("1. e4 d5 2. e5 f5 3. exf6 e.p. gxf6 4. d4 ! c6 ?? 5. c4");
    assert_eq!(line(&game), "e4 d5 e5 f5 exf6 gxf6 d4 c6 c4");
    assert_eq!(
        (&game.moves[6].nags, &game.moves[7].nags),
        (&vec![1], &vec![4])
    );
}

#[test]
fn drops_and_wide_boards() {
    let game = read_one(
        "[Variant \"crazyhouse\"]\n\n1. e4 d5 2. exd5 Qxd5 3. P@e4 Qe5 4. d4 @d5 5. dxe5 dxe4 6. Q@d8# 1-0",
    );
    assert_eq!(
        line(&game),
        "e4 d5 exd5 Qxd5 P@e4 Qe5 d4 P@d5 dxe5 dxe4 Q@d8#"
    );
    assert_eq!(game.result, Some(Outcome::win(Color::White)));
    let game = read_one("[Variant \"Capablanca\"]\n\n1. Ci3 Ab6 2. f3 *");
    assert_eq!(game.start.variant(), Variant::Capablanca);
    assert_eq!(line(&game), "Ci3 Ab6 f3");
}

#[test]
fn starts_by_tags() {
    let by_tags = |tags: &str| read_one(&format!("{tags}\n*\n")).start;
    let start = by_tags(
        "[Variant \"chess 960\"]\n[SetUp \"1\"]\n[FEN \"nnrbkrbq/pppppppp/8/8/8/8/PPPPPPPP/NNRBKRBQ w FCfc - 0 1\"]\n",
    );
    assert_eq!(
        (start.variant(), start.castling_mode()),
        (Variant::Chess, CastlingMode::Chess960)
    );
    // Without the SetUp tag, and a start that only Chess960 can castle from although the tag does not say so.
    let start = by_tags(
        "[Variant \"From Position\"]\n[FEN \"nnrbkrbq/pppppppp/8/8/8/8/PPPPPPPP/NNRBKRBQ w KQkq - 0 1\"]\n",
    );
    assert_eq!(start.variant(), Variant::Chess);
    assert_eq!(start.to_setup().castling_rooks.iter().flatten().count(), 4);
    let start = by_tags("[FEN \"4k3/8/8/8/8/8/8/RK5R w KQ - 0 1\"]\n");
    assert_eq!(start.castling_mode(), CastlingMode::Chess960);
    let start = by_tags("[Variant \"Gothic\"]\n");
    assert!(start.fen().starts_with("rnbqckabnr/"), "{}", start.fen());
    let start = by_tags("[Variant \"\"]\n");
    assert_eq!(start.fen(), Position::start(Variant::Chess).fen());
}

/// Each way to break a game is named with its line, and the games around it are read.
#[test]
fn broken_games_do_not_harm_their_neighbors() {
    let good = "[Event \"good\"]\n\n1. e4 e5 1-0\n\n";
    for (broken, expected_line) in [
        ("[Event \"illegal\"]\n\n1. e4 e5\n2. Ke3 Nf6 0-1\n\n", 4),
        ("[Event \"unreadable\"]\n\n1. e4 hello 0-1\n\n", 3),
        ("[Event \"tag]\n\n1. e4 0-1\n\n", 1),
        (
            "[Event \"variant\"]\n[Variant \"Bughouse\"]\n\n1. e4 0-1\n\n",
            1,
        ),
        (
            "[Event \"fen\"]\n[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]\n\n1. e4 0-1\n\n",
            1,
        ),
        (
            "[Event \"comment\"]\n\n1. e4 {never closed 1... e5\n2. Nf3 0-1\n\n",
            3,
        ),
        (
            "[Event \"variation\"]\n\n1. e4\n(1. d4 d5 1... e5 0-1\n\n",
            4,
        ),
        ("[Event \"nag\"]\n\n1. e4 $999 e5 0-1\n\n", 3),
        ("[Event \"null move\"]\n\n1. e4 -- 2. d4 0-1\n\n", 3),
    ] {
        let text = format!("{good}{broken}{good}");
        let games = read(&text);
        assert_eq!(games.len(), 3, "{broken}");
        assert_eq!(line(games[0].as_ref().unwrap()), "e4 e5", "{broken}");
        assert_eq!(line(games[2].as_ref().unwrap()), "e4 e5", "{broken}");
        let error = games[1].as_ref().unwrap_err();
        assert_eq!(
            (error.game, error.line),
            (2, 4 + expected_line),
            "{broken}: {error}"
        );
    }
}

#[test]
fn faults_are_typed() {
    let fault = |text: &str| read(text).pop().unwrap().unwrap_err().fault;
    match fault("1. e4 e5 2. Ke3 *") {
        PgnFault::BadMove { number, ply, .. } => assert_eq!((number.as_str(), ply), ("2.", 2)),
        other => panic!("{other}"),
    }
    assert!(
        matches!(fault("[Variant \"xyz\"]\n\n*"), PgnFault::UnknownVariant { name } if name == "xyz")
    );
    assert!(matches!(fault("[FEN \"x\"]\n\n*"), PgnFault::BadStart { fen, .. } if fen == "x"));
    assert!(matches!(fault("1. e4 {"), PgnFault::UnclosedComment));
    assert!(matches!(fault("1. e4 ("), PgnFault::UnclosedVariation));
    assert!(matches!(fault("[a"), PgnFault::BadTag { .. }));
    let error = read("\n\n1. e4 e5 2. Ke3 *").pop().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "game 1, line 3: move 2.: Ke3 is not legal in rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
    );
}

/// Games without tags, without results, behind one another on a line, with other line ends and encodings.
#[test]
fn untidy_files() {
    let games = read(
        "1. e4 e5 1-0 1. d4 d5 0-1\n\n1. c4 *\n[Event \"a\"]\n1. Nf3\n[Event \"b\"]\n\n1. Nc3 ( 1. e4 *",
    );
    assert_eq!(games.len(), 5);
    let first: Vec<String> = games.iter().flatten().map(line).collect();
    assert_eq!(first, ["e4 e5", "d4 d5", "c4", "Nf3"]);
    assert!(matches!(
        games[4].as_ref().unwrap_err().fault,
        PgnFault::UnclosedVariation
    ));
    assert_eq!(read("").len(), 0);
    assert_eq!(read("\n \n%x\n").len(), 0);
    let game = read_one("\u{feff}[Event \"bom\"]\r\n[Site \"s\"]\r\n\r\n1. e4\r\ne5\r\n1-0\r\n");
    assert_eq!(
        (game.tags.get("event"), line(&game).as_str()),
        (Some("bom"), "e4 e5")
    );
    let latin = PgnReader::new(&b"[White \"J\xe4ger\"]\n\n1. e4 {\xfcber} *"[..])
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(
        (latin.tags.get("White"), latin.moves[0].comment.as_str()),
        (Some("J\u{fffd}ger"), "\u{fffd}ber")
    );
    let game = read_one("[A \"1\"] [B \"2\"]\n[C \"a \\\"b\\\" \\\\ c\"]\n\n*");
    assert_eq!(
        (game.tags.get("B"), game.tags.get("C")),
        (Some("2"), Some("a \"b\" \\ c"))
    );
}

/// A line without end is not read into memory, and what follows it is found again.
#[test]
fn endless_lines_are_skipped() {
    let mut text = b"[Event \"long\"]\n\n1. e4 {".to_vec();
    text.resize(text.len() + (5 << 20), b'x');
    text.extend_from_slice(b"} e5 *\n\n} *\n\n[Event \"next\"]\n\n1. d4 *\n");
    let games: Vec<_> = PgnReader::new(text.as_slice()).collect();
    assert!(matches!(
        games[0].as_ref().unwrap_err().fault,
        PgnFault::LineTooLong
    ));
    assert_eq!(line(games.last().unwrap().as_ref().unwrap()), "d4");
}

#[test]
fn a_failing_input_ends_the_reading() {
    struct Failing(u32);
    impl std::io::Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            if self.0 > 1 {
                return Err(std::io::Error::other("cable pulled"));
            }
            let text = b"1. e4 *\n\n1. d4 ";
            buffer[..text.len()].copy_from_slice(text);
            Ok(text.len())
        }
    }
    let games: Vec<_> = PgnReader::new(std::io::BufReader::new(Failing(0))).collect();
    assert_eq!(games.len(), 2);
    assert_eq!(line(games[0].as_ref().unwrap()), "e4");
    assert!(matches!(
        games[1].as_ref().unwrap_err().fault,
        PgnFault::Input(_)
    ));
}

#[test]
fn written_games() {
    let mut history = History::new(Position::start(Variant::Crazyhouse));
    for text in "e2e4 d7d5 e4d5 d8d5 P@e4".split(' ') {
        let m = history.position().parse_uci(text).unwrap();
        history.play(m).unwrap();
    }
    let mut game = PgnGame::from_history(&history, None);
    game.tags.set("White", "A \"B\" \\ C");
    game.moves[1].comment = "not {so} good".to_owned();
    game.moves[1].nags = vec![2];
    game.moves[2].clock = Some(Duration::from_millis(3_723_500));
    game.moves[2].evaluation = Some(Evaluation::Mate(-3));
    let expected = "[Event \"?\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"?\"]\n[White \"A \\\"B\\\" \\\\ C\"]\n[Black \"?\"]\n\
                    [Result \"*\"]\n[Variant \"Crazyhouse\"]\n\n\
                    1. e4 d5 $2 {not (so) good} 2. exd5 {[%eval #-3] [%clk 1:02:03.5]} 2... Qxd5\n3. P@e4 *\n\n";
    assert_eq!(game.to_string(), expected);
    let start = Position::from_fen(
        Variant::Chess,
        CastlingMode::Standard,
        "4k3/8/8/8/8/8/4P3/4K3 b - - 3 17",
    )
    .unwrap();
    let mut history = History::new(start);
    let m = history.position().parse_uci("e8e7").unwrap();
    history.play(m).unwrap();
    let verdict = Adjudication::SEED.flag(history.position(), Color::Black);
    let text = PgnGame::from_history(&history, Some(verdict.outcome)).to_string();
    assert!(
        text.contains(
            "[SetUp \"1\"]\n[FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 3 17\"]\n\n17... Ke7 1-0\n"
        ),
        "{text}"
    );
}
