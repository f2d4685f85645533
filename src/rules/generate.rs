//! Legal moves, and only these: check and pin masks decide before a move is made, never after.
//!
//! The same walk serves lists and counts through [`Sink`]: counting a set of destinations is one instruction.

use super::bits::Bits;
use super::checks::CheckInfo;
use super::geometry::Geometry;
use super::moves::{Move, MoveList};
use super::pos::{BitsOf, EMPTY, Pos};
use super::types::{Color, Role};
use super::variants::Rules;

/// Receives moves by sets of destinations.
pub trait Sink<R: Rules> {
    /// A piece on `from` may go to each of these squares.
    fn moves(&mut self, from: u8, to: BitsOf<R>);
    /// Pawns may go to each of these squares, each from `offset` squares behind (by index).
    fn pawn_moves(&mut self, offset: i8, to: BitsOf<R>);
    /// Pawns may promote on each of these squares, each from `offset` squares behind.
    fn promotions(&mut self, offset: i8, to: BitsOf<R>);
    /// A role may be dropped on each of these squares.
    fn drops(&mut self, role: Role, to: BitsOf<R>);
    /// One move of another kind.
    fn single(&mut self, m: Move);
}

impl<R: Rules> Sink<R> for MoveList {
    #[inline(always)]
    fn moves(&mut self, from: u8, to: BitsOf<R>) {
        for square in to.squares() {
            self.push(Move::normal(from, square));
        }
    }
    #[inline(always)]
    fn pawn_moves(&mut self, offset: i8, to: BitsOf<R>) {
        for square in to.squares() {
            self.push(Move::normal(square.wrapping_add_signed(-offset), square));
        }
    }
    #[inline(always)]
    fn promotions(&mut self, offset: i8, to: BitsOf<R>) {
        for square in to.squares() {
            let from = square.wrapping_add_signed(-offset);
            for &role in R::PROMOTIONS {
                self.push(Move::promotion(from, square, role, R::G::FILES));
            }
        }
    }
    #[inline(always)]
    fn drops(&mut self, role: Role, to: BitsOf<R>) {
        for square in to.squares() {
            self.push(Move::drop(role, square));
        }
    }
    #[inline(always)]
    fn single(&mut self, m: Move) {
        self.push(m);
    }
}

/// Counts moves without listing them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter(pub u64);

impl<R: Rules> Sink<R> for Counter {
    #[inline(always)]
    fn moves(&mut self, _from: u8, to: BitsOf<R>) {
        self.0 += u64::from(to.count());
    }
    #[inline(always)]
    fn pawn_moves(&mut self, _offset: i8, to: BitsOf<R>) {
        self.0 += u64::from(to.count());
    }
    #[inline(always)]
    fn promotions(&mut self, _offset: i8, to: BitsOf<R>) {
        self.0 += u64::from(to.count()) * R::PROMOTIONS.len() as u64;
    }
    #[inline(always)]
    fn drops(&mut self, _role: Role, to: BitsOf<R>) {
        self.0 += u64::from(to.count());
    }
    #[inline(always)]
    fn single(&mut self, _m: Move) {
        self.0 += 1;
    }
}

/// Looks for one move without listing the others.
struct Finder {
    wanted: Move,
    found: bool,
}

impl<R: Rules> Sink<R> for Finder {
    #[inline(always)]
    fn moves(&mut self, from: u8, to: BitsOf<R>) {
        let wanted = self.wanted;
        self.found |= wanted == Move::normal(from, wanted.to()) && to.has(wanted.to());
    }
    #[inline(always)]
    fn pawn_moves(&mut self, offset: i8, to: BitsOf<R>) {
        let wanted = self.wanted;
        let from = wanted.to().wrapping_add_signed(-offset);
        self.found |= wanted == Move::normal(from, wanted.to()) && to.has(wanted.to());
    }
    #[inline(always)]
    fn promotions(&mut self, offset: i8, to: BitsOf<R>) {
        let wanted = self.wanted;
        let from = wanted.to().wrapping_add_signed(-offset);
        self.found |= wanted.is_promotion()
            && to.has(wanted.to())
            && R::PROMOTIONS.contains(&wanted.promotion_role())
            && wanted == Move::promotion(from, wanted.to(), wanted.promotion_role(), R::G::FILES);
    }
    #[inline(always)]
    fn drops(&mut self, _role: Role, _to: BitsOf<R>) {}
    #[inline(always)]
    fn single(&mut self, m: Move) {
        self.found |= m == self.wanted;
    }
}

