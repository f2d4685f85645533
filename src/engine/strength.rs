//! Playing below full strength: from a rating to a number of nodes.

use super::limits::SearchLimits;

/// Lowest value of `UCI_Elo`.
pub const WEAKEST_ELO: u32 = 1000;

/// Highest value of `UCI_Elo`: in effect unlimited at blitz speeds.
pub const STRONGEST_ELO: u32 = 3000;

/// Nodes at [`WEAKEST_ELO`]: enough to see what hangs.
const WEAKEST_NODES: f64 = 24.0;

/// Rating points that twice the nodes are worth, measured by matches of the engine against itself.
const ELO_PER_DOUBLING: f64 = 160.0;

/// Adds what makes the engine play like a player of this rating: a bound on its nodes. Clocks and
/// other bounds stay in force.
pub fn limit(limits: &mut SearchLimits, elo: u32) {
    let nodes = nodes_for(elo);
    limits.nodes = Some(limits.nodes.map_or(nodes, |own| own.min(nodes)));
}

/// Nodes per move for a rating; grows by a constant factor with each hundred points.
pub fn nodes_for(elo: u32) -> u64 {
    let above = f64::from(elo.clamp(WEAKEST_ELO, STRONGEST_ELO) - WEAKEST_ELO);
    // Below 2^63 for all ratings in range, so the conversion keeps the value.
    (WEAKEST_NODES * (above / ELO_PER_DOUBLING).exp2()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_double_with_the_rating_step() {
        assert_eq!(nodes_for(WEAKEST_ELO), 24);
        assert_eq!(nodes_for(WEAKEST_ELO + 160), 48);
        assert_eq!(nodes_for(WEAKEST_ELO + 1600), 24 << 10);
        assert_eq!(nodes_for(0), nodes_for(WEAKEST_ELO));
        assert_eq!(nodes_for(9999), nodes_for(STRONGEST_ELO));
    }

    #[test]
    fn own_bounds_stay_in_force() {
        let mut limits = SearchLimits::nodes(10);
        limit(&mut limits, 2000);
        assert_eq!(limits.nodes, Some(10));
        let mut limits = SearchLimits::depth(3);
        limit(&mut limits, 1160);
        assert_eq!((limits.depth, limits.nodes), (Some(3), Some(48)));
    }
}
