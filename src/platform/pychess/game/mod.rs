//! One game: keeps its stream, sends its commands, finds out how it ended.
//!
//! Three facts of the server shape this file. A move that arrives once too often can lose the game, so a move is sent only onto a
//! board that was seen unchanged, one at a time, and never again before another look. The stream of a game is locked for some
//! seconds after it broke, so the game's public page serves as a second pair of eyes. And the stream tells neither how a game
//! ended nor that our resignation was noted, so the page is asked for that, too.

mod calls;
mod ends;
mod outbox;
mod owed;

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::game::{
    CommandFailure, CommandKind, GameCommand, GameEnd, GameEvent, GameResult, GameState,
    PlayerName, Termination,
};
use crate::platform::backoff::Backoff;
use crate::platform::error::{ErrorBody, PlatformError};
use crate::platform::http::{ByteStream, HttpClient};
use crate::platform::ndjson::{Frame, FrameError, FrameReader};
use crate::platform::verdict;
use crate::platform::{FAREWELL_MAX, GamePort};
use crate::rules::Move;

use self::calls::{Calls, Done, Look};
use self::outbox::Outbox;
use self::owed::{Doubt, Owed};
use super::Timing;
use super::listener::pause;
use super::page::GamePage;
use super::request::PathId;
use super::track::Track;
use super::translate::{self, KnownGame};
use super::wire::{self, GameLine};

/// Looks at the page for an end that was announced, or that our command must have caused.
const END_LOOKS_MAX: u32 = 4;

/// The server forgets games that end with fewer half-moves than this.
const KEPT_FROM_PLY: usize = 3;

/// What a game's task is made of.
#[derive(Debug)]
pub struct GameSetup {
    /// The account.
    pub http: HttpClient,
    /// The game.
    pub id: PathId,
    /// Our name, once the account is online. The server fails on a game's stream before the account's stream was open.
    pub us: watch::Receiver<Option<PlayerName>>,
    /// What was learnt before.
    pub known: KnownGame,
    /// Waits.
    pub timing: Timing,
    /// Seed for jitter.
    pub seed: u64,
}

/// The stream's state.
enum Link {
    /// Not open; the next attempt.
    Down(Instant),
    /// The request is under way.
    Opening,
    /// Open. `shown`: the game was shown on it; before that it may be locked by its predecessor.
    Up {
        reader: Box<FrameReader<ByteStream>>,
        since: Instant,
        shown: bool,
    },
    /// Not wanted any more.
    Closed,
}

/// Reasons to look at the game's page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wants {
    /// The end was announced: how did it end?
    end: bool,
    /// We resigned or aborted: did it end?
    closing: bool,
    /// The stream is refused: is there such a game?
    gone: bool,
    /// The session wants the whole state.
    resync: bool,
    /// Shuffled start or not?
    chess960: bool,
    /// Is the board still as we know it?
    verify: bool,
}

/// A game that we resigned or aborted and that has not ended yet.
#[derive(Debug)]
struct Closing {
    command: CommandKind,
    resigned: bool,
    answered: bool,
    looks: u32,
}

/// The task of one game.
pub struct GameTask {
    port: GamePort,
    calls: Calls,
    us: watch::Receiver<Option<PlayerName>>,
    our_name: PlayerName,
    known: KnownGame,
    timing: Timing,
    rng: SmallRng,
    backoff: Backoff,
    outbox: Outbox,
    link: Link,
    jobs: JoinSet<Done>,
    track: Option<Track>,
    state: Option<GameState>,
    /// When the known board was last seen to be the server's.
    seen_at: Option<Instant>,
    /// The game is of a kind that our rules do not know; looking again helps nothing.
    foreign: Option<String>,
    /// The newest state could not be read.
    unread: bool,
    /// A full state that waits for the page to tell whether the start is a shuffled one.
    undecided: Option<(Instant, wire::GameFull)>,
    owed: Option<Owed>,
    doubt: Option<Doubt>,
    playing: bool,
    unconfirmed: Option<(usize, Move)>,
    wants: Wants,
    looking: Option<Wants>,
    look_at: Instant,
    mismatches: u32,
    end_looks: u32,
    closing: Option<Closing>,
    first_attempt: Instant,
    finished_at: Option<Instant>,
    abandoned: bool,
}

