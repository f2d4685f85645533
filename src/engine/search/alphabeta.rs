//! The principal variation search.

use super::history::{Row, is_taken};
use super::picker::{Picker, is_quiet, origin_and_piece, victim};
use super::quiescence::{allows_cutoff, from_table, to_table};
use super::worker::{INFINITE, MATE, MATE_BOUND, MAX_PLY, Worker, mated_in};
use crate::engine::report::Bound;
use crate::engine::see::see_ge;
use crate::engine::transposition::{Entry, NO_EVAL};
use crate::rules::Move;
use crate::rules::bits::Bits;
use crate::rules::checks::CheckInfo;
use crate::rules::variants::Rules;
use crate::rules::{Color, Role};

/// What a node knows before its first move.
#[derive(Clone, Copy, Debug)]
struct Node {
    ply: usize,
    depth: i32,
    beta: i32,
    in_check: bool,
    /// Static evaluation, bettered by the table's bound.
    eval: i32,
    improving: bool,
    cut: bool,
    was_pv: bool,
    table_move: Move,
    table_entry: Option<Entry>,
    excluded: Move,
    must_capture: bool,
}

/// Moves tried at a node, for the history tables.
struct Tried {
    quiets: [Move; 64],
    n_quiets: usize,
    noisy: [Move; 32],
    n_noisy: usize,
}

impl Tried {
    const fn new() -> Self {
        Self {
            quiets: [Move::NONE; 64],
            n_quiets: 0,
            noisy: [Move::NONE; 32],
            n_noisy: 0,
        }
    }

    fn push(&mut self, m: Move, quiet: bool) {
        let (list, n): (&mut [Move], &mut usize) = if quiet {
            (&mut self.quiets, &mut self.n_quiets)
        } else {
            (&mut self.noisy, &mut self.n_noisy)
        };
        if let Some(slot) = list.get_mut(*n) {
            *slot = m;
            *n += 1;
        }
    }
}

impl<R: Rules> Worker<R> {
    /// Value of the position at `ply` within a window, to a remaining depth.
    pub fn search<const PV: bool>(
        &mut self,
        ply: usize,
        mut alpha: i32,
        mut beta: i32,
        depth: i32,
        cut: bool,
    ) -> i32 {
        if depth <= 0 {
            return self.quiescence(ply, alpha, beta, 0);
        }
        self.clear_pv(ply);
        if self.check_stop() {
            return 0;
        }
        self.seldepth = self.seldepth.max(ply);
        if ply > 0 {
            if let Some(value) = self.ended(ply) {
                return value;
            }
            if ply >= MAX_PLY - 1 {
                return if self.pos(ply).in_check() {
                    0
                } else {
                    self.evaluate(ply)
                };
            }
            alpha = alpha.max(mated_in(ply));
            beta = beta.min(MATE - ply as i32 - 1);
            if alpha >= beta {
                return alpha;
            }
            if let Some(value) = self.wins_at_once(ply) {
                return value;
            }
        }
        let excluded = self.frames[ply].excluded;
        let key = self.pos(ply).key();
        let entry = if excluded == Move::NONE {
            self.shared.table.probe(key)
        } else {
            None
        };
        if !PV && let Some(value) = self.table_cutoff(ply, alpha, beta, depth, entry) {
            return value;
        }
        let mut node = self.open::<PV>(ply, beta, depth, cut, entry, excluded);
        if !PV
            && !node.in_check
            && excluded == Move::NONE
            && !node.must_capture
            && let Some(value) = self.prune_node(&node, alpha, beta)
        {
            return value;
        }
        if self.stopped {
            return 0;
        }
        if R::DROPS
            && ply > 0
            && !node.in_check
            && excluded == Move::NONE
            && beta < MATE_BOUND
            && (0..MATE_BOUND).contains(&node.eval)
            && let Some(value) = self.mate_by_checks(ply, depth)
        {
            return value;
        }
        // Without a move from the table the order is poor: a shallower search finds one.
        if node.table_move == Move::NONE && node.depth >= 4 && (PV || cut) {
            node.depth -= 1;
        }
        self.search_moves::<PV>(&node, alpha, beta)
    }

    fn table_cutoff(
        &self,
        ply: usize,
        alpha: i32,
        beta: i32,
        depth: i32,
        entry: Option<Entry>,
    ) -> Option<i32> {
        let entry = entry?;
        let score = from_table(i32::from(entry.score), ply);
        let is_fresh = R::DROPS || self.pos(ply).halfmoves() < 90;
        (i32::from(entry.depth) >= depth
            && is_fresh
            && allows_cutoff(entry.bound, score, alpha, beta))
        .then_some(score)
    }

