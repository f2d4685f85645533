//! Pages with lists: the ladder and the archive.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use jiff::Timestamp;

use super::super::account::{Account, AccountKind, account_id};
use super::super::api::App;
use super::super::archive::GameQuery;
use super::super::form::Form;
use super::super::game::GameRecord;
use super::super::refusal::Refusal;
use super::super::variant::{HouseVariant, perf_name};
use super::super::wire::show_clock;
use super::escape::escape;
use super::pages::page;

/// Rows of a list.
const ROWS: usize = 100;

/// `GET /ladder?perf=`: registered accounts by rating.
pub(super) async fn ladder(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let accounts = app.hall.accounts();
    let registered = || accounts.iter().filter(|a| a.kind != AccountKind::Guest);
    let mut perfs: Vec<&str> = registered()
        .flat_map(|account| account.perfs.keys().map(String::as_str))
        .collect();
    perfs.sort_unstable();
    perfs.dedup();
    let form = Form::query(query.as_deref());
    let wanted = form
        .get("perf")
        .filter(|wanted| perfs.contains(wanted))
        .or_else(|| perfs.first().copied())
        .unwrap_or("crazyhouse");
    let links: String = perfs
        .iter()
        .map(|perf| {
            let mark = if *perf == wanted {
                " aria-current=\"page\""
            } else {
                ""
            };
            format!(
                "<a href=\"/ladder?perf={perf}\"{mark}>{}</a> ",
                perf_name(perf)
            )
        })
        .collect();
    let mut rated: Vec<&Account> = registered()
        .filter(|account| account.perfs.get(wanted).is_some_and(|perf| perf.games > 0))
        .collect();
    rated.sort_by(|a, b| b.perf(wanted).rating.total_cmp(&a.perf(wanted).rating));
    let mut rows = String::new();
    for (place, account) in (1..).zip(rated.into_iter().take(ROWS)) {
        let perf = account.perf(wanted);
        let title = account.title().map_or(String::new(), |title| {
            format!("<span class=\"title\">{title}</span> ")
        });
        let unsure = if perf.is_provisional() { "?" } else { "" };
        let name = escape(&account.name);
        // Writing to a string cannot fail.
        let _infallible = write!(
            rows,
            "<tr><td>{place}</td><td>{title}<a href=\"/games?player={name}\">{name}</a></td>\
             <td>{}{unsure}</td><td>± {}</td><td>{}</td></tr>",
            perf.shown(),
            (2.0 * perf.deviation).round(),
            perf.games
        );
    }
    let empty = if rows.is_empty() {
        "<p class=\"quiet\">No rated game has been played yet.</p>"
    } else {
        ""
    };
    let main = format!(
        "<main>\n<h1>Ladder: {}</h1>\n<nav class=\"choices\" aria-label=\"Ratings\">{links}</nav>\n\
         <table class=\"list\"><thead><tr><th>Place</th><th>Name</th><th>Rating</th><th>95 %</th><th>Games</th></tr></thead>\
         <tbody>{rows}</tbody></table>\n{empty}</main>",
        perf_name(wanted)
    );
    page("Ladder", &main, &[])
}

/// `GET /games?player=&variant=&until=`: finished games, latest first.
pub(super) async fn games(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let form = Form::query(query.as_deref());
    let player = form.get("player").unwrap_or_default();
    let variant = form
        .get("variant")
        .filter(|key| HouseVariant::from_key(key).is_some())
        .unwrap_or_default();
    let until_ms = form.get("until").and_then(|text| text.parse::<i64>().ok());
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let found = app
        .archive
        .games(GameQuery {
            player: some(player).map(|name| account_id(&name)),
            variant: some(variant),
            running: Some(false),
            since_ms: None,
            until_ms,
            limit: ROWS as u32,
        })
        .await
        .map_err(|error| {
            tracing::error!(%error, "games cannot be listed");
            Refusal::Unavailable("The archive does not answer")
        })?;
    let rows: String = found.iter().map(row).collect();
    let older = found
        .last()
        .filter(|_| found.len() == ROWS)
        .map_or(String::new(), |last| {
            let (player, before) = (url_word(player), last.created_ms - 1);
            format!("<p><a href=\"/games?player={player}&amp;variant={variant}&amp;until={before}\">Older games</a></p>")
        });
    let choices: String = HouseVariant::all()
        .map(|known| {
            let mark = if known.key() == variant {
                " selected"
            } else {
                ""
            };
            format!(
                "<option value=\"{}\"{mark}>{}</option>",
                known.key(),
                known.name()
            )
        })
        .collect();
    let main = format!(
        "<main>\n<h1>Games</h1>\n<form class=\"filter\" action=\"/games\"><label>Player <input name=\"player\" value=\"{}\"></label>\n\
         <label>Variant <select name=\"variant\"><option value=\"\">all</option>{choices}</select></label>\n\
         <button>Show</button></form>\n\
         <table class=\"list\"><thead><tr><th>When</th><th>White</th><th>Black</th><th>Result</th><th>Game</th><th>How it ended</th></tr></thead>\
         <tbody>{rows}</tbody></table>\n{older}</main>",
        escape(player)
    );
    Ok(page("Games", &main, &[]))
}

fn row(game: &GameRecord) -> String {
    let when = Timestamp::from_millisecond(game.created_ms)
        .map(|stamp| stamp.strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_default();
    let [white, black] = [0, 1].map(|n: usize| {
        let seat = &game.seats[n];
        let diff = seat
            .rating_diff
            .map_or(String::new(), |diff| format!(" {diff:+}"));
        format!(
            "{} <small>{}{diff}</small>",
            escape(&seat.name),
            seat.rating
        )
    });
    let result = match game.winner.as_deref() {
        Some("white") => "1-0",
        Some(_) => "0-1",
        None if game.status == super::super::status::Status::Aborted => "-",
        None => "½-½",
    };
    let variant = HouseVariant::from_key(&game.variant).map_or("?", HouseVariant::name);
    let clock = show_clock(game.clock.time());
    let reason = escape(game.reason.as_deref().unwrap_or_default());
    format!(
        "<tr><td>{when}</td><td>{white}</td><td>{black}</td><td>{result}</td>\
         <td><a href=\"/{id}\">{variant} {clock}</a></td><td>{reason}</td></tr>",
        id = game.id
    )
}

/// A word that needs no escaping in an address; anything else becomes nothing.
fn url_word(text: &str) -> &str {
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain { text } else { "" }
}
