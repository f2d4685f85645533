//! Moves in a game: how they are written, and what becomes of them when answers fail.

use std::time::Duration;

use seneschal::game::{
    CommandFailure, CommandKind, GameCommand, GameEvent, Status, Termination, TimeControl,
};
use seneschal::rules::{CastlingMode, Position, Variant};
use serde_json::json;
use tokio::time::Instant;

use crate::lichess::fake::{Answer, FakeGame, Send};
use crate::lichess::game::{ID, OK, failure, find, next_state, nothing, quiet, quiet_game};
use crate::lichess::rig::{Player, play};

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
