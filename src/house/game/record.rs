//! Games on their way to the disk and back.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::rules::{Adjudication, History};

use super::super::analysis::Analysis;
use super::super::clock::ServerClock;
use super::super::league::LeagueTag;
use super::super::status::Status;
use super::super::variant::HouseVariant;
use super::presence::Presence;
use super::{ChatLine, Game, Seat, Term, color_of_word, color_word, start_position};

/// What of a game is written to the disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GameRecord {
    /// Eight characters.
    pub id: String,
    /// The house's key of the variant.
    pub variant: String,
    /// Whether ratings are at stake.
    pub rated: bool,
    /// White and Black.
    pub seats: [Seat; 2],
    /// Clock.
    pub clock: ServerClock,
    /// When it was made, ms since 1970.
    pub created_ms: i64,
    /// When the last move was made, ms since 1970.
    pub last_move_ms: i64,
    /// Start position if it is not the variant's own.
    pub initial_fen: Option<String>,
    /// Special terms.
    pub terms: BTreeSet<Term>,
    /// State.
    pub status: Status,
    /// `white`, `black` or nobody.
    pub winner: Option<String>,
    /// Why it ended, in words.
    pub reason: Option<String>,
    /// When it ended, ms since 1970.
    pub ended_ms: Option<i64>,
    /// Chat.
    pub chat: Vec<ChatLine>,
    /// Moves in UCI, separated by spaces.
    pub moves: String,
    /// What the mover's clock showed after each move, in ms.
    pub clocks: Vec<i64>,
    /// What an engine thought of it afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
    /// The league that it was played for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub league: Option<LeagueTag>,
}

/// Why a record cannot be brought back to life.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// A variant that is not on offer (any more).
    #[error("game {id}: unknown variant `{variant}`")]
    Variant {
        /// The game.
        id: String,
        /// The key.
        variant: String,
    },
    /// The start position cannot be read.
    #[error("game {id}: start position `{fen}`: {reason}")]
    Start {
        /// The game.
        id: String,
        /// The position.
        fen: String,
        /// What is wrong.
        reason: String,
    },
    /// A move that the rules refuse.
    #[error("game {id}: move {number} `{uci}`: {reason}")]
    Move {
        /// The game.
        id: String,
        /// Which one, counted from 1.
        number: usize,
        /// The move.
        uci: String,
        /// What is wrong.
        reason: String,
    },
}

impl Game {
    /// What of the game is written to the disk.
    pub fn record(&self) -> GameRecord {
        GameRecord {
            id: self.id.clone(),
            variant: self.variant.key().to_owned(),
            rated: self.rated,
            seats: self.seats.clone(),
            clock: self.clock.clone(),
            created_ms: self.created_ms,
            last_move_ms: self.last_move_ms,
            initial_fen: self.initial_fen.clone(),
            terms: self.terms.clone(),
            status: self.status,
            winner: self.winner.map(|c| color_word(c).to_owned()),
            reason: self.reason.clone(),
            ended_ms: self.ended_ms,
            chat: self.chat.clone(),
            moves: self.moves.join(" "),
            clocks: self.clocks.clone(),
            analysis: self.analysis.as_deref().cloned(),
            league: self.league.clone(),
        }
    }

    /// Brings a game back.
    ///
    /// # Errors
    /// [`RestoreError`] if the record does not hold a game by the rules.
    pub fn restore(record: GameRecord, now_ms: i64) -> Result<Game, RestoreError> {
        let id = record.id.clone();
        let Some(variant) = HouseVariant::from_key(&record.variant) else {
            return Err(RestoreError::Variant {
                id,
                variant: record.variant,
            });
        };
        let start = start_position(variant, record.initial_fen.as_deref()).map_err(|error| {
            RestoreError::Start {
                id: id.clone(),
                fen: record.initial_fen.clone().unwrap_or_default(),
                reason: error,
            }
        })?;
        let mut history = History::new(start);
        let mut sans = Vec::new();
        for (number, uci) in (1..).zip(record.moves.split_whitespace()) {
            let parsed = history.position().parse_uci(uci);
            let played = parsed.map_err(|error| RestoreError::Move {
                id: id.clone(),
                number,
                uci: uci.to_owned(),
                reason: error.to_string(),
            })?;
            sans.push(history.position().san(played));
            history.play_unchecked(played);
        }
        // An analysis that does not fit the moves is worth nothing.
        let analysis = record
            .analysis
            .filter(|analysis| analysis.positions.len() == history.moves().len() + 1);
        Ok(Game {
            id,
            variant,
            rated: record.rated,
            seats: record.seats,
            clock: record.clock,
            created_ms: record.created_ms,
            last_move_ms: record.last_move_ms,
            initial_fen: record.initial_fen,
            terms: record.terms,
            status: record.status,
            winner: record.winner.as_deref().and_then(color_of_word),
            reason: record.reason,
            ended_ms: record.ended_ms,
            draw_offer: None,
            takeback_offer: None,
            chat: record.chat,
            moves: record.moves.split_whitespace().map(str::to_owned).collect(),
            clocks: record.clocks,
            sans,
            analysis: analysis.map(Arc::new),
            league: record.league,
            history,
            adjudication: Adjudication::SEED,
            offered_at: [None; 2],
            presence: [Presence::away(now_ms); 2],
        })
    }
}
