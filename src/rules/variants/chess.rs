//! Orthodox chess.

use super::Rules;
use crate::rules::geometry::Board8;
use crate::rules::variant::Variant;

/// The rules of chess, for every start array that is played by them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chess;

impl Rules for Chess {
    type G = Board8;
    const VARIANT: Variant = Variant::Chess;
    const START_FEN: &'static str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
}
