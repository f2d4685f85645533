//! The config section of an account on an ICS, what such an account can do, and the lines that set it up at login.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::game::GameCapabilities;
use crate::lobby::LobbyCapabilities;
use crate::rules::{CastlingMode, Variant};

use super::super::Capabilities;
use super::outbound::Pace;
use super::wire::is_name;

/// One account on an ICS: its config section. The password is no part of it; it is handed to
/// [`connect`](super::connect) by whoever keeps the secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FicsConfig {
    /// Host name or address. Default `freechess.org`.
    pub host: String,
    /// Port. Default 5000.
    pub port: u16,
    /// Registered name, or the name that a guest asks for; empty lets the server choose a guest's name.
    pub handle: String,
    /// Log in as a guest: only unrated games. Default false; without it a name that the server does not know stops the
    /// account, so that a misspelt name never plays as somebody else.
    pub guest: bool,
    /// The account must carry the computer mark `(C)`; without the mark rated challenges count as closed to us.
    /// Default true.
    pub computer_required: bool,
    /// Kinds of game that the account was approved for; sets the variables that make others able to challenge us.
    /// Default: crazyhouse and standard.
    pub variants: Vec<FicsVariant>,
    /// Registered players whose tells are commands to the daemon. Default none.
    pub owners: Vec<String>,
    /// Players whom we may challenge by ourselves. Default none: then we only answer, rematch and resume.
    pub may_challenge: Vec<String>,
    /// Seeks to keep posted while idle, at most three. They are always manual: whoever answers sends a challenge, which
    /// is judged like any other. Default none.
    pub seeks: Vec<SeekConfig>,
    /// The server's filter for challenges (its variable `formula`). Unset leaves the account's own.
    pub formula: Option<String>,
    /// Agree that a lost connection loses the game, if the opponent agrees too. Default false: a crash costs no points.
    pub noescape: bool,
    /// Stamp our lines with our clock (timeseal, first version). Default false.
    pub timeseal: bool,
    /// Text shown to those who look the account up. Default `Seneschal`.
    pub interface: String,
    /// Tell a challenger in one line why he was declined, at most once in ten minutes each. Default true.
    pub explain_declines: bool,
    /// On this server the clock does not run before each side has moved once. Default true; false on servers derived
    /// from lasker.
    pub first_moves_free: bool,
    /// Time a move costs at least on its way, in milliseconds. Default 100.
    pub move_overhead_ms: u64,
    /// Lines per second outside games in the long run. Default 5.
    pub commands_per_second: u32,
    /// Lines at once after a silence; the login needs about 50. Default 60.
    pub command_burst: u32,
    /// Milliseconds between two lines of chat. Default 2000.
    pub chat_gap_ms: u64,
    /// Seconds between two signs of life asked for while no game is on. Default 60.
    pub ping_idle_s: u64,
    /// The same while a game is on and the server is silent. Default 30.
    pub ping_playing_s: u64,
    /// Seconds until the login must be through. Default 60.
    pub login_timeout_s: u64,
    /// Shortest wait before a reconnection, in seconds. Default 30.
    pub reconnect_min_s: u64,
    /// Longest wait before a reconnection, in seconds. Default 600.
    pub reconnect_max_s: u64,
    /// Seconds to stay away after another session took the account over; 0 stops the account. At least 300 otherwise.
    /// A second time within that span stops it in any case. Default 900.
    pub kicked_pause_s: u64,
    /// Milliseconds that a crazyhouse board waits for its holdings before our own count is used. Default 50.
    pub holdings_wait_ms: u64,
}

impl Default for FicsConfig {
    fn default() -> FicsConfig {
        FicsConfig {
            host: "freechess.org".to_owned(),
            port: 5000,
            handle: String::new(),
            guest: false,
            computer_required: true,
            variants: vec![FicsVariant::Crazyhouse, FicsVariant::Standard],
            owners: Vec::new(),
            may_challenge: Vec::new(),
            seeks: Vec::new(),
            formula: None,
            noescape: false,
            timeseal: false,
            interface: "Seneschal".to_owned(),
            explain_declines: true,
            first_moves_free: true,
            move_overhead_ms: 100,
            commands_per_second: 5,
            command_burst: 60,
            chat_gap_ms: 2000,
            ping_idle_s: 60,
            ping_playing_s: 30,
            login_timeout_s: 60,
            reconnect_min_s: 30,
            reconnect_max_s: 600,
            kicked_pause_s: 900,
            holdings_wait_ms: 50,
        }
    }
}

