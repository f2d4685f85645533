//! What a network sees of a position: the layout of its inputs, and how they change from one position to another.
//!
//! Every input is seen twice, once from each side: pieces are "own" or "enemy", and for Black the board is turned upside
//! down. An input is 0 or 1. In this order:
//!
//! | inputs | meaning |
//! |---|---|
//! | 2 x roles x squares | a piece of that side and role stands there |
//! | 2 x squares (drop games) | the piece of that side there is a promoted one; in addition to the piece itself |
//! | 2 x [`hand_slots`] (drop games) | that side holds at least 1, 2, 3 ... pieces of a role, up to [`HAND_CAP`] |
//! | 2 x 2 (games with castling) | that side may castle toward the higher, the lower files |
//! | 2 x checks to win (three-check) | that side has given at least 1, 2, 3 checks |
//!
//! The difference of two positions is found from their sets of squares, so that any move of any variant is covered, and
//! several moves at once.

use std::marker::PhantomData;

use crate::rules::bits::Bits;
use crate::rules::geometry::Geometry;
use crate::rules::pos::Pos;
use crate::rules::variants::Rules;
use crate::rules::{Color, Hand, Role};

/// Number of layouts of weights behind the hidden layer, chosen by how far the game has gone.
pub const OUTPUT_BUCKETS: usize = 8;

/// Changes with every change of what an input means; a net of another layout is refused.
pub const LAYOUT_VERSION: u16 = 1;

/// Pieces of a role in hand, beyond which more make no difference.
pub const HAND_CAP: [u8; 8] = [10, 4, 4, 4, 3, 0, 3, 3];

/// Start of a role's slots among those of one hand.
const HAND_START: [u16; 8] = {
    let mut starts = [0; 8];
    let mut role = 1;
    while role < 8 {
        starts[role] = starts[role - 1] + HAND_CAP[role - 1] as u16;
        role += 1;
    }
    starts
};

/// Slots of one hand: the last two roles exist on ten files only.
#[must_use]
pub const fn hand_slots(roles: usize) -> usize {
    let last = roles - 1;
    HAND_START[last] as usize + HAND_CAP[last] as usize
}

/// The layout for the rules `R`.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<R: Rules>(PhantomData<R>);

impl<R: Rules> Inputs<R> {
    /// Roles on this board.
    pub const ROLES: usize = if R::G::FILES == 10 { 8 } else { 6 };
    /// Squares.
    pub const SQUARES: usize = R::G::SQUARES;
    /// Slots of one hand.
    pub const HAND: usize = if R::DROPS { hand_slots(Self::ROLES) } else { 0 };
    /// First input for promoted pieces.
    pub const MARKS_AT: usize = 2 * Self::ROLES * Self::SQUARES;
    /// First input for hands.
    pub const HANDS_AT: usize = Self::MARKS_AT + if R::DROPS { 2 * Self::SQUARES } else { 0 };
    /// First input for castling rights.
    pub const CASTLING_AT: usize = Self::HANDS_AT + 2 * Self::HAND;
    /// First input for checks given.
    pub const CHECKS_AT: usize = Self::CASTLING_AT + if R::CASTLING { 4 } else { 0 };
    /// Number of inputs.
    pub const COUNT: usize = Self::CHECKS_AT + 2 * R::CHECKS_TO_WIN as usize;

    #[inline(always)]
    fn turned(view: Color, square: u8) -> u16 {
        match view {
            Color::White => u16::from(square),
            Color::Black if Self::SQUARES == 64 => u16::from(square ^ 56),
            Color::Black => {
                let files = R::G::FILES;
                u16::from((7 - square / files) * files + square % files)
            }
        }
    }

    #[inline(always)]
    fn piece(view: Color, code: u8, square: u8) -> u16 {
        let side = u16::from(code >> 3) ^ view as u16;
        let plane = side * Self::ROLES as u16 + u16::from(code & 7);
        plane * Self::SQUARES as u16 + Self::turned(view, square)
    }

    #[inline(always)]
    fn mark(view: Color, code: u8, square: u8) -> u16 {
        let side = u16::from(code >> 3) ^ view as u16;
        (Self::MARKS_AT as u16) + side * Self::SQUARES as u16 + Self::turned(view, square)
    }

    #[inline(always)]
    fn held(view: Color, owner: Color, role: Role, nth: u8) -> u16 {
        let side = owner as u16 ^ view as u16;
        (Self::HANDS_AT as u16)
            + side * Self::HAND as u16
            + HAND_START[role.index()]
            + u16::from(nth)
    }

