//! Games of a match as PGN.

use super::Played;
use super::game::GameEnd;
use crate::rules::Color;
use crate::rules::notation::pgn::PgnGame;

/// The game with its tags, scores and times. `date` is a PGN date, `2026.11.30`.
pub fn pgn(played: &Played, names: &[String; 2], event: &str, date: &str) -> PgnGame {
    let game = &played.game;
    let mut pgn = PgnGame::from_history(&game.history, Some(game.outcome));
    let [first, second] = names;
    let (white, black) = match played.first_is {
        Color::White => (first, second),
        Color::Black => (second, first),
    };
    let round = format!("{}.{}", played.pair + 1, played.first_is.index() + 1);
    for (name, value) in [
        ("Event", event),
        ("Date", date),
        ("Round", round.as_str()),
        ("White", white.as_str()),
        ("Black", black.as_str()),
        ("Termination", termination(&game.end)),
    ] {
        pgn.tags.set(name, value);
    }
    if game.n_opening > 0 {
        pgn.comment = format!("opening of {} half-moves", game.n_opening);
    }
    for (step, note) in pgn.moves[game.n_opening..].iter_mut().zip(&game.notes) {
        step.comment = format!("d{} {:.3}s", note.depth, note.elapsed.as_secs_f64());
        if let Some(score) = note.score {
            step.comment.insert_str(0, &format!("{score} "));
        }
    }
    if let Some(last) = pgn.moves.last_mut() {
        last.comment.push_str(&format!("; {}", game.end));
    }
    pgn
}

/// The value of the PGN tag.
fn termination(end: &GameEnd) -> &'static str {
    match end {
        GameEnd::Rules(_) => "normal",
        GameEnd::Resigned | GameEnd::CalledEven | GameEnd::TooLong => "adjudication",
        GameEnd::TimeLoss(_) => "time forfeit",
        GameEnd::Illegal(..) => "rules infraction",
        GameEnd::Crash(_) | GameEnd::Stall(_) => "abandoned",
    }
}
