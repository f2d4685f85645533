//! Where the real clocks enter.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::game::Moment;
use crate::lobby::Now;

/// The daemon's time line: monotonic from its start, with the calendar's time at that moment.
///
/// The wall time it gives is that of the start plus what ran since: a jump of the system's clock moves no lease and no rest.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    start: Instant,
    start_wall_ms: i64,
}

impl Timeline {
    /// A time line that begins now.
    pub fn start() -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |span| span.as_millis());
        Self {
            start: Instant::now(),
            start_wall_ms: i64::try_from(wall).unwrap_or(i64::MAX),
        }
    }

    /// Now, as sessions count.
    pub fn now(&self) -> Moment {
        self.moment(Instant::now())
    }

    /// A moment that was taken from the runtime's clock.
    pub fn moment(&self, at: Instant) -> Moment {
        Moment::after_start(at.saturating_duration_since(self.start))
    }

    /// The other way round, for timers.
    pub fn instant(&self, moment: Moment) -> Instant {
        self.start + moment.since_start()
    }

    /// Milliseconds since 1970.
    pub fn wall_ms(&self) -> i64 {
        let run = self.start.elapsed().as_millis();
        self.start_wall_ms
            .saturating_add(i64::try_from(run).unwrap_or(i64::MAX))
    }

    /// Now on both time lines.
    pub fn both(&self) -> Now {
        Now {
            mono: self.now(),
            wall_ms: self.wall_ms(),
        }
    }
}
