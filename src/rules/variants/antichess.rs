//! Antichess as on Lichess: captures are compulsory, losing everything or having no move wins.

use super::Rules;
use crate::rules::ending::{EndReason, Ending};
use crate::rules::geometry::Board8;
use crate::rules::pos::Pos;
use crate::rules::types::{Color, Role};
use crate::rules::variant::Variant;

/// The rules of antichess.
#[derive(Clone, Copy, Debug, Default)]
pub struct Antichess;

/// What a pawn becomes where the king is an ordinary piece.
pub(super) const PROMOTIONS: &[Role] = &[
    Role::Queen,
    Role::Rook,
    Role::Bishop,
    Role::Knight,
    Role::King,
];

impl Rules for Antichess {
    type G = Board8;
    const VARIANT: Variant = Variant::Antichess;
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
        Ending::win(pos.turn(), EndReason::NoMoveWins)
    }
}

/// A side without pieces has won.
#[inline(always)]
pub(super) fn all_lost<R: Rules<G = Board8>>(pos: &Pos<R>) -> Option<Ending> {
    Color::ALL
        .into_iter()
        .find(|&color| pos.side(color) == 0)
        .map(|color| Ending::win(color, EndReason::AllPiecesLost))
}
