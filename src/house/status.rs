//! States of a game under Lichess's names and numbers.

use serde::{Deserialize, Serialize};

use crate::rules::{EndReason, Ending};

/// State of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// It goes on.
    Started,
    /// It never counted.
    Aborted,
    /// Checkmate.
    Mate,
    /// A side gave up.
    Resign,
    /// Stalemate.
    Stalemate,
    /// A player left and the other claimed the game.
    Timeout,
    /// Drawn by agreement or by a rule.
    Draw,
    /// A clock ran out.
    #[serde(rename = "outoftime")]
    OutOfTime,
    /// A rule of the variant ended it.
    VariantEnd,
}

impl Status {
    /// The name, as in `"status":"started"`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Started => "started",
            Status::Aborted => "aborted",
            Status::Mate => "mate",
            Status::Resign => "resign",
            Status::Stalemate => "stalemate",
            Status::Timeout => "timeout",
            Status::Draw => "draw",
            Status::OutOfTime => "outoftime",
            Status::VariantEnd => "variantEnd",
        }
    }

    /// The number, as in `"status":{"id":20}`.
    pub fn number(self) -> u8 {
        match self {
            Status::Started => 20,
            Status::Aborted => 25,
            Status::Mate => 30,
            Status::Resign => 31,
            Status::Stalemate => 32,
            Status::Timeout => 33,
            Status::Draw => 34,
            Status::OutOfTime => 35,
            Status::VariantEnd => 60,
        }
    }

    /// Whether the game is over.
    pub fn is_over(self) -> bool {
        self != Status::Started
    }

    /// The state that an ending by rule, clock or will is told as.
    pub fn of(ending: Ending) -> Status {
        use EndReason as Why;
        match ending.reason {
            Why::Checkmate => Status::Mate,
            Why::Stalemate => Status::Stalemate,
            Why::ChecksGiven
            | Why::KingInCenter
            | Why::KingExploded
            | Why::AllPiecesLost
            | Why::NoMoveWins
            | Why::FewerPieces
            | Why::BareKing
            | Why::MatedWins
            | Why::HordeDestroyed
            | Why::RaceWon => match ending.outcome.winner() {
                Some(_) => Status::VariantEnd,
                None => Status::Draw,
            },
            Why::RaceTied
            | Why::OppositeBishops
            | Why::Threefold
            | Why::Fivefold
            | Why::FiftyMoves
            | Why::SeventyFiveMoves
            | Why::InsufficientMaterial
            | Why::MoveLimit
            | Why::Agreement => Status::Draw,
            Why::TimeForfeit | Why::TimeoutWithoutMatingMaterial => Status::OutOfTime,
            Why::Resignation => Status::Resign,
            Why::Abandonment => Status::Timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Color;

    #[test]
    fn endings_are_told_under_lichess_names() {
        let win = |reason| Status::of(Ending::win(Color::White, reason)).name();
        let draw = |reason| Status::of(Ending::draw(reason)).name();
        assert_eq!(win(EndReason::Checkmate), "mate");
        assert_eq!(win(EndReason::ChecksGiven), "variantEnd");
        assert_eq!(draw(EndReason::FewerPieces), "draw");
        assert_eq!(draw(EndReason::Threefold), "draw");
        assert_eq!(win(EndReason::TimeForfeit), "outoftime");
        assert_eq!(draw(EndReason::TimeoutWithoutMatingMaterial), "outoftime");
        for status in [Status::Aborted, Status::OutOfTime, Status::VariantEnd] {
            let json = serde_json::to_value(status).unwrap();
            assert_eq!(json, status.name());
        }
    }
}
