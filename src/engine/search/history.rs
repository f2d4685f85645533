//! What moves have done well before: tables learnt during a search and kept for the next one of the same game.

use super::super::transposition::NO_EVAL;
use crate::rules::{Color, Move};

/// Largest value of an entry; updates approach it ever more slowly.
pub const LIMIT: i32 = 16_384;

/// Piece codes: color * 8 + role.
const PIECES: usize = 16;
/// Squares of the wider board.
const SQUARES: usize = 80;
/// Origins: a square, or 80 + role for a drop.
const ORIGINS: usize = 88;
const CORRECTIONS: usize = 16_384;

/// Moves an entry toward `LIMIT` or its negative by a bonus.
#[inline(always)]
fn nudge(entry: &mut i16, bonus: i32) {
    let bonus = bonus.clamp(-LIMIT, LIMIT);
    let value = i32::from(*entry);
    *entry = (value + bonus - value * bonus.abs() / LIMIT) as i16;
}

/// Which move was made: the row of a continuation table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row(pub u32);

impl Row {
    /// No move, or a null move.
    pub const NONE: Self = Self(u32::MAX);
}

/// All tables of one search thread.
#[derive(Debug)]
pub struct History {
    /// Roles and squares of the board; the continuation table is as small as they allow, since it lives in the cache.
    roles: usize,
    squares: usize,
    butterfly: Vec<i16>,
    piece_to: Vec<i16>,
    captures: Vec<i16>,
    continuation: Vec<i16>,
    pawn_correction: Vec<i16>,
    hand_correction: Vec<i16>,
}

impl History {
    /// Empty tables for a board.
    pub fn new(roles: usize, squares: usize) -> Self {
        let rows = 2 * roles * squares;
        Self {
            roles,
            squares,
            butterfly: vec![0; 2 * ORIGINS * SQUARES],
            piece_to: vec![0; 2 * PIECES * SQUARES],
            captures: vec![0; PIECES * SQUARES * 8],
            continuation: vec![0; rows * rows],
            pawn_correction: vec![0; 2 * CORRECTIONS],
            hand_correction: vec![0; 2 * CORRECTIONS],
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        for table in [
            &mut self.butterfly,
            &mut self.piece_to,
            &mut self.captures,
            &mut self.continuation,
            &mut self.pawn_correction,
            &mut self.hand_correction,
        ] {
            table.fill(0);
        }
    }

    #[inline(always)]
    fn butterfly_place(color: Color, origin: u8, to: u8) -> usize {
        (color.index() * ORIGINS + usize::from(origin)) * SQUARES + usize::from(to)
    }

    #[inline(always)]
    fn piece_place(piece: u8, to: u8, is_drop: bool) -> usize {
        (usize::from(is_drop) * PIECES + usize::from(piece)) * SQUARES + usize::from(to)
    }

    #[inline(always)]
    fn capture_place(piece: u8, to: u8, victim: u8) -> usize {
        (usize::from(piece & 15) * SQUARES + usize::from(to)) * 8 + usize::from(victim & 7)
    }

    /// The row of a piece (mailbox code) going to a square.
    #[inline(always)]
    pub fn row(&self, piece: u8, to: u8) -> Row {
        let piece = usize::from(piece >> 3 & 1) * self.roles + usize::from(piece & 7);
        Row((piece * self.squares + usize::from(to)) as u32)
    }

    #[inline(always)]
    fn continuation_place(&self, row: Row, piece: u8, to: u8) -> usize {
        row.0 as usize * (2 * self.roles * self.squares) + self.row(piece, to).0 as usize
    }

    /// Value of a quiet move or drop. `origin` is its square, or 80 + role for a drop.
    #[inline(always)]
    pub fn quiet(&self, color: Color, origin: u8, piece: u8, m: Move, rows: &[Row; 3]) -> i32 {
        let to = m.to();
        let is_drop = origin >= SQUARES as u8;
        let mut value = i32::from(self.butterfly[Self::butterfly_place(color, origin, to)])
            + i32::from(self.piece_to[Self::piece_place(piece, to, is_drop)]);
        for &row in rows {
            if row != Row::NONE {
                value += i32::from(self.continuation[self.continuation_place(row, piece, to)]);
            }
        }
        value
    }

    /// Value of a capture.
    #[inline(always)]
    pub fn capture(&self, piece: u8, to: u8, victim: u8) -> i32 {
        i32::from(self.captures[Self::capture_place(piece, to, victim)])
    }

    /// A quiet move or drop did well (positive) or badly.
    pub fn update_quiet(
        &mut self,
        color: Color,
        origin: u8,
        piece: u8,
        m: Move,
        rows: &[Row; 3],
        bonus: i32,
    ) {
        let to = m.to();
        let is_drop = origin >= SQUARES as u8;
        nudge(
            &mut self.butterfly[Self::butterfly_place(color, origin, to)],
            bonus,
        );
        nudge(
            &mut self.piece_to[Self::piece_place(piece, to, is_drop)],
            bonus,
        );
        for &row in rows {
            if row != Row::NONE {
                let place = self.continuation_place(row, piece, to);
                nudge(&mut self.continuation[place], bonus);
            }
        }
    }

    /// A capture did well (positive) or badly.
    pub fn update_capture(&mut self, piece: u8, to: u8, victim: u8, bonus: i32) {
        nudge(
            &mut self.captures[Self::capture_place(piece, to, victim)],
            bonus,
        );
    }

    #[inline(always)]
    fn correction_place(color: Color, key: u64) -> usize {
        color.index() * CORRECTIONS + (key as usize & (CORRECTIONS - 1))
    }

    /// By how much the static evaluation of such positions was found wrong.
    #[inline(always)]
    pub fn correction(&self, color: Color, pawn_key: u64, hand_key: u64) -> i32 {
        let pawn = i32::from(self.pawn_correction[Self::correction_place(color, pawn_key)]);
        let hand = i32::from(self.hand_correction[Self::correction_place(color, hand_key)]);
        (pawn + hand) / 128
    }

    /// A search found the static evaluation wrong by `error`.
    pub fn update_correction(
        &mut self,
        color: Color,
        pawn_key: u64,
        hand_key: u64,
        error: i32,
        depth: i32,
    ) {
        let bonus = (error * depth * 8).clamp(-LIMIT / 4, LIMIT / 4);
        nudge(
            &mut self.pawn_correction[Self::correction_place(color, pawn_key)],
            bonus,
        );
        nudge(
            &mut self.hand_correction[Self::correction_place(color, hand_key)],
            bonus,
        );
    }
}

/// Whether a stored evaluation was taken.
pub const fn is_taken(eval: i16) -> bool {
    eval != NO_EVAL
}
