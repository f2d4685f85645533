//! Who meets whom, and in which round: everybody everybody, by the circle method.

/// A game that is to be played; players by their place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pairing {
    /// From 0.
    pub round: usize,
    /// Who has White.
    pub white: usize,
    /// Who has Black.
    pub black: usize,
}

/// All games of a league in which everybody meets everybody `times` times, with the sides
/// changed from time to time.
///
/// In a round nobody plays twice; with an odd number of players one rests.
pub fn schedule(players: usize, times: usize) -> Vec<Pairing> {
    // One seat stays, the others move on around the table. With an odd number nobody sits there,
    // and who would meet nobody rests.
    let nobody = players % 2;
    let seats = players + nobody;
    let rounds = seats.saturating_sub(1);
    let mut all = Vec::new();
    for time in 0..times {
        for turn in 0..rounds {
            let at = |place: usize| match place {
                0 => 0,
                place => 1 + (place - 1 + turn) % rounds,
            };
            for table in nobody..seats / 2 {
                let (one, other) = (at(table) - nobody, at(seats - 1 - table) - nobody);
                // At the first table the player who stays would always have one side.
                let one_is_white = if table == 0 {
                    turn % 2 == 0
                } else {
                    table % 2 == 1
                };
                let (white, black) = if one_is_white == (time % 2 == 0) {
                    (one, other)
                } else {
                    (other, one)
                };
                all.push(Pairing {
                    round: time * rounds + turn,
                    white,
                    black,
                });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn everybody_meets_everybody_equally_often_with_sides_changed() {
        for players in 2..=11 {
            for times in 1..=4 {
                let all = schedule(players, times);
                assert_eq!(all.len(), times * players * (players - 1) / 2);
                let mut met: BTreeMap<(usize, usize), [usize; 2]> = BTreeMap::new();
                for pairing in &all {
                    assert_ne!(pairing.white, pairing.black);
                    let pair = (
                        pairing.white.min(pairing.black),
                        pairing.white.max(pairing.black),
                    );
                    met.entry(pair).or_default()[usize::from(pairing.white > pairing.black)] += 1;
                }
                assert_eq!(met.len(), players * (players - 1) / 2);
                for (pair, [one, other]) in met {
                    assert_eq!(one + other, times, "{pair:?}");
                    assert!(one.abs_diff(other) <= 1, "{pair:?} of {players}");
                }
            }
        }
    }

    #[test]
    fn nobody_plays_twice_in_a_round_and_sides_are_balanced() {
        for players in 2..=11 {
            let all = schedule(players, 1);
            let mut whites = vec![0_usize; players];
            let mut games = vec![0_usize; players];
            let rounds = all.iter().map(|p| p.round).max().unwrap() + 1;
            assert_eq!(rounds, players + players % 2 - 1);
            for round in 0..rounds {
                let mut busy = vec![false; players];
                for pairing in all.iter().filter(|p| p.round == round) {
                    for player in [pairing.white, pairing.black] {
                        assert!(!busy[player], "{player} twice in round {round}");
                        busy[player] = true;
                        games[player] += 1;
                    }
                    whites[pairing.white] += 1;
                }
            }
            for player in 0..players {
                let blacks = games[player] - whites[player];
                assert!(
                    whites[player].abs_diff(blacks) <= 1,
                    "{player} of {players}: {} white, {blacks} black",
                    whites[player]
                );
            }
        }
    }

    #[test]
    fn who_is_alone_plays_nobody() {
        assert!(schedule(0, 2).is_empty());
        assert!(schedule(1, 2).is_empty());
    }
}
