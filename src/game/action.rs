//! What a session wants done, and why.

use serde::{Deserialize, Serialize};

use crate::engine::SearchLimits;
use crate::rules::History;

use super::command::GameCommand;
use super::event::GameEnd;

/// Number of a search within one session. Counted, not derived from the ply: after a takeback a ply comes twice.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct SearchId(pub u64);

/// One thing to do, in the order given.
#[derive(Debug, Clone)]
pub enum GameAction {
    /// Send this to the platform.
    Send(GameCommand),
    /// Search, and hand the answer to [`super::GameSession::step`] under the same number.
    Think(Box<ThinkRequest>),
    /// The answer of this search is wanted now: stop it and report its best move so far.
    Hurry(SearchId),
    /// Nobody wants the answer of this search any more.
    Cancel(SearchId),
    /// Put this on disk before doing what follows.
    Remember(GameMemory),
    /// Tell the operator what was decided and why.
    Note(Decision),
    /// The game is over; said once, last.
    Finished(GameEnd),
}

/// An order for the engine pool.
#[derive(Debug, Clone)]
pub struct ThinkRequest {
    /// Number of the search.
    pub id: SearchId,
    /// Start, moves and present position.
    pub history: History,
    /// Bounds, with the clocks: the pool serves the nearest flag first.
    pub limits: SearchLimits,
}

/// What a game must not forget between two starts of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct GameMemory {
    /// Takebacks granted so far.
    pub takebacks_granted: u32,
    /// The opponent was greeted.
    pub greeted: bool,
}

/// A decision with the name of its rule and the reason in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Name of the rule, dotted, stable: `resign.score`.
    pub rule: String,
    /// What was decided, in a few words.
    pub verdict: String,
    /// Why.
    pub reason: String,
}

impl Decision {
    /// Names a decision.
    pub fn new(rule: &str, verdict: &str, reason: impl Into<String>) -> Self {
        Self {
            rule: rule.to_owned(),
            verdict: verdict.to_owned(),
            reason: reason.into(),
        }
    }
}

impl std::fmt::Display for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} ({})", self.rule, self.verdict, self.reason)
    }
}

impl std::fmt::Display for GameAction {
    /// One line without line breaks: what a tape records and a replay compares.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Send(command) => write!(f, "send {command}"),
            Self::Think(request) => {
                write!(f, "think #{} ", request.id.0)?;
                write!(f, "ply {} ", request.history.moves().len())?;
                write_limits(f, &request.limits)
            }
            Self::Hurry(id) => write!(f, "hurry #{}", id.0),
            Self::Cancel(id) => write!(f, "cancel #{}", id.0),
            Self::Remember(memory) => write!(
                f,
                "remember takebacks {} greeted {}",
                memory.takebacks_granted, memory.greeted
            ),
            Self::Note(decision) => write!(f, "note {decision}"),
            Self::Finished(end) => {
                write!(f, "finished {:?} {:?}", end.result, end.termination)
            }
        }
    }
}

fn write_limits(f: &mut std::fmt::Formatter<'_>, limits: &SearchLimits) -> std::fmt::Result {
    if let Some(clock) = &limits.clock {
        write!(
            f,
            "clock {}+{} ms against {} ms, overhead {} ms",
            clock.remaining.as_millis(),
            clock.increment.as_millis(),
            clock.opponent_remaining.as_millis(),
            clock.overhead.as_millis()
        )?;
    }
    if let Some(time) = limits.move_time {
        write!(f, "time {} ms", time.as_millis())?;
    }
    if !limits.search_moves.is_empty() {
        write!(f, ", {} moves only", limits.search_moves.len())?;
    }
    Ok(())
}
