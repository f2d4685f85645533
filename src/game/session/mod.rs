//! The session of one game: takes what happens, says what to do. Synchronous and total; no I/O, no clock, no randomness.
//!
//! Two things hold at all times. A move is owed from the moment the platform shows our turn until it shows our ply or the
//! end; whatever goes wrong in between leads to a resync, and the answer to a resync to the same move again. And one turn
//! (a ply of one line of play) gets one search and one move: repeats of a state change nothing.

mod absence;
mod offers;
mod talk;
mod think;
mod unreadable;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::SearchReport;
use crate::rules::Move;

use super::action::{Decision, GameAction, GameMemory, SearchId};
use super::clock::GameClock;
use super::command::{CommandFailure, CommandKind, GameCommand, OfferKind};
use super::event::{GameEnd, GameEvent, GameState, Status};
use super::facts::{GameCapabilities, GameStart};
use super::policy::{GamePolicy, LeavePolicy};
use super::record::{Comparison, GameRecord, RecordError};
use super::time::Moment;

pub(crate) use talk::player_words;

use absence::Absence;
use offers::OfferMemory;
use talk::Talk;
use think::{Held, Search, Sent, Thoughts};
use unreadable::Blind;

/// How long the platform has to show a move before we ask for the whole state.
const ECHO_WAIT: Duration = Duration::from_secs(5);
/// The same at the most, after several resyncs.
const ECHO_WAIT_MAX: Duration = Duration::from_secs(20);
/// How long a requested full state may take.
const RESYNC_WAIT: Duration = Duration::from_secs(5);
/// How long a resignation or an abort may take to show.
const LEAVE_WAIT: Duration = Duration::from_secs(10);
/// How long a game that is over by our rules may go on before we ask.
const OVER_WAIT: Duration = Duration::from_secs(3);
/// Full states that may insist on a game which is over by our rules, before we leave it.
const MAX_DENIED: u32 = 3;
/// The second refused move in one turn means that the platform and we disagree about the rules.
const MAX_REFUSED: usize = 2;

/// What a session is told when it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTerms {
    /// How to behave.
    pub policy: GamePolicy,
    /// What the platform can do.
    pub capabilities: GameCapabilities,
    /// Name and version of the engine, for `!name`.
    pub engine: String,
    /// What an earlier run of the daemon remembered about this game.
    pub memory: GameMemory,
}

/// What can happen to a session.
#[derive(Debug, Clone)]
pub enum Input {
    /// The platform reported something.
    Event {
        /// When its bytes arrived; not after the step's `now`.
        at: Moment,
        /// What.
        event: GameEvent,
    },
    /// A search ended.
    Report {
        /// Which.
        id: SearchId,
        /// Its answer.
        report: Box<SearchReport>,
    },
    /// A search ended without an answer.
    SearchFailed {
        /// Which.
        id: SearchId,
        /// Why.
        words: String,
    },
    /// The measured time from our decision to the platform's clock.
    Overhead(Duration),
    /// Who waits for a game with us, in order, for `!queue`.
    Waiting(Vec<String>),
    /// The game should not have started: abort it if that is still possible, else play it.
    Unwanted {
        /// Why.
        reason: String,
    },
    /// Time passed: see [`GameSession::next_deadline`].
    Tick,
}

/// A ply of one line of play. Two turns are the same only if both are equal: after a takeback the generation differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    generation: u32,
    ply: usize,
}

/// One game.
#[derive(Debug)]
pub struct GameSession {
    terms: SessionTerms,
    game: Option<Game>,
    /// Before the first full state there is no game to attach these to.
    overhead: Duration,
    waiting: Vec<String>,
    /// The game was not wanted, and could not be looked at yet.
    unwanted: Option<String>,
    /// The platform shows the game in a form that cannot be read, and never showed another.
    blind: Option<Blind>,
    next_search: u64,
    ended: Option<GameEnd>,
    out: Vec<GameAction>,
}

