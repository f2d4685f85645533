//! Search of captures and checks until the position is quiet enough to be evaluated.

use super::picker::{Picker, Scored, is_quiet, victim};
use super::worker::{INFINITE, MATE_BOUND, MAX_PLY, Worker, mated_in};
use crate::engine::report::Bound;
use crate::engine::see::{see_ge, value_on};
use crate::engine::transposition::{Entry, NO_EVAL};
use crate::rules::bits::Bits;
use crate::rules::checks::CheckInfo;
use crate::rules::generate::Kinds;
use crate::rules::geometry::Geometry;
use crate::rules::variants::Rules;
use crate::rules::{Move, Role};

/// Plies of quiescence after which a line is given up: exchanges and drops can go round for ever.
const LIMIT: i32 = -24;

impl<R: Rules> Worker<R> {
    /// Value of the position once captures and checks have been tried. `depth` is 0 at the first ply and falls.
    pub fn quiescence(&mut self, ply: usize, mut alpha: i32, beta: i32, depth: i32) -> i32 {
        self.clear_pv(ply);
        if self.check_stop() {
            return 0;
        }
        self.seldepth = self.seldepth.max(ply);
        if let Some(value) = self.ended(ply) {
            return value;
        }
        if let Some(value) = self.wins_at_once(ply) {
            return value;
        }
        let in_check = self.pos(ply).in_check();
        if ply >= MAX_PLY - 1 || depth <= LIMIT {
            return if in_check { 0 } else { self.evaluate(ply) };
        }
        let key = self.pos(ply).key();
        let entry = self.shared.table.probe(key);
        if let Some(entry) = entry
            && beta - alpha == 1
        {
            let score = from_table(i32::from(entry.score), ply);
            if allows_cutoff(entry.bound, score, alpha, beta) {
                return score;
            }
        }
        let forced = in_check || (R::MUST_CAPTURE && self.pos(ply).must_capture());
        let mut best = -INFINITE;
        let mut raw = NO_EVAL;
        if !forced {
            raw = entry.map_or(NO_EVAL, |e| e.eval);
            if raw == NO_EVAL {
                raw = self.evaluate(ply) as i16;
            }
            best = self.corrected(ply, i32::from(raw));
            if let Some(entry) = entry {
                let score = from_table(i32::from(entry.score), ply);
                let better = match entry.bound {
                    Bound::Exact => true,
                    Bound::Lower => score > best,
                    Bound::Upper => score < best,
                };
                if better && score.abs() < MATE_BOUND {
                    best = score;
                }
            }
            if best >= beta {
                return best;
            }
            alpha = alpha.max(best);
        } else if !in_check && depth <= LIMIT / 2 {
            // Compulsory captures follow one another; half the way down the evaluation has to do.
            return self.evaluate(ply);
        }
        let stand = best;
        let original_alpha = alpha;
        let table_move = self.usable_table_move(ply, entry, forced);
        let result = if forced {
            self.try_forced(ply, alpha, beta, depth, table_move)
        } else {
            self.try_noisy(ply, alpha, beta, depth, stand, table_move)
        };
        let Some((value, best_move, count)) = result else {
            return 0;
        };
        if in_check && count == 0 {
            return self.value_of(R::no_moves(self.pos(ply)), ply);
        }
        best = best.max(value);
        let bound = if best >= beta {
            Bound::Lower
        } else if best > original_alpha {
            Bound::Exact
        } else {
            Bound::Upper
        };
        self.shared.table.store(
            key,
            Entry {
                best: best_move,
                score: to_table(best, ply) as i16,
                eval: raw,
                depth: 0,
                bound,
                was_pv: entry.is_some_and(|e| e.was_pv),
            },
        );
        best
    }

    fn usable_table_move(&self, ply: usize, entry: Option<Entry>, forced: bool) -> Move {
        let m = entry.map_or(Move::NONE, |e| e.best);
        let pos = self.pos(ply);
        if m == Move::NONE || !pos.is_legal(m) || (!forced && is_quiet(pos, m)) {
            Move::NONE
        } else {
            m
        }
    }

    /// All moves, for positions in check or under compulsion. (value, move, moves tried); `None` if stopped.
    fn try_forced(
        &mut self,
        ply: usize,
        mut alpha: i32,
        beta: i32,
        depth: i32,
        table_move: Move,
    ) -> Option<(i32, Move, usize)> {
        let rows = self.rows(ply);
        let mut picker = Picker::new(self, ply, table_move, [Move::NONE; 2], rows);
        let mut best = -INFINITE;
        let mut best_move = Move::NONE;
        let mut count = 0;
        while let Some(m) = picker.next(self, ply) {
            count += 1;
            if best > -MATE_BOUND && count > 2 && !R::MUST_CAPTURE {
                let pos = self.pos(ply);
                if is_quiet(pos, m) {
                    if count > self.params.evasions as usize {
                        picker.skip_quiets = true;
                        continue;
                    }
                } else if !see_ge(pos, m, 0, &self.values) {
                    continue;
                }
            }
            self.make(ply, m);
            let value = -self.quiescence(ply + 1, -beta, -alpha, depth - 1);
            self.unmake();
            if self.stopped {
                picker.finish(self);
                return None;
            }
            if value > best {
                best = value;
                best_move = m;
                if value > alpha {
                    alpha = value;
                    self.extend_pv(ply, m);
                    if value >= beta {
                        break;
                    }
                }
            }
        }
        picker.finish(self);
        Some((best, best_move, count))
    }

