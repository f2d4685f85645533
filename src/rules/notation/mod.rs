//! Positions, moves and games as text, both ways.

pub mod epd;
pub mod fen;
pub mod holdings;
pub mod names;
pub mod pgn;
pub mod san;
pub mod uci;

pub use fen::{FenError, FenFault, FenField};
pub use holdings::Holdings;
pub use names::NamedVariant;
pub use pgn::{PgnError, PgnFault, PgnGame, PgnMove, PgnReader};
pub use san::SanError;
pub use uci::UciError;