#[derive(Debug)]
struct Game {
    start: GameStart,
    record: GameRecord,
    clock: GameClock,
    generation: u32,
    /// When the present ply arrived; `None` if it was there when we connected.
    ply_seen: Option<Moment>,
    /// The platform ends the game unless the side to move moves by then.
    move_by: Option<Moment>,
    link_up: bool,
    search: Option<Search>,
    sent: Option<Sent>,
    held: Option<Held>,
    /// Moves of the present turn that the platform refused.
    refused: Vec<Move>,
    doubt: Option<Doubt>,
    leaving: Option<Leaving>,
    may_resign: bool,
    over_check: Option<Moment>,
    /// Full states that insist on a game which is over by our rules.
    over_denied: u32,
    thoughts: Thoughts,
    offers: OfferMemory,
    absence: Absence,
    talk: Talk,
}

/// The platform's state cannot be true, or not be trusted: nothing is decided until a full state came.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    /// Ask again at this moment.
    ask_again: Moment,
    /// The full state was refused by our rules as well: only leaving is left.
    hopeless: bool,
}

/// We gave up the game; it goes on until the platform says so.
#[derive(Debug, Clone, Copy)]
struct Leaving {
    by: CommandKind,
    check: Moment,
    tries: u32,
}

impl Game {
    fn turn(&self) -> Turn {
        Turn {
            generation: self.generation,
            ply: self.record.ply(),
        }
    }

    fn is_our_turn(&self) -> bool {
        self.record.turn() == self.start.color
    }

    fn is_over_by_rules(&self) -> bool {
        let position = self.record.position();
        position.variant_end().is_some() || !position.has_legal_move()
    }
}

impl GameSession {
    /// A session that has not heard from its game yet.
    pub fn new(terms: SessionTerms) -> Self {
        Self {
            overhead: Duration::ZERO,
            terms,
            game: None,
            waiting: Vec::new(),
            unwanted: None,
            blind: None,
            next_search: 1,
            ended: None,
            out: Vec::new(),
        }
    }

    /// The one entry: something happened at `now`; here is what to do, in order.
    pub fn step(&mut self, input: Input, now: Moment) -> Vec<GameAction> {
        if self.ended.is_none() {
            self.take(input, now);
        }
        std::mem::take(&mut self.out)
    }

    /// Shorthand for an event whose bytes arrived just now.
    pub fn apply(&mut self, event: GameEvent, now: Moment) -> Vec<GameAction> {
        self.step(Input::Event { at: now, event }, now)
    }

    /// Shorthand for the answer of a search.
    pub fn report(&mut self, id: SearchId, report: SearchReport, now: Moment) -> Vec<GameAction> {
        let report = Box::new(report);
        self.step(Input::Report { id, report }, now)
    }

    fn take(&mut self, input: Input, now: Moment) {
        match input {
            Input::Event { at, event } => self.event(event, at, now),
            Input::Report { id, report } => self.on_report(id, &report, now),
            Input::SearchFailed { id, words } => self.on_search_failed(id, &words, now),
            Input::Overhead(overhead) => self.overhead = overhead,
            Input::Waiting(names) => self.waiting = names,
            Input::Unwanted { reason } => self.on_unwanted(&reason, now),
            Input::Tick => self.tick(now),
        }
    }

    fn event(&mut self, event: GameEvent, at: Moment, now: Moment) {
        match event {
            GameEvent::Full { start, state } => self.full(*start, &state, at, now),
            GameEvent::State(state) => self.state(&state, false, at, now),
            GameEvent::Ended(end) => self.finish(end, now),
            GameEvent::Chatted(line) => self.chatted(&line, now),
            GameEvent::OpponentLeft { claimable_in } => self.opponent_left(claimable_in, at),
            GameEvent::OpponentReturned => self.opponent_returned(),
            GameEvent::Accepted { .. } => {}
            GameEvent::Failed { command, failure } => self.failed(command, &failure, now),
            GameEvent::Unreadable { words } => self.unreadable(&words, now),
            GameEvent::LinkLost => {
                if let Some(game) = &mut self.game {
                    game.link_up = false;
                    // Whether he is still away nobody knows after a reconnection; the platform says so again if he is.
                    game.absence.opponent_returned();
                }
            }
        }
    }

