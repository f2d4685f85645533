//! How a running search is told to end: a flag anybody may raise, and a budget of time that may
//! change while the search runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::time::TimePlan;

/// Nanoseconds that mean "no bound".
const NEVER: u64 = u64::MAX;

/// Shared between a search, who waits for it, and the scheduler. Clones are the same flag.
///
/// The searcher asks [`StopFlag::should_stop`] every one or two thousand nodes. Once it has said
/// yes it never says no again. A search that is stopped returns its best move so far, which exists
/// even if the flag was up before the search began.
#[derive(Clone, Debug)]
pub struct StopFlag {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    stopped: AtomicBool,
    pondering: AtomicBool,
    /// The search's time counts from here.
    started: Instant,
    /// Nanoseconds; see [`TimePlan::soft`].
    soft_ns: AtomicU64,
    /// Nanoseconds; see [`TimePlan::hard`].
    hard_ns: AtomicU64,
    /// Nanoseconds after `started` at which pondering ended; zero if it never did.
    hit_ns: AtomicU64,
}

impl Default for StopFlag {
    fn default() -> StopFlag {
        StopFlag::new()
    }
}

impl StopFlag {
    /// A flag that is down and has no plan; time counts from now.
    pub fn new() -> StopFlag {
        StopFlag::started_at(Instant::now())
    }

    /// A flag for a search whose clock began to run at `started`, for instance when it was queued.
    pub fn started_at(started: Instant) -> StopFlag {
        StopFlag {
            shared: Arc::new(Shared {
                stopped: AtomicBool::new(false),
                pondering: AtomicBool::new(false),
                started,
                soft_ns: AtomicU64::new(NEVER),
                hard_ns: AtomicU64::new(NEVER),
                hit_ns: AtomicU64::new(0),
            }),
        }
    }

    /// Raises the flag. It cannot be lowered.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is up; does not look at the clock.
    pub fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed)
    }

    /// Whether the search must end now: flag up or hard bound reached. Reads the clock, so ask
    /// every one or two thousand nodes and not at every node.
    pub fn should_stop(&self) -> bool {
        if self.is_stopped() {
            return true;
        }
        let hard_ns = self.shared.hard_ns.load(Ordering::Relaxed);
        if hard_ns == NEVER || self.is_pondering() {
            return false;
        }
        let hit_ns = self.shared.hit_ns.load(Ordering::Relaxed);
        if nanos(self.elapsed()) < hard_ns.saturating_add(hit_ns) {
            return false;
        }
        self.stop();
        true
    }

    /// Sets or replaces the budget of the search. While the search ponders it does not hold yet.
    /// The plan's latest answer is not kept: that is for those who wait for the search.
    pub fn set_plan(&self, plan: TimePlan) {
        self.shared
            .soft_ns
            .store(nanos(plan.soft), Ordering::Relaxed);
        self.shared
            .hard_ns
            .store(nanos(plan.hard), Ordering::Relaxed);
    }

    /// The budget in force.
    pub fn plan(&self) -> Option<TimePlan> {
        let soft_ns = self.shared.soft_ns.load(Ordering::Relaxed);
        let hard_ns = self.shared.hard_ns.load(Ordering::Relaxed);
        (hard_ns != NEVER).then(|| TimePlan {
            soft: Duration::from_nanos(soft_ns),
            hard: Duration::from_nanos(hard_ns),
            latest: Duration::from_nanos(hard_ns),
        })
    }

    /// Time since the search began, pondering included.
    pub fn elapsed(&self) -> Duration {
        self.shared.started.elapsed()
    }

    /// When the search began.
    pub fn started(&self) -> Instant {
        self.shared.started
    }

    /// Marks the search as thinking on the opponent's time: only the flag ends it.
    pub fn start_pondering(&self) {
        self.shared.pondering.store(true, Ordering::Release);
    }

    /// The expected move was played: from now on the own clock runs and the plan holds. What was
    /// thought before counts for the soft bound, as thinking done, but not for the hard one.
    pub fn ponder_hit(&self) {
        self.shared
            .hit_ns
            .store(nanos(self.elapsed()), Ordering::Relaxed);
        self.shared.pondering.store(false, Ordering::Release);
    }

    /// Whether the search thinks on the opponent's time.
    pub fn is_pondering(&self) -> bool {
        self.shared.pondering.load(Ordering::Acquire)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).map_or(NEVER - 1, |ns| ns.min(NEVER - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seconds: u64) -> TimePlan {
        TimePlan::exactly(Duration::from_secs(seconds))
    }

    fn begun_before(seconds: u64) -> StopFlag {
        let started = Instant::now().checked_sub(Duration::from_secs(seconds));
        StopFlag::started_at(started.expect("the machine has been up for some seconds"))
    }

    #[test]
    fn raising_one_clone_raises_all() {
        let flag = StopFlag::new();
        let other = flag.clone();
        assert!(!flag.should_stop());
        other.stop();
        assert!(flag.is_stopped() && flag.should_stop());
    }

    #[test]
    fn hard_bound_counts_from_the_start() {
        let flag = begun_before(10);
        flag.set_plan(plan(3600));
        assert!(!flag.should_stop());
        flag.set_plan(plan(9));
        assert!(!flag.is_stopped(), "the clock is looked at only on asking");
        assert!(flag.should_stop());
        flag.set_plan(plan(3600));
        assert!(flag.should_stop(), "a stopped search stays stopped");
    }

    #[test]
    fn pondering_suspends_the_hard_bound_and_the_hit_restarts_it() {
        let flag = begun_before(10);
        flag.set_plan(plan(5));
        flag.start_pondering();
        assert!(!flag.should_stop());
        flag.ponder_hit();
        assert!(!flag.is_pondering());
        assert!(!flag.should_stop(), "five seconds from the hit");
        flag.set_plan(plan(0));
        assert!(flag.should_stop());
    }

    #[test]
    fn absurdly_long_bounds_do_not_wrap() {
        let flag = StopFlag::new();
        assert_eq!(flag.plan(), None);
        flag.set_plan(TimePlan::exactly(Duration::MAX));
        assert!(!flag.should_stop());
        assert!(flag.plan().is_some());
        flag.start_pondering();
        flag.ponder_hit();
        assert!(!flag.should_stop());
    }
}
