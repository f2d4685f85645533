//! The contract of the Lichess interface, point by point: inside games. The table of what is tested elsewhere is in
//! `lichess_contract`.

use std::time::Duration;

use seneschal::game::{
    ChatRoom, CommandFailure, CommandKind, GameCommand, GameEvent, GameResult, GameState,
    OfferKind, PlayMove, Status, Termination, TimeControl,
};
use seneschal::platform::AccountEvent;
use seneschal::rules::{CastlingMode, Position, Variant};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::lichess_fake::{Answer, Fake, FakeGame, Send};
use crate::lichess_rig::{Player, Rig, config, play, timing};

const ID: &str = "game0001";
const OK: &str = r#"{"ok":true}"#;

/// A game of ours that is open; the opponent moves only when told to.
async fn quiet_game(game: FakeGame) -> (Rig, Player) {
    let rig = Rig::online().await;
    rig.fake.start_game(
        ID,
        FakeGame {
            replies: false,
            ..game
        },
    );
    let mut player = Player::new(rig.open(ID).await);
    let GameEvent::Full { start, state } = player.receive().await.unwrap() else {
        panic!("a full state comes first")
    };
    player.start = Some(*start);
    player.state = Some(state);
    (rig, player)
}

async fn quiet(variant: Variant) -> (Rig, Player) {
    quiet_game(FakeGame::new(variant, true)).await
}

/// Waits for an event of interest; others are passed over.
async fn find<T>(player: &mut Player, mut wanted: impl FnMut(GameEvent) -> Option<T>) -> T {
    loop {
        let event = player.receive().await.expect("the link stays open");
        if let Some(found) = wanted(event) {
            return found;
        }
    }
}

async fn next_state(player: &mut Player) -> GameState {
    find(player, |event| match event {
        GameEvent::State(state) | GameEvent::Full { state, .. } => Some(state),
        _ => None,
    })
    .await
}

async fn failure(player: &mut Player) -> (CommandKind, CommandFailure) {
    find(player, |event| match event {
        GameEvent::Failed { command, failure } => Some((command, failure)),
        _ => None,
    })
    .await
}

/// Nothing of this kind comes for a while.
async fn nothing(player: &mut Player, span: Duration, unwanted: impl Fn(&GameEvent) -> bool) {
    let end = Instant::now() + span;
    while let Ok(Some(received)) = tokio::time::timeout_at(end, player.link.events.recv()).await {
        assert!(!unwanted(&received.event), "{:?}", received.event);
    }
}

#[tokio::test]
async fn points_30_31_32_moves_are_written_as_the_platform_reads_them() {
    let chess =
        |fen: &str| Position::from_fen(Variant::Chess, CastlingMode::Standard, fen).unwrap();
    let house = Position::from_fen(
        Variant::Crazyhouse,
        CastlingMode::Standard,
        "rnb1kbnr/ppp1pppp/8/3q4/8/8/PPPP1PPP/RNBQKBNR[Pp] w KQkq - 0 3",
    )
    .unwrap();
    let anti = Position::from_fen(
        Variant::Antichess,
        CastlingMode::Standard,
        "8/P7/8/8/8/8/7p/8 w - - 0 1",
    )
    .unwrap();
    let cases = [
        (
            chess("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"),
            "e1g1",
            "e1h1",
        ),
        (
            chess("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"),
            "e1c1",
            "e1a1",
        ),
        (chess("8/P6k/8/8/8/8/8/K7 w - - 0 1"), "a7a8n", "a7a8n"),
        (house.clone(), "P@e4", "P@e4"),
        (anti, "a7a8k", "a7a8k"),
    ];
    for (position, uci, sent) in cases {
        let (rig, player) = quiet(Variant::Chess).await;
        rig.fake.script("POST", "/move/", [Answer::status(200, OK)]);
        player.send(play(&position, uci, 0)).await;
        rig.fake
            .until_count("POST", &format!("/api/bot/game/{ID}/move/{sent}"), 1)
            .await;
        let path = &rig.fake.requests("POST", "/move/")[0].path;
        assert!(path.ends_with(&format!("/move/{sent}")), "{path}");
    }
}

