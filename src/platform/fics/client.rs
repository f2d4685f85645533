//! Moves the [`Protocol`] over a socket: reads, writes, waits, reconnects. It decides nothing.
//!
//! One task serves the account. Lines are taken from the queues only when the last bytes are written, so that a move passes
//! whatever still waits. Reading never waits for the daemon: when a queue is full the event is left out, and a whole state
//! follows once there is room again.

use std::future::{Future, poll_fn};
use std::io;
use std::time::{Duration, SystemTime};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use secrecy::SecretString;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, info, warn};

use crate::game::{GameCommand, GameEnd, GameEvent, GameId};
use crate::platform::backoff::{Backoff, BackoffConfig};
use crate::platform::{
    AccountCommand, AccountEvent, AccountLink, AccountPort, ClientEnd, GamePort, Received,
    account_channel, game_channel,
};

use super::config::FicsConfig;
use super::protocol::{Next, Output, Protocol};

/// How long a connection attempt may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the server may take none of our bytes.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the server may take to close after `quit`.
const QUIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long lines that wait may hold `quit` back.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// A connection that lasted this long starts the waiting times anew.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);
/// How often a full queue of the daemon is looked at again.
const MISSED_RETRY: Duration = Duration::from_millis(50);
/// Room that chat leaves for other events of a game.
const CHAT_RESERVE: usize = 16;
/// Links of games kept; the server plays one game at a time, the others are over.
const GAME_LINKS_MAX: usize = 8;

/// What the client needs from outside beside its config.
#[derive(Debug, Clone)]
pub struct FicsShared {
    /// Password of the registered name; `None` for a guest.
    pub password: Option<SecretString>,
    /// Drives the jitter of the waiting times and the offsets of timeseal.
    pub seed: u64,
}

/// Makes the client of one account. The caller owns the future and joins it.
///
/// The config must have passed [`FicsConfig::validate`].
pub fn connect(
    config: FicsConfig,
    shared: FicsShared,
) -> (
    AccountLink,
    impl Future<Output = ClientEnd> + Send + 'static,
) {
    let address = (config.host.clone(), config.port);
    connect_with(config, shared, move || {
        let address = address.clone();
        async move {
            let stream = TcpStream::connect((address.0.as_str(), address.1)).await?;
            // A move is one short line that nothing follows; it must not wait for company.
            stream.set_nodelay(true)?;
            Ok(stream)
        }
    })
}

/// Like [`connect`], over any kind of stream.
pub fn connect_with<S, C, F>(
    config: FicsConfig,
    shared: FicsShared,
    connector: C,
) -> (
    AccountLink,
    impl Future<Output = ClientEnd> + Send + 'static,
)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
    C: FnMut() -> F + Send + 'static,
    F: Future<Output = io::Result<S>> + Send + 'static,
{
    let (link, port) = account_channel();
    let backoff = Backoff::new(BackoffConfig {
        base: Duration::from_secs(config.reconnect_min_s.max(1)),
        cap: Duration::from_secs(config.reconnect_max_s.max(1)),
        healthy_after: HEALTHY_AFTER,
    });
    let client = Client {
        protocol: Protocol::new(config, shared.password, shared.seed),
        port,
        games: Vec::new(),
        backoff,
        rng: SmallRng::seed_from_u64(shared.seed ^ 0x5eed),
        missed: false,
        asked: false,
    };
    (link, client.run(connector))
}

struct Client {
    protocol: Protocol,
    port: AccountPort,
    games: Vec<GameSlot>,
    backoff: Backoff,
    rng: SmallRng,
    /// An account event found no room.
    missed: bool,
    /// The daemon let go of the account.
    asked: bool,
}

/// The link of one opened game.
struct GameSlot {
    id: GameId,
    /// `None` once the end of the game was told.
    events: Option<mpsc::Sender<Received<GameEvent>>>,
    commands: mpsc::Receiver<GameCommand>,
    missed: Option<Missed>,
}

/// What a full queue has to be told later.
#[derive(Debug, Clone)]
enum Missed {
    State,
    Ended(GameEnd),
}

/// Something from the daemon; `None` means that it let go of the link.
enum Input {
    Account(Option<AccountCommand>),
    Game(usize, Option<GameCommand>),
}

async fn next_input(
    commands: &mut mpsc::Receiver<AccountCommand>,
    games: &mut [GameSlot],
    asked: bool,
) -> Input {
    poll_fn(|context| {
        for (index, slot) in games.iter_mut().enumerate() {
            if let std::task::Poll::Ready(command) = slot.commands.poll_recv(context) {
                return std::task::Poll::Ready(Input::Game(index, command));
            }
        }
        if asked {
            return std::task::Poll::Pending;
        }
        commands.poll_recv(context).map(Input::Account)
    })
    .await
}

