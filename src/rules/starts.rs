//! Start arrays: the 960 of Chess960, the 48,000 of Capablanca random chess, the `wild` boards of FICS and the named
//! arrays on ten files.
//!
//! Everything here returns FEN text, the form in which a start travels. Randomness is an argument: a number, or a
//! [`SplitMix64`] whose seed the caller chooses.

use super::types::Role;
use super::variant::{CastlingMode, Variant};

use Role::{Archbishop, Bishop, Chancellor, King, Knight, Queen, Rook};

/// Number of Chess960 starts.
pub const CHESS960_STARTS: u16 = 960;
/// Number of shuffled Capablanca starts: bishops on both square colors, archbishop and queen on both square colors, the
/// king between the rooks. Arrays with an undefended pawn are not left out, as PyChess does not leave them out.
pub const CAPABLANCA960_STARTS: u16 = 48_000;

/// A small generator for starts: splitmix64. Not for secrets.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that will always yield the same numbers for the same seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; zero when the bound is zero. The bias of the simple remainder is below 2^-32 for the
    /// bounds used here.
    pub const fn below(&mut self, bound: u32) -> u32 {
        if bound == 0 {
            return 0;
        }
        ((self.next() >> 32).wrapping_mul(bound as u64) >> 32) as u32
    }

    /// Puts a slice in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            // A start array has at most ten pieces, so the index fits.
            let other = self.below(last as u32 + 1) as usize;
            items.swap(last, other);
        }
    }
}

/// A back rank that is being filled: pieces are put on the n-th square that is still empty.
struct Rank<const N: usize>([Option<Role>; N]);

impl<const N: usize> Rank<N> {
    const fn new() -> Self {
        Self([None; N])
    }

    /// Puts a role on a file.
    fn put(&mut self, file: usize, role: Role) {
        self.0[file] = Some(role);
    }

    /// Puts a role on the `nth` empty file among those for which `wanted` says yes.
    fn put_where(&mut self, nth: usize, role: Role, wanted: impl Fn(usize) -> bool) {
        let file = (0..N)
            .filter(|&file| self.0[file].is_none() && wanted(file))
            .nth(nth);
        if let Some(file) = file {
            self.put(file, role);
        }
    }

    fn put_nth(&mut self, nth: usize, role: Role) {
        self.put_where(nth, role, |_| true);
    }

    fn full(self) -> [Role; N] {
        self.0
            .map(|role| role.expect("every file was filled: the caller counts its pieces"))
    }
}

/// Squares of the first rank are dark on even files (a1 is dark).
const fn is_dark(file: usize) -> bool {
    file.is_multiple_of(2)
}

/// White's back rank in the Chess960 start of this number by Scharnagl's numbering; 518 is the orthodox array. `None`
/// from 960 on.
#[must_use]
pub fn chess960_back_rank(number: u16) -> Option<[Role; 8]> {
    if number >= CHESS960_STARTS {
        return None;
    }
    /// The two of five empty files on which the knights go.
    const KNIGHTS: [(usize, usize); 10] = [
        (0, 1),
        (0, 2),
        (0, 3),
        (0, 4),
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 3),
        (2, 4),
        (3, 4),
    ];
    let mut rank = Rank::<8>::new();
    let rest = usize::from(number);
    rank.put(rest % 4 * 2 + 1, Bishop);
    let rest = rest / 4;
    rank.put(rest % 4 * 2, Bishop);
    let rest = rest / 4;
    rank.put_nth(rest % 6, Queen);
    let (first, second) = KNIGHTS[rest / 6];
    // The right one first, so that the left one's place is not counted twice.
    rank.put_nth(second, Knight);
    rank.put_nth(first, Knight);
    for role in [Rook, King, Rook] {
        rank.put_nth(0, role);
    }
    Some(rank.full())
}

/// The number of a Chess960 array; `None` if it is none. Inverse of [`chess960_back_rank`].
#[must_use]
pub fn chess960_number(rank: &[Role; 8]) -> Option<u16> {
    (0..CHESS960_STARTS).find(|&number| chess960_back_rank(number).as_ref() == Some(rank))
}

