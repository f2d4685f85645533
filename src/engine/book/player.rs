//! A searcher that looks into a book first.

use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use super::Books;
use crate::engine::limits::SearchLimits;
use crate::engine::report::{ReportOrigin, SearchInfo, SearchReport};
use crate::engine::searcher::Searcher;
use crate::engine::stop::StopFlag;
use crate::rules::starts::SplitMix64;
use crate::rules::{CastlingMode, History, Move, Position};

/// Plays from books where they know a position, and lets another searcher find the move elsewhere.
///
/// Only moves of a game are taken from a book: a search that no clock bounds wants to know something.
pub struct BookPlayer {
    books: Books,
    inner: Box<dyn Searcher>,
    random: SplitMix64,
}

impl std::fmt::Debug for BookPlayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BookPlayer").finish_non_exhaustive()
    }
}

impl BookPlayer {
    /// Draws differently in every process and for every thread.
    #[must_use]
    pub fn new(books: Books, inner: Box<dyn Searcher>) -> Self {
        let seed = RandomState::new().hash_one(0_u8);
        Self::with_seed(books, inner, seed)
    }

    /// Draws by a seed.
    #[must_use]
    pub fn with_seed(books: Books, inner: Box<dyn Searcher>, seed: u64) -> Self {
        Self {
            books,
            inner,
            random: SplitMix64::new(seed),
        }
    }

    fn look_up(&mut self, history: &History, limits: &SearchLimits) -> Option<Move> {
        let position = history.position();
        let is_game = limits.clock.is_some()
            && !limits.infinite
            && !limits.ponder
            && limits.multi_pv <= 1
            && limits.search_moves.is_empty()
            && position.castling_mode() == CastlingMode::Standard;
        // Who shuffles back into the book wants to repeat it.
        if !is_game || history.repetitions() > 1 {
            return None;
        }
        let book = self.books.get(position.variant())?;
        book.choose(position, &mut self.random)
    }
}

impl Searcher for BookPlayer {
    fn search(
        &mut self,
        history: &History,
        limits: &SearchLimits,
        stop: &StopFlag,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        let begun = Instant::now();
        match self.look_up(history, limits) {
            Some(m) => SearchReport::without_search(m, ReportOrigin::Book, begun.elapsed()),
            None => self.inner.search(history, limits, stop, on_info),
        }
    }

    fn new_game(&mut self) {
        self.inner.new_game();
    }

    fn switch_game(&mut self) {
        self.inner.switch_game();
    }

    fn expect(&mut self, position: &Position) {
        // Reads the embedded books, which is done once.
        drop(self.books.get(position.variant()));
        self.inner.expect(position);
    }

    fn explain(&self, position: &Position) -> Option<String> {
        self.inner.explain(position)
    }
}
