//! Numbers that steer the search, one set per kind of game. Changed by matches, not by taste.

use crate::rules::Variant;

/// Margins and switches of the search.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Margin a ply of reverse futility pruning; 0 switches it off.
    pub reverse_futility: i32,
    /// Null-move pruning is tried.
    pub null_move: bool,
    /// Futility margin: base and a ply.
    pub futility: (i32, i32),
    /// Late moves kept: base and factor of depth squared, in quarters.
    pub late_moves: (i32, i32),
    /// Exchange loss tolerated a ply: captures, quiet moves.
    pub see_margin: (i32, i32),
    /// Value added to a capture in quiescence before it is given up.
    pub quiescence_futility: i32,
    /// Razoring margin a ply; 0 switches it off.
    pub razoring: i32,
    /// First plies of quiescence that look at quiet checks and drops with check.
    pub check_plies: i32,
    /// Divisor of the reduction's logarithms, in hundredths.
    pub reduction_divisor: i32,
}

impl Params {
    /// The parameters of a variant.
    #[must_use]
    pub const fn of(variant: Variant) -> Self {
        let base = Self {
            reverse_futility: 78,
            null_move: true,
            futility: (100, 90),
            late_moves: (12, 4),
            see_margin: (100, 60),
            quiescence_futility: 160,
            razoring: 240,
            check_plies: 1,
            reduction_divisor: 225,
        };
        match variant {
            Variant::Crazyhouse | Variant::Capahouse => Self {
                reverse_futility: 110,
                futility: (160, 130),
                late_moves: (24, 8),
                see_margin: (160, 80),
                quiescence_futility: 260,
                razoring: 380,
                ..base
            },
            Variant::Antichess | Variant::Suicide | Variant::Losers => Self {
                null_move: false,
                check_plies: 0,
                razoring: 0,
                ..base
            },
            Variant::Atomic => Self {
                futility: (200, 150),
                reverse_futility: 120,
                quiescence_futility: 400,
                razoring: 0,
                ..base
            },
            Variant::RacingKings => Self {
                check_plies: 0,
                ..base
            },
            Variant::ThreeCheck => Self {
                reverse_futility: 110,
                futility: (150, 120),
                ..base
            },
            _ => base,
        }
    }
}
