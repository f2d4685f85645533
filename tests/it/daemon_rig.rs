//! A whole daemon on a house: real HTTP, real engine pool, short waits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use seneschal::daemon::tapes::TapeDesk;
use seneschal::daemon::{AccountSetup, Daemon, RunReport, Shutdown, Stats, run};
use seneschal::engine::pool::SearcherFactory;
use seneschal::engine::{EngineConfig, Pool, PoolConfig, searcher_factory};
use seneschal::game::GamePolicy;
use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::{House, HouseConfig, HouseHandle};
use seneschal::lobby::{AccountName, LobbyPolicy, MatchmakingPolicy, Offer};
use seneschal::platform::http::Origin;
use seneschal::platform::lichess::{
    LichessConfig, Server, Shared, Timing, capabilities, connect, governor_config,
};
use seneschal::store::{Store, StoreOptions};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::house::client::{self, Bot, Lines};

/// Nothing here takes longer, also on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What a daemon is made of.
#[derive(Clone)]
pub struct Options {
    /// Users of the house that the daemon plays, and whether they challenge.
    pub users: Vec<(&'static str, bool)>,
    pub lobby: LobbyPolicy,
    pub matchmaking: MatchmakingPolicy,
    pub game: GamePolicy,
    pub searcher: SearcherFactory,
    pub timing: Timing,
    pub tapes: Option<PathBuf>,
    pub reconcile: Duration,
    pub drain_timeout: Duration,
}

impl Default for Options {
    /// One quiet account that thinks fast and challenges nobody.
    fn default() -> Self {
        let mut game = GamePolicy::default();
        game.chat.enabled = false;
        game.time.max_nodes = 300;
        game.time.first_move = Duration::from_millis(200);
        game.resign.score_cp = -800;
        game.resign.moves = 3;
        game.draw.min_ply = 40;
        game.draw.moves = 4;
        Options {
            users: vec![("Robot", false)],
            lobby: LobbyPolicy {
                max_games: 32,
                max_games_per_opponent: 16,
                ..LobbyPolicy::default()
            },
            matchmaking: MatchmakingPolicy {
                interval: Duration::from_secs(1),
                rematch_after: Duration::ZERO,
                list_age: Duration::from_secs(10),
                bot_games_left_for_others: 0,
                offers: vec![offer("crazyhouse"), offer("capablanca")],
                ..MatchmakingPolicy::default()
            },
            game,
            searcher: searcher_factory(EngineConfig {
                hash_bytes: 1 << 20,
                threads: 1,
            }),
            timing: Timing {
                silence: Duration::from_millis(1_500),
                line_deadline: Duration::from_millis(2_500),
                game_backoff_cap: Duration::from_millis(400),
                event_backoff_cap: Duration::from_millis(800),
                move_deadline: Duration::from_secs(2),
                move_pause: Duration::from_millis(100),
                ..Timing::default()
            },
            tapes: None,
            reconcile: Duration::from_secs(2),
            drain_timeout: Duration::from_secs(30),
        }
    }
}

/// A casual offer of half a minute each.
pub fn offer(variant: &str) -> Offer {
    Offer {
        variant: variant.to_owned(),
        clock: "30+0".to_owned(),
        rated: false,
        weight: 1,
    }
}

/// A house and what belongs to it across restarts of the daemon.
pub struct Stage {
    pub house: HouseHandle,
    pub store: Store,
    tokens: Vec<(&'static str, String)>,
}

/// A running daemon.
pub struct Running {
    pub stats: Stats,
    pub shutdown: Shutdown,
    task: JoinHandle<RunReport>,
}

impl Stage {
    pub async fn open(config: HouseConfig) -> Stage {
        let house = House::start(config).await.expect("a house");
        Stage {
            house,
            store: Store::in_memory(&StoreOptions::default()).expect("a store"),
            tokens: Vec::new(),
        }
    }

    /// Another player, played by the test.
    pub async fn player(&self, name: &'static str, kind: AccountKind) -> Bot {
        Bot::register_as(&self.house, name, kind, Scopes::bot()).await
    }

    async fn token(&mut self, user: &'static str) -> String {
        if let Some((_, token)) = self.tokens.iter().find(|(known, _)| *known == user) {
            return token.clone();
        }
        let token = self
            .house
            .register(user, AccountKind::Bot, Scopes::bot())
            .await
            .expect("an account");
        let token = token.reveal().to_owned();
        self.tokens.push((user, token.clone()));
        token
    }

    /// Builds the daemon's accounts on this house.
    pub async fn accounts(&mut self, options: &Options) -> Vec<AccountSetup> {
        let origin = Origin::new(self.house.base_url(), governor_config(Server::House), None)
            .expect("an address");
        let mut accounts = Vec::new();
        for (index, (user, matchmaking)) in options.users.clone().into_iter().enumerate() {
            let token = self.token(user).await;
            let config = LichessConfig {
                server: Server::House,
                expected_user: Some(user.to_owned()),
                timing: options.timing,
                ..LichessConfig::new(user.to_lowercase(), SecretString::from(token))
            };
            let capabilities = capabilities(&config);
            let shared = Shared {
                origin: origin.clone(),
                seed: index as u64,
            };
            let (link, client) = connect(config, shared);
            accounts.push(AccountSetup {
                name: AccountName::new(user.to_lowercase()),
                platform: "house",
                capabilities,
                max_games: None,
                matchmaking,
                owners: Vec::new(),
                link,
                client: Box::pin(client),
            });
        }
        accounts
    }

