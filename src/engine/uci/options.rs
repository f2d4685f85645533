//! The options that a GUI may set: their names, ranges and values.

use std::time::Duration;

use crate::engine::EngineConfig;
use crate::engine::book::Books;
use crate::engine::network::Networks;
use crate::engine::strength;
use crate::rules::{CastlingMode, Variant};

const HASH_MIB: Spin = Spin::new("Hash", 64, 1, 65_536);
const THREADS: Spin = Spin::new("Threads", 1, 1, 256);
const MULTI_PV: Spin = Spin::new("MultiPV", 1, 1, 256);
const OVERHEAD_MS: Spin = Spin::new("Move Overhead", 10, 0, 5_000);
const ELO: Spin = Spin::new(
    "UCI_Elo",
    strength::STRONGEST_ELO as u64,
    strength::WEAKEST_ELO as u64,
    strength::STRONGEST_ELO as u64,
);

/// An option that is a number.
#[derive(Clone, Copy, Debug)]
struct Spin {
    name: &'static str,
    default: u64,
    min: u64,
    max: u64,
}

impl Spin {
    const fn new(name: &'static str, default: u64, min: u64, max: u64) -> Spin {
        Spin {
            name,
            default,
            min,
            max,
        }
    }

    fn declaration(self) -> String {
        let Spin {
            name,
            default,
            min,
            max,
        } = self;
        format!("option name {name} type spin default {default} min {min} max {max}")
    }

    fn parse(self, value: &str) -> Result<u64, OptionError> {
        value
            .trim()
            .parse()
            .ok()
            .filter(|n| (self.min..=self.max).contains(n))
            .ok_or_else(|| OptionError::Range {
                name: self.name,
                value: value.to_owned(),
                min: self.min,
                max: self.max,
            })
    }
}

/// Why an option was not set; the old value stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No option has this name.
    #[error("no option is called {0:?}")]
    Unknown(String),
    /// No number, or one outside the range.
    #[error("{name} must be a number from {min} to {max}, not {value:?}")]
    Range {
        /// Name of the option.
        name: &'static str,
        /// What was sent.
        value: String,
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// Neither `true` nor `false`.
    #[error("{name} must be true or false, not {value:?}")]
    Bool {
        /// Name of the option.
        name: &'static str,
        /// What was sent.
        value: String,
    },
    /// No variant has this name.
    #[error("no variant is called {0:?}")]
    Variant(String),
    /// A network was refused.
    #[error("EvalFile: {0}")]
    EvalFile(String),
    /// An opening book was refused.
    #[error("BookFile: {0}")]
    BookFile(String),
}

/// What has to be done after an option was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing; the next search sees it.
    Noted,
    /// The rules changed: start from the new start position.
    Rules,
    /// Threads or memory changed: the searcher has to be built anew.
    Engine,
    /// Forget everything.
    ClearHash,
}

/// Values of all options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Rule set.
    pub variant: Variant,
    /// Notation of castling, and whether king and rooks may stand anywhere.
    pub castling_mode: CastlingMode,
    /// Threads and memory.
    pub engine: EngineConfig,
    /// The books that are used if the GUI wants us to use our own.
    book_file: Books,
    own_book: bool,
    /// Number of lines to show.
    pub multi_pv: usize,
    /// Time lost between us and the GUI for each move.
    pub overhead: Duration,
    /// Strength to play at, if it is limited.
    pub elo: Option<u32>,
    elo_when_limited: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            variant: Variant::Chess,
            castling_mode: CastlingMode::Standard,
            engine: EngineConfig::new(mib(HASH_MIB.default), to_usize(THREADS.default)),
            book_file: Books::default(),
            own_book: false,
            multi_pv: to_usize(MULTI_PV.default),
            overhead: Duration::from_millis(OVERHEAD_MS.default),
            elo: None,
            elo_when_limited: strength::STRONGEST_ELO,
        }
    }
}

impl Options {
    /// The lines that declare all options after `uci`.
    pub fn declarations() -> Vec<String> {
        let variants: String = Variant::ALL
            .iter()
            .map(|variant| format!(" var {}", variant.uci_name()))
            .collect();
        vec![
            format!("option name UCI_Variant type combo default chess{variants}"),
            "option name UCI_Chess960 type check default false".into(),
            HASH_MIB.declaration(),
            THREADS.declaration(),
            MULTI_PV.declaration(),
            "option name Ponder type check default false".into(),
            OVERHEAD_MS.declaration(),
            "option name UCI_LimitStrength type check default false".into(),
            ELO.declaration(),
            "option name UCI_AnalyseMode type check default false".into(),
            "option name EvalFile type string default <embedded>".into(),
            "option name OwnBook type check default false".into(),
            "option name BookFile type string default <embedded>".into(),
            "option name Clear Hash type button".into(),
        ]
    }