/// A kind of game on an ICS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FicsVariant {
    /// Chess at every speed, from lightning to untimed.
    Standard,
    /// Crazyhouse.
    Crazyhouse,
    /// Suicide chess.
    Suicide,
    /// Losers chess.
    Losers,
    /// Atomic chess.
    Atomic,
    /// Fischer random chess (`wild/fr`).
    FischerRandom,
    /// Chess from other first positions: wild/0 to wild/5, 8 and 8a.
    Wild,
}

impl FicsVariant {
    /// Rule set and castling mode. Wild games are chess from another position.
    #[must_use]
    pub fn rules(self) -> (Variant, CastlingMode) {
        match self {
            FicsVariant::Standard | FicsVariant::Wild => (Variant::Chess, CastlingMode::Standard),
            FicsVariant::Crazyhouse => (Variant::Crazyhouse, CastlingMode::Standard),
            FicsVariant::Suicide => (Variant::Suicide, CastlingMode::Standard),
            FicsVariant::Losers => (Variant::Losers, CastlingMode::Standard),
            FicsVariant::Atomic => (Variant::Atomic, CastlingMode::Standard),
            FicsVariant::FischerRandom => (Variant::Chess, CastlingMode::Chess960),
        }
    }

    /// Word in `match` and `seek`; empty for chess. The second family of servers calls one of them differently.
    #[must_use]
    pub fn word(self, numbered_offers: bool) -> &'static str {
        match self {
            FicsVariant::Standard => "",
            FicsVariant::Crazyhouse => "crazyhouse",
            FicsVariant::Suicide => "suicide",
            FicsVariant::Losers => "losers",
            FicsVariant::Atomic => "atomic",
            FicsVariant::FischerRandom if numbered_offers => "fr",
            FicsVariant::FischerRandom => "fischerandom",
            FicsVariant::Wild => "wild 4",
        }
    }

    /// The login variable that makes others able to challenge us to it.
    fn ivariable(self) -> Option<&'static str> {
        match self {
            FicsVariant::Standard => None,
            FicsVariant::Crazyhouse => Some("crazyhouse"),
            FicsVariant::Suicide => Some("suicide"),
            FicsVariant::Losers => Some("losers"),
            FicsVariant::Atomic => Some("atomic"),
            FicsVariant::FischerRandom => Some("fr"),
            FicsVariant::Wild => Some("wildcastle"),
        }
    }
}

/// One advertisement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeekConfig {
    /// Kind of game.
    pub variant: FicsVariant,
    /// Initial time in minutes.
    pub minutes: u32,
    /// Increment in seconds.
    #[serde(default)]
    pub increment_s: u32,
    /// For rating. Default false.
    #[serde(default)]
    pub rated: bool,
}

/// A config section that cannot work. Names the key and what was in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FicsConfigError {
    /// Neither a handle nor guest mode.
    #[error("handle: a registered name is needed unless guest = true")]
    HandleMissing,
    /// A name that no ICS takes.
    #[error("{key}: {name:?} is not a player name (letters only, 3 to 17 of them)")]
    NotAName {
        /// The key.
        key: &'static str,
        /// What was in it.
        name: String,
    },
    /// More than three seeks.
    #[error("seeks: at most 3 are allowed by the server, {count} are given")]
    TooManySeeks {
        /// How many.
        count: usize,
    },
    /// A number outside of its range.
    #[error("{key}: {value} is outside of {range}")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// What was in it.
        value: u64,
        /// What is allowed.
        range: &'static str,
    },
    /// A line break in a text that becomes a command.
    #[error("{key}: must be one line of plain ASCII, at most 300 characters")]
    NotOneLine {
        /// The key.
        key: &'static str,
    },
}

