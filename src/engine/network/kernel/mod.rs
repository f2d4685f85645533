//! The arithmetic of a network, in several forms that give the same bits: portable, AVX2, AVX-512, AVX-512 with VNNI.
//!
//! Which one is asked for once, when a search thread is made; see [`Level::best`].

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Values in a block: one 512-bit or two 256-bit registers.
pub const LANES: usize = 32;

/// Neighboring values of one layer, aligned to a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Block(pub [i16; LANES]);

impl Block {
    /// All zero.
    pub const ZERO: Self = Self([0; LANES]);
}

/// The hidden layer's activations are clipped to this; 1.0 in the units of the accumulators.
pub const ACTIVATION_MAX: i16 = 255;

/// What the processor is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Plain Rust, everywhere.
    Portable,
    /// 256-bit registers.
    Avx2,
    /// 512-bit registers (F and BW).
    Avx512,
    /// The same with multiply-accumulate in one instruction.
    Avx512Vnni,
}

impl Level {
    const ALL: [Self; 4] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Avx512Vnni];

    /// Whether this processor can do it.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let wide = || has!("avx512f") && has!("avx512bw");
            match self {
                Self::Portable => true,
                Self::Avx2 => has!("avx2"),
                Self::Avx512 => wide(),
                Self::Avx512Vnni => wide() && has!("avx512vnni"),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Portable
        }
    }

    /// All that this processor can do, the fastest last.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|level| level.is_available())
    }

    /// The fastest.
    #[must_use]
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Self::Portable)
    }
}

/// Proof that a level is available, so that its instructions may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Level);

impl Default for Kernel {
    fn default() -> Self {
        Self(Level::best())
    }
}

impl Kernel {
    /// The kernel of a level, if this processor has it.
    #[must_use]
    pub fn new(level: Level) -> Option<Self> {
        level.is_available().then_some(Self(level))
    }

    /// Its level.
    #[must_use]
    pub const fn level(self) -> Level {
        self.0
    }

    /// `target` = `source` - rows `removed` + rows `added` of `weights`, wrapping; a row is as long as `source`.
    ///
    /// # Panics
    /// If the lengths differ or a row is not there.
    #[inline(always)]
    pub fn update(
        self,
        source: &[Block],
        target: &mut [Block],
        weights: &[Block],
        added: &[u16],
        removed: &[u16],
    ) {
        assert_eq!(source.len(), target.len());
        #[cfg(target_arch = "x86_64")]
        if self.0 != Level::Portable {
            return x86::update(self.0, source, target, weights, added, removed);
        }
        portable::update(source, target, weights, added, removed);
    }

    /// Sum over both halves of weight times the square of the value clipped to 0..=255.
    ///
    /// The sum must fit 32 bits and every weight times 255 sixteen; loading a network checks both.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline(always)]
    #[must_use]
    pub fn output(self, own: &[Block], enemy: &[Block], weights: &[Block]) -> i32 {
        let (for_own, for_enemy) = weights.split_at(own.len());
        assert!(own.len() == enemy.len() && for_own.len() == for_enemy.len());
        #[cfg(target_arch = "x86_64")]
        if self.0 != Level::Portable {
            return x86::output(self.0, own, for_own)
                .wrapping_add(x86::output(self.0, enemy, for_enemy));
        }
        portable::output(own, for_own).wrapping_add(portable::output(enemy, for_enemy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }
        fn blocks(&mut self, n: usize, limit: i16) -> Vec<Block> {
            (0..n)
                .map(|_| Block(std::array::from_fn(|_| self.value(limit))))
                .collect()
        }
        fn value(&mut self, limit: i16) -> i16 {
            ((self.next() % (2 * limit as u64 + 1)) as i64 - i64::from(limit)) as i16
        }
    }

    /// All forms against the portable one, at every width of a layer up to 512 and at the limits of the values.
    #[test]
    fn all_levels_give_the_same_bits() {
        let mut random = Random(0x1234_5678_9ABC_DEF1);
        let reference = Kernel(Level::Portable);
        for n in 1..=16 {
            for round in 0..20 {
                let limit = if round % 2 == 0 { 400 } else { 32_000 };
                let source = random.blocks(n, limit);
                let enemy = random.blocks(n, limit);
                let weights = random.blocks(n * 50, limit);
                let mut rows = |most: u64| -> Vec<u16> {
                    (0..random.next() % most)
                        .map(|_| (random.next() % 50) as u16)
                        .collect()
                };
                let (added, removed) = (rows(40), rows(6));
                let output = random.blocks(2 * n, 127);
                let mut wanted = vec![Block::ZERO; n];
                reference.update(&source, &mut wanted, &weights, &added, &removed);
                let sum = reference.output(&wanted, &enemy, &output);
                for level in Level::available() {
                    let kernel = Kernel::new(level).expect("it is available");
                    let mut target = vec![Block::ZERO; n];
                    kernel.update(&source, &mut target, &weights, &added, &removed);
                    assert_eq!(target, wanted, "{level:?}, {n} blocks");
                    assert_eq!(
                        kernel.output(&target, &enemy, &output),
                        sum,
                        "{level:?}, {n} blocks"
                    );
                }
            }
        }
    }

    /// The greatest values that loading lets pass do not overflow on the way.
    #[test]
    fn the_limits_hold_at_every_level() {
        for level in Level::available() {
            let kernel = Kernel::new(level).expect("it is available");
            for weight in [127, -127] {
                let full = vec![Block([i16::MAX; LANES]); 4];
                let weights = vec![Block([weight; LANES]); 8];
                let sum = kernel.output(&full, &full, &weights);
                assert_eq!(i64::from(sum), 256 * 255 * 255 * i64::from(weight));
                let low = vec![Block([i16::MIN; LANES]); 4];
                assert_eq!(kernel.output(&low, &low, &weights), 0);
            }
        }
    }

    /// On a machine with wider registers the wide forms must be among those compared.
    #[test]
    fn the_best_level_is_available() {
        assert!(Level::best().is_available());
        assert!(Level::available().count() >= 1);
        assert_eq!(Level::available().next(), Some(Level::Portable));
    }
}
