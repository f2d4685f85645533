//! Streams and chat: signs of life, second streams, polling, floods.

use std::time::Duration;

use seneschal::house::HouseConfig;
use seneschal::house::limits::{Limited, Limits};
use seneschal::house::violation::ViolationKind;
use serde_json::json;

use super::super::client::{BLITZ, Next, begin, config, house_with_bots, http_client};

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