    fn open<const PV: bool>(
        &mut self,
        ply: usize,
        beta: i32,
        depth: i32,
        cut: bool,
        entry: Option<Entry>,
        excluded: Move,
    ) -> Node {
        let in_check = self.pos(ply).in_check();
        let mut table_move = entry.map_or(Move::NONE, |e| e.best);
        if ply == 0 {
            table_move = self.root_moves[self.root_first].m;
        } else if table_move != Move::NONE && !self.pos(ply).is_legal(table_move) {
            table_move = Move::NONE;
        }
        let eval = self.static_eval(ply, in_check, entry, excluded);
        let improving = !in_check
            && (ply < 2
                || self.frames[ply - 2].eval == INFINITE
                || self.frames[ply].eval > self.frames[ply - 2].eval);
        self.frames[ply + 1].killers = [Move::NONE; 2];
        self.frames[ply + 1].cutoffs = 0;
        self.frames[ply].double_extensions = if ply > 0 {
            self.frames[ply - 1].double_extensions
        } else {
            0
        };
        Node {
            ply,
            depth,
            beta,
            in_check,
            eval,
            improving,
            cut,
            was_pv: PV || entry.is_some_and(|e| e.was_pv),
            table_move,
            table_entry: entry,
            excluded,
            must_capture: R::MUST_CAPTURE && self.pos(ply).must_capture(),
        }
    }

    /// Sets the frame's evaluation and returns it, bettered by the table's bound.
    fn static_eval(
        &mut self,
        ply: usize,
        in_check: bool,
        entry: Option<Entry>,
        excluded: Move,
    ) -> i32 {
        if in_check {
            self.frames[ply].eval = INFINITE;
            return -INFINITE;
        }
        if excluded != Move::NONE {
            return self.frames[ply].eval;
        }
        let raw = match entry {
            Some(entry) if is_taken(entry.eval) => i32::from(entry.eval),
            _ => {
                let raw = self.evaluate(ply);
                if entry.is_none() {
                    self.shared.table.store(
                        self.pos(ply).key(),
                        Entry {
                            best: Move::NONE,
                            score: (-INFINITE) as i16,
                            eval: raw as i16,
                            depth: 0,
                            bound: Bound::Lower,
                            was_pv: false,
                        },
                    );
                }
                raw
            }
        };
        let eval = self.corrected(ply, raw);
        self.frames[ply].eval = eval;
        let Some(entry) = entry else { return eval };
        let score = from_table(i32::from(entry.score), ply);
        let better = match entry.bound {
            Bound::Exact => true,
            Bound::Lower => score > eval,
            Bound::Upper => score < eval,
        };
        if better && score.abs() < MATE_BOUND {
            score
        } else {
            eval
        }
    }

    /// Gives up a node that is too good or too bad to need its moves.
    fn prune_node(&mut self, node: &Node, alpha: i32, beta: i32) -> Option<i32> {
        let Node {
            ply, depth, eval, ..
        } = *node;
        let params = self.params;
        if params.razoring > 0 && depth <= 3 && eval + params.razoring * depth < alpha {
            let value = self.quiescence(ply, alpha, alpha + 1, 0);
            if value <= alpha || self.stopped {
                return Some(value);
            }
        }
        if params.reverse_futility > 0 && depth <= 8 && eval < MATE_BOUND && beta > -MATE_BOUND {
            let margin = params.reverse_futility * (depth - i32::from(node.improving));
            if eval - margin >= beta {
                return Some((eval + beta) / 2);
            }
        }
        let after_null = ply > 0 && self.frames[ply - 1].played == Move::NONE;
        if depth >= params.null_depth
            && !after_null
            && eval >= beta
            && self.frames[ply].eval + 20 * depth >= beta + 60
            && beta > -MATE_BOUND
            && ply >= self.null_from
            && self.has_pieces(ply)
        {
            return self.try_null(node, beta);
        }
        None
    }

    fn try_null(&mut self, node: &Node, beta: i32) -> Option<i32> {
        let ply = node.ply;
        let surplus = ((node.eval - beta) / 200).clamp(0, 3);
        let reduction =
            self.params.null_reduction / 4 + node.depth * self.params.null_slope / 16 + surplus;
        self.make_null(ply);
        let value =
            -self.search::<false>(ply + 1, -beta, -beta + 1, node.depth - reduction, !node.cut);
        self.unmake();
        if self.stopped {
            return Some(0);
        }
        if value < beta {
            return None;
        }
        let value = if value >= MATE_BOUND { beta } else { value };
        if node.depth < 12 || self.null_from > 0 {
            return Some(value);
        }
        // At depth the refutation is verified without passing, against positions in which to move is to lose.
        self.null_from = ply + (node.depth - reduction).max(0) as usize * 3 / 4;
        let verified = self.search::<false>(ply, beta - 1, beta, node.depth - reduction, false);
        self.null_from = 0;
        (verified >= beta).then_some(value)
    }

