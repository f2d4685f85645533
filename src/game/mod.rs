//! One game, independent of the platform: what happened, what we want sent, and the session that decides.
//!
//! Nothing in here performs I/O, reads a clock or draws a random number: time and randomness are arguments,
//! so a recorded game can be replayed to the same decisions.

pub mod command;
pub mod event;
pub mod facts;
pub mod time;
pub mod words;

pub use command::{CommandFailure, CommandKind, GameCommand, OfferKind, PlayMove};
pub use event::{
    ChatLine, ChatRoom, ClockReading, Clocks, GameEnd, GameEvent, GameResult, GameState, Offers,
    Status, Termination,
};
pub use facts::{
    GameCapabilities, GameId, GameRules, GameSource, GameStart, Player, PlayerKind, PlayerName,
    Rating,
};
pub use time::{Moment, Speed, TimeControl};
