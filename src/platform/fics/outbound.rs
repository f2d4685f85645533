//! Lines that wait to be sent: moves first, then game control, then commands, then chat, each within its pace.
//!
//! A server drops or delays players who flood it. Moves pass every limit; everything else takes a token from one bucket,
//! and chat keeps a distance between two lines on top. Chat and commands have bounded queues: when chat is full the
//! oldest line is dropped, because nobody waits for it.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

/// Longest line sent, without its newline. Servers cut at 1,022 or 1,024 bytes.
pub const SENT_LINE_BYTES_MAX: usize = 1000;

/// Commands that may wait.
const COMMANDS_MAX: usize = 128;
/// Chat lines that may wait.
const CHAT_MAX: usize = 16;

/// Which limits a line is under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Moves: no limit, ahead of everything.
    Move,
    /// What the game or the login waits for: answers, resignation, abort, flag.
    Control,
    /// Everything else a server is asked.
    Command,
    /// Words to people.
    Chat,
}

/// A line to send, without its newline. Its debug form masks a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The text; ASCII without control characters.
    pub text: String,
    /// True for a password: logs show a mask.
    pub secret: bool,
    /// Not a text but the answer to a timeseal server's question.
    pub seal_answer: bool,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.secret { "***" } else { &self.text })
    }
}

/// Pace of everything but moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Lines that may be sent at once after a silence.
    pub burst: u32,
    /// Lines per second in the long run.
    pub per_second: u32,
    /// Least time between two chat lines.
    pub chat_gap: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            burst: 60,
            per_second: 5,
            chat_gap: Duration::from_secs(2),
        }
    }
}

/// The queues.
#[derive(Debug)]
pub struct Outbound {
    pace: Pace,
    moves: VecDeque<Outgoing>,
    control: VecDeque<Outgoing>,
    commands: VecDeque<Outgoing>,
    chat: VecDeque<Outgoing>,
    /// Tokens in thousandths, so that refilling loses nothing.
    millitokens: u64,
    refilled_at: Option<Instant>,
    next_chat: Option<Instant>,
    dropped: u64,
}

impl Outbound {
    /// Empty queues with a full bucket.
    #[must_use]
    pub fn new(pace: Pace) -> Outbound {
        let pace = Pace {
            burst: pace.burst.max(1),
            per_second: pace.per_second.max(1),
            ..pace
        };
        Outbound {
            pace,
            moves: VecDeque::new(),
            control: VecDeque::new(),
            commands: VecDeque::new(),
            chat: VecDeque::new(),
            millitokens: u64::from(pace.burst) * 1000,
            refilled_at: None,
            next_chat: None,
            dropped: 0,
        }
    }

    /// Queues a line. Control characters and anything beyond ASCII become blanks, a too long line is cut: nothing that
    /// comes from an engine, an opponent's name or an operator can start a second command.
    pub fn push(&mut self, lane: Lane, text: &str) {
        self.push_line(
            lane,
            Outgoing {
                text: sanitize(text),
                secret: false,
                seal_answer: false,
            },
        );
    }

    /// Queues a password, as it is but for line ends.
    pub fn push_secret(&mut self, text: &str) {
        let text = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
        self.push_line(
            Lane::Control,
            Outgoing {
                text,
                secret: true,
                seal_answer: false,
            },
        );
    }

    /// Queues the answer to a timeseal server's question; like a move it waits for nothing.
    pub fn push_sealed_answer(&mut self) {
        self.push_line(
            Lane::Move,
            Outgoing {
                text: String::new(),
                secret: false,
                seal_answer: true,
            },
        );
    }

    fn push_line(&mut self, lane: Lane, line: Outgoing) {
        let (queue, limit) = match lane {
            Lane::Move => (&mut self.moves, COMMANDS_MAX),
            Lane::Control => (&mut self.control, COMMANDS_MAX),
            Lane::Command => (&mut self.commands, COMMANDS_MAX),
            Lane::Chat => (&mut self.chat, CHAT_MAX),
        };
        if queue.len() >= limit {
            queue.pop_front();
            self.dropped += 1;
        }
        queue.push_back(line);
    }

    /// Forgets everything that waits, for a new connection.
    pub fn clear(&mut self) {
        self.moves.clear();
        self.control.clear();
        self.commands.clear();
        self.chat.clear();
        self.millitokens = u64::from(self.pace.burst) * 1000;
        self.refilled_at = None;
    }

    /// Forgets moves that wait; the position they were for is gone.
    pub fn clear_moves(&mut self) {
        self.moves.clear();
    }

    /// Lines dropped for lack of room since the start.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Lines that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.moves.len() + self.control.len() + self.commands.len() + self.chat.len()
    }

    /// The next line that may go out now.
    pub fn pop(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some(line) = self.moves.pop_front() {
            return Some(line);
        }
        self.refill(now);
        if self.millitokens < 1000 {
            return None;
        }
        let line = match self
            .control
            .pop_front()
            .or_else(|| self.commands.pop_front())
        {
            Some(line) => line,
            None => {
                if self.next_chat.is_some_and(|at| now < at) {
                    return None;
                }
                let line = self.chat.pop_front()?;
                self.next_chat = Some(now + self.pace.chat_gap);
                line
            }
        };
        self.millitokens -= 1000;
        Some(line)
    }

    /// When [`Outbound::pop`] is worth another try; `None` with nothing waiting.
    #[must_use]
    pub fn ready_at(&self, now: Instant) -> Option<Instant> {
        if !self.moves.is_empty() {
            return Some(now);
        }
        let missing = 1000u64.saturating_sub(self.millitokens);
        let token_at = self.refilled_at.unwrap_or(now)
            + Duration::from_millis(missing.div_ceil(u64::from(self.pace.per_second)));
        if !self.control.is_empty() || !self.commands.is_empty() {
            return Some(token_at.max(now));
        }
        if self.chat.is_empty() {
            return None;
        }
        Some(token_at.max(self.next_chat.unwrap_or(now)).max(now))
    }

    fn refill(&mut self, now: Instant) {
        let since = self
            .refilled_at
            .replace(now)
            .map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        let milliseconds = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let gained = milliseconds.saturating_mul(u64::from(self.pace.per_second));
        if gained == 0 && since > Duration::ZERO {
            // Less than a millisecond: keep the older instant so that nothing is lost by asking often.
            self.refilled_at = now.checked_sub(since);
            return;
        }
        self.millitokens = self
            .millitokens
            .saturating_add(gained)
            .min(u64::from(self.pace.burst) * 1000);
    }
}

