//! What the pool knows: the searches that wait, those that run, and on which thread.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::schedule::{self, Demand, Running};
use super::{PoolConfig, PoolStats};
use crate::engine::fallback::fallback_move;
use crate::engine::limits::SearchLimits;
use crate::engine::report::{Bound, ReportOrigin, SearchInfo, SearchReport};
use crate::engine::stop::StopFlag;
use crate::engine::time::TimePlan;
use crate::rules::History;

/// Last finished first line of a search; written by the search thread while it runs.
pub(super) type BestSoFar = Arc<Mutex<Option<SearchInfo>>>;

/// One submitted search.
pub(super) struct Job {
    pub(super) demand: Demand,
    pub(super) game: u64,
    pub(super) history: Arc<History>,
    pub(super) limits: SearchLimits,
    pub(super) best_so_far: BestSoFar,
    /// How long earlier runs of this search lasted; pondering counts.
    pub(super) thought: Duration,
    /// `None` once answered.
    reply: Option<oneshot::Sender<SearchReport>>,
    /// When the search was submitted by the caller, for the report; differs from
    /// `demand.submitted` after a ponder hit.
    begun: Instant,
}

impl Job {
    pub(super) fn new(
        ticket: u64,
        game: u64,
        history: Arc<History>,
        limits: SearchLimits,
        plan: TimePlan,
        submitted: Instant,
        reply: oneshot::Sender<SearchReport>,
    ) -> Job {
        Job {
            demand: Demand {
                ponder: limits.ponder,
                plan,
                submitted,
                ticket,
            },
            game,
            history,
            limits,
            best_so_far: BestSoFar::default(),
            thought: Duration::ZERO,
            reply: Some(reply),
            begun: submitted,
        }
    }

    pub(super) fn ticket(&self) -> u64 {
        self.demand.ticket
    }

    /// The best answer without waiting for the search: what it last said, or a static choice.
    pub(super) fn answer_without_search(&self) -> SearchReport {
        let elapsed = self.begun.elapsed();
        let said = self
            .best_so_far
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let position = self.history.position();
        let allowed = |m| {
            position.is_legal(m)
                && (self.limits.search_moves.is_empty() || self.limits.search_moves.contains(&m))
        };
        if let Some(info) = said
            && let Some(&best) = info.pv.first()
            && allowed(best)
        {
            return SearchReport {
                best,
                ponder: info.pv.get(1).copied(),
                score: info.score,
                depth: info.depth,
                seldepth: info.seldepth,
                nodes: info.nodes,
                elapsed,
                pv: info.pv,
                origin: ReportOrigin::BestSoFar,
            };
        }
        let best = self
            .limits
            .search_moves
            .iter()
            .copied()
            .find(|&m| position.is_legal(m))
            .or_else(|| fallback_move(&self.history))
            .expect("a search is only taken for a position with a legal move");
        SearchReport::without_search(best, ReportOrigin::Fallback, elapsed)
    }
}

/// Keeps what the search says, if it can be played: exact or failing-high first lines.
pub(super) fn remember(best_so_far: &BestSoFar, info: &SearchInfo) {
    if info.multi_pv <= 1 && info.bound != Bound::Upper && !info.pv.is_empty() {
        let mut slot = best_so_far.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(info.clone());
    }
}

/// A search thread.
pub(super) struct Worker {
    /// Raised when the thread is given up; a thread that finds another number here ends itself.
    pub(super) generation: u64,
    pub(super) run: Option<Run>,
    alive: bool,
}

/// A search on a thread.
pub(super) struct Run {
    pub(super) job: Job,
    pub(super) stop: StopFlag,
    pub(super) since: Instant,
    /// When it was told to stop: to make room, or because its answer is wanted or not wanted.
    pub(super) stopped_at: Option<Instant>,
    /// It has to make room but may go on later.
    pub(super) resume: bool,
}

impl Run {
    fn running(&self) -> Running {
        Running {
            demand: self.job.demand,
            since: self.since,
            stopping: self.stopped_at.is_some(),
        }
    }

    /// Tells the search to end; `resume`: it goes on when a thread is free again.
    fn halt(&mut self, now: Instant, resume: bool) {
        self.stopped_at.get_or_insert(now);
        self.resume = resume;
        self.stop.stop();
    }

