//! A move without a search: what is played when a search failed and time is up.

use super::material::balance;
use crate::rules::{History, Move, Position};

/// A move chosen by the rules alone: a winning one if there is any, else one that does not lose at
/// once and wins most or loses least material by the opponent's best capture. `None` if there is no
/// legal move.
///
/// Costs some hundred microseconds up to a few milliseconds in positions with full pockets, needs
/// no thread or table, and always gives the same answer.
pub fn fallback_move(history: &History) -> Option<Move> {
    let position = history.position();
    let mut best: Option<(i32, Move)> = None;
    for &candidate in position.legal_moves().iter() {
        let mut after = position.clone();
        after.play_unchecked(candidate);
        // Captures are looked at only where they can still change the choice.
        let at_most = best.map(|(value, _)| value);
        let value = value_after(&after, at_most);
        if at_most.is_none_or(|so_far| value > so_far) {
            best = Some((value, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Value for the side that has just moved: material after the opponent's best capture.
fn value_after(after: &Position, threshold: Option<i32>) -> i32 {
    const WIN: i32 = 1_000_000;
    let mover = !after.turn();
    if let Some(ending) = after.ending() {
        return match ending.outcome.winner() {
            Some(winner) if winner == mover => WIN,
            Some(_) => -WIN,
            None => 0,
        };
    }
    let mut worst = -balance(after);
    for &reply in after.legal_moves().iter() {
        if threshold.is_some_and(|threshold| worst <= threshold) {
            break;
        }
        if after.is_capture(reply) {
            let mut replied = after.clone();
            replied.play_unchecked(reply);
            let lost = replied.ending().and_then(|ending| ending.outcome.winner()) == Some(!mover);
            worst = worst.min(if lost { -WIN } else { balance(&replied) });
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{CastlingMode, Variant};

    fn choice(variant: Variant, fen: &str) -> String {
        let position = Position::from_fen(variant, CastlingMode::Standard, fen).expect("legal");
        let history = History::new(position);
        let best = fallback_move(&history).expect("there is a legal move");
        history.position().uci(best)
    }

    #[test]
    fn every_start_has_one() {
        for variant in Variant::ALL {
            let history = History::new(Position::start(variant));
            let best = fallback_move(&history).expect("there are legal moves");
            assert!(history.position().is_legal(best), "{variant:?}");
        }
    }

    #[test]
    fn mates_and_wins_come_first() {
        let back_rank = "q5k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1";
        assert_eq!(choice(Variant::Chess, back_rank), "a1a8");
        let dropped = "6k1/5ppp/8/8/8/8/8/6K1[Q] w - - 0 1";
        assert!(choice(Variant::Crazyhouse, dropped).starts_with("Q@"));
        let to_the_center = "4k3/8/8/q7/8/3K4/8/8 w - - 0 1";
        assert!(["d3e4", "d3d4"].contains(&choice(Variant::KingOfTheHill, to_the_center).as_str()));
    }

    #[test]
    fn takes_what_hangs_and_not_what_is_guarded() {
        let hangs = "4k3/8/8/3r4/8/8/8/3QK3 w - - 0 1";
        assert_eq!(choice(Variant::Chess, hangs), "d1d5");
        let guarded = "3rk3/8/8/3p4/8/8/8/3QK3 w - - 0 1";
        assert_ne!(choice(Variant::Chess, guarded), "d1d5");
    }

    #[test]
    fn finished_games_have_none() {
        let mate = "R6k/6pp/8/8/8/8/8/K7 b - - 0 1";
        let position = Position::from_fen(Variant::Chess, CastlingMode::Standard, mate);
        let history = History::new(position.expect("legal"));
        assert_eq!(fallback_move(&history), None);
    }
}
