//! All games of the daemon share a few search threads.
//!
//! A game submits its position and gets a [`SearchHandle`]; the pool decides when the search gets a
//! thread and how long it may keep it (`schedule`), runs it behind a panic boundary (`worker`), and
//! watches the clock over it (`watch`): whatever the search does, the handle has a legal move when
//! the latest moment of its time plan is reached.
//!
//! Each search runs on one thread; the searchers of all threads share what their factory makes them
//! share, above all the transposition table, so a search that was interrupted finds its work again.

mod handle;
mod schedule;
mod state;
mod watch;
mod worker;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

pub use handle::SearchHandle;
use state::{Job, State};

use super::limits::SearchLimits;
use super::report::{ReportOrigin, SearchReport};
use super::searcher::Searcher;
use super::time::{self, Situation, TimePlan};
use crate::rules::History;

/// Makes the searcher of a thread; called once per thread, and again after a panic or a hang.
pub type SearcherFactory = Arc<dyn Fn() -> Box<dyn Searcher> + Send + Sync>;

/// How the pool is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Search threads, at least one. Leave a core to the rest of the daemon.
    pub threads: usize,
    /// Searches that may wait at the same time; one more is refused with [`SubmitError::Full`].
    pub queue_limit: usize,
    /// Every search that gets a thread may keep it so long, clock permitting. Long enough for
    /// the first iterations on a loaded machine.
    pub slice: Duration,
    /// No search takes longer, correspondence and untimed ones included.
    pub max_think: Duration,
    /// A search that has not returned so long after its end was due counts as hung: its thread is
    /// given up and replaced.
    pub hang_after: Duration,
}

impl Default for PoolConfig {
    /// One thread, 256 waiting, 5 ms slice, 30 s a move, 0.3 s until a thread counts as hung.
    fn default() -> PoolConfig {
        PoolConfig {
            threads: 1,
            queue_limit: 256,
            slice: Duration::from_millis(5),
            max_think: Duration::from_secs(30),
            hang_after: Duration::from_millis(300),
        }
    }
}

/// A position that wants a move.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The caller's number of this search; comes back in the handle, means nothing to the pool.
    pub id: u64,
    /// Which game it belongs to, so that a searcher knows when it changes games.
    pub game: u64,
    /// The game up to the position.
    pub history: History,
    /// Bounds. Without any time bound the search gets [`PoolConfig::max_think`].
    ///
    /// With `ponder` it is a search on the opponent's time and stands behind all others until
    /// [`SearchHandle::ponder_hit`]. If it ends before that (nothing left to find, pondered for
    /// `max_think`, or its place in the queue was needed) the report comes at once and the hit
    /// changes nothing; one whose origin is not a search is then best followed by a new request.
    /// Moves in `search_moves` that are not legal are dropped.
    pub limits: SearchLimits,
}

/// Why a search was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The queue is full. A search on the opponent's time makes room for a real one first; so the
    /// caller has more games than the pool was laid out for and may play
    /// [`fallback_move`](super::fallback_move).
    #[error("the search queue is full: {limit} searches are waiting")]
    Full {
        /// [`PoolConfig::queue_limit`].
        limit: usize,
    },
    /// The position has no legal move.
    #[error("the position has no legal move to search")]
    NoLegalMove,
    /// The pool is shutting down.
    #[error("the search pool is shutting down")]
    ShuttingDown,
}

/// A thread of the pool could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start a thread of the search pool")]
pub struct StartError(#[from] std::io::Error);

/// Counters since the pool was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Searches taken.
    pub submitted: u64,
    /// Answers given, fallbacks included.
    pub answered: u64,
    /// Answers without any search result.
    pub fallbacks: u64,
    /// Searches answered without them at the latest moment, since they had not returned or begun.
    pub cut_off: u64,
    /// Times a running search had to make room.
    pub preemptions: u64,
    /// Searches that panicked or gave an illegal move.
    pub faults: u64,
    /// Threads given up because their search hung.
    pub hangs: u64,
    /// Searches waiting now.
    pub queued: usize,
    /// Searches running now.
    pub running: usize,
}