/// Which moves to generate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kinds {
    /// Captures, en passant and capturing promotions.
    pub captures: bool,
    /// Promotions without capture.
    pub promotions: bool,
    /// Other board moves, castling included.
    pub quiets: bool,
    /// Drops.
    pub drops: bool,
}

impl Kinds {
    /// Every move.
    pub const ALL: Self = Self {
        captures: true,
        promotions: true,
        quiets: true,
        drops: true,
    };
    /// Captures only.
    pub const CAPTURES: Self = Self {
        captures: true,
        promotions: false,
        quiets: false,
        drops: false,
    };
    /// Captures and promotions.
    pub const NOISY: Self = Self {
        captures: true,
        promotions: true,
        quiets: false,
        drops: false,
    };
    /// Board moves that neither capture nor promote.
    pub const QUIETS: Self = Self {
        captures: false,
        promotions: false,
        quiets: true,
        drops: false,
    };
    /// The same without captures.
    #[must_use]
    pub const fn without_captures(self) -> Self {
        Self {
            captures: false,
            ..self
        }
    }

    /// Drops only.
    pub const DROPS: Self = Self {
        captures: false,
        promotions: false,
        quiets: false,
        drops: true,
    };
}

/// What generation knows about the position before the first move.
struct Frame<R: Rules> {
    us: Color,
    own: BitsOf<R>,
    enemy: BitsOf<R>,
    occupied: BitsOf<R>,
    /// Squares that answer a single check: the checker and those between.
    evasion: BitsOf<R>,
    pinned: BitsOf<R>,
    /// Only moves of these pieces are wanted.
    movers: BitsOf<R>,
    /// The king must not be left attacked, and masks can tell.
    guarded: bool,
    /// Checks that must not be given.
    shunned: Option<CheckInfo<R>>,
}

impl<R: Rules> Pos<R> {
    /// Appends every legal move.
    #[inline]
    pub fn legal_moves(&self, list: &mut MoveList) {
        self.legal_moves_of(Kinds::ALL, list);
    }

    /// Appends every legal move of some kinds. Where a capture is compulsory, the others are appended only if none is
    /// legal.
    #[inline]
    pub fn legal_moves_of(&self, kinds: Kinds, list: &mut MoveList) {
        if R::ENDS_BY_RULE && R::end(self).is_some() {
            return;
        }
        if R::MUST_CAPTURE {
            let before = list.len();
            self.walk(Kinds::CAPTURES, R::G::FULL, list);
            if list.len() == before {
                self.walk(kinds.without_captures(), R::G::FULL, list);
            } else if !kinds.captures {
                list.truncate(before);
            }
            return;
        }
        if R::ATOMIC {
            // Masks decide about everything but captures, which explode and are weighed one by one.
            if kinds.captures {
                let before = list.len();
                self.walk(Kinds::CAPTURES, R::G::FULL, list);
                if list.len() > before {
                    list.retain(|m| self.explosion_is_legal(m));
                }
            }
            self.walk(kinds.without_captures(), R::G::FULL, list);
            return;
        }
        self.walk(kinds, R::G::FULL, list);
        if self.has_racing_pawns() {
            let info = self.check_info();
            list.retain(|m| !self.gives_check(m, &info));
        }
    }

    /// Whether checks by pawns must be weeded out one by one: racing kings, from a set-up position with pawns.
    #[inline(always)]
    fn has_racing_pawns(&self) -> bool {
        R::NO_CHECKS && self.role(Role::Pawn).any()
    }

