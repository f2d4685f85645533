//! A small internet chess server for tests: stateful, as strict about input as the servers it stands for, in three
//! dialects. Its players are the connection under test and others that a test moves by hand. Everything it sends on a
//! connection is cut into pieces at random (seeded).

mod board;
mod dialect;
mod lobby;
mod login;
mod play;
mod stream;
mod world;

use std::io;
use std::sync::{Arc, Mutex};

use tokio::io::DuplexStream;
use tokio::net::TcpListener;
use tokio::sync::Notify;

pub use dialect::Dialect;
pub use world::Faults;
use world::World;

/// The server.
#[derive(Clone)]
pub struct FakeIcs {
    world: Arc<Mutex<World>>,
    wake: Arc<Notify>,
}

impl FakeIcs {
    pub fn new(dialect: Dialect, seed: u64) -> FakeIcs {
        FakeIcs {
            world: Arc::new(Mutex::new(World::new(dialect, seed))),
            wake: Arc::new(Notify::new()),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let result = act(&mut self
            .world
            .lock()
            .expect("no test panics while it holds the world"));
        self.wake.notify_waiters();
        result
    }

    /// Registers a player.
    pub fn register(&self, name: &str, password: &str, computer: bool) {
        self.with(|world| world.register(name, password, computer));
    }

    /// A connector for `connect_with`: every call is a new connection.
    pub fn connector(
        &self,
    ) -> impl FnMut() -> std::pin::Pin<Box<dyn Future<Output = io::Result<DuplexStream>> + Send>>
    + Send
    + 'static {
        let server = self.clone();
        move || {
            let server = server.clone();
            Box::pin(async move {
                if server.with(|world| world.refuses_connection()) {
                    return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
                }
                let (near, far) = tokio::io::duplex(64 * 1024);
                let session = server.with(|world| world.connect());
                tokio::spawn(stream::serve(
                    server.world.clone(),
                    server.wake.clone(),
                    session,
                    far,
                ));
                Ok(near)
            })
        }
    }

    /// Listens on a port of the system's choice.
    pub async fn listen(&self) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("the loopback has a free port");
        let port = listener
            .local_addr()
            .expect("a bound socket has an address")
            .port();
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Pieces must not wait for each other's acknowledgements.
                stream
                    .set_nodelay(true)
                    .expect("a fresh socket takes options");
                if server.with(|world| world.refuses_connection()) {
                    continue;
                }
                let session = server.with(|world| world.connect());
                tokio::spawn(stream::serve(
                    server.world.clone(),
                    server.wake.clone(),
                    session,
                    stream,
                ));
            }
        });
        port
    }

    /// A player that a test moves by hand, logged in and set up.
    pub fn player(&self, name: &str) -> Player {
        let session = self.with(|world| world.join(name));
        Player {
            server: self.clone(),
            session,
            name: name.to_owned(),
        }
    }

    /// Sets what goes wrong.
    pub fn faults(&self, set: impl FnOnce(&mut Faults)) {
        self.with(|world| set(&mut world.faults));
    }

    /// Sends bytes to a player as they are.
    pub fn raw(&self, name: &str, bytes: &[u8]) {
        self.with(|world| world.raw(name, bytes));
    }

    /// Sends a line to a player the way unasked lines come: after a newline, with a prompt behind it.
    pub fn notice(&self, name: &str, line: &str) {
        self.with(|world| world.notice(name, line));
    }

    /// Cuts a player's connection as a network does.
    pub fn cut(&self, name: &str) {
        self.with(|world| world.cut(name));
    }

    /// Every line that this name sent since the start, logins included; passwords as they came.
    pub fn sent_by(&self, name: &str) -> Vec<String> {
        self.with(|world| {
            world
                .log
                .iter()
                .filter(|(who, _)| who.eq_ignore_ascii_case(name))
                .map(|(_, line)| line.clone())
                .collect()
        })
    }

    /// Bytes that arrived before the first question was asked, over all connections.
    pub fn early_bytes(&self) -> usize {
        self.with(|world| world.early_bytes)
    }

    /// Connections made so far.
    pub fn connections(&self) -> u32 {
        self.with(|world| world.connections)
    }

    /// Whether a name is logged in.
    pub fn is_online(&self, name: &str) -> bool {
        self.with(|world| world.session_of(name).is_some())
    }

    /// How many games are on.
    pub fn games(&self) -> usize {
        self.with(|world| world.games.len())
    }
}

/// A player that a test moves by hand.
pub struct Player {
    server: FakeIcs,
    session: usize,
    pub name: String,
}

impl Player {
    /// Types a line.
    pub fn send(&self, line: &str) {
        self.server.with(|world| world.input(self.session, line));
    }

    /// All that was shown to this player.
    pub fn shown(&self) -> String {
        self.server.with(|world| world.shown(self.session))
    }

    /// Whether a text was shown.
    pub fn saw(&self, text: &str) -> bool {
        self.shown().contains(text)
    }

    /// How often a text was shown.
    pub fn times(&self, text: &str) -> usize {
        self.shown().matches(text).count()
    }

    /// The legal moves of his game in the notation that he types, if he is to move.
    pub fn legal_moves(&self) -> Vec<String> {
        self.server.with(|world| world.legal_moves(&self.name))
    }
}
