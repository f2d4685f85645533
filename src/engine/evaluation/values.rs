//! Round values of pieces, for ordering captures and for exchanges; the evaluation proper has its own.

use crate::rules::{Role, Variant};

/// What taking a piece of each role changes.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// Loss of a piece on the board; in drop games its value in the enemy's hand is added.
    pub captured: [i32; 8],
    /// In drop games, what taking a promoted piece changes: the piece goes, a pawn comes.
    pub promoted: [i32; 8],
}

/// A king is worth more than everything else together.
const KING: i32 = 10_000;

impl Values {
    /// The values of a variant.
    #[must_use]
    pub const fn of(variant: Variant) -> Self {
        let board: [i32; 8] = match variant {
            Variant::Crazyhouse => [76, 212, 214, 300, 430, KING, 0, 0],
            Variant::Capahouse => [70, 185, 205, 288, 475, KING, 410, 445],
            Variant::Capablanca => [100, 300, 335, 500, 980, KING, 800, 860],
            Variant::Antichess | Variant::Suicide => [100, 200, 150, 200, 250, 250, 0, 0],
            Variant::Losers => [100, 200, 200, 250, 350, KING, 0, 0],
            _ => [100, 320, 340, 520, 980, KING, 0, 0],
        };
        let hand: [i32; 8] = match variant {
            Variant::Crazyhouse => [95, 240, 220, 305, 445, 0, 0, 0],
            Variant::Capahouse => [85, 208, 210, 292, 485, 0, 435, 460],
            _ => [0; 8],
        };
        let mut captured = [0; 8];
        let mut promoted = [0; 8];
        let mut role = 0;
        while role < 8 {
            captured[role] = board[role] + hand[role];
            promoted[role] = board[role] + hand[Role::Pawn as usize];
            role += 1;
        }
        Self { captured, promoted }
    }
}
