//! How games end: results, reasons, and the words for them.

use super::types::Color;
use std::fmt;

/// Who won.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// One side won.
    Decisive {
        /// The winner.
        winner: Color,
    },
    /// Nobody won.
    Draw,
}

impl Outcome {
    /// A win for `winner`.
    #[must_use]
    pub const fn win(winner: Color) -> Self {
        Self::Decisive { winner }
    }

    /// The winner, if there is one.
    #[must_use]
    pub const fn winner(self) -> Option<Color> {
        match self {
            Self::Decisive { winner } => Some(winner),
            Self::Draw => None,
        }
    }

    /// PGN result: `1-0`, `0-1` or `1/2-1/2`.
    #[must_use]
    pub const fn result(self) -> &'static str {
        match self {
            Self::Decisive {
                winner: Color::White,
            } => "1-0",
            Self::Decisive {
                winner: Color::Black,
            } => "0-1",
            Self::Draw => "1/2-1/2",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.result())
    }
}

/// Why a game is over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EndReason {
    /// The king is attacked and no move, drops included, helps.
    Checkmate,
    /// No legal move, and not in check.
    Stalemate,
    /// Three-check: the last check owed was given.
    ChecksGiven,
    /// King of the hill: a king stands in the center.
    KingInCenter,
    /// Atomic: a king exploded.
    KingExploded,
    /// Antichess, suicide: a side has no pieces left, and wins.
    AllPiecesLost,
    /// Antichess: a side has no move, and wins.
    NoMoveWins,
    /// Suicide: a side cannot move; the side with fewer pieces wins, equal numbers draw.
    FewerPieces,
    /// Losers: a side has only its king left, and wins.
    BareKing,
    /// Losers: a side is mated or stalemated, and wins.
    MatedWins,
    /// Horde: all of White's pieces are gone.
    HordeDestroyed,
    /// Racing kings: a king reached the eighth rank first.
    RaceWon,
    /// Racing kings: both kings reached the eighth rank in the same turn.
    RaceTied,
    /// Antichess, suicide: only bishops that can never meet are left.
    OppositeBishops,
    /// The position occurred three times.
    Threefold,
    /// The position occurred five times.
    Fivefold,
    /// Fifty moves of each side without capture or pawn move.
    FiftyMoves,
    /// Seventy-five moves of each side without capture or pawn move.
    SeventyFiveMoves,
    /// Neither side can mate with what is left.
    InsufficientMaterial,
    /// The game reached the greatest number of moves allowed.
    MoveLimit,
    /// A clock ran out.
    TimeForfeit,
    /// A clock ran out, but the other side could never mate: a draw.
    TimeoutWithoutMatingMaterial,
    /// A side gave up.
    Resignation,
    /// Both sides agreed to draw.
    Agreement,
    /// A player left and the other claimed the game.
    Abandonment,
}

/// The end of a game: result and reason.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ending {
    /// Who won.
    pub outcome: Outcome,
    /// Why.
    pub reason: EndReason,
}

impl Ending {
    /// A win for `winner`.
    #[must_use]
    pub const fn win(winner: Color, reason: EndReason) -> Self {
        Self {
            outcome: Outcome::win(winner),
            reason,
        }
    }

    /// A draw.
    #[must_use]
    pub const fn draw(reason: EndReason) -> Self {
        Self {
            outcome: Outcome::Draw,
            reason,
        }
    }
}
