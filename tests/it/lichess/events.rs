//! The event stream: openings, evictions, silence, cuts, what a new stream repeats.

use std::time::Duration;

use seneschal::game::GameId;
use seneschal::lobby::{ChallengeDirection, ChallengeId};
use seneschal::platform::AccountEvent;
use seneschal::platform::lichess::{LichessConfig, Timing};
use seneschal::rules::Variant;

use crate::lichess::fake::{Fake, FakeGame, Send, incoming_challenge, outgoing_challenge};
use crate::lichess::rig::{Player, Rig, config, timing};
use crate::lichess::{challenge_event, challenged};

#[tokio::test]
async fn point_05_one_event_stream_and_three_openings_a_minute_under_eviction() {
    let mut rig = Rig::online().await;
    let words = {
        let mut words = Vec::new();
        for _ in 0..3 {
            rig.fake
                .until_count("GET", "/api/stream/event", words.len() + 1)
                .await;
            rig.fake.send_event(Send::End);
            let lost = rig.find(|event| match event {
                AccountEvent::Offline { words, retry_in } => Some((words, retry_in)),
                _ => None,
            });
            words.push(lost.await);
            if words.len() < 3 {
                rig.reconciled().await;
            }
        }
        words
    };
    assert!(
        words[0].1 <= Duration::from_secs(1),
        "the first return is quick: {words:?}"
    );
    assert!(
        words[2]
            .0
            .contains("another program seems to use this token"),
        "{words:?}"
    );
    assert!(words[2].1 >= Duration::from_secs(60));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(rig.fake.count("GET", "/api/stream/event"), 3);
    assert_eq!(rig.fake.state().most_event_streams, 1);
}

/// A connection that is reset is no eviction, but its openings count all the same: what is told is when the stream comes back.
#[tokio::test]
async fn point_05_the_wait_for_the_allowance_is_told() {
    let mut rig = Rig::online().await;
    let mut told = Vec::new();
    for opening in 1..=3 {
        rig.fake
            .until_count("GET", "/api/stream/event", opening)
            .await;
        rig.fake.send_event(Send::Reset);
        let lost = rig.find(|event| match event {
            AccountEvent::Offline { retry_in, .. } => Some(retry_in),
            _ => None,
        });
        told.push(lost.await);
        if opening < 3 {
            rig.reconciled().await;
        }
    }
    assert!(told[1] <= Duration::from_secs(5), "{told:?}");
    assert!(told[2] > Duration::from_secs(20), "{told:?}");
    assert!(told[2] <= Duration::from_secs(60), "{told:?}");
}

#[tokio::test]
async fn point_06_empty_lines_are_life_and_silence_is_death() {
    let short = LichessConfig {
        timing: Timing {
            silence: Duration::from_millis(900),
            ..timing()
        },
        ..config()
    };
    let mut rig = Rig::with(Fake::start().await, short);
    rig.reconciled().await;
    // Three times the limit passes with nothing but empty lines.
    tokio::time::sleep(Duration::from_millis(2700)).await;
    assert_eq!(rig.fake.count("GET", "/api/stream/event"), 1);
    rig.fake.send_event(Send::Silence);
    let words = rig.find(|event| match event {
        AccountEvent::Offline { words, .. } => Some(words),
        _ => None,
    });
    assert!(words.await.contains("no byte"));
    rig.reconciled().await;
    assert_eq!(rig.fake.count("GET", "/api/stream/event"), 2);
}

#[tokio::test]
async fn point_07_lines_in_any_cut() {
    let mut rig = Rig::online().await;
    let one = challenge_event(&incoming_challenge("chal0001", "User_A")).to_string();
    let two = challenge_event(&incoming_challenge("chal0002", "User_B")).to_string();
    let (head, tail) = one.split_at(17);
    rig.fake.send_event(Send::Bytes(head.as_bytes().to_vec()));
    rig.fake.send_event(Send::Bytes(
        format!("{tail}\r\n\r\n{two}\n{{\"type\":\"chal").into_bytes(),
    ));
    assert_eq!(challenged(&mut rig).await.id, ChallengeId::new("chal0001"));
    assert_eq!(challenged(&mut rig).await.id, ChallengeId::new("chal0002"));
    rig.fake.send_event(Send::End);
    rig.find(|event| matches!(event, AccountEvent::Offline { .. }).then_some(()))
        .await;
    rig.reconciled().await;
}