#[tokio::test]
async fn point_30_either_form_of_castling_in_the_list_pays_the_debt() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    let mut list: Vec<&str> = "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5".split(' ').collect();
    {
        let mut state = rig.fake.state();
        let game = state.games.get_mut(ID).unwrap();
        for uci in &list {
            game.play(uci).unwrap();
        }
    }
    rig.fake.push_state(ID);
    next_state(&mut player).await;
    let position = rig.fake.state().games[ID].position.clone();
    // The server applies the move but never answers, and shows the move in the old form.
    rig.fake.script("POST", "/move/", [Answer::Hang]);
    player.send(play(&position, "e1g1", 6)).await;
    rig.fake.until_count("POST", "/move/", 1).await;
    list.push("e1g1");
    let line = json!({"type": "gameState", "moves": list.join(" "), "wtime": 1000, "btime": 1000, "status": "started"});
    rig.fake.send_game(ID, Send::Line(line.to_string()));
    assert_eq!(next_state(&mut player).await.moves.len(), 7);
    nothing(&mut player, Duration::from_millis(1600), |event| {
        matches!(event, GameEvent::Failed { .. })
    })
    .await;
    assert_eq!(rig.fake.count("POST", "/move/"), 1);
}

#[tokio::test]
async fn point_34_no_clock_is_no_clock() {
    let game = FakeGame {
        clock: None,
        wtime: 2_147_483_647,
        btime: 2_147_483_647,
        ..FakeGame::new(Variant::Chess, true)
    };
    let (_rig, player) = quiet_game(game).await;
    assert_eq!(player.start.unwrap().time_control, TimeControl::Unlimited);
    assert_eq!(player.state.unwrap().clocks, None);
}

#[tokio::test]
async fn point_36_repeated_states_and_repeated_commands_make_one_request() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    let position = Position::start(Variant::Chess);
    rig.fake.script(
        "POST",
        "/move/",
        [Answer::Normal.after(Duration::from_millis(300))],
    );
    player.send(play(&position, "e2e4", 0)).await;
    rig.fake.until_count("POST", "/move/", 1).await;
    for offer in ["wdraw", "btakeback"] {
        let mut line = rig.fake.state().games[ID].state();
        line[offer] = json!(true);
        rig.fake.send_game(ID, Send::Line(line.to_string()));
        let state = next_state(&mut player).await;
        assert!(state.offers.draw.is_some() || state.offers.takeback.is_some());
        player.send(play(&position, "e2e4", 0)).await;
        // Even another move does not leave while the chosen one is under way.
        player.send(play(&position, "d2d4", 0)).await;
    }
    while next_state(&mut player).await.moves.is_empty() {}
    nothing(&mut player, Duration::from_millis(300), |event| {
        matches!(event, GameEvent::Failed { .. })
    })
    .await;
    assert_eq!(rig.fake.count("POST", "/move/"), 1);
    assert_eq!(rig.fake.state().games[ID].moves, ["e2e4"]);
}

#[tokio::test]
async fn point_37_a_takeback_during_a_request_is_tolerated() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    player
        .send(play(&Position::start(Variant::Chess), "e2e4", 0))
        .await;
    while next_state(&mut player).await.moves.is_empty() {}
    rig.fake.opponent_moves(ID, "e7e5");
    next_state(&mut player).await;
    let position = rig.fake.state().games[ID].position.clone();
    let refused = Answer::status(400, r#"{"error":"Not your turn, or game already over"}"#);
    rig.fake.script(
        "POST",
        "/move/",
        [refused.after(Duration::from_millis(300))],
    );
    player.send(play(&position, "g1f3", 2)).await;
    rig.fake.until_count("POST", "/move/", 2).await;
    rig.fake.state().games.get_mut(ID).unwrap().take_back(2);
    rig.fake.push_state(ID);
    assert_eq!(next_state(&mut player).await.moves.len(), 0);
    nothing(&mut player, Duration::from_millis(600), |event| {
        matches!(event, GameEvent::Failed { .. })
    })
    .await;
    player
        .send(play(&Position::start(Variant::Chess), "d2d4", 0))
        .await;
    assert_eq!(next_state(&mut player).await.moves, ["d2d4"]);
}

