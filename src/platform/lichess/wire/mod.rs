//! The messages of the Lichess interface, word for word: its field names, its units, its optional parts.
//!
//! Source: the interface description of lichess.org (version 2.0.165) and the behaviour of the server where it differs.
//! Reading is lenient throughout: unknown fields are ignored, unknown types of events are handed on with their name,
//! and a known field of the wrong type counts as absent. Units: milliseconds in game streams, seconds in challenges and
//! in `secondsLeft`.

mod lenient;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::lenient::{flag, integer, list, name, optional, optional_flag};
use crate::platform::error::excerpt;

/// A line or an answer that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WireError {
    /// Not JSON, or not an object.
    #[error("not a JSON object: {0}")]
    NotAnObject(String),
    /// A part without which the message means nothing is absent.
    #[error("{message} without {field}")]
    Missing {
        /// Which message.
        message: &'static str,
        /// Which part.
        field: &'static str,
    },
}

impl WireError {
    /// Whether a game's state is what could not be read. What is no JSON at all is noise of the transport.
    pub(super) fn is_of_a_state(&self) -> bool {
        matches!(
            self,
            Self::Missing {
                message: "gameFull" | "gameState",
                ..
            }
        )
    }
}

/// A line of the event stream.
#[derive(Clone, Debug)]
pub(super) enum EventLine {
    GameStart(Box<GameInfo>),
    GameFinish(Box<GameInfo>),
    Challenge(Box<Challenge>, Option<Compat>),
    ChallengeCanceled(Box<Challenge>),
    ChallengeDeclined(Box<Challenge>),
    /// `{"error": ..}` in place of an event: the stream was refused after all.
    Error(String),
    /// A type that we do not know.
    Unknown(String),
}

