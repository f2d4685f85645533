//! `seneschal demo`: a house, two bots, games, no account and no network.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use secrecy::SecretString;

use super::run::pass_signals_on;
use crate::config::EngineSection;
use crate::daemon::assemble::{ENGINE_NAME, pool};
use crate::daemon::house_analyst::PoolAnalyst;
use crate::daemon::{AccountSetup, Daemon, Shutdown, Stats};
use crate::engine::Pool;
use crate::game::GamePolicy;
use crate::house::account::{AccountKind, Scopes};
use crate::house::{House, HouseConfig, HouseHandle};
use crate::lobby::{AccountName, LobbyPolicy, MatchmakingPolicy, Offer};
use crate::observability::HiddenWords;
use crate::observability::log::{self, LogConfig};
use crate::platform::http::Origin;
use crate::platform::lichess::{self, LichessConfig, Server};
use crate::store::{Store, StoreOptions};

/// How long before the end no new games begin, at most; a game of the demo takes less.
const LAST_CALL: Duration = Duration::from_secs(20);
/// The same as a part of a short demo.
const LAST_CALL_PART: f64 = 0.35;

/// Arguments of `seneschal demo`.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// End after this time, as 60s or 5m; without it the demo runs until it is interrupted
    #[arg(long = "for", value_name = "TIME", value_parser = time_span)]
    span: Option<Duration>,
    /// Port of the page; 0 takes any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// End after so many games
    #[arg(long, value_name = "N")]
    games: Option<u64>,
    /// What is logged, as `info` or `debug`
    #[arg(long, default_value = "warn")]
    log: String,
}

fn time_span(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit() && c != '.') {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return Err("expected a time as 60s, 5m or 1h".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "expected a number".to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

impl Demo {
    /// Runs the demo. Exit code 1: somebody broke the rules of the protocol, or a bug showed.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let config = LogConfig {
            filter: self.log.clone(),
            ..LogConfig::default()
        };
        let hidden = HiddenWords::default();
        log::start(&config, &hidden)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .context("starting the runtime")?;
        runtime.block_on(self.play(&hidden))
    }

    async fn play(self, hidden: &HiddenWords) -> anyhow::Result<ExitCode> {
        let game = quick_play();
        let engine = EngineSection {
            hash_mib: 16,
            ..EngineSection::default()
        };
        let pool = Arc::new(pool(&engine, &game)?);
        let house = House::start(HouseConfig {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.port),
            analyst: Some(Arc::new(PoolAnalyst::new(Arc::clone(&pool), ENGINE_NAME))),
            ..HouseConfig::default()
        })
        .await
        .context("opening the house")?;
        println!("live boards: {}/", house.base_url());
        let daemon = daemon(&house, game, pool, hidden).await?;
        let stats = daemon.stats.clone();
        let shutdown = Shutdown::default();
        let signals = pass_signals_on(shutdown.clone())?;
        let report = {
            let playing = crate::daemon::run(daemon, shutdown.clone());
            tokio::pin!(playing);
            tokio::select! {
                report = &mut playing => report,
                () = self.until_the_end(&house, &shutdown) => playing.await,
            }
        };
        signals.abort();
        let violations = house.violations();
        let finished = house.finished().by_variant;
        house.shutdown().await;
        let counted = stats.snapshot();
        if let Some((median, p99)) = counted.reaction {
            println!(
                "{} moves, {} sent again, {} without a search; from event to move {} us, 99 of 100 within {} us, search aside",
                counted.moves,
                counted.resent,
                counted.fallbacks,
                median.as_micros(),
                p99.as_micros()
            );
        }
        let faults = counted.faults + report.died.len() as u64;
        for (kind, count) in violations.counts() {
            eprintln!("violation: {kind:?}, {count} times");
        }
        for (account, words) in &report.stopped {
            eprintln!("account `{account}` was stopped: {}", words.escape_debug());
        }
        println!("{}", summary(&finished, faults, violations.total()));
        let clean = faults == 0 && violations.total() == 0 && report.is_clean();
        Ok(match clean {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        })
    }

    /// Returns once everything was told to end: new games first, running ones at the very end.
    async fn until_the_end(&self, house: &HouseHandle, shutdown: &Shutdown) {
        let enough = async {
            let Some(games) = self.games else {
                return std::future::pending().await;
            };
            while house.finished().by_variant.values().sum::<u64>() < games {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let Some(span) = self.span else {
            enough.await;
            return shutdown.drain().cancel();
        };
        let last_call = LAST_CALL.min(span.mul_f64(LAST_CALL_PART));
        let end = tokio::time::Instant::now() + span;
        tokio::select! {
            () = enough => {}
            () = tokio::time::sleep_until(end - last_call) => {}
        }
        shutdown.drain().cancel();
        tokio::select! {
            () = tokio::time::sleep_until(end) => shutdown.abort().cancel(),
            () = shutdown.abort().cancelled() => {}
        }
    }
}

/// `9 games finished: 5 crazyhouse, 4 capablanca; 0 faults, 0 violations`
fn summary(
    finished: &std::collections::BTreeMap<&'static str, u64>,
    faults: u64,
    violations: u64,
) -> String {
    let total: u64 = finished.values().sum();
    // The two games this project was made for come first, the rest by name.
    let mut parts: Vec<(&str, u64)> = finished.iter().map(|(name, n)| (*name, *n)).collect();
    parts.sort_by_key(|(name, _)| match *name {
        "crazyhouse" => (0, ""),
        "capablanca" => (1, ""),
        other => (2, other),
    });
    let parts: Vec<String> = parts
        .iter()
        .map(|(name, n)| format!("{n} {name}"))
        .collect();
    let list = match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.join(", "),
    };
    format!("{total} games finished: {list}; {faults} faults, {violations} violations")
}

