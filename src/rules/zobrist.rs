//! Random numbers that identify positions. Fixed for ever: opening books and saved tables depend on them.

use super::types::{Color, Role};

const fn splitmix(state: u64) -> u64 {
    let mut z = state.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

const fn row<const N: usize>(seed: u64) -> [u64; N] {
    let mut numbers = [0; N];
    let mut index = 0;
    while index < N {
        numbers[index] = splitmix(seed * 4096 + index as u64 + 1);
        index += 1;
    }
    numbers
}

static PIECES: [[u64; 80]; 16] = {
    let mut table = [[0; 80]; 16];
    let mut piece = 0;
    while piece < 16 {
        table[piece] = row(1 + piece as u64);
        piece += 1;
    }
    table
};
static PROMOTED: [u64; 80] = row(20);
static CASTLING: [u64; 80] = row(21);
static EN_PASSANT: [u64; 80] = row(22);
static CHECKS: [[u64; 8]; 2] = [row(23), row(24)];
static HANDS: [[[u64; 64]; 8]; 2] = {
    let mut table = [[[0; 64]; 8]; 2];
    let mut index = 0;
    while index < 16 {
        table[index / 8][index % 8] = row(32 + index as u64);
        // An empty hand adds nothing, so that games without drops need no extra work.
        table[index / 8][index % 8][0] = 0;
        index += 1;
    }
    table
};
/// Number of the side to move being Black.
pub(super) const BLACK_TO_MOVE: u64 = splitmix(0xB1AC);

/// Number of a piece (mailbox code) on a square.
#[inline(always)]
pub(super) fn piece(code: u8, square: u8) -> u64 {
    PIECES[(code & 15) as usize][square as usize]
}

/// Number of a promoted mark on a square.
#[inline(always)]
pub(super) fn promoted(square: u8) -> u64 {
    PROMOTED[square as usize]
}

/// Number of the right to castle with the rook on a square.
#[inline(always)]
pub(super) fn castling(rook: u8) -> u64 {
    CASTLING[rook as usize]
}

/// Number of a legal en-passant capture onto a square.
#[inline(always)]
pub(super) fn en_passant(square: u8) -> u64 {
    EN_PASSANT[square as usize]
}

/// Number of `count` checks still to give.
#[inline(always)]
pub(super) fn checks(color: Color, count: u8) -> u64 {
    CHECKS[color.index()][(count & 7) as usize]
}

/// Number of `count` pieces of a role in hand.
#[inline(always)]
pub(super) fn hand(color: Color, role: Role, count: u8) -> u64 {
    HANDS[color.index()][role.index()][(count & 63) as usize]
}
