//! Boards as compile-time parameters: 8x8 on 64 bits and 10x8 on 128, with their attack tables.
//!
//! Squares are numbered rank * files + file on both. Tables are built once, on first use; a caller fetches the reference
//! with [`Geometry::tables`] and then asks as often as it likes.

use super::bits::Bits;
use super::intrinsics::{extract_fast, has_fast_extract};
use super::types::Color;
use std::fmt::Debug;
use std::ops::{Index, IndexMut};
use std::sync::LazyLock;

/// Mark of an empty square in a mailbox, and of "no square" in fields that hold one.
pub const NONE: u8 = 255;

/// A board's shape.
pub trait Geometry: Copy + Clone + Debug + Default + Send + Sync + 'static {
    /// Set of squares.
    type Bits: Bits;
    /// One code a square.
    type Mailbox: Copy
        + Send
        + Sync
        + Debug
        + PartialEq
        + Index<usize, Output = u8>
        + IndexMut<usize, Output = u8>;
    /// Number of files.
    const FILES: u8;
    /// Number of squares.
    const SQUARES: usize;
    /// Every square.
    const FULL: Self::Bits;
    /// Rank 1.
    const FIRST_RANK: Self::Bits;
    /// The lowest file (a).
    const FIRST_FILE: Self::Bits;
    /// The rook's table is kept for ranks and files apart, which makes it small enough for the second-level cache.
    const SPLIT_ROOK: bool;
    /// An empty mailbox.
    const EMPTY_MAILBOX: Self::Mailbox;
    /// The attack tables.
    fn tables() -> &'static Tables<Self>;

    /// A rank as a set, from 0.
    #[inline(always)]
    fn rank(rank: u8) -> Self::Bits {
        Self::FIRST_RANK.up(u32::from(rank * Self::FILES))
    }

    /// A file as a set, from 0.
    #[inline(always)]
    fn file(file: u8) -> Self::Bits {
        Self::FIRST_FILE.up(u32::from(file))
    }

    /// The squares straight ahead of these, for a color.
    #[inline(always)]
    fn forward(color: Color, set: Self::Bits) -> Self::Bits {
        match color {
            Color::White => set.up(u32::from(Self::FILES)) & Self::FULL,
            Color::Black => set.down(u32::from(Self::FILES)),
        }
    }

    /// The squares diagonally ahead toward the lower files, for a color.
    #[inline(always)]
    fn forward_lower(color: Color, set: Self::Bits) -> Self::Bits {
        let set = set & !Self::FIRST_FILE;
        match color {
            Color::White => set.up(u32::from(Self::FILES) - 1) & Self::FULL,
            Color::Black => set.down(u32::from(Self::FILES) + 1),
        }
    }

    /// The squares diagonally ahead toward the higher files, for a color.
    #[inline(always)]
    fn forward_higher(color: Color, set: Self::Bits) -> Self::Bits {
        let set = set & !Self::file(Self::FILES - 1);
        match color {
            Color::White => set.up(u32::from(Self::FILES) + 1) & Self::FULL,
            Color::Black => set.down(u32::from(Self::FILES) - 1),
        }
    }

    /// All squares attacked by pawns of a color standing on these.
    #[inline(always)]
    fn pawn_attacks(color: Color, set: Self::Bits) -> Self::Bits {
        Self::forward_lower(color, set) | Self::forward_higher(color, set)
    }
}

/// The chess board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Board8;

/// Capablanca's board: ten files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Board10;

impl Geometry for Board8 {
    type Bits = u64;
    type Mailbox = [u8; 64];
    const FILES: u8 = 8;
    const SQUARES: usize = 64;
    const FULL: u64 = u64::MAX;
    const FIRST_RANK: u64 = 0xFF;
    const FIRST_FILE: u64 = 0x0101_0101_0101_0101;
    const SPLIT_ROOK: bool = false;
    const EMPTY_MAILBOX: [u8; 64] = [NONE; 64];
    #[inline(always)]
    fn tables() -> &'static Tables<Self> {
        static TABLES: LazyLock<Tables<Board8>> = LazyLock::new(Tables::build);
        &TABLES
    }
}

