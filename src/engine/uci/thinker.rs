//! The search thread of the UCI front: it owns the searcher and prints its answers.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::format;
use crate::engine::fallback::fallback_move;
use crate::engine::limits::SearchLimits;
use crate::engine::report::{ReportOrigin, SearchReport};
use crate::engine::search::bench;
use crate::engine::searcher::Searcher;
use crate::engine::stop::StopFlag;
use crate::engine::{EngineConfig, NewSearcher};
use crate::rules::{History, Position};

/// Search recursion keeps positions on the stack; see the pool's threads.
const STACK_BYTES: usize = 64 << 20;

/// Where answers go: whole lines from two threads, flushed one by one.
#[derive(Clone)]
pub(super) struct Output {
    sink: Arc<Mutex<dyn Write + Send>>,
    broken: Arc<AtomicBool>,
}

impl Output {
    pub(super) fn new(sink: impl Write + Send + 'static) -> Output {
        Output {
            sink: Arc::new(Mutex::new(sink)),
            broken: Arc::default(),
        }
    }

    /// Writes a line. If nobody reads any more, that is remembered and the text is lost.
    pub(super) fn line(&self, text: &str) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let written = writeln!(sink, "{text}").and_then(|()| sink.flush());
        if written.is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn remark(&self, text: &str) {
        for part in text.lines() {
            self.line(&format!("info string {part}"));
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

/// Something for the search thread to do.
pub(super) enum Job {
    Search {
        history: Box<History>,
        limits: Box<SearchLimits>,
        stop: StopFlag,
    },
    Perft {
        position: Box<Position>,
        depth: u32,
        stop: StopFlag,
    },
    Explain(Box<Position>),
    /// At this depth, or the usual one.
    Bench(Option<u32>),
    NewGame,
    /// Searches of this position's variant will follow.
    Expect(Box<Position>),
    Configure(EngineConfig),
    /// Say `readyok` when everything before is done.
    Sync,
}

impl Job {
    /// Whether it goes on until the GUI stops it or its limits do. Whoever asks for readiness meanwhile is answered at once;
    /// everything else has to be done first, or the next move would wait for it on its own clock.
    const fn is_long(&self) -> bool {
        matches!(
            self,
            Self::Search { .. } | Self::Perft { .. } | Self::Bench(_)
        )
    }
}

/// Jobs sent and not yet done.
#[derive(Default)]
struct Pending {
    all: u32,
    long: u32,
}

/// The front's end of the search thread.
pub(super) struct Thinker {
    jobs: SyncSender<Job>,
    shared: Arc<Shared>,
}

struct Shared {
    pending: Mutex<Pending>,
    /// `pending` fell, or a search that holds its answer back may give it.
    changed: Condvar,
}

/// The search thread does not take jobs any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the search thread is gone")]
pub(super) struct Gone;

impl Thinker {
    /// Starts the thread.
    pub(super) fn start(
        config: EngineConfig,
        new_searcher: NewSearcher,
        output: Output,
    ) -> io::Result<Thinker> {
        // The front waits for idleness before each search; what else is queued is a few jobs.
        let (jobs, receiver) = sync_channel(16);
        let shared = Arc::new(Shared {
            pending: Mutex::default(),
            changed: Condvar::new(),
        });
        let for_thread = Arc::clone(&shared);
        thread::Builder::new()
            .name("uci-search".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let mut desk = Desk {
                    searcher: new_searcher(&config),
                    config,
                    new_searcher,
                    output,
                    shared: for_thread,
                };
                desk.work(&receiver);
            })?;
        Ok(Thinker { jobs, shared })
    }

    pub(super) fn send(&self, job: Job) -> Result<(), Gone> {
        let mut pending = self.pending();
        pending.all += 1;
        pending.long += u32::from(job.is_long());
        drop(pending);
        self.jobs.send(job).map_err(|_| Gone)
    }

    /// Waits until all jobs are done; `false` if that takes longer than `patience`.
    pub(super) fn wait_idle(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut pending = self.pending();
        while pending.all > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            pending = self
                .shared
                .changed
                .wait_timeout(pending, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending().all == 0
    }

    /// Whether a search, a count or a bench runs or waits.
    pub(super) fn is_thinking(&self) -> bool {
        self.pending().long > 0
    }

    /// Tells a search that holds its answer back that its flag has changed.
    pub(super) fn flag_changed(&self) {
        let _guard = self.pending();
        self.shared.changed.notify_all();
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.shared
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The search thread's side.
struct Desk {
    searcher: Box<dyn Searcher>,
    config: EngineConfig,
    new_searcher: NewSearcher,
    output: Output,
    shared: Arc<Shared>,
}

impl Desk {
    fn work(&mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            let is_long = job.is_long();
            self.attend(job);
            let mut pending = self
                .shared
                .pending
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            pending.all = pending.all.saturating_sub(1);
            pending.long = pending.long.saturating_sub(u32::from(is_long));
            self.shared.changed.notify_all();
        }
    }

    fn attend(&mut self, job: Job) {
        match job {
            Job::Search {
                history,
                limits,
                stop,
            } => self.search(&history, &limits, &stop),
            Job::Perft {
                position,
                depth,
                stop,
            } => perft(&position, depth, &stop, &self.output),
            Job::Explain(position) => {
                let text = self.searcher.explain(&position);
                let text = text.unwrap_or_else(|| "no evaluation to show".into());
                for part in text.lines() {
                    self.output.line(part);
                }
            }
            Job::Bench(depth) => self.bench(depth),
            Job::NewGame => self.searcher.new_game(),
            Job::Expect(position) => self.searcher.expect(&position),
            Job::Configure(config) => {
                self.config = config;
                self.renew();
            }
            Job::Sync => self.output.line("readyok"),
        }
    }

    /// Searches with a searcher of its own, so options and table of this one do not matter.
    fn bench(&self, depth: Option<u32>) {
        const DEPTH_MAX: u32 = 60;
        let depth = depth.unwrap_or(bench::DEPTH).clamp(1, DEPTH_MAX);
        let result = bench::run(depth, |variant, fen, nodes| {
            let name = variant.uci_name();
            self.output.remark(&format!("{nodes} nodes {name} {fen}"));
        });
        let (nodes, nps) = (result.nodes, result.nps());
        self.output.line(&format!("{nodes} nodes {nps} nps"));
    }

    /// Builds the searcher anew. The old one is dropped first, so that the memory of only one is
    /// needed; a tiny one stands in for the moment.
    fn renew(&mut self) {
        let tiny = EngineConfig {
            hash_bytes: 1 << 20,
            threads: 1,
            ..self.config.clone()
        };
        self.searcher = (self.new_searcher)(&tiny);
        self.searcher = (self.new_searcher)(&self.config);
    }

    fn search(&mut self, history: &History, limits: &SearchLimits, stop: &StopFlag) {
        let root = history.position();
        let output = &self.output;
        let searcher = &mut self.searcher;
        let mut n_lines = 0_u64;
        let result = catch_unwind(AssertUnwindSafe(|| {
            searcher.search(history, limits, stop, &mut |info| {
                n_lines += 1;
                output.line(&format::info_line(info, root));
            })
        }));
        let report = match result {
            Ok(report) if root.is_legal(report.best) => report,
            other => {
                let fault = if other.is_ok() {
                    "the search chose an illegal move"
                } else {
                    "the search panicked"
                };
                output.remark(&format!("error: {fault}; playing a fallback move"));
                let Some(best) = fallback_move(history) else {
                    output.line("bestmove (none)");
                    return;
                };
                self.renew();
                SearchReport::without_search(best, ReportOrigin::Fallback, stop.elapsed())
            }
        };
        if n_lines == 0 {
            self.output.line(&format::report_line(&report, root));
        }
        self.hold_back(limits, stop);
        self.output.line(&format::best_line(&report, root));
    }

    /// A GUI that asked for infinite search or pondering gets the answer only when it says so.
    fn hold_back(&self, limits: &SearchLimits, stop: &StopFlag) {
        let mut guard = self
            .shared
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while !stop.is_stopped() && (limits.infinite || stop.is_pondering()) {
            guard = self
                .shared
                .changed
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Counts leaves below each root move.
fn perft(position: &Position, depth: u32, stop: &StopFlag, output: &Output) {
    let mut total = 0_u64;
    if depth == 0 {
        total = 1;
    } else {
        for &candidate in position.legal_moves().iter() {
            let mut after = position.clone();
            after.play_unchecked(candidate);
            let Some(n) = leaves(&after, depth - 1, stop) else {
                output.remark("perft stopped");
                return;
            };
            total += n;
            output.line(&format!("{}: {n}", position.uci(candidate)));
        }
    }
    output.line("");
    output.line(&format!("Nodes searched: {total}"));
}

/// `None`: stopped.
fn leaves(position: &Position, depth: u32, stop: &StopFlag) -> Option<u64> {
    if depth == 0 {
        return Some(1);
    }
    let moves = position.legal_moves();
    if depth == 1 {
        return Some(moves.len() as u64);
    }
    if depth >= 3 && stop.is_stopped() {
        return None;
    }
    let mut total = 0;
    for &candidate in moves.iter() {
        let mut after = position.clone();
        after.play_unchecked(candidate);
        total += leaves(&after, depth - 1, stop)?;
    }
    Some(total)
}
