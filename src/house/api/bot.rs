//! Events and games of bots.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{ConnectInfo, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::super::conn::Peer;
use super::super::form::{Form, is_trueish};
use super::super::game::{CHAT_LENGTH, Game, Room};
use super::super::hall::ClaimAnswer;
use super::super::lines::LineQueue;
use super::super::refusal::Refusal;
use super::super::violation::ViolationKind;
use super::super::wire::game_full_line;
use super::{
    App, authorize, authorize_bot, game_id, json_response, ok, read_form, report_form, stream,
    user_agent,
};

/// `GET /api/stream/event`.
pub(super) async fn events(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize(
        &app,
        &headers,
        &["challenge:read", "bot:play", "board:play"],
        "challenge:read || bot:play || board:play",
    )?;
    let open = app.hall.open_events(&caller, &peer.control)?;
    Ok(stream::respond(&app, open, &peer.control))
}

/// `GET /api/bot/game/stream/{id}`.
pub(super) async fn game(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize_bot(&app, &headers)?;
    let id = game_id(&id)?;
    let agent = user_agent(&headers);
    let open = app.hall.open_game(&caller, id, agent, &peer.control)?;
    let open = match open {
        Some(open) => open,
        None => {
            // Not at hand any more: what is over is told once, from the archive.
            let kept = app.archive.game(id).await.map_err(|error| {
                tracing::error!(%error, "a game cannot be read");
                Refusal::Unavailable("The archive does not answer")
            })?;
            let now_ms = app.hall.timeline.now_ms();
            let past = kept
                .and_then(|record| Game::restore(record, now_ms).ok())
                .ok_or(Refusal::NotFound("No such game"))?;
            if past.color_of(&caller.account).is_none() {
                return Err(Refusal::NotFound("Not your game"));
            }
            let queue = LineQueue::with(vec![game_full_line(&past, now_ms)]);
            queue.close();
            app.hall.past(Arc::new(queue), caller.account.clone())
        }
    };
    Ok(stream::respond(&app, open, &peer.control))
}

/// `POST /api/bot/game/{id}/move/{uci}`.
pub(super) async fn play(
    State(app): State<Arc<App>>,
    Path((id, uci)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize_bot(&app, &headers)?;
    let offering = Form::query(query.as_deref())
        .get("offeringDraw")
        .map(is_trueish);
    app.hall.play(&caller, game_id(&id)?, &uci, offering)?;
    Ok(ok())
}

/// `POST /api/bot/game/{id}/draw/{answer}`.
pub(super) async fn draw(
    State(app): State<Arc<App>>,
    Path((id, answer)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize_bot(&app, &headers)?;
    app.hall.draw(&caller, game_id(&id)?, is_trueish(&answer))?;
    Ok(ok())
}

/// `POST /api/bot/game/{id}/takeback/{answer}`.
pub(super) async fn takeback(
    State(app): State<Arc<App>>,
    Path((id, answer)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize_bot(&app, &headers)?;
    app.hall
        .takeback(&caller, game_id(&id)?, is_trueish(&answer))?;
    Ok(ok())
}

/// `POST /api/bot/game/{id}/{abort|resign|claim-victory|claim-draw|berserk}`.
pub(super) async fn command(
    State(app): State<Arc<App>>,
    Path((id, command)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize_bot(&app, &headers)?;
    let id = game_id(&id)?;
    match command.as_str() {
        "abort" => app.hall.abort(&caller, id)?,
        "resign" => app.hall.resign(&caller, id)?,
        "claim-victory" | "claim-draw" => {
            let victory = command == "claim-victory";
            if app.hall.claim(&caller, id, victory)? == ClaimAnswer::Refused {
                tokio::time::sleep(app.claim_delay).await;
                return Err(Refusal::bad(if victory {
                    "You cannot claim the win on this game"
                } else {
                    "You cannot claim draw on this game"
                }));
            }
        }
        "berserk" => return Err(Refusal::bad("Cannot berserk")),
        _ => {
            let account = Some(caller.account.as_str());
            app.hall
                .report(ViolationKind::UnknownEndpoint, account, Some(id), command);
            return Err(Refusal::NotFound("No such command"));
        }
    }
    Ok(ok())
}

/// `POST /api/bot/game/{id}/chat`.
pub(super) async fn chat(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let caller = authorize_bot(&app, &headers)?;
    let id = game_id(&id)?;
    let form = read_form(&app, &caller, &headers, body)?;
    let wrong = |field, message| {
        let refusal = Refusal::field(field, message, true);
        Err(report_form(&app, &caller, Some(id), refusal))
    };
    let room = match form.get("room") {
        Some("player") => Room::Player,
        Some("spectator") => Room::Spectator,
        Some(_) => return wrong("room", "Invalid value"),
        None => return wrong("room", "This field is required"),
    };
    let Some(text) = form.get("text").map(str::trim).filter(|t| !t.is_empty()) else {
        return wrong("text", "This field is required");
    };
    if text.chars().count() > CHAT_LENGTH {
        return wrong("text", "Maximum length is 140");
    }
    app.hall.chat(&caller, id, room, text)?;
    Ok(ok())
}

/// `GET /api/bot/game/{id}/chat`.
pub(super) async fn read_chat(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize_bot(&app, &headers)?;
    let json = app.hall.read_chat(&caller, game_id(&id)?)?;
    Ok(json_response(StatusCode::OK, &json))
}

/// `POST /api/round/{id}/add-time/{seconds}`.
pub(super) async fn add_time(
    State(app): State<Arc<App>>,
    Path((id, seconds)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = authorize(&app, &headers, &["challenge:write"], "challenge:write")?;
    let seconds = seconds.parse().map_err(|_| Refusal::NOT_FOUND)?;
    app.hall.give_time(&caller, game_id(&id)?, seconds)?;
    Ok(ok())
}
