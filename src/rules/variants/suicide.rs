//! Suicide as on FICS: antichess in which a side without a move compares numbers of pieces.

use super::Rules;
use super::antichess::{PROMOTIONS, all_lost};
use crate::rules::ending::{EndReason, Ending};
use crate::rules::geometry::Board8;
use crate::rules::pos::Pos;
use crate::rules::types::{Color, Role};
use crate::rules::variant::Variant;
use std::cmp::Ordering;

/// The rules of suicide.
#[derive(Clone, Copy, Debug, Default)]
pub struct Suicide;

impl Rules for Suicide {
    type G = Board8;
    const VARIANT: Variant = Variant::Suicide;
    const START_FEN: &'static str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1";
    const ROYAL: bool = false;
    const MUST_CAPTURE: bool = true;
    const CASTLING: bool = false;
    const PROMOTIONS: &'static [Role] = PROMOTIONS;
    const ENDS_BY_RULE: bool = true;

    #[inline(always)]
    fn end(pos: &Pos<Self>) -> Option<Ending> {
        all_lost(pos)
    }

    fn no_moves(pos: &Pos<Self>) -> Ending {
        let white = pos.side(Color::White).count_ones();
        let black = pos.side(Color::Black).count_ones();
        match white.cmp(&black) {
            Ordering::Less => Ending::win(Color::White, EndReason::FewerPieces),
            Ordering::Greater => Ending::win(Color::Black, EndReason::FewerPieces),
            Ordering::Equal => Ending::draw(EndReason::Stalemate),
        }
    }
}