impl FicsConfig {
    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`FicsConfigError`] naming the first key that cannot work.
    pub fn validate(&self) -> Result<(), FicsConfigError> {
        if self.handle.is_empty() && !self.guest {
            return Err(FicsConfigError::HandleMissing);
        }
        let names = self.owners.iter().map(|name| ("owners", name)).chain(
            self.may_challenge
                .iter()
                .map(|name| ("may_challenge", name)),
        );
        let own = (!self.handle.is_empty()).then_some(("handle", &self.handle));
        for (key, name) in names.chain(own) {
            if !is_name(name) || !(3..=17).contains(&name.len()) {
                return Err(FicsConfigError::NotAName {
                    key,
                    name: name.clone(),
                });
            }
        }
        if self.seeks.len() > 3 {
            return Err(FicsConfigError::TooManySeeks {
                count: self.seeks.len(),
            });
        }
        for (key, text) in [
            ("interface", Some(&self.interface)),
            ("formula", self.formula.as_ref()),
        ] {
            if text.is_some_and(|text| {
                text.len() > 300 || text.bytes().any(|b| !b.is_ascii() || b.is_ascii_control())
            }) {
                return Err(FicsConfigError::NotOneLine { key });
            }
        }
        let ranges = [
            (
                "commands_per_second",
                u64::from(self.commands_per_second),
                1,
                1000,
                "1 to 1000",
            ),
            (
                "command_burst",
                u64::from(self.command_burst),
                1,
                1000,
                "1 to 1000",
            ),
            ("ping_idle_s", self.ping_idle_s, 1, 1800, "1 to 1800"),
            ("ping_playing_s", self.ping_playing_s, 1, 600, "1 to 600"),
            ("login_timeout_s", self.login_timeout_s, 1, 600, "1 to 600"),
            (
                "reconnect_max_s",
                self.reconnect_max_s,
                self.reconnect_min_s,
                86_400,
                "reconnect_min_s to 86400",
            ),
            (
                "holdings_wait_ms",
                self.holdings_wait_ms,
                1,
                5000,
                "1 to 5000",
            ),
        ];
        for (key, value, low, high, range) in ranges {
            if !(low..=high).contains(&value) {
                return Err(FicsConfigError::OutOfRange { key, value, range });
            }
        }
        if self.kicked_pause_s != 0 && self.kicked_pause_s < 300 {
            return Err(FicsConfigError::OutOfRange {
                key: "kicked_pause_s",
                value: self.kicked_pause_s,
                range: "0, or 300 and more",
            });
        }
        Ok(())
    }

    /// Whether the login needs a password.
    #[must_use]
    pub fn needs_password(&self) -> bool {
        !self.guest
    }

    /// Pace of what we send.
    #[must_use]
    pub fn pace(&self) -> Pace {
        Pace {
            burst: self.command_burst,
            per_second: self.commands_per_second,
            chat_gap: Duration::from_millis(self.chat_gap_ms),
        }
    }

    /// The commands that set the account up, in order. Variables of the interface are forgotten by the server at logout,
    /// so all of them are sent at every login; `lock` comes last, because nothing can be set after it.
    #[must_use]
    pub fn login_commands(&self) -> Vec<String> {
        let mut commands: Vec<String> = [
            "style 12",
            "prompt",
            "lang English",
            "bell 0",
            "highlight 0",
            "seek 0",
            "shout 0",
            "cshout 0",
            "chanoff 1",
            "gin 0",
            "pin 0",
            "kiblevel 0",
            "simopen 0",
            "bugopen 0",
            "tourney 0",
            "autoflag 1",
            "width 240",
            "height 240",
            "tzone UTC",
        ]
        .iter()
        .map(|setting| format!("set {setting}"))
        .collect();
        commands.push(format!("set noescape {}", u8::from(self.noescape)));
        if !self.interface.is_empty() {
            commands.push(format!("set interface {}", self.interface));
        }
        if let Some(formula) = &self.formula {
            commands.push(format!("set formula {formula}"));
        }
        let switches = [
            "nowrap 1",
            "nohighlight 1",
            "defprompt 1",
            "ms 1",
            "startpos 1",
            "gameinfo 1",
            "pendinfo 1",
            "movecase 1",
            "smartmove 0",
            "premove 0",
        ];
        commands.extend(switches.iter().map(|switch| format!("iset {switch}")));
        let mut kinds: Vec<&str> = self
            .variants
            .iter()
            .filter_map(|variant| variant.ivariable())
            .collect();
        kinds.dedup();
        commands.extend(kinds.iter().map(|kind| format!("iset {kind} 1")));
        commands.push("iset lock 1".to_owned());
        // Open only now: before this point a challenge would find us half set up.
        commands.push("set open 1".to_owned());
        commands
    }
}

/// Characters in one line of chat: longer ones are cut or folded by some servers.
pub const CHAT_CHARS_MAX: usize = 180;

/// How long a challenge may wait for an answer, and an accept for its game.
pub const CHALLENGE_LIFETIME: Duration = Duration::from_secs(60);

