//! A game as far as it was played: start, moves, and the identity of every position on the way.

use super::moves::{Move, MoveKind};
use super::position::{IllegalMove, Position};
use super::types::Role;

/// A start position, the moves played from it and the position reached.
///
/// Repetition is counted over the whole game: in drop games a position can come back after captures, pawn moves and
/// drops, as long as both pockets are the same again.
#[derive(Clone, Debug)]
pub struct History {
    start: Position,
    position: Position,
    moves: Vec<Move>,
    /// Key of the position before each move, and of the current one at the end.
    keys: Vec<u64>,
    /// For each move whether it was a capture, a pawn move or a drop.
    progress: Vec<bool>,
}

impl History {
    /// A game that has not begun.
    #[must_use]
    pub fn new(start: Position) -> Self {
        Self {
            keys: vec![start.key()],
            position: start.clone(),
            start,
            moves: Vec::new(),
            progress: Vec::new(),
        }
    }

    /// Where the game began.
    #[must_use]
    pub fn start(&self) -> &Position {
        &self.start
    }

    /// The current position.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The moves played, oldest first.
    #[must_use]
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The last move played.
    #[must_use]
    pub fn last_move(&self) -> Option<Move> {
        self.moves.last().copied()
    }

    /// Identities of all positions from the start to the current one: one more than there are moves.
    #[must_use]
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Plays a move.
    ///
    /// # Errors
    /// [`IllegalMove`] if the move is not legal; nothing changes then.
    pub fn play(&mut self, m: Move) -> Result<(), IllegalMove> {
        let progress = self.is_progress(m);
        self.position.play(m)?;
        self.record(m, progress);
        Ok(())
    }

    /// Plays a move that is known to be legal, for instance one of [`Position::legal_moves`].
    pub fn play_unchecked(&mut self, m: Move) {
        let progress = self.is_progress(m);
        self.position.play_unchecked(m);
        self.record(m, progress);
    }

    fn record(&mut self, m: Move, progress: bool) {
        self.moves.push(m);
        self.keys.push(self.position.key());
        self.progress.push(progress);
    }

    /// Takes moves back until `plies` are left; does nothing if there are not more. The position is built anew from the
    /// start, so this costs as much as playing the moves.
    pub fn truncate(&mut self, plies: usize) {
        if plies >= self.moves.len() {
            return;
        }
        self.moves.truncate(plies);
        self.progress.truncate(plies);
        self.keys.truncate(plies + 1);
        self.position = self.start.clone();
        for &m in &self.moves {
            self.position.play_unchecked(m);
        }
    }

    /// The position after `plies` moves; `None` if the game has not come so far.
    #[must_use]
    pub fn position_at(&self, plies: usize) -> Option<Position> {
        let mut position = self.start.clone();
        for &m in self.moves.get(..plies)? {
            position.play_unchecked(m);
        }
        Some(position)
    }

    /// How often the current position has occurred in the whole game, the present time included: 1 for a new one.
    #[must_use]
    pub fn repetitions(&self) -> usize {
        count_last(&self.keys)
    }

    /// The same, counting only from the last capture, pawn move or drop on.
    #[must_use]
    pub fn repetitions_since_progress(&self) -> usize {
        let from = self
            .progress
            .iter()
            .rposition(|&progress| progress)
            .map_or(0, |last| last + 1);
        count_last(self.keys.get(from..).unwrap_or_default())
    }

    /// Whether a move takes something, moves a pawn or drops.
    fn is_progress(&self, m: Move) -> bool {
        match self.position.kind(m) {
            MoveKind::Drop { .. } | MoveKind::EnPassant { .. } => true,
            MoveKind::Castle { .. } => false,
            MoveKind::Normal { from, to, .. } => {
                self.position.piece_at(to).is_some()
                    || self
                        .position
                        .piece_at(from)
                        .is_some_and(|piece| piece.role == Role::Pawn)
            }
        }
    }
}

/// How often the last element occurs.
fn count_last(keys: &[u64]) -> usize {
    keys.last()
        .map_or(0, |last| keys.iter().filter(|&key| key == last).count())
}
