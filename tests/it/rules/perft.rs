//! Leaf counts of several hundred positions.

use seneschal::rules::notation::epd;
use seneschal::rules::{CastlingMode, Position, Setup, Variant};

use super::{data, setting};

/// Counts every line up to a number of leaves: enough to visit every kind of move in a debug build. A longer run sets
/// `SENESCHAL_PERFT_NODES`, or uses `seneschal perft --epd` in a release build.
#[test]
fn leaf_counts() {
    let limit = setting("SENESCHAL_PERFT_NODES", 300_000);
    let text = data("perft.epd");
    let mut lines = 0;
    for case in epd::parse(&text) {
        let case = case.unwrap();
        lines += 1;
        let mut counted = 0;
        for &(depth, expected) in case.counts.iter().filter(|(_, nodes)| *nodes <= limit) {
            assert_eq!(
                case.position.perft(depth),
                expected,
                "line {} {} ({}), depth {depth}, {}",
                case.line,
                case.variant,
                case.label,
                case.position.fen()
            );
            counted += 1;
        }
        let smallest = case.counts.iter().map(|&(_, nodes)| nodes).min();
        assert!(
            counted > 0 || smallest > Some(limit),
            "line {} counts nothing",
            case.line
        );
    }
    assert_eq!(lines, 369, "the file has lost lines");
}

/// A king that is taken at once ends the line there: such positions are refused everywhere but in counting tools, which
/// must survive them at any depth. The counts are Fairy-Stockfish's.
#[test]
fn a_king_that_can_be_taken_is_counted_without_panic() {
    let variant = Variant::Crazyhouse;
    let mode = CastlingMode::Standard;
    let setup = Setup::from_fen(variant, mode, "4k3/8/8/8/8/8/4R3/4K3[] w - - 0 1").unwrap();
    let position = Position::new_unreachable(&setup, variant, mode).unwrap();
    assert_eq!(
        [1, 2, 3].map(|depth| position.perft(depth)),
        [17, 66, 1_196]
    );
}
