//! A game as a tape: what a session was told, when, and what it decided; JSON, one object a line.
//!
//! A tape begins with the session's terms, then every input is followed by the actions it led to. [`replay`] feeds the inputs
//! to a new session and compares the actions word for word. A tape holds what the platform says in public and what the
//! engine thought; no token can get into it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::{ReportOrigin, Score, SearchReport};
use crate::rules::Move;

use super::action::SearchId;
use super::event::GameEvent;
use super::session::{GameSession, Input, SessionTerms};
use super::time::Moment;

/// Version of the format; a reader refuses others.
pub const TAPE_VERSION: u32 = 1;

/// One line of a tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TapeLine {
    /// First line.
    Tape {
        /// [`TAPE_VERSION`].
        version: u32,
        /// What the session was made with.
        terms: Box<SessionTerms>,
    },
    /// Something happened.
    In {
        /// When the session was told, in microseconds.
        now: Moment,
        /// What.
        input: TapeInput,
    },
    /// The session decided.
    Out(String),
}

/// [`Input`] in a form that can be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TapeInput {
    /// [`Input::Event`].
    Event {
        /// Arrival, in microseconds.
        at: Moment,
        /// What happened.
        event: GameEvent,
    },
    /// [`Input::Report`].
    Report {
        /// Number of the search.
        id: SearchId,
        /// Its answer.
        report: TapeReport,
    },
    /// [`Input::SearchFailed`].
    SearchFailed {
        /// Number of the search.
        id: SearchId,
        /// Why.
        words: String,
    },
    /// [`Input::Overhead`].
    Overhead(Duration),
    /// [`Input::Waiting`].
    Waiting(Vec<String>),
    /// [`Input::Unwanted`].
    Unwanted {
        /// Why.
        reason: String,
    },
    /// [`Input::Tick`].
    Tick,
}

/// [`SearchReport`] in a form that can be written; moves are the sixteen bits of [`Move`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapeReport {
    best: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ponder: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cp: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mate: Option<i32>,
    depth: u32,
    seldepth: u32,
    nodes: u64,
    elapsed: Duration,
    pv: Vec<u16>,
    origin: TapeOrigin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TapeOrigin {
    Search,
    BestSoFar,
    OnlyMove,
    Book,
    Fallback,
}

impl From<&SearchReport> for TapeReport {
    fn from(report: &SearchReport) -> Self {
        let (cp, mate) = match report.score {
            Score::Cp(cp) => (Some(cp), None),
            Score::Mate(moves) => (None, Some(moves)),
        };
        Self {
            best: report.best.0,
            ponder: report.ponder.map(|m| m.0),
            cp,
            mate,
            depth: report.depth,
            seldepth: report.seldepth,
            nodes: report.nodes,
            elapsed: report.elapsed,
            pv: report.pv.iter().map(|m| m.0).collect(),
            origin: match report.origin {
                ReportOrigin::Search => TapeOrigin::Search,
                ReportOrigin::BestSoFar => TapeOrigin::BestSoFar,
                ReportOrigin::OnlyMove => TapeOrigin::OnlyMove,
                ReportOrigin::Book => TapeOrigin::Book,
                ReportOrigin::Fallback => TapeOrigin::Fallback,
            },
        }
    }
}

impl From<TapeReport> for SearchReport {
    fn from(tape: TapeReport) -> Self {
        let score = match (tape.mate, tape.cp) {
            (Some(moves), _) => Score::Mate(moves),
            (None, cp) => Score::Cp(cp.unwrap_or_default()),
        };
        Self {
            best: Move(tape.best),
            ponder: tape.ponder.map(Move),
            score,
            depth: tape.depth,
            seldepth: tape.seldepth,
            nodes: tape.nodes,
            elapsed: tape.elapsed,
            pv: tape.pv.into_iter().map(Move).collect(),
            origin: match tape.origin {
                TapeOrigin::Search => ReportOrigin::Search,
                TapeOrigin::BestSoFar => ReportOrigin::BestSoFar,
                TapeOrigin::OnlyMove => ReportOrigin::OnlyMove,
                TapeOrigin::Book => ReportOrigin::Book,
                TapeOrigin::Fallback => ReportOrigin::Fallback,
            },
        }
    }
}

