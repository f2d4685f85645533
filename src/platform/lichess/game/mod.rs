//! The actor of one game: its stream, the move that is owed, and the sole right to send for this game.
//!
//! One loop takes whatever comes first: bytes of the stream, a command of the session, the answer to a request, a timer.
//! Commands are served while the stream is down as well, since the way out often works when the way in does not.

mod link;
mod requests;

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rand::rngs::SmallRng;
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::link::{Link, LinkInput};
use self::requests::{Done, Pending};
use super::api::Api;
use super::translate::game::{Background, chat, full, state};
use super::translate::{outgoing, seconds};
use super::{Timing, wire};
use crate::game::{
    CommandFailure, CommandKind, GameCommand, GameEnd, GameEvent, GameId, GameState, PlayMove,
    Status, TimeControl,
};
use crate::platform::backoff::{Backoff, BackoffConfig};
use crate::platform::error::{PlatformError, Recovery};
use crate::platform::ndjson::Frame;
use crate::platform::{GamePort, Received};
use crate::rules::Color;

/// How long the session may take to make room for an event before the stream is closed in its stead.
const EVENT_PATIENCE: Duration = Duration::from_secs(2);
/// Without a request for the whole state after an unanswered move, the actor looks by itself after this time.
const LOOK_AFTER: Duration = Duration::from_millis(300);
/// A finish notice of the event stream counts if our own stream has not shown the end by then.
const NOTICE_GRACE: Duration = Duration::from_secs(3);
/// "No such game" is believed after so many answers in a row and a look at the list of games.
const UNKNOWN_GAME_ANSWERS: u32 = 3;
/// After a state that could not be read the actor looks by itself after this time; the session usually asks sooner.
const UNREADABLE_PAUSE: Duration = Duration::from_secs(5);
/// Requests of one game on the way.
const MAX_REQUESTS: usize = 16;
/// Chat lines of one game on the way: more are not sent.
const MAX_CHATS: usize = 4;

/// What the actor of the account tells this one.
#[derive(Debug)]
pub(super) enum ToGame {
    /// The event stream says that the game is over.
    Finished(GameEnd),
}

/// What this actor tells the account's.
#[derive(Debug)]
pub(super) enum FromGame {
    /// A request met a limit, or the account cannot be used any more.
    Trouble(PlatformError),
}

/// What a game's actor is made with.
pub(super) struct Terms {
    pub api: Api,
    pub id: GameId,
    pub own_id: String,
    pub background: Background,
    pub timing: Timing,
    pub rng: SmallRng,
}

/// The move that is owed.
#[derive(Debug)]
struct Owed {
    ply: usize,
    uci: String,
    offer_draw: bool,
    attempts: u32,
    phase: Phase,
    /// A refusal that came after a repetition: it may mean that the first attempt arrived.
    refused: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// On the way.
    Sent,
    /// To be sent at this moment.
    At(Instant),
    /// To be sent once a fresh full state shows that it has not arrived.
    AfterLook,
    /// The platform said yes at this moment. It is not believed before the stream shows the move.
    Answered(Instant),
}

/// Whether a fresh full state is needed. While it is, no move leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    NotNeeded,
    /// A move stayed unanswered; the state is asked for at this moment, unless the session asks sooner.
    Wanted(Instant),
    /// The stream is being opened anew, and was closed after the need arose.
    Asked,
}

/// What the stream last showed.
#[derive(Debug)]
struct Known {
    plies: usize,
    color: Color,
    timed: bool,
    /// Our bank, and when it was read.
    our_time: Option<(Duration, Instant)>,
}

struct Actor {
    terms: Terms,
    port: GamePort,
    inbox: mpsc::Receiver<ToGame>,
    outbox: mpsc::Sender<FromGame>,
    link: Link,
    /// When the request for the present stream left.
    asked: Instant,
    backoff: Backoff,
    unknown_answers: u32,
    known: Option<Known>,
    owed: Option<Owed>,
    look: Look,
    /// Since this moment it is not known whether a move of ours arrived.
    doubt: Option<Instant>,
    pending: FuturesUnordered<Pending>,
    chats: usize,
    /// The opponent was reported as gone, last at this moment.
    gone: Option<Instant>,
    notice: Option<(Instant, GameEnd)>,
    ended: Option<Instant>,
    /// An end that the session has not taken yet. It is offered until it is taken, since nothing can bring it back.
    last_word: Option<Received<GameEvent>>,
    commands_closed: bool,
    session_gone: bool,
}

