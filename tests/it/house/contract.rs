//! Lichess's contract, endpoint by endpoint: what is answered, with status and body.

use std::time::Duration;

use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::limits::{Limited, Limits};
use seneschal::house::violation::ViolationKind;
use seneschal::house::{House, HouseConfig};
use serde_json::{Value, json};

use super::client::{
    BLITZ, Bot, Next, answer, begin, config, house_with_bots, http_client, status,
};

fn error(text: &str) -> Value {
    json!({ "error": text })
}

#[tokio::test]
async fn tokens_are_asked_for_and_tested() {
    let (house, ann, _) = house_with_bots(config()).await;
    let account = ann.url("/api/account");
    let without = answer(ann.http.get(&account)).await;
    assert_eq!(without, (401, error("Missing authorization header")));
    let unknown = answer(ann.http.get(&account).bearer_auth("hse_wrong")).await;
    assert_eq!(unknown, (401, error("No such token")));
    let foreign = http_client("x/1 user:Bob_Bot");
    let refused = answer(foreign.get(&account).bearer_auth(&ann.token)).await;
    let text = "The user in the user-agent doesn't match the token bearer";
    assert_eq!(refused, (401, error(text)));

    let reader = Bot::register_as(
        &house,
        "Reader",
        AccountKind::Bot,
        Scopes::parse("challenge:read"),
    )
    .await;
    let (code, body) = reader.try_play("abcdefgh", "e2e4").await;
    assert_eq!((code, body), (403, error("Missing scope: bot:play")));
    let (code, body) = reader.post("/api/challenge/Ann_Bot", &BLITZ).await;
    let missing = "Missing scope: challenge:write || bot:play || board:play";
    assert_eq!((code, body), (403, error(missing)));

    let body = format!("{},hse_nothing", ann.token);
    let tested = answer(ann.http.post(ann.url("/api/token/test")).body(body)).await;
    let expected = json!({
        (ann.token.as_str()): {
            "userId": "ann_bot",
            "scopes": "bot:play,challenge:read,challenge:write",
            "expires": null,
        },
        "hse_nothing": null,
    });
    assert_eq!(tested, (200, expected));
    let violations = house.violations();
    assert_eq!(violations.count(ViolationKind::BadToken), 2);
    assert_eq!(violations.count(ViolationKind::ForeignUserAgent), 1);
    assert_eq!(violations.count(ViolationKind::MissingScope), 2);
    house.shutdown().await;
}

#[tokio::test]
async fn accounts_are_shown_and_upgraded_once() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let (code, me) = ann.get("/api/account").await;
    assert_eq!(code, 200);
    assert_eq!(
        (&me["id"], &me["username"], &me["title"]),
        (&json!("ann_bot"), &json!("Ann_Bot"), &json!("BOT"))
    );
    let person = Bot::register_as(&house, "Person", AccountKind::Human, Scopes::bot()).await;
    let (code, body) = person.try_play("abcdefgh", "e2e4").await;
    assert_eq!(code, 400);
    assert!(
        body["error"]
            .as_str()
            .unwrap()
            .contains("only be used with a Bot account")
    );
    assert_eq!(person.get("/api/account").await.1.get("title"), None);
    assert_eq!(
        person.post("/api/bot/account/upgrade", &[]).await,
        (200, json!({"ok": true}))
    );
    assert_eq!(person.get("/api/account").await.1["title"], "BOT");

    let played = Bot::register_as(&house, "Played", AccountKind::Human, Scopes::bot()).await;
    house
        .hall()
        .change_account("Played", |account| account.counts.all = 1)
        .unwrap();
    let refused = played.post("/api/bot/account/upgrade", &[]).await;
    let text = "You already have games played. Make a new account.";
    assert_eq!(refused, (400, error(text)));

    let (code, user) = bob.get("/api/user/ANN_bot").await;
    assert_eq!((code, &user["id"]), (200, &json!("ann_bot")));
    assert_eq!(bob.get("/api/user/nobody").await, (404, error("Not found")));
    house.shutdown().await;
}

