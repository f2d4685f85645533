//! The root: owns every task, starts one task per game, ends everything in order.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::engine::Pool;
use crate::game::{GameEnd, GameId, GameMemory, GamePolicy, PlayerName, SessionTerms, Termination};
use crate::lobby::{AccountName, AccountTerms, Lobby, LobbyEvent, LobbyPolicy, MatchmakingPolicy};
use crate::observability::notify::ServiceManager;
use crate::platform::{
    AccountCommand, AccountEvent, AccountLink, Capabilities, ClientEnd, GameNotice, LimitScope,
    Received, Snapshot,
};
use crate::store::Store;

use super::abandon::abandon;
use super::game_task::{GameControl, GameOutcome, GameShared, OpponentKnown, play};
use super::journal::Journal;
use super::lobby_task::{self, LobbyParts, Pulse};
use super::overhead::Overhead;
use super::shutdown::Shutdown;
use super::stats::Stats;
use super::tapes::TapeDesk;
use super::timeline::Timeline;

/// News of all accounts that may wait for the root.
const NEWS_QUEUE: usize = 1_024;
/// Events that may wait for the lobby.
const LOBBY_QUEUE: usize = 1_024;
/// Orders that may wait for a game.
const CONTROL_QUEUE: usize = 8;
/// Ended games remembered, so that a late notice of their start opens nothing.
const ENDED_GAMES: usize = 4_096;
/// After the abort everything has this long to end by itself.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// Once the last game of a drain is over, its last words have this long to leave.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// A lobby without a sign of life for so long is hung: the service manager is told nothing more.
const LOBBY_HUNG: Duration = Duration::from_secs(60);

/// A client's future.
pub type ClientFuture = Pin<Box<dyn Future<Output = ClientEnd> + Send + 'static>>;

/// One account, ready to be run.
pub struct AccountSetup {
    /// Its name in the configuration.
    pub name: AccountName,
    /// Its platform's word in the configuration.
    pub platform: &'static str,
    /// What its platform can do.
    pub capabilities: Capabilities,
    /// Games of this account at a time; `None`: only the common bound holds.
    pub max_games: Option<u32>,
    /// Whether it challenges others.
    pub matchmaking: bool,
    /// Players whose private messages are commands (`status`, `drain`).
    pub owners: Vec<PlayerName>,
    /// The queues to its client.
    pub link: AccountLink,
    /// The client.
    pub client: ClientFuture,
}

impl std::fmt::Debug for AccountSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccountSetup")
            .field("name", &self.name)
            .field("platform", &self.platform)
            .finish_non_exhaustive()
    }
}

/// Something that runs beside the accounts until the end, under a name for the log.
pub type Companion = (
    &'static str,
    Pin<Box<dyn Future<Output = ()> + Send + 'static>>,
);

