//! The pool with test doubles for searchers. Bounds on wall-clock time are loose, since the tests
//! share their machine with others; what is exact is who is served and what is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::engine::limits::ClockLimits;
use crate::engine::material::MaterialSearcher;
use crate::engine::report::{Bound, SearchInfo};
use crate::engine::score::Score;
use crate::engine::stop::StopFlag;
use crate::rules::{Color, Position, Variant};

/// How a double behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// Searches material until told to stop.
    Diligent,
    /// Says a first line, then panics.
    PanicAfterInfo,
    /// Panics at once.
    Panic,
    /// Says a first line, then never looks at its flag, until the gate opens.
    Hang,
    /// Answers with a move that is not legal.
    Illegal,
}

/// Lets hung doubles go at the end of a test, and counts searchers made.
#[derive(Default)]
struct Gate {
    open: std::sync::atomic::AtomicBool,
    made: AtomicUsize,
    switched: AtomicUsize,
}

struct Double {
    habit: Habit,
    gate: Arc<Gate>,
    inner: MaterialSearcher,
}

impl Searcher for Double {
    fn search(
        &mut self,
        history: &History,
        limits: &SearchLimits,
        stop: &StopFlag,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        let moves = history.position().legal_moves();
        let last = *moves.last().expect("there are legal moves");
        if self.habit != Habit::Panic && self.habit != Habit::Diligent {
            on_info(&first_line(last));
        }
        match self.habit {
            Habit::Diligent => {
                let mut report = self.inner.search(history, limits, stop, on_info);
                // A real search always uses its time; this one may have run out of depth.
                while limits.is_timed() && limits.depth.is_none() && !stop.should_stop() {
                    let plan = stop.plan().expect("a timed search has a plan");
                    if !stop.is_pondering() && stop.elapsed() >= plan.soft {
                        break;
                    }
                    std::thread::yield_now();
                }
                report.elapsed = stop.elapsed();
                report
            }
            Habit::PanicAfterInfo | Habit::Panic => panic!("test double panics as planned"),
            Habit::Hang => {
                while !self.gate.open.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                SearchReport::without_search(last, ReportOrigin::Search, stop.elapsed())
            }
            Habit::Illegal => SearchReport::without_search(
                crate::rules::Move::NONE,
                ReportOrigin::Search,
                stop.elapsed(),
            ),
        }
    }

    fn new_game(&mut self) {}

    fn switch_game(&mut self) {
        self.gate.switched.fetch_add(1, Ordering::Relaxed);
    }
}

fn first_line(best: crate::rules::Move) -> SearchInfo {
    SearchInfo {
        depth: 1,
        seldepth: 1,
        multi_pv: 1,
        score: Score::Cp(77),
        bound: Bound::Exact,
        nodes: 1,
        elapsed: Duration::ZERO,
        hash_full_permille: 0,
        pv: vec![best],
    }
}

/// A pool whose searchers behave one after the other like `habits`, the last of them for ever.
fn pool(config: PoolConfig, habits: &'static [Habit]) -> (Pool, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let for_factory = Arc::clone(&gate);
    let factory: SearcherFactory = Arc::new(move || {
        let n = for_factory.made.fetch_add(1, Ordering::Relaxed);
        Box::new(Double {
            habit: habits[n.min(habits.len() - 1)],
            gate: Arc::clone(&for_factory),
            inner: MaterialSearcher::default(),
        })
    });
    let pool = Pool::new(config, factory).expect("the system gives threads");
    (pool, gate)
}

/// One thread that never counts as hung, however loaded the machine is.
fn one_thread() -> PoolConfig {
    PoolConfig {
        threads: 1,
        hang_after: Duration::from_secs(30),
        ..PoolConfig::default()
    }
}