impl Client {
    async fn run<S, C, F>(mut self, mut connector: C) -> ClientEnd
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
        C: FnMut() -> F + Send + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
    {
        loop {
            let words = match self.attempt(connector()).await {
                None => return ClientEnd::Asked,
                Some(Ok(stream)) => {
                    self.backoff.connected(Instant::now());
                    self.session(stream).await
                }
                Some(Err(error)) => format!("no connection: {error}"),
            };
            let now = Instant::now();
            let next = self.protocol.disconnected(now);
            self.deliver(now);
            if self.asked {
                return ClientEnd::Asked;
            }
            let retry_in = match next {
                Next::Stop { words } => return ClientEnd::Stopped { words },
                Next::RetryAfter(pause) => pause,
                Next::Retry => self.backoff.failed(now, &mut self.rng),
            };
            info!(words, ?retry_in, "offline");
            self.tell(Received {
                at: now,
                event: AccountEvent::Offline { words, retry_in },
            });
            if !self.wait(now + retry_in).await {
                return ClientEnd::Asked;
            }
        }
    }

    /// One connection attempt; commands are served meanwhile. `None` when the daemon lets go of the account.
    async fn attempt<S>(
        &mut self,
        connecting: impl Future<Output = io::Result<S>>,
    ) -> Option<io::Result<S>> {
        let connecting = timeout(CONNECT_TIMEOUT, connecting);
        tokio::pin!(connecting);
        loop {
            tokio::select! {
                outcome = &mut connecting => {
                    return Some(outcome.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut))));
                }
                input = next_input(&mut self.port.commands, &mut self.games, self.asked) => {
                    self.handle(input, Instant::now());
                    if self.asked {
                        return None;
                    }
                }
            }
        }
    }

    /// Serves commands until then. False when the daemon lets go of the account.
    async fn wait(&mut self, until: Instant) -> bool {
        loop {
            tokio::select! {
                () = sleep_until(until) => return true,
                input = next_input(&mut self.port.commands, &mut self.games, self.asked) => {
                    self.handle(input, Instant::now());
                    if self.asked {
                        return false;
                    }
                }
            }
        }
    }

    /// Runs one connection to its end and says why it ended.
    async fn session<S: AsyncRead + AsyncWrite>(&mut self, stream: S) -> String {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let unix_s = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        self.protocol.connected(Instant::now(), unix_s);
        let mut out: Vec<u8> = self.protocol.introduction().unwrap_or_default();
        let mut buffer = [0u8; 4096];
        let mut write_deadline: Option<Instant> = None;
        let mut drain_deadline: Option<Instant> = None;
        let mut quit_deadline: Option<Instant> = None;
        loop {
            let now = Instant::now();
            if let Some(words) = self.deliver(now) {
                return words;
            }
            if self.asked && quit_deadline.is_none() {
                // What was asked for before, such as a last greeting, goes out first.
                let drained_by = *drain_deadline.get_or_insert(now + DRAIN_TIMEOUT);
                if drained_by <= now || self.protocol.waiting_lines() == 0 {
                    drain_deadline = None;
                    quit_deadline = Some(now + QUIT_TIMEOUT);
                    self.protocol.leave();
                    continue;
                }
            }
            if out.is_empty() {
                while out.len() < 2048
                    && let Some(line) = self.protocol.to_send(now)
                {
                    let bytes = self.protocol.encode(&line, now);
                    out.extend_from_slice(&bytes);
                }
                write_deadline = (!out.is_empty()).then(|| now + WRITE_TIMEOUT);
            }
            let to_send = if out.is_empty() {
                self.protocol.send_at(now)
            } else {
                None
            };
            let missed = self.has_missed().then(|| now + MISSED_RETRY);
            let wake = [
                self.protocol.wake_at(),
                to_send,
                missed,
                write_deadline,
                drain_deadline,
                quit_deadline,
            ]
            .into_iter()
            .flatten()
            .min();
            tokio::select! {
                biased;
                written = writer.write(&out), if !out.is_empty() => match written {
                    Ok(0) => return "the server takes no more bytes".to_owned(),
                    Ok(count) => {
                        out.drain(..count);
                        write_deadline = (!out.is_empty()).then(|| now + WRITE_TIMEOUT);
                    }
                    Err(error) => return format!("write: {error}"),
                },
                input = next_input(&mut self.port.commands, &mut self.games, self.asked) => self.handle(input, Instant::now()),
                () = sleep_until(wake.unwrap_or(now)), if wake.is_some() => {
                    let now = Instant::now();
                    if write_deadline.is_some_and(|at| at <= now) {
                        return "the server takes no more bytes".to_owned();
                    }
                    if quit_deadline.is_some_and(|at| at <= now) {
                        return "the server did not close after quit".to_owned();
                    }
                    self.protocol.tick(now);
                    self.retry_missed(now);
                }
                read = reader.read(&mut buffer) => match read {
                    Ok(0) => return "the server closed the connection".to_owned(),
                    Ok(count) => {
                        let now = Instant::now();
                        if let Err(error) = self.protocol.received(&buffer[..count], now) {
                            warn!(%error, "not an ICS");
                            return error.to_string();
                        }
                    }
                    Err(error) => return format!("read: {error}"),
                },
            }
        }
    }

    fn handle(&mut self, input: Input, now: Instant) {
        match input {
            Input::Account(None) => self.asked = true,
            Input::Account(Some(AccountCommand::OpenGame { id, reply })) => {
                let (link, port) = game_channel();
                if reply.send(link).is_ok() {
                    self.open_game(id, port, now);
                }
            }
            Input::Account(Some(command)) => self.protocol.account_command(command, now),
            Input::Game(index, None) => {
                self.games.remove(index);
            }
            Input::Game(index, Some(command)) => {
                let id = self.games[index].id.clone();
                self.protocol.game_command(&id, command, now);
            }
        }
        // Events that a command caused are handed out by the loop that called; offline there is none.
        if !self.protocol.is_connected() {
            self.deliver(now);
        }
    }

    fn open_game(&mut self, id: GameId, port: GamePort, now: Instant) {
        self.games.retain(|slot| slot.id != id);
        if self.games.len() >= GAME_LINKS_MAX {
            self.games.remove(0);
        }
        let GamePort { events, commands } = port;
        let mut slot = GameSlot {
            id,
            events: Some(events),
            commands,
            missed: None,
        };
        if let Some(event) = self.protocol.first_word(&slot.id) {
            slot.send(Received { at: now, event });
        } else if !self.protocol.knows(&slot.id) {
            debug!(game = %slot.id, "a game that is not on was to be opened");
            slot.events = None;
        }
        self.games.push(slot);
    }

    /// Hands out what the protocol has to say. Gives the reason when the connection is to be closed.
    fn deliver(&mut self, now: Instant) -> Option<String> {
        let mut close = None;
        while let Some(output) = self.protocol.output() {
            match output {
                Output::Account(event) => self.tell(Received { at: now, event }),
                Output::Game { id, event } => {
                    if let Some(slot) = self.games.iter_mut().find(|slot| slot.id == id) {
                        slot.send(Received { at: now, event });
                    }
                }
                Output::Close { words } => {
                    close.get_or_insert(words);
                }
            }
        }
        close
    }

    fn tell(&mut self, event: Received<AccountEvent>) {
        match self.port.events.try_send(event) {
            Ok(()) => {}
            Err(TrySendError::Full(event)) => {
                debug!(event = ?event.event, "the daemon does not take account events in time");
                self.missed = true;
            }
            Err(TrySendError::Closed(_)) => {}
        }
    }

    fn has_missed(&self) -> bool {
        self.missed || self.games.iter().any(|slot| slot.missed.is_some())
    }

    /// Makes good for what found no room.
    fn retry_missed(&mut self, now: Instant) {
        if self.missed && self.port.events.capacity() > self.port.events.max_capacity() / 2 {
            self.missed = false;
            self.protocol
                .account_command(AccountCommand::Reconcile, now);
        }
        for slot in &mut self.games {
            let has_room = slot
                .events
                .as_ref()
                .is_some_and(|events| events.capacity() > events.max_capacity() / 2);
            if !has_room {
                continue;
            }
            match slot.missed.take() {
                Some(Missed::State) => {
                    if let Some(event) = self.protocol.first_word(&slot.id) {
                        slot.send(Received { at: now, event });
                    }
                }
                Some(Missed::Ended(end)) => slot.send(Received {
                    at: now,
                    event: GameEvent::Ended(end),
                }),
                None => {}
            }
        }
    }
}

impl GameSlot {
    fn send(&mut self, event: Received<GameEvent>) {
        let Some(events) = &self.events else { return };
        if matches!(event.event, GameEvent::Chatted(_)) && events.capacity() <= CHAT_RESERVE {
            return;
        }
        let ended = match &event.event {
            GameEvent::Ended(end) => Some(end.clone()),
            _ => None,
        };
        // A state that was missed makes everything but the end stale.
        let stale = self.missed.is_some() && ended.is_none();
        if stale {
            return;
        }
        match events.try_send(event) {
            Ok(()) => {
                self.missed = None;
                if ended.is_some() {
                    self.events = None;
                }
            }
            Err(TrySendError::Full(_)) => {
                self.missed = Some(ended.map_or(Missed::State, Missed::Ended))
            }
            Err(TrySendError::Closed(_)) => self.events = None,
        }
    }
}
