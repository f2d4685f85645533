//! The variants a house offers, under Lichess's keys, and their start positions.

use rand::Rng;

use crate::game::{Speed, TimeControl};
use crate::rules::starts::{shuffled_start, shuffled_starts};
use crate::rules::{CastlingMode, Variant};

/// A variant as the API names it. Lichess has a key of its own for Chess960 and for
/// games from a given position; `rules` has one rule set for all three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HouseVariant(usize);

struct Entry {
    key: &'static str,
    name: &'static str,
    short: &'static str,
    rules: Variant,
    mode: CastlingMode,
}

const fn entry(
    key: &'static str,
    name: &'static str,
    short: &'static str,
    rules: Variant,
    mode: CastlingMode,
) -> Entry {
    Entry {
        key,
        name,
        short,
        rules,
        mode,
    }
}

use CastlingMode::{Chess960 as Shuffled, Standard as Fixed};

/// Lichess's ten first, in its order, then those that only a house offers.
const TABLE: [Entry; 21] = [
    entry("standard", "Standard", "Std", Variant::Chess, Fixed),
    entry("chess960", "Chess960", "960", Variant::Chess, Shuffled),
    entry(
        "fromPosition",
        "From Position",
        "FEN",
        Variant::Chess,
        Shuffled,
    ),
    entry(
        "crazyhouse",
        "Crazyhouse",
        "Crazy",
        Variant::Crazyhouse,
        Fixed,
    ),
    entry("antichess", "Antichess", "Anti", Variant::Antichess, Fixed),
    entry("atomic", "Atomic", "Atom", Variant::Atomic, Fixed),
    entry("horde", "Horde", "Horde", Variant::Horde, Fixed),
    entry(
        "kingOfTheHill",
        "King of the Hill",
        "KotH",
        Variant::KingOfTheHill,
        Fixed,
    ),
    entry(
        "racingKings",
        "Racing Kings",
        "Racing",
        Variant::RacingKings,
        Fixed,
    ),
    entry(
        "threeCheck",
        "Three-check",
        "3check",
        Variant::ThreeCheck,
        Fixed,
    ),
    entry(
        "capablanca",
        "Capablanca",
        "Capa",
        Variant::Capablanca,
        Fixed,
    ),
    entry(
        "capahouse",
        "Capahouse",
        "CapaZH",
        Variant::Capahouse,
        Fixed,
    ),
    entry("suicide", "Suicide", "Suicide", Variant::Suicide, Fixed),
    entry("losers", "Losers", "Losers", Variant::Losers, Fixed),
    entry(
        "crazyhouse960",
        "Crazyhouse960",
        "Crazy960",
        Variant::Crazyhouse,
        Shuffled,
    ),
    entry(
        "capablanca960",
        "Capablanca960",
        "Capa960",
        Variant::Capablanca,
        Shuffled,
    ),
    entry(
        "capahouse960",
        "Capahouse960",
        "CapaZH960",
        Variant::Capahouse,
        Shuffled,
    ),
    entry(
        "atomic960",
        "Atomic960",
        "Atom960",
        Variant::Atomic,
        Shuffled,
    ),
    entry("horde960", "Horde960", "Horde960", Variant::Horde, Shuffled),
    entry(
        "kingOfTheHill960",
        "King of the Hill 960",
        "KotH960",
        Variant::KingOfTheHill,
        Shuffled,
    ),
    entry(
        "threeCheck960",
        "Three-check 960",
        "3check960",
        Variant::ThreeCheck,
        Shuffled,
    ),
];

impl HouseVariant {
    /// Orthodox chess.
    pub const STANDARD: HouseVariant = HouseVariant(0);
    /// Orthodox rules from a given position.
    pub const FROM_POSITION: HouseVariant = HouseVariant(2);

    /// Every variant on offer.
    pub fn all() -> impl Iterator<Item = HouseVariant> {
        (0..TABLE.len()).map(HouseVariant)
    }

    /// The variant of a key; keys are case-sensitive, as on Lichess.
    pub fn from_key(key: &str) -> Option<HouseVariant> {
        TABLE.iter().position(|e| e.key == key).map(HouseVariant)
    }

