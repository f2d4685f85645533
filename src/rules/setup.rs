//! A position as it comes from outside, unchecked, and the checks that make it playable.

use super::bits::Bits;
use super::geometry::{Geometry, NONE};
use super::hand::Hand;
use super::pos::{BitsOf, EMPTY, Pos};
use super::types::{Color, Piece, Role, Square};
use super::variant::Variant;
use super::variants::Rules;
use super::zobrist;

/// Where king and rook go when castling.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CastlingStyle {
    /// King to g or c (8 files), to i or c (10 files); the rook next to it.
    #[default]
    Standard,
    /// FICS wild/0 and wild/1: a king on the d-file goes to b or f; on the e-file as usual.
    Wild,
    /// Embassy: the king on the e-file of ten goes to h or b.
    Embassy,
    /// Janus: the king goes to i or b.
    Janus,
}

impl CastlingStyle {
    /// Files from 0 to which (king, rook) go, for a king on `king_file` that castles toward the lower or higher files.
    #[must_use]
    pub const fn targets(self, files: u8, king_file: u8, lower_side: bool) -> (u8, u8) {
        match self {
            Self::Wild if king_file == 3 => {
                if lower_side {
                    (1, 2)
                } else {
                    (5, 4)
                }
            }
            Self::Embassy => {
                if lower_side {
                    (1, 2)
                } else {
                    (7, 6)
                }
            }
            Self::Janus => {
                if lower_side {
                    (1, 2)
                } else {
                    (8, 7)
                }
            }
            Self::Standard | Self::Wild => {
                if lower_side {
                    (2, 3)
                } else {
                    (files - 2, files - 3)
                }
            }
        }
    }
}

/// An unchecked position. Squares are numbered rank * files + file, with the files of the variant it is meant for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// Pieces by square index; entries past the board are ignored.
    pub board: [Option<Piece>; 80],
    /// Promoted pieces: bit `n` is square `n`.
    pub promoted: u128,
    /// Pieces in hand, by color and role index.
    pub pockets: [[u8; 8]; 2],
    /// Side to move.
    pub turn: Color,
    /// Squares of rooks with a right to castle: color * 2 + (0 toward the higher files, 1 toward the lower ones).
    pub castling_rooks: [Option<Square>; 4],
    /// Where king and rook go.
    pub castling_style: CastlingStyle,
    /// Square passed over by a pawn's double step.
    pub en_passant: Option<Square>,
    /// Half-moves since the last capture, pawn move or drop.
    pub halfmoves: u32,
    /// Number of the move, from 1.
    pub fullmoves: u32,
    /// Checks each color still has to give (three-check).
    pub checks_remaining: Option<[u8; 2]>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            board: [None; 80],
            promoted: 0,
            pockets: [[0; 8]; 2],
            turn: Color::White,
            castling_rooks: [None; 4],
            castling_style: CastlingStyle::Standard,
            en_passant: None,
            halfmoves: 0,
            fullmoves: 1,
            checks_remaining: None,
        }
    }
}

