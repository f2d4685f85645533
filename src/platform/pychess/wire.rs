//! What PyChess says, in its own words and units.
//!
//! Nothing here means anything yet: [`translate`](super::translate) turns these into the words of the daemon.
//! Source: the server of `gbtami/pychess-variants` at commit 37b7a729 (2026-08-22), watched on the wire; the project publishes no
//! page about its bot API. Every field the server was ever seen to leave out has a default, and unknown fields and line types are kept
//! out of the way instead of being errors, because the API is young and moves.

use std::borrow::Cow;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

/// The media type of both streams: one JSON object per line.
pub const NDJSON: &str = "application/x-ndjson";
/// Header of the event stream that names the variants the bot plays. Without it the server answers 400.
pub const CAPABILITIES_HEADER: &str = "X-PyChess-Bot-Capabilities";
/// The only version the server takes.
pub const CAPABILITIES_VERSION: u32 = 1;
/// The header's limit on the server, in bytes.
pub const CAPABILITIES_BYTES_MAX: usize = 6 * 1024;
/// Start of every guest's name. The dash is an EN DASH, not a hyphen.
pub const GUEST_PREFIX: &str = "Anon\u{2013}";
/// Longest reason for a declined challenge that the server shows to the challenger, in characters.
pub const DECLINE_TEXT_CHARS_MAX: usize = 300;

/// A line that is not what its stream should carry.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not JSON, or a known type whose fields do not fit.
    #[error("unreadable line from PyChess: {source}: {line:?}")]
    Json {
        /// The start of the refused line.
        line: String,
        /// Where and why.
        source: serde_json::Error,
    },
}

impl LineError {
    fn json(line: &str, source: serde_json::Error) -> LineError {
        LineError::Json {
            line: excerpt(line),
            source,
        }
    }
}

/// The start of a line, short enough for a log.
fn excerpt(line: &str) -> String {
    const CHARS_MAX: usize = 200;
    line.chars().take(CHARS_MAX).collect()
}

/// One line of `GET /api/stream/event`.
#[derive(Clone, Debug, PartialEq)]
pub enum AccountLine {
    /// Sign of life, every 6 s while nothing else happens.
    Ping,
    /// Somebody wants to play. Never told again and never told to be cancelled.
    Challenge(Challenge),
    /// A game of ours runs: after an accept, after a rematch that nobody asked us about, and again after reconnecting.
    GameStart(GameStart),
    /// The server stops. Comes without a line end and is followed by bytes that break the body's framing.
    Terminated,
    /// A type this client does not know.
    Other(String),
}

