//! What the counted terms are worth, one table per variant.
//!
//! Units are the search's: a hundredth of a pawn in the middle of a game of chess. In drop games values are compressed,
//! since what is captured comes back: a capture is worth the piece twice (see [`super::values`]).

use super::features::{danger, index};
use crate::rules::{Role, Variant};
use std::sync::LazyLock;

/// Weights of one variant.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Linear terms: value in the middle game and in the endgame. Drop games know no endgame and use the first alone.
    pub linear: [(i16, i16); index::LENGTH],
    /// Terms of king danger.
    pub danger: [i16; danger::LENGTH],
    /// Phase of the full start position, in units of [`PHASE`].
    pub full_phase: i32,
}

/// What each role adds to the game's phase.
pub const PHASE: [i32; 8] = [0, 1, 1, 2, 4, 0, 3, 3];

/// Values of roles (middle game, endgame) before anything else is known.
const fn material(variant: Variant) -> [(i16, i16); 8] {
    match variant {
        Variant::Crazyhouse => [
            (72, 90),
            (212, 250),
            (214, 248),
            (300, 330),
            (430, 470),
            (0, 0),
            (0, 0),
            (0, 0),
        ],
        Variant::Capahouse => [
            (66, 80),
            (180, 210),
            (200, 230),
            (285, 310),
            (470, 500),
            (0, 0),
            (400, 430),
            (440, 460),
        ],
        Variant::Capablanca => [
            (85, 105),
            (300, 290),
            (330, 330),
            (470, 530),
            (950, 1000),
            (0, 0),
            (790, 800),
            (830, 880),
        ],
        Variant::Antichess | Variant::Suicide => [
            (-50, -75),
            (-75, 90),
            (-125, 60),
            (-220, 25),
            (-60, -100),
            (-80, 80),
            (0, 0),
            (0, 0),
        ],
        Variant::Losers => [
            (-20, -40),
            (-15, 40),
            (-40, 10),
            (-70, 0),
            (-80, -40),
            (0, 0),
            (0, 0),
            (0, 0),
        ],
        Variant::Atomic => [
            (115, 150),
            (205, 240),
            (230, 240),
            (390, 400),
            (720, 800),
            (0, 0),
            (0, 0),
            (0, 0),
        ],
        Variant::Horde => [
            (100, 90),
            (300, 240),
            (310, 250),
            (470, 480),
            (900, 850),
            (0, 0),
            (0, 0),
            (0, 0),
        ],
        Variant::RacingKings => [
            (0, 0),
            (320, 330),
            (340, 360),
            (480, 520),
            (900, 950),
            (0, 0),
            (0, 0),
            (0, 0),
        ],
        _ => [
            (84, 110),
            (330, 300),
            (350, 320),
            (470, 540),
            (980, 1000),
            (0, 0),
            (0, 0),
            (0, 0),
        ],
    }
}

/// Value of the first, second, third and each further piece of a role in hand.
const fn hand(variant: Variant) -> [[i16; 4]; 8] {
    match variant {
        Variant::Crazyhouse => [
            [100, 90, 80, 50],
            [244, 230, 220, 200],
            [222, 212, 200, 190],
            [306, 296, 280, 260],
            [450, 430, 420, 400],
            [0; 4],
            [0; 4],
            [0; 4],
        ],
        Variant::Capahouse => [
            [90, 80, 70, 40],
            [210, 200, 190, 170],
            [212, 202, 190, 180],
            [295, 285, 270, 250],
            [490, 470, 450, 430],
            [0; 4],
            [440, 420, 400, 380],
            [465, 445, 425, 405],
        ],
        _ => [[0; 4]; 8],
    }
}

/// Bonus of a square for a role, from the own side: (middle game, endgame).
fn square_bonus(variant: Variant, role: Role, rank: i16, edge: i16) -> (i16, i16) {
    // 0 on the edge ranks, 3 on the middle ones; the same for files, up to 4 on ten.
    let rank_center = rank.min(7 - rank);
    let center = rank_center + edge.min(3);
    let wide = variant.files() == 10;
    let drops = variant.has_drops();
    let (mg, eg) = match role {
        Role::Pawn => {
            let advance = [0, 0, 3, 8, 16, 26, 40, 0][rank as usize];
            let in_center = if edge >= 3 && (2..=4).contains(&rank) {
                10
            } else {
                0
            };
            (advance / 2 + in_center, advance)
        }
        Role::Knight => (
            -30 + 9 * center + if rank == 0 { -8 } else { 0 },
            -24 + 7 * center,
        ),
        Role::Bishop => (
            -14 + 4 * center + if rank == 0 { -6 } else { 0 },
            -10 + 3 * center,
        ),
        Role::Rook => (
            -4 + 2 * edge + if rank == 6 { 14 } else { 0 },
            if rank == 6 { 10 } else { 0 },
        ),
        Role::Queen => (-6 + 2 * center, -15 + 5 * center),
        Role::Archbishop => (
            -16 + 5 * center + if rank == 0 { -4 } else { 0 },
            -12 + 4 * center,
        ),
        Role::Chancellor => (-8 + 2 * center, -10 + 3 * center),
        Role::King => {
            let wing = if wide { 4 - edge } else { 3 - edge };
            let home = if rank == 0 { 20 } else { -12 * rank.min(4) };
            (home + 9 * wing, -24 + 8 * center)
        }
    };
    match variant {
        Variant::Antichess | Variant::Suicide | Variant::Losers => (mg / 4, eg / 4),
        Variant::RacingKings if role == Role::King => (0, 0),
        Variant::KingOfTheHill if role == Role::King => (mg / 2, eg),
        _ if drops && role != Role::King => (mg * 3 / 4, mg * 3 / 4),
        _ => (mg, eg),
    }
}

