//! A PyChess server for tests: stateful, as strict as the recordings, and as odd.
//!
//! Its oddities are the real server's: one queue of events per bot that all its streams share, a game's stream that is locked until the
//! dead one's next ping fails, a refusal written into the middle of a stream, 200 for everything, games lost by an illegal move,
//! ends without a result. Faults are added by the tests. Only the time of the pings is shorter, so that tests are.

pub mod game;
pub mod http;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use seneschal::rules::{Color, Outcome};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::game::{BotMove, Game, Offer};
use self::http::Received;

/// The bot's token.
pub const TOKEN: &str = "token-of-the-steward";
/// The bot's name.
pub const BOT: &str = "Steward";
/// The server's page for everything it does not have.
const NOT_FOUND: &str =
    "<!DOCTYPE html><html><head><title>Page not found!</title></head><body>404</body></html>";

/// What goes wrong with the next matching request.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// It is done, and the connection breaks before the answer.
    LoseAnswer,
    /// The connection breaks before it is done.
    LoseRequest,
    /// It is not done, and answered so.
    Refuse(u16),
    /// It is done, and answered so.
    DoneBut(u16),
    /// It is done and answered after a while.
    Late(Duration),
}

#[derive(Debug)]
struct Fault {
    path: String,
    times: usize,
    trouble: Trouble,
}

/// A line of items that all streams of one kind share.
#[derive(Debug, Default)]
struct Queue {
    items: Mutex<VecDeque<String>>,
    more: Notify,
}

impl Queue {
    fn put(&self, item: String) {
        self.items.lock().unwrap().push_back(item);
        self.more.notify_one();
    }

    fn put_ping_if_idle(&self) {
        if self.items.lock().unwrap().is_empty() {
            self.put("{\"type\":\"ping\"}\n".to_owned());
        }
    }

    async fn take(&self) -> String {
        loop {
            let more = self.more.notified();
            if let Some(item) = self.items.lock().unwrap().pop_front() {
                return item;
            }
            more.await;
        }
    }
}

/// A challenge that waits.
#[derive(Debug, Clone)]
pub struct Invite {
    /// What was asked.
    pub offer: Offer,
    /// The sentence's key that the challenger was shown.
    pub declined: Option<String>,
}

/// Everything the server knows.
#[derive(Debug, Default)]
pub struct State {
    /// Challenges by id.
    pub invites: HashMap<String, Invite>,
    /// Games by id.
    pub games: HashMap<String, Game>,
    /// Every request, oldest first.
    pub requests: Vec<(Instant, Received)>,
    /// What the bot said it plays.
    pub capabilities: Option<Vec<String>>,
    /// The account's title.
    pub title: String,
    events: Arc<Queue>,
    queues: HashMap<String, Arc<Queue>>,
    streaming: HashSet<String>,
    loaded: bool,
    faults: Vec<Fault>,
    silent: bool,
    revoked: bool,
    odd_header: bool,
    pages_hidden: bool,
    locked: HashSet<String>,
    minted: u32,
    event_streams: usize,
    most_event_streams: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Open,
    /// Streams are cut without a word.
    Cut(u64),
    /// The server has been told to stop: streams get their last words.
    Stopping(u64),
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    ping: Duration,
    mood: watch::Sender<Mood>,
    closed: watch::Sender<bool>,
}

/// The server.
#[derive(Debug)]
pub struct FakePychess {
    inner: Arc<Inner>,
    address: SocketAddr,
    _accepting: JoinSet<()>,
}

