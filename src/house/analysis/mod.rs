//! What an engine thinks of a finished game: a value and a best line for every position.
//!
//! The house has no engine. Whoever starts it may bring an [`Analyst`]; without one, games are
//! kept and shown all the same, only without values.
//!
//! | module | holds |
//! |---|---|
//! | `desk` | which games wait for the analyst, how far the present one is |
//! | [`grade`] | from values to marks: what was inaccurate, a mistake, a blunder |

mod desk;
pub mod grade;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::rules::History;
use crate::rules::notation::pgn::Evaluation;

pub(super) use desk::run;
pub use desk::{Desk, Progress};

/// Moves of a line that are kept.
pub const LINE_MOVES: usize = 8;

/// How a position stands, from White's view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// Hundredths of a pawn.
    Cp(i32),
    /// White mates in so many moves; negative: Black does.
    Mate(i32),
    /// The game is over on the board: 1 if White has won, -1 if Black has, 0 for a draw.
    Over(i8),
}

impl Value {
    /// The share of the point that White may expect, 0 to 1.
    ///
    /// The curve is that of ratings: a pawn is worth what 100 points of rating are.
    pub fn chances(self) -> f64 {
        match self {
            Value::Cp(cp) => 1.0 / (1.0 + 10_f64.powf(-f64::from(cp) / 400.0)),
            Value::Mate(moves) => f64::from(u8::from(moves > 0)),
            Value::Over(result) => (1.0 + f64::from(result)) / 2.0,
        }
    }

    /// The value as PGN writes it; nothing for a game that is over.
    pub fn for_pgn(self) -> Option<Evaluation> {
        match self {
            Value::Cp(cp) => Some(Evaluation::Centipawns(cp)),
            Value::Mate(moves) => Some(Evaluation::Mate(moves)),
            Value::Over(_) => None,
        }
    }
}

impl fmt::Display for Value {
    /// `+0.35`, `-12.40`, `#3`, `#-2`, `1-0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Cp(cp) => {
                let sign = if cp < 0 { '-' } else { '+' };
                let cp = cp.unsigned_abs();
                write!(f, "{sign}{}.{:02}", cp / 100, cp % 100)
            }
            Value::Mate(moves) => write!(f, "#{moves}"),
            Value::Over(0) => f.write_str("½-½"),
            Value::Over(result) => f.write_str(if result > 0 { "1-0" } else { "0-1" }),
        }
    }
}

/// What the analyst thinks of one position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    /// How it stands.
    pub value: Value,
    /// The best moves of both sides from here, in UCI; empty where the game is over.
    pub line: Vec<String>,
}

/// A whole game with values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// Who analysed it.
    pub by: String,
    /// One opinion per position, the start included.
    pub positions: Vec<Opinion>,
}

/// Why a position was not judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the position after {plies} half-moves was not judged: {reason}")]
pub struct AnalystError {
    /// Where in the game.
    pub plies: usize,
    /// What went wrong.
    pub reason: String,
}

/// An opinion that is on its way.
pub type AnalystFuture = Pin<Box<dyn Future<Output = Result<Opinion, AnalystError>> + Send>>;

/// Judges positions. It may take its time: nobody's clock runs.
pub trait Analyst: Send + Sync + fmt::Debug + 'static {
    /// Its name, for people.
    fn name(&self) -> &str;

    /// Judges the last position of a game, in which the side to move has a legal move.
    /// `game` is the same number for all positions of a game and differs from game to game.
    fn judge(&self, game: u64, history: History) -> AnalystFuture;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_like_values() {
        let texts = [
            (Value::Cp(35), "+0.35"),
            (Value::Cp(0), "+0.00"),
            (Value::Cp(-1240), "-12.40"),
            (Value::Cp(i32::MIN), "-21474836.48"),
            (Value::Mate(3), "#3"),
            (Value::Mate(-2), "#-2"),
            (Value::Over(1), "1-0"),
            (Value::Over(-1), "0-1"),
            (Value::Over(0), "½-½"),
        ];
        for (value, text) in texts {
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn chances_grow_with_the_value_and_are_fair() {
        let ascending = [
            Value::Mate(-1),
            Value::Cp(-900),
            Value::Cp(-100),
            Value::Cp(0),
            Value::Cp(100),
            Value::Cp(900),
            Value::Mate(1),
        ];
        for pair in ascending.windows(2) {
            assert!(pair[0].chances() < pair[1].chances(), "{pair:?}");
        }
        assert!((Value::Cp(0).chances() - 0.5).abs() < 1e-12);
        assert!((Value::Over(0).chances() - 0.5).abs() < 1e-12);
        let both = Value::Cp(170).chances() + Value::Cp(-170).chances();
        assert!((both - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_analysis_survives_the_disk() {
        let analysis = Analysis {
            by: "Engine".to_owned(),
            positions: [Value::Cp(-3), Value::Mate(2), Value::Over(1)]
                .map(|value| Opinion {
                    value,
                    line: vec!["e2e4".to_owned()],
                })
                .to_vec(),
        };
        let text = serde_json::to_string(&analysis).unwrap();
        assert_eq!(serde_json::from_str::<Analysis>(&text).unwrap(), analysis);
    }
}
