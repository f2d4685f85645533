//! What can be wrong with a position's text.

use std::fmt;

use crate::rules::setup::PositionError;
use crate::rules::types::Square;
use crate::rules::variant::Variant;

/// A position that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FenError {
    /// The text itself is wrong.
    Text {
        /// The field in which it is wrong.
        field: FenField,
        /// Where, in bytes from the beginning of the text.
        at: usize,
        /// What is wrong.
        fault: FenFault,
    },
    /// The text is well formed, but the position cannot be played.
    Position {
        /// The variant it was meant for.
        variant: Variant,
        /// Why not.
        error: PositionError,
    },
}

impl fmt::Display for FenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // People count from one.
            Self::Text { field, at, fault } => write!(f, "{field}, character {}: {fault}", at + 1),
            Self::Position { variant, error } => write!(
                f,
                "{}: {}",
                variant.uci_name(),
                describe(*error, variant.files())
            ),
        }
    }
}

impl std::error::Error for FenError {}

/// The words of a defect, with squares by their names.
fn describe(error: PositionError, files: u8) -> String {
    let at = |square: Square| square.name(files);
    match error {
        PositionError::ForeignPiece {
            piece,
            square,
            variant,
        } => {
            format!(
                "{} on {} does not exist in {}",
                piece.char(),
                at(square),
                variant.uci_name()
            )
        }
        PositionError::PawnOnEndRank { color, square, .. } => {
            format!("a pawn of {color} stands on {}", at(square))
        }
        PositionError::PromotedMark { square } => {
            format!(
                "{} is marked as promoted but holds no piece that could be",
                at(square)
            )
        }
        PositionError::PromotedForbidden { square, variant } => {
            format!(
                "{} is marked as promoted, which means nothing in {}",
                at(square),
                variant.uci_name()
            )
        }
        PositionError::CastlingRook { color, square } => {
            format!(
                "{color} has a right to castle with {}, where none of its rooks stands beside its king",
                at(square)
            )
        }
        PositionError::EnPassant { square } => {
            format!(
                "no pawn can have just passed over the en-passant square {}",
                at(square)
            )
        }
        other => other.to_string(),
    }
}

/// Part of a position's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FenField {
    /// Pieces on the board.
    Board,
    /// Pieces in hand.
    Pocket,
    /// Side to move.
    Turn,
    /// Castling rights.
    Castling,
    /// En-passant square.
    EnPassant,
    /// Counters of three-check.
    Checks,
    /// Half-moves since the last progress.
    Halfmoves,
    /// Number of the move.
    MoveNumber,
    /// What follows the last field.
    End,
}

impl FenField {
    /// The word for it in messages and tests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::Pocket => "pocket",
            Self::Turn => "side to move",
            Self::Castling => "castling",
            Self::EnPassant => "en passant",
            Self::Checks => "checks",
            Self::Halfmoves => "half-move clock",
            Self::MoveNumber => "move number",
            Self::End => "end",
        }
    }
}

impl fmt::Display for FenField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FenFault {
    /// The text ends before this field.
    #[error("is missing")]
    Missing,
    /// The text is longer than any position.
    #[error("the text is longer than {limit} bytes")]
    TooLong {
        /// The most that is read.
        limit: usize,
    },
    /// The board has too few or too many ranks.
    #[error("{count} ranks instead of {wanted}")]
    RankCount {
        /// How many there are.
        count: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// A rank has too few or too many squares.
    #[error("rank {rank} has {count} squares instead of {wanted}")]
    RankWidth {
        /// 1 to 8.
        rank: usize,
        /// How many squares it has.
        count: usize,
        /// How many it should have.
        wanted: usize,
    },
    /// A letter that is no piece of this variant.
    #[error("{letter:?} is no piece of {}", variant.uci_name())]
    UnknownPiece {
        /// The character.
        letter: char,
        /// The variant.
        variant: Variant,
    },
    /// A promoted mark behind something that cannot be promoted.
    #[error("the mark ~ stands behind no piece that can be promoted")]
    StrayPromotedMark,
    /// A bracket that is not closed, or something behind it.
    #[error("the bracket of the pocket is not closed at its end")]
    UnclosedPocket,
    /// A ninth rank and a bracket.
    #[error("two pockets, one in brackets and one as ninth rank")]
    TwoPockets,
    /// Pieces in hand where nothing is dropped.
    #[error("{} has no drops", variant.uci_name())]
    NoDrops {
        /// The variant.
        variant: Variant,
    },
    /// A king in hand.
    #[error("a king cannot be in hand")]
    KingInHand,
    /// More pieces in hand than are read.
    #[error("more than {limit} pieces in hand")]
    PocketTooLarge {
        /// The most that are read.
        limit: u32,
    },
    /// Neither `w` nor `b`.
    #[error("{text:?} is neither w nor b")]
    BadTurn {
        /// The text.
        text: String,
    },
    /// A castling letter that is none, or is no file of the board.
    #[error("{letter:?} is no castling right")]
    BadCastlingLetter {
        /// The letter.
        letter: char,
    },
    /// A file letter whose file holds no rook of that side on the first rank.
    #[error("no rook for the right {letter:?}")]
    NoCastlingRook {
        /// The letter.
        letter: char,
    },
    /// Two rights for the same side of the same king.
    #[error("the right {letter:?} is the second one toward that side")]
    CastlingTwice {
        /// The letter.
        letter: char,
    },
    /// A right whose king stands where only Chess960 castles from.
    #[error("the right {letter:?} has a meaning in Chess960 only")]
    CastlingNeedsChess960 {
        /// The letter.
        letter: char,
    },
    /// A right to castle in a variant without castling.
    #[error("{} has no castling", variant.uci_name())]
    NoCastling {
        /// The variant.
        variant: Variant,
    },
    /// No square of the board.
    #[error("{text:?} is no square of the board")]
    BadSquare {
        /// The text.
        text: String,
    },
    /// No pair of counters from 0 to 3, or counters where checks do not count.
    #[error("{text:?} are no counters of checks here")]
    BadChecks {
        /// The text.
        text: String,
    },
    /// No number, or one that is too large.
    #[error("{text:?} is no number that is read here")]
    BadNumber {
        /// The text.
        text: String,
    },
    /// Something behind the last field.
    #[error("{text:?} follows the position")]
    Trailing {
        /// The text.
        text: String,
    },
}
