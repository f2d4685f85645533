//! Searches and moves: one of each per turn.

use std::time::Duration;

use crate::engine::{ClockLimits, SearchLimits, SearchReport};
use crate::rules::{Move, Position};

use super::super::action::{GameAction, SearchId, ThinkRequest};
use super::super::command::{CommandKind, GameCommand, PlayMove};
use super::super::fallback::fallback_move;
use super::super::time::{Moment, TimeControl};
use super::{ECHO_WAIT, ECHO_WAIT_MAX, Game, GameSession, MAX_REFUSED, Turn};

/// A search of a game without a clock may overrun its time by this much before it is hurried.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between hurrying a search and playing without it.
const GRACE: Duration = Duration::from_millis(500);

/// A search in flight.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) id: SearchId,
    pub(super) turn: Turn,
    /// Ask for the best move so far at this moment.
    hurry_at: Moment,
    hurried: bool,
    /// Play without it at this moment.
    give_up_at: Moment,
}

impl Search {
    pub(super) fn next_due(&self) -> Moment {
        if self.hurried {
            self.give_up_at
        } else {
            self.hurry_at
        }
    }
}

/// A move on its way: fixed until the platform shows the ply, so that a second attempt can never be another move.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) turn: Turn,
    pub(super) m: Move,
    position: Position,
    pub(super) echo_by: Moment,
    wait: Duration,
    /// The platform said no for good; the next full state decides what that meant.
    pub(super) refused: bool,
}

impl Sent {
    /// The same move once more, without its draw offer: that one may have arrived.
    pub(super) fn command(&self, game: &Game) -> GameCommand {
        GameCommand::Play(Box::new(PlayMove {
            position: self.position.clone(),
            m: self.m,
            ply: game.record.ply(),
            offer_draw: false,
        }))
    }
}

/// A move that waits for the answer to a draw that we accepted.
#[derive(Debug)]
pub(super) struct Held {
    m: Move,
    pub(super) until: Moment,
}

/// What the engine thought, for decisions over several moves and for `!eval`.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    pub(super) last: Option<Thought>,
    /// Our moves in a row with a score at or below the limit for resigning.
    pub(super) lost_run: u32,
    /// Our moves in a row with an equal score.
    pub(super) equal_run: u32,
}

/// One thought worth telling.
#[derive(Debug, Clone)]
pub(super) struct Thought {
    pub(super) position: Position,
    pub(super) report: SearchReport,
}

impl GameSession {
    /// Orders a search of the present position.
    pub(super) fn think(&mut self, now: Moment) {
        let Some(game) = &self.game else { return };
        let limits = self.limits(game, now);
        let (hurry_at, give_up_at) = self.deadlines(game, &limits, now);
        let id = SearchId(self.next_search);
        let request = ThinkRequest {
            id,
            history: game.record.history().clone(),
            limits,
        };
        let turn = game.turn();
        self.next_search += 1;
        self.out.push(GameAction::Think(Box::new(request)));
        if let Some(game) = &mut self.game {
            game.search = Some(Search {
                id,
                turn,
                hurry_at,
                hurried: false,
                give_up_at,
            });
        }
    }

    fn limits(&self, game: &Game, now: Moment) -> SearchLimits {
        let time = &self.terms.policy.time;
        let overhead = self.move_overhead();
        let mut limits = SearchLimits {
            depth: (time.max_depth > 0).then_some(time.max_depth),
            nodes: (time.max_nodes > 0).then_some(time.max_nodes),
            overhead,
            max_think: Some(time.max_move),
            search_moves: self.allowed_moves(game),
            ..SearchLimits::default()
        };
        let us = game.start.color;
        let ply = game.record.absolute_ply();
        let ours = self.left(game, us, now);
        let theirs = self.left(game, !us, now);
        match (game.start.time_control, ours) {
            (TimeControl::Correspondence { .. }, Some(left)) => {
                limits.move_time = Some(time.correspondence_move.min(left / 4));
            }
            (TimeControl::Correspondence { .. }, None) => {
                limits.move_time = Some(time.correspondence_move);
            }
            (_, None) => limits.move_time = Some(time.no_clock_move),
            (_, Some(left)) if game.clock.runs_at(ply) => {
                limits.clock = Some(ClockLimits {
                    remaining: left,
                    increment: game.clock.increment(),
                    opponent_remaining: theirs.unwrap_or(left),
                    opponent_increment: game.clock.increment(),
                    moves_to_go: None,
                    overhead,
                });
            }
            // A free move: nobody gains by a long thought, and the opponent waits.
            (_, Some(left)) => limits.move_time = Some(time.first_move.min(left / 4)),
        }
        if let (Some(by), Some(fixed)) = (game.move_by, limits.move_time.as_mut()) {
            *fixed = (*fixed).min(by.since(now) / 3);
        }
        limits
    }

