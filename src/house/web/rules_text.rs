//! The rules of the variants in a few sentences, for the side of the board.

use crate::rules::Variant;

/// What is different from orthodox chess.
pub(super) fn rules_text(variant: Variant) -> &'static str {
    match variant {
        Variant::Chess => {
            "Orthodox chess. The third occurrence of a position, fifty moves without a capture or pawn move, and \
             material that cannot mate end the game as a draw by themselves."
        }
        Variant::Crazyhouse => {
            "What you capture changes sides and goes to your pocket. Instead of moving you may put a piece from the \
             pocket on any empty square; pawns not on the first or last rank. A promoted piece goes back to the pocket \
             as a pawn. A drop may give check, mate, or stand between your king and a check. A draw by repetition needs \
             the same pockets; after 600 moves the game is drawn."
        }
        Variant::Capablanca => {
            "Ten files and two more pieces: the archbishop moves as bishop or knight, the chancellor as rook or knight. \
             Pawns may become either. In castling the king goes three squares towards the rook."
        }
        Variant::Capahouse => {
            "Capablanca's board of ten files with archbishop (bishop and knight in one) and chancellor (rook and knight \
             in one), and crazyhouse's pockets: what you capture you may drop. In castling the king goes three squares."
        }
        Variant::ThreeCheck => "Who gives check for the third time wins. Mate wins as well.",
        Variant::KingOfTheHill => {
            "Whose king reaches one of the four squares in the middle wins. Mate wins as well; moving into check is not \
             allowed."
        }
        Variant::Antichess => {
            "Who loses all pieces, or has no move, wins. If you can capture, you must. The king is an ordinary piece: \
             no check, no castling, and pawns may become kings."
        }
        Variant::Suicide => {
            "Who loses all pieces wins. If you can capture, you must. The king is an ordinary piece. If somebody has no \
             move, the side with fewer pieces wins; with as many on both sides it is a draw."
        }
        Variant::Losers => {
            "Who loses everything but the king, or is mated, or has no move, wins. If you can capture, you must, except \
             that the king still has to get out of check."
        }
        Variant::Atomic => {
            "A capture explodes: the capturing piece, the captured one and all pieces but pawns on the eight squares \
             around are gone. Who blows up the other king wins. Kings may not capture, and kings side by side give no \
             check."
        }
        Variant::Horde => {
            "White has thirty-six pawns and no king, and wins by mate. Black wins by capturing everything. Pawns on \
             White's first rank may go two squares."
        }
        Variant::RacingKings => {
            "Whose king reaches the last rank first wins; if White's is first, Black has one move to draw level. \
             Nobody may give check."
        }
    }
}

/// What Chess960 adds.
pub(super) const SHUFFLED: &str =
    "The pieces behind the pawns begin in random order, the king between the rooks and the bishops on both colours. \
     To castle, move the king onto the rook.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_has_rules_of_its_own() {
        let texts: std::collections::BTreeSet<&str> =
            Variant::ALL.into_iter().map(rules_text).collect();
        assert_eq!(texts.len(), Variant::ALL.len());
    }
}
