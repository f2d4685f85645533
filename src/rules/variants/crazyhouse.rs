//! Crazyhouse: captured pieces change sides and are dropped back.

use super::Rules;
use crate::rules::geometry::Board8;
use crate::rules::variant::Variant;

/// The rules of crazyhouse.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crazyhouse;

impl Rules for Crazyhouse {
    type G = Board8;
    const VARIANT: Variant = Variant::Crazyhouse;
    const START_FEN: &'static str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1";
    const DROPS: bool = true;
}