#[tokio::test]
async fn online_bots_and_status_follow_the_streams() {
    let (house, ann, bob) = house_with_bots(config()).await;
    assert_eq!(ann.get("/api/bot/online").await, (200, json!("")));
    let _events = ann.events().await;
    let (_, body) = ann.get("/api/bot/online").await;
    assert_eq!(
        body["id"], "ann_bot",
        "one line, and no line feed behind it: {body}"
    );
    let (_, list) = bob
        .get("/api/users/status?ids=ann_bot,Bob_Bot,nobody&withGameIds=true")
        .await;
    let ann_status = json!({"id": "ann_bot", "name": "Ann_Bot", "title": "BOT", "online": true});
    let bob_status = json!({"id": "bob_bot", "name": "Bob_Bot", "title": "BOT"});
    assert_eq!(list, json!([ann_status, bob_status]));
    let id = begin(&ann, &bob, &BLITZ).await;
    let (_, list) = bob.get("/api/users/status?ids=ann_bot&withGameIds=1").await;
    assert_eq!(
        (&list[0]["playing"], &list[0]["playingId"]),
        (&json!(true), &json!(id))
    );
    house.shutdown().await;
}

#[tokio::test]
async fn a_challenge_runs_its_course() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let mut ann_events = ann.events().await;
    let mut bob_events = bob.events().await;
    let form = [
        ("clock.limit", "300"),
        ("clock.increment", "3"),
        ("variant", "crazyhouse"),
        ("color", "black"),
    ];
    let (code, made) = ann.post("/api/challenge/bob_BOT", &form).await;
    assert_eq!(code, 200);
    let id = made["id"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 8);
    assert_eq!(made["status"], "created");
    assert_eq!(made["direction"], "out");
    assert_eq!(made["challenger"]["id"], "ann_bot");
    assert_eq!(made["challenger"]["online"], true);
    assert_eq!(made["destUser"]["title"], "BOT");
    assert_eq!(
        made["variant"],
        json!({"key": "crazyhouse", "name": "Crazyhouse", "short": "Crazy"})
    );
    let clock = json!({"type": "clock", "limit": 300, "increment": 3, "show": "5+3"});
    assert_eq!(made["timeControl"], clock);
    assert_eq!(
        (&made["color"], &made["finalColor"]),
        (&json!("black"), &json!("black"))
    );
    assert_eq!(
        (&made["speed"], &made["rated"]),
        (&json!("blitz"), &json!(false))
    );
    assert_eq!(made["perf"]["name"], "Crazyhouse");
    for events in [&mut ann_events, &mut bob_events] {
        let event = events.expect("challenge").await;
        assert_eq!(event["challenge"]["id"], id.as_str());
        assert_eq!(event["challenge"].get("direction"), None);
        assert_eq!(event["compat"], json!({"bot": true, "board": false}));
    }
    let (_, list) = bob.get("/api/challenge").await;
    assert_eq!(
        (&list["in"][0]["id"], &list["out"]),
        (&json!(id), &json!([]))
    );
    assert_eq!(list["in"][0]["direction"], "in");

    // A late stream replays it, without `compat`.
    drop(bob_events);
    let mut bob_events = bob.events().await;
    let replayed = bob_events.expect("challenge").await;
    assert_eq!(
        (&replayed["challenge"]["id"], replayed.get("compat")),
        (&json!(id), None)
    );

    assert_eq!(
        bob.post(&format!("/api/challenge/{id}/accept"), &[]).await,
        (200, json!({"ok": true}))
    );
    let start = bob_events.expect("gameStart").await["game"].clone();
    assert_eq!(
        (&start["id"], &start["gameId"], &start["color"]),
        (&json!(id), &json!(id), &json!("white"))
    );
    assert_eq!(start["fullId"].as_str().unwrap().len(), 12);
    assert_eq!(
        start["fen"],
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR/ w KQkq - 0 1"
    );
    assert_eq!(start["status"], json!({"id": 20, "name": "started"}));
    assert_eq!(
        (&start["isMyTurn"], &start["hasMoved"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        (&start["lastMove"], &start["secondsLeft"]),
        (&json!(""), &json!(300))
    );
    assert_eq!(start["opponent"]["username"], "Ann_Bot");
    assert_eq!(start["compat"]["bot"], true);
    assert_eq!(
        ann_events.expect("gameStart").await["game"]["color"],
        "black"
    );

    let again = bob.post(&format!("/api/challenge/{id}/accept"), &[]).await;
    assert_eq!(
        again,
        (400, error("The challenge has already been accepted"))
    );
    let (code, shown) = ann.get(&format!("/api/challenge/{id}/show")).await;
    assert_eq!((code, &shown["status"]), (200, &json!("accepted")));
    assert_eq!(shown["fullId"].as_str().unwrap().len(), 12);
    assert_eq!(house.violations().total(), 0);
    house.shutdown().await;
}

#[tokio::test]
async fn challenges_are_declined_and_taken_back() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let mut ann_events = ann.events().await;
    let mut bob_events = bob.events().await;
    for (sent, key) in [
        ("tooFast", "toofast"),
        ("noBot", "nobot"),
        ("whatever", "generic"),
    ] {
        let id = ann.challenge("Bob_Bot", &BLITZ).await;
        let path = format!("/api/challenge/{id}/decline");
        assert_eq!(
            bob.post(&path, &[("reason", sent)]).await,
            (200, json!({"ok": true}))
        );
        assert_eq!(bob.post(&path, &[]).await, (404, error("Not found")));
        for events in [&mut ann_events, &mut bob_events] {
            let event = events.json_of("challengeDeclined").await;
            let challenge = &event["challenge"];
            assert_eq!(
                (&challenge["id"], &challenge["status"]),
                (&json!(id), &json!("declined"))
            );
            assert_eq!(challenge["declineReasonKey"], key);
            assert!(challenge["declineReason"].is_string());
        }
        let late = bob.post(&format!("/api/challenge/{id}/accept"), &[]).await;
        assert_eq!(late, (400, error("The challenge has been declined.")));
    }
    let first = ann.challenge("Bob_Bot", &BLITZ).await;
    let second = ann.challenge("Bob_Bot", &BLITZ).await;
    let canceled = bob_events.json_of("challengeCanceled").await;
    assert_eq!(
        canceled["challenge"]["id"],
        first.as_str(),
        "one pending per pair"
    );
    assert_eq!(
        ann.post(&format!("/api/challenge/{second}/cancel"), &[])
            .await
            .0,
        200
    );
    let late = bob
        .post(&format!("/api/challenge/{second}/accept"), &[])
        .await;
    assert_eq!(late, (400, error("The challenge has been canceled.")));

    // Cancelling what has just been accepted aborts the game.
    let third = ann.challenge("Bob_Bot", &BLITZ).await;
    bob.post(&format!("/api/challenge/{third}/accept"), &[])
        .await;
    assert_eq!(
        ann.post(&format!("/api/challenge/{third}/cancel"), &[])
            .await
            .0,
        200
    );
    let finish = ann_events.json_of("gameFinish").await;
    assert_eq!(
        finish["game"]["status"],
        json!({"id": 25, "name": "aborted"})
    );
    assert_eq!(
        ann.post("/api/challenge/zzzzzzzz/cancel", &[]).await,
        (404, error("Not found"))
    );
    house.shutdown().await;
}