fn both(value: i16) -> (i16, i16) {
    (value, value)
}

impl Weights {
    /// The starting values of a variant, before any tuning.
    #[must_use]
    pub fn initial(variant: Variant) -> Self {
        let mut weights = Self {
            linear: [(0, 0); index::LENGTH],
            danger: [0; danger::LENGTH],
            full_phase: if variant.files() == 10 { 36 } else { 24 },
        };
        weights.set_squares(variant);
        weights.set_pieces(variant);
        weights.set_pawns(variant);
        weights.set_goals(variant);
        weights.set_danger(variant);
        weights
    }

    fn set_squares(&mut self, variant: Variant) {
        let material = material(variant);
        for role in Role::ALL {
            for slot in 0..40_i16 {
                let (mg, eg) = square_bonus(variant, role, slot / 5, slot % 5);
                let (base_mg, base_eg) = material[role.index()];
                let place = index::PIECE_SQUARE + role.index() * 40 + slot as usize;
                self.linear[place] = (base_mg + mg, base_eg + eg);
            }
        }
    }

    fn set_pieces(&mut self, variant: Variant) {
        let drops = variant.has_drops();
        let losing = matches!(
            variant,
            Variant::Antichess | Variant::Suicide | Variant::Losers
        );
        let material = material(variant);
        let hand = hand(variant);
        for role in Role::ALL {
            let r = role.index();
            for (n, &value) in hand[r].iter().enumerate() {
                self.linear[index::HAND + r * 4 + n] = both(value);
            }
            // A promoted piece falls back to a pawn: what the enemy gains by taking it is less.
            let gain = hand[r][0] - hand[0][0];
            self.linear[index::PROMOTED + r] = both((gain / 4).max(0));
        }
        let mobility: [(i16, i16); 8] = if drops {
            [
                (0, 0),
                (3, 3),
                (3, 3),
                (2, 2),
                (2, 2),
                (0, 0),
                (2, 2),
                (2, 2),
            ]
        } else if losing {
            [
                (0, 0),
                (3, 3),
                (2, 2),
                (2, 2),
                (2, 2),
                (0, 0),
                (0, 0),
                (0, 0),
            ]
        } else {
            [
                (0, 0),
                (5, 5),
                (5, 5),
                (3, 5),
                (2, 4),
                (0, 0),
                (3, 4),
                (2, 4),
            ]
        };
        self.linear[index::MOBILITY..index::MOBILITY + 8].copy_from_slice(&mobility);
        if losing {
            self.linear[index::TEMPO] = both(0);
            self.linear[index::COUNT] = both(-20);
            return;
        }
        self.linear[index::TEMPO] = both(if drops { 32 } else { 16 });
        self.linear[index::BISHOP_PAIR] = (28, 45);
        self.linear[index::OPEN_FILE] = (22, 10);
        self.linear[index::HALF_OPEN_FILE] = (10, 6);
        for role in Role::ALL {
            let r = role.index();
            let value = material[r].0.max(0);
            let is_piece = !matches!(role, Role::Pawn | Role::King);
            let pawn = if is_piece { 20 + value / 14 } else { 0 };
            let minor = if value > material[Role::Bishop.index()].0 + 40 {
                14 + value / 22
            } else {
                6
            };
            let minor = if is_piece { minor } else { 2 };
            let hanging = if role == Role::King {
                0
            } else {
                8 + value / 22
            };
            self.linear[index::PAWN_THREAT + r] = both(pawn);
            self.linear[index::MINOR_THREAT + r] = both(minor);
            self.linear[index::HANGING + r] = both(hanging);
        }
        if variant == Variant::Atomic {
            self.linear[index::BLAST] = both(160);
        }
    }

