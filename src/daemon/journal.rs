//! What must be on disk before it is acted on.
//!
//! A store that fails does not stop a game: the failure is logged, the daemon plays on and forgets more than it should
//! if it is killed meanwhile.

use std::time::Duration;

use crate::game::{GameEnd, GameId, GameMemory, GameResult, GameStart, PlayerKind, Termination};
use crate::lobby::{AccountName, MemoryChange};
use crate::store::games::StoredGame;
use crate::store::opponents::Score;
use crate::store::records::{Cooldown, DayBudget, OwedGame};
use crate::store::{Pending, Store, StoreError};

/// Longest wait for the disk; then the daemon goes on.
const PATIENCE: Duration = Duration::from_secs(2);
/// An owed game that was never heard of again is forgotten after this time.
const OWED_FOR: Duration = Duration::from_secs(21 * 86_400);

/// The daemon's side of the store.
#[derive(Debug, Clone)]
pub struct Journal {
    store: Store,
}

impl Journal {
    /// A journal on a store.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Notes that a move may be owed in a game, before the game is opened.
    pub async fn owe(&self, account: &AccountName, game: &GameId, memory: GameMemory, now_ms: i64) {
        let value = OwedGame {
            opponent: String::new(),
            ply: 0,
            since_ms: now_ms,
            extra: serde_json::to_value(memory).unwrap_or_default(),
        };
        let until_ms = now_ms.saturating_add(ms(OWED_FOR));
        let pending = self.store.put(
            account.as_str(),
            game.as_str(),
            &value,
            Some(until_ms),
            now_ms,
        );
        finish("note an owed game", pending).await;
    }

    /// The game's end was seen.
    pub async fn settle(&self, account: &AccountName, game: &GameId) {
        let pending = self
            .store
            .remove::<OwedGame>(account.as_str(), game.as_str());
        finish("forget an owed game", pending).await;
    }

    /// Games in which a move may be owed, as an earlier run left them.
    pub async fn owed(&self, account: &AccountName, now_ms: i64) -> Vec<(GameId, GameMemory)> {
        let pending = self.store.list::<OwedGame>(account.as_str(), now_ms);
        let records = finish("list owed games", pending).await.unwrap_or_default();
        let games = records.into_iter().map(|record| {
            let memory = serde_json::from_value(record.value.extra).unwrap_or_default();
            (GameId::new(record.key), memory)
        });
        games.collect()
    }

    /// Keeps what the lobby must not forget.
    pub async fn remember(&self, change: &MemoryChange, now_ms: i64) {
        let pending = match change {
            MemoryChange::Rest {
                account,
                key,
                until_ms,
                reason,
                strikes,
            } => {
                let value = Cooldown {
                    reason: reason.clone(),
                    strikes: *strikes,
                };
                self.store
                    .put(account.as_str(), key, &value, Some(*until_ms), now_ms)
            }
            MemoryChange::Used {
                account,
                key,
                since_ms,
                until_ms,
                used,
            } => {
                let value = DayBudget {
                    since_ms: *since_ms,
                    used: *used,
                };
                self.store
                    .put(account.as_str(), key, &value, Some(*until_ms), now_ms)
            }
        };
        finish("keep the lobby's memory", pending).await;
    }

    /// What earlier runs kept and what still holds.
    pub async fn recall(&self, now_ms: i64) -> Vec<MemoryChange> {
        let rests = finish("read rests", self.store.list_all::<Cooldown>(now_ms)).await;
        let used = finish("read budgets", self.store.list_all::<DayBudget>(now_ms)).await;
        let rests = rests.unwrap_or_default().into_iter().filter_map(|record| {
            Some(MemoryChange::Rest {
                account: AccountName::new(record.owner),
                key: record.key,
                until_ms: record.until_ms?,
                reason: record.value.reason,
                strikes: record.value.strikes,
            })
        });
        let used = used.unwrap_or_default().into_iter().filter_map(|record| {
            Some(MemoryChange::Used {
                account: AccountName::new(record.owner),
                key: record.key,
                since_ms: record.value.since_ms,
                until_ms: record.until_ms?,
                used: record.value.used,
            })
        });
        rests.chain(used).collect()
    }