impl From<&Input> for TapeInput {
    fn from(input: &Input) -> Self {
        match input {
            Input::Event { at, event } => Self::Event {
                at: *at,
                event: event.clone(),
            },
            Input::Report { id, report } => Self::Report {
                id: *id,
                report: TapeReport::from(report.as_ref()),
            },
            Input::SearchFailed { id, words } => Self::SearchFailed {
                id: *id,
                words: words.clone(),
            },
            Input::Overhead(overhead) => Self::Overhead(*overhead),
            Input::Waiting(names) => Self::Waiting(names.clone()),
            Input::Unwanted { reason } => Self::Unwanted {
                reason: reason.clone(),
            },
            Input::Tick => Self::Tick,
        }
    }
}

impl From<TapeInput> for Input {
    fn from(input: TapeInput) -> Self {
        match input {
            TapeInput::Event { at, event } => Self::Event { at, event },
            TapeInput::Report { id, report } => Self::Report {
                id,
                report: Box::new(report.into()),
            },
            TapeInput::SearchFailed { id, words } => Self::SearchFailed { id, words },
            TapeInput::Overhead(overhead) => Self::Overhead(overhead),
            TapeInput::Waiting(names) => Self::Waiting(names),
            TapeInput::Unwanted { reason } => Self::Unwanted { reason },
            TapeInput::Tick => Self::Tick,
        }
    }
}

impl TapeLine {
    /// The first line of a tape.
    pub fn head(terms: &SessionTerms) -> Self {
        Self::Tape {
            version: TAPE_VERSION,
            terms: Box::new(terms.clone()),
        }
    }

    /// An input line.
    pub fn input(input: &Input, now: Moment) -> Self {
        Self::In {
            now,
            input: TapeInput::from(input),
        }
    }

    /// The line as text, without its line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a tape line has string keys and finite numbers only")
    }
}

/// Why a tape cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// A line is not a line of a tape.
    #[error("line {line} of the tape: {source}")]
    Syntax {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The first line is missing or of another version.
    #[error("this is not a tape of version {TAPE_VERSION}")]
    Head,
}

/// What a replay found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replay {
    /// Inputs fed.
    pub inputs: usize,
    /// Decisions compared.
    pub decisions: usize,
    /// Where the session decided otherwise: line of the tape, what it says, what came now (empty: nothing).
    pub differences: Vec<(usize, String, String)>,
    /// Decisions in words, for reading.
    pub story: Vec<String>,
}

/// Feeds a tape to a new session.
///
/// A tape that was cut off (the process was killed) is fine: the decisions to the last input are compared as far as they go.
///
/// # Errors
/// [`TapeError`] if a line cannot be read.
pub fn replay<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<Replay, TapeError> {
    let mut session: Option<GameSession> = None;
    let mut found = Replay::default();
    let mut pending: std::collections::VecDeque<String> = std::collections::VecDeque::new();
    for (index, text) in lines.into_iter().enumerate() {
        if text.trim().is_empty() {
            continue;
        }
        let line = index + 1;
        let parsed: TapeLine =
            serde_json::from_str(text).map_err(|source| TapeError::Syntax { line, source })?;
        match (parsed, &mut session) {
            (TapeLine::Tape { version, terms }, slot @ None) if version == TAPE_VERSION => {
                *slot = Some(GameSession::new(*terms));
            }
            (TapeLine::In { now, input }, Some(session)) => {
                for extra in pending.drain(..) {
                    found.differences.push((line, String::new(), extra));
                }
                found.inputs += 1;
                let actions = session.step(Input::from(input), now);
                pending.extend(actions.iter().map(ToString::to_string));
                let at = now.since_start().as_millis();
                let words = pending.iter().map(|words| format!("{at} ms: {words}"));
                found.story.extend(words);
            }
            (TapeLine::Out(old), Some(_)) => {
                found.decisions += 1;
                let new = pending.pop_front().unwrap_or_default();
                if new != old {
                    found.differences.push((line, old, new));
                }
            }
            _ => return Err(TapeError::Head),
        }
    }
    if session.is_none() {
        return Err(TapeError::Head);
    }
    Ok(found)
}
