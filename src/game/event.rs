//! What happened in a game, in the past tense and without a platform's words.
//!
//! A client sends [`GameEvent::Full`] first after every (re)connection and [`GameEvent::State`] afterwards. Both carry the
//! whole state, never a difference: the session rebuilds from it, so gaps, repeats, takebacks and restarts are one case.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::rules::Color;

use super::command::{CommandFailure, CommandKind};
use super::facts::{GameStart, PlayerName};

/// One thing that happened in one game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GameEvent {
    /// The link to the platform is up and this is all there is to know. Sent first after every (re)connection
    /// and after [`super::GameCommand::Resync`].
    Full {
        /// What is fixed.
        start: Box<GameStart>,
        /// What changes.
        state: GameState,
    },
    /// The state changed, or was repeated.
    State(GameState),
    /// Somebody said something; our own lines come back as well.
    Chatted(ChatLine),
    /// The opponent left; the platform lets us claim after this time (zero: now). `None`: the platform does not say when.
    OpponentLeft {
        /// Time until a claim is allowed.
        claimable_in: Option<Duration>,
    },
    /// The opponent is back.
    OpponentReturned,
    /// The platform accepted a command. For a move this proves nothing (the next state does); it measures the way there.
    Accepted {
        /// Which command.
        command: CommandKind,
        /// From handing the request to the network until the answer.
        took: Duration,
    },
    /// A command did not succeed, or nobody knows. The client has already done its own retries by the time this is sent.
    Failed {
        /// Which command.
        command: CommandKind,
        /// What is known about it.
        failure: CommandFailure,
    },
    /// The platform shows the game, or its newest state, in a form that the client does not understand. Sent again when the answer
    /// to [`super::GameCommand::Resync`] is not understood either; a later full state may be good again.
    Unreadable {
        /// What is wrong with it.
        words: String,
    },
    /// The link to the platform broke; the client is reconnecting. The game goes on and the move stays owed.
    LinkLost,
    /// The game is over, said outside a state (a finish notice, an end line). May be repeated.
    Ended(GameEnd),
}

/// The whole changing state of a game as the platform reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameState {
    /// Where `moves` begin: `None` is the start named in [`GameStart`]; a FEN re-bases the game (FICS after a resume, when
    /// only the board is known). The FEN's move number and side keep plies absolute.
    pub base_fen: Option<String>,
    /// Every move since the base, in order, in the platform's own UCI words, unchecked (either castling form).
    pub moves: Vec<String>,
    /// Banks; `None` in games without a clock.
    pub clocks: Option<Clocks>,
    /// Open offers.
    pub offers: Offers,
    /// Running, or how it ended.
    pub status: Status,
    /// The platform ends the game unless the side to move moves within this time (arena starts).
    pub move_within: Option<Duration>,
}

/// Both banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// White's time left. Negative platform values are read as zero.
    pub white: Duration,
    /// Black's time left.
    pub black: Duration,
    /// When the banks were read.
    pub reading: ClockReading,
}

impl Clocks {
    /// Time left for one side.
    pub fn of(&self, color: Color) -> Duration {
        match color {
            Color::White => self.white,
            Color::Black => self.black,
        }
    }
}

/// When a platform reads the clocks it reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockReading {
    /// At the moment of sending: the side to move is already charged (Lichess, FICS).
    WhenSent,
    /// At the last move: the time since then is not in it (PyChess; matters after a reconnect).
    AtLastMove,
}

/// Open offers, by the side that made them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Offers {
    /// A draw.
    #[serde(with = "super::words::maybe_color", default)]
    pub draw: Option<Color>,
    /// A takeback.
    #[serde(with = "super::words::maybe_color", default)]
    pub takeback: Option<Color>,
    /// To abort by agreement (FICS).
    #[serde(with = "super::words::maybe_color", default)]
    pub abort: Option<Color>,
    /// To adjourn (FICS).
    #[serde(with = "super::words::maybe_color", default)]
    pub adjourn: Option<Color>,
}

/// Whether the game is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Created or started: the only state in which moves are owed.
    Running,
    /// Over.
    Ended(GameEnd),
}

/// How a game ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameEnd {
    /// Who won, if anybody. Taken from the platform's result, never derived from the reason.
    pub result: GameResult,
    /// Why.
    pub termination: Termination,
    /// The platform's own words for it, for the record.
    pub words: String,
}

/// The result of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GameResult {
    /// Somebody won.
    Decisive {
        /// The side that won.
        #[serde(with = "super::words::color")]
        winner: Color,
    },
    /// Half a point each.
    Draw,
    /// It does not count: aborted, adjourned.
    NoResult,
    /// The platform does not tell (PyChess's bare end notice).
    Unknown,
}

/// Why a game ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Termination {
    /// Checkmate.
    Mate,
    /// A rule of the variant.
    VariantEnd,
    /// Stalemate.
    Stalemate,
    /// Somebody resigned.
    Resignation,
    /// A draw: agreed, repeated, fifty moves, the platform's cap; the platform does not say which.
    Draw,
    /// Neither side, or not the side with time, can mate.
    InsufficientMaterial,
    /// The flag fell.
    OutOfTime,
    /// Left the game and the opponent claimed, or a connection rule decided.
    Abandoned,
    /// Nobody made the first move in time.
    NoStart,
    /// Annulled.
    Aborted,
    /// Stored to be resumed: not a finished game.
    Adjourned,
    /// A move that the platform refused lost the game (PyChess).
    IllegalMove,
    /// The platform judged somebody a cheat.
    Cheat,
    /// Decided by an admin.
    Adjudicated,
    /// A word we do not know: over all the same.
    Unknown,
}

/// A line of chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatLine {
    /// Who said it; the platform's own announcements have `from_server`.
    pub from: PlayerName,
    /// True for the platform's own announcements: never answered.
    pub from_server: bool,
    /// Where.
    pub room: ChatRoom,
    /// What, as sent; may be empty, may be long.
    pub text: String,
}

/// Where a chat line is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRoom {
    /// Both players read it.
    Players,
    /// Only spectators (and bots) read it. FICS: `whisper`.
    Spectators,
}
