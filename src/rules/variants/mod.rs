//! Rule sets as compile-time parameters.
//!
//! **To add a variant:** write one file here with a unit type that implements [`Rules`] (board, start position, and the
//! constants and functions in which it differs from chess), and add one line to `with_variants`. The name goes into
//! [`Variant`] and its match arms, which the compiler then asks for. Everything else (generation, hashing, notation,
//! search) reads the constants, and a rule that a variant does not have costs it nothing.

mod antichess;
mod atomic;
mod capablanca;
mod capahouse;
mod chess;
mod crazyhouse;
mod horde;
mod king_of_the_hill;
mod losers;
mod racing_kings;
mod suicide;
mod three_check;

pub use antichess::Antichess;
pub use atomic::Atomic;
pub use capablanca::Capablanca;
pub use capahouse::Capahouse;
pub use chess::Chess;
pub use crazyhouse::Crazyhouse;
pub use horde::Horde;
pub use king_of_the_hill::KingOfTheHill;
pub use losers::Losers;
pub use racing_kings::RacingKings;
pub use suicide::Suicide;
pub use three_check::ThreeCheck;

use super::ending::{EndReason, Ending};
use super::geometry::{Board8, Geometry};
use super::moves::{Move, MoveList};
use super::pos::Pos;
use super::types::{Color, Role};
use super::variant::Variant;
use std::fmt::Debug;

/// Calls a macro with the list of all variants; each is both a [`Variant`] and the name of its rule set.
#[macro_export]
macro_rules! with_variants {
    ($callback:ident) => {
        $callback! {
            Chess, Crazyhouse, Capablanca, Capahouse, ThreeCheck, KingOfTheHill,
            Antichess, Suicide, Losers, Atomic, Horde, RacingKings
        }
    };
}

/// A set of rules, known when the program is compiled.
pub trait Rules: Copy + Clone + Debug + Default + Send + Sync + 'static {
    /// The board.
    type G: Geometry;
    /// The variant's name.
    const VARIANT: Variant;
    /// FEN of the start position.
    const START_FEN: &'static str;
    /// Captured pieces go to the captor's pocket.
    const DROPS: bool = false;
    /// Kings must not be left in check; without it the king is an ordinary piece.
    const ROYAL: bool = true;
    /// Checks that win the game; 0 if checks are not counted.
    const CHECKS_TO_WIN: u8 = 0;
    /// A capture must be made if one is legal.
    const MUST_CAPTURE: bool = false;
    /// Captures explode.
    const ATOMIC: bool = false;
    /// No move may give check.
    const NO_CHECKS: bool = false;
    /// White is a horde without a king; its pawns may also start from the first rank.
    const HORDE: bool = false;
    /// Whether castling exists.
    const CASTLING: bool = true;
    /// What a pawn may become, in the order of generation.
    const PROMOTIONS: &'static [Role] = &[Role::Queen, Role::Rook, Role::Bishop, Role::Knight];
    /// Whether [`Self::end`] can ever say something.
    const ENDS_BY_RULE: bool = false;

    /// The end of the game by a rule of the variant other than having no move. A position ended this way has no legal
    /// moves.
    #[inline(always)]
    fn end(_pos: &Pos<Self>) -> Option<Ending> {
        None
    }

    /// A move with which the side to move wins at once by such a rule, where the whole game turns on it and the search
    /// should not have to find it: the third check, the king's last step. `list` is room for moves. Not asked where the
    /// game is over.
    #[inline(always)]
    fn winning_move(_pos: &Pos<Self>, _list: &mut MoveList) -> Option<Move> {
        None
    }

    /// What it means that `pos.turn()` has no legal move.
    fn no_moves(pos: &Pos<Self>) -> Ending {
        if pos.in_check() {
            Ending::win(!pos.turn(), EndReason::Checkmate)
        } else {
            Ending::draw(EndReason::Stalemate)
        }
    }

    /// Whether this color's king may not be captured. The horde has none to lose.
    #[inline(always)]
    fn is_royal(color: Color) -> bool {
        Self::ROYAL && !(Self::HORDE && matches!(color, Color::White))
    }
}

/// The legal moves of the king, on a board of 8 x 8, that end on one of some squares. `list` is room for moves.
#[inline(always)]
fn king_steps_to<R: Rules<G = Board8>>(
    pos: &Pos<R>,
    squares: u64,
    list: &mut MoveList,
) -> impl Iterator<Item = Move> {
    list.clear();
    let king = pos.king(pos.turn());
    if Board8::tables().king(king) & squares & !pos.side(pos.turn()) != 0 {
        pos.legal_moves(list);
    }
    list.iter().copied().filter(move |m| {
        !m.is_drop()
            && !m.is_castle()
            && m.from(Board8::FILES, pos.turn()) == king
            && squares & (1 << m.to()) != 0
    })
}

/// What a pawn becomes on Capablanca's board.
pub(super) const WIDE_PROMOTIONS: &[Role] = &[
    Role::Queen,
    Role::Chancellor,
    Role::Archbishop,
    Role::Rook,
    Role::Bishop,
    Role::Knight,
];

macro_rules! start_fens {
    ($($name:ident),* $(,)?) => {
        /// FEN of a variant's start position.
        pub(super) const fn start_fen(variant: Variant) -> &'static str {
            match variant { $(Variant::$name => <$name as Rules>::START_FEN),* }
        }
    };
}
with_variants!(start_fens);
