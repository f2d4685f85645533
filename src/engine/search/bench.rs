//! The checksum of the search: nodes over fixed positions of all variants at a fixed depth, one thread, empty tables.
//!
//! The number changes only with intent; a change to search or evaluation names it in the last line of its commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::AlphaBeta;
use crate::engine::limits::SearchLimits;
use crate::engine::network::Networks;
use crate::engine::searcher::Searcher;
use crate::engine::stop::StopFlag;
use crate::engine::transposition::Table;
use crate::rules::{CastlingMode, History, Position, Variant};

/// Depth of a run without another wish.
pub const DEPTH: u32 = 9;
const TABLE_BYTES: usize = 8 << 20;

/// Positions: variant, FEN.
const POSITIONS: &[(Variant, &str)] = &[
    (
        Variant::Crazyhouse,
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1",
    ),
    (
        Variant::Crazyhouse,
        "r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/2NP1N2/PPP2PPP/R1BQK2R[] b KQkq - 0 5",
    ),
    (
        Variant::Crazyhouse,
        "r4rk1/p1p2ppp/8/3Np3/4P3/8/PPP2PPP/R2QK2R[BBNPPqbbnp] w KQ - 0 15",
    ),
    (
        Variant::Crazyhouse,
        "r2q1rk1/ppp2ppp/2np1n2/2b1p1B1/2B1P1b1/2NP1N2/PPP2PPP/R2Q1RK1[Pp] w - - 0 8",
    ),
    (
        Variant::Capablanca,
        "rnabqkbcnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNABQKBCNR w KQkq - 0 1",
    ),
    (
        Variant::Capablanca,
        "r1b1qkbc1r/pp3pp1pp/2n1p3n1/a2p1p4/3P2P3/2N1C1N1B1/PPP1PP1PPP/R1A1QK1B1R w - - 0 12",
    ),
    (
        Variant::Capablanca,
        "5k4/1p3a2p1/p1p1c3p1/3p6/3P3P2/2P1C1A3/PP4PP2/6K3 w - - 3 40",
    ),
    (
        Variant::Capahouse,
        "rnabqkbcnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNABQKBCNR[] w KQkq - 0 1",
    ),
    (
        Variant::Capahouse,
        "r1b1qkbc1r/pp3pp1pp/4p3n1/a2p1p4/3P2P3/4C1N1B1/PPP1PP1PPP/R1A1QK1B1R[Nn] w - - 0 12",
    ),
    (
        Variant::Chess,
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    ),
    (Variant::Chess, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"),
    (
        Variant::Chess,
        "r2q1rk1/1b2bppp/p1n1pn2/1p6/3P4/1BN2N2/PP2QPPP/R1B2RK1 w - - 0 12",
    ),
    (
        Variant::ThreeCheck,
        "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 3+3 0 2",
    ),
    (
        Variant::KingOfTheHill,
        "rnbq1bnr/ppppkppp/8/4p3/4P3/8/PPPPKPPP/RNBQ1BNR w - - 2 3",
    ),
    (
        Variant::Antichess,
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1",
    ),
    (
        Variant::Suicide,
        "rnbqkbnr/p1pppppp/8/8/8/1pP5/P2PPPPP/RNBQKBNR w - - 0 3",
    ),
    (
        Variant::Losers,
        "rnbqkbnr/pppp1ppp/8/4p3/8/4P3/PPPP1PPP/RNBQKBNR w KQkq - 0 2",
    ),
    (
        Variant::Atomic,
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    ),
    (
        Variant::Horde,
        "rnbqkbnr/pppppppp/8/1PP2PP1/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP w kq - 0 1",
    ),
    (
        Variant::RacingKings,
        "8/8/8/8/8/8/krbnNBRK/qrbnNBRQ w - - 0 1",
    ),
];

/// Result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bench {
    /// Nodes over all positions: the signature.
    pub nodes: u64,
    /// Time taken.
    pub elapsed: Duration,
}

impl Bench {
    /// Nodes a second.
    #[must_use]
    pub fn nps(&self) -> u64 {
        (self.nodes as f64 / self.elapsed.as_secs_f64().max(1e-6)) as u64
    }
}

/// Searches every position to `depth` and calls `on_position` with its variant, FEN and nodes.
pub fn run(depth: u32, on_position: impl FnMut(Variant, &str, u64)) -> Bench {
    run_with(&Networks::default(), depth, on_position)
}

/// As [`run`], with other networks than the program's own.
pub fn run_with(
    networks: &Networks,
    depth: u32,
    mut on_position: impl FnMut(Variant, &str, u64),
) -> Bench {
    let table = Arc::new(Table::new(TABLE_BYTES));
    let mut searcher = AlphaBeta::new(table, 1).with_networks(networks.clone());
    let begin = Instant::now();
    let mut nodes = 0;
    for &(variant, fen) in POSITIONS {
        let position = Position::from_fen(variant, CastlingMode::Standard, fen)
            .expect("the bench positions are valid; a test reads them all");
        searcher.new_game();
        let history = History::new(position);
        let stop = StopFlag::new();
        let report = searcher.search(&history, &SearchLimits::depth(depth), &stop, &mut |_| {});
        nodes += report.nodes;
        on_position(variant, fen, report.nodes);
    }
    Bench {
        nodes,
        elapsed: begin.elapsed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_there_and_the_count_is_the_same_twice() {
        for variant in Variant::ALL {
            assert!(POSITIONS.iter().any(|(v, _)| *v == variant), "{variant:?}");
        }
        let first = run(4, |_, _, nodes| assert!(nodes > 0));
        assert_eq!(first.nodes, run(4, |_, _, _| {}).nodes);
    }
}
