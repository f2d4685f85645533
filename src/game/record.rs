//! The moves of one game as the platform lists them, replayed by our own rules.

use crate::rules::{Color, History, Move, Position};

use super::facts::GameStart;

/// Why a platform's move list cannot be replayed: our bug, or a state that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The first position is not playable.
    #[error("first position `{fen}` is not playable: {reason}")]
    BadStart {
        /// As the platform wrote it.
        fen: String,
        /// What our rules say.
        reason: String,
    },
    /// A move of the list is not legal where it stands.
    #[error("move {index} `{word}` is not legal in `{fen}`: {reason}")]
    IllegalMove {
        /// Index in the list, from 0.
        index: usize,
        /// As the platform wrote it.
        word: String,
        /// The position before it.
        fen: String,
        /// What our rules say.
        reason: String,
    },
}

/// How a platform's move list compares with ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The same moves.
    Same,
    /// Ours, and more.
    Longer,
    /// The beginning of ours: something was taken back, or the state is stale.
    Shorter,
    /// Different moves after a common beginning, or another first position.
    Different,
}

/// First position and moves, always replayed and legal.
#[derive(Debug, Clone)]
pub struct GameRecord {
    base_fen: Option<String>,
    words: Vec<String>,
    history: History,
}

impl GameRecord {
    /// An empty record from the first position of `start`, or from `base_fen` where a state names another base.
    ///
    /// # Errors
    /// [`RecordError::BadStart`] if our rules refuse the position.
    pub fn new(start: &GameStart, base_fen: Option<&str>) -> Result<Self, RecordError> {
        let fen = base_fen.or(start.initial_fen.as_deref());
        let position =
            match fen {
                None => Position::start(start.variant),
                Some(fen) => Position::from_fen(start.variant, start.castling_mode, fen).map_err(
                    |error| RecordError::BadStart {
                        fen: fen.to_owned(),
                        reason: error.to_string(),
                    },
                )?,
            };
        Ok(Self {
            base_fen: base_fen.map(str::to_owned),
            words: Vec::new(),
            history: History::new(position),
        })
    }

    /// Compares a state with this record, before anything is believed.
    pub fn compare(&self, base_fen: Option<&str>, words: &[String]) -> Comparison {
        if base_fen != self.base_fen.as_deref() {
            return Comparison::Different;
        }
        let common = common_prefix(&self.words, words);
        match (common == self.words.len(), common == words.len()) {
            (true, true) => Comparison::Same,
            (true, false) => Comparison::Longer,
            (false, true) => Comparison::Shorter,
            (false, false) => Comparison::Different,
        }
    }

    /// Makes this record equal to the platform's list.
    ///
    /// # Errors
    /// [`RecordError`] if our rules refuse something; the record is unchanged then.
    pub fn follow(
        &mut self,
        start: &GameStart,
        base_fen: Option<&str>,
        words: &[String],
    ) -> Result<(), RecordError> {
        match self.compare(base_fen, words) {
            Comparison::Same => Ok(()),
            Comparison::Longer => self.extend(words),
            Comparison::Shorter => {
                self.words.truncate(words.len());
                self.history.truncate(words.len());
                Ok(())
            }
            Comparison::Different => {
                let mut fresh = Self::new(start, base_fen)?;
                fresh.extend(words)?;
                *self = fresh;
                Ok(())
            }
        }
    }

    /// Plays the part of `words` that goes beyond this record.
    fn extend(&mut self, words: &[String]) -> Result<(), RecordError> {
        let mut position = self.history.position().clone();
        let mut moves = Vec::with_capacity(words.len() - self.words.len());
        for (index, word) in words.iter().enumerate().skip(self.words.len()) {
            let m = position
                .parse_uci(word)
                .map_err(|error| RecordError::IllegalMove {
                    index,
                    word: word.clone(),
                    fen: position.fen(),
                    reason: error.to_string(),
                })?;
            position.play_unchecked(m);
            moves.push(m);
        }
        for m in moves {
            self.history.play_unchecked(m);
        }
        self.words.extend_from_slice(&words[self.words.len()..]);
        Ok(())
    }

    /// Start, moves and keys.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The present position.
    pub fn position(&self) -> &Position {
        self.history.position()
    }

    /// Whose move it is.
    pub fn turn(&self) -> Color {
        self.position().turn()
    }

    /// Moves since the base.
    pub fn ply(&self) -> usize {
        self.words.len()
    }

    /// Plies since the start of the game as far as the numbering tells: differs from [`Self::ply`] after a re-base.
    pub fn absolute_ply(&self) -> usize {
        self.position().ply() as usize
    }

    /// The move at an index of the list.
    pub fn move_at(&self, index: usize) -> Option<Move> {
        self.history.moves().get(index).copied()
    }

    /// The list in the platform's words.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Where the list begins, if a state named another position than the start's.
    pub fn base_fen(&self) -> Option<&str> {
        self.base_fen.as_deref()
    }
}

fn common_prefix(a: &[String], b: &[String]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}
