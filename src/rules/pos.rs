//! The position of one rule set: the hot structure of generation and search. Copied, not unmade.

use super::bits::Bits;
use super::ending::Ending;
use super::geometry::{Geometry, NONE, Tables};
use super::hand::Hand;
use super::moves::{Move, MoveList};
use super::setup::CastlingStyle;
use super::types::{Color, Piece, Role};
use super::variants::Rules;
use super::zobrist;

/// Set of squares of a rule set's board.
pub type BitsOf<R> = <<R as Rules>::G as Geometry>::Bits;

/// A legal position under the rules `R`.
#[derive(Clone, Copy, Debug)]
pub struct Pos<R: Rules> {
    pub(super) roles: [BitsOf<R>; 8],
    pub(super) colors: [BitsOf<R>; 2],
    /// Promoted pieces, which fall back to pawns when captured (drop games only).
    pub(super) promoted: BitsOf<R>,
    /// Enemy pieces that attack the king of the side to move.
    pub(super) checkers: BitsOf<R>,
    /// Own pieces of the side to move that shield their king.
    pub(super) pinned: BitsOf<R>,
    /// Kings and rooks with a right to castle: a move from or to one of these squares changes rights.
    pub(super) castle_touch: BitsOf<R>,
    pub(super) board: <R::G as Geometry>::Mailbox,
    pub(super) hands: [Hand; 2],
    pub(super) key: u64,
    pub(super) pawn_key: u64,
    /// Rook squares of castling rights: color * 2 + (0 toward the higher files, 1 toward the lower ones).
    pub(super) castling: [u8; 4],
    pub(super) ply: u32,
    pub(super) halfmoves: u16,
    pub(super) style: CastlingStyle,
    /// Square behind a pawn that has just made a double step, if a capture there is legal.
    pub(super) en_passant: u8,
    pub(super) turn: Color,
    pub(super) checks_left: [u8; 2],
}

/// Mailbox code of an empty square.
pub(super) const EMPTY: u8 = NONE;

impl<R: Rules> Pos<R> {
    /// Whether the board has archbishops and chancellors.
    pub const WIDE: bool = R::G::FILES == 10;

    /// Whether a role exists on this board.
    #[inline(always)]
    #[must_use]
    pub const fn has_role(role: Role) -> bool {
        Self::WIDE || !matches!(role, Role::Archbishop | Role::Chancellor)
    }