impl Geometry for Board10 {
    type Bits = u128;
    type Mailbox = [u8; 80];
    const FILES: u8 = 10;
    const SQUARES: usize = 80;
    const FULL: u128 = (1 << 80) - 1;
    const FIRST_RANK: u128 = (1 << 10) - 1;
    const FIRST_FILE: u128 = {
        let mut set = 0;
        let mut rank = 0;
        while rank < 8 {
            set |= 1 << (rank * 10);
            rank += 1;
        }
        set
    };
    const SPLIT_ROOK: bool = true;
    const EMPTY_MAILBOX: [u8; 80] = [NONE; 80];
    #[inline(always)]
    fn tables() -> &'static Tables<Self> {
        static TABLES: LazyLock<Tables<Board10>> = LazyLock::new(Tables::build);
        &TABLES
    }
}

/// Where the attacks of one slider on one square are found.
#[derive(Clone, Copy, Debug)]
struct Entry<B: Bits> {
    /// Squares whose occupation matters.
    mask: B,
    /// Start within the table.
    offset: u32,
    /// Number of mask bits in the low half.
    shift: u32,
}

/// Attacks of one kind of slider, indexed by extracted occupancy.
#[derive(Debug)]
struct Sliders<B: Bits> {
    entries: Vec<Entry<B>>,
    table: Vec<B>,
}

impl<B: Bits> Sliders<B> {
    #[inline(always)]
    fn look_up(&self, square: u8, occupied: B) -> B {
        let entry = &self.entries[square as usize];
        let mut index = extract_fast(occupied.low(), entry.mask.low());
        if size_of::<B>() > 8 {
            index |= extract_fast(occupied.high(), entry.mask.high()) << entry.shift;
        }
        self.table[entry.offset as usize + index as usize]
    }

    /// Builds the table for sliders moving in `steps` (file, rank) on a board of `files` files.
    fn build(files: u8, steps: &[(i8, i8)]) -> Self {
        let mut entries = Vec::new();
        let mut table = Vec::new();
        for square in 0..files * 8 {
            let mask: B = relevant(files, square, steps);
            let bits: Vec<u8> = mask.squares().collect();
            entries.push(Entry {
                mask,
                offset: table.len() as u32,
                shift: mask.low().count_ones(),
            });
            for index in 0..1_u32 << bits.len() {
                let mut occupied = B::EMPTY;
                for (place, &bit) in bits.iter().enumerate() {
                    if index >> place & 1 != 0 {
                        occupied |= B::of(bit);
                    }
                }
                table.push(walk(files, square, steps, occupied));
            }
        }
        Self { entries, table }
    }
}

/// The square one step away, if it is on the board.
fn step(files: u8, square: u8, (file_step, rank_step): (i8, i8)) -> Option<u8> {
    let file = (square % files) as i8 + file_step;
    let rank = (square / files) as i8 + rank_step;
    (file >= 0 && file < files as i8 && (0..8).contains(&rank))
        .then(|| rank as u8 * files + file as u8)
}

/// Squares reached by walking in each direction up to and including the first occupied one.
fn walk<B: Bits>(files: u8, square: u8, steps: &[(i8, i8)], occupied: B) -> B {
    let mut reached = B::EMPTY;
    for &direction in steps {
        let mut at = square;
        while let Some(next) = step(files, at, direction) {
            reached |= B::of(next);
            if occupied.has(next) {
                break;
            }
            at = next;
        }
    }
    reached
}

/// Squares whose occupation changes a slider's attacks: all on its lines but the last of each.
fn relevant<B: Bits>(files: u8, square: u8, steps: &[(i8, i8)]) -> B {
    let mut mask = B::EMPTY;
    for &direction in steps {
        let mut at = square;
        while let Some(next) = step(files, at, direction) {
            if step(files, next, direction).is_some() {
                mask |= B::of(next);
            }
            at = next;
        }
    }
    mask
}

