//! Playing a legal move: board, pockets, rights, counters and the key change together.

use super::bits::Bits;
use super::geometry::{Geometry, NONE};
use super::moves::Move;
use super::pos::{BitsOf, EMPTY, Pos};
use super::types::{Color, Piece, Role};
use super::variants::Rules;
use super::zobrist;

impl<R: Rules> Pos<R> {
    /// Puts a piece on an empty square.
    #[inline(always)]
    pub(super) fn put(&mut self, color: Color, role: Role, square: u8) {
        let bit = BitsOf::<R>::of(square);
        let code = Piece { color, role }.code();
        self.roles[role.index()] |= bit;
        self.colors[color.index()] |= bit;
        self.board[square as usize] = code;
        let number = zobrist::piece(code, square);
        self.key ^= number;
        if role == Role::Pawn {
            self.pawn_key ^= number;
        }
    }

    /// Takes the piece with this code off its square; a promoted mark goes with it.
    #[inline(always)]
    fn take(&mut self, code: u8, square: u8) {
        let bit = BitsOf::<R>::of(square);
        let role = Role::from_index(code as usize);
        self.roles[role.index()] &= !bit;
        self.colors[(code >> 3) as usize & 1] &= !bit;
        self.board[square as usize] = EMPTY;
        let number = zobrist::piece(code, square);
        self.key ^= number;
        if role == Role::Pawn {
            self.pawn_key ^= number;
        }
    }

    #[inline(always)]
    fn add_to_hand(&mut self, color: Color, role: Role) {
        let hand = &mut self.hands[color.index()];
        let before = hand.count(role);
        hand.add(role);
        self.key ^= zobrist::hand(color, role, before) ^ zobrist::hand(color, role, before + 1);
    }

    #[inline(always)]
    fn remove_from_hand(&mut self, color: Color, role: Role) {
        let hand = &mut self.hands[color.index()];
        let before = hand.count(role);
        hand.remove(role);
        self.key ^= zobrist::hand(color, role, before) ^ zobrist::hand(color, role, before - 1);
    }

    /// Takes away the rights of kings and rooks on the touched squares.
    fn lose_rights(&mut self, touched: BitsOf<R>) {
        for index in 0..4 {
            let rook = self.castling[index];
            if rook == NONE {
                continue;
            }
            let color = Color::ALL[index / 2];
            if touched.has(rook) || (touched & self.pieces(color, Role::King)).any() {
                self.castling[index] = NONE;
                self.key ^= zobrist::castling(rook);
            }
        }
        self.refresh_castle_touch();
    }

    pub(super) fn refresh_castle_touch(&mut self) {
        self.castle_touch = BitsOf::<R>::EMPTY;
        for index in 0..4 {
            let rook = self.castling[index];
            if rook != NONE {
                self.castle_touch |=
                    BitsOf::<R>::of(rook) | self.pieces(Color::ALL[index / 2], Role::King);
            }
        }
    }

    /// Plays a legal move. For any other move the position afterwards is meaningless.
    pub fn play(&mut self, m: Move) {
        let us = self.turn;
        if self.en_passant != NONE {
            self.key ^= zobrist::en_passant(self.en_passant);
            self.en_passant = NONE;
        }
        self.halfmoves = self.halfmoves.saturating_add(1);
        let mut double_step = NONE;
        if R::DROPS && m.is_drop() {
            let role = m.drop_role();
            self.remove_from_hand(us, role);
            self.put(us, role, m.to());
            self.halfmoves = 0;
        } else if R::CASTLING && m.is_castle() {
            self.play_castle(m);
        } else {
            double_step = self.play_board_move(m);
        }
        self.ply = self.ply.saturating_add(1);
        self.turn = !us;
        self.key ^= zobrist::BLACK_TO_MOVE;
        self.update_checks();
        if R::CHECKS_TO_WIN > 0 && self.checkers.any() {
            let left = &mut self.checks_left[us.index()];
            if *left > 0 {
                self.key ^= zobrist::checks(us, *left) ^ zobrist::checks(us, *left - 1);
                *left -= 1;
            }
        }
        if double_step != NONE {
            self.offer_en_passant(double_step);
        }
    }

    /// Passes the turn, for null-move pruning. Must not be used in check.
    pub fn pass(&mut self) {
        if self.en_passant != NONE {
            self.key ^= zobrist::en_passant(self.en_passant);
            self.en_passant = NONE;
        }
        self.halfmoves = self.halfmoves.saturating_add(1);
        self.ply = self.ply.saturating_add(1);
        self.turn = !self.turn;
        self.key ^= zobrist::BLACK_TO_MOVE;
        self.update_checks();
    }

