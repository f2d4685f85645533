//! How a game ended by the rules, where a platform does not say it.

use crate::game::{GameEnd, GameResult, Termination};
use crate::rules::{Adjudication, EndReason, History, Outcome};

/// The end that the board tells, if it tells any, by what the platform decides by itself.
#[must_use]
pub fn by_rules(adjudication: &Adjudication, history: &History) -> Option<GameEnd> {
    let ending = adjudication.verdict(history).ending?;
    let result = match ending.outcome {
        Outcome::Decisive { winner } => GameResult::Decisive { winner },
        Outcome::Draw => GameResult::Draw,
    };
    Some(GameEnd {
        result,
        termination: termination(ending.reason),
        words: format!("{} (by our rules)", ending.reason.words()),
    })
}

/// Fills in what a platform left out of an end: its result, or why. What it did say stays, also where our rules see it
/// otherwise.
#[must_use]
pub fn complete(told: GameEnd, by_rules: Option<GameEnd>) -> GameEnd {
    let Some(ours) = by_rules.filter(|_| told.termination == Termination::Unknown) else {
        return told;
    };
    let names_none = matches!(told.result, GameResult::Unknown | GameResult::NoResult);
    if !names_none && told.result != ours.result {
        return told;
    }
    GameEnd {
        words: format!("{}; {}", told.words, ours.words),
        ..ours
    }
}

fn termination(reason: EndReason) -> Termination {
    match reason {
        EndReason::Checkmate => Termination::Mate,
        EndReason::Stalemate => Termination::Stalemate,
        EndReason::InsufficientMaterial => Termination::InsufficientMaterial,
        EndReason::TimeForfeit => Termination::OutOfTime,
        EndReason::Threefold
        | EndReason::Fivefold
        | EndReason::FiftyMoves
        | EndReason::SeventyFiveMoves
        | EndReason::MoveLimit => Termination::Draw,
        _ => Termination::VariantEnd,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Color, Position, Variant};

    fn mated() -> History {
        let mut history = History::new(Position::start(Variant::Chess));
        for uci in ["f2f3", "e7e5", "g2g4", "d8h4"] {
            let m = history.position().parse_uci(uci).unwrap();
            history.play(m).unwrap();
        }
        history
    }

    fn told(result: GameResult, termination: Termination) -> GameEnd {
        GameEnd {
            result,
            termination,
            words: "over".to_owned(),
        }
    }

    const BLACK: GameResult = GameResult::Decisive {
        winner: Color::Black,
    };
    const WHITE: GameResult = GameResult::Decisive {
        winner: Color::White,
    };

    #[test]
    fn a_mate_names_winner_and_reason_and_an_open_game_none() {
        let end = by_rules(&Adjudication::FICS, &mated()).unwrap();
        assert_eq!((end.result, end.termination), (BLACK, Termination::Mate));
        let open = History::new(Position::start(Variant::Crazyhouse));
        assert_eq!(by_rules(&Adjudication::PYCHESS, &open), None);
    }

    #[test]
    fn only_what_is_missing_is_filled_in() {
        let mate = by_rules(&Adjudication::PYCHESS, &mated());
        for silent in [GameResult::Unknown, GameResult::NoResult, BLACK] {
            let end = complete(told(silent, Termination::Unknown), mate.clone());
            assert_eq!((end.result, end.termination), (BLACK, Termination::Mate));
            assert!(end.words.starts_with("over; "), "{}", end.words);
        }
        for kept in [
            told(WHITE, Termination::Unknown),
            told(WHITE, Termination::OutOfTime),
            told(GameResult::NoResult, Termination::Aborted),
            told(GameResult::NoResult, Termination::Adjourned),
        ] {
            assert_eq!(complete(kept.clone(), mate.clone()), kept);
        }
        let unknown = told(GameResult::Unknown, Termination::Unknown);
        assert_eq!(complete(unknown.clone(), None), unknown);
    }
}
