//! Static exchange evaluation: what a sequence of captures on one square comes to.
//!
//! In drop games a captured piece is gained as well as lost, so every capture counts the piece's value on the board and in
//! hand; a promoted piece comes back as a pawn only.

use super::evaluation::values::Values;
use crate::rules::bits::Bits;
use crate::rules::geometry::Geometry;
use crate::rules::pos::{BitsOf, Pos};
use crate::rules::variants::Rules;
use crate::rules::{Color, Move, Role};

/// What taking the piece on a square changes; 0 if it is empty.
#[inline(always)]
#[must_use]
pub fn value_on<R: Rules>(pos: &Pos<R>, square: u8, values: &Values) -> i32 {
    let code = pos.code(square);
    if code >= 16 {
        return 0;
    }
    let role = usize::from(code & 7);
    if R::DROPS && pos.promoted().has(square) {
        values.promoted[role]
    } else {
        values.captured[role]
    }
}

/// Whether the exchange that a move starts is worth at least `threshold` to the side to move.
#[must_use]
pub fn see_ge<R: Rules>(pos: &Pos<R>, m: Move, threshold: i32, values: &Values) -> bool {
    if m.is_castle() {
        return threshold <= 0;
    }
    let us = pos.turn();
    let to = m.to();
    let mut occupied = pos.occupied();
    let mut gain = if m.is_en_passant() {
        values.captured[Role::Pawn.index()]
    } else {
        value_on(pos, to, values)
    };
    let at_risk = if m.is_drop() {
        values.captured[m.drop_role().index()]
    } else {
        let from = m.from(R::G::FILES, us);
        occupied ^= BitsOf::<R>::of(from);
        if m.is_promotion() {
            let promoted = values.promoted[m.promotion_role().index()];
            gain += promoted - values.captured[Role::Pawn.index()];
            promoted
        } else {
            value_on(pos, from, values)
        }
    };
    if m.is_en_passant() {
        let passed = match us {
            Color::White => to - R::G::FILES,
            Color::Black => to + R::G::FILES,
        };
        occupied ^= BitsOf::<R>::of(passed);
    }
    // `balance` is what the side to move next needs to fall short of.
    let balance = gain - threshold;
    if balance < 0 {
        return false;
    }
    if balance - at_risk >= 0 {
        return true;
    }
    exchange(
        pos,
        to,
        occupied | BitsOf::<R>::of(to),
        !us,
        balance - at_risk,
        values,
    ) == us
}

/// Plays the exchange on with the least valuable piece each time; the side that wins it. `balance` is negative: the
/// mover's result if its piece is simply taken.
fn exchange<R: Rules>(
    pos: &Pos<R>,
    to: u8,
    mut occupied: BitsOf<R>,
    first: Color,
    balance: i32,
    values: &Values,
) -> Color {
    let tables = Pos::<R>::tables();
    let straight = pos.straight_sliders();
    let diagonal = pos.diagonal_sliders();
    let mut attackers = pos.attackers(to, occupied) & occupied;
    let mut side = first;
    let mut balance = balance;
    loop {
        attackers &= occupied;
        let own = attackers & pos.side(side);
        let Some(square) = least_valuable(pos, own, values) else {
            return !side;
        };
        let role = Role::from_index(usize::from(pos.code(square)));
        if role == Role::King {
            // A king takes last, and only what nobody protects.
            let is_protected = (attackers & pos.side(!side)).any();
            return if is_protected && R::ROYAL {
                !side
            } else {
                side
            };
        }
        occupied ^= BitsOf::<R>::of(square);
        attackers |= tables.rook(to, occupied) & straight;
        attackers |= tables.bishop(to, occupied) & diagonal;
        side = !side;
        balance = -balance - 1 - value_on(pos, square, values);
        if balance >= 0 {
            return !side;
        }
    }
}

#[inline(always)]
fn least_valuable<R: Rules>(pos: &Pos<R>, own: BitsOf<R>, values: &Values) -> Option<u8> {
    const ORDER: [Role; 8] = [
        Role::Pawn,
        Role::Knight,
        Role::Bishop,
        Role::Rook,
        Role::Archbishop,
        Role::Chancellor,
        Role::Queen,
        Role::King,
    ];
    if own.none() {
        return None;
    }
    if R::DROPS {
        // Promoted pieces come back as pawns and may be the cheapest to lose.
        let promoted = own & pos.promoted();
        if promoted.any() && (own & pos.role(Role::Pawn)).none() {
            return own
                .squares()
                .filter(|&square| pos.code(square) & 7 != Role::King as u8)
                .min_by_key(|&square| value_on(pos, square, values))
                .or(Some(own.lsb()));
        }
    }
    for role in ORDER {
        if !Pos::<R>::has_role(role) {
            continue;
        }
        let set = own & pos.role(role);
        if set.any() {
            return Some(set.lsb());
        }
    }
    None
}