    fn full(&mut self, start: GameStart, state: &GameState, at: Moment, now: Moment) {
        let same_game = self.game.as_ref().is_some_and(|game| {
            let old = &game.start;
            (old.variant, old.castling_mode, old.color, &old.initial_fen)
                == (
                    start.variant,
                    start.castling_mode,
                    start.color,
                    &start.initial_fen,
                )
        });
        if same_game {
            let game = self
                .game
                .as_mut()
                .expect("same_game says that there is one");
            game.start = start;
            game.link_up = true;
            game.absence.opponent_returned();
        } else if let Err(error) = self.open(start, state) {
            return self.contradiction(&error, true, now);
        }
        self.state(state, true, at, now);
        if self.ended.is_none()
            && let Some(reason) = self.unwanted.take()
        {
            self.on_unwanted(&reason, now);
        }
    }

    /// Builds the game from its first full state (or from one that tells of another game than before).
    fn open(&mut self, start: GameStart, state: &GameState) -> Result<(), RecordError> {
        let made = GameRecord::new(&start, state.base_fen.as_deref());
        let (record, error) = match made {
            Ok(record) => (record, None),
            // Without a first position there is still a game to leave in good order.
            Err(error) => {
                let mut plain = start.clone();
                plain.initial_fen = None;
                (GameRecord::new(&plain, None)?, Some(error))
            }
        };
        let hopeless = self.game.as_ref().is_some_and(|game| game.doubt.is_some());
        self.cancel_search();
        self.blind = None;
        self.game = Some(Game {
            clock: GameClock::new(start.time_control, self.terms.capabilities.untimed_plies),
            record,
            generation: 0,
            ply_seen: None,
            move_by: None,
            link_up: true,
            search: None,
            sent: None,
            held: None,
            refused: Vec::new(),
            doubt: hopeless.then_some(Doubt {
                ask_again: Moment::default(),
                hopeless: false,
            }),
            leaving: None,
            may_resign: true,
            over_check: None,
            over_denied: 0,
            thoughts: Thoughts::default(),
            offers: OfferMemory::new(self.terms.memory.takebacks_granted),
            absence: Absence::default(),
            talk: Talk::new(self.terms.memory.greeted),
            start,
        });
        error.map_or(Ok(()), Err)
    }

    /// A state, whole or live: the same code, so that nothing is true only in one of them.
    fn state(&mut self, state: &GameState, full: bool, at: Moment, now: Moment) {
        let Some(game) = &mut self.game else {
            return;
        };
        let base = state.base_fen.as_deref();
        if let Status::Ended(end) = &state.status {
            // The end is the end even if its move list is not to our taste; the last good record is kept then.
            if game.record.follow(&game.start, base, &state.moves).is_err() {
                self.note(
                    "rules.final",
                    "kept our record",
                    "the final list is not legal to us",
                );
            }
            return self.finish(end.clone(), now);
        }
        let comparison = meaning(game, base, &state.moves);
        let believed = match comparison {
            Comparison::Same | Comparison::Longer => true,
            // A whole state is the truth, but not one that nobody asked for: a stream that was opened anew may begin with
            // an old state, and a move for it would be a second one for a ply that has one.
            Comparison::Shorter | Comparison::Different => {
                (full && game.doubt.is_some())
                    || self.terms.capabilities.takebacks_unannounced
                    || game.offers.takeback_granted
            }
        };
        if !believed {
            return self.doubt("the move list is not a continuation of ours", now);
        }
        let known_ply = game.record.ply();
        if let Err(error) = game.record.follow(&game.start, base, &state.moves) {
            return self.contradiction(&error, full, now);
        }
        game.doubt = None;
        self.advance(comparison, known_ply, full, at);
        let Some(game) = &mut self.game else { return };
        game.clock.read(state.clocks, at, game.ply_seen);
        game.move_by = state.move_within.map(|span| at + span);
        self.greet(now);
        self.offers(&state.offers, now);
        if full {
            self.resume_leaving(now);
        }
        self.consider(full, now);
    }