impl std::fmt::Debug for GameTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GameTask")
            .field("id", &self.calls.id)
            .finish_non_exhaustive()
    }
}

impl GameTask {
    /// A game whose stream was not opened yet.
    pub fn new(setup: GameSetup, port: GamePort) -> GameTask {
        let now = Instant::now();
        GameTask {
            port,
            calls: Calls {
                http: setup.http,
                id: setup.id,
                timing: setup.timing,
            },
            us: setup.us,
            our_name: PlayerName::new(""),
            known: setup.known,
            timing: setup.timing,
            rng: SmallRng::seed_from_u64(setup.seed),
            backoff: Backoff::new(setup.timing.backoff),
            outbox: Outbox::default(),
            link: Link::Down(now),
            jobs: JoinSet::new(),
            track: None,
            state: None,
            seen_at: None,
            foreign: None,
            unread: false,
            undecided: None,
            owed: None,
            doubt: None,
            playing: false,
            unconfirmed: None,
            wants: Wants::default(),
            looking: None,
            look_at: now,
            mismatches: 0,
            end_looks: 0,
            closing: None,
            first_attempt: now,
            finished_at: None,
            abandoned: false,
        }
    }

    /// Runs until the game ended and its end was told, or the daemon drops the link.
    pub async fn run(mut self) {
        tokio::select! {
            name = self.us.wait_for(Option::is_some) => match name.map(|name| name.clone()) {
                Ok(Some(name)) => self.our_name = name,
                _ => return,
            },
            () = self.port.events.closed() => return,
        }
        self.first_attempt = Instant::now();
        self.link = Link::Down(self.first_attempt);
        let mut commands_open = true;
        let events = self.port.events.clone();
        while !self.abandoned {
            let deadline = self.next_deadline();
            tokio::select! {
                biased;
                permit = events.reserve(), if !self.outbox.is_empty() => match (permit, self.outbox.pop()) {
                    (Ok(permit), Some(event)) => permit.send(event),
                    _ => break,
                },
                () = events.closed(), if self.outbox.is_empty() => break,
                frame = next_frame(&mut self.link) => self.on_frame(frame),
                Some(done) = self.jobs.join_next(), if !self.jobs.is_empty() => match done {
                    Ok(done) => self.on_done(done),
                    Err(error) => warn!(id = %self.calls.id, %error, "a request of the game failed"),
                },
                command = self.port.commands.recv(), if commands_open && self.outbox.has_room() => match command {
                    Some(command) => self.on_command(command),
                    None => commands_open = false,
                },
                () = sleep_until(deadline) => self.on_time(Instant::now()),
            }
            let over = self
                .finished_at
                .is_some_and(|at| !commands_open || at.elapsed() >= self.timing.linger);
            if over && self.outbox.is_empty() && self.jobs.is_empty() {
                break;
            }
        }
        self.last_wishes().await;
    }

    /// Sends what the daemon asked for before it dropped the link.
    async fn last_wishes(mut self) {
        self.link = Link::Closed;
        while let Ok(command) = self.port.commands.try_recv() {
            match command {
                GameCommand::Say { .. } | GameCommand::Resign | GameCommand::Abort => {
                    self.on_command(command)
                }
                other => {
                    debug!(id = %self.calls.id, kind = ?other.kind(), "not sent: the game was left")
                }
            }
        }
        let rest = async { while self.jobs.join_next().await.is_some() {} };
        if tokio::time::timeout(self.timing.request.min(FAREWELL_MAX / 2), rest)
            .await
            .is_err()
        {
            info!(id = %self.calls.id, "requests were still under way when the game was left");
        }
        self.jobs.shutdown().await;
    }