/// Plays one game's part of the interface until its end or until the session drops its link.
pub(super) async fn run(
    terms: Terms,
    port: GamePort,
    inbox: mpsc::Receiver<ToGame>,
    outbox: mpsc::Sender<FromGame>,
) -> GameId {
    let id = terms.id.clone();
    let cap = terms.timing.game_backoff_cap;
    let config = BackoffConfig {
        base: Duration::from_millis(100),
        cap,
        healthy_after: Duration::from_secs(1),
    };
    let mut actor = Actor {
        backoff: Backoff::new(config),
        terms,
        port,
        inbox,
        outbox,
        link: Link::Waiting(Instant::now()),
        asked: Instant::now(),
        unknown_answers: 0,
        known: None,
        owed: None,
        look: Look::NotNeeded,
        doubt: None,
        pending: FuturesUnordered::new(),
        chats: 0,
        gone: None,
        notice: None,
        ended: None,
        last_word: None,
        commands_closed: false,
        session_gone: false,
    };
    while !actor.is_done() {
        actor.turn().await;
    }
    id
}

enum Input {
    Link(LinkInput),
    Command(Option<GameCommand>),
    Done(Box<Done>),
    Account(Option<ToGame>),
    /// The session has room for the last word, or is gone.
    Room(bool),
    Timer,
}

impl Actor {
    fn is_done(&self) -> bool {
        let idle = self.pending.is_empty();
        let lingered = self.last_word.is_none()
            && self
                .ended
                .is_some_and(|at| at.elapsed() >= self.terms.timing.linger);
        self.session_gone || lingered || (self.commands_closed && idle)
    }

    /// Waits for one thing and deals with it.
    async fn turn(&mut self) {
        let timer = self.next_timer();
        let input = {
            let api = &self.terms.api;
            let (link, pending, id) = (&mut self.link, &mut self.pending, &self.terms.id);
            let (events, unsaid) = (&self.port.events, self.last_word.is_some());
            tokio::select! {
                biased;
                room = events.reserve(), if unsaid => Input::Room(room.is_ok()),
                Some(done) = pending.next(), if !pending.is_empty() => Input::Done(Box::new(done)),
                command = self.port.commands.recv(), if !self.commands_closed => Input::Command(command),
                input = link.next(api, id.as_str(), self.terms.timing.frames()) => Input::Link(input),
                message = self.inbox.recv() => Input::Account(message),
                () = sleep_until(timer), if timer.is_some() => Input::Timer,
            }
        };
        match input {
            Input::Link(input) => self.on_link(input).await,
            Input::Command(Some(command)) => self.on_command(command).await,
            Input::Command(None) => self.commands_closed = true,
            Input::Done(done) => self.on_done(*done).await,
            Input::Account(Some(ToGame::Finished(end))) => {
                self.notice
                    .get_or_insert((Instant::now() + NOTICE_GRACE, end));
            }
            // The account's actor is gone, and this one is about to be joined.
            Input::Account(None) => self.session_gone = true,
            Input::Room(open) => self.say_last_word(open),
            Input::Timer => self.on_timer().await,
        }
    }

