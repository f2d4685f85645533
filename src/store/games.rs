//! Games as the daemon saw them, running and finished.

use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::{Pending, Store};

/// One game of one of our accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredGame {
    /// Name of the platform, as in the configuration.
    pub platform: String,
    /// Our account.
    pub account: String,
    /// The platform's id of the game.
    pub id: String,
    /// Variant by its UCI name (`crazyhouse`, `3check`, ...).
    pub variant: String,
    /// Whether castling is written the Chess960 way.
    pub chess960: bool,
    /// Whether ratings were at stake.
    pub rated: bool,
    /// Speed by its lower-case name.
    pub speed: String,
    /// Time control in words, as `3+2`.
    pub clock: String,
    /// Our colour, `white` or `black`.
    pub color: String,
    /// Opponent's name; empty for nobody in particular.
    pub opponent: String,
    /// Opponent's title, `BOT` for bots.
    pub opponent_title: Option<String>,
    /// Opponent's rating when the game began.
    pub opponent_rating: Option<i32>,
    /// Start position; `None` for the variant's own.
    pub initial_fen: Option<String>,
    /// Moves in UCI, separated by spaces.
    pub moves: String,
    /// The platform's last status.
    pub status: String,
    /// `white`, `black` or `None`.
    pub winner: Option<String>,
    /// Why it ended, in our words.
    pub reason: Option<String>,
    /// Start, ms since 1970.
    pub started_ms: i64,
    /// End, ms since 1970; `None` while it runs.
    pub ended_ms: Option<i64>,
    /// Whatever else its writer wants back, as JSON text.
    pub extra: String,
}

/// Which finished and running games to list; `None` matches everything.
#[derive(Debug, Clone, Default)]
pub struct GameFilter {
    /// Platform, exact.
    pub platform: Option<String>,
    /// Our account, exact.
    pub account: Option<String>,
    /// Opponent, case-blind.
    pub opponent: Option<String>,
    /// Variant by its UCI name.
    pub variant: Option<String>,
    /// Started at or after, ms since 1970.
    pub since_ms: Option<i64>,
    /// Started before, ms since 1970.
    pub before_ms: Option<i64>,
    /// Whether only running (`true`) or only finished (`false`) games are wanted.
    pub running: Option<bool>,
}

const COLUMNS: &str = "platform, account, id, variant, chess960, rated, speed, clock, color, \
     opponent, opponent_title, opponent_rating, initial_fen, moves, status, winner, reason, \
     started_ms, ended_ms, extra";

impl Store {
    /// Writes a game, replacing what was known of it.
    pub fn save_game(&self, game: StoredGame) -> Pending<()> {
        self.submit("save a game", move |c| save(c, &game))
    }

    /// Reads one game.
    pub fn game(&self, platform: &str, account: &str, id: &str) -> Pending<Option<StoredGame>> {
        let key = [platform.to_owned(), account.to_owned(), id.to_owned()];
        self.submit("read a game", move |c| {
            c.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM games WHERE platform = ?1 AND account = ?2 AND id = ?3"
            ))?
            .query_row(params_from_iter(key), from_row)
            .optional()
        })
    }

    /// Lists games, latest start first, at most `limit`.
    pub fn games(&self, filter: GameFilter, limit: u32) -> Pending<Vec<StoredGame>> {
        self.submit("list games", move |c| list_games(c, &filter, limit))
    }
}

/// Lists games on a connection of the caller's own (see [`Store::reader`]).
///
/// # Errors
/// Whatever SQLite answers.
pub fn list_games(
    connection: &Connection,
    filter: &GameFilter,
    limit: u32,
) -> rusqlite::Result<Vec<StoredGame>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM games
             WHERE (?1 IS NULL OR platform = ?1)
               AND (?2 IS NULL OR account = ?2)
               AND (?3 IS NULL OR opponent = ?3 COLLATE NOCASE)
               AND (?4 IS NULL OR variant = ?4)
               AND (?5 IS NULL OR started_ms >= ?5)
               AND (?6 IS NULL OR started_ms < ?6)
               AND (?7 IS NULL OR (ended_ms IS NULL) = ?7)
             ORDER BY started_ms DESC, id LIMIT ?8"
        ))?
        .query_map(
            params![
                filter.platform,
                filter.account,
                filter.opponent,
                filter.variant,
                filter.since_ms,
                filter.before_ms,
                filter.running,
                limit
            ],
            from_row,
        )?
        .collect()
}

fn save(connection: &Connection, game: &StoredGame) -> rusqlite::Result<()> {
    connection
        .prepare_cached(&format!(
            "INSERT OR REPLACE INTO games ({COLUMNS}) VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)"
        ))?
        .execute(params![
            game.platform,
            game.account,
            game.id,
            game.variant,
            game.chess960,
            game.rated,
            game.speed,
            game.clock,
            game.color,
            game.opponent,
            game.opponent_title,
            game.opponent_rating,
            game.initial_fen,
            game.moves,
            game.status,
            game.winner,
            game.reason,
            game.started_ms,
            game.ended_ms,
            game.extra,
        ])?;
    Ok(())
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredGame> {
    Ok(StoredGame {
        platform: row.get(0)?,
        account: row.get(1)?,
        id: row.get(2)?,
        variant: row.get(3)?,
        chess960: row.get(4)?,
        rated: row.get(5)?,
        speed: row.get(6)?,
        clock: row.get(7)?,
        color: row.get(8)?,
        opponent: row.get(9)?,
        opponent_title: row.get(10)?,
        opponent_rating: row.get(11)?,
        initial_fen: row.get(12)?,
        moves: row.get(13)?,
        status: row.get(14)?,
        winner: row.get(15)?,
        reason: row.get(16)?,
        started_ms: row.get(17)?,
        ended_ms: row.get(18)?,
        extra: row.get(19)?,
    })
}
