//! How long players take between being told that it is their turn and their move's arrival.

use std::time::Duration;

use serde::Serialize;

use super::Hall;

/// Answers kept per account; later ones overwrite the oldest.
const KEPT: usize = 1 << 16;

/// Answer times of one account, in microseconds.
#[derive(Debug, Default)]
pub(super) struct Samples {
    micros: Vec<u32>,
    all: u64,
}

impl Samples {
    pub(super) fn add(&mut self, time: Duration) {
        let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        if self.micros.len() < KEPT {
            self.micros.push(micros);
        } else {
            self.micros[(self.all % KEPT as u64) as usize] = micros;
        }
        self.all += 1;
    }
}

/// Answer times of one account: from the moment its queue got the line that made it its
/// turn, to the moment its move was read. What the network and the player's own thinking
/// take is in it; first moves are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AnswerTimes {
    /// Moves measured.
    pub count: u64,
    /// Half of them were faster, in microseconds.
    pub p50_us: u32,
    /// Ninety in a hundred were faster.
    pub p90_us: u32,
    /// Ninety-nine in a hundred were faster.
    pub p99_us: u32,
    /// The slowest.
    pub max_us: u32,
}

impl Hall {
    /// Answer times of an account so far; `None` if it has not answered.
    pub fn answer_times(&self, account: &str) -> Option<AnswerTimes> {
        let state = self.lock();
        let samples = state.answers.get(account)?;
        let mut sorted = samples.micros.clone();
        let all = samples.all;
        drop(state);
        sorted.sort_unstable();
        let at = |share: usize| sorted.get((sorted.len() * share / 100).min(sorted.len() - 1));
        Some(AnswerTimes {
            count: all,
            p50_us: *at(50)?,
            p90_us: *at(90)?,
            p99_us: *at(99)?,
            max_us: *sorted.last()?,
        })
    }
}
