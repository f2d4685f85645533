//! Iterative deepening: the loop around the search, from the root's side.

use std::sync::atomic::Ordering;

use super::worker::{INFINITE, MATE, MATE_BOUND, MAX_PLY, RootMove, Worker};
use crate::engine::limits::SearchLimits;
use crate::engine::report::{Bound, SearchInfo};
use crate::engine::score::Score;
use crate::engine::time::{Iteration, TimeManager};
use crate::rules::variants::Rules;
use crate::rules::{Move, MoveList};

/// A search value as others see it.
#[must_use]
pub fn to_score(value: i32) -> Score {
    if value >= MATE_BOUND {
        Score::Mate((MATE - value + 1) / 2)
    } else if value <= -MATE_BOUND {
        Score::Mate(-(MATE + value) / 2)
    } else {
        Score::Cp(value)
    }
}

/// What ends the deepening besides the stop flag.
pub struct Deepening<'a> {
    pub limits: &'a SearchLimits,
    /// Decides after each iteration; only the main thread has one.
    pub time: Option<&'a mut TimeManager>,
    /// Number of this thread; helpers begin at different depths.
    pub thread: usize,
}

impl<R: Rules> Worker<R> {
    /// Lists the root moves, all or those wanted.
    pub fn set_root_moves(&mut self, wanted: &[Move]) {
        let mut list = MoveList::new();
        self.pos(0).legal_moves(&mut list);
        self.root_moves = list
            .iter()
            .filter(|m| wanted.is_empty() || wanted.contains(m))
            .map(|&m| RootMove {
                m,
                score: -INFINITE,
                previous: -INFINITE,
                seldepth: 0,
                nodes: 0,
                pv: vec![m],
            })
            .collect();
    }

    /// Deepens until told to stop; root moves are then in order, the best first. The depth finished last.
    pub fn deepen(
        &mut self,
        mut deepening: Deepening<'_>,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> u32 {
        let limits = deepening.limits;
        let max_depth = limits
            .depth
            .map_or(MAX_PLY as i32 - 8, |d| (d as i32).min(MAX_PLY as i32 - 8))
            .max(1);
        let lines = limits.lines().min(self.root_moves.len());
        let mut finished = 0;
        for depth in 1..=max_depth {
            // Helpers skip some depths, so that threads spread over the tree.
            if deepening.thread > 0
                && depth > 4
                && (depth as usize + deepening.thread).is_multiple_of(3)
            {
                continue;
            }
            self.root_depth = depth;
            for root in &mut self.root_moves {
                root.previous = root.score;
                root.nodes = 0;
            }
            let nodes_before = self.nodes;
            for line in 0..lines {
                self.root_first = line;
                self.seldepth = 0;
                let keep_going = self.search_line(depth, line, lines, on_info);
                if !keep_going {
                    break;
                }
            }
            self.root_first = 0;
            if self.stopped {
                break;
            }
            finished = depth as u32;
            if deepening.thread == 0 && lines == 1 && self.try_solver(limits) {
                self.report_line(depth, 0, on_info);
                break;
            }
            if self.is_enough(&mut deepening, depth, self.nodes - nodes_before) {
                break;
            }
        }
        self.flush_nodes();
        finished
    }

    fn is_enough(&self, deepening: &mut Deepening<'_>, depth: i32, nodes: u64) -> bool {
        let best = &self.root_moves[0];
        let score = to_score(best.score);
        if let (Some(mate), Score::Mate(moves)) = (deepening.limits.mate, score)
            && moves > 0
            && moves as u32 <= mate
        {
            return true;
        }
        let Some(time) = deepening.time.as_mut() else {
            return false;
        };
        let iteration = Iteration {
            depth: depth as u32,
            best: best.m,
            score,
            effort: best.nodes as f64 / nodes.max(1) as f64,
        };
        time.is_enough(&iteration, &self.shared.stop)
    }

    /// Searches one line with a window around the last value, widened until the value lies inside. False if stopped.
    fn search_line(
        &mut self,
        depth: i32,
        line: usize,
        lines: usize,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> bool {
        let previous = self.root_moves[line].previous;
        let mut delta = self.params.aspiration;
        let (mut alpha, mut beta) = if depth >= 5 && previous.abs() < MATE_BOUND {
            (
                (previous - delta).max(-INFINITE),
                (previous + delta).min(INFINITE),
            )
        } else {
            (-INFINITE, INFINITE)
        };
        let mut failed_high = 0;
        loop {
            let adjusted = (depth - failed_high).max(1);
            let value = self.search::<true>(0, alpha, beta, adjusted, false);
            // A stable sort keeps the order of moves that were not valued again.
            self.root_moves[line..].sort_by_key(|root| std::cmp::Reverse(root.score));
            if self.stopped {
                return false;
            }
            if value <= alpha {
                beta = i32::midpoint(alpha, beta);
                alpha = (value - delta).max(-INFINITE);
                failed_high = 0;
            } else if value >= beta {
                beta = (value + delta).min(INFINITE);
                failed_high = (failed_high + 1).min(3);
            } else {
                break;
            }
            delta += delta / 2;
            if delta > 1_000 {
                (alpha, beta) = (-INFINITE, INFINITE);
            }
        }
        self.root_moves[..=line].sort_by_key(|root| std::cmp::Reverse(root.score));
        if line + 1 == lines {
            for rank in 0..lines {
                self.report_line(depth, rank, on_info);
            }
        }
        true
    }

    /// Tells about a line.
    pub fn report_line(&self, depth: i32, rank: usize, on_info: &mut dyn FnMut(&SearchInfo)) {
        let root = &self.root_moves[rank];
        let counted = self.shared.nodes.load(Ordering::Relaxed);
        on_info(&SearchInfo {
            depth: depth as u32,
            seldepth: root.seldepth.max(1),
            multi_pv: rank + 1,
            score: to_score(root.score),
            bound: Bound::Exact,
            nodes: counted + self.uncounted(),
            elapsed: self.shared.stop.elapsed(),
            hash_full_permille: self.shared.table.full_permille(),
            pv: root.pv.clone(),
        });
    }
}
