//! What is fixed when a game starts: who, what, on which terms, and what its platform can do.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::rules::{CastlingMode, Color, Variant};

use super::time::TimeControl;

/// A game's name on its platform. Opaque; unique within one account's platform.
///
/// FICS reuses its game numbers, so its client builds an id from number, players and start time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GameId(String);

impl GameId {
    /// Wraps the platform's word.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The platform's word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for GameId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A player's name as the platform displays it; compared without regard to letter case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlayerName(String);

impl PlayerName {
    /// Wraps the displayed name, without titles.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as displayed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form that is compared and stored as a key.
    pub fn key(&self) -> String {
        self.0.to_lowercase()
    }
}

impl PartialEq for PlayerName {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for PlayerName {}

impl PartialOrd for PlayerName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PlayerName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl std::hash::Hash for PlayerName {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl std::fmt::Display for PlayerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What kind of player somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlayerKind {
    /// A registered person, as far as the platform knows.
    Human,
    /// A registered program: Lichess's title BOT, FICS's mark (C).
    Bot,
    /// Not registered: `Anon–…` of PyChess, the mark (U) of FICS, an anonymous Lichess player.
    Guest,
    /// The platform's own engine.
    ServerAi,
}

/// A rating on the platform's own scale for this kind of game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rating {
    /// Points.
    pub points: i32,
    /// True while the platform calls it provisional or estimated.
    pub provisional: bool,
}

/// One side of a game or challenge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Player {
    /// Displayed name; for the platform's engine a text like `Stockfish level 3`.
    pub name: PlayerName,
    /// Human, bot, guest.
    pub kind: PlayerKind,
    /// Absent for guests and wherever the platform does not tell.
    pub rating: Option<Rating>,
}

/// Special terms of a game. All false unless the platform says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GameRules {
    /// The game cannot be aborted.
    pub no_abort: bool,
    /// A win cannot be claimed from a player who left.
    pub no_claim_win: bool,
    /// Draw offers before move 30 have no effect.
    pub no_early_draw: bool,
    /// Time cannot be given.
    pub no_give_time: bool,
    /// No rematch afterwards.
    pub no_rematch: bool,
    /// FICS `noescape`: a lost connection loses the game.
    pub no_escape: bool,
}

/// How the game came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GameSource {
    /// A challenge, ours or theirs; on Lichess and PyChess the game has the challenge's id.
    Challenge,
    /// A rematch that started without a challenge of its own.
    Rematch,
    /// Paired by a tournament; never aborted by us.
    Tournament(String),
    /// Against the platform's engine.
    ServerAi,
    /// An adjourned game that goes on.
    Resumed,
    /// A seek of ours that somebody answered.
    Seek,
    /// Anything else the platform may invent.
    Other,
}

/// What is fixed from the start of a game, sent with every full state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameStart {
    /// The platform's name of the game.
    pub id: GameId,
    /// Rule set. The client does not open games of variants we do not know.
    #[serde(with = "super::words::variant")]
    pub variant: Variant,
    /// Chess960 rules and notation for castling, or the standard ones.
    #[serde(with = "super::words::castling_mode")]
    pub castling_mode: CastlingMode,
    /// The first position in the platform's FEN dialect; `None` is the variant's own start.
    pub initial_fen: Option<String>,
    /// Our side.
    #[serde(with = "super::words::color")]
    pub color: Color,
    /// Our own entry as the platform lists it.
    pub us: Player,
    /// Who sits opposite.
    pub opponent: Player,
    /// Agreement on time.
    pub time_control: TimeControl,
    /// Counts for rating. As the platform reports it, not as we asked for it.
    pub rated: bool,
    /// Special terms.
    pub rules: GameRules,
    /// How it came about.
    pub source: GameSource,
}

/// What a platform lets a player do inside a game. The client states it once, when it is built.
///
/// A command that a platform does not know never reaches the client: the session asks here first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameCapabilities {
    /// Draw offers can be sent, seen and answered.
    pub draw_offers: bool,
    /// A draw offer can ride on a move ([`super::PlayMove::offer_draw`]).
    pub draw_offer_with_move: bool,
    /// Takeback requests are seen and can be answered. (On PyChess they simply happen.)
    pub takeback_requests: bool,
    /// Moves are taken back without a word (PyChess): a shorter move list is believed at once. Elsewhere one that we did not
    /// agree to is checked against a fresh full state first.
    pub takebacks_unannounced: bool,
    /// A win or draw can be claimed from an opponent who left.
    pub claims_when_opponent_gone: bool,
    /// The client may call the opponent's flag (FICS without `autoflag`).
    pub flag_calls: bool,
    /// Requests to abort or adjourn are seen and can be answered (FICS).
    pub abort_and_adjourn_requests: bool,
    /// The game can be aborted by us alone while fewer plies than this were played.
    pub abort_before_ply: u32,
    /// No time runs before this many plies were played (2 on most servers: each first move is free).
    pub untimed_plies: u32,
    /// A move costs at least this much on the way; the measured figure is added on top.
    pub min_move_overhead: Duration,
    /// Characters in one chat line; 0 = no chat.
    pub chat_max_chars: usize,
    /// Least time between two chat lines of ours in one room.
    pub chat_gap: Duration,
    /// There is a separate room for spectators that the opponent does not read.
    pub spectator_chat: bool,
    /// Plies after which the platform ends a game as a draw; `None` = no cap.
    pub max_plies: Option<u32>,
}
