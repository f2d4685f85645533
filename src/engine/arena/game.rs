//! One game of a match, with us as the arbiter.

use std::fmt;
use std::time::Duration;

use super::player::{Answer, Clocks, Player, PlayerError};
use super::spec::Tempo;
use crate::engine::score::Score;
use crate::rules::{Adjudication, Color, EndReason, History, Outcome};

/// Rules of a match beyond those of the game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arbiter {
    /// Who ends games on the board.
    pub adjudication: Adjudication,
    /// A clock may be overdrawn by so much before it counts as a loss, a fixed time a move before the move counts as late.
    pub margin: Duration,
    /// Time for a move that no clock bounds.
    pub patience: Duration,
    /// Half-moves after which a game is called a draw.
    pub plies_max: usize,
    /// When a hopeless game is given up.
    pub resign: Option<ScoreRule>,
    /// When an even game is called a draw.
    pub draw: Option<DrawRule>,
}

/// Both engines agree so many moves in a row that one of them is so far ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreRule {
    /// Centipawns.
    pub cp: i32,
    /// Moves of each side.
    pub moves: u32,
}

/// Both engines agree so many moves in a row that the game is even, after an opening phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawRule {
    /// How even.
    pub score: ScoreRule,
    /// Half-moves before which no draw is called.
    pub from_ply: usize,
}

/// How a game of a match ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GameEnd {
    /// By the rules of the game.
    Rules(EndReason),
    /// Called by [`Arbiter::resign`].
    Resigned,
    /// Called by [`Arbiter::draw`].
    CalledEven,
    /// Called by [`Arbiter::plies_max`].
    TooLong,
    /// The side overdrew its clock.
    TimeLoss(Color),
    /// The side played this illegal move.
    Illegal(Color, String),
    /// The side's program ended.
    Crash(Color),
    /// The side gave no answer in time, so its program was killed.
    Stall(Color),
}

impl GameEnd {
    /// The side at fault, for ends that are nobody's play.
    pub fn culprit(&self) -> Option<Color> {
        match self {
            GameEnd::TimeLoss(color)
            | GameEnd::Illegal(color, _)
            | GameEnd::Crash(color)
            | GameEnd::Stall(color) => Some(*color),
            _ => None,
        }
    }
}

impl fmt::Display for GameEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GameEnd::Rules(reason) => f.write_str(reason.words()),
            GameEnd::Resigned => f.write_str("resigned by score"),
            GameEnd::CalledEven => f.write_str("drawn by score"),
            GameEnd::TooLong => f.write_str("too long"),
            GameEnd::TimeLoss(_) => f.write_str("time loss"),
            GameEnd::Illegal(_, text) => write!(f, "illegal move {text}"),
            GameEnd::Crash(_) => f.write_str("crash"),
            GameEnd::Stall(_) => f.write_str("stall"),
        }
    }
}

/// What an engine said and took for one move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveNote {
    /// Its score.
    pub score: Option<Score>,
    /// Its depth.
    pub depth: u32,
    /// Its nodes.
    pub nodes: u64,
    /// Our measurement.
    pub elapsed: Duration,
    /// The move took longer than its fixed time and the arbiter's margin. No loss, since no clock ran out.
    pub late: bool,
}

/// A finished game.
#[derive(Clone, Debug)]
pub struct GameRecord {
    /// The opening and the moves.
    pub history: History,
    /// Moves of the opening, which nobody thought about.
    pub n_opening: usize,
    /// One note per move after the opening.
    pub notes: Vec<MoveNote>,
    /// The result.
    pub outcome: Outcome,
    /// Why.
    pub end: GameEnd,
}

/// Plays a game from an opening. `players` and `tempi` in the order White, Black.
pub(super) fn play(
    players: [&mut Player; 2],
    tempi: [Tempo; 2],
    opening: &History,
    arbiter: &Arbiter,
) -> GameRecord {
    let mut game = Game {
        history: opening.clone(),
        position_command: position_command(opening),
        n_opening: opening.moves().len(),
        notes: Vec::new(),
        clocks: start_clocks(tempi),
        tempi,
        arbiter,
    };
    let (outcome, end) = game.play(players);
    GameRecord {
        history: game.history,
        n_opening: game.n_opening,
        notes: game.notes,
        outcome,
        end,
    }
}

struct Game<'a> {
    history: History,
    /// Grows by one move per move.
    position_command: String,
    n_opening: usize,
    notes: Vec<MoveNote>,
    clocks: Clocks,
    tempi: [Tempo; 2],
    arbiter: &'a Arbiter,
}