    fn push(&mut self, event: GameEvent) {
        self.outbox.push(Instant::now(), event);
    }

    fn fail(&mut self, command: CommandKind, failure: CommandFailure) {
        self.push(GameEvent::Failed { command, failure });
    }

    fn refuse(&mut self, command: CommandKind, words: &str) {
        self.fail(
            command,
            CommandFailure::Refused {
                words: words.to_owned(),
            },
        );
    }

    // ---- time

    fn next_deadline(&self) -> Option<Instant> {
        let link = match &self.link {
            Link::Down(at) => Some(*at),
            Link::Up {
                since,
                shown: false,
                ..
            } => Some(*since + self.timing.first_line),
            _ => None,
        };
        let look =
            (self.wants != Wants::default() && self.looking.is_none()).then_some(self.look_at);
        let owed = self.owed.as_ref().and_then(Owed::deadline);
        // Once it has passed, only the daemon can end the task: by taking the last events or by dropping the link.
        let aftermath = self
            .finished_at
            .map(|at| at + self.timing.linger)
            .filter(|at| *at > Instant::now());
        [link, look, owed, aftermath].into_iter().flatten().min()
    }

    fn on_time(&mut self, now: Instant) {
        match &self.link {
            Link::Down(at) if *at <= now => {
                self.link = Link::Opening;
                self.jobs.spawn(self.calls.clone().open());
            }
            Link::Up {
                since,
                shown: false,
                ..
            } if *since + self.timing.first_line <= now => {
                debug!(id = %self.calls.id, "the stream shows no game; its predecessor still holds it");
                self.link = Link::Down(now + self.timing.locked);
                self.doubt_existence(now);
            }
            _ => {}
        }
        self.owed_on_time(now);
        if self.wants != Wants::default() && self.looking.is_none() && self.look_at <= now {
            self.looking = Some(std::mem::take(&mut self.wants));
            self.jobs.spawn(self.calls.clone().look());
        }
    }

    /// Asks for the page no earlier than `at`.
    fn look(&mut self, at: Instant, want: impl FnOnce(&mut Wants)) {
        if self.wants == Wants::default() {
            self.look_at = at;
        } else {
            // The most urgent reason decides, but a doubt is not settled too early: its reason looks again.
            self.look_at = self.look_at.min(at);
        }
        want(&mut self.wants);
    }

    fn doubt_existence(&mut self, now: Instant) {
        if self.first_attempt + self.timing.never_started <= now {
            self.look(now, |wants| wants.gone = true);
        }
    }

    // ---- the stream

    fn on_frame(&mut self, frame: Result<Frame, FrameError>) {
        let at = Instant::now();
        let line = match frame {
            Ok(Frame::Line(line)) => line,
            Ok(Frame::KeepAlive) => return,
            Ok(Frame::BadUtf8(bytes)) => {
                return self.lose_link(&format!("{bytes} bytes that are not UTF-8"), true);
            }
            Err(error) => {
                let ours = matches!(
                    error,
                    FrameError::Silent(_) | FrameError::Stalled(_) | FrameError::TooLong(_)
                );
                return self.lose_link(&error.to_string(), ours);
            }
        };
        match GameLine::parse(&line) {
            Ok(GameLine::Ping) => {}
            Ok(GameLine::GameFull(full)) if full.id == self.calls.id.as_str() => {
                self.on_full(at, full)
            }
            Ok(GameLine::GameFull(full)) => {
                warn!(id = %self.calls.id, other = full.id, "another game on this stream")
            }
            Ok(GameLine::GameState(state)) => self.on_state(at, &state),
            Ok(GameLine::ChatLine(line)) => self
                .outbox
                .push(at, GameEvent::Chatted(translate::chat(&line))),
            Ok(GameLine::GameEnd(_)) => self.on_end(),
            Ok(GameLine::Terminated) => self.lose_link("the server is stopping", false),
            Ok(GameLine::Other(kind)) => debug!(kind, "unknown line of a PyChess game"),
            // What was in it is unknown, so the whole state is needed again.
            Err(error) => {
                if wire::shows_state(&line) {
                    let again = std::mem::replace(&mut self.unread, true);
                    self.unreadable(error.to_string());
                    if let Link::Up { shown, .. } = &mut self.link
                        && again
                    {
                        // Opening it once more would show the same, and only while it is open does the server let us go.
                        *shown = true;
                        return;
                    }
                }
                self.lose_link(&error.to_string(), true);
            }
        }
    }

