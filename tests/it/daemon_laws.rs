//! The laws, on a house: moves owed, streams cut, crashes, drains, several servers at once.

use std::time::Duration;

use seneschal::daemon::RunReport;
use seneschal::game::tape;
use seneschal::house::account::AccountKind;
use seneschal::house::fault::{Effect, Fault, FaultPlan, Loss, When};
use tokio::time::{Instant, timeout};

use crate::daemon_rig::{
    Options, PATIENCE, Stage, form, play_first_moves, quick_house, run_accounts,
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

/// Cuts streams at random moments while eight games are on; the resume times in milliseconds, sorted.
async fn cut_streams(cuts: usize) -> Vec<u128> {
    let mut config = quick_house();
    // Cutting on purpose is no polling.
    config.limits = seneschal::house::limits::Limits::none();
    let mut stage = Stage::open(config).await;
    let mut options = pair();
    options.lobby.max_games = 16;
    options.lobby.max_games_per_opponent = 8;
    options
        .matchmaking
        .offers
        .iter_mut()
        .for_each(|offer| offer.clock = "180+1".to_owned());
    // Slow enough that games are on all the time.
    options.game.time.max_nodes = 100;
    options.game.resign.enabled = false;
    let daemon = stage.run(&options).await;
    let games = async {
        while stage.house.running().len() < 8 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(2 * PATIENCE, games).await.expect("eight games");
    let mut resumed = Vec::new();
    let kinds = [Loss::Close, Loss::Reset];
    let mut cut = 0;
    while cut < cuts {
        let account = ["ivory", "ebony"][cut % 2];
        // Event streams are cut sparingly: the platform allows few openings.
        let events = cut % 100 == 0;
        let lost = stage
            .house
            .cut_streams(account, events, true, kinds[(cut / 2) % 2]);
        if lost == 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        }
        cut += lost;
        let at = Instant::now();
        let back = async {
            loop {
                let running = stage.house.running().len();
                let open = stage
                    .house
                    .hall()
                    .stream_controls(account, false, true)
                    .len();
                if open >= running {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(PATIENCE, back)
            .await
            .expect("the streams come back");
        resumed.push(at.elapsed().as_millis());
        tokio::time::sleep(Duration::from_millis(7 * (cut as u64 % 13))).await;
    }
    let stats = daemon.stats.clone();
    daemon.stop().await;
    stage.expect_no_violations();
    assert_eq!(stats.snapshot().faults, 0);
    let finished = stage.house.finished();
    let lost_on_time = finished
        .latest
        .iter()
        .filter(|g| g.status == "outoftime")
        .count();
    assert_eq!(lost_on_time, 0, "a flag fell: a move was lost");
    resumed.sort_unstable();
    resumed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "whole games under faults; misses its deadline on a loaded machine, not yet run on a quiet one"]
async fn cut_streams_lose_no_move_and_double_none() {
    let resumed = cut_streams(120).await;
    let worst = resumed.last().copied().expect("some cuts");
    assert!(worst < 5_000, "{resumed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a thousand cuts take minutes; run by hand with --ignored --nocapture"]
async fn a_thousand_cuts_resume_within_a_second_and_a_half() {
    let resumed = cut_streams(1_000).await;
    let p = |hundredths: usize| resumed[(resumed.len() * hundredths).div_ceil(100) - 1];
    println!(
        "resume of {} cuts: p50 {} ms, p99 {} ms, max {} ms",
        resumed.len(),
        p(50),
        p(99),
        p(100)
    );
    assert!(p(99) < 1_500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "whole games under faults; misses its deadline on a loaded machine, not yet run on a quiet one"]
async fn a_hostile_house_gets_every_game_to_its_end() {
    let mut config = quick_house();
    config.faults = FaultPlan {
        seed: 5,
        faults: vec![
            fault(Effect::End, 0.01),
            fault(Effect::Cut, 0.01),
            fault(Effect::Reset, 0.01),
            fault(Effect::Duplicate, 0.05),
            fault(Effect::Shrink { plies: 2 }, 0.01),
            fault(Effect::Split { ms: 20 }, 0.05),
            fault(Effect::CrLf, 0.05),
            Fault {
                on: Some(seneschal::house::endpoint::Endpoint::Move),
                ..fault(Effect::Html { status: 502 }, 0.03)
            },
            Fault {
                on: Some(seneschal::house::endpoint::Endpoint::Move),
                ..fault(Effect::DropAnswer(Loss::Reset), 0.03)
            },
            Fault {
                on: Some(seneschal::house::endpoint::Endpoint::Move),
                ..fault(Effect::DropRequest(Loss::Close), 0.03)
            },
        ],
    };
    let mut stage = Stage::open(config).await;
    let mut options = pair();
    options
        .matchmaking
        .offers
        .iter_mut()
        .for_each(|offer| offer.clock = "60+1".to_owned());
    let daemon = stage.run(&options).await;
    let stats = daemon.stats.clone();
    stage.finished(6).await;
    daemon.stop().await;
    stage.expect_no_violations();
    assert_eq!(stats.snapshot().faults, 0, "{:?}", stats.snapshot());
    let lost_on_time = stage
        .house
        .finished()
        .latest
        .iter()
        .filter(|g| g.status == "outoftime")
        .count();
    assert_eq!(lost_on_time, 0);
    assert!(
        stage.house.faults_struck().iter().all(|&n| n > 0),
        "{:?}",
        stage.house.faults_struck()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "whole games under faults; misses its deadline on a loaded machine, not yet run on a quiet one"]
async fn after_a_crash_every_game_goes_on() {
    let mut stage = Stage::open(quick_house()).await;
    let mut options = pair();
    options
        .matchmaking
        .offers
        .iter_mut()
        .for_each(|offer| offer.clock = "180+1".to_owned());
    options.game.resign.enabled = false;
    let mut worst = Duration::ZERO;
    let mut daemon = stage.run(&options).await;
    for round in 0..6 {
        let games = async {
            while stage.house.running().len() < 4 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(2 * PATIENCE, games).await.expect("four games");
        tokio::time::sleep(Duration::from_millis(137 * (round % 4))).await;
        daemon.crash().await;
        let running = stage.house.running().len();
        daemon = stage.run(&options).await;
        let at = Instant::now();
        let back = async {
            while stage
                .house
                .hall()
                .stream_controls("ivory", false, true)
                .len()
                + stage
                    .house
                    .hall()
                    .stream_controls("ebony", false, true)
                    .len()
                < 2 * running
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, back)
            .await
            .expect("all games are resumed");
        worst = worst.max(at.elapsed());
    }
    daemon.stop().await;
    stage.expect_no_violations();
    assert!(worst < Duration::from_secs(3), "{worst:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "whole games under faults; misses its deadline on a loaded machine, not yet run on a quiet one"]
async fn a_restart_of_the_server_ends_no_game() {
    let mut stage = Stage::open(quick_house()).await;
    let mut options = pair();
    options
        .matchmaking
        .offers
        .iter_mut()
        .for_each(|offer| offer.clock = "180+1".to_owned());
    let daemon = stage.run(&options).await;
    let games = async {
        while stage.house.running().len() < 4 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(2 * PATIENCE, games).await.expect("four games");
    stage.house.restart(Duration::from_millis(700)).await;
    stage.finished(5).await;
    let report = daemon.stop().await;
    assert!(report.is_clean(), "{report:?}");
    stage.expect_no_violations();
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
