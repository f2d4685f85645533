//! Playing on the page, without a browser: sessions, offers, links, one device, rematches, and who may do what.

use std::collections::BTreeSet;
use std::time::Duration;

use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::limits::{Limited, Limits};
use seneschal::house::{House, HouseConfig};
use serde_json::{Value, json};

use super::browser::{Browser, QUICK, asking};
use super::client::{Bot, answer, config};

#[tokio::test]
async fn a_guest_plays_a_bot_to_mate_with_a_drop() {
    let house = House::start(config()).await.unwrap();
    let bot = Bot::register(&house, "House_Bot").await;
    let mut events = bot.events().await;
    let zoe = Browser::guest(&house, "Zoe").await;
    let (_, lobby) = answer(zoe.http.get(format!("{}/page/lobby", zoe.base))).await;
    assert_eq!(
        lobby["bots"],
        json!([{"id": "house_bot", "name": "House_Bot"}])
    );
    let form = asking(&[
        ("with", "user"),
        ("opponent", "House_Bot"),
        ("variant", "crazyhouse"),
        ("color", "white"),
    ]);
    let id = zoe.ask(&form).await;
    let mut page = zoe.watch(&id).await;
    let (name, waiting) = page.next().await;
    assert_eq!(
        (name.as_str(), &waiting["mine"], &waiting["dest"]),
        ("waiting", &json!(true), &json!("House_Bot"))
    );
    let challenge = events.expect("challenge").await;
    assert_eq!(challenge["challenge"]["challenger"]["title"], Value::Null);
    bot.post(&format!("/api/challenge/{id}/accept"), &[]).await;
    let state = page.state(|_| true).await;
    assert_eq!(
        (&state["color"], &state["turn"]),
        (&json!("white"), &json!("white"))
    );
    assert_eq!(state["legal"].as_array().unwrap().len(), 20);
    for (white, black) in [
        ("e2e4", "d7d5"),
        ("e4d5", "d8d5"),
        ("P@e6", "a7a6"),
        ("e6f7", "e8d8"),
    ] {
        zoe.play(&id, white).await;
        bot.play(&id, black).await;
    }
    let state = page.plies(8).await;
    let drops = state["legal"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["f"] == "P@")
        .count();
    assert!(drops > 10, "{state}");
    assert_eq!(state["moves"][4], "P@e6");
    zoe.post(&format!("/page/game/{id}/resign"), &[]).await;
    let end = page.over().await;
    assert_eq!(
        (&end["winner"], &end["end"]),
        (&json!("black"), &json!("White has resigned: Black wins."))
    );
    assert_eq!(end["legal"], json!([]));
    // A rematch goes to the bot as a challenge with the sides changed.
    let (_, next) = zoe.post(&format!("/page/game/{id}/rematch"), &[]).await;
    let rematch = events.json_of("challenge").await["challenge"].clone();
    assert_eq!(rematch["rematchOf"], id.as_str());
    assert_eq!(
        (&rematch["finalColor"], next["url"].as_str().unwrap()),
        (
            &json!("black"),
            format!("/{}", rematch["id"].as_str().unwrap()).as_str()
        )
    );
    assert_eq!(house.violations().total(), 0);
    house.shutdown().await;
}