/// One thread that counts as hung soon.
fn impatient() -> PoolConfig {
    PoolConfig {
        hang_after: ms(50),
        ..one_thread()
    }
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn request(game: u64, limits: SearchLimits) -> SearchRequest {
    SearchRequest {
        id: game,
        game,
        history: History::new(Position::start(Variant::Crazyhouse)),
        limits,
    }
}

fn clock(remaining: Duration) -> SearchLimits {
    SearchLimits::clock(ClockLimits {
        remaining,
        ..ClockLimits::default()
    })
}

fn submit(pool: &Pool, game: u64, limits: SearchLimits) -> SearchHandle {
    pool.submit(request(game, limits)).expect("there is room")
}

fn is_legal(report: &SearchReport) -> bool {
    Position::start(Variant::Crazyhouse).is_legal(report.best)
}

/// Waits until `condition` holds; fails the test after some seconds.
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::yield_now();
    }
}

#[test]
fn answers_every_search_with_its_number() {
    let (pool, _) = pool(one_thread(), &[Habit::Diligent]);
    let handles: Vec<_> = (0..20)
        .map(|game| submit(&pool, game, SearchLimits::depth(2)))
        .collect();
    for (game, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.id(), game as u64);
        let report = handle.wait();
        assert!(is_legal(&report));
        assert_eq!((report.origin, report.depth), (ReportOrigin::Search, 2));
    }
    let stats = pool.stats();
    assert_eq!((stats.submitted, stats.answered), (20, 20));
    assert_eq!((stats.fallbacks, stats.faults, stats.hangs), (0, 0, 0));
}

#[test]
fn a_handle_is_a_future() {
    let (pool, _) = pool(one_thread(), &[Habit::Diligent]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut handle = submit(&pool, 1, clock(ms(3_000)));
        let early = tokio::time::timeout(ms(1), &mut handle).await;
        assert!(early.is_err(), "waiting on a reference loses nothing");
        let report = tokio::time::timeout(Duration::from_secs(20), handle).await;
        assert!(is_legal(&report.expect("the pool answers")));
    });
}

#[test]
fn a_panic_costs_its_game_a_fallback_and_nothing_else() {
    let (pool, gate) = pool(one_thread(), &[Habit::Panic, Habit::Diligent]);
    let report = submit(&pool, 1, clock(Duration::from_secs(600))).wait();
    assert!(is_legal(&report));
    assert_eq!(report.origin, ReportOrigin::Fallback);
    let report = submit(&pool, 2, SearchLimits::depth(1)).wait();
    assert_eq!(report.origin, ReportOrigin::Search);
    assert_eq!(pool.stats().faults, 1);
    assert_eq!(gate.made.load(Ordering::Relaxed), 2, "a new searcher");
}

#[test]
fn a_search_that_said_something_before_it_failed_is_believed() {
    let (pool, _) = pool(one_thread(), &[Habit::PanicAfterInfo]);
    let report = submit(&pool, 1, clock(Duration::from_secs(600))).wait();
    assert_eq!(report.origin, ReportOrigin::BestSoFar);
    assert_eq!(report.score, Score::Cp(77));
    assert!(is_legal(&report));
}

#[test]
fn an_illegal_answer_is_a_fault() {
    let (pool, _) = pool(one_thread(), &[Habit::Illegal]);
    let report = submit(&pool, 1, clock(Duration::from_secs(600))).wait();
    assert!(is_legal(&report));
    assert_eq!(report.origin, ReportOrigin::BestSoFar);
    assert_eq!(pool.stats().faults, 1);
}

#[test]
fn a_hang_is_cut_off_at_the_hard_bound_and_its_thread_replaced() {
    let (pool, gate) = pool(impatient(), &[Habit::Hang, Habit::Diligent]);
    let begun = Instant::now();
    let hung = submit(&pool, 1, clock(ms(100)));
    let report = hung.wait();
    assert_eq!(report.origin, ReportOrigin::BestSoFar);
    assert!(begun.elapsed() < Duration::from_secs(10));
    let report = submit(&pool, 2, SearchLimits::depth(1)).wait();
    assert_eq!(report.origin, ReportOrigin::Search, "a new thread serves");
    let stats = pool.stats();
    assert_eq!((stats.hangs, stats.cut_off), (1, 1));
    gate.open.store(true, Ordering::Relaxed);
}

