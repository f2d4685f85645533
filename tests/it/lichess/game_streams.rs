//! A game's stream: losses, ends, games that are not ours.

use std::time::Duration;

use seneschal::game::{GameCommand, GameEvent, GameResult, Status, Termination};
use seneschal::platform::{AccountEvent, GAME_EVENT_QUEUE};
use seneschal::rules::Variant;
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::lichess::fake::{Answer, Fake, FakeGame, Send};
use crate::lichess::game::{ID, find, next_state, nothing, quiet};
use crate::lichess::rig::{Player, Rig, config};

#[tokio::test]
async fn point_43_a_game_stream_is_back_within_a_second_under_the_same_name() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    for send in [Send::End, Send::Cut, Send::Reset] {
        let opened = rig.fake.count("GET", "/game/stream/");
        rig.fake.send_game(ID, send);
        let before = Instant::now();
        rig.fake
            .until_count("GET", "/game/stream/", opened + 1)
            .await;
        assert!(
            before.elapsed() < Duration::from_secs(1),
            "{:?}",
            before.elapsed()
        );
        find(&mut player, |event| {
            matches!(event, GameEvent::LinkLost).then_some(())
        })
        .await;
        find(&mut player, |event| {
            matches!(event, GameEvent::Full { .. }).then_some(())
        })
        .await;
    }
    let agents: Vec<String> = rig
        .fake
        .requests("GET", "/game/stream/")
        .iter()
        .map(|r| r.headers["user-agent"].clone())
        .collect();
    assert!(
        agents.windows(2).all(|pair| pair[0] == pair[1]),
        "{agents:?}"
    );
}

#[tokio::test]
async fn point_44_every_end_is_an_end_and_the_winner_field_decides() {
    for (status, winner, termination) in [
        ("aborted", None, Termination::Aborted),
        ("timeout", None, Termination::Abandoned),
        ("noStart", Some("black"), Termination::NoStart),
        ("variantEnd", Some("white"), Termination::VariantEnd),
        (
            "insufficientMaterialClaim",
            None,
            Termination::InsufficientMaterial,
        ),
        ("notInventedYet", None, Termination::Unknown),
    ] {
        let (rig, mut player) = quiet(Variant::Chess).await;
        {
            let mut state = rig.fake.state();
            let game = state.games.get_mut(ID).unwrap();
            for uci in ["e2e4", "e7e5", "g1f3"] {
                game.play(uci).unwrap();
            }
            game.status = status.to_owned();
            game.winner = winner;
        }
        rig.fake.push_state(ID);
        rig.fake.send_game(ID, Send::End);
        let state = next_state(&mut player).await;
        let Status::Ended(end) = state.status else {
            panic!("{status}")
        };
        assert_eq!((state.moves.len(), end.termination), (3, termination));
        assert_eq!(
            matches!(end.result, GameResult::Decisive { .. }),
            winner.is_some()
        );
        // The end of the stream after the end of the game is no loss, and nobody comes back.
        nothing(&mut player, Duration::from_millis(200), |event| {
            matches!(event, GameEvent::LinkLost)
        })
        .await;
        assert_eq!(rig.fake.count("GET", "/game/stream/"), 1);
    }
}

#[tokio::test]
async fn point_09_a_session_that_does_not_listen_gets_the_truth_later() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    // More lines than the queue holds, and nobody takes them for longer than the client waits.
    for _ in 0..300 {
        rig.fake.push_state(ID);
    }
    rig.fake.opponent_moves(ID, "e2e4");
    rig.fake.opponent_moves(ID, "e7e5");
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    while next_state(&mut player).await.moves.len() < 2 {
        assert!(Instant::now() < deadline);
    }
}

