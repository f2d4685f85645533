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

/// How the game ended, in a sentence for people.
pub fn sentence(ending: Ending) -> String {
    use EndReason as Why;
    let Some(winner) = ending.outcome.winner() else {
        return draw_sentence(ending.reason).to_owned();
    };
    let loser = !winner;
    match ending.reason {
        Why::Checkmate => format!("Checkmate: {winner} wins."),
        Why::Stalemate => format!("{loser} has no move left: {winner} wins."),
        Why::ChecksGiven => format!("{winner} has given the last check and wins."),
        Why::KingInCenter => format!("{winner}'s king has reached the centre: {winner} wins."),
        Why::KingExploded => format!("{loser}'s king has exploded: {winner} wins."),
        Why::AllPiecesLost => format!("{winner} has lost every piece and wins."),
        Why::NoMoveWins => format!("{winner} has no move left and wins."),
        Why::FewerPieces => {
            format!("Nobody can move on, and {winner} has fewer pieces: {winner} wins.")
        }
        Why::BareKing => format!("{winner} has only the king left and wins."),
        Why::MatedWins => format!("{winner} is mated or without a move, and wins."),
        Why::HordeDestroyed => format!("The horde is gone: {winner} wins."),
        Why::RaceWon => format!("{winner}'s king has won the race."),
        Why::TimeForfeit => format!("{loser} has no time left: {winner} wins."),
        Why::Resignation => format!("{loser} has resigned: {winner} wins."),
        Why::Abandonment => format!("{loser} has left the game: {winner} wins."),
        other => format!("{winner} wins ({other:?})."),
    }
}

fn draw_sentence(reason: EndReason) -> &'static str {
    use EndReason as Why;
    match reason {
        Why::Stalemate => "Stalemate: no move is left, and no check is given. Draw.",
        Why::Threefold => {
            "The same position, with the same pieces in hand, for the third time. Draw."
        }
        Why::Fivefold => "The same position for the fifth time. Draw.",
        Why::FiftyMoves => "Fifty moves of each side without a capture or a pawn move. Draw.",
        Why::SeventyFiveMoves => {
            "Seventy-five moves of each side without a capture or a pawn move. Draw."
        }
        Why::InsufficientMaterial => "Nobody can mate with what is left. Draw.",
        Why::OppositeBishops => "Only bishops that can never meet are left. Draw.",
        Why::MoveLimit => "The game has reached 600 moves, the most that are played here. Draw.",
        Why::Agreement => "Draw by agreement.",
        Why::TimeoutWithoutMatingMaterial => {
            "The time is up, but the other side could never have mated. Draw."
        }
        Why::RaceTied => "Both kings have finished the race in the same turn. Draw.",
        Why::FewerPieces => "Nobody can move on, and both sides have as many pieces. Draw.",
        Why::Abandonment => "A player has left the game, and the other claimed a draw.",
        _ => "Draw.",
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