/// One line of `GET /api/bot/game/stream/{id}`.
#[derive(Clone, Debug, PartialEq)]
pub enum GameLine {
    /// Sign of life, every 6 s while nothing else happens.
    Ping,
    /// The whole game; replaces whatever was known.
    GameFull(GameFull),
    /// All moves so far and both clocks after one more move (or fewer: nobody announces takebacks).
    GameState(GameState),
    /// Somebody talked.
    ChatLine(ChatLine),
    /// The game is over, without result or reason. May come twice; the stream stays open.
    GameEnd(GameEnd),
    /// The server stops.
    Terminated,
    /// A type this client does not know.
    Other(String),
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

impl AccountLine {
    /// Reads one line, without its line end.
    ///
    /// # Errors
    /// [`LineError`] if it is not JSON with a `type`, or a known type whose fields do not fit.
    pub fn parse(line: &str) -> Result<AccountLine, LineError> {
        #[derive(Deserialize)]
        struct Envelope {
            challenge: Challenge,
        }
        #[derive(Deserialize)]
        struct Started {
            game: GameStart,
        }
        let refused = |source| LineError::json(line, source);
        let tag: Tag<'_> = serde_json::from_str(line).map_err(refused)?;
        Ok(match tag.kind.as_ref() {
            "ping" => AccountLine::Ping,
            "challenge" => AccountLine::Challenge(
                serde_json::from_str::<Envelope>(line)
                    .map_err(refused)?
                    .challenge,
            ),
            "gameStart" => {
                AccountLine::GameStart(serde_json::from_str::<Started>(line).map_err(refused)?.game)
            }
            "terminated" => AccountLine::Terminated,
            other => AccountLine::Other(excerpt(other)),
        })
    }
}

impl GameLine {
    /// Reads one line, without its line end.
    ///
    /// # Errors
    /// [`LineError`] if it is not JSON with a `type`, or a known type whose fields do not fit.
    pub fn parse(line: &str) -> Result<GameLine, LineError> {
        #[derive(Deserialize)]
        struct Ended {
            game: GameEnd,
        }
        let refused = |source| LineError::json(line, source);
        let tag: Tag<'_> = serde_json::from_str(line).map_err(refused)?;
        Ok(match tag.kind.as_ref() {
            "ping" => GameLine::Ping,
            "gameFull" => GameLine::GameFull(serde_json::from_str(line).map_err(refused)?),
            "gameState" => GameLine::GameState(serde_json::from_str(line).map_err(refused)?),
            "chatLine" => GameLine::ChatLine(serde_json::from_str(line).map_err(refused)?),
            "gameEnd" => {
                GameLine::GameEnd(serde_json::from_str::<Ended>(line).map_err(refused)?.game)
            }
            "terminated" => GameLine::Terminated,
            other => GameLine::Other(excerpt(other)),
        })
    }
}

/// Whether a line that could not be read was to show the state of a game. Other broken lines are noise of the transport.
pub fn shows_state(line: &str) -> bool {
    serde_json::from_str::<Tag<'_>>(line)
        .is_ok_and(|tag| matches!(tag.kind.as_ref(), "gameFull" | "gameState"))
}

/// An offer to play. A start position other than the usual one cannot be seen before accepting.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Challenge {
    /// Also the id of the game, if it comes to one.
    pub id: String,
    /// Who asks.
    pub challenger: Challenger,
    /// Which game.
    pub variant: VariantKey,
    /// Always false: the server makes every game with a bot casual.
    #[serde(default, deserialize_with = "flag")]
    pub rated: bool,
    /// How long.
    #[serde(rename = "timeControl")]
    pub time_control: TimeControl,
    /// The challenger's own colour: `white`, `black` or `random`.
    #[serde(default)]
    pub color: String,
    /// The server's name of the pace; not used for decisions.
    #[serde(default)]
    pub speed: String,
    /// Shuffled start.
    #[serde(default, deserialize_with = "flag")]
    pub chess960: bool,
}

/// Who asks.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Challenger {
    /// User name, or a guest's name beginning with [`GUEST_PREFIX`].
    pub name: String,
    /// 1500 for guests and new users.
    #[serde(default)]
    pub rating: Option<f64>,
    /// `""` for most.
    #[serde(default)]
    pub title: Option<String>,
}

/// `{"key":...}` of a challenge: `standard` for chess, else the server's own name, never with `960`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct VariantKey {
    /// The name.
    pub key: String,
}

/// `{"name":...}` of a game: the server's own name (`chess`, not `standard`), never with `960`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct VariantName {
    /// The name.
    pub name: String,
}

/// A challenge's clock.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct TimeControl {
    /// `clock`; nothing else was ever seen for bots.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// Seconds at the start; may be 0 with an increment.
    #[serde(default)]
    pub limit: f64,
    /// Seconds per move; the period of Japanese byo-yomi in some variants.
    #[serde(default)]
    pub increment: f64,
}

/// A game of ours that runs.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GameStart {
    /// The game.
    pub id: String,
    /// Comes as the words `"True"` and `"False"`; `None` if the server leaves it out.
    #[serde(default, deserialize_with = "optional_flag")]
    pub chess960: Option<bool>,
}

/// The whole game.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GameFull {
    /// The game.
    pub id: String,
    /// Which game, without any word about a shuffled start.
    pub variant: VariantName,
    /// First player.
    #[serde(default)]
    pub white: Player,
    /// Second player.
    #[serde(default)]
    pub black: Player,
    /// A FEN; `""` for the usual start; the word `None` after the server restarted.
    #[serde(rename = "initialFen", default)]
    pub initial_fen: Option<String>,
    /// Seconds since 1970.
    #[serde(rename = "createdAt", default)]
    pub created_at: Option<f64>,
    /// Moves and clocks.
    pub state: GameState,
}

/// One side's player.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct Player {
    /// User name; the server keeps upper and lower case.
    #[serde(default)]
    pub name: String,
}

/// Moves and clocks. The words for draw and takeback offers are constant and the status is always `started`, so none is read.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GameState {
    /// All moves since the start, separated by spaces.
    #[serde(default)]
    pub moves: String,
    /// White's milliseconds as of the last move; whole or fractional; what a human's browser claims is not checked.
    pub wtime: f64,
    /// Black's milliseconds.
    pub btime: f64,
    /// White's increment in **seconds**.
    #[serde(default)]
    pub winc: f64,
    /// Black's increment in seconds.
    #[serde(default)]
    pub binc: f64,
}

