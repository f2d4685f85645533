//! The search pool under load: 64 games of all speeds on two threads.
//!
//! Run with `cargo bench --bench pool`, optionally followed by `-- SECONDS GAMES` for the length of
//! the mixed load and the number of games of self-play. Prints for each class of games how long
//! moves took and how they lay to their bounds, and fails if a move was late that one thread alone
//! could have made in time.
//!
//! *Late* means: after the time that the clock left (`remaining - overhead`). *One thread alone*
//! is a simulation over the same submissions: it always serves the search with the earliest bound,
//! and each search needs the pool's slice. The latest moment of the time plan lies before the late
//! point; how answers lay to it is shown too.
//!
//! The games of self-play over all variants begin with random moves and have 10 ms a move, with two
//! searches for every thread; what counts there is the fixed time itself. An illegal move ends the
//! benchmark, and it fails if a search panicked or hung.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use seneschal::engine::time::{self, Situation};
use seneschal::engine::{
    ClockLimits, EngineConfig, Pool, PoolConfig, ReportOrigin, SearchLimits, SearchRequest,
    searcher_factory,
};
use seneschal::rules::starts::SplitMix64;
use seneschal::rules::{History, Position, Variant};

const GAMES: u64 = 64;
const THREADS: usize = 2;
const OVERHEAD: Duration = Duration::from_millis(30);
/// Games of self-play at the same time: two searches for every thread.
const SELF_PLAY_AT_ONCE: usize = 2 * THREADS;
/// Time of a move in self-play.
const SELF_PLAY_MOVE: Duration = ms(10);
/// Part of it that is kept for the answer's way.
const SELF_PLAY_OVERHEAD: Duration = ms(3);
/// A game of self-play ends as a draw after so many half-moves.
const SELF_PLAY_PLIES_MAX: usize = 600;

/// A kind of game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    name: &'static str,
    initial: Duration,
    increment: Duration,
    /// The opponent takes up to this long.
    opponent: Duration,
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const CLASSES: [Class; 4] = [
    Class {
        name: "bullet 15+0",
        initial: ms(15_000),
        increment: ms(0),
        opponent: ms(300),
    },
    Class {
        name: "blitz 60+1",
        initial: ms(60_000),
        increment: ms(1_000),
        opponent: ms(1_000),
    },
    Class {
        name: "rapid 600+0",
        initial: ms(600_000),
        increment: ms(0),
        opponent: ms(4_000),
    },
    Class {
        name: "correspondence",
        initial: ms(86_400_000),
        increment: ms(0),
        opponent: ms(500),
    },
];

/// One move as it happened; times in seconds from the start of the scenario.
#[derive(Clone, Copy, Debug)]
struct Sample {
    class: usize,
    submitted: f64,
    answered: f64,
    /// Latest moment of the plan.
    bound: f64,
    /// From here on the move is late.
    late_from: f64,
    searched: bool,
}

fn main() -> ExitCode {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<f64>().ok());
    let seconds = numbers.next().unwrap_or(20.0);
    let n_games = numbers.next().unwrap_or(120.0) as u64;
    println!("{GAMES} games on {THREADS} search threads");
    let mut late = 0;
    late += report("mixed load", &mixed_load(Duration::from_secs_f64(seconds)));
    late += report("burst: all 64 with 1 s left", &burst(ms(1_000), 64));
    late += report("burst: all 64 with 0.8 s left, again and again", &bursts(5));
    let n_broken = self_play(n_games);
    if n_broken > 0 {
        println!("FAILED: {n_broken} searches of self-play panicked or hung");
        return ExitCode::FAILURE;
    }
    if late > 0 {
        println!("FAILED: {late} moves late that one thread alone could have made in time");
        return ExitCode::FAILURE;
    }
    println!("no move late that one thread alone could have made in time");
    ExitCode::SUCCESS
}