impl FakePychess {
    /// Starts on a port that the system chooses; pings come this often.
    pub async fn start(ping: Duration) -> FakePychess {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = State {
            title: "BOT".to_owned(),
            ..State::default()
        };
        let inner = Arc::new(Inner {
            state: Mutex::new(state),
            ping,
            mood: watch::Sender::new(Mood::Open),
            closed: watch::Sender::new(false),
        });
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, Arc::clone(&inner)));
        FakePychess {
            inner,
            address,
            _accepting: accepting,
        }
    }

    /// Base address for the client.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Looks at, or changes, what the server knows.
    pub fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.inner.lock())
    }

    /// Makes the next `times` requests whose path contains `path` go wrong.
    pub fn fault(&self, path: &str, times: usize, trouble: Trouble) {
        self.with(|state| {
            state.faults.push(Fault {
                path: path.to_owned(),
                times,
                trouble,
            })
        });
    }

    /// Cuts all streams without a word.
    pub fn cut_streams(&self) {
        self.inner.mood.send_modify(|mood| {
            *mood = match mood {
                Mood::Cut(n) => Mood::Cut(*n + 1),
                _ => Mood::Cut(0),
            }
        });
        self.inner.mood.send_replace(Mood::Open);
    }

    /// Keeps all connections and says nothing more, not even pings; or speaks again.
    pub fn silence(&self, silent: bool) {
        self.with(|state| state.silent = silent);
    }

    /// Takes the token back.
    pub fn revoke(&self) {
        self.with(|state| state.revoked = true);
    }

    /// From now on another header is wanted.
    pub fn change_header(&self) {
        self.with(|state| state.odd_header = true);
    }

    /// Whether connections are closed at once.
    pub fn unplug(&self, unplugged: bool) {
        self.inner.closed.send_replace(unplugged);
        if unplugged {
            self.cut_streams();
        }
    }

    /// Stops in good order and comes back after a while, with what the real server keeps.
    pub async fn restart(&self, away: Duration) {
        self.inner.mood.send_replace(Mood::Stopping(1));
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.inner.closed.send_replace(true);
        self.with(|state| {
            state.capabilities = None;
            state.loaded = true;
            state.events = Arc::default();
            state.queues.clear();
            state.streaming.clear();
            let State {
                games,
                queues,
                events,
                ..
            } = state;
            games.retain(|_, game| game.is_running());
            for game in games.values_mut() {
                game.forget();
                // The restored game is announced once now and once when the stream is opened; likewise its state.
                events.put(game.start_line());
                let queue = Arc::<Queue>::default();
                queue.put(game.full_line());
                queues.insert(game.id.clone(), queue);
            }
        });
        tokio::time::sleep(away).await;
        self.inner.mood.send_replace(Mood::Open);
        self.inner.closed.send_replace(false);
    }

    // ---- what humans do

    /// Challenges the bot.
    ///
    /// # Errors
    /// What the human is told instead.
    pub fn challenge(&self, offer: Offer) -> Result<String, String> {
        self.with(|state| {
            let offered = state.capabilities.as_ref().ok_or("the bot is away")?;
            if !offered.contains(&offer.list_name()) {
                return Err("This BOT does not support the selected variant.".to_owned());
            }
            let id = state.mint();
            state.events.put(offer.line(&id));
            state.invites.insert(
                id.clone(),
                Invite {
                    offer,
                    declined: None,
                },
            );
            Ok(id)
        })
    }

    /// Withdraws a challenge; the bot is not told.
    pub fn cancel(&self, id: &str) {
        self.with(|state| state.invites.remove(id));
    }

    /// Plays the human's move; the bot sees it.
    pub fn play(&self, id: &str, word: &str) {
        self.with(|state| {
            let game = state.games.get_mut(id).unwrap();
            assert_ne!(game.on_move(), BOT, "it is the bot's turn");
            let outcome = game.human_move(word).unwrap();
            let line = if outcome == BotMove::Ended {
                game.end_line()
            } else {
                game.state_line()
            };
            state.tell(id, line);
        });
    }

    /// Takes back; the bot is not told.
    pub fn take_back(&self, id: &str) {
        self.with(|state| {
            let game = state.games.get_mut(id).unwrap();
            let human = game.opponent_of(BOT).to_owned();
            game.take_back(&human);
        });
    }

    /// The human's resignation, flag, departure or abort.
    pub fn human_ends(&self, id: &str, status: i32) {
        self.with(|state| {
            let game = state.games.get_mut(id).unwrap();
            let winner = if game.white == BOT {
                Color::White
            } else {
                Color::Black
            };
            game.end(
                status,
                if status == 0 {
                    "*"
                } else {
                    Outcome::win(winner).result()
                },
            );
            let line = game.end_line();
            state.tell(id, line);
        });
    }

    /// The bot's flag falls.
    pub fn bot_flags(&self, id: &str) {
        self.with(|state| {
            let game = state.games.get_mut(id).unwrap();
            let winner = if game.white == BOT {
                Color::Black
            } else {
                Color::White
            };
            game.end(6, Outcome::win(winner).result());
            let line = game.end_line();
            state.tell(id, line);
        });
    }

    /// A rematch with other colours: it simply begins.
    pub fn rematch(&self, id: &str) -> String {
        self.rematch_with(id, false)
    }

    /// A rematch whose notice is lost.
    pub fn rematch_unheard(&self, id: &str) -> String {
        self.rematch_with(id, true)
    }

    fn rematch_with(&self, id: &str, unheard: bool) -> String {
        self.with(|state| {
            let old = &state.games[id];
            let human_white = old.white == BOT;
            let mut offer = old.offer.clone();
            offer.color = Some(if human_white {
                Color::White
            } else {
                Color::Black
            });
            offer.fen = old.initial_fen.clone();
            let id = state.mint();
            state.begin(&id, &offer);
            if unheard {
                state.events.items.lock().unwrap().clear();
            }
            id
        })
    }

    /// The human says something.
    pub fn talk(&self, id: &str, room: &str, text: &str) {
        self.with(|state| {
            let name = state.games[id].opponent_of(BOT).to_owned();
            let line = format!(
                r#"{{"type":"chatLine","username":"{name}","room":"{room}","text":"{text}"}}"#
            ) + "\n";
            state.tell(id, line);
        });
    }

    // ---- what tests ask

    /// A copy of a game.
    pub fn game(&self, id: &str) -> Option<Game> {
        self.with(|state| state.games.get(id).cloned())
    }

    /// Paths of all POST requests that contain `part`, oldest first.
    pub fn posts(&self, part: &str) -> Vec<String> {
        self.with(|state| {
            let posts = state
                .requests
                .iter()
                .filter(|(_, request)| request.method == "POST");
            posts
                .map(|(_, request)| request.path.clone())
                .filter(|path| path.contains(part))
                .collect()
        })
    }

    /// The most event streams that were open at a time.
    pub fn most_event_streams(&self) -> usize {
        self.with(|state| state.most_event_streams)
    }

    /// Waits until something holds, ten seconds at most.
    pub async fn until<T>(&self, what: &str, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(found) = self.with(&mut look) {
                return found;
            }
            assert!(Instant::now() < deadline, "waited in vain for: {what}");
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }
}

