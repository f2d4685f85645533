//! What the hand-written evaluation counts. One walk serves play and tuning through [`Tally`].

use crate::rules::bits::Bits;
use crate::rules::geometry::Geometry;
use crate::rules::pos::{BitsOf, Pos};
use crate::rules::variants::Rules;
use crate::rules::{Color, Role, Variant};

/// Places of the linear terms in a table of weights.
pub mod index {
    /// Piece-square values, material included: role * 40 + rank from the own side * 5 + distance from the edge file.
    pub const PIECE_SQUARE: usize = 0;
    /// Pieces in hand, by role and how many: 8 roles, the first, second, third and later ones.
    pub const HAND: usize = 320;
    /// Safe squares reached, by role.
    pub const MOBILITY: usize = 352;
    /// Passed pawns by rank from the own side.
    pub const PASSED: usize = 360;
    /// Pawns without neighbors, doubled pawns, pawns protected by pawns, pawns beside pawns.
    pub const ISOLATED: usize = 368;
    /// Further pawns on a file.
    pub const DOUBLED: usize = 369;
    /// Pawns protected by pawns.
    pub const PROTECTED: usize = 370;
    /// Pawns with a neighbor beside them.
    pub const PHALANX: usize = 371;
    /// Two bishops.
    pub const BISHOP_PAIR: usize = 372;
    /// Rook-like pieces on files without pawns.
    pub const OPEN_FILE: usize = 373;
    /// Rook-like pieces on files without own pawns.
    pub const HALF_OPEN_FILE: usize = 374;
    /// Side to move.
    pub const TEMPO: usize = 375;
    /// Enemy pieces attacked by pawns, by their role.
    pub const PAWN_THREAT: usize = 376;
    /// Enemy pieces attacked by minor pieces, by their role.
    pub const MINOR_THREAT: usize = 384;
    /// Enemy pieces attacked and not protected, by their role.
    pub const HANGING: usize = 392;
    /// Promoted pieces by role: what they lack beside true ones.
    pub const PROMOTED: usize = 400;
    /// King's distance from the hill, or its moves to the end of the race over safe squares, 0 to 7.
    pub const GOAL: usize = 408;
    /// Checks still to give, 0 to 3.
    pub const CHECKS_LEFT: usize = 416;
    /// Space behind pawns.
    pub const SPACE: usize = 420;
    /// Number of pieces on the board (games of losing them).
    pub const COUNT: usize = 421;
    /// Squares around the enemy king on which a capture would explode it (atomic): attacked once.
    pub const BLAST: usize = 422;
    /// Length of the table.
    pub const LENGTH: usize = 424;
}

/// Places of the terms of king danger.
pub mod danger {
    /// Attackers of the king's surroundings by role.
    pub const ATTACKER: usize = 0;
    /// Attacked squares around the king.
    pub const ATTACKS: usize = 8;
    /// Squares around the king attacked and protected by the king alone.
    pub const WEAK: usize = 9;
    /// Roles that can give a check on a safe square, from the board.
    pub const SAFE_CHECK: usize = 10;
    /// Roles that can give a check on a safe square, from the hand.
    pub const SAFE_DROP: usize = 18;
    /// Roles that can be dropped with check on an unsafe square.
    pub const UNSAFE_DROP: usize = 26;
    /// Pieces the attacker holds, by role.
    pub const HELD: usize = 27;
    /// Own pawns that shelter the king, near and one further.
    pub const SHELTER_NEAR: usize = 35;
    /// Own pawns one rank further.
    pub const SHELTER_FAR: usize = 36;
    /// Empty squares around the king where something could be dropped.
    pub const HOLES: usize = 37;
    /// Pinned shields.
    pub const PINNED: usize = 38;
    /// The attacker has a queen on the board.
    pub const QUEEN: usize = 39;
    /// Always one.
    pub const ONE: usize = 40;
    /// Length of the table.
    pub const LENGTH: usize = 41;
}

