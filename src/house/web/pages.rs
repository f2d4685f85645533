//! The HTML pages and the files they load.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use super::super::api::App;
use super::super::game::color_word;
use super::super::hall::Ahead;
use super::super::refusal::Refusal;
use super::super::variant::HouseVariant;
use super::board::{BoardView, PlayerStrip, board_svg};
use super::escape::escape;
use super::live::{Board, board_of, last_squares};
use super::pieces::symbols;
use super::rules_text::{SHUFFLED, rules_text};
use super::session::viewer;
use crate::rules::{CastlingMode, Color};

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

pub(super) fn page(title: &str, main: &str, scripts: &[&str]) -> Response {
    let scripts: String = scripts
        .iter()
        .map(|file| format!("<script type=\"module\" src=\"/assets/{file}\"></script>\n"))
        .collect();
    html(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"/assets/icon.svg\">\n\
         <link rel=\"stylesheet\" href=\"/assets/house.css\">\n\
         {scripts}</head>\n<body>\n\
         <svg class=\"sprite\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>{}</defs></svg>\n\
         <header><a class=\"home\" href=\"/\">Seneschal house</a> <nav aria-label=\"Pages\"><a href=\"/\">Play</a> \
         <a href=\"/games\">Games</a> <a href=\"/ladder\">Ladder</a> <a href=\"/league\">League</a></nav></header>\n{main}\n</body>\n</html>\n",
        symbols()
    ))
}

/// `GET /`: the lobby and all running games.
pub(super) async fn index(State(app): State<Arc<App>>) -> Response {
    let boards: String = app.page.shown().iter().map(figure).collect();
    let main = format!(
        "<main>\n<div class=\"lobby\">\n{}\n<section class=\"card\" aria-labelledby=\"offers\">\n\
         <h2 id=\"offers\">Open offers</h2>\n<ul id=\"seeks\" class=\"plain\"></ul>\n\
         <p id=\"no-seeks\" class=\"quiet\">Nobody is waiting. Offer a game, and others see it here.</p>\n\
         <h2>Bots at home</h2>\n<ul id=\"bots\" class=\"plain\"></ul>\n\
         <p id=\"no-bots\" class=\"quiet\">No bot is logged in.</p>\n</section>\n</div>\n\
         <h1>Running games</h1>\n<p id=\"none\" class=\"quiet\">No game is running.</p>\n\
         <div id=\"games\" class=\"games\">{boards}</div>\n</main>",
        challenge_form()
    );
    page("Seneschal house", &main, &["live.js", "lobby.js"])
}

/// The form that asks for a game.
fn challenge_form() -> String {
    let variants: String = HouseVariant::all()
        .filter(|variant| *variant != HouseVariant::FROM_POSITION)
        .map(|variant| {
            let chosen = if variant.key() == "crazyhouse" {
                " selected"
            } else {
                ""
            };
            let (key, name) = (variant.key(), variant.name());
            format!("<option value=\"{key}\"{chosen}>{name}</option>")
        })
        .collect();
    format!(
        "<form id=\"challenge\" class=\"card\" aria-labelledby=\"ask\">\n<h2 id=\"ask\">Play</h2>\n\
         <label>Against <select name=\"with\" id=\"with\"><option value=\"anybody\">anybody who comes</option>\
         <option value=\"link\">a friend, by link</option><option value=\"device\">each other at this device</option>\
         </select></label>\n<label>Variant <select name=\"variant\" id=\"variant\">{variants}</select></label>\n\
         <div class=\"row\"><label>Minutes <select name=\"minutes\">{}</select></label>\n\
         <label>Seconds per move <select name=\"increment\">{}</select></label></div>\n\
         <label>You play <select name=\"color\"><option value=\"random\">either side</option>\
         <option value=\"white\">White</option><option value=\"black\">Black</option></select></label>\n\
         <label class=\"check-line\" id=\"rated-line\" hidden><input type=\"checkbox\" name=\"rated\" value=\"true\"> rated</label>\n\
         <button class=\"main\">Play</button>\n<p id=\"problem\" class=\"problem\" role=\"alert\"></p>\n\
         <p class=\"quiet\">You are <strong id=\"me\">a guest</strong>. <button type=\"button\" id=\"rename\" class=\"link\">\
         Choose a name</button></p>\n</form>",
        options(
            &[
                ("0", "0"),
                ("60", "1"),
                ("120", "2"),
                ("180", "3"),
                ("300", "5"),
                ("600", "10"),
                ("900", "15"),
                ("1800", "30"),
                ("3600", "60"),
                ("", "no clock")
            ],
            "300"
        ),
        options(
            &[
                ("0", "0"),
                ("1", "1"),
                ("2", "2"),
                ("3", "3"),
                ("5", "5"),
                ("10", "10"),
                ("20", "20"),
                ("30", "30")
            ],
            "3"
        ),
    )
}

