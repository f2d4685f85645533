//! Whom our accounts have met, and how it went.

use rusqlite::{OptionalExtension, Row, params};

use super::{Pending, Store};

/// An opponent on one platform. Names compare case-blind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opponent {
    /// Name of the platform, as in the configuration.
    pub platform: String,
    /// Name as the platform writes it.
    pub name: String,
    /// Title, `BOT` for bots.
    pub title: Option<String>,
    /// Last rating seen.
    pub rating: Option<i32>,
    /// Games we won.
    pub wins: u32,
    /// Games drawn.
    pub draws: u32,
    /// Games we lost.
    pub losses: u32,
    /// Games that were aborted.
    pub aborted: u32,
    /// First game, ms since 1970.
    pub first_ms: i64,
    /// Last game, ms since 1970.
    pub last_ms: i64,
}

/// How a game went for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Score {
    /// We won.
    Win,
    /// Nobody won.
    Draw,
    /// We lost.
    Loss,
    /// The game did not count.
    Aborted,
}

impl Store {
    /// Counts one finished game against `name`.
    pub fn met(
        &self,
        platform: &str,
        name: &str,
        title: Option<&str>,
        rating: Option<i32>,
        score: Score,
        now_ms: i64,
    ) -> Pending<()> {
        let (platform, name) = (platform.to_owned(), name.to_owned());
        let title = title.map(str::to_owned);
        let one_if = |which| i64::from(score == which);
        let counts = [Score::Win, Score::Draw, Score::Loss, Score::Aborted].map(one_if);
        self.submit("count a game", move |c| {
            c.prepare_cached(
                "INSERT INTO opponents
                   (platform, name, title, rating, wins, draws, losses, aborted, first_ms, last_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)
                 ON CONFLICT (platform, name) DO UPDATE SET
                   name = ?2, title = ?3, rating = coalesce(?4, rating), wins = wins + ?5,
                   draws = draws + ?6, losses = losses + ?7, aborted = aborted + ?8, last_ms = ?9",
            )?
            .execute(params![
                platform, name, title, rating, counts[0], counts[1], counts[2], counts[3], now_ms
            ])?;
            Ok(())
        })
    }

    /// What is known of one opponent.
    pub fn opponent(&self, platform: &str, name: &str) -> Pending<Option<Opponent>> {
        let (platform, name) = (platform.to_owned(), name.to_owned());
        self.submit("read an opponent", move |c| {
            c.prepare_cached("SELECT * FROM opponents WHERE platform = ?1 AND name = ?2")?
                .query_row(params![platform, name], from_row)
                .optional()
        })
    }

    /// Opponents of one platform, most recently met first, at most `limit`.
    pub fn opponents(&self, platform: &str, limit: u32) -> Pending<Vec<Opponent>> {
        let platform = platform.to_owned();
        self.submit("list opponents", move |c| {
            c.prepare_cached(
                "SELECT * FROM opponents WHERE platform = ?1 ORDER BY last_ms DESC, name LIMIT ?2",
            )?
            .query_map(params![platform, limit], from_row)?
            .collect()
        })
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Opponent> {
    Ok(Opponent {
        platform: row.get("platform")?,
        name: row.get("name")?,
        title: row.get("title")?,
        rating: row.get("rating")?,
        wins: row.get("wins")?,
        draws: row.get("draws")?,
        losses: row.get("losses")?,
        aborted: row.get("aborted")?,
        first_ms: row.get("first_ms")?,
        last_ms: row.get("last_ms")?,
    })
}
