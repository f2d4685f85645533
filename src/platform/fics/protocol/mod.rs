//! The conversation with an ICS as a state machine without I/O: bytes, commands and time go in, events and lines to send
//! come out. [`client`](super::client) moves them over a socket.
//!
//! One value lives as long as the account: it survives reconnections and remembers what the new connection must settle (a
//! game that was on, whom we told what). It is split by subject: [`login`], [`lobby`] (challenges), [`seeks`] and [`adjourned`]
//! games, [`games`] (the game being played) with [`boards`], [`track`] (its moves) and [`dealings`] (offers, chat, our moves).

mod adjourned;
mod boards;
mod dealings;
mod games;
mod lobby;
mod login;
mod seeks;
mod track;

use std::collections::VecDeque;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use secrecy::SecretString;
use tokio::time::Instant;
use tracing::{debug, trace, warn};

use crate::game::{GameEvent, GameId, PlayerName};

use super::super::{AccountCommand, AccountEvent};
use super::config::FicsConfig;
use super::line::{Frame, FramingError, LineAssembler};
use super::outbound::{Lane, Outbound, Outgoing, chat_lines};
use super::timeseal;
use super::wire::{Channel, ServerLine, Speech, parse};
use super::{config, translate};

use adjourned::Adjourned;
use games::{Games, LostGame};
use lobby::Lobby;
use login::LoginStep;
use seeks::Seeks;

/// A complete line waits this long for a folded part before it is read.
const FOLD_WAIT: Duration = Duration::from_millis(25);
/// Unanswered signs of life that end the connection.
const PING_MISSES_MAX: u32 = 2;
/// Markers that may be under way.
const MARKERS_MAX: usize = 16;
/// How long the set-up after the login may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(120);
/// Names remembered as computers.
const COMPUTERS_MAX: usize = 512;

/// Something for the daemon, or an order to the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// About the account.
    Account(AccountEvent),
    /// About a game.
    Game {
        /// Which.
        id: GameId,
        /// What.
        event: GameEvent,
    },
    /// The connection is of no use any more: close it.
    Close {
        /// Why.
        words: String,
    },
}

/// What comes after a connection is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Connect again after the usual waiting time.
    Retry,
    /// Stay away this long.
    RetryAfter(Duration),
    /// Do not come back.
    Stop {
        /// What the operator must know.
        words: String,
    },
}

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Offline,
    Login(LoginStep),
    /// Logged in; the settings are on their way.
    Setup,
    /// Set up; the server's lists are on their way.
    Listing,
    Ready,
    /// We said `quit`.
    Leaving,
}

/// Who we are according to the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Own {
    handle: String,
    computer: bool,
    unregistered: bool,
}

/// What the answer to a marker means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    SettingsDone,
    ListsDone,
    Ping,
}

/// The state machine of one account.
#[derive(Debug)]
pub struct Protocol {
    config: FicsConfig,
    password: Option<SecretString>,
    rng: SmallRng,
    assembler: LineAssembler,
    outbound: Outbound,
    outputs: VecDeque<Output>,
    phase: Phase,
    next: Next,
    own: Own,
    /// The server numbers offers (`pendinfo`); learned from what it refuses at login.
    numbered_offers: bool,
    /// Unix time of the connection, part of the ids of its games.
    connected_unix_s: u64,
    connected_at: Option<Instant>,
    phase_deadline: Option<Instant>,
    fold_deadline: Option<Instant>,
    marker: u32,
    markers: VecDeque<(u32, Mark, Instant)>,
    ping_at: Option<Instant>,
    ping_misses: u32,
    last_line_at: Option<Instant>,
    round_trip: Option<Duration>,
    kicked_at: Option<Instant>,
    lobby: Lobby,
    adjourned: Adjourned,
    seeks: Seeks,
    games: Games,
    quiesced: bool,
    computers: VecDeque<String>,
    bytes_in: u64,
    malformed: u64,
}

