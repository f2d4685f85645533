//! What the daemon counts about itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::game::{GameEnd, GameResult, Termination};

/// Reactions remembered for the percentiles.
const REACTIONS: usize = 8_192;

/// Counters of one run, shared by all its parts.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    finished: BTreeMap<&'static str, u64>,
    by_end: BTreeMap<String, u64>,
    moves: u64,
    resent: u64,
    fallbacks: u64,
    faults: u64,
    reactions: VecDeque<Duration>,
}

/// Counters at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Finished games by the UCI name of their variant; aborted ones are not among them.
    pub finished: BTreeMap<&'static str, u64>,
    /// Games by the way they ended.
    pub by_end: BTreeMap<String, u64>,
    /// Moves handed to the platforms.
    pub moves: u64,
    /// Moves sent again because the platform did not show them.
    pub resent: u64,
    /// Moves played without a search.
    pub fallbacks: u64,
    /// Bugs that showed: panics, parts that died, moves that our rules refused.
    pub faults: u64,
    /// Time from the arrival of an event to our command, search excluded: median and 99 of 100.
    pub reaction: Option<(Duration, Duration)>,
}

impl Stats {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A game ended.
    pub fn game_ended(&self, variant: &'static str, end: &GameEnd) {
        let mut inner = self.lock();
        let counts = !matches!(
            end.termination,
            Termination::Aborted | Termination::Adjourned
        ) && end.result != GameResult::NoResult;
        if counts {
            *inner.finished.entry(variant).or_default() += 1;
        }
        let words = format!("{:?}", end.termination);
        *inner.by_end.entry(words).or_default() += 1;
    }

    /// A move was handed to the platform.
    pub fn moved(&self) {
        self.lock().moves += 1;
    }

    /// A decision was made under this rule.
    pub fn decided(&self, rule: &str) {
        let mut inner = self.lock();
        match rule {
            "move.owed" => inner.resent += 1,
            "move.fallback" => inner.fallbacks += 1,
            "rules.disagree" => inner.faults += 1,
            _ => {}
        }
    }

    /// A bug showed.
    pub fn fault(&self) {
        self.lock().faults += 1;
    }

    /// An event led to a command after so long, the search not counted.
    pub fn reacted(&self, span: Duration) {
        let mut inner = self.lock();
        if inner.reactions.len() == REACTIONS {
            inner.reactions.pop_front();
        }
        inner.reactions.push_back(span);
    }

    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        let inner = self.lock();
        let mut sorted: Vec<Duration> = inner.reactions.iter().copied().collect();
        sorted.sort_unstable();
        let of = |hundredths: usize| sorted[(sorted.len() * hundredths).div_ceil(100) - 1];
        Snapshot {
            finished: inner.finished.clone(),
            by_end: inner.by_end.clone(),
            moves: inner.moves,
            resent: inner.resent,
            fallbacks: inner.fallbacks,
            faults: inner.faults,
            reaction: (!sorted.is_empty()).then(|| (of(50), of(99))),
        }
    }
}
