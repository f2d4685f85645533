//! Time as the session sees it: a monotonic moment handed in, and the agreement on thinking time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point on the daemon's monotonic time line in microseconds, counted from an arbitrary start (the daemon's, or the tape's).
///
/// Only differences mean anything. It is a plain number so that a tape can hold it exactly.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Moment(u64);

impl Moment {
    /// The moment `elapsed` after the start of the time line.
    pub fn after_start(elapsed: Duration) -> Self {
        Self(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
    }

    /// Time since the start of the time line.
    pub const fn since_start(self) -> Duration {
        Duration::from_micros(self.0)
    }

    /// Time from `earlier` to `self`; zero if `earlier` is in fact later.
    pub const fn since(self, earlier: Moment) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, span: Duration) -> Moment {
        Moment(self.0.saturating_add(Moment::after_start(span).0))
    }
}

/// The agreement on thinking time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TimeControl {
    /// A bank for the whole game and an increment per move, the same for both sides.
    Clock {
        /// Bank at the start. Zero is possible (the platform then gives a few seconds to begin with).
        initial: Duration,
        /// Added after each move.
        increment: Duration,
    },
    /// A number of days for each move.
    Correspondence {
        /// Days for one move, at least 1.
        days_per_turn: u32,
    },
    /// No clock at all.
    Unlimited,
}

impl TimeControl {
    /// A clock from whole seconds, the unit that players use.
    pub const fn clock(initial_s: u64, increment_s: u64) -> Self {
        Self::Clock {
            initial: Duration::from_secs(initial_s),
            increment: Duration::from_secs(increment_s),
        }
    }

    /// The speed class: estimated by `initial + 40 * increment`, as Lichess and PyChess do.
    /// Games without a clock count as correspondence.
    pub fn speed(self) -> Speed {
        let Self::Clock { initial, increment } = self else {
            return Speed::Correspondence;
        };
        match initial
            .saturating_add(increment.saturating_mul(40))
            .as_secs()
        {
            0..=29 => Speed::UltraBullet,
            30..=179 => Speed::Bullet,
            180..=479 => Speed::Blitz,
            480..=1_499 => Speed::Rapid,
            _ => Speed::Classical,
        }
    }
}

impl std::fmt::Display for TimeControl {
    /// `180+2` in seconds, `3d` for days, `unlimited`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Clock { initial, increment } => {
                write!(f, "{}+{}", initial.as_secs(), increment.as_secs())
            }
            Self::Correspondence { days_per_turn } => write!(f, "{days_per_turn}d"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// Speed class of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speed {
    /// Estimated below 30 seconds a side.
    UltraBullet,
    /// Estimated below 3 minutes a side.
    Bullet,
    /// Estimated below 8 minutes a side.
    Blitz,
    /// Estimated below 25 minutes a side.
    Rapid,
    /// Longer, with a clock.
    Classical,
    /// Days per move, or no clock.
    Correspondence,
}