    fn say_last_word(&mut self, open: bool) {
        let Some(word) = self.last_word.take() else {
            return;
        };
        match self.port.events.try_send(word) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(word)) if open => self.last_word = Some(word),
            Err(_) => self.session_gone = true,
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let owed = self.owed.as_ref().and_then(|owed| match owed.phase {
            Phase::At(at) => Some(at),
            Phase::Sent | Phase::AfterLook | Phase::Answered(_) => None,
        });
        let gone = self.gone.map(|at| at + self.terms.timing.absence_lapses);
        let notice = self
            .notice
            .as_ref()
            .filter(|_| self.ended.is_none())
            .map(|(at, _)| *at);
        let linger = self.ended.map(|at| at + self.terms.timing.linger);
        let look = match self.look {
            Look::Wanted(at) => Some(at),
            Look::NotNeeded | Look::Asked => None,
        };
        [owed, gone, notice, linger, look]
            .into_iter()
            .flatten()
            .min()
    }

    async fn on_timer(&mut self) {
        let now = Instant::now();
        if matches!(self.look, Look::Wanted(at) if at <= now) {
            self.look_anew(Duration::ZERO);
        }
        if self
            .gone
            .is_some_and(|at| at + self.terms.timing.absence_lapses <= now)
        {
            // The platform does not always tell of a return, but it repeats an absence.
            self.gone = None;
            self.emit(GameEvent::OpponentReturned, now).await;
        }
        if let Some((_, end)) = self.notice.take_if(|(at, _)| *at <= now)
            && self.ended.is_none()
        {
            self.emit(GameEvent::Ended(end), now).await;
            self.end(now);
        }
        if self
            .owed
            .as_ref()
            .is_some_and(|owed| matches!(owed.phase, Phase::At(at) if at <= now))
        {
            self.send_owed();
        }
    }

    fn end(&mut self, now: Instant) {
        self.ended.get_or_insert(now);
        self.owed = None;
        self.look = Look::NotNeeded;
        self.doubt = None;
        self.gone = None;
        self.link = Link::Closed;
    }

    /// Asks for a fresh full state by opening the stream anew.
    fn look_anew(&mut self, pause: Duration) {
        // Asked already, and not answered yet: the answer will be fresh enough.
        if self.ended.is_some() || self.look == Look::Asked {
            return;
        }
        self.look = Look::Asked;
        self.link = Link::Waiting(Instant::now() + pause);
    }

    /// Hands an event to the session. If it does not take it in time, the stream is closed and a full state will follow.
    async fn emit(&mut self, event: GameEvent, at: Instant) {
        let is_chat = matches!(event, GameEvent::Chatted(_));
        let received = Received { at, event };
        let received = match self.port.events.try_send(received) {
            Ok(()) => return,
            Err(mpsc::error::TrySendError::Closed(_)) => {
                self.session_gone = true;
                return;
            }
            Err(mpsc::error::TrySendError::Full(_)) if is_chat => return,
            Err(mpsc::error::TrySendError::Full(received)) => received,
        };
        match tokio::time::timeout(EVENT_PATIENCE, self.port.events.reserve()).await {
            Ok(Ok(room)) => room.send(received),
            Ok(Err(_)) => self.session_gone = true,
            Err(_) if is_end(&received.event) => {
                tracing::warn!(game = %self.terms.id, "the session does not take the end of the game; it will be offered until it does");
                self.last_word = Some(received);
            }
            Err(_) => {
                tracing::warn!(game = %self.terms.id, "the session does not take events in time; its state will be sent anew");
                self.known = None;
                if self.ended.is_none() {
                    self.look = Look::Asked;
                    self.link = Link::Waiting(Instant::now() + Duration::from_millis(200));
                }
            }
        }
    }

    async fn on_link(&mut self, input: LinkInput) {
        let now = Instant::now();
        match input {
            LinkInput::Opened { asked } => {
                self.asked = asked;
                self.backoff.connected(now);
                self.unknown_answers = 0;
            }
            LinkInput::NotOpened(error) => self.on_not_opened(error, now).await,
            LinkInput::Frame(Frame::KeepAlive) => {}
            LinkInput::Frame(Frame::BadUtf8(bytes)) => {
                tracing::warn!(game = %self.terms.id, bytes, "a line of the game's stream is not UTF-8");
                self.lost(now).await;
            }
            LinkInput::Frame(Frame::Line(line)) => self.on_line(&line, now).await,
            LinkInput::Broken(error) => {
                tracing::info!(game = %self.terms.id, %error, "the game's stream is gone");
                self.lost(now).await;
            }
        }
    }

    /// The stream is gone: tell the session, come back after a pause. Nothing is concluded from it.
    async fn lost(&mut self, now: Instant) {
        let pause = self.backoff.failed(now, &mut self.terms.rng);
        self.link = Link::Waiting(now + pause);
        self.emit(GameEvent::LinkLost, now).await;
    }

    async fn on_not_opened(&mut self, error: PlatformError, now: Instant) {
        let recovery = error.recovery();
        tracing::info!(game = %self.terms.id, %error, "the game's stream was not opened");
        let pause = self.backoff.failed(now, &mut self.terms.rng);
        let attempt = self.backoff.attempts();
        self.link = Link::Waiting(now + pause);
        match recovery {
            Recovery::StopAccount => {
                self.trouble(error);
                self.link = Link::Waiting(now + Duration::from_secs(10));
            }
            Recovery::WaitUntil { .. } => {
                let pause = requests::own_pause(&error, attempt, &self.terms.timing);
                self.link = Link::Waiting(now + pause);
                self.trouble(error);
            }
            Recovery::GiveUpGame => self.on_unknown_game(error.to_string(), now).await,
            Recovery::Retry | Recovery::Resync | Recovery::GiveUpRequest => {}
        }
    }

    /// The platform says that there is no such game. It is believed when the list of our games agrees.
    async fn on_unknown_game(&mut self, words: String, now: Instant) {
        self.unknown_answers += 1;
        if self.unknown_answers < UNKNOWN_GAME_ANSWERS {
            return;
        }
        let Ok(playing) = self.terms.api.playing().await else {
            return;
        };
        if playing
            .now_playing
            .iter()
            .any(|game| game.id() == Some(self.terms.id.as_str()))
        {
            self.unknown_answers = 0;
            return;
        }
        tracing::error!(game = %self.terms.id, %words, "the platform does not know this game, or it is not ours");
        match self.notice.take() {
            Some((_, end)) => {
                self.emit(GameEvent::Ended(end), now).await;
                self.end(now);
            }
            // Closing the events without an end says exactly what is known.
            None => self.session_gone = true,
        }
    }

    async fn on_line(&mut self, line: &str, now: Instant) {
        let parsed = match wire::parse_game(line) {
            Ok(parsed) => parsed,
            Err(error) => {
                // It may have held the opponent's move, so the state is fetched anew.
                tracing::warn!(game = %self.terms.id, %error, "an unreadable line on the game's stream");
                if error.is_of_a_state() {
                    self.unreadable(error.to_string(), now).await;
                }
                return self.lost(now).await;
            }
        };
        match parsed {
            wire::GameLine::Full(line) => {
                match full(&line, &self.terms.own_id, &self.terms.background) {
                    Ok((start, state)) => {
                        let timed = start.time_control != TimeControl::Unlimited;
                        self.gone = None;
                        self.note_state(&state, start.color, timed, now);
                        let ended = matches!(state.status, Status::Ended(_));
                        self.emit(
                            GameEvent::Full {
                                start: Box::new(start),
                                state,
                            },
                            now,
                        )
                        .await;
                        self.after_look().await;
                        if ended {
                            self.end(now);
                        }
                    }
                    Err(error) if error.is_of_another_game() => {
                        tracing::error!(game = %self.terms.id, %error, "the game's stream shows another game");
                        self.session_gone = true;
                    }
                    Err(error) => self.unreadable(error.to_string(), now).await,
                }
            }
            wire::GameLine::State(line) => {
                let Some(known) = &self.known else {
                    tracing::warn!(game = %self.terms.id, "a state came before the full state");
                    return self.lost(now).await;
                };
                let (color, timed) = (known.color, known.timed);
                let state = state(&line, timed);
                self.note_state(&state, color, timed, now);
                let ended = matches!(state.status, Status::Ended(_));
                self.emit(GameEvent::State(state), now).await;
                if ended {
                    self.end(now);
                }
            }
            wire::GameLine::Chat(line) => self.emit(GameEvent::Chatted(chat(&line)), now).await,
            wire::GameLine::OpponentGone(line) if line.gone => {
                self.gone = Some(now);
                let claimable_in = line.claim_win_in_seconds.map(seconds);
                self.emit(GameEvent::OpponentLeft { claimable_in }, now)
                    .await;
            }
            wire::GameLine::OpponentGone(_) => {
                self.gone = None;
                self.emit(GameEvent::OpponentReturned, now).await;
            }
            wire::GameLine::Error(words) => {
                tracing::warn!(game = %self.terms.id, %words, "the game's stream was refused after all");
                self.lost(now).await;
            }
            wire::GameLine::Unknown(kind) => {
                tracing::debug!(game = %self.terms.id, %kind, "an unknown kind of line on the game's stream");
            }
        }
    }

    /// The session decides what becomes of a game that cannot be read; it may look again at once.
    async fn unreadable(&mut self, words: String, now: Instant) {
        tracing::error!(game = %self.terms.id, words, "the state of the game cannot be read");
        // No move leaves before a state could be read, but nobody need wait for the answer that this one was.
        self.look = Look::Wanted(now + UNREADABLE_PAUSE);
        self.emit(GameEvent::Unreadable { words }, now).await;
    }

    fn note_state(&mut self, state: &GameState, color: Color, timed: bool, now: Instant) {
        let plies = state.moves.len();
        let our_time = state.clocks.map(|clocks| (clocks.of(color), now));
        self.known = Some(Known {
            plies,
            color,
            timed,
            our_time,
        });
        // Another ply, more or fewer: the debt is paid, or the move is for a position that is no more.
        if self.owed.as_ref().is_some_and(|owed| owed.ply != plies) {
            self.owed = None;
        }
    }

    /// A fresh full state is there: moves that waited for it may leave.
    async fn after_look(&mut self) {
        // If the session did not take the state, another one will come.
        if self.known.is_none() {
            return;
        }
        self.look = Look::NotNeeded;
        if self.doubt.is_some_and(|since| self.asked < since) {
            // It was asked for before the doubt arose, so it proves nothing.
            return self.look_anew(Duration::ZERO);
        }
        self.doubt = None;
        let Some(owed) = &mut self.owed else { return };
        match owed.phase {
            Phase::AfterLook => {}
            // This state is younger than the platform's yes, and lacks the move: the session may send it again.
            Phase::Answered(at) if at <= self.asked => {
                self.owed = None;
                return;
            }
            Phase::Answered(_) | Phase::Sent | Phase::At(_) => return,
        }
        if let Some(words) = owed.refused.take() {
            let command = CommandKind::Play { ply: owed.ply };
            self.owed = None;
            let failure = CommandFailure::Refused { words };
            return self
                .emit(GameEvent::Failed { command, failure }, Instant::now())
                .await;
        }
        self.send_owed();
    }

    async fn on_command(&mut self, command: GameCommand) {
        match command {
            GameCommand::Play(play) => self.on_play(&play).await,
            GameCommand::Resync => self.look_anew(Duration::ZERO),
            GameCommand::CallFlag => {
                let failure = CommandFailure::Refused {
                    words: "the platform calls flags by itself".to_owned(),
                };
                self.emit(
                    GameEvent::Failed {
                        command: CommandKind::CallFlag,
                        failure,
                    },
                    Instant::now(),
                )
                .await;
            }
            GameCommand::Say { room, text } => self.on_say(room, &text).await,
            other => match requests::Control::of(&other) {
                Some(control) if self.pending.len() < MAX_REQUESTS => {
                    let (api, id) = (self.terms.api.clone(), self.terms.id.clone());
                    let timing = self.terms.timing;
                    self.pending
                        .push(requests::control(api, id, other.kind(), control, timing));
                }
                _ => {
                    let failure = CommandFailure::NotSent;
                    self.emit(
                        GameEvent::Failed {
                            command: other.kind(),
                            failure,
                        },
                        Instant::now(),
                    )
                    .await;
                }
            },
        }
    }

    async fn on_say(&mut self, room: crate::game::ChatRoom, text: &str) {
        let lines = outgoing::chat_lines(text);
        if lines.is_empty() || self.chats >= MAX_CHATS || self.pending.len() >= MAX_REQUESTS {
            let failure = CommandFailure::NotSent;
            return self
                .emit(
                    GameEvent::Failed {
                        command: CommandKind::Say,
                        failure,
                    },
                    Instant::now(),
                )
                .await;
        }
        self.chats += 1;
        let (api, id) = (self.terms.api.clone(), self.terms.id.clone());
        self.pending.push(requests::say(api, id, room, lines));
    }

    async fn on_play(&mut self, play: &PlayMove) {
        if self.ended.is_some() {
            return;
        }
        if let Some(owed) = &self.owed
            && owed.ply == play.ply
        {
            // The chosen move stays: a repetition can never become a second, different move for one ply.
            return;
        }
        if self
            .known
            .as_ref()
            .is_some_and(|known| known.plies != play.ply)
        {
            let (command, failure) = (CommandKind::Play { ply: play.ply }, CommandFailure::NotSent);
            return self
                .emit(GameEvent::Failed { command, failure }, Instant::now())
                .await;
        }
        let looking = self.look != Look::NotNeeded && self.known.is_some();
        let phase = if looking {
            Phase::AfterLook
        } else {
            Phase::At(Instant::now())
        };
        self.owed = Some(Owed {
            ply: play.ply,
            uci: outgoing::uci(play),
            offer_draw: play.offer_draw,
            attempts: 0,
            phase,
            refused: None,
        });
        if phase != Phase::AfterLook {
            self.send_owed();
        }
    }

    fn send_owed(&mut self) {
        let deadline = self.move_deadline();
        let Some(owed) = &mut self.owed else { return };
        owed.attempts += 1;
        owed.phase = Phase::Sent;
        let (api, id) = (self.terms.api.clone(), self.terms.id.clone());
        self.pending.push(requests::play(
            api,
            id,
            owed.ply,
            owed.uci.clone(),
            owed.offer_draw,
            deadline,
        ));
    }

    /// At most half of what is left on our clock, so that there is time for a second attempt.
    fn move_deadline(&self) -> Duration {
        let longest = self.terms.timing.move_deadline;
        match self.known.as_ref().and_then(|known| known.our_time) {
            Some((bank, at)) => {
                let left = bank.saturating_sub(at.elapsed());
                (left / 2).clamp(Duration::from_millis(700).min(longest), longest)
            }
            None => longest,
        }
    }

    async fn on_done(&mut self, done: Done) {
        let now = Instant::now();
        if matches!(done.command, CommandKind::Say) {
            self.chats = self.chats.saturating_sub(1);
        }
        let error = match done.result {
            Ok(took) => {
                if let Some(owed) = &mut self.owed
                    && owed.phase == Phase::Sent
                    && matches!(done.command, CommandKind::Play { ply } if ply == owed.ply && done.uci == owed.uci)
                {
                    owed.phase = Phase::Answered(now);
                }
                return self
                    .emit(
                        GameEvent::Accepted {
                            command: done.command,
                            took,
                        },
                        now,
                    )
                    .await;
            }
            Err(error) => error,
        };
        tracing::info!(game = %self.terms.id, %error, "a request of the game did not succeed");
        if matches!(
            error.recovery(),
            Recovery::StopAccount | Recovery::WaitUntil { .. }
        ) {
            self.trouble(error.clone());
        }
        match done.command {
            CommandKind::Play { ply } => self.on_move_failed(ply, &done.uci, error, now).await,
            command => {
                let failure = requests::failure(&error);
                self.emit(GameEvent::Failed { command, failure }, now).await;
            }
        }
    }

    async fn on_move_failed(&mut self, ply: usize, uci: &str, error: PlatformError, now: Instant) {
        // The stream has shown the ply meanwhile, or the move belongs to a line of play that was taken back.
        let current = self
            .owed
            .as_mut()
            .filter(|owed| owed.ply == ply && owed.uci == uci && owed.phase == Phase::Sent);
        let Some(owed) = current else { return };
        let attempts = owed.attempts;
        let command = CommandKind::Play { ply };
        let unanswered = matches!(
            error,
            PlatformError::Unanswered { .. } | PlatformError::Unreadable { .. }
        );
        match error.recovery() {
            // It did not leave, or was turned away at the door: the same again.
            Recovery::Retry => owed.phase = Phase::At(now + requests::retry_pause(attempts)),
            Recovery::WaitUntil { .. } => {
                owed.phase =
                    Phase::At(now + requests::own_pause(&error, attempts, &self.terms.timing));
            }
            Recovery::Resync if unanswered => {
                // It may have arrived. The session asks for the whole state and decides; if it does not, we look.
                self.owed = None;
                self.doubt = Some(now);
                self.look = Look::Wanted(now + LOOK_AFTER);
                let failure = CommandFailure::Unanswered;
                self.emit(GameEvent::Failed { command, failure }, now).await;
            }
            // The platform is out of order, or something in front of it answered in its stead.
            Recovery::Resync if error.own_status().is_none_or(|status| status >= 500) => {
                owed.phase = Phase::AfterLook;
                self.doubt = Some(now);
                self.look_anew(requests::retry_pause(attempts));
            }
            Recovery::Resync if attempts > 1 && owed.refused.is_none() => {
                // The first attempt may have arrived after all, and this is its echo.
                owed.refused = Some(error.to_string());
                owed.phase = Phase::AfterLook;
                self.doubt = Some(now);
                self.look_anew(Duration::ZERO);
            }
            Recovery::Resync
            | Recovery::GiveUpRequest
            | Recovery::GiveUpGame
            | Recovery::StopAccount => {
                let failure = requests::failure(&error);
                self.owed = None;
                self.emit(GameEvent::Failed { command, failure }, now).await;
            }
        }
    }

    /// Tells the account's actor. It has its own queue; if that is full it knows of trouble already.
    fn trouble(&self, error: PlatformError) {
        drop(self.outbox.try_send(FromGame::Trouble(error)));
    }
}

/// Whether an event says that the game is over.
fn is_end(event: &GameEvent) -> bool {
    match event {
        GameEvent::Ended(_) => true,
        GameEvent::Full { state, .. } | GameEvent::State(state) => {
            matches!(state.status, Status::Ended(_))
        }
        _ => false,
    }
}

async fn sleep_until(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at).await;
    }
}