    /// Number of legal moves.
    #[inline]
    #[must_use]
    pub fn count_legal(&self) -> u64 {
        if R::MUST_CAPTURE || self.has_racing_pawns() {
            let mut list = MoveList::new();
            self.legal_moves(&mut list);
            return list.len() as u64;
        }
        if R::ENDS_BY_RULE && R::end(self).is_some() {
            return 0;
        }
        let mut counter = Counter(0);
        if R::ATOMIC {
            self.walk(Kinds::ALL.without_captures(), R::G::FULL, &mut counter);
            let mut list = MoveList::new();
            self.walk(Kinds::CAPTURES, R::G::FULL, &mut list);
            let legal = list.into_iter().filter(|&&m| self.explosion_is_legal(m));
            return counter.0 + legal.count() as u64;
        }
        self.walk(Kinds::ALL, R::G::FULL, &mut counter);
        counter.0
    }

    /// Whether there is a legal move.
    #[must_use]
    pub fn has_legal_move(&self) -> bool {
        self.count_legal() > 0
    }

    /// Whether a capture must be made now (only where captures are compulsory).
    #[must_use]
    pub fn must_capture(&self) -> bool {
        if !R::MUST_CAPTURE || (R::ENDS_BY_RULE && R::end(self).is_some()) {
            return false;
        }
        let mut counter = Counter(0);
        self.walk(Kinds::CAPTURES, R::G::FULL, &mut counter);
        counter.0 > 0
    }

    /// Whether a move, from wherever it came, is legal here. Costs the generation of one piece's moves.
    #[must_use]
    pub fn is_legal(&self, m: Move) -> bool {
        if R::ENDS_BY_RULE && R::end(self).is_some() {
            return false;
        }
        let us = self.turn;
        if m.is_drop() {
            return R::DROPS && self.drop_is_legal(m);
        }
        let from = m.from(R::G::FILES, us);
        if from as usize >= R::G::SQUARES || m.to() as usize >= R::G::SQUARES {
            return false;
        }
        let mover = BitsOf::<R>::of(from);
        if (self.side(us) & mover).none() {
            return false;
        }
        let is_capture =
            m.is_en_passant() || (!m.is_castle() && self.board[m.to() as usize] != EMPTY);
        let mut finder = Finder {
            wanted: m,
            found: false,
        };
        let kinds = match (R::ATOMIC, is_capture) {
            (true, true) => Kinds::CAPTURES,
            (true, false) => Kinds::ALL.without_captures(),
            (false, _) => Kinds::ALL,
        };
        let kinds = Kinds {
            drops: false,
            ..kinds
        };
        self.walk(kinds, mover, &mut finder);
        finder.found
            && (is_capture || !self.must_capture())
            && (!R::ATOMIC || !is_capture || self.explosion_is_legal(m))
            && !(self.has_racing_pawns() && self.gives_check(m, &self.check_info()))
    }

    fn drop_is_legal(&self, m: Move) -> bool {
        let role = m.drop_role();
        // Bits that spell the same drop differently are refused, so that equal moves are equal numbers.
        let canonical = m == Move::drop(role, m.to());
        if !canonical || m.to() as usize >= R::G::SQUARES || !self.hand(self.turn).has(role) {
            return false;
        }
        self.drop_targets(role).has(m.to())
    }

    /// Squares on which the side to move may drop this role, if it holds one.
    #[inline(always)]
    #[must_use]
    pub fn drop_targets(&self, role: Role) -> BitsOf<R> {
        let mut targets = self.empty();
        if self.checkers.any() {
            if self.checkers.many() {
                return BitsOf::<R>::EMPTY;
            }
            targets &= Self::tables().between(self.king(self.turn), self.checkers.lsb());
        }
        if role == Role::Pawn {
            targets &= !(R::G::FIRST_RANK | R::G::rank(7));
        }
        targets
    }