/// A line of a game's stream.
#[derive(Clone, Debug)]
pub(super) enum GameLine {
    Full(Box<GameFull>),
    State(Box<GameState>),
    Chat(ChatLine),
    OpponentGone(OpponentGone),
    /// `{"error": ..}` in place of an event.
    Error(String),
    /// A type that we do not know.
    Unknown(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Compat {
    #[serde(default, deserialize_with = "optional_flag")]
    pub bot: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct VariantInfo {
    #[serde(default, deserialize_with = "optional")]
    pub key: Option<String>,
}

/// A game as the event stream and `GET /api/account/playing` show it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GameInfo {
    #[serde(default, deserialize_with = "optional")]
    pub game_id: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub full_id: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub color: Option<String>,
    #[serde(default, deserialize_with = "name")]
    pub source: Option<String>,
    #[serde(default, deserialize_with = "name")]
    pub status: Option<String>,
    #[serde(default, deserialize_with = "optional_flag")]
    pub is_my_turn: Option<bool>,
    #[serde(default, deserialize_with = "optional")]
    pub opponent: Option<Opponent>,
    #[serde(default, deserialize_with = "integer")]
    pub seconds_left: Option<i64>,
    #[serde(default, deserialize_with = "optional")]
    pub tournament_id: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub swiss_id: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub winner: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub compat: Option<Compat>,
}

impl GameInfo {
    /// The game's id of eight characters, whichever field it came in.
    pub(super) fn id(&self) -> Option<&str> {
        let short = self.game_id.as_deref().or(self.id.as_deref());
        let id = short.or_else(|| self.full_id.as_deref().and_then(|full| full.get(..8)))?;
        (!id.is_empty()).then_some(id)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Opponent {
    #[serde(default, deserialize_with = "optional")]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub username: Option<String>,
    #[serde(default, deserialize_with = "integer")]
    pub rating: Option<i64>,
    #[serde(default, deserialize_with = "optional")]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "integer")]
    pub ai: Option<i64>,
}

/// A challenge, in events and in answers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Challenge {
    #[serde(default, deserialize_with = "optional")]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "name")]
    pub status: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub challenger: Option<User>,
    #[serde(default, deserialize_with = "optional")]
    pub dest_user: Option<User>,
    #[serde(default, deserialize_with = "optional")]
    pub variant: Option<VariantInfo>,
    #[serde(default, deserialize_with = "flag")]
    pub rated: bool,
    #[serde(default, deserialize_with = "optional")]
    pub time_control: Option<TimeControl>,
    #[serde(default, deserialize_with = "optional")]
    pub color: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub final_color: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub direction: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub initial_fen: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub rematch_of: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub decline_reason_key: Option<String>,
    #[serde(default, deserialize_with = "list")]
    pub rules: Vec<String>,
}

/// `timeControl` of a challenge. Seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TimeControl {
    #[serde(default, rename = "type", deserialize_with = "optional")]
    pub kind: Option<String>,
    #[serde(default, deserialize_with = "integer")]
    pub limit: Option<i64>,
    #[serde(default, deserialize_with = "integer")]
    pub increment: Option<i64>,
    #[serde(default, deserialize_with = "integer")]
    pub days_per_turn: Option<i64>,
}

/// A player in a challenge or in `gameFull`: a user, the platform's engine (`aiLevel`), or nobody known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct User {
    #[serde(default, deserialize_with = "optional")]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "integer")]
    pub rating: Option<i64>,
    #[serde(default, deserialize_with = "flag")]
    pub provisional: bool,
    #[serde(default, deserialize_with = "integer")]
    pub ai_level: Option<i64>,
}

/// The first line of a game's stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GameFull {
    #[serde(default, deserialize_with = "optional")]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub variant: Option<VariantInfo>,
    #[serde(default, deserialize_with = "optional")]
    pub clock: Option<ClockInfo>,
    #[serde(default, deserialize_with = "flag")]
    pub rated: bool,
    #[serde(default, deserialize_with = "optional")]
    pub white: Option<User>,
    #[serde(default, deserialize_with = "optional")]
    pub black: Option<User>,
    #[serde(default, deserialize_with = "optional")]
    pub initial_fen: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub state: Option<GameState>,
    #[serde(default, deserialize_with = "integer")]
    pub days_per_turn: Option<i64>,
    #[serde(default, deserialize_with = "optional")]
    pub tournament_id: Option<String>,
}

/// `clock` of `gameFull`. Milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct ClockInfo {
    #[serde(default, deserialize_with = "integer")]
    pub initial: Option<i64>,
    #[serde(default, deserialize_with = "integer")]
    pub increment: Option<i64>,
}

/// The changing part of a game. Milliseconds.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct GameState {
    #[serde(default, deserialize_with = "optional")]
    pub moves: Option<String>,
    #[serde(default, deserialize_with = "integer")]
    pub wtime: Option<i64>,
    #[serde(default, deserialize_with = "integer")]
    pub btime: Option<i64>,
    #[serde(default, deserialize_with = "name")]
    pub status: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub winner: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    pub wdraw: bool,
    #[serde(default, deserialize_with = "flag")]
    pub bdraw: bool,
    #[serde(default, deserialize_with = "flag")]
    pub wtakeback: bool,
    #[serde(default, deserialize_with = "flag")]
    pub btakeback: bool,
    #[serde(default, deserialize_with = "optional")]
    pub expiration: Option<Expiration>,
}

/// Time in which the first move must be made, and how much of it is gone. Milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Expiration {
    #[serde(default, deserialize_with = "integer")]
    pub idle_millis: Option<i64>,
    #[serde(default, deserialize_with = "integer")]
    pub millis_to_move: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct ChatLine {
    #[serde(default, deserialize_with = "optional")]
    pub username: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub text: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub room: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpponentGone {
    #[serde(default, deserialize_with = "flag")]
    pub gone: bool,
    #[serde(default, deserialize_with = "integer")]
    pub claim_win_in_seconds: Option<i64>,
}

/// `GET /api/account`, `GET /api/user/{name}`, a line of `GET /api/bot/online`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Account {
    #[serde(default, deserialize_with = "optional")]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub username: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    pub disabled: bool,
    #[serde(default, deserialize_with = "flag")]
    pub tos_violation: bool,
    #[serde(default, deserialize_with = "optional")]
    pub perfs: Option<BTreeMap<String, Value>>,
}