    /// The board's attack tables.
    #[inline(always)]
    #[must_use]
    pub fn tables() -> &'static Tables<R::G> {
        R::G::tables()
    }

    /// Side to move.
    #[inline(always)]
    #[must_use]
    pub fn turn(&self) -> Color {
        self.turn
    }

    /// All pieces of a color.
    #[inline(always)]
    #[must_use]
    pub fn side(&self, color: Color) -> BitsOf<R> {
        self.colors[color.index()]
    }

    /// All pieces of a role, both colors.
    #[inline(always)]
    #[must_use]
    pub fn role(&self, role: Role) -> BitsOf<R> {
        self.roles[role.index()]
    }

    /// All pieces of a color and role.
    #[inline(always)]
    #[must_use]
    pub fn pieces(&self, color: Color, role: Role) -> BitsOf<R> {
        self.roles[role.index()] & self.colors[color.index()]
    }

    /// Occupied squares.
    #[inline(always)]
    #[must_use]
    pub fn occupied(&self) -> BitsOf<R> {
        self.colors[0] | self.colors[1]
    }

    /// Empty squares.
    #[inline(always)]
    #[must_use]
    pub fn empty(&self) -> BitsOf<R> {
        R::G::FULL & !self.occupied()
    }

    /// Promoted pieces.
    #[inline(always)]
    #[must_use]
    pub fn promoted(&self) -> BitsOf<R> {
        self.promoted
    }

    /// A color's pocket.
    #[inline(always)]
    #[must_use]
    pub fn hand(&self, color: Color) -> Hand {
        self.hands[color.index()]
    }

    /// Mailbox code (color * 8 + role) on a square; 255 if empty.
    #[inline(always)]
    #[must_use]
    pub fn code(&self, square: u8) -> u8 {
        self.board[square as usize]
    }

    /// The piece on a square.
    #[inline(always)]
    #[must_use]
    pub fn piece_at(&self, square: u8) -> Option<Piece> {
        Piece::from_code(self.board[square as usize])
    }

    /// The king's square; meaningless where a color has none.
    #[inline(always)]
    #[must_use]
    pub fn king(&self, color: Color) -> u8 {
        self.pieces(color, Role::King).lsb()
    }

    /// Enemy pieces giving check.
    #[inline(always)]
    #[must_use]
    pub fn checkers(&self) -> BitsOf<R> {
        self.checkers
    }

    /// Own pieces of the side to move that shield their king.
    #[inline(always)]
    #[must_use]
    pub fn pinned(&self) -> BitsOf<R> {
        self.pinned
    }

    /// Whether the side to move is in check.
    #[inline(always)]
    #[must_use]
    pub fn in_check(&self) -> bool {
        self.checkers.any()
    }

    /// Identity for repetition: board, promoted marks, pockets, side, rights, legal en passant, checks to give.
    #[inline(always)]
    #[must_use]
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Identity of the pawns alone.
    #[inline(always)]
    #[must_use]
    pub fn pawn_key(&self) -> u64 {
        self.pawn_key
    }

    /// Half-moves since the last capture, pawn move or drop.
    #[inline(always)]
    #[must_use]
    pub fn halfmoves(&self) -> u32 {
        u32::from(self.halfmoves)
    }

    /// Half-moves since the start of the move numbering.
    #[inline(always)]
    #[must_use]
    pub fn ply(&self) -> u32 {
        self.ply
    }

    /// Checks a color must still give to win (three-check; else 0).
    #[inline(always)]
    #[must_use]
    pub fn checks_left(&self, color: Color) -> u8 {
        self.checks_left[color.index()]
    }

    /// The rook's square of a right to castle.
    #[inline(always)]
    #[must_use]
    pub fn castling_rook(&self, color: Color, lower_side: bool) -> Option<u8> {
        let rook = self.castling[color.index() * 2 + usize::from(lower_side)];
        (rook != NONE).then_some(rook)
    }

    /// Square on which an en-passant capture is legal.
    #[inline(always)]
    #[must_use]
    pub fn en_passant(&self) -> Option<u8> {
        (self.en_passant != NONE).then_some(self.en_passant)
    }

    /// Pieces that move like rooks along lines.
    #[inline(always)]
    #[must_use]
    pub fn straight_sliders(&self) -> BitsOf<R> {
        let set = self.roles[Role::Rook.index()] | self.roles[Role::Queen.index()];
        if Self::WIDE {
            set | self.roles[Role::Chancellor.index()]
        } else {
            set
        }
    }

    /// Pieces that move like bishops along lines.
    #[inline(always)]
    #[must_use]
    pub fn diagonal_sliders(&self) -> BitsOf<R> {
        let set = self.roles[Role::Bishop.index()] | self.roles[Role::Queen.index()];
        if Self::WIDE {
            set | self.roles[Role::Archbishop.index()]
        } else {
            set
        }
    }

    /// Pieces that leap like knights.
    #[inline(always)]
    #[must_use]
    pub fn leapers(&self) -> BitsOf<R> {
        let set = self.roles[Role::Knight.index()];
        if Self::WIDE {
            set | self.roles[Role::Archbishop.index()] | self.roles[Role::Chancellor.index()]
        } else {
            set
        }
    }

    /// Squares a piece of this role and color attacks from a square.
    #[inline(always)]
    #[must_use]
    pub fn attacks(role: Role, color: Color, square: u8, occupied: BitsOf<R>) -> BitsOf<R> {
        let tables = Self::tables();
        match role {
            Role::Pawn => tables.pawn(color, square),
            Role::Knight => tables.knight(square),
            Role::Bishop => tables.bishop(square, occupied),
            Role::Rook => tables.rook(square, occupied),
            Role::Queen => tables.bishop(square, occupied) | tables.rook(square, occupied),
            Role::King => tables.king(square),
            Role::Archbishop => tables.bishop(square, occupied) | tables.knight(square),
            Role::Chancellor => tables.rook(square, occupied) | tables.knight(square),
        }
    }

    /// Pieces of either color that attack a square, for a given occupation.
    #[inline(always)]
    #[must_use]
    pub fn attackers(&self, square: u8, occupied: BitsOf<R>) -> BitsOf<R> {
        let tables = Self::tables();
        let pawns = self.roles[Role::Pawn.index()];
        (tables.knight(square) & self.leapers())
            | (tables.king(square) & self.roles[Role::King.index()])
            | (tables.pawn(Color::White, square) & pawns & self.colors[1])
            | (tables.pawn(Color::Black, square) & pawns & self.colors[0])
            | (tables.rook(square, occupied) & self.straight_sliders())
            | (tables.bishop(square, occupied) & self.diagonal_sliders())
    }

    /// Whether `by` attacks a square, for a given occupation, with the pieces in `without` taken away.
    #[inline(always)]
    #[must_use]
    pub fn is_attacked(
        &self,
        square: u8,
        by: Color,
        occupied: BitsOf<R>,
        without: BitsOf<R>,
    ) -> bool {
        let tables = Self::tables();
        let enemy = self.colors[by.index()] & !without;
        (tables.knight(square) & self.leapers() & enemy).any()
            || (tables.pawn(!by, square) & self.roles[Role::Pawn.index()] & enemy).any()
            || (tables.king(square) & self.roles[Role::King.index()] & enemy).any()
            || (tables.rook(square, occupied) & self.straight_sliders() & enemy).any()
            || (tables.bishop(square, occupied) & self.diagonal_sliders() & enemy).any()
    }

    /// Finds checkers and pinned pieces of the side to move.
    pub(super) fn update_checks(&mut self) {
        self.checkers = BitsOf::<R>::EMPTY;
        self.pinned = BitsOf::<R>::EMPTY;
        let us = self.turn;
        if !R::is_royal(us) {
            return;
        }
        let king_set = self.pieces(us, Role::King);
        if king_set.none() {
            // Exploded, or taken in a position that only counting tools accept.
            return;
        }
        let king = king_set.lsb();
        let tables = Self::tables();
        if R::ATOMIC && (tables.king(king) & self.pieces(!us, Role::King)).any() {
            // Kings cannot capture, and taking the one explodes the other: side by side they are safe.
            return;
        }
        let enemy = self.side(!us);
        let occupied = self.occupied();
        let mut checkers = (tables.knight(king) & self.leapers())
            | (tables.pawn(us, king) & self.roles[Role::Pawn.index()]);
        let snipers = ((tables.empty_rook(king) & self.straight_sliders())
            | (tables.empty_bishop(king) & self.diagonal_sliders()))
            & enemy;
        for sniper in snipers.squares() {
            let between = tables.between(king, sniper) & occupied;
            if between.none() {
                checkers |= BitsOf::<R>::of(sniper);
            } else if !between.many() {
                self.pinned |= between;
            }
        }
        self.pinned &= self.side(us);
        self.checkers = checkers & enemy;
    }

    /// The end of the game by a rule of the variant other than having no move.
    #[inline(always)]
    #[must_use]
    pub fn ended_by_rule(&self) -> Option<Ending> {
        if R::ENDS_BY_RULE { R::end(self) } else { None }
    }

    /// A move that wins at once by the variant's own rule, as [`Rules::winning_move`] says, unless the game is over.
    #[must_use]
    pub fn winning_move(&self, list: &mut MoveList) -> Option<Move> {
        if self.ended_by_rule().is_some() {
            return None;
        }
        R::winning_move(self, list)
    }

    /// The end of the game as far as this position alone tells: a rule of the variant, mate, stalemate.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        self.ended_by_rule()
            .or_else(|| (!self.has_legal_move()).then(|| R::no_moves(self)))
    }

    /// Files and ranks aside, where king and rook go when castling: (king, rook) squares.
    #[inline]
    #[must_use]
    pub fn castling_targets(&self, color: Color, lower_side: bool) -> (u8, u8) {
        let king = self.king(color);
        let rank = king / R::G::FILES;
        let (king_file, rook_file) =
            self.style
                .targets(R::G::FILES, king % R::G::FILES, lower_side);
        (
            rank * R::G::FILES + king_file,
            rank * R::G::FILES + rook_file,
        )
    }

    /// The key computed from nothing; equal to [`Self::key`] unless there is a fault.
    #[must_use]
    pub fn key_from_scratch(&self) -> u64 {
        let mut key = 0;
        for square in self.occupied().squares() {
            key ^= zobrist::piece(self.code(square), square);
        }
        for square in self.promoted.squares() {
            key ^= zobrist::promoted(square);
        }
        for rook in self.castling {
            if rook != NONE {
                key ^= zobrist::castling(rook);
            }
        }
        if self.en_passant != NONE {
            key ^= zobrist::en_passant(self.en_passant);
        }
        for color in Color::ALL {
            for role in Role::ALL {
                key ^= zobrist::hand(color, role, self.hand(color).count(role));
            }
            if R::CHECKS_TO_WIN > 0 {
                key ^= zobrist::checks(color, self.checks_left(color));
            }
        }
        if self.turn == Color::Black {
            key ^= zobrist::BLACK_TO_MOVE;
        }
        key
    }
}
