//! The root's loop: news of the accounts, parts that end, and the end of everything.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::game::{GameId, GamePolicy, PlayerName};
use crate::lobby::{AccountName, LobbyEvent};
use crate::observability::notify::ServiceManager;
use crate::platform::{
    AccountCommand, AccountEvent, Capabilities, ClientEnd, FAREWELL_MAX, LimitScope, Received,
};

use super::super::game_task::{GameControl, GameOutcome, GameShared, OpponentKnown};
use super::super::journal::Journal;
use super::super::lobby_task::Pulse;
use super::super::shutdown::Shutdown;
use super::super::stats::Stats;
use super::super::timeline::Timeline;
use super::{AccountSetup, Companion, RunReport};

/// After the abort everything has this long to end by itself; a client may use nearly all of it.
const END_PATIENCE: Duration = FAREWELL_MAX.saturating_add(Duration::from_secs(2));
/// Once the last game of a drain is over, its last words have this long to leave.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// A lobby without a sign of life for so long is hung: the service manager is told nothing more.
const LOBBY_HUNG: Duration = Duration::from_secs(60);

/// What an account tells the root.
pub(super) enum News {
    Event(Box<Received<AccountEvent>>),
    /// No more events will come.
    Closed,
}

/// How a part ended.
pub(super) enum PartEnd {
    Client(AccountName, ClientEnd),
    Pump,
    Lobby,
}

pub(super) struct AccountState {
    pub(super) shared: GameShared,
    pub(super) capabilities: Capabilities,
    pub(super) owners: Vec<PlayerName>,
    pub(super) stopped: bool,
}

pub(super) type GameKey = (AccountName, GameId);

pub(super) struct Root {
    pub(super) shutdown: Shutdown,
    pub(super) timeline: Timeline,
    pub(super) stats: Stats,
    pub(super) journal: Journal,
    pub(super) policy: GamePolicy,
    pub(super) engine: String,
    pub(super) accounts: BTreeMap<AccountName, AccountState>,
    pub(super) lobby: Option<mpsc::Sender<(AccountName, LobbyEvent)>>,
    pub(super) games: JoinSet<GameOutcome>,
    pub(super) running: HashMap<Id, GameKey>,
    pub(super) controls: HashMap<GameKey, mpsc::Sender<GameControl>>,
    pub(super) panics: HashMap<GameKey, u32>,
    pub(super) ended: VecDeque<GameKey>,
    pub(super) next_number: u64,
    pub(super) parts: JoinSet<PartEnd>,
    pub(super) companions: JoinSet<()>,
    pub(super) part_names: HashMap<Id, String>,
    pub(super) report: RunReport,
}

/// What the root listens to.
pub(super) struct Inbox {
    pub(super) news: mpsc::Receiver<(AccountName, News)>,
    pub(super) unwanted: mpsc::Receiver<(AccountName, GameId, String)>,
    pub(super) known: mpsc::Receiver<OpponentKnown>,
    pub(super) promised: watch::Receiver<usize>,
    pub(super) pulse: Pulse,
}

impl Root {
    /// A root that has nothing to do yet.
    pub(super) fn new(
        shutdown: Shutdown,
        journal: Journal,
        stats: Stats,
        policy: GamePolicy,
        engine: String,
    ) -> Root {
        Root {
            shutdown,
            timeline: Timeline::start(),
            stats,
            journal,
            policy,
            engine,
            accounts: BTreeMap::new(),
            lobby: None,
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
        }
    }

    /// Starts an account: its client, and the pump that carries its events here.
    pub(super) fn add_account(
        &mut self,
        account: AccountSetup,
        shared: GameShared,
        news: mpsc::Sender<(AccountName, News)>,
    ) {
        let name = account.name;
        let pump = pump(name.clone(), account.link.events, news);
        self.add_part(format!("events of account {name}"), pump);
        let (client, owner) = (account.client, name.clone());
        self.add_part(format!("client of account {name}"), async move {
            let end = client.await;
            PartEnd::Client(owner, end)
        });
        let state = AccountState {
            shared,
            capabilities: account.capabilities,
            owners: account.owners,
            stopped: false,
        };
        self.accounts.insert(name, state);
    }

    /// Starts what runs beside the accounts until everything is aborted.
    pub(super) fn add_companions(&mut self, companions: Vec<Companion>) {
        for (name, future) in companions {
            let abort = self.shutdown.abort().clone();
            self.companions.spawn(async move {
                if abort.run_until_cancelled(future).await.is_some() {
                    tracing::error!(part = name, "ended unasked");
                }
            });
        }
    }

    pub(super) fn add_part(
        &mut self,
        name: String,
        part: impl Future<Output = PartEnd> + Send + 'static,
    ) {
        let handle = self.parts.spawn(part);
        self.part_names.insert(handle.id(), name);
    }

    pub(super) async fn run(
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
    pub(super) fn summary(&self) {
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

    pub(super) fn tell_lobby(&mut self, account: &AccountName, event: LobbyEvent) {
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

    pub(super) fn command(&self, account: &AccountName, command: AccountCommand) {
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
    pub(super) fn told(&self, account: &AccountName, from: PlayerName, text: &str) {
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

    async fn join_parts(&mut self) {
        while let Some(joined) = self.parts.join_next_with_id().await {
            let id = joined.map_or_else(|error| error.id(), |(id, _)| id);
            self.part_names.remove(&id);
        }
    }

    /// Ends everything that still runs and joins it.
    pub(super) async fn end(&mut self) {
        self.report.cut_off = self.games.len();
        let graceful = self.games.is_empty();
        self.lobby = None;
        self.shutdown.drain().cancel();
        // Dropping the commands ends the clients; what is queued in games' links leaves first.
        self.accounts.clear();
        if graceful {
            drop(tokio::time::timeout(LAST_WORDS, self.join_parts()).await);
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
        if tokio::time::timeout(END_PATIENCE, self.join_parts())
            .await
            .is_err()
        {
            let mut names: Vec<String> = self.part_names.drain().map(|(_, name)| name).collect();
            names.sort_unstable();
            tracing::error!(parts = ?names, "parts of the daemon do not end; they are cut off");
            self.report.cut_off_parts = names;
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

/// Carries the events of an account to the root. Without a root the events end, which also lets a client go that is not logged
/// in yet and so takes no commands.
async fn pump(
    account: AccountName,
    mut events: mpsc::Receiver<Received<AccountEvent>>,
    news: mpsc::Sender<(AccountName, News)>,
) -> PartEnd {
    loop {
        let received = tokio::select! {
            biased;
            () = news.closed() => return PartEnd::Pump,
            received = events.recv() => received,
        };
        let Some(received) = received else { break };
        let item = (account.clone(), News::Event(Box::new(received)));
        if news.send(item).await.is_err() {
            return PartEnd::Pump;
        }
    }
    // The root may be gone already; then nobody needs to know.
    drop(news.send((account, News::Closed)).await);
    PartEnd::Pump
}
