//! The HTTP side of the house: routes, who is asking, and the faults of the plan.

mod account;
mod bot;
mod challenge;
mod export;
mod guard;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::account::TokenHash;
use super::analysis::Desk;
use super::archive::Archive;
use super::conn::Connections;
use super::fault::FaultEngine;
use super::form::Form;
use super::game::Game;
use super::hall::{Caller, Hall};
use super::league::League;
use super::refusal::Refusal;
use super::violation::ViolationKind;

/// What every handler can reach.
#[derive(Debug)]
pub struct App {
    /// The house's knowledge.
    pub hall: Arc<Hall>,
    /// What goes wrong on purpose.
    pub faults: FaultEngine,
    /// Where games are kept.
    pub archive: Arc<dyn Archive>,
    /// All connections.
    pub connections: Connections,
    /// Pause after which an idle stream sends an empty line.
    pub keep_alive: Duration,
    /// What a refused claim costs in time.
    pub claim_delay: Duration,
    /// Start of the addresses in answers, without a slash at the end.
    pub base_url: String,
    /// Names under which the house answers, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Asks for a restart; the house is away for that long.
    pub restart: tokio::sync::mpsc::Sender<Duration>,
    /// Watching and playing in the browser.
    pub page: super::web::Page,
    /// Where finished games wait to be analysed.
    pub desk: Desk,
    /// The league that is played here.
    pub league: Option<Arc<League>>,
}

impl App {
    /// A game, at hand or from the archive, and the present time.
    ///
    /// # Errors
    /// 404 if there is none, 503 if the archive does not answer.
    pub async fn game(&self, id: &str) -> Result<(Game, i64), Refusal> {
        let plain = id.len() == 8 && id.bytes().all(|b| b.is_ascii_alphanumeric());
        if !plain {
            return Err(Refusal::NOT_FOUND);
        }
        if let Some(found) = self.hall.look(id, |game, now_ms| (game.clone(), now_ms)) {
            return Ok(found);
        }
        let record = self.archive.game(id).await.map_err(|error| {
            tracing::error!(%error, "a game cannot be read");
            Refusal::Unavailable("The archive does not answer")
        })?;
        let now_ms = self.hall.timeline.now_ms();
        record
            .and_then(|record| Game::restore(record, now_ms).ok())
            .map(|game| (game, now_ms))
            .ok_or(Refusal::NOT_FOUND)
    }
}

/// Largest body that is read, in bytes.
const BODY_BYTES: usize = 64 * 1024;

/// A body must be complete this soon after its head.
const BODY_TIME: Duration = Duration::from_secs(10);

/// All routes of the API and the page.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/api/account", get(account::account))
        .route("/api/account/playing", get(account::playing))
        .route("/api/bot/account/upgrade", post(account::upgrade))
        .route("/api/token/test", post(account::test_tokens))
        .route("/api/bot/online", get(account::bots_online))
        .route("/api/users/status", get(account::users_status))
        .route("/api/users", post(account::users))
        .route("/api/user/{name}", get(account::user))
        .route("/api/stream/event", get(bot::events))
        .route("/api/challenge", get(challenge::list))
        .route("/api/challenge/{id}", post(challenge::create))
        .route("/api/challenge/{id}/show", get(challenge::show))
        .route("/api/challenge/{id}/accept", post(challenge::accept))
        .route("/api/challenge/{id}/decline", post(challenge::decline))
        .route("/api/challenge/{id}/cancel", post(challenge::cancel))
        .route("/api/bot/game/stream/{id}", get(bot::game))
        .route("/api/bot/game/{id}/move/{uci}", post(bot::play))
        .route(
            "/api/bot/game/{id}/chat",
            post(bot::chat).get(bot::read_chat),
        )
        .route("/api/bot/game/{id}/draw/{answer}", post(bot::draw))
        .route("/api/bot/game/{id}/takeback/{answer}", post(bot::takeback))
        .route("/api/bot/game/{id}/{command}", post(bot::command))
        .route("/api/round/{id}/add-time/{seconds}", post(bot::add_time))
        .route("/game/export/{id}", get(export::game))
        .route("/api/games/user/{name}", get(export::games))
        .merge(super::web::routes())
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(axum::middleware::from_fn_with_state(
            Arc::clone(&app),
            guard::guard,
        ))
        .with_state(app)
}

async fn unknown() -> Refusal {
    Refusal::NOT_FOUND
}

/// `{"ok":true}`.
fn ok() -> Response {
    json_response(StatusCode::OK, &json!({ "ok": true }))
}

/// An answer in JSON.
fn json_response(status: StatusCode, body: &Value) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (status, kind, body.to_string()).into_response()
}

/// The token of a request, if it brings one.
fn token_of(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .strip_prefix("Bearer ")
        .map(str::trim)
}