#[tokio::test]
async fn point_38_an_answer_of_200_is_not_a_move() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    rig.fake.script("POST", "/move/", [Answer::status(200, OK)]);
    let position = Position::start(Variant::Chess);
    player.send(play(&position, "e2e4", 0)).await;
    let took = find(&mut player, |event| match event {
        GameEvent::Accepted {
            command: CommandKind::Play { ply: 0 },
            took,
        } => Some(took),
        _ => None,
    });
    assert!(took.await < Duration::from_secs(1));
    // The session asks for the whole state, sees that the move is still owed, and sends it again.
    player.send(GameCommand::Resync).await;
    assert!(next_state(&mut player).await.moves.is_empty());
    player.send(play(&position, "e2e4", 0)).await;
    while next_state(&mut player).await.moves.is_empty() {}
    // And a flag may fall in spite of 200.
    {
        let mut state = rig.fake.state();
        let game = state.games.get_mut(ID).unwrap();
        game.status = "outoftime".to_owned();
        game.winner = Some("black");
    }
    rig.fake.push_state(ID);
    let Status::Ended(end) = next_state(&mut player).await.status else {
        panic!("over")
    };
    assert_eq!(end.termination, Termination::OutOfTime);
}

#[tokio::test]
async fn point_39_a_request_without_an_answer_is_not_repeated_when_the_stream_shows_the_move() {
    for answer in [
        Answer::Hang.done(),
        Answer::Reset.done(),
        Answer::status(504, "<html>").done(),
    ] {
        let (rig, mut player) = quiet(Variant::Chess).await;
        rig.fake.script("POST", "/move/", [answer.clone()]);
        player
            .send(play(&Position::start(Variant::Chess), "e2e4", 0))
            .await;
        while next_state(&mut player).await.moves.is_empty() {}
        tokio::time::sleep(Duration::from_millis(1700)).await;
        assert_eq!(rig.fake.count("POST", "/move/"), 1, "{answer:?}");
    }
    // The echo may come long after the answer.
    let (rig, mut player) = quiet(Variant::Chess).await;
    rig.fake.script("POST", "/move/", [Answer::status(200, OK)]);
    player
        .send(play(&Position::start(Variant::Chess), "e2e4", 0))
        .await;
    find(&mut player, |event| {
        matches!(event, GameEvent::Accepted { .. }).then_some(())
    })
    .await;
    rig.fake.opponent_moves(ID, "e2e4");
    assert_eq!(next_state(&mut player).await.moves.len(), 1);
}

#[tokio::test]
async fn point_39_a_request_without_an_answer_is_reported_and_waits_for_the_whole_state() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    let position = Position::start(Variant::Chess);
    rig.fake.script("POST", "/move/", [Answer::Reset]);
    player.send(play(&position, "e2e4", 0)).await;
    let failed = failure(&mut player).await;
    assert_eq!(
        failed,
        (CommandKind::Play { ply: 0 }, CommandFailure::Unanswered)
    );
    // A command that comes too early is kept until the state has been looked at.
    player.send(play(&position, "e2e4", 0)).await;
    let state = next_state(&mut player).await;
    assert!(state.moves.is_empty());
    while next_state(&mut player).await.moves.is_empty() {}
    let log = rig.fake.state().log.clone();
    let looks = log
        .iter()
        .filter(|r| r.path.contains("/game/stream/"))
        .count();
    assert_eq!((looks, rig.fake.count("POST", "/move/")), (2, 2));
    let second_move = log.iter().rposition(|r| r.path.contains("/move/")).unwrap();
    let second_look = log
        .iter()
        .rposition(|r| r.path.contains("/game/stream/"))
        .unwrap();
    assert!(
        second_look < second_move,
        "first the look, then the repetition"
    );
}

