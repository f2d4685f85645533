//! The HTML pages and the files they load.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::super::api::App;
use super::super::game::Game;
use super::super::refusal::Refusal;
use super::board::{BoardView, PlayerStrip, board_svg};
use super::escape::escape;
use super::live::{Board, board_of, last_squares};
use super::pieces::symbols;
use crate::rules::Color;

/// Only what this house serves is loaded, and nothing is written into the page itself.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'";

/// A picture that stands alone brings its colours in a `style` element of its own.
const PICTURE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

fn with_policy(mut response: Response, policy: &'static str) -> Response {
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, policy);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    response
}

fn html(body: String) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    with_policy((kind, body).into_response(), CONTENT_POLICY)
}

fn page(title: &str, main: &str, script: &str) -> Response {
    html(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"/assets/icon.svg\">\n\
         <link rel=\"stylesheet\" href=\"/assets/house.css\">\n\
         <script type=\"module\" src=\"/assets/{script}\"></script>\n</head>\n<body>\n\
         <svg class=\"sprite\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>{}</defs></svg>\n\
         <header><a class=\"home\" href=\"/\">Seneschal house</a></header>\n{main}\n</body>\n</html>\n",
        symbols()
    ))
}

/// `GET /`: all running games.
pub(super) async fn index(State(app): State<Arc<App>>) -> Response {
    let boards: String = app.page.shown().iter().map(figure).collect();
    let main = format!(
        "<main>\n<h1>Games</h1>\n<p id=\"none\" class=\"quiet\">No game is running.</p>\n\
         <div id=\"games\" class=\"games\">{boards}</div>\n\
         <p id=\"said\" class=\"unseen\" aria-live=\"polite\"></p>\n</main>"
    );
    page("Seneschal house", &main, "live.js")
}

/// One game of the list, as the script builds it too.
fn figure(board: &Board) -> String {
    let player = |color: Color| {
        let player = &board.players[color.index()];
        let title = if player.title.is_empty() {
            String::new()
        } else {
            format!("<span class=\"title\">{}</span> ", player.title)
        };
        let clock = player.clock.map_or(String::new(), clock_text);
        format!(
            "<div class=\"player\" data-side=\"{color}\"><span class=\"who\">{title}{} <small>{}</small></span>\
             <span class=\"time\">{clock}</span></div>",
            player.name, player.rating
        )
    };
    let end = board.end.as_deref().map(escape).unwrap_or_default();
    format!(
        "<figure class=\"game\" data-id=\"{id}\"><a href=\"/{id}\"><figcaption>{title}</figcaption>{black}\
         <div class=\"svg\">{svg}</div>{white}</a><p class=\"end\">{end}</p></figure>",
        id = board.id,
        title = escape(&board.title),
        black = player(Color::Black),
        white = player(Color::White),
        svg = board.svg,
    )
}

/// A clock for people: `1:02:03`, `4:05`, `0:09.8`.
pub(super) fn clock_text(ms: i64) -> String {
    let tenths = ms.max(0) / 100;
    let (seconds, tenth) = (tenths / 10, tenths % 10);
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else if seconds < 10 {
        format!("{minutes}:{rest:02}.{tenth}")
    } else {
        format!("{minutes}:{rest:02}")
    }
}

async fn find(app: &App, id: &str) -> Result<(Game, i64), Refusal> {
    let plain = id.len() == 8 && id.bytes().all(|b| b.is_ascii_alphanumeric());
    if !plain {
        return Err(Refusal::NOT_FOUND);
    }
    if let Some(found) = app.hall.look(id, |game, now_ms| (game.clone(), now_ms)) {
        return Ok(found);
    }
    let record = app.archive.game(id).await.map_err(|error| {
        tracing::error!(%error, "a game cannot be read");
        Refusal::Unavailable("The archive does not answer")
    })?;
    let now_ms = app.hall.timeline.now_ms();
    record
        .and_then(|record| Game::restore(record, now_ms).ok())
        .map(|game| (game, now_ms))
        .ok_or(Refusal::NOT_FOUND)
}

/// `GET /{id}`: one game.
pub(super) async fn game(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let (game, now_ms) = find(&app, &id).await?;
    let board = board_of(&game, now_ms);
    let main = format!(
        "<main class=\"one\">\n<div id=\"games\" class=\"games single\" data-only=\"{id}\">{}</div>\n\
         <p><a href=\"/game/export/{id}\">PGN</a> · <a href=\"/{id}/board.svg\">Picture</a></p>\n\
         <p id=\"said\" class=\"unseen\" aria-live=\"polite\"></p>\n</main>",
        figure(&board)
    );
    Ok(page(
        &format!("{} · {id}", escape(&board.title)),
        &main,
        "live.js",
    ))
}

/// `GET /{id}/board.svg`: the position as a picture that stands alone.
pub(super) async fn picture(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let (game, now_ms) = find(&app, &id).await?;
    let strip = |color: Color| {
        let seat = game.seat(color);
        PlayerStrip {
            name: format!("{} ({})", seat.name, seat.rating),
            clock: clock_text(game.clock.remaining(color, game.turn(), now_ms)),
            running: game.clock.is_running() && game.turn() == color,
        }
    };
    let view = BoardView {
        last_move: last_squares(&game),
        players: Some(Color::ALL.map(strip)),
        standalone: true,
        label: format!("{} {}", game.variant.name(), game.id),
        ..BoardView::default()
    };
    let kind = [(header::CONTENT_TYPE, "image/svg+xml")];
    let response = (kind, board_svg(game.position(), &view)).into_response();
    Ok(with_policy(response, PICTURE_POLICY))
}

/// `GET /assets/{file}`.
pub(super) async fn asset(Path(file): Path<String>) -> Response {
    let (kind, text) = match file.as_str() {
        "house.css" => ("text/css; charset=utf-8", include_str!("assets/house.css")),
        "live.js" => (
            "text/javascript; charset=utf-8",
            include_str!("assets/live.js"),
        ),
        "icon.svg" => ("image/svg+xml", include_str!("assets/icon.svg")),
        _ => return (StatusCode::NOT_FOUND, "").into_response(),
    };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    with_policy((headers, text).into_response(), CONTENT_POLICY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_read_like_clocks() {
        assert_eq!(clock_text(3_723_000), "1:02:03");
        assert_eq!(clock_text(245_999), "4:05");
        assert_eq!(clock_text(9_870), "0:09.8");
        assert_eq!(clock_text(-5), "0:00.0");
    }
}