/// Why a setup is no playable position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum PositionError {
    /// A role that the variant does not have.
    #[error("{piece:?} on square {square:?} does not exist in {variant:?}")]
    ForeignPiece {
        /// The piece.
        piece: Piece,
        /// Where it stands.
        square: Square,
        /// The variant.
        variant: Variant,
    },
    /// A pawn on the first or last rank.
    #[error("a pawn of {color} stands on rank {rank}")]
    PawnOnEndRank {
        /// Whose pawn.
        color: Color,
        /// Where it stands.
        square: Square,
        /// 1 or 8.
        rank: u8,
    },
    /// A side has no king, or more than one.
    #[error("{color} has {count} kings where the variant wants {wanted}")]
    KingCount {
        /// Whose kings.
        color: Color,
        /// How many there are.
        count: u8,
        /// How many there should be.
        wanted: u8,
    },
    /// The side that has just moved left its king attacked.
    #[error("{color} is not to move but in check")]
    OpponentInCheck {
        /// The side that is not to move.
        color: Color,
    },
    /// A king is in check in a variant that forbids checks.
    #[error("{color} is in check, which this variant forbids")]
    CheckForbidden {
        /// The side in check.
        color: Color,
    },
    /// Pieces in hand in a variant without drops.
    #[error("{color} holds pieces, but {variant:?} has no drops")]
    PocketForbidden {
        /// Whose pocket.
        color: Color,
        /// The variant.
        variant: Variant,
    },
    /// A king, or a role the variant does not have, in hand.
    #[error("{color} holds a {role:?}, which cannot be in hand")]
    ForeignPocketPiece {
        /// Whose pocket.
        color: Color,
        /// The role.
        role: Role,
    },
    /// More pieces of one role in hand than a game can produce.
    #[error("{color} holds {count} pieces of role {role:?}; at most {max} are accepted")]
    PocketTooLarge {
        /// Whose pocket.
        color: Color,
        /// The role.
        role: Role,
        /// How many.
        count: u8,
        /// How many are accepted.
        max: u8,
    },
    /// A promoted mark on an empty square, a pawn or a king.
    #[error("square {square:?} is marked as promoted but holds no piece that could be")]
    PromotedMark {
        /// The square.
        square: Square,
    },
    /// A promoted mark in a variant without drops.
    #[error("square {square:?} is marked as promoted, which means nothing in {variant:?}")]
    PromotedForbidden {
        /// The square.
        square: Square,
        /// The variant.
        variant: Variant,
    },
    /// A castling right in a variant without castling.
    #[error("castling does not exist in {variant:?}")]
    CastlingForbidden {
        /// The variant.
        variant: Variant,
    },
    /// A castling right without a rook on the named square, or on the wrong side of the king.
    #[error(
        "{color} has a castling right with {square:?}, where no rook of its stands beside its king"
    )]
    CastlingRook {
        /// Whose right.
        color: Color,
        /// The rook's square as given.
        square: Square,
    },
    /// A castling right with the king off its first rank.
    #[error("{color} has a castling right, but its king is not on its first rank")]
    CastlingKing {
        /// Whose right.
        color: Color,
    },
    /// An en-passant square that no double step can have left behind.
    #[error("no pawn can have just passed over the en-passant square {square:?}")]
    EnPassant {
        /// The square.
        square: Square,
    },
    /// A counter of checks out of range.
    #[error("{color} has {count} checks left to give; 0 to {max} are possible")]
    Checks {
        /// Whose counter.
        color: Color,
        /// The value given.
        count: u8,
        /// The greatest possible value.
        max: u8,
    },
}

impl<R: Rules> Pos<R> {
    /// Checks a setup and makes it a position.
    ///
    /// # Errors
    /// The first defect found, with its place.
    pub fn new(setup: &Setup) -> Result<Self, PositionError> {
        let pos = Self::new_unreachable(setup)?;
        pos.check_opponent()?;
        Ok(pos)
    }

    /// As [`Self::new`], but the side not to move may be in check. No game reaches such a position; tools that count moves
    /// accept it.
    ///
    /// # Errors
    /// The first defect found, with its place.
    pub fn new_unreachable(setup: &Setup) -> Result<Self, PositionError> {
        let mut pos = Self::blank(setup);
        pos.place_pieces(setup)?;
        pos.check_kings()?;
        pos.fill_hands(setup)?;
        pos.set_castling(setup)?;
        pos.set_checks(setup)?;
        if pos.turn == Color::Black {
            pos.key ^= zobrist::BLACK_TO_MOVE;
        }
        pos.update_checks();
        pos.set_en_passant(setup)?;
        Ok(pos)
    }

    fn blank(setup: &Setup) -> Self {
        let empty = BitsOf::<R>::EMPTY;
        let full = setup.fullmoves.clamp(1, 100_000);
        Self {
            roles: [empty; 8],
            colors: [empty; 2],
            promoted: empty,
            checkers: empty,
            pinned: empty,
            castle_touch: empty,
            board: R::G::EMPTY_MAILBOX,
            hands: [Hand::default(); 2],
            key: 0,
            pawn_key: 0,
            castling: [NONE; 4],
            ply: (full - 1) * 2 + setup.turn.index() as u32,
            halfmoves: setup.halfmoves.min(30_000) as u16,
            style: setup.castling_style,
            en_passant: NONE,
            turn: setup.turn,
            checks_left: [0; 2],
        }
    }