    /// Sets an option; case does not matter in names.
    ///
    /// # Errors
    /// If there is no such option or value; see [`OptionError`].
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<Change, OptionError> {
        let value = value.unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "uci_variant" => self.set_variant(value),
            "uci_chess960" => {
                self.castling_mode = if parse_bool("UCI_Chess960", value)? {
                    CastlingMode::Chess960
                } else {
                    CastlingMode::Standard
                };
                Ok(Change::Rules)
            }
            "hash" => {
                self.engine.hash_bytes = mib(HASH_MIB.parse(value)?);
                Ok(Change::Engine)
            }
            "threads" => {
                self.engine.threads = to_usize(THREADS.parse(value)?);
                Ok(Change::Engine)
            }
            "evalfile" => {
                self.engine.networks = Networks::parse(value)
                    .map_err(|error| OptionError::EvalFile(with_causes(&error)))?;
                Ok(Change::Engine)
            }
            "ownbook" => {
                self.own_book = parse_bool("OwnBook", value)?;
                Ok(self.use_books())
            }
            "bookfile" => {
                self.book_file = Books::parse(value)
                    .map_err(|error| OptionError::BookFile(with_causes(&error)))?;
                Ok(self.use_books())
            }
            "multipv" => {
                self.multi_pv = to_usize(MULTI_PV.parse(value)?);
                Ok(Change::Noted)
            }
            "move overhead" => {
                self.overhead = Duration::from_millis(OVERHEAD_MS.parse(value)?);
                Ok(Change::Noted)
            }
            "uci_limitstrength" => {
                let limited = parse_bool("UCI_LimitStrength", value)?;
                self.elo = limited.then_some(self.elo_when_limited);
                Ok(Change::Noted)
            }
            "uci_elo" => {
                self.elo_when_limited =
                    u32::try_from(ELO.parse(value)?).unwrap_or(strength::STRONGEST_ELO);
                self.elo = self.elo.map(|_| self.elo_when_limited);
                Ok(Change::Noted)
            }
            // Whether to ponder the GUI tells by `go ponder`; analysis needs no other search.
            "ponder" => parse_bool("Ponder", value).map(|_| Change::Noted),
            "uci_analysemode" => parse_bool("UCI_AnalyseMode", value).map(|_| Change::Noted),
            "clear hash" => Ok(Change::ClearHash),
            _ => Err(OptionError::Unknown(name.to_owned())),
        }
    }

    fn use_books(&mut self) -> Change {
        self.engine.books = if self.own_book {
            self.book_file.clone()
        } else {
            Books::none()
        };
        Change::Engine
    }

    fn set_variant(&mut self, value: &str) -> Result<Change, OptionError> {
        let (variant, mode) =
            Variant::from_uci_name(value).ok_or_else(|| OptionError::Variant(value.to_owned()))?;
        self.variant = variant;
        // A name like "crazyhouse960" chooses the castling mode too; others leave it as it is.
        if mode == CastlingMode::Chess960 {
            self.castling_mode = mode;
        }
        Ok(Change::Rules)
    }
}

/// An error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn parse_bool(name: &'static str, value: &str) -> Result<bool, OptionError> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(OptionError::Bool {
            name,
            value: value.to_owned(),
        }),
    }
}

fn mib(n: u64) -> usize {
    to_usize(n).saturating_mul(1 << 20)
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_option_can_be_set_to_its_default() {
        for line in Options::declarations() {
            let rest = line.strip_prefix("option name ").expect("a declaration");
            let (name, rest) = rest.split_once(" type ").expect("a type");
            let default = rest
                .split_once("default ")
                .map(|(_, tail)| tail.split(' ').next().unwrap_or_default());
            let mut options = Options::default();
            assert!(options.set(name, default).is_ok(), "{line}");
            assert_eq!(options, Options::default(), "{line}");
        }
    }

    #[test]
    fn all_variants_are_offered_and_taken() {
        let combo = Options::declarations().remove(0);
        for variant in Variant::ALL {
            let name = variant.uci_name();
            assert!(combo.contains(&format!(" var {name}")), "{name}");
            let mut options = Options::default();
            assert_eq!(options.set("UCI_Variant", Some(name)), Ok(Change::Rules));
            assert_eq!(options.variant, variant);
        }
    }

    #[test]
    fn values_are_checked() {
        let mut options = Options::default();
        for (name, value) in [
            ("Hash", "0"),
            ("Hash", "-1"),
            ("Threads", "many"),
            ("MultiPV", "257"),
            ("Move Overhead", "5001"),
            ("UCI_Elo", "99999"),
            ("UCI_Chess960", "maybe"),
            ("UCI_Variant", "xiangqi"),
            ("Contempt", "3"),
            ("EvalFile", "/nonexistent/net"),
            ("BookFile", "/nonexistent/book"),
            ("OwnBook", "perhaps"),
        ] {
            assert!(options.set(name, Some(value)).is_err(), "{name} {value}");
        }
        assert!(options.set("Hash", None).is_err());
        assert_eq!(options, Options::default());
    }

    #[test]
    fn names_are_compared_without_case() {
        let mut options = Options::default();
        assert_eq!(options.set("hash", Some("16")), Ok(Change::Engine));
        assert_eq!(options.engine.hash_bytes, 16 << 20);
        assert_eq!(options.set("CLEAR HASH", None), Ok(Change::ClearHash));
    }

    #[test]
    fn strength_is_limited_in_any_order_of_the_two_options() {
        let mut options = Options::default();
        options.set("UCI_Elo", Some("1500")).unwrap();
        assert_eq!(options.elo, None);
        options.set("UCI_LimitStrength", Some("true")).unwrap();
        assert_eq!(options.elo, Some(1500));
        options.set("UCI_Elo", Some("1800")).unwrap();
        assert_eq!(options.elo, Some(1800));
        options.set("UCI_LimitStrength", Some("false")).unwrap();
        assert_eq!(options.elo, None);
    }
}
