//! Leaf counts of several hundred positions.

use seneschal::rules::notation::epd;

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