#[test]
fn dropping_the_handle_frees_the_thread() {
    let (pool, _) = pool(one_thread(), &[Habit::Diligent]);
    drop(submit(&pool, 1, clock(Duration::from_secs(3_600))));
    let report = submit(&pool, 2, SearchLimits::depth(1)).wait();
    assert_eq!(report.origin, ReportOrigin::Search);
    until("the thread is free", || pool.stats().running == 0);
    assert_eq!(pool.stats().answered, 1, "nobody waited for the first");
}

#[test]
fn stop_gives_the_answer_now() {
    let (pool, _) = pool(one_thread(), &[Habit::Diligent]);
    let running = submit(&pool, 1, clock(Duration::from_secs(3_600)));
    let waiting = submit(&pool, 2, clock(Duration::from_secs(3_600)));
    until("one runs", || pool.stats().running == 1);
    waiting.stop();
    assert!(is_legal(&waiting.wait()));
    running.stop();
    let report = running.wait();
    assert_eq!(report.origin, ReportOrigin::Search);
    assert!(report.elapsed < Duration::from_secs(20));
}

#[test]
fn a_bullet_game_waits_for_no_correspondence_game() {
    let config = PoolConfig {
        threads: 2,
        ..one_thread()
    };
    let (pool, _) = pool(config, &[Habit::Diligent]);
    let slow: Vec<_> = (0..4)
        .map(|game| submit(&pool, game, clock(Duration::from_secs(86_400))))
        .collect();
    until("both threads are busy", || pool.stats().running == 2);
    let begun = Instant::now();
    let report = submit(&pool, 9, clock(ms(3_000))).wait();
    assert_eq!(report.origin, ReportOrigin::Search);
    assert!(begun.elapsed() < ms(3_000), "{:?}", begun.elapsed());
    assert!(pool.stats().preemptions >= 1);
    // Those that made room go on, and can still be asked.
    for handle in slow {
        handle.stop();
        assert!(is_legal(&handle.wait()));
    }
}

#[test]
fn pondering_stands_last_and_becomes_real_by_the_hit() {
    let (pool, _) = pool(one_thread(), &[Habit::Diligent]);
    let ponder = SearchLimits {
        ponder: true,
        ..clock(ms(10_000))
    };
    let pondering = submit(&pool, 1, ponder.clone());
    until("it ponders", || pool.stats().running == 1);
    let real = submit(&pool, 2, clock(ms(500)));
    assert_eq!(real.wait().origin, ReportOrigin::Search);
    until("it ponders again", || pool.stats().running == 1);
    pondering.ponder_hit(clock(ms(500)));
    let report = pondering.wait();
    assert!(is_legal(&report));
    // A hit while another search has the thread.
    let busy = submit(&pool, 3, clock(ms(800)));
    let pondering = submit(&pool, 4, ponder);
    pondering.ponder_hit(clock(ms(800)));
    assert!(is_legal(&pondering.wait()));
    assert!(is_legal(&busy.wait()));
}

#[test]
fn a_full_queue_refuses_but_pondering_gives_way() {
    let config = PoolConfig {
        queue_limit: 2,
        ..one_thread()
    };
    let (pool, gate) = pool(config, &[Habit::Hang, Habit::Diligent]);
    let long = Duration::from_secs(60);
    let hung = submit(&pool, 0, clock(long));
    until("it hangs", || pool.stats().running == 1);
    let waiting = submit(&pool, 1, clock(long));
    let ponder = SearchLimits {
        ponder: true,
        ..clock(long)
    };
    let pondering = submit(&pool, 2, ponder.clone());
    assert_eq!(
        pool.submit(request(3, ponder)).unwrap_err(),
        SubmitError::Full { limit: 2 }
    );
    let real = submit(&pool, 4, clock(long));
    assert_eq!(pondering.wait().origin, ReportOrigin::Fallback);
    assert_eq!(
        pool.submit(request(5, clock(long))).unwrap_err(),
        SubmitError::Full { limit: 2 }
    );
    gate.open.store(true, Ordering::Relaxed);
    for handle in [hung, waiting, real] {
        handle.stop();
        assert!(is_legal(&handle.wait()));
    }
}