/// One entry of `perfs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Perf {
    #[serde(default, deserialize_with = "integer")]
    pub games: Option<i64>,
    #[serde(default, deserialize_with = "integer")]
    pub rating: Option<i64>,
    #[serde(default, deserialize_with = "flag")]
    pub prov: bool,
}

/// One token's entry in the answer of `POST /api/token/test`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenInfo {
    #[serde(default, deserialize_with = "optional")]
    pub user_id: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    pub scopes: Option<String>,
}

/// `GET /api/account/playing`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Playing {
    #[serde(default, deserialize_with = "list")]
    pub now_playing: Vec<GameInfo>,
}

/// `GET /api/challenge`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Challenges {
    #[serde(default, rename = "in", deserialize_with = "list")]
    pub incoming: Vec<Challenge>,
    #[serde(default, rename = "out", deserialize_with = "list")]
    pub outgoing: Vec<Challenge>,
}

/// One user in the answer of `GET /api/users/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct UserStatus {
    #[serde(default, deserialize_with = "optional")]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    pub online: bool,
    #[serde(default)]
    pub playing: Option<Value>,
}

/// `GET /api/tournament/{id}`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tournament {
    #[serde(default, deserialize_with = "flag")]
    pub bots_allowed: bool,
    #[serde(default, deserialize_with = "flag")]
    pub is_finished: bool,
}

/// Reads a line of the event stream.
pub(super) fn parse_event(line: &str) -> Result<EventLine, WireError> {
    let mut object = parse_object(line)?;
    let Some(kind) = object
        .get("type")
        .and_then(Value::as_str)
        .map(str::to_owned)
    else {
        return untyped(&object).map(EventLine::Error);
    };
    Ok(match kind.as_str() {
        "gameStart" => EventLine::GameStart(part(&mut object, "gameStart", "game")?),
        "gameFinish" => EventLine::GameFinish(part(&mut object, "gameFinish", "game")?),
        "challenge" => {
            let compat = object
                .remove("compat")
                .and_then(|compat| serde_json::from_value(compat).ok());
            EventLine::Challenge(part(&mut object, "challenge", "challenge")?, compat)
        }
        "challengeCanceled" => {
            EventLine::ChallengeCanceled(part(&mut object, "challengeCanceled", "challenge")?)
        }
        "challengeDeclined" => {
            EventLine::ChallengeDeclined(part(&mut object, "challengeDeclined", "challenge")?)
        }
        _ => EventLine::Unknown(excerpt(&kind)),
    })
}

/// Reads a line of a game's stream.
pub(super) fn parse_game(line: &str) -> Result<GameLine, WireError> {
    let object = parse_object(line)?;
    let Some(kind) = object
        .get("type")
        .and_then(Value::as_str)
        .map(str::to_owned)
    else {
        return untyped(&object).map(GameLine::Error);
    };
    Ok(match kind.as_str() {
        "gameFull" => {
            let full: Box<GameFull> = whole(object, "gameFull")?;
            if full
                .state
                .as_ref()
                .is_none_or(|state| state.moves.is_none())
            {
                return Err(WireError::Missing {
                    message: "gameFull",
                    field: "state.moves",
                });
            }
            GameLine::Full(full)
        }
        "gameState" => {
            let state: Box<GameState> = whole(object, "gameState")?;
            if state.moves.is_none() {
                return Err(WireError::Missing {
                    message: "gameState",
                    field: "moves",
                });
            }
            GameLine::State(state)
        }
        "chatLine" => GameLine::Chat(*whole(object, "chatLine")?),
        "opponentGone" => GameLine::OpponentGone(*whole(object, "opponentGone")?),
        _ => GameLine::Unknown(excerpt(&kind)),
    })
}

