//! The laws, on a house: moves owed, streams cut, crashes, drains, several servers at once.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use seneschal::daemon::RunReport;
use seneschal::game::tape;
use seneschal::house::account::AccountKind;
use seneschal::house::endpoint::Endpoint;
use seneschal::house::fault::{Effect, Fault, FaultPlan, Loss, When};
use seneschal::house::lines::LineKind;
use seneschal::house::status::Status;
use seneschal::platform::lichess::Timing;
use tokio::time::timeout;

use crate::daemon_rig::{
    Options, PATIENCE, Stage, form, paced, play_first_moves, quick_house, run_accounts, until,
};

/// Two accounts that play each other.
fn pair() -> Options {
    let mut options = Options {
        users: vec![("Ivory", true), ("Ebony", false)],
        ..Options::default()
    };
    options.matchmaking.enabled = true;
    options.lobby.max_games = 8;
    options.lobby.max_games_per_opponent = 4;
    options
}

fn fault(effect: Effect, probability: f64) -> Fault {
    Fault {
        on: None,
        account: None,
        line: None,
        when: When::Probability(probability),
        limit: None,
        effect,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_accounts_find_each_other_and_play_both_games_without_a_fault() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut stage = Stage::open(quick_house()).await;
    let options = Options {
        tapes: Some(dir.path().to_owned()),
        ..pair()
    };
    let daemon = stage.run(&options).await;
    let stats = daemon.stats.clone();
    stage.finished(6).await;
    let report = daemon.drain().await;
    assert_eq!(report, RunReport::default());
    stage.expect_no_violations();
    let finished = stage.house.finished().by_variant;
    assert!(
        finished["crazyhouse"] >= 2 && finished["capablanca"] >= 2,
        "{finished:?}"
    );
    assert_eq!(stats.snapshot().faults, 0, "{:?}", stats.snapshot());
    // Every tape replays to the decisions that were made.
    let mut tapes = 0;
    for entry in std::fs::read_dir(dir.path()).expect("tapes") {
        let text = std::fs::read_to_string(entry.expect("a tape").path()).expect("text");
        let found = tape::replay(text.lines()).expect("a good tape");
        assert_eq!(found.differences, []);
        assert!(found.decisions > 10);
        tapes += 1;
    }
    assert!(tapes >= 12, "{tapes}: two sides of six games");
}

/// Two accounts that play each other for as long as the test wants: nobody resigns, no flag is near, and a search costs
/// a pause and no work.
fn long_games(pause: Duration) -> Options {
    let mut options = Options {
        searcher: paced(pause),
        ..pair()
    };
    for offer in &mut options.matchmaking.offers {
        offer.clock = "600+5".to_owned();
    }
    options.matchmaking.interval = Duration::from_millis(200);
    options.game.resign.enabled = false;
    options.game.draw.offer = false;
    options.game.draw.accept = false;
    options
}

async fn games_on(stage: &Stage, count: usize) {
    until("enough games", || stage.house.running().len() >= count).await;
}

const PLAYERS: [&str; 2] = ["ivory", "ebony"];

/// Every game that is on makes progress: whatever happened, no move was lost for good.
async fn all_go_on(stage: &Stage) {
    let plies = |id: &String| stage.house.hall().look(id, |game, _| game.plies());
    let running = stage.house.running();
    let before: Vec<_> = running.iter().map(|id| (id, plies(id))).collect();
    until("moves in every game", || {
        let over = |id: &String| !stage.house.running().contains(id);
        before
            .iter()
            .all(|(id, then)| plies(id) >= then.map(|plies| plies + 2) || over(id))
    })
    .await;
}

/// Loses one stream; the time until the account has all of its streams again.
async fn lose_one(stage: &Stage, account: &str, events: bool, how: Loss, draw: usize) -> Duration {
    let hall = stage.house.hall();
    let streams = || hall.stream_controls(account, events, !events);
    let mut open = streams();
    while open.is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
        open = streams();
    }
    let lost = open.swap_remove(draw % open.len());
    lost.lose(how);
    let wanted = || match events {
        true => 1,
        false => stage.house.running().len(),
    };
    until("the stream to come back", || {
        let open = streams();
        open.len() >= wanted() && !open.iter().any(|stream| Arc::ptr_eq(stream, &lost))
    })
    .await
}

