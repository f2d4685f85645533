//! How long a move takes from our decision to the platform's clock, measured.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Moves remembered.
const SAMPLES: usize = 100;
/// Fewer moves than this say nothing yet.
const MIN_SAMPLES: usize = 5;
/// No measurement counts for more: a request that hung is no property of the way.
const LONGEST: Duration = Duration::from_secs(3);

/// The measurements of one account, shared by its games.
#[derive(Debug, Clone, Default)]
pub struct Overhead {
    samples: Arc<Mutex<VecDeque<Duration>>>,
}

impl Overhead {
    /// Adds the time that one move took and returns the figure in force.
    pub fn add(&self, took: Duration) -> Duration {
        {
            let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
            if samples.len() == SAMPLES {
                samples.pop_front();
            }
            samples.push_back(took.min(LONGEST));
        }
        self.get()
    }

    /// What nine moves of ten did not exceed; zero before there are enough of them.
    pub fn get(&self) -> Duration {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() < MIN_SAMPLES {
            return Duration::ZERO;
        }
        let mut sorted: Vec<Duration> = samples.iter().copied().collect();
        sorted.sort_unstable();
        sorted[(sorted.len() * 9).div_ceil(10) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_count_and_a_hang_does_not() {
        let overhead = Overhead::default();
        let ms = Duration::from_millis;
        for _ in 0..4 {
            assert_eq!(overhead.add(ms(40)), Duration::ZERO);
        }
        assert_eq!(overhead.add(ms(40)), ms(40));
        for _ in 0..15 {
            overhead.add(ms(50));
        }
        assert_eq!(overhead.add(ms(60_000)), ms(50));
        for _ in 0..SAMPLES {
            overhead.add(ms(60_000));
        }
        assert_eq!(overhead.get(), LONGEST);
    }
}
