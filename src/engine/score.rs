//! What a search thinks of a position.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Neg;

/// Value of a position from the side to move.
///
/// Ordered by how good it is for that side: a quick mate beats a slow one, any mate beats any
/// evaluation, and being mated late is better than being mated soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Score {
    /// Evaluation in hundredths of a pawn of the variant played.
    Cp(i32),
    /// Forced win in so many moves of the side to move; negative: forced loss in so many moves.
    /// `Mate(0)` means that the game is lost on the board already.
    Mate(i32),
}

impl Score {
    /// A balanced position.
    pub const DRAW: Score = Score::Cp(0);

    /// The score as one number of centipawns, mates being far outside any evaluation.
    ///
    /// For thresholds (resigning, offering draws, adjudicating) that need no case distinction.
    pub fn centipawns(self) -> i32 {
        const MATE: i32 = 100_000;
        match self {
            Score::Cp(cp) => cp.clamp(-MATE / 2, MATE / 2),
            Score::Mate(moves) if moves > 0 => MATE - moves.min(MATE / 4),
            Score::Mate(moves) => -MATE - moves.max(-MATE / 4),
        }
    }

    /// Whether a forced win or loss was found.
    pub fn is_mate(self) -> bool {
        matches!(self, Score::Mate(_))
    }
}

impl Neg for Score {
    type Output = Score;

    /// The same value seen from the other side. `Mate(0)` has no counterpart and becomes `Mate(1)`.
    fn neg(self) -> Score {
        match self {
            Score::Cp(cp) => Score::Cp(cp.saturating_neg()),
            Score::Mate(0) => Score::Mate(1),
            Score::Mate(moves) => Score::Mate(moves.saturating_neg()),
        }
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Score) -> Ordering {
        fn rank(score: Score) -> (i8, i64) {
            match score {
                Score::Mate(moves) if moves > 0 => (1, -i64::from(moves)),
                Score::Cp(cp) => (0, i64::from(cp)),
                Score::Mate(moves) => (-1, -i64::from(moves)),
            }
        }
        rank(*self).cmp(&rank(*other))
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Score) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Score {
    /// The words of UCI: `cp 35`, `mate -3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Score::Cp(cp) => write!(f, "cp {cp}"),
            Score::Mate(moves) => write!(f, "mate {moves}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_runs_from_mated_now_to_mate_in_one() {
        let ascending = [
            Score::Mate(0),
            Score::Mate(-1),
            Score::Mate(-7),
            Score::Cp(i32::MIN),
            Score::Cp(-30),
            Score::DRAW,
            Score::Cp(250),
            Score::Cp(i32::MAX),
            Score::Mate(9),
            Score::Mate(1),
        ];
        for pair in ascending.windows(2) {
            assert!(pair[0] < pair[1], "{:?} < {:?}", pair[0], pair[1]);
            assert!(pair[0].centipawns() <= pair[1].centipawns(), "{pair:?}");
        }
    }

    #[test]
    fn negation_turns_the_board_round() {
        assert_eq!(-Score::Cp(31), Score::Cp(-31));
        assert_eq!(-Score::Mate(-2), Score::Mate(2));
        assert_eq!(-Score::Mate(0), Score::Mate(1));
        assert_eq!(-Score::Cp(i32::MIN), Score::Cp(i32::MAX));
    }

    #[test]
    fn prints_the_words_of_uci() {
        assert_eq!(Score::Cp(-12).to_string(), "cp -12");
        assert_eq!(Score::Mate(3).to_string(), "mate 3");
    }
}
