//! Sets of squares: 64 bits for 8x8, 128 for 10x8, behind one trait so that each board pays for its own width only.

use std::fmt::Debug;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Not};

/// A set of squares; bit `n` is square `n`.
pub trait Bits:
    Copy
    + Eq
    + Default
    + Debug
    + Send
    + Sync
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + BitAndAssign
    + BitOrAssign
    + BitXorAssign
    + 'static
{
    /// No square.
    const EMPTY: Self;
    /// One square.
    fn of(square: u8) -> Self;
    /// Number of squares.
    fn count(self) -> u32;
    /// Whether any square is in the set.
    fn any(self) -> bool;
    /// Whether no square is in the set.
    #[inline(always)]
    fn none(self) -> bool {
        !self.any()
    }
    /// Whether two squares or more are in the set.
    fn many(self) -> bool;
    /// Lowest square; meaningless for the empty set.
    fn lsb(self) -> u8;
    /// The set without its lowest square.
    fn without_lsb(self) -> Self;
    /// Whether a square is in the set.
    fn has(self, square: u8) -> bool;
    /// All squares moved up by `n` indices; those past the end vanish.
    fn up(self, n: u32) -> Self;
    /// All squares moved down by `n` indices.
    fn down(self, n: u32) -> Self;
    /// The low 64 squares.
    fn low(self) -> u64;
    /// The squares from 64 on.
    fn high(self) -> u64;
    /// A set from its two halves.
    fn from_halves(low: u64, high: u64) -> Self;
    /// All squares in the order of their reversed bits, within the full width of the type.
    fn reversed(self) -> Self;
    /// Difference of the sets seen as numbers, wrapping.
    fn minus(self, other: Self) -> Self;
    /// Iterates the squares from low to high.
    #[inline(always)]
    fn squares(self) -> Squares<Self> {
        Squares(self)
    }
}

/// Iterator over the squares of a set.
#[derive(Clone, Copy, Debug)]
pub struct Squares<B: Bits>(B);

impl<B: Bits> Iterator for Squares<B> {
    type Item = u8;
    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        if self.0.none() {
            return None;
        }
        let square = self.0.lsb();
        self.0 = self.0.without_lsb();
        Some(square)
    }
}

macro_rules! bits {
    ($type:ty, $low:expr, $high:expr, $halves:expr) => {
        impl Bits for $type {
            const EMPTY: Self = 0;
            #[inline(always)]
            fn of(square: u8) -> Self {
                1 << square
            }
            #[inline(always)]
            fn count(self) -> u32 {
                self.count_ones()
            }
            #[inline(always)]
            fn any(self) -> bool {
                self != 0
            }
            #[inline(always)]
            fn many(self) -> bool {
                self & self.wrapping_sub(1) != 0
            }
            #[inline(always)]
            fn lsb(self) -> u8 {
                self.trailing_zeros() as u8
            }
            #[inline(always)]
            fn without_lsb(self) -> Self {
                self & self.wrapping_sub(1)
            }
            #[inline(always)]
            fn has(self, square: u8) -> bool {
                self >> square & 1 != 0
            }
            #[inline(always)]
            fn up(self, n: u32) -> Self {
                self << n
            }
            #[inline(always)]
            fn down(self, n: u32) -> Self {
                self >> n
            }
            #[inline(always)]
            fn low(self) -> u64 {
                $low(self)
            }
            #[inline(always)]
            fn high(self) -> u64 {
                $high(self)
            }
            #[inline(always)]
            fn from_halves(low: u64, high: u64) -> Self {
                $halves(low, high)
            }
            #[inline(always)]
            fn reversed(self) -> Self {
                self.reverse_bits()
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    };
}

bits!(u64, |s: u64| s, |_| 0, |low: u64, _: u64| low);
bits!(
    u128,
    |s: u128| s as u64,
    |s: u128| (s >> 64) as u64,
    |low: u64, high: u64| u128::from(high) << 64 | u128::from(low)
);