#[tokio::test]
async fn two_guests_meet_by_link_and_can_reload() {
    let house = House::start(config()).await.unwrap();
    let (zoe, max) = (
        Browser::guest(&house, "Zoe").await,
        Browser::guest(&house, "Max").await,
    );
    let id = zoe
        .ask(&asking(&[
            ("with", "link"),
            ("variant", "capablanca"),
            ("color", "black"),
        ]))
        .await;
    let own = zoe.post(&format!("/page/{id}/join"), &[]).await;
    assert_eq!(own.0, 400, "{own:?}");
    let mut page = zoe.watch(&id).await;
    let (_, waiting) = page.next().await;
    assert_eq!(
        (&waiting["kind"], &waiting["open_to_me"]),
        (&json!("link"), &json!(false))
    );
    let mut friends = max.watch(&id).await;
    let (_, waiting) = friends.next().await;
    assert_eq!(
        (&waiting["challenger"], &waiting["open_to_me"]),
        (&json!("Zoe"), &json!(true))
    );
    assert_eq!(max.post(&format!("/page/{id}/join"), &[]).await.0, 200);
    let state = friends.state(|_| true).await;
    assert_eq!(state["color"], "white");
    assert_eq!(page.state(|_| true).await["color"], "black");
    let late = Browser::guest(&house, "Late").await;
    assert_ne!(
        late.post(&format!("/page/{id}/join"), &[]).await.0,
        200,
        "the game has begun"
    );
    max.play(&id, "f2f4").await;
    assert!(page.plies(1).await["legal"].as_array().unwrap().len() > 20);
    // Reload in mid-game: the same side, the same position.
    drop(friends);
    let mut friends = max.watch(&id).await;
    let state = friends.state(|_| true).await;
    assert_eq!(
        (&state["color"], &state["moves"]),
        (&json!("white"), &json!(["f4"]))
    );
    // Chat of the players is theirs; who watches has a room of his own.
    zoe.post(&format!("/page/game/{id}/chat"), &[("text", "hello")])
        .await;
    let heard = friends
        .state(|s| s["chat"].as_array().unwrap().len() == 1)
        .await;
    assert_eq!(heard["chat"][0], json!({"user": "Zoe", "text": "hello"}));
    let mut watcher = late.watch(&id).await;
    let seen = watcher.state(|_| true).await;
    assert_eq!(
        (&seen["color"], &seen["legal"], &seen["chat"]),
        (&Value::Null, &json!([]), &json!([]))
    );
    assert_eq!(
        late.post(&format!("/page/game/{id}/move/f7f5"), &[])
            .await
            .0,
        404
    );
    // Takebacks need the other's word, draws too.
    max.post(&format!("/page/game/{id}/takeback-yes"), &[])
        .await;
    page.state(|s| s["takeback"] == "white").await;
    zoe.post(&format!("/page/game/{id}/takeback-yes"), &[])
        .await;
    let back = friends.plies(0).await;
    assert_eq!(back["turn"], "white");
    max.play(&id, "e2e4").await;
    zoe.play(&id, "e7e5").await;
    max.post(&format!("/page/game/{id}/draw-yes"), &[]).await;
    page.state(|s| s["draw"] == "white").await;
    zoe.post(&format!("/page/game/{id}/draw-yes"), &[]).await;
    assert_eq!(friends.over().await["end"], "Draw by agreement.");
    // Both want another game: one asks, the other takes it up.
    let (_, first) = zoe.post(&format!("/page/game/{id}/rematch"), &[]).await;
    friends.state(|s| s["rematch"] == "black").await;
    let (_, second) = max.post(&format!("/page/game/{id}/rematch"), &[]).await;
    assert_eq!(first["url"], second["url"]);
    let state = friends.state(|s| s["next"].is_string()).await;
    assert_eq!(
        state["next"].as_str().unwrap(),
        &first["url"].as_str().unwrap()[1..]
    );
    let next = max
        .watch(state["next"].as_str().unwrap())
        .await
        .state(|_| true)
        .await;
    assert_eq!(next["color"], "black", "sides are changed");
    house.shutdown().await;
}

