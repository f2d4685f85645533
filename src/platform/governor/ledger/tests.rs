//! Tests of the file beside this folder.

use std::sync::Arc;

use super::*;
use crate::platform::call::Repeat;

const CHAT: Call = Call::new("game.chat", Lane::Chat, Repeat::Never);
const MOVE: Call = Call::new("game.move", Lane::Move, Repeat::AfterLook);
const EVENTS: Call = Call::new("event.stream", Lane::StreamOpen, Repeat::Safe);
const GAME: Call = Call::new("game.stream", Lane::StreamOpen, Repeat::Safe).self_paced();
const NOW: u64 = 1_700_000_000_000;

fn limited(wait: Option<u64>) -> Verdict {
    Verdict::Limited {
        key: None,
        wait: wait.map(Duration::from_secs),
        text: String::new(),
    }
}

fn wait_of(ledger: &mut Ledger, call: Call, now_ms: u64) -> Option<Duration> {
    let id = ledger.enqueue(Request::new(Arc::from("a"), call)).unwrap();
    let start = ledger.try_start(id, now_ms);
    ledger.leave(id, call.lane);
    match start {
        Start::Go { .. } => {
            ledger.release(call.lane);
            None
        }
        Start::Wait { held, .. } | Start::Never(held) => held.wait(),
    }
}

#[test]
fn an_unexplained_limit_is_a_minute_and_doubles_on_repeat() {
    let mut ledger = Ledger::new(GovernorConfig::default());
    let mut now = NOW;
    for expected in [60, 120, 240, 480] {
        ledger.note("a", CHAT, &[], (now, now), &limited(None));
        assert_eq!(
            wait_of(&mut ledger, CHAT, now),
            Some(Duration::from_secs(expected))
        );
        now += expected * 1000;
        assert_eq!(wait_of(&mut ledger, CHAT, now), None);
        now += 1;
    }
    ledger.note("a", CHAT, &[], (now, now), &Verdict::Answered);
    ledger.note("a", CHAT, &[], (now, now), &limited(None));
    assert_eq!(
        wait_of(&mut ledger, CHAT, now),
        Some(Duration::from_secs(60)),
        "a success ends the row"
    );
}

#[test]
fn requests_of_the_same_burst_count_as_one_limit() {
    let mut ledger = Ledger::new(GovernorConfig::default());
    for delay in 0..5 {
        ledger.note("a", CHAT, &[], (NOW - 10, NOW + delay), &limited(None));
    }
    let wait = wait_of(&mut ledger, CHAT, NOW + 5).unwrap();
    assert!(wait <= Duration::from_secs(60), "{wait:?}");
}

#[test]
fn successful_moves_do_not_end_a_row_of_limits() {
    let mut ledger = Ledger::new(GovernorConfig::default());
    ledger.note("a", CHAT, &[], (NOW, NOW), &limited(None));
    ledger.note(
        "a",
        MOVE,
        &[],
        (NOW + 61_000, NOW + 61_000),
        &Verdict::Answered,
    );
    ledger.note("a", CHAT, &[], (NOW + 62_000, NOW + 62_000), &limited(None));
    assert_eq!(
        wait_of(&mut ledger, CHAT, NOW + 62_000),
        Some(Duration::from_secs(120))
    );
}

#[test]
fn a_limited_event_stream_leaves_game_streams_and_moves_alone() {
    let mut ledger = Ledger::new(GovernorConfig::default());
    ledger.note("a", EVENTS, &[], (NOW, NOW), &limited(Some(90)));
    assert_eq!(
        wait_of(&mut ledger, EVENTS, NOW),
        Some(Duration::from_secs(90))
    );
    assert_eq!(wait_of(&mut ledger, GAME, NOW), None);
    assert_eq!(wait_of(&mut ledger, MOVE, NOW), None);
    assert_eq!(
        wait_of(&mut ledger, CHAT, NOW),
        Some(Duration::from_secs(90))
    );
}

#[test]
fn two_rules_of_one_name_both_count() {
    let minute = Duration::from_secs(60);
    let day = Duration::from_secs(86_400);
    let rules = vec![
        BudgetRule::new("credits", BudgetScope::Account, 25, minute),
        BudgetRule::new("credits", BudgetScope::Account, 30, day),
    ];
    let mut ledger = Ledger::new(GovernorConfig {
        rules,
        ..GovernorConfig::default()
    });
    ledger.count("a", "credits", 25, NOW);
    assert_eq!(
        ledger.room("a", "credits", NOW),
        Room {
            left: 0,
            free_in: minute
        }
    );
    assert_eq!(ledger.room("a", "credits", NOW + 60_000).left, 5);
    ledger.count("a", "credits", 5, NOW + 60_000);
    let room = ledger.room("a", "credits", NOW + 120_000);
    assert_eq!(
        room,
        Room {
            left: 0,
            free_in: day - Duration::from_secs(120)
        }
    );
}

#[test]
fn a_wall_clock_that_went_back_does_not_lengthen_a_limit() {
    let mut ledger = Ledger::new(GovernorConfig::default());
    ledger.note("a", CHAT, &[], (NOW, NOW), &limited(Some(100)));
    let snapshot = ledger.snapshot(NOW + 10_000);
    let mut restored = Ledger::new(GovernorConfig::default());
    let yesterday = NOW - 86_400_000;
    restored.restore(&snapshot, yesterday);
    assert_eq!(
        wait_of(&mut restored, CHAT, yesterday),
        Some(Duration::from_secs(90))
    );
}
