//! One game, independent of the platform: what happened, what we want sent, and the session that decides.
//!
//! Nothing in here performs I/O, reads a clock or draws a random number: time and randomness are arguments,
//! so a recorded game can be replayed to the same decisions.
//!
//! | module | holds |
//! |---|---|
//! | [`event`], [`command`] | what the platforms' clients translate to and from |
//! | [`facts`], [`time`] | who, what, on which terms |
//! | [`session`] | the decisions, one game at a time |
//! | [`record`], [`clock`] | the moves and the clocks as we may count on them |
//! | [`policy`] | how to behave: section `[game]` of the configuration |
//! | [`tape`] | a game written down, and its replay |

pub mod action;
pub mod clock;
pub mod command;
pub mod event;
pub mod facts;
pub mod fallback;
pub mod policy;
pub mod record;
pub mod session;
pub mod tape;
pub mod time;
pub mod words;

pub use action::{Decision, GameAction, GameMemory, SearchId, ThinkRequest};
pub use command::{CommandFailure, CommandKind, GameCommand, OfferKind, PlayMove};
pub use event::{
    ChatLine, ChatRoom, ClockReading, Clocks, GameEnd, GameEvent, GameResult, GameState, Offers,
    Status, Termination,
};
pub use facts::{
    GameCapabilities, GameId, GameRules, GameSource, GameStart, Player, PlayerKind, PlayerName,
    Rating,
};
pub use policy::GamePolicy;
pub use session::{GameSession, Input, SessionTerms};
pub use time::{Moment, Speed, TimeControl};