    /// The key, as in `"variant":{"key":...}`.
    pub fn key(self) -> &'static str {
        TABLE[self.0].key
    }

    /// The name for people.
    pub fn name(self) -> &'static str {
        TABLE[self.0].name
    }

    /// The name where there is little room.
    pub fn short(self) -> &'static str {
        TABLE[self.0].short
    }

    /// The rule set.
    pub fn rules(self) -> Variant {
        TABLE[self.0].rules
    }

    /// How castling is meant.
    pub fn castling_mode(self) -> CastlingMode {
        TABLE[self.0].mode
    }

    /// Whether every game starts from a new random array.
    pub fn is_shuffled(self) -> bool {
        self.castling_mode() == Shuffled && self != Self::FROM_POSITION
    }

    /// The rating a game counts for: by speed for orthodox chess, else by variant.
    pub fn perf(self, time: TimeControl) -> &'static str {
        match self.key() {
            "standard" | "fromPosition" => speed_key(time.speed()),
            key => key,
        }
    }

    /// Whether `initialFen` is told even though nobody chose it (Lichess does so for these two).
    pub fn always_tells_start(self) -> bool {
        matches!(self.rules(), Variant::Horde | Variant::RacingKings)
    }

    /// A random start position of a shuffled variant; `None` if the start is fixed.
    pub fn shuffled_start(self, rng: &mut impl Rng) -> Option<String> {
        if !self.is_shuffled() {
            return None;
        }
        let starts = shuffled_starts(self.rules()).max(1);
        shuffled_start(self.rules(), rng.random_range(0..starts))
    }
}

/// The key of a speed, as in `"speed":"blitz"`.
pub fn speed_key(speed: Speed) -> &'static str {
    match speed {
        Speed::UltraBullet => "ultraBullet",
        Speed::Bullet => "bullet",
        Speed::Blitz => "blitz",
        Speed::Rapid => "rapid",
        Speed::Classical => "classical",
        Speed::Correspondence => "correspondence",
    }
}

/// The name of a rating category for people.
pub fn perf_name(perf: &str) -> &'static str {
    match perf {
        "ultraBullet" => "UltraBullet",
        "bullet" => "Bullet",
        "blitz" => "Blitz",
        "rapid" => "Rapid",
        "classical" => "Classical",
        "correspondence" => "Correspondence",
        key => HouseVariant::from_key(key).map_or("Standard", HouseVariant::name),
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn keys_are_unique_and_found_again() {
        for variant in HouseVariant::all() {
            assert_eq!(HouseVariant::from_key(variant.key()), Some(variant));
            assert!(!variant.is_shuffled() || variant.rules().supports_chess960());
        }
        assert_eq!(HouseVariant::from_key("Crazyhouse"), None);
        assert_eq!(HouseVariant::FROM_POSITION.key(), "fromPosition");
        assert_eq!(HouseVariant::STANDARD.key(), "standard");
        for rules in Variant::ALL {
            assert!(
                HouseVariant::all().any(|v| v.rules() == rules),
                "{rules:?} is not on offer"
            );
        }
    }

    #[test]
    fn shuffled_starts_obey_the_rule_of_the_shuffle() {
        let mut rng = StdRng::seed_from_u64(960);
        for variant in HouseVariant::all().filter(|v| v.is_shuffled()) {
            let mut seen = std::collections::BTreeSet::new();
            for _ in 0..200 {
                let fen = variant.shuffled_start(&mut rng).unwrap();
                let rank: Vec<char> = fen.split('/').next().unwrap().chars().collect();
                assert_eq!(rank.len(), usize::from(variant.rules().files()));
                let read = crate::house::game::start_position(variant, Some(&fen)).unwrap();
                assert!(read.has_legal_move(), "{fen}");
                let files =
                    |c| -> Vec<usize> { (0..rank.len()).filter(|&f| rank[f] == c).collect() };
                let (rooks, king, bishops) = (files('r'), files('k'), files('b'));
                assert!(rooks[0] < king[0] && king[0] < rooks[1], "{fen}");
                assert_ne!(bishops[0] % 2, bishops[1] % 2, "{fen}");
                seen.insert(fen);
            }
            assert!(seen.len() > 150, "{}: {}", variant.key(), seen.len());
        }
    }
}
