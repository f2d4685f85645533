//! How good a position is for the side to move, without looking ahead.
//!
//! `features` counts, `weights` says what each count is worth. King danger is a curve over a sum of its own terms, and in
//! games with an endgame the linear terms fade from one set of values to another as pieces leave the board.

pub mod features;
pub mod table;
pub mod values;
pub mod weights;

use crate::rules::bits::Bits;
use crate::rules::pos::Pos;
use crate::rules::variants::Rules;
use crate::rules::{Color, Role};
use features::Tally;
use weights::{PHASE, Weights};

/// Largest absolute value of an evaluation; mates lie outside.
pub const MAX_EVAL: i32 = 20_000;

/// Adds up weights while the features are walked.
struct Sum<'a> {
    weights: &'a Weights,
    middle: i32,
    end: i32,
    danger: [i32; 2],
}

impl Tally for Sum<'_> {
    #[inline(always)]
    fn add(&mut self, index: usize, count: i32) {
        let (middle, end) = self.weights.linear[index];
        self.middle += i32::from(middle) * count;
        self.end += i32::from(end) * count;
    }
    #[inline(always)]
    fn danger(&mut self, king: Color, index: usize, count: i32) {
        self.danger[king.index()] += i32::from(self.weights.danger[index]) * count;
    }
}

/// Loss of value by danger: slow at first, then with the square, then straight again so that nothing dwarfs a mate.
#[must_use]
pub fn danger_curve(danger: i32) -> i32 {
    let danger = danger.max(0);
    if danger <= 800 {
        danger * danger / 1000 + danger / 8
    } else {
        740 + (danger - 800) * 3 / 2
    }
}

/// Phase of the game from 256 (all pieces on the board) to 0.
#[inline]
#[must_use]
pub fn phase<R: Rules>(pos: &Pos<R>, full: i32) -> i32 {
    let mut sum = 0;
    for role in [
        Role::Knight,
        Role::Bishop,
        Role::Rook,
        Role::Queen,
        Role::Archbishop,
        Role::Chancellor,
    ] {
        if Pos::<R>::has_role(role) {
            sum += pos.role(role).count() as i32 * PHASE[role.index()];
        }
    }
    (sum * 256 / full).min(256)
}

/// Value of the position for the side to move, in the search's units.
#[must_use]
pub fn evaluate<R: Rules>(pos: &Pos<R>, weights: &Weights) -> i32 {
    let mut sum = Sum {
        weights,
        middle: 0,
        end: 0,
        danger: [0; 2],
    };
    features::walk(pos, &mut sum);
    let danger = danger_curve(sum.danger[1]) - danger_curve(sum.danger[0]);
    let value = if R::DROPS {
        sum.middle + danger
    } else {
        let phase = phase(pos, weights.full_phase);
        ((sum.middle + danger) * phase + sum.end * (256 - phase)) / 256
    };
    let value = if is_barren(pos) { value / 16 } else { value };
    let value = match pos.turn() {
        Color::White => value,
        Color::Black => -value,
    };
    value.clamp(-MAX_EVAL, MAX_EVAL)
}

/// Too little is left on either side for a win in practice, although the rules may let the game go on.
#[must_use]
pub fn is_barren<R: Rules>(pos: &Pos<R>) -> bool {
    if R::DROPS || !R::ROYAL || R::HORDE || R::ENDS_BY_RULE {
        return false;
    }
    if pos.role(Role::Pawn).any()
        || pos.straight_sliders().any()
        || (Pos::<R>::has_role(Role::Archbishop) && pos.role(Role::Archbishop).any())
    {
        return false;
    }
    Color::ALL
        .into_iter()
        .all(|color| pos.side(color).count() <= 2)
}