    /// `ours`: we close it although the server may believe in it, so it will be locked at first.
    fn lose_link(&mut self, words: &str, ours: bool) {
        let now = Instant::now();
        let shown = matches!(self.link, Link::Up { shown: true, .. });
        info!(id = %self.calls.id, words, "the game's stream is lost");
        let mut wait = self.backoff.failed(now, &mut self.rng);
        if ours || !shown {
            wait = wait.max(self.timing.locked);
        }
        self.link = Link::Down(now + wait);
        if shown {
            self.outbox.push(now, GameEvent::LinkLost);
        } else {
            self.doubt_existence(now);
        }
        self.send_owed(now);
    }

    fn on_opened(&mut self, result: Result<FrameReader<ByteStream>, PlatformError>) {
        if !matches!(self.link, Link::Opening) {
            return;
        }
        let now = Instant::now();
        let error = match result {
            Ok(reader) => {
                self.link = Link::Up {
                    reader: Box::new(reader),
                    since: now,
                    shown: false,
                };
                return;
            }
            Err(error) => error,
        };
        info!(id = %self.calls.id, %error, "the game's stream cannot be opened");
        let plain = error
            .refusal()
            .is_some_and(|refusal| !matches!(refusal.body, ErrorBody::Html(_)));
        if plain && matches!(error.status(), Some(401 | 403)) {
            warn!(id = %self.calls.id, "the server says that this game is not ours");
            self.abandoned = true;
            return;
        }
        if matches!(error.status(), Some(400..=499)) {
            self.look(now, |wants| wants.gone = true);
        }
        let wait = self.backoff.failed(now, &mut self.rng).max(pause(&error));
        self.link = Link::Down(now + wait);
    }

    fn on_full(&mut self, at: Instant, full: wire::GameFull) {
        if let Link::Up { shown, .. } = &mut self.link {
            *shown = true;
        }
        self.backoff.connected(at);
        let custom = translate::initial_fen(full.initial_fen.as_deref()).is_some();
        if self.known.chess960.is_none() && custom {
            self.undecided = Some((at, full));
            return self.look(at, |wants| wants.chess960 = true);
        }
        self.take_full(at, &full);
    }

    fn take_full(&mut self, at: Instant, full: &wire::GameFull) {
        self.undecided = None;
        match translate::game_start(full, &self.known, &self.our_name) {
            Ok((start, notation)) => {
                let state = translate::game_state(&full.state);
                // What a running game shows of its clock is a guess that only the first look should make.
                self.known.time_control = Some(start.time_control);
                let mut track = Track::new(start, notation);
                track.update(&state.moves);
                self.outbox.full(at, track.start(), state.clone());
                self.track = Some(track);
                self.take_state(at, state);
            }
            Err(error @ translate::TranslateError::UnknownVariant(_)) => {
                let words = error.to_string();
                self.foreign = Some(words.clone());
                self.unreadable(words);
            }
            Err(error) => {
                warn!(id = %self.calls.id, %error, "the game is left");
                self.abandoned = true;
            }
        }
    }

    /// The session decides what becomes of a game that cannot be read.
    fn unreadable(&mut self, words: String) {
        warn!(id = %self.calls.id, words, "the state of the game cannot be read");
        self.push(GameEvent::Unreadable { words });
    }