    /// Brings what depends on the ply up to date after the record followed a state.
    fn advance(&mut self, comparison: Comparison, known_ply: usize, full: bool, at: Moment) {
        let Some(game) = &mut self.game else { return };
        let ply = game.record.ply();
        let rewound = matches!(comparison, Comparison::Shorter | Comparison::Different);
        if rewound {
            game.generation += 1;
            game.sent = None;
            game.held = None;
            game.offers.takeback_granted = false;
        }
        game.absence.begin(at);
        if ply != known_ply || rewound {
            game.ply_seen = (!full).then_some(at);
            game.refused.clear();
            game.over_check = None;
            game.over_denied = 0;
            game.absence.turn_changed(at);
        }
        let echo = game.sent.as_ref().filter(|sent| ply > sent.turn.ply);
        if let Some(sent) = echo {
            let shown = game.record.move_at(sent.turn.ply);
            let (turn, m) = (sent.turn, sent.m);
            game.sent = None;
            if shown != Some(m) {
                let reason = format!("ply {} shows another move than the one we sent", turn.ply);
                self.note("move.echo", "believed the platform", reason);
            }
        }
    }

    /// What is to be done in the present position, if anything.
    fn consider(&mut self, full: bool, now: Moment) {
        let Some(game) = &mut self.game else { return };
        if game.doubt.is_some() || game.leaving.is_some() {
            return;
        }
        let turn = game.turn();
        if game
            .search
            .as_ref()
            .is_some_and(|search| search.turn != turn)
        {
            self.cancel_search();
        }
        let Some(game) = &mut self.game else { return };
        if !game.is_our_turn() {
            return;
        }
        if game.is_over_by_rules() {
            return self.over_by_rules(full, now);
        }
        if let Some(sent) = game.sent.as_ref().filter(|sent| sent.turn == turn) {
            if full {
                let command = sent.command(game);
                self.resend(command, now);
            }
            return;
        }
        if game.search.is_none() && game.held.is_none() {
            self.think(now);
        }
    }

    /// Our turn, but the game is over by our rules. The server will say so by itself; if it does not, we ask, and if it
    /// insists that the game goes on, the rules differ and only leaving is left.
    fn over_by_rules(&mut self, full: bool, now: Moment) {
        let Some(game) = &mut self.game else { return };
        if game.over_check.is_none() {
            game.over_check = Some(now + OVER_WAIT);
        } else if full {
            game.over_denied += 1;
            if game.over_denied == MAX_DENIED {
                let reason = "the platform lets a game go on that is over by our rules";
                self.note("rules.disagree", "leaves the game", reason);
                self.leave(now);
            }
        }
    }

    /// The platform's list is not believed: nothing is decided before a full state came.
    fn doubt(&mut self, reason: &str, now: Moment) {
        let Some(game) = &mut self.game else { return };
        if game.doubt.is_some() {
            return;
        }
        game.doubt = Some(Doubt {
            ask_again: now + RESYNC_WAIT,
            hopeless: false,
        });
        self.cancel_search();
        self.note("state.doubt", "asked for the whole state", reason);
        self.send(GameCommand::Resync);
    }

    /// Our rules refuse what the platform reports. Once: look again. Twice: leave in good order.
    fn contradiction(&mut self, error: &RecordError, full: bool, now: Moment) {
        let Some(game) = &mut self.game else { return };
        let first = game.doubt.is_none();
        if !full || first {
            self.note(
                "rules.disagree",
                "asked for the whole state",
                error.to_string(),
            );
            if first {
                self.cancel_search();
                self.send(GameCommand::Resync);
            }
            if let Some(game) = &mut self.game {
                game.doubt.get_or_insert(Doubt {
                    ask_again: now + RESYNC_WAIT,
                    hopeless: false,
                });
            }
            return;
        }
        if game.doubt.is_some_and(|doubt| doubt.hopeless) {
            return;
        }
        game.doubt = Some(Doubt {
            ask_again: now,
            hopeless: true,
        });
        self.cancel_search();
        self.note("rules.disagree", "leaves the game", error.to_string());
        self.leave(now);
    }

    /// Leaves a game that cannot be played on, by policy.
    fn leave(&mut self, now: Moment) {
        let Some(game) = &self.game else { return };
        if self.can_abort(game) {
            self.give_up(CommandKind::Abort, now);
        } else if self.terms.policy.on_rules_error == LeavePolicy::Resign && game.may_resign {
            self.give_up(CommandKind::Resign, now);
        }
    }

