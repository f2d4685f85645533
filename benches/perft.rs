//! Speed of move generation beside shakmaty and cozy-chess: one thread, the last ply counted and not listed by all, and the
//! programs taking turns on each position, because the speed of a shared machine drifts.
//!
//! ```text
//! cargo bench --bench perft                      every position, five rounds, the best round of each program
//! cargo bench --bench perft -- 9                 nine rounds
//! cargo bench --bench perft -- count shakmaty crazyhouse-start 4     one count and nothing else, for callgrind
//! ```
//!
//! Speeds are leaves per second of CPU time. Since a busy machine spoils even those, compare instructions as well:
//!
//! ```text
//! valgrind --tool=callgrind target/release/deps/perft-HASH count ours crazyhouse-start 4
//! ```
//!
//! at two depths; the difference of the two totals, divided by the difference of the leaves, leaves the start-up out.
//! Fairy-Stockfish runs beside us in `perft_fairy.sh`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::time::Instant;

use seneschal::rules::notation::epd;
use seneschal::rules::{CastlingMode, Position, Variant};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode as TheirMode, FromSetup};

/// A position to count from.
struct Task {
    name: &'static str,
    variant: Variant,
    fen: &'static str,
    depth: u32,
    leaves: u64,
}

const fn task(
    name: &'static str,
    variant: Variant,
    fen: &'static str,
    depth: u32,
    leaves: u64,
) -> Task {
    Task {
        name,
        variant,
        fen,
        depth,
        leaves,
    }
}

const TASKS: [Task; 15] = [
    task("crazyhouse-start", Variant::Crazyhouse, "", 6, 120_812_942),
    task(
        "crazyhouse-pockets",
        Variant::Crazyhouse,
        "r4rk1/p1p2ppp/8/3Np3/4P3/8/PPP2PPP/R2QK2R[BBNPPqbbnp] w KQ - 0 15",
        4,
        530_887_201,
    ),
    task(
        "crazyhouse-all-drops",
        Variant::Crazyhouse,
        "2k5/8/8/8/8/8/8/4K3[QRBNPqrbnp] w - - 0 1",
        3,
        15_634_852,
    ),
    task("chess-start", Variant::Chess, "", 6, 119_060_324),
    task(
        "chess-kiwipete",
        Variant::Chess,
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        5,
        193_690_690,
    ),
    task("atomic-start", Variant::Atomic, "", 5, 4_864_979),
    task("antichess-start", Variant::Antichess, "", 6, 46_264_162),
    task("horde-start", Variant::Horde, "", 6, 5_396_554),
    task("racingkings-start", Variant::RacingKings, "", 5, 9_472_927),
    task("3check-start", Variant::ThreeCheck, "", 5, 4_865_609),
    task(
        "kingofthehill-start",
        Variant::KingOfTheHill,
        "",
        5,
        4_865_609,
    ),
    task("capablanca-start", Variant::Capablanca, "", 5, 28_741_319),
    task(
        "capablanca-middle",
        Variant::Capablanca,
        "r1b1qkbc1r/pp3pp1pp/2n1p3n1/a2p1p4/3P2P3/2N1C1N1B1/PPP1PP1PPP/R1A1QK1B1R w - - 0 12",
        5,
        239_860_715,
    ),
    task("capahouse-start", Variant::Capahouse, "", 5, 29_097_768),
    task(
        "capahouse-middle",
        Variant::Capahouse,
        "r1b1qkbc1r/pp3pp1pp/4p3n1/a2p1p4/3P2P3/4C1N1B1/PPP1PP1PPP/R1A1QK1B1R[Nn] w - - 0 12",
        4,
        36_688_728,
    ),
];

impl Task {
    fn ours(&self) -> Position {
        let fen = if self.fen.is_empty() {
            self.variant.start_fen()
        } else {
            self.fen
        };
        epd::read_position(self.variant, CastlingMode::Standard, fen)
            .expect("the positions of the benchmark are legal")
    }

    fn count_ours(&self, depth: u32) -> u64 {
        black_box(self.ours()).perft(depth)
    }

