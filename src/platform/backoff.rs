//! Waiting times between attempts to reconnect.

use std::time::Duration;

use rand::{Rng, RngCore};
use tokio::time::Instant;

/// Bounds of the waiting time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffConfig {
    /// Shortest wait, and the first one's lower bound.
    pub base: Duration,
    /// Longest wait.
    pub cap: Duration,
    /// A connection that lasted this long starts the waits anew.
    pub healthy_after: Duration,
}

impl Default for BackoffConfig {
    fn default() -> BackoffConfig {
        BackoffConfig {
            base: Duration::from_millis(200),
            cap: Duration::from_secs(30),
            healthy_after: Duration::from_secs(60),
        }
    }
}

/// Decorrelated jitter: each wait is drawn between the base and three times the wait before, up to the cap.
///
/// Many clients that lose the same server come back spread out, and one that fails again and again slows down.
#[derive(Clone, Debug)]
pub struct Backoff {
    config: BackoffConfig,
    previous: Option<Duration>,
    attempts: u32,
    connected_at: Option<Instant>,
}

impl Backoff {
    /// A backoff that has not failed yet.
    #[must_use]
    pub fn new(config: BackoffConfig) -> Backoff {
        Backoff {
            config,
            previous: None,
            attempts: 0,
            connected_at: None,
        }
    }

    /// Failures since the last healthy connection.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Notes that a connection stands.
    pub fn connected(&mut self, now: Instant) {
        self.connected_at = Some(now);
    }

    /// Notes a failure, or the loss of a connection, and returns how long to wait before the next attempt.
    pub fn failed(&mut self, now: Instant, rng: &mut dyn RngCore) -> Duration {
        if let Some(since) = self.connected_at.take()
            && now.duration_since(since) >= self.config.healthy_after
        {
            self.previous = None;
            self.attempts = 0;
        }
        self.attempts = self.attempts.saturating_add(1);
        let base = self.config.base.min(self.config.cap);
        let upper = self
            .previous
            .map_or(base, |previous| previous.saturating_mul(3))
            .min(self.config.cap);
        let micros = |d: Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
        let (low, high) = (micros(base), micros(upper.max(base)));
        let wait = Duration::from_micros(rng.random_range(low..=high));
        self.previous = Some(wait);
        wait
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::SmallRng};

    use super::*;

    #[test]
    fn waits_grow_to_the_cap_and_never_leave_the_bounds() {
        let config = BackoffConfig::default();
        let mut longest = Duration::ZERO;
        for seed in 0..64 {
            let mut rng = SmallRng::seed_from_u64(seed);
            let mut backoff = Backoff::new(config);
            let now = Instant::now();
            assert_eq!(
                backoff.failed(now, &mut rng),
                config.base,
                "the first wait is the shortest"
            );
            for _ in 0..40 {
                let wait = backoff.failed(now, &mut rng);
                assert!((config.base..=config.cap).contains(&wait), "{wait:?}");
                longest = longest.max(wait);
            }
        }
        assert!(
            longest > config.cap / 2,
            "the cap is approached: {longest:?}"
        );
    }

    #[test]
    fn only_a_healthy_minute_resets() {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut backoff = Backoff::new(BackoffConfig::default());
        let start = Instant::now();
        for _ in 0..20 {
            backoff.failed(start, &mut rng);
        }
        backoff.connected(start);
        backoff.failed(start + Duration::from_secs(59), &mut rng);
        assert_eq!(backoff.attempts(), 21);
        backoff.connected(start + Duration::from_secs(60));
        let wait = backoff.failed(start + Duration::from_secs(120), &mut rng);
        assert_eq!(
            (backoff.attempts(), wait),
            (1, BackoffConfig::default().base)
        );
    }
}
