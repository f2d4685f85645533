//! Every way in which a request or a stream can fail, as one type that says what to do about it.
//!
//! Error bodies come as `{"error": "text"}`, `{"error": {"field": ["text"]}}`, a bare map of fields, an empty body, or
//! the HTML page of a proxy. All of them end here; callers branch on [`PlatformError::recovery`], never on text.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::call::{Call, Lane, Repeat};
use super::governor::Held;
use super::ndjson::FrameError;

/// Longest piece of foreign text that is kept in an error, in characters.
const EXCERPT_CHARS: usize = 200;
/// Pause after a 429 that does not say how long.
pub const DEFAULT_PAUSE: Duration = Duration::from_secs(60);

/// Whom a pause concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitScope {
    /// Only the account that asked.
    Account,
    /// Every account on the same origin: the limit belongs to our address or to the whole server.
    Origin,
    /// Only the opponent we asked for.
    Opponent,
}

/// What the caller of a failed request must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Send the same request again after a backoff, within a budget.
    Retry,
    /// Send nothing of this kind until the delay is over.
    WaitUntil {
        /// Whom the pause concerns.
        scope: WaitScope,
        /// Length of the pause.
        delay: Duration,
    },
    /// The outcome is unknown, or the platform's state is not what we believed: read the state before anything else.
    Resync,
    /// This request cannot succeed. Nothing else is affected.
    GiveUpRequest,
    /// The platform says there is no such game for us.
    GiveUpGame,
    /// The account cannot be used as it is: bad token, missing scope, lost title, closed account.
    StopAccount,
}

/// A limit that the platform names in the body of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The platform's name for it, for instance `bot.vsBot.day`.
    pub key: String,
    /// How long it lasts from now.
    pub wait: Duration,
}

/// Text of a refusal, by shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorBody {
    /// No body at all.
    Empty,
    /// One message.
    Text(String),
    /// Messages by field of the form that we sent; `global` for those of no field.
    Fields(Vec<(String, String)>),
    /// A page of a proxy in front of the platform, with its title if it has one.
    Html(Option<String>),
}

impl fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorBody::Empty => f.write_str("(empty body)"),
            ErrorBody::Text(text) => f.write_str(text),
            ErrorBody::Html(None) => f.write_str("(an HTML page)"),
            ErrorBody::Html(Some(title)) => write!(f, "(an HTML page: {title})"),
            ErrorBody::Fields(fields) => {
                for (i, (field, text)) in fields.iter().enumerate() {
                    let separator = if i == 0 { "" } else { "; " };
                    write!(f, "{separator}{field}: {text}")?;
                }
                Ok(())
            }
        }
    }
}

/// An answer other than success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was asked.
    pub call: Call,
    /// HTTP status.
    pub status: u16,
    /// What the platform said.
    pub body: ErrorBody,
    /// The limit that it named.
    pub limit: Option<RateLimit>,
    /// The pause that it asked for in the header `Retry-After`.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: refused with {}: {}",
            self.call, self.status, self.body
        )?;
        if let Some(limit) = &self.limit {
            write!(f, " [limit {} for {} s]", limit.key, limit.wait.as_secs())?;
        }
        if let Some(wait) = self.retry_after {
            write!(f, " [retry after {} s]", wait.as_secs())?;
        }
        Ok(())
    }
}

impl Refusal {
    /// Reads a refusal from the parts of an HTTP answer. `now` is used for a `Retry-After` that names a date.
    #[must_use]
    pub fn read(
        call: Call,
        status: u16,
        retry_after: Option<&str>,
        body: &[u8],
        now: SystemTime,
    ) -> Refusal {
        let (body, limit) = parse_error_body(body);
        let retry_after = retry_after.and_then(|text| parse_retry_after(text, now));
        Refusal {
            call,
            status,
            body,
            limit,
            retry_after,
        }
    }

    fn says(&self, hint: &str) -> bool {
        matches!(&self.body, ErrorBody::Text(text) if text.to_ascii_lowercase().contains(hint))
    }

