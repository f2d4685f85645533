//! The server's clock of one game. Pure: time is an argument, in milliseconds.

use serde::{Deserialize, Serialize};

use crate::game::TimeControl;
use crate::rules::Color;

/// What Lichess sends for both sides of a game without any clock.
pub const UNLIMITED_MS: i64 = i32::MAX as i64;

/// Bank given to both sides of a game that starts with nothing on the clock, at least.
const SMALLEST_BANK_MS: i64 = 3_000;

const DAY_MS: i64 = 86_400_000;

/// The clock of one game.
///
/// Real time begins to run after both sides' first moves; these cost nothing and earn
/// no increment. There is no compensation for network delay, as for bots on Lichess.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerClock {
    time: TimeControl,
    /// Milliseconds left for White and Black when the present turn began.
    bank: [i64; 2],
    /// When the present turn began to cost time; `None` while nothing runs.
    running_since: Option<i64>,
}

impl ServerClock {
    /// A clock at the start of a game. `now_ms` matters to correspondence games only.
    pub fn new(time: TimeControl, now_ms: i64) -> ServerClock {
        let (bank, running_since) = match time {
            TimeControl::Clock { initial, increment } => {
                let initial = initial.as_millis() as i64;
                let bank = if initial == 0 {
                    SMALLEST_BANK_MS.max(increment.as_millis() as i64)
                } else {
                    initial
                };
                (bank, None)
            }
            TimeControl::Correspondence { days_per_turn } => {
                (i64::from(days_per_turn) * DAY_MS, Some(now_ms))
            }
            TimeControl::Unlimited => (UNLIMITED_MS, None),
        };
        ServerClock {
            time,
            bank: [bank; 2],
            running_since,
        }
    }

    /// The agreement.
    pub fn time(&self) -> TimeControl {
        self.time
    }

    /// Whether both sides have a bank that real time eats.
    pub fn is_real_time(&self) -> bool {
        matches!(self.time, TimeControl::Clock { .. })
    }

    /// Increment in milliseconds; zero without a real-time clock.
    pub fn increment_ms(&self) -> i64 {
        match self.time {
            TimeControl::Clock { increment, .. } => increment.as_millis() as i64,
            _ => 0,
        }
    }

    /// Whether a turn is costing time.
    pub fn is_running(&self) -> bool {
        self.running_since.is_some()
    }

    /// Milliseconds left for `side` if it is `turn`'s turn; never negative.
    pub fn remaining(&self, side: Color, turn: Color, now_ms: i64) -> i64 {
        let bank = self.bank[side.index()];
        match self.running_since {
            Some(since) if side == turn => (bank - (now_ms - since).max(0)).max(0),
            _ => bank,
        }
    }

    /// Whether `turn` has overstepped the time.
    pub fn has_flagged(&self, turn: Color, now_ms: i64) -> bool {
        self.flag_at(turn).is_some_and(|at| now_ms >= at)
    }

    /// When `turn` will overstep the time if it does not move.
    pub fn flag_at(&self, turn: Color) -> Option<i64> {
        self.running_since
            .map(|since| since + self.bank[turn.index()])
    }

    /// `mover` has moved; `plies` counts the game's moves including this one.
    pub fn moved(&mut self, mover: Color, plies: usize, now_ms: i64) {
        match self.time {
            TimeControl::Clock { .. } => {
                if let Some(since) = self.running_since {
                    let used = (now_ms - since).max(0);
                    let left = (self.bank[mover.index()] - used).max(0);
                    self.bank[mover.index()] = left + self.increment_ms();
                }
                if plies >= 2 {
                    self.running_since = Some(now_ms);
                }
            }
            TimeControl::Correspondence { days_per_turn } => {
                self.bank = [i64::from(days_per_turn) * DAY_MS; 2];
                self.running_since = Some(now_ms);
            }
            TimeControl::Unlimited => {}
        }
    }

