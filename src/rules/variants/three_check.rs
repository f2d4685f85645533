//! Three-check: the third check wins.

use super::Rules;
use crate::rules::ending::{EndReason, Ending};
use crate::rules::geometry::Board8;
use crate::rules::moves::{Move, MoveList};
use crate::rules::pos::Pos;
use crate::rules::types::Color;
use crate::rules::variant::Variant;

/// The rules of three-check.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreeCheck;

impl Rules for ThreeCheck {
    type G = Board8;
    const VARIANT: Variant = Variant::ThreeCheck;
    const START_FEN: &'static str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3+3 0 1";
    const CHECKS_TO_WIN: u8 = 3;
    const ENDS_BY_RULE: bool = true;

    #[inline(always)]
    fn end(pos: &Pos<Self>) -> Option<Ending> {
        Color::ALL
            .into_iter()
            .find(|&color| pos.checks_left(color) == 0)
            .map(|color| Ending::win(color, EndReason::ChecksGiven))
    }

    #[inline(always)]
    fn winning_move(pos: &Pos<Self>, list: &mut MoveList) -> Option<Move> {
        if pos.checks_left(pos.turn()) == 1 {
            third_check(pos, list)
        } else {
            None
        }
    }
}

#[inline(never)]
fn third_check(pos: &Pos<ThreeCheck>, list: &mut MoveList) -> Option<Move> {
    list.clear();
    pos.legal_moves(list);
    let info = pos.check_info();
    list.iter().copied().find(|&m| pos.gives_check(m, &info))
}