/// What an account with this config can do.
#[must_use]
pub fn capabilities(config: &FicsConfig) -> Capabilities {
    let mut variants: Vec<(Variant, CastlingMode)> = Vec::new();
    for variant in &config.variants {
        if !variants.contains(&variant.rules()) {
            variants.push(variant.rules());
        }
    }
    Capabilities {
        game: GameCapabilities {
            draw_offers: true,
            draw_offer_with_move: true,
            takeback_requests: true,
            takebacks_unannounced: false,
            claims_when_opponent_gone: false,
            flag_calls: true,
            abort_and_adjourn_requests: true,
            abort_before_ply: 2,
            untimed_plies: if config.first_moves_free { 2 } else { 0 },
            min_move_overhead: Duration::from_millis(config.move_overhead_ms),
            chat_max_chars: CHAT_CHARS_MAX,
            chat_gap: Duration::from_millis(config.chat_gap_ms),
            spectator_chat: true,
            max_plies: None,
        },
        lobby: LobbyCapabilities {
            create_challenges: !config.may_challenge.is_empty(),
            list_bots: false,
            seeks: !config.seeks.is_empty(),
            rated_games: !config.guest,
            challenge_lifetime: CHALLENGE_LIFETIME,
            tells_withdrawals: true,
            lists_running_games: true,
            variants,
            bot_games_per_day: None,
            challenges_per_minute: Some(6),
            challenges_per_day: None,
            challenge_cost: (1, 1),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registered() -> FicsConfig {
        FicsConfig {
            handle: "Cedar".to_owned(),
            ..FicsConfig::default()
        }
    }

    #[test]
    fn a_section_that_cannot_work_is_refused_with_its_key() {
        assert_eq!(registered().validate(), Ok(()));
        let guest = FicsConfig {
            guest: true,
            ..FicsConfig::default()
        };
        assert_eq!(guest.validate(), Ok(()));
        assert_eq!(
            FicsConfig::default().validate(),
            Err(FicsConfigError::HandleMissing)
        );
        let cases = [
            (
                FicsConfig {
                    handle: "C3dar".into(),
                    ..registered()
                },
                "handle",
            ),
            (
                FicsConfig {
                    owners: vec!["x y".into()],
                    ..registered()
                },
                "owners",
            ),
            (
                FicsConfig {
                    kicked_pause_s: 20,
                    ..registered()
                },
                "kicked_pause_s",
            ),
            (
                FicsConfig {
                    reconnect_min_s: 700,
                    ..registered()
                },
                "reconnect_max_s",
            ),
            (
                FicsConfig {
                    formula: Some("a\nquit".into()),
                    ..registered()
                },
                "formula",
            ),
            (
                FicsConfig {
                    commands_per_second: 0,
                    ..registered()
                },
                "commands_per_second",
            ),
        ];
        for (config, key) in cases {
            let error = config.validate().unwrap_err().to_string();
            assert!(error.starts_with(key), "{error}");
        }
    }

    #[test]
    fn lock_is_the_last_interface_variable_and_only_approved_kinds_are_opened() {
        let config = FicsConfig {
            variants: vec![FicsVariant::Crazyhouse, FicsVariant::FischerRandom],
            ..registered()
        };
        let commands = config.login_commands();
        let last = commands
            .iter()
            .rposition(|command| command.starts_with("iset "))
            .unwrap();
        assert_eq!(commands[last], "iset lock 1");
        for expected in [
            "iset crazyhouse 1",
            "iset fr 1",
            "iset ms 1",
            "iset pendinfo 1",
            "set noescape 0",
            "set style 12",
            "set open 1",
        ] {
            assert!(
                commands.iter().any(|command| command == expected),
                "{expected}"
            );
        }
        for absent in ["iset suicide 1", "iset atomic 1", "iset wildcastle 1"] {
            assert!(commands.iter().all(|command| command != absent), "{absent}");
        }
    }

    #[test]
    fn unknown_keys_are_refused() {
        assert!(toml::from_str::<FicsConfig>("handle = \"Cedar\"\nspeed = 3").is_err());
        let config: FicsConfig = toml::from_str("guest = true\nvariants = [\"fischer_random\"]\n[[seeks]]\nvariant = \"crazyhouse\"\nminutes = 3").unwrap();
        assert_eq!(config.variants, [FicsVariant::FischerRandom]);
        assert_eq!(config.seeks[0].increment_s, 0);
    }
}
