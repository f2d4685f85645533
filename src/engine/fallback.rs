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