#[tokio::test]
async fn wrong_challenges_get_the_words_of_lichess() {
    let (house, ann, _) = house_with_bots(config()).await;
    let form_error = |field: &str, text: &str| {
        let map = json!({ (field): [text] });
        let mut body = map.clone();
        body["error"] = map;
        (400, body)
    };
    let post =
        |form: &'static [(&'static str, &'static str)]| ann.post("/api/challenge/Bob_Bot", form);
    assert_eq!(
        post(&[("clock.limit", "100"), ("clock.increment", "0")]).await,
        form_error("clock.limit", "Invalid value")
    );
    assert_eq!(
        post(&[("clock.limit", "60")]).await,
        form_error("clock.increment", "This field is required")
    );
    assert_eq!(
        post(&[("clock.limit", "15"), ("clock.increment", "0")]).await,
        form_error("global", "Invalid speed")
    );
    assert_eq!(
        post(&[("clock.limit", "0"), ("clock.increment", "0")]).await,
        form_error("clock", "Invalid clock")
    );
    assert_eq!(
        post(&[("days", "4")]).await,
        form_error("days", "Invalid value")
    );
    assert_eq!(
        post(&[("variant", "chess")]).await,
        form_error("variant", "Invalid value")
    );
    assert_eq!(
        post(&[("color", "grey")]).await,
        form_error("color", "Invalid value")
    );
    assert_eq!(
        post(&[("rated", "true"), ("variant", "atomic")]).await,
        form_error("global", "can't be rated")
    );
    assert_eq!(
        post(&[("fen", "8/8/8/8/8/8/8/8 w - - 0 1")]).await,
        form_error("fen", "invalidFen")
    );
    let nine_sixty = [
        ("variant", "chess960"),
        (
            "fen",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1",
        ),
    ];
    assert_eq!(
        ann.post("/api/challenge/Bob_Bot", &nine_sixty).await,
        form_error("fen", "invalidFen")
    );
    assert_eq!(
        ann.post("/api/challenge/Nobody", &BLITZ).await,
        (400, error("No such user: Nobody"))
    );
    assert_eq!(
        ann.post("/api/challenge/Ann_Bot", &BLITZ).await,
        (404, error("Not found"))
    );
    assert_eq!(
        ann.post("/api/challenge/Bob_Bot", &[("rules", "noAbort")])
            .await,
        (400, error("Rules not applicable for bots"))
    );
    // Too fast to be rated is quietly made casual.
    let fast = [
        ("clock.limit", "0"),
        ("clock.increment", "1"),
        ("variant", "crazyhouse"),
        ("rated", "true"),
    ];
    let (code, made) = ann.post("/api/challenge/Bob_Bot", &fast).await;
    assert_eq!((code, &made["rated"]), (200, &json!(false)));
    // A position of one's own makes orthodox chess "from position"; other variants ignore it.
    let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";
    let (_, made) = ann.post("/api/challenge/Bob_Bot", &[("fen", fen)]).await;
    assert_eq!(
        (&made["variant"]["key"], &made["initialFen"]),
        (&json!("fromPosition"), &json!(fen))
    );
    let (_, made) = ann
        .post(
            "/api/challenge/Bob_Bot",
            &[("fen", fen), ("variant", "horde")],
        )
        .await;
    assert_eq!(made["variant"]["key"], "horde");
    assert!(
        made["initialFen"]
            .as_str()
            .unwrap()
            .starts_with("rnbqkbnr/pppppppp/8/1PP2PP1/")
    );
    house.shutdown().await;
}

