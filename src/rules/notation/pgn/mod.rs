//! Portable Game Notation: reading a stream of games, writing one.
//!
//! The reader is lenient in form and strict in substance. Comments, numeric glyphs, escaped lines, variations (skipped),
//! missing results and the habits of several servers are read; a move that is not legal ends that game with an error that
//! names its line, and the next game is read as if nothing had happened.
//!
//! ```
//! use seneschal::rules::notation::pgn::PgnReader;
//!
//! let text = "[Variant \"Crazyhouse\"]\n\n1. e4 {[%clk 0:03:00]} d5 (1... e5) 2. exd5 Qxd5 3. P@e4 *\n";
//! let game = PgnReader::new(text.as_bytes()).next().unwrap()?;
//! assert_eq!(game.moves.len(), 5);
//! assert_eq!(game.moves[0].clock.unwrap().as_secs(), 180);
//! # Ok::<(), seneschal::rules::notation::pgn::PgnError>(())
//! ```

mod comment;
mod error;
mod lexer;
mod reader;
mod tags;
mod writer;

pub use comment::Evaluation;
pub use error::{PgnError, PgnFault};
pub use reader::PgnReader;
pub use tags::Tags;

use std::time::Duration;

use crate::rules::ending::Outcome;
use crate::rules::history::History;
use crate::rules::moves::Move;
use crate::rules::position::Position;

/// A game with its tags and annotations.
#[derive(Debug, Clone)]
pub struct PgnGame {
    /// Tag pairs in the order of the text.
    pub tags: Tags,
    /// Where the game starts; its variant and castling mode are those of the tags.
    pub start: Position,
    /// What is said before the first move.
    pub comment: String,
    /// The moves of the main line.
    pub moves: Vec<PgnMove>,
    /// The result by the mark behind the moves, else by the tag; `None` for `*`.
    pub result: Option<Outcome>,
}

/// A half-move of the main line.
#[derive(Debug, Clone, PartialEq)]
pub struct PgnMove {
    /// The move.
    pub played: Move,
    /// Time left on the mover's clock, from `[%clk 0:02:59.1]`.
    pub clock: Option<Duration>,
    /// Judgement of the position reached, from `[%eval 0.25]`.
    pub evaluation: Option<Evaluation>,
    /// Numeric annotation glyphs, `!` and `?` among them.
    pub nags: Vec<u8>,
    /// What else is said behind the move, without the two commands above.
    pub comment: String,
}

impl From<Move> for PgnMove {
    fn from(played: Move) -> Self {
        Self {
            played,
            clock: None,
            evaluation: None,
            nags: Vec::new(),
            comment: String::new(),
        }
    }
}

impl PgnGame {
    /// A game as it was played, without annotations. The tags that the position determines are set.
    #[must_use]
    pub fn from_history(history: &History, result: Option<Outcome>) -> Self {
        let mut game = Self {
            tags: Tags::new(),
            start: history.start().clone(),
            comment: String::new(),
            moves: history.moves().iter().copied().map(PgnMove::from).collect(),
            result,
        };
        game.set_tags_of_start();
        game
    }

    /// Plays the moves from the start.
    #[must_use]
    pub fn history(&self) -> History {
        let mut history = History::new(self.start.clone());
        for step in &self.moves {
            history
                .play(step.played)
                .expect("the moves of a game were legal when they were read or played");
        }
        history
    }
}