    /// Whether a capture by explosion leaves the own king standing and unattacked, or blows up the other one.
    pub(super) fn explosion_is_legal(&self, m: Move) -> bool {
        let us = self.turn;
        let tables = Self::tables();
        let bit = BitsOf::<R>::of;
        let occupied = self.occupied();
        let mut victims = (tables.king(m.to()) & occupied & !self.role(Role::Pawn))
            | bit(m.to())
            | bit(m.from(R::G::FILES, us));
        if m.is_en_passant() {
            victims |= bit(self.passed_square(m.to()));
        }
        if (victims & self.pieces(us, Role::King)).any() {
            return false;
        }
        let enemy_king = self.pieces(!us, Role::King);
        if (victims & enemy_king).any() {
            return true;
        }
        let king = self.king(us);
        (tables.king(king) & enemy_king).any()
            || !self.is_attacked(king, !us, occupied & !victims, victims)
    }

    /// Where the pawn stands that an en-passant capture on `square` takes.
    #[inline(always)]
    pub(super) fn passed_square(&self, square: u8) -> u8 {
        match self.turn {
            Color::White => square - R::G::FILES,
            Color::Black => square + R::G::FILES,
        }
    }

    /// Walks all moves of some kinds by some pieces into a sink.
    #[inline(always)]
    pub(super) fn walk<S: Sink<R>>(&self, kinds: Kinds, movers: BitsOf<R>, sink: &mut S) {
        let us = self.turn;
        let guarded = R::is_royal(us) && !(R::ATOMIC && kinds.captures);
        let mut frame = Frame::<R> {
            us,
            own: self.side(us),
            enemy: self.side(!us),
            occupied: self.occupied(),
            evasion: R::G::FULL,
            pinned: BitsOf::<R>::EMPTY,
            movers,
            guarded,
            shunned: R::NO_CHECKS.then(|| self.check_info()),
        };
        if guarded {
            if self.pieces(us, Role::King).none() {
                return;
            }
            frame.pinned = self.pinned;
            self.walk_king(kinds, &frame, sink);
            if self.checkers.any() {
                if self.checkers.many() {
                    return;
                }
                let checker = self.checkers.lsb();
                frame.evasion = Self::tables().between(self.king(us), checker) | self.checkers;
            }
        }
        self.walk_pieces(kinds, &frame, sink);
        self.walk_pawns(kinds, &frame, sink);
        if R::CASTLING && kinds.quiets && self.checkers.none() && self.castle_touch.any() {
            self.walk_castling(&frame, sink);
        }
        if R::DROPS && kinds.drops && !self.hands[us.index()].is_empty() {
            self.walk_drops(&frame, sink);
        }
    }

    #[inline(always)]
    fn wanted(kinds: Kinds, frame: &Frame<R>) -> BitsOf<R> {
        match (kinds.captures, kinds.quiets) {
            (true, true) => R::G::FULL & !frame.own,
            (true, false) => frame.enemy,
            (false, true) => R::G::FULL & !frame.occupied,
            (false, false) => BitsOf::<R>::EMPTY,
        }
    }

    #[inline(always)]
    fn walk_king<S: Sink<R>>(&self, kinds: Kinds, frame: &Frame<R>, sink: &mut S) {
        let king = self.king(frame.us);
        if !frame.movers.has(king) {
            return;
        }
        let candidates = Self::tables().king(king) & Self::wanted(kinds, frame);
        let occupied = frame.occupied ^ BitsOf::<R>::of(king);
        let mut targets = BitsOf::<R>::EMPTY;
        for square in candidates.squares() {
            if self.beside_enemy_king(square)
                || !self.is_attacked(square, !frame.us, occupied, BitsOf::<R>::EMPTY)
            {
                targets |= BitsOf::<R>::of(square);
            }
        }
        sink.moves(king, targets & Self::not_shunned(frame, Role::King, king));
    }

    /// Atomic: kings side by side are safe, since taking the one would explode the other.
    #[inline(always)]
    fn beside_enemy_king(&self, square: u8) -> bool {
        R::ATOMIC && (Self::tables().king(square) & self.pieces(!self.turn, Role::King)).any()
    }

