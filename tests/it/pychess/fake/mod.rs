//! A PyChess server for tests: stateful, as strict as the recordings, and as odd.
//!
//! Its oddities are the real server's: one queue of events per bot that all its streams share, a game's stream that is locked until the
//! dead one's next ping fails, a refusal written into the middle of a stream, 200 for everything, games lost by an illegal move,
//! ends without a result. Faults are added by the tests. Only the time of the pings is shorter, so that tests are.

pub mod game;
pub mod http;
mod serve;

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use seneschal::rules::{Color, Outcome};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::game::{BotMove, Game, Offer};
use self::http::Received;

/// The bot's token.
pub const TOKEN: &str = "token-of-the-steward";
/// The bot's name.
pub const BOT: &str = "Steward";

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
    /// Pages of finished games name neither result nor reason.
    pub odd_ends: bool,
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
        accepting.spawn(serve::accept(listener, Arc::clone(&inner)));
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