    fn recovery(&self) -> Recovery {
        match self.status {
            429 => self.pause(),
            // The platform speaks JSON. A page comes from something in front of it (a proxy, a login portal, a wall
            // against robots) and passes: it says nothing about the token, the game or the request.
            400..=499 if matches!(self.body, ErrorBody::Html(_)) => self.call.unknown_outcome(),
            401 => Recovery::StopAccount,
            403 => self.forbidden(),
            400 if self.says("only be used with a bot account") => Recovery::StopAccount,
            400 | 422 => match (&self.limit, self.call.lane) {
                // The same limit answered with 400 is the opponent's, not ours.
                (Some(limit), _) => Recovery::WaitUntil {
                    scope: WaitScope::Opponent,
                    delay: limit.wait,
                },
                (None, Lane::Move | Lane::GameControl) => Recovery::Resync,
                // "Not our game" and "not playable by bots" end only the one game that was asked for.
                (None, Lane::StreamOpen) => Recovery::GiveUpGame,
                (None, _) => Recovery::GiveUpRequest,
            },
            404 | 410 => match self.call.lane {
                Lane::StreamOpen => Recovery::GiveUpGame,
                Lane::Move | Lane::GameControl => Recovery::Resync,
                _ => Recovery::GiveUpRequest,
            },
            // Another stream of ours is still open on the server's side; it ends by itself.
            409 if self.call.lane == Lane::StreamOpen => Recovery::Retry,
            409 => Recovery::Resync,
            // Nothing was processed: a login page, a maintenance page, a full server.
            300..=399 | 408 | 425 => Recovery::Retry,
            500..=599 => self.call.unknown_outcome(),
            _ => Recovery::GiveUpRequest,
        }
    }

    fn pause(&self) -> Recovery {
        match (&self.limit, self.retry_after) {
            (Some(limit), header) => Recovery::WaitUntil {
                scope: WaitScope::Account,
                delay: header.map_or(limit.wait, |header| header.max(limit.wait)),
            },
            (None, Some(delay)) => Recovery::WaitUntil {
                scope: WaitScope::Origin,
                delay,
            },
            (None, None) => Recovery::WaitUntil {
                scope: WaitScope::Origin,
                delay: DEFAULT_PAUSE,
            },
        }
    }

    fn forbidden(&self) -> Recovery {
        match self.call.lane {
            _ if self.says("scope") => Recovery::StopAccount,
            Lane::Profile | Lane::Chat | Lane::ChallengeCreate => Recovery::GiveUpRequest,
            _ => Recovery::StopAccount,
        }
    }
}

impl Call {
    /// What to do when it is not known whether the request took effect.
    #[must_use]
    pub fn unknown_outcome(self) -> Recovery {
        match self.repeat {
            Repeat::Safe => Recovery::Retry,
            Repeat::AfterLook => Recovery::Resync,
            Repeat::Never => Recovery::GiveUpRequest,
        }
    }
}

/// A failed request or a broken stream.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PlatformError {
    /// No connection: the request certainly did not arrive.
    #[error("{call}: cannot connect: {detail}")]
    Unreachable {
        /// What was asked.
        call: Call,
        /// The transport's words, without the address.
        detail: String,
    },
    /// The request was sent, or may have been, and no complete answer came.
    #[error("{call}: no answer ({}): {detail}", if *.timed_out { "deadline passed" } else { "connection lost" })]
    Unanswered {
        /// What was asked.
        call: Call,
        /// Whether our deadline passed; otherwise the connection broke.
        timed_out: bool,
        /// The transport's words, without the address.
        detail: String,
    },
    /// The platform answered with something other than success.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The answer was a success that we cannot read.
    #[error("{call}: unreadable answer: {detail}")]
    Unreadable {
        /// What was asked.
        call: Call,
        /// What was wrong, with an excerpt.
        detail: String,
    },
    /// An open stream broke.
    #[error("{call}: {source}")]
    Broken {
        /// Which stream.
        call: Call,
        /// How it broke.
        source: FrameError,
    },
    /// Our own governor did not let the request out.
    #[error("{call}: held back: {source}")]
    Held {
        /// What was asked.
        call: Call,
        /// Why, and until when.
        source: Held,
    },
    /// We were asked to send something that cannot be sent.
    #[error("{call}: cannot send {what} {value:?}")]
    Unsendable {
        /// What was asked.
        call: Call,
        /// Which argument.
        what: &'static str,
        /// Its value, shortened.
        value: String,
    },
}

impl PlatformError {
    /// What was asked.
    #[must_use]
    pub fn call(&self) -> Call {
        match self {
            PlatformError::Refused(refusal) => refusal.call,
            PlatformError::Unreachable { call, .. }
            | PlatformError::Unanswered { call, .. }
            | PlatformError::Unreadable { call, .. }
            | PlatformError::Broken { call, .. }
            | PlatformError::Held { call, .. }
            | PlatformError::Unsendable { call, .. } => *call,
        }
    }

