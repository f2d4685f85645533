//! The root: owns every task, starts one task per game, ends everything in order.
//!
//! `root` is its loop with accounts, parts and the end; `games` is what it does about games.

mod games;
mod root;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::engine::Pool;
use crate::game::{GamePolicy, PlayerName};
use crate::lobby::{AccountName, AccountTerms, Lobby, LobbyPolicy, MatchmakingPolicy};
use crate::observability::notify::ServiceManager;
use crate::platform::{AccountLink, Capabilities, ClientEnd};
use crate::store::Store;

use self::root::{Inbox, PartEnd, Root};
use super::game_task::GameShared;
use super::journal::Journal;
use super::lobby_task::{self, LobbyParts, Pulse};
use super::overhead::Overhead;
use super::shutdown::Shutdown;
use super::stats::Stats;
use super::tapes::TapeDesk;

/// News of all accounts that may wait for the root.
const NEWS_QUEUE: usize = 1_024;
/// Events that may wait for the lobby.
const LOBBY_QUEUE: usize = 1_024;

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
    /// Parts that did not end by themselves in time: a bug that does no harm but makes the end slow.
    pub cut_off_parts: Vec<String>,
}

impl RunReport {
    /// Whether nothing died unasked.
    pub fn is_clean(&self) -> bool {
        self.stopped.is_empty() && self.died.is_empty()
    }
}

/// Runs the daemon until it is told to end, or until no account is left.
pub async fn run(daemon: Daemon, shutdown: Shutdown) -> RunReport {
    let service = ServiceManager;
    let journal = Journal::new(daemon.store.clone());
    let (news_tx, news) = mpsc::channel(NEWS_QUEUE);
    let (lobby_tx, lobby_events) = mpsc::channel(LOBBY_QUEUE);
    let (unwanted_tx, unwanted) = mpsc::channel(LOBBY_QUEUE);
    let (known_tx, known) = mpsc::channel(LOBBY_QUEUE);
    let (waiting_tx, waiting) = watch::channel(Vec::new());
    let (promised_tx, promised) = watch::channel(0);
    let pulse = Pulse::default();
    let mut root = Root::new(
        shutdown,
        journal.clone(),
        daemon.stats,
        daemon.game,
        daemon.engine,
    );
    root.lobby = Some(lobby_tx);
    let terms = daemon.accounts.iter().map(terms).collect();
    let lobby = Lobby::new(daemon.lobby, daemon.matchmaking, terms, daemon.seed);
    let mut commands = BTreeMap::new();
    for account in daemon.accounts {
        commands.insert(account.name.clone(), account.link.commands.clone());
        let shared = GameShared {
            account: account.name.clone(),
            platform: account.platform,
            commands: account.link.commands.clone(),
            pool: Arc::clone(&daemon.pool),
            journal: journal.clone(),
            tapes: daemon.tapes.clone(),
            overhead: Overhead::default(),
            stats: root.stats.clone(),
            timeline: root.timeline,
            waiting: waiting.clone(),
            news: known_tx.clone(),
            abort: root.shutdown.abort().clone(),
        };
        root.add_account(account, shared, news_tx.clone());
    }
    root.add_companions(daemon.companions);
    let parts = LobbyParts {
        lobby,
        events: lobby_events,
        commands,
        unwanted: unwanted_tx,
        waiting: waiting_tx,
        promised: promised_tx,
        journal: journal.clone(),
        timeline: root.timeline,
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

fn terms(account: &AccountSetup) -> AccountTerms {
    AccountTerms {
        name: account.name.clone(),
        capabilities: account.capabilities.lobby.clone(),
        max_games: account.max_games,
        matchmaking: account.matchmaking,
    }
}
