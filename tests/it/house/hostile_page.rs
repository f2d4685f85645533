//! Hostile browsers: what a page of another site, another's session, or a broken form is told.

use std::time::Duration;

use seneschal::house::{House, HouseHandle};
use serde_json::{Value, json};

use super::browser::{Browser, asking};
use super::client::{Bot, answer, config};

/// A game of two guests, White and Black, in which nothing has been played.
async fn game_of_two(house: &HouseHandle) -> (Browser, Browser, String) {
    let zoe = Browser::guest(house, "Zoe").await;
    let max = Browser::guest(house, "Max").await;
    let id = zoe
        .ask(&asking(&[
            ("with", "link"),
            ("variant", "crazyhouse"),
            ("color", "white"),
        ]))
        .await;
    assert_eq!(max.post(&format!("/page/{id}/join"), &[]).await.0, 200);
    (zoe, max, id)
}

/// Every address of the page that does something, for a game.
fn commands(id: &str) -> Vec<String> {
    let mut paths: Vec<String> = ["guest", "login", "logout", "challenge"]
        .map(|name| format!("/page/{name}"))
        .to_vec();
    paths.extend(["join", "withdraw"].map(|name| format!("/page/{id}/{name}")));
    paths.extend(
        [
            "move/e2e4",
            "chat",
            "analysis",
            "abort",
            "resign",
            "draw-yes",
            "draw-no",
            "takeback-yes",
            "takeback-no",
            "claim-victory",
            "claim-draw",
            "rematch",
        ]
        .map(|name| format!("/page/game/{id}/{name}")),
    );
    paths
}

fn plies(house: &HouseHandle, id: &str) -> usize {
    house.hall().look(id, |game, _| game.plies()).unwrap()
}

#[tokio::test]
async fn no_command_is_taken_from_another_site() {
    let house = House::start(config()).await.unwrap();
    let (zoe, _, id) = game_of_two(&house).await;
    let port = zoe.base.rsplit(':').next().unwrap().to_owned();
    let foreign: Vec<Vec<(&str, String)>> = vec![
        vec![],
        vec![("origin", "null".to_owned())],
        vec![("origin", "http://evil.example".to_owned())],
        vec![("origin", format!("http://127.0.0.1.evil.example:{port}"))],
        vec![("origin", "http://127.0.0.1:1".to_owned())],
        vec![
            ("origin", zoe.base.clone()),
            ("sec-fetch-site", "cross-site".to_owned()),
        ],
        vec![
            ("origin", zoe.base.clone()),
            ("sec-fetch-site", "same-site".to_owned()),
        ],
    ];
    for path in commands(&id) {
        for headers in &foreign {
            let mut request = zoe
                .http
                .post(format!("{}{path}", zoe.base))
                .header("cookie", zoe.cookie.clone().unwrap())
                .form(&[("name", "x"), ("text", "x")]);
            for (name, value) in headers {
                request = request.header(*name, value);
            }
            assert_eq!(
                answer(request).await,
                (
                    403,
                    json!({"error": "Only pages of this house may do that"})
                ),
                "{path} {headers:?}"
            );
        }
        // Under a name that somebody else has pointed here, nothing is served at all.
        let rebound = zoe
            .request(&path, &[])
            .header("host", format!("evil.example:{port}"));
        let (code, refused) = answer(rebound).await;
        assert_eq!(code, 403, "{path}: {refused}");
    }
    // Nothing is done by only looking, either.
    for path in commands(&id) {
        let (code, _) = zoe.get(&path).await;
        assert!(
            code == 405 || path.ends_with("/analysis"),
            "GET {path}: {code}"
        );
    }
    assert_eq!(plies(&house, &id), 0);
    assert_eq!(house.running(), [id]);
    house.shutdown().await;
}

