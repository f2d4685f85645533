//! Every recorded ending, under the rules of the house and of each server.

use seneschal::rules::{Adjudication, EndReason, History, Outcome};

use seneschal::rules::Position;
use seneschal::rules::notation::epd;

use super::{data, position_of, variant_of};

#[derive(Default)]
struct Case {
    label: String,
    variant: String,
    from: String,
    moves: String,
    to: String,
    legal: usize,
    check: bool,
    seed: String,
    others: Vec<(String, String)>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in data("endings.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once(' ').unwrap();
        let value = value.to_owned();
        if key == "case" {
            cases.push(Case::default());
        }
        let case = cases.last_mut().unwrap();
        match key {
            "case" => case.label = value,
            "variant" => case.variant = value,
            "from" => case.from = value,
            "moves" => case.moves = value,
            "to" => case.to = value,
            "legal" => {
                let (legal, check) = value.split_once(", check ").unwrap();
                case.legal = legal.parse().unwrap();
                case.check = check == "yes";
            }
            "seed" => case.seed = value,
            _ => case.others.push((key.to_owned(), value)),
        }
    }
    cases
}

fn history_of(case: &Case) -> History {
    let (variant, mode) = variant_of(&case.variant);
    // One of the cases is a position that no game reaches, with the side not to move in check.
    let start: Position = epd::read_position(variant, mode, &case.from).unwrap();
    let mut history = History::new(start);
    for text in case.moves.split_whitespace() {
        let m = history
            .position()
            .parse_uci(text)
            .unwrap_or_else(|error| panic!("{}: {error}", case.label));
        history.play(m).unwrap();
    }
    history
}

/// The verdict as the data file writes it.
fn verdict(adjudication: &Adjudication, history: &History) -> String {
    let verdict = adjudication.verdict(history);
    match verdict.ending {
        Some(ending) => {
            assert!(
                verdict.claims.is_empty(),
                "a game that is over leaves nothing to claim"
            );
            format!("{} {}", ending.outcome, ending.reason.code())
        }
        None if verdict.claims.is_empty() => "on".to_owned(),
        None => {
            let claims: Vec<&str> = verdict.claims.iter().map(|claim| claim.code()).collect();
            format!("on, claims {}", claims.join(" "))
        }
    }
}

#[test]
fn recorded_endings_on_every_server() {
    let cases = cases();
    assert_eq!(cases.len(), 84, "the file has lost cases");
    for case in cases {
        let history = history_of(&case);
        let position = history.position();
        assert_eq!(position.fen(), case.to, "{}", case.label);
        assert_eq!(position.legal_moves().len(), case.legal, "{}", case.label);
        // The horde's king, and kings that are ordinary pieces, are never in check.
        assert_eq!(position.in_check(), case.check, "{}", case.label);
        for adjudication in Adjudication::ALL {
            let expected = case
                .others
                .iter()
                .find(|(name, _)| name == adjudication.name)
                .map_or(&case.seed, |(_, ending)| ending);
            assert_eq!(
                verdict(&adjudication, &history),
                *expected,
                "{} ({})",
                case.label,
                adjudication.name
            );
        }
    }
}

/// Six hundred half-moves draw and say so, whichever way the number was reached; the parameter can be another one.
#[test]
fn the_length_limit_is_a_parameter() {
    let mut history = History::new(position_of(
        "crazyhouse",
        "4k3/8/8/8/8/8/8/4K3[Qq] w - - 0 299",
    ));
    let mut short = Adjudication::SEED;
    short.limit.as_mut().unwrap().plies = 597;
    for text in ["Q@a1", "Q@h8", "a1b1"] {
        assert_eq!(verdict(&Adjudication::SEED, &history), "on");
        let m = history.position().parse_uci(text).unwrap();
        history.play(m).unwrap();
        assert_eq!(verdict(&short, &history), "1/2-1/2 max_moves");
    }
    let m = history.position().parse_uci("h8g8").unwrap();
    history.play(m).unwrap();
    assert_eq!(history.position().ply(), 600);
    let ending = Adjudication::SEED.verdict(&history).ending.unwrap();
    assert_eq!(ending.reason, EndReason::MoveLimit);
    assert_eq!(
        ending.reason.words(),
        "the game reached its greatest length"
    );
}

/// Capablanca games have fifty moves and no limit of their own in the rules of the house.
#[test]
fn the_limit_is_for_games_with_drops() {
    let history = History::new(position_of(
        "capablanca",
        "5k4/10/10/10/10/10/4R5/4K5 w - - 20 301",
    ));
    assert_eq!(verdict(&Adjudication::SEED, &history), "on");
    assert_eq!(
        verdict(&Adjudication::LICHESS, &history),
        "1/2-1/2 max_moves"
    );
}

/// On Lichess a third occurrence that a drop brought about is only claimed, until a board move brings about another one;
/// where the third does not draw, the fifth does.
#[test]
fn occurrences_by_drops() {
    let case = cases()
        .into_iter()
        .find(|case| case.label == "zh-endless-drop-capture-loop")
        .unwrap();
    let mut history = history_of(&case);
    assert_eq!(
        verdict(&Adjudication::LICHESS, &history),
        "on, claims threefold"
    );
    let mut patient = Adjudication::LICHESS;
    patient.repetition.third_draws = false;
    let cycle = "Q@e1 f1h1 e1h1 R@f1 Q@e1 f1h1 e1h1 Q@f1 R@e1 f1h1 e1h1 Q@f1";
    for (index, text) in cycle.split(' ').cycle().enumerate().take(48) {
        let m = history.position().parse_uci(text).unwrap();
        history.play(m).unwrap();
        if !m.is_drop() {
            // A capture that repeats a position is no drop.
            let ending = Adjudication::LICHESS.verdict(&history).ending.unwrap();
            assert_eq!(ending.outcome, Outcome::Draw);
        }
        let fifth = history.repetitions() >= 5;
        let expected = if fifth {
            "1/2-1/2 fivefold"
        } else {
            "on, claims threefold"
        };
        assert_eq!(verdict(&patient, &history), expected);
        assert!(index < 24 || fifth);
    }
    assert_eq!(verdict(&Adjudication::FICS, &history), "on");
}