    #[inline(always)]
    fn castling(view: Color, owner: Color, lower_side: bool) -> u16 {
        (Self::CASTLING_AT as u16) + 2 * (owner as u16 ^ view as u16) + u16::from(lower_side)
    }

    #[inline(always)]
    fn check(view: Color, giver: Color, nth: u8) -> u16 {
        (Self::CHECKS_AT as u16)
            + u16::from(R::CHECKS_TO_WIN) * (giver as u16 ^ view as u16)
            + u16::from(nth)
    }

    /// Which set of output weights is for a position: in drop games by the pieces in hand, else by those on the board.
    #[inline(always)]
    #[must_use]
    pub fn output_bucket(pos: &Pos<R>) -> usize {
        if R::DROPS {
            const BY_HAND: [u8; 16] = [0, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 6, 7, 7, 7, 7];
            let held = pos.hand(Color::White).total() + pos.hand(Color::Black).total();
            BY_HAND[held.min(15) as usize] as usize
        } else {
            let full = if R::G::FILES == 10 { 40 } else { 32 };
            let others = pos.occupied().count().saturating_sub(1) as usize;
            (others * OUTPUT_BUCKETS / full).min(OUTPUT_BUCKETS - 1)
        }
    }

    /// Which set of input weights is for a side's view of a position, with `n` sets by the place of its king.
    #[inline(always)]
    #[must_use]
    pub fn king_bucket(pos: &Pos<R>, view: Color, n: usize) -> usize {
        if n <= 1 || pos.pieces(view, Role::King).none() {
            return 0;
        }
        let square = Self::turned(view, pos.king(view)) as usize;
        let files = R::G::FILES as usize;
        match square / files {
            0 => usize::from(square % files * 2 >= files),
            1 => 2,
            _ => 3,
        }
    }

    /// The inputs of a position, as those to add to nothing.
    pub fn list(pos: &Pos<R>, changes: &mut Changes) {
        changes.clear();
        for square in pos.occupied().squares() {
            let code = pos.code(square);
            changes.add(|view| Self::piece(view, code, square));
            if R::DROPS && pos.promoted().has(square) {
                changes.add(|view| Self::mark(view, code, square));
            }
        }
        Self::compare_rest(None, pos, changes);
    }

    /// What has to be added and removed to come from one position to another.
    #[inline]
    pub fn compare(from: &Pos<R>, to: &Pos<R>, changes: &mut Changes) {
        changes.clear();
        let side = |color| from.side(color) ^ to.side(color);
        let mut touched = side(Color::White) | side(Color::Black);
        for &role in &Role::ALL[..Self::ROLES] {
            touched |= from.role(role) ^ to.role(role);
        }
        if R::DROPS {
            touched |= from.promoted() ^ to.promoted();
        }
        for square in touched.squares() {
            let (before, after) = (from.code(square), to.code(square));
            if before != after {
                if before < 16 {
                    changes.remove(|view| Self::piece(view, before, square));
                }
                if after < 16 {
                    changes.add(|view| Self::piece(view, after, square));
                }
            }
            if R::DROPS {
                if from.promoted().has(square) {
                    changes.remove(|view| Self::mark(view, before, square));
                }
                if to.promoted().has(square) {
                    changes.add(|view| Self::mark(view, after, square));
                }
            }
        }
        Self::compare_rest(Some(from), to, changes);
    }

    /// Hands, rights and checks; `None` has none of them.
    #[inline(always)]
    fn compare_rest(from: Option<&Pos<R>>, to: &Pos<R>, changes: &mut Changes) {
        for owner in Color::ALL {
            if R::DROPS {
                let before = from.map_or(Hand(0), |pos| pos.hand(owner));
                let after = to.hand(owner);
                if before != after {
                    Self::compare_hands(owner, before, after, changes);
                }
            }
            if R::CASTLING {
                for lower_side in [false, true] {
                    let before =
                        from.is_some_and(|pos| pos.castling_rook(owner, lower_side).is_some());
                    let after = to.castling_rook(owner, lower_side).is_some();
                    if before != after {
                        changes.put(after, |view| Self::castling(view, owner, lower_side));
                    }
                }
            }
            if R::CHECKS_TO_WIN > 0 {
                let given = |pos: &Pos<R>| R::CHECKS_TO_WIN.saturating_sub(pos.checks_left(owner));
                let (before, after) = (from.map_or(0, given), given(to));
                for nth in before.min(after)..before.max(after) {
                    changes.put(after > before, |view| Self::check(view, owner, nth));
                }
            }
        }
    }

