//! Racing kings: the first king on the eighth rank wins; no check may be given.

use super::{Rules, king_steps_to};
use crate::rules::ending::{EndReason, Ending};
use crate::rules::geometry::{Board8, Geometry};
use crate::rules::moves::{Move, MoveList};
use crate::rules::pos::Pos;
use crate::rules::types::{Color, Role};
use crate::rules::variant::Variant;

/// The rules of racing kings.
#[derive(Clone, Copy, Debug, Default)]
pub struct RacingKings;

/// The eighth rank.
pub const GOAL: u64 = 0xFF << 56;

impl Rules for RacingKings {
    type G = Board8;
    const VARIANT: Variant = Variant::RacingKings;
    const START_FEN: &'static str = "8/8/8/8/8/8/krbnNBRK/qrbnNBRQ w - - 0 1";
    const NO_CHECKS: bool = true;
    const CASTLING: bool = false;
    const ENDS_BY_RULE: bool = true;

    #[inline(always)]
    fn end(pos: &Pos<Self>) -> Option<Ending> {
        let home = |color| pos.pieces(color, Role::King) & GOAL != 0;
        match (home(Color::White), home(Color::Black)) {
            (false, false) => None,
            (true, true) => Some(Ending::draw(EndReason::RaceTied)),
            (false, true) => Some(Ending::win(Color::Black, EndReason::RaceWon)),
            // White moves first, so Black may still equalize, if the king can get there at once.
            (true, false) => (pos.turn() == Color::White || !black_can_arrive(pos))
                .then(|| Ending::win(Color::White, EndReason::RaceWon)),
        }
    }

    #[inline(always)]
    fn winning_move(pos: &Pos<Self>, list: &mut MoveList) -> Option<Move> {
        king_steps_to(pos, GOAL, list).find(|&m| {
            // Black may still equalize.
            let mut next = *pos;
            next.play(m);
            Self::end(&next).is_some_and(|ending| ending.outcome.winner() == Some(pos.turn()))
        })
    }
}

#[inline(never)]
fn black_can_arrive(pos: &Pos<RacingKings>) -> bool {
    let king = pos.king(Color::Black);
    let mut targets = Board8::tables().king(king) & GOAL & !pos.side(Color::Black);
    while targets != 0 {
        let target = targets.trailing_zeros() as u8;
        targets &= targets - 1;
        let occupied = pos.occupied() & !(1 << king);
        if !pos.is_attacked(target, Color::White, occupied, 1 << target)
            && !pos.gives_check(Move::normal(king, target), &pos.check_info())
        {
            return true;
        }
    }
    false
}