fn leaps<B: Bits>(files: u8, square: u8, steps: &[(i8, i8)]) -> B {
    steps
        .iter()
        .filter_map(|&direction| step(files, square, direction))
        .fold(B::EMPTY, |set, to| set | B::of(to))
}

const FILE_STEPS: [(i8, i8); 2] = [(0, 1), (0, -1)];
const RANK_STEPS: [(i8, i8); 2] = [(1, 0), (-1, 0)];
const RISING_STEPS: [(i8, i8); 2] = [(1, 1), (-1, -1)];
const FALLING_STEPS: [(i8, i8); 2] = [(1, -1), (-1, 1)];
const ROOK_STEPS: [(i8, i8); 4] = [(0, 1), (0, -1), (1, 0), (-1, 0)];
const BISHOP_STEPS: [(i8, i8); 4] = [(1, 1), (1, -1), (-1, 1), (-1, -1)];
const KNIGHT_STEPS: [(i8, i8); 8] = [
    (1, 2),
    (2, 1),
    (2, -1),
    (1, -2),
    (-1, -2),
    (-2, -1),
    (-2, 1),
    (-1, 2),
];

/// Attack tables of one board.
#[derive(Debug)]
pub struct Tables<G: Geometry> {
    fast: bool,
    knight: Vec<G::Bits>,
    king: Vec<G::Bits>,
    pawn: [Vec<G::Bits>; 2],
    /// Rank, file, rising and falling diagonal through a square, without the square.
    lines: [Vec<G::Bits>; 4],
    rook: Sliders<G::Bits>,
    rook_files: Sliders<G::Bits>,
    bishop: Sliders<G::Bits>,
    between: Vec<G::Bits>,
    through: Vec<G::Bits>,
}

impl<G: Geometry> Tables<G> {
    fn build() -> Self {
        let files = G::FILES;
        let all = || 0..G::SQUARES as u8;
        let line = |steps: &[(i8, i8)]| {
            all()
                .map(|square| walk(files, square, steps, G::Bits::EMPTY))
                .collect::<Vec<G::Bits>>()
        };
        let lines = [
            line(&RANK_STEPS),
            line(&FILE_STEPS),
            line(&RISING_STEPS),
            line(&FALLING_STEPS),
        ];
        let mut between = vec![G::Bits::EMPTY; G::SQUARES * G::SQUARES];
        let mut through = between.clone();
        for from in all() {
            for (line, steps) in
                lines
                    .iter()
                    .zip([&RANK_STEPS, &FILE_STEPS, &RISING_STEPS, &FALLING_STEPS])
            {
                for to in line[from as usize].squares() {
                    let index = from as usize * G::SQUARES + to as usize;
                    through[index] = line[from as usize] | G::Bits::of(from);
                    between[index] = walk(files, from, steps, G::Bits::of(to))
                        & walk(files, to, steps, G::Bits::of(from))
                        & !(G::Bits::of(from) | G::Bits::of(to));
                }
            }
        }
        let pawn = Color::ALL.map(|color| {
            all()
                .map(|square| G::pawn_attacks(color, G::Bits::of(square)))
                .collect()
        });
        Self {
            fast: has_fast_extract(),
            knight: all().map(|s| leaps(files, s, &KNIGHT_STEPS)).collect(),
            king: all()
                .map(|s| leaps::<G::Bits>(files, s, &ROOK_STEPS) | leaps(files, s, &BISHOP_STEPS))
                .collect(),
            pawn,
            lines,
            rook: if G::SPLIT_ROOK {
                Sliders::build(files, &RANK_STEPS)
            } else {
                Sliders::build(files, &ROOK_STEPS)
            },
            rook_files: Sliders::build(files, &FILE_STEPS),
            bishop: Sliders::build(files, &BISHOP_STEPS),
            between,
            through,
        }
    }

    /// Squares a knight attacks.
    #[inline(always)]
    #[must_use]
    pub fn knight(&self, square: u8) -> G::Bits {
        self.knight[square as usize]
    }

    /// Squares a king attacks.
    #[inline(always)]
    #[must_use]
    pub fn king(&self, square: u8) -> G::Bits {
        self.king[square as usize]
    }

