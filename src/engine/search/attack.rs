//! When the mate solver is asked: at the root after every iteration, and inside the search before a node's moves are tried.
//!
//! Inside the search a proof ends the lines in which an attacker's quiet move leaves no defence, since there every answer
//! is followed by checks deeper than the search would go. In quiet positions one question in three hundred finds a mate, in
//! an attack every second one: the solver therefore has a small share of the nodes, and more for every mate it finds.

use super::mate::Solver;
use super::quiescence::to_table;
use super::worker::{MATE, MATE_BOUND, Worker};
use crate::engine::limits::SearchLimits;
use crate::engine::report::Bound;
use crate::engine::transposition::{Entry, NO_EVAL};
use crate::rules::Move;
use crate::rules::variants::Rules;

/// Entries of the list of positions that were asked about.
const LISTED: usize = 1 << 14;

/// What the solver was asked inside a search.
#[derive(Debug, Default)]
pub struct Asked {
    /// Keys and the depths they were asked at, so that only a deeper search asks again. Empty until first needed.
    list: Vec<(u64, i32)>,
    nodes: u64,
    found: u64,
}

impl Asked {
    /// Makes ready for a new search, which may go on with what was asked before.
    pub fn begin(&mut self) {
        self.nodes = 0;
        self.found = 0;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.list.clear();
        self.begin();
    }

    /// Whether a position is new or was asked about for a shallower search only; it counts as asked from now on.
    fn is_new(&mut self, key: u64, depth: i32) -> bool {
        if self.list.is_empty() {
            self.list.resize(LISTED, (0, 0));
        }
        let known = &mut self.list[(key >> 40) as usize % LISTED];
        if known.0 == key && known.1 >= depth {
            return false;
        }
        *known = (key, depth);
        true
    }
}

impl<R: Rules> Worker<R> {
    /// Gives the mate solver its share of the nodes; true if it has proved a mate, which is then the first root move.
    pub fn try_solver(&mut self, limits: &SearchLimits) -> bool {
        let best = self.root_moves[0].score;
        if !R::DROPS || !limits.search_moves.is_empty() || best >= MATE_BOUND {
            return false;
        }
        // An attack that is winning anyway is worth a closer look.
        let percent = match best {
            ..-200 => 3,
            -200..250 => 6,
            250..700 => 25,
            _ => 50,
        };
        let allowed = (self.nodes * percent * self.params.solver_share as u64 / 10_000)
            .saturating_sub(self.solver_nodes);
        let left = self.shared.node_limit.saturating_sub(self.nodes);
        let budget = allowed.min(left);
        if budget < 100 {
            return false;
        }
        let pos = *self.pos(0);
        let solver = self.solver.get_or_insert_with(Solver::new);
        let stop = self.shared.stop.clone();
        let (mate, used) = solver.solve(&pos, budget, &stop);
        self.nodes += used;
        self.solver_nodes += used;
        let Some(mate) = mate else { return false };
        let Some(index) = self.root_moves.iter().position(|r| r.m == mate.line[0]) else {
            return false;
        };
        let mut root = self.root_moves.remove(index);
        root.score = MATE - mate.line.len() as i32;
        root.seldepth = root.seldepth.max(mate.line.len() as u32);
        root.pv = mate.line;
        self.root_moves.insert(0, root);
        true
    }

    /// The value of a node whose side to move mates by checks alone, as far as a few positions tell.
    pub fn mate_by_checks(&mut self, ply: usize, depth: i32) -> Option<i32> {
        let params = self.params;
        let share = self.nodes * params.solver_inside as u64 / 100;
        let credit = self.asked.found * params.solver_credit as u64;
        if depth < params.solver_depth || self.asked.nodes > share + credit {
            return None;
        }
        let pos = *self.pos(ply);
        if !self.asked.is_new(pos.key(), depth) {
            return None;
        }
        let stop = self.shared.stop.clone();
        let solver = self.solver.get_or_insert_with(Solver::new);
        let left = self.shared.node_limit.saturating_sub(self.nodes);
        let budget = left.min((params.solver_budget * depth) as u64);
        let (plies, used) = solver.prove(&pos, budget, &stop);
        self.nodes += used;
        self.asked.nodes += used;
        let value = MATE - ply as i32 - plies? as i32;
        self.asked.found += 1;
        let known = Entry {
            best: Move::NONE,
            score: to_table(value, ply) as i16,
            eval: NO_EVAL,
            depth: 255,
            bound: Bound::Lower,
            was_pv: false,
        };
        self.shared.table.store(pos.key(), known);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::engine::network::Networks;
    use crate::engine::score::Score;
    use crate::engine::search::AlphaBeta;
    use crate::engine::search::params::Params;
    use crate::engine::transposition::Table;
    use crate::engine::{Searcher, limits::SearchLimits, stop::StopFlag};
    use crate::rules::{CastlingMode, History, Position, Variant};

    /// The score after so many nodes, by the hand-written evaluation, and the nodes used.
    fn search(fen: &str, nodes: u64, params: Params) -> (Score, u64) {
        let position =
            Position::from_fen(Variant::Crazyhouse, CastlingMode::Standard, fen).unwrap();
        let mut searcher =
            AlphaBeta::new(Arc::new(Table::new(16 << 20)), 1).with_networks(Networks::none());
        searcher.set_params(params);
        let limits = SearchLimits::nodes(nodes);
        let mut last = (Score::Cp(0), 0);
        let mut mates = |info: &crate::engine::report::SearchInfo| {
            if !matches!(last.0, Score::Mate(moves) if moves > 0) {
                last = (info.score, info.nodes);
            }
        };
        searcher.search(
            &History::new(position),
            &limits,
            &StopFlag::new(),
            &mut mates,
        );
        last
    }

    #[test]
    fn a_quiet_move_before_a_chain_of_checks_is_found_sooner_with_the_solver_inside() {
        let fen = "5rk1/p1p2ppp/2p2P2/4N1B1/1nP2P2/N2P3P/PP1pBbBP/R3q2K[QRNrp] w - - 0 1";
        let with = Params::of(Variant::Crazyhouse);
        let mut without = with;
        assert!(without.set("solver_depth", 99));
        let (score, nodes) = search(fen, 1_000_000, with);
        assert!(
            matches!(score, Score::Mate(moves) if moves > 0),
            "{score:?}"
        );
        let (score, _) = search(fen, nodes, without);
        assert!(matches!(score, Score::Cp(_)), "{score:?} as well without");
    }
}