    fn place_pieces(&mut self, setup: &Setup) -> Result<(), PositionError> {
        let variant = R::VARIANT;
        for index in 0..80_u8 {
            let square = Square(index);
            let on_board = (index as usize) < R::G::SQUARES;
            let piece = setup.board[index as usize].filter(|_| on_board);
            if setup.promoted >> index & 1 != 0 {
                match piece {
                    Some(Piece { role, .. }) if !matches!(role, Role::Pawn | Role::King) => {}
                    _ => return Err(PositionError::PromotedMark { square }),
                }
                if !R::DROPS {
                    return Err(PositionError::PromotedForbidden { square, variant });
                }
                self.promoted |= BitsOf::<R>::of(index);
                self.key ^= zobrist::promoted(index);
            }
            let Some(piece) = piece else { continue };
            if !variant.roles().contains(&piece.role) {
                return Err(PositionError::ForeignPiece {
                    piece,
                    square,
                    variant,
                });
            }
            let rank = index / R::G::FILES;
            let horde_start = R::HORDE && piece.color == Color::White && rank == 0;
            if piece.role == Role::Pawn && (rank == 0 || rank == 7) && !horde_start {
                return Err(PositionError::PawnOnEndRank {
                    color: piece.color,
                    square,
                    rank: rank + 1,
                });
            }
            self.put(piece.color, piece.role, index);
        }
        Ok(())
    }

    fn check_kings(&self) -> Result<(), PositionError> {
        for color in Color::ALL {
            let count = self.pieces(color, Role::King).count() as u8;
            let wanted = u8::from(R::is_royal(color));
            // A game of atomic that has ended by an explosion is still a position to show and to store.
            let exploded = R::ATOMIC && count == 0 && self.pieces(!color, Role::King).any();
            if exploded {
                continue;
            }
            // Where the king is an ordinary piece any number may stand on the board.
            if R::ROYAL && count != wanted {
                return Err(PositionError::KingCount {
                    color,
                    count,
                    wanted,
                });
            }
        }
        Ok(())
    }

    fn fill_hands(&mut self, setup: &Setup) -> Result<(), PositionError> {
        for color in Color::ALL {
            for role in Role::ALL {
                let count = setup.pockets[color.index()][role.index()];
                if count == 0 {
                    continue;
                }
                if !R::DROPS {
                    return Err(PositionError::PocketForbidden {
                        color,
                        variant: R::VARIANT,
                    });
                }
                if role == Role::King || !R::VARIANT.roles().contains(&role) {
                    return Err(PositionError::ForeignPocketPiece { color, role });
                }
                if count > Hand::MAX {
                    return Err(PositionError::PocketTooLarge {
                        color,
                        role,
                        count,
                        max: Hand::MAX,
                    });
                }
                for _ in 0..count {
                    self.hands[color.index()].add(role);
                }
                self.key ^= zobrist::hand(color, role, count);
            }
        }
        Ok(())
    }

    fn set_castling(&mut self, setup: &Setup) -> Result<(), PositionError> {
        for (index, rook) in setup.castling_rooks.iter().enumerate() {
            let Some(square) = *rook else { continue };
            if !R::CASTLING {
                return Err(PositionError::CastlingForbidden {
                    variant: R::VARIANT,
                });
            }
            let color = Color::ALL[index / 2];
            let lower_side = index % 2 == 1;
            let home = if color == Color::White { 0 } else { 7 };
            if self.pieces(color, Role::King).none() || self.king(color) / R::G::FILES != home {
                return Err(PositionError::CastlingKing { color });
            }
            let king = self.king(color);
            let is_rook = square.index() < R::G::SQUARES
                && self.pieces(color, Role::Rook).has(square.0)
                && square.0 / R::G::FILES == home
                && (square.0 < king) == lower_side;
            if !is_rook {
                return Err(PositionError::CastlingRook { color, square });
            }
            self.castling[index] = square.0;
            self.key ^= zobrist::castling(square.0);
        }
        self.refresh_castle_touch();
        Ok(())
    }

