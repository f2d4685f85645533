//! Horde as on Lichess: thirty-six white pawns against an army.

use super::Rules;
use crate::rules::ending::{EndReason, Ending};
use crate::rules::geometry::Board8;
use crate::rules::pos::Pos;
use crate::rules::types::Color;
use crate::rules::variant::Variant;

/// The rules of horde.
#[derive(Clone, Copy, Debug, Default)]
pub struct Horde;

impl Rules for Horde {
    type G = Board8;
    const VARIANT: Variant = Variant::Horde;
    const START_FEN: &'static str =
        "rnbqkbnr/pppppppp/8/1PP2PP1/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP w kq - 0 1";
    const HORDE: bool = true;
    const ENDS_BY_RULE: bool = true;

    #[inline(always)]
    fn end(pos: &Pos<Self>) -> Option<Ending> {
        (pos.side(Color::White) == 0).then(|| Ending::win(Color::Black, EndReason::HordeDestroyed))
    }
}
