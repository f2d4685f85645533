//! Games: moves, offers, clocks, from the first line to the last.

use std::time::Duration;

use seneschal::house::violation::ViolationKind;
use serde_json::json;

use super::super::client::{BLITZ, Bot, Next, begin, config, house_with_bots, status};
use super::error;

#[tokio::test]
async fn a_game_is_told_from_its_first_line_to_its_last() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let mut events = ann.events().await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut stream = ann.game(&id).await;
    let full = stream.expect("gameFull").await;
    assert_eq!(full["id"], id.as_str());
    assert_eq!(
        full["clock"],
        json!({"initial": 180_000, "increment": 2_000})
    );
    assert_eq!(
        (&full["initialFen"], &full["speed"]),
        (&json!("startpos"), &json!("blitz"))
    );
    assert_eq!(full["perf"]["name"], "Blitz");
    let white = json!({"id": "ann_bot", "name": "Ann_Bot", "title": "BOT", "rating": 1500, "provisional": true});
    assert_eq!(full["white"], white);
    let state = json!({
        "type": "gameState", "moves": "", "wtime": 180_000, "btime": 180_000,
        "winc": 2_000, "binc": 2_000, "status": "started",
    });
    assert_eq!(full["state"], state);

    ann.play(&id, "e2e4").await;
    assert_eq!(stream.expect("gameState").await["moves"], "e2e4");
    let (code, body) = bob.try_play(&id, "e7e4").await;
    assert_eq!(code, 400);
    assert!(body["error"].is_string());
    assert_eq!(
        bob.try_play(&id, "zz").await,
        (400, error("Invalid UCI: zz"))
    );
    assert_eq!(
        bob.try_play(&id, "n@e7").await,
        (400, error("Invalid UCI: n@e7"))
    );
    let not_yours = error("Not your turn, or game already over");
    assert_eq!(ann.try_play(&id, "d2d4").await, (400, not_yours.clone()));
    bob.play(&id, "e7e5").await;
    stream.expect("gameState").await;

    let (_, playing) = bob.get("/api/account/playing?nb=3").await;
    assert_eq!(playing["nbMyTurn"], 0);
    let listed = &playing["nowPlaying"][0];
    assert_eq!(
        (&listed["gameId"], &listed["lastMove"], &listed["color"]),
        (&json!(id), &json!("e7e5"), &json!("black"))
    );
    assert_eq!(
        listed["fen"],
        "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
    );

    assert_eq!(bob.command(&id, "resign").await, (200, json!({"ok": true})));
    let last = stream.expect("gameState").await;
    assert_eq!(
        (&last["status"], &last["winner"]),
        (&json!("resign"), &json!("white"))
    );
    assert_eq!(last["moves"], "e2e4 e7e5");
    assert_eq!(stream.next().await, Next::End);
    let finish = events.json_of("gameFinish").await;
    assert_eq!(finish["game"]["winner"], "white");
    assert_eq!(
        finish["game"]["status"],
        json!({"id": 31, "name": "resign"})
    );
    // A stream opened after the end tells it and closes.
    let mut late = bob.game(&id).await;
    assert_eq!(status(&late.expect("gameFull").await), "resign");
    assert_eq!(late.next().await, Next::End);
    assert_eq!(ann.try_play(&id, "d2d4").await, (400, not_yours));
    assert_eq!(
        bob.command(&id, "resign").await,
        (400, error("This game cannot be resigned"))
    );
    let violations = house.violations();
    assert_eq!(violations.count(ViolationKind::IllegalMove), 1);
    assert_eq!(violations.count(ViolationKind::MalformedMove), 2);
    assert_eq!(violations.count(ViolationKind::SecondMoveForPly), 1);
    assert_eq!(
        violations.total(),
        4,
        "a move that crosses the end is none: {violations:?}"
    );
    house.shutdown().await;
}

