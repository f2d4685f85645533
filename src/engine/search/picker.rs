//! Moves in the order in which they are worth trying, generated only as far as needed.

use super::history::{History, Row};
use super::worker::Worker;
use crate::engine::see::{see_ge, value_on};
use crate::rules::bits::Bits;
use crate::rules::generate::Kinds;
use crate::rules::geometry::Geometry;
use crate::rules::pos::Pos;
use crate::rules::variants::Rules;
use crate::rules::{Move, Role};

/// A move with its value for ordering.
#[derive(Clone, Copy, Debug)]
pub struct Scored {
    pub m: Move,
    pub value: i32,
}

/// Where a picker stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Table,
    MakeNoisy,
    Noisy,
    Killers(u8),
    MakeQuiet,
    Quiet,
    BadNoisy,
    MakeAll,
    All,
    Done,
}

/// The moves of one node. They lie in the worker's arena between `start` and the arena's end, which is cut back by
/// [`Picker::finish`].
#[derive(Debug)]
pub struct Picker {
    stage: Stage,
    table_move: Move,
    killers: [Move; 2],
    start: usize,
    /// Losing captures are kept here, at the front, for the end.
    bad_end: usize,
    next: usize,
    end: usize,
    /// Quiet moves are left out from now on.
    pub skip_quiets: bool,
    rows: [Row; 3],
}

impl Picker {
    /// Moves of a node; `table_move` must be legal or none.
    pub fn new<R: Rules>(
        worker: &Worker<R>,
        ply: usize,
        table_move: Move,
        killers: [Move; 2],
        rows: [Row; 3],
    ) -> Self {
        let pos = worker.pos(ply);
        let all_at_once = pos.in_check() || R::MUST_CAPTURE;
        let start = worker.arena.len();
        Self {
            stage: if table_move != Move::NONE {
                Stage::Table
            } else if all_at_once {
                Stage::MakeAll
            } else {
                Stage::MakeNoisy
            },
            table_move,
            killers,
            start,
            bad_end: start,
            next: start,
            end: start,
            skip_quiets: false,
            rows,
        }
    }

    /// Gives the arena back.
    pub fn finish<R: Rules>(&self, worker: &mut Worker<R>) {
        worker.arena.truncate(self.start);
    }

    /// The next move, if there is one.
    pub fn next<R: Rules>(&mut self, worker: &mut Worker<R>, ply: usize) -> Option<Move> {
        loop {
            match self.stage {
                Stage::Table => {
                    let pos = worker.pos(ply);
                    self.stage = if pos.in_check() || R::MUST_CAPTURE {
                        Stage::MakeAll
                    } else {
                        Stage::MakeNoisy
                    };
                    return Some(self.table_move);
                }
                Stage::MakeNoisy => {
                    worker.append(ply, Kinds::NOISY);
                    self.end = worker.arena.len();
                    score_noisy(worker, ply, self.start);
                    self.stage = Stage::Noisy;
                }
                Stage::Noisy => {
                    let Some(best) = self.best(worker) else {
                        self.stage = Stage::Killers(0);
                        continue;
                    };
                    if best.m == self.table_move {
                        continue;
                    }
                    let threshold = -best.value.max(0) / 64;
                    if !see_ge(worker.pos(ply), best.m, threshold, &worker.values) {
                        worker.arena[self.bad_end] = best;
                        self.bad_end += 1;
                        continue;
                    }
                    return Some(best.m);
                }
                Stage::Killers(n) => {
                    if n >= 2 {
                        self.stage = Stage::MakeQuiet;
                        continue;
                    }
                    self.stage = Stage::Killers(n + 1);
                    let m = self.killers[usize::from(n)];
                    if self.skip_quiets || m == Move::NONE || m == self.table_move {
                        continue;
                    }
                    let pos = worker.pos(ply);
                    if is_quiet(pos, m) && pos.is_legal(m) {
                        return Some(m);
                    }
                }
                Stage::MakeQuiet => {
                    self.next = self.bad_end;
                    worker.arena.truncate(self.bad_end);
                    if !self.skip_quiets {
                        worker.append(ply, Kinds::QUIETS);
                        worker.append(ply, Kinds::DROPS);
                        score_quiet(worker, ply, self.bad_end, &self.rows);
                    }
                    self.end = worker.arena.len();
                    self.stage = Stage::Quiet;
                }
                Stage::Quiet => {
                    let best = if self.skip_quiets {
                        None
                    } else {
                        self.best(worker)
                    };
                    let Some(best) = best else {
                        self.next = self.start;
                        self.stage = Stage::BadNoisy;
                        continue;
                    };
                    if best.m == self.table_move || self.killers.contains(&best.m) {
                        continue;
                    }
                    return Some(best.m);
                }
                Stage::BadNoisy => {
                    if self.next >= self.bad_end {
                        self.stage = Stage::Done;
                        continue;
                    }
                    let m = worker.arena[self.next].m;
                    self.next += 1;
                    return Some(m);
                }
                Stage::MakeAll => {
                    worker.append(ply, Kinds::ALL);
                    self.end = worker.arena.len();
                    score_all(worker, ply, self.start, &self.rows);
                    self.stage = Stage::All;
                }
                Stage::All => {
                    let Some(best) = self.best(worker) else {
                        self.stage = Stage::Done;
                        continue;
                    };
                    if best.m == self.table_move
                        || (self.skip_quiets && is_quiet(worker.pos(ply), best.m))
                    {
                        continue;
                    }
                    return Some(best.m);
                }
                Stage::Done => return None,
            }
        }
    }