/// Who is asking, if the token allows what he wants.
///
/// # Errors
/// 401 without a known token or under a foreign name, 403 without any of the scopes.
fn authorize(
    app: &App,
    headers: &HeaderMap,
    scopes: &[&str],
    scopes_text: &'static str,
) -> Result<Caller, Refusal> {
    let Some(token) = token_of(headers) else {
        let detail = "a request without a token";
        app.hall.report(ViolationKind::BadToken, None, None, detail);
        return Err(Refusal::Unauthorized("Missing authorization header"));
    };
    let Some(caller) = app.hall.caller(TokenHash::of(token)) else {
        let detail = "an unknown token";
        app.hall.report(ViolationKind::BadToken, None, None, detail);
        return Err(Refusal::Unauthorized("No such token"));
    };
    let account = Some(caller.account.as_str());
    if let Some(named) = user_of_agent(user_agent(headers))
        && named != caller.account
    {
        let detail = format!("the user agent names {named}");
        app.hall
            .report(ViolationKind::ForeignUserAgent, account, None, detail);
        return Err(Refusal::Unauthorized(
            "The user in the user-agent doesn't match the token bearer",
        ));
    }
    if !scopes.is_empty() && !caller.scopes.has_any(scopes) {
        app.hall
            .report(ViolationKind::MissingScope, account, None, scopes_text);
        return Err(Refusal::MissingScope(scopes_text));
    }
    Ok(caller)
}

/// A bot that may play.
fn authorize_bot(app: &App, headers: &HeaderMap) -> Result<Caller, Refusal> {
    let caller = authorize(app, headers, &["bot:play"], "bot:play")?;
    match app.hall.account(&caller.account) {
        Some((account, _)) if account.is_bot() => Ok(caller),
        Some(_) => Err(Refusal::bad(
            "This endpoint can only be used with a Bot account. See https://lichess.org/api#operation/botAccountUpgrade",
        )),
        None => Err(Refusal::Unauthorized("No such user")),
    }
}

/// The user agent; empty if there is none.
fn user_agent(headers: &HeaderMap) -> &str {
    headers
        .get(header::USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// The account that a user agent names after `user:` or `as:`, as an id.
fn user_of_agent(agent: &str) -> Option<String> {
    let lower = agent.to_ascii_lowercase();
    for mark in ["user:", "as:"] {
        let Some((_, rest)) = lower.split_once(mark) else {
            continue;
        };
        let name: String = rest
            .trim_start()
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            .collect();
        if (3..=31).contains(&name.len()) {
            return Some(name);
        }
    }
    None
}

/// The fields of a body.
fn read_form(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Form, Refusal> {
    let malformed = |detail: String| {
        let account = Some(caller.account.as_str());
        app.hall
            .report(ViolationKind::MalformedRequest, account, None, detail);
    };
    let body = body.map_err(|rejection| {
        malformed(rejection.to_string());
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            Refusal::TooLarge
        } else {
            Refusal::bad("The body could not be read")
        }
    })?;
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    Form::read(content_type, &body).ok_or_else(|| {
        malformed("the body is not JSON".to_owned());
        Refusal::bad("Invalid Json")
    })
}

/// Reports a form that was refused, and passes the refusal on.
fn report_form(app: &App, caller: &Caller, game: Option<&str>, refusal: Refusal) -> Refusal {
    if matches!(refusal, Refusal::Form { .. }) {
        let account = Some(caller.account.as_str());
        let detail = refusal.to_string();
        app.hall
            .report(ViolationKind::MalformedRequest, account, game, detail);
    }
    refusal
}

/// The first eight characters of an id of eight or twelve.
///
/// # Errors
/// 404 for anything else.
fn game_id(id: &str) -> Result<&str, Refusal> {
    let plain = id
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    match id.len() {
        8 | 12 if plain => Ok(&id[..8]),
        _ => Err(Refusal::NOT_FOUND),
    }
}

/// An id of exactly eight characters.
///
/// # Errors
/// 404 for anything else.
fn challenge_id(id: &str) -> Result<&str, Refusal> {
    let plain = id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if id.len() == 8 && plain {
        Ok(id)
    } else {
        Err(Refusal::NOT_FOUND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agents_name_accounts_as_lichess_reads_them() {
        assert_eq!(
            user_of_agent("seneschal/0.1 user:My_Bot").as_deref(),
            Some("my_bot")
        );
        assert_eq!(
            user_of_agent("x as: Other-One y").as_deref(),
            Some("other-one")
        );
        assert_eq!(user_of_agent("x user:ab"), None);
        assert_eq!(user_of_agent("curl/8"), None);
    }

    #[test]
    fn ids_have_eight_characters_or_twelve() {
        assert_eq!(game_id("abcdefgh"), Ok("abcdefgh"));
        assert_eq!(game_id("abcdefgh1234"), Ok("abcdefgh"));
        assert!(game_id("abc").is_err());
        assert!(game_id("abcdefg%").is_err());
        assert!(challenge_id("abcdefgh1234").is_err());
    }
}