/// Short thinking, so that there is something to see.
fn quick_play() -> GamePolicy {
    let mut game = GamePolicy::default();
    game.time.max_move = Duration::from_millis(60);
    game.time.first_move = Duration::from_millis(200);
    game.time.move_overhead = Duration::from_millis(20);
    game.resign.score_cp = -900;
    game.resign.moves = 3;
    game.draw.min_ply = 60;
    game
}

/// Two accounts of the house, one of which asks for games.
async fn daemon(
    house: &HouseHandle,
    game: GamePolicy,
    pool: Arc<Pool>,
    hidden: &HiddenWords,
) -> anyhow::Result<Daemon> {
    let offer = |variant: &str| Offer {
        variant: variant.to_owned(),
        clock: "30+0".to_owned(),
        rated: true,
        weight: 1,
    };
    let lobby = LobbyPolicy {
        max_games: 8,
        max_games_per_opponent: 4,
        ..LobbyPolicy::default()
    };
    let matchmaking = MatchmakingPolicy {
        enabled: true,
        interval: Duration::from_secs(1),
        rematch_after: Duration::ZERO,
        list_age: Duration::from_secs(10),
        bot_games_left_for_others: 0,
        offers: vec![offer("crazyhouse"), offer("capablanca")],
        ..MatchmakingPolicy::default()
    };
    let origin = Origin::new(
        house.base_url(),
        lichess::governor_config(Server::House),
        None,
    )?;
    let mut accounts = Vec::new();
    for (index, (name, user)) in [("white_room", "Ivory"), ("black_room", "Ebony")]
        .into_iter()
        .enumerate()
    {
        let token = house
            .register(user, AccountKind::Bot, Scopes::bot())
            .await
            .with_context(|| format!("making the house's account {user}"))?;
        let token = SecretString::from(token.reveal().to_owned());
        hidden.add(&token);
        let config = LichessConfig {
            server: Server::House,
            expected_user: Some(user.to_owned()),
            ..LichessConfig::new(name, token)
        };
        let capabilities = lichess::capabilities(&config);
        let shared = lichess::Shared {
            origin: origin.clone(),
            seed: index as u64,
        };
        let (link, client) = lichess::connect(config, shared);
        accounts.push(AccountSetup {
            name: AccountName::new(name),
            platform: "house",
            capabilities,
            max_games: None,
            matchmaking: index == 0,
            owners: Vec::new(),
            link,
            client: Box::pin(client),
        });
    }
    Ok(Daemon {
        accounts,
        pool,
        game,
        lobby,
        matchmaking,
        engine: ENGINE_NAME.to_owned(),
        store: Store::in_memory(&StoreOptions::default())?,
        tapes: None,
        stats: Stats::default(),
        seed: 1,
        drain_timeout: Duration::from_secs(3_600),
        reconcile: Duration::from_secs(60),
        companions: Vec::new(),
    })
}