    /// Takes the best of the remaining moves out.
    #[inline(always)]
    fn best<R: Rules>(&mut self, worker: &mut Worker<R>) -> Option<Scored> {
        let rest = worker.arena.get_mut(self.next..self.end)?;
        let (first, others) = rest.split_first_mut()?;
        let mut at = None;
        let mut value = first.value;
        for (index, scored) in others.iter().enumerate() {
            if scored.value > value {
                value = scored.value;
                at = Some(index);
            }
        }
        if let Some(index) = at {
            std::mem::swap(first, &mut others[index]);
        }
        self.next += 1;
        Some(*first)
    }
}

/// Whether a move neither captures nor promotes.
#[inline(always)]
pub fn is_quiet<R: Rules>(pos: &Pos<R>, m: Move) -> bool {
    m.is_drop()
        || m.is_castle()
        || (!m.is_promotion() && !m.is_en_passant() && pos.code(m.to()) >= 16)
}

/// Origin for the history tables (80 + role for drops) and code of the moved piece.
#[inline(always)]
pub fn origin_and_piece<R: Rules>(pos: &Pos<R>, m: Move) -> (u8, u8) {
    let us = pos.turn();
    if m.is_drop() {
        let role = m.drop_role() as u8;
        return (80 + role, us as u8 * 8 + role);
    }
    let from = m.from(R::G::FILES, us);
    (from, pos.code(from) & 15)
}

/// Role index of what a move captures; the pawn for promotions without capture.
#[inline(always)]
pub fn victim<R: Rules>(pos: &Pos<R>, m: Move) -> u8 {
    let code = pos.code(m.to());
    if code < 16 {
        code & 7
    } else {
        Role::Pawn as u8
    }
}

#[inline(always)]
fn noisy_value<R: Rules>(worker: &Worker<R>, pos: &Pos<R>, m: Move) -> i32 {
    let (_, piece) = origin_and_piece(pos, m);
    let mut value = 7 * value_on(pos, m.to(), &worker.values);
    if m.is_promotion() {
        value += if m.promotion_role() == Role::Queen {
            4_000
        } else {
            -4_000
        };
    }
    value * 4 + worker.history.capture(piece, m.to(), victim(pos, m))
}

fn score_noisy<R: Rules>(worker: &mut Worker<R>, ply: usize, from: usize) {
    for index in from..worker.arena.len() {
        let m = worker.arena[index].m;
        worker.arena[index].value = noisy_value(worker, worker.pos(ply), m);
    }
}

#[inline(always)]
fn quiet_value<R: Rules>(history: &History, pos: &Pos<R>, m: Move, rows: &[Row; 3]) -> i32 {
    let (origin, piece) = origin_and_piece(pos, m);
    history.quiet(pos.turn(), origin, piece, m, rows)
}

fn score_quiet<R: Rules>(worker: &mut Worker<R>, ply: usize, from: usize, rows: &[Row; 3]) {
    let info = worker.pos(ply).check_info();
    for index in from..worker.arena.len() {
        let m = worker.arena[index].m;
        let pos = worker.pos(ply);
        let mut value = quiet_value(&worker.history, pos, m, rows);
        if m.is_drop() {
            if info.squares[m.drop_role().index()].has(m.to()) {
                value += worker.params.check_bonus;
            }
        } else {
            let role = usize::from(pos.code(m.from(R::G::FILES, pos.turn())) & 7);
            if info.squares[role].has(m.to()) {
                value += worker.params.check_bonus;
            }
        }
        worker.arena[index].value = value;
    }
}

fn score_all<R: Rules>(worker: &mut Worker<R>, ply: usize, from: usize, rows: &[Row; 3]) {
    for index in from..worker.arena.len() {
        let m = worker.arena[index].m;
        let pos = worker.pos(ply);
        worker.arena[index].value = if is_quiet(pos, m) {
            quiet_value(&worker.history, pos, m, rows)
        } else {
            1_000_000 + noisy_value(worker, pos, m)
        };
    }
}
