//! The seam between who wants a move and who finds it.

use super::limits::SearchLimits;
use super::report::{SearchInfo, SearchReport};
use super::stop::StopFlag;
use crate::rules::{History, Position};

/// Finds the move of a position. One value per search thread; variant and game may change from
/// call to call.
pub trait Searcher: Send {
    /// Searches the last position of `history`, which has at least one legal move.
    ///
    /// * Ends when a limit is reached or `stop` says so, and then returns its best move so far.
    ///   The move is legal, and among `limits.search_moves` if those are given, even if `stop`
    ///   was up from the beginning.
    /// * Asks [`StopFlag::should_stop`] at least every 2,048 nodes, and lets a
    ///   [`TimeManager`](super::time::TimeManager) made from `limits` decide after each iteration.
    /// * Calls `on_info` after each finished iteration and line, on the calling thread. What the
    ///   last exact first line said is the answer should this search hang or panic.
    fn search(
        &mut self,
        history: &History,
        limits: &SearchLimits,
        stop: &StopFlag,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport;

    /// Forgets everything, the transposition table included (also where it is shared).
    fn new_game(&mut self);

    /// The next search is about another game than the last one: forget what was learnt about that
    /// game, but keep what is shared with other searchers.
    fn switch_game(&mut self) {}

    /// The next search will be about this position or one of the same variant: make ready what takes time.
    fn expect(&mut self, _position: &Position) {}

    /// The evaluation of a position in words, for people; `None`: this searcher has none to show.
    fn explain(&self, _position: &Position) -> Option<String> {
        None
    }
}
