//! Capahouse: Capablanca's board with crazyhouse's drops.

use super::{Rules, WIDE_PROMOTIONS};
use crate::rules::geometry::Board10;
use crate::rules::types::Role;
use crate::rules::variant::Variant;

/// The rules of capahouse.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capahouse;

impl Rules for Capahouse {
    type G = Board10;
    const VARIANT: Variant = Variant::Capahouse;
    const START_FEN: &'static str =
        "rnabqkbcnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNABQKBCNR[] w KQkq - 0 1";
    const DROPS: bool = true;
    const PROMOTIONS: &'static [Role] = WIDE_PROMOTIONS;
}
