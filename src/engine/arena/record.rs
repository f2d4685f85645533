//! Games of a match as PGN.

use super::Played;
use super::game::GameEnd;
use crate::engine::score::Score;
use crate::rules::Color;
use crate::rules::notation::pgn::{Evaluation, PgnGame};

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
    for (index, note) in game.notes.iter().enumerate() {
        let ply = game.n_opening + index;
        let mover = if ply.is_multiple_of(2) {
            game.history.start().turn()
        } else {
            !game.history.start().turn()
        };
        let step = &mut pgn.moves[ply];
        step.comment = format!("d{} {:.3}s", note.depth, note.elapsed.as_secs_f64());
        step.evaluation = note.score.map(|score| evaluation(score, mover));
    }
    if let Some(last) = pgn.moves.last_mut() {
        last.comment.push_str(&format!("; {}", game.end));
    }
    pgn
}

/// A score of the side that moved, from White's view.
fn evaluation(score: Score, mover: Color) -> Evaluation {
    let white = match mover {
        Color::White => score,
        Color::Black => -score,
    };
    match white {
        Score::Cp(cp) => Evaluation::Centipawns(cp),
        Score::Mate(moves) => Evaluation::Mate(moves),
    }
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