impl Protocol {
    /// An account that is not connected. `seed` drives the little randomness there is (timeseal).
    #[must_use]
    pub fn new(config: FicsConfig, password: Option<SecretString>, seed: u64) -> Protocol {
        let outbound = Outbound::new(config.pace());
        Protocol {
            rng: SmallRng::seed_from_u64(seed),
            assembler: LineAssembler::new(),
            outbound,
            outputs: VecDeque::new(),
            phase: Phase::Offline,
            next: Next::Retry,
            own: Own::default(),
            numbered_offers: true,
            connected_unix_s: 0,
            connected_at: None,
            phase_deadline: None,
            fold_deadline: None,
            marker: 0,
            markers: VecDeque::new(),
            ping_at: None,
            ping_misses: 0,
            last_line_at: None,
            round_trip: None,
            kicked_at: None,
            lobby: Lobby::default(),
            adjourned: Adjourned::default(),
            seeks: Seeks::new(config.seeks.len()),
            games: Games::default(),
            quiesced: false,
            computers: VecDeque::new(),
            bytes_in: 0,
            malformed: 0,
            config,
            password,
        }
    }

    /// A connection stands.
    pub fn connected(&mut self, now: Instant, unix_s: u64) {
        self.assembler = LineAssembler::new();
        self.outbound.clear();
        self.phase = Phase::Login(LoginStep::AwaitLogin);
        self.next = Next::Retry;
        self.own = Own::default();
        self.numbered_offers = true;
        self.connected_unix_s = unix_s;
        self.connected_at = Some(now);
        self.phase_deadline = Some(now + Duration::from_secs(self.config.login_timeout_s));
        self.fold_deadline = None;
        self.markers.clear();
        self.ping_at = None;
        self.ping_misses = 0;
        self.last_line_at = Some(now);
        self.lobby.reset();
        self.adjourned = Adjourned::default();
        self.seeks.reset();
    }

    /// The connection is gone. Says what comes next.
    pub fn disconnected(&mut self, now: Instant) -> Next {
        if let Some(lost) = self.games.connection_lost() {
            self.outputs.push_back(Output::Game {
                id: lost.id.clone(),
                event: GameEvent::LinkLost,
            });
        }
        self.phase = Phase::Offline;
        self.phase_deadline = None;
        self.fold_deadline = None;
        self.ping_at = None;
        self.outbound.clear();
        self.markers.clear();
        let next = std::mem::replace(&mut self.next, Next::Retry);
        debug!(?next, waited = ?self.connected_at.map(|at| now.duration_since(at)), "connection closed");
        next
    }

    /// Takes bytes as they arrive.
    ///
    /// # Errors
    /// [`FramingError`] when the stream is none of an ICS; the connection must be closed.
    pub fn received(&mut self, bytes: &[u8], now: Instant) -> Result<(), FramingError> {
        self.bytes_in = self.bytes_in.saturating_add(bytes.len() as u64);
        let mut frames = Vec::new();
        let outcome = self.assembler.push(bytes, &mut frames);
        self.frames(frames, now);
        outcome?;
        self.fold_deadline = self.assembler.holds_line().then(|| now + FOLD_WAIT);
        if let Phase::Login(_) = self.phase {
            self.login_partial(false, now);
        }
        Ok(())
    }

    fn frames(&mut self, frames: Vec<Frame>, now: Instant) {
        for frame in frames {
            match frame {
                Frame::Line(line) => self.line(&line, now),
                Frame::Overlong => debug!("a line too long to be a message was dropped"),
                Frame::SealPing => {
                    if self.config.timeseal {
                        self.outbound.push_sealed_answer();
                    }
                }
            }
        }
    }

    /// Lets time pass: call it at [`Protocol::wake_at`].
    pub fn tick(&mut self, now: Instant) {
        if self.fold_deadline.is_some_and(|at| at <= now) {
            self.fold_deadline = None;
            let mut frames = Vec::new();
            self.assembler.flush(&mut frames);
            self.frames(frames, now);
            if let Phase::Login(_) = self.phase {
                self.login_partial(true, now);
            }
        }
        if self.phase_deadline.is_some_and(|at| at <= now) {
            self.phase_deadline = None;
            self.close("the login took too long");
        }
        if self.phase == Phase::Ready || self.phase == Phase::Listing {
            self.lobby_tick(now);
            self.seek_tick(now);
            self.ping_tick(now);
        }
        self.game_tick(now);
    }

