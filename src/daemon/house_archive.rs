//! The house's archive in the store: the one place that knows both.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::house::account::{Account, Scopes, TokenHash};
use crate::house::archive::{Archive, ArchiveError, ArchiveFuture, GameQuery, TokenRecord};
use crate::house::game::GameRecord;
use crate::rules::Color;
use crate::store::house::{HouseAccountRow, HouseGameFilter, HouseGameRow, HouseTokenRow};
use crate::store::{Pending, Store};

/// Keeps a house's accounts and games in a [`Store`].
#[derive(Debug, Clone)]
pub struct StoreArchive {
    store: Store,
    /// The last data version seen; 0 before the first look.
    seen: Arc<AtomicI64>,
}

impl StoreArchive {
    /// An archive in this store.
    pub fn new(store: Store) -> StoreArchive {
        StoreArchive {
            store,
            seen: Arc::new(AtomicI64::new(0)),
        }
    }
}

fn failed(what: &'static str) -> impl Fn(&dyn std::fmt::Display) -> ArchiveError {
    move |error| ArchiveError {
        what,
        reason: error.to_string(),
    }
}

/// Waits for the store and reads what it answers.
fn answer<R, T>(
    what: &'static str,
    pending: Pending<R>,
    read: impl FnOnce(R) -> Result<T, serde_json::Error> + Send + 'static,
) -> ArchiveFuture<T>
where
    R: Send + 'static,
    T: Send + 'static,
{
    let failed = failed(what);
    Box::pin(async move {
        let row = pending.await.map_err(|error| failed(&error))?;
        read(row).map_err(|error| failed(&error))
    })
}

fn refuse<T: Send + 'static>(what: &'static str, error: &serde_json::Error) -> ArchiveFuture<T> {
    let error = failed(what)(error);
    Box::pin(std::future::ready(Err(error)))
}

fn game_row(game: &GameRecord) -> Result<HouseGameRow, serde_json::Error> {
    Ok(HouseGameRow {
        id: game.id.clone(),
        white: game.seats[Color::White.index()].account.clone(),
        black: game.seats[Color::Black.index()].account.clone(),
        variant: game.variant.clone(),
        running: game.ended_ms.is_none(),
        data: serde_json::to_string(game)?,
        started_ms: game.created_ms,
        ended_ms: game.ended_ms,
    })
}

impl Archive for StoreArchive {
    fn accounts(&self) -> ArchiveFuture<Vec<Account>> {
        answer("read accounts", self.store.house_accounts(), |rows| {
            rows.iter()
                .map(|row| serde_json::from_str(&row.data))
                .collect()
        })
    }

    fn tokens(&self) -> ArchiveFuture<Vec<TokenRecord>> {
        answer("read tokens", self.store.house_tokens(), |rows| {
            let record = |row: HouseTokenRow| TokenRecord {
                hash: TokenHash(row.hash),
                account: row.account,
                scopes: Scopes::parse(&row.scopes),
            };
            Ok(rows.into_iter().map(record).collect())
        })
    }

    fn save_account(&self, account: Account) -> ArchiveFuture<()> {
        let what = "keep an account";
        match serde_json::to_string(&account) {
            Err(error) => refuse(what, &error),
            Ok(data) => {
                let row = HouseAccountRow {
                    id: account.id(),
                    data,
                    created_ms: account.created_ms,
                };
                answer(what, self.store.save_house_account(row), Ok)
            }
        }
    }

    fn save_token(&self, token: TokenRecord, now_ms: i64) -> ArchiveFuture<()> {
        let row = HouseTokenRow {
            hash: token.hash.0,
            account: token.account,
            scopes: token.scopes.to_string(),
            created_ms: now_ms,
        };
        answer("keep a token", self.store.save_house_token(row), Ok)
    }

    fn save_games(&self, games: Vec<GameRecord>) -> ArchiveFuture<()> {
        let what = "keep games";
        let rows: Result<Vec<HouseGameRow>, _> = games.iter().map(game_row).collect();
        match rows {
            Err(error) => refuse(what, &error),
            Ok(rows) => answer(what, self.store.save_house_games(rows), Ok),
        }
    }

    fn game(&self, id: &str) -> ArchiveFuture<Option<GameRecord>> {
        answer("read a game", self.store.house_game(id), |row| {
            row.map(|row| serde_json::from_str(&row.data)).transpose()
        })
    }

    fn games(&self, query: GameQuery) -> ArchiveFuture<Vec<GameRecord>> {
        let filter = HouseGameFilter {
            player: query.player,
            variant: query.variant,
            running: query.running,
            since_ms: query.since_ms,
            until_ms: query.until_ms,
        };
        let pending = self.store.house_games(filter, query.limit);
        answer("list games", pending, |rows| {
            rows.iter()
                .map(|row| serde_json::from_str(&row.data))
                .collect()
        })
    }

    fn changed_elsewhere(&self) -> ArchiveFuture<bool> {
        let seen = Arc::clone(&self.seen);
        answer(
            "look for changes",
            self.store.foreign_version(),
            move |version| {
                let before = seen.swap(version, Ordering::AcqRel);
                Ok(before != 0 && before != version)
            },
        )
    }
}
