//! What the variants are called: by UCI, by PGN, and by the servers.
//!
//! Names are facts of the outside world, so they stand together here and the rest of the rules never compares one.
//! Where a name says more than the variant (Chess960 is a castling mode, the FICS `wild` numbers are starts), the
//! functions return all of it.

use crate::rules::variant::{CastlingMode, Variant};

use CastlingMode::{Chess960, Standard};

/// A variant with the way its castling is written: what a name stands for.
pub type NamedVariant = (Variant, CastlingMode);

impl Variant {
    /// The variant of a UCI name, with `960` behind the name for free castling: `crazyhouse`, `3check`, `chess960`.
    #[must_use]
    pub fn from_uci_name(name: &str) -> Option<NamedVariant> {
        let exact = |name: &str| {
            Self::ALL
                .into_iter()
                .find(|variant| variant.uci_name() == name)
        };
        if let Some(variant) = exact(name) {
            return Some((variant, Standard));
        }
        let variant = exact(name.strip_suffix("960")?)?;
        variant.supports_chess960().then_some((variant, Chess960))
    }

    /// The UCI name with the suffix `960` where castling is free. Inverse of [`Variant::from_uci_name`].
    #[must_use]
    pub fn uci_name_with(self, mode: CastlingMode) -> String {
        match mode {
            Standard => self.uci_name().to_owned(),
            Chess960 => format!("{}960", self.uci_name()),
        }
    }

