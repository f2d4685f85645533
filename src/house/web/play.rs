//! What a browser can do: take a name, ask for games, move, talk.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::super::account::{Account, AccountKind, Token};
use super::super::api::App;
use super::super::archive::TokenRecord;
use super::super::challenge::{Terms, read_terms};
use super::super::conn::Peer;
use super::super::form::Form;
use super::super::game::CHAT_LENGTH;
use super::super::hall::{Caller, ClaimAnswer};
use super::super::limits::Limited;
use super::super::refusal::Refusal;
use super::super::variant::HouseVariant;
use super::session::{address_key, check_origin, cookie, no_cookie, player, session};

fn answer(json: &Value) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (StatusCode::OK, headers, json.to_string()).into_response()
}

fn form(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Form, Refusal> {
    let body = body.map_err(|_| Refusal::TooLarge)?;
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    Form::read(kind, &body).ok_or_else(|| Refusal::bad("The form cannot be read"))
}

fn who(account: &Account) -> Value {
    let kind = match account.kind {
        AccountKind::Bot => "bot",
        AccountKind::Human => "human",
        AccountKind::Guest => "guest",
    };
    json!({ "id": account.id(), "name": account.name, "kind": kind })
}

/// Somebody who may act, within the limit of commands.
pub(super) fn acting(app: &App, headers: &HeaderMap) -> Result<Caller, Refusal> {
    let caller = player(app, headers)?;
    app.hall.charge(Limited::Page, &caller.account)?;
    Ok(caller)
}

/// `GET /page/me`.
pub(super) async fn me(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    match session(&app, &headers) {
        Some((_, account)) => answer(&who(&account)),
        None => answer(&json!({ "name": null })),
    }
}

/// Keeps a new session and hands it to the browser.
async fn welcome(
    app: &App,
    account: Account,
    token: &Token,
    record: TokenRecord,
) -> Result<Response, Refusal> {
    let kept = async {
        app.archive.save_account(account.clone()).await?;
        let now_ms = app.hall.timeline.now_ms();
        app.archive.save_token(record, now_ms).await
    };
    kept.await.map_err(|error| {
        tracing::error!(%error, "a session cannot be kept");
        Refusal::Unavailable("The archive does not answer")
    })?;
    let mut response = answer(&who(&account));
    if let Ok(value) = cookie(token).parse() {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    Ok(response)
}

/// `POST /page/guest`: a name without registration. Who has one keeps it.
pub(super) async fn guest(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    check_origin(&headers)?;
    if let Some((_, account)) = session(&app, &headers) {
        return Ok(answer(&who(&account)));
    }
    app.hall
        .charge(Limited::Guest, &address_key(peer.address.ip()))?;
    let form = form(&headers, body)?;
    let (account, token, record) = app
        .hall
        .create_guest(form.get("name"))
        .map_err(|error| Refusal::bad(error.to_string()))?;
    welcome(&app, account, &token, record).await
}

/// `POST /page/login`: a registered account, by one of its tokens.
pub(super) async fn log_in(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    check_origin(&headers)?;
    app.hall
        .charge(Limited::Guest, &address_key(peer.address.ip()))?;
    let form = form(&headers, body)?;
    let given = form.get("token").unwrap_or_default();
    let (account, token, record) = app.hall.log_in(given)?;
    welcome(&app, account, &token, record).await
}

/// `POST /page/logout`.
pub(super) async fn log_out(headers: HeaderMap) -> Result<Response, Refusal> {
    check_origin(&headers)?;
    let mut response = answer(&json!({ "name": null }));
    if let Ok(value) = no_cookie().parse() {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    Ok(response)
}

/// `GET /page/lobby`: whom and what there is to play.
pub(super) async fn lobby(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let bots: Vec<Value> = app
        .hall
        .online_bots()
        .iter()
        .map(|(account, _)| json!({ "id": account.id(), "name": account.name }))
        .collect();
    let me = session(&app, &headers).map(|(_, account)| who(&account));
    answer(&json!({ "bots": bots, "seeks": app.hall.seeks(), "me": me }))
}

/// `POST /page/challenge`: a game against a bot or a user, against anybody, by link or at one device.
pub(super) async fn challenge(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let caller = acting(&app, &headers)?;
    let form = form(&headers, body)?;
    let terms = terms_for(&app, &caller, &form)?;
    let id = match form.get("with") {
        Some("anybody") => app.hall.seek(&caller, terms)?,
        Some("link") => app.hall.open_link(&caller, terms)?,
        Some("device") => app.hall.share_device(&caller, &terms)?,
        Some("user") => {
            let name = form.get("opponent").unwrap_or_default();
            let json = app.hall.challenge(&caller, name, terms)?;
            json["id"].as_str().unwrap_or_default().to_owned()
        }
        _ => return Err(Refusal::bad("Against whom?")),
    };
    Ok(answer(&json!({ "url": format!("/{id}") })))
}

/// Guests play for fun only; the rest is read as everywhere.
fn terms_for(app: &App, caller: &Caller, form: &Form) -> Result<Terms, Refusal> {
    let mut terms = read_terms(form, false)?;
    let guest = app
        .hall
        .account(&caller.account)
        .is_none_or(|(account, _)| account.kind == AccountKind::Guest);
    if guest {
        terms.rated = false;
    }
    if terms.variant == HouseVariant::FROM_POSITION && terms.fen.is_none() {
        return Err(Refusal::bad("Which position?"));
    }
    Ok(terms)
}

/// `POST /page/{id}/join`.
pub(super) async fn join(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = acting(&app, &headers)?;
    app.hall.join(&caller, &id)?;
    Ok(answer(&json!({ "url": format!("/{id}") })))
}

/// `POST /page/{id}/withdraw`.
pub(super) async fn withdraw(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = acting(&app, &headers)?;
    app.hall.withdraw_seek(&caller, &id);
    match app.hall.cancel(&caller, &id) {
        // An offer is no challenge; it has been withdrawn just now.
        Ok(()) | Err(Refusal::NotFound(_)) => Ok(answer(&json!({ "ok": true }))),
        Err(other) => Err(other),
    }
}

/// `POST /page/game/{id}/move/{uci}`.
pub(super) async fn play(
    State(app): State<Arc<App>>,
    Path((id, uci)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = acting(&app, &headers)?;
    app.hall.page_move(&caller, &id, &uci)?;
    Ok(answer(&json!({ "ok": true })))
}

/// `POST /page/game/{id}/chat`.
pub(super) async fn chat(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let caller = acting(&app, &headers)?;
    let form = form(&headers, body)?;
    let text = form.get("text").map(str::trim).unwrap_or_default();
    if text.is_empty() || text.chars().count() > CHAT_LENGTH {
        return Err(Refusal::bad("A line has 1 to 140 characters"));
    }
    app.hall.page_chat(&caller, &id, text)?;
    Ok(answer(&json!({ "ok": true })))
}

/// `POST /page/game/{id}/{command}`.
pub(super) async fn command(
    State(app): State<Arc<App>>,
    Path((id, command)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = acting(&app, &headers)?;
    let hall = &app.hall;
    match command.as_str() {
        "abort" => hall.abort(&caller, &id)?,
        "resign" => hall.resign(&caller, &id)?,
        "draw-yes" => hall.draw(&caller, &id, true)?,
        "draw-no" => hall.draw(&caller, &id, false)?,
        "takeback-yes" => hall.takeback(&caller, &id, true)?,
        "takeback-no" => hall.takeback(&caller, &id, false)?,
        "claim-victory" | "claim-draw" => {
            let victory = command == "claim-victory";
            if hall.claim(&caller, &id, victory)? == ClaimAnswer::Refused {
                return Err(Refusal::bad("That cannot be claimed now"));
            }
        }
        "rematch" => {
            let next = hall.rematch(&caller, &id)?;
            return Ok(answer(&json!({ "url": format!("/{next}") })));
        }
        _ => return Err(Refusal::NOT_FOUND),
    }
    Ok(answer(&json!({ "ok": true })))
}