#[tokio::test]
async fn point_40_a_refusal_does_not_loop() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    let refused = Answer::status(400, r#"{"error":"Not your turn, or game already over"}"#);
    rig.fake.script("POST", "/move/", vec![refused; 10]);
    player
        .send(play(&Position::start(Variant::Chess), "e2e4", 0))
        .await;
    match failure(&mut player).await {
        (CommandKind::Play { ply: 0 }, CommandFailure::Refused { words }) => {
            assert!(words.contains("Not your turn"))
        }
        other => panic!("{other:?}"),
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(rig.fake.count("POST", "/move/"), 1);
}

#[tokio::test]
async fn point_40_errors_of_the_server_are_retried_after_a_look() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    rig.fake.script(
        "POST",
        "/move/",
        [Answer::status(502, "<html>"), Answer::status(500, "")],
    );
    player
        .send(play(&Position::start(Variant::Chess), "e2e4", 0))
        .await;
    while next_state(&mut player).await.moves.is_empty() {}
    assert_eq!(
        (
            rig.fake.count("POST", "/move/"),
            rig.fake.count("GET", "/game/stream/")
        ),
        (3, 3)
    );
}

#[tokio::test]
async fn point_40_a_refused_repetition_may_be_the_echo_of_the_first_attempt() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    // The state that is looked at is older than the first attempt, so the repetition meets its success.
    let old = rig.fake.state().games[ID].full(ID).to_string();
    rig.fake.script(
        "GET",
        "/game/stream/",
        [Answer::status(200, &format!("{old}\n"))],
    );
    rig.fake
        .script("POST", "/move/", [Answer::status(502, "<html>").done()]);
    rig.fake.send_game(ID, Send::Silence);
    player
        .send(play(&Position::start(Variant::Chess), "e2e4", 0))
        .await;
    nothing(&mut player, Duration::from_millis(1200), |event| {
        matches!(event, GameEvent::Failed { .. })
    })
    .await;
    assert_eq!(rig.fake.state().games[ID].moves, ["e2e4"]);
}

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

#[tokio::test]
async fn a_429_on_a_move_delays_this_game_and_no_other() {
    let (rig, mut player) = quiet(Variant::Chess).await;
    rig.fake.start_game(
        "game0002",
        FakeGame {
            replies: false,
            ..FakeGame::new(Variant::Chess, true)
        },
    );
    let mut other = Player::new(rig.open("game0002").await);
    other.receive().await.unwrap();
    let wait = vec![("Retry-After", "2".to_owned())];
    rig.fake.script(
        "POST",
        "game0001/move/",
        [Answer::WithHeaders(429, wait, String::new())],
    );
    let position = Position::start(Variant::Chess);
    player.send(play(&position, "e2e4", 0)).await;
    rig.fake.until_count("POST", "game0001/move/", 1).await;
    let before = Instant::now();
    other.send(play(&position, "d2d4", 0)).await;
    while next_state(&mut other).await.moves.is_empty() {}
    assert!(before.elapsed() < Duration::from_secs(1));
    while next_state(&mut player).await.moves.is_empty() {}
    assert!(
        before.elapsed() >= Duration::from_millis(1900),
        "the platform's word is obeyed: {:?}",
        before.elapsed()
    );
    assert_eq!(rig.fake.count("POST", "game0001/move/"), 2);
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
async fn a_game_of_an_unknown_variant_is_not_played() {
    let rig = Rig::online().await;
    rig.fake.start_game(
        ID,
        FakeGame {
            variant: "bughouse",
            ..FakeGame::new(Variant::Chess, true)
        },
    );
    let mut link = rig.open(ID).await;
    assert!(
        timeout(Duration::from_secs(10), link.events.recv())
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(rig.fake.count("POST", "/api/bot/game/"), 0);
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