    /// The key Lichess uses in its API; `None` for what Lichess does not play.
    #[must_use]
    pub const fn lichess_key(self, mode: CastlingMode) -> Option<&'static str> {
        Some(match (self, mode) {
            (Self::Chess, Standard) => "standard",
            (Self::Chess, Chess960) => "chess960",
            (_, Chess960) => return None,
            (Self::Crazyhouse, _) => "crazyhouse",
            (Self::ThreeCheck, _) => "threeCheck",
            (Self::KingOfTheHill, _) => "kingOfTheHill",
            (Self::Antichess, _) => "antichess",
            (Self::Atomic, _) => "atomic",
            (Self::Horde, _) => "horde",
            (Self::RacingKings, _) => "racingKings",
            (Self::Capablanca | Self::Capahouse | Self::Suicide | Self::Losers, _) => return None,
        })
    }

    /// The variant of a Lichess key. `fromPosition` is orthodox chess whose castling is written as in Chess960.
    #[must_use]
    pub fn from_lichess_key(key: &str) -> Option<NamedVariant> {
        if key == "fromPosition" {
            return Some((Self::Chess, Chess960));
        }
        Self::ALL
            .into_iter()
            .flat_map(|variant| [(variant, Standard), (variant, Chess960)])
            .find(|&(variant, mode)| variant.lichess_key(mode) == Some(key))
    }

    /// The name PyChess uses; whether castling is free is a flag of its own there. `None` for what it does not play.
    #[must_use]
    pub const fn pychess_name(self) -> Option<&'static str> {
        match self {
            Self::Suicide | Self::Losers => None,
            _ => Some(self.uci_name()),
        }
    }

    /// The variant of a PyChess name, with or without `960` behind it. Gothic and Embassy are start arrays of
    /// Capablanca's rules. `standard`, which PyChess uses for Lichess's sake, is chess.
    #[must_use]
    pub fn from_pychess_name(name: &str) -> Option<NamedVariant> {
        match name {
            "standard" => Some((Self::Chess, Standard)),
            "gothic" | "embassy" => Some((Self::Capablanca, Standard)),
            "gothhouse" | "embassyhouse" => Some((Self::Capahouse, Standard)),
            _ => Self::from_uci_name(name).filter(|(variant, _)| variant.pychess_name().is_some()),
        }
    }

    /// The name of the variant in a FICS `match` or `seek`; `None` for what FICS does not play. Orthodox chess has no
    /// name of its own there (its speeds have), so it is the empty one.
    #[must_use]
    pub const fn fics_name(self, mode: CastlingMode) -> Option<&'static str> {
        Some(match (self, mode) {
            (Self::Chess, Standard) => "",
            (Self::Chess, Chess960) => "wild fr",
            (Self::Crazyhouse, Standard) => "crazyhouse",
            (Self::Suicide, Standard) => "suicide",
            (Self::Losers, Standard) => "losers",
            (Self::Atomic, Standard) => "atomic",
            _ => return None,
        })
    }

    /// The value of the PGN tag `Variant`; `None` for orthodox chess, whose games carry no such tag.
    #[must_use]
    pub fn pgn_name(self, mode: CastlingMode) -> Option<String> {
        let name = match self {
            Self::Chess if mode == Standard => return None,
            Self::Chess => "Chess",
            Self::Crazyhouse => "Crazyhouse",
            Self::Capablanca => "Capablanca",
            Self::Capahouse => "Capahouse",
            Self::ThreeCheck => "Three-check",
            Self::KingOfTheHill => "King of the Hill",
            Self::Antichess => "Antichess",
            Self::Suicide => "Suicide",
            Self::Losers => "Losers",
            Self::Atomic => "Atomic",
            Self::Horde => "Horde",
            Self::RacingKings => "Racing Kings",
        };
        Some(match mode {
            Standard => name.to_owned(),
            Chess960 => format!("{name}960"),
        })
    }

    /// Reads a name as people and programs write it: without regard to case, blanks, hyphens, slashes and underscores.
    ///
    /// Knows the names of UCI, PGN, Lichess, PyChess, FICS and XBoard. `None` if no variant here is meant.
    #[must_use]
    pub fn parse_name(name: &str) -> Option<NamedVariant> {
        let plain: String = name
            .chars()
            .filter(|c| !matches!(c, ' ' | '-' | '_' | '/' | '.' | '\t'))
            .flat_map(char::to_lowercase)
            .collect();
        let found = match plain.as_str() {
            "" | "chess" | "standard" | "normal" | "orthodox" | "fromposition" | "blitz"
            | "lightning" | "bullet" | "rapid" | "classical" | "nocastle" | "wildcastle"
            | "wild0" | "wild1" | "wild2" | "wild3" | "wild4" | "wild5" | "wild8" | "wild8a" => {
                (Self::Chess, Standard)
            }
            "960" | "chess960" | "fischerandom" | "fischerrandom" | "fischerrandomchess"
            | "frc" | "wildfr" => (Self::Chess, Chess960),
            "zh" | "crazyhouse" | "dropchess" => (Self::Crazyhouse, Standard),
            "crazyhouse960" => (Self::Crazyhouse, Chess960),
            "capablanca" | "capablancachess" | "gothic" | "gothicchess" | "embassy"
            | "embassychess" | "bird" | "carrera" | "schoolbook" | "univers" | "conservative"
            | "victorian" => (Self::Capablanca, Standard),
            "capablanca960" | "caparandom" | "capablancarandom" => (Self::Capablanca, Chess960),
            "capahouse" | "capablancahouse" | "gothhouse" | "embassyhouse" => {
                (Self::Capahouse, Standard)
            }
            "capahouse960" => (Self::Capahouse, Chess960),
            "3check" | "threecheck" | "threechecks" | "3checks" => (Self::ThreeCheck, Standard),
            "3check960" | "threecheck960" => (Self::ThreeCheck, Chess960),
            "kingofthehill" | "koth" => (Self::KingOfTheHill, Standard),
            "kingofthehill960" => (Self::KingOfTheHill, Chess960),
            "antichess" | "giveaway" => (Self::Antichess, Standard),
            "suicide" => (Self::Suicide, Standard),
            "losers" => (Self::Losers, Standard),
            "atomic" => (Self::Atomic, Standard),
            "atomic960" => (Self::Atomic, Chess960),
            "horde" => (Self::Horde, Standard),
            "horde960" => (Self::Horde, Chess960),
            "racingkings" => (Self::RacingKings, Standard),
            _ => return None,
        };
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uci_names_come_back() {
        for variant in Variant::ALL {
            assert_eq!(
                Variant::from_uci_name(variant.uci_name()),
                Some((variant, Standard))
            );
            let twin = variant.uci_name_with(Chess960);
            let expected = variant.supports_chess960().then_some((variant, Chess960));
            assert_eq!(Variant::from_uci_name(&twin), expected, "{twin}");
        }
        assert_eq!(Variant::from_uci_name("960"), None);
        assert_eq!(Variant::from_uci_name("Chess"), None);
        assert_eq!(Variant::from_uci_name("chess960960"), None);
    }

    #[test]
    fn every_written_name_is_read_back_leniently() {
        for variant in Variant::ALL {
            for mode in [Standard, Chess960] {
                if mode == Chess960 && !variant.supports_chess960() {
                    continue;
                }
                let named = Some((variant, mode));
                assert_eq!(Variant::parse_name(&variant.uci_name_with(mode)), named);
                if let Some(name) = variant.pgn_name(mode) {
                    assert_eq!(Variant::parse_name(&name), named, "{name}");
                }
                if let Some(key) = variant.lichess_key(mode) {
                    assert_eq!(Variant::parse_name(key), named, "{key}");
                    assert_eq!(Variant::from_lichess_key(key), named, "{key}");
                }
                if let Some(name) = variant.fics_name(mode) {
                    assert_eq!(Variant::parse_name(name), named, "{name}");
                }
            }
        }
    }

    #[test]
    fn names_of_real_files_are_read() {
        for (name, variant, mode) in [
            ("chess 960", Variant::Chess, Chess960),
            ("fischerandom", Variant::Chess, Chess960),
            ("3-check", Variant::ThreeCheck, Standard),
            ("Three-check", Variant::ThreeCheck, Standard),
            ("King Of The Hill", Variant::KingOfTheHill, Standard),
            ("wild/fr", Variant::Chess, Chess960),
            ("From Position", Variant::Chess, Standard),
            ("racingKings", Variant::RacingKings, Standard),
            ("CRAZYHOUSE", Variant::Crazyhouse, Standard),
        ] {
            assert_eq!(Variant::parse_name(name), Some((variant, mode)), "{name}");
        }
        assert_eq!(Variant::parse_name("bughouse"), None);
        assert_eq!(Variant::from_pychess_name("suicide"), None);
        assert_eq!(
            Variant::from_pychess_name("capahouse960"),
            Some((Variant::Capahouse, Chess960))
        );
        assert_eq!(
            Variant::from_lichess_key("fromPosition"),
            Some((Variant::Chess, Chess960))
        );
    }
}
