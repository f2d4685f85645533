//! What a house keeps: accounts, hashes of their tokens, games.
//!
//! Accounts and games are JSON texts whose shape belongs to the house; the store
//! knows only what it must search by.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Pending, Store};

/// An account of a house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HouseAccountRow {
    /// Lower-case name, the key.
    pub id: String,
    /// Everything else, as JSON text.
    pub data: String,
    /// When it was made, ms since 1970.
    pub created_ms: i64,
}

/// A token of an account. The token itself is never stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HouseTokenRow {
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// Id of the account.
    pub account: String,
    /// What the token allows, separated by commas.
    pub scopes: String,
    /// When it was made, ms since 1970.
    pub created_ms: i64,
}

/// A game of a house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HouseGameRow {
    /// Eight characters.
    pub id: String,
    /// Account id of White.
    pub white: String,
    /// Account id of Black.
    pub black: String,
    /// The house's key of the variant.
    pub variant: String,
    /// Whether it goes on.
    pub running: bool,
    /// Everything else, as JSON text.
    pub data: String,
    /// Start, ms since 1970.
    pub started_ms: i64,
    /// End, ms since 1970.
    pub ended_ms: Option<i64>,
}

/// Which games of a house to list; `None` matches everything.
#[derive(Debug, Clone, Default)]
pub struct HouseGameFilter {
    /// Account id that played either side.
    pub player: Option<String>,
    /// The house's key of the variant.
    pub variant: Option<String>,
    /// Whether only running (`true`) or only finished (`false`) games are wanted.
    pub running: Option<bool>,
    /// Started at or after, ms since 1970.
    pub since_ms: Option<i64>,
    /// Started at or before, ms since 1970.
    pub until_ms: Option<i64>,
}

impl Store {
    /// Writes an account, replacing the one of the same id.
    pub fn save_house_account(&self, account: HouseAccountRow) -> Pending<()> {
        self.submit("save a house account", move |c| {
            c.prepare_cached(
                "INSERT INTO house_accounts (id, data, created_ms) VALUES (?1, ?2, ?3)
                 ON CONFLICT (id) DO UPDATE SET data = ?2",
            )?
            .execute(params![account.id, account.data, account.created_ms])?;
            Ok(())
        })
    }

    /// All accounts, oldest first.
    pub fn house_accounts(&self) -> Pending<Vec<HouseAccountRow>> {
        self.submit("list house accounts", |c| {
            c.prepare_cached(
                "SELECT id, data, created_ms FROM house_accounts ORDER BY created_ms, id",
            )?
            .query_map([], |row| {
                Ok(HouseAccountRow {
                    id: row.get(0)?,
                    data: row.get(1)?,
                    created_ms: row.get(2)?,
                })
            })?
            .collect()
        })
    }

    /// Removes an account and its tokens; whether there was one.
    pub fn remove_house_account(&self, id: &str) -> Pending<bool> {
        let id = id.to_owned();
        self.submit("remove a house account", move |c| {
            Ok(c.execute("DELETE FROM house_accounts WHERE id = ?1", [id])? > 0)
        })
    }

    /// Writes the hash of a token.
    pub fn save_house_token(&self, token: HouseTokenRow) -> Pending<()> {
        self.submit("save a house token", move |c| {
            c.prepare_cached(
                "INSERT OR REPLACE INTO house_tokens (hash, account, scopes, created_ms)
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                token.hash,
                token.account,
                token.scopes,
                token.created_ms
            ])?;
            Ok(())
        })
    }

    /// All token hashes.
    pub fn house_tokens(&self) -> Pending<Vec<HouseTokenRow>> {
        self.submit("list house tokens", |c| {
            c.prepare_cached("SELECT hash, account, scopes, created_ms FROM house_tokens")?
                .query_map([], |row| {
                    Ok(HouseTokenRow {
                        hash: row.get(0)?,
                        account: row.get(1)?,
                        scopes: row.get(2)?,
                        created_ms: row.get(3)?,
                    })
                })?
                .collect()
        })
    }

    /// Removes all tokens of an account; how many there were.
    pub fn revoke_house_tokens(&self, account: &str) -> Pending<usize> {
        let account = account.to_owned();
        self.submit("revoke house tokens", move |c| {
            c.execute("DELETE FROM house_tokens WHERE account = ?1", [account])
        })
    }

    /// Writes games, each replacing what was known of it.
    pub fn save_house_games(&self, games: Vec<HouseGameRow>) -> Pending<()> {
        self.submit("save house games", move |c| {
            games.iter().try_for_each(|game| save_game(c, game))
        })
    }

    /// One game.
    pub fn house_game(&self, id: &str) -> Pending<Option<HouseGameRow>> {
        let id = id.to_owned();
        self.submit("read a house game", move |c| {
            c.prepare_cached(&format!("SELECT {GAME} FROM house_games WHERE id = ?1"))?
                .query_row([id], game_from_row)
                .optional()
        })
    }

    /// Games, latest start first, at most `limit`.
    pub fn house_games(&self, filter: HouseGameFilter, limit: u32) -> Pending<Vec<HouseGameRow>> {
        self.submit("list house games", move |c| {
            c.prepare_cached(&format!(
                "SELECT {GAME} FROM house_games
                 WHERE (?1 IS NULL OR white = ?1 OR black = ?1)
                   AND (?2 IS NULL OR variant = ?2)
                   AND (?3 IS NULL OR running = ?3)
                   AND (?4 IS NULL OR started_ms >= ?4)
                   AND (?5 IS NULL OR started_ms <= ?5)
                 ORDER BY started_ms DESC, id LIMIT ?6"
            ))?
            .query_map(
                params![
                    filter.player,
                    filter.variant,
                    filter.running,
                    filter.since_ms,
                    filter.until_ms,
                    limit
                ],
                game_from_row,
            )?
            .collect()
        })
    }
}

const GAME: &str = "id, white, black, variant, running, data, started_ms, ended_ms";

fn save_game(connection: &Connection, game: &HouseGameRow) -> rusqlite::Result<()> {
    connection
        .prepare_cached(&format!(
            "INSERT OR REPLACE INTO house_games ({GAME}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        ))?
        .execute(params![
            game.id,
            game.white,
            game.black,
            game.variant,
            game.running,
            game.data,
            game.started_ms,
            game.ended_ms
        ])?;
    Ok(())
}

fn game_from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<HouseGameRow> {
    Ok(HouseGameRow {
        id: row.get(0)?,
        white: row.get(1)?,
        black: row.get(2)?,
        variant: row.get(3)?,
        running: row.get(4)?,
        data: row.get(5)?,
        started_ms: row.get(6)?,
        ended_ms: row.get(7)?,
    })
}