    fn set_checks(&mut self, setup: &Setup) -> Result<(), PositionError> {
        if R::CHECKS_TO_WIN == 0 {
            return Ok(());
        }
        for color in Color::ALL {
            let count = setup
                .checks_remaining
                .map_or(R::CHECKS_TO_WIN, |checks| checks[color.index()]);
            if count > R::CHECKS_TO_WIN {
                return Err(PositionError::Checks {
                    color,
                    count,
                    max: R::CHECKS_TO_WIN,
                });
            }
            self.checks_left[color.index()] = count;
            self.key ^= zobrist::checks(color, count);
        }
        Ok(())
    }

    fn check_opponent(&self) -> Result<(), PositionError> {
        let them = !self.turn;
        if R::NO_CHECKS && self.checkers.any() {
            return Err(PositionError::CheckForbidden { color: self.turn });
        }
        if !R::is_royal(them) {
            return Ok(());
        }
        // In atomic, kings side by side are safe, which only the update of checks knows.
        let is_attacked = if R::ATOMIC {
            let mut mirrored = *self;
            mirrored.turn = them;
            mirrored.update_checks();
            mirrored.checkers.any()
        } else {
            let king = self.king(them);
            self.is_attacked(king, self.turn, self.occupied(), BitsOf::<R>::EMPTY)
        };
        if is_attacked {
            return Err(if R::NO_CHECKS {
                PositionError::CheckForbidden { color: them }
            } else {
                PositionError::OpponentInCheck { color: them }
            });
        }
        Ok(())
    }

    /// Keeps the en-passant square only if a capture there is legal; an impossible square is an error.
    fn set_en_passant(&mut self, setup: &Setup) -> Result<(), PositionError> {
        let Some(square) = setup.en_passant else {
            return Ok(());
        };
        let files = R::G::FILES;
        let rank = if self.turn == Color::White { 5 } else { 2 };
        let error = PositionError::EnPassant { square };
        if square.index() >= R::G::SQUARES || square.rank(files) != rank {
            return Err(error);
        }
        let (passed, origin) = match self.turn {
            Color::White => (square.0 - files, square.0 + files),
            Color::Black => (square.0 + files, square.0 - files),
        };
        let has_pawn = self.pieces(!self.turn, Role::Pawn).has(passed);
        let is_free = self.code(square.0) == EMPTY && self.code(origin) == EMPTY;
        if !has_pawn || !is_free {
            return Err(error);
        }
        let takers = Self::tables().pawn(!self.turn, square.0) & self.pieces(self.turn, Role::Pawn);
        let is_possible = takers
            .squares()
            .any(|from| self.en_passant_is_legal(from, square.0));
        if is_possible && self.ended_by_rule().is_none() {
            self.en_passant = square.0;
            self.key ^= zobrist::en_passant(square.0);
        }
        Ok(())
    }

    /// Whether the castling style still decides where some king may go.
    fn needs_style(&self) -> bool {
        let files = R::G::FILES;
        (0..4)
            .filter(|&index| self.castling[index] != NONE)
            .any(|index| {
                let king_file = self.king(Color::ALL[index / 2]) % files;
                let targets =
                    |style: CastlingStyle| style.targets(files, king_file, index % 2 == 1);
                targets(self.style) != targets(CastlingStyle::Standard)
            })
    }

    /// The position as a setup, for writing and for changing.
    #[must_use]
    pub fn to_setup(&self) -> Setup {
        let mut setup = Setup {
            turn: self.turn,
            castling_style: self.style,
            en_passant: self.en_passant().map(Square),
            halfmoves: self.halfmoves(),
            fullmoves: self.ply / 2 + 1,
            ..Setup::default()
        };
        for square in self.occupied().squares() {
            setup.board[square as usize] = self.piece_at(square);
        }
        for square in self.promoted.squares() {
            setup.promoted |= 1 << square;
        }
        for color in Color::ALL {
            for role in Role::ALL {
                setup.pockets[color.index()][role.index()] = self.hand(color).count(role);
            }
        }
        for (index, &rook) in self.castling.iter().enumerate() {
            setup.castling_rooks[index] = (rook != NONE).then_some(Square(rook));
        }
        if !self.needs_style() {
            setup.castling_style = CastlingStyle::Standard;
        }
        if R::CHECKS_TO_WIN > 0 {
            setup.checks_remaining = Some(self.checks_left);
        }
        setup
    }
}
