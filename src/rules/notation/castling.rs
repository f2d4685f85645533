//! What notation asks about castling.

use crate::rules::bits::Bits;
use crate::rules::moves::Move;
use crate::rules::position::Position;
use crate::rules::types::Square;
use crate::with_pos;

impl Position {
    /// The square the king goes to when castling; for any other move its destination.
    #[must_use]
    pub fn castling_target(&self, m: Move) -> Square {
        if !m.is_castle() {
            return Square(m.to());
        }
        with_pos!(self.any(), pos => {
            let lower_side = m.to() < pos.king(pos.turn());
            Square(pos.castling_targets(pos.turn(), lower_side).0)
        })
    }

    /// Whether castling is the short one, `O-O`: toward the higher files, but for a king on the d-file that goes to b.
    #[must_use]
    pub fn is_short_castling(&self, m: Move) -> bool {
        with_pos!(self.any(), pos => {
            let king = pos.king(pos.turn());
            let lower_side = m.to() < king;
            let goes_to_b = pos.castling_targets(pos.turn(), true).0 % self.files() == 1;
            let mirrored = goes_to_b && king % self.files() == 3;
            lower_side == mirrored
        })
    }
}