/// White's back rank in a shuffled Capablanca start. The numbering is our own; `None` from 48,000 on.
#[must_use]
pub fn capablanca960_back_rank(number: u16) -> Option<[Role; 10]> {
    if number >= CAPABLANCA960_STARTS {
        return None;
    }
    let mut rest = usize::from(number);
    let mut digit = |base: usize| {
        let value = rest % base;
        rest /= base;
        value
    };
    let mut rank = Rank::<10>::new();
    rank.put_where(digit(5), Bishop, |file| !is_dark(file));
    rank.put_where(digit(5), Bishop, is_dark);
    let (on_light, on_dark) = if digit(2) == 0 {
        (Archbishop, Queen)
    } else {
        (Queen, Archbishop)
    };
    rank.put_where(digit(4), on_light, |file| !is_dark(file));
    rank.put_where(digit(4), on_dark, is_dark);
    rank.put_nth(digit(6), Chancellor);
    // Two of five files for the knights: ten choices, counted by the left one.
    let (mut left, mut pair) = (0, digit(10));
    while pair >= 4 - left {
        pair -= 4 - left;
        left += 1;
    }
    rank.put_nth(left + 1 + pair, Knight);
    rank.put_nth(left, Knight);
    for role in [Rook, King, Rook] {
        rank.put_nth(0, role);
    }
    Some(rank.full())
}

/// The shuffled start of a variant in FEN, `None` if the variant has none or not this number. Rights are written as
/// `KQkq`, which with one pair of rooks says the same as their files.
#[must_use]
pub fn shuffled_start(variant: Variant, number: u16) -> Option<String> {
    if !variant.supports_chess960() {
        return None;
    }
    let letters = match variant.files() {
        8 => letters(&chess960_back_rank(number)?),
        _ => letters(&capablanca960_back_rank(number)?),
    };
    Some(match variant {
        Variant::Horde => {
            let army = variant
                .start_fen()
                .split_once('/')
                .map_or("", |(_, rest)| rest);
            format!("{letters}/{army}")
        }
        Variant::ThreeCheck => mirrored(&letters, "", "KQkq", "3+3 "),
        _ if variant.has_drops() => mirrored(&letters, "[]", "KQkq", ""),
        _ => mirrored(&letters, "", "KQkq", ""),
    })
}

/// How many shuffled starts a variant has.
#[must_use]
pub const fn shuffled_starts(variant: Variant) -> u16 {
    match variant.files() {
        _ if !variant.supports_chess960() => 0,
        8 => CHESS960_STARTS,
        _ => CAPABLANCA960_STARTS,
    }
}

/// Black's letters of a back rank, file a first.
fn letters(rank: &[Role]) -> String {
    rank.iter().map(|role| role.char()).collect()
}

/// A start in which White mirrors Black's back rank behind full ranks of pawns.
fn mirrored(black: &str, pocket: &str, rights: &str, checks: &str) -> String {
    start(black, &black.to_uppercase(), pocket, rights, checks)
}

fn start(black: &str, white: &str, pocket: &str, rights: &str, checks: &str) -> String {
    let files = black.len();
    let pawns = "p".repeat(files);
    let empty = files.to_string();
    format!(
        "{black}/{pawns}/{empty}/{empty}/{empty}/{empty}/{}/{white}{pocket} w {rights} - {checks}0 1",
        pawns.to_uppercase()
    )
}

/// The named arrays on ten files, all played by Capablanca's rules (and with drops as capahouse).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TenWide {
    /// Capablanca's own.
    Capablanca,
    /// Queen, chancellor, king, archbishop in the middle.
    Gothic,
    /// The king stands on the e-file and castles to b1 or h1.
    Embassy,
    /// Chancellor and archbishop beside queen and king.
    Bird,
    /// Carrera's of the seventeenth century, archbishop and chancellor beside the rooks.
    Carrera,
    /// Queen and chancellor beside the rooks.
    Schoolbook,
    /// Bishops beside the rooks.
    Univers,
    /// Archbishop and chancellor in the corners.
    Conservative,
    /// Chancellor and queen in the corners.
    Victorian,
}