/// Somebody talked.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct ChatLine {
    /// Who.
    #[serde(default)]
    pub username: String,
    /// `player` or `spectator`.
    #[serde(default)]
    pub room: String,
    /// What.
    #[serde(default)]
    pub text: String,
}

/// The game is over.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GameEnd {
    /// The game.
    pub id: String,
}

/// Answer of `GET /api/account`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Account {
    /// Equal to `username`: the server keeps upper and lower case in ids.
    #[serde(default)]
    pub id: String,
    /// The login's name.
    #[serde(default)]
    pub username: String,
    /// `BOT`, or anything else if the account was not upgraded.
    #[serde(default)]
    pub title: Option<String>,
}

/// One entry of `GET /api/games/{variant}`: the only way to find a running game whose start was missed.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct LiveGame {
    /// The game.
    #[serde(rename = "gameId")]
    pub game_id: String,
    /// The server's name, never with `960`.
    #[serde(default)]
    pub variant: String,
    /// White's name.
    #[serde(default)]
    pub w: String,
    /// Black's name.
    #[serde(default)]
    pub b: String,
    /// Name of the player to move.
    #[serde(default)]
    pub tp: String,
    /// Shuffled start.
    #[serde(default, deserialize_with = "flag")]
    pub chess960: bool,
}

/// Value of [`CAPABILITIES_HEADER`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Always [`CAPABILITIES_VERSION`].
    pub version: u32,
    /// Server names of variants; shuffled twins are entries of their own (`crazyhouse960`).
    pub variants: Vec<String>,
}

impl Capabilities {
    /// The header's value: ASCII JSON.
    ///
    /// # Errors
    /// [`CapabilitiesError`] if no variant is named or the server's limit is passed.
    pub fn header(&self) -> Result<String, CapabilitiesError> {
        if self.variants.is_empty() {
            return Err(CapabilitiesError::Empty);
        }
        let value = serde_json::to_string(self).expect("a number and strings are always JSON");
        if value.len() > CAPABILITIES_BYTES_MAX {
            return Err(CapabilitiesError::TooLarge { bytes: value.len() });
        }
        Ok(value)
    }
}

/// Why no capability header can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapabilitiesError {
    /// A bot without variants is refused by the server.
    #[error("no variant that PyChess knows is enabled")]
    Empty,
    /// The header would pass the server's limit.
    #[error("the capability header has {bytes} bytes, PyChess takes {CAPABILITIES_BYTES_MAX}")]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
}

/// Reads a JSON bool, or a word Python writes for one (`"True"`, `"False"`).
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(optional_flag(deserializer)?.unwrap_or(false))
}

