//! Which moves give check, asked before they are made.

use super::bits::Bits;
use super::geometry::Geometry;
use super::moves::Move;
use super::pos::{BitsOf, Pos};
use super::types::Role;
use super::variants::Rules;

/// Where checks can be given from, for the side to move; computed once a node.
#[derive(Clone, Copy, Debug)]
pub struct CheckInfo<R: Rules> {
    /// Squares from which each role attacks the enemy king.
    pub squares: [BitsOf<R>; 8],
    /// Own pieces whose leaving their line uncovers an attack on the enemy king.
    pub discoverers: BitsOf<R>,
    king: u8,
    /// There is a king to give check to.
    active: bool,
}

impl<R: Rules> CheckInfo<R> {
    /// Square of the enemy king.
    #[inline(always)]
    pub(super) fn king(&self) -> u8 {
        self.king
    }
}

impl<R: Rules> Pos<R> {
    /// Where checks can be given from.
    #[must_use]
    pub fn check_info(&self) -> CheckInfo<R> {
        let mut info = CheckInfo {
            squares: [BitsOf::<R>::EMPTY; 8],
            discoverers: BitsOf::<R>::EMPTY,
            king: 0,
            active: false,
        };
        let us = self.turn();
        if !R::is_royal(!us) || (R::ATOMIC && self.pieces(!us, Role::King).none()) {
            return info;
        }
        let tables = Self::tables();
        let occupied = self.occupied();
        let king = self.king(!us);
        let straight = tables.rook(king, occupied);
        let diagonal = tables.bishop(king, occupied);
        let leap = tables.knight(king);
        info.king = king;
        info.active = true;
        info.squares[Role::Pawn.index()] = tables.pawn(!us, king);
        info.squares[Role::Knight.index()] = leap;
        info.squares[Role::Bishop.index()] = diagonal;
        info.squares[Role::Rook.index()] = straight;
        info.squares[Role::Queen.index()] = diagonal | straight;
        if Self::WIDE {
            info.squares[Role::Archbishop.index()] = diagonal | leap;
            info.squares[Role::Chancellor.index()] = straight | leap;
        }
        let own = self.side(us);
        let snipers = ((tables.empty_rook(king) & self.straight_sliders())
            | (tables.empty_bishop(king) & self.diagonal_sliders()))
            & own;
        for sniper in snipers.squares() {
            let between = tables.between(king, sniper) & occupied;
            if !between.many() {
                info.discoverers |= between & own;
            }
        }
        info
    }

    /// Whether a legal move gives check.
    #[must_use]
    pub fn gives_check(&self, m: Move, info: &CheckInfo<R>) -> bool {
        if !info.active {
            return false;
        }
        if R::DROPS && m.is_drop() {
            return info.squares[m.drop_role().index()].has(m.to());
        }
        let is_explosion = R::ATOMIC && self.code(m.to()) < 16;
        if m.is_castle() || m.is_en_passant() || m.is_promotion() || is_explosion {
            let mut next = *self;
            next.play(m);
            return next.in_check();
        }
        let from = m.from(R::G::FILES, self.turn());
        let role = Role::from_index(self.code(from) as usize);
        if info.squares[role.index()].has(m.to()) {
            return true;
        }
        info.discoverers.has(from) && !Self::tables().through(info.king, from).has(m.to())
    }
}