    /// All legal moves but those the platform refused in this turn; empty = all.
    fn allowed_moves(&self, game: &Game) -> Vec<Move> {
        if game.refused.is_empty() {
            return Vec::new();
        }
        let legal = game.record.position().legal_moves();
        let allowed = legal.iter().copied().filter(|m| !game.refused.contains(m));
        allowed.collect()
    }

    /// The time that passes between our decision and the platform's clock.
    pub(super) fn move_overhead(&self) -> Duration {
        let floor = self.terms.policy.time.move_overhead;
        floor
            .max(self.terms.capabilities.min_move_overhead)
            .max(self.overhead)
    }

    /// When to hurry a search, and when to play without it.
    fn deadlines(&self, game: &Game, limits: &SearchLimits, now: Moment) -> (Moment, Moment) {
        let Some(clock) = &limits.clock else {
            let patience = limits.move_time.unwrap_or_default() + PATIENCE;
            let hurry = match game.move_by {
                Some(by) => patience.min(by.since(now) / 2),
                None => patience,
            };
            return (now + hurry, now + hurry + GRACE);
        };
        let usable = clock.remaining.saturating_sub(clock.overhead);
        let longest = self.terms.policy.time.max_move + PATIENCE;
        let hurry = (usable * 8 / 10).min(longest);
        let give_up = (usable * 9 / 10)
            .min(longest + GRACE)
            .max(hurry + GRACE / 25);
        (now + hurry, now + give_up)
    }

    pub(super) fn cancel_search(&mut self) {
        let search = self.game.as_mut().and_then(|game| game.search.take());
        if let Some(search) = search {
            self.out.push(GameAction::Cancel(search.id));
        }
    }

    pub(super) fn on_report(&mut self, id: SearchId, report: &SearchReport, now: Moment) {
        let Some(game) = &mut self.game else { return };
        // A report under another number belongs to a position that is gone.
        if game.search.as_ref().is_none_or(|search| search.id != id) {
            return;
        }
        game.search = None;
        let position = game.record.position();
        let ok = position.is_legal(report.best) && !game.refused.contains(&report.best);
        let best = if ok {
            report.best
        } else {
            let Some(other) = fallback_move(position, &game.refused) else {
                return;
            };
            let reason = "the search answered with a move that is not legal here";
            self.note("move.fallback", "plays another move", reason);
            other
        };
        let Some(game) = &mut self.game else { return };
        if ok && report.origin.has_score() {
            game.thoughts.last = Some(Thought {
                position: game.record.position().clone(),
                report: report.clone(),
            });
            self.count_scores(report);
        }
        if self.resigns(now) || self.accepts_draw(best, now) {
            return;
        }
        let offer_draw = self.offers_draw();
        self.play(best, offer_draw, now);
    }

    pub(super) fn on_search_failed(&mut self, id: SearchId, words: &str, now: Moment) {
        let Some(game) = &self.game else { return };
        if game.search.as_ref().is_none_or(|search| search.id != id) {
            return;
        }
        self.play_without_search(words, now);
    }

    /// A legal move is better than none: the engine failed or is late.
    fn play_without_search(&mut self, reason: &str, now: Moment) {
        let Some(game) = &mut self.game else { return };
        game.search = None;
        if let Some(m) = fallback_move(game.record.position(), &game.refused) {
            self.note("move.fallback", "plays without a search", reason);
            self.play(m, false, now);
        }
    }

    pub(super) fn play(&mut self, m: Move, offer_draw: bool, now: Moment) {
        let Some(game) = &mut self.game else { return };
        let position = game.record.position().clone();
        let with_move = offer_draw && self.terms.capabilities.draw_offer_with_move;
        game.sent = Some(Sent {
            turn: game.turn(),
            m,
            position: position.clone(),
            echo_by: now + ECHO_WAIT,
            wait: ECHO_WAIT,
            refused: false,
        });
        let command = GameCommand::Play(Box::new(PlayMove {
            position,
            m,
            ply: game.record.ply(),
            offer_draw: with_move,
        }));
        self.send(command);
        if offer_draw && !with_move {
            self.send(GameCommand::OfferDraw);
        }
    }

