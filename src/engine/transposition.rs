//! The transposition table: what was found about positions, shared by all search threads without locks.
//!
//! An entry is two 64-bit words, the second holding the data and the first the position's key xored with it. Two
//! threads writing at once leave a pair that does not match, which reads as absent.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use super::report::Bound;
use crate::rules::Move;

/// What is known about a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Best or refuting move; [`Move::NONE`] if none is known.
    pub best: Move,
    /// Value in the search's units, mates counted from the position itself.
    pub score: i16,
    /// Static evaluation; [`NO_EVAL`] if it was not taken.
    pub eval: i16,
    /// Remaining depth of the search that found it.
    pub depth: u8,
    /// How exact `score` is.
    pub bound: Bound,
    /// Whether the position was ever part of a principal variation.
    pub was_pv: bool,
}

/// Mark of an evaluation that was not taken.
pub const NO_EVAL: i16 = i16::MIN;

const BUCKET: usize = 4;
const GENERATIONS: u8 = 32;

#[derive(Debug, Default)]
struct Slot {
    check: AtomicU64,
    data: AtomicU64,
}

/// The table. Its size is fixed; every search starts a new generation, and old entries give way first.
#[derive(Debug)]
pub struct Table {
    buckets: Vec<[Slot; BUCKET]>,
    generation: AtomicU8,
}

fn pack(entry: Entry, generation: u8) -> u64 {
    let bound = match entry.bound {
        Bound::Upper => 1,
        Bound::Lower => 2,
        Bound::Exact => 3,
    };
    u64::from(entry.best.0)
        | u64::from(entry.score as u16) << 16
        | u64::from(entry.eval as u16) << 32
        | u64::from(entry.depth) << 48
        | (bound | u64::from(entry.was_pv) << 2 | u64::from(generation) << 3) << 56
}

fn unpack(data: u64) -> Option<Entry> {
    let bound = match data >> 56 & 3 {
        1 => Bound::Upper,
        2 => Bound::Lower,
        3 => Bound::Exact,
        _ => return None,
    };
    Some(Entry {
        best: Move(data as u16),
        score: (data >> 16) as i16,
        eval: (data >> 32) as i16,
        depth: (data >> 48) as u8,
        bound,
        was_pv: data >> 58 & 1 != 0,
    })
}

const fn depth_of(data: u64) -> i32 {
    (data >> 48 & 0xFF) as i32
}

const fn generation_of(data: u64) -> u8 {
    (data >> 59) as u8
}

impl Table {
    /// Smallest table, in bytes.
    pub const MIN_BYTES: usize = 1 << 20;