    /// When the search has to return its thread; `None` while it may go on pondering.
    pub(super) fn must_end_at(&self) -> Option<Instant> {
        let deadline = (!self.job.demand.ponder).then(|| self.job.demand.deadline());
        schedule::earliest(deadline, self.stopped_at)
    }
}

/// Everything that the lock of the pool guards.
pub(super) struct State {
    /// In order of [`Demand::order`].
    queue: Vec<Job>,
    pub(super) workers: Vec<Worker>,
    pub(super) stats: PoolStats,
    pub(super) shutting_down: bool,
    /// Threads that were given up and have not returned.
    abandoned: usize,
    last_ticket: u64,
}

impl State {
    pub(super) fn new(threads: usize) -> State {
        State {
            queue: Vec::new(),
            workers: (0..threads)
                .map(|_| Worker {
                    generation: 0,
                    run: None,
                    alive: false,
                })
                .collect(),
            stats: PoolStats::default(),
            shutting_down: false,
            abandoned: 0,
            last_ticket: 0,
        }
    }

    pub(super) fn next_ticket(&mut self) -> u64 {
        self.last_ticket += 1;
        self.last_ticket
    }

    pub(super) fn stats(&self) -> PoolStats {
        PoolStats {
            queued: self.queue.len(),
            running: self.workers.iter().filter(|w| w.run.is_some()).count(),
            ..self.stats
        }
    }

    /// Queues a search. `false`: there is no room, not even by giving up a ponder search.
    pub(super) fn enqueue(&mut self, job: Job, limit: usize) -> bool {
        if self.queue.len() >= limit {
            // Searches on the opponent's time stand last.
            let gives_way = !job.demand.ponder
                && self.queue.last().is_some_and(|last| last.demand.ponder)
                && limit > 0;
            if !gives_way {
                return false;
            }
            if let Some(mut ponder) = self.queue.pop() {
                let report = ponder.answer_without_search();
                self.answer(&mut ponder, report);
            }
        }
        self.stats.submitted += 1;
        self.insert(job);
        true
    }

    fn insert(&mut self, job: Job) {
        let place = self
            .queue
            .partition_point(|other| other.demand.order(&job.demand).is_lt());
        self.queue.insert(place, job);
    }

    /// Gives the answer to whoever waits for it.
    pub(super) fn answer(&mut self, job: &mut Job, report: SearchReport) {
        if let Some(reply) = job.reply.take() {
            self.stats.answered += 1;
            if report.origin == ReportOrigin::Fallback {
                self.stats.fallbacks += 1;
            }
            // The receiver may be gone: its game ended. Then nobody needs the answer.
            drop(reply.send(report));
        }
    }

    /// Searches that want to think now, per thread.
    fn crowd(&self) -> f64 {
        let waiting = self.queue.iter().filter(|job| !job.demand.ponder).count();
        let running = self
            .workers
            .iter()
            .filter_map(|worker| worker.run.as_ref())
            .filter(|run| !run.job.demand.ponder && run.stopped_at.is_none())
            .count();
        // Counts beyond a few thousand do not occur, so the conversion is exact.
        (waiting + running) as f64 / self.workers.len() as f64
    }

    /// Gives each running search its share anew, after the number of searches changed.
    pub(super) fn rebalance(&mut self, config: &PoolConfig) {
        let crowd = self.crowd();
        for run in self.workers.iter().filter_map(|w| w.run.as_ref()) {
            if !run.job.demand.ponder {
                set_bounds(run, crowd, config);
            }
        }
    }

    /// Takes the next search for the thread of `slot`, if there is one.
    pub(super) fn next_run(&mut self, slot: usize, config: &PoolConfig) -> Option<&Run> {
        if self.queue.is_empty() {
            return None;
        }
        // Counted while the search still stands in the queue.
        let crowd = self.crowd();
        let job = self.queue.remove(0);
        let stop = StopFlag::started_at(job.demand.submitted);
        if job.demand.ponder {
            stop.start_pondering();
        }
        let run = Run {
            job,
            stop,
            since: Instant::now(),
            stopped_at: None,
            resume: false,
        };
        set_bounds(&run, crowd, config);
        let worker = &mut self.workers[slot];
        worker.run = Some(run);
        worker.run.as_ref()
    }

    /// Takes the search off the thread of `slot`, if the thread still belongs to the pool.
    pub(super) fn take_run(&mut self, slot: usize, generation: u64) -> Option<Run> {
        let worker = &mut self.workers[slot];
        (worker.generation == generation)
            .then(|| worker.run.take())
            .flatten()
    }