/// Receives what the evaluation counts, from White's side.
pub trait Tally {
    /// A linear term occurs so many times for White (negative: for Black).
    fn add(&mut self, index: usize, count: i32);
    /// A term of the danger to `king`'s king.
    fn danger(&mut self, king: Color, index: usize, count: i32);
}

/// What one side attacks.
struct Attacks<R: Rules> {
    all: BitsOf<R>,
    twice: BitsOf<R>,
    pawns: BitsOf<R>,
    minors: BitsOf<R>,
    by_role: [BitsOf<R>; 8],
}

/// Counts everything in a position.
#[inline(always)]
pub fn walk<R: Rules, T: Tally>(pos: &Pos<R>, tally: &mut T) {
    let mut attacks = [Color::White, Color::Black].map(|color| pawn_and_king_attacks(pos, color));
    let occupied = pos.occupied();
    for color in Color::ALL {
        pieces(pos, color, occupied, &mut attacks, tally);
    }
    for color in Color::ALL {
        let sign = sign_of(color);
        threats(pos, color, &attacks, sign, tally);
        if R::is_royal(color) && R::VARIANT != Variant::RacingKings {
            king_danger(pos, color, occupied, &attacks, tally);
        }
        pawns(pos, color, sign, tally);
        goal(pos, color, sign, &attacks[(!color).index()], tally);
        if R::DROPS {
            hands(pos, color, sign, tally);
        }
    }
    tally.add(index::TEMPO, sign_of(pos.turn()));
}

#[inline(always)]
fn sign_of(color: Color) -> i32 {
    match color {
        Color::White => 1,
        Color::Black => -1,
    }
}

#[inline(always)]
fn pawn_and_king_attacks<R: Rules>(pos: &Pos<R>, color: Color) -> Attacks<R> {
    let set = pos.pieces(color, Role::Pawn);
    let lower = R::G::forward_lower(color, set);
    let higher = R::G::forward_higher(color, set);
    let pawns = lower | higher;
    let mut attacks = Attacks::<R> {
        all: pawns,
        twice: lower & higher,
        pawns,
        minors: BitsOf::<R>::EMPTY,
        by_role: [BitsOf::<R>::EMPTY; 8],
    };
    attacks.by_role[Role::Pawn.index()] = pawns;
    for king in pos.pieces(color, Role::King).squares() {
        let reach = Pos::<R>::tables().king(king);
        attacks.twice |= attacks.all & reach;
        attacks.all |= reach;
        attacks.by_role[Role::King.index()] |= reach;
    }
    attacks
}

/// Place of a square in a piece-square table: rank from the own side * 5 + distance from the edge file. In a race both
/// sides go the same way.
#[inline(always)]
#[must_use]
pub fn folded<R: Rules>(color: Color, square: u8) -> usize {
    let file = square % R::G::FILES;
    let rank = square / R::G::FILES;
    let rank = match color {
        Color::Black if R::VARIANT != Variant::RacingKings => 7 - rank,
        _ => rank,
    };
    usize::from(rank) * 5 + usize::from(file.min(R::G::FILES - 1 - file))
}

/// Calls a function for each role as a compile-time constant, so that every role gets code of its own.
macro_rules! each_role {
    ($call:ident($($argument:expr),* $(,)?)) => {
        $call::<R, T, 0>($($argument),*);
        $call::<R, T, 1>($($argument),*);
        $call::<R, T, 2>($($argument),*);
        $call::<R, T, 3>($($argument),*);
        $call::<R, T, 4>($($argument),*);
        $call::<R, T, 5>($($argument),*);
        if Pos::<R>::WIDE {
            $call::<R, T, 6>($($argument),*);
            $call::<R, T, 7>($($argument),*);
        }
    };
}

/// What the pieces of one color see.
struct View<R: Rules> {
    color: Color,
    sign: i32,
    occupied: BitsOf<R>,
    /// Occupied squares without the own queens: sliders see through them along a line.
    through: BitsOf<R>,
    reachable: BitsOf<R>,
    ring: BitsOf<R>,
}

