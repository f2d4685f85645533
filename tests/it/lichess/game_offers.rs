//! Offers, claims, aborts and chat in a game.

use std::time::Duration;

use seneschal::game::{
    ChatRoom, CommandFailure, CommandKind, GameCommand, GameEvent, GameResult, OfferKind, PlayMove,
    Status, Termination,
};
use seneschal::rules::{Position, Variant};
use serde_json::json;
use tokio::time::Instant;

use crate::lichess::fake::{Answer, Send};
use crate::lichess::game::{ID, OK, failure, find, next_state, nothing, quiet};
use crate::lichess::rig::{play, timing};

#[tokio::test]
async fn point_41_offers_are_written_as_the_platform_reads_them() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    let position = Position::start(Variant::Chess);
    let m = position.parse_uci("e2e4").unwrap();
    player
        .send(GameCommand::Play(Box::new(PlayMove {
            position,
            m,
            ply: 0,
            offer_draw: true,
        })))
        .await;
    while next_state(&mut player).await.moves.is_empty() {}
    assert!(
        rig.fake.requests("POST", "/move/")[0]
            .path
            .ends_with("/move/e2e4?offeringDraw=true")
    );
    for (command, path) in [
        (GameCommand::OfferDraw, "draw/yes"),
        (
            GameCommand::Answer {
                offer: OfferKind::Draw,
                accept: false,
            },
            "draw/no",
        ),
        (
            GameCommand::Answer {
                offer: OfferKind::Draw,
                accept: true,
            },
            "draw/yes",
        ),
        (
            GameCommand::Answer {
                offer: OfferKind::Takeback,
                accept: true,
            },
            "takeback/yes",
        ),
        (
            GameCommand::Answer {
                offer: OfferKind::Takeback,
                accept: false,
            },
            "takeback/no",
        ),
        (GameCommand::ClaimVictory, "claim-victory"),
        (GameCommand::ClaimDraw, "claim-draw"),
    ] {
        let before = rig.fake.count("POST", path);
        player.send(command).await;
        rig.fake
            .until_count("POST", &format!("/api/bot/game/{ID}/{path}"), before + 1)
            .await;
    }
    let adjourn = GameCommand::Answer {
        offer: OfferKind::Adjourn,
        accept: true,
    };
    player.send(adjourn).await;
    let (command, _) = failure(&mut player).await;
    assert!(matches!(
        command,
        CommandKind::Answer {
            offer: OfferKind::Adjourn,
            ..
        }
    ));
}

#[tokio::test]
async fn point_41_an_accepted_draw_ends_the_game_without_our_move() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    let draw = Answer::status(200, OK);
    rig.fake.script("POST", "/move/", [draw]);
    player
        .send(play(&Position::start(Variant::Chess), "e2e4", 0))
        .await;
    rig.fake.until_count("POST", "/move/", 1).await;
    rig.fake.state().games.get_mut(ID).unwrap().status = "draw".to_owned();
    rig.fake.push_state(ID);
    rig.fake.send_game(ID, Send::End);
    let state = next_state(&mut player).await;
    assert!(state.moves.is_empty());
    let Status::Ended(end) = state.status else {
        panic!("over")
    };
    assert_eq!(
        (end.termination, end.result),
        (Termination::Draw, GameResult::Draw)
    );
    assert_eq!(rig.fake.count("POST", "/move/"), 1);
}

#[tokio::test]
async fn point_42_absence_is_counted_down_and_lapses() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    let gone = |n: u32| {
        Send::Line(
            json!({"type": "opponentGone", "gone": true, "claimWinInSeconds": n}).to_string(),
        )
    };
    for n in [8, 3, 0] {
        rig.fake.send_game(ID, gone(n));
        let claimable = find(&mut player, |event| match event {
            GameEvent::OpponentLeft { claimable_in } => claimable_in,
            GameEvent::OpponentReturned => panic!("too early"),
            _ => None,
        });
        assert_eq!(claimable.await, Duration::from_secs(n.into()));
    }
    rig.fake.send_game(
        ID,
        Send::Line(r#"{"type":"opponentGone","gone":false}"#.to_owned()),
    );
    find(&mut player, |event| {
        matches!(event, GameEvent::OpponentReturned).then_some(())
    })
    .await;
    // After our own reconnection the return may never be told: without a repetition the report is void.
    rig.fake.send_game(ID, gone(40));
    find(&mut player, |event| {
        matches!(event, GameEvent::OpponentLeft { .. }).then_some(())
    })
    .await;
    let lapse = Instant::now();
    find(&mut player, |event| {
        matches!(event, GameEvent::OpponentReturned).then_some(())
    })
    .await;
    assert!(lapse.elapsed() >= timing().absence_lapses - Duration::from_millis(100));
}