    fn can_abort(&self, game: &Game) -> bool {
        let source_forbids = matches!(game.start.source, super::facts::GameSource::Tournament(_));
        !source_forbids
            && !game.start.rules.no_abort
            && game.absence.may_abort()
            && game.record.absolute_ply() < self.terms.capabilities.abort_before_ply as usize
    }

    fn give_up(&mut self, by: CommandKind, now: Moment) {
        let Some(game) = &mut self.game else { return };
        let tries = game.leaving.map_or(0, |leaving| leaving.tries) + 1;
        game.leaving = Some(Leaving {
            by,
            check: now + LEAVE_WAIT,
            tries,
        });
        self.cancel_search();
        self.send(match by {
            CommandKind::Abort => GameCommand::Abort,
            _ => GameCommand::Resign,
        });
    }

    /// A full state says that the game we gave up still runs: try once more, then play on.
    fn resume_leaving(&mut self, now: Moment) {
        let Some(leaving) = self.game.as_ref().and_then(|game| game.leaving) else {
            return;
        };
        if leaving.tries < 2 {
            self.give_up(leaving.by, now);
        } else {
            self.leaving_refused(leaving.by);
        }
    }

    fn leaving_refused(&mut self, by: CommandKind) {
        let Some(game) = &mut self.game else { return };
        game.leaving = None;
        match by {
            CommandKind::Abort => game.absence.forbid_abort(),
            _ => game.may_resign = false,
        }
        self.note(
            "leave.refused",
            "plays on",
            "the platform keeps the game running",
        );
    }

    /// The lobby's word usually comes before the first full state does, and must not be lost for that.
    fn on_unwanted(&mut self, reason: &str, now: Moment) {
        let Some(game) = &self.game else {
            self.unwanted = Some(reason.to_owned());
            return;
        };
        if self.can_abort(game) && game.leaving.is_none() {
            self.note("lobby.unwanted", "aborts", reason);
            self.give_up(CommandKind::Abort, now);
        } else {
            self.note("lobby.unwanted", "plays all the same", reason);
        }
    }

    fn failed(&mut self, command: CommandKind, failure: &CommandFailure, now: Moment) {
        let Some(game) = &mut self.game else {
            return self.blind_failed(command, failure, now);
        };
        match (command, failure) {
            (CommandKind::Play { ply }, CommandFailure::Refused { words }) => {
                let Some(sent) = game.sent.as_mut().filter(|sent| sent.turn.ply == ply) else {
                    return;
                };
                sent.refused = true;
                let reason = format!("the platform refused our move: {}", words.escape_debug());
                self.note("move.refused", "asks for the whole state", reason);
                self.ask_for_echo(now);
            }
            (CommandKind::Play { ply }, _)
                if game.sent.as_ref().is_some_and(|sent| sent.turn.ply == ply) =>
            {
                self.note(
                    "move.unanswered",
                    "asks for the whole state",
                    "no answer came",
                );
                self.ask_for_echo(now);
            }
            (CommandKind::Play { .. }, _) => {}
            (CommandKind::Resign | CommandKind::Abort, CommandFailure::Refused { .. }) => {
                let was_leaving = game.leaving.is_some();
                if command == CommandKind::Abort {
                    game.absence.forbid_abort();
                }
                if was_leaving {
                    self.leaving_refused(command);
                    if self
                        .game
                        .as_ref()
                        .is_some_and(|g| g.doubt.is_some_and(|d| d.hopeless))
                    {
                        return self.leave(now);
                    }
                    self.consider(false, now);
                }
            }
            (CommandKind::ClaimVictory | CommandKind::ClaimDraw, _) => game.absence.claim_failed(),
            (
                CommandKind::Answer {
                    offer: OfferKind::Draw,
                    accept: true,
                },
                _,
            ) => self.play_held(now),
            _ => {}
        }
    }

