//! Games as PGN or JSON.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::super::account::account_id;
use super::super::archive::GameQuery;
use super::super::export::{game_json, game_pgn};
use super::super::form::Form;
use super::super::game::GameRecord;
use super::super::refusal::Refusal;
use super::{App, game_id, json_response};

/// Games per request, at most.
const MAX_GAMES: u32 = 1_000;

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accept| accept.contains(kind))
}

fn unreadable(error: impl std::fmt::Display) -> Refusal {
    tracing::error!(%error, "the archive does not answer");
    Refusal::Unavailable("The archive does not answer")
}

/// `GET /game/export/{id}`: PGN, or JSON if that is asked for.
pub(super) async fn game(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let id = id.strip_suffix(".pgn").unwrap_or(&id);
    let id = game_id(id)?;
    let record = match app.hall.record(id) {
        Some(record) => Some(record),
        None => app.archive.game(id).await.map_err(unreadable)?,
    };
    let record = record.ok_or(Refusal::NOT_FOUND)?;
    if accepts(&headers, "application/json") {
        let json = game_json(&record).map_err(unreadable)?;
        return Ok(json_response(StatusCode::OK, &json));
    }
    let pgn = game_pgn(&record, &app.base_url).map_err(unreadable)?;
    let kind = [(header::CONTENT_TYPE, "application/x-chess-pgn")];
    Ok((kind, pgn).into_response())
}

/// `GET /api/games/user/{name}?max=&since=&until=&ongoing=&vs=`: PGN, or a line of JSON per game.
pub(super) async fn games(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let player = account_id(&name);
    if app.hall.account(&player).is_none() {
        return Err(Refusal::NOT_FOUND);
    }
    let form = Form::query(query.as_deref());
    let number = |key| form.get(key).and_then(|text| text.parse::<i64>().ok());
    let limit = number("max").map_or(MAX_GAMES, |n| n.clamp(1, i64::from(MAX_GAMES)) as u32);
    let found = app
        .archive
        .games(GameQuery {
            player: Some(player.clone()),
            variant: form.get("perfType").map(str::to_owned),
            running: (!form.is_true("ongoing")).then_some(false),
            since_ms: number("since"),
            until_ms: number("until"),
            limit,
        })
        .await
        .map_err(unreadable)?;
    let versus = form.get("vs").map(account_id);
    let wanted = |record: &&GameRecord| {
        let met = |other: &String| record.seats.iter().any(|seat| seat.account == *other);
        versus.as_ref().is_none_or(met)
    };
    let found: Vec<&GameRecord> = found.iter().filter(wanted).collect();
    if accepts(&headers, "application/x-ndjson") {
        let lines: Result<String, _> = found
            .iter()
            .map(|record| game_json(record).map(|json| format!("{json}\n")))
            .collect();
        let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
        return Ok((kind, lines.map_err(unreadable)?).into_response());
    }
    let texts: Result<String, _> = found
        .iter()
        .map(|record| game_pgn(record, &app.base_url))
        .collect();
    let kind = [(header::CONTENT_TYPE, "application/x-chess-pgn")];
    Ok((kind, texts.map_err(unreadable)?).into_response())
}
