//! Marks for moves: how much of the point a move gave away.
//!
//! A move is measured by what its player could expect before it and after it, not by pawns: from
//! +9 to +6 nothing is lost, from 0 to -3 a game.

use super::{Opinion, Value};
use crate::rules::Color;

/// From this share of the point on, a move was inaccurate.
const INACCURATE: f64 = 0.08;
/// A mistake.
const MISTAKEN: f64 = 0.16;
/// A blunder.
const BLUNDERED: f64 = 0.28;

/// How bad a move was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// A little was given away.
    Inaccuracy,
    /// More.
    Mistake,
    /// Much.
    Blunder,
}

impl Mark {
    /// All of them, mildest first.
    pub const ALL: [Mark; 3] = [Mark::Inaccuracy, Mark::Mistake, Mark::Blunder];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Mark::Inaccuracy => "inaccuracy",
            Mark::Mistake => "mistake",
            Mark::Blunder => "blunder",
        }
    }

    /// The glyph behind a move.
    pub fn glyph(self) -> &'static str {
        match self {
            Mark::Inaccuracy => "?!",
            Mark::Mistake => "?",
            Mark::Blunder => "??",
        }
    }

    /// The number of that glyph in PGN.
    pub fn nag(self) -> u8 {
        match self {
            Mark::Inaccuracy => 6,
            Mark::Mistake => 2,
            Mark::Blunder => 4,
        }
    }
}

/// The share of the point that `mover` gave away between two values; nothing if he gained.
pub fn loss(mover: Color, before: Value, after: Value) -> f64 {
    let lost = before.chances() - after.chances();
    match mover {
        Color::White => lost.max(0.0),
        Color::Black => (-lost).max(0.0),
    }
}

/// The mark of a move, if it has earned one. The move that the analyst would have played has none.
pub fn mark(mover: Color, played: &str, before: &Opinion, after: &Opinion) -> Option<Mark> {
    if before.line.first().is_some_and(|best| best == played) {
        return None;
    }
    let lost = loss(mover, before.value, after.value);
    match lost {
        lost if lost >= BLUNDERED => Some(Mark::Blunder),
        lost if lost >= MISTAKEN => Some(Mark::Mistake),
        lost if lost >= INACCURATE => Some(Mark::Inaccuracy),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opinion(value: Value, best: &str) -> Opinion {
        Opinion {
            value,
            line: vec![best.to_owned()],
        }
    }

    fn marked(mover: Color, before: Value, after: Value) -> Option<Mark> {
        mark(
            mover,
            "a2a3",
            &opinion(before, "e2e4"),
            &opinion(after, "e7e5"),
        )
    }

    #[test]
    fn marks_follow_what_the_mover_lost() {
        use Color::{Black, White};
        use Value::{Cp, Mate, Over};
        assert_eq!(marked(White, Cp(20), Cp(-10)), None);
        assert_eq!(marked(White, Cp(20), Cp(-60)), Some(Mark::Inaccuracy));
        assert_eq!(marked(White, Cp(20), Cp(-130)), Some(Mark::Mistake));
        assert_eq!(marked(White, Cp(20), Cp(-320)), Some(Mark::Blunder));
        assert_eq!(marked(Black, Cp(20), Cp(320)), Some(Mark::Blunder));
        assert_eq!(marked(Black, Cp(20), Cp(-320)), None, "a gain is no loss");
        assert_eq!(marked(White, Cp(1500), Cp(900)), None, "still won");
        assert_eq!(marked(White, Mate(2), Cp(0)), Some(Mark::Blunder));
        assert_eq!(marked(White, Cp(0), Mate(-3)), Some(Mark::Blunder));
        assert_eq!(
            marked(Black, Cp(-900), Over(0)),
            Some(Mark::Blunder),
            "stalemate"
        );
        assert_eq!(marked(White, Mate(1), Over(1)), None);
    }

    #[test]
    fn the_analysts_own_move_has_no_mark() {
        let before = opinion(Value::Cp(20), "e2e4");
        let after = opinion(Value::Cp(-500), "e7e5");
        assert_eq!(mark(Color::White, "e2e4", &before, &after), None);
        assert_eq!(
            mark(Color::White, "e2e3", &before, &after),
            Some(Mark::Blunder)
        );
    }

    #[test]
    fn every_mark_has_words_of_its_own() {
        let words: std::collections::BTreeSet<_> = Mark::ALL.map(Mark::word).into();
        let nags: std::collections::BTreeSet<_> = Mark::ALL.map(Mark::nag).into();
        let glyphs: std::collections::BTreeSet<_> = Mark::ALL.map(Mark::glyph).into();
        assert_eq!((words.len(), nags.len(), glyphs.len()), (3, 3, 3));
    }
}