#[inline(always)]
fn pieces<R: Rules, T: Tally>(
    pos: &Pos<R>,
    color: Color,
    occupied: BitsOf<R>,
    attacks: &mut [Attacks<R>; 2],
    tally: &mut T,
) {
    let own = pos.side(color);
    let enemy_pawns = attacks[(!color).index()].pawns;
    let view = View::<R> {
        color,
        sign: sign_of(color),
        occupied,
        through: occupied ^ pos.pieces(color, Role::Queen),
        reachable: !enemy_pawns & !(own & (pos.role(Role::Pawn) | pos.role(Role::King))),
        ring: king_ring(pos, !color),
    };
    let mine = &mut attacks[color.index()];
    each_role!(pieces_of(pos, &view, mine, tally));
    if R::DROPS {
        for square in (pos.promoted() & own).squares() {
            let role = pos.code(square) & 7;
            tally.add(index::PROMOTED + usize::from(role), view.sign);
        }
    } else if pos.pieces(color, Role::Bishop).many() {
        tally.add(index::BISHOP_PAIR, view.sign);
    }
}

#[inline(always)]
fn pieces_of<R: Rules, T: Tally, const ROLE: usize>(
    pos: &Pos<R>,
    view: &View<R>,
    mine: &mut Attacks<R>,
    tally: &mut T,
) {
    let role = Role::from_index(ROLE);
    let base = index::PIECE_SQUARE + ROLE * 40;
    let color = view.color;
    let mut found = BitsOf::<R>::EMPTY;
    for square in pos.pieces(color, role).squares() {
        tally.add(base + folded::<R>(color, square), view.sign);
        if matches!(role, Role::Pawn | Role::King) {
            continue;
        }
        let occupied = match role {
            Role::Bishop | Role::Rook => view.through,
            _ => view.occupied,
        };
        let reach = Pos::<R>::attacks(role, color, square, occupied);
        mine.twice |= mine.all & reach;
        mine.all |= reach;
        found |= reach;
        let count = (reach & view.reachable).count() as i32;
        tally.add(index::MOBILITY + ROLE, view.sign * count);
        let hits = (reach & view.ring).count() as i32;
        if hits > 0 {
            tally.danger(!color, danger::ATTACKER + ROLE, 1);
            tally.danger(!color, danger::ATTACKS, hits);
        }
        if matches!(role, Role::Rook | Role::Chancellor) {
            open_file(pos, color, square, view.sign, tally);
        }
    }
    if !matches!(role, Role::Pawn | Role::King) {
        mine.by_role[ROLE] = found;
        if matches!(role, Role::Knight | Role::Bishop) {
            mine.minors |= found;
        }
    }
}

#[inline(always)]
fn open_file<R: Rules, T: Tally>(pos: &Pos<R>, color: Color, square: u8, sign: i32, tally: &mut T) {
    let file = R::G::file(square % R::G::FILES);
    let pawns = pos.role(Role::Pawn) & file;
    if (pawns & pos.side(color)).none() {
        if pawns.none() {
            tally.add(index::OPEN_FILE, sign);
        } else {
            tally.add(index::HALF_OPEN_FILE, sign);
        }
    }
}

/// The king's square and those around it; empty where there is no king to attack.
#[inline(always)]
fn king_ring<R: Rules>(pos: &Pos<R>, color: Color) -> BitsOf<R> {
    if !R::is_royal(color) {
        return BitsOf::<R>::EMPTY;
    }
    let set = pos.pieces(color, Role::King);
    if set.none() {
        return set;
    }
    set | Pos::<R>::tables().king(set.lsb())
}