    /// The count of shakmaty, with the rules known to the compiler as they are for us; `None` where it has no such rules.
    fn count_shakmaty(&self, depth: u32) -> Option<u64> {
        let fen = self.ours().fen();
        Some(match self.variant {
            Variant::Chess => their_perft::<shakmaty::Chess>(&fen, depth),
            Variant::Crazyhouse => their_perft::<shakmaty::variant::Crazyhouse>(&fen, depth),
            Variant::ThreeCheck => their_perft::<shakmaty::variant::ThreeCheck>(&fen, depth),
            Variant::KingOfTheHill => their_perft::<shakmaty::variant::KingOfTheHill>(&fen, depth),
            Variant::Antichess => their_perft::<shakmaty::variant::Antichess>(&fen, depth),
            Variant::Atomic => their_perft::<shakmaty::variant::Atomic>(&fen, depth),
            Variant::Horde => their_perft::<shakmaty::variant::Horde>(&fen, depth),
            Variant::RacingKings => their_perft::<shakmaty::variant::RacingKings>(&fen, depth),
            Variant::Capablanca | Variant::Capahouse | Variant::Suicide | Variant::Losers => {
                return None;
            }
        })
    }

    fn count_cozy(&self, depth: u32) -> Option<u64> {
        let board = self.ours().fen().parse().ok()?;
        (self.variant == Variant::Chess).then(|| cozy_perft(black_box(&board), depth))
    }

    fn count(&self, program: &str, depth: u32) -> Option<u64> {
        match program {
            "ours" => Some(self.count_ours(depth)),
            "shakmaty" => self.count_shakmaty(depth),
            "cozy" => self.count_cozy(depth),
            _ => None,
        }
    }
}

fn their_perft<P: shakmaty::Position + FromSetup + Clone>(fen: &str, depth: u32) -> u64 {
    let fen: Fen = fen.parse().expect("both read the same text");
    let Ok(position) = P::from_setup(fen.into(), TheirMode::Standard) else {
        panic!("both accept the same position");
    };
    shakmaty::perft(black_box(&position), depth)
}

fn cozy_perft(board: &cozy_chess::Board, depth: u32) -> u64 {
    let mut leaves = 0;
    board.generate_moves(|moves| {
        if depth == 1 {
            leaves += moves.len() as u64;
        } else {
            for m in moves {
                let mut next = board.clone();
                next.play_unchecked(m);
                leaves += cozy_perft(&next, depth - 1);
            }
        }
        false
    });
    leaves
}

/// CPU time of this thread in seconds, where the system tells it; else the time of the day.
fn seconds(began: Instant) -> f64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
        .map_or_else(
            || began.elapsed().as_secs_f64(),
            |nanoseconds| nanoseconds / 1e9,
        )
}

/// Leaves per second of CPU time, in millions.
fn speed(task: &Task, program: &str, began: Instant) -> Option<f64> {
    // A short count is repeated, so that the clock's grain does not matter.
    let repeats = (20_000_000 / task.leaves).max(1);
    let before = seconds(began);
    for _ in 0..repeats {
        let counted = task.count(program, task.depth)?;
        assert_eq!(counted, task.leaves, "{program} miscounts {}", task.name);
    }
    Some((task.leaves * repeats) as f64 / 1e6 / (seconds(began) - before).max(1e-9))
}

fn best(task: &Task, rounds: u32, began: Instant) -> [Option<f64>; 3] {
    let mut best = [None::<f64>; 3];
    for _ in 0..rounds {
        for (best, program) in best.iter_mut().zip(["ours", "shakmaty", "cozy"]) {
            if let Some(now) = speed(task, program, began) {
                *best = Some(best.map_or(now, |before| before.max(now)));
            }
        }
    }
    best
}

fn main() {
    // Cargo adds `--bench`; everything else is ours.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    if let [word, program, name, depth] = arguments.as_slice()
        && word == "count"
    {
        let task = TASKS.iter().find(|task| task.name == name);
        let leaves = task.and_then(|task| task.count(program, depth.parse().ok()?));
        println!("{leaves:?}");
        return;
    }
    let rounds = arguments
        .first()
        .and_then(|text| text.parse().ok())
        .unwrap_or(5);
    let began = Instant::now();
    println!(
        "{:<22}{:>14}{:>9}{:>10}{:>9}{:>10}{:>9}",
        "position", "leaves", "ours", "shakmaty", "ratio", "cozy", "ratio"
    );
    for task in &TASKS {
        let [ours, shakmaty, cozy] = best(task, rounds, began);
        let ours = ours.unwrap_or_default();
        let column = |theirs: Option<f64>| match theirs {
            Some(theirs) => format!("{theirs:>10.1}{:>9.2}", ours / theirs),
            None => format!("{:>10}{:>9}", "-", "-"),
        };
        println!(
            "{:<22}{:>14}{ours:>9.1}{}{}",
            task.name,
            task.leaves,
            column(shakmaty),
            column(cozy)
        );
    }
    println!(
        "million leaves per second of CPU time, best of {rounds} rounds; ratio = ours / theirs"
    );
}
