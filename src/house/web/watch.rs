//! What a page on one address is told: waiting, the game, its end; as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::super::api::App;
use super::super::form::Form;
use super::super::game::{ChatLine, Game, Room, color_word};
use super::super::hall::{Ahead, PageGuard, PageView, Viewer};
use super::super::refusal::Refusal;
use super::board::{BoardView, board_svg};
use super::live::{last_squares, title_of};
use super::session::viewer;
use super::words::position_words;
use crate::rules::{Color, MoveKind, Position};

/// Pause after which a quiet stream sends a comment. Shorter than what an offer survives unseen.
const PING: Duration = Duration::from_secs(8);

/// Lines of chat that are shown.
const SHOWN_CHAT: usize = 40;

/// `GET /page/game/{id}/stream`.
pub(super) async fn stream(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let Some(counted) = super::live::Watcher::new(&app) else {
        let text = (StatusCode::SERVICE_UNAVAILABLE, "too many watchers");
        return Ok(text.into_response());
    };
    let viewer = viewer(&app, &headers);
    let page = OpenPage {
        changes: app.hall.changes.subscribe(),
        flip: Form::query(query.as_deref()).is_true("flip"),
        past: None,
        guard: None,
        fresh: true,
        last: None,
        _counted: counted,
        app,
        id,
        viewer,
    };
    let page = page.look_back().await?;
    let body = Body::from_stream(unfold(page, |mut page| async move {
        let frame = page.next().await?;
        Some((Ok::<_, std::io::Error>(frame), page))
    }));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Ok((headers, body).into_response())
}

struct OpenPage {
    app: Arc<App>,
    id: String,
    viewer: Viewer,
    /// Whether the viewer wants the board the other way round.
    flip: bool,
    changes: broadcast::Receiver<Arc<str>>,
    /// A game that was over long ago: told once, and that is all.
    past: Option<Game>,
    /// Presence at this address.
    guard: Option<(&'static str, PageGuard)>,
    /// Nothing has been told yet.
    fresh: bool,
    /// Kind of the last frame.
    last: Option<&'static str>,
    _counted: super::live::Watcher,
}

fn frame(event: &str, json: &Value) -> Bytes {
    Bytes::from(format!("event: {event}\ndata: {json}\n\n"))
}

impl OpenPage {
    /// Fetches the game from the archive if it is not at hand.
    async fn look_back(mut self) -> Result<OpenPage, Refusal> {
        if self.app.hall.ahead(&self.id, &self.viewer) != Ahead::Nothing {
            return Ok(self);
        }
        let record = self.app.archive.game(&self.id).await.map_err(|error| {
            tracing::error!(%error, "a game cannot be read");
            Refusal::Unavailable("The archive does not answer")
        })?;
        let now_ms = self.app.hall.timeline.now_ms();
        let game = record.and_then(|record| Game::restore(record, now_ms).ok());
        self.past = Some(game.ok_or(Refusal::NOT_FOUND)?);
        Ok(self)
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(game) = self.past.take() {
            self.last = Some("past");
            return Some(frame("state", &self.past_state(game)));
        }
        if self.last == Some("past") {
            // The page needs nothing more; an open stream keeps the browser from asking again.
            tokio::time::sleep(PING).await;
            return Some(Bytes::from_static(b": over\n\n"));
        }
        if !self.fresh && !self.changed().await {
            self.app.hall.still_waiting(&self.id, &self.viewer);
            return Some(Bytes::from_static(b": still here\n\n"));
        }
        let told = self.tell();
        self.fresh = false;
        told
    }

    /// Waits for a change; `false` if it is time for a sign of life instead.
    async fn changed(&mut self) -> bool {
        let id = &self.id;
        let changes = &mut self.changes;
        let wait = async {
            loop {
                match changes.recv().await {
                    Ok(changed) if *changed == **id => return true,
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return true,
                    Err(RecvError::Closed) => std::future::pending::<()>().await,
                }
            }
        };
        tokio::time::timeout(PING, wait).await.unwrap_or(false)
    }

    fn tell(&mut self) -> Option<Bytes> {
        let ahead = self.app.hall.ahead(&self.id, &self.viewer);
        let kind = match &ahead {
            Ahead::Game => "game",
            _ => "waiting",
        };
        if self.guard.as_ref().is_none_or(|(of, _)| *of != kind) {
            // Waiting becomes playing: presence is counted anew.
            self.guard = None;
            let opened = self.app.hall.open_page(&self.id, &self.viewer);
            self.guard = opened.map(|guard| (kind, guard));
        }
        match ahead {
            Ahead::Game => self.tell_game(),
            Ahead::Waiting(waiting) => Some(frame("waiting", &json!(waiting))),
            Ahead::Moved(next) => Some(frame("moved", &json!({ "url": format!("/{next}") }))),
            Ahead::Nothing => {
                // After a restart of the house, or when an offer is withdrawn.
                self.last = Some("past");
                Some(frame("gone", &json!({})))
            }
        }
    }

    fn tell_game(&self) -> Option<Bytes> {
        let (hall, page, flip) = (&self.app.hall, &self.app.page, self.flip);
        // Those who only watch are told the same; the first of them draws it for all. Who has just
        // come is told for himself, with the clocks of this moment.
        if !self.fresh
            && let Some(version) = hall.watched_version(&self.id, &self.viewer)
            && let Some(known) = page.shared_frame(&self.id, version, flip)
        {
            return Some(known);
        }
        let view = hall.page_view(&self.id, &self.viewer)?;
        let drawn = frame("state", &state_json(&view, flip));
        // A game that is over changes no more, and nobody would take its frame away again.
        if view.color.is_none() && !view.game.status.is_over() {
            page.share_frame(&self.id, view.version, flip, drawn.clone());
        }
        Some(drawn)
    }

