//! Positions as one line of text, in every dialect that servers and programs use.
//!
//! | point | read | written |
//! |---|---|---|
//! | pockets | `[QNnp]`, `[]`, `[-]`, a ninth rank `/QNnp` or `/`, hands behind the move number (`... 0 22 QNrp`), counts `[3P]` | `[]` in the order C A Q R B N P, White first |
//! | promoted pieces | `Q~` | `Q~` |
//! | castling | `KQkq` (the outermost rook), file letters, mixed, in any order | `KQkq`; file letters in Chess960 and for an inner rook |
//! | en passant | any square; one that no pawn can have passed is dropped | only if a capture there is legal |
//! | checks | `3+1` still to give before the counters, `+0+2` given behind them | `3+1` |
//! | counters | may be missing (`0 1`); move number 0 is 1 | always |
//! | empty squares | numbers, `10` on ten files | the same |
//!
//! Rights that cannot exist (no rook on that side, the king off its rank) are dropped as well, because programs leave them
//! standing; a right that only Chess960 can give a meaning to is refused when Chess960 was not asked for. All else that is
//! wrong is an error with its field, its place in the text and the reason.

mod error;
mod read;
mod write;

pub use error::{FenError, FenFault, FenField};

use crate::rules::position::Position;
use crate::rules::setup::Setup;
use crate::rules::variant::{CastlingMode, Variant};

impl Setup {
    /// Reads a position without judging whether it is playable.
    ///
    /// # Errors
    /// [`FenError::Text`]: what the text says is no position on the variant's board.
    pub fn from_fen(variant: Variant, mode: CastlingMode, fen: &str) -> Result<Self, FenError> {
        read::read(variant, mode, fen)
    }

    /// The position as text.
    #[must_use]
    pub fn to_fen(&self, variant: Variant, mode: CastlingMode) -> String {
        write::write(self, variant, mode)
    }
}

impl Position {
    /// The start position of a variant.
    #[must_use]
    pub fn start(variant: Variant) -> Self {
        Self::from_fen(variant, CastlingMode::Standard, variant.start_fen())
            .expect("the start positions are legal: a test reads all of them")
    }

    /// Reads a playable position.
    ///
    /// # Errors
    /// [`FenError`]: the text is malformed, or the position is not legal in this variant.
    pub fn from_fen(variant: Variant, mode: CastlingMode, fen: &str) -> Result<Self, FenError> {
        let setup = Setup::from_fen(variant, mode, fen)?;
        Self::new(&setup, variant, mode).map_err(|error| FenError::Position { variant, error })
    }

    /// The position as text. Reading it gives the same position again.
    #[must_use]
    pub fn fen(&self) -> String {
        self.to_setup().to_fen(self.variant(), self.castling_mode())
    }
}
