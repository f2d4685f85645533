//! Many who watch many games: how long a move takes to every screen, and what it costs in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::challenge::Terms;
use seneschal::house::hall::Caller;
use seneschal::house::variant::HouseVariant;
use seneschal::house::{House, HouseConfig, HouseHandle};
use serde_json::Value;
use tokio::task::JoinSet;

use super::client::{Lines, Next, config, http_client};

/// Moves by game and ply, with the moment they were accepted.
type Played = Arc<Mutex<HashMap<(String, usize), Instant>>>;

async fn begin_games(house: &HouseHandle, games: usize) -> Vec<(String, [Caller; 2])> {
    let mut begun = Vec::new();
    for n in 0..games {
        let mut callers = Vec::new();
        for side in ["W", "B"] {
            let name = format!("{side}_{n:03}");
            let token = house
                .register(&name, AccountKind::Bot, Scopes::bot())
                .await
                .unwrap();
            callers.push(Caller {
                account: name.to_lowercase(),
                token: token.hash(),
                scopes: Scopes::bot(),
            });
        }
        let [white, black]: [Caller; 2] = callers.try_into().unwrap();
        let key = if n % 2 == 0 {
            "crazyhouse"
        } else {
            "capablanca"
        };
        let terms = Terms {
            variant: HouseVariant::from_key(key).unwrap(),
            rated: false,
            time: seneschal::game::TimeControl::clock(600, 0),
            color: Some(seneschal::rules::Color::White),
            fen: None,
            special: Default::default(),
        };
        let made = house
            .hall()
            .challenge(&white, &black.account, terms)
            .unwrap();
        let id = made["id"].as_str().unwrap().to_owned();
        house.hall().accept(&black, &id).unwrap();
        begun.push((id, [white, black]));
    }
    begun
}

async fn watch(base: String, path: String, played: Played, seen: Arc<Mutex<Vec<Duration>>>) {
    let http = http_client("watcher/1");
    let request = http
        .get(format!("{base}{path}"))
        .timeout(Duration::from_secs(300));
    let mut lines = Lines::of(request.send().await.unwrap());
    // A state may be told again, for instance because somebody has come; only its first sight counts.
    let mut shown = 0;
    loop {
        match lines.next_within(Duration::from_secs(60)).await {
            Next::Text(line) => {
                let Some(data) = line.strip_prefix("data: ") else {
                    continue;
                };
                let now = Instant::now();
                let Ok(state) = serde_json::from_str::<Value>(data) else {
                    continue;
                };
                let Some(moves) = state["moves"].as_array() else {
                    continue;
                };
                if moves.len() <= shown {
                    continue;
                }
                shown = moves.len();
                let key = (state["id"].as_str().unwrap().to_owned(), shown);
                if let Some(at) = played.lock().unwrap().get(&key) {
                    seen.lock().unwrap().push(now - *at);
                }
            }
            Next::Json(_) => {}
            _ => return,
        }
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

/// Plays one move per game and second, shifted so that they do not all fall together.
async fn play(
    house: Arc<HouseHandle>,
    games: Vec<(String, [Caller; 2])>,
    seconds: u64,
    played: Played,
) {
    let count = games.len() as u64;
    let mut ticks = tokio::time::interval(Duration::from_micros(1_000_000 / count));
    let mut seed = 1_u64;
    for n in 0..seconds * count {
        ticks.tick().await;
        let (id, callers) = &games[(n % count) as usize];
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let chosen = house.hall().look(id, |game, _| {
            let moves = game.position().legal_moves();
            let over = game.status.is_over() || moves.is_empty();
            let uci = (!over).then(|| {
                game.position()
                    .uci(moves[(seed >> 33) as usize % moves.len()])
            });
            (game.turn().index(), game.plies(), uci)
        });
        if let Some((side, plies, Some(uci))) = chosen {
            played
                .lock()
                .unwrap()
                .insert((id.clone(), plies + 1), Instant::now());
            drop(house.hall().play(&callers[side], id, &uci, None));
        }
    }
}

async fn crowd(games: usize, watchers: usize, seconds: u64) -> (Vec<Duration>, u64, u64) {
    let house = Arc::new(
        House::start(HouseConfig {
            // The players sit in this process and open no stream; nobody shall wait for them to come.
            gone_after: Duration::from_secs(600),
            ..config()
        })
        .await
        .unwrap(),
    );
    let begun = begin_games(&house, games).await;
    let played = Played::default();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for n in 0..watchers {
        let path = format!("/page/game/{}/stream", begun[n % games].0);
        tasks.spawn(watch(
            house.base_url().to_owned(),
            path,
            Arc::clone(&played),
            Arc::clone(&seen),
        ));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let warm_up = 2;
    play(
        Arc::clone(&house),
        begun.clone(),
        warm_up,
        Arc::clone(&played),
    )
    .await;
    let before = resident_kib();
    seen.lock().unwrap().clear();
    play(Arc::clone(&house), begun, seconds, Arc::clone(&played)).await;
    let after = resident_kib();
    tasks.shutdown().await;
    assert_eq!(house.violations().total(), 0);
    let mut delays = seen.lock().unwrap().clone();
    delays.sort_unstable();
    (delays, before, after)
}

fn percentile(sorted: &[Duration], share: usize) -> Duration {
    sorted[(sorted.len() * share / 100).min(sorted.len() - 1)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_reach_those_who_watch() {
    let (delays, ..) = crowd(6, 24, 2).await;
    // Most of 6 games * 2 moves * 4 watchers each; random games may end early.
    assert!(delays.len() > 30, "{} deliveries", delays.len());
    // No tight bound where others use the machine too; the figure is measured below.
    assert!(
        percentile(&delays, 50) < Duration::from_secs(2),
        "{delays:?}"
    );
}

/// `cargo test --release --test it house::crowd -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement; needs a quiet machine and a release build"]
async fn two_hundred_watch_fifty_games() {
    let (delays, before, after) = crowd(50, 200, 20).await;
    println!(
        "{} deliveries: p50 {:?}, p99 {:?}, max {:?}; resident {before} KiB, after 20 s {after} KiB",
        delays.len(),
        percentile(&delays, 50),
        percentile(&delays, 99),
        delays.last().unwrap()
    );
    assert!(percentile(&delays, 99) < Duration::from_millis(100));
    assert!(after < before + 20 * 1024, "memory grows");
}
