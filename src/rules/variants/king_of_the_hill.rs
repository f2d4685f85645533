//! King of the hill: a king in the center wins.

use super::{Rules, king_steps_to};
use crate::rules::ending::{EndReason, Ending};
use crate::rules::geometry::Board8;
use crate::rules::moves::{Move, MoveList};
use crate::rules::pos::Pos;
use crate::rules::types::{Color, Role};
use crate::rules::variant::Variant;

/// The rules of king of the hill.
#[derive(Clone, Copy, Debug, Default)]
pub struct KingOfTheHill;

/// d4, e4, d5, e5.
pub const HILL: u64 = 0x18_1800_0000;

impl Rules for KingOfTheHill {
    type G = Board8;
    const VARIANT: Variant = Variant::KingOfTheHill;
    const START_FEN: &'static str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    const ENDS_BY_RULE: bool = true;

    #[inline(always)]
    fn end(pos: &Pos<Self>) -> Option<Ending> {
        Color::ALL
            .into_iter()
            .find(|&color| pos.pieces(color, Role::King) & HILL != 0)
            .map(|color| Ending::win(color, EndReason::KingInCenter))
    }

    #[inline(always)]
    fn winning_move(pos: &Pos<Self>, list: &mut MoveList) -> Option<Move> {
        king_steps_to(pos, HILL, list).next()
    }
}