    fn on_state(&mut self, at: Instant, state: &wire::GameState) {
        // What was queued before the stream was opened comes first; the whole game follows it.
        if !matches!(self.link, Link::Up { shown: true, .. }) {
            return;
        }
        if let Some((_, full)) = &mut self.undecided {
            full.state = state.clone();
            return;
        }
        let state = translate::game_state(state);
        let Some(track) = &mut self.track else { return };
        track.update(&state.moves);
        self.outbox.state(at, track.start(), state.clone());
        self.take_state(at, state);
    }

    /// Common to both: what the new state means for what we owe.
    fn take_state(&mut self, at: Instant, state: GameState) {
        if self
            .unconfirmed
            .is_some_and(|(ply, _)| ply < state.moves.len())
        {
            self.unconfirmed = None;
        }
        self.unread = false;
        self.state = Some(state);
        self.seen(at);
    }

    /// The known board is the server's now.
    fn seen(&mut self, at: Instant) {
        self.seen_at = Some(at);
        self.mismatches = 0;
        self.settle_owed();
        self.send_owed(at);
    }

    // ---- looks at the page

    fn on_looked(&mut self, look: Look) {
        let wants = self.looking.take().unwrap_or_default();
        if self.finished_at.is_some() {
            return;
        }
        let now = Instant::now();
        match look {
            Look::Page(page) => {
                if let Some(end) = translate::end_of_page(&page) {
                    return self.finish(verdict::complete(end, self.end_by_rules()));
                }
                self.on_running_page(now, wants, &page);
            }
            Look::Missing
                if wants.closing
                    && self.track.is_none()
                    && self
                        .closing
                        .as_ref()
                        .is_some_and(|closing| closing.answered) =>
            {
                self.finish(GameEnd {
                    result: GameResult::NoResult,
                    termination: Termination::Aborted,
                    words: "left before it was understood; the server does not keep it".to_owned(),
                });
            }
            Look::Missing if wants.gone && self.track.is_none() => {
                if self.first_attempt + self.timing.never_started <= now {
                    let words =
                        "the server accepted the challenge and never made the game".to_owned();
                    self.finish(GameEnd {
                        result: GameResult::NoResult,
                        termination: Termination::NoStart,
                        words,
                    });
                }
            }
            Look::Missing if wants.gone => {
                self.finish_by_rules("the server does not know the game any more")
            }
            Look::Missing if wants.end && self.moves_known() < KEPT_FROM_PLY => {
                self.finish(GameEnd {
                    result: GameResult::NoResult,
                    termination: Termination::NoStart,
                    words: "over before it counted; the server does not keep it".to_owned(),
                });
            }
            Look::Missing => self.on_blind(now, wants, "no such page"),
            Look::Blind(words) => self.on_blind(now, wants, &words),
        }
    }

    fn on_running_page(&mut self, now: Instant, wants: Wants, page: &GamePage) {
        if wants.chess960
            && let Some((at, full)) = self.undecided.take()
        {
            self.known.chess960 = page.chess960;
            self.take_full(at, &full);
        }
        if wants.resync || wants.verify {
            self.compare(now, wants, page);
        }
        self.look_for_the_end(now, wants);
    }

    /// Without the page: each reason has its fallback.
    fn on_blind(&mut self, now: Instant, wants: Wants, words: &str) {
        debug!(id = %self.calls.id, words, "the game's page cannot be read");
        if wants.chess960
            && let Some((at, full)) = self.undecided.take()
        {
            self.take_full(at, &full);
        }
        if wants.resync {
            self.reopen(now);
        } else if wants.verify && self.owed.is_some() {
            self.look(now + self.timing.look_gap * 2, |wants| wants.verify = true);
        }
        self.look_for_the_end(now, wants);
    }

    fn compare(&mut self, now: Instant, wants: Wants, page: &GamePage) {
        let (Some(track), Some(state)) = (&self.track, &self.state) else {
            return;
        };
        if track.matches(page) {
            if wants.resync {
                self.outbox.full(now, track.start(), state.clone());
            }
            return self.seen(now);
        }
        // Perhaps the state is just on its way to us.
        self.mismatches += 1;
        if self.mismatches <= 1 {
            return self.look(now + self.timing.look_gap, |next| {
                next.resync |= wants.resync;
                next.verify |= wants.verify;
            });
        }
        self.mismatches = 0;
        self.reopen(now);
    }

