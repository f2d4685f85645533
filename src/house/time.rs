//! The house's time line: milliseconds since 1970 that never step back.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Maps the monotonic clock onto the calendar once, at the start.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    start: Instant,
    epoch_ms: i64,
}

impl Timeline {
    /// Begins now.
    pub fn start() -> Timeline {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        Timeline {
            start: Instant::now(),
            epoch_ms: epoch.map_or(0, |since| since.as_millis() as i64),
        }
    }

    /// Now, ms since 1970.
    pub fn now_ms(&self) -> i64 {
        self.epoch_ms + self.start.elapsed().as_millis() as i64
    }
}