    /// Whether the side to move has more than pawns and king, so that passing is no worse than moving.
    fn has_pieces(&self, ply: usize) -> bool {
        let pos = self.pos(ply);
        let us = pos.turn();
        let rest = pos.side(us) & !(pos.role(Role::Pawn) | pos.role(Role::King));
        rest.any() || (R::HORDE && us == Color::White)
    }

    fn search_moves<const PV: bool>(&mut self, node: &Node, mut alpha: i32, beta: i32) -> i32 {
        let ply = node.ply;
        let original_alpha = alpha;
        let rows = self.rows(ply);
        let info = self.pos(ply).check_info();
        let killers = self.frames[ply].killers;
        let mut picker = Picker::new(self, ply, node.table_move, killers, rows);
        let mut tried = Tried::new();
        let mut best = -INFINITE;
        let mut best_move = Move::NONE;
        let mut count = 0;
        while let Some(m) = picker.next(self, ply) {
            if m == node.excluded || (ply == 0 && !self.is_root_candidate(m)) {
                continue;
            }
            count += 1;
            let quiet = is_quiet(self.pos(ply), m);
            if ply > 0
                && best > -MATE_BOUND
                && !node.must_capture
                && self.prune_move(node, m, quiet, count, alpha, &info, &mut picker, &rows)
            {
                continue;
            }
            let extension = self.extension(node, m, beta);
            if let Extension::Cutoff(value) = extension {
                picker.finish(self);
                return value;
            }
            if self.stopped {
                picker.finish(self);
                return 0;
            }
            let nodes_before = self.nodes;
            let value = self.try_move::<PV>(node, m, quiet, count, extension.plies(), alpha, &rows);
            if self.stopped {
                picker.finish(self);
                return 0;
            }
            if ply == 0 {
                self.note_root(m, value, count, alpha, beta, self.nodes - nodes_before);
            }
            if value > best {
                best = value;
                if value > alpha {
                    best_move = m;
                    if PV {
                        self.extend_pv(ply, m);
                    }
                    if value >= beta {
                        self.reward(node, m, quiet, &tried, &rows);
                        break;
                    }
                    alpha = value;
                }
            }
            tried.push(m, quiet);
        }
        picker.finish(self);
        if count == 0 {
            if node.excluded != Move::NONE {
                return alpha;
            }
            return self.value_of(R::no_moves(self.pos(ply)), ply);
        }
        self.close(node, best, best_move, original_alpha, beta);
        best
    }

    /// Remembers what was found.
    fn close(&mut self, node: &Node, best: i32, best_move: Move, alpha: i32, beta: i32) {
        let ply = node.ply;
        if node.excluded != Move::NONE || (ply == 0 && self.root_first > 0) {
            return;
        }
        let bound = if best >= beta {
            Bound::Lower
        } else if best > alpha {
            Bound::Exact
        } else {
            Bound::Upper
        };
        let static_eval = self.frames[ply].eval;
        let is_quiet_best = best_move == Move::NONE || is_quiet(self.pos(ply), best_move);
        let contradicts = match bound {
            Bound::Exact => true,
            Bound::Lower => best > static_eval,
            Bound::Upper => best < static_eval,
        };
        if !node.in_check && is_quiet_best && contradicts && best.abs() < MATE_BOUND {
            let pos = self.pos(ply);
            let (turn, pawn_key, hand_key) = (pos.turn(), pos.pawn_key(), self.hand_key(ply));
            self.history.update_correction(
                turn,
                pawn_key,
                hand_key,
                best - static_eval,
                node.depth.min(16),
            );
        }
        let raw = match node.table_entry {
            Some(entry) if is_taken(entry.eval) => entry.eval,
            _ if node.in_check => NO_EVAL,
            _ => self.evaluate_again(ply),
        };
        self.shared.table.store(
            self.pos(ply).key(),
            Entry {
                best: best_move,
                score: to_table(best, ply) as i16,
                eval: raw,
                depth: node.depth.clamp(0, 255) as u8,
                bound,
                was_pv: node.was_pv,
            },
        );
    }

