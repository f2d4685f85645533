//! What bounds a search.

use std::time::Duration;

use crate::rules::Move;

/// Bounds of one search. The first one reached ends it; without any it runs until stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchLimits {
    /// Deepest iteration, in plies.
    pub depth: Option<u32>,
    /// Nodes to visit, all threads of the search together. With one thread the search is
    /// deterministic under this limit.
    pub nodes: Option<u64>,
    /// Fixed time for the move; the time manager takes `overhead` off.
    pub move_time: Option<Duration>,
    /// Clocks of the game.
    pub clock: Option<ClockLimits>,
    /// Time between the search's answer and the opponent's clock starting, for `move_time`
    /// (clocks carry their own).
    pub overhead: Duration,
    /// Runs until stopped: no clock holds. A searcher with nothing left to do may return all the
    /// same; whoever talks to a GUI then keeps the answer back until it is asked for.
    pub infinite: bool,
    /// Think on the opponent's time until [`StopFlag::ponder_hit`](super::StopFlag::ponder_hit).
    pub ponder: bool,
    /// Number of best lines wanted; zero counts as one.
    pub multi_pv: usize,
    /// Consider only these root moves; empty: all of them.
    pub search_moves: Vec<Move>,
    /// End as soon as a win in at most so many moves is proved.
    pub mate: Option<u32>,
    /// No move takes longer than this, however full the clock; `None`: the time manager's own
    /// ceiling ([`CEILING`](super::time::CEILING)).
    pub max_think: Option<Duration>,
}

impl SearchLimits {
    /// Until this depth.
    pub fn depth(depth: u32) -> SearchLimits {
        SearchLimits {
            depth: Some(depth),
            ..SearchLimits::default()
        }
    }

    /// Until this number of nodes.
    pub fn nodes(nodes: u64) -> SearchLimits {
        SearchLimits {
            nodes: Some(nodes),
            ..SearchLimits::default()
        }
    }

    /// For this time.
    pub fn move_time(time: Duration) -> SearchLimits {
        SearchLimits {
            move_time: Some(time),
            ..SearchLimits::default()
        }
    }

    /// By these clocks.
    pub fn clock(clock: ClockLimits) -> SearchLimits {
        SearchLimits {
            clock: Some(clock),
            ..SearchLimits::default()
        }
    }

    /// Whether a clock or a fixed time bounds the search.
    pub fn is_timed(&self) -> bool {
        !self.infinite && (self.clock.is_some() || self.move_time.is_some())
    }

    /// Number of lines wanted, at least one.
    pub fn lines(&self) -> usize {
        self.multi_pv.max(1)
    }
}

/// The clocks as the side to move sees them at the start of the search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockLimits {
    /// What is left on the own clock; zero when the flag already fell or the server overdrew it.
    pub remaining: Duration,
    /// Added to the own clock after each move.
    pub increment: Duration,
    /// What is left on the opponent's clock.
    pub opponent_remaining: Duration,
    /// Added to the opponent's clock after each move.
    pub opponent_increment: Duration,
    /// Moves until the next time control adds time; `None`: the time is for the whole game.
    pub moves_to_go: Option<u32>,
    /// Time lost per move between the engine's answer and the server's clock.
    pub overhead: Duration,
}