#[tokio::test]
async fn offers_are_paired_by_what_they_ask_and_by_rating() {
    let house = House::start(config()).await.unwrap();
    let names = ["Low", "High", "Mid"];
    let mut guests = Vec::new();
    for name in names {
        guests.push(Browser::guest(&house, name).await);
    }
    for (name, rating) in [("Low", 1000.0), ("High", 1900.0), ("Mid", 1050.0)] {
        let set = |account: &mut seneschal::house::account::Account| {
            account
                .perfs
                .entry("crazyhouse".to_owned())
                .or_default()
                .rating = rating;
        };
        house.hall().change_account(name, set).unwrap();
    }
    let wish = asking(&[("with", "anybody"), ("variant", "crazyhouse")]);
    let low = guests[0].ask(&wish).await;
    let high = guests[1].ask(&wish).await;
    assert_eq!(house.running().len(), 0, "900 points apart");
    let other = guests[2]
        .ask(&asking(&[("with", "anybody"), ("variant", "atomic")]))
        .await;
    assert_eq!(house.running().len(), 0, "another variant");
    let mid = guests[2].ask(&wish).await;
    assert_eq!(house.running(), std::slice::from_ref(&low));
    // Who waited at the other address is sent on.
    let mut page = guests[2].watch(&mid).await;
    assert_eq!(
        page.next().await,
        ("moved".to_owned(), json!({"url": format!("/{low}")}))
    );
    let (_, lobby) = answer(guests[0].http.get(format!("{}/page/lobby", guests[0].base))).await;
    let open: BTreeSet<&str> = lobby["seeks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["id"].as_str().unwrap())
        .collect();
    assert_eq!(open, BTreeSet::from([high.as_str(), other.as_str()]));
    assert_eq!(
        guests[0].post(&format!("/page/{high}/join"), &[]).await.0,
        200,
        "by hand anybody may"
    );
    assert_eq!(
        guests[2]
            .post(&format!("/page/{other}/withdraw"), &[])
            .await
            .0,
        200
    );
    let (_, lobby) = answer(guests[0].http.get(format!("{}/page/lobby", guests[0].base))).await;
    assert_eq!(lobby["seeks"], json!([]));
    house.shutdown().await;
}

#[tokio::test]
async fn two_share_a_device() {
    let house = House::start(config()).await.unwrap();
    let zoe = Browser::guest(&house, "Zoe").await;
    let id = zoe
        .ask(&[("with", "device"), ("variant", "capahouse")])
        .await;
    let mut page = zoe.watch(&id).await;
    let state = page.state(|_| true).await;
    assert_eq!(
        (&state["shared"], &state["color"]),
        (&json!(true), &json!("white"))
    );
    zoe.play(&id, "e2e4").await;
    let state = page.plies(1).await;
    assert_eq!(
        (&state["color"], &state["turn"]),
        (&json!("black"), &json!("black"))
    );
    zoe.play(&id, "e7e5").await;
    zoe.post(&format!("/page/game/{id}/takeback-yes"), &[])
        .await;
    assert_eq!(page.plies(1).await["turn"], "black");
    zoe.play(&id, "d7d5").await;
    zoe.play(&id, "e4d5").await;
    zoe.post(&format!("/page/game/{id}/resign"), &[]).await;
    let end = page.over().await;
    assert_eq!(
        (&end["winner"], &end["title"]),
        (&json!("white"), &json!("Capahouse · no clock · casual"))
    );
    let (_, next) = zoe.post(&format!("/page/game/{id}/rematch"), &[]).await;
    assert!(next["url"].is_string());
    house.shutdown().await;
}

#[tokio::test]
async fn the_legal_moves_tell_castling_promotion_and_drops() {
    let house = House::start(config()).await.unwrap();
    let zoe = Browser::guest(&house, "Zoe").await;
    let fen = "r4k3r/1P8/10/10/10/10/10/R4K3R w KQkq - 0 1";
    let form = [
        ("with", "device"),
        ("variant", "capablanca960"),
        ("fen", fen),
    ];
    let id = zoe.ask(&form).await;
    let state = zoe.watch(&id).await.state(|_| true).await;
    let legal = state["legal"].as_array().unwrap();
    let of = |from: &str| legal.iter().filter(|m| m["f"] == from).collect::<Vec<_>>();
    let castles: Vec<_> = of("f1")
        .into_iter()
        .filter(|m| m["t"].as_array().unwrap().len() == 2)
        .collect();
    assert_eq!(
        castles.len(),
        2,
        "both by the rook's square and by the king's: {legal:?}"
    );
    let promotions: Vec<&str> = of("b7")
        .into_iter()
        .filter(|m| m["t"][0] == "a8")
        .map(|m| m["p"].as_str().unwrap())
        .collect();
    let mut sorted = promotions.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["a", "b", "c", "n", "q", "r"]);
    house.shutdown().await;
}

#[tokio::test]
async fn browsers_cannot_act_for_others_nor_from_elsewhere() {
    let limits = Limits::none()
        .with(Limited::Guest, 4, 600_000)
        .with(Limited::Page, 60, 60_000);
    let house = House::start(HouseConfig { limits, ..config() })
        .await
        .unwrap();
    let bot = Bot::register(&house, "House_Bot").await;
    let zoe = Browser::guest(&house, "Zoe").await;
    let max = Browser::guest(&house, "Max").await;
    let id = zoe
        .ask(&asking(&[("with", "link"), ("color", "white")]))
        .await;
    max.post(&format!("/page/{id}/join"), &[]).await;
    let path = format!("/page/game/{id}/move/e2e4");

    let no_session = Browser::new(&house);
    assert_eq!(no_session.post(&path, &[]).await.0, 401);
    let refused = |request: reqwest::RequestBuilder| async { answer(request).await.0 };
    let bare = || {
        zoe.http
            .post(format!("{}{path}", zoe.base))
            .header("cookie", zoe.cookie.clone().unwrap())
    };
    assert_eq!(refused(bare()).await, 403, "no origin");
    assert_eq!(
        refused(bare().header("origin", "http://evil.example")).await,
        403
    );
    assert_eq!(
        refused(
            bare()
                .header("origin", &zoe.base)
                .header("sec-fetch-site", "cross-site")
        )
        .await,
        403
    );
    assert_eq!(
        max.post(&path, &[]).await,
        (400, json!({"error": "It is not your turn"}))
    );
    // A session is no token of the API, and a token no session.
    let session = zoe
        .cookie
        .clone()
        .unwrap()
        .split('=')
        .nth(1)
        .unwrap()
        .to_owned();
    let api = zoe
        .http
        .get(format!("{}/api/account", zoe.base))
        .bearer_auth(&session);
    assert_eq!(refused(api).await, 401);
    let cookie = format!("house_session={}", bot.token);
    let swapped = zoe
        .http
        .post(format!("{}{path}", zoe.base))
        .header("origin", &zoe.base)
        .header("cookie", cookie);
    assert_eq!(refused(swapped).await, 401);
    let mut thief = Browser::new(&house);
    assert_eq!(
        thief.take("/page/login", &[("token", &bot.token)]).await.0,
        400,
        "bots play through the API"
    );
    assert_eq!(
        thief.take("/page/login", &[("token", "hse_wrong")]).await.0,
        401
    );
    // Names: taken, bad, too many.
    assert_eq!(
        thief.take("/page/guest", &[("name", "zoe")]).await.0,
        429,
        "guests per address"
    );
    let huge = "x".repeat(100_000);
    assert_eq!(
        zoe.post(&format!("/page/game/{id}/chat"), &[("text", &huge)])
            .await
            .0,
        413
    );
    zoe.play(&id, "e2e4").await;
    let mut codes = Vec::new();
    for _ in 0..70 {
        codes.push(zoe.post(&format!("/page/game/{id}/draw-no"), &[]).await.0);
    }
    assert!(codes.contains(&429), "commands per minute");
    house.shutdown().await;
}

