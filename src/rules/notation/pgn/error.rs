//! What can be wrong with PGN text.

use crate::rules::notation::fen::FenError;
use crate::rules::notation::san::SanError;

/// A game that could not be read. The games before and after it are not touched by it.
#[derive(Debug, thiserror::Error)]
#[error("game {game}, line {line}: {fault}")]
pub struct PgnError {
    /// Which game of the input, counted from one.
    pub game: u64,
    /// Line of the input, counted from one.
    pub line: u64,
    /// What is wrong.
    pub fault: PgnFault,
}

/// The fault itself.
#[derive(Debug, thiserror::Error)]
pub enum PgnFault {
    /// The input could not be read any further.
    #[error("the input cannot be read: {0}")]
    Input(std::io::Error),
    /// A line longer than four mebibytes; the rest of it was skipped.
    #[error("the line is longer than is read")]
    LineTooLong,
    /// A line that begins like a tag and is none.
    #[error("the tag is malformed: {text}")]
    BadTag {
        /// The beginning of the line.
        text: String,
    },
    /// More tags than any game has.
    #[error("more than {limit} tags")]
    TooManyTags {
        /// The most that are read.
        limit: usize,
    },
    /// More half-moves than any game has.
    #[error("more than {limit} half-moves")]
    TooManyMoves {
        /// The most that are read.
        limit: usize,
    },
    /// A brace that is never closed; the line is where it was opened.
    #[error("the comment that begins here is never closed")]
    UnclosedComment,
    /// A round bracket that is never closed; the line is where it was opened.
    #[error("the variation that begins here is never closed")]
    UnclosedVariation,
    /// Something among the moves that is neither move nor annotation.
    #[error("cannot read {token:?}")]
    UnknownToken {
        /// The text.
        token: String,
    },
    /// The `Variant` tag names no variant that is played here.
    #[error("unknown variant {name:?}")]
    UnknownVariant {
        /// The value of the tag.
        name: String,
    },
    /// The `FEN` tag is no position of the variant.
    #[error("the FEN tag {fen:?}: {cause}")]
    BadStart {
        /// The value of the tag.
        fen: String,
        /// What is wrong with it.
        cause: FenError,
    },
    /// A move that is not legal, or not readable, where it stands.
    #[error("move {number}: {cause}")]
    BadMove {
        /// Move number with its dots: `12.` for White, `12...` for Black.
        number: String,
        /// Half-moves of the game that were read before it.
        ply: usize,
        /// What is wrong with it, with the text.
        cause: Box<SanError>,
    },
}