#[inline(always)]
fn threats<R: Rules, T: Tally>(
    pos: &Pos<R>,
    color: Color,
    attacks: &[Attacks<R>; 2],
    sign: i32,
    tally: &mut T,
) {
    let mine = &attacks[color.index()];
    let theirs = &attacks[(!color).index()];
    let enemy = pos.side(!color) & mine.all;
    if enemy.none() {
        return;
    }
    let loose = enemy & !theirs.all;
    each_role!(threats_to(pos, enemy, loose, mine, sign, tally));
    if R::ATOMIC {
        let ring = king_ring(pos, !color) & enemy;
        tally.add(index::BLAST, sign * ring.count() as i32);
    }
}

#[inline(always)]
fn threats_to<R: Rules, T: Tally, const ROLE: usize>(
    pos: &Pos<R>,
    enemy: BitsOf<R>,
    loose: BitsOf<R>,
    mine: &Attacks<R>,
    sign: i32,
    tally: &mut T,
) {
    let role = Role::from_index(ROLE);
    if role == Role::King && R::ROYAL {
        return;
    }
    let set = pos.role(role) & enemy;
    if set.none() {
        return;
    }
    let by_pawns = (set & mine.pawns).count() as i32;
    tally.add(index::PAWN_THREAT + ROLE, sign * by_pawns);
    let by_minors = (set & mine.minors).count() as i32;
    tally.add(index::MINOR_THREAT + ROLE, sign * by_minors);
    let hanging = (set & loose).count() as i32;
    tally.add(index::HANGING + ROLE, sign * hanging);
}

#[inline(always)]
fn king_danger<R: Rules, T: Tally>(
    pos: &Pos<R>,
    color: Color,
    occupied: BitsOf<R>,
    attacks: &[Attacks<R>; 2],
    tally: &mut T,
) {
    let set = pos.pieces(color, Role::King);
    if set.none() {
        return;
    }
    let king = set.lsb();
    let tables = Pos::<R>::tables();
    let theirs = &attacks[(!color).index()];
    let mine = &attacks[color.index()];
    let near = tables.king(king);
    let king_alone = !mine.twice & mine.by_role[Role::King.index()];
    let weak = theirs.all & (king_alone | !mine.all);
    tally.danger(color, danger::WEAK, (weak & near).count() as i32);

    let straight = tables.rook(king, occupied);
    let diagonal = tables.bishop(king, occupied);
    let leap = tables.knight(king);
    let checks = Checks::<R> {
        king: color,
        straight,
        diagonal,
        leap,
        pawn: tables.pawn(color, king),
        occupied,
        safe: !pos.side(!color) & (!mine.all | (weak & theirs.twice)),
        // A dropped piece adds its own attacker, so one protector is enough where only the king defends.
        safe_drop: R::G::FULL & !occupied & (!mine.all | (king_alone & theirs.all)),
    };
    each_role!(checks_of(pos, &checks, theirs, tally));
    if R::DROPS {
        let holes = (near & !occupied).count() as i32;
        tally.danger(color, danger::HOLES, holes);
    }
    let shield = pos.pieces(color, Role::Pawn);
    let front = R::G::forward(color, set | (near & R::G::rank(king / R::G::FILES)));
    let further = R::G::forward(color, front);
    tally.danger(color, danger::SHELTER_NEAR, (shield & front).count() as i32);
    tally.danger(
        color,
        danger::SHELTER_FAR,
        (shield & further).count() as i32,
    );
    if pos.pieces(!color, Role::Queen).any() {
        tally.danger(color, danger::QUEEN, 1);
    }
    if pos.turn() == color && pos.pinned().any() {
        tally.danger(color, danger::PINNED, pos.pinned().count() as i32);
    }
    tally.danger(color, danger::ONE, 1);
}

/// Where checks to a king can come from.
struct Checks<R: Rules> {
    king: Color,
    straight: BitsOf<R>,
    diagonal: BitsOf<R>,
    leap: BitsOf<R>,
    pawn: BitsOf<R>,
    occupied: BitsOf<R>,
    safe: BitsOf<R>,
    safe_drop: BitsOf<R>,
}