    fn tick(&mut self, now: Moment) {
        self.tick_search(now);
        self.tick_held(now);
        self.tick_absence(now);
        self.tick_unreadable(now);
        let Some(game) = &mut self.game else { return };
        if !game.link_up {
            return;
        }
        let mut resync = false;
        if let Some(doubt) = game
            .doubt
            .as_mut()
            .filter(|d| !d.hopeless && d.ask_again <= now)
        {
            doubt.ask_again = now + RESYNC_WAIT;
            resync = true;
        }
        if let Some(leaving) = game.leaving.as_mut().filter(|l| l.check <= now) {
            leaving.check = now + LEAVE_WAIT;
            resync = true;
        }
        if let Some(check) = game.over_check.as_mut().filter(|check| **check <= now) {
            *check = now + ECHO_WAIT_MAX;
            resync = true;
        }
        if game.sent.as_ref().is_some_and(|sent| sent.echo_by <= now) {
            self.ask_for_echo(now);
        } else if resync {
            self.send(GameCommand::Resync);
        }
    }

    /// When [`Input::Tick`] is due next, if nothing else happens before. Ticks that come earlier or later do no harm.
    pub fn next_deadline(&self) -> Option<Moment> {
        if self.ended.is_some() {
            return None;
        }
        let Some(game) = self.game.as_ref() else {
            return self.blind.as_ref().and_then(Blind::due);
        };
        let mut dues = vec![
            game.search.as_ref().map(Search::next_due),
            game.held.as_ref().map(|held| held.until),
            self.absence_due(game),
        ];
        if game.link_up {
            dues.push(game.doubt.filter(|d| !d.hopeless).map(|d| d.ask_again));
            dues.push(game.leaving.map(|leaving| leaving.check));
            dues.push(game.over_check);
            dues.push(game.sent.as_ref().map(|sent| sent.echo_by));
        }
        dues.into_iter().flatten().min()
    }

    fn finish(&mut self, end: GameEnd, now: Moment) {
        self.cancel_search();
        self.farewell(now);
        self.out.push(GameAction::Finished(end.clone()));
        self.ended = Some(end);
    }

    fn send(&mut self, command: GameCommand) {
        self.out.push(GameAction::Send(command));
    }

    fn note(&mut self, rule: &str, verdict: &str, reason: impl Into<String>) {
        self.out
            .push(GameAction::Note(Decision::new(rule, verdict, reason)));
    }

    fn remember(&mut self) {
        let Some(game) = &self.game else { return };
        self.out.push(GameAction::Remember(GameMemory {
            takebacks_granted: game.offers.granted(),
            greeted: game.talk.greeted(),
        }));
    }

    /// What is fixed about the game, once it is known.
    pub fn start(&self) -> Option<&GameStart> {
        self.game.as_ref().map(|game| &game.start)
    }

    /// First position and moves, once they are known.
    pub fn record(&self) -> Option<&GameRecord> {
        self.game.as_ref().map(|game| &game.record)
    }

    /// How it ended, once it has.
    pub fn end(&self) -> Option<&GameEnd> {
        self.ended.as_ref()
    }

    /// Whether we owe a move: our turn, and the platform has not shown our ply yet.
    pub fn owes_move(&self) -> bool {
        self.ended.is_none()
            && self
                .game
                .as_ref()
                .is_some_and(|game| game.is_our_turn() && !game.is_over_by_rules())
    }

    /// Time left for both sides, ours first; `None` without a clock.
    pub fn clocks(&self, now: Moment) -> Option<(Duration, Duration)> {
        let game = self.game.as_ref()?;
        let us = game.start.color;
        Some((self.left(game, us, now)?, self.left(game, !us, now)?))
    }

    fn left(&self, game: &Game, color: crate::rules::Color, now: Moment) -> Option<Duration> {
        let ply = game.record.absolute_ply();
        game.clock.remaining(color, game.record.turn(), ply, now)
    }
}

/// Compares by meaning: two ways to write the same castling are no difference.
fn meaning(game: &Game, base_fen: Option<&str>, words: &[String]) -> Comparison {
    let by_words = game.record.compare(base_fen, words);
    if by_words != Comparison::Different || base_fen != game.record.base_fen() {
        return by_words;
    }
    let mut other = game.record.clone();
    if other.follow(&game.start, base_fen, words).is_err() {
        return by_words;
    }
    let (old, new) = (game.record.history().moves(), other.history().moves());
    if new == old {
        Comparison::Same
    } else if new.starts_with(old) {
        Comparison::Longer
    } else if old.starts_with(new) {
        Comparison::Shorter
    } else {
        by_words
    }
}
