//! A game as its stream shows it, replayed by our own rules: to see whether a move still fits the board before it is sent, and
//! how the game ended when the server does not say.

use crate::game::{GameEnd, GameResult, GameStart, PlayMove, Termination};
use crate::platform::verdict;
use crate::rules::{Adjudication, CastlingMode, History, Move, Position};

use super::page::GamePage;

/// Start, moves and board of one game.
#[derive(Debug, Clone)]
pub struct Track {
    start: GameStart,
    notation: CastlingMode,
    moves: Vec<String>,
    /// `None` once our rules refused the start or a move; then only the list of moves is compared.
    history: Option<History>,
}

impl Track {
    /// A game at its start.
    pub fn new(start: GameStart, notation: CastlingMode) -> Track {
        let history = first_position(&start).map(History::new);
        Track {
            start,
            notation,
            moves: Vec::new(),
            history,
        }
    }

    /// How castling is written to the server in this game.
    pub fn notation(&self) -> CastlingMode {
        self.notation
    }

    /// What is fixed.
    pub fn start(&self) -> &GameStart {
        &self.start
    }

    /// All moves so far, in the server's words.
    pub fn moves(&self) -> &[String] {
        &self.moves
    }

    /// The game by our rules, if they follow it.
    pub fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// The board, if our rules follow the game.
    pub fn position(&self) -> Option<&Position> {
        self.history.as_ref().map(History::position)
    }

    /// Takes the whole list of moves, longer or shorter than before: takebacks are not announced.
    pub fn update(&mut self, moves: &[String]) {
        let common = self
            .moves
            .iter()
            .zip(moves)
            .take_while(|(a, b)| a == b)
            .count();
        match &mut self.history {
            Some(history) if history.moves().len() == self.moves.len() => history.truncate(common),
            _ => self.history = first_position(&self.start).map(History::new),
        }
        self.moves = moves.to_vec();
        let played = self
            .history
            .as_ref()
            .map_or(0, |history| history.moves().len());
        for uci in self.moves.iter().skip(played) {
            let Some(history) = &mut self.history else {
                return;
            };
            let Ok(m) = history.position().parse_uci(uci) else {
                self.history = None;
                return;
            };
            history.play_unchecked(m);
        }
    }

    /// Whether a move belongs exactly here: same number of plies, same board, our turn, legal.
    pub fn fits(&self, play: &PlayMove) -> bool {
        let Some(position) = self.position() else {
            return false;
        };
        play.ply == self.moves.len()
            && position.turn() == self.start.color
            && position.fen() == play.position.fen()
            && position.is_legal(play.m)
    }

    /// Whether the game's page shows this board.
    pub fn matches(&self, page: &GamePage) -> bool {
        let Some(position) = self.position() else {
            return page.plies == Some(self.moves.len());
        };
        let same_board = page
            .fen
            .as_deref()
            .is_some_and(|fen| same_board(fen, &position.fen()));
        same_board && page.plies.is_none_or(|plies| plies == self.moves.len())
    }

    /// How the game ended by the server's rules, if the board tells: after the known moves, or after our last one, which the
    /// server does not repeat when it ends the game.
    pub fn end_by_rules(&self, unconfirmed: Option<Move>) -> Option<GameEnd> {
        let mut history = self.history.clone()?;
        if let Some(m) = unconfirmed {
            history.play(m).ok()?;
        }
        verdict::by_rules(&Adjudication::PYCHESS, &history)
    }

    /// The end after both halves of our resignation were taken: the server announces nothing, but keeps this result.
    pub fn end_by_resigning(&self) -> GameEnd {
        GameEnd {
            result: GameResult::Decisive {
                winner: !self.start.color,
            },
            termination: Termination::Resignation,
            words: "resigned; the server took it without an end notice".to_owned(),
        }
    }
}

fn first_position(start: &GameStart) -> Option<Position> {
    match &start.initial_fen {
        None => Some(Position::start(start.variant)),
        Some(fen) => Position::from_fen(start.variant, start.castling_mode, fen).ok(),
    }
}

/// Compares placement and side only: dialects differ in pockets, promoted marks and castling letters.
fn same_board(a: &str, b: &str) -> bool {
    fn parts(fen: &str) -> (String, Option<&str>) {
        let mut fields = fen.split_ascii_whitespace();
        let placement = fields.next().unwrap_or("");
        let board = placement.split('[').next().unwrap_or("");
        (board.replace('~', ""), fields.next())
    }
    parts(a) == parts(b)
}
