//! Numbers that steer the search, one set per kind of game. Changed by matches, not by taste.

use crate::rules::Variant;

/// A parameter as a tuner sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Knob {
    /// Name.
    pub name: &'static str,
    /// Least sensible value.
    pub min: i32,
    /// Greatest sensible value.
    pub max: i32,
}

macro_rules! params {
    ($($(#[doc = $doc:literal])+ $name:ident = $default:literal in $min:literal .. $max:literal;)*) => {
        /// Margins and switches of the search.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Params {
            $($(#[doc = $doc])+ pub $name: i32,)*
        }

        impl Params {
            const BASE: Self = Self { $($name: $default,)* };

            /// All parameters, in the order of [`Self::get`].
            pub const KNOBS: &'static [Knob] = &[
                $(Knob { name: stringify!($name), min: $min, max: $max },)*
            ];

            /// Values in the order of [`Self::KNOBS`].
            #[must_use]
            pub fn get(&self) -> Vec<i32> {
                vec![$(self.$name,)*]
            }

            /// Sets a parameter by name, within its bounds; false if there is none of that name.
            pub fn set(&mut self, name: &str, value: i32) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value.clamp($min, $max),)*
                    _ => return false,
                }
                true
            }
        }
    };
}

params! {
    /// Margin a ply of reverse futility pruning; 0 switches it off.
    reverse_futility = 78 in 0..300;
    /// Null-move pruning: least depth; 99 switches it off.
    null_depth = 3 in 2..99;
    /// Null-move pruning: reduction in quarters of a ply, beside what the depth adds.
    null_reduction = 12 in 4..28;
    /// Null-move pruning: further reduction a ply of depth, in sixteenths.
    null_slope = 4 in 0..10;
    /// Futility margin of quiet moves: base.
    futility_base = 100 in 0..500;
    /// Futility margin of quiet moves: a ply.
    futility_ply = 90 in 20..300;
    /// Late moves kept: base, in quarters.
    late_base = 12 in 4..80;
    /// Late moves kept: factor of depth squared, in quarters.
    late_factor = 4 in 1..24;
    /// Exchange loss a capture may cost a ply.
    see_capture = 100 in 0..400;
    /// Exchange loss a quiet move may cost a ply.
    see_quiet = 60 in 0..300;
    /// History below which a quiet move is left out, a ply.
    history_pruning = 3500 in 500..16000;
    /// Value added to a capture in quiescence before it is given up.
    quiescence_futility = 160 in 0..800;
    /// Razoring margin a ply; 0 switches it off.
    razoring = 240 in 0..800;
    /// First plies of quiescence that look at quiet checks and drops with check.
    check_plies = 1 in 0..4;
    /// Material that a quiet check may cost in quiescence and still be tried (drop games, three-check).
    check_loss = 240 in 0..800;
    /// Quiet evasions tried in quiescence before the rest is left out.
    evasions = 4 in 1..16;
    /// Divisor of the reduction's logarithms, in hundredths.
    reduction_divisor = 225 in 120..500;
    /// Constant part of the reduction, in 1/1024 ply.
    reduction_base = 600 in -1024..3072;
    /// History that reduces by one ply less.
    reduction_history = 20480 in 4000..60000;
    /// Reduction more at nodes expected to fail high, in 1/1024 ply.
    reduction_cut = 1536 in 0..4096;
    /// Reduction less on lines that were ever principal, in 1/1024 ply.
    reduction_pv = 1024 in 0..4096;
    /// Reduction less for moves that give check, in 1/1024 ply.
    reduction_check = 1024 in 0..4096;
    /// Reduction more where the evaluation does not improve, in 1/1024 ply.
    reduction_worse = 512 in 0..2048;
    /// Singular extension: margin a ply, in eighths.
    singular_margin = 16 in 4..64;
    /// First half-width of the window around the last value.
    aspiration = 18 in 5..100;
    /// Bonus of a quiet move that gives check, for ordering.
    check_bonus = 5500 in 0..20000;
    /// Share of the nodes that the mate solver may take at the root, in per cent of the usual.
    solver_share = 100 in 0..300;
    /// Least depth of a node inside the search that the mate solver is asked about; 99 switches it off.
    solver_depth = 3 in 1..99;
    /// Positions that the solver may look at there, a ply of depth.
    solver_budget = 30 in 0..2000;
    /// Share of the nodes that the solver may take there whether it finds mates or not, in per cent.
    solver_inside = 2 in 0..100;
    /// Further positions that it may look at there for every mate it has found.
    solver_credit = 500 in 0..10000;
}

impl Params {
    /// The parameters of a variant.
    #[must_use]
    pub const fn of(variant: Variant) -> Self {
        let base = Self::BASE;
        match variant {
            Variant::Crazyhouse | Variant::Capahouse => Self {
                reverse_futility: 75,
                futility_base: 110,
                futility_ply: 90,
                late_base: 24,
                late_factor: 8,
                see_capture: 160,
                see_quiet: 80,
                quiescence_futility: 180,
                razoring: 270,
                reduction_divisor: 175,
                reduction_check: 2048,
                null_slope: 6,
                ..base
            },
            Variant::Capablanca => Self {
                reduction_divisor: 175,
                null_slope: 6,
                ..base
            },
            Variant::Antichess | Variant::Suicide | Variant::Losers => Self {
                null_depth: 99,
                check_plies: 0,
                razoring: 0,
                ..base
            },
            Variant::Atomic => Self {
                futility_base: 200,
                futility_ply: 150,
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
                futility_base: 150,
                futility_ply: 120,
                check_loss: 480,
                reduction_check: 2048,
                ..base
            },
            _ => base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_can_be_turned_and_read() {
        for (n, knob) in Params::KNOBS.iter().enumerate() {
            let mut params = Params::of(Variant::Crazyhouse);
            assert!(params.set(knob.name, knob.max + 1));
            assert_eq!(params.get()[n], knob.max, "{}", knob.name);
        }
        assert!(!Params::of(Variant::Chess).set("no_such_thing", 1));
    }
}