#[tokio::test]
async fn names_are_kept_apart_and_people_log_in_with_their_token() {
    let house = House::start(config()).await.unwrap();
    let mut zoe = Browser::guest(&house, "Zoe").await;
    let (_, again) = zoe.take("/page/guest", &[("name", "Other")]).await;
    assert_eq!(again["name"], "Zoe", "who has a name keeps it");
    let mut other = Browser::new(&house);
    assert_eq!(other.take("/page/guest", &[("name", "ZOE")]).await.0, 400);
    assert_eq!(other.take("/page/guest", &[("name", "<b>")]).await.0, 400);
    let (code, named) = other.take("/page/guest", &[]).await;
    assert_eq!(code, 200);
    assert!(named["name"].as_str().unwrap().starts_with("Guest-"));
    let person = Bot::register_as(&house, "Person", AccountKind::Human, Scopes::bot()).await;
    let mut browser = Browser::new(&house);
    let (code, me) = browser
        .take("/page/login", &[("token", &person.token)])
        .await;
    assert_eq!(
        (code, me),
        (
            200,
            json!({"id": "person", "name": "Person", "kind": "human"})
        )
    );
    // Only registered accounts play for rating.
    let form = asking(&[("with", "link"), ("rated", "true")]);
    for (browser, rated) in [(&browser, true), (&zoe, false)] {
        let id = browser.ask(&form).await;
        let (_, waiting) = browser.watch(&id).await.next().await;
        assert_eq!(waiting["rated"], rated);
    }
    house.shutdown().await;
}

#[tokio::test]
async fn rated_games_move_ratings_the_ladder_and_the_archive() {
    let (house, ann, bob) = super::client::house_with_bots(config()).await;
    let mut events = ann.events().await;
    let rated = [
        ("clock.limit", "180"),
        ("clock.increment", "2"),
        ("variant", "crazyhouse"),
        ("rated", "true"),
    ];
    let id = super::client::begin(&ann, &bob, &rated).await;
    ann.play(&id, "e2e4").await;
    bob.play(&id, "e7e5").await;
    bob.command(&id, "resign").await;
    let finish = events.json_of("gameFinish").await["game"].clone();
    let gain = finish["ratingDiff"].as_i64().unwrap();
    assert_eq!(finish["opponent"]["ratingDiff"], -gain);
    let (_, me) = ann.get("/api/account").await;
    assert_eq!(me["perfs"]["crazyhouse"]["rating"], 1500 + gain);
    assert_eq!(
        (&me["perfs"]["crazyhouse"]["games"], &me["count"]["win"]),
        (&json!(1), &json!(1))
    );
    assert!((100..250).contains(&gain), "newcomers move far: {gain}");
    // A casual game moves nothing, nor does one that was aborted.
    let id = super::client::begin(&ann, &bob, &QUICK).await;
    bob.command(&id, "abort").await;
    assert_eq!(
        ann.get("/api/account").await.1["perfs"]["crazyhouse"],
        me["perfs"]["crazyhouse"]
    );
    tokio::time::sleep(Duration::from_millis(100)).await;

    let (_, ladder) = ann.get("/ladder?perf=crazyhouse").await;
    let ladder = ladder.as_str().unwrap().to_owned();
    let place = |name: &str| ladder.find(&format!(">{name}<")).unwrap();
    assert!(place("Ann_Bot") < place("Bob_Bot"), "{ladder}");
    let (_, list) = ann.get("/games?player=ann_BOT&variant=crazyhouse").await;
    let list = list.as_str().unwrap();
    assert_eq!(list.matches("<tr><td>").count(), 1, "{list}");
    assert!(list.contains("Black has resigned: White wins.") && list.contains(&format!("+{gain}")));
    let (_, none) = ann.get("/games?player=%22%3E%3Cscript%3E").await;
    assert!(!none.as_str().unwrap().contains("<script>"), "{none}");
    house.shutdown().await;
}
