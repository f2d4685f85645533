//! Losers as on FICS: captures are compulsory among the legal moves; being mated, stalemated or bare wins.

use super::Rules;
use crate::rules::ending::{EndReason, Ending};
use crate::rules::geometry::Board8;
use crate::rules::pos::Pos;
use crate::rules::types::Color;
use crate::rules::variant::Variant;

/// The rules of losers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losers;

impl Rules for Losers {
    type G = Board8;
    const VARIANT: Variant = Variant::Losers;
    const START_FEN: &'static str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    const MUST_CAPTURE: bool = true;
    const ENDS_BY_RULE: bool = true;

    #[inline(always)]
    fn end(pos: &Pos<Self>) -> Option<Ending> {
        Color::ALL
            .into_iter()
            .find(|&color| pos.side(color).count_ones() == 1)
            .map(|color| Ending::win(color, EndReason::BareKing))
    }

    fn no_moves(pos: &Pos<Self>) -> Ending {
        Ending::win(pos.turn(), EndReason::MatedWins)
    }
}