    /// Squares a pawn of `color` attacks.
    #[inline(always)]
    #[must_use]
    pub fn pawn(&self, color: Color, square: u8) -> G::Bits {
        self.pawn[color.index()][square as usize]
    }

    /// Squares a rook attacks.
    #[inline(always)]
    #[must_use]
    pub fn rook(&self, square: u8, occupied: G::Bits) -> G::Bits {
        if !self.fast {
            return self.ray(0, square, occupied) | self.ray(1, square, occupied);
        }
        if G::SPLIT_ROOK {
            self.rook.look_up(square, occupied) | self.rook_files.look_up(square, occupied)
        } else {
            self.rook.look_up(square, occupied)
        }
    }

    /// Squares a bishop attacks.
    #[inline(always)]
    #[must_use]
    pub fn bishop(&self, square: u8, occupied: G::Bits) -> G::Bits {
        if !self.fast {
            return self.ray(2, square, occupied) | self.ray(3, square, occupied);
        }
        self.bishop.look_up(square, occupied)
    }

    /// Squares a rook would attack on an empty board.
    #[inline(always)]
    #[must_use]
    pub fn empty_rook(&self, square: u8) -> G::Bits {
        self.lines[0][square as usize] | self.lines[1][square as usize]
    }

    /// Squares a bishop would attack on an empty board.
    #[inline(always)]
    #[must_use]
    pub fn empty_bishop(&self, square: u8) -> G::Bits {
        self.lines[2][square as usize] | self.lines[3][square as usize]
    }

    /// Attacks along one line without tables of occupancies: the borrow of a subtraction stops at the first blocker, once
    /// upward and once, on reversed bits, downward. This is the twin for processors without fast bit extraction.
    #[must_use]
    fn ray(&self, line: usize, square: u8, occupied: G::Bits) -> G::Bits {
        let mask = self.lines[line][square as usize];
        let here = G::Bits::of(square);
        let blockers = occupied & mask;
        let upward = blockers.minus(here).minus(here);
        let downward = blockers
            .reversed()
            .minus(here.reversed())
            .minus(here.reversed())
            .reversed();
        (upward ^ downward) & mask
    }

    /// Squares strictly between two squares of one line; empty if they share none.
    #[inline(always)]
    #[must_use]
    pub fn between(&self, a: u8, b: u8) -> G::Bits {
        self.between[a as usize * G::SQUARES + b as usize]
    }

    /// The whole line through two different squares; empty if they share none.
    #[inline(always)]
    #[must_use]
    pub fn through(&self, a: u8, b: u8) -> G::Bits {
        self.through[a as usize * G::SQUARES + b as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twins_agree<G: Geometry>() {
        let tables = G::tables();
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..20_000 {
            let occupied = G::Bits::from_halves(next() & next(), next() & next()) & G::FULL;
            let square = (next() % G::SQUARES as u64) as u8;
            let rook = tables.ray(0, square, occupied) | tables.ray(1, square, occupied);
            let bishop = tables.ray(2, square, occupied) | tables.ray(3, square, occupied);
            assert_eq!(tables.rook(square, occupied), rook);
            assert_eq!(tables.bishop(square, occupied), bishop);
            assert_eq!(rook, walk(G::FILES, square, &ROOK_STEPS, occupied));
            assert_eq!(bishop, walk(G::FILES, square, &BISHOP_STEPS, occupied));
        }
    }

    #[test]
    fn table_and_portable_slider_attacks_agree_on_8x8() {
        twins_agree::<Board8>();
    }

    #[test]
    fn table_and_portable_slider_attacks_agree_on_10x8() {
        twins_agree::<Board10>();
    }

    #[test]
    fn between_and_through() {
        let tables = Board10::tables();
        // a1 and j1 share the first rank; eight squares lie between.
        assert_eq!(tables.between(0, 9).count(), 8);
        assert_eq!(tables.through(0, 9).count(), 10);
        assert!(tables.between(0, 21).none());
    }
}
