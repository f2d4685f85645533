//! A pocket: how many pieces of each role one side may drop.

use super::types::Role;

/// Eight counters of eight bits, one a role; equality of two hands is equality of the numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Hand(pub u64);

impl Hand {
    /// Greatest count of one role that a position accepts. Play never comes near it.
    pub const MAX: u8 = 60;

    /// How many pieces of a role are held.
    #[inline(always)]
    #[must_use]
    pub const fn count(self, role: Role) -> u8 {
        (self.0 >> (8 * role as u32)) as u8
    }

    /// One more of a role.
    #[inline(always)]
    pub const fn add(&mut self, role: Role) {
        self.0 += 1 << (8 * role as u32);
    }

    /// One less of a role; there must be one.
    #[inline(always)]
    pub const fn remove(&mut self, role: Role) {
        self.0 -= 1 << (8 * role as u32);
    }

    /// Whether nothing is held.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a role is held.
    #[inline(always)]
    #[must_use]
    pub const fn has(self, role: Role) -> bool {
        self.0 >> (8 * role as u32) & 0xFF != 0
    }

    /// All pieces held.
    #[inline(always)]
    #[must_use]
    pub const fn total(self) -> u32 {
        // The product sums all bytes into the highest one; the total stays below 256 because each counter is small in
        // play, and a set-up position is limited by validation.
        (self.0.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
    }
}