fn new_pool() -> Pool {
    let config = PoolConfig {
        threads: THREADS,
        ..PoolConfig::default()
    };
    let engine = EngineConfig::new(64 << 20, 1);
    Pool::new(config, searcher_factory(engine)).expect("the system gives threads")
}

/// Games that go on as fast as they can: the clock runs as on a server.
fn mixed_load(length: Duration) -> Vec<Sample> {
    let pool = Arc::new(new_pool());
    let samples = Arc::new(Mutex::new(Vec::new()));
    let origin = Instant::now();
    let games: Vec<_> = (0..GAMES)
        .map(|game| {
            let (pool, samples) = (Arc::clone(&pool), Arc::clone(&samples));
            thread::spawn(move || {
                let mut random = SplitMix64::new(game);
                // Half of the games are bullet, since those suffer first.
                let class = [0, 0, 0, 0, 1, 1, 2, 3][game as usize % 8];
                while origin.elapsed() < length {
                    play_one(&pool, class, game, &mut random, (origin, length), &samples);
                }
            })
        })
        .collect();
    for game in games {
        game.join().expect("no game panics");
    }
    println!("{:?}", pool.stats());
    take(&samples)
}

/// One game from the start to its end, to its flag or to the end of the scenario.
fn play_one(
    pool: &Pool,
    class: usize,
    game: u64,
    random: &mut SplitMix64,
    (origin, length): (Instant, Duration),
    samples: &Mutex<Vec<Sample>>,
) {
    let variant = Variant::ALL[random.below(12) as usize];
    let mut history = History::new(Position::start(variant));
    let mut remaining = CLASSES[class].initial;
    while origin.elapsed() < length && history.position().has_legal_move() {
        let Some((best, sample)) = think(pool, class, game, &history, remaining, origin) else {
            return;
        };
        let spent = Duration::from_secs_f64(sample.answered - sample.submitted) + OVERHEAD;
        remaining = remaining.saturating_sub(spent) + CLASSES[class].increment;
        samples.lock().expect("no game panics").push(sample);
        history.play(best).expect("the pool answers legal moves");
        let moves = history.position().legal_moves();
        if moves.is_empty() || remaining.is_zero() {
            return;
        }
        let opponent = CLASSES[class]
            .opponent
            .mul_f64(f64::from(random.below(1_000)) / 1_000.0);
        thread::park_timeout(opponent);
        history.play_unchecked(moves[random.below(moves.len() as u32) as usize]);
    }
}

/// Submits a search and waits for its answer.
fn think(
    pool: &Pool,
    class: usize,
    game: u64,
    history: &History,
    remaining: Duration,
    origin: Instant,
) -> Option<(seneschal::rules::Move, Sample)> {
    let limits = SearchLimits::clock(ClockLimits {
        remaining,
        increment: CLASSES[class].increment,
        overhead: OVERHEAD,
        ..ClockLimits::default()
    });
    let position = history.position();
    let situation = Situation {
        variant: position.variant(),
        ply: position.ply(),
        n_legal: position.legal_moves().len(),
    };
    let plan = time::plan(&limits, situation)?;
    let submitted = origin.elapsed().as_secs_f64();
    let request = SearchRequest {
        id: 0,
        game,
        history: history.clone(),
        limits,
    };
    let report = pool.submit(request).ok()?.wait();
    let sample = Sample {
        class,
        submitted,
        answered: origin.elapsed().as_secs_f64(),
        bound: submitted + plan.latest.as_secs_f64(),
        late_from: submitted + remaining.saturating_sub(OVERHEAD).as_secs_f64(),
        searched: report.origin != ReportOrigin::Fallback,
    };
    Some((report.best, sample))
}

/// All games want a move at the same moment.
fn burst(remaining: Duration, games: u64) -> Vec<Sample> {
    let pool = Arc::new(new_pool());
    let origin = Instant::now();
    together(&pool, remaining, games, origin)
}