    /// Keeps a game, running (`end` is `None`) or finished.
    pub async fn keep_game(&self, game: &KeptGame<'_>) {
        finish("keep a game", self.store.save_game(stored(game))).await;
        let Some(end) = game.end else { return };
        let opponent = &game.start.opponent;
        let title = (opponent.kind == PlayerKind::Bot).then_some("BOT");
        let met = self.store.met(
            game.platform,
            opponent.name.as_str(),
            title,
            opponent.rating.map(|rating| rating.points),
            score(game.start, end),
            game.now_ms,
        );
        finish("count a game", met).await;
    }

    /// Everything submitted so far is on disk when this returns.
    pub async fn flush(&self) {
        finish("flush", self.store.flush()).await;
    }
}

/// A game to be kept.
#[derive(Debug, Clone, Copy)]
pub struct KeptGame<'a> {
    /// The platform's word in the configuration.
    pub platform: &'a str,
    /// Our account.
    pub account: &'a AccountName,
    /// What is fixed.
    pub start: &'a GameStart,
    /// The moves in the platform's words.
    pub moves: &'a [String],
    /// How it ended.
    pub end: Option<&'a GameEnd>,
    /// When we first saw it, in milliseconds since 1970.
    pub started_ms: i64,
    /// Now.
    pub now_ms: i64,
}

fn stored(game: &KeptGame<'_>) -> StoredGame {
    let start = game.start;
    let winner = game.end.and_then(|end| match end.result {
        GameResult::Decisive { winner } => Some(crate::game::words::color::word(winner).to_owned()),
        GameResult::Draw | GameResult::NoResult | GameResult::Unknown => None,
    });
    StoredGame {
        platform: game.platform.to_owned(),
        account: game.account.to_string(),
        id: start.id.to_string(),
        variant: start.variant.uci_name().to_owned(),
        chess960: start.castling_mode == crate::rules::CastlingMode::Chess960,
        rated: start.rated,
        speed: format!("{:?}", start.time_control.speed()).to_lowercase(),
        clock: start.time_control.to_string(),
        color: crate::game::words::color::word(start.color).to_owned(),
        opponent: start.opponent.name.to_string(),
        opponent_title: (start.opponent.kind == PlayerKind::Bot).then(|| "BOT".to_owned()),
        opponent_rating: start.opponent.rating.map(|rating| rating.points),
        initial_fen: start.initial_fen.clone(),
        moves: game.moves.join(" "),
        status: game
            .end
            .map_or_else(|| "running".to_owned(), |end| end.words.clone()),
        winner,
        reason: game.end.map(|end| format!("{:?}", end.termination)),
        started_ms: game.started_ms,
        ended_ms: game.end.map(|_| game.now_ms),
        extra: "{}".to_owned(),
    }
}

fn score(start: &GameStart, end: &GameEnd) -> Score {
    match (end.result, end.termination) {
        (GameResult::Decisive { winner }, _) if winner == start.color => Score::Win,
        (GameResult::Decisive { .. }, _) => Score::Loss,
        (GameResult::Draw, _) => Score::Draw,
        (GameResult::NoResult | GameResult::Unknown, Termination::Aborted) => Score::Aborted,
        (GameResult::NoResult | GameResult::Unknown, _) => Score::Aborted,
    }
}

fn ms(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

async fn finish<T>(what: &str, pending: Pending<T>) -> Option<T> {
    match tokio::time::timeout(PATIENCE, pending).await {
        Ok(Ok(value)) => Some(value),
        Ok(Err(error)) => {
            report(what, &error);
            None
        }
        Err(_) => {
            tracing::error!(what, "the store does not answer in time");
            None
        }
    }
}

fn report(what: &str, error: &StoreError) {
    tracing::error!(what, %error, "the store failed; the daemon goes on without");
}
