//! Looking back: earlier positions of a game, and what the analyst thought of them.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::super::analysis::grade::{Mark, mark};
use super::super::analysis::{Opinion, Progress};
use super::super::api::App;
use super::super::form::Form;
use super::super::game::Game;
use super::super::limits::Limited;
use super::super::refusal::Refusal;
use super::board::{BoardView, board_svg};
use super::live::touched;
use super::play::acting;
use super::words::position_words;
use crate::rules::{Color, Move, MoveKind, Position};

fn answer(json: &Value) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (StatusCode::OK, headers, json.to_string()).into_response()
}

/// `GET /page/game/{id}/at/{ply}?side=`: the position after so many half-moves, seen from a side.
pub(super) async fn at(
    State(app): State<Arc<App>>,
    Path((id, ply)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let (game, _) = app.game(&id).await?;
    let ply = ply
        .parse::<usize>()
        .map_err(|_| Refusal::bad(format!("{} is no number of half-moves", ply.escape_debug())))?;
    let position = game.history().position_at(ply).ok_or_else(|| {
        let last = game.plies();
        Refusal::bad(format!("The game has {last} half-moves, not {ply}"))
    })?;
    let played = ply.checked_sub(1).and_then(|before| {
        let before = game.history().position_at(before)?;
        Some((before, *game.history().moves().get(ply - 1)?))
    });
    let view = BoardView {
        flipped: Form::query(query.as_deref()).get("side") == Some("black"),
        last_move: played
            .map(|(before, played)| touched(&before, played))
            .unwrap_or_default(),
        label: format!("{} board after {ply} half-moves", game.variant.name()),
        interactive: true,
        ..BoardView::default()
    };
    Ok(answer(&json!({
        "ply": ply,
        "svg": board_svg(&position, &view),
        "words": position_words(&position),
    })))
}

/// `GET /page/game/{id}/analysis`: how far it is, and what is known so far.
pub(super) async fn analysis(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let (game, _) = app.game(&id).await?;
    Ok(answer(&told(&app, &game)))
}

/// `POST /page/game/{id}/analysis`: asks for it.
pub(super) async fn analyse(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let caller = acting(&app, &headers)?;
    let (game, _) = app.game(&id).await?;
    if !game.status.is_over() {
        return Err(Refusal::bad(
            "The game is not over: nobody gets advice while it is played",
        ));
    }
    if game.plies() == 0 {
        return Err(Refusal::bad("No move was played"));
    }
    if game.analysis.is_none() {
        app.hall.charge(Limited::Analysis, &caller.account)?;
        app.desk.ask(&id)?;
    }
    Ok(answer(&told(&app, &game)))
}

fn told(app: &App, game: &Game) -> Value {
    if let Some(analysis) = &game.analysis {
        let opinions: Vec<Option<&Opinion>> = analysis.positions.iter().map(Some).collect();
        let mut json = opinions_json(game, &opinions);
        json["state"] = json!("done");
        json["by"] = json!(analysis.by);
        return json;
    }
    match app.desk.progress(&game.id) {
        Some(Progress::Running { opinions }) => {
            let opinions: Vec<Option<&Opinion>> = opinions.iter().map(Option::as_ref).collect();
            let mut json = opinions_json(game, &opinions);
            json["state"] = json!("running");
            json
        }
        Some(Progress::Waiting) => json!({ "state": "waiting" }),
        Some(Progress::Failed { reason }) => json!({ "state": "failed", "reason": reason }),
        None if app.desk.is_manned() && game.status.is_over() && game.plies() > 0 => {
            json!({ "state": "offered" })
        }
        None => json!({ "state": "none" }),
    }
}

/// Values, marks and lines by position, and how many marks each side has earned.
fn opinions_json(game: &Game, opinions: &[Option<&Opinion>]) -> Value {
    let history = game.history();
    let mut position = history.start().clone();
    let mut sums = [[0_u32; Mark::ALL.len()]; 2];
    let mut told = Vec::with_capacity(opinions.len());
    let mut last: Option<(Color, String, Option<&Opinion>)> = None;
    for (ply, opinion) in opinions.iter().enumerate() {
        let earned = match (&last, opinion) {
            (Some((mover, played, Some(before))), Some(after)) => {
                let earned = mark(*mover, played, before, after);
                if let Some(earned) = earned {
                    sums[mover.index()][earned as usize] += 1;
                }
                earned
            }
            _ => None,
        };
        told.push(opinion.map_or(Value::Null, |opinion| {
            let mut json = opinion_json(&position, opinion);
            if let Some(earned) = earned {
                json["mark"] = json!(earned.word());
                json["glyph"] = json!(earned.glyph());
            }
            json
        }));
        let Some(played) = history.moves().get(ply) else {
            break;
        };
        last = Some((position.turn(), position.uci(*played), *opinion));
        position.play_unchecked(*played);
    }
    let sums: Map<String, Value> = Color::ALL
        .into_iter()
        .map(|color| {
            let counts = sums[color.index()];
            let words = Mark::ALL
                .into_iter()
                .map(|mark| (mark.word().to_owned(), json!(counts[mark as usize])));
            (
                super::super::game::color_word(color).to_owned(),
                Value::Object(words.collect()),
            )
        })
        .collect();
    let done = opinions.iter().flatten().count();
    json!({ "positions": told, "done": done, "of": opinions.len(), "sums": sums })
}

fn opinion_json(position: &Position, opinion: &Opinion) -> Value {
    let mut position = position.clone();
    let (mut line, mut arrows) = (Vec::new(), Vec::new());
    for uci in &opinion.line {
        // A line that does not fit any more ends where it does not.
        let Ok(played) = position.parse_uci(uci) else {
            break;
        };
        line.push(position.san(played));
        arrows.push(arrow(&position, played));
        position.play_unchecked(played);
    }
    json!({
        "value": opinion.value.to_string(),
        "chances": (opinion.value.chances() * 1000.0).round() / 1000.0,
        "line": line,
        "arrows": arrows,
    })
}

/// From where to where a move goes; a drop comes from the pocket.
fn arrow(position: &Position, played: Move) -> Value {
    let files = position.files();
    let (from, to) = match position.kind(played) {
        MoveKind::Normal { from, to, .. } | MoveKind::EnPassant { from, to } => {
            (from.name(files), to.name(files))
        }
        MoveKind::Castle { king, .. } => {
            let target = position.castling_target(played);
            (king.name(files), target.name(files))
        }
        MoveKind::Drop { role, to } => (format!("{}@", role.upper_char()), to.name(files)),
    };
    json!({ "from": from, "to": to, "side": position.turn().char().to_string() })
}