impl TenWide {
    /// Every array.
    pub const ALL: [Self; 9] = [
        Self::Capablanca,
        Self::Gothic,
        Self::Embassy,
        Self::Bird,
        Self::Carrera,
        Self::Schoolbook,
        Self::Univers,
        Self::Conservative,
        Self::Victorian,
    ];

    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capablanca => "capablanca",
            Self::Gothic => "gothic",
            Self::Embassy => "embassy",
            Self::Bird => "bird",
            Self::Carrera => "carrera",
            Self::Schoolbook => "schoolbook",
            Self::Univers => "univers",
            Self::Conservative => "conservative",
            Self::Victorian => "victorian",
        }
    }

    /// The array of a name, without regard to case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|array| array.name().eq_ignore_ascii_case(name.trim()))
    }

    /// The letters of a back rank, file a first.
    #[must_use]
    pub const fn back_rank(self) -> &'static str {
        match self {
            Self::Capablanca => "rnabqkbcnr",
            Self::Gothic => "rnbqckabnr",
            Self::Embassy => "rnbqkcabnr",
            Self::Bird => "rnbcqkabnr",
            Self::Carrera => "ranbqkbncr",
            Self::Schoolbook => "rqnbakbncr",
            Self::Univers => "rbncqkanbr",
            Self::Conservative => "arnbqkbnrc",
            Self::Victorian => "crnbakbnrq",
        }
    }

    /// The start with or without pockets.
    #[must_use]
    pub fn start_fen(self, drops: bool) -> String {
        mirrored(self.back_rank(), if drops { "[]" } else { "" }, "KQkq", "")
    }
}

/// The boards of FICS's `wild` category that are played by the rules of orthodox chess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wild {
    /// wild/0: Black's king and queen have changed places.
    W0,
    /// wild/1: kings on d or e, rooks in the corners, the rest at random, each side for itself.
    W1,
    /// wild/2: the orthodox pieces in any order, mirrored, without castling.
    W2,
    /// wild/3: a king and any seven pieces, mirrored, without castling.
    W3,
    /// wild/4: a king and any seven pieces, the same ones for both sides but each in an order of its own; as many
    /// bishops on light squares for one side as for the other.
    W4,
    /// wild/5: every pawn one step before its promotion.
    W5,
    /// wild/8: pawns on the fourth and fifth ranks.
    W8,
    /// wild/8a: pawns on the fifth and fourth ranks, past each other.
    W8a,
    /// wild/fr: Chess960.
    Fr,
}

impl Wild {
    /// Every board.
    pub const ALL: [Self; 9] = [
        Self::W0,
        Self::W1,
        Self::W2,
        Self::W3,
        Self::W4,
        Self::W5,
        Self::W8,
        Self::W8a,
        Self::Fr,
    ];