#[tokio::test]
async fn a_kept_alive_challenge_ends_with_its_outcome() {
    let (house, ann, bob) = house_with_bots(config()).await;
    for (answer_path, outcome) in [("accept", "accepted"), ("decline", "declined")] {
        let form = [
            ("clock.limit", "60"),
            ("clock.increment", "1"),
            ("keepAliveStream", "true"),
        ];
        let request = ann
            .http
            .post(ann.url("/api/challenge/Bob_Bot"))
            .bearer_auth(&ann.token);
        let response = request.form(&form).send().await.unwrap();
        let body = async {
            let mut events = bob.events().await;
            let id = events.json_of("challenge").await["challenge"]["id"].clone();
            let id = id.as_str().unwrap().to_owned();
            bob.post(&format!("/api/challenge/{id}/{answer_path}"), &[])
                .await;
        };
        let (text, ()) = tokio::join!(response.text(), body);
        let text = text.unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 2, "{text}");
        let first: Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!(first["status"], "created");
        assert_eq!(lines[1], format!("{{\"done\":\"{outcome}\"}}"));
    }
    house.shutdown().await;
}

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
async fn chat_is_echoed_checked_and_dropped_when_it_floods() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut stream = bob.game(&id).await;
    stream.expect("gameFull").await;
    let path = format!("/api/bot/game/{id}/chat");
    let say = |room: &'static str, text: String| {
        let (ann, path) = (ann.clone(), path.clone());
        async move { ann.post(&path, &[("room", room), ("text", &text)]).await }
    };
    assert_eq!(
        say("player", "Good luck, have fun".into()).await,
        (200, json!({"ok": true}))
    );
    let line = json!({"type": "chatLine", "username": "Ann_Bot", "text": "Good luck, have fun", "room": "player"});
    assert_eq!(stream.json().await, line);
    say("spectator", "watching?".into()).await;
    assert_eq!(stream.json().await["room"], "spectator");
    assert_eq!(say("player", "Good luck, have fun!".into()).await.0, 200);
    assert_eq!(
        stream.next_within(Duration::from_millis(150)).await,
        Next::Quiet,
        "a near copy"
    );
    let long = "x".repeat(141);
    let (code, body) = say("player", long).await;
    assert_eq!(
        (code, &body["text"]),
        (400, &json!(["Maximum length is 140"]))
    );
    assert_eq!(say("kitchen", "hello".into()).await.0, 400);
    assert_eq!(say("player", " ".into()).await.0, 400);
    let (code, list) = ann.get(&path).await;
    assert_eq!(code, 200);
    assert_eq!(
        list,
        json!([{"text": "Good luck, have fun", "user": "Ann_Bot"}])
    );
    for n in 0..6 {
        say(
            "spectator",
            format!("{n}{n}{n}{n} something else {}", n * 7919),
        )
        .await;
    }
    let mut heard = 0;
    while stream.next_within(Duration::from_millis(150)).await != Next::Quiet {
        heard += 1;
    }
    assert_eq!(heard, 3, "with the one before, four in ten seconds");
    house.shutdown().await;
}

#[tokio::test]
async fn idle_streams_send_empty_lines() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut events = ann.events().await;
    events.expect("gameStart").await;
    let mut game = ann.game(&id).await;
    game.expect("gameFull").await;
    for lines in [&mut events, &mut game] {
        for _ in 0..20 {
            let next = lines.next_within(Duration::from_millis(500)).await;
            assert_eq!(next, Next::Quiet);
            if lines.blanks >= 2 {
                break;
            }
        }
        assert!(lines.blanks >= 2, "{} empty lines", lines.blanks);
    }
    house.shutdown().await;
}

