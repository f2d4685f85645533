//! The table of a league: points, and by Sonneborn and Berger what the points of the beaten are worth.

use super::{League, MeetingState};
use crate::rules::Color;

/// A player's line in the table. Points are counted in halves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The player's place in the league's list.
    pub player: usize,
    /// Games played.
    pub games: u32,
    /// Games won.
    pub wins: u32,
    /// Half points.
    pub halves: u32,
    /// Points of the beaten and half the points of those drawn with, in quarters of a point.
    pub quarters: u32,
}

/// Half points of a side.
fn halves(winner: Option<Color>, side: Color) -> u32 {
    match winner {
        Some(winner) if winner == side => 2,
        Some(_) => 0,
        None => 1,
    }
}

/// The table, best first: by points, then by the points of the beaten, then by wins, then by name.
pub fn standings(league: &League) -> Vec<Row> {
    let meetings = league.meetings();
    let played = || {
        meetings.iter().filter_map(|meeting| match meeting.state {
            MeetingState::Done { winner, .. } => Some((meeting.pairing, winner)),
            MeetingState::Open | MeetingState::Running(_) | MeetingState::Void => None,
        })
    };
    let mut rows: Vec<Row> = (0..league.players().len())
        .map(|player| Row {
            player,
            games: 0,
            wins: 0,
            halves: 0,
            quarters: 0,
        })
        .collect();
    for (pairing, winner) in played() {
        for (player, side) in [(pairing.white, Color::White), (pairing.black, Color::Black)] {
            let row = &mut rows[player];
            row.games += 1;
            row.wins += u32::from(winner == Some(side));
            row.halves += halves(winner, side);
        }
    }
    let points: Vec<u32> = rows.iter().map(|row| row.halves).collect();
    for (pairing, winner) in played() {
        let (white, black) = (pairing.white, pairing.black);
        rows[white].quarters += halves(winner, Color::White) * points[black];
        rows[black].quarters += halves(winner, Color::Black) * points[white];
    }
    let name = |row: &Row| &league.players()[row.player].account;
    rows.sort_by(|a, b| {
        (b.halves, b.quarters, b.wins)
            .cmp(&(a.halves, a.quarters, a.wins))
            .then_with(|| name(a).cmp(name(b)))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plan, players};
    use super::*;

    #[test]
    fn points_come_first_and_beaten_points_next() {
        let league = League::new(plan(1, 9), players(&["A", "B", "C", "D"])).unwrap();
        // A and B win two and lose one each; A has beaten B, who beat C, who beat A.
        let results = [
            (("A", "B"), "A"),
            (("A", "C"), "C"),
            (("A", "D"), "A"),
            (("B", "C"), "B"),
            (("B", "D"), "B"),
            (("C", "D"), ""),
        ];
        let index = |name: &str| league.players().iter().position(|p| p.name == name);
        for meeting in league.lock().iter_mut() {
            let Some((_, winner)) = results.iter().find(|((one, other), _)| {
                let pair = [index(one).unwrap(), index(other).unwrap()];
                pair.contains(&meeting.pairing.white) && pair.contains(&meeting.pairing.black)
            }) else {
                panic!("{meeting:?}");
            };
            let winner = index(winner).map(|winner| {
                if winner == meeting.pairing.white {
                    Color::White
                } else {
                    Color::Black
                }
            });
            let game = "abcdefgh".to_owned();
            meeting.state = MeetingState::Done { game, winner };
        }
        let rows = standings(&league);
        let told: Vec<(&str, u32, u32, u32)> = rows
            .iter()
            .map(|row| {
                let name = league.players()[row.player].name.as_str();
                (name, row.halves, row.quarters, row.wins)
            })
            .collect();
        // A: 2 points, beat B (2) and D (1/2): 2.5. B: 2 points, beat C (1.5) and D (1/2): 2.
        assert_eq!(
            told,
            [
                ("A", 4, 10, 2),
                ("B", 4, 8, 2),
                // C: 1.5 points, beat A (2), drew with D (1/4).
                ("C", 3, 9, 1),
                ("D", 1, 3, 0),
            ]
        );
        assert!(rows.iter().all(|row| row.games == 3));
        assert!(league.is_over());
    }
}