    fn set_pawns(&mut self, variant: Variant) {
        if matches!(
            variant,
            Variant::Antichess | Variant::Suicide | Variant::Losers
        ) {
            return;
        }
        let drops = variant.has_drops();
        let scale = if drops { 2 } else { 1 };
        let passed: [(i16, i16); 8] = [
            (0, 0),
            (2, 8),
            (4, 12),
            (8, 26),
            (22, 48),
            (48, 90),
            (80, 140),
            (0, 0),
        ];
        for (rank, (mg, eg)) in passed.into_iter().enumerate() {
            self.linear[index::PASSED + rank] = (mg / scale, eg / scale);
        }
        self.linear[index::ISOLATED] = (-8 / scale, -10 / scale);
        self.linear[index::DOUBLED] = (-8 / scale, -16 / scale);
        self.linear[index::PROTECTED] = (10, 8);
        self.linear[index::PHALANX] = (5, 5);
    }

    fn set_goals(&mut self, variant: Variant) {
        match variant {
            Variant::KingOfTheHill => {
                for (distance, bonus) in [0, 190, 80, 0].into_iter().enumerate() {
                    self.linear[index::GOAL + distance] = both(bonus);
                }
            }
            Variant::RacingKings => {
                for left in 0..8_i16 {
                    self.linear[index::GOAL + left as usize] = both((7 - left) * 110);
                }
            }
            Variant::ThreeCheck => {
                for (left, value) in [0, 520, 190, 0].into_iter().enumerate() {
                    self.linear[index::CHECKS_LEFT + left] = both(value);
                }
            }
            _ => {}
        }
    }

    fn set_danger(&mut self, variant: Variant) {
        let drops = variant.has_drops();
        let mut set = |place: usize, values: &[i16]| {
            self.danger[place..place + values.len()].copy_from_slice(values);
        };
        if matches!(
            variant,
            Variant::Antichess | Variant::Suicide | Variant::Losers | Variant::RacingKings
        ) {
            return;
        }
        set(danger::ATTACKER, &[0, 36, 30, 28, 22, 0, 36, 34]);
        set(danger::ATTACKS, &[24]);
        set(danger::WEAK, &[if drops { 40 } else { 55 }]);
        set(danger::SAFE_CHECK, &[0, 120, 75, 130, 110, 0, 150, 150]);
        set(danger::SHELTER_NEAR, &[-24]);
        set(danger::SHELTER_FAR, &[-12]);
        set(danger::PINNED, &[18]);
        set(danger::QUEEN, &[if drops { 40 } else { 120 }]);
        set(danger::ONE, &[-40]);
        if drops {
            set(danger::SAFE_DROP, &[40, 110, 80, 110, 130, 0, 150, 150]);
            set(danger::UNSAFE_DROP, &[16]);
            set(danger::HELD, &[8, 24, 18, 24, 36, 0, 36, 36]);
            set(danger::HOLES, &[10]);
        }
        if variant == Variant::ThreeCheck {
            for value in &mut self.danger[danger::SAFE_CHECK..danger::SAFE_CHECK + 8] {
                *value *= 2;
            }
        }
    }
}

impl Weights {
    /// Identity of the table: FNV-1a of all its numbers. Never 0.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let linear = self.linear.iter().flat_map(|&(mg, eg)| [mg, eg]);
        let all = linear.chain(self.danger).map(i32::from);
        let bytes = all
            .chain([self.full_phase])
            .flat_map(i32::to_le_bytes)
            .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
            });
        bytes.max(1)
    }
}

/// The tuned tables, one file a variant.
const fn tuned(variant: Variant) -> &'static str {
    match variant {
        Variant::Chess => include_str!("tables/chess.txt"),
        Variant::Crazyhouse => include_str!("tables/crazyhouse.txt"),
        Variant::Capablanca => include_str!("tables/capablanca.txt"),
        Variant::Capahouse => include_str!("tables/capahouse.txt"),
        Variant::ThreeCheck => include_str!("tables/3check.txt"),
        Variant::KingOfTheHill => include_str!("tables/kingofthehill.txt"),
        Variant::Antichess => include_str!("tables/antichess.txt"),
        Variant::Suicide => include_str!("tables/suicide.txt"),
        Variant::Losers => include_str!("tables/losers.txt"),
        Variant::Atomic => include_str!("tables/atomic.txt"),
        Variant::Horde => include_str!("tables/horde.txt"),
        Variant::RacingKings => include_str!("tables/racingkings.txt"),
    }
}

/// The weights in use for a variant.
#[must_use]
pub fn weights(variant: Variant) -> &'static Weights {
    static TABLES: LazyLock<Vec<Weights>> = LazyLock::new(|| {
        Variant::ALL
            .into_iter()
            .map(|variant| {
                Weights::from_text(variant, tuned(variant))
                    .expect("the tables in the program are read by a test")
            })
            .collect()
    });
    &TABLES[variant as usize]
}
