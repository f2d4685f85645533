//! A whole daemon on a house: real HTTP, real engine pool, short waits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use seneschal::daemon::tapes::TapeDesk;
use seneschal::daemon::{AccountSetup, Daemon, RunReport, Shutdown, Stats, run};
use seneschal::engine::pool::SearcherFactory;
use seneschal::engine::{
    EngineConfig, Pool, PoolConfig, ReportOrigin, SearchInfo, SearchLimits, SearchReport, Searcher,
    StopFlag, searcher_factory,
};
use seneschal::game::GamePolicy;
use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::endpoint::Endpoint;
use seneschal::house::fault::{Effect, Fault, FaultPlan, When};
use seneschal::house::variant::HouseVariant;
use seneschal::house::{House, HouseConfig, HouseHandle};
use seneschal::lobby::{AccountName, LobbyPolicy, MatchmakingPolicy, Offer};
use seneschal::platform::http::Origin;
use seneschal::platform::lichess::{
    LichessConfig, Server, Shared, Timing, capabilities, connect, governor_config,
};
use seneschal::rules::{History, Position};
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
            searcher: searcher_factory(EngineConfig::new(1 << 20, 1)),
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

    /// How often the faults of the plan have struck, all together.
    pub fn struck(&self) -> u32 {
        self.house.faults_struck().iter().sum()
    }

    /// Replaces the fault plan.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.house.set_faults(plan(faults)).expect("a plan");
    }

    /// Waits until the account's event stream is open.
    pub async fn online(&self, account: &str) {
        let open = || self.house.hall().stream_controls(account, true, false);
        until("the event stream", || !open().is_empty()).await;
    }

    /// Open game streams of these accounts.
    pub fn game_streams(&self, accounts: &[&str]) -> usize {
        let of = |account: &&str| {
            self.house
                .hall()
                .stream_controls(account, false, true)
                .len()
        };
        accounts.iter().map(of).sum()
    }

    /// Finished games in which a flag fell.
    pub fn flags(&self) -> usize {
        let finished = self.house.finished();
        let fell = finished.latest.iter().filter(|g| g.status == "outoftime");
        fell.count()
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

/// Plays a script, or some legal move where the script says nothing or what cannot be played. Needs no processor, so that
/// a test with many games tests the daemon and not the machine.
#[derive(Debug)]
struct Scripted {
    moves: Vec<String>,
    pause: Duration,
}

impl Searcher for Scripted {
    fn search(
        &mut self,
        history: &History,
        limits: &SearchLimits,
        _: &StopFlag,
        _: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        let until = std::time::Instant::now() + self.pause;
        while let Some(left) = until.checked_duration_since(std::time::Instant::now()) {
            std::thread::park_timeout(left);
        }
        let (position, ply) = (history.position(), history.moves().len());
        let legal = position.legal_moves();
        let written = self.moves.get(ply).and_then(|m| position.parse_uci(m).ok());
        let best = written.unwrap_or_else(|| {
            let allowed = |m: &&seneschal::rules::Move| {
                limits.search_moves.is_empty() || limits.search_moves.contains(m)
            };
            let allowed: Vec<_> = legal.iter().filter(allowed).collect();
            // Spread out, so that games differ and do not repeat themselves to a draw at once.
            let key = history.keys().last().copied().unwrap_or_default() as usize;
            *allowed[key % allowed.len()]
        });
        SearchReport::without_search(best, ReportOrigin::Search, Duration::ZERO)
    }

    fn new_game(&mut self) {}
}

/// Searchers that play these moves, from the first ply of the game on, and see no advantage for anybody.
pub fn scripted(moves: &str) -> SearcherFactory {
    searchers(moves, Duration::ZERO)
}

/// Searchers that play some legal move after this pause. All games share one thread, so that this is the pace of all of
/// them together.
pub fn paced(pause: Duration) -> SearcherFactory {
    searchers("", pause)
}

fn searchers(moves: &str, pause: Duration) -> SearcherFactory {
    let moves: Vec<String> = moves.split_whitespace().map(str::to_owned).collect();
    Arc::new(move || {
        Box::new(Scripted {
            moves: moves.clone(),
            pause,
        })
    })
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
    play_first_moves_patiently(player, game, plies, client::PATIENCE).await
}

/// The same against a daemon whose plug is pulled meanwhile: an opponent who waits this long for an answer.
pub async fn play_first_moves_patiently(
    player: &Bot,
    game: &str,
    plies: usize,
    patience: Duration,
) -> Value {
    let mut lines = player.game(game).await;
    let full = lines.expect("gameFull").await;
    let white = full["white"]["id"] == player.name.to_lowercase();
    let variant = full["variant"]["key"].as_str().expect("a key").to_owned();
    let start = full["initialFen"].as_str().filter(|fen| *fen != "startpos");
    let start = start.map(str::to_owned);
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
        let position = replay(&variant, start.as_deref(), &moves);
        if (position.turn() == seneschal::rules::Color::White) == white {
            let legal = position.legal_moves();
            if let Some(&m) = legal.first() {
                player.try_play(game, &position.uci(m)).await;
            }
        }
        state = lines.json_of_within("gameState", patience).await;
    }
}

/// The position after these moves, from this start or the variant's own, in a variant of the house's name.
pub fn replay(key: &str, start: Option<&str>, moves: &[&str]) -> Position {
    let variant = HouseVariant::from_key(key).expect("a variant of the house");
    let mut position = match start {
        Some(fen) => {
            Position::from_fen(variant.rules(), variant.castling_mode(), fen).expect("a FEN")
        }
        None => Position::start(variant.rules()),
    };
    for word in moves {
        let m = position.parse_uci(word).expect("a legal move");
        position.play_unchecked(m);
    }
    position
}

/// A fault at an endpoint, whoever asks.
pub fn at(on: Endpoint, when: When, effect: Effect) -> Fault {
    Fault {
        on: Some(on),
        account: None,
        line: None,
        when,
        limit: None,
        effect,
    }
}

/// The same for one account only.
pub fn of(account: &str, fault: Fault) -> Fault {
    Fault {
        account: Some(account.to_owned()),
        ..fault
    }
}

/// These faults in their order.
pub fn plan(faults: Vec<Fault>) -> FaultPlan {
    FaultPlan { seed: 1, faults }
}

/// A refusal, or any other answer, in place of what the house would do.
pub fn answer(status: u16, body: &str) -> Effect {
    Effect::Answer {
        status,
        body: body.to_owned(),
    }
}

/// Counts requests and changes nothing.
pub fn count(on: Endpoint) -> Fault {
    at(on, When::Always, Effect::Delay { ms: 0 })
}

/// A quick house with a fault plan.
pub async fn stage_with(faults: Vec<Fault>) -> Stage {
    let mut config = quick_house();
    config.faults = plan(faults);
    Stage::open(config).await
}

/// One account that challenges whoever is online.
pub fn seeking() -> Options {
    let mut options = Options {
        users: vec![("Robot", true)],
        ..Options::default()
    };
    options.matchmaking.enabled = true;
    options
}

/// Waits for something that can only be looked at.
pub async fn until(what: &str, mut done: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < 2 * PATIENCE, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    begun.elapsed()
}

/// A form for a challenge of this variant and clock.
pub fn form<'a>(variant: &'a str, limit: &'a str, increment: &'a str) -> [(&'a str, &'a str); 3] {
    [
        ("variant", variant),
        ("clock.limit", limit),
        ("clock.increment", increment),
    ]
}
