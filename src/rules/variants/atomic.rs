//! Atomic: a capture explodes the capturer, the captured and every piece but pawns around them.

use super::Rules;
use crate::rules::ending::{EndReason, Ending};
use crate::rules::geometry::Board8;
use crate::rules::pos::Pos;
use crate::rules::types::{Color, Role};
use crate::rules::variant::Variant;

/// The rules of atomic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Atomic;

impl Rules for Atomic {
    type G = Board8;
    const VARIANT: Variant = Variant::Atomic;
    const START_FEN: &'static str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    const ATOMIC: bool = true;
    const ENDS_BY_RULE: bool = true;

    #[inline(always)]
    fn end(pos: &Pos<Self>) -> Option<Ending> {
        Color::ALL
            .into_iter()
            .find(|&color| pos.pieces(color, Role::King) == 0)
            .map(|color| Ending::win(!color, EndReason::KingExploded))
    }
}
