//! What a search tells while it runs and when it ends.

use std::time::Duration;

use super::score::Score;
use crate::rules::Move;

/// How exact a score is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// The value itself.
    #[default]
    Exact,
    /// The true value is at least this (fail high).
    Lower,
    /// The true value is at most this (fail low).
    Upper,
}

/// One line of thought, told while the search runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchInfo {
    /// Iteration, in plies.
    pub depth: u32,
    /// Deepest ply reached in this iteration.
    pub seldepth: u32,
    /// Rank of this line among the lines wanted, from 1.
    pub multi_pv: usize,
    /// Value of the line, from the side to move at the root.
    pub score: Score,
    /// How exact `score` is.
    pub bound: Bound,
    /// Nodes visited so far, all threads together.
    pub nodes: u64,
    /// Time since the search began.
    pub elapsed: Duration,
    /// Occupied share of the transposition table, in thousandths.
    pub hash_full_permille: u16,
    /// Best moves of both sides from the root.
    pub pv: Vec<Move>,
}

/// Who chose the move of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReportOrigin {
    /// A search that ran to a regular end; the score means something.
    #[default]
    Search,
    /// The search was cut off from outside (deadline, panic, hang) and this is its best so far;
    /// the score is that of the last finished line.
    BestSoFar,
    /// The only legal move, played without a search; the score means nothing.
    OnlyMove,
    /// From an opening book, without a search; the score means nothing.
    Book,
    /// No search result at all: a static choice by the rules; the score means nothing.
    Fallback,
}

impl ReportOrigin {
    /// Whether the score stands on a search, so that resigning or offering a draw may rest on it.
    pub fn has_score(self) -> bool {
        matches!(self, ReportOrigin::Search | ReportOrigin::BestSoFar)
    }
}

/// The answer of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchReport {
    /// The move to play; always legal.
    pub best: Move,
    /// The answer expected to it.
    pub ponder: Option<Move>,
    /// Value for the side to move; see [`ReportOrigin::has_score`].
    pub score: Score,
    /// Last finished iteration, in plies.
    pub depth: u32,
    /// Deepest ply reached.
    pub seldepth: u32,
    /// Nodes visited, all threads together.
    pub nodes: u64,
    /// Time spent, waiting in the pool's queue included.
    pub elapsed: Duration,
    /// Best moves of both sides; starts with `best`.
    pub pv: Vec<Move>,
    /// Who chose the move.
    pub origin: ReportOrigin,
}

impl SearchReport {
    /// A report about a move that no search chose.
    pub fn without_search(best: Move, origin: ReportOrigin, elapsed: Duration) -> SearchReport {
        SearchReport {
            best,
            ponder: None,
            score: Score::DRAW,
            depth: 0,
            seldepth: 0,
            nodes: 0,
            elapsed,
            pv: vec![best],
            origin,
        }
    }
}