    fn past_state(&self, game: Game) -> Value {
        let account = self.viewer.account.as_deref();
        let view = PageView {
            color: account.and_then(|account| game.color_of(account)),
            now_ms: game.ended_ms.unwrap_or(game.last_move_ms),
            here: [false; 2],
            may_claim: false,
            rematch: None,
            next: None,
            version: 0,
            game,
        };
        state_json(&view, self.flip)
    }
}

/// Everything a page shows of a game.
pub(super) fn state_json(view: &PageView, flip: bool) -> Value {
    let game = &view.game;
    let over = game.status.is_over();
    let turn = game.turn();
    let to_move = !over && view.color == Some(turn);
    let flipped = (view.color == Some(Color::Black) && !game.is_shared()) != flip;
    let picture = BoardView {
        flipped,
        last_move: last_squares(game),
        label: format!("{} board", game.variant.name()),
        interactive: true,
        ..BoardView::default()
    };
    let players = Color::ALL.map(|color| {
        let seat = game.seat(color);
        let timed = game.clock.time() != crate::game::TimeControl::Unlimited;
        json!({
            "name": seat.name,
            "title": seat.title,
            "rating": seat.rating,
            "diff": seat.rating_diff,
            "clock": timed.then(|| game.clock.remaining(color, turn, view.now_ms)),
            "here": view.here[color.index()],
        })
    });
    json!({
        "id": game.id,
        "variant": game.variant.key(),
        "title": title_of(game),
        "svg": board_svg(game.position(), &picture),
        "color": view.color.map(color_word),
        "shared": game.is_shared(),
        "turn": color_word(turn),
        "first": game.history().start().ply(),
        "moves": game.sans,
        "legal": if to_move { legal_moves(game.position()) } else { Value::Array(Vec::new()) },
        "check": game.position().in_check(),
        "players": players,
        "ticking": game.clock.is_running(),
        "draw": game.draw_offer.map(color_word),
        "takeback": game.takeback_offer.map(color_word),
        "can": abilities(view),
        "over": over,
        "end": game.reason.as_deref().filter(|_| over),
        "winner": game.winner.map(color_word),
        "analysed": game.analysis.is_some(),
        "words": position_words(game.position()),
        "chat": chat_json(view),
        "rematch": view.rematch,
        "next": view.next,
    })
}

/// Which buttons make sense.
fn abilities(view: &PageView) -> Value {
    let game = &view.game;
    let Some(color) = view.color else {
        return json!({});
    };
    let playing = !game.status.is_over();
    let takebacks = game.seats.iter().all(|seat| seat.takebacks);
    json!({
        "abort": game.is_abortable(),
        "resign": playing && !game.is_abortable(),
        "draw": playing && game.plies() >= 2 && game.draw_offer != Some(color),
        "takeback": playing && takebacks && game.plies() > 0 && game.takeback_offer.is_none(),
        "claim": playing && view.may_claim,
        "rematch": !playing,
    })
}

/// The lines that a viewer may read: players their own room, others the watchers'; after the end both.
fn chat_json(view: &PageView) -> Vec<Value> {
    let over = view.game.status.is_over();
    let room = if view.color.is_some() {
        Room::Player
    } else {
        Room::Spectator
    };
    let heard =
        |line: &&ChatLine| over || line.room == room || line.username == super::super::game::SYSTEM;
    let lines: Vec<&ChatLine> = view.game.chat.iter().filter(heard).collect();
    lines[lines.len().saturating_sub(SHOWN_CHAT)..]
        .iter()
        .map(|line| {
            let system = line.username == super::super::game::SYSTEM;
            let user = if system { "" } else { line.username.as_str() };
            json!({ "user": user, "text": line.text })
        })
        .collect()
}

/// The legal moves with the squares that a hand touches: of castling both ways to do it.
fn legal_moves(position: &Position) -> Value {
    let files = position.files();
    let list = position.legal_moves();
    let moves = list.iter().map(|played| {
        let name = |square: crate::rules::Square| square.name(files);
        let uci = position.uci(*played);
        let san = position.san(*played);
        match position.kind(*played) {
            MoveKind::Normal {
                from,
                to,
                promotion,
            } => json!({
                "u": uci, "s": san, "f": name(from), "t": [name(to)],
                "p": promotion.map(|role| role.char().to_string()),
            }),
            MoveKind::EnPassant { from, to } => {
                json!({ "u": uci, "s": san, "f": name(from), "t": [name(to)] })
            }
            MoveKind::Castle { king, rook } => {
                let target = position.castling_target(*played);
                let far = king.file(files).abs_diff(target.file(files)) >= 2;
                let mut ways = vec![name(rook)];
                if far {
                    ways.push(name(target));
                }
                json!({ "u": uci, "s": san, "f": name(king), "t": ways })
            }
            MoveKind::Drop { role, to } => json!({
                "u": uci, "s": san, "f": format!("{}@", role.upper_char()), "t": [name(to)],
            }),
        }
    });
    Value::Array(moves.collect())
}