/// Everything the daemon is made of.
pub struct Daemon {
    /// Accounts.
    pub accounts: Vec<AccountSetup>,
    /// Behaviour in games.
    pub game: GamePolicy,
    /// Slots and admission.
    pub lobby: LobbyPolicy,
    /// Challenges of ours.
    pub matchmaking: MatchmakingPolicy,
    /// The search threads.
    pub pool: Arc<Pool>,
    /// Name and version of the engine, for chat.
    pub engine: String,
    /// What survives.
    pub store: Store,
    /// Where tapes go, if any are made.
    pub tapes: Option<(TapeDesk, PathBuf)>,
    /// What is counted.
    pub stats: Stats,
    /// Seed of all draws.
    pub seed: u64,
    /// How long running games may go on after the first signal.
    pub drain_timeout: Duration,
    /// How often the platforms' lists are compared with ours.
    pub reconcile: Duration,
    /// What else runs until the end.
    pub companions: Vec<Companion>,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon")
            .field("accounts", &self.accounts)
            .finish_non_exhaustive()
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunReport {
    /// Accounts whose platform will not have them, with the reason.
    pub stopped: Vec<(AccountName, String)>,
    /// Parts that died of a bug.
    pub died: Vec<String>,
    /// Games that were still running when everything was aborted.
    pub cut_off: usize,
}

impl RunReport {
    /// Whether nothing died unasked.
    pub fn is_clean(&self) -> bool {
        self.stopped.is_empty() && self.died.is_empty()
    }
}

/// What an account tells the root.
enum News {
    Event(Box<Received<AccountEvent>>),
    /// No more events will come.
    Closed,
}

/// How a part ended.
enum PartEnd {
    Client(AccountName, ClientEnd),
    Pump,
    Lobby,
}

struct AccountState {
    shared: GameShared,
    capabilities: Capabilities,
    owners: Vec<PlayerName>,
    stopped: bool,
}

type GameKey = (AccountName, GameId);

struct Root {
    shutdown: Shutdown,
    timeline: Timeline,
    stats: Stats,
    journal: Journal,
    policy: GamePolicy,
    engine: String,
    accounts: BTreeMap<AccountName, AccountState>,
    lobby: Option<mpsc::Sender<(AccountName, LobbyEvent)>>,
    games: JoinSet<GameOutcome>,
    running: HashMap<Id, GameKey>,
    controls: HashMap<GameKey, mpsc::Sender<GameControl>>,
    panics: HashMap<GameKey, u32>,
    ended: VecDeque<GameKey>,
    next_number: u64,
    parts: JoinSet<PartEnd>,
    companions: JoinSet<()>,
    part_names: HashMap<Id, String>,
    report: RunReport,
}

/// Runs the daemon until it is told to end, or until no account is left.
pub async fn run(daemon: Daemon, shutdown: Shutdown) -> RunReport {
    let service = ServiceManager;
    let timeline = Timeline::start();
    let journal = Journal::new(daemon.store.clone());
    let (news_tx, news) = mpsc::channel(NEWS_QUEUE);
    let (lobby_tx, lobby_events) = mpsc::channel(LOBBY_QUEUE);
    let (unwanted_tx, unwanted) = mpsc::channel(LOBBY_QUEUE);
    let (known_tx, known) = mpsc::channel(LOBBY_QUEUE);
    let (waiting_tx, waiting) = watch::channel(Vec::new());
    let (promised_tx, promised) = watch::channel(0);
    let pulse = Pulse::default();
    let mut root = Root {
        timeline,
        stats: daemon.stats,
        journal: journal.clone(),
        policy: daemon.game,
        engine: daemon.engine,
        accounts: BTreeMap::new(),
        lobby: Some(lobby_tx),
        games: JoinSet::new(),
        running: HashMap::new(),
        controls: HashMap::new(),
        panics: HashMap::new(),
        ended: VecDeque::new(),
        next_number: 1,
        parts: JoinSet::new(),
        companions: JoinSet::new(),
        part_names: HashMap::new(),
        report: RunReport::default(),
        shutdown,
    };
    let terms = daemon
        .accounts
        .iter()
        .map(|account| AccountTerms {
            name: account.name.clone(),
            capabilities: account.capabilities.lobby.clone(),
            max_games: account.max_games,
            matchmaking: account.matchmaking,
        })
        .collect();
    let lobby = Lobby::new(daemon.lobby, daemon.matchmaking, terms, daemon.seed);
    let mut commands = BTreeMap::new();
    for account in daemon.accounts {
        commands.insert(account.name.clone(), account.link.commands.clone());
        let shared = GameShared {
            account: account.name.clone(),
            platform: account.platform,
            commands: account.link.commands,
            pool: Arc::clone(&daemon.pool),
            journal: journal.clone(),
            tapes: daemon.tapes.clone(),
            overhead: Overhead::default(),
            stats: root.stats.clone(),
            timeline,
            waiting: waiting.clone(),
            news: known_tx.clone(),
            abort: root.shutdown.abort().clone(),
        };
        let pump = pump(account.name.clone(), account.link.events, news_tx.clone());
        root.add_part(format!("events of account {}", account.name), pump);
        let name = account.name.clone();
        let client = account.client;
        root.add_part(format!("client of account {name}"), async move {
            let end = client.await;
            PartEnd::Client(name, end)
        });
        let state = AccountState {
            shared,
            capabilities: account.capabilities,
            owners: account.owners,
            stopped: false,
        };
        root.accounts.insert(account.name, state);
    }
    for (name, future) in daemon.companions {
        let abort = root.shutdown.abort().clone();
        root.companions.spawn(async move {
            if abort.run_until_cancelled(future).await.is_some() {
                tracing::error!(part = name, "ended unasked");
            }
        });
    }
    let parts = LobbyParts {
        lobby,
        events: lobby_events,
        commands,
        unwanted: unwanted_tx,
        waiting: waiting_tx,
        promised: promised_tx,
        journal: journal.clone(),
        timeline,
        pulse: pulse.clone(),
        drain: root.shutdown.drain().clone(),
        abort: root.shutdown.abort().clone(),
    };
    root.add_part("lobby".to_owned(), async move {
        lobby_task::run(parts).await;
        PartEnd::Lobby
    });
    drop(news_tx);
    drop(known_tx);
    root.resume_owed().await;
    service.ready();
    let inbox = Inbox {
        news,
        unwanted,
        known,
        promised,
        pulse,
    };
    root.run(inbox, daemon.drain_timeout, daemon.reconcile, service)
        .await;
    service.stopping();
    root.end().await;
    journal.flush().await;
    root.summary();
    root.report
}

/// What the root listens to.
struct Inbox {
    news: mpsc::Receiver<(AccountName, News)>,
    unwanted: mpsc::Receiver<(AccountName, GameId, String)>,
    known: mpsc::Receiver<OpponentKnown>,
    promised: watch::Receiver<usize>,
    pulse: Pulse,
}

async fn pump(
    account: AccountName,
    mut events: mpsc::Receiver<Received<AccountEvent>>,
    news: mpsc::Sender<(AccountName, News)>,
) -> PartEnd {
    while let Some(received) = events.recv().await {
        let item = (account.clone(), News::Event(Box::new(received)));
        if news.send(item).await.is_err() {
            return PartEnd::Pump;
        }
    }
    // The root may be gone already; then nobody needs to know.
    drop(news.send((account, News::Closed)).await);
    PartEnd::Pump
}

impl Root {
    fn add_part(&mut self, name: String, part: impl Future<Output = PartEnd> + Send + 'static) {
        let handle = self.parts.spawn(part);
        self.part_names.insert(handle.id(), name);
    }

