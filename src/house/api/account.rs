//! Accounts, tokens, who is online.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::super::account::{AccountKind, TokenHash};
use super::super::form::Form;
use super::super::refusal::Refusal;
use super::super::wire::user_json;
use super::{App, authorize, json_response, ok};

/// Tokens tested and users asked for at a time.
const MAX_LIST: usize = 1_000;

/// `GET /api/account`.
pub(super) async fn account(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize(&app, &headers, &[], "")?;
    app.hall.charge_account(&caller)?;
    let (account, seen) = app
        .hall
        .account(&caller.account)
        .ok_or(Refusal::Unauthorized("No such user"))?;
    let json = user_json(&account, &app.base_url, seen);
    Ok(json_response(StatusCode::OK, &json))
}

/// `GET /api/account/playing`.
pub(super) async fn playing(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let caller = authorize(&app, &headers, &[], "")?;
    let wanted = Form::query(query.as_deref())
        .get("nb")
        .and_then(|n| n.parse().ok());
    let limit = wanted.unwrap_or(9_usize).clamp(1, 50);
    let json = app.hall.playing(&caller, limit)?;
    Ok(json_response(StatusCode::OK, &json))
}

/// `POST /api/bot/account/upgrade`.
pub(super) async fn upgrade(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize(&app, &headers, &["bot:play"], "bot:play")?;
    app.hall.upgrade(&caller)?;
    Ok(ok())
}

/// `POST /api/token/test`: tokens in the body, separated by commas.
pub(super) async fn test_tokens(
    State(app): State<Arc<App>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let body = body.map_err(|_| Refusal::TooLarge)?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let mut answer = Map::new();
    let tokens = text.split(',').map(str::trim).filter(|t| !t.is_empty());
    for token in tokens.take(MAX_LIST) {
        let known = app.hall.caller(TokenHash::of(token)).map(|caller| {
            json!({
                "userId": caller.account,
                "scopes": caller.scopes.to_string(),
                "expires": Value::Null,
            })
        });
        answer.insert(token.to_owned(), known.unwrap_or(Value::Null));
    }
    Ok(json_response(StatusCode::OK, &Value::Object(answer)))
}

/// `GET /api/bot/online`: a line per bot, without a line feed behind the last.
pub(super) async fn bots_online(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Response {
    let wanted = Form::query(query.as_deref())
        .get("nb")
        .and_then(|n| n.parse().ok());
    let limit = wanted.unwrap_or(100_usize).clamp(1, 512);
    let lines: Vec<String> = app
        .hall
        .online_bots()
        .into_iter()
        .take(limit)
        .map(|(account, seen)| user_json(&account, &app.base_url, seen).to_string())
        .collect();
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (kind, lines.join("\n")).into_response()
}

/// `GET /api/users/status?ids=a,b`.
pub(super) async fn users_status(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Response {
    let form = Form::query(query.as_deref());
    let with_games = form.is_true("withGameIds");
    let ids = form.get("ids").unwrap_or_default().to_owned();
    let list: Vec<Value> = ids
        .split(',')
        .map(str::trim)
        .filter(|id| !id.is_empty())
        .take(100)
        .filter_map(|id| app.hall.user_status(id, with_games))
        .collect();
    json_response(StatusCode::OK, &Value::Array(list))
}

/// `GET /api/user/{name}`.
pub(super) async fn user(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    let (account, seen) = app
        .hall
        .account(&name)
        .filter(|(account, _)| account.kind != AccountKind::Guest)
        .ok_or(Refusal::NOT_FOUND)?;
    let json = user_json(&account, &app.base_url, seen);
    Ok(json_response(StatusCode::OK, &json))
}

/// `POST /api/users`: names in the body, separated by commas.
pub(super) async fn users(
    State(app): State<Arc<App>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let body = body.map_err(|_| Refusal::TooLarge)?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let list: Vec<Value> = text
        .split(',')
        .take(300)
        .filter_map(|name| app.hall.account(name.trim()))
        .map(|(account, seen)| user_json(&account, &app.base_url, seen))
        .collect();
    Ok(json_response(StatusCode::OK, &Value::Array(list)))
}