#[test]
fn a_single_legal_move_is_played_at_once() {
    // The hung search keeps the only thread, and yet there is an answer.
    let (pool, gate) = pool(one_thread(), &[Habit::Hang]);
    let hung = submit(&pool, 0, clock(Duration::from_secs(60)));
    let fen = "7k/8/8/8/8/8/1r6/K7[] w - - 0 1";
    let position = Position::from_fen(
        Variant::Crazyhouse,
        crate::rules::CastlingMode::Standard,
        fen,
    );
    let position = position.expect("a legal position");
    let moves = position.legal_moves();
    assert_eq!(moves.len(), 1, "the king takes the rook");
    let answer = pool.submit(SearchRequest {
        history: History::new(position),
        ..request(1, clock(Duration::from_secs(60)))
    });
    let report = answer.expect("there is room").wait();
    assert_eq!(
        (report.origin, report.best),
        (ReportOrigin::OnlyMove, moves[0])
    );
    gate.open.store(true, Ordering::Relaxed);
    drop(hung);
}

#[test]
fn a_finished_game_is_refused() {
    let (pool, _) = pool(one_thread(), &[Habit::Diligent]);
    let fen = "7k/8/8/8/8/8/6q1/7K[] w - - 0 1";
    let mut position = Position::from_fen(
        Variant::Crazyhouse,
        crate::rules::CastlingMode::Standard,
        fen,
    )
    .expect("a legal position");
    let take = position.legal_moves()[0];
    position.play(take).expect("legal");
    assert_eq!(position.turn(), Color::Black);
    let mate = "R6k/6pp/8/8/8/8/8/K7[] b - - 0 1";
    let mated = Position::from_fen(
        Variant::Crazyhouse,
        crate::rules::CastlingMode::Standard,
        mate,
    )
    .expect("a legal position");
    let over = SearchRequest {
        history: History::new(mated),
        ..request(1, clock(ms(100)))
    };
    assert_eq!(pool.submit(over).unwrap_err(), SubmitError::NoLegalMove);
}

#[test]
fn the_end_of_the_pool_leaves_nobody_without_a_move() {
    let (pool, gate) = pool(impatient(), &[Habit::Hang]);
    let hung = submit(&pool, 1, clock(Duration::from_secs(60)));
    until("it hangs", || pool.stats().running == 1);
    let waiting = submit(&pool, 2, clock(Duration::from_secs(60)));
    drop(pool);
    assert!(is_legal(&waiting.wait()));
    assert_eq!(hung.wait().origin, ReportOrigin::BestSoFar);
    gate.open.store(true, Ordering::Relaxed);
}

#[test]
fn searchers_are_told_when_the_game_changes() {
    let (pool, gate) = pool(one_thread(), &[Habit::Diligent]);
    for game in [1, 1, 2, 2, 1] {
        submit(&pool, game, SearchLimits::depth(1)).wait();
    }
    assert_eq!(gate.switched.load(Ordering::Relaxed), 2);
}

#[test]
fn shares_shrink_when_many_games_think() {
    let (pool, _) = pool(one_thread(), &[Habit::Diligent]);
    // Each of these alone would take a second and more.
    let begun = Instant::now();
    let handles: Vec<_> = (0..16)
        .map(|game| submit(&pool, game, clock(ms(30_000))))
        .collect();
    let reports: Vec<_> = handles.into_iter().map(SearchHandle::wait).collect();
    assert!(reports.iter().all(is_legal));
    let fallbacks = pool.stats().fallbacks;
    assert_eq!(fallbacks, 0, "all were searched");
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
}