#[tokio::test]
async fn a_session_acts_for_its_owner_only() {
    let house = House::start(config()).await.unwrap();
    let (zoe, max, id) = game_of_two(&house).await;
    let eve = Browser::guest(&house, "Eve").await;
    for command in [
        "move/e2e4",
        "abort",
        "resign",
        "draw-yes",
        "takeback-yes",
        "claim-victory",
        "rematch",
    ] {
        let path = format!("/page/game/{id}/{command}");
        let (code, refused) = eve.post(&path, &[]).await;
        assert_eq!(
            (code, &refused["error"]),
            (404, &json!("Not your game")),
            "{command}"
        );
        let (code, refused) = Browser::new(&house).post(&path, &[]).await;
        assert_eq!(
            (code, refused),
            (401, json!({"error": "Take a name first"})),
            "{command}"
        );
        let mut forged = Browser::new(&house);
        for cookie in [
            "house_session=hse_0000",
            "house_session=",
            "house_session=zoe",
        ] {
            forged.cookie = Some(cookie.to_owned());
            assert_eq!(forged.post(&path, &[]).await.0, 401, "{command} {cookie}");
        }
    }
    // Another's challenge, link and offer cannot be withdrawn, and one for somebody else not be accepted.
    let bot = Bot::register(&house, "House_Bot").await;
    let _events = bot.events().await;
    let to_bot = zoe
        .ask(&asking(&[("with", "user"), ("opponent", "House_Bot")]))
        .await;
    let link = zoe.ask(&asking(&[("with", "link")])).await;
    let seek = zoe.ask(&asking(&[("with", "anybody")])).await;
    assert_eq!(eve.post(&format!("/page/{to_bot}/join"), &[]).await.0, 404);
    for offer in [&to_bot, &link, &seek] {
        eve.post(&format!("/page/{offer}/withdraw"), &[]).await;
        let (_, waiting) = zoe.watch(offer).await.next().await;
        assert_eq!(waiting["status"], "created", "{waiting}");
    }
    // The player himself can do all that.
    zoe.play(&id, "e2e4").await;
    max.play(&id, "e7e5").await;
    assert_eq!(plies(&house, &id), 2);
    house.shutdown().await;
}

#[tokio::test]
async fn moves_that_cannot_be_are_refused_with_a_reason_and_change_nothing() {
    let house = House::start(config()).await.unwrap();
    let (zoe, max, id) = game_of_two(&house).await;
    let out_of_turn = max.post(&format!("/page/game/{id}/move/e7e5"), &[]).await;
    assert_eq!(out_of_turn, (400, json!({"error": "It is not your turn"})));
    for wrong in [
        "e2e5",
        "e7e5",
        "P@e4",
        "K@e4",
        "e1g1",
        "a1a1",
        "0000",
        "e2e4e4",
        "%00",
        "%3Cscript%3E",
        "e2e4%20",
        "%F0%9F%98%80",
        "i2i4",
    ] {
        let (code, refused) = zoe
            .post(&format!("/page/game/{id}/move/{wrong}"), &[])
            .await;
        assert_eq!(code, 400, "{wrong}: {refused}");
        let reason = refused["error"].as_str().unwrap();
        assert!(reason.len() > 8, "{wrong}: {reason}");
    }
    let long = "e".repeat(5_000);
    let (code, _) = zoe.post(&format!("/page/game/{id}/move/{long}"), &[]).await;
    assert_eq!(code, 400);
    let unknown = zoe.post("/page/game/zzzzzzzz/move/e2e4", &[]).await;
    assert_eq!(unknown.0, 404);
    assert_eq!(plies(&house, &id), 0);
    zoe.play(&id, "e2e4").await;
    zoe.post(&format!("/page/game/{id}/resign"), &[]).await;
    let over = max.post(&format!("/page/game/{id}/move/e7e5"), &[]).await;
    assert_eq!(over.0, 400, "the game is over: {over:?}");
    // People slip: none of this counts against anybody.
    assert_eq!(house.violations().total(), 0);
    house.shutdown().await;
}

#[tokio::test]
async fn bodies_beyond_the_limit_and_broken_forms_are_refused() {
    let house = House::start(config()).await.unwrap();
    let (zoe, _, id) = game_of_two(&house).await;
    let huge = "x".repeat(100_000);
    for path in commands(&id) {
        let sent = answer(zoe.request(&path, &[("text", huge.as_str())])).await;
        assert_eq!(sent.0, 413, "{path}: {:?}", sent.1);
    }
    assert_eq!(plies(&house, &id), 0);
    let broken = |body: &'static str| {
        let request = zoe
            .http
            .post(format!("{}/page/challenge", zoe.base))
            .header("origin", &zoe.base)
            .header("cookie", zoe.cookie.clone().unwrap())
            .header("content-type", "application/json")
            .body(body);
        answer(request)
    };
    for body in ["{", "[]", "null", "\u{0}", "{\"with\":"] {
        let (code, refused) = broken(body).await;
        assert_eq!(
            (code, &refused["error"]),
            (400, &json!("The form cannot be read")),
            "{body:?}"
        );
    }
    for (form, said) in [
        (vec![("with", "nobody")], "Against whom?"),
        (vec![], "Against whom?"),
        (
            vec![("with", "user"), ("opponent", "<script>")],
            "No such user",
        ),
        (
            vec![("with", "device"), ("variant", "tiddlywinks")],
            "ariant",
        ),
        (
            vec![("with", "device"), ("variant", "fromPosition")],
            "invalidFen",
        ),
        (
            vec![
                ("with", "device"),
                ("variant", "fromPosition"),
                ("fen", "<b>"),
            ],
            "",
        ),
        (
            vec![
                ("with", "link"),
                ("clock.limit", "-5"),
                ("clock.increment", "x"),
            ],
            "",
        ),
    ] {
        let (code, refused) = zoe.post("/page/challenge", &form).await;
        assert_eq!(code, 400, "{form:?}: {refused}");
        assert!(refused.to_string().contains(said), "{form:?}: {refused}");
    }
    assert_eq!(house.running(), [id], "nothing else has begun");
    house.shutdown().await;
}