    fn play_castle(&mut self, m: Move) {
        let us = self.turn;
        let rook = m.to();
        let king = self.king(us);
        let lower_side = rook < king;
        let (king_to, rook_to) = self.castling_targets(us, lower_side);
        self.lose_rights(BitsOf::<R>::of(king) | BitsOf::<R>::of(rook));
        self.take(
            Piece {
                color: us,
                role: Role::King,
            }
            .code(),
            king,
        );
        self.take(
            Piece {
                color: us,
                role: Role::Rook,
            }
            .code(),
            rook,
        );
        self.put(us, Role::King, king_to);
        self.put(us, Role::Rook, rook_to);
    }

    /// Plays a move from square to square; returns the square passed over by a double step, or none.
    #[inline(always)]
    fn play_board_move(&mut self, m: Move) -> u8 {
        let us = self.turn;
        let to = m.to();
        let from = m.from(R::G::FILES, us);
        let (from_bit, to_bit) = (BitsOf::<R>::of(from), BitsOf::<R>::of(to));
        let code = self.board[from as usize];
        let role = Role::from_index(code as usize);
        let captured = self.board[to as usize];
        if R::CASTLING && (self.castle_touch & (from_bit | to_bit)).any() {
            self.lose_rights(from_bit | to_bit);
        }
        let mut is_capture = captured != EMPTY;
        if is_capture {
            self.capture(captured, to);
        } else if m.is_en_passant() {
            is_capture = true;
            let passed = self.passed_square(to);
            self.capture(self.board[passed as usize], passed);
        }
        self.take(code, from);
        if m.is_promotion() {
            self.put(us, m.promotion_role(), to);
            if R::DROPS {
                self.promoted |= to_bit;
                self.key ^= zobrist::promoted(to);
            }
        } else {
            self.put(us, role, to);
            if R::DROPS && (self.promoted & from_bit).any() {
                self.promoted ^= from_bit | to_bit;
                self.key ^= zobrist::promoted(from) ^ zobrist::promoted(to);
            }
        }
        if is_capture || role == Role::Pawn {
            self.halfmoves = 0;
        }
        if R::ATOMIC && is_capture {
            self.explode(to);
            return NONE;
        }
        let is_double = role == Role::Pawn && from.abs_diff(to) == 2 * R::G::FILES;
        let from_horde_rank = R::HORDE && us == Color::White && from < R::G::FILES;
        if is_double && !from_horde_rank {
            return u8::midpoint(from, to);
        }
        NONE
    }

    /// Takes an enemy piece off the board and, in drop games, into the pocket.
    #[inline(always)]
    fn capture(&mut self, code: u8, square: u8) {
        self.take(code, square);
        if R::DROPS {
            let bit = BitsOf::<R>::of(square);
            let role = if (self.promoted & bit).any() {
                self.promoted ^= bit;
                self.key ^= zobrist::promoted(square);
                Role::Pawn
            } else {
                Role::from_index(code as usize)
            };
            self.add_to_hand(self.turn, role);
        }
    }

    /// Blows up a square and every piece but pawns around it.
    fn explode(&mut self, center: u8) {
        let blast = (Self::tables().king(center) & !self.roles[Role::Pawn.index()])
            | BitsOf::<R>::of(center);
        let victims = blast & self.occupied();
        if (self.castle_touch & victims).any() {
            self.lose_rights(victims);
        }
        for square in victims.squares() {
            self.take(self.board[square as usize], square);
        }
        self.refresh_castle_touch();
    }

    /// Remembers the square behind a double step if a pawn of the side to move can legally capture there.
    fn offer_en_passant(&mut self, square: u8) {
        let takers = Self::tables().pawn(!self.turn, square) & self.pieces(self.turn, Role::Pawn);
        if takers.none() {
            return;
        }
        self.en_passant = square;
        let is_possible = takers
            .squares()
            .any(|from| self.en_passant_is_legal(from, square));
        // The third check may have been given by this very step, and a game that is over has no capture left.
        if is_possible && self.ended_by_rule().is_none() {
            self.key ^= zobrist::en_passant(square);
        } else {
            self.en_passant = NONE;
        }
    }

    /// Whether a pawn of the side to move on `from` may capture onto the en-passant square.
    pub(super) fn en_passant_is_legal(&self, from: u8, square: u8) -> bool {
        let us = self.turn;
        if !R::is_royal(us) {
            return true;
        }
        if R::ATOMIC {
            return self.explosion_is_legal(Move::en_passant(from, square));
        }
        let victim = BitsOf::<R>::of(self.passed_square(square));
        let occupied = (self.occupied() ^ BitsOf::<R>::of(from) ^ victim) | BitsOf::<R>::of(square);
        if R::NO_CHECKS {
            return true;
        }
        !self.is_attacked(self.king(us), !us, occupied, victim)
    }
}