    /// Opens the stream anew, since what it showed is not what the server has.
    fn reopen(&mut self, now: Instant) {
        if matches!(self.link, Link::Up { .. }) {
            self.link = Link::Down(now);
        }
    }

    // ---- commands

    fn on_done(&mut self, done: Done) {
        match done {
            Done::Opened(result) => self.on_opened(result),
            Done::Looked(look) => self.on_looked(look),
            Done::Played { ply, result } => self.on_played(ply, result),
            Done::Sent {
                command: CommandKind::Say,
                result,
            } => match result {
                Ok(took) => self.push(GameEvent::Accepted {
                    command: CommandKind::Say,
                    took,
                }),
                Err(error) => {
                    debug!(id = %self.calls.id, %error, "chat was not delivered");
                    self.fail(CommandKind::Say, CommandFailure::NotSent);
                }
            },
            Done::Sent { command, result } => self.on_controlled(command, result),
        }
    }

    fn on_controlled(&mut self, command: CommandKind, result: Result<Duration, PlatformError>) {
        let answered = result.is_ok();
        if let Some(closing) = &mut self.closing {
            closing.answered = true;
            closing.resigned &= answered;
        }
        match result {
            Ok(took) => self.push(GameEvent::Accepted { command, took }),
            Err(error) => {
                warn!(id = %self.calls.id, ?command, %error, "not taken");
                let failure = match error.status() {
                    Some(400..=499) => CommandFailure::Refused {
                        words: error.to_string(),
                    },
                    _ => CommandFailure::Unanswered,
                };
                self.fail(command, failure);
            }
        }
        if self.finished_at.is_none() {
            let at = Instant::now() + self.timing.echo / 3;
            self.look(at, |wants| wants.closing = true);
        }
    }

    fn on_command(&mut self, command: GameCommand) {
        let kind = command.kind();
        match command {
            GameCommand::Say { room, text } => {
                self.jobs
                    .spawn(self.calls.clone().say(translate::room_word(room), text));
            }
            _ if self.finished_at.is_some() => self.fail(kind, CommandFailure::NotSent),
            GameCommand::Play(play) => self.on_play(play),
            GameCommand::Resign | GameCommand::Abort => {
                if self.closing.is_some() {
                    return debug!(id = %self.calls.id, "the game is being closed already");
                }
                // Nothing may be played any more: the server would take it.
                self.owed = None;
                let resigned = kind == CommandKind::Resign;
                self.closing = Some(Closing {
                    command: kind,
                    resigned,
                    answered: false,
                    looks: 0,
                });
                let (calls, seed) = (self.calls.clone(), self.rng.random());
                if resigned {
                    self.jobs.spawn(calls.resign(seed));
                } else {
                    self.jobs.spawn(calls.abort(seed));
                }
            }
            GameCommand::Resync if self.foreign.is_some() => {
                let words = self.foreign.clone().unwrap_or_default();
                self.unreadable(words);
            }
            GameCommand::Resync => {
                let now = Instant::now();
                let at = self.doubt.map_or(now, |doubt| doubt.until.max(now));
                self.look(at, |wants| wants.resync = true);
            }
            GameCommand::OfferDraw | GameCommand::Answer { .. } => {
                self.refuse(kind, "PyChess passes no offers between humans and bots");
            }
            GameCommand::ClaimVictory | GameCommand::ClaimDraw | GameCommand::CallFlag => {
                self.refuse(kind, "PyChess decides this by itself");
            }
        }
    }
}

/// The next frame, or never while there is no open stream. Cancel safe, as the reader is.
async fn next_frame(link: &mut Link) -> Result<Frame, FrameError> {
    match link {
        Link::Up { reader, .. } => reader.next().await,
        _ => std::future::pending().await,
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