#[tokio::test]
async fn point_42_a_claim_proves_itself_on_the_stream_only() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    rig.fake.script(
        "POST",
        "claim-victory",
        [Answer::status(
            400,
            r#"{"error":"You cannot claim the win on this game"}"#,
        )],
    );
    player.send(GameCommand::ClaimVictory).await;
    let (command, failed) = failure(&mut player).await;
    assert_eq!(command, CommandKind::ClaimVictory);
    assert!(matches!(failed, CommandFailure::Refused { words } if words.contains("cannot claim")));
    player.send(GameCommand::ClaimVictory).await;
    find(&mut player, |event| {
        matches!(
            event,
            GameEvent::Accepted {
                command: CommandKind::ClaimVictory,
                ..
            }
        )
        .then_some(())
    })
    .await;
    nothing(&mut player, Duration::from_millis(300), |event| {
        matches!(event, GameEvent::Ended(_))
    })
    .await;
    assert_eq!(rig.fake.count("POST", "claim-victory"), 2);
}

#[tokio::test]
async fn point_46_abort_and_resign_are_sent_and_retried() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    rig.fake.script(
        "POST",
        "/abort",
        [Answer::status(
            400,
            r#"{"error":"This game can no longer be aborted"}"#,
        )],
    );
    player.send(GameCommand::Abort).await;
    let (command, failed) = failure(&mut player).await;
    assert_eq!(command, CommandKind::Abort);
    assert!(matches!(failed, CommandFailure::Refused { .. }));
    rig.fake
        .script("POST", "/resign", [Answer::status(503, ""), Answer::Reset]);
    player.send(GameCommand::Resign).await;
    let Status::Ended(end) = next_state(&mut player).await.status else {
        panic!("over")
    };
    assert_eq!(
        end.termination,
        Termination::Aborted,
        "with less than two plies a resignation aborts"
    );
    assert_eq!(rig.fake.count("POST", "/resign"), 3);
}

#[tokio::test]
async fn point_47_chat_is_cut_dropped_and_never_in_the_way_of_a_move() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    let text = "word ".repeat(40);
    player
        .send(GameCommand::Say {
            room: ChatRoom::Spectators,
            text,
        })
        .await;
    rig.fake.until_count("POST", "/chat", 2).await;
    let lines = rig.fake.requests("POST", "/chat");
    assert!(lines.iter().all(
        |line| line.body.starts_with("room=spectator&text=word+word") && line.body.len() < 180
    ));
    find(&mut player, |event| {
        matches!(
            event,
            GameEvent::Accepted {
                command: CommandKind::Say,
                ..
            }
        )
        .then_some(())
    })
    .await;
    // Own echo and the platform's own words.
    rig.fake.send_game(
        ID,
        Send::Line(
            r#"{"type":"chatLine","username":"Bot_Us","text":"hi","room":"player"}"#.to_owned(),
        ),
    );
    rig.fake.send_game(
        ID,
        Send::Line(
            r#"{"type":"chatLine","username":"lichess","text":"Takeback sent","room":"player"}"#
                .to_owned(),
        ),
    );
    for from_server in [false, true] {
        let line = find(&mut player, |event| match event {
            GameEvent::Chatted(line) => Some(line),
            _ => None,
        });
        assert_eq!(line.await.from_server, from_server);
    }
    // A chat that does not answer, and one that is refused: the move leaves at once all the same.
    rig.fake.script(
        "POST",
        "/chat",
        [
            Answer::Hang,
            Answer::status(503, ""),
            Answer::status(429, ""),
        ],
    );
    for _ in 0..3 {
        player
            .send(GameCommand::Say {
                room: ChatRoom::Players,
                text: "good luck".to_owned(),
            })
            .await;
    }
    rig.fake.until_count("POST", "/chat", 3).await;
    let before = Instant::now();
    player
        .send(play(&Position::start(Variant::Chess), "e2e4", 0))
        .await;
    while next_state(&mut player).await.moves.is_empty() {}
    assert!(
        before.elapsed() < Duration::from_millis(800),
        "{:?}",
        before.elapsed()
    );
    for _ in 0..3 {
        assert_eq!(failure(&mut player).await.0, CommandKind::Say);
    }
    assert_eq!(rig.fake.count("POST", "/chat"), 5, "chat is never repeated");
}