    /// Starts a daemon on this house.
    pub async fn run(&mut self, options: &Options) -> Running {
        let accounts = self.accounts(options).await;
        run_accounts(accounts, options, self.store.clone())
    }

    /// A challenge of a test's player to the daemon's account, and the game that comes of it.
    pub async fn begin(&self, player: &Bot, user: &str, form: &[(&str, &str)]) -> String {
        let mut events = player.events().await;
        let id = player.challenge(user, form).await;
        self.started(&mut events, &id).await;
        id
    }

    /// Waits for the start of a game on an event stream.
    pub async fn started(&self, events: &mut Lines, id: &str) {
        let start = async {
            loop {
                let line = events.json_of("gameStart").await;
                if line["game"]["gameId"] == id {
                    return;
                }
            }
        };
        timeout(PATIENCE, start).await.expect("the game starts");
    }

    #[track_caller]
    pub fn expect_no_violations(&self) {
        let violations = self.house.violations();
        let latest: Vec<_> = violations.latest().collect();
        assert_eq!(violations.total(), 0, "{latest:#?}");
    }

    /// Waits until so many games are over that were not aborted.
    pub async fn finished(&self, games: u64) {
        let done = async {
            while self.house.finished().by_variant.values().sum::<u64>() < games {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if timeout(3 * PATIENCE, done).await.is_err() {
            panic!(
                "{:?} finished, {:?} running, {:?}",
                self.house.finished().by_variant,
                self.house.running(),
                self.house.violations()
            );
        }
    }
}

/// Starts a daemon with these accounts.
pub fn run_accounts(accounts: Vec<AccountSetup>, options: &Options, store: Store) -> Running {
    let stats = Stats::default();
    let shutdown = Shutdown::default();
    let config = PoolConfig {
        threads: 1,
        ..PoolConfig::default()
    };
    let tapes = options.tapes.clone().map(|dir| {
        let desk = TapeDesk::open(&dir, 1_000).expect("a directory for tapes");
        (desk, dir)
    });
    let daemon = Daemon {
        accounts,
        game: options.game.clone(),
        lobby: options.lobby.clone(),
        matchmaking: options.matchmaking.clone(),
        pool: Arc::new(Pool::new(config, Arc::clone(&options.searcher)).expect("threads")),
        engine: "Seneschal test".to_owned(),
        store,
        tapes,
        stats: stats.clone(),
        seed: 1,
        drain_timeout: options.drain_timeout,
        reconcile: options.reconcile,
        companions: Vec::new(),
    };
    let task = tokio::spawn(run(daemon, shutdown.clone()));
    Running {
        stats,
        shutdown,
        task,
    }
}

impl Running {
    /// Drains and waits for the end.
    pub async fn drain(self) -> RunReport {
        self.shutdown.drain().cancel();
        self.join().await
    }

    /// Aborts and waits for the end.
    pub async fn stop(self) -> RunReport {
        self.shutdown.abort().cancel();
        self.join().await
    }

    /// Waits for the end.
    pub async fn join(self) -> RunReport {
        timeout(PATIENCE, self.task)
            .await
            .expect("the daemon ends")
            .expect("the daemon does not panic")
    }

    /// Drops the daemon where it stands, as a crash would.
    pub async fn crash(self) {
        self.task.abort();
        drop(self.task.await);
    }

    pub fn is_over(&self) -> bool {
        self.task.is_finished()
    }
}

/// A house with short pauses and no limits.
pub fn quick_house() -> HouseConfig {
    HouseConfig {
        gone_after: Duration::from_secs(20),
        ..client::config()
    }
}

/// Plays the first legal move whenever it is this player's turn, until the game is over or `plies` are on the board.
/// Returns the last state.
pub async fn play_first_moves(player: &Bot, game: &str, plies: usize) -> Value {
    let mut lines = player.game(game).await;
    let full = lines.expect("gameFull").await;
    let white = full["white"]["id"] == player.name.to_lowercase();
    let variant = full["variant"]["key"].as_str().expect("a key").to_owned();
    let mut state = full["state"].clone();
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < 2 * PATIENCE, "the game hangs: {state}");
        let moves: Vec<&str> = state["moves"]
            .as_str()
            .expect("moves")
            .split_whitespace()
            .collect();
        if client::status(&state) != "started" && client::status(&state) != "created" {
            return state;
        }
        if moves.len() >= plies {
            return state;
        }
        if moves.len().is_multiple_of(2) == white {
            let position = replay(&variant, &moves);
            let legal = position.legal_moves();
            if let Some(&m) = legal.first() {
                player.try_play(game, &position.uci(m)).await;
            }
        }
        state = lines.json_of("gameState").await;
    }
}

/// The position after these moves from the start of a variant of Lichess's or the house's name.
pub fn replay(key: &str, moves: &[&str]) -> seneschal::rules::Position {
    let variant = match key {
        "standard" => seneschal::rules::Variant::Chess,
        "threeCheck" => seneschal::rules::Variant::ThreeCheck,
        "kingOfTheHill" => seneschal::rules::Variant::KingOfTheHill,
        "racingKings" => seneschal::rules::Variant::RacingKings,
        other => seneschal::game::words::variant::parse(other).expect("a variant"),
    };
    let mut position = seneschal::rules::Position::start(variant);
    for word in moves {
        let m = position.parse_uci(word).expect("a legal move");
        position.play_unchecked(m);
    }
    position
}

/// A form for a challenge of this variant and clock.
pub fn form<'a>(variant: &'a str, limit: &'a str, increment: &'a str) -> [(&'a str, &'a str); 3] {
    [
        ("variant", variant),
        ("clock.limit", limit),
        ("clock.increment", increment),
    ]
}