impl Game<'_> {
    fn play(&mut self, players: [&mut Player; 2]) -> (Outcome, GameEnd) {
        loop {
            if let Some(over) = self.over() {
                return over;
            }
            let turn = self.history.position().turn();
            let lost = |end| (Outcome::win(!turn), end);
            let tempo = self.tempi[turn.index()];
            let patience = match tempo {
                Tempo::Clock { .. } => {
                    self.clocks.remaining[turn.index()] + self.arbiter.margin + GRACE
                }
                Tempo::MoveTime(time) => time + self.arbiter.patience,
                Tempo::Nodes(_) | Tempo::Depth(_) => self.arbiter.patience,
            };
            let player = &mut *players[turn.index()];
            match player.go(&self.position_command, tempo, &self.clocks, patience) {
                Ok(answer) => {
                    if let Err(end) = self.take(&answer, turn) {
                        return lost(end);
                    }
                }
                Err(PlayerError::Silent { .. }) if matches!(tempo, Tempo::Clock { .. }) => {
                    return lost(GameEnd::TimeLoss(turn));
                }
                Err(PlayerError::Silent { .. }) => return lost(GameEnd::Stall(turn)),
                Err(_) => return lost(GameEnd::Crash(turn)),
            }
        }
    }

    /// Checks an answer and plays it; `Err`: how the side to move lost by it.
    fn take(&mut self, answer: &Answer, turn: Color) -> Result<(), GameEnd> {
        let mut late = false;
        if let Tempo::MoveTime(time) = self.tempi[turn.index()] {
            late = answer.elapsed > time + self.arbiter.margin;
        }
        if let Tempo::Clock { increment, .. } = self.tempi[turn.index()] {
            let remaining = &mut self.clocks.remaining[turn.index()];
            if answer.elapsed > *remaining + self.arbiter.margin {
                return Err(GameEnd::TimeLoss(turn));
            }
            *remaining = remaining.saturating_sub(answer.elapsed) + increment;
        }
        let illegal = || GameEnd::Illegal(turn, answer.best.clone());
        let position = self.history.position();
        let played = position.parse_uci(&answer.best).map_err(|_| illegal())?;
        let written = position.uci(played);
        self.history.play(played).map_err(|_| illegal())?;
        if self.history.moves().len() == 1 {
            self.position_command.push_str(" moves");
        }
        self.position_command.push(' ');
        self.position_command.push_str(&written);
        self.notes.push(MoveNote {
            score: answer.score,
            depth: answer.depth,
            nodes: answer.nodes,
            elapsed: answer.elapsed,
            late,
        });
        Ok(())
    }

    fn over(&self) -> Option<(Outcome, GameEnd)> {
        if let Some(ending) = self.arbiter.adjudication.verdict(&self.history).ending {
            return Some((ending.outcome, GameEnd::Rules(ending.reason)));
        }
        if self.history.moves().len() >= self.arbiter.plies_max {
            return Some((Outcome::Draw, GameEnd::TooLong));
        }
        if let Some(rule) = self.arbiter.resign
            && let Some(winner) = self.agreed_winner(rule)
        {
            return Some((Outcome::win(winner), GameEnd::Resigned));
        }
        if let Some(rule) = self.arbiter.draw
            && self.history.moves().len() >= rule.from_ply
            && self.is_agreed_even(rule.score)
        {
            return Some((Outcome::Draw, GameEnd::CalledEven));
        }
        None
    }

    /// Scores of the last moves, from White's side; `None` if there are not so many.
    fn last_scores(&self, moves: u32) -> Option<Vec<i32>> {
        let plies = usize::try_from(moves).ok()?.checked_mul(2)?;
        let first = self.notes.len().checked_sub(plies).filter(|_| plies > 0)?;
        let turn = self.history.position().turn();
        let n_left = |index: usize| self.notes.len() - index;
        (first..self.notes.len())
            .map(|index| {
                let cp = self.notes[index].score?.centipawns();
                // The side that moves now made the moves an even number of plies ago.
                let mover = if n_left(index).is_multiple_of(2) {
                    turn
                } else {
                    !turn
                };
                Some(if mover == Color::White { cp } else { -cp })
            })
            .collect()
    }

    fn agreed_winner(&self, rule: ScoreRule) -> Option<Color> {
        let scores = self.last_scores(rule.moves)?;
        if scores.iter().all(|&cp| cp >= rule.cp) {
            Some(Color::White)
        } else if scores.iter().all(|&cp| cp <= -rule.cp) {
            Some(Color::Black)
        } else {
            None
        }
    }

    fn is_agreed_even(&self, rule: ScoreRule) -> bool {
        self.last_scores(rule.moves)
            .is_some_and(|scores| scores.iter().all(|cp| cp.abs() <= rule.cp))
    }
}

/// Wait for a player beyond its clock, so that a late answer is a time loss and not a killed
/// program.
const GRACE: Duration = Duration::from_secs(5);

fn start_clocks(tempi: [Tempo; 2]) -> Clocks {
    let mut clocks = Clocks {
        remaining: [Duration::ZERO; 2],
        increment: [Duration::ZERO; 2],
    };
    for (index, tempo) in tempi.iter().enumerate() {
        if let Tempo::Clock { initial, increment } = *tempo {
            clocks.remaining[index] = initial;
            clocks.increment[index] = increment;
        }
    }
    clocks
}

/// The whole `position` command for a game. The start is always written out, since programs
/// disagree about what `startpos` is in some variants.
fn position_command(history: &History) -> String {
    let mut command = format!("position fen {}", history.start().fen());
    let mut position = history.start().clone();
    for (index, &played) in history.moves().iter().enumerate() {
        if index == 0 {
            command.push_str(" moves");
        }
        command.push(' ');
        command.push_str(&position.uci(played));
        position.play_unchecked(played);
    }
    command
}
