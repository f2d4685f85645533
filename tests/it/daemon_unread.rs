//! Games that we accepted and that show themselves in a form that cannot be read: on every platform the daemon looks again, and
//! then leaves the game instead of letting its clock run down.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use seneschal::daemon::AccountSetup;
use seneschal::lobby::AccountName;
use seneschal::platform::fics::{self, FicsConfig, FicsShared, FicsVariant};
use seneschal::platform::http::Origin;
use seneschal::platform::lichess::{self, Server};
use seneschal::platform::pychess::{self, PychessConfig};
use seneschal::platform::{AccountLink, Capabilities};
use seneschal::rules::Variant;
use seneschal::store::{Store, StoreOptions};

use crate::daemon_rig::{Options, Running, run_accounts, until};
use crate::fics::fake_ics::{Dialect, FakeIcs, Faults};
use crate::lichess::fake::{Answer, Fake, FakeGame};
use crate::pychess::fake::FakePychess;
use crate::pychess::fake::game::Offer;

fn daemon(
    platform: &'static str,
    capabilities: Capabilities,
    link: AccountLink,
    client: impl Future<Output = seneschal::platform::ClientEnd> + Send + 'static,
) -> Running {
    let account = AccountSetup {
        name: AccountName::new("main"),
        platform,
        capabilities,
        max_games: None,
        matchmaking: false,
        owners: Vec::new(),
        link,
        client: Box::pin(client),
    };
    let store = Store::in_memory(&StoreOptions::default()).expect("a store");
    run_accounts(vec![account], &Options::default(), store)
}

fn on_ics(ics: &FakeIcs) -> Running {
    let config = FicsConfig {
        host: "127.0.0.1".to_owned(),
        handle: "Harbor".to_owned(),
        variants: vec![FicsVariant::Crazyhouse],
        ..FicsConfig::default()
    };
    let shared = FicsShared {
        password: Some(SecretString::from("secret".to_owned())),
        seed: 7,
    };
    let capabilities = fics::capabilities(&config);
    let (link, client) = fics::connect_with(config, shared, ics.connector());
    daemon("fics", capabilities, link, client)
}

fn ics() -> FakeIcs {
    let ics = FakeIcs::new(Dialect::Fics, 3);
    ics.register("Harbor", "secret", true);
    ics.register("Birch", "pw", false);
    ics
}

