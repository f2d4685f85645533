//! The moves of one game, reconstructed from boards.
//!
//! An ICS sends a board after every move, takeback, correction of a clock and request; it marks no promoted pieces and
//! does not number its boards. The track keeps the move list that explains the boards seen so far. A board that no legal
//! move explains is believed all the same: the game is based on it anew, and the server's move list is asked for.

use crate::game::GameEnd;
use crate::platform::verdict;
use crate::rules::{Adjudication, CastlingMode, History, Move, Position, PositionError, Variant};

use super::super::translate::{self, RookFiles};
use super::super::wire::{Hand, MoveRow, Style12};

/// Plies kept in one game; beyond any real one. A longer list is based anew instead of growing.
const PLIES_MAX: usize = 3000;

/// Boards and moves of one game since its base.
#[derive(Debug, Clone)]
pub(super) struct Track {
    variant: Variant,
    mode: CastlingMode,
    /// The game's first position, if it is known. The boards of most games start with it.
    first: Option<Position>,
    rooks: Option<RookFiles>,
    /// What `moves` begin with.
    base: Position,
    moves: Vec<Move>,
    /// Position after each prefix of `moves`; one longer than it.
    positions: Vec<Position>,
    uci: Vec<String>,
}

/// What a board meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The position that we have; only clocks can differ.
    Repeated,
    /// One move was made.
    Moved,
    /// Moves were taken back.
    TakenBack,
    /// Moves do not explain it; it is the base now and the list before it is unknown.
    Rebased,
}

impl Track {
    /// Starts with the first board seen. `from_start` says that it is the game's first position.
    ///
    /// # Errors
    /// [`PositionError`] when the board is none of this variant.
    pub(super) fn new(
        board: &Style12,
        hands: Option<(&Hand, &Hand)>,
        variant: Variant,
        mode: CastlingMode,
        from_start: bool,
    ) -> Result<Track, PositionError> {
        let rooks = if from_start && mode == CastlingMode::Chess960 {
            translate::rook_files(board)
        } else {
            None
        };
        let position = translate::position(board, hands, variant, mode, rooks)?;
        let first = if from_start {
            Some(position.clone())
        } else {
            // Every game of these kinds starts with the variant's own position.
            (mode == CastlingMode::Standard && variant != Variant::Chess)
                .then(|| Position::start(variant))
        };
        Ok(Track {
            variant,
            mode,
            first,
            rooks,
            positions: vec![position.clone()],
            base: position,
            moves: Vec::new(),
            uci: Vec::new(),
        })
    }

    /// The newest position.
    pub(super) fn position(&self) -> &Position {
        self.positions.last().unwrap_or(&self.base)
    }

    /// Moves since the base in UCI notation.
    pub(super) fn uci(&self) -> &[String] {
        &self.uci
    }

    /// Number of moves since the base.
    pub(super) fn len(&self) -> usize {
        self.moves.len()
    }

    /// The game's first position as FEN where it is not the variant's own; `None` also where it is unknown.
    pub(super) fn initial_fen(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let own = Position::start(self.variant).fen();
        Some(first.fen()).filter(|fen| *fen != own || self.mode == CastlingMode::Chess960)
    }

    /// The base as FEN where it is not the game's first position.
    pub(super) fn base_fen(&self) -> Option<String> {
        let is_first = self
            .first
            .as_ref()
            .is_some_and(|first| first.key() == self.base.key() && first.ply() == self.base.ply());
        (!is_first).then(|| self.base.fen())
    }

    /// Whether the whole game since its first position is known.
    pub(super) fn is_whole(&self) -> bool {
        self.base_fen().is_none()
    }

    /// How the game ended by the server's rules, if its board tells, or would after one more move. What came before the base
    /// is not known and repeats nothing.
    pub(super) fn end_by_rules(&self, next: Option<Move>) -> Option<GameEnd> {
        let mut history = History::new(self.base.clone());
        for m in &self.moves {
            history.play_unchecked(*m);
        }
        if let Some(m) = next {
            history.play(m).ok()?;
        }
        verdict::by_rules(&Adjudication::FICS, &history)
    }

