//! Challenges: made, answered, refused, taken back.

use seneschal::house::HouseConfig;
use seneschal::house::limits::{Limited, Limits};
use serde_json::{Value, json};

use super::super::client::{BLITZ, Bot, begin, config, house_with_bots};
use super::error;

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
