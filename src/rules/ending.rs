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

impl EndReason {
    /// The word for it in machine-readable output; it never changes.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Checkmate => "checkmate",
            Self::Stalemate => "stalemate",
            Self::ChecksGiven => "third_check",
            Self::KingInCenter => "king_in_center",
            Self::KingExploded => "king_exploded",
            Self::AllPiecesLost => "all_pieces_lost",
            Self::NoMoveWins => "no_move_wins",
            Self::FewerPieces => "fewer_pieces",
            Self::BareKing => "bare_king",
            Self::MatedWins => "mated_wins",
            Self::HordeDestroyed => "horde_destroyed",
            Self::RaceWon => "race_won",
            Self::RaceTied => "race_tied",
            Self::OppositeBishops => "opposite_bishops",
            Self::Threefold => "threefold",
            Self::Fivefold => "fivefold",
            Self::FiftyMoves => "fifty",
            Self::SeventyFiveMoves => "seventy_five",
            Self::InsufficientMaterial => "insufficient",
            Self::MoveLimit => "max_moves",
            Self::TimeForfeit => "time",
            Self::TimeoutWithoutMatingMaterial => "time_insufficient",
            Self::Resignation => "resignation",
            Self::Agreement => "agreement",
            Self::Abandonment => "abandonment",
        }
    }

    /// The reason in words that a player understands, to stand behind the result.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Checkmate => "checkmate",
            Self::Stalemate => "stalemate",
            Self::ChecksGiven => "the third check was given",
            Self::KingInCenter => "the king reached the center",
            Self::KingExploded => "the king exploded",
            Self::AllPiecesLost => "all pieces are lost, which wins",
            Self::NoMoveWins => "no move is left, which wins",
            Self::FewerPieces => "no move is left, and fewer pieces win",
            Self::BareKing => "only the king is left, which wins",
            Self::MatedWins => "mated or without a move, which wins",
            Self::HordeDestroyed => "the horde was taken",
            Self::RaceWon => "the king finished the race",
            Self::RaceTied => "both kings finished the race",
            Self::OppositeBishops => "only pieces that can never meet are left",
            Self::Threefold => "the position occurred three times",
            Self::Fivefold => "the position occurred five times",
            Self::FiftyMoves => "fifty moves without capture, drop or pawn move",
            Self::SeventyFiveMoves => "seventy-five moves without capture, drop or pawn move",
            Self::InsufficientMaterial => "neither side can mate with what is left",
            Self::MoveLimit => "the game reached its greatest length",
            Self::TimeForfeit => "the time ran out",
            Self::TimeoutWithoutMatingMaterial => {
                "the time ran out, but the other side could never win"
            }
            Self::Resignation => "resignation",
            Self::Agreement => "draw agreed",
            Self::Abandonment => "the game was abandoned",
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
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
