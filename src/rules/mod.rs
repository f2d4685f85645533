//! What is legal, for every variant on 8x8 and 10x8.
//!
//! [`Setup`] is a position as it comes from outside; [`Position`] is checked and playable. Inside, [`Pos`] is the same
//! for one rule set known at compile time ([`variants::Rules`]); the engine works with it, everybody else with
//! [`Position`]. How to add a variant is told in [`variants`].

pub mod adjudication;
pub mod bits;
pub mod ending;
pub mod generate;
pub mod geometry;
pub mod hand;
pub mod history;
mod intrinsics;
mod make;
pub mod material;
pub mod moves;
pub mod notation;
pub mod perft;
pub mod pos;
pub mod position;
pub mod setup;
pub mod starts;
pub mod types;
pub mod variant;
pub mod variants;
mod zobrist;

pub use adjudication::{Adjudication, Claim, Verdict};
pub use ending::{EndReason, Ending, Outcome};
pub use hand::Hand;
pub use history::History;
pub use material::MaterialRule;
pub use moves::{Move, MoveKind, MoveList};
pub use notation::{FenError, SanError, UciError};
pub use pos::Pos;
pub use position::{AnyPos, IllegalMove, Position};
pub use setup::{CastlingStyle, PositionError, Setup};
pub use types::{Color, Piece, Role, Square};
pub use variant::{CastlingMode, Variant};
