//! Pages with lists: the ladder and the archive.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use jiff::Timestamp;

use super::super::account::{Account, AccountKind, account_id};
use super::super::api::App;
use super::super::archive::{Archive, ArchiveError, GameQuery};
use super::super::form::Form;
use super::super::game::GameRecord;
use super::super::refusal::Refusal;
use super::super::status::Status;
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

/// Which finished games are wanted, as the form of the page says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Wanted {
    player: String,
    opponent: String,
    variant: String,
    result: String,
    rated: String,
    from: String,
    to: String,
    /// Where the list goes on, ms since 1970.
    until_ms: Option<i64>,
}

/// Results that can be asked for, with their words; the last two are the player's.
const RESULTS: [(&str, &str); 5] = [
    ("white", "White won"),
    ("black", "Black won"),
    ("draw", "drawn"),
    ("won", "won by the player"),
    ("lost", "lost by the player"),
];

/// Whether ratings were at stake.
const STAKES: [(&str, &str); 2] = [("rated", "rated"), ("casual", "casual")];

/// A day of the form as ms since 1970, at its first moment.
fn day_ms(text: &str) -> Option<i64> {
    let day: jiff::civil::Date = text.parse().ok()?;
    let start: Timestamp = format!("{day}T00:00:00Z").parse().ok()?;
    Some(start.as_millisecond())
}

const DAY_MS: i64 = 86_400_000;

impl Wanted {
    /// Reads the form; what makes no sense is as good as not said.
    fn read(form: &Form) -> Wanted {
        let text = |key: &str| form.get(key).unwrap_or_default().trim().to_owned();
        let one_of = |key: &str, known: &[(&str, &str)]| {
            Some(text(key))
                .filter(|said| known.iter().any(|(word, _)| word == said))
                .unwrap_or_default()
        };
        let day = |key: &str| {
            Some(text(key))
                .filter(|said| day_ms(said).is_some())
                .unwrap_or_default()
        };
        Wanted {
            player: text("player"),
            opponent: text("opponent"),
            variant: Some(text("variant"))
                .filter(|key| HouseVariant::from_key(key).is_some())
                .unwrap_or_default(),
            result: one_of("result", &RESULTS),
            rated: one_of("rated", &STAKES),
            from: day("from"),
            to: day("to"),
            until_ms: form.get("until").and_then(|said| said.parse().ok()),
        }
    }

    /// What the archive itself can tell apart.
    fn query(&self, until_ms: Option<i64>) -> GameQuery {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        // Who is only named as the opponent must have played, too.
        let player = some(&self.player).or_else(|| some(&self.opponent));
        let end_of_day = day_ms(&self.to).map(|start| start + DAY_MS - 1);
        GameQuery {
            player: player.map(|name| account_id(&name)),
            variant: some(&self.variant),
            running: Some(false),
            since_ms: day_ms(&self.from),
            until_ms: [until_ms, end_of_day].into_iter().flatten().min(),
            limit: SCANNED_AT_ONCE,
        }
    }

    fn takes(&self, game: &GameRecord) -> bool {
        let side_of = |name: &str| {
            let id = account_id(name);
            game.seats.iter().position(|seat| seat.account == id)
        };
        let winner = match game.winner.as_deref() {
            Some("white") => Some(0),
            Some(_) => Some(1),
            None => None,
        };
        let player = side_of(&self.player);
        let fits = match self.result.as_str() {
            "white" => winner == Some(0),
            "black" => winner == Some(1),
            "draw" => winner.is_none() && game.status != Status::Aborted,
            "won" => winner.is_some() && winner == player,
            "lost" => winner.is_some() && player.is_some() && winner != player,
            _ => true,
        };
        let stakes = self.rated.is_empty() || (self.rated == "rated") == game.rated;
        let met = self.opponent.is_empty()
            || side_of(&self.opponent).is_some_and(|other| Some(other) != player);
        fits && stakes && met
    }

    /// The address of the list from a moment on.
    fn address(&self, until_ms: i64) -> String {
        let mut address = "/games?".to_owned();
        for (key, value) in [
            ("player", &self.player),
            ("opponent", &self.opponent),
            ("variant", &self.variant),
            ("result", &self.result),
            ("rated", &self.rated),
            ("from", &self.from),
            ("to", &self.to),
        ] {
            let value = url_word(value);
            if !value.is_empty() {
                // Writing to a string cannot fail.
                let _infallible = write!(address, "{key}={value}&amp;");
            }
        }
        format!("{address}until={until_ms}")
    }

