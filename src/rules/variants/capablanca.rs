//! Capablanca chess: ten files, archbishop and chancellor, the king castles three squares.

use super::{Rules, WIDE_PROMOTIONS};
use crate::rules::geometry::Board10;
use crate::rules::types::Role;
use crate::rules::variant::Variant;

/// The rules of Capablanca chess and of its sister arrays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capablanca;

impl Rules for Capablanca {
    type G = Board10;
    const VARIANT: Variant = Variant::Capablanca;
    const START_FEN: &'static str =
        "rnabqkbcnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNABQKBCNR w KQkq - 0 1";
    const PROMOTIONS: &'static [Role] = WIDE_PROMOTIONS;
}