    #[inline]
    fn compare_hands(owner: Color, before: Hand, after: Hand, changes: &mut Changes) {
        for &role in &Role::ALL[..Self::ROLES] {
            let cap = HAND_CAP[role.index()];
            let (was, is) = (before.count(role).min(cap), after.count(role).min(cap));
            for nth in was.min(is)..was.max(is) {
                changes.put(is > was, |view| Self::held(view, owner, role, nth));
            }
        }
    }

    /// For every input as White sees it, the same as Black sees it.
    #[must_use]
    pub fn other_view() -> Vec<u16> {
        let mut table = vec![0; Self::COUNT];
        let mut put = |index: &dyn Fn(Color) -> u16| {
            table[index(Color::White) as usize] = index(Color::Black);
        };
        for owner in Color::ALL {
            for square in 0..Self::SQUARES as u8 {
                for role in 0..Self::ROLES as u8 {
                    put(&|view| Self::piece(view, (owner as u8) << 3 | role, square));
                }
                if R::DROPS {
                    put(&|view| Self::mark(view, (owner as u8) << 3, square));
                }
            }
            for role in Role::ALL {
                if R::DROPS && role.index() < Self::ROLES {
                    for nth in 0..HAND_CAP[role.index()] {
                        put(&|view| Self::held(view, owner, role, nth));
                    }
                }
            }
            if R::CASTLING {
                put(&|view| Self::castling(view, owner, false));
                put(&|view| Self::castling(view, owner, true));
            }
            for nth in 0..R::CHECKS_TO_WIN {
                put(&|view| Self::check(view, owner, nth));
            }
        }
        table
    }

    /// Greatest sum of `weight` over the inputs that can be 1 at once, whatever the position. Never below 0.
    #[must_use]
    pub fn greatest_sum(weight: impl Fn(usize) -> i64) -> i64 {
        let squares = Self::SQUARES;
        let mut sum = 0;
        for square in 0..squares {
            let mut best = 0;
            for side in 0..2 {
                let mark = if R::DROPS {
                    weight(Self::MARKS_AT + side * squares + square).max(0)
                } else {
                    0
                };
                for role in 0..Self::ROLES {
                    let plane = side * Self::ROLES + role;
                    best = best.max(weight(plane * squares + square) + mark);
                }
            }
            sum += best;
        }
        // Of a row of "at least so many" inputs the first few are set, up to any of them.
        let row = |start: usize, length: usize| {
            let mut total = 0;
            (start..start + length).fold(0, |best: i64, index| {
                total += weight(index);
                best.max(total)
            })
        };
        for side in 0..2 {
            for role in 0..Self::ROLES {
                if R::DROPS {
                    let start = Self::HANDS_AT + side * Self::HAND + HAND_START[role] as usize;
                    sum += row(start, HAND_CAP[role] as usize);
                }
            }
            let checks = R::CHECKS_TO_WIN as usize;
            sum += row(Self::CHECKS_AT + side * checks, checks);
        }
        for index in Self::CASTLING_AT..Self::CHECKS_AT {
            sum += weight(index).max(0);
        }
        sum
    }
}

const CAPACITY: usize = 256;

/// A list of inputs of bounded length. No position has more: 80 pieces and marks, 62 slots of hands, 10 others.
#[derive(Clone, Debug)]
struct List {
    n: usize,
    items: [u16; CAPACITY],
}

impl List {
    const EMPTY: Self = Self {
        n: 0,
        items: [0; CAPACITY],
    };

    #[inline(always)]
    fn push(&mut self, item: u16) {
        self.items[self.n] = item;
        self.n += 1;
    }

    #[inline(always)]
    fn slice(&self) -> &[u16] {
        &self.items[..self.n]
    }
}

/// Inputs that become 1 and inputs that become 0, in both views.
#[derive(Clone, Debug)]
pub struct Changes {
    added: [List; 2],
    removed: [List; 2],
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            added: [List::EMPTY; 2],
            removed: [List::EMPTY; 2],
        }
    }
}

impl Changes {
    #[inline(always)]
    fn clear(&mut self) {
        for list in self.added.iter_mut().chain(&mut self.removed) {
            list.n = 0;
        }
    }

    #[inline(always)]
    fn add(&mut self, index: impl Fn(Color) -> u16) {
        self.added[0].push(index(Color::White));
        self.added[1].push(index(Color::Black));
    }

    #[inline(always)]
    fn remove(&mut self, index: impl Fn(Color) -> u16) {
        self.removed[0].push(index(Color::White));
        self.removed[1].push(index(Color::Black));
    }

    #[inline(always)]
    fn put(&mut self, is_added: bool, index: impl Fn(Color) -> u16) {
        if is_added {
            self.add(index);
        } else {
            self.remove(index);
        }
    }