#[tokio::test]
async fn games_of_others_and_unknown_things_are_not_found() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let eve = Bot::register(&house, "Eve_Bot").await;
    let id = begin(&ann, &bob, &BLITZ).await;
    assert_eq!(
        eve.try_play(&id, "e2e4").await,
        (404, error("Not your game"))
    );
    assert_eq!(eve.open(&format!("/api/bot/game/stream/{id}")).await.0, 404);
    assert_eq!(
        ann.try_play("zzzzzzzz", "e2e4").await,
        (404, error("No such game"))
    );
    assert_eq!(
        ann.command(&id, "dance").await,
        (404, error("No such command"))
    );
    assert_eq!(
        ann.command(&id, "berserk").await,
        (400, error("Cannot berserk"))
    );
    assert_eq!(ann.get("/api/nothing").await, (404, error("Not found")));
    let own = ann.challenge("Eve_Bot", &BLITZ).await;
    let accepted = ann.post(&format!("/api/challenge/{own}/accept"), &[]).await;
    assert_eq!(accepted, (404, error("Not found")));
    let violations = house.violations();
    assert_eq!(violations.count(ViolationKind::ForeignGame), 2);
    assert_eq!(violations.count(ViolationKind::AnsweredOwnChallenge), 1);
    assert_eq!(violations.count(ViolationKind::UnknownEndpoint), 2);
    // Twelve characters are cut to eight.
    let (code, _) = ann.try_play(&format!("{id}abcd"), "e2e4").await;
    assert_eq!(code, 200);
    house.shutdown().await;
}

#[tokio::test]
async fn aborting_is_for_the_first_moves_only() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    ann.play(&id, "e2e4").await;
    assert_eq!(
        bob.command(&id, "resign").await.0,
        200,
        "this early it aborts"
    );
    let (_, json) = bob.get(&format!("/game/export/{id}")).await;
    assert!(json.as_str().unwrap().contains("[Result \"*\"]"), "{json}");
    let id = begin(&ann, &bob, &BLITZ).await;
    ann.play(&id, "e2e4").await;
    bob.play(&id, "e7e5").await;
    let late = error("This game can no longer be aborted");
    assert_eq!(ann.command(&id, "abort").await, (400, late));
    house.shutdown().await;
}

#[tokio::test]
async fn draws_are_offered_refused_and_agreed() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut stream = ann.game(&id).await;
    stream.expect("gameFull").await;
    assert_eq!(
        ann.command(&id, "draw/yes").await.0,
        200,
        "too early: no effect"
    );
    for (bot, uci) in [(&ann, "g1f3"), (&bob, "g8f6")] {
        bot.play(&id, uci).await;
        assert_eq!(stream.expect("gameState").await.get("wdraw"), None);
    }
    // The offer rides on the move: same moves with the offer first, then the move.
    let path = format!("/api/bot/game/{id}/move/b1c3?offeringDraw=true");
    assert_eq!(ann.post(&path, &[]).await.0, 200);
    let said = stream.expect("chatLine").await;
    assert_eq!(
        (&said["username"], &said["text"]),
        (&json!("lichess"), &json!("White offers draw"))
    );
    let offered = stream.expect("gameState").await;
    assert_eq!(offered["wdraw"], true);
    let moved = stream.expect("gameState").await;
    assert_eq!(
        (&moved["moves"], &moved["wdraw"]),
        (&json!("g1f3 g8f6 b1c3"), &json!(true))
    );
    // A move without a word declines it.
    bob.play(&id, "b8c6").await;
    assert_eq!(stream.json_of("gameState").await.get("wdraw"), None);
    // Within twenty plies of the last offer nothing happens.
    ann.command(&id, "draw/yes").await;
    assert_eq!(
        stream.next_within(Duration::from_millis(150)).await,
        Next::Quiet
    );
    bob.command(&id, "draw/yes").await;
    assert_eq!(stream.json_of("gameState").await["bdraw"], true);
    // Accepting by a move ends the game, and the move is not played.
    let path = format!("/api/bot/game/{id}/move/e2e4?offeringDraw=true");
    assert_eq!(ann.post(&path, &[]).await, (200, json!({"ok": true})));
    let last = stream.json_of("gameState").await;
    assert_eq!(
        (&last["status"], last.get("winner")),
        (&json!("draw"), None)
    );
    assert_eq!(last["moves"], "g1f3 g8f6 b1c3 b8c6");
    house.shutdown().await;
}