    /// Takes the next board.
    pub(super) fn board(
        &mut self,
        board: &Style12,
        hands: Option<(&Hand, &Hand)>,
    ) -> Result<Step, PositionError> {
        let base_ply = self.base.ply();
        let ply = translate::ply(board);
        let index = ply
            .checked_sub(base_ply)
            .and_then(|index| usize::try_from(index).ok());
        match index {
            Some(index)
                if index <= self.moves.len()
                    && translate::same_placement(&self.positions[index], board, hands) =>
            {
                if index == self.moves.len() {
                    return Ok(Step::Repeated);
                }
                self.truncate(index);
                Ok(Step::TakenBack)
            }
            Some(index) if index == self.moves.len() + 1 && self.moves.len() < PLIES_MAX => {
                match translate::move_to(self.position(), board, hands) {
                    Some((m, after)) => {
                        self.push(m, after);
                        Ok(Step::Moved)
                    }
                    None => self.rebase(board, hands),
                }
            }
            _ => self.rebase(board, hands),
        }
    }

    fn rebase(
        &mut self,
        board: &Style12,
        hands: Option<(&Hand, &Hand)>,
    ) -> Result<Step, PositionError> {
        let position = translate::position(board, hands, self.variant, self.mode, self.rooks)?;
        self.base = position.clone();
        self.positions = vec![position];
        self.moves.clear();
        self.uci.clear();
        Ok(Step::Rebased)
    }

    fn push(&mut self, m: Move, after: Position) {
        self.uci.push(self.position().uci(m));
        self.moves.push(m);
        self.positions.push(after);
    }

    fn truncate(&mut self, index: usize) {
        self.moves.truncate(index);
        self.uci.truncate(index);
        self.positions.truncate(index + 1);
    }

    /// Learns the first position from a line that shows it outside of the game's course.
    pub(super) fn learn_first(&mut self, board: &Style12) {
        if self.first.is_some() {
            return;
        }
        let rooks = if self.mode == CastlingMode::Chess960 {
            translate::rook_files(board)
        } else {
            None
        };
        if let Ok(position) = translate::position(board, None, self.variant, self.mode, rooks) {
            self.first = Some(position);
            self.rooks = rooks;
        }
    }

    /// Replaces a partial track by the server's move list, if that list leads from the first position to the newest one.
    /// Only then do promoted pieces keep their marks. True if it did.
    pub(super) fn adopt(&mut self, rows: &[MoveRow]) -> bool {
        let first = self.first.clone().or_else(|| {
            let plain = self.variant == Variant::Chess && self.mode == CastlingMode::Standard;
            plain.then(|| Position::start(Variant::Chess))
        });
        let Some(first) = first else { return false };
        let mut replay = Track {
            variant: self.variant,
            mode: self.mode,
            rooks: self.rooks,
            positions: vec![first.clone()],
            base: first.clone(),
            first: Some(first),
            moves: Vec::new(),
            uci: Vec::new(),
        };
        let sans = rows
            .iter()
            .flat_map(|row| [row.white.as_deref(), row.black.as_deref()])
            .flatten();
        for san in sans.take(PLIES_MAX) {
            let Ok(m) = replay.position().parse_san(san) else {
                return false;
            };
            let mut after = replay.position().clone();
            if after.play(m).is_err() {
                return false;
            }
            replay.push(m, after);
        }
        // The list may be older than the newest board by the moves that came meanwhile, or newer by a race.
        let target = self.position();
        let Some(index) = target
            .ply()
            .checked_sub(replay.base.ply())
            .and_then(|index| usize::try_from(index).ok())
        else {
            return false;
        };
        if index < replay.positions.len() && same_pieces(&replay.positions[index], target) {
            replay.truncate(index);
            *self = replay;
            return true;
        }
        false
    }
}

/// Equal pieces, pockets and side to move, whatever is known about promoted pieces and castling.
fn same_pieces(left: &Position, right: &Position) -> bool {
    use crate::rules::{Color, Role, Square};
    let squares = u8::try_from(usize::from(left.variant().files()) * 8).unwrap_or(64);
    let roles = [
        Role::Pawn,
        Role::Knight,
        Role::Bishop,
        Role::Rook,
        Role::Queen,
    ];
    left.turn() == right.turn()
        && (0..squares).all(|index| left.piece_at(Square(index)) == right.piece_at(Square(index)))
        && [Color::White, Color::Black].into_iter().all(|color| {
            roles
                .iter()
                .all(|role| left.pocket(color, *role) == right.pocket(color, *role))
        })
}
