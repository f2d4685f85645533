//! Wrong and hostile clients get a clear refusal, and the house goes on.

use std::time::Duration;

use seneschal::house::HouseConfig;
use seneschal::house::violation::ViolationKind;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{BLITZ, Bot, answer, begin, config, house_with_bots};

/// Sends raw bytes and reads what comes until the house closes or half a second passes.
async fn raw(base: &str, bytes: &[u8]) -> String {
    let address = base.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(bytes).await.unwrap();
    let mut got = Vec::new();
    let read = async {
        let mut chunk = [0; 4096];
        while let Ok(n) = socket.read(&mut chunk).await {
            if n == 0 {
                break;
            }
            got.extend_from_slice(&chunk[..n]);
        }
    };
    drop(tokio::time::timeout(Duration::from_millis(500), read).await);
    String::from_utf8_lossy(&got).into_owned()
}

#[tokio::test]
async fn names_are_checked_and_markup_in_chat_stays_text() {
    let (house, ann, bob) = house_with_bots(config()).await;
    for name in ["<script>", "a", "x\"y", "../../etc", "a b", ""] {
        let refused = house
            .register(
                name,
                seneschal::house::account::AccountKind::Bot,
                seneschal::house::account::Scopes::bot(),
            )
            .await;
        assert!(refused.is_err(), "{name}");
    }
    let taken = house
        .register(
            "ANN_bot",
            seneschal::house::account::AccountKind::Bot,
            seneschal::house::account::Scopes::bot(),
        )
        .await;
    assert!(taken.is_err());
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut stream = bob.game(&id).await;
    stream.expect("gameFull").await;
    let text = "<script>alert(1)</script>";
    let path = format!("/api/bot/game/{id}/chat");
    ann.post(&path, &[("room", "player"), ("text", text)]).await;
    assert_eq!(stream.expect("chatLine").await["text"], text);
    let (_, page) = ann.get(&format!("/{id}")).await;
    assert!(!page.as_str().unwrap().contains("<script>alert"));
    let odd = ann.post("/api/challenge/%3Cscript%3E", &BLITZ).await;
    assert_eq!(odd, (400, json!({"error": "No such user: <script>"})));
    house.shutdown().await;
}

#[tokio::test]
async fn bodies_beyond_the_limit_are_refused() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let huge = "x".repeat(200_000);
    let path = format!("/api/bot/game/{id}/chat");
    let (code, _) = ann
        .post(&path, &[("room", "player"), ("text", &huge)])
        .await;
    assert_eq!(code, 413);
    let (code, _) = ann.post("/api/challenge/Bob_Bot", &[("fen", &huge)]).await;
    assert_eq!(code, 413);
    let request = ann.http.post(ann.url("/api/token/test")).body(huge.clone());
    assert_eq!(answer(request).await.0, 413);
    let broken = ann
        .http
        .post(ann.url(&path))
        .bearer_auth(&ann.token)
        .header("content-type", "application/json")
        .body("{\"room\":");
    assert_eq!(
        answer(broken).await,
        (400, json!({"error": "Invalid Json"}))
    );
    assert_eq!(house.violations().count(ViolationKind::MalformedRequest), 3);
    ann.play(&id, "e2e4").await;
    house.shutdown().await;
}

#[tokio::test]
async fn foreign_host_names_and_broken_requests_are_refused() {
    let (house, ann, _) = house_with_bots(config()).await;
    let host = ann.base.strip_prefix("http://").unwrap().to_owned();
    let ask = |host: &str| {
        format!("GET /api/bot/online HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    };
    let refused = raw(&ann.base, ask("evil.example").as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    for good in [host.as_str(), "localhost:1", "LOCALHOST", "[::1]:80"] {
        let answered = raw(&ann.base, ask(good).as_bytes()).await;
        assert!(answered.starts_with("HTTP/1.1 200"), "{good}: {answered}");
    }
    for nonsense in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n\r\n\r\n",
        &[0xff; 300],
    ] {
        let answered = raw(&ann.base, nonsense).await;
        assert!(!answered.starts_with("HTTP/1.1 200"), "{answered}");
    }
    let long = format!(
        "GET /{} HTTP/1.1\r\nHost: {host}\r\n\r\n",
        "a".repeat(100_000)
    );
    let answered = raw(&ann.base, long.as_bytes()).await;
    assert!(!answered.contains(" 200 "), "{answered}");
    assert_eq!(ann.get("/api/account").await.0, 200, "the house goes on");
    house.shutdown().await;
}

#[tokio::test]
async fn connections_are_bounded_and_idle_ones_make_room() {
    let (house, ann, _) = house_with_bots(HouseConfig {
        max_connections: 4,
        ..config()
    })
    .await;
    let address = ann.base.strip_prefix("http://").unwrap().to_owned();
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(TcpStream::connect(&address).await.unwrap());
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let request = ann
        .http
        .get(ann.url("/api/account"))
        .bearer_auth(&ann.token);
    let waiting = request.timeout(Duration::from_millis(300)).send().await;
    assert!(waiting.is_err(), "all places are taken");
    held.pop();
    assert_eq!(ann.get("/api/account").await.0, 200);
    assert!(house.connections() <= 5);
    house.shutdown().await;
}

#[tokio::test]
async fn moves_that_are_none_leave_the_game_alone() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &[("variant", "crazyhouse")]).await;
    for wrong in [
        "e2e5",
        "e7e5",
        "P@e4",
        "0000",
        "e2e4e4",
        "%00",
        "e2e4%20",
        "a1a1",
        "Z@e4",
        "P@i9",
        "e1g1",
        "%F0%9F%98%80",
    ] {
        let (code, body) = ann.try_play(&id, wrong).await;
        assert_eq!(code, 400, "{wrong}: {body}");
        assert!(body["error"].is_string());
    }
    assert_eq!(bob.try_play(&id, "e7e5").await.0, 400, "out of turn");
    let (_, playing) = ann.get("/api/account/playing").await;
    assert_eq!(playing["nowPlaying"][0]["lastMove"], "");
    assert_eq!(house.violations().count(ViolationKind::MoveOutOfTurn), 1);
    assert_eq!(house.violations().total(), 13);
    house.shutdown().await;
}

#[tokio::test]
async fn a_token_acts_for_its_own_account_only() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let eve = Bot::register(&house, "Eve_Bot").await;
    let id = begin(&ann, &bob, &BLITZ).await;
    for command in [
        "resign",
        "abort",
        "draw/yes",
        "takeback/yes",
        "claim-victory",
    ] {
        let refused = eve.command(&id, command).await;
        assert_eq!(
            refused,
            (404, json!({"error": "Not your game"})),
            "{command}"
        );
    }
    let challenge = ann.challenge("Bob_Bot", &BLITZ).await;
    for path in ["accept", "decline", "cancel"] {
        let refused = eve
            .post(&format!("/api/challenge/{challenge}/{path}"), &[])
            .await;
        assert_eq!(refused.0, 404, "{path}");
    }
    assert_eq!(
        eve.get(&format!("/api/challenge/{challenge}/show")).await.0,
        404
    );
    assert_eq!(house.running(), [id]);
    house.shutdown().await;
}