#[inline(always)]
fn checks_of<R: Rules, T: Tally, const ROLE: usize>(
    pos: &Pos<R>,
    checks: &Checks<R>,
    theirs: &Attacks<R>,
    tally: &mut T,
) {
    let role = Role::from_index(ROLE);
    let mut squares = match role {
        Role::Pawn => checks.pawn,
        Role::Knight => checks.leap,
        Role::Bishop => checks.diagonal,
        Role::Rook => checks.straight,
        Role::Queen => checks.straight | checks.diagonal,
        Role::King => return,
        Role::Archbishop => checks.diagonal | checks.leap,
        Role::Chancellor => checks.straight | checks.leap,
    };
    if role != Role::Pawn && (theirs.by_role[ROLE] & squares & checks.safe).any() {
        tally.danger(checks.king, danger::SAFE_CHECK + ROLE, 1);
    }
    if !R::DROPS {
        return;
    }
    let hand = pos.hand(!checks.king);
    if hand.has(role) {
        let count = i32::from(hand.count(role)).min(3);
        tally.danger(checks.king, danger::HELD + ROLE, count);
        if role == Role::Pawn {
            squares &= !(R::G::FIRST_RANK | R::G::rank(7));
        }
        if (squares & checks.safe_drop).any() {
            tally.danger(checks.king, danger::SAFE_DROP + ROLE, 1);
        } else if (squares & !checks.occupied).any() {
            tally.danger(checks.king, danger::UNSAFE_DROP, 1);
        }
    }
}

#[inline(always)]
fn pawns<R: Rules, T: Tally>(pos: &Pos<R>, color: Color, sign: i32, tally: &mut T) {
    let own = pos.pieces(color, Role::Pawn);
    if own.none() {
        return;
    }
    let enemy = pos.pieces(!color, Role::Pawn);
    let protected = own & R::G::pawn_attacks(color, own);
    tally.add(index::PROTECTED, sign * protected.count() as i32);
    let lower = (own & !R::G::FIRST_FILE).down(1);
    tally.add(index::PHALANX, sign * (own & lower).count() as i32);
    let front = fill(own, color, R::G::FILES);
    let doubled = own & R::G::forward(color, front);
    tally.add(index::DOUBLED, sign * doubled.count() as i32);
    let files = front | fill(own, !color, R::G::FILES);
    let beside =
        ((files & !R::G::FIRST_FILE).down(1)) | ((files & !R::G::file(R::G::FILES - 1)).up(1));
    let isolated = own & !beside;
    tally.add(index::ISOLATED, sign * isolated.count() as i32);
    // The enemy's pawns guard the squares they could ever attack or stand on.
    let enemy_front = fill(enemy, !color, R::G::FILES);
    let guarded = enemy_front | fill(R::G::pawn_attacks(!color, enemy), !color, R::G::FILES);
    let passed = own & !guarded & !doubled;
    for square in passed.squares() {
        let rank = square / R::G::FILES;
        let rank = match color {
            Color::White => rank,
            Color::Black => 7 - rank,
        };
        tally.add(index::PASSED + usize::from(rank), sign);
    }
}

/// The squares and all ahead of them on their files.
#[inline(always)]
fn fill<B: Bits>(set: B, color: Color, files: u8) -> B {
    let n = u32::from(files);
    match color {
        Color::White => {
            let mut s = set | set.up(n);
            s |= s.up(2 * n);
            s | s.up(4 * n)
        }
        Color::Black => {
            let mut s = set | set.down(n);
            s |= s.down(2 * n);
            s | s.down(4 * n)
        }
    }
}

#[inline(always)]
fn hands<R: Rules, T: Tally>(pos: &Pos<R>, color: Color, sign: i32, tally: &mut T) {
    if pos.hand(color).is_empty() {
        return;
    }
    each_role!(hand_of(pos, color, sign, tally));
}