    /// A full state still shows our turn after we sent a move: it did not arrive, or it was refused.
    pub(super) fn resend(&mut self, command: GameCommand, now: Moment) {
        let Some(game) = &mut self.game else { return };
        let Some(sent) = &mut game.sent else { return };
        if !sent.refused {
            sent.echo_by = now + sent.wait;
            self.note(
                "move.owed",
                "sends the move again",
                "the platform does not show it",
            );
            return self.send(command);
        }
        let m = sent.m;
        game.sent = None;
        game.refused.push(m);
        if game.refused.len() < MAX_REFUSED && !self.only_refused_left() {
            self.note(
                "move.refused",
                "looks for another move",
                "the platform refuses that one",
            );
            return self.think(now);
        }
        self.note(
            "move.refused",
            "leaves the game",
            "the platform refuses what we hold legal",
        );
        self.leave(now);
    }

    fn only_refused_left(&self) -> bool {
        self.game
            .as_ref()
            .is_some_and(|game| self.allowed_moves(game).is_empty())
    }

    /// Asks for the whole state because a sent move does not show.
    pub(super) fn ask_for_echo(&mut self, now: Moment) {
        let Some(sent) = self.game.as_mut().and_then(|game| game.sent.as_mut()) else {
            return;
        };
        sent.wait = (sent.wait * 2).min(ECHO_WAIT_MAX);
        sent.echo_by = now + sent.wait;
        self.send(GameCommand::Resync);
    }

    pub(super) fn tick_search(&mut self, now: Moment) {
        let Some(search) = self.game.as_mut().and_then(|game| game.search.as_mut()) else {
            return;
        };
        if search.give_up_at <= now {
            let id = search.id;
            self.out.push(GameAction::Cancel(id));
            self.play_without_search("the search did not answer in time", now);
        } else if search.hurry_at <= now && !search.hurried {
            search.hurried = true;
            let id = search.id;
            self.out.push(GameAction::Hurry(id));
        }
    }

    /// Keeps a move back while the platform decides about a draw that we accepted.
    pub(super) fn hold(&mut self, m: Move, until: Moment) {
        if let Some(game) = &mut self.game {
            game.held = Some(Held { m, until });
        }
    }

    pub(super) fn play_held(&mut self, now: Moment) {
        let held = self.game.as_mut().and_then(|game| game.held.take());
        if let Some(held) = held {
            self.note(
                "draw.accept",
                "plays on",
                "the game goes on in spite of our yes",
            );
            self.play(held.m, false, now);
        }
    }

    pub(super) fn tick_held(&mut self, now: Moment) {
        let due = self
            .game
            .as_ref()
            .and_then(|game| game.held.as_ref())
            .is_some_and(|held| held.until <= now);
        if due {
            self.play_held(now);
        }
    }

    fn count_scores(&mut self, report: &SearchReport) {
        let policy = &self.terms.policy;
        let cp = report.score.centipawns();
        let Some(game) = &mut self.game else { return };
        let thoughts = &mut game.thoughts;
        let lost = cp <= policy.resign.score_cp;
        let equal = cp.abs() <= policy.draw.score_cp && !report.score.is_mate();
        thoughts.lost_run = if lost { thoughts.lost_run + 1 } else { 0 };
        thoughts.equal_run = if equal { thoughts.equal_run + 1 } else { 0 };
    }

    fn resigns(&mut self, now: Moment) -> bool {
        let policy = &self.terms.policy.resign;
        let Some(game) = &self.game else { return false };
        let human = game.start.opponent.kind != super::super::facts::PlayerKind::Bot;
        if !policy.enabled
            || !game.may_resign
            || game.thoughts.lost_run < policy.moves
            || (human && !policy.against_humans)
        {
            return false;
        }
        let reason = format!(
            "{} moves in a row at {} centipawns or worse",
            game.thoughts.lost_run, policy.score_cp
        );
        self.note("resign.score", "resigns", reason);
        self.give_up(CommandKind::Resign, now);
        true
    }
}