/// The search threads. Dropping it stops all searches; each handle still gets a move.
pub struct Pool {
    shared: Arc<Shared>,
    watch: Option<JoinHandle<()>>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("config", &self.shared.config)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// What the threads of the pool and its handles have in common.
struct Shared {
    config: PoolConfig,
    factory: SearcherFactory,
    state: Mutex<State>,
    /// There may be work for a worker.
    work: Condvar,
    /// Something changed that the watch has to look at.
    look: Condvar,
}

impl Shared {
    /// The state. A panic cannot leave it half changed, since no searcher runs under the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn new(config: PoolConfig, factory: SearcherFactory) -> Result<Pool, StartError> {
        let config = PoolConfig {
            threads: config.threads.max(1),
            ..config
        };
        let shared = Arc::new(Shared {
            config,
            factory,
            state: Mutex::new(State::new(config.threads)),
            work: Condvar::new(),
            look: Condvar::new(),
        });
        // From here on `drop` ends what was started, should a later thread fail.
        let mut pool = Pool {
            shared: Arc::clone(&shared),
            watch: None,
        };
        for slot in 0..config.threads {
            worker::start(&shared, slot)?;
        }
        pool.watch = Some(watch::start(&shared)?);
        Ok(pool)
    }

    /// Takes a search. The time of a timed search counts from now.
    ///
    /// A position with a single legal move is answered at once if a clock bounds the search.
    ///
    /// # Errors
    /// See [`SubmitError`]; nothing was queued then.
    pub fn submit(&self, request: SearchRequest) -> Result<SearchHandle, SubmitError> {
        let submitted = Instant::now();
        let position = request.history.position();
        let situation = Situation {
            variant: position.variant(),
            ply: position.ply(),
            n_legal: position.legal_moves().len(),
        };
        if situation.n_legal == 0 {
            return Err(SubmitError::NoLegalMove);
        }
        let mut limits = request.limits;
        limits.search_moves.retain(|&m| position.is_legal(m));
        let plan = plan_of(&self.shared.config, &limits, situation);
        let (reply, receiver) = oneshot::channel();
        let history = Arc::new(request.history);
        let only_move = (situation.n_legal == 1 && limits.is_timed() && !limits.ponder)
            .then(|| history.position().legal_moves()[0]);

        let mut state = self.shared.lock();
        if state.shutting_down {
            return Err(SubmitError::ShuttingDown);
        }
        let ticket = state.next_ticket();
        let mut job = Job::new(
            ticket,
            request.game,
            Arc::clone(&history),
            limits,
            plan,
            submitted,
            reply,
        );
        if let Some(only_move) = only_move {
            let report = SearchReport::without_search(
                only_move,
                ReportOrigin::OnlyMove,
                submitted.elapsed(),
            );
            state.stats.submitted += 1;
            state.answer(&mut job, report);
        } else {
            let limit = self.shared.config.queue_limit;
            if !state.enqueue(job, limit) {
                return Err(SubmitError::Full { limit });
            }
            state.rebalance(&self.shared.config);
            self.shared.work.notify_one();
            self.shared.look.notify_one();
        }
        drop(state);
        Ok(SearchHandle::new(
            Arc::clone(&self.shared),
            request.id,
            ticket,
            history,
            submitted,
            receiver,
        ))
    }

    /// Counters, for the dashboard and for tests.
    pub fn stats(&self) -> PoolStats {
        self.shared.lock().stats()
    }
}

/// The budget of a search in this pool.
fn plan_of(config: &PoolConfig, limits: &SearchLimits, situation: Situation) -> TimePlan {
    let max_think = limits
        .max_think
        .map_or(config.max_think, |own| own.min(config.max_think));
    let capped = SearchLimits {
        max_think: Some(max_think),
        infinite: false,
        ..limits.clone()
    };
    time::plan(&capped, situation)
        .unwrap_or(TimePlan::exactly(max_think))
        .capped(max_think)
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.shut_down();
        self.shared.work.notify_all();
        self.shared.look.notify_all();
        // Searches notice their flag within milliseconds; one that hangs is left behind.
        let patience = Instant::now() + self.shared.config.hang_after;
        while state.n_alive() > 0 {
            let Some(left) = patience
                .checked_duration_since(Instant::now())
                .filter(|left| !left.is_zero())
            else {
                break;
            };
            let (guard, _timed_out) = self
                .shared
                .look
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner);
            state = guard;
        }
        state.answer_running();
        drop(state);
        if let Some(watch) = self.watch.take() {
            // The watch ends at the latest at its next look, which was asked for above. A panic in
            // it was reported by the panic hook; there is nothing left to do about it here.
            drop(watch.join());
        }
    }
}