#[tokio::test]
async fn script_in_names_chat_and_addresses_stays_text() {
    let house = House::start(config()).await.unwrap();
    let (zoe, max, id) = game_of_two(&house).await;
    for name in [
        "<script>alert(1)</script>",
        "\"><img src=x>",
        "a b",
        "x",
        "../..",
        "Ze\u{301}",
        "\u{202e}evil",
    ] {
        let (code, refused) = Browser::new(&house)
            .take("/page/guest", &[("name", name)])
            .await;
        assert_eq!(code, 400, "{name}: {refused}");
    }
    let mut page = max.watch(&id).await;
    page.state(|_| true).await;
    let evil = "<img src=x onerror=alert(1)>&amp;";
    let (code, _) = zoe
        .post(&format!("/page/game/{id}/chat"), &[("text", evil)])
        .await;
    assert_eq!(code, 200);
    // It comes as text in JSON, and the page puts it on the screen as text.
    let heard = page
        .state(|s| s["chat"].as_array().unwrap().len() == 1)
        .await;
    assert_eq!(heard["chat"][0]["text"], evil);
    assert!(!heard["svg"].as_str().unwrap().contains("onerror"));
    for path in ["/".to_owned(), format!("/{id}"), format!("/{id}/board.svg")] {
        let (code, page) = max.get(&path).await;
        assert_eq!(code, 200, "{path}");
        assert!(!page.as_str().unwrap().contains("onerror"), "{path}");
    }
    for text in ["", "   ", &"x".repeat(141)] {
        let (code, refused) = zoe
            .post(&format!("/page/game/{id}/chat"), &[("text", text)])
            .await;
        assert_eq!(
            (code, refused),
            (400, json!({"error": "A line has 1 to 140 characters"}))
        );
    }
    // What stands in an address is not repeated as markup.
    for path in [
        "/%3Cscript%3Ealert(1)%3C/script%3E",
        "/games?player=%22%3E%3Cscript%3E&opponent=%3Cscript%3E&from=%3Cscript%3E&variant=%3Cscript%3E",
        "/ladder?perf=%3Cscript%3E",
        "/page/game/%3Cscript%3E/at/0",
        "/assets/%3Cscript%3E",
    ] {
        let (_, page) = zoe.get(path).await;
        let text = page
            .as_str()
            .map_or_else(|| page.to_string(), str::to_owned);
        assert!(!text.contains("<script>"), "{path}: {text}");
    }
    house.shutdown().await;
}

#[tokio::test]
async fn a_browser_that_asks_for_too_much_is_slowed_down_and_others_are_not() {
    use seneschal::house::HouseConfig;
    use seneschal::house::limits::{Limited, Limits};
    let limits = Limits::none().with(Limited::Page, 20, 60_000);
    let house = House::start(HouseConfig { limits, ..config() })
        .await
        .unwrap();
    let (zoe, max, id) = game_of_two(&house).await;
    let path = format!("/page/game/{id}/chat");
    let mut codes = Vec::new();
    for n in 0..30 {
        let text = format!("line {n} of many");
        codes.push(zoe.post(&path, &[("text", &text)]).await.0);
    }
    assert!(
        codes.iter().filter(|code| **code == 429).count() >= 9,
        "{codes:?}"
    );
    let (code, said) = max.post(&format!("/page/game/{id}/draw-no"), &[]).await;
    assert_eq!((code, said), (200, json!({"ok": true})));
    // The flood has not pushed anything off the page but itself: one's own lines are dropped.
    let state: Value = max.watch(&id).await.state(|_| true).await;
    assert!(state["chat"].as_array().unwrap().len() <= 40);
    tokio::time::timeout(Duration::from_secs(5), house.shutdown())
        .await
        .unwrap();
}
