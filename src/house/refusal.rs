//! What the API answers when it does not do what was asked: the status and the body, as Lichess words them.

use std::collections::BTreeMap;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

/// A refused request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// 401: no token, or one that is not known.
    #[error("401 {0}")]
    Unauthorized(&'static str),
    /// 403: the token does not allow it; the scopes any of which would.
    #[error("403 Missing scope: {0}")]
    MissingScope(&'static str),
    /// 403 for another reason.
    #[error("403 {0}")]
    Forbidden(&'static str),
    /// 404.
    #[error("404 {0}")]
    NotFound(&'static str),
    /// 400 with one sentence.
    #[error("400 {0}")]
    BadRequest(String),
    /// 400 with a message per form field (`global` for the form as a whole).
    /// Where `doubled`, the map stands at the top level too.
    #[error("400 form {fields:?}")]
    Form {
        /// Field and what is wrong with it.
        fields: BTreeMap<&'static str, &'static str>,
        /// Whether the map is repeated beside `error`.
        doubled: bool,
    },
    /// 413: the body is longer than the house reads.
    #[error("413")]
    TooLarge,
    /// 429 with one sentence.
    #[error("429 {0}")]
    TooMany(String),
    /// 429, or 400 where it is the opponent's limit, with the key of the limit and the seconds to wait.
    #[error("{status} {message} ({key}, {seconds} s)")]
    Limited {
        /// 429 for our own limit, 400 for another's.
        status: u16,
        /// The sentence.
        message: String,
        /// Name of the limit.
        key: &'static str,
        /// Until it is lifted.
        seconds: u64,
    },
    /// 503: the house is going down, or its database does not answer.
    #[error("503 {0}")]
    Unavailable(&'static str),
}

impl Refusal {
    /// 404 in the words that every unknown thing gets.
    pub const NOT_FOUND: Refusal = Refusal::NotFound("Not found");

    /// 400 with one sentence.
    pub fn bad(message: impl Into<String>) -> Refusal {
        Refusal::BadRequest(message.into())
    }

    /// 400 with one message for one field.
    pub fn field(field: &'static str, message: &'static str, doubled: bool) -> Refusal {
        Refusal::Form {
            fields: BTreeMap::from([(field, message)]),
            doubled,
        }
    }

    /// 429 in the words that every limit without words of its own gets.
    pub fn too_many() -> Refusal {
        Refusal::TooMany("Too many requests. Try again later.".to_owned())
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        match self {
            Refusal::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Refusal::MissingScope(_) | Refusal::Forbidden(_) => StatusCode::FORBIDDEN,
            Refusal::NotFound(_) => StatusCode::NOT_FOUND,
            Refusal::BadRequest(_) | Refusal::Form { .. } => StatusCode::BAD_REQUEST,
            Refusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Limited { status, .. } => {
                StatusCode::from_u16(*status).unwrap_or(StatusCode::TOO_MANY_REQUESTS)
            }
            Refusal::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The JSON body.
    pub fn body(&self) -> Value {
        match self {
            Refusal::Unauthorized(m) | Refusal::Forbidden(m) | Refusal::NotFound(m) => {
                json!({ "error": m })
            }
            Refusal::Unavailable(m) => json!({ "error": m }),
            Refusal::MissingScope(scopes) => json!({ "error": format!("Missing scope: {scopes}") }),
            Refusal::BadRequest(m) | Refusal::TooMany(m) => json!({ "error": m }),
            Refusal::TooLarge => json!({ "error": "Request entity too large" }),
            Refusal::Form { fields, doubled } => {
                let map: Map<String, Value> = fields
                    .iter()
                    .map(|(field, message)| ((*field).to_owned(), json!([message])))
                    .collect();
                let mut body = if *doubled { map.clone() } else { Map::new() };
                body.insert("error".to_owned(), Value::Object(map));
                Value::Object(body)
            }
            Refusal::Limited {
                message,
                key,
                seconds,
                ..
            } => json!({
                "error": message,
                "ratelimit": { "key": key, "seconds": seconds },
            }),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let kind = [(header::CONTENT_TYPE, "application/json")];
        (self.status(), kind, self.body().to_string()).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_the_shapes_that_clients_meet() {
        let form = Refusal::field("global", "Invalid speed", true);
        assert_eq!(
            form.body(),
            json!({"error": {"global": ["Invalid speed"]}, "global": ["Invalid speed"]})
        );
        let single = Refusal::field("text", "This field is required", false);
        assert_eq!(
            single.body(),
            json!({"error": {"text": ["This field is required"]}})
        );
        let limited = Refusal::Limited {
            status: 429,
            message: "wait".into(),
            key: "bot.vsBot.day",
            seconds: 7,
        };
        assert_eq!(
            limited.body(),
            json!({"error": "wait", "ratelimit": {"key": "bot.vsBot.day", "seconds": 7}})
        );
        assert_eq!(limited.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(
            Refusal::MissingScope("bot:play").body(),
            json!({"error": "Missing scope: bot:play"})
        );
    }
}
