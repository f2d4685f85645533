//! Connections and routes of the fake: what comes in, and what is answered.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use seneschal::rules::{Color, Outcome};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::game::{BotMove, Game};
use super::http::{self, Received};
use super::{BOT, Inner, Mood, Queue, State, TOKEN, Trouble};

/// The server's page for everything it does not have.
const NOT_FOUND: &str =
    "<!DOCTYPE html><html><head><title>Page not found!</title></head><body>404</body></html>";

/// Takes connections until it is dropped.
pub(super) async fn accept(listener: TcpListener, inner: Arc<Inner>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        if *inner.closed.borrow() {
            continue;
        }
        let inner = Arc::clone(&inner);
        connections.spawn(async move {
            // A broken connection is the client's right.
            drop(serve(stream, inner).await);
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut stream: TcpStream, inner: Arc<Inner>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut closed = inner.closed.subscribe();
    loop {
        let request = tokio::select! {
            request = http::read_request(&mut stream) => request?,
            _ = closed.wait_for(|closed| *closed) => return Ok(()),
        };
        let Some(request) = request else {
            return Ok(());
        };
        let trouble = {
            let mut state = inner.lock();
            state.requests.push((Instant::now(), request.clone()));
            let found = state
                .faults
                .iter_mut()
                .find(|fault| fault.times > 0 && request.path.contains(&fault.path));
            found.map(|fault| {
                fault.times -= 1;
                fault.trouble.clone()
            })
        };
        match trouble {
            Some(Trouble::LoseRequest) => return Ok(()),
            Some(Trouble::Refuse(status)) => {
                http::answer(&mut stream, status, "text/plain; charset=utf-8", "trouble").await?;
                continue;
            }
            Some(Trouble::Late(delay)) => tokio::time::sleep(delay).await,
            Some(Trouble::LoseAnswer | Trouble::DoneBut(_)) | None => {}
        }
        match route(&inner, &request) {
            Route::Events(queue) => return stream_lines(stream, inner, queue, None).await,
            Route::Game(id, queue) => return stream_lines(stream, inner, queue, Some(id)).await,
            Route::Locked => return refuse_within_stream(stream).await,
            Route::Answer(status, kind, body) => match trouble {
                Some(Trouble::LoseAnswer) => return Ok(()),
                Some(Trouble::DoneBut(status)) => {
                    http::answer(&mut stream, status, "text/plain", "trouble").await?
                }
                _ => http::answer(&mut stream, status, kind, &body).await?,
            },
        }
    }
}

enum Route {
    Answer(u16, &'static str, String),
    Events(Arc<Queue>),
    Game(String, Arc<Queue>),
    /// The game has a stream already.
    Locked,
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

fn ok() -> Route {
    Route::Answer(200, JSON, "{\"ok\":true}".to_owned())
}

fn not_found() -> Route {
    Route::Answer(404, HTML, NOT_FOUND.to_owned())
}

fn route(inner: &Inner, request: &Received) -> Route {
    let mut state = inner.lock();
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    // Public pages need no token.
    match (request.method.as_str(), segments.as_slice()) {
        ("GET", ["api", "games", variant]) => {
            let shown = |game: &&Game| {
                game.is_running() && !game.moves.is_empty() && game.offer.list_name() == *variant
            };
            let entries: Vec<String> = state
                .games
                .values()
                .filter(shown)
                .map(Game::entry)
                .collect();
            return Route::Answer(200, JSON, format!("[{}]", entries.join(",")));
        }
        ("GET", [_]) if state.pages_hidden => {
            return Route::Answer(500, TEXT, "500 Internal Server Error".to_owned());
        }
        ("GET", [id]) => {
            return match state.games.get(*id) {
                Some(game) if state.odd_ends && !game.is_running() => {
                    let mut odd = game.clone();
                    odd.status = 11;
                    odd.result = "*".to_owned();
                    Route::Answer(200, HTML, odd.page())
                }
                Some(game) => Route::Answer(200, HTML, game.page()),
                None => not_found(),
            };
        }
        _ => {}
    }
    if request.token() != Some(TOKEN) || state.revoked {
        return Route::Answer(403, TEXT, "403: Forbidden".to_owned());
    }
    match (request.method.as_str(), segments.as_slice()) {
        ("GET", ["api", "account"]) => {
            let body = format!(
                r#"{{"id":"{BOT}","username":"{BOT}","title":"{}"}}"#,
                state.title
            );
            Route::Answer(200, JSON, body)
        }
        ("GET", ["api", "account", "playing"]) => {
            Route::Answer(200, JSON, "{\"nowPlaying\":[]}".to_owned())
        }
        ("GET", ["api", "stream", "event"]) => event_stream(&mut state, request),
        ("POST", ["api", "challenge", id, answer]) => {
            answer_challenge(&mut state, id, answer, request)
        }
        ("GET", ["api", "bot", "game", "stream", id]) => game_stream(&mut state, id),
        ("POST", ["api", "bot", "game", id, rest @ ..]) => {
            game_command(&mut state, id, rest, request)
        }
        _ => not_found(),
    }
}

fn event_stream(state: &mut State, request: &Received) -> Route {
    let bad = |text: &str| Route::Answer(400, TEXT, text.to_owned());
    let Some(header) = request
        .headers
        .get("x-pychess-bot-capabilities")
        .filter(|_| !state.odd_header)
    else {
        return bad("Missing required X-PyChess-Bot-Capabilities header.");
    };
    if header.len() > 6 * 1024 {
        return bad("BOT capability header is too large.");
    }
    let Ok(value) = serde_json::from_str::<serde_json::Value>(header) else {
        return bad("Invalid BOT capability header.");
    };
    if value["version"] != 1 {
        return bad("Unsupported BOT capability version.");
    }
    let Some(names) = value["variants"].as_array() else {
        return bad("BOT capabilities must contain a variant list.");
    };
    let names: Vec<String> = names
        .iter()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    if names.is_empty() {
        return bad("BOT does not advertise any PyChess-supported variants.");
    }
    state.capabilities = Some(names);
    if state.loaded {
        for (id, game) in &state.games {
            if game.status == -1 && !state.streaming.contains(id) {
                state.events.put(game.start_line());
            }
        }
    }
    state.loaded = true;
    Route::Events(Arc::clone(&state.events))
}

fn answer_challenge(state: &mut State, id: &str, answer: &str, request: &Received) -> Route {
    let Some(invite) = state.invites.get_mut(id) else {
        return not_found();
    };
    match answer {
        "accept" => {
            let offer = invite.offer.clone();
            state.invites.remove(id);
            state.begin(id, &offer);
            ok()
        }
        "decline" => {
            invite.declined = Some(
                request
                    .form
                    .get("reason")
                    .cloned()
                    .unwrap_or_else(|| "generic".to_owned()),
            );
            ok()
        }
        _ => not_found(),
    }
}

fn game_stream(state: &mut State, id: &str) -> Route {
    if !state.games.contains_key(id) {
        return not_found();
    }
    let Some(queue) = state.queues.get(id).filter(|_| state.loaded).cloned() else {
        // The server has answered 200 before it notices.
        return Route::Locked;
    };
    if state.locked.contains(id) || !state.streaming.insert(id.to_owned()) {
        return Route::Locked;
    }
    queue.put(state.games[id].full_line());
    Route::Game(id.to_owned(), queue)
}

fn game_command(state: &mut State, id: &str, rest: &[&str], request: &Received) -> Route {
    let trouble = || Route::Answer(500, TEXT, "500 Internal Server Error".to_owned());
    let Some(game) = state.games.get_mut(id) else {
        return not_found();
    };
    match rest {
        ["move", word] => {
            let line = match game.bot_move(BOT, word) {
                BotMove::Ignored => return ok(),
                BotMove::Played => game.state_line(),
                BotMove::Ended => game.end_line(),
            };
            state.tell(id, line);
            ok()
        }
        ["abort"] => {
            if !state.queues.contains_key(id) {
                return trouble();
            }
            game.end(0, "*");
            let line = game.end_line();
            state.tell(id, line);
            ok()
        }
        ["resign"] => {
            let winner = if game.white == BOT {
                Color::Black
            } else {
                Color::White
            };
            game.end(2, Outcome::win(winner).result());
            ok()
        }
        ["chat"] => match (request.form.get("room"), request.form.get("text")) {
            (Some(room), Some(text)) => {
                game.talk.push((room.clone(), text.clone()));
                ok()
            }
            _ => trouble(),
        },
        _ => not_found(),
    }
}

/// The answer to a second stream of one game: another answer's head where a chunk should be.
async fn refuse_within_stream(mut stream: TcpStream) -> io::Result<()> {
    http::begin_stream(&mut stream).await?;
    stream.write_all(b"HTTP/1.1 409 Conflict\r\nContent-Type: text/plain\r\nContent-Length: 26\r\n\r\n1a\r\ngame stream already active\r\n0\r\n\r\n").await?;
    // The connection is left open, as the real server leaves it.
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok(())
}

async fn stream_lines(
    mut stream: TcpStream,
    inner: Arc<Inner>,
    queue: Arc<Queue>,
    game: Option<String>,
) -> io::Result<()> {
    if game.is_none() {
        let mut state = inner.lock();
        state.event_streams += 1;
        state.most_event_streams = state.most_event_streams.max(state.event_streams);
    }
    let result = lines(&mut stream, &inner, &queue, game.is_none()).await;
    let mut state = inner.lock();
    match game {
        None => state.event_streams -= 1,
        Some(id) => drop(state.streaming.remove(&id)),
    }
    result
}

async fn lines(
    stream: &mut TcpStream,
    inner: &Inner,
    queue: &Queue,
    events: bool,
) -> io::Result<()> {
    let mut mood = inner.mood.subscribe();
    http::begin_stream(stream).await?;
    let mut ping = tokio::time::interval(inner.ping);
    loop {
        let item = tokio::select! {
            item = queue.take() => item,
            _ = ping.tick() => {
                if !inner.lock().silent {
                    queue.put_ping_if_idle();
                }
                continue;
            }
            changed = mood.changed() => {
                if changed.is_ok() && matches!(*mood.borrow(), Mood::Stopping(_)) {
                    if events {
                        http::chunk(stream, "{\"type\": \"terminated\"}").await?;
                    }
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n").await?;
                }
                return Ok(());
            }
        };
        while inner.lock().silent {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // A dead peer is noticed only now, and the item is lost with it.
        if http::peer_closed(stream) {
            return Ok(());
        }
        http::chunk(stream, &item).await?;
    }
}