/// Cuts streams at random moments while eight games are on; the resume times of games' and of event streams, each sorted, and what
/// was played meanwhile.
async fn cut_streams(cuts: usize, timing: Timing) -> (Vec<Duration>, Vec<Duration>, String) {
    let mut stage = Stage::open(quick_house()).await;
    let mut options = long_games(Duration::from_millis(10));
    // Both sides of a game need a slot each.
    options.lobby.max_games = 16;
    options.lobby.max_games_per_opponent = 8;
    options.timing = timing;
    let daemon = stage.run(&options).await;
    games_on(&stage, 8).await;
    let mut rng = SmallRng::seed_from_u64(8);
    let (mut resumed, mut listening) = (Vec::new(), Vec::new());
    for cut in 0..cuts {
        // Event streams are cut sparingly: the platform allows few openings.
        let events = cut % 100 == 50;
        let how = [Loss::Close, Loss::Reset][rng.random_range(0..2)];
        let account = PLAYERS[rng.random_range(0..2)];
        let took = lose_one(&stage, account, events, how, rng.random_range(0..64)).await;
        if events {
            listening.push(took);
        } else {
            resumed.push(took);
        }
        let pause = rng.random_range(0..60);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    all_go_on(&stage).await;
    let stats = daemon.stats.clone();
    assert!(daemon.stop().await.is_clean());
    stage.expect_no_violations();
    assert_eq!(stats.snapshot().faults, 0);
    assert_eq!(stage.flags(), 0, "a flag fell: a move was lost");
    let played = format!(
        "{} moves, {} sent again, {} games finished",
        stats.snapshot().moves,
        stats.snapshot().resent,
        stage.house.finished().by_variant.values().sum::<u64>()
    );
    resumed.sort_unstable();
    listening.sort_unstable();
    (resumed, listening, played)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_streams_lose_no_move_and_double_none() {
    let (resumed, ..) = cut_streams(60, Options::default().timing).await;
    let worst = resumed.last().copied().expect("some cuts");
    assert!(worst < Duration::from_secs(20), "{resumed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a thousand cuts take minutes; run by hand with --ignored --nocapture"]
async fn a_thousand_cuts_resume_within_a_second_and_a_half() {
    // With the waiting times that are shipped.
    let (games, events, played) = cut_streams(1_000, Timing::default()).await;
    let show = |what: &str, resumed: &[Duration]| {
        let p = |hundredths: usize| resumed[(resumed.len() * hundredths).div_ceil(100) - 1];
        println!(
            "resume of {} cuts of {what}: p50 {:?}, p99 {:?}, max {:?}",
            resumed.len(),
            p(50),
            p(99),
            p(100)
        );
        p(99)
    };
    show("games", &games);
    show("event streams", &events);
    let mut all = [games, events].concat();
    all.sort_unstable();
    let p99 = show("all", &all);
    println!("{played}");
    assert!(p99 < Duration::from_millis(1_500));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_house_gets_every_game_to_its_end() {
    let on_move = |effect, probability| Fault {
        on: Some(Endpoint::Move),
        ..fault(effect, probability)
    };
    let mut config = quick_house();
    config.faults = FaultPlan {
        seed: 5,
        faults: vec![
            fault(Effect::End, 0.01),
            fault(Effect::Cut, 0.01),
            fault(Effect::Reset, 0.01),
            fault(Effect::Duplicate, 0.05),
            // The whole state does not lie; everything else may.
            Fault {
                line: Some(LineKind::GameState),
                ..fault(Effect::Shrink { plies: 2 }, 0.01)
            },
            fault(Effect::Split { ms: 20 }, 0.05),
            fault(Effect::CrLf, 0.05),
            on_move(Effect::Html { status: 502 }, 0.03),
            on_move(Effect::DropAnswer(Loss::Reset), 0.03),
            on_move(Effect::DropRequest(Loss::Close), 0.03),
        ],
    };
    let mut stage = Stage::open(config).await;
    let daemon = stage.run(&long_games(Duration::from_millis(2))).await;
    let stats = daemon.stats.clone();
    stage.finished(4).await;
    until("every kind of fault", || {
        stage.house.faults_struck().iter().all(|&n| n > 0)
    })
    .await;
    daemon.stop().await;
    stage.expect_no_violations();
    assert_eq!(stats.snapshot().faults, 0, "{:?}", stats.snapshot());
    assert_eq!(stage.flags(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_every_game_goes_on() {
    let mut stage = Stage::open(quick_house()).await;
    let options = long_games(Duration::from_millis(10));
    let mut worst = Duration::ZERO;
    let mut daemon = stage.run(&options).await;
    for round in 0..6 {
        games_on(&stage, 4).await;
        tokio::time::sleep(Duration::from_millis(137 * (round % 4))).await;
        daemon.crash().await;
        until("the end of the streams", || {
            stage.game_streams(&PLAYERS) == 0
        })
        .await;
        let running = stage.house.running().len();
        daemon = stage.run(&options).await;
        let back = || stage.game_streams(&PLAYERS) >= 2 * running;
        worst = worst.max(until("all games", back).await);
    }
    all_go_on(&stage).await;
    daemon.stop().await;
    stage.expect_no_violations();
    assert_eq!(stage.flags(), 0);
    println!("resumed after a crash within {worst:?}");
    assert!(worst < Duration::from_secs(15), "{worst:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_server_ends_no_game() {
    let mut stage = Stage::open(quick_house()).await;
    let daemon = stage.run(&long_games(Duration::from_millis(5))).await;
    games_on(&stage, 4).await;
    let before = stage.house.running();
    stage.house.restart(Duration::from_millis(700)).await;
    until("the restart", || stage.game_streams(&PLAYERS) == 0).await;
    until("all games", || {
        stage.game_streams(&PLAYERS) >= 2 * stage.house.running().len().max(1)
    })
    .await;
    all_go_on(&stage).await;
    for id in before {
        let ended = stage.house.hall().look(&id, |game, _| game.status);
        let aborted = ended.is_none_or(|status| status == Status::Aborted);
        assert!(!aborted, "{id}: {ended:?}");
    }
    let report = daemon.stop().await;
    assert!(report.is_clean(), "{report:?}");
    stage.expect_no_violations();
    assert_eq!(stage.flags(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_plays_on_and_takes_nothing_new() {
    let mut stage = Stage::open(quick_house()).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let bert = stage.player("Bert", AccountKind::Bot).await;
    let daemon = stage.run(&Options::default()).await;
    let game = stage
        .begin(&anna, "robot", &form("crazyhouse", "60", "0"))
        .await;
    daemon.shutdown.signal();
    let mut events = bert.events().await;
    let id = bert
        .challenge("robot", &form("crazyhouse", "60", "0"))
        .await;
    let declined = timeout(PATIENCE, events.json_of("challengeDeclined"))
        .await
        .expect("an answer");
    assert_eq!(declined["challenge"]["id"], id.as_str());
    assert_eq!(declined["challenge"]["declineReasonKey"], "later");
    assert!(!daemon.is_over(), "a game is on");
    let last = play_first_moves(&anna, &game, usize::MAX).await;
    assert_ne!(crate::house::client::status(&last), "outoftime");
    let report = daemon.join().await;
    assert_eq!(report, RunReport::default());
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_signal_ends_everything_and_the_next_run_resumes() {
    let mut stage = Stage::open(quick_house()).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let daemon = stage.run(&Options::default()).await;
    let game = stage
        .begin(&anna, "robot", &form("capablanca", "120", "1"))
        .await;
    play_first_moves(&anna, &game, 6).await;
    daemon.shutdown.signal();
    daemon.shutdown.signal();
    let report = daemon.join().await;
    assert_eq!(report.cut_off, 1);
    let daemon = stage.run(&Options::default()).await;
    let last = play_first_moves(&anna, &game, usize::MAX).await;
    assert_ne!(crate::house::client::status(&last), "outoftime");
    assert!(daemon.drain().await.is_clean());
    stage.expect_no_violations();
}

/// Ends a daemon on a house that answers some requests only after a minute; nothing of it may have to be cut off.
async fn ends_although_slow(slow: &[Endpoint], by: impl Fn(&seneschal::daemon::Shutdown)) {
    let late = |endpoint: &Endpoint| Fault {
        on: Some(*endpoint),
        ..fault(Effect::Delay { ms: 60_000 }, 1.0)
    };
    let mut config = quick_house();
    config.faults = FaultPlan {
        seed: 1,
        faults: slow.iter().map(late).collect(),
    };
    let mut stage = Stage::open(config).await;
    let daemon = stage.run(&long_games(Duration::from_millis(10))).await;
    until("a request that hangs", || {
        stage.house.faults_struck().iter().all(|&n| n > 0)
    })
    .await;
    let begun = tokio::time::Instant::now();
    by(&daemon.shutdown);
    let report = daemon.join().await;
    assert_eq!(report.cut_off_parts, [""; 0]);
    assert!(report.is_clean(), "{report:?}");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_has_to_be_cut_off_at_the_end_whatever_the_platform_leaves_unanswered() {
    // Not logged in yet, and requests under way: a drain that finds no game, and both signals at once.
    let drain = |shutdown: &seneschal::daemon::Shutdown| shutdown.drain().cancel();
    let both = |shutdown: &seneschal::daemon::Shutdown| {
        shutdown.signal();
        shutdown.signal();
    };
    tokio::join!(
        ends_although_slow(&[Endpoint::Account], drain),
        ends_although_slow(&[Endpoint::Account], both),
        ends_although_slow(&[Endpoint::ChallengeCreate], both),
        ends_although_slow(&[Endpoint::BotsOnline], drain),
        ends_although_slow(&[Endpoint::ChallengeAccept], both),
        ends_although_slow(&[Endpoint::GameStream], both),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_daemon_serves_several_servers_and_the_fall_of_one_disturbs_no_other() {
    let mut stages = Vec::new();
    let mut accounts = Vec::new();
    let users = ["Northbot", "Southbot", "Westbot"];
    let mut options = Options::default();
    for user in users {
        let mut stage = Stage::open(quick_house()).await;
        options.users = vec![(user, false)];
        accounts.extend(stage.accounts(&options).await);
        stages.push(stage);
    }
    let store = stages[0].store.clone();
    let daemon = run_accounts(accounts, &options, store);
    let mut players = Vec::new();
    for (stage, user) in stages.iter().zip(users) {
        let anna = stage.player("Anna", AccountKind::Bot).await;
        let game = stage
            .begin(&anna, user, &form("crazyhouse", "120", "1"))
            .await;
        play_first_moves(&anna, &game, 4).await;
        players.push((anna, game));
    }
    // One server is gone for good.
    let fallen = stages.pop().expect("three servers");
    fallen.house.crash().await;
    players.pop();
    for ((anna, game), stage) in players.iter().zip(&stages) {
        let last = play_first_moves(anna, game, usize::MAX).await;
        assert_ne!(crate::house::client::status(&last), "outoftime");
        stage.expect_no_violations();
    }
    let report = daemon.stop().await;
    assert!(report.is_clean(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_token_stops_its_account_and_no_other() {
    let mut stage = Stage::open(quick_house()).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let mut options = Options::default();
    let mut accounts = stage.accounts(&options).await;
    options.users = vec![("Stranger", false)];
    // A second house that does not know the token.
    let mut other = Stage::open(quick_house()).await;
    let mut strangers = other.accounts(&options).await;
    other.house.shutdown().await;
    let bad = {
        use seneschal::platform::http::Origin;
        use seneschal::platform::lichess::{
            LichessConfig, Server, Shared, capabilities, connect, governor_config,
        };
        let config = LichessConfig {
            server: Server::House,
            timing: options.timing,
            ..LichessConfig::new(
                "stranger",
                secrecy::SecretString::from("not_a_token".to_owned()),
            )
        };
        let origin = Origin::new(stage.house.base_url(), governor_config(Server::House), None)
            .expect("an address");
        let capabilities = capabilities(&config);
        let (link, client) = connect(config, Shared { origin, seed: 3 });
        let mut setup = strangers.pop().expect("one account");
        setup.capabilities = capabilities;
        setup.link = link;
        setup.client = Box::pin(client);
        setup
    };
    accounts.push(bad);
    let daemon = run_accounts(accounts, &options, stage.store.clone());
    let game = stage
        .begin(&anna, "robot", &form("crazyhouse", "60", "0"))
        .await;
    play_first_moves(&anna, &game, usize::MAX).await;
    let report = daemon.drain().await;
    assert_eq!(report.stopped.len(), 1, "{report:?}");
    assert_eq!(report.stopped[0].0.as_str(), "stranger");
    assert!(!report.stopped[0].1.contains("not_a_token"));
    assert!(!report.is_clean());
}
