//! Who we are: token, user agent, upgrade, redirects, farewell.

use std::time::Duration;

use secrecy::SecretString;
use seneschal::lobby::ChallengeId;
use seneschal::platform::http::Origin;
use seneschal::platform::lichess::{LichessConfig, Server, governor_config, identify};
use seneschal::platform::{AccountCommand, AccountEvent, ClientEnd};
use seneschal::rules::Variant;
use serde_json::json;

use crate::lichess::fake::{Answer, Fake, FakeGame, TOKEN, US, outgoing_challenge};
use crate::lichess::rig::{Player, Rig, config};
use crate::lichess::whole_games::assert_one_move_per_ply;
use crate::lichess::{challenge_event, challenged};

#[tokio::test]
async fn point_01_the_token_is_in_the_header_and_nowhere_else() {
    let mut rig = Rig::online().await;
    rig.fake
        .start_game("game0001", FakeGame::new(Variant::Chess, true));
    let mut player = Player::new(rig.open("game0001").await);
    player.play_until(|state| state.moves.len() >= 4).await;
    rig.send(AccountCommand::ListBots).await;
    rig.find(|event| matches!(event, AccountEvent::BotsOnline(_)).then_some(()))
        .await;
    let log = rig.fake.state().log.clone();
    for logged in &log {
        assert!(!logged.path.contains(TOKEN), "{logged:?}");
        let bearer = logged
            .headers
            .get("authorization")
            .is_some_and(|value| value == &format!("Bearer {TOKEN}"));
        let open = ["/api/token/test", "/api/bot/online", "/api/users/status"]
            .iter()
            .any(|p| logged.path.starts_with(p));
        assert_eq!(bearer, !open, "{logged:?}");
        assert_eq!(
            logged.body.contains(TOKEN),
            logged.path == "/api/token/test"
        );
    }
    let shown = format!("{:?} {:?} {:?}", config(), rig.link, rig.origin);
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[tokio::test]
async fn point_02_one_user_agent_that_names_our_user() {
    let rig = {
        let mut rig = Rig::online().await;
        rig.fake
            .start_game("game0001", FakeGame::new(Variant::Chess, true));
        let mut player = Player::new(rig.open("game0001").await);
        player.play_until(|state| state.moves.len() >= 2).await;
        rig.started().await;
        rig
    };
    let streams = rig.fake.requests("GET", "stream");
    assert!(streams.len() >= 2);
    for stream in streams {
        let expected = concat!("seneschal/", env!("CARGO_PKG_VERSION"), " user:Bot_Us");
        assert_eq!(stream.headers["user-agent"], expected);
    }
}

#[tokio::test]
async fn point_02_a_mismatch_of_names_stops_the_client_with_clear_words() {
    let fake = Fake::start().await;
    let words = "The user in the user-agent doesn't match the token bearer";
    fake.script(
        "GET",
        "/api/account",
        [Answer::status(401, &json!({"error": words}).to_string())],
    );
    let mut rig = Rig::with(fake, config());
    assert!(rig.stopped().await.contains(words));
    let fake = Fake::start().await;
    let mut rig = Rig::with(
        fake,
        LichessConfig {
            expected_user: Some("somebody".to_owned()),
            ..config()
        },
    );
    let words = rig.stopped().await;
    assert!(
        words.contains("belongs to bot_us, not to somebody"),
        "{words}"
    );
}

#[tokio::test]
async fn point_03_a_token_without_the_permission_is_refused() {
    for (scopes, token, words) in [
        ("challenge:read", TOKEN, "lacks the permission bot:play"),
        ("bot:play", "other", "does not know this token"),
    ] {
        let fake = Fake::start().await;
        fake.state().scopes = scopes;
        let mut rig = Rig::with(
            fake,
            LichessConfig {
                token: SecretString::from(token),
                ..config()
            },
        );
        let said = rig.stopped().await;
        assert!(said.contains(words), "{said}");
        assert_eq!(rig.fake.count("GET", "/api/stream/event"), 0);
    }
}

#[tokio::test]
async fn point_03_an_account_is_upgraded_only_on_request() {
    let fake = Fake::start().await;
    fake.state().title = None;
    let mut rig = Rig::with(fake, config());
    let words = rig.stopped().await;
    assert!(words.contains("not a bot account"), "{words}");
    assert_eq!(rig.fake.count("POST", "upgrade"), 0);

    let fake = Fake::start().await;
    fake.state().title = None;
    let mut rig = Rig::with(
        fake,
        LichessConfig {
            upgrade_to_bot: true,
            ..config()
        },
    );
    rig.reconciled().await;
    assert_eq!(rig.fake.count("POST", "upgrade"), 1);

    for (status, error) in [
        (400, "You already have games played. Make a new account."),
        (404, "Managed accounts cannot be bots."),
    ] {
        let fake = Fake::start().await;
        fake.state().title = None;
        fake.script(
            "POST",
            "upgrade",
            [Answer::status(status, &json!({"error": error}).to_string())],
        );
        let mut rig = Rig::with(
            fake,
            LichessConfig {
                upgrade_to_bot: true,
                ..config()
            },
        );
        let words = rig.stopped().await;
        assert!(words.contains(error), "{words}");
        assert_eq!(
            rig.fake.count("POST", "upgrade"),
            1,
            "an upgrade is never repeated"
        );
    }
}

#[tokio::test]
async fn point_03_the_check_can_be_made_without_a_client() {
    let fake = Fake::start().await;
    let origin = Origin::new(&fake.url, governor_config(Server::Lichess), None).unwrap();
    let identity = identify(&config(), &origin).await.unwrap();
    assert_eq!(
        (
            identity.id.as_str(),
            identity.is_bot,
            identity.reads_challenges
        ),
        (US, true, true)
    );
}

#[tokio::test]
async fn point_04_refusals_of_the_token_are_final() {
    for (status, error) in [(401, "No such token"), (403, "Missing scope: bot:play")] {
        let fake = Fake::start().await;
        fake.script(
            "GET",
            "/api/stream/event",
            [Answer::status(status, &json!({"error": error}).to_string())],
        );
        let mut rig = Rig::with(fake, config());
        let words = rig.stopped().await;
        assert!(words.contains(error), "{words}");
        assert_eq!(rig.fake.count("GET", "/api/stream/event"), 1);
    }
    // In the middle of a game as well.
    let mut rig = Rig::online().await;
    rig.fake
        .start_game("game0001", FakeGame::new(Variant::Chess, true));
    rig.fake.script(
        "POST",
        "/move/",
        [Answer::status(401, r#"{"error":"No such token"}"#)],
    );
    let mut player = Player::new(rig.open("game0001").await);
    let event = player.receive().await.unwrap();
    player.on_event(event).await;
    assert!(rig.stopped().await.contains("No such token"));
    assert_eq!(rig.fake.count("POST", "/move/"), 1);
}

#[tokio::test]
async fn point_04_a_page_of_a_proxy_is_an_outage_and_no_word_on_the_token() {
    let page = "<!doctype html><html><head><title>401 Authorization Required</title></head></html>";
    let pages = |count| vec![Answer::status(401, page); count];
    let fake = Fake::start().await;
    fake.script("POST", "/api/token/test", pages(1));
    fake.script("GET", "/api/account", pages(2));
    fake.script("GET", "/api/stream/event", pages(2));
    let mut rig = Rig::with(fake, config());
    rig.reconciled().await;
    assert_eq!(rig.fake.count("GET", "/api/stream/event"), 3);
    // In the middle of a game as well: the move is owed until it is shown, and is sent once the platform is back.
    rig.fake.script("POST", "/move/", pages(2));
    rig.fake.script("GET", "/api/bot/game/stream/", pages(1));
    rig.fake
        .start_game("game0001", FakeGame::new(Variant::Chess, true));
    let mut player = Player::new(rig.open("game0001").await);
    player.play_until(|state| state.moves.len() >= 4).await;
    assert!(player.failures.is_empty(), "{:?}", player.failures);
    assert_one_move_per_ply(&rig.fake, "game0001");
}

#[tokio::test]
async fn point_49_a_dropped_link_sends_what_was_asked_and_closes() {
    let mut rig = Rig::online().await;
    rig.fake.state().outgoing = vec![outgoing_challenge("ours0001", "bot_opp")];
    rig.fake
        .event(&challenge_event(&outgoing_challenge("ours0001", "bot_opp")));
    challenged(&mut rig).await;
    rig.send(AccountCommand::Cancel(ChallengeId::new("ours0001")))
        .await;
    let (end, fake) = rig.end().await;
    assert_eq!(end, ClientEnd::Asked);
    assert_eq!(fake.count("POST", "ours0001/cancel"), 1);
    let requests = fake.state().log.len();
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(fake.state().log.len(), requests, "nothing comes back");
}

#[tokio::test]
async fn point_50_a_redirect_is_not_followed() {
    let elsewhere = Fake::start().await;
    let fake = Fake::start().await;
    let to = vec![("Location", format!("{}/api/account", elsewhere.url))];
    fake.script(
        "GET",
        "/api/account",
        [Answer::WithHeaders(302, to, String::new())],
    );
    let mut rig = Rig::with(fake, config());
    rig.find(|event| matches!(event, AccountEvent::Offline { .. }).then_some(()))
        .await;
    rig.reconciled().await;
    assert!(
        elsewhere.state().log.is_empty(),
        "the token went to another host"
    );
}
