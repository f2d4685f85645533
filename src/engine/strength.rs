//! Playing below full strength: from a rating to a number of nodes.
//!
//! Ratings are on a scale of the engine's own games: a difference of 100 is what 100 Elo are in a
//! match between two limited engines of this kind. The scale is fixed at its lower end.

use super::limits::SearchLimits;

/// Lowest value of `UCI_Elo`: the engine sees what hangs and little more.
pub const WEAKEST_ELO: u32 = 1000;

/// Highest value of `UCI_Elo`; above it only the clock limits the engine.
pub const STRONGEST_ELO: u32 = 3200;

/// Rating and nodes per move, measured: four times the nodes were worth +478 and +798 (16 to 64
/// nodes; crazyhouse, Capablanca), +604 and +512 (64 to 256), +363 and +372 (256 to 1,024), +382
/// and +382 (1,024 to 4,096), in 60 to 100 games each from random even openings with error bars of
/// 100 to 190. The last line is extrapolated.
const LADDER: [(f64, f64); 6] = [
    (1000.0, 16.0),
    (1570.0, 64.0),
    (2120.0, 256.0),
    (2490.0, 1024.0),
    (2870.0, 4096.0),
    (3250.0, 16_384.0),
];

/// Adds what makes the engine play like a player of this rating: a bound on its nodes. Clocks and
/// other bounds stay in force.
pub fn limit(limits: &mut SearchLimits, elo: u32) {
    let nodes = nodes_for(elo);
    limits.nodes = Some(limits.nodes.map_or(nodes, |own| own.min(nodes)));
}

/// Nodes per move for a rating; between the measured ones a constant number of points doubles them.
pub fn nodes_for(elo: u32) -> u64 {
    let elo = f64::from(elo.clamp(WEAKEST_ELO, STRONGEST_ELO));
    let upper = LADDER
        .iter()
        .position(|&(rating, _)| rating > elo)
        .expect("the ladder reaches beyond the strongest rating");
    let (low, few) = LADDER[upper - 1];
    let (high, many) = LADDER[upper];
    let part = (elo - low) / (high - low);
    // Far below 2^53, so the conversion keeps the value.
    (few * (many / few).powf(part)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_ratings_give_the_nodes_they_were_measured_with() {
        for (elo, nodes) in [(1000, 16), (1570, 64), (2120, 256), (2870, 4096)] {
            assert_eq!(nodes_for(elo), nodes);
        }
        assert_eq!(nodes_for(1285), 32, "half way up, by the logarithm");
    }

    #[test]
    fn more_rating_is_never_fewer_nodes() {
        for elo in WEAKEST_ELO..STRONGEST_ELO {
            assert!(nodes_for(elo) <= nodes_for(elo + 1), "{elo}");
        }
        assert_eq!(nodes_for(0), nodes_for(WEAKEST_ELO));
        assert_eq!(nodes_for(9999), nodes_for(STRONGEST_ELO));
    }

    #[test]
    fn own_bounds_stay_in_force() {
        let mut limits = SearchLimits::nodes(10);
        limit(&mut limits, 2000);
        assert_eq!(limits.nodes, Some(10));
        let mut limits = SearchLimits::depth(3);
        limit(&mut limits, 1570);
        assert_eq!((limits.depth, limits.nodes), (Some(3), Some(64)));
    }
}