    fn form(&self) -> String {
        let variants: Vec<(&str, &str)> = HouseVariant::all()
            .map(|known| (known.key(), known.name()))
            .collect();
        format!(
            "<form class=\"filter\" action=\"/games\"><label>Player <input name=\"player\" size=\"12\" value=\"{}\"></label>\n\
             <label>Against <input name=\"opponent\" size=\"12\" value=\"{}\"></label>\n{}{}{}\
             <label>From <input type=\"date\" name=\"from\" value=\"{}\"></label>\n\
             <label>To <input type=\"date\" name=\"to\" value=\"{}\"></label>\n<button>Show</button></form>\n",
            escape(&self.player),
            escape(&self.opponent),
            choice("Variant", "variant", &variants, &self.variant),
            choice("Result", "result", &RESULTS, &self.result),
            choice("Stakes", "rated", &STAKES, &self.rated),
            escape(&self.from),
            escape(&self.to),
        )
    }
}

/// A list to choose from, with `all` in front.
fn choice(label: &str, name: &str, known: &[(&str, &str)], chosen: &str) -> String {
    let options: String = known
        .iter()
        .map(|(word, text)| {
            let mark = if *word == chosen { " selected" } else { "" };
            format!("<option value=\"{word}\"{mark}>{text}</option>")
        })
        .collect();
    format!(
        "<label>{label} <select name=\"{name}\"><option value=\"\">all</option>{options}</select></label>\n"
    )
}

/// Games that are read from the archive in one go.
const SCANNED_AT_ONCE: u32 = 200;

/// Games that are read for one page of the list, at most; what lies behind is on the next one.
const SCANNED: usize = 2_000;

/// The games of one page of the list, and where the next page begins.
async fn find(
    archive: &dyn Archive,
    wanted: &Wanted,
) -> Result<(Vec<GameRecord>, Option<i64>), ArchiveError> {
    let mut found = Vec::new();
    let mut until_ms = wanted.until_ms;
    let mut scanned = 0;
    while scanned < SCANNED {
        let batch = archive.games(wanted.query(until_ms)).await?;
        let full = batch.len() == SCANNED_AT_ONCE as usize;
        scanned += batch.len();
        for game in batch {
            until_ms = Some(game.created_ms - 1);
            if wanted.takes(&game) {
                found.push(game);
            }
            if found.len() == ROWS {
                return Ok((found, until_ms));
            }
        }
        if !full {
            return Ok((found, None));
        }
    }
    Ok((found, until_ms))
}

/// `GET /games?player=&opponent=&variant=&result=&rated=&from=&to=&until=`: finished games, latest first.
pub(super) async fn games(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let wanted = Wanted::read(&Form::query(query.as_deref()));
    let (found, next) = find(&*app.archive, &wanted).await.map_err(|error| {
        tracing::error!(%error, "games cannot be listed");
        Refusal::Unavailable("The archive does not answer")
    })?;
    let rows: String = found.iter().map(row).collect();
    let older = next.map_or(String::new(), |until_ms| {
        format!(
            "<p><a href=\"{}\">Older games</a></p>",
            wanted.address(until_ms)
        )
    });
    let none = if found.is_empty() && next.is_none() {
        "<p class=\"quiet\">No such game has been finished.</p>\n"
    } else {
        ""
    };
    let main = format!(
        "<main>\n<h1>Games</h1>\n{}\
         <table class=\"list\"><thead><tr><th>When</th><th>White</th><th>Black</th><th>Result</th><th>Game</th><th>How it ended</th></tr></thead>\
         <tbody>{rows}</tbody></table>\n{none}{older}</main>",
        wanted.form()
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
        None if game.status == Status::Aborted => "-",
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

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(query: &str) -> Wanted {
        Wanted::read(&Form::query(Some(query)))
    }

    #[test]
    fn what_makes_no_sense_is_not_filtered_by() {
        let nonsense =
            "variant=nonsense&result=%3Cb%3E&rated=maybe&from=2026-13-40&to=x&until=soon";
        assert_eq!(wanted(nonsense), Wanted::default());
    }

    #[test]
    fn days_are_whole_days() {
        let both = wanted("from=2026-11-30&to=2026-11-30").query(None);
        let (since, until) = (both.since_ms.unwrap(), both.until_ms.unwrap());
        assert_eq!(until - since, DAY_MS - 1);
        assert_eq!(since % DAY_MS, 0);
        let paged = wanted("to=2026-11-30&until=5").query(Some(5));
        assert_eq!(paged.until_ms, Some(5), "the earlier one holds");
    }

    #[test]
    fn addresses_carry_the_filter_and_nothing_that_breaks_out() {
        let address = wanted("player=Zoe&result=won&opponent=%22%3E%3Cscript%3E").address(7);
        assert_eq!(address, "/games?player=Zoe&amp;result=won&amp;until=7");
    }
}