    /// The uncorrected evaluation, which `open` has put into the table unless somebody pushed it out.
    fn evaluate_again(&mut self, ply: usize) -> i16 {
        match self.shared.table.probe(self.pos(ply).key()) {
            Some(entry) if is_taken(entry.eval) => entry.eval,
            _ => self.evaluate(ply) as i16,
        }
    }

    /// Whether a late or losing move is left out. May tell the picker to skip the rest.
    #[expect(
        clippy::too_many_arguments,
        reason = "the move loop's state, passed on in registers"
    )]
    #[inline(always)]
    fn prune_move(
        &self,
        node: &Node,
        m: Move,
        quiet: bool,
        count: i32,
        alpha: i32,
        info: &CheckInfo<R>,
        picker: &mut Picker,
        rows: &[Row; 3],
    ) -> bool {
        let pos = self.pos(node.ply);
        let params = &self.params;
        let depth = node.depth;
        if R::CHECKS_TO_WIN > 0 && pos.gives_check(m, info) {
            // A check is a third of the win, whatever it costs.
            return depth <= 7 && !see_ge(pos, m, -params.check_loss * depth, &self.values);
        }
        if quiet {
            if count > self.late_move_limit(depth, node.improving) {
                picker.skip_quiets = true;
                return true;
            }
            if node.in_check {
                return false;
            }
            let checks = pos.gives_check(m, info);
            let reduced = (depth - self.reduction(depth, count as usize) / 1024).max(1);
            let margin = params.futility_base + params.futility_ply * reduced;
            if !checks && reduced <= 8 && node.eval + margin <= alpha {
                picker.skip_quiets = true;
                return true;
            }
            let (origin, piece) = origin_and_piece(pos, m);
            let value = self.history.quiet(pos.turn(), origin, piece, m, rows);
            if depth <= 5 && value < -params.history_pruning * depth {
                return true;
            }
            return depth <= 8
                && !R::ATOMIC
                && !see_ge(pos, m, -params.see_quiet * reduced, &self.values);
        }
        depth <= 7 && !R::ATOMIC && !see_ge(pos, m, -params.see_capture * depth, &self.values)
    }

    #[inline(always)]
    fn late_move_limit(&self, depth: i32, improving: bool) -> i32 {
        let limit = (self.params.late_base + self.params.late_factor * depth * depth) / 4;
        if improving { limit } else { limit / 2 + 1 }
    }

    /// Plies by which a move is extended, or a proof that the node fails high anyway.
    fn extension(&mut self, node: &Node, m: Move, beta: i32) -> Extension {
        let Node { ply, depth, .. } = *node;
        let Some(entry) = node.table_entry else {
            return Extension::Plies(0);
        };
        let score = from_table(i32::from(entry.score), ply);
        let is_candidate = ply > 0
            && m == node.table_move
            && depth >= 7
            && node.excluded == Move::NONE
            && entry.bound != Bound::Upper
            && i32::from(entry.depth) >= depth - 3
            && score.abs() < MATE_BOUND
            && ply < 2 * self.root_depth as usize;
        if !is_candidate {
            return Extension::Plies(0);
        }
        let target = score - self.params.singular_margin * depth / 8;
        self.frames[ply].excluded = m;
        let eval = self.frames[ply].eval;
        let value = self.search::<false>(ply, target - 1, target, (depth - 1) / 2, node.cut);
        self.frames[ply].excluded = Move::NONE;
        self.frames[ply].eval = eval;
        if value < target {
            let twice = value < target - 25 && self.frames[ply].double_extensions < 6;
            if twice {
                self.frames[ply].double_extensions += 1;
            }
            return Extension::Plies(1 + i32::from(twice));
        }
        if target >= beta {
            // Even without its best move the node fails high.
            return Extension::Cutoff(target);
        }
        if score >= beta {
            return Extension::Plies(-1);
        }
        Extension::Plies(0)
    }

    /// Searches one move, first reduced and with an empty window where that is enough.
    #[expect(
        clippy::too_many_arguments,
        reason = "the move loop's state, passed on in registers"
    )]
    #[inline(always)]
    fn try_move<const PV: bool>(
        &mut self,
        node: &Node,
        m: Move,
        quiet: bool,
        count: i32,
        extension: i32,
        alpha: i32,
        rows: &[Row; 3],
    ) -> i32 {
        let Node { ply, depth, .. } = *node;
        let beta = node.beta;
        let late = depth >= 2 && count > 1 + i32::from(PV) + i32::from(ply == 0);
        let history = if late && quiet {
            let pos = self.pos(ply);
            let (origin, piece) = origin_and_piece(pos, m);
            self.history.quiet(pos.turn(), origin, piece, m, rows)
        } else {
            0
        };
        self.make(ply, m);
        let new_depth = depth - 1 + extension;
        let mut value = -INFINITE;
        let mut full = !PV || count > 1;
        if late {
            let reduction = self.late_reduction::<PV>(node, m, quiet, count, history);
            let reduced = (new_depth - reduction).clamp(1, new_depth.max(1));
            value = -self.search::<false>(ply + 1, -alpha - 1, -alpha, reduced, true);
            full = value > alpha && reduced < new_depth;
        }
        if full && (late || !PV || count > 1) {
            value = -self.search::<false>(ply + 1, -alpha - 1, -alpha, new_depth, !node.cut);
        }
        if PV && (count == 1 || value > alpha) {
            value = -self.search::<true>(ply + 1, -beta, -alpha, new_depth, false);
        }
        self.unmake();
        value
    }

    /// Plies taken off a late move.
    #[inline(always)]
    fn late_reduction<const PV: bool>(
        &self,
        node: &Node,
        m: Move,
        quiet: bool,
        count: i32,
        history: i32,
    ) -> i32 {
        let params = &self.params;
        let mut reduction = self.reduction(node.depth, count as usize);
        if !quiet {
            reduction = reduction / 2 - 512;
        } else {
            reduction -= history * 1024 / params.reduction_history;
            if self.frames[node.ply].killers.contains(&m) {
                reduction -= 1024;
            }
        }
        if node.was_pv {
            reduction -= params.reduction_pv + if PV { 512 } else { 0 };
        }
        if node.cut {
            reduction += params.reduction_cut;
        }
        if !node.improving {
            reduction += params.reduction_worse;
        }
        if self.pos(node.ply + 1).in_check() {
            reduction -= params.reduction_check;
        }
        if self.frames[node.ply + 1].cutoffs > 3 {
            reduction += 768;
        }
        if node.in_check {
            reduction -= 512;
        }
        reduction / 1024
    }

    /// The moves that were tried before lose, the one that refuted wins.
    fn reward(&mut self, node: &Node, m: Move, quiet: bool, tried: &Tried, rows: &[Row; 3]) {
        let ply = node.ply;
        self.frames[ply].cutoffs += 1;
        let bonus = (170 * node.depth - 80).clamp(40, 1800);
        let turn = self.pos(ply).turn();
        if quiet {
            let killers = &mut self.frames[ply].killers;
            if killers[0] != m {
                *killers = [m, killers[0]];
            }
            let (origin, piece) = origin_and_piece(self.pos(ply), m);
            self.history
                .update_quiet(turn, origin, piece, m, rows, bonus);
            for &other in &tried.quiets[..tried.n_quiets] {
                let (origin, piece) = origin_and_piece(self.pos(ply), other);
                self.history
                    .update_quiet(turn, origin, piece, other, rows, -bonus);
            }
        } else {
            let (_, piece) = origin_and_piece(self.pos(ply), m);
            let taken = victim(self.pos(ply), m);
            self.history.update_capture(piece, m.to(), taken, bonus);
        }
        for &other in &tried.noisy[..tried.n_noisy] {
            let (_, piece) = origin_and_piece(self.pos(ply), other);
            let taken = victim(self.pos(ply), other);
            self.history
                .update_capture(piece, other.to(), taken, -bonus);
        }
    }

    fn is_root_candidate(&self, m: Move) -> bool {
        self.root_moves[self.root_first..]
            .iter()
            .any(|root| root.m == m)
    }

    fn note_root(&mut self, m: Move, value: i32, count: i32, alpha: i32, beta: i32, nodes: u64) {
        let pv: Vec<Move> = if value > alpha || count == 1 {
            std::iter::once(m)
                .chain(self.pv(1).iter().copied())
                .collect()
        } else {
            Vec::new()
        };
        let seldepth = self.seldepth as u32;
        let Some(root) = self.root_moves.iter_mut().find(|root| root.m == m) else {
            return;
        };
        root.nodes += nodes;
        if count == 1 || value > alpha {
            root.score = value;
            root.seldepth = seldepth;
            // A line cut short by the window keeps what was known to follow.
            if value < beta || root.pv.len() < pv.len() {
                root.pv = pv;
            }
        } else {
            root.score = -INFINITE;
        }
    }
}

/// What was found about extending a move.
#[derive(Clone, Copy, Debug)]
enum Extension {
    Plies(i32),
    Cutoff(i32),
}

impl Extension {
    const fn plies(self) -> i32 {
        match self {
            Self::Plies(plies) => plies,
            Self::Cutoff(_) => 0,
        }
    }
}
