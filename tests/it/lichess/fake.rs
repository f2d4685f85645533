//! A scriptable server with the Lichess interface, over raw TCP so that it can break every rule of HTTP.
//!
//! It keeps one account, its games and its challenges, and does what Lichess does. A test may put [`Answer`]s in front of
//! that, by method and part of the path, and send anything down an open stream.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use seneschal::rules::{CastlingMode, Position, Variant};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The token that the fake knows.
pub const TOKEN: &str = "canary_5f0c_token";
/// Our user.
pub const US: &str = "bot_us";

/// What the fake does with one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// What Lichess does.
    Normal,
    /// This, and nothing else happens.
    Status(u16, String),
    /// The same with headers.
    WithHeaders(u16, Vec<(&'static str, String)>, String),
    /// What Lichess does, but the answer is another one.
    Done(Box<Answer>),
    /// After a while.
    After(Duration, Box<Answer>),
    /// No answer; the connection stays open.
    Hang,
    /// The connection is reset.
    Reset,
    /// Part of a head, and then nothing more.
    HalfHead,
}

impl Answer {
    pub fn status(status: u16, body: &str) -> Answer {
        Answer::Status(status, body.to_owned())
    }

    pub fn done(self) -> Answer {
        Answer::Done(Box::new(self))
    }

    pub fn after(self, delay: Duration) -> Answer {
        Answer::After(delay, Box::new(self))
    }
}

/// What is sent down a stream.
#[derive(Clone, Debug)]
pub enum Send {
    /// A line with its end.
    Line(String),
    /// Bytes as one chunk.
    Bytes(Vec<u8>),
    /// The orderly end.
    End,
    /// The connection is closed without the last chunk.
    Cut,
    /// The connection is reset.
    Reset,
    /// No keep-alives from now on.
    Silence,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Logged {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// A game of the account.
#[derive(Clone, Debug)]
pub struct FakeGame {
    pub variant: &'static str,
    pub we_are_white: bool,
    pub opponent: Value,
    pub initial_fen: String,
    pub position: Position,
    pub moves: Vec<String>,
    pub clock: Option<(u64, u64)>,
    pub wtime: i64,
    pub btime: i64,
    pub status: String,
    pub winner: Option<&'static str>,
    pub listed: bool,
    /// The opponent answers by itself.
    pub replies: bool,
}

impl FakeGame {
    pub fn new(variant: Variant, we_are_white: bool) -> FakeGame {
        FakeGame {
            variant: variant
                .lichess_key(CastlingMode::Standard)
                .unwrap_or(variant.uci_name()),
            we_are_white,
            opponent: json!({"id": "user_a", "name": "User_A", "rating": 1500}),
            initial_fen: "startpos".to_owned(),
            position: Position::start(variant),
            moves: Vec::new(),
            clock: Some((180_000, 2000)),
            wtime: 180_000,
            btime: 180_000,
            status: "started".to_owned(),
            winner: None,
            listed: true,
            replies: true,
        }
    }

    pub fn our_turn(&self) -> bool {
        self.moves.len().is_multiple_of(2) == self.we_are_white
    }

    pub fn is_over(&self) -> bool {
        !matches!(self.status.as_str(), "created" | "started")
    }

    /// Plays a move by whoever is to move, and ends the game if that ends it.
    pub fn play(&mut self, uci: &str) -> Result<(), String> {
        let m = self
            .position
            .parse_uci(uci)
            .map_err(|_| format!("Invalid UCI: {uci}"))?;
        let mover = if self.moves.len().is_multiple_of(2) {
            "white"
        } else {
            "black"
        };
        self.position
            .play(m)
            .map_err(|_| format!("Illegal: {uci}"))?;
        self.moves.push(uci.to_owned());
        if !self.position.has_legal_move() {
            let mate = self.position.in_check();
            self.status = if mate { "mate" } else { "stalemate" }.to_owned();
            self.winner = mate.then_some(mover);
        } else if self.moves.len() >= 600 {
            self.status = "draw".to_owned();
        }
        Ok(())
    }

    pub fn take_back(&mut self, plies: usize) {
        let keep = self.moves.len() - plies;
        let moves: Vec<String> = self.moves.drain(..).take(keep).collect();
        self.position = Position::start(self.position.variant());
        for uci in moves {
            self.play(&uci).unwrap();
        }
    }

    /// A legal move of the side to move, spread over the choices by the ply.
    pub fn some_move(&self) -> String {
        let moves = self.position.legal_moves();
        let m = moves[(self.moves.len() * 7 + 3) % moves.len()];
        self.position.uci_with(m, CastlingMode::Chess960)
    }

    pub fn state(&self) -> Value {
        let mut state = json!({
            "type": "gameState", "moves": self.moves.join(" "), "status": self.status,
            "wtime": self.wtime, "btime": self.btime,
            "winc": self.clock.map_or(0, |c| c.1), "binc": self.clock.map_or(0, |c| c.1),
        });
        if let Some(winner) = self.winner {
            state["winner"] = json!(winner);
        }
        state
    }

    pub fn full(&self, id: &str) -> Value {
        let us = json!({"id": US, "name": "Bot_Us", "title": "BOT", "rating": 2000});
        let (white, black) = if self.we_are_white {
            (us, self.opponent.clone())
        } else {
            (self.opponent.clone(), us)
        };
        json!({
            "id": id, "variant": {"key": self.variant, "name": "x", "short": "x"}, "speed": "blitz", "rated": false,
            "clock": self.clock.map(|(initial, increment)| json!({"initial": initial, "increment": increment})),
            "createdAt": 1, "white": white, "black": black, "initialFen": self.initial_fen,
            "type": "gameFull", "state": self.state(),
        })
    }

    pub fn notice(&self, id: &str) -> Value {
        json!({
            "fullId": format!("{id}abcd"), "gameId": id, "id": id, "color": if self.we_are_white { "white" } else { "black" },
            "source": "friend", "status": {"id": 20, "name": self.status}, "variant": {"key": self.variant, "name": "x"},
            "isMyTurn": self.our_turn(), "secondsLeft": 180, "opponent": {"id": "user_a", "username": "User_A", "rating": 1500},
            "compat": {"bot": true, "board": true}, "winner": self.winner,
        })
    }
}

#[derive(Debug, Default)]
pub struct State {
    pub log: Vec<Logged>,
    pub games: BTreeMap<String, FakeGame>,
    pub incoming: Vec<Value>,
    pub outgoing: Vec<Value>,
    pub title: Option<&'static str>,
    pub scopes: &'static str,
    /// Accepted moves, by game and ply.
    pub accepted: Vec<(String, usize, String)>,
    scripts: Vec<(String, String, VecDeque<Answer>)>,
    events: Option<mpsc::Sender<Send>>,
    streams: BTreeMap<String, mpsc::Sender<Send>>,
    /// Event streams open at the same time, at most.
    pub most_event_streams: usize,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    changed: Notify,
    keep_alive: Duration,
}

/// The server; it ends when it is dropped.
#[derive(Debug)]
pub struct Fake {
    pub url: String,
    inner: Arc<Inner>,
    _tasks: JoinSet<()>,
}

impl Fake {
    pub async fn start() -> Fake {
        Fake::with_keep_alive(Duration::from_millis(200)).await
    }

    pub async fn with_keep_alive(keep_alive: Duration) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = State {
            title: Some("BOT"),
            scopes: "challenge:read,bot:play",
            ..State::default()
        };
        let inner = Arc::new(Inner {
            state: Mutex::new(state),
            changed: Notify::new(),
            keep_alive,
        });
        let mut tasks = JoinSet::new();
        let shared = Arc::clone(&inner);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let (stream, _) = accepted.unwrap();
                        stream.set_nodelay(true).unwrap();
                        let inner = Arc::clone(&shared);
                        connections.spawn(async move { serve(&inner, stream).await });
                    }
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Fake {
            url,
            inner,
            _tasks: tasks,
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap()
    }

    /// Puts answers in front of the normal behaviour, for requests whose path contains `part`.
    pub fn script(&self, method: &str, part: &str, answers: impl IntoIterator<Item = Answer>) {
        let answers = answers.into_iter().collect();
        self.state()
            .scripts
            .push((method.to_owned(), part.to_owned(), answers));
    }

    /// Starts a game and tells the event stream.
    pub fn start_game(&self, id: &str, game: FakeGame) {
        let line = json!({"type": "gameStart", "game": game.notice(id)});
        self.state().games.insert(id.to_owned(), game);
        self.event(&line);
    }

    /// Sends an event, if an event stream is open.
    pub fn event(&self, line: &Value) {
        self.send_event(Send::Line(line.to_string()));
    }

    pub fn send_event(&self, send: Send) {
        let to = self.state().events.clone();
        if let Some(to) = to {
            drop(to.try_send(send));
        }
    }

    /// Sends something down a game's stream; whether one was open.
    pub fn send_game(&self, id: &str, send: Send) -> bool {
        let to = self.state().streams.get(id).cloned();
        to.is_some_and(|to| to.try_send(send).is_ok())
    }

    /// Sends the present state down a game's stream.
    pub fn push_state(&self, id: &str) {
        let line = self.state().games[id].state().to_string();
        self.send_game(id, Send::Line(line));
    }

    /// Lets the opponent move.
    pub fn opponent_moves(&self, id: &str, uci: &str) {
        self.state().games.get_mut(id).unwrap().play(uci).unwrap();
        self.push_state(id);
    }

    /// Requests so far, by method and part of the path.
    pub fn requests(&self, method: &str, part: &str) -> Vec<Logged> {
        let state = self.state();
        state
            .log
            .iter()
            .filter(|r| r.method == method && r.path.contains(part))
            .cloned()
            .collect()
    }

    pub fn count(&self, method: &str, part: &str) -> usize {
        self.requests(method, part).len()
    }

    /// Waits until the condition holds.
    pub async fn until(&self, what: &str, condition: impl Fn(&State) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let changed = self.inner.changed.notified();
            if condition(&self.state()) {
                return;
            }
            let step = (Instant::now() + Duration::from_millis(20)).min(deadline);
            drop(tokio::time::timeout_at(step, changed).await);
            assert!(
                Instant::now() < deadline,
                "not within 20 s: {what}; requests: {:#?}",
                self.state().log
            );
        }
    }

    pub async fn until_count(&self, method: &str, part: &str, count: usize) {
        let matches = |state: &State| {
            let hits = state
                .log
                .iter()
                .filter(|r| r.method == method && r.path.contains(part));
            hits.count() >= count
        };
        self.until(&format!("{count} x {method} {part}"), matches)
            .await;
    }
}

enum Reply {
    Whole(u16, Vec<(&'static str, String)>, String),
    Stream(mpsc::Receiver<Send>),
}

fn ok() -> Reply {
    json_reply(200, &json!({"ok": true}))
}

fn json_reply(status: u16, value: &Value) -> Reply {
    Reply::Whole(
        status,
        vec![("Content-Type", "application/json".to_owned())],
        value.to_string(),
    )
}

fn refuse(status: u16, words: &str) -> Reply {
    json_reply(status, &json!({"error": words}))
}

async fn serve(inner: &Inner, mut socket: TcpStream) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer).await {
        let answer = {
            let mut state = inner.state.lock().unwrap();
            state.log.push(request.clone());
            state.scripted(&request)
        };
        inner.changed.notify_waiters();
        if !act(inner, &mut socket, &request, answer).await {
            return;
        }
    }
}

/// Carries out one answer; false if the connection is used up.
async fn act(inner: &Inner, socket: &mut TcpStream, request: &Logged, mut answer: Answer) -> bool {
    let mut normal: Option<Reply> = None;
    loop {
        match answer {
            Answer::Normal => {
                let reply = normal
                    .take()
                    .unwrap_or_else(|| inner.state.lock().unwrap().reply(request));
                inner.changed.notify_waiters();
                return match reply {
                    Reply::Whole(status, headers, body) => {
                        write_whole(socket, status, &headers, &body).await
                    }
                    Reply::Stream(lines) => {
                        stream(inner, socket, lines).await;
                        false
                    }
                };
            }
            Answer::Status(status, body) => return write_whole(socket, status, &[], &body).await,
            Answer::WithHeaders(status, headers, body) => {
                return write_whole(socket, status, &headers, &body).await;
            }
            Answer::Done(then) => {
                normal = Some(inner.state.lock().unwrap().reply(request));
                inner.changed.notify_waiters();
                answer = *then;
            }
            Answer::After(delay, then) => {
                tokio::time::sleep(delay).await;
                answer = *then;
            }
            Answer::Hang => {
                let mut rest = [0; 64];
                while matches!(socket.read(&mut rest).await, Ok(n) if n > 0) {}
                return false;
            }
            Answer::Reset => {
                socket.set_zero_linger().unwrap();
                return false;
            }
            Answer::HalfHead => {
                drop(socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Ty").await);
                answer = Answer::Hang;
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Logged> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            break end;
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while buffer.len() < end + 4 + length {
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(buffer[end + 4..end + 4 + length].to_vec()).unwrap();
    buffer.drain(..end + 4 + length);
    Some(Logged {
        method,
        path,
        headers,
        body,
    })
}

async fn write_whole(
    socket: &mut TcpStream,
    status: u16,
    headers: &[(&str, String)],
    body: &str,
) -> bool {
    let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    socket
        .write_all(format!("{head}\r\n{body}").as_bytes())
        .await
        .is_ok()
}

async fn stream(inner: &Inner, socket: &mut TcpStream, mut lines: mpsc::Receiver<Send>) {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    if socket.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let mut silent = false;
    let mut hole = [0; 64];
    let mut beat = tokio::time::interval(inner.keep_alive);
    loop {
        let send = tokio::select! {
            biased;
            send = lines.recv() => send.unwrap_or(Send::End),
            read = socket.read(&mut hole) => match read {
                Ok(n) if n > 0 => continue,
                _ => return,
            },
            _ = beat.tick(), if !silent => Send::Bytes(b"\n".to_vec()),
        };
        let bytes = match send {
            Send::Line(line) => format!("{line}\n").into_bytes(),
            Send::Bytes(bytes) => bytes,
            Send::End => {
                drop(socket.write_all(b"0\r\n\r\n").await);
                return;
            }
            Send::Cut => return,
            Send::Reset => {
                socket.set_zero_linger().unwrap();
                return;
            }
            Send::Silence => {
                silent = true;
                continue;
            }
        };
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(&bytes);
        chunk.extend_from_slice(b"\r\n");
        if socket.write_all(&chunk).await.is_err() {
            return;
        }
    }
}

impl State {
    fn scripted(&mut self, request: &Logged) -> Answer {
        let mut scripts = self.scripts.iter_mut();
        let script = scripts.find(|(method, part, answers)| {
            *method == request.method && request.path.contains(part.as_str()) && !answers.is_empty()
        });
        script
            .and_then(|(_, _, answers)| answers.pop_front())
            .unwrap_or(Answer::Normal)
    }

    fn reply(&mut self, request: &Logged) -> Reply {
        let path = request.path.split('?').next().unwrap().to_owned();
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let method = request.method.as_str();
        if method == "POST" && parts == ["api", "token", "test"] {
            let info = (request.body == TOKEN)
                .then(|| json!({"userId": US, "scopes": self.scopes, "expires": null}));
            return json_reply(200, &json!({request.body.clone(): info}));
        }
        let open = matches!(
            parts.as_slice(),
            ["api", "bot", "online"] | ["api", "users", "status"] | ["api", "tournament", _]
        );
        if !open
            && request.headers.get("authorization").map(String::as_str)
                != Some(&format!("Bearer {TOKEN}"))
        {
            return refuse(401, "No such token");
        }
        match (method, parts.as_slice()) {
            ("GET", ["api", "account"]) => json_reply(
                200,
                &json!({"id": US, "username": "Bot_Us", "title": self.title, "perfs": {}}),
            ),
            ("GET", ["api", "account", "playing"]) => {
                let games = self
                    .games
                    .iter()
                    .filter(|(_, game)| game.listed && !game.is_over());
                let list: Vec<Value> = games.map(|(id, game)| game.notice(id)).collect();
                json_reply(200, &json!({"nowPlaying": list, "nbMyTurn": 0}))
            }
            ("POST", ["api", "bot", "account", "upgrade"]) => {
                self.title = Some("BOT");
                ok()
            }
            ("GET", ["api", "stream", "event"]) => self.open_events(),
            ("GET", ["api", "bot", "game", "stream", id]) => self.open_game(id),
            ("POST", ["api", "bot", "game", id, command @ ..]) => self.command(id, command),
            ("GET", ["api", "challenge"]) => {
                json_reply(200, &json!({"in": self.incoming, "out": self.outgoing}))
            }
            ("GET", ["api", "challenge", id, "show"]) => {
                let all = self.incoming.iter().chain(&self.outgoing);
                all.clone()
                    .find(|c| c["id"] == *id)
                    .map_or_else(|| refuse(404, "Not found"), |c| json_reply(200, c))
            }
            ("POST", ["api", "challenge", id, "accept" | "decline" | "cancel"]) => {
                let known = self
                    .incoming
                    .iter()
                    .chain(&self.outgoing)
                    .any(|c| c["id"] == *id);
                if known {
                    ok()
                } else {
                    refuse(404, "Not found")
                }
            }
            ("POST", ["api", "challenge", user]) => {
                let challenge = outgoing_challenge("newchal1", user);
                self.outgoing.push(challenge.clone());
                json_reply(200, &challenge)
            }
            _ => refuse(404, "Not found"),
        }
    }

    fn open_events(&mut self) -> Reply {
        let (to, lines) = mpsc::channel(4096);
        for (id, game) in self.games.iter().filter(|(_, game)| !game.is_over()) {
            drop(to.try_send(Send::Line(
                json!({"type": "gameStart", "game": game.notice(id)}).to_string(),
            )));
        }
        for challenge in &self.incoming {
            drop(to.try_send(Send::Line(
                json!({"type": "challenge", "challenge": challenge}).to_string(),
            )));
        }
        let open = usize::from(self.events.as_ref().is_some_and(|old| !old.is_closed()));
        self.most_event_streams = self.most_event_streams.max(open + 1);
        if let Some(old) = self.events.replace(to) {
            drop(old.try_send(Send::End));
        }
        Reply::Stream(lines)
    }

    fn open_game(&mut self, id: &str) -> Reply {
        let Some(game) = self.games.get(id) else {
            return refuse(404, "No such game");
        };
        let (to, lines) = mpsc::channel(4096);
        drop(to.try_send(Send::Line(game.full(id).to_string())));
        if game.is_over() {
            drop(to.try_send(Send::End));
        }
        if let Some(old) = self.streams.insert(id.to_owned(), to) {
            drop(old.try_send(Send::End));
        }
        Reply::Stream(lines)
    }

    fn command(&mut self, id: &str, command: &[&str]) -> Reply {
        let Some(game) = self.games.get_mut(id) else {
            return refuse(404, "No such game");
        };
        match command {
            ["move", uci] => {
                if game.is_over() || !game.our_turn() {
                    return refuse(400, "Not your turn, or game already over");
                }
                let ply = game.moves.len();
                if let Err(words) = game.play(uci) {
                    return refuse(400, &words);
                }
                let mut lines = vec![game.state()];
                if game.replies && !game.is_over() {
                    let reply = game.some_move();
                    game.play(&reply).unwrap();
                    lines.push(game.state());
                }
                let over = game.is_over();
                self.accepted.push((id.to_owned(), ply, (*uci).to_owned()));
                self.broadcast(id, &lines, over);
                ok()
            }
            ["abort" | "resign"] => {
                if game.is_over() {
                    return refuse(400, "This game can no longer be aborted");
                }
                game.status = if command == ["resign"] && game.moves.len() >= 2 {
                    "resign"
                } else {
                    "aborted"
                }
                .to_owned();
                game.winner = (game.status == "resign").then_some(if game.we_are_white {
                    "black"
                } else {
                    "white"
                });
                let line = game.state();
                self.broadcast(id, &[line], true);
                ok()
            }
            ["draw" | "takeback", _] | ["chat" | "claim-victory" | "claim-draw"] => ok(),
            _ => refuse(404, "No such command"),
        }
    }

    fn broadcast(&mut self, id: &str, lines: &[Value], over: bool) {
        let Some(to) = self.streams.get(id) else {
            return;
        };
        for line in lines {
            drop(to.try_send(Send::Line(line.to_string())));
        }
        if over {
            drop(to.try_send(Send::End));
        }
    }
}

/// A challenge of ours.
pub fn outgoing_challenge(id: &str, user: &str) -> Value {
    json!({
        "id": id, "status": "created", "direction": "out",
        "challenger": {"id": US, "name": "Bot_Us", "title": "BOT"}, "destUser": {"id": user.to_lowercase(), "name": user, "title": "BOT"},
        "variant": {"key": "crazyhouse"}, "rated": false, "color": "random", "finalColor": "white",
        "timeControl": {"type": "clock", "limit": 180, "increment": 2},
    })
}

/// A challenge to us.
pub fn incoming_challenge(id: &str, user: &str) -> Value {
    json!({
        "id": id, "status": "created",
        "challenger": {"id": user.to_lowercase(), "name": user, "rating": 1700}, "destUser": {"id": US, "name": "Bot_Us", "title": "BOT"},
        "variant": {"key": "crazyhouse"}, "rated": true, "color": "random", "finalColor": "white",
        "timeControl": {"type": "clock", "limit": 180, "increment": 2},
    })
}