type Object = serde_json::Map<String, Value>;

fn parse_object(line: &str) -> Result<Object, WireError> {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(WireError::NotAnObject(excerpt(&other.to_string()))),
        Err(error) => Err(WireError::NotAnObject(excerpt(&error.to_string()))),
    }
}

fn untyped(object: &Object) -> Result<String, WireError> {
    match object.get("error") {
        Some(Value::String(text)) => Ok(excerpt(text)),
        Some(other) => Ok(excerpt(&other.to_string())),
        None => Err(WireError::Missing {
            message: "event",
            field: "type",
        }),
    }
}

fn part<T: DeserializeOwned>(
    object: &mut Object,
    message: &'static str,
    field: &'static str,
) -> Result<Box<T>, WireError> {
    let missing = WireError::Missing { message, field };
    match object.remove(field) {
        Some(value @ Value::Object(_)) => serde_json::from_value(value)
            .map(Box::new)
            .map_err(|_| missing),
        _ => Err(missing),
    }
}

fn whole<T: DeserializeOwned>(object: Object, message: &'static str) -> Result<Box<T>, WireError> {
    let read = serde_json::from_value(Value::Object(object));
    read.map(Box::new).map_err(|_| WireError::Missing {
        message,
        field: "its parts",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_null_and_false_are_the_same() {
        for draw in ["", r#","wdraw":null"#, r#","wdraw":false"#] {
            let line = format!(
                r#"{{"type":"gameState","moves":"e2e4","wtime":1,"btime":2,"status":"started"{draw}}}"#
            );
            let GameLine::State(state) = parse_game(&line).unwrap() else {
                panic!("{line}")
            };
            assert!(!state.wdraw);
        }
    }

    #[test]
    fn wrong_types_in_known_fields_count_as_absent() {
        let line = r#"{"type":"gameState","moves":"","wtime":"12000","btime":1.5e3,"winner":7,"status":{"name":"draw"},
            "wdraw":"yes","expiration":7}"#;
        let GameLine::State(state) = parse_game(line).unwrap() else {
            panic!()
        };
        assert_eq!(
            (state.wtime, state.btime, state.winner),
            (Some(12_000), Some(1500), None)
        );
        assert_eq!(
            (state.status.as_deref(), state.wdraw, state.expiration),
            (Some("draw"), false, None)
        );
    }

    #[test]
    fn the_type_may_come_last_and_may_be_unknown() {
        let line = r#"{"id":"abcdefgh","state":{"moves":""},"later":{"x":[]},"type":"gameFull"}"#;
        assert!(matches!(parse_game(line).unwrap(), GameLine::Full(_)));
        assert!(
            matches!(parse_game(r#"{"type":"newThing"}"#).unwrap(), GameLine::Unknown(kind) if kind == "newThing")
        );
        assert!(matches!(
            parse_event(r#"{"type":"newThing"}"#).unwrap(),
            EventLine::Unknown(_)
        ));
        assert!(matches!(
            parse_event(r#"{"error":"Please don't poll"}"#).unwrap(),
            EventLine::Error(_)
        ));
    }

    #[test]
    fn hostile_lines_are_errors() {
        let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
        for line in [
            "",
            "17",
            "[]",
            "{",
            "{}",
            r#"{"type":5}"#,
            r#"{"type":"gameStart"}"#,
            r#"{"type":"gameStart","game":3}"#,
            &deep,
        ] {
            assert!(parse_event(line).is_err(), "{}", excerpt(line));
            assert!(
                parse_game(line).is_err() || line.contains("gameStart"),
                "{}",
                excerpt(line)
            );
        }
        assert!(parse_game(r#"{"type":"gameState","moves":5}"#).is_err());
        assert!(parse_game(r#"{"type":"gameFull","state":{}}"#).is_err());
    }
}
