//! Moves in sixteen bits, the same layout on both boards.
//!
//! | bits | meaning |
//! |---|---|
//! | 0-6 | `to`: the square moved to or dropped on; for castling the own rook's square |
//! | 7-13 | `from`: the square left; 96 + role for a drop; direction * 8 + role for a promotion |
//! | 14-15 | 0 normal or drop, 1 castling, 2 en passant, 3 promotion |
//!
//! A promotion keeps its destination and says from which of the three squares behind it the pawn came: 0 the lower
//! file, 1 straight, 2 the higher file. The origin therefore needs the board's width and the mover's color.

use super::types::{Color, Role, Square};
use std::ops::Deref;

/// A move, legal only together with the position it was made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Move(pub u16);

/// A move taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MoveKind {
    /// A piece goes from one square to another, capturing what stands there.
    Normal {
        /// Square left.
        from: Square,
        /// Square reached.
        to: Square,
        /// What a pawn becomes on the last rank.
        promotion: Option<Role>,
    },
    /// A pawn takes a pawn that has just made a double step.
    EnPassant {
        /// Square left.
        from: Square,
        /// Square reached, behind the captured pawn.
        to: Square,
    },
    /// King and rook move together.
    Castle {
        /// The king's square.
        king: Square,
        /// The rook's square.
        rook: Square,
    },
    /// A piece from the pocket is put on an empty square.
    Drop {
        /// What is dropped.
        role: Role,
        /// Where.
        to: Square,
    },
}

const CASTLE: u16 = 1 << 14;
const EN_PASSANT: u16 = 2 << 14;
const PROMOTION: u16 = 3 << 14;
const DROP_BASE: u16 = 96;

impl Move {
    /// No move; never legal.
    pub const NONE: Self = Self(0);

    /// A normal move without promotion.
    #[inline(always)]
    #[must_use]
    pub const fn normal(from: u8, to: u8) -> Self {
        Self((from as u16) << 7 | to as u16)
    }

    /// A drop of a role on a square.
    #[inline(always)]
    #[must_use]
    pub const fn drop(role: Role, to: u8) -> Self {
        Self((DROP_BASE + role as u16) << 7 | to as u16)
    }

    /// Castling, written as king takes own rook.
    #[inline(always)]
    #[must_use]
    pub const fn castle(king: u8, rook: u8) -> Self {
        Self(CASTLE | (king as u16) << 7 | rook as u16)
    }

    /// An en-passant capture.
    #[inline(always)]
    #[must_use]
    pub const fn en_passant(from: u8, to: u8) -> Self {
        Self(EN_PASSANT | (from as u16) << 7 | to as u16)
    }

    /// A promotion; `from` must lie one rank behind `to`, at most one file away.
    #[inline(always)]
    #[must_use]
    pub const fn promotion(from: u8, to: u8, role: Role, files: u8) -> Self {
        let forward = to.abs_diff(from);
        // Seen from the higher index: the straight step is `files`; one less or more is a diagonal step.
        let toward_higher = if to > from {
            forward as i8 - files as i8
        } else {
            files as i8 - forward as i8
        };
        // The pawn came from the lower file when it moved toward the higher one.
        let direction = (1 - toward_higher) as u16;
        Self(PROMOTION | (direction << 3 | role as u16) << 7 | to as u16)
    }

    /// Destination; the rook's square for castling.
    #[inline(always)]
    #[must_use]
    pub const fn to(self) -> u8 {
        (self.0 & 127) as u8
    }

    #[inline(always)]
    const fn origin_field(self) -> u16 {
        self.0 >> 7 & 127
    }

    /// Whether a piece comes from the pocket.
    #[inline(always)]
    #[must_use]
    pub const fn is_drop(self) -> bool {
        self.0 >> 14 == 0 && self.origin_field() >= DROP_BASE
    }

    /// Whether king and rook move together.
    #[inline(always)]
    #[must_use]
    pub const fn is_castle(self) -> bool {
        self.0 >> 14 == 1
    }

    /// Whether a pawn is taken in passing.
    #[inline(always)]
    #[must_use]
    pub const fn is_en_passant(self) -> bool {
        self.0 >> 14 == 2
    }

    /// Whether a pawn promotes.
    #[inline(always)]
    #[must_use]
    pub const fn is_promotion(self) -> bool {
        self.0 >> 14 == 3
    }

    /// The role dropped; meaningless unless [`Self::is_drop`].
    #[inline(always)]
    #[must_use]
    pub const fn drop_role(self) -> Role {
        Role::from_index((self.origin_field() & 7) as usize)
    }

    /// The role promoted to; meaningless unless [`Self::is_promotion`].
    #[inline(always)]
    #[must_use]
    pub const fn promotion_role(self) -> Role {
        Role::from_index((self.origin_field() & 7) as usize)
    }

    /// Square left by a board move of `mover`; meaningless for a drop.
    #[inline(always)]
    #[must_use]
    pub const fn from(self, files: u8, mover: Color) -> u8 {
        if !self.is_promotion() {
            return self.origin_field() as u8;
        }
        // Direction 0 came from the lower file, 2 from the higher one.
        let direction = (self.origin_field() >> 3) as u8;
        let beside = self.to().wrapping_add(direction).wrapping_sub(1);
        match mover {
            Color::White => beside.wrapping_sub(files),
            Color::Black => beside.wrapping_add(files),
        }
    }

    /// Takes the move apart.
    #[must_use]
    pub const fn kind(self, files: u8, mover: Color) -> MoveKind {
        let to = Square(self.to());
        if self.is_drop() {
            return MoveKind::Drop {
                role: self.drop_role(),
                to,
            };
        }
        let from = Square(self.from(files, mover));
        match self.0 >> 14 {
            0 => MoveKind::Normal {
                from,
                to,
                promotion: None,
            },
            1 => MoveKind::Castle {
                king: from,
                rook: to,
            },
            2 => MoveKind::EnPassant { from, to },
            _ => MoveKind::Normal {
                from,
                to,
                promotion: Some(self.promotion_role()),
            },
        }
    }
}

/// Room for the longest list of legal moves: bare kings with every role in hand give 533 in capahouse, and 80 squares
/// times seven roles plus every move of a full board stay below this.
pub const MAX_MOVES: usize = 1024;

/// A list of moves without allocation.
#[derive(Clone)]
pub struct MoveList {
    moves: [Move; MAX_MOVES],
    length: usize,
}

impl MoveList {
    /// An empty list.
    #[inline(always)]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            moves: [Move::NONE; MAX_MOVES],
            length: 0,
        }
    }

    /// Appends a move; a list that is full (which no position reaches) keeps what it has.
    #[inline(always)]
    pub fn push(&mut self, m: Move) {
        if let Some(slot) = self.moves.get_mut(self.length) {
            *slot = m;
            self.length += 1;
        }
    }

    /// Empties the list.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Forgets all moves past the first `length`.
    #[inline(always)]
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Keeps the moves for which `keep` says yes.
    pub fn retain(&mut self, mut keep: impl FnMut(Move) -> bool) {
        let mut kept = 0;
        for index in 0..self.length {
            let m = self.moves[index];
            if keep(m) {
                self.moves[kept] = m;
                kept += 1;
            }
        }
        self.length = kept;
    }
}

impl Default for MoveList {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for MoveList {
    type Target = [Move];
    #[inline(always)]
    fn deref(&self) -> &[Move] {
        &self.moves[..self.length]
    }
}

impl std::fmt::Debug for MoveList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for &'a MoveList {
    type Item = &'a Move;
    type IntoIter = std::slice::Iter<'a, Move>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
