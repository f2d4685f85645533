//! Boards that move: one stream of server-sent events carries the changes of all games.
//!
//! A change is drawn once and handed to every watcher. A watcher who is too slow to
//! take every change gets the present state of everything instead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;

use crate::rules::{Color, Move, MoveKind, Position, Square};

use super::super::api::App;
use super::super::game::{Game, color_word};
use super::super::wire::show_clock;
use super::board::{BoardView, board_svg};
use super::escape::escape;

/// Changes that a slow watcher may be behind.
const BACKLOG: usize = 256;

/// Watchers at a time.
const MAX_WATCHERS: usize = 1_024;

/// Games shown at a time; the newest ones.
pub(super) const SHOWN_GAMES: usize = 64;

/// A finished game stays on the page for so long, ms.
const SHOWN_AFTER_END_MS: i64 = 20_000;

/// Pause after which a quiet stream sends a comment.
const PING: Duration = Duration::from_secs(15);

/// Changes of this much time are drawn together.
const GATHER: Duration = Duration::from_millis(10);

/// What watchers share.
#[derive(Debug)]
pub struct Page {
    changes: broadcast::Sender<Bytes>,
    boards: Mutex<BTreeMap<String, Board>>,
    /// The last frame of each game that those who only watch are told, by address and side.
    shared: Mutex<BTreeMap<(String, bool), (u64, Bytes)>>,
    watchers: AtomicUsize,
    sequence: AtomicU64,
}

impl Default for Page {
    fn default() -> Self {
        Page {
            changes: broadcast::channel(BACKLOG).0,
            boards: Mutex::new(BTreeMap::new()),
            shared: Mutex::new(BTreeMap::new()),
            watchers: AtomicUsize::new(0),
            sequence: AtomicU64::new(0),
        }
    }
}

/// A game as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct Board {
    /// Eight characters.
    pub id: String,
    /// Variant, clock and whether it is rated, in words.
    pub title: String,
    /// The picture.
    pub svg: String,
    /// White and Black.
    pub players: [BoardPlayer; 2],
    /// The side to move, `white` or `black`; nothing when the game is over.
    pub turn: Option<&'static str>,
    /// Whether the clock of the side to move is running.
    pub ticking: bool,
    /// How the game ended, in a sentence.
    pub end: Option<String>,
    /// Last move in words, for those who listen.
    pub last: String,
    #[serde(skip)]
    created_ms: i64,
    #[serde(skip)]
    ended_ms: Option<i64>,
}

/// A player as he is shown.
#[derive(Debug, Clone, Serialize)]
pub struct BoardPlayer {
    /// Name, escaped.
    pub name: String,
    /// `BOT` or nothing.
    pub title: String,
    /// Rating.
    pub rating: i64,
    /// Time left in ms; nothing without a clock.
    pub clock: Option<i64>,
}

impl Page {
    fn boards(&self) -> MutexGuard<'_, BTreeMap<String, Board>> {
        // The map is whole between any two statements here.
        self.boards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The boards that are shown, newest first.
    pub fn shown(&self) -> Vec<Board> {
        let mut all: Vec<Board> = self.boards().values().cloned().collect();
        all.sort_by(|a, b| b.created_ms.cmp(&a.created_ms).then(a.id.cmp(&b.id)));
        all.truncate(SHOWN_GAMES);
        all
    }

    /// The frame of this version of a game, if somebody has drawn it already.
    pub(super) fn shared_frame(&self, id: &str, version: u64, flip: bool) -> Option<Bytes> {
        let shared = self.shared();
        let (known, frame) = shared.get(&(id.to_owned(), flip))?;
        (*known == version).then(|| frame.clone())
    }

    /// Keeps the frame of this version of a game for others who only watch.
    pub(super) fn share_frame(&self, id: &str, version: u64, flip: bool, frame: Bytes) {
        let mut shared = self.shared();
        let place = shared.entry((id.to_owned(), flip)).or_default();
        if place.0 <= version {
            *place = (version, frame);
        }
    }

    fn shared(&self) -> MutexGuard<'_, BTreeMap<(String, bool), (u64, Bytes)>> {
        // The map is whole between any two statements here.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget_shared(&self, id: &str) {
        self.shared().retain(|(game, _), _| game != id);
    }

    fn frame(&self, event: &str, json: &str) -> Bytes {
        let id = self.sequence.fetch_add(1, Ordering::Relaxed);
        Bytes::from(format!("id: {id}\nevent: {event}\ndata: {json}\n\n"))
    }

    fn everything(&self) -> Bytes {
        self.frame("all", &to_json(&self.shown()))
    }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("boards are structs of texts and numbers")
}

/// The side view of a game, drawn.
pub(super) fn board_of(game: &Game, now_ms: i64) -> Board {
    let player = |color: Color| {
        let seat = game.seat(color);
        let clock = (game.clock.time() != crate::game::TimeControl::Unlimited)
            .then(|| game.clock.remaining(color, game.turn(), now_ms));
        BoardPlayer {
            name: escape(&seat.name),
            title: seat.title.clone().unwrap_or_default(),
            rating: seat.rating,
            clock,
        }
    };
    let last = last_move_words(game);
    let view = BoardView {
        last_move: last_squares(game),
        label: format!(
            "{}: {} against {}. {last}",
            game.variant.name(),
            game.seat(Color::White).name,
            game.seat(Color::Black).name
        ),
        ..BoardView::default()
    };
    Board {
        id: game.id.clone(),
        title: title_of(game),
        svg: board_svg(game.position(), &view),
        players: [player(Color::White), player(Color::Black)],
        turn: (!game.status.is_over()).then(|| color_word(game.turn())),
        ticking: game.clock.is_running(),
        end: game.reason.clone().filter(|_| game.status.is_over()),
        last,
        created_ms: game.created_ms,
        ended_ms: game.ended_ms,
    }
}

