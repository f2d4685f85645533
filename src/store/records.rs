//! Small keyed records with an expiry: what the daemon must not forget between two starts.
//!
//! A kind of record is a type with [`Keyed`]. A record has an owner (an account's
//! name, a platform's origin) and a key (a game, an opponent, a budget); its value
//! is stored as JSON, so that a field can be added without a migration (give it
//! `#[serde(default)]`). Modules with needs of their own implement [`Keyed`] for
//! their own type; the common kinds are here.
//!
//! ```
//! use seneschal::store::records::Cooldown;
//! use seneschal::store::{Store, StoreOptions};
//!
//! let store = Store::in_memory(&StoreOptions::default())?;
//! let value = Cooldown { reason: "declined twice".to_owned(), strikes: 2 };
//! store.put("my_bot", "some_opponent", &value, Some(60_000), 0).wait()?;
//! assert_eq!(store.list::<Cooldown>("my_bot", 59_999).wait()?.len(), 1);
//! assert_eq!(store.list::<Cooldown>("my_bot", 60_000).wait()?.len(), 0);
//! # Ok::<(), seneschal::store::StoreError>(())
//! ```

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Pending, Store, StoreError, pending};

/// A kind of record.
pub trait Keyed: Serialize + DeserializeOwned + Send + 'static {
    /// Name of the kind in the database. Never changed once released.
    const SPACE: &'static str;
}

/// A record as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<T> {
    /// Account, origin or whatever the record belongs to.
    pub owner: String,
    /// Game, opponent or budget the record is about.
    pub key: String,
    /// The value.
    pub value: T,
    /// From this time on (ms since 1970) the record counts as gone; `None` for never.
    pub until_ms: Option<i64>,
    /// When it was last written (ms since 1970).
    pub updated_ms: i64,
}

/// A running game in which a move may be owed. Owner: account. Key: the platform's game id.
///
/// Written before the game is opened, removed after its end was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwedGame {
    /// Opponent's name as the platform writes it.
    pub opponent: String,
    /// Plies the platform had shown when this was written.
    pub ply: u32,
    /// When the game was first seen, ms since 1970.
    pub since_ms: i64,
    /// What else its writer wants back.
    #[serde(default)]
    pub extra: serde_json::Value,
}

/// Leave somebody or something alone until the record's expiry. Owner: account. Key: opponent, profile or class of requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cooldown {
    /// Why, in words for the log and `seneschal why`.
    pub reason: String,
    /// How often in a row, for growing pauses.
    pub strikes: u32,
}

/// Requests or games counted in a window that the platform limits. Owner: account or origin.
/// Key: the budget's name. The expiry is the window's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayBudget {
    /// First counted use, ms since 1970.
    pub since_ms: i64,
    /// Uses counted since then.
    pub used: u32,
}

/// What an opponent refused. Owner: account. Key: opponent, with variant and speed where it matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclineMemory {
    /// The platform's reason, in neutral words.
    pub reason: String,
    /// How often this was the answer.
    pub count: u32,
    /// Last time, ms since 1970.
    pub last_ms: i64,
}

/// Takebacks granted. Owner: account. Key: game or opponent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakebackCount {
    /// How many were granted.
    pub granted: u32,
}

/// State of a request governor, opaque to the store. Owner: origin. Key: lane or `""`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GovernorState(pub serde_json::Value);

impl Keyed for OwedGame {
    const SPACE: &'static str = "owed-game";
}
impl Keyed for Cooldown {
    const SPACE: &'static str = "cooldown";
}
impl Keyed for DayBudget {
    const SPACE: &'static str = "day-budget";
}
impl Keyed for DeclineMemory {
    const SPACE: &'static str = "decline";
}
impl Keyed for TakebackCount {
    const SPACE: &'static str = "takeback";
}
impl Keyed for GovernorState {
    const SPACE: &'static str = "governor";
}

impl Store {
    /// Writes a record, replacing the one with the same owner and key.
    pub fn put<T: Keyed>(
        &self,
        owner: &str,
        key: &str,
        value: &T,
        until_ms: Option<i64>,
        now_ms: i64,
    ) -> Pending<()> {
        let what = "write a record";
        let json = match serde_json::to_string(value) {
            Ok(json) => json,
            Err(source) => return pending::failed(StoreError::Encode { what, source }),
        };
        let (owner, key) = (owner.to_owned(), key.to_owned());
        self.submit(what, move |c| {
            write(c, T::SPACE, &owner, &key, &json, until_ms, now_ms)
        })
    }