    /// The name with its category: `wild/8a`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::W0 => "wild/0",
            Self::W1 => "wild/1",
            Self::W2 => "wild/2",
            Self::W3 => "wild/3",
            Self::W4 => "wild/4",
            Self::W5 => "wild/5",
            Self::W8 => "wild/8",
            Self::W8a => "wild/8a",
            Self::Fr => "wild/fr",
        }
    }

    /// Reads `wild/8a`, `wild 8a`, `w8a` or `8a`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let lower = name.trim().to_ascii_lowercase();
        let number = ["wild/", "wild ", "wild", "w"]
            .into_iter()
            .find_map(|prefix| lower.strip_prefix(prefix))
            .unwrap_or(&lower)
            .trim_start();
        Self::ALL
            .into_iter()
            .find(|wild| wild.name().strip_prefix("wild/") == Some(number))
    }

    /// How castling is written on this board.
    #[must_use]
    pub const fn castling_mode(self) -> CastlingMode {
        match self {
            Self::Fr => CastlingMode::Chess960,
            _ => CastlingMode::Standard,
        }
    }

    /// A start of this board in FEN; those that are always the same take nothing from the generator.
    ///
    /// Sources: the server's help on the wild boards. Where the help leaves castling open (wild/8 and 8a) none is
    /// granted: a right that is not used loses nothing, one that the server refuses loses the move.
    #[must_use]
    pub fn start_fen(self, random: &mut SplitMix64) -> String {
        match self {
            Self::W0 => start("rnbkqbnr", "RNBQKBNR", "", "KQkq", ""),
            Self::W1 => {
                let black = wild1_rank(random);
                let white = wild1_rank(random).to_uppercase();
                start(&black, &white, "", "KQkq", "")
            }
            Self::W2 => {
                let mut rank = [Rook, Knight, Bishop, Queen, King, Bishop, Knight, Rook];
                random.shuffle(&mut rank);
                mirrored(&letters(&rank), "", "-", "")
            }
            Self::W3 => mirrored(&letters(&random_set(random)), "", "-", ""),
            Self::W4 => {
                let mut black = random_set(random);
                let mut white = black;
                random.shuffle(&mut white);
                // Every array balances itself, so this ends; the second half of the ranks is tried again together.
                while light_bishops(&white, 0) != light_bishops(&black, 7) {
                    random.shuffle(&mut white);
                    random.shuffle(&mut black);
                }
                start(
                    &letters(&black),
                    &letters(&white).to_uppercase(),
                    "",
                    "-",
                    "",
                )
            }
            Self::W5 => "RNBQKBNR/PPPPPPPP/8/8/8/8/pppppppp/rnbqkbnr w - - 0 1".to_owned(),
            Self::W8 => "rnbqkbnr/8/8/pppppppp/PPPPPPPP/8/8/RNBQKBNR w - - 0 1".to_owned(),
            Self::W8a => "rnbqkbnr/8/8/PPPPPPPP/pppppppp/8/8/RNBQKBNR w - - 0 1".to_owned(),
            Self::Fr => {
                let number = random.below(u32::from(CHESS960_STARTS)) as u16;
                shuffled_start(Variant::Chess, number)
                    .expect("the number is below the number of starts")
            }
        }
    }
}

/// A back rank of wild/1 in Black's letters.
fn wild1_rank(random: &mut SplitMix64) -> String {
    let mut rank = Rank::<8>::new();
    rank.put(0, Rook);
    rank.put(7, Rook);
    rank.put(if random.below(2) == 0 { 3 } else { 4 }, King);
    // Six files are left but for the king's: of one square color two are free, of the other three.
    let free = |rank: &Rank<8>, dark: bool| {
        (0..8)
            .filter(|&file| rank.0[file].is_none() && is_dark(file) == dark)
            .count() as u32
    };
    for dark in [false, true] {
        let nth = random.below(free(&rank, dark)) as usize;
        rank.put_where(nth, Bishop, |file| is_dark(file) == dark);
    }
    rank.put_nth(random.below(3) as usize, Queen);
    rank.put_nth(0, Knight);
    rank.put_nth(0, Knight);
    letters(&rank.full())
}

/// A king and seven pieces drawn from queen, rook, bishop and knight, in random order.
fn random_set(random: &mut SplitMix64) -> [Role; 8] {
    let mut set = [King; 8];
    for role in &mut set[1..] {
        *role = [Queen, Rook, Bishop, Knight][random.below(4) as usize];
    }
    random.shuffle(&mut set);
    set
}