    /// Squares to which a piece may go without giving a check that is forbidden.
    #[inline(always)]
    fn not_shunned(frame: &Frame<R>, role: Role, from: u8) -> BitsOf<R> {
        let Some(info) = &frame.shunned else {
            return R::G::FULL;
        };
        let free = R::G::FULL & !info.squares[role.index()];
        if info.discoverers.has(from) {
            return free & Self::tables().through(info.king(), from);
        }
        free
    }

    #[inline(always)]
    fn walk_pieces<S: Sink<R>>(&self, kinds: Kinds, frame: &Frame<R>, sink: &mut S) {
        let wanted = Self::wanted(kinds, frame) & frame.evasion;
        if wanted.none() {
            return;
        }
        let own = frame.own & frame.movers;
        let free = own & !frame.pinned;
        for from in (self.role(Role::Knight) & free).squares() {
            let free = Self::not_shunned(frame, Role::Knight, from);
            sink.moves(from, Self::tables().knight(from) & wanted & free);
        }
        self.walk_sliders(Role::Bishop, own, wanted, frame, sink);
        self.walk_sliders(Role::Rook, own, wanted, frame, sink);
        self.walk_sliders(Role::Queen, own, wanted, frame, sink);
        if Self::WIDE {
            self.walk_sliders(Role::Archbishop, own, wanted, frame, sink);
            self.walk_sliders(Role::Chancellor, own, wanted, frame, sink);
        }
        if !frame.guarded {
            for from in (self.role(Role::King) & own).squares() {
                let mut targets = Self::tables().king(from) & wanted;
                if R::ATOMIC {
                    targets &= !frame.enemy;
                }
                sink.moves(from, targets);
            }
        }
    }

    #[inline(always)]
    fn walk_sliders<S: Sink<R>>(
        &self,
        role: Role,
        own: BitsOf<R>,
        wanted: BitsOf<R>,
        frame: &Frame<R>,
        sink: &mut S,
    ) {
        for from in (self.role(role) & own).squares() {
            let mut targets = Self::attacks(role, frame.us, from, frame.occupied) & wanted;
            if frame.pinned.has(from) {
                targets &= Self::tables().through(self.king(frame.us), from);
            }
            sink.moves(from, targets & Self::not_shunned(frame, role, from));
        }
    }

    #[inline(always)]
    fn walk_pawns<S: Sink<R>>(&self, kinds: Kinds, frame: &Frame<R>, sink: &mut S) {
        let pawns = self.role(Role::Pawn) & frame.own & frame.movers;
        if pawns.none() {
            return;
        }
        let free = pawns & !frame.pinned;
        self.walk_pawn_set(kinds, frame, free, frame.evasion, sink);
        for from in (pawns & frame.pinned).squares() {
            let line = Self::tables().through(self.king(frame.us), from);
            let evasion = frame.evasion & line;
            self.walk_pawn_set(kinds, frame, BitsOf::<R>::of(from), evasion, sink);
        }
        if kinds.captures
            && let Some(square) = self.en_passant()
        {
            let takers = Self::tables().pawn(!frame.us, square) & pawns;
            for from in takers.squares() {
                if self.en_passant_is_legal(from, square) {
                    sink.single(Move::en_passant(from, square));
                }
            }
        }
    }

    #[inline(always)]
    fn walk_pawn_set<S: Sink<R>>(
        &self,
        kinds: Kinds,
        frame: &Frame<R>,
        pawns: BitsOf<R>,
        evasion: BitsOf<R>,
        sink: &mut S,
    ) {
        match frame.us {
            Color::White => self.walk_pawns_of::<S, true>(kinds, frame, pawns, evasion, sink),
            Color::Black => self.walk_pawns_of::<S, false>(kinds, frame, pawns, evasion, sink),
        }
    }

