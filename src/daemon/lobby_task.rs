//! The task of the lobby: the only one that accepts, declines and challenges.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::game::GameId;
use crate::lobby::slots::Holder;
use crate::lobby::{AccountName, Lobby, LobbyAction, LobbyEvent};
use crate::platform::AccountCommand;

use super::journal::Journal;
use super::timeline::Timeline;

/// The lobby shows a sign of life at least this often.
const PULSE: Duration = Duration::from_secs(5);
/// How long a client may take to take a command.
const SEND_PATIENCE: Duration = Duration::from_secs(2);

/// When the lobby was last seen at work, in seconds of the time line.
#[derive(Debug, Clone, Default)]
pub(super) struct Pulse {
    seconds: Arc<AtomicU64>,
}

impl Pulse {
    fn beat(&self, timeline: &Timeline) {
        let seconds = timeline.now().since_start().as_secs();
        self.seconds.store(seconds, Ordering::Relaxed);
    }

    /// Time since the last beat.
    pub(super) fn age(&self, timeline: &Timeline) -> Duration {
        let now = timeline.now().since_start().as_secs();
        Duration::from_secs(now.saturating_sub(self.seconds.load(Ordering::Relaxed)))
    }
}

/// What the lobby works with.
pub(super) struct LobbyParts {
    pub(super) lobby: Lobby,
    pub(super) events: mpsc::Receiver<(AccountName, LobbyEvent)>,
    pub(super) commands: BTreeMap<AccountName, mpsc::Sender<AccountCommand>>,
    /// Games that should not have started.
    pub(super) unwanted: mpsc::Sender<(AccountName, GameId, String)>,
    /// Who waits for a game.
    pub(super) waiting: watch::Sender<Vec<String>>,
    /// Games that were promised and have not started yet.
    pub(super) promised: watch::Sender<usize>,
    pub(super) journal: Journal,
    pub(super) timeline: Timeline,
    pub(super) pulse: Pulse,
    pub(super) drain: CancellationToken,
    pub(super) abort: CancellationToken,
}

/// Runs the lobby until everything ends or nobody tells it anything any more.
pub(super) async fn run(mut parts: LobbyParts) {
    let recalled = parts.journal.recall(parts.timeline.wall_ms()).await;
    parts.lobby.recall(recalled);
    let mut draining = false;
    loop {
        parts.pulse.beat(&parts.timeline);
        let now = parts.timeline.both();
        let pulse = Instant::now() + PULSE;
        let due = parts
            .lobby
            .next_deadline(now)
            .map_or(pulse, |moment| parts.timeline.instant(moment).min(pulse));
        let actions = tokio::select! {
            biased;
            () = parts.abort.cancelled() => return,
            () = parts.drain.cancelled(), if !draining => {
                draining = true;
                parts.lobby.drain(parts.timeline.both())
            }
            event = parts.events.recv() => match event {
                Some((account, event)) => {
                    parts.lobby.step(&account, event, parts.timeline.both())
                }
                None => return,
            },
            () = tokio::time::sleep_until(due) => parts.lobby.tick(parts.timeline.both()),
        };
        for (account, action) in actions {
            parts.act(&account, action).await;
        }
        parts.promised.send_replace(parts.promises());
    }
}

impl LobbyParts {
    fn promises(&self) -> usize {
        let leases = self.lobby.slots().leases().iter();
        leases
            .filter(|lease| !matches!(lease.holder, Holder::Game(_)))
            .count()
    }

    async fn act(&mut self, account: &AccountName, action: LobbyAction) {
        match action {
            LobbyAction::Remember(change) => {
                let now_ms = self.timeline.wall_ms();
                self.journal.remember(&change, now_ms).await;
            }
            LobbyAction::Accept(id) => self.send(account, AccountCommand::Accept(id)).await,
            LobbyAction::Decline(id, reason) => {
                self.send(account, AccountCommand::Decline { id, reason })
                    .await;
            }
            LobbyAction::Cancel(id) => self.send(account, AccountCommand::Cancel(id)).await,
            LobbyAction::Create(request) => {
                self.send(account, AccountCommand::Create(request)).await;
            }
            LobbyAction::ListBots => self.send(account, AccountCommand::ListBots).await,
            LobbyAction::Unwanted(game, reason) => {
                let told = self.unwanted.send((account.clone(), game, reason)).await;
                if told.is_err() {
                    tracing::debug!("the root is gone; so are the games");
                }
            }
            LobbyAction::Note(decision) => tracing::info!(
                %account,
                rule = %decision.rule,
                verdict = %decision.verdict,
                reason = %decision.reason,
                "decided"
            ),
            LobbyAction::Queue(names) => {
                self.waiting.send_replace(names);
            }
        }
    }

    async fn send(&self, account: &AccountName, command: AccountCommand) {
        let Some(commands) = self.commands.get(account) else {
            return;
        };
        if let Err(error) = commands.send_timeout(command, SEND_PATIENCE).await {
            tracing::warn!(%account, %error, "the client takes no commands");
        }
    }
}