/// Bishops on light squares of a back rank that lies on `rank` (0 or 7).
fn light_bishops(back: &[Role; 8], rank: usize) -> usize {
    back.iter()
        .enumerate()
        .filter(|&(file, &role)| role == Bishop && !is_dark(file + rank))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn rank8(text: &str) -> [Role; 8] {
        let roles: Vec<Role> = text.chars().map(|c| Role::from_char(c).unwrap()).collect();
        roles.try_into().unwrap()
    }

    #[test]
    fn known_numbers_of_chess960() {
        assert_eq!(chess960_back_rank(518), Some(rank8("rnbqkbnr")));
        assert_eq!(chess960_back_rank(0), Some(rank8("bbqnnrkr")));
        assert_eq!(chess960_back_rank(959), Some(rank8("rkrnnqbb")));
        assert_eq!(chess960_back_rank(960), None);
        assert_eq!(chess960_number(&rank8("rnbqkbnr")), Some(518));
        assert_eq!(
            chess960_number(&rank8("rnbqkrbn")),
            None,
            "bishops of one color"
        );
    }

    #[test]
    fn all_960_differ_and_keep_their_laws() {
        let ranks: HashSet<[Role; 8]> = (0..960).map(|n| chess960_back_rank(n).unwrap()).collect();
        assert_eq!(ranks.len(), 960);
        for rank in ranks {
            check_rank(&rank, &[Queen, Knight, Knight]);
        }
    }

    #[test]
    fn all_48000_differ_and_keep_their_laws() {
        let ranks: HashSet<[Role; 10]> = (0..CAPABLANCA960_STARTS)
            .map(|n| capablanca960_back_rank(n).unwrap())
            .collect();
        assert_eq!(ranks.len(), 48_000);
        for rank in ranks {
            check_rank(&rank, &[Queen, Knight, Knight, Archbishop, Chancellor]);
            let parity = |role| rank.iter().position(|&r| r == role).unwrap() % 2;
            assert_ne!(parity(Queen), parity(Archbishop));
        }
        assert_eq!(capablanca960_back_rank(CAPABLANCA960_STARTS), None);
    }

    /// Bishops on both square colors, king between two rooks, the others as listed.
    fn check_rank(rank: &[Role], others: &[Role]) {
        let files = |role: Role| -> Vec<usize> {
            (0..rank.len()).filter(|&file| rank[file] == role).collect()
        };
        let bishops = files(Bishop);
        assert_eq!(bishops.len(), 2);
        assert_ne!(bishops[0] % 2, bishops[1] % 2);
        let (rooks, kings) = (files(Rook), files(King));
        assert_eq!((rooks.len(), kings.len()), (2, 1));
        assert!(rooks[0] < kings[0] && kings[0] < rooks[1]);
        for &role in others {
            assert_eq!(
                files(role).len(),
                others.iter().filter(|&&r| r == role).count()
            );
        }
    }

    #[test]
    fn wild_boards_keep_their_laws() {
        let mut random = SplitMix64::new(7);
        for _ in 0..500 {
            let w1 = Wild::W1.start_fen(&mut random);
            let (black, white) = back_ranks(&w1);
            for rank in [black, white] {
                assert!(rank.starts_with('r') && rank.ends_with('r'), "{w1}");
                let king = rank.find('k').unwrap();
                assert!(king == 3 || king == 4, "{w1}");
                let bishops: Vec<usize> = rank.match_indices('b').map(|(at, _)| at).collect();
                assert_eq!((bishops[0] + bishops[1]) % 2, 1, "{w1}");
            }
            let (black, white) = back_ranks(&Wild::W2.start_fen(&mut random));
            assert_eq!(black, white);
            assert_eq!(sorted(&black), sorted("rnbqkbnr"));
            let (black, white) = back_ranks(&Wild::W3.start_fen(&mut random));
            assert_eq!(black, white);
            assert_eq!(black.matches('k').count(), 1);
            let w4 = Wild::W4.start_fen(&mut random);
            let (black, white) = back_ranks(&w4);
            assert_eq!(sorted(&black), sorted(&white), "{w4}");
            assert_eq!(
                light_bishops(&rank8(&white), 0),
                light_bishops(&rank8(&black), 7),
                "{w4}"
            );
        }
    }

    fn back_ranks(fen: &str) -> (String, String) {
        let board = fen.split(' ').next().unwrap();
        let ranks: Vec<&str> = board.split('/').collect();
        (ranks[0].to_owned(), ranks[7].to_lowercase())
    }

    fn sorted(text: &str) -> Vec<char> {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    }

    #[test]
    fn wild_names_are_read() {
        for wild in Wild::ALL {
            assert_eq!(Wild::parse(wild.name()), Some(wild));
        }
        assert_eq!(Wild::parse("8A"), Some(Wild::W8a));
        assert_eq!(Wild::parse("wild fr"), Some(Wild::Fr));
        assert_eq!(Wild::parse("w5"), Some(Wild::W5));
        assert_eq!(Wild::parse("wild/6"), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_start() {
        let draw = |seed| Wild::W4.start_fen(&mut SplitMix64::new(seed));
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
