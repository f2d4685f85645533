//! What the root does about games: one task each, resumed after a restart, and a fresh session after a panic.

use tokio::sync::mpsc;
use tokio::task::{Id, JoinError};

use crate::game::{GameEnd, GameId, GameMemory, SessionTerms, Termination};
use crate::lobby::{AccountName, LobbyEvent};
use crate::platform::{AccountCommand, GameNotice, Snapshot};

use super::super::abandon::abandon;
use super::super::game_task::{GameControl, GameOutcome, play};
use super::root::{GameKey, Root};

/// Orders that may wait for a game.
const CONTROL_QUEUE: usize = 8;
/// Ended games remembered, so that a late notice of their start opens nothing.
const ENDED_GAMES: usize = 4_096;

impl Root {
    /// Games in which a move may be owed since an earlier run: opened before anything else happens.
    pub(super) async fn resume_owed(&mut self) {
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

    /// The platform's lists: games are opened and counted before anything is accepted.
    pub(super) fn reconciled(&mut self, account: &AccountName, snapshot: Snapshot) {
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

    pub(super) fn game_started(&mut self, account: &AccountName, notice: GameNotice) {
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

    pub(super) fn unwanted(&mut self, account: AccountName, game: GameId, reason: String) {
        if let Some(control) = self.controls.get(&(account, game))
            && control.try_send(GameControl::Unwanted(reason)).is_err()
        {
            tracing::debug!("the game is over already");
        }
    }

    pub(super) async fn game_joined(&mut self, joined: Result<(Id, GameOutcome), JoinError>) {
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
}