    /// A run ended by itself or because it was stopped, with this result (`None`: it failed).
    pub(super) fn finish(&mut self, mut run: Run, report: Option<SearchReport>) {
        run.job.thought += run.since.elapsed();
        let Some(mut report) = report else {
            self.stats.faults += 1;
            let report = run.job.answer_without_search();
            self.answer(&mut run.job, report);
            return;
        };
        let wanted = run.job.reply.as_ref().is_some_and(|r| !r.is_closed());
        let goes_on = run.resume
            && wanted
            && !self.shutting_down
            && (run.job.demand.ponder || Instant::now() < run.job.demand.need_at());
        if goes_on {
            remember(&run.job.best_so_far, &info_of(&report));
            self.insert(run.job);
        } else {
            report.elapsed = run.job.begun.elapsed();
            self.answer(&mut run.job, report);
        }
    }

    /// The caller wants the answer of this search now.
    pub(super) fn stop(&mut self, ticket: u64) {
        if let Some(place) = self.queue.iter().position(|job| job.ticket() == ticket) {
            let mut job = self.queue.remove(place);
            let report = job.answer_without_search();
            self.answer(&mut job, report);
        } else if let Some(run) = self.run_of(ticket) {
            run.halt(Instant::now(), false);
        }
    }

    /// Nobody waits for this search any more.
    pub(super) fn cancel(&mut self, ticket: u64) {
        if let Some(place) = self.queue.iter().position(|job| job.ticket() == ticket) {
            self.queue.remove(place);
        } else if let Some(run) = self.run_of(ticket) {
            run.job.reply = None;
            run.halt(Instant::now(), false);
        }
    }

    /// The opponent played the expected move: the search is a real one from `now` on.
    pub(super) fn ponder_hit(&mut self, ticket: u64, limits: SearchLimits, plan: TimePlan) {
        let now = Instant::now();
        let hit = |job: &mut Job| {
            job.demand.ponder = false;
            job.demand.submitted = now;
            job.limits = limits;
        };
        if let Some(place) = self.queue.iter().position(|job| job.ticket() == ticket) {
            let mut job = self.queue.remove(place);
            hit(&mut job);
            job.demand.plan = after_pondering(plan, job.thought);
            self.insert(job);
        } else if let Some(run) = self.run_of(ticket) {
            hit(&mut run.job);
            let thought = run.job.thought + run.since.elapsed();
            run.job.demand.plan = after_pondering(plan, thought);
            run.stop.ponder_hit();
        }
    }

    fn run_of(&mut self, ticket: u64) -> Option<&mut Run> {
        self.workers
            .iter_mut()
            .filter_map(|worker| worker.run.as_mut())
            .find(|run| run.job.ticket() == ticket)
    }

    /// Stops running searches for the sake of waiting ones; when to look again.
    pub(super) fn preempt(&mut self, now: Instant, slice: Duration) -> Option<Instant> {
        let queue: Vec<Demand> = self.queue.iter().map(|job| job.demand).collect();
        let slots: Vec<usize> = (0..self.workers.len())
            .filter(|&slot| self.workers[slot].run.is_some())
            .collect();
        let running: Vec<Running> = slots
            .iter()
            .filter_map(|&slot| self.workers[slot].run.as_ref().map(Run::running))
            .collect();
        let n_idle = self
            .workers
            .iter()
            .filter(|worker| worker.alive && worker.run.is_none())
            .count();
        let preemption = schedule::preemption(&queue, &running, n_idle, now, slice);
        for victim in &preemption.victims {
            if let Some(run) = self.workers[slots[victim.index]].run.as_mut() {
                run.halt(now, victim.resume);
                self.stats.preemptions += 1;
            }
        }
        preemption.look_again
    }

    /// Ends searches that have used the opponent's time long enough; when to look again.
    pub(super) fn end_pondering(&mut self, now: Instant, longest: Duration) -> Option<Instant> {
        let mut next = None;
        for run in self.workers.iter_mut().filter_map(|w| w.run.as_mut()) {
            if run.job.demand.ponder && run.stopped_at.is_none() {
                let end = schedule::far(run.since, longest.saturating_sub(run.job.thought));
                if end <= now {
                    run.halt(now, false);
                } else {
                    next = schedule::earliest(next, Some(end));
                }
            }
        }
        next
    }

