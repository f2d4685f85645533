//! The watch: one thread that sleeps until a search has to make room, is overdue, or hangs.

use std::io;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::schedule::{self, earliest};
use super::state::{Run, State};
use super::{Shared, worker};

/// A search that returns within this time after the latest moment may still give its own answer.
const ANSWER_GRACE: Duration = Duration::from_millis(2);

/// Threads given up and still burning their core beyond which no replacement is started: something
/// is broken for good. The pool then answers with fallback moves until one of them returns.
const ABANDONED_MAX: usize = 16;

/// When to try again after the system refused a thread.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Starts the watch.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    thread::Builder::new()
        .name("search-watch".into())
        .spawn(move || watch(&shared))
}

fn watch(shared: &Arc<Shared>) {
    let mut retry_at = Instant::now();
    let mut state = shared.lock();
    while !state.shutting_down {
        let now = Instant::now();
        let mut next = state.answer_overdue(now, ANSWER_GRACE);
        next = earliest(next, state.end_pondering(now, shared.config.max_think));
        next = earliest(next, state.preempt(now, shared.config.slice));
        next = earliest(
            next,
            give_up_hung(&mut state, now, shared.config.hang_after),
        );
        let to_fill = state.slots_to_fill(ABANDONED_MAX);
        if !to_fill.is_empty() && now >= retry_at {
            drop(state);
            let refused = to_fill
                .into_iter()
                .any(|slot| worker::start(shared, slot).is_err());
            if refused {
                // Without the thread the slot stays empty; the deadlines are still kept.
                retry_at = now + RETRY_AFTER;
            }
            state = shared.lock();
            continue;
        }
        if !to_fill.is_empty() {
            next = earliest(next, Some(retry_at));
        }
        let look = &shared.look;
        state = match next {
            Some(next) => {
                let wait = next.saturating_duration_since(now);
                look.wait_timeout(state, wait)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            // Nothing runs and nothing waits; a submission or the pool's end wakes us.
            None => look.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

/// Gives up the threads whose search should have returned long ago; when the next thread will count
/// as hung.
fn give_up_hung(state: &mut State, now: Instant, hang_after: Duration) -> Option<Instant> {
    let mut next = None;
    for slot in 0..state.workers.len() {
        let run = state.workers[slot].run.as_ref();
        let Some(due) = run.and_then(Run::must_end_at) else {
            continue;
        };
        let hangs_at = schedule::far(due, hang_after);
        if hangs_at > now {
            next = earliest(next, Some(hangs_at));
        } else {
            state.give_up(slot);
        }
    }
    next
}