    /// When [`Protocol::tick`] has something to do.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        let in_session = [self.ping_at, self.lobby.wake_at(), self.seek_wake_at()];
        let in_session = in_session
            .into_iter()
            .flatten()
            .filter(|_| matches!(self.phase, Phase::Ready | Phase::Listing));
        [
            self.fold_deadline,
            self.phase_deadline,
            self.games.wake_at(),
        ]
        .into_iter()
        .flatten()
        .chain(in_session)
        .min()
    }

    /// When [`Protocol::to_send`] is worth asking; `None` with nothing waiting.
    #[must_use]
    pub fn send_at(&self, now: Instant) -> Option<Instant> {
        self.outbound.ready_at(now)
    }

    /// Lines that wait to be sent.
    #[must_use]
    pub fn waiting_lines(&self) -> usize {
        self.outbound.waiting()
    }

    /// Whether a connection stands.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.phase != Phase::Offline
    }

    /// Whether a game is on, or was when the connection was lost and is not settled yet.
    #[must_use]
    pub fn knows(&self, id: &GameId) -> bool {
        self.games.notice().is_some_and(|notice| notice.id == *id)
            || self.games.lost().is_some_and(|lost| lost.id == *id)
    }

    /// The game that is on, if one is.
    #[must_use]
    pub fn running_game(&self) -> Option<GameId> {
        self.games
            .running
            .as_ref()
            .map(|running| running.id.clone())
    }

    /// The next event for the daemon.
    pub fn output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The next line that may be sent now, without its newline.
    pub fn to_send(&mut self, now: Instant) -> Option<Outgoing> {
        self.outbound.pop(now)
    }

    /// Encodes a line for the wire and logs it; passwords are masked.
    pub fn encode(&mut self, line: &Outgoing, now: Instant) -> Vec<u8> {
        if line.secret {
            trace!("> ***");
        } else {
            trace!("> {}", line.text);
        }
        if self.config.timeseal {
            let milliseconds = self.seal_clock(now);
            if line.seal_answer {
                return timeseal::answer(milliseconds, &mut self.rng);
            }
            return timeseal::seal(line.text.as_bytes(), milliseconds, &mut self.rng);
        }
        let mut bytes = line.text.as_bytes().to_vec();
        bytes.push(b'\n');
        bytes
    }

    /// Our clock as lines are stamped with it. One server reads a stamp of zero as a line without one.
    fn seal_clock(&self, now: Instant) -> u64 {
        let elapsed = self
            .connected_at
            .map_or(Duration::ZERO, |at| now.duration_since(at));
        u64::try_from(elapsed.as_millis()).map_or(1, |elapsed| elapsed.saturating_add(1))
    }

    /// What must go out before anything else on a connection, if anything.
    pub fn introduction(&mut self) -> Option<Vec<u8>> {
        let milliseconds = self.connected_at.map_or(1, |at| self.seal_clock(at));
        self.config
            .timeseal
            .then(|| timeseal::introduction(milliseconds, &mut self.rng))
    }

    /// Asks the server to let us go. Seeks are withdrawn first.
    pub fn leave(&mut self) {
        if !matches!(self.phase, Phase::Ready | Phase::Listing | Phase::Setup) {
            self.close("leaving");
            return;
        }
        self.withdraw_seeks();
        self.phase = Phase::Leaving;
        self.outbound.push(Lane::Control, "quit");
    }

    /// Whether the account is logged in and set up.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Our own name as the server spells it.
    #[must_use]
    pub fn own_name(&self) -> &str {
        &self.own.handle
    }

    /// Time from a marker to its answer, as last measured.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    /// Known lines that did not read, since the start.
    #[must_use]
    pub fn malformed_lines(&self) -> u64 {
        self.malformed
    }

    /// Bytes and entries held in buffers and books, for tests of the bounds.
    #[must_use]
    pub fn held(&self) -> usize {
        self.assembler.buffered_bytes()
            + self.outbound.waiting()
            + self.outputs.len()
            + self.lobby.len()
            + self.adjourned.len()
            + self.markers.len()
            + self.computers.len()
    }

    /// Carries out a command about the account; opening games is the client's part.
    pub fn account_command(&mut self, command: AccountCommand, now: Instant) {
        match command {
            AccountCommand::OpenGame { .. } => {}
            AccountCommand::Accept(id) => self.accept(&id, now),
            AccountCommand::Decline { id, reason } => self.decline(&id, reason, now),
            AccountCommand::Cancel(id) => self.cancel(&id),
            AccountCommand::Create(request) => self.create(request, now),
            AccountCommand::ListBots => self.account(AccountEvent::BotsOnline(None)),
            AccountCommand::Reconcile => self.reconcile(),
            AccountCommand::Tell { to, text } => self.tell(&to, &text),
            AccountCommand::Resume(name) => self.resume(&name, now),
            AccountCommand::Quiesce => self.quiesce(),
        }
    }

    fn quiesce(&mut self) {
        self.quiesced = true;
        self.withdraw_seeks();
        if self.phase == Phase::Ready {
            self.outbound.push(Lane::Command, "set open 0");
        }
    }

    fn tell(&mut self, to: &PlayerName, text: &str) {
        if !super::wire::is_name(to.as_str()) {
            return;
        }
        for line in chat_lines(text, config::CHAT_CHARS_MAX, 6) {
            self.outbound
                .push(Lane::Chat, &format!("tell {} {line}", to.as_str()));
        }
    }

    /// One line of the server.
    fn line(&mut self, line: &str, now: Instant) {
        trace!("< {line}");
        self.last_line_at = Some(now);
        let parsed = match parse(line) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.malformed += 1;
                warn!(%error, "a line of the server does not read");
                // Whose board it was is not known, but while a game of ours is on it was in all likelihood ours.
                if line.starts_with("<12>") {
                    self.unreadable(error.to_string());
                }
                return;
            }
        };
        if let Phase::Login(_) = self.phase {
            self.login_line(parsed, now);
        } else if self.phase != Phase::Offline {
            self.session_line(parsed, now);
        }
    }

    /// A line after the login.
    fn session_line(&mut self, line: ServerLine, now: Instant) {
        match line {
            ServerLine::Empty
            | ServerLine::Continuation
            | ServerLine::SeekAd
            | ServerLine::Staff(_) => {}
            ServerLine::Speech(speech) => self.speech(&speech),
            ServerLine::UnknownCommand(word) => self.unknown_command(&word, now),
            ServerLine::SettingUnknown(name) => {
                if name == "pendinfo" {
                    self.numbered_offers = false;
                }
                debug!(name, "the server has no such variable");
            }
            ServerLine::SettingRefused { words } => warn!(words, "the server refuses a setting"),
            ServerLine::TellsThrottled => debug!("the server delays our tells"),
            ServerLine::Kicked => self.kicked(now),
            ServerLine::LoggedOut { words } => self.close(&words),
            ServerLine::Text(text) => self.text(&text, now),
            other => {
                if let Some(other) = self.game_line(other, now)
                    && let Some(other) = self.lobby_line(other, now)
                {
                    self.seek_line(&other, now);
                }
            }
        }
    }

    /// Sentences that matter only by their context.
    fn text(&mut self, text: &str, now: Instant) {
        if let Some(name) = text
            .strip_prefix("--** ")
            .and_then(|rest| rest.strip_suffix(" is a computer **--"))
        {
            self.note_computer(name);
        } else if text.starts_with("You can \"accept\"") {
            self.challenge_paragraph_ended(now);
        } else if self.adjourned.awaits_names() {
            self.adjourned_names(text);
        }
    }

    fn note_computer(&mut self, name: &str) {
        let key = name.to_lowercase();
        if super::wire::is_name(name) && !self.computers.contains(&key) {
            if self.computers.len() >= COMPUTERS_MAX {
                self.computers.pop_front();
            }
            self.computers.push_back(key);
        }
    }

    fn is_computer(&self, name: &str) -> bool {
        self.computers.contains(&name.to_lowercase())
    }

    fn is_own(&self, name: &str) -> bool {
        !name.is_empty() && name.eq_ignore_ascii_case(&self.own.handle)
    }

    fn speech(&mut self, speech: &Speech) {
        if self.game_speech(speech) {
            return;
        }
        let owner = self
            .config
            .owners
            .iter()
            .any(|owner| owner.eq_ignore_ascii_case(&speech.from));
        // A guest may wear any free name, so only a registered owner is one.
        if owner && speech.channel == Channel::Tell && !speech.unregistered {
            let told = AccountEvent::Told {
                from: PlayerName::new(speech.from.clone()),
                text: speech.text.clone(),
            };
            self.account(told);
        } else {
            trace!(from = speech.from, "words of somebody else");
        }
    }

    /// Another session took the account over. The first time we stay away for a while, the second time for good.
    fn kicked(&mut self, now: Instant) {
        let pause = Duration::from_secs(self.config.kicked_pause_s);
        let again = self
            .kicked_at
            .replace(now)
            .is_some_and(|at| now.duration_since(at) < pause * 2 + Duration::from_secs(60));
        let words = "another session logged in to this account".to_owned();
        self.next = if pause.is_zero() || again {
            Next::Stop {
                words: words.clone(),
            }
        } else {
            Next::RetryAfter(pause)
        };
        self.close(&words);
    }

    /// An answer to a marker, or to a move that came after its game.
    fn unknown_command(&mut self, word: &str, now: Instant) {
        let number = word
            .split_ascii_whitespace()
            .last()
            .and_then(|word| word.strip_prefix("mk_"))
            .and_then(|digits| digits.parse::<u32>().ok());
        let Some(number) = number else {
            self.unknown_word(word, now);
            return;
        };
        // Everything before it was answered as well, even where its own answer got lost in noise.
        while let Some((marker, mark, at)) = self.markers.front().copied() {
            if marker > number {
                break;
            }
            self.markers.pop_front();
            match mark {
                Mark::SettingsDone => self.settings_done(now),
                Mark::ListsDone => self.lists_done(now),
                Mark::Ping => {
                    self.round_trip = Some(now.duration_since(at));
                    self.ping_misses = 0;
                }
            }
        }
    }

    /// Sends a word that is no command; its refusal shows that everything before was worked off.
    fn mark(&mut self, mark: Mark, now: Instant) {
        self.marker += 1;
        if self.markers.len() >= MARKERS_MAX {
            self.markers.pop_front();
        }
        self.markers.push_back((self.marker, mark, now));
        let lane = if mark == Mark::Ping {
            Lane::Control
        } else {
            Lane::Command
        };
        self.outbound.push(lane, &format!("mk_{}", self.marker));
    }

    fn ping_interval(&self) -> Duration {
        Duration::from_secs(if self.games.is_playing() {
            self.config.ping_playing_s
        } else {
            self.config.ping_idle_s
        })
    }

    fn ping_tick(&mut self, now: Instant) {
        if self.ping_at.is_none_or(|at| now < at) {
            return;
        }
        let outstanding = self.markers.iter().any(|(_, mark, _)| *mark == Mark::Ping);
        if outstanding {
            self.ping_misses += 1;
            if self.ping_misses >= PING_MISSES_MAX {
                self.ping_at = None;
                self.close("the server does not answer");
                return;
            }
        }
        self.mark(Mark::Ping, now);
        self.ping_at = Some(now + self.ping_interval());
    }

    /// The settings are through: ask for what concerns us.
    fn settings_done(&mut self, now: Instant) {
        if self.phase != Phase::Setup {
            return;
        }
        self.phase = Phase::Listing;
        self.adjourned.begin_listing();
        self.outbound.push(Lane::Command, "stored");
        if self.games.lost().is_some() {
            self.outbound.push(Lane::Command, "history");
        }
        self.mark(Mark::ListsDone, now);
        let online = AccountEvent::Online {
            name: PlayerName::new(self.own.handle.clone()),
            is_bot: self.own.computer,
        };
        self.outputs.push_back(Output::Account(online));
    }

    /// The server's lists are in: settle the game that the last connection lost, and tell the daemon.
    fn lists_done(&mut self, now: Instant) {
        if self.phase != Phase::Listing {
            return;
        }
        self.phase = Phase::Ready;
        self.phase_deadline = None;
        self.ping_at = Some(now + self.ping_interval());
        if let Some(lost) = self.games.take_lost() {
            self.settle(lost);
        }
        self.reconcile();
        self.seeks.allow(now);
        if self.quiesced {
            self.outbound.push(Lane::Command, "set open 0");
        }
    }

    fn settle(&mut self, lost: LostGame) {
        let end = self.adjourned.fate_of(&lost);
        self.outputs.push_back(Output::Game {
            id: lost.id.clone(),
            event: GameEvent::Ended(end.clone()),
        });
        self.outputs
            .push_back(Output::Account(AccountEvent::GameFinished {
                id: lost.id,
                end: Some(end),
            }));
    }

    /// Sends an event about the account. Before the first reconciliation it is left out: the snapshot says it all.
    fn account(&mut self, event: AccountEvent) {
        if self.phase == Phase::Ready {
            self.outputs.push_back(Output::Account(event));
        }
    }

    fn close(&mut self, words: &str) {
        self.outputs.push_back(Output::Close {
            words: words.to_owned(),
        });
    }

    fn offer_context(&self, computer: bool) -> translate::OfferContext<'_> {
        translate::OfferContext {
            own: &self.own.handle,
            computer,
            rated_closed: self.own.unregistered
                || (self.config.computer_required && !self.own.computer),
            kinds: &self.config.variants,
            noescape: self.config.noescape,
        }
    }
}
