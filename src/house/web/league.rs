//! The league's page: the table, who has met whom, what is being played.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::super::api::App;
use super::super::league::{League, Meeting, MeetingState, Row, standings};
use super::super::wire::show_clock;
use super::escape::escape;
use super::pages::page;
use crate::rules::Color;

/// `GET /league`.
pub(super) async fn league(State(app): State<Arc<App>>) -> Response {
    let Some(league) = &app.league else {
        let main = "<main data-over=\"true\">\n<h1>League</h1>\n<p class=\"quiet\">No league is played here. Who runs the house \
                    begins one with <code>seneschal house --league NAME</code>.</p>\n</main>";
        return page("League", main, &[]);
    };
    let meetings = league.meetings();
    let settled = meetings.iter().filter(|m| settled(m)).count();
    let over = league.is_over();
    let terms = league.terms();
    let stakes = if terms.rated { "rated" } else { "casual" };
    let state = if over { "The league is over. " } else { "" };
    let main = format!(
        "<main data-over=\"{over}\">\n<h1>{name}</h1>\n<p>{variant}, {clock}, {stakes}. {state}{settled} of {all} games played.</p>\n\
         {table}{running}</main>",
        name = escape(league.name()),
        variant = terms.variant.name(),
        clock = show_clock(terms.time),
        all = meetings.len(),
        table = table(league, &meetings),
        running = running(league, &meetings),
    );
    page("League", &main, &["league.js"])
}

fn settled(meeting: &Meeting) -> bool {
    matches!(
        meeting.state,
        MeetingState::Done { .. } | MeetingState::Void
    )
}

/// Halves as people write them: `2`, `1½`, `½`, `0`.
fn halves(halves: u32) -> String {
    match (halves / 2, halves % 2) {
        (0, 1) => "½".to_owned(),
        (whole, 1) => format!("{whole}½"),
        (whole, _) => whole.to_string(),
    }
}

fn table(league: &League, meetings: &[Meeting]) -> String {
    let rows = standings(league);
    let mut out = "<table class=\"list\"><thead><tr><th>Place</th><th>Name</th><th>Points</th><th>Games</th><th>S.-B.</th>".to_owned();
    for place in 1..=rows.len() {
        // Writing to a string cannot fail.
        let _infallible = write!(out, "<th>{place}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for (place, row) in (1..).zip(&rows) {
        let name = escape(&league.players()[row.player].name);
        let _infallible = write!(
            out,
            "<tr><td>{place}</td><td><a href=\"/games?player={name}\">{name}</a></td><td><strong>{}</strong></td><td>{}</td><td>{:.2}</td>",
            halves(row.halves),
            row.games,
            f64::from(row.quarters) / 4.0
        );
        for other in &rows {
            let _infallible = write!(out, "<td>{}</td>", cell(row, other, meetings));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table>\n");
    out
}

/// The results of one player against another, each a link to its game.
fn cell(row: &Row, other: &Row, meetings: &[Meeting]) -> String {
    if row.player == other.player {
        return "·".to_owned();
    }
    let mut out = String::new();
    for meeting in meetings {
        let side = match (meeting.pairing.white, meeting.pairing.black) {
            (white, black) if (white, black) == (row.player, other.player) => Color::White,
            (white, black) if (white, black) == (other.player, row.player) => Color::Black,
            _ => continue,
        };
        let (game, mark) = match &meeting.state {
            MeetingState::Done { game, winner } => (
                game,
                match winner {
                    Some(winner) if *winner == side => "1",
                    Some(_) => "0",
                    None => "½",
                },
            ),
            MeetingState::Running(game) => (game, "*"),
            MeetingState::Void => {
                out.push_str("– ");
                continue;
            }
            MeetingState::Open => continue,
        };
        // Writing to a string cannot fail.
        let _infallible = write!(out, "<a href=\"/{game}\">{mark}</a> ");
    }
    out
}

fn running(league: &League, meetings: &[Meeting]) -> String {
    let mut out = String::new();
    for meeting in meetings {
        let MeetingState::Running(game) = &meeting.state else {
            continue;
        };
        let [white, black] = [meeting.pairing.white, meeting.pairing.black]
            .map(|player| escape(&league.players()[player].name));
        // Writing to a string cannot fail.
        let _infallible = write!(
            out,
            "<li><a href=\"/{game}\">{white} against {black}</a></li>"
        );
    }
    if out.is_empty() {
        return out;
    }
    format!("<h2>Being played</h2>\n<ul class=\"plain\">{out}</ul>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_points_read_like_points() {
        let told: Vec<String> = (0..6).map(halves).collect();
        assert_eq!(told, ["0", "½", "1", "1½", "2", "2½"]);
    }
}