    /// Inputs that become 1, in a side's view.
    #[inline(always)]
    #[must_use]
    pub fn added(&self, view: Color) -> &[u16] {
        self.added[view.index()].slice()
    }

    /// Inputs that become 0, in a side's view.
    #[inline(always)]
    #[must_use]
    pub fn removed(&self, view: Color) -> &[u16] {
        self.removed[view.index()].slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Position, Variant};
    use crate::{with_pos, with_variants};
    use std::collections::BTreeSet;

    fn set<R: Rules>(pos: &Pos<R>, view: Color) -> BTreeSet<u16> {
        let mut changes = Changes::default();
        Inputs::<R>::list(pos, &mut changes);
        let inputs: BTreeSet<u16> = changes.added(view).iter().copied().collect();
        assert_eq!(inputs.len(), changes.added(view).len(), "an input twice");
        assert!(changes.removed(view).is_empty());
        inputs
    }

    fn check_game<R: Rules>(start: &Pos<R>, seed: u64) {
        let mut state = seed;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as usize
        };
        let other_view = Inputs::<R>::other_view();
        let mut line = vec![*start];
        for _ in 0..120 {
            let mut pos = *line.last().expect("the start is there");
            let mut moves = crate::rules::MoveList::new();
            pos.legal_moves(&mut moves);
            if moves.is_empty() {
                break;
            }
            pos.play(moves[next() % moves.len()]);
            line.push(pos);
            // From any of the last positions, not only from the parent.
            let from = line[line.len() - 1 - (1 + next() % 4).min(line.len() - 1)];
            let mut changes = Changes::default();
            Inputs::<R>::compare(&from, &pos, &mut changes);
            for view in Color::ALL {
                let mut inputs = set(&from, view);
                for index in changes.removed(view) {
                    assert!(inputs.remove(index), "{index} was not there");
                }
                for &index in changes.added(view) {
                    assert!(inputs.insert(index), "{index} was there already");
                }
                assert_eq!(inputs, set(&pos, view));
                assert!(inputs.iter().all(|&i| (i as usize) < Inputs::<R>::COUNT));
            }
            let turned: BTreeSet<u16> = set(&pos, Color::White)
                .iter()
                .map(|&index| other_view[index as usize])
                .collect();
            assert_eq!(turned, set(&pos, Color::Black));
            assert!(Inputs::<R>::output_bucket(&pos) < OUTPUT_BUCKETS);
            assert!(Inputs::<R>::king_bucket(&pos, Color::Black, 4) < 4);
        }
    }

    #[test]
    fn differences_lead_from_one_position_to_another_in_every_variant() {
        for variant in Variant::ALL {
            for seed in 1..=12 {
                let start = Position::start(variant);
                with_pos!(start.any(), pos => check_game(pos, seed * 0x9E37_79B9));
            }
        }
    }

    macro_rules! for_all {
        ($($name:ident),* $(,)?) => {
            #[test]
            fn the_other_view_is_a_swap_without_rest() {
                $({
                    type I = Inputs<crate::rules::variants::$name>;
                    let table = I::other_view();
                    for (index, &other) in table.iter().enumerate() {
                        assert_eq!(table[other as usize] as usize, index, stringify!($name));
                    }
                })*
            }
        };
    }
    with_variants!(for_all);

    #[test]
    fn counts_of_inputs() {
        use crate::rules::variants::{Capablanca, Capahouse, Chess, Crazyhouse, ThreeCheck};
        assert_eq!(Inputs::<Chess>::COUNT, 768 + 4);
        assert_eq!(Inputs::<Crazyhouse>::COUNT, 768 + 128 + 50 + 4);
        assert_eq!(Inputs::<Capablanca>::COUNT, 1280 + 4);
        assert_eq!(Inputs::<Capahouse>::COUNT, 1280 + 160 + 62 + 4);
        assert_eq!(Inputs::<ThreeCheck>::COUNT, 768 + 4 + 6);
    }

    #[test]
    fn the_greatest_sum_is_reached_by_no_more_than_one_piece_a_square() {
        use crate::rules::variants::{Chess, Crazyhouse};
        assert_eq!(Inputs::<Chess>::greatest_sum(|_| 1), 64 + 4);
        // A promoted piece counts twice; all slots of both hands are full.
        assert_eq!(Inputs::<Crazyhouse>::greatest_sum(|_| 1), 128 + 50 + 4);
        assert_eq!(Inputs::<Crazyhouse>::greatest_sum(|_| -1), 0);
    }
}