    /// What the caller must do.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        match self {
            PlatformError::Unreachable { .. } | PlatformError::Broken { .. } => Recovery::Retry,
            PlatformError::Unanswered { call, .. } | PlatformError::Unreadable { call, .. } => {
                call.unknown_outcome()
            }
            PlatformError::Refused(refusal) => refusal.recovery(),
            PlatformError::Held { source, .. } => match source.wait() {
                Some(delay) => Recovery::WaitUntil {
                    scope: WaitScope::Account,
                    delay,
                },
                None => Recovery::GiveUpRequest,
            },
            PlatformError::Unsendable { .. } => Recovery::GiveUpRequest,
        }
    }

    /// How loudly it is logged.
    #[must_use]
    pub fn level(&self) -> tracing::Level {
        match self.recovery() {
            Recovery::StopAccount => tracing::Level::ERROR,
            Recovery::GiveUpGame | Recovery::WaitUntil { .. } => tracing::Level::WARN,
            Recovery::Retry | Recovery::Resync | Recovery::GiveUpRequest => tracing::Level::INFO,
        }
    }

    /// The refusal, if the platform answered.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            PlatformError::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// HTTP status of the refusal, if something answered: the platform or a proxy in front of it.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.refusal().map(|refusal| refusal.status)
    }

    /// HTTP status of the refusal, if the platform itself gave it. The page of a proxy is not its word.
    #[must_use]
    pub fn own_status(&self) -> Option<u16> {
        let refusal = self.refusal()?;
        (!matches!(refusal.body, ErrorBody::Html(_))).then_some(refusal.status)
    }
}

/// Shortens foreign text for logs: at most 200 characters, control characters escaped.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let mut short = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == EXCERPT_CHARS {
            short.push('…');
            break;
        }
        if c.is_control() || is_direction_mark(c) {
            short.extend(c.escape_unicode());
        } else {
            short.push(c);
        }
    }
    short
}

/// Characters that reorder what a terminal shows.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Reads the body of a refusal, whatever its shape.
#[must_use]
pub fn parse_error_body(body: &[u8]) -> (ErrorBody, Option<RateLimit>) {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0' || c == '\u{feff}');
    if text.is_empty() {
        return (ErrorBody::Empty, None);
    }
    if text.starts_with('<') {
        return (ErrorBody::Html(html_title(text)), None);
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(map)) => {
            let limit = map.get("ratelimit").and_then(parse_rate_limit);
            let body = match map.get("error") {
                Some(Value::String(message)) => ErrorBody::Text(excerpt(message)),
                Some(Value::Object(fields)) => parse_fields(fields),
                Some(Value::Null) | None => parse_fields(&map),
                Some(other) => ErrorBody::Text(excerpt(&other.to_string())),
            };
            (body, limit)
        }
        Ok(Value::String(message)) => (ErrorBody::Text(excerpt(&message)), None),
        _ => (ErrorBody::Text(excerpt(text)), None),
    }
}

fn parse_fields(map: &serde_json::Map<String, Value>) -> ErrorBody {
    let fields: Vec<(String, String)> = map
        .iter()
        .filter(|(field, _)| !matches!(field.as_str(), "ratelimit" | "error"))
        .take(16)
        .map(|(field, messages)| {
            let text = match messages {
                Value::String(message) => excerpt(message),
                Value::Array(list) => {
                    let all: Vec<&str> = list.iter().filter_map(Value::as_str).take(4).collect();
                    excerpt(&all.join(", "))
                }
                other => excerpt(&other.to_string()),
            };
            (excerpt(field), text)
        })
        .collect();
    if fields.is_empty() {
        ErrorBody::Empty
    } else {
        ErrorBody::Fields(fields)
    }
}

fn parse_rate_limit(value: &Value) -> Option<RateLimit> {
    let key = value
        .get("key")
        .and_then(Value::as_str)
        .unwrap_or("unnamed");
    let seconds = value.get("seconds")?;
    let seconds = seconds.as_u64().or_else(|| {
        // A fraction is rounded up, so that we never come too early.
        seconds
            .as_f64()
            .filter(|s| *s >= 0.0)
            .map(|s| s.ceil() as u64)
    })?;
    // Longer than a year is a mistake of the sender, not a limit.
    let wait = Duration::from_secs(seconds.min(366 * 24 * 3600));
    Some(RateLimit {
        key: key.chars().take(64).collect(),
        wait,
    })
}

fn html_title(page: &str) -> Option<String> {
    // ASCII lower case keeps byte positions, so that they are valid in the original too.
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title>")? + "<title>".len();
    let length = lower.get(start..)?.find("</title>")?;
    page.get(start..start + length)
        .map(|title| excerpt(title.trim()))
}