    /// Answers every search whose deadline is over; when the next one will be. A running search
    /// may be late by `grace` and still give its own answer.
    pub(super) fn answer_overdue(&mut self, now: Instant, grace: Duration) -> Option<Instant> {
        let mut next = None;
        let mut place = 0;
        while place < self.queue.len() {
            let due = self.queue[place].demand.deadline();
            if self.queue[place].demand.ponder {
                place += 1;
            } else if due <= now {
                let mut job = self.queue.remove(place);
                self.cut_off(&mut job);
            } else {
                next = schedule::earliest(next, Some(due));
                place += 1;
            }
        }
        for slot in 0..self.workers.len() {
            let Some(mut run) = self.workers[slot].run.take() else {
                continue;
            };
            if !run.job.demand.ponder && run.job.reply.is_some() {
                let due = schedule::far(run.job.demand.deadline(), grace);
                if due <= now {
                    run.halt(now, false);
                    self.cut_off(&mut run.job);
                } else {
                    next = schedule::earliest(next, Some(due));
                }
            }
            self.workers[slot].run = Some(run);
        }
        next
    }

    fn cut_off(&mut self, job: &mut Job) {
        self.stats.cut_off += 1;
        let report = job.answer_without_search();
        self.answer(job, report);
    }

    /// Ends: answers all that wait, stops all that run.
    pub(super) fn shut_down(&mut self) {
        self.shutting_down = true;
        for mut job in std::mem::take(&mut self.queue) {
            let report = job.answer_without_search();
            self.answer(&mut job, report);
        }
        let now = Instant::now();
        for run in self.workers.iter_mut().filter_map(|w| w.run.as_mut()) {
            run.halt(now, false);
        }
    }

    /// Answers the searches that did not return when the pool ended.
    pub(super) fn answer_running(&mut self) {
        for slot in 0..self.workers.len() {
            if let Some(mut run) = self.workers[slot].run.take() {
                self.cut_off(&mut run.job);
            }
        }
    }

    /// Gives up the thread of `slot` with its search, which gets the best answer without it.
    pub(super) fn give_up(&mut self, slot: usize) {
        let worker = &mut self.workers[slot];
        worker.generation += 1;
        worker.alive = false;
        self.abandoned += 1;
        self.stats.hangs += 1;
        if let Some(mut run) = worker.run.take() {
            let report = run.job.answer_without_search();
            self.answer(&mut run.job, report);
        }
    }

    /// A thread that was given up has returned after all, and ends.
    pub(super) fn note_return(&mut self) {
        self.abandoned = self.abandoned.saturating_sub(1);
    }

    /// Slots without a thread that should have one, unless too many threads hang.
    pub(super) fn slots_to_fill(&self, abandoned_max: usize) -> Vec<usize> {
        if self.abandoned > abandoned_max {
            return Vec::new();
        }
        (0..self.workers.len())
            .filter(|&slot| !self.workers[slot].alive)
            .collect()
    }

    pub(super) fn set_alive(&mut self, slot: usize, alive: bool) {
        self.workers[slot].alive = alive;
    }

    pub(super) fn n_alive(&self) -> usize {
        self.workers.iter().filter(|worker| worker.alive).count()
    }
}

/// Puts the search's share into its flag.
fn set_bounds(run: &Run, crowd: f64, config: &PoolConfig) {
    let demand = &run.job.demand;
    let waited = run.since.saturating_duration_since(demand.submitted);
    let bounds = schedule::share(demand.plan, waited, crowd, config.slice);
    // After a ponder hit the flag counts its soft bound from its own, earlier start.
    let earlier = demand
        .submitted
        .saturating_duration_since(run.stop.started());
    run.stop.set_plan(TimePlan {
        soft: bounds.soft.saturating_add(earlier),
        ..bounds
    });
}

/// Thinking done on the opponent's time is thinking not to be done on ours.
fn after_pondering(plan: TimePlan, thought: Duration) -> TimePlan {
    TimePlan {
        soft: plan.soft.saturating_sub(thought),
        ..plan
    }
}

fn info_of(report: &SearchReport) -> SearchInfo {
    SearchInfo {
        depth: report.depth,
        seldepth: report.seldepth,
        multi_pv: 1,
        score: report.score,
        bound: Bound::Exact,
        nodes: report.nodes,
        elapsed: report.elapsed,
        hash_full_permille: 0,
        pv: if report.pv.first() == Some(&report.best) {
            report.pv.clone()
        } else {
            vec![report.best]
        },
    }
}