#[tokio::test]
async fn takebacks_shorten_the_list_where_both_allow_them() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    for (bot, uci) in [(&ann, "e2e4"), (&bob, "e7e5"), (&ann, "d2d4")] {
        bot.play(&id, uci).await;
    }
    let mut stream = bob.game(&id).await;
    stream.expect("gameFull").await;
    assert_eq!(ann.command(&id, "takeback/yes").await.0, 200);
    assert_eq!(
        stream.next_within(Duration::from_millis(150)).await,
        Next::Quiet,
        "bots never do"
    );
    ann.command(&id, "resign").await;

    house.allow_takebacks("Ann_Bot", true).unwrap();
    house.allow_takebacks("Bob_Bot", true).unwrap();
    let id = begin(&ann, &bob, &BLITZ).await;
    for (bot, uci) in [(&ann, "e2e4"), (&bob, "e7e5"), (&ann, "d2d4")] {
        bot.play(&id, uci).await;
    }
    let mut stream = bob.game(&id).await;
    stream.expect("gameFull").await;
    ann.command(&id, "takeback/yes").await;
    assert_eq!(stream.json_of("gameState").await["wtakeback"], true);
    bob.command(&id, "takeback/yes").await;
    let state = stream.json_of("gameState").await;
    assert_eq!(
        (&state["moves"], state.get("wtakeback")),
        (&json!("e2e4 e7e5"), None)
    );
    // Now Black asks while it is White's turn: his last move goes; asked on his own turn, two go.
    bob.command(&id, "takeback/yes").await;
    stream.json_of("gameState").await;
    ann.command(&id, "takeback/yes").await;
    assert_eq!(stream.json_of("gameState").await["moves"], "e2e4");
    bob.play(&id, "c7c5").await;
    ann.play(&id, "g1f3").await;
    stream.json_of("gameState").await;
    stream.json_of("gameState").await;
    bob.command(&id, "takeback/yes").await;
    stream.json_of("gameState").await;
    ann.command(&id, "takeback/yes").await;
    assert_eq!(stream.json_of("gameState").await["moves"], "e2e4");
    house.shutdown().await;
}

#[tokio::test]
async fn castling_is_taken_in_both_forms_and_promotion_has_a_default() {
    let (house, ann, bob) = house_with_bots(config()).await;
    for castling in ["e1g1", "e1h1"] {
        let id = begin(&ann, &bob, &BLITZ).await;
        for (n, uci) in ["e2e4", "e7e5", "g1f3", "g8f6", "f1c4", "f8c5"]
            .iter()
            .enumerate()
        {
            let bot = if n % 2 == 0 { &ann } else { &bob };
            bot.play(&id, uci).await;
        }
        ann.play(&id, castling).await;
        let (_, playing) = bob.get("/api/account/playing").await;
        let fen = playing["nowPlaying"][0]["fen"].as_str().unwrap().to_owned();
        assert!(fen.contains("RNBQ1RK1"), "{fen}");
        bob.command(&id, "resign").await;
    }
    for promotion in ["b7a8", "b7a8Q", "b7a8N", "b7a8q"] {
        let fen = "n3k3/1P6/8/8/8/8/8/4K3 w - - 0 1";
        let mut form = BLITZ.to_vec();
        form.push(("fen", fen));
        let id = begin(&ann, &bob, &form).await;
        let mut stream = ann.game(&id).await;
        stream.expect("gameFull").await;
        ann.play(&id, promotion).await;
        assert_eq!(stream.expect("gameState").await["moves"], "b7a8q");
        bob.command(&id, "abort").await;
    }
    house.shutdown().await;
}

#[tokio::test]
async fn time_is_given_where_it_may_be() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut stream = ann.game(&id).await;
    stream.expect("gameFull").await;
    assert_eq!(
        ann.post(&format!("/api/round/{id}/add-time/15"), &[])
            .await
            .0,
        200
    );
    let state = stream.expect("gameState").await;
    assert_eq!(
        (&state["moves"], &state["btime"]),
        (&json!(""), &json!(195_000))
    );
    bob.command(&id, "abort").await;
    let id = begin(&ann, &bob, &[]).await;
    let refused = ann.post(&format!("/api/round/{id}/add-time/15"), &[]).await;
    assert_eq!(refused, (400, error("This game doesn't allow giving time")));
    house.shutdown().await;
}

#[tokio::test]
async fn games_without_clocks_and_with_days_are_told_as_such() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &[]).await;
    let mut stream = ann.game(&id).await;
    let full = stream.expect("gameFull").await;
    assert_eq!((full.get("clock"), full.get("daysPerTurn")), (None, None));
    assert_eq!(full["speed"], "correspondence");
    assert_eq!(full["state"]["wtime"], 2_147_483_647_i64);
    let id = begin(&ann, &bob, &[("days", "3")]).await;
    let mut stream = ann.game(&id).await;
    let full = stream.expect("gameFull").await;
    assert_eq!(full["daysPerTurn"], 3);
    assert_eq!(full["state"]["btime"], 3 * 86_400_000);
    let (_, playing) = ann.get("/api/account/playing").await;
    assert_eq!(playing["nowPlaying"].as_array().unwrap().len(), 2);
    house.shutdown().await;
}