    /// Reads one record. An expired one is `None`.
    pub fn get<T: Keyed>(&self, owner: &str, key: &str, now_ms: i64) -> Pending<Option<Record<T>>> {
        let (owner, key) = (owner.to_owned(), key.to_owned());
        self.submit("read a record", move |c| read(c, &owner, &key, now_ms))
    }

    /// All records of one owner that have not expired, by key.
    pub fn list<T: Keyed>(&self, owner: &str, now_ms: i64) -> Pending<Vec<Record<T>>> {
        let owner = owner.to_owned();
        self.submit("list records", move |c| {
            c.prepare_cached(
                "SELECT owner, key, value, until_ms, updated_ms FROM records
                 WHERE space = ?1 AND owner = ?2 AND (until_ms IS NULL OR until_ms > ?3)
                 ORDER BY key",
            )?
            .query_map(params![T::SPACE, owner, now_ms], from_row)?
            .collect()
        })
    }

    /// All records of this kind that have not expired, of every owner.
    pub fn list_all<T: Keyed>(&self, now_ms: i64) -> Pending<Vec<Record<T>>> {
        self.submit("list records", move |c| {
            c.prepare_cached(
                "SELECT owner, key, value, until_ms, updated_ms FROM records
                 WHERE space = ?1 AND (until_ms IS NULL OR until_ms > ?2)
                 ORDER BY owner, key",
            )?
            .query_map(params![T::SPACE, now_ms], from_row)?
            .collect()
        })
    }

    /// Reads, changes and writes one record as one step; the result is what was written.
    ///
    /// `change` sees `None` for a missing or expired record, and answers with the new
    /// value and expiry, or `None` to remove the record. It runs on the store's thread.
    pub fn update<T, F>(
        &self,
        owner: &str,
        key: &str,
        now_ms: i64,
        change: F,
    ) -> Pending<Option<(T, Option<i64>)>>
    where
        T: Keyed,
        F: FnOnce(Option<Record<T>>) -> Option<(T, Option<i64>)> + Send + 'static,
    {
        let (owner, key) = (owner.to_owned(), key.to_owned());
        self.submit("update a record", move |c| {
            let changed = change(read(c, &owner, &key, now_ms)?);
            match &changed {
                Some((value, until_ms)) => {
                    let json = serde_json::to_string(value)
                        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                    write(c, T::SPACE, &owner, &key, &json, *until_ms, now_ms)?;
                }
                None => erase(c, T::SPACE, &owner, &key)?,
            }
            Ok(changed)
        })
    }

    /// Removes a record; removing what is not there is no error.
    pub fn remove<T: Keyed>(&self, owner: &str, key: &str) -> Pending<()> {
        let (owner, key) = (owner.to_owned(), key.to_owned());
        self.submit("remove a record", move |c| erase(c, T::SPACE, &owner, &key))
    }

    /// Removes every expired record of every kind; the result is how many.
    pub fn purge_expired(&self, now_ms: i64) -> Pending<usize> {
        self.submit("purge records", move |c| {
            c.execute("DELETE FROM records WHERE until_ms <= ?1", [now_ms])
        })
    }
}

fn write(
    connection: &Connection,
    space: &str,
    owner: &str,
    key: &str,
    json: &str,
    until_ms: Option<i64>,
    now_ms: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO records (space, owner, key, value, until_ms, updated_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (space, owner, key) DO UPDATE
             SET value = ?4, until_ms = ?5, updated_ms = ?6",
        )?
        .execute(params![space, owner, key, json, until_ms, now_ms])?;
    Ok(())
}

fn read<T: Keyed>(
    connection: &Connection,
    owner: &str,
    key: &str,
    now_ms: i64,
) -> rusqlite::Result<Option<Record<T>>> {
    connection
        .prepare_cached(
            "SELECT owner, key, value, until_ms, updated_ms FROM records
             WHERE space = ?1 AND owner = ?2 AND key = ?3
               AND (until_ms IS NULL OR until_ms > ?4)",
        )?
        .query_row(params![T::SPACE, owner, key, now_ms], from_row)
        .optional()
}

fn erase(connection: &Connection, space: &str, owner: &str, key: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM records WHERE space = ?1 AND owner = ?2 AND key = ?3")?
        .execute(params![space, owner, key])?;
    Ok(())
}

fn from_row<T: Keyed>(row: &Row<'_>) -> rusqlite::Result<Record<T>> {
    let json: String = row.get(2)?;
    let value = serde_json::from_str(&json)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(2, Type::Text, error.into()))?;
    Ok(Record {
        owner: row.get(0)?,
        key: row.get(1)?,
        value,
        until_ms: row.get(3)?,
        updated_ms: row.get(4)?,
    })
}