fn options(choices: &[(&str, &str)], chosen: &str) -> String {
    let option = |(value, text): &(&str, &str)| {
        let mark = if *value == chosen { " selected" } else { "" };
        format!("<option value=\"{value}\"{mark}>{text}</option>")
    };
    choices.iter().map(option).collect()
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

/// Files of the board, and whether pockets stand beside it: what the page's width depends on.
fn shape_of(variant: HouseVariant) -> &'static str {
    match (variant.rules().files(), variant.rules().has_drops()) {
        (10, true) => "10p",
        (10, false) => "10",
        (_, true) => "8p",
        (_, false) => "8",
    }
}

/// `GET /{id}`: one game, or what may become one.
pub(super) async fn game(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let viewer = viewer(&app, &headers);
    let (title, board, rules, color, names, shape) = match app.game(&id).await {
        Ok((game, now_ms)) => {
            let color = viewer.account.as_deref().and_then(|a| game.color_of(a));
            let flipped = color == Some(Color::Black) && !game.is_shared();
            let picture = BoardView {
                flipped,
                last_move: last_squares(&game),
                label: format!("{} board", game.variant.name()),
                ..BoardView::default()
            };
            let shuffled = game.variant.castling_mode() == CastlingMode::Chess960;
            let mut rules = rules_text(game.variant.rules()).to_owned();
            if shuffled {
                rules = format!("{rules} {SHUFFLED}");
            }
            let title = board_of(&game, now_ms).title;
            let (top, bottom) = if flipped {
                (Color::White, Color::Black)
            } else {
                (Color::Black, Color::White)
            };
            let names = [top, bottom].map(|side| escape(&game.seat(side).name));
            let board = board_svg(game.position(), &picture);
            let shape = shape_of(game.variant);
            (title, board, rules, color, names, shape)
        }
        Err(refused) => match app.hall.ahead(&id, &viewer) {
            Ahead::Waiting(waiting) => {
                let title = format!("{} · {}", waiting.variant, waiting.clock);
                let variant = HouseVariant::all().find(|v| v.name() == waiting.variant);
                let rules = variant.map_or("", |v| rules_text(v.rules()));
                let names = [String::new(), String::new()];
                let shape = variant.map_or("8", shape_of);
                let rules = rules.to_owned();
                (title, String::new(), rules, None, names, shape)
            }
            Ahead::Moved(next) => {
                return Ok(Redirect::to(&format!("/{next}")).into_response());
            }
            Ahead::Game | Ahead::Nothing => return Err(refused),
        },
    };
    let side = color.map_or("", color_word);
    let main = format!(
        "<main id=\"game\" class=\"play\" data-id=\"{id}\" data-side=\"{side}\" data-shape=\"{shape}\">\n\
         <section class=\"table\" aria-label=\"Board\">\n\
         <div class=\"player\" id=\"top\"><span class=\"who\">{top}</span><span class=\"time\"></span></div>\n\
         <div id=\"board\" class=\"svg\">{board}</div>\n\
         <div class=\"player\" id=\"bottom\"><span class=\"who\">{bottom}</span><span class=\"time\"></span></div>\n\
         <div id=\"waiting\" class=\"waiting\" hidden></div>\n\
         <p id=\"end\" class=\"end\" role=\"status\"></p>\n\
         <div class=\"steps\" id=\"steps\" hidden><button type=\"button\" id=\"first\" aria-label=\"To the start\">«</button>\
         <button type=\"button\" id=\"back\" aria-label=\"One move back\">‹</button>\
         <button type=\"button\" id=\"forward\" aria-label=\"One move on\">›</button>\
         <button type=\"button\" id=\"last\" aria-label=\"To the last move\">»</button>\
         <button type=\"button\" id=\"now\" class=\"main\" hidden>Back to the game</button></div>\n\
         <div id=\"promotion\" class=\"promotion\" role=\"dialog\" aria-label=\"Promote to\" hidden></div>\n\
         </section>\n<section class=\"side\">\n<h1>{title}</h1>\n<div id=\"buttons\" class=\"buttons\"></div>\n\
         <p id=\"net\" class=\"problem\" role=\"status\"></p>\n\
         <p id=\"problem\" class=\"problem\" role=\"alert\"></p>\n\
         <form id=\"typed\" class=\"typed\"><label>Move <input name=\"move\" autocomplete=\"off\" autocapitalize=\"off\" \
         spellcheck=\"false\" size=\"12\" placeholder=\"Nf3, e2e4, P@e4\"></label><button>Move</button></form>\n\
         <ol id=\"moves\" class=\"moves\" aria-label=\"Moves\"></ol>\n\
         <div id=\"review\" class=\"review\" hidden></div>\n\
         <details class=\"rules\"><summary>Position in words</summary><p id=\"words\"></p></details>\n\
         <details class=\"rules\" open><summary>Rules</summary><p>{rules}</p></details>\n\
         <div class=\"chat\"><div id=\"chat\" class=\"lines\" aria-label=\"Chat\"></div>\n\
         <form id=\"say\"><label class=\"unseen\" for=\"line\">Say</label><input id=\"line\" name=\"text\" maxlength=\"140\" \
         autocomplete=\"off\" placeholder=\"Say something\"></form></div>\n\
         <p class=\"quiet\"><a href=\"/game/export/{id}\">PGN</a> · <a href=\"/{id}/board.svg\">Picture</a> · \
         <button type=\"button\" id=\"flip\" class=\"link\">Turn the board</button></p>\n</section>\n\
         <p id=\"said\" class=\"unseen\" aria-live=\"polite\"></p>\n</main>",
        title = escape(&title),
        rules = escape(&rules),
        top = names[0],
        bottom = names[1],
    );
    Ok(page(
        &format!("{} · {id}", escape(&title)),
        &main,
        &["game.js"],
    ))
}

/// `GET /{id}/board.svg`: the position as a picture that stands alone.
pub(super) async fn picture(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let (game, now_ms) = app.game(&id).await?;
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

fn script(text: &'static str) -> (&'static str, &'static str) {
    ("text/javascript; charset=utf-8", text)
}

/// `GET /assets/{file}`.
pub(super) async fn asset(Path(file): Path<String>) -> Response {
    let (kind, text) = match file.as_str() {
        "house.css" => ("text/css; charset=utf-8", include_str!("assets/house.css")),
        "live.js" => script(include_str!("assets/live.js")),
        "lobby.js" => script(include_str!("assets/lobby.js")),
        "game.js" => script(include_str!("assets/game.js")),
        "board.js" => script(include_str!("assets/board.js")),
        "page.js" => script(include_str!("assets/page.js")),
        "league.js" => script(include_str!("assets/league.js")),
        "review.js" => script(include_str!("assets/review.js")),
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