/// Bursts right behind each other, with searches of the last one just over.
fn bursts(times: u32) -> Vec<Sample> {
    let pool = Arc::new(new_pool());
    let origin = Instant::now();
    (0..times)
        .flat_map(|_| together(&pool, ms(800), GAMES, origin))
        .collect()
}

fn together(pool: &Arc<Pool>, remaining: Duration, games: u64, origin: Instant) -> Vec<Sample> {
    let gate = Arc::new(Barrier::new(games as usize));
    let threads: Vec<_> = (0..games)
        .map(|game| {
            let (pool, gate) = (Arc::clone(pool), Arc::clone(&gate));
            thread::spawn(move || {
                let variant = Variant::ALL[game as usize % 12];
                let history = History::new(Position::start(variant));
                gate.wait();
                think(&pool, 0, game, &history, remaining, origin)
            })
        })
        .collect();
    threads
        .into_iter()
        .filter_map(|game| game.join().expect("no game panics"))
        .map(|(_, sample)| sample)
        .collect()
}

/// Games of all variants in turn against themselves. Prints how long their moves took; the number of
/// searches that panicked or hung.
fn self_play(n_games: u64) -> u64 {
    let pool = new_pool();
    let next = AtomicU64::new(0);
    let played: Vec<SelfPlay> = thread::scope(|scope| {
        let players: Vec<_> = (0..SELF_PLAY_AT_ONCE)
            .map(|_| {
                scope.spawn(|| {
                    let mut all = SelfPlay::default();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= n_games {
                            return all;
                        }
                        all.play(&pool, number);
                    }
                })
            })
            .collect();
        players
            .into_iter()
            .map(|player| player.join().expect("no game panics"))
            .collect()
    });
    let stats = pool.stats();
    println!("{stats:?}");
    let took = sorted(played.iter().flat_map(|all| all.took_ms.iter().copied()));
    let n_fallbacks: usize = played.iter().map(|all| all.n_fallbacks).sum();
    let n_too_long: usize = played.iter().map(|all| all.n_too_long).sum();
    println!(
        "\nself-play: {n_games} games, {SELF_PLAY_AT_ONCE} at once, {} moves of {} ms: \
         {n_fallbacks} without a search, {n_too_long} games too long",
        took.len(),
        SELF_PLAY_MOVE.as_millis()
    );
    let limit = SELF_PLAY_MOVE.as_secs_f64() * 1e3;
    let beyond = |ms: f64| took.iter().filter(|&&t| t > limit + ms).count();
    println!(
        "took ms: p50 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1}; late {}, by more than 5 ms {}, by more than 10 ms {}",
        quantile(&took, 0.5),
        quantile(&took, 0.99),
        quantile(&took, 0.999),
        quantile(&took, 1.0),
        beyond(0.0),
        beyond(5.0),
        beyond(10.0),
    );
    stats.faults + stats.hangs
}

/// What the games of self-play of one thread have shown.
#[derive(Default)]
struct SelfPlay {
    took_ms: Vec<f64>,
    n_fallbacks: usize,
    n_too_long: usize,
}

impl SelfPlay {
    fn play(&mut self, pool: &Pool, number: u64) {
        let variant = Variant::ALL[number as usize % Variant::ALL.len()];
        let mut random = SplitMix64::new(number);
        let mut history = History::new(Position::start(variant));
        for _ in 0..8 {
            let moves = history.position().legal_moves();
            if history.position().ending().is_some() || moves.is_empty() {
                return;
            }
            history.play_unchecked(moves[random.below(moves.len() as u32) as usize]);
        }
        while history.position().ending().is_none() && history.repetitions() < 3 {
            if history.moves().len() >= SELF_PLAY_PLIES_MAX {
                self.n_too_long += 1;
                return;
            }
            let submitted = Instant::now();
            let request = SearchRequest {
                id: 0,
                game: number,
                history: history.clone(),
                limits: SearchLimits {
                    overhead: SELF_PLAY_OVERHEAD,
                    ..SearchLimits::move_time(SELF_PLAY_MOVE)
                },
            };
            let report = pool.submit(request).expect("the queue has room").wait();
            self.took_ms.push(1e3 * submitted.elapsed().as_secs_f64());
            self.n_fallbacks += usize::from(report.origin == ReportOrigin::Fallback);
            history
                .play(report.best)
                .expect("the pool answers legal moves");
        }
    }
}