#[tokio::test]
async fn a_second_stream_ends_the_first_and_is_reported() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut first = ann.events().await;
    first.expect("gameStart").await;
    let mut second = ann.events().await;
    second.expect("gameStart").await;
    assert_eq!(first.next().await, Next::End);
    let mut game = ann.game(&id).await;
    game.expect("gameFull").await;
    // Another user agent may have a stream of its own.
    let (_, mut other) = ann
        .open_with(
            &http_client("another/1"),
            &format!("/api/bot/game/stream/{id}"),
        )
        .await;
    other.expect("gameFull").await;
    let mut again = ann.game(&id).await;
    again.expect("gameFull").await;
    assert_eq!(game.next().await, Next::End);
    ann.play(&id, "e2e4").await;
    assert_eq!(again.expect("gameState").await["moves"], "e2e4");
    assert_eq!(other.expect("gameState").await["moves"], "e2e4");
    let violations = house.violations();
    assert_eq!(violations.count(ViolationKind::SecondEventStream), 1);
    assert_eq!(violations.count(ViolationKind::SecondGameStream), 1);

    // Who closes the first before opening the second has done nothing wrong.
    for _ in 0..20 {
        drop(again);
        again = ann.game(&id).await;
        again.expect("gameFull").await;
        drop(second);
        second = ann.events().await;
        second.expect("gameStart").await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(house.violations().total(), 2, "{:?}", house.violations());
    house.shutdown().await;
}

#[tokio::test]
async fn polling_is_refused_and_reported() {
    let limits =
        Limits::none()
            .with(Limited::EventStream, 3, 600_000)
            .with(Limited::Account, 2, 300_000);
    let (house, ann, _) = house_with_bots(HouseConfig { limits, ..config() }).await;
    for _ in 0..3 {
        drop(ann.events().await);
    }
    let (code, body) = ann.get("/api/stream/event").await;
    assert_eq!(code, 429);
    assert!(
        body["error"]
            .as_str()
            .unwrap()
            .starts_with("Please don't poll this endpoint")
    );
    for _ in 0..2 {
        assert_eq!(ann.get("/api/account").await.0, 200);
    }
    assert_eq!(ann.get("/api/account").await.0, 429);
    let violations = house.violations();
    assert_eq!(violations.count(ViolationKind::EventStreamPolling), 1);
    assert_eq!(violations.count(ViolationKind::Polling), 1);
    house.shutdown().await;
}

#[tokio::test]
async fn bot_games_of_a_day_are_counted_for_both() {
    let limits = Limits::lichess().with(Limited::BotGamesDay, 2, 86_400_000);
    let (house, ann, bob) = house_with_bots(HouseConfig { limits, ..config() }).await;
    let eve = Bot::register(&house, "Eve_Bot").await;
    let dan = Bot::register(&house, "Dan_Bot").await;
    for other in [&bob, &eve] {
        let id = begin(&ann, other, &BLITZ).await;
        ann.command(&id, "abort").await;
    }
    let (code, body) = ann.post("/api/challenge/Dan_Bot", &BLITZ).await;
    assert_eq!(
        (code, &body["ratelimit"]["key"]),
        (429, &json!("bot.vsBot.day"))
    );
    assert!(body["ratelimit"]["seconds"].as_u64().unwrap() > 86_000);
    let (code, body) = dan.post("/api/challenge/Ann_Bot", &BLITZ).await;
    assert_eq!(
        (code, &body["ratelimit"]["key"]),
        (400, &json!("bot.vsBot.day"))
    );
    assert!(
        body["error"]
            .as_str()
            .unwrap()
            .starts_with("Ann_Bot played")
    );
    // Challenges have credits of their own.
    for _ in 0..25 {
        dan.post("/api/challenge/Bob_Bot", &BLITZ).await;
    }
    let (code, body) = dan.post("/api/challenge/Bob_Bot", &BLITZ).await;
    assert_eq!(
        (code, body),
        (429, error("Too many requests. Try again later."))
    );
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

#[tokio::test]
async fn a_house_for_others_must_be_asked_for() {
    let everywhere = HouseConfig {
        listen: "0.0.0.0:0".parse().unwrap(),
        ..config()
    };
    let refused = House::start(everywhere.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("--open"), "{refused}");
    let house = House::start(HouseConfig {
        open_to_network: true,
        ..everywhere
    })
    .await
    .unwrap();
    house.shutdown().await;
}
