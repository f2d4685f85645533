//! How the three servers differ.

use seneschal::rules::{CastlingMode, Variant};

/// Which server this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// freechess.org, as far as public transcripts tell.
    Fics,
    /// FatICS on its own port: CR LF, other wordings.
    FatIcs,
    /// A derivative of lasker: no numbered offers, no game information, seconds.
    Lasker,
}

impl Dialect {
    pub const ALL: [Dialect; 3] = [Dialect::Fics, Dialect::FatIcs, Dialect::Lasker];

    pub fn line_end(self) -> &'static str {
        match self {
            Dialect::FatIcs => "\r\n",
            Dialect::Fics | Dialect::Lasker => "\n\r",
        }
    }

    /// Has `pendinfo`, `gameinfo`, `nowrap`, `autoflag` and milliseconds.
    pub fn is_modern(self) -> bool {
        self != Dialect::Lasker
    }

    pub fn prints_titles_at_login(self) -> bool {
        self.is_modern()
    }

    /// No clock runs before each side has moved.
    pub fn first_moves_free(self) -> bool {
        self.is_modern()
    }

    pub fn agreement(self) -> &'static str {
        match self {
            Dialect::FatIcs => "agreement",
            Dialect::Fics | Dialect::Lasker => "mutual agreement",
        }
    }

    pub fn variables(self) -> &'static [&'static str] {
        const COMMON: [&str; 19] = [
            "style",
            "prompt",
            "lang",
            "bell",
            "highlight",
            "seek",
            "shout",
            "cshout",
            "chanoff",
            "gin",
            "pin",
            "kiblevel",
            "simopen",
            "tourney",
            "width",
            "height",
            "interface",
            "open",
            "formula",
        ];
        const MODERN: [&str; 23] = [
            "style",
            "prompt",
            "lang",
            "bell",
            "highlight",
            "seek",
            "shout",
            "cshout",
            "chanoff",
            "gin",
            "pin",
            "kiblevel",
            "simopen",
            "tourney",
            "width",
            "height",
            "interface",
            "open",
            "formula",
            "autoflag",
            "noescape",
            "bugopen",
            "tzone",
        ];
        if self.is_modern() { &MODERN } else { &COMMON }
    }

    pub fn ivariables(self) -> &'static [&'static str] {
        const MODERN: [&str; 17] = [
            "nowrap",
            "nohighlight",
            "defprompt",
            "ms",
            "startpos",
            "gameinfo",
            "pendinfo",
            "movecase",
            "smartmove",
            "premove",
            "crazyhouse",
            "fr",
            "wildcastle",
            "suicide",
            "losers",
            "atomic",
            "lock",
        ];
        if self.is_modern() {
            &MODERN
        } else {
            &["ms", "startpos", "lock"]
        }
    }
}

/// A kind of game on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Chess,
    Crazyhouse,
    Suicide,
    Losers,
    Atomic,
    FischerRandom,
    /// With the first position as FEN.
    Wild(&'static str, &'static str),
    Bughouse,
}

impl Kind {
    /// Reads the words of `match` and `seek` that name a kind.
    pub fn parse(word: &str) -> Option<Kind> {
        Some(match word {
            "crazyhouse" | "zh" => Kind::Crazyhouse,
            "suicide" => Kind::Suicide,
            "losers" => Kind::Losers,
            "atomic" => Kind::Atomic,
            "fr" | "fischerandom" | "wild/fr" => Kind::FischerRandom,
            "wild/0" => Kind::Wild(
                "wild/0",
                "rnbkqbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1",
            ),
            "wild/5" => Kind::Wild(
                "wild/5",
                "RNBKQBNR/PPPPPPPP/8/8/8/8/pppppppp/rnbkqbnr w - - 0 1",
            ),
            "wild/8" => Kind::Wild(
                "wild/8",
                "rnbqkbnr/8/8/pppppppp/PPPPPPPP/8/8/RNBQKBNR w KQkq - 0 1",
            ),
            "wild/8a" => Kind::Wild(
                "wild/8a",
                "rnbqkbnr/8/pppppppp/8/8/PPPPPPPP/8/RNBQKBNR w KQkq - 0 1",
            ),
            "bughouse" | "bug" => Kind::Bughouse,
            _ => return None,
        })
    }

    pub fn rules(&self) -> (Variant, CastlingMode) {
        match self {
            Kind::Chess | Kind::Wild(..) => (Variant::Chess, CastlingMode::Standard),
            Kind::Crazyhouse | Kind::Bughouse => (Variant::Crazyhouse, CastlingMode::Standard),
            Kind::Suicide => (Variant::Suicide, CastlingMode::Standard),
            Kind::Losers => (Variant::Losers, CastlingMode::Standard),
            Kind::Atomic => (Variant::Atomic, CastlingMode::Standard),
            Kind::FischerRandom => (Variant::Chess, CastlingMode::Chess960),
        }
    }

    /// The first position: some numbered one in Fischer random chess.
    pub fn start_fen(&self) -> &'static str {
        match self {
            Kind::FischerRandom => "nrkbbrnq/pppppppp/8/8/8/8/PPPPPPPP/NRKBBRNQ w KQkq - 0 1",
            Kind::Wild(_, fen) => fen,
            _ => self.rules().0.start_fen(),
        }
    }

    /// Word in announcements of games and in `<g1>`.
    pub fn word(&self, minutes: u32, increment: u32, dialect: Dialect) -> String {
        match self {
            Kind::Chess => match minutes * 60 + increment * 40 {
                0 => "untimed".to_owned(),
                1..180 => "lightning".to_owned(),
                180..900 => "blitz".to_owned(),
                _ => "standard".to_owned(),
            },
            Kind::Crazyhouse => "crazyhouse".to_owned(),
            Kind::Suicide => "suicide".to_owned(),
            Kind::Losers => "losers".to_owned(),
            Kind::Atomic => "atomic".to_owned(),
            Kind::FischerRandom if dialect == Dialect::Lasker => "fischerandom".to_owned(),
            Kind::FischerRandom => "wild/fr".to_owned(),
            Kind::Wild(word, _) => (*word).to_owned(),
            Kind::Bughouse => "bughouse".to_owned(),
        }
    }

    /// The same in announcements; one server puts the speed in front.
    pub fn announced(&self, minutes: u32, increment: u32, dialect: Dialect) -> String {
        let word = self.word(minutes, increment, dialect);
        let plain = matches!(
            self,
            Kind::Chess | Kind::Wild(..) | Kind::FischerRandom | Kind::Bughouse
        );
        if dialect != Dialect::FatIcs || plain {
            word
        } else {
            format!("{} {word}", Kind::Chess.word(minutes, increment, dialect))
        }
    }

    /// Kind, clock and source in a challenge: `crazyhouse 3 0`, `wild 3 0 Loaded from crazyhouse/0`.
    pub fn offer_words(&self, minutes: u32, increment: u32, dialect: Dialect) -> String {
        let word = self.word(minutes, increment, dialect);
        let clock = if minutes + increment > 0 {
            format!(" {minutes} {increment}")
        } else {
            String::new()
        };
        match self {
            Kind::Chess | Kind::Bughouse => format!("{word}{clock}"),
            Kind::Wild(..) => format!("wild{clock} Loaded from {word}"),
            Kind::FischerRandom if dialect.is_modern() => {
                format!("wild{clock} Loaded from wild/fr")
            }
            _ if dialect == Dialect::Lasker => format!("wild{clock} Loaded from {word}/0"),
            _ => format!("{}{clock}", self.announced(minutes, increment, dialect)),
        }
    }
}