    /// Games in which a move may be owed since an earlier run: opened before anything else happens.
    async fn resume_owed(&mut self) {
        let accounts: Vec<AccountName> = self.accounts.keys().cloned().collect();
        for account in accounts {
            let owed = self.journal.owed(&account, self.timeline.wall_ms()).await;
            for (game, memory) in owed {
                tracing::info!(%account, %game, "resumes");
                self.start_game(&account, &game, memory);
                let source = crate::game::GameSource::Resumed;
                self.tell_lobby(
                    &account,
                    LobbyEvent::GameStarted {
                        game,
                        challenge: None,
                        opponent: None,
                        source,
                    },
                );
            }
        }
    }

    async fn run(
        &mut self,
        mut inbox: Inbox,
        drain_timeout: Duration,
        reconcile: Duration,
        service: ServiceManager,
    ) {
        let shutdown = self.shutdown.clone();
        let mut draining = false;
        let mut drain_ends = Instant::now();
        let mut reconcile = interval(reconcile.max(Duration::from_secs(1)));
        reconcile.set_missed_tick_behavior(MissedTickBehavior::Delay);
        reconcile.reset();
        let watchdog = service.watchdog().map(|period| period / 2);
        let mut heartbeat = interval(watchdog.unwrap_or(Duration::from_secs(10)));
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if draining && self.games.is_empty() && *inbox.promised.borrow() == 0 {
                return;
            }
            tokio::select! {
                biased;
                () = shutdown.abort().cancelled() => return,
                () = shutdown.drain().cancelled(), if !draining => {
                    draining = true;
                    drain_ends = Instant::now() + drain_timeout;
                    service.extend(drain_timeout + END_PATIENCE);
                    tracing::info!(games = self.games.len(), "drains: no new games, running ones go on");
                    self.quiesce().await;
                }
                Some(joined) = self.games.join_next_with_id() => self.game_joined(joined).await,
                Some((account, news)) = inbox.news.recv() => self.news(&account, news),
                Some((account, game, reason)) = inbox.unwanted.recv() => {
                    self.unwanted(account, game, reason);
                }
                Some(known) = inbox.known.recv() => {
                    let event = LobbyEvent::OpponentKnown(known.game, known.player);
                    self.tell_lobby(&known.account, event);
                }
                Some(joined) = self.parts.join_next_with_id() => self.part_joined(joined, draining),
                Ok(()) = inbox.promised.changed() => {}
                _ = reconcile.tick() => self.ask_for_lists(),
                _ = heartbeat.tick() => {
                    service.status(&self.status(draining));
                    if inbox.pulse.age(&self.timeline) < LOBBY_HUNG {
                        service.alive();
                    } else {
                        tracing::error!("the lobby shows no sign of life");
                    }
                }
                () = tokio::time::sleep_until(drain_ends), if draining => {
                    tracing::warn!(games = self.games.len(), "the drain took too long");
                    return;
                }
            }
        }
    }