    #[inline(always)]
    fn walk_pawns_of<S: Sink<R>, const WHITE: bool>(
        &self,
        kinds: Kinds,
        frame: &Frame<R>,
        pawns: BitsOf<R>,
        evasion: BitsOf<R>,
        sink: &mut S,
    ) {
        let color = if WHITE { Color::White } else { Color::Black };
        let sign: i8 = if WHITE { 1 } else { -1 };
        let files = R::G::FILES as i8;
        let last = R::G::rank(if WHITE { 7 } else { 0 });
        if kinds.captures {
            // Toward the lower files the index changes by one less upward, by one more downward.
            let targets = frame.enemy & evasion;
            let lower = R::G::forward_lower(color, pawns) & targets;
            let higher = R::G::forward_higher(color, pawns) & targets;
            sink.pawn_moves(sign * files - 1, lower & !last);
            sink.pawn_moves(sign * files + 1, higher & !last);
            if ((lower | higher) & last).any() {
                sink.promotions(sign * files - 1, lower & last);
                sink.promotions(sign * files + 1, higher & last);
            }
        }
        if kinds.quiets || kinds.promotions {
            let empty = R::G::FULL & !frame.occupied;
            let one = R::G::forward(color, pawns) & empty;
            let single = one & evasion;
            if kinds.promotions && (single & last).any() {
                sink.promotions(sign * files, single & last);
            }
            if kinds.quiets {
                sink.pawn_moves(sign * files, single & !last);
                let mut stepped = R::G::rank(if WHITE { 2 } else { 5 });
                if R::HORDE && WHITE {
                    stepped |= R::G::rank(1);
                }
                let double = R::G::forward(color, one & stepped) & empty & evasion;
                sink.pawn_moves(2 * sign * files, double);
            }
        }
    }

    #[inline(never)]
    fn walk_castling<S: Sink<R>>(&self, frame: &Frame<R>, sink: &mut S) {
        let us = frame.us;
        for lower_side in [false, true] {
            if let Some(rook) = self.castling_rook(us, lower_side)
                && frame.movers.has(self.king(us))
                && self.may_castle(us, lower_side, rook, frame.occupied)
            {
                sink.single(Move::castle(self.king(us), rook));
            }
        }
    }

    /// Whether the way is free and safe. The king's target is judged with the rook already moved.
    fn may_castle(&self, us: Color, lower_side: bool, rook: u8, occupied: BitsOf<R>) -> bool {
        let tables = Self::tables();
        let king = self.king(us);
        let (king_to, rook_to) = self.castling_targets(us, lower_side);
        let bit = BitsOf::<R>::of;
        let others = occupied & !(bit(king) | bit(rook));
        let way = tables.between(king, king_to)
            | bit(king_to)
            | tables.between(rook, rook_to)
            | bit(rook_to);
        if (way & others).any() {
            return false;
        }
        let is_safe = |square: u8, occupied: BitsOf<R>| {
            self.beside_enemy_king(square)
                || !self.is_attacked(square, !us, occupied, BitsOf::<R>::EMPTY)
        };
        let without_king = occupied ^ bit(king);
        tables
            .between(king, king_to)
            .squares()
            .all(|square| is_safe(square, without_king))
            && is_safe(king_to, others | bit(king_to) | bit(rook_to))
    }

    #[inline(always)]
    fn walk_drops<S: Sink<R>>(&self, frame: &Frame<R>, sink: &mut S) {
        let targets = R::G::FULL & !frame.occupied & frame.evasion;
        if targets.none() {
            return;
        }
        let hand = self.hands[frame.us.index()];
        if hand.has(Role::Pawn) {
            sink.drops(Role::Pawn, targets & !(R::G::FIRST_RANK | R::G::rank(7)));
        }
        let mut drop = |role: Role| {
            if hand.has(role) {
                sink.drops(role, targets);
            }
        };
        drop(Role::Knight);
        drop(Role::Bishop);
        drop(Role::Rook);
        drop(Role::Queen);
        if Self::WIDE {
            drop(Role::Archbishop);
            drop(Role::Chancellor);
        }
    }
}