/// Variant, clock and whether it is rated, in words.
pub(super) fn title_of(game: &Game) -> String {
    let rated = if game.rated { "rated" } else { "casual" };
    let time = show_clock(game.clock.time());
    format!("{} · {time} · {rated}", game.variant.name())
}

/// The squares that the last move touched.
pub(super) fn last_squares(game: &Game) -> Vec<Square> {
    let history = game.history();
    let Some(last) = history.last_move() else {
        return Vec::new();
    };
    let Some(before) = history.position_at(history.moves().len() - 1) else {
        return Vec::new();
    };
    touched(&before, last)
}

/// The squares that a move touches.
pub(super) fn touched(before: &Position, played: Move) -> Vec<Square> {
    match before.kind(played) {
        MoveKind::Normal { from, to, .. } | MoveKind::EnPassant { from, to } => vec![from, to],
        MoveKind::Castle { king, rook } => vec![king, rook],
        MoveKind::Drop { to, .. } => vec![to],
    }
}

fn last_move_words(game: &Game) -> String {
    let history = game.history();
    let Some(last) = history.last_move() else {
        return String::new();
    };
    let before = history.position_at(history.moves().len() - 1);
    let Some(before) = before else {
        return String::new();
    };
    let dots = if before.turn() == Color::White {
        "."
    } else {
        "..."
    };
    format!("{}{dots} {}", before.ply() / 2 + 1, before.san(last))
}

/// Draws what changed and hands it to the watchers, until the house closes.
pub(in super::super) async fn run(app: Arc<App>, stop: CancellationToken) {
    let mut sweep = tokio::time::interval(Duration::from_secs(2));
    let mut changes = app.hall.changes.subscribe();
    draw(&app, app.hall.running());
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            changed = changes.recv() => {
                tokio::time::sleep(GATHER).await;
                match gather(changed, &mut changes) {
                    Some(ids) => draw(&app, ids),
                    // Too many to have kept up with: all of them may have changed.
                    None => draw(&app, app.hall.running()),
                }
            }
            _ = sweep.tick() => drop_old(&app),
        }
    }
}

/// All changes that have arrived; `None` if some were missed.
fn gather(
    first: Result<Arc<str>, RecvError>,
    changes: &mut broadcast::Receiver<Arc<str>>,
) -> Option<BTreeSet<String>> {
    let mut ids = BTreeSet::from([first.ok()?.to_string()]);
    loop {
        match changes.try_recv() {
            Ok(id) => {
                ids.insert(id.to_string());
            }
            Err(TryRecvError::Lagged(_)) => return None,
            Err(TryRecvError::Empty | TryRecvError::Closed) => return Some(ids),
        }
    }
}

fn draw(app: &App, ids: impl IntoIterator<Item = String>) {
    for id in ids {
        // The game is copied under the hall's lock and drawn outside of it.
        let Some((game, now_ms)) = app.hall.look(&id, |game, now_ms| (game.clone(), now_ms)) else {
            continue;
        };
        let board = board_of(&game, now_ms);
        let frame = app.page.frame("game", &to_json(&board));
        app.page.boards().insert(id, board);
        // Nobody watches: that is no error.
        drop(app.page.changes.send(frame));
    }
}

fn drop_old(app: &App) {
    let now_ms = app.hall.timeline.now_ms();
    let old: Vec<String> = app
        .page
        .boards()
        .values()
        .filter(|board| {
            board
                .ended_ms
                .is_some_and(|ended| now_ms - ended > SHOWN_AFTER_END_MS)
        })
        .map(|board| board.id.clone())
        .collect();
    for id in old {
        app.page.boards().remove(&id);
        app.page.forget_shared(&id);
        let frame = app.page.frame("gone", &to_json(&id));
        drop(app.page.changes.send(frame));
    }
}

/// `GET /live`.
pub(super) async fn events(State(app): State<Arc<App>>) -> Response {
    let Some(watcher) = Watcher::new(&app) else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many watchers").into_response();
    };
    let changes = app.page.changes.subscribe();
    let first = Some(app.page.everything());
    let state = (watcher, changes, first);
    let body = Body::from_stream(unfold(state, |(watcher, mut changes, first)| async move {
        let chunk = match first {
            Some(first) => first,
            None => match tokio::time::timeout(PING, changes.recv()).await {
                Err(_) => Bytes::from_static(b": still here\n\n"),
                Ok(Ok(frame)) => frame,
                Ok(Err(RecvError::Lagged(_))) => watcher.app.page.everything(),
                Ok(Err(RecvError::Closed)) => return None,
            },
        };
        Some((Ok::<_, std::io::Error>(chunk), (watcher, changes, None)))
    }));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, body).into_response()
}

/// Counts somebody who watches.
pub(super) struct Watcher {
    app: Arc<App>,
}

impl Watcher {
    /// One more, if there is room.
    pub(super) fn new(app: &Arc<App>) -> Option<Watcher> {
        let before = app.page.watchers.fetch_add(1, Ordering::Relaxed);
        let watcher = Watcher {
            app: Arc::clone(app),
        };
        // If not, dropping it gives the place back.
        (before < MAX_WATCHERS).then_some(watcher)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.app.page.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}