    /// A table of at most `bytes`, at least [`Self::MIN_BYTES`].
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let count = bytes.max(Self::MIN_BYTES) / size_of::<[Slot; BUCKET]>();
        let buckets = (0..count).map(|_| Default::default()).collect();
        Self {
            buckets,
            generation: AtomicU8::new(0),
        }
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<[Slot; BUCKET]>()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        for slot in self.buckets.iter().flatten() {
            slot.check.store(0, Relaxed);
            slot.data.store(0, Relaxed);
        }
        self.generation.store(0, Relaxed);
    }

    /// Entries written from now on are worth more than those before.
    pub fn age(&self) {
        let generation = self.generation.load(Relaxed);
        self.generation
            .store((generation + 1) % GENERATIONS, Relaxed);
    }

    #[inline(always)]
    fn bucket(&self, key: u64) -> &[Slot; BUCKET] {
        // The high bits of the product spread the keys evenly over any number of buckets.
        let index = (u128::from(key) * self.buckets.len() as u128) >> 64;
        &self.buckets[index as usize]
    }

    /// Fetches the bucket of a key into the cache, ahead of [`Self::probe`].
    #[inline(always)]
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "the prefetch intrinsic has no safe form")
    )]
    pub fn prefetch(&self, key: u64) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let bucket: *const [Slot; BUCKET] = self.bucket(key);
            // SAFETY: the address belongs to a live reference, and prefetching changes nothing but the cache.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(bucket.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            // Other processors find the line on their own; the hint is only a hint.
            let _ = key;
        }
    }

    /// What is known about a position.
    #[inline]
    #[must_use]
    pub fn probe(&self, key: u64) -> Option<Entry> {
        for slot in self.bucket(key) {
            let data = slot.data.load(Relaxed);
            if slot.check.load(Relaxed) ^ data == key
                && let Some(entry) = unpack(data)
            {
                return Some(entry);
            }
        }
        None
    }

    /// Remembers something about a position, in place of what is worth least.
    #[inline]
    pub fn store(&self, key: u64, mut entry: Entry) {
        let generation = self.generation.load(Relaxed);
        let bucket = self.bucket(key);
        let mut chosen = &bucket[0];
        let mut least = i32::MAX;
        for slot in bucket {
            let data = slot.data.load(Relaxed);
            if slot.check.load(Relaxed) ^ data == key && data != 0 {
                if entry.best == Move::NONE {
                    entry.best = Move(data as u16);
                }
                // A shallow search of the same generation does not push out a much deeper result.
                let is_fresh = generation_of(data) == generation;
                if is_fresh
                    && entry.bound != Bound::Exact
                    && i32::from(entry.depth) + 4 < depth_of(data)
                {
                    return;
                }
                chosen = slot;
                break;
            }
            let age = (GENERATIONS + generation - generation_of(data)) % GENERATIONS;
            let worth = if data == 0 {
                i32::MIN
            } else {
                depth_of(data) - 8 * i32::from(age)
            };
            if worth < least {
                least = worth;
                chosen = slot;
            }
        }
        let data = pack(entry, generation);
        chosen.check.store(key ^ data, Relaxed);
        chosen.data.store(data, Relaxed);
    }

    /// Share of entries of the current generation, in thousandths, estimated from the first thousand.
    #[must_use]
    pub fn full_permille(&self) -> u16 {
        let generation = self.generation.load(Relaxed);
        let sample = self.buckets.len().min(250);
        let used = self.buckets[..sample]
            .iter()
            .flatten()
            .filter(|slot| {
                let data = slot.data.load(Relaxed);
                data != 0 && generation_of(data) == generation
            })
            .count();
        (used * 1000 / (sample * BUCKET)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(depth: u8) -> Entry {
        Entry {
            best: Move::normal(12, 28),
            score: -31_000,
            eval: 17,
            depth,
            bound: Bound::Lower,
            was_pv: true,
        }
    }

    #[test]
    fn what_was_stored_is_found() {
        let table = Table::new(0);
        assert_eq!(table.probe(0x1234_5678_9ABC_DEF0), None);
        table.store(0x1234_5678_9ABC_DEF0, entry(9));
        assert_eq!(table.probe(0x1234_5678_9ABC_DEF0), Some(entry(9)));
        table.clear();
        assert_eq!(table.probe(0x1234_5678_9ABC_DEF0), None);
    }

    #[test]
    fn old_and_shallow_entries_give_way_first() {
        let table = Table::new(0);
        // Keys that differ only in low bits share a bucket.
        for low in 0..4 {
            table.store(0xABCD << 48 | low, entry(if low == 2 { 3 } else { 20 }));
        }
        table.store(0xABCD << 48 | 9, entry(5));
        assert_eq!(table.probe(0xABCD << 48 | 2), None);
        table.age();
        for low in 10..14 {
            table.store(0xABCD << 48 | low, entry(20));
        }
        assert_eq!(table.probe(0xABCD << 48), None);
    }

    #[test]
    fn a_move_survives_a_store_without_one() {
        let table = Table::new(0);
        table.store(77, entry(4));
        table.store(
            77,
            Entry {
                best: Move::NONE,
                ..entry(6)
            },
        );
        assert_eq!(table.probe(77).map(|e| e.best), Some(Move::normal(12, 28)));
    }
}