impl State {
    /// A stream of this game that died holds its lock until it is given free.
    pub fn lock_stream(&mut self, id: &str) {
        self.locked.insert(id.to_owned());
    }

    /// Gives it free.
    pub fn unlock_stream(&mut self, id: &str) {
        self.locked.remove(id);
    }

    /// Whether the game's stream is open.
    pub fn is_streaming(&self, id: &str) -> bool {
        self.streaming.contains(id)
    }

    /// Whether the public pages of games fail.
    pub fn hide_pages(&mut self, hidden: bool) {
        self.pages_hidden = hidden;
    }

    /// Nothing goes wrong any more.
    pub fn forget_faults(&mut self) {
        self.faults.clear();
    }

    fn mint(&mut self) -> String {
        self.minted += 1;
        format!("game{:04}", self.minted)
    }

    fn tell(&mut self, id: &str, line: String) {
        if let Some(queue) = self.queues.get(id) {
            queue.put(line);
        }
    }

    /// Makes a game and announces it; an impossible start is silently not made.
    fn begin(&mut self, id: &str, offer: &Offer) {
        let Some(game) = Game::new(id, offer, BOT) else {
            return;
        };
        self.queues.insert(id.to_owned(), Arc::default());
        self.events.put(game.start_line());
        self.games.insert(id.to_owned(), game);
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

async fn accept(listener: TcpListener, inner: Arc<Inner>) {
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
