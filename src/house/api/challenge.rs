//! Challenges over HTTP.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::super::challenge::{DeclineReason, read_terms};
use super::super::conn::Peer;
use super::super::hall::Caller;
use super::super::refusal::Refusal;
use super::{App, authorize, challenge_id, json_response, ok, read_form, report_form, stream};

const WRITE: [&str; 3] = ["challenge:write", "bot:play", "board:play"];
const WRITE_TEXT: &str = "challenge:write || bot:play || board:play";

fn may_write(app: &App, headers: &HeaderMap) -> Result<Caller, Refusal> {
    authorize(app, headers, &WRITE, WRITE_TEXT)
}

/// `POST /api/challenge/{name}`.
pub(super) async fn create(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(dest): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let caller = may_write(&app, &headers)?;
    let form = read_form(&app, &caller, &headers, body)?;
    let bot = app
        .hall
        .account(&caller.account)
        .is_some_and(|(account, _)| account.is_bot());
    let terms =
        read_terms(&form, bot).map_err(|refusal| report_form(&app, &caller, None, refusal))?;
    if form.is_true("keepAliveStream") {
        let open = app.hall.challenge_kept_alive(&caller, &dest, terms)?;
        return Ok(stream::respond(&app, open, &peer.control));
    }
    let json = app.hall.challenge(&caller, &dest, terms)?;
    Ok(json_response(StatusCode::OK, &json))
}

/// `GET /api/challenge`.
pub(super) async fn list(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize(&app, &headers, &["challenge:read"], "challenge:read")?;
    Ok(json_response(StatusCode::OK, &app.hall.challenges(&caller)))
}

/// `GET /api/challenge/{id}/show`.
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize(
        &app,
        &headers,
        &[
            "challenge:read",
            "challenge:write",
            "bot:play",
            "board:play",
        ],
        "challenge:read || challenge:write || bot:play || board:play",
    )?;
    let json = app.hall.show_challenge(&caller, challenge_id(&id)?)?;
    Ok(json_response(StatusCode::OK, &json))
}

/// `POST /api/challenge/{id}/accept`.
pub(super) async fn accept(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = may_write(&app, &headers)?;
    app.hall.accept(&caller, challenge_id(&id)?)?;
    Ok(ok())
}

/// `POST /api/challenge/{id}/decline`.
pub(super) async fn decline(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let caller = may_write(&app, &headers)?;
    let form = read_form(&app, &caller, &headers, body)?;
    let reason = DeclineReason::read(form.get("reason"));
    app.hall.decline(&caller, challenge_id(&id)?, reason)?;
    Ok(ok())
}

/// `POST /api/challenge/{id}/cancel`.
pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = may_write(&app, &headers)?;
    app.hall.cancel(&caller, challenge_id(&id)?)?;
    Ok(ok())
}