    /// Captures, promotions and, at the first plies, quiet checks and drops with check.
    fn try_noisy(
        &mut self,
        ply: usize,
        mut alpha: i32,
        beta: i32,
        depth: i32,
        stand: i32,
        table_move: Move,
    ) -> Option<(i32, Move, usize)> {
        let start = self.arena.len();
        if R::MUST_CAPTURE {
            // No capture is legal here, or the position would be forced: only promotions are left.
            self.append(ply, Kinds::NOISY);
        } else {
            self.append(ply, Kinds::NOISY);
            self.score_noisy_from(ply, start, table_move);
            if depth > -self.params.check_plies {
                self.append_checks(ply);
            }
        }
        let end = self.arena.len();
        // Only three-check asks of captures too whether they give check.
        let info = (R::CHECKS_TO_WIN > 0).then(|| self.pos(ply).check_info());
        let mut best = -INFINITE;
        let mut best_move = Move::NONE;
        let mut count = 0;
        for next in start..end {
            let m = self.take_best(next, end);
            let pos = self.pos(ply);
            let quiet = is_quiet(pos, m);
            if best > -MATE_BOUND && stand > -MATE_BOUND && !R::ATOMIC {
                let loss = self.check_loss(ply, m, quiet, info.as_ref());
                if !quiet && loss == 0 {
                    let gain = value_on(pos, m.to(), &self.values);
                    let optimistic = stand + self.params.quiescence_futility + gain;
                    if optimistic <= alpha && !m.is_promotion() {
                        best = best.max(optimistic);
                        continue;
                    }
                }
                if !see_ge(pos, m, -loss, &self.values) {
                    continue;
                }
            } else if !quiet && !R::ATOMIC && !see_ge(pos, m, 0, &self.values) {
                continue;
            }
            count += 1;
            self.make(ply, m);
            let value = -self.quiescence(ply + 1, -beta, -alpha, depth - 1);
            self.unmake();
            if self.stopped {
                self.arena.truncate(start);
                return None;
            }
            if value > best {
                best = value;
                best_move = m;
                if value > alpha {
                    alpha = value;
                    self.extend_pv(ply, m);
                    if value >= beta {
                        break;
                    }
                }
            }
        }
        self.arena.truncate(start);
        Some((best, best_move, count))
    }

    /// Material that a move may cost and still be tried because it gives check.
    #[inline(always)]
    fn check_loss(&self, ply: usize, m: Move, quiet: bool, info: Option<&CheckInfo<R>>) -> i32 {
        let Some(info) = info else {
            return if R::DROPS && quiet {
                self.params.check_loss
            } else {
                0
            };
        };
        let pos = self.pos(ply);
        if !quiet && !pos.gives_check(m, info) {
            return 0;
        }
        // Fewer checks left, more to pay.
        if pos.checks_left(pos.turn()) <= 2 {
            self.params.check_loss
        } else {
            self.params.check_loss / 2
        }
    }

    fn score_noisy_from(&mut self, ply: usize, start: usize, table_move: Move) {
        for index in start..self.arena.len() {
            let m = self.arena[index].m;
            let pos = self.pos(ply);
            let (_, piece) = super::picker::origin_and_piece(pos, m);
            let mut value = 28 * value_on(pos, m.to(), &self.values)
                + self.history.capture(piece, m.to(), victim(pos, m));
            if m.is_promotion() && m.promotion_role() == Role::Queen {
                value += 16_000;
            }
            if m == table_move {
                value = i32::MAX;
            }
            self.arena[index].value = value;
        }
    }

    /// Quiet board moves and drops that give check.
    fn append_checks(&mut self, ply: usize) {
        if R::NO_CHECKS || !R::is_royal(!self.pos(ply).turn()) {
            return;
        }
        let info = self.pos(ply).check_info();
        if R::DROPS {
            let pos = self.pos(ply);
            let hand = pos.hand(pos.turn());
            let mut found = [Scored {
                m: Move::NONE,
                value: 0,
            }; 64];
            let mut n = 0;
            for role in Role::ALL {
                if !hand.has(role) {
                    continue;
                }
                for to in (pos.drop_targets(role) & info.squares[role.index()]).squares() {
                    if n < found.len() {
                        // Contact checks cannot be answered by a drop between: they come first.
                        let m = Move::drop(role, to);
                        let value = -100_000 - self.values.captured[role.index()];
                        found[n] = Scored { m, value };
                        n += 1;
                    }
                }
            }
            self.arena.extend_from_slice(&found[..n]);
        }
        let from = self.arena.len();
        self.append(ply, Kinds::QUIETS);
        let mut kept = from;
        for index in from..self.arena.len() {
            let m = self.arena[index].m;
            let pos = self.pos(ply);
            let role = if m.is_castle() {
                None
            } else {
                let square = m.from(R::G::FILES, pos.turn());
                Some(usize::from(pos.code(square) & 7))
            };
            let is_direct = role.is_some_and(|role| info.squares[role].has(m.to()));
            if is_direct || pos.gives_check(m, &info) {
                self.arena[kept] = Scored { m, value: -99_000 };
                kept += 1;
            }
        }
        self.arena.truncate(kept);
    }

