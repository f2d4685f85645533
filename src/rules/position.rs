//! A position of any variant: the face of the rules to the rest of the program.

use super::bits::Bits;
use super::ending::Ending;
use super::hand::Hand;
use super::moves::{Move, MoveKind, MoveList};
use super::perft;
use super::pos::Pos;
use super::setup::{PositionError, Setup};
use super::types::{Color, Piece, Role, Square};
use super::variant::{CastlingMode, Variant};
use super::variants;
use crate::with_variants;

macro_rules! position {
    ($($name:ident),* $(,)?) => {
        /// A position under the rules of some variant, as a sum of the compile-time ones. Search takes it apart once.
        #[derive(Clone, Debug)]
        pub enum AnyPos {
            $(#[doc = concat!("A position of `", stringify!($name), "`.")] $name(Pos<variants::$name>)),*
        }

        impl AnyPos {
            fn new(setup: &Setup, variant: Variant) -> Result<Self, PositionError> {
                Ok(match variant { $(Variant::$name => Self::$name(Pos::new(setup)?)),* })
            }

            fn new_unreachable(setup: &Setup, variant: Variant) -> Result<Self, PositionError> {
                Ok(match variant { $(Variant::$name => Self::$name(Pos::new_unreachable(setup)?)),* })
            }
        }
    };
}
with_variants!(position);

/// Evaluates an expression with the position of whichever variant it is. The compiler asks for a line when a variant is
/// added.
#[macro_export]
macro_rules! with_pos {
    ($any:expr, $pos:ident => $body:expr) => {
        match $any {
            $crate::rules::AnyPos::Chess($pos) => $body,
            $crate::rules::AnyPos::Crazyhouse($pos) => $body,
            $crate::rules::AnyPos::Capablanca($pos) => $body,
            $crate::rules::AnyPos::Capahouse($pos) => $body,
            $crate::rules::AnyPos::ThreeCheck($pos) => $body,
            $crate::rules::AnyPos::KingOfTheHill($pos) => $body,
            $crate::rules::AnyPos::Antichess($pos) => $body,
            $crate::rules::AnyPos::Suicide($pos) => $body,
            $crate::rules::AnyPos::Losers($pos) => $body,
            $crate::rules::AnyPos::Atomic($pos) => $body,
            $crate::rules::AnyPos::Horde($pos) => $body,
            $crate::rules::AnyPos::RacingKings($pos) => $body,
        }
    };
}

/// A legal position of any variant.
#[derive(Clone, Debug)]
pub struct Position {
    any: AnyPos,
    variant: Variant,
    mode: CastlingMode,
}

/// A move that is not legal in the position it was offered to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("illegal move {m:?}")]
pub struct IllegalMove {
    /// The refused move.
    pub m: Move,
}

impl Position {
    /// Checks a setup and makes it a position.
    ///
    /// # Errors
    /// The first defect found, with its place.
    pub fn new(setup: &Setup, variant: Variant, mode: CastlingMode) -> Result<Self, PositionError> {
        Ok(Self {
            any: AnyPos::new(setup, variant)?,
            variant,
            mode,
        })
    }

    /// As [`Self::new`], but the side not to move may be in check, as tools that count moves accept it.
    ///
    /// # Errors
    /// The first defect found, with its place.
    pub fn new_unreachable(
        setup: &Setup,
        variant: Variant,
        mode: CastlingMode,
    ) -> Result<Self, PositionError> {
        Ok(Self {
            any: AnyPos::new_unreachable(setup, variant)?,
            variant,
            mode,
        })
    }

    /// The position as a setup.
    #[must_use]
    pub fn to_setup(&self) -> Setup {
        with_pos!(&self.any, pos => pos.to_setup())
    }

    /// The position with its rules as a compile-time type.
    #[must_use]
    pub fn any(&self) -> &AnyPos {
        &self.any
    }

    /// The rules.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// How castling is written.
    #[must_use]
    pub fn castling_mode(&self) -> CastlingMode {
        self.mode
    }

    /// Number of files: 8 or 10.
    #[must_use]
    pub fn files(&self) -> u8 {
        self.variant.files()
    }

    /// Side to move.
    #[must_use]
    pub fn turn(&self) -> Color {
        with_pos!(&self.any, pos => pos.turn())
    }

    /// Half-moves since the start of the move numbering: 0 before White's first move.
    #[must_use]
    pub fn ply(&self) -> u32 {
        with_pos!(&self.any, pos => pos.ply())
    }

    /// Half-moves since the last capture, pawn move or drop.
    #[must_use]
    pub fn halfmoves(&self) -> u32 {
        with_pos!(&self.any, pos => pos.halfmoves())
    }

    /// The piece on a square; `None` if empty or off the board.
    #[must_use]
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        if square.0 >= self.files() * 8 {
            return None;
        }
        with_pos!(&self.any, pos => pos.piece_at(square.0))
    }

    /// Whether the piece on a square is promoted and falls back to a pawn when captured.
    #[must_use]
    pub fn is_promoted(&self, square: Square) -> bool {
        square.0 < self.files() * 8 && with_pos!(&self.any, pos => pos.promoted().has(square.0))
    }

    /// How many pieces of a role a color may drop.
    #[must_use]
    pub fn pocket(&self, color: Color, role: Role) -> u8 {
        self.hand(color).count(role)
    }

    /// A color's pocket.
    #[must_use]
    pub fn hand(&self, color: Color) -> Hand {
        with_pos!(&self.any, pos => pos.hand(color))
    }

    /// Checks a color still has to give; `None` where checks are not counted.
    #[must_use]
    pub fn checks_remaining(&self, color: Color) -> Option<u8> {
        (self.variant == Variant::ThreeCheck)
            .then(|| with_pos!(&self.any, pos => pos.checks_left(color)))
    }

    /// Number of pieces of a color on the board.
    #[must_use]
    pub fn count_pieces(&self, color: Color) -> u32 {
        with_pos!(&self.any, pos => pos.side(color).count())
    }

    /// Squares of a color's pieces of one role, from low to high.
    #[must_use]
    pub fn squares_of(&self, color: Color, role: Role) -> Vec<Square> {
        with_pos!(&self.any, pos => pos.pieces(color, role).squares().map(Square).collect())
    }

    /// Every legal move.
    #[must_use]
    pub fn legal_moves(&self) -> MoveList {
        let mut list = MoveList::new();
        with_pos!(&self.any, pos => pos.legal_moves(&mut list));
        list
    }

    /// Whether there is a legal move.
    #[must_use]
    pub fn has_legal_move(&self) -> bool {
        with_pos!(&self.any, pos => pos.has_legal_move())
    }

    /// Whether a move is legal here.
    #[must_use]
    pub fn is_legal(&self, m: Move) -> bool {
        with_pos!(&self.any, pos => pos.is_legal(m))
    }

    /// A move of the side to move, taken apart.
    #[must_use]
    pub fn kind(&self, m: Move) -> MoveKind {
        m.kind(self.files(), self.turn())
    }

    /// Whether a move takes a piece.
    #[must_use]
    pub fn is_capture(&self, m: Move) -> bool {
        m.is_en_passant()
            || (!m.is_drop() && !m.is_castle() && self.piece_at(Square(m.to())).is_some())
    }

    /// The square the king goes to when castling; for any other move its destination.
    #[must_use]
    pub fn castling_target(&self, m: Move) -> Square {
        if !m.is_castle() {
            return Square(m.to());
        }
        with_pos!(&self.any, pos => {
            let lower_side = m.to() < pos.king(pos.turn());
            Square(pos.castling_targets(pos.turn(), lower_side).0)
        })
    }

    /// Whether castling is the short one, `O-O`: toward the higher files, but for the king on the d-file that goes to b.
    #[must_use]
    pub fn is_short_castling(&self, m: Move) -> bool {
        with_pos!(&self.any, pos => {
            let files = self.files();
            let king = pos.king(pos.turn());
            let goes_to_b = pos.castling_targets(pos.turn(), true).0 % files == 1;
            let mirrored = king % files == 3 && goes_to_b;
            (m.to() < king) == mirrored
        })
    }

    /// Plays a move.
    ///
    /// # Errors
    /// If it is not legal; the position is then unchanged.
    pub fn play(&mut self, m: Move) -> Result<(), IllegalMove> {
        if !self.is_legal(m) {
            return Err(IllegalMove { m });
        }
        self.play_unchecked(m);
        Ok(())
    }

    /// Plays a move that is known to be legal; after any other the position is meaningless.
    pub fn play_unchecked(&mut self, m: Move) {
        with_pos!(&mut self.any, pos => pos.play(m));
    }

    /// Whether the side to move is in check.
    #[must_use]
    pub fn in_check(&self) -> bool {
        with_pos!(&self.any, pos => pos.in_check())
    }

    /// Identity for repetition: board, promoted marks, pockets, side, rights, legal en passant, checks to give.
    #[must_use]
    pub fn key(&self) -> u64 {
        with_pos!(&self.any, pos => pos.key())
    }

    /// The key computed from nothing; equal to [`Self::key`] unless there is a fault.
    #[must_use]
    pub fn key_from_scratch(&self) -> u64 {
        with_pos!(&self.any, pos => pos.key_from_scratch())
    }

    /// The end of the game by a rule of the variant other than having no move.
    #[must_use]
    pub fn variant_end(&self) -> Option<Ending> {
        with_pos!(&self.any, pos => pos.ended_by_rule())
    }

    /// A move with which the side to move wins at once by the rule the variant turns on: the third check, a king in the
    /// center or on the last rank. `None` in the other variants; says nothing about checkmate.
    #[must_use]
    pub fn winning_move(&self) -> Option<Move> {
        with_pos!(&self.any, pos => pos.winning_move(&mut MoveList::new()))
    }

    /// The end of the game as far as this position alone tells: a rule of the variant, mate, stalemate.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        with_pos!(&self.any, pos => pos.ending())
    }

    /// Number of legal move sequences of a length.
    #[must_use]
    pub fn perft(&self, depth: u32) -> u64 {
        with_pos!(&self.any, pos => perft::perft(pos, depth))
    }
}
