//! The clocks of a game as we may count on them.

use std::time::Duration;

use crate::rules::Color;

use super::event::{ClockReading, Clocks};
use super::time::{Moment, TimeControl};

/// Banks at or above this are no clock at all (some platforms write the largest 32-bit number of milliseconds).
const NO_CLOCK: Duration = Duration::from_millis(i32::MAX as u64);

/// Both banks with the moment of their reading.
#[derive(Debug, Clone)]
pub struct GameClock {
    control: TimeControl,
    untimed_plies: u32,
    last: Option<Reading>,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    clocks: Clocks,
    /// The banks hold for this moment; `None` if nobody knows how long ago that was.
    at: Option<Moment>,
}

impl GameClock {
    /// A clock that was not read yet. No time runs before `untimed_plies` plies.
    pub fn new(control: TimeControl, untimed_plies: u32) -> Self {
        Self {
            control,
            untimed_plies,
            last: None,
        }
    }

    /// The agreement.
    pub fn control(&self) -> TimeControl {
        self.control
    }

    /// Takes the platform's reading, received at `now`. `ply_seen` is when we first saw the present ply, if we saw it arrive
    /// (and did not just find it when connecting).
    pub fn read(&mut self, clocks: Option<Clocks>, now: Moment, ply_seen: Option<Moment>) {
        self.last = clocks
            .filter(|c| c.white < NO_CLOCK || c.black < NO_CLOCK)
            .map(|clocks| Reading {
                clocks,
                at: match clocks.reading {
                    ClockReading::WhenSent => Some(now),
                    ClockReading::AtLastMove => ply_seen,
                },
            });
    }

    /// Whether a bank is running down in a position `ply` plies after the start.
    pub fn runs_at(&self, ply: usize) -> bool {
        self.last.is_some() && ply >= self.untimed_plies as usize
    }

    /// What `color` has left at `now`; `turn` and `ply` are those of the position the reading belongs to.
    ///
    /// `None` without a clock. Never below zero. If nobody knows how long ago the reading was, the side to move is assumed
    /// to have half of it.
    pub fn remaining(
        &self,
        color: Color,
        turn: Color,
        ply: usize,
        now: Moment,
    ) -> Option<Duration> {
        let reading = self.last?;
        let bank = reading.clocks.of(color);
        if color != turn || !self.runs_at(ply) {
            return Some(bank);
        }
        Some(match reading.at {
            Some(at) => bank.saturating_sub(now.since(at)),
            None => bank / 2,
        })
    }

    /// Added to the bank after each move.
    pub fn increment(&self) -> Duration {
        match self.control {
            TimeControl::Clock { increment, .. } => increment,
            TimeControl::Correspondence { .. } | TimeControl::Unlimited => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::after_start(Duration::from_millis(ms))
    }

    fn clocks(white_ms: u64, black_ms: u64, reading: ClockReading) -> Option<Clocks> {
        Some(Clocks {
            white: Duration::from_millis(white_ms),
            black: Duration::from_millis(black_ms),
            reading,
        })
    }

    fn left(clock: &GameClock, color: Color, turn: Color, ply: usize, now: u64) -> Option<u64> {
        clock
            .remaining(color, turn, ply, at(now))
            .map(|left| left.as_millis() as u64)
    }

    #[test]
    fn first_moves_are_free_and_then_the_side_to_move_pays() {
        let mut clock = GameClock::new(TimeControl::clock(60, 2), 2);
        clock.read(
            clocks(60_000, 60_000, ClockReading::WhenSent),
            at(0),
            Some(at(0)),
        );
        assert_eq!(
            left(&clock, Color::White, Color::White, 0, 5_000),
            Some(60_000)
        );
        assert_eq!(
            left(&clock, Color::Black, Color::Black, 1, 5_000),
            Some(60_000)
        );
        assert_eq!(
            left(&clock, Color::White, Color::White, 2, 5_000),
            Some(55_000)
        );
        assert_eq!(
            left(&clock, Color::Black, Color::White, 2, 5_000),
            Some(60_000)
        );
        assert_eq!(clock.increment(), Duration::from_secs(2));
    }

    #[test]
    fn never_below_zero() {
        let mut clock = GameClock::new(TimeControl::clock(60, 0), 2);
        clock.read(clocks(300, 60_000, ClockReading::WhenSent), at(0), None);
        assert_eq!(left(&clock, Color::White, Color::White, 10, 5_000), Some(0));
    }

    #[test]
    fn a_reading_of_the_last_move_ages_from_when_we_saw_it() {
        let mut clock = GameClock::new(TimeControl::clock(60, 0), 2);
        clock.read(
            clocks(40_000, 50_000, ClockReading::AtLastMove),
            at(9_000),
            Some(at(2_000)),
        );
        assert_eq!(
            left(&clock, Color::White, Color::White, 10, 9_000),
            Some(33_000)
        );
        clock.read(
            clocks(40_000, 50_000, ClockReading::AtLastMove),
            at(9_000),
            None,
        );
        assert_eq!(
            left(&clock, Color::White, Color::White, 10, 9_000),
            Some(20_000)
        );
        assert_eq!(
            left(&clock, Color::Black, Color::White, 10, 9_000),
            Some(50_000)
        );
    }

    #[test]
    fn the_largest_number_of_milliseconds_is_no_clock() {
        let mut clock = GameClock::new(TimeControl::Unlimited, 2);
        let max = 2_147_483_647;
        clock.read(clocks(max, max, ClockReading::WhenSent), at(0), None);
        assert_eq!(left(&clock, Color::White, Color::White, 10, 0), None);
        assert!(!clock.runs_at(10));
    }
}