/// Whoever runs out of time loses, unless the other side could never win.
#[test]
fn flags() {
    use seneschal::rules::Color::{Black, White};
    for (variant, fen, flagged, seed, pychess, fics) in [
        (
            "chess",
            "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
            Black,
            "1-0",
            "1-0",
            "1-0",
        ),
        (
            "chess",
            "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
            White,
            "1/2-1/2",
            "1/2-1/2",
            "1/2-1/2",
        ),
        // A knight cannot mate with only a queen to help it.
        (
            "chess",
            "4k3/8/8/8/8/8/4N3/q3K3 w - - 0 1",
            Black,
            "1/2-1/2",
            "1-0",
            "1/2-1/2",
        ),
        (
            "chess",
            "4k3/7p/8/8/8/8/4N3/4K3 w - - 0 1",
            Black,
            "1-0",
            "1-0",
            "1/2-1/2",
        ),
        (
            "capablanca",
            "4k5/10/10/10/10/10/4A5/4K5 w - - 0 1",
            Black,
            "1-0",
            "1-0",
            "1-0",
        ),
        (
            "capablanca",
            "6k3/10/10/10/10/10/4C5/4K5 w - - 0 1",
            Black,
            "1-0",
            "1-0",
            "1-0",
        ),
        (
            "crazyhouse",
            "4k3/8/8/8/8/8/8/4K3[] w - - 0 1",
            White,
            "0-1",
            "0-1",
            "0-1",
        ),
        (
            "capahouse",
            "4k5/10/10/10/10/10/10/4K5[] w - - 0 1",
            Black,
            "1-0",
            "1-0",
            "1-0",
        ),
        (
            "3check",
            "4k3/8/8/8/8/8/4N3/4K3 w - - 1+1 0 1",
            Black,
            "1-0",
            "1-0",
            "1-0",
        ),
        (
            "3check",
            "4k3/8/8/8/8/8/4N3/4K3 w - - 1+1 0 1",
            White,
            "1/2-1/2",
            "1/2-1/2",
            "1/2-1/2",
        ),
        (
            "kingofthehill",
            "4k3/8/8/8/8/8/8/4K3 w - - 0 1",
            White,
            "0-1",
            "0-1",
            "0-1",
        ),
        (
            "racingkings",
            "8/8/8/8/8/8/k6K/8 w - - 0 1",
            White,
            "0-1",
            "0-1",
            "0-1",
        ),
        (
            "atomic",
            "4k3/8/8/8/8/8/4R3/4K3 b - - 0 1",
            Black,
            "1/2-1/2",
            "1-0",
            "1/2-1/2",
        ),
    ] {
        let position = position_of(variant, fen);
        let on =
            |adjudication: Adjudication| adjudication.flag(&position, flagged).outcome.result();
        assert_eq!(on(Adjudication::SEED), seed, "{variant} {fen}");
        assert_eq!(on(Adjudication::LICHESS), seed, "{variant} {fen}");
        assert_eq!(on(Adjudication::PYCHESS), pychess, "{variant} {fen}");
        assert_eq!(on(Adjudication::FICS), fics, "{variant} {fen}");
        let ending = Adjudication::SEED.flag(&position, flagged);
        let expected = match ending.outcome {
            Outcome::Draw => EndReason::TimeoutWithoutMatingMaterial,
            Outcome::Decisive { .. } => EndReason::TimeForfeit,
        };
        assert_eq!(ending.reason, expected);
    }
}

/// Bishops that never meet, with or without pawns that never move, end antichess.
#[test]
fn antichess_fortresses() {
    for (fen, expected) in [
        ("8/8/8/2b5/8/8/5B2/8 w - - 0 1", "on"),
        ("8/8/8/3b4/8/8/5B2/8 w - - 0 1", "1/2-1/2 opposite_bishops"),
        ("8/8/8/3bp3/4P3/8/5B2/8 w - - 0 1", "on"),
        ("8/8/8/2bpp3/3PP3/8/6B1/8 w - - 0 1", "on"),
        (
            "8/8/8/2b1p3/4P3/8/6B1/8 w - - 0 1",
            "1/2-1/2 opposite_bishops",
        ),
    ] {
        let history = History::new(position_of("antichess", fen));
        assert_eq!(verdict(&Adjudication::LICHESS, &history), expected, "{fen}");
        assert_eq!(verdict(&Adjudication::PYCHESS, &history), "on", "{fen}");
    }
}

/// Taking back removes the keys too, so what was repeated only in the moves taken back is new again.
#[test]
fn truncation_forgets_repetitions() {
    let mut history = History::new(position_of(
        "chess",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    ));
    for text in "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8".split(' ') {
        let m = history.position().parse_uci(text).unwrap();
        history.play(m).unwrap();
    }
    assert_eq!(history.repetitions(), 3);
    let reached = history.position_at(5).unwrap().fen();
    history.truncate(5);
    assert_eq!((history.moves().len(), history.keys().len()), (5, 6));
    assert_eq!(history.position().fen(), reached);
    assert_eq!(history.repetitions(), 2);
    history.truncate(9);
    assert_eq!(history.moves().len(), 5);
    assert!(history.position_at(6).is_none());
}
