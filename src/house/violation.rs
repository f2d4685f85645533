//! What clients do that they should not, counted and told.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// Reports kept in full; older ones remain only as counts.
const KEPT: usize = 1_000;

/// A way to break the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViolationKind {
    /// A move that the rules refuse.
    IllegalMove,
    /// A move that is not even a move (`Invalid UCI`).
    MalformedMove,
    /// A move while it is the opponent's turn, other than the one that was accepted last.
    MoveOutOfTurn,
    /// A second move for a ply that already has one from this player.
    SecondMoveForPly,
    /// A move in a game whose end the client had been told long enough ago to know.
    MoveAfterEnd,
    /// A command in a game of others.
    ForeignGame,
    /// A second event stream beside a living one of the same account.
    SecondEventStream,
    /// A second game stream beside a living one of the same player and user agent.
    SecondGameStream,
    /// The event stream opened more often than the contract allows.
    EventStreamPolling,
    /// An endpoint asked over and over that a stream would tell.
    Polling,
    /// A request before the time was up that a rate limit had named.
    IgnoredRateLimit,
    /// An answer to one's own challenge.
    AnsweredOwnChallenge,
    /// A request without a token, or with one that is not known.
    BadToken,
    /// A token without the scope that the endpoint needs.
    MissingScope,
    /// A user agent that names somebody else.
    ForeignUserAgent,
    /// A form that cannot be read: bad fields, chat too long, body too large.
    MalformedRequest,
    /// A path that does not exist.
    UnknownEndpoint,
}

/// One report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// What was done.
    pub kind: ViolationKind,
    /// By whom, if known.
    pub account: Option<String>,
    /// In which game, if any.
    pub game: Option<String>,
    /// When, ms since 1970.
    pub at_ms: i64,
    /// Particulars, cut to a bounded length; never a token.
    pub detail: String,
}

/// All reports of a house.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Violations {
    counts: BTreeMap<ViolationKind, u64>,
    latest: VecDeque<Violation>,
}

impl Violations {
    /// Adds a report.
    pub fn report(&mut self, mut violation: Violation) {
        if let Some((end, _)) = violation.detail.char_indices().nth(200) {
            violation.detail.truncate(end);
        }
        tracing::warn!(
            kind = ?violation.kind,
            account = violation.account.as_deref().unwrap_or("-"),
            game.id = violation.game.as_deref().unwrap_or("-"),
            detail = %violation.detail.escape_debug(),
            "protocol violation"
        );
        *self.counts.entry(violation.kind).or_default() += 1;
        if self.latest.len() == KEPT {
            self.latest.pop_front();
        }
        self.latest.push_back(violation);
    }

    /// How many there were in all.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// How many there were of one kind.
    pub fn count(&self, kind: ViolationKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// Counts by kind.
    pub fn counts(&self) -> &BTreeMap<ViolationKind, u64> {
        &self.counts
    }

    /// The last thousand, oldest first.
    pub fn latest(&self) -> impl Iterator<Item = &Violation> {
        self.latest.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_when_reports_are_dropped_and_details_are_cut() {
        let mut violations = Violations::default();
        for n in 0..(KEPT as i64 + 5) {
            violations.report(Violation {
                kind: ViolationKind::Polling,
                account: None,
                game: None,
                at_ms: n,
                detail: "é".repeat(300),
            });
        }
        assert_eq!(violations.count(ViolationKind::Polling), KEPT as u64 + 5);
        assert_eq!(violations.total(), KEPT as u64 + 5);
        assert_eq!(violations.latest().count(), KEPT);
        let first = violations.latest().next().unwrap();
        assert_eq!(first.at_ms, 5);
        assert_eq!(first.detail.chars().count(), 200);
    }
}