#[tokio::test]
async fn point_09_the_end_of_a_game_is_offered_until_the_session_takes_it() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    // Exactly as many lines as wait for a session, and then the last one.
    for _ in 0..GAME_EVENT_QUEUE {
        rig.fake.push_state(ID);
    }
    let full = Instant::now() + Duration::from_secs(20);
    while player.link.events.len() < GAME_EVENT_QUEUE {
        assert!(Instant::now() < full, "the queue fills");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    {
        let mut state = rig.fake.state();
        let game = state.games.get_mut(ID).unwrap();
        game.status = "resign".to_owned();
        game.winner = Some("white");
    }
    rig.fake.push_state(ID);
    rig.fake.send_game(ID, Send::End);
    // Longer than the client waits for room, and longer than it serves chat after an end.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let begun = Instant::now();
    let end = timeout(Duration::from_secs(10), player.play_out())
        .await
        .expect("the end is not lost");
    assert_eq!(end.termination, Termination::Resignation);
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn an_end_that_the_stream_does_not_show_is_taken_from_the_finish_notice() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    let mut notice = FakeGame::new(Variant::Chess, true).notice(ID);
    notice["status"] = json!({"id": 31, "name": "resign"});
    notice["winner"] = json!("white");
    rig.fake
        .event(&json!({"type": "gameFinish", "game": notice}));
    let end = timeout(Duration::from_secs(8), player.play_out())
        .await
        .unwrap();
    assert_eq!(end.termination, Termination::Resignation);
}

#[tokio::test]
async fn a_game_that_the_platform_does_not_know_is_closed_without_an_end() {
    let mut rig = Rig::online().await;
    let mut link = rig.open("nogame01").await;
    let closed = timeout(Duration::from_secs(10), async {
        while link.events.recv().await.is_some() {}
    });
    closed.await.expect("the link is closed");
    assert!(rig.fake.count("GET", "/api/bot/game/stream/nogame01") >= 3);
    // As long as the platform lists the game, the same answer is an accident.
    rig.fake.script(
        "GET",
        "/api/bot/game/stream/game0001",
        vec![Answer::status(404, r#"{"error":"No such game"}"#); 4],
    );
    rig.fake.start_game(ID, FakeGame::new(Variant::Chess, true));
    let mut player = Player::new(rig.open(ID).await);
    player.play_until(|state| state.moves.len() >= 4).await;
    rig.find(|event| matches!(event, AccountEvent::GameStarted(_)).then_some(()))
        .await;
}

#[tokio::test]
async fn a_game_of_an_unknown_variant_is_told_and_left_to_the_session() {
    let rig = Rig::online().await;
    rig.fake.start_game(
        ID,
        FakeGame {
            variant: "bughouse",
            ..FakeGame::new(Variant::Chess, true)
        },
    );
    let mut link = rig.open(ID).await;
    // Told at once, and again when the session asks for the whole state.
    for looks in [1, 2] {
        let received = timeout(Duration::from_secs(10), link.events.recv()).await;
        let event = received.unwrap().unwrap().event;
        assert!(
            matches!(&event, GameEvent::Unreadable { words } if words.contains("bughouse")),
            "{event:?}"
        );
        assert_eq!(rig.fake.count("GET", "/game/stream/"), looks);
        link.commands.send(GameCommand::Resync).await.unwrap();
    }
    assert_eq!(rig.fake.count("POST", "/api/bot/game/"), 0);
}

#[tokio::test]
async fn a_state_without_sense_is_told_and_a_line_of_noise_is_not() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    let noise = ["<html>502</html>", r#"["gameState"]"#];
    for line in noise {
        rig.fake.send_game(ID, Send::Line(line.to_owned()));
        find(&mut player, |event| match event {
            GameEvent::Unreadable { .. } => panic!("{line}"),
            GameEvent::Full { .. } => Some(()),
            _ => None,
        })
        .await;
    }
    let state = r#"{"type":"gameState","moves":17,"status":"started"}"#;
    rig.fake.send_game(ID, Send::Line(state.to_owned()));
    find(&mut player, |event| {
        matches!(event, GameEvent::Unreadable { .. }).then_some(())
    })
    .await;
    find(&mut player, |event| {
        matches!(event, GameEvent::Full { .. }).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_game_stream_that_is_limited_comes_back_soon() {
    let mut rig = Rig::with(Fake::start().await, config());
    rig.reconciled().await;
    rig.fake.script(
        "GET",
        "/api/bot/game/stream/",
        vec![Answer::status(429, ""); 3],
    );
    rig.fake.start_game(ID, FakeGame::new(Variant::Chess, true));
    let before = Instant::now();
    let mut player = Player::new(rig.open(ID).await);
    player.play_until(|state| state.moves.len() >= 2).await;
    assert!(
        before.elapsed() < Duration::from_secs(3),
        "{:?}",
        before.elapsed()
    );
}