fn take(samples: &Mutex<Vec<Sample>>) -> Vec<Sample> {
    std::mem::take(&mut samples.lock().expect("no game panics"))
}

/// Prints the figures of a scenario; the number of moves that were late without need.
fn report(title: &str, samples: &[Sample]) -> usize {
    println!("\n{title}: {} moves", samples.len());
    println!(
        "{:16} {:>6} {:>9} {:>9} {:>9} {:>11} {:>11} {:>11} {:>5} {:>9}",
        "class",
        "moves",
        "p50 ms",
        "p99 ms",
        "max ms",
        "p50 bound",
        "p99 bound",
        "max bound",
        "late",
        "fallback"
    );
    let feasible = simulate(samples, PoolConfig::default().slice.as_secs_f64());
    for (index, class) in CLASSES.iter().enumerate() {
        let of_class: Vec<&Sample> = samples.iter().filter(|s| s.class == index).collect();
        if of_class.is_empty() {
            continue;
        }
        let took = sorted(of_class.iter().map(|s| 1e3 * (s.answered - s.submitted)));
        // Positive: answered so many milliseconds behind the latest moment of the plan.
        let behind = sorted(of_class.iter().map(|s| 1e3 * (s.answered - s.bound)));
        println!(
            "{:16} {:>6} {:>9.1} {:>9.1} {:>9.1} {:>11.1} {:>11.1} {:>11.1} {:>5} {:>9}",
            class.name,
            of_class.len(),
            quantile(&took, 0.5),
            quantile(&took, 0.99),
            quantile(&took, 1.0),
            quantile(&behind, 0.5),
            quantile(&behind, 0.99),
            quantile(&behind, 1.0),
            of_class.iter().filter(|s| s.answered > s.late_from).count(),
            of_class.iter().filter(|s| !s.searched).count(),
        );
    }
    samples
        .iter()
        .zip(&feasible)
        .filter(|(sample, feasible)| **feasible && sample.answered > sample.late_from)
        .count()
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len() - 1;
    sorted[((last as f64 * part).ceil() as usize).min(last)]
}

/// Which moves one thread would make in time that serves the earliest bound first, interrupts
/// without loss, and needs `service` seconds for each.
fn simulate(samples: &[Sample], service: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by(|&a, &b| samples[a].submitted.total_cmp(&samples[b].submitted));
    let mut feasible = vec![false; samples.len()];
    let mut waiting: Vec<(usize, f64)> = Vec::new();
    let mut now = 0.0_f64;
    let mut next = 0;
    while next < order.len() || !waiting.is_empty() {
        if waiting.is_empty() {
            now = now.max(samples[order[next]].submitted);
        }
        while next < order.len() && samples[order[next]].submitted <= now {
            waiting.push((order[next], service));
            next += 1;
        }
        let Some(first) = (0..waiting.len()).min_by(|&a, &b| {
            let bound = |place: usize| samples[waiting[place].0].late_from;
            bound(a).total_cmp(&bound(b))
        }) else {
            continue;
        };
        let (index, left) = waiting[first];
        let arrival = order
            .get(next)
            .map_or(f64::INFINITY, |&index| samples[index].submitted);
        let run = left.min(arrival - now);
        now += run;
        if run >= left {
            feasible[index] = now <= samples[index].late_from;
            waiting.swap_remove(first);
        } else {
            waiting[first].1 -= run;
        }
    }
    feasible
}