#[inline(always)]
fn hand_of<R: Rules, T: Tally, const ROLE: usize>(
    pos: &Pos<R>,
    color: Color,
    sign: i32,
    tally: &mut T,
) {
    let count = i32::from(pos.hand(color).count(Role::from_index(ROLE)));
    if count == 0 {
        return;
    }
    let base = index::HAND + ROLE * 4;
    tally.add(base, sign);
    if count > 1 {
        tally.add(base + 1, sign);
    }
    if count > 2 {
        tally.add(base + 2, sign);
    }
    if count > 3 {
        tally.add(base + 3, sign * (count - 3));
    }
}

#[inline(always)]
fn goal<R: Rules, T: Tally>(
    pos: &Pos<R>,
    color: Color,
    sign: i32,
    theirs: &Attacks<R>,
    tally: &mut T,
) {
    match R::VARIANT {
        Variant::KingOfTheHill => {
            let king = pos.king(color);
            let off = |at: u8| i32::from(if at < 4 { 3 - at } else { at - 4 });
            let distance = off(king % 8).max(off(king / 8));
            tally.add(index::GOAL + distance as usize, sign);
        }
        Variant::RacingKings => {
            tally.add(index::GOAL + steps_to_last_rank(pos, color, theirs), sign);
        }
        Variant::ThreeCheck => {
            let left = usize::from(pos.checks_left(color).min(3));
            tally.add(index::CHECKS_LEFT + left, sign);
        }
        Variant::Antichess | Variant::Suicide | Variant::Losers => {
            tally.add(index::COUNT, sign * pos.side(color).count() as i32);
        }
        _ => {}
    }
}

/// Moves that the king needs to the last rank over squares that are free of its own pieces and not attacked now; 7 if it
/// is further or there is no way.
#[inline(always)]
fn steps_to_last_rank<R: Rules>(pos: &Pos<R>, color: Color, theirs: &Attacks<R>) -> usize {
    let goal = R::G::rank(7);
    let free = R::G::FULL & !pos.side(color) & !theirs.all;
    let mut reached = pos.pieces(color, Role::King);
    for steps in 0..7 {
        if (reached & goal).any() {
            return steps;
        }
        let next = reached | (around::<R::G>(reached) & free);
        if next == reached {
            break;
        }
        reached = next;
    }
    7
}

/// The squares and all beside them, diagonally too.
#[inline(always)]
fn around<G: Geometry>(set: G::Bits) -> G::Bits {
    let lower = (set & !G::FIRST_FILE).down(1);
    let higher = (set & !G::file(G::FILES - 1)).up(1);
    let row = set | lower | higher;
    row | G::forward(Color::White, row) | G::forward(Color::Black, row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{AnyPos, CastlingMode, Position};

    /// Counts of the goal's terms, White's less Black's.
    struct Goals([i32; 8]);

    impl Tally for Goals {
        fn add(&mut self, index: usize, count: i32) {
            if let Some(steps) = index.checked_sub(index::GOAL)
                && let Some(slot) = self.0.get_mut(steps)
            {
                *slot += count;
            }
        }

        fn danger(&mut self, _king: Color, _index: usize, _count: i32) {}
    }

    #[test]
    fn a_race_is_measured_along_safe_squares() {
        for (fen, white, black) in [
            ("8/8/8/K6k/8/8/8/8 w - - 0 1", 3, 3),
            // Through the rank of a lone rook it goes by taking it; where another one guards that, there is no way.
            ("8/4r3/8/K6k/8/8/8/8 w - - 0 1", 5, 3),
            ("8/4r3/8/K6k/8/8/8/4r3 w - - 0 1", 7, 3),
            ("7K/8/8/8/7k/8/8/8 b - - 0 1", 0, 4),
        ] {
            let position =
                Position::from_fen(Variant::RacingKings, CastlingMode::Standard, fen).unwrap();
            let AnyPos::RacingKings(pos) = position.any() else {
                panic!("it is racing kings");
            };
            let mut goals = Goals([0; 8]);
            walk(pos, &mut goals);
            let mut expected = [0; 8];
            expected[white] += 1;
            expected[black] -= 1;
            assert_eq!(goals.0, expected, "{fen}");
        }
    }
}
