//! Accounts and tokens: who asks, who is there, who may listen.

use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::violation::ViolationKind;
use seneschal::house::{House, HouseConfig};
use serde_json::json;

use super::super::client::{BLITZ, Bot, answer, begin, config, house_with_bots, http_client};
use super::error;

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