/// Makes a text safe to send as one line.
#[must_use]
pub fn sanitize(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|c| {
            if c.is_ascii() && !c.is_ascii_control() {
                c
            } else {
                ' '
            }
        })
        .collect();
    line.truncate(SENT_LINE_BYTES_MAX);
    line
}

/// Cuts a text into chat lines of at most `limit` characters, at blanks where there are any, at most `count` lines.
#[must_use]
pub fn chat_lines(text: &str, limit: usize, count: usize) -> Vec<String> {
    let text = sanitize(text);
    let mut lines = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && lines.len() < count {
        // Sanitized text is ASCII, so every index is a boundary.
        let end = if rest.len() <= limit {
            rest.len()
        } else {
            rest[..limit]
                .rfind(' ')
                .filter(|at| *at > limit / 2)
                .unwrap_or(limit)
        };
        let (line, tail) = rest.split_at(end);
        lines.push(line.trim_end().to_owned());
        rest = tail.trim_start();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(outbound: &mut Outbound, now: Instant) -> Vec<String> {
        std::iter::from_fn(|| outbound.pop(now))
            .map(|line| line.text)
            .collect()
    }

    #[test]
    fn moves_pass_everything() {
        let now = Instant::now();
        let mut outbound = Outbound::new(Pace {
            burst: 1,
            per_second: 1,
            chat_gap: Duration::from_secs(2),
        });
        outbound.push(Lane::Chat, "tell x hi");
        outbound.push(Lane::Command, "date");
        outbound.push(Lane::Control, "resign");
        outbound.push(Lane::Move, "e2e4");
        assert_eq!(texts(&mut outbound, now), ["e2e4", "resign"]);
        outbound.push(Lane::Move, "d2d4");
        assert_eq!(
            texts(&mut outbound, now),
            ["d2d4"],
            "an empty bucket does not hold a move back"
        );
        assert_eq!(texts(&mut outbound, now + Duration::from_secs(1)), ["date"]);
        assert_eq!(
            texts(&mut outbound, now + Duration::from_secs(2)),
            ["tell x hi"]
        );
        assert_eq!(outbound.ready_at(now), None);
    }

    #[test]
    fn pace_holds_over_time() {
        let start = Instant::now();
        let mut outbound = Outbound::new(Pace {
            burst: 3,
            per_second: 5,
            chat_gap: Duration::ZERO,
        });
        let mut sent = 0;
        for step in 0..10_000u64 {
            let now = start + Duration::from_millis(step);
            outbound.push(Lane::Command, "x");
            sent += texts(&mut outbound, now).len();
        }
        assert!((50..=53).contains(&sent), "{sent} lines in ten seconds");
    }

    #[test]
    fn the_next_instant_is_neither_late_nor_a_busy_loop() {
        let start = Instant::now();
        let mut outbound = Outbound::new(Pace {
            burst: 1,
            per_second: 4,
            chat_gap: Duration::from_secs(2),
        });
        for _ in 0..3 {
            outbound.push(Lane::Chat, "say hi");
        }
        let mut now = start;
        let mut at = Vec::new();
        while let Some(next) = outbound.ready_at(now) {
            assert!(next >= now);
            now = next;
            if outbound.pop(now).is_some() {
                at.push(now.duration_since(start).as_millis());
            }
            assert!(at.len() <= 3);
        }
        assert_eq!(at, [0, 2000, 4000]);
    }

    #[test]
    fn chat_is_bounded_and_drops_the_oldest() {
        let mut outbound = Outbound::new(Pace::default());
        for number in 0..1000 {
            outbound.push(Lane::Chat, &format!("tell a {number}"));
        }
        assert_eq!(outbound.waiting(), CHAT_MAX);
        assert_eq!(outbound.dropped(), 1000 - CHAT_MAX as u64);
    }

    #[test]
    fn nothing_can_start_a_second_command() {
        assert_eq!(sanitize("say a\nresign\r\u{7}\u{e9}"), "say a resign   ");
        assert_eq!(sanitize(&"x".repeat(5000)).len(), SENT_LINE_BYTES_MAX);
        let mut outbound = Outbound::new(Pace::default());
        outbound.push_secret("pass\nword");
        assert_eq!(
            outbound.pop(Instant::now()),
            Some(Outgoing {
                text: "password".into(),
                secret: true,
                seal_answer: false
            })
        );
    }

    #[test]
    fn long_chat_is_cut_at_blanks() {
        let text = "word ".repeat(100);
        let lines = chat_lines(&text, 180, 4);
        assert!(
            lines.len() == 3
                && lines
                    .iter()
                    .all(|line| line.len() <= 180 && !line.ends_with(' '))
        );
        assert_eq!(chat_lines(&"y".repeat(1000), 100, 2).len(), 2);
        assert!(chat_lines("  ", 100, 2).is_empty());
    }
}