/// Reads `Retry-After`: seconds or an HTTP date.
fn parse_retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds.min(366 * 24 * 3600)));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    let until = u64::try_from(date.timestamp().as_second()).unwrap_or(0);
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    Some(Duration::from_secs(until).saturating_sub(since))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: Call = Call::new("challenge.create", Lane::ChallengeCreate, Repeat::AfterLook);
    const MOVE: Call = Call::new("game.move", Lane::Move, Repeat::AfterLook);
    const CHAT: Call = Call::new("game.chat", Lane::Chat, Repeat::Never);
    const ABORT: Call = Call::new("game.abort", Lane::GameControl, Repeat::Safe);
    const STREAM: Call = Call::new("game.stream", Lane::StreamOpen, Repeat::Safe);
    const ACCOUNT: Call = Call::new("account", Lane::Profile, Repeat::Safe);

    fn refusal(call: Call, status: u16, retry_after: Option<&str>, body: &str) -> PlatformError {
        let refusal = Refusal::read(
            call,
            status,
            retry_after,
            body.as_bytes(),
            SystemTime::UNIX_EPOCH,
        );
        PlatformError::Refused(Box::new(refusal))
    }

    #[test]
    fn every_shape_of_body_is_read() {
        let cases: [(&str, &str); 9] = [
            (r#"{"error":"Not found"}"#, "Not found"),
            (
                r#"{"error":{"global":["Invalid speed"]},"global":["Invalid speed"]}"#,
                "global: Invalid speed",
            ),
            (
                r#"{"clock.limit":["Invalid value"]}"#,
                "clock.limit: Invalid value",
            ),
            ("", "(empty body)"),
            (" \r\n", "(empty body)"),
            (
                "<html><head><title>502 Bad Gateway</title>",
                "(an HTML page: 502 Bad Gateway)",
            ),
            ("<!doctype html>", "(an HTML page)"),
            ("upstream gone", "upstream gone"),
            (r#"{"error":17}"#, "17"),
        ];
        for (body, expected) in cases {
            assert_eq!(
                parse_error_body(body.as_bytes()).0.to_string(),
                expected,
                "{body}"
            );
        }
    }

    #[test]
    fn recovery_table() {
        use Recovery::{GiveUpGame, GiveUpRequest, Resync, Retry, StopAccount};
        let wait = |scope, secs| Recovery::WaitUntil {
            scope,
            delay: Duration::from_secs(secs),
        };
        let limited = r#"{"error":"x","ratelimit":{"key":"bot.vsBot.day","seconds":86398}}"#;
        let cases = [
            (
                refusal(ACCOUNT, 401, None, r#"{"error":"No such token"}"#),
                StopAccount,
            ),
            (
                refusal(ACCOUNT, 403, None, r#"{"error":"Missing scope: bot:play"}"#),
                StopAccount,
            ),
            (
                refusal(
                    MOVE,
                    400,
                    None,
                    r#"{"error":"Not your turn, or game already over"}"#,
                ),
                Resync,
            ),
            (refusal(MOVE, 502, None, "<html>"), Resync),
            (refusal(CHAT, 503, None, ""), GiveUpRequest),
            (refusal(ABORT, 500, None, ""), Retry),
            (refusal(CREATE, 504, None, "<html>"), Resync),
            (
                refusal(CREATE, 400, None, r#"{"error":"No such user: x"}"#),
                GiveUpRequest,
            ),
            (
                refusal(CREATE, 400, None, limited),
                wait(WaitScope::Opponent, 86398),
            ),
            (
                refusal(CREATE, 429, None, limited),
                wait(WaitScope::Account, 86398),
            ),
            (
                refusal(CREATE, 429, Some("7"), ""),
                wait(WaitScope::Origin, 7),
            ),
            (refusal(CREATE, 429, None, ""), wait(WaitScope::Origin, 60)),
            (
                refusal(STREAM, 404, None, r#"{"error":"No such game"}"#),
                GiveUpGame,
            ),
            (refusal(STREAM, 404, None, "<html>"), Retry),
            (refusal(STREAM, 400, None, "<html>"), Retry),
            (refusal(ACCOUNT, 401, None, "<html><title>Log in"), Retry),
            (refusal(STREAM, 401, None, "<!doctype html>"), Retry),
            (refusal(MOVE, 401, None, "<html>"), Resync),
            (refusal(CREATE, 403, None, "<html>"), Resync),
            (refusal(CHAT, 401, None, "<html>"), GiveUpRequest),
            (refusal(STREAM, 409, None, ""), Retry),
            (refusal(ACCOUNT, 302, None, ""), Retry),
            (
                refusal(
                    MOVE,
                    400,
                    None,
                    r#"{"error":"This endpoint can only be used with a Bot account. See"}"#,
                ),
                StopAccount,
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(error.recovery(), expected, "{error}");
        }
    }

    #[test]
    fn retry_after_may_be_a_date() {
        let error = refusal(CREATE, 429, Some("Thu, 01 Jan 1970 00:02:00 GMT"), "");
        assert_eq!(
            error.refusal().unwrap().retry_after,
            Some(Duration::from_secs(120))
        );
    }

    #[test]
    fn excerpts_are_short_and_harmless() {
        let text = format!("a\u{1b}[31m\u{202e}{}", "x".repeat(1000));
        let short = excerpt(&text);
        assert!(short.starts_with("a\\u{1b}[31m\\u{202e}xxx"), "{short}");
        assert!(short.chars().count() < 230);
    }
}
