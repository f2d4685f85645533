//! A search thread: takes searches and runs them behind a panic boundary.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::thread;

use super::Shared;
use super::state::{BestSoFar, remember};
use crate::engine::limits::SearchLimits;
use crate::engine::report::SearchReport;
use crate::engine::searcher::Searcher;
use crate::engine::stop::StopFlag;
use crate::rules::History;

/// Searches recurse once per ply and keep their position on the stack; on 10x8 boards with all
/// extensions that takes some megabytes. The memory is only reserved until it is used.
const STACK_BYTES: usize = 32 << 20;

/// What a thread needs to run a search without holding the lock.
struct Task {
    game: u64,
    history: Arc<History>,
    limits: SearchLimits,
    stop: StopFlag,
    best_so_far: BestSoFar,
}

/// Starts the thread of `slot`.
pub(super) fn start(shared: &Arc<Shared>, slot: usize) -> io::Result<()> {
    let shared = Arc::clone(shared);
    let generation = {
        let mut state = shared.lock();
        state.set_alive(slot, true);
        state.workers[slot].generation
    };
    let for_thread = Arc::clone(&shared);
    let spawned = thread::Builder::new()
        .name(format!("search-{slot}"))
        .stack_size(STACK_BYTES)
        .spawn(move || work(&for_thread, slot, generation));
    if spawned.is_err() {
        shared.lock().set_alive(slot, false);
    }
    // The thread is not joined by handle: a hung one could never be. The pool's `drop` waits for
    // the `alive` marks instead, with a deadline.
    spawned.map(drop)
}

fn work(shared: &Arc<Shared>, slot: usize, generation: u64) {
    let mut searcher = new_searcher(shared);
    let mut last_game = None;
    while let Some(task) = wait_for_task(shared, slot, generation) {
        let changed_game = last_game.is_some_and(|last| last != task.game);
        last_game = Some(task.game);
        let report = searcher
            .as_mut()
            .and_then(|searcher| run(searcher.as_mut(), &task, changed_game));
        let failed = report.is_none();

        let mut state = shared.lock();
        let Some(run) = state.take_run(slot, generation) else {
            // Given up in the meantime; a replacement has taken the place.
            state.note_return();
            shared.look.notify_one();
            return;
        };
        state.finish(run, report);
        state.rebalance(&shared.config);
        shared.work.notify_one();
        shared.look.notify_one();
        drop(state);
        if failed {
            // Its inner state is not to be trusted any more. The game has its answer already.
            searcher = new_searcher(shared);
        }
    }
    let mut state = shared.lock();
    if state.workers[slot].generation == generation {
        state.set_alive(slot, false);
    }
    shared.look.notify_all();
}

/// `None` if making it panicked; the searches of this thread then fail like ones that panic.
fn new_searcher(shared: &Shared) -> Option<Box<dyn Searcher>> {
    catch_unwind(AssertUnwindSafe(|| (shared.factory)())).ok()
}

/// Waits for a search. `None`: the thread is to end.
fn wait_for_task(shared: &Shared, slot: usize, generation: u64) -> Option<Task> {
    let mut state = shared.lock();
    loop {
        if state.shutting_down || state.workers[slot].generation != generation {
            return None;
        }
        if let Some(run) = state.next_run(slot, &shared.config) {
            let task = Task {
                game: run.job.game,
                history: Arc::clone(&run.job.history),
                limits: run.job.limits.clone(),
                stop: run.stop.clone(),
                best_so_far: Arc::clone(&run.job.best_so_far),
            };
            state.rebalance(&shared.config);
            shared.look.notify_one();
            return Some(task);
        }
        // Woken by a submission or by the end of the pool; holds no resource while waiting.
        state = shared
            .work
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

/// Runs a search. `None`: it panicked or answered with a move that cannot be played.
fn run(searcher: &mut dyn Searcher, task: &Task, changed_game: bool) -> Option<SearchReport> {
    let result = catch_unwind(AssertUnwindSafe(|| {
        if changed_game {
            searcher.switch_game();
        }
        searcher.search(&task.history, &task.limits, &task.stop, &mut |info| {
            remember(&task.best_so_far, info);
        })
    }));
    let report = result.ok()?;
    let allowed =
        task.limits.search_moves.is_empty() || task.limits.search_moves.contains(&report.best);
    (allowed && task.history.position().is_legal(report.best)).then_some(report)
}