/// What the daemon typed about its game.
fn typed(ics: &FakeIcs) -> Vec<String> {
    let lines = ics.sent_by("Harbor").into_iter();
    let about_games = |line: &String| ["refresh", "abort", "resign"].contains(&line.as_str());
    lines.filter(about_games).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_board_that_cannot_be_read_leads_to_a_second_look_and_an_abort_on_an_ics() {
    let faults: [fn(&mut Faults); 3] = [
        |faults| faults.without_kings = true,
        |faults| faults.half_boards = true,
        |faults| faults.without_boards = true,
    ];
    for fault in faults {
        let ics = ics();
        ics.faults(fault);
        let running = on_ics(&ics);
        let other = ics.player("Birch");
        until("the login", || ics.is_online("Harbor")).await;
        until("a game", || {
            if ics.games() == 0 && typed(&ics).is_empty() {
                other.send("match Harbor 3 0 u w crazyhouse");
            }
            ics.games() > 0 || !typed(&ics).is_empty()
        })
        .await;
        until("the way out", || {
            ics.games() == 0 && typed(&ics).last().is_some_and(|line| line == "abort")
        })
        .await;
        let typed = typed(&ics);
        assert!(typed.contains(&"refresh".to_owned()), "{typed:?}");
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_board_that_cannot_be_read_leads_to_a_resignation_on_an_ics() {
    let ics = ics();
    let running = on_ics(&ics);
    let other = ics.player("Birch");
    until("the login", || ics.is_online("Harbor")).await;
    until("a game", || {
        if ics.games() == 0 {
            other.send("match Harbor 3 0 u w crazyhouse");
        }
        ics.games() > 0
    })
    .await;
    other.send("e2e4");
    let ours = || other.legal_moves();
    until("our move", || {
        other.times("<12>") >= 3 && !ours().is_empty()
    })
    .await;
    ics.faults(|faults| faults.without_kings = true);
    other.send(&ours()[0]);
    until("the way out", || ics.games() == 0).await;
    let typed = typed(&ics);
    assert_eq!(typed, ["refresh", "resign"]);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_that_cannot_be_read_leads_out_of_the_game_on_pychess() {
    let fake = Arc::new(FakePychess::start(Duration::from_millis(60)).await);
    let origin = Origin::new(&fake.url(), pychess::governor_config(), None).expect("an address");
    let mut config = PychessConfig::new(
        "steward",
        SecretString::from(crate::pychess::fake::TOKEN.to_owned()),
    );
    config.timing = crate::pychess::rig::timing();
    let capabilities = pychess::capabilities(&config);
    let shared = pychess::Shared { origin, seed: 7 };
    let (link, client) = pychess::connect(config, shared);
    let running = daemon("pychess", capabilities, link, client);
    // From the beginning, from the first move, and later.
    for (garbled, plies) in [(true, 0), (false, 0), (false, 4)] {
        let offer = Offer {
            garbled,
            ..Offer::new("anna", "crazyhouse")
        };
        let mut id = None;
        until("a challenge", || {
            id = fake.challenge(offer.clone()).ok();
            id.is_some()
        })
        .await;
        let id = id.expect("a game");
        until("the game", || fake.game(&id).is_some()).await;
        let shown = || fake.with(|state| state.is_streaming(&id));
        until("the stream", || garbled || shown()).await;
        while fake.game(&id).expect("it is on").moves.len() < plies {
            let word = fake.game(&id).expect("it is on").legal_words()[0].clone();
            let before = fake.game(&id).expect("it is on").moves.len();
            fake.play(&id, &word);
            until("our move", || {
                fake.game(&id)
                    .is_none_or(|game| game.moves.len() >= before + 2)
            })
            .await;
        }
        fake.with(|state| {
            let game = state.games.get_mut(&id).expect("it is on");
            game.garbled = true;
        });
        if !garbled {
            let word = fake.game(&id).expect("it is on").legal_words()[0].clone();
            fake.play(&id, &word);
        }
        // A resignation takes two requests; the second one is an abort as well.
        let posts = || fake.posts(&format!("game/{id}"));
        until("the way out", || {
            let over = fake.game(&id).is_none_or(|game| !game.is_running());
            over && posts().iter().any(|path| path.ends_with("/abort"))
        })
        .await;
        let posts = posts();
        let resigned = posts.iter().any(|path| path.ends_with("/resign"));
        assert_eq!(resigned, plies > 0, "{posts:?}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_that_cannot_be_read_is_left_on_lichess() {
    let fake = Fake::start().await;
    let origin = Origin::new(&fake.url, lichess::governor_config(Server::Lichess), None)
        .expect("an address");
    let config = crate::lichess::rig::config();
    let capabilities = lichess::capabilities(&config);
    let (link, client) = lichess::connect(config, lichess::Shared { origin, seed: 1 });
    let running = daemon("lichess", capabilities, link, client);
    fake.until_count("GET", "/api/stream/event", 1).await;
    // A variant that appeared after us: too late to abort, so it is resigned.
    let mut strange = FakeGame::new(Variant::Chess, true);
    strange.variant = "notInventedYet";
    strange.replies = false;
    for uci in ["e2e4", "e7e5"] {
        strange.play(uci).expect("legal");
    }
    fake.script(
        "POST",
        "/game0001/abort",
        [Answer::status(
            400,
            r#"{"error":"This game can no longer be aborted"}"#,
        )],
    );
    fake.start_game("game0001", strange);
    fake.until("the resignation", |state| state.games["game0001"].is_over())
        .await;
    assert_eq!(fake.state().games["game0001"].status, "resign");
    assert!(
        fake.count("GET", "/game/stream/game0001") >= 2,
        "looked again"
    );
    // One that begins is aborted.
    let mut strange = FakeGame::new(Variant::Chess, false);
    strange.variant = "notInventedYet";
    strange.replies = false;
    fake.start_game("game0002", strange);
    fake.until("the abort", |state| state.games["game0002"].is_over())
        .await;
    assert_eq!(fake.state().games["game0002"].status, "aborted");
    assert_eq!(fake.count("POST", "/game0002/resign"), 0);
    running.stop().await;
}