#[tokio::test]
async fn point_08_unknown_and_broken_lines_change_nothing() {
    let mut rig = Rig::online().await;
    for line in [
        r#"{"type":"newThing","x":[1]}"#,
        "not json",
        "[]",
        r#"{"type":"gameStart"}"#,
        r#"{"a":1}"#,
        r#"{"type":7}"#,
    ] {
        rig.fake.send_event(Send::Line(line.to_owned()));
    }
    rig.fake.send_event(Send::Bytes(b"\xff\xfe{}\n".to_vec()));
    rig.fake
        .event(&challenge_event(&incoming_challenge("chal0001", "User_A")));
    match rig.event().await {
        AccountEvent::Challenged(challenge) => {
            assert_eq!(challenge.id, ChallengeId::new("chal0001"))
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rig.fake.count("GET", "/api/stream/event"), 1);
}

#[tokio::test]
async fn point_09_a_daemon_that_does_not_listen_loses_nothing() {
    let mut rig = Rig::online().await;
    // More than all queues together; nobody takes events meanwhile.
    for n in 0..1500 {
        rig.fake.event(&challenge_event(&incoming_challenge(
            &format!("ch{n:06}"),
            "User_A",
        )));
    }
    rig.fake.state().incoming = (0..40)
        .map(|n| incoming_challenge(&format!("late{n:04}"), "User_B"))
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let snapshot = rig.reconciled().await;
    assert_eq!(snapshot.incoming.len(), 40, "what was lost is told anew");
}

#[tokio::test]
async fn point_10_running_games_are_told_at_every_opening_and_opened_once() {
    let fake = Fake::start().await;
    fake.state()
        .games
        .insert("game0001".to_owned(), FakeGame::new(Variant::Chess, true));
    let mut rig = Rig::with(fake, config());
    let snapshot = rig.reconciled().await;
    assert_eq!(snapshot.games.len(), 1, "listed and heard is one game");
    assert!(snapshot.games_complete);
    let mut player = Player::new(rig.open("game0001").await);
    player.play_until(|state| state.moves.len() >= 4).await;
    rig.fake.send_event(Send::Reset);
    let snapshot = rig.reconciled().await;
    assert_eq!(snapshot.games[0].id, GameId::new("game0001"));
    player.play_until(|state| state.moves.len() >= 8).await;
    assert_eq!(rig.fake.count("GET", "/api/bot/game/stream/game0001"), 1);
}

#[tokio::test]
async fn point_11_more_first_lines_than_the_server_keeps() {
    let fake = Fake::start().await;
    {
        let mut state = fake.state();
        for n in 0..45 {
            state
                .games
                .insert(format!("game{n:04}"), FakeGame::new(Variant::Chess, true));
        }
        state.incoming = (0..60)
            .map(|n| incoming_challenge(&format!("chal{n:04}"), "User_A"))
            .collect();
        state.outgoing = vec![outgoing_challenge("ours0001", "bot_opp")];
    }
    let mut rig = Rig::with(fake, config());
    let snapshot = rig.reconciled().await;
    assert_eq!(
        (
            snapshot.games.len(),
            snapshot.incoming.len(),
            snapshot.outgoing.len()
        ),
        (45, 60, 1)
    );
    assert!(
        snapshot.challenges_complete
            && snapshot.incoming.iter().all(|challenge| challenge.replayed)
    );
    assert_eq!(snapshot.outgoing[0].direction, ChallengeDirection::Outgoing);
}

#[tokio::test]
async fn point_11_without_the_permission_to_read_challenges_the_stream_must_do() {
    let fake = Fake::start().await;
    fake.state().scopes = "bot:play";
    fake.state().incoming = vec![incoming_challenge("chal0001", "User_A")];
    let mut rig = Rig::with(fake, config());
    let snapshot = rig.reconciled().await;
    assert!(!snapshot.challenges_complete);
    let challenge = challenged(&mut rig).await;
    assert!(challenge.replayed, "nobody knows its age");
    assert_eq!(rig.fake.count("GET", "/api/challenge"), 0);
}