/// As [`flag`], with null, `""` and `"None"` as `None`.
fn optional_flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Spelling {
        Bool(bool),
        Word(String),
        Number(f64),
        Nothing(()),
    }
    match Spelling::deserialize(deserializer)? {
        Spelling::Bool(value) => Ok(Some(value)),
        Spelling::Number(value) => Ok(Some(value != 0.0)),
        Spelling::Nothing(()) => Ok(None),
        Spelling::Word(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(Some(true)),
            "false" | "0" => Ok(Some(false)),
            "" | "none" => Ok(None),
            _ => Err(D::Error::custom(format!("{word:?} is no truth value"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(line: &str) -> AccountLine {
        AccountLine::parse(line).unwrap()
    }

    fn game(line: &str) -> GameLine {
        GameLine::parse(line).unwrap()
    }

    #[test]
    fn both_json_styles_are_read() {
        assert_eq!(account(r#"{"type":"ping"}"#), AccountLine::Ping);
        assert_eq!(account(r#" { "type" : "ping" } "#), AccountLine::Ping);
        assert_eq!(game(r#"{"type":"ping"}"#), GameLine::Ping);
    }

    #[test]
    fn a_challenge_of_a_guest() {
        let line = r#"{"type":"challenge","challenge":{"id":"aaaa0001","challenger":{"name":"Anon–q","rating":1500,"title":""},"variant":{"key":"capahouse"},"rated":false,"timeControl":{"type":"clock","limit":90,"increment":0},"color":"random","finalColor":"white","speed":"bullet","perf":{"name":"capahouse960"},"level":6,"chess960":true}}"#;
        let AccountLine::Challenge(challenge) = account(line) else {
            panic!("not a challenge")
        };
        assert_eq!(challenge.id, "aaaa0001");
        assert!(challenge.challenger.name.starts_with(GUEST_PREFIX));
        assert_eq!(challenge.variant.key, "capahouse");
        assert_eq!(
            (
                challenge.time_control.limit,
                challenge.time_control.increment
            ),
            (90.0, 0.0)
        );
        assert!(challenge.chess960 && !challenge.rated);
    }

    #[test]
    fn truth_values_in_every_spelling() {
        for (spelling, expected) in [
            ("\"True\"", Some(true)),
            ("\"False\"", Some(false)),
            ("true", Some(true)),
            ("false", Some(false)),
            ("1", Some(true)),
            ("null", None),
            ("\"None\"", None),
            ("\"\"", None),
        ] {
            let line = format!(
                r#"{{"type": "gameStart", "game": {{"id": "x", "skill_level": "6", "chess960": {spelling}}}}}"#
            );
            let AccountLine::GameStart(start) = account(&line) else {
                panic!("not a start")
            };
            assert_eq!(start.chess960, expected, "{spelling}");
        }
        let absent = account(r#"{"type":"gameStart","game":{"id":"x"}}"#);
        assert_eq!(
            absent,
            AccountLine::GameStart(GameStart {
                id: "x".to_owned(),
                chess960: None
            })
        );
        assert!(
            AccountLine::parse(r#"{"type":"gameStart","game":{"id":"x","chess960":"maybe"}}"#)
                .is_err()
        );
    }

    #[test]
    fn clocks_may_be_whole_fractional_or_negative() {
        let line = r#"{"type": "gameState", "moves": "e2e4 P@e5", "wtime": 6000.0, "btime": -12, "winc": 2, "binc": 2, "wdraw": false, "status": "started"}"#;
        let GameLine::GameState(state) = game(line) else {
            panic!("not a state")
        };
        assert_eq!((state.wtime, state.btime, state.winc), (6000.0, -12.0, 2.0));
        assert_eq!(state.moves, "e2e4 P@e5");
    }

    #[test]
    fn an_unknown_type_is_no_error_but_a_broken_known_one_is() {
        assert_eq!(
            account(r#"{"type":"gameFinish","x":[]}"#),
            AccountLine::Other("gameFinish".to_owned())
        );
        assert_eq!(
            game(r#"{"type":"opponentGone"}"#),
            GameLine::Other("opponentGone".to_owned())
        );
        for broken in [
            "",
            "{",
            "[]",
            "null",
            "{\"type\":1}",
            "{}",
            r#"{"type":"challenge"}"#,
            r#"{"type":"gameState"}"#,
            "HTTP/1.1 409 Conflict",
        ] {
            assert!(
                AccountLine::parse(broken).is_err() || GameLine::parse(broken).is_err(),
                "{broken}"
            );
        }
    }

    #[test]
    fn an_error_keeps_the_start_of_the_line_only() {
        let long = "x".repeat(100_000);
        let error = AccountLine::parse(&long).unwrap_err().to_string();
        assert!(error.len() < 1000, "{}", error.len());
    }

    #[test]
    fn nesting_cannot_exhaust_the_stack() {
        let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
        // What is skipped is skipped without recursion; what is kept has a limit.
        let skipped = format!("{{\"type\":\"ping\",\"x\":{open}{close}}}");
        assert_eq!(account(&skipped), AccountLine::Ping);
        let kept = format!(
            "{{\"type\":\"gameStart\",\"game\":{{\"id\":\"x\",\"chess960\":{open}{close}}}}}"
        );
        assert!(AccountLine::parse(&kept).is_err());
    }

    #[test]
    fn the_capability_header_is_compact_and_bounded() {
        let few = Capabilities {
            version: CAPABILITIES_VERSION,
            variants: vec!["crazyhouse".to_owned(), "crazyhouse960".to_owned()],
        };
        assert_eq!(
            few.header().unwrap(),
            r#"{"version":1,"variants":["crazyhouse","crazyhouse960"]}"#
        );
        let none = Capabilities {
            version: 1,
            variants: Vec::new(),
        };
        assert_eq!(none.header(), Err(CapabilitiesError::Empty));
        let many = Capabilities {
            version: 1,
            variants: vec!["x".repeat(100); 100],
        };
        assert!(
            matches!(many.header(), Err(CapabilitiesError::TooLarge { bytes }) if bytes > CAPABILITIES_BYTES_MAX)
        );
    }
}
