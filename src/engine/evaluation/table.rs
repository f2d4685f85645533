//! Weights as text: one named row a group of terms, so that a table can be read, compared and replaced.
//!
//! A row is `name: value value ...`; a linear value is `middle/end`, or one number if both are the same. `#` begins a
//! comment. Groups that a file leaves out keep their starting values.

use super::features::{danger, index};
use super::weights::Weights;
use crate::rules::Variant;

/// Groups of linear terms: name, first place, number.
const LINEAR: &[(&str, usize, usize)] = &[
    ("square.pawn", index::PIECE_SQUARE, 40),
    ("square.knight", index::PIECE_SQUARE + 40, 40),
    ("square.bishop", index::PIECE_SQUARE + 80, 40),
    ("square.rook", index::PIECE_SQUARE + 120, 40),
    ("square.queen", index::PIECE_SQUARE + 160, 40),
    ("square.king", index::PIECE_SQUARE + 200, 40),
    ("square.archbishop", index::PIECE_SQUARE + 240, 40),
    ("square.chancellor", index::PIECE_SQUARE + 280, 40),
    ("hand", index::HAND, 32),
    ("mobility", index::MOBILITY, 8),
    ("passed", index::PASSED, 8),
    ("isolated", index::ISOLATED, 1),
    ("doubled", index::DOUBLED, 1),
    ("protected", index::PROTECTED, 1),
    ("phalanx", index::PHALANX, 1),
    ("bishop_pair", index::BISHOP_PAIR, 1),
    ("open_file", index::OPEN_FILE, 1),
    ("half_open_file", index::HALF_OPEN_FILE, 1),
    ("tempo", index::TEMPO, 1),
    ("pawn_threat", index::PAWN_THREAT, 8),
    ("minor_threat", index::MINOR_THREAT, 8),
    ("hanging", index::HANGING, 8),
    ("promoted", index::PROMOTED, 8),
    ("goal", index::GOAL, 8),
    ("checks_left", index::CHECKS_LEFT, 4),
    ("space", index::SPACE, 1),
    ("count", index::COUNT, 1),
    ("blast", index::BLAST, 2),
];

/// Groups of danger terms.
const DANGER: &[(&str, usize, usize)] = &[
    ("danger.attacker", danger::ATTACKER, 8),
    ("danger.attacks", danger::ATTACKS, 1),
    ("danger.weak", danger::WEAK, 1),
    ("danger.safe_check", danger::SAFE_CHECK, 8),
    ("danger.safe_drop", danger::SAFE_DROP, 8),
    ("danger.unsafe_drop", danger::UNSAFE_DROP, 1),
    ("danger.held", danger::HELD, 8),
    ("danger.shelter_near", danger::SHELTER_NEAR, 1),
    ("danger.shelter_far", danger::SHELTER_FAR, 1),
    ("danger.holes", danger::HOLES, 1),
    ("danger.pinned", danger::PINNED, 1),
    ("danger.queen", danger::QUEEN, 1),
    ("danger.one", danger::ONE, 1),
];

/// A table of weights that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the weights of {variant:?}: {what}")]
pub struct TableError {
    /// Whose weights.
    pub variant: Variant,
    /// Line from 1.
    pub line: usize,
    /// What is wrong, with the offending text.
    pub what: String,
}

impl Weights {
    /// The weights as text.
    #[must_use]
    pub fn to_text(&self, comment: &str) -> String {
        let mut text = format!("# {comment}\n");
        for &(name, first, count) in LINEAR {
            text.push_str(name);
            text.push(':');
            for &(middle, end) in &self.linear[first..first + count] {
                text.push_str(&if middle == end {
                    format!(" {middle}")
                } else {
                    format!(" {middle}/{end}")
                });
            }
            text.push('\n');
        }
        for &(name, first, count) in DANGER {
            text.push_str(name);
            text.push(':');
            for value in &self.danger[first..first + count] {
                text.push_str(&format!(" {value}"));
            }
            text.push('\n');
        }
        text
    }

    /// Reads weights over the starting values of a variant.
    ///
    /// # Errors
    /// The first line that is not a row of a known group with the right number of values.
    pub fn from_text(variant: Variant, text: &str) -> Result<Self, TableError> {
        let mut weights = Self::initial(variant);
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            weights.read_row(line).map_err(|what| TableError {
                variant,
                line: number + 1,
                what,
            })?;
        }
        Ok(weights)
    }

    fn read_row(&mut self, line: &str) -> Result<(), String> {
        let (name, values) = line
            .split_once(':')
            .ok_or_else(|| format!("{line:?} has no colon"))?;
        let values: Vec<&str> = values.split_whitespace().collect();
        let check = |count: usize| {
            if values.len() == count {
                Ok(())
            } else {
                Err(format!(
                    "{name} has {} values where {count} belong",
                    values.len()
                ))
            }
        };
        let parse = |text: &str| {
            text.parse::<i16>()
                .map_err(|error| format!("{text:?} is no weight: {error}"))
        };
        if let Some(&(_, first, count)) = LINEAR.iter().find(|group| group.0 == name) {
            check(count)?;
            for (n, text) in values.iter().enumerate() {
                let (middle, end) = text.split_once('/').unwrap_or((text, text));
                self.linear[first + n] = (parse(middle)?, parse(end)?);
            }
            return Ok(());
        }
        if let Some(&(_, first, count)) = DANGER.iter().find(|group| group.0 == name) {
            check(count)?;
            for (n, text) in values.iter().enumerate() {
                self.danger[first + n] = parse(text)?;
            }
            return Ok(());
        }
        Err(format!("there is no group {name:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for variant in Variant::ALL {
            let weights = super::super::weights::weights(variant);
            let again = Weights::from_text(variant, &weights.to_text("x")).unwrap();
            assert_eq!(again.linear, weights.linear, "{variant:?}");
            assert_eq!(again.danger, weights.danger, "{variant:?}");
        }
    }

    #[test]
    fn groups_cover_every_place_once() {
        let mut seen = [0; index::LENGTH];
        for &(_, first, count) in LINEAR {
            seen[first..first + count].iter_mut().for_each(|n| *n += 1);
        }
        assert!(seen.iter().all(|&n| n == 1));
        let mut seen = [0; danger::LENGTH];
        for &(_, first, count) in DANGER {
            seen[first..first + count].iter_mut().for_each(|n| *n += 1);
        }
        assert!(seen.iter().all(|&n| n == 1));
    }

    #[test]
    fn a_bad_row_is_named() {
        let error = Weights::from_text(Variant::Chess, "# c\nmobility: 1 2").unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.what.contains("8 belong"), "{error}");
        assert!(Weights::from_text(Variant::Chess, "mobilty: 1").is_err());
    }
}
