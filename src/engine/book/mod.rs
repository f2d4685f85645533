//! Opening books grown by the engine's own search, one a variant: a bot that always answers alike is learnt by heart.
//!
//! A book is a list of positions with the moves that the search likes there and their scores ([`mod@file`]). [`grow`] makes
//! one by visiting the positions that good moves lead to soonest. In play ([`player`]) the scores of later positions
//! count for earlier ones, and one of the moves that are nearly as good as the best is drawn by lot.

mod file;
pub mod grow;
pub mod player;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

pub use file::BookError;
pub use player::BookPlayer;

use super::own::{Choice, Owned};
use crate::rules::starts::SplitMix64;
use crate::rules::{Move, Position, Variant};

/// A move may be so much worse than the best, in units of the search, and still be drawn: some two per cent of a game.
const INDIFFERENCE: i32 = 40;
/// Times that values are carried from positions to those before them: no book is deeper, in plies.
const SWEEPS: usize = 64;

/// A move of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The move.
    pub m: Move,
    /// What the search said of it, in centipawns for the side to move.
    pub score: i32,
    /// The same, bettered by what is known of the position it leads to.
    pub value: i32,
    /// Key of that position.
    child: u64,
}

/// The book of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Book {
    variant: Variant,
    entries: HashMap<u64, Vec<Candidate>>,
}

impl Book {
    /// A book without positions.
    #[must_use]
    pub fn new(variant: Variant) -> Self {
        Self {
            variant,
            entries: HashMap::new(),
        }
    }

    /// The variant it is for.
    #[must_use]
    pub const fn variant(&self) -> Variant {
        self.variant
    }

    /// Number of positions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no position at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is known of a position, as the search liked the moves.
    #[must_use]
    pub fn get(&self, position: &Position) -> Option<&[Candidate]> {
        self.entries.get(&position.key()).map(Vec::as_slice)
    }

    /// Takes in a position's moves with their scores; illegal ones are left out. Values are not carried on yet.
    fn insert(&mut self, position: &Position, moves: &[(Move, i32)]) {
        let candidates = moves.iter().filter_map(|&(m, score)| {
            let mut next = position.clone();
            next.play(m).ok()?;
            Some(Candidate {
                m,
                score,
                value: score,
                child: next.key(),
            })
        });
        self.entries.insert(position.key(), candidates.collect());
    }

    /// Carries values back: a move is worth what the position it leads to is worth to the other side.
    fn carry_values(&mut self) {
        let mut best: HashMap<u64, i32> = HashMap::new();
        for _ in 0..SWEEPS {
            // A sweep reads only what the one before it left, so that the order of the map does not matter where moves
            // lead in a circle.
            let mut next = HashMap::new();
            for (key, candidates) in &mut self.entries {
                for candidate in candidates.iter_mut() {
                    candidate.value = best
                        .get(&candidate.child)
                        .map_or(candidate.score, |value| -value);
                }
                next.extend(candidates.iter().map(|c| c.value).max().map(|v| (*key, v)));
            }
            if next == best {
                break;
            }
            best = next;
        }
    }

    /// Draws one of the moves that are nearly as good as the best; `None`: the position is not in the book.
    pub fn choose(&self, position: &Position, random: &mut SplitMix64) -> Option<Move> {
        let candidates = self.get(position)?;
        let best = candidates.iter().map(|c| c.value).max()?;
        let weight =
            |c: &Candidate| u32::try_from(INDIFFERENCE + 1 - (best - c.value)).unwrap_or(0);
        let mut left = random.below(candidates.iter().map(weight).sum());
        for candidate in candidates {
            let weight = weight(candidate);
            if left < weight {
                return position.is_legal(candidate.m).then_some(candidate.m);
            }
            left -= weight;
        }
        None
    }
}

/// Which books games are played from.
pub type Books = Choice<Book>;

impl Owned for Book {
    type Error = BookError;

    fn variant(&self) -> Variant {
        self.variant
    }

    fn load(path: &Path) -> Result<Self, BookError> {
        Self::load(path)
    }

    fn embedded(variant: Variant) -> Option<Arc<Self>> {
        EMBEDDED
            .iter()
            .find(|book| book.variant == variant)
            .cloned()
    }
}

/// Texts of the books that are part of the program.
const TEXTS: [&str; 2] = [
    include_str!("books/crazyhouse.txt"),
    include_str!("books/capablanca.txt"),
];

static EMBEDDED: LazyLock<Vec<Arc<Book>>> = LazyLock::new(|| {
    TEXTS
        .iter()
        .map(|text| {
            let book = Book::from_text("the program's own book", text);
            Arc::new(book.expect("a test reads every embedded book"))
        })
        .collect()
});

#[cfg(test)]
mod tests;
