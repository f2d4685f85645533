//! The queue between the house and one NDJSON stream.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// Live lines that wait for a slow reader. One more, and the oldest is lost, as on Lichess.
pub const LIVE_LINES: usize = 32;

/// What a line says; fault plans choose by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// First line of a game stream.
    GameFull,
    /// State of a game.
    GameState,
    /// Chat in a game.
    ChatLine,
    /// The opponent left or came back.
    OpponentGone,
    /// A game began or goes on.
    GameStart,
    /// A game ended.
    GameFinish,
    /// A challenge was made.
    Challenge,
    /// A challenge was taken back.
    ChallengeCanceled,
    /// A challenge was refused.
    ChallengeDeclined,
    /// The line of a challenge that is kept alive.
    ChallengeOutcome,
}

/// One line, without its line feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it says.
    pub kind: LineKind,
    /// Its JSON text.
    pub json: Bytes,
}

impl Line {
    /// A line from anything that is JSON.
    pub fn new(kind: LineKind, value: &impl Serialize) -> Line {
        let json = serde_json::to_vec(value)
            .expect("lines are structs with string keys, which always serialize");
        Line {
            kind,
            json: json.into(),
        }
    }
}

/// A queue with one reader. Never blocks its writers.
#[derive(Debug, Default)]
pub struct LineQueue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Line>,
    closed: bool,
    lost: u64,
}

impl LineQueue {
    /// A queue that holds `initial` lines already, however many.
    pub fn with(initial: Vec<Line>) -> LineQueue {
        LineQueue {
            state: Mutex::new(State {
                lines: initial.into(),
                ..State::default()
            }),
            changed: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change below is complete before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line. If the reader is [`LIVE_LINES`] behind, the oldest line is lost.
    pub fn push(&self, line: Line) {
        {
            let mut state = self.state();
            if state.closed {
                return;
            }
            if state.lines.len() >= LIVE_LINES {
                state.lines.pop_front();
                state.lost += 1;
            }
            state.lines.push_back(line);
        }
        self.changed.notify_one();
    }

    /// No line will follow. What is queued is still read.
    pub fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    /// The next line; `None` once the queue is closed and empty. Cancel safe.
    pub async fn next(&self) -> Option<Line> {
        loop {
            {
                let mut state = self.state();
                if let Some(line) = state.lines.pop_front() {
                    return Some(line);
                }
                if state.closed {
                    return None;
                }
            }
            // A permit stored between the check and this wait wakes it at once.
            self.changed.notified().await;
        }
    }

    /// Lines lost to a slow reader.
    pub fn lost(&self) -> u64 {
        self.state().lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: usize) -> Line {
        Line::new(LineKind::GameState, &n)
    }

    #[tokio::test]
    async fn a_slow_reader_loses_the_oldest_lines_and_nothing_else() {
        let queue = LineQueue::with(vec![line(1000)]);
        for n in 0..LIVE_LINES + 4 {
            queue.push(line(n));
        }
        queue.close();
        queue.push(line(9999));
        let mut read = Vec::new();
        while let Some(line) = queue.next().await {
            read.push(line);
        }
        let expected: Vec<Line> = (4..LIVE_LINES + 4).map(line).collect();
        assert_eq!(read, expected);
        assert_eq!(queue.lost(), 5);
    }

    #[tokio::test]
    async fn a_waiting_reader_is_woken_by_a_line_and_by_the_end() {
        let queue = LineQueue::default();
        let reader = async {
            let first = queue.next().await;
            let second = queue.next().await;
            (first, second)
        };
        let writer = async {
            tokio::task::yield_now().await;
            queue.push(line(1));
            tokio::task::yield_now().await;
            queue.close();
        };
        let ((first, second), ()) = tokio::join!(reader, writer);
        assert_eq!(first, Some(line(1)));
        assert_eq!(second, None);
    }
}
