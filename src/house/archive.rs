//! Where a house keeps what it must not lose. The house says what; who runs it brings the place.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::account::{Account, Scopes, TokenHash};
use super::game::GameRecord;

/// Why the archive did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the archive failed to {what}: {reason}")]
pub struct ArchiveError {
    /// What was asked of it.
    pub what: &'static str,
    /// What it said.
    pub reason: String,
}

/// An answer of the archive that is on its way.
pub type ArchiveFuture<T> = Pin<Box<dyn Future<Output = Result<T, ArchiveError>> + Send>>;

/// A token as it is kept: by its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// SHA-256 of the token.
    pub hash: TokenHash,
    /// Id of the account.
    pub account: String,
    /// What it allows.
    pub scopes: Scopes,
}

/// Which finished games to list, latest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GameQuery {
    /// Account id that played either side.
    pub player: Option<String>,
    /// Key of the variant.
    pub variant: Option<String>,
    /// Whether only running (`true`) or only finished (`false`) games are wanted.
    pub running: Option<bool>,
    /// Started at or after, ms since 1970.
    pub since_ms: Option<i64>,
    /// Started at or before, ms since 1970.
    pub until_ms: Option<i64>,
    /// At most so many.
    pub limit: u32,
}

/// The place. Answers come when the thing is on the disk.
pub trait Archive: Send + Sync + std::fmt::Debug + 'static {
    /// All accounts.
    fn accounts(&self) -> ArchiveFuture<Vec<Account>>;
    /// All tokens.
    fn tokens(&self) -> ArchiveFuture<Vec<TokenRecord>>;
    /// Keeps an account, replacing the one of the same id.
    fn save_account(&self, account: Account) -> ArchiveFuture<()>;
    /// Keeps a token.
    fn save_token(&self, token: TokenRecord, now_ms: i64) -> ArchiveFuture<()>;
    /// Keeps games, each replacing what was known of it.
    fn save_games(&self, games: Vec<GameRecord>) -> ArchiveFuture<()>;
    /// One game.
    fn game(&self, id: &str) -> ArchiveFuture<Option<GameRecord>>;
    /// Games, latest first.
    fn games(&self, query: GameQuery) -> ArchiveFuture<Vec<GameRecord>>;
    /// Whether somebody else (another process) has written since the last call.
    fn changed_elsewhere(&self) -> ArchiveFuture<bool> {
        ready(false)
    }
}

/// An archive that forgets everything when the process ends.
#[derive(Debug, Default)]
pub struct MemoryArchive(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    accounts: HashMap<String, Account>,
    tokens: HashMap<TokenHash, TokenRecord>,
    games: HashMap<String, GameRecord>,
}

impl MemoryArchive {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Maps are whole between any two statements here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ready<T: Send + 'static>(value: T) -> ArchiveFuture<T> {
    Box::pin(std::future::ready(Ok(value)))
}

impl Archive for MemoryArchive {
    fn accounts(&self) -> ArchiveFuture<Vec<Account>> {
        ready(self.kept().accounts.values().cloned().collect())
    }

    fn tokens(&self) -> ArchiveFuture<Vec<TokenRecord>> {
        ready(self.kept().tokens.values().cloned().collect())
    }

    fn save_account(&self, account: Account) -> ArchiveFuture<()> {
        self.kept().accounts.insert(account.id(), account);
        ready(())
    }

    fn save_token(&self, token: TokenRecord, _now_ms: i64) -> ArchiveFuture<()> {
        self.kept().tokens.insert(token.hash, token);
        ready(())
    }

    fn save_games(&self, games: Vec<GameRecord>) -> ArchiveFuture<()> {
        let mut kept = self.kept();
        for game in games {
            kept.games.insert(game.id.clone(), game);
        }
        ready(())
    }

    fn game(&self, id: &str) -> ArchiveFuture<Option<GameRecord>> {
        ready(self.kept().games.get(id).cloned())
    }

    fn games(&self, query: GameQuery) -> ArchiveFuture<Vec<GameRecord>> {
        let wanted = |game: &&GameRecord| {
            let plays = |id: &String| game.seats.iter().any(|seat| seat.account == *id);
            query.player.as_ref().is_none_or(plays)
                && query.variant.as_ref().is_none_or(|v| game.variant == *v)
                && query.running.is_none_or(|r| r == game.ended_ms.is_none())
                && query.since_ms.is_none_or(|t| game.created_ms >= t)
                && query.until_ms.is_none_or(|t| game.created_ms <= t)
        };
        let mut found: Vec<GameRecord> =
            self.kept().games.values().filter(wanted).cloned().collect();
        found.sort_by(|a, b| b.created_ms.cmp(&a.created_ms).then(a.id.cmp(&b.id)));
        found.truncate(query.limit as usize);
        ready(found)
    }
}