    #[inline(always)]
    fn take_best(&mut self, next: usize, end: usize) -> Move {
        let mut best = next;
        for index in next + 1..end {
            if self.arena[index].value > self.arena[best].value {
                best = index;
            }
        }
        self.arena.swap(next, best);
        self.arena[next].m
    }

    /// Value of a game that is over, or drawn by repetition or by the clock of quiet moves; `None` if it goes on.
    #[inline(always)]
    pub fn ended(&self, ply: usize) -> Option<i32> {
        let pos = self.pos(ply);
        if R::ENDS_BY_RULE
            && let Some(ending) = R::end(pos)
        {
            return Some(self.value_of(ending, ply));
        }
        if ply == 0 {
            return None;
        }
        if self.is_repeated(ply) {
            return Some(self.draw_value());
        }
        if !R::DROPS && pos.halfmoves() >= 100 && (!pos.in_check() || pos.has_legal_move()) {
            return Some(self.draw_value());
        }
        None
    }
}

/// A value as stored: mates count from the position and not from the root.
#[inline(always)]
pub const fn to_table(value: i32, ply: usize) -> i32 {
    if value >= MATE_BOUND {
        value + ply as i32
    } else if value <= -MATE_BOUND {
        value - ply as i32
    } else {
        value
    }
}

/// A stored value as the search counts it.
#[inline(always)]
pub const fn from_table(value: i32, ply: usize) -> i32 {
    if value >= MATE_BOUND {
        value - ply as i32
    } else if value <= -MATE_BOUND {
        value + ply as i32
    } else {
        value
    }
}

/// Whether a stored value settles a window.
#[inline(always)]
pub const fn allows_cutoff(bound: Bound, score: i32, alpha: i32, beta: i32) -> bool {
    match bound {
        Bound::Exact => true,
        Bound::Lower => score >= beta,
        Bound::Upper => score <= alpha,
    }
}

const _: () = assert!(mated_in(0) < -MATE_BOUND);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::engine::network::Networks;
    use crate::engine::search::AlphaBeta;
    use crate::engine::transposition::Table;
    use crate::engine::{limits::SearchLimits, report::SearchInfo, stop::StopFlag};
    use crate::rules::{AnyPos, CastlingMode, History, Position, Variant};

    /// The move after one ply of search.
    fn first_thought(variant: Variant, fen: &str) -> String {
        let position = Position::from_fen(variant, CastlingMode::Standard, fen).unwrap();
        let mut searcher =
            AlphaBeta::new(Arc::new(Table::new(1 << 20)), 1).with_networks(Networks::none());
        let history = History::new(position.clone());
        let (limits, stop) = (SearchLimits::depth(1), StopFlag::new());
        let mut quiet = |_: &SearchInfo| {};
        // Debug builds search few variants through the front door.
        let report = match history.position().any() {
            AnyPos::ThreeCheck(pos) => searcher.run(pos, &history, &limits, &stop, &mut quiet),
            AnyPos::KingOfTheHill(pos) => searcher.run(pos, &history, &limits, &stop, &mut quiet),
            AnyPos::RacingKings(pos) => searcher.run(pos, &history, &limits, &stop, &mut quiet),
            _ => panic!("{variant:?} has no goal"),
        };
        position.uci(report.best)
    }

    /// In each of them a piece hangs, but taking it allows a move that wins by the variant's rule and that no search of
    /// captures and sound checks looks at.
    #[test]
    fn the_goal_in_one_move_is_seen_beyond_the_last_ply() {
        // The third check costs the rook.
        let fen = "3r2k1/5ppp/8/n7/8/5B2/5PPP/R5K1 w - - 3+1 0 1";
        let best = first_thought(Variant::ThreeCheck, fen);
        assert!(["a1e1", "a1f1"].contains(&best.as_str()), "{best}");
        let fen = "q7/8/4k3/8/8/8/8/R5K1 w - - 0 1";
        assert_eq!(first_thought(Variant::KingOfTheHill, fen), "a1a5");
        let fen = "8/7k/8/8/8/2K5/8/Rq6 w - - 0 1";
        assert_eq!(first_thought(Variant::RacingKings, fen), "a1a8");
    }
}