    fn status(&self, draining: bool) -> String {
        let word = if draining { "draining" } else { "playing" };
        let finished: u64 = self.stats.snapshot().finished.values().sum();
        format!("{word}: {} games on, {finished} finished", self.games.len())
    }

    /// What the run came to, for the log.
    fn summary(&self) {
        let counted = self.stats.snapshot();
        let (median, p99) = counted.reaction.unwrap_or_default();
        tracing::info!(
            finished = ?counted.finished,
            ends = ?counted.by_end,
            moves = counted.moves,
            resent = counted.resent,
            fallbacks = counted.fallbacks,
            faults = counted.faults,
            reaction_p50_us = median.as_micros(),
            reaction_p99_us = p99.as_micros(),
            "the run is over"
        );
    }

    fn tell_lobby(&mut self, account: &AccountName, event: LobbyEvent) {
        let Some(lobby) = &self.lobby else { return };
        match lobby.try_send((account.clone(), event)) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                // The lists of the platform bring back what is lost here.
                tracing::warn!(%account, "the lobby's queue is full; an event is lost");
                self.command(account, AccountCommand::Reconcile);
            }
            Err(mpsc::error::TrySendError::Closed(_)) => {}
        }
    }

    fn command(&self, account: &AccountName, command: AccountCommand) {
        let Some(state) = self.accounts.get(account) else {
            return;
        };
        if let Err(error) = state.shared.commands.try_send(command) {
            tracing::debug!(%account, %error, "the client takes no commands");
        }
    }

    fn ask_for_lists(&self) {
        for (account, state) in &self.accounts {
            if !state.stopped {
                self.command(account, AccountCommand::Reconcile);
            }
        }
    }

    async fn quiesce(&self) {
        for state in self.accounts.values().filter(|state| !state.stopped) {
            let told = state
                .shared
                .commands
                .send_timeout(AccountCommand::Quiesce, Duration::from_secs(1));
            if let Err(error) = told.await {
                tracing::debug!(account = %state.shared.account, %error, "the client takes no commands");
            }
        }
    }

    fn news(&mut self, account: &AccountName, news: News) {
        let News::Event(received) = news else {
            self.tell_lobby(account, LobbyEvent::Offline);
            return;
        };
        let event = match received.event {
            AccountEvent::Online { name, is_bot } => {
                tracing::info!(%account, %name, is_bot, "online");
                LobbyEvent::Online(name)
            }
            AccountEvent::Offline { words, retry_in } => {
                tracing::warn!(%account, words = %words.escape_debug(), ?retry_in, "offline");
                LobbyEvent::Offline
            }
            AccountEvent::Reconciled(snapshot) => return self.reconciled(account, snapshot),
            AccountEvent::GameStarted(notice) => return self.game_started(account, notice),
            AccountEvent::GameFinished { .. } => return,
            AccountEvent::Challenged(challenge) => LobbyEvent::Challenged(challenge),
            AccountEvent::ChallengeCanceled(id) => LobbyEvent::Canceled(id),
            AccountEvent::ChallengeDeclined { id, reason } => LobbyEvent::Declined(id, reason),
            AccountEvent::ChallengeCreated { request, challenge } => {
                LobbyEvent::Created(request, challenge)
            }
            AccountEvent::ChallengeRefused { request, refusal } => {
                LobbyEvent::Refused(request, refusal)
            }
            AccountEvent::AcceptFailed {
                id,
                words,
                our_budget,
            } => {
                tracing::info!(%account, %id, words = %words.escape_debug(), "accept failed");
                LobbyEvent::AcceptFailed { id, our_budget }
            }
            AccountEvent::BotsOnline(bots) => LobbyEvent::Bots(bots),
            AccountEvent::Limited { scope, rest, words } => match scope {
                LimitScope::BotGames => LobbyEvent::BotGamesLimited(rest, words),
                LimitScope::Challenges | LimitScope::Everything => {
                    LobbyEvent::ChallengesLimited(rest, words)
                }
            },
            AccountEvent::Told { from, text } => return self.told(account, from, &text),
        };
        self.tell_lobby(account, event);
    }

    /// A private message: from an owner it is a command, from others it is noted only.
    fn told(&self, account: &AccountName, from: PlayerName, text: &str) {
        tracing::debug!(%account, %from, text = %text.escape_debug(), "told");
        let owned = |state: &AccountState| state.owners.contains(&from);
        if !self.accounts.get(account).is_some_and(owned) {
            return;
        }
        let draining = self.shutdown.drain().is_cancelled();
        let answer = match text.trim().to_lowercase().as_str() {
            "status" => self.status(draining),
            "drain" => {
                tracing::info!(%account, %from, "drains on command");
                self.shutdown.drain().cancel();
                self.status(true)
            }
            _ => "I understand: status, drain".to_owned(),
        };
        self.command(
            account,
            AccountCommand::Tell {
                to: from,
                text: answer,
            },
        );
    }

    /// The platform's lists: games are opened and counted before anything is accepted.
    fn reconciled(&mut self, account: &AccountName, snapshot: Snapshot) {
        tracing::debug!(
            %account,
            games = snapshot.games.len(),
            incoming = snapshot.incoming.len(),
            outgoing = snapshot.outgoing.len(),
            "reconciled"
        );
        for notice in snapshot.games {
            self.game_started(account, notice);
        }
        // A game that goes on is a new game to whoever waits for the end of a drain.
        if !self.shutdown.drain().is_cancelled() {
            for opponent in snapshot.adjourned {
                self.command(account, AccountCommand::Resume(opponent));
            }
        }
        self.tell_lobby(
            account,
            LobbyEvent::Reconciled {
                incoming: snapshot.incoming,
                outgoing: snapshot.outgoing,
                complete: snapshot.challenges_complete,
            },
        );
    }

    fn game_started(&mut self, account: &AccountName, notice: GameNotice) {
        if !notice.playable {
            tracing::warn!(%account, game = %notice.id, "a game that cannot be played here is on");
            return;
        }
        if !self.start_game(account, &notice.id, GameMemory::default()) {
            return;
        }
        self.tell_lobby(
            account,
            LobbyEvent::GameStarted {
                game: notice.id,
                challenge: notice.challenge,
                opponent: notice.opponent,
                source: notice.source,
            },
        );
    }

    /// Starts the task of a game, once. False if it runs already or is over.
    fn start_game(&mut self, account: &AccountName, game: &GameId, memory: GameMemory) -> bool {
        let key = (account.clone(), game.clone());
        if self.controls.contains_key(&key) || self.ended.contains(&key) {
            return false;
        }
        let Some(state) = self.accounts.get(account) else {
            return false;
        };
        let terms = SessionTerms {
            policy: self.policy.clone(),
            capabilities: state.capabilities.game,
            engine: self.engine.clone(),
            memory,
        };
        let (control, orders) = mpsc::channel(CONTROL_QUEUE);
        let number = self.next_number;
        self.next_number += 1;
        let task = play(state.shared.clone(), game.clone(), number, terms, orders);
        let handle = self.games.spawn(task);
        self.running.insert(handle.id(), key.clone());
        self.controls.insert(key, control);
        true
    }

    fn unwanted(&mut self, account: AccountName, game: GameId, reason: String) {
        if let Some(control) = self.controls.get(&(account, game))
            && control.try_send(GameControl::Unwanted(reason)).is_err()
        {
            tracing::debug!("the game is over already");
        }
    }

    async fn game_joined(&mut self, joined: Result<(Id, GameOutcome), JoinError>) {
        let (key, end) = match joined {
            Ok((id, outcome)) => {
                self.running.remove(&id);
                ((outcome.account, outcome.game), outcome.end)
            }
            Err(error) => {
                let Some(key) = self.running.remove(&error.id()) else {
                    return;
                };
                return self.game_panicked(key, &error).await;
            }
        };
        self.game_over(key, end).await;
    }

    async fn game_over(&mut self, key: GameKey, end: Option<GameEnd>) {
        self.controls.remove(&key);
        self.panics.remove(&key);
        let (account, game) = &key;
        let stopped = self.accounts.get(account).is_none_or(|state| state.stopped);
        let ending = self.shutdown.abort().is_cancelled();
        if end.is_none() && !stopped && !ending {
            // The link closed without an end although the account is well: the platform does not know the game.
            self.journal.settle(account, game).await;
        }
        let adjourned = end
            .as_ref()
            .is_some_and(|e| e.termination == Termination::Adjourned);
        let event = LobbyEvent::GameEnded(game.clone());
        let account = account.clone();
        self.tell_lobby(&account, event);
        if end.is_some() && !adjourned {
            self.ended.push_back(key);
            while self.ended.len() > ENDED_GAMES {
                self.ended.pop_front();
            }
        }
    }

    /// A panic is a bug. The game gets one fresh session; if that panics too, it is abandoned. All others go on.
    async fn game_panicked(&mut self, key: GameKey, error: &JoinError) {
        self.controls.remove(&key);
        if error.is_cancelled() {
            return;
        }
        self.stats.fault();
        let (account, game) = key.clone();
        tracing::error!(%account, %game, %error, "the game's task panicked");
        let count = self.panics.entry(key.clone()).or_default();
        *count += 1;
        match *count {
            1 => {
                let owed = self.journal.owed(&account, self.timeline.wall_ms()).await;
                let memory = owed.into_iter().find(|(id, _)| *id == game);
                let memory = memory.map(|(_, memory)| memory).unwrap_or_default();
                self.start_game(&account, &game, memory);
            }
            2 => {
                let Some(state) = self.accounts.get(&account) else {
                    return;
                };
                let task = abandon(state.shared.clone(), game);
                let handle = self.games.spawn(task);
                self.running.insert(handle.id(), key.clone());
                let (control, _) = mpsc::channel(1);
                self.controls.insert(key, control);
            }
            _ => self.game_over(key, None).await,
        }
    }

    fn part_joined(&mut self, joined: Result<(Id, PartEnd), JoinError>, draining: bool) {
        match joined {
            Ok((id, end)) => {
                self.part_names.remove(&id);
                self.part_ended(end, draining);
            }
            Err(error) => {
                let name = self.part_names.remove(&error.id()).unwrap_or_default();
                tracing::error!(part = %name, %error, "a part of the daemon died");
                self.stats.fault();
                self.report.died.push(name);
                self.shutdown.drain().cancel();
            }
        }
    }

    fn part_ended(&mut self, end: PartEnd, draining: bool) {
        match end {
            PartEnd::Client(account, ClientEnd::Asked) => {
                tracing::debug!(%account, "the client ended");
            }
            PartEnd::Client(account, ClientEnd::Stopped { words }) => {
                tracing::error!(%account, words = %words.escape_debug(), "the account is stopped");
                if let Some(state) = self.accounts.get_mut(&account) {
                    state.stopped = true;
                }
                self.tell_lobby(&account, LobbyEvent::Offline);
                self.report.stopped.push((account, words));
                if self.accounts.values().all(|state| state.stopped) {
                    self.shutdown.drain().cancel();
                }
            }
            PartEnd::Lobby if !draining => {
                tracing::error!("the lobby ended unasked");
                self.report.died.push("lobby".to_owned());
                self.shutdown.drain().cancel();
            }
            PartEnd::Lobby | PartEnd::Pump => {}
        }
    }

    /// Ends everything that still runs and joins it.
    async fn end(&mut self) {
        self.report.cut_off = self.games.len();
        let graceful = self.games.is_empty();
        self.lobby = None;
        self.shutdown.drain().cancel();
        // Dropping the commands ends the clients; what is queued in games' links leaves first.
        self.accounts.clear();
        if graceful {
            let parts = &mut self.parts;
            let last_words = async { while parts.join_next().await.is_some() {} };
            drop(tokio::time::timeout(LAST_WORDS, last_words).await);
        }
        self.shutdown.abort().cancel();
        let join_games = async { while self.games.join_next().await.is_some() {} };
        if tokio::time::timeout(END_PATIENCE, join_games)
            .await
            .is_err()
        {
            tracing::error!("a game's task does not end; it is cut off");
            self.games.shutdown().await;
        }
        let join_parts = async { while self.parts.join_next().await.is_some() {} };
        if tokio::time::timeout(END_PATIENCE, join_parts)
            .await
            .is_err()
        {
            tracing::warn!("a part of the daemon does not end; it is cut off");
            self.parts.shutdown().await;
        }
        while let Some(joined) = self.companions.join_next().await {
            if let Err(error) = joined {
                tracing::error!(%error, "a companion of the daemon died");
                self.report.died.push("companion".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests;