    /// Moves were taken back and `plies` are left; the side to move now pays from here on.
    pub fn taken_back(&mut self, turn_before: Color, plies: usize, now_ms: i64) {
        if let Some(since) = self.running_since {
            if self.is_real_time() {
                let bank = &mut self.bank[turn_before.index()];
                *bank = (*bank - (now_ms - since).max(0)).max(0);
            }
            self.running_since = Some(now_ms);
        }
        if self.is_real_time() && plies < 2 {
            self.running_since = None;
        }
    }

    /// Gives `side` more time.
    pub fn add(&mut self, side: Color, ms: i64) {
        if self.is_real_time() {
            self.bank[side.index()] += ms;
        }
    }

    /// The game is over: both banks stand still.
    pub fn stop(&mut self, turn: Color, now_ms: i64) {
        if self.is_real_time() {
            self.bank[turn.index()] = self.remaining(turn, turn, now_ms);
        }
        self.running_since = None;
    }

    /// The server was away until `now_ms`: what the side to move had is given back, plus a courtesy for both.
    pub fn resumed(&mut self, last_move_ms: i64, turn: Color, now_ms: i64) {
        if self.running_since.is_some() && self.is_real_time() {
            self.running_since = Some(now_ms.max(last_move_ms));
            self.bank[turn.index()] += 20_000;
            self.bank[(!turn).index()] += 10_000;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Color::{Black, White};

    #[test]
    fn first_moves_are_free_and_earn_nothing() {
        let mut clock = ServerClock::new(TimeControl::clock(60, 2), 0);
        assert_eq!(clock.remaining(White, White, 50_000), 60_000);
        clock.moved(White, 1, 50_000);
        clock.moved(Black, 2, 90_000);
        assert_eq!(clock.remaining(White, White, 90_000), 60_000);
        assert_eq!(clock.remaining(White, White, 91_500), 58_500);
        assert_eq!(clock.remaining(Black, White, 91_500), 60_000);
        clock.moved(White, 3, 91_500);
        assert_eq!(clock.remaining(White, Black, 99_999), 60_500);
    }

    #[test]
    fn the_flag_falls_for_the_side_to_move_only() {
        let mut clock = ServerClock::new(TimeControl::clock(1, 0), 0);
        assert!(!clock.has_flagged(White, 1_000_000));
        clock.moved(White, 1, 0);
        clock.moved(Black, 2, 0);
        assert!(!clock.has_flagged(White, 999));
        assert!(clock.has_flagged(White, 1_000));
        assert_eq!(clock.remaining(White, White, 5_000), 0);
    }

    #[test]
    fn an_empty_bank_gets_three_seconds_or_the_increment() {
        let clock = ServerClock::new(TimeControl::clock(0, 1), 0);
        assert_eq!(clock.remaining(White, White, 0), 3_000);
        let clock = ServerClock::new(TimeControl::clock(0, 10), 0);
        assert_eq!(clock.remaining(Black, White, 0), 10_000);
    }

    #[test]
    fn days_start_again_with_every_move_and_nothing_is_unlimited() {
        let days = TimeControl::Correspondence { days_per_turn: 2 };
        let mut clock = ServerClock::new(days, 0);
        assert_eq!(clock.remaining(White, White, DAY_MS), DAY_MS);
        clock.moved(White, 1, DAY_MS);
        assert_eq!(clock.remaining(Black, Black, DAY_MS), 2 * DAY_MS);
        assert!(clock.has_flagged(Black, 3 * DAY_MS));
        let clock = ServerClock::new(TimeControl::Unlimited, 0);
        assert_eq!(clock.remaining(White, White, 9), UNLIMITED_MS);
        assert!(!clock.has_flagged(White, i64::MAX));
    }

    #[test]
    fn a_takeback_moves_the_running_clock_over() {
        let mut clock = ServerClock::new(TimeControl::clock(60, 0), 0);
        clock.moved(White, 1, 0);
        clock.moved(Black, 2, 0);
        clock.moved(White, 3, 1_000);
        clock.taken_back(Black, 2, 3_000);
        assert_eq!(clock.remaining(Black, White, 3_000), 58_000);
        assert_eq!(clock.remaining(White, White, 4_000), 58_000);
        clock.taken_back(White, 0, 5_000);
        assert!(!clock.is_running());
    }
}
