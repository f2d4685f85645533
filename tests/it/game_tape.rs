//! Tapes: a recorded game replays to the same decisions, and a changed decision shows.

use std::time::Duration;

use seneschal::game::tape::{TapeError, TapeLine, replay};
use seneschal::game::{GameSession, Input, Moment};

use crate::game_script::{lichess, parse_input, quiet, terms};

/// Plays a script and writes the tape of it.
fn record(script: &[(u64, &str)]) -> Vec<String> {
    let mut policy = quiet();
    policy.chat.enabled = true;
    policy.resign.enabled = true;
    let terms = terms(policy, lichess());
    let mut lines = vec![TapeLine::head(&terms).to_json()];
    let mut session = GameSession::new(terms);
    let mut start = None;
    for (ms, text) in script {
        let now = Moment::after_start(Duration::from_millis(*ms));
        let input: Input = parse_input(text, now, &session, &mut start);
        lines.push(TapeLine::input(&input, now).to_json());
        for action in session.step(input, now) {
            lines.push(TapeLine::Out(action.to_string()).to_json());
        }
    }
    lines
}

fn game() -> Vec<String> {
    record(&[
        (0, "full white crazyhouse960 180+2 :"),
        (5, "overhead 130"),
        (900, "report #1 e2e4 cp 31"),
        (950, "state e2e4"),
        (2_000, "state e2e4 e7e5 | w=179000 b=178000 takeback=black"),
        (2_100, "state | w=179000 b=178000"),
        (2_500, "report #3 d2d4 mate -2"),
        (2_600, "unanswered play 0"),
        (2_700, "full : | w=177000"),
        (3_000, "chat them players !queue"),
        (8_000, "tick"),
        (9_000, "fails #9"),
        (9_500, "state d2d4 | over=1-0,resign"),
    ])
}

#[test]
fn a_tape_replays_to_the_same_decisions() {
    let tape = game();
    let found = replay(tape.iter().map(String::as_str)).expect("a good tape");
    assert_eq!(found.differences, []);
    assert_eq!(found.inputs, 13);
    let outs = tape.iter().filter(|line| line.contains("\"out\"")).count();
    assert_eq!(found.decisions, outs);
    assert!(outs > 12, "the game has decisions to compare: {tape:#?}");
}

#[test]
fn a_tape_that_was_cut_off_is_fine() {
    let tape = game();
    for end in 1..tape.len() {
        let found = replay(tape[..end].iter().map(String::as_str)).expect("a good tape");
        assert_eq!(found.differences, [], "cut after {end} lines");
    }
}

#[test]
fn another_decision_shows_with_its_line() {
    let mut tape = game();
    let at = tape
        .iter()
        .position(|line| line.contains("send play e2e4"))
        .expect("the first move");
    tape[at] = tape[at].replace("e2e4", "e2e3");
    let found = replay(tape.iter().map(String::as_str)).expect("a good tape");
    let [(line, old, new)] = found.differences.as_slice() else {
        panic!("{:?}", found.differences);
    };
    assert_eq!(*line, at + 1);
    assert!(old.contains("e2e3") && new.contains("e2e4"));
}

#[test]
fn what_is_no_tape_is_refused() {
    assert!(matches!(replay([]), Err(TapeError::Head)));
    assert!(matches!(
        replay(["{}"]),
        Err(TapeError::Syntax { line: 1, .. })
    ));
    let tape = game();
    assert!(matches!(replay([tape[1].as_str()]), Err(TapeError::Head)));
    let newer = tape[0].replace("\"version\":1", "\"version\":2");
    assert!(matches!(replay([newer.as_str()]), Err(TapeError::Head)));
}
