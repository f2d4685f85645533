//! The variants by name, and how castling is meant.

use super::types::Role;
use super::variants;

/// A set of rules. Chess960 is a [`CastlingMode`], not a variant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Variant {
    /// Orthodox chess, and every start array that is played by its rules.
    Chess,
    /// Captured pieces change sides and are dropped back.
    Crazyhouse,
    /// 10x8 with archbishop and chancellor.
    Capablanca,
    /// Capablanca's board with crazyhouse's drops.
    Capahouse,
    /// The third check wins.
    ThreeCheck,
    /// A king on d4, e4, d5 or e5 wins.
    KingOfTheHill,
    /// Lichess's antichess: losing everything, or having no move, wins.
    Antichess,
    /// FICS's suicide: as antichess, but without a move the side with fewer pieces wins.
    Suicide,
    /// FICS's losers: compulsory captures with a royal king; being mated or bare wins.
    Losers,
    /// Captures explode.
    Atomic,
    /// A king's army against thirty-six pawns.
    Horde,
    /// First king on the eighth rank; no checks.
    RacingKings,
}

/// How castling is written and which starts are usual; the rule itself is the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CastlingMode {
    /// The king's own move is written, as in `e1g1`.
    #[default]
    Standard,
    /// King takes own rook is written, as in `e1h1`; any shuffled start.
    Chess960,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Self; 12] = [
        Self::Chess,
        Self::Crazyhouse,
        Self::Capablanca,
        Self::Capahouse,
        Self::ThreeCheck,
        Self::KingOfTheHill,
        Self::Antichess,
        Self::Suicide,
        Self::Losers,
        Self::Atomic,
        Self::Horde,
        Self::RacingKings,
    ];

    /// Name as in the UCI option `UCI_Variant`.
    #[must_use]
    pub const fn uci_name(self) -> &'static str {
        match self {
            Self::Chess => "chess",
            Self::Crazyhouse => "crazyhouse",
            Self::Capablanca => "capablanca",
            Self::Capahouse => "capahouse",
            Self::ThreeCheck => "3check",
            Self::KingOfTheHill => "kingofthehill",
            Self::Antichess => "antichess",
            Self::Suicide => "suicide",
            Self::Losers => "losers",
            Self::Atomic => "atomic",
            Self::Horde => "horde",
            Self::RacingKings => "racingkings",
        }
    }

    /// Whether captured pieces go to a pocket and are dropped back.
    #[must_use]
    pub const fn has_drops(self) -> bool {
        matches!(self, Self::Crazyhouse | Self::Capahouse)
    }

    /// Number of files: 8 or 10. There are always eight ranks.
    #[must_use]
    pub const fn files(self) -> u8 {
        match self {
            Self::Capablanca | Self::Capahouse => 10,
            _ => 8,
        }
    }

    /// The roles that exist in this variant.
    #[must_use]
    pub const fn roles(self) -> &'static [Role] {
        if self.files() == 10 {
            &Role::ALL
        } else {
            &[
                Role::Pawn,
                Role::Knight,
                Role::Bishop,
                Role::Rook,
                Role::Queen,
                Role::King,
            ]
        }
    }

    /// Whether a shuffled start with king-takes-rook castling is played.
    #[must_use]
    pub const fn supports_chess960(self) -> bool {
        matches!(
            self,
            Self::Chess
                | Self::Crazyhouse
                | Self::Capablanca
                | Self::Capahouse
                | Self::Atomic
                | Self::ThreeCheck
                | Self::KingOfTheHill
                | Self::Horde
        )
    }

    /// FEN of the default start position.
    #[must_use]
    pub fn start_fen(self) -> &'static str {
        variants::start_fen(self)
    }
}
