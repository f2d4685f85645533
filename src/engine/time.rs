//! From clocks to bounds: when a search should be content, and when it must have ended.

use std::collections::VecDeque;
use std::time::Duration;

use super::limits::{ClockLimits, SearchLimits};
use super::score::Score;
use super::stop::StopFlag;
use crate::rules::{Move, Variant};

/// No move takes longer by default: correspondence clocks and clocks of hours are cut here.
pub const CEILING: Duration = Duration::from_secs(600);

/// The two bounds of a search, counted from its start. `soft <= hard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimePlan {
    /// When an undisturbed search has done enough; stretched or shrunk by how settled it is, and
    /// looked at between iterations.
    pub soft: Duration,
    /// When the search must have ended.
    pub hard: Duration,
}

impl TimePlan {
    /// Both bounds, neither above `ceiling`.
    fn capped(self, ceiling: Duration) -> TimePlan {
        let hard = self.hard.min(ceiling);
        TimePlan {
            soft: self.soft.min(hard),
            hard,
        }
    }
}

/// How long games of a variant last, for dividing a clock over the moves to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Horizon {
    /// Own moves to plan for at the start of the game.
    first: u32,
    /// Own moves still to plan for, however long the game has lasted.
    floor: u32,
}

impl Horizon {
    /// From measured game lengths in plies: crazyhouse 60, capahouse 53, Capablanca 105; the
    /// others are estimates. Drop games are decided early, so the plan spends early too: the
    /// horizon is a little below half the length.
    fn of(variant: Variant) -> Horizon {
        let (first, floor) = match variant {
            Variant::Crazyhouse | Variant::Capahouse => (28, 13),
            Variant::Capablanca => (46, 20),
            Variant::Chess => (44, 20),
            Variant::Horde => (40, 20),
            Variant::Atomic | Variant::RacingKings => (26, 13),
            Variant::ThreeCheck
            | Variant::KingOfTheHill
            | Variant::Antichess
            | Variant::Suicide
            | Variant::Losers => (32, 15),
        };
        Horizon { first, floor }
    }

    /// Own moves to plan for after `ply` plies. Games that have lasted long last longer than the
    /// plan said, hence only three quarters of the moves played are taken off.
    fn moves_left(self, ply: u32) -> u32 {
        self.first.saturating_sub(ply / 8 * 3).max(self.floor)
    }
}

/// What of a position the plan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// Rule set, which tells how long games last.
    pub variant: Variant,
    /// Half-moves played since the start of the game.
    pub ply: u32,
    /// Number of legal moves; with one there is nothing to think about.
    pub n_legal: usize,
}

/// Bounds for a move, or `None` if no time bounds the search.
///
/// A fixed `move_time` and a `clock` may stand together; the tighter bound holds.
pub fn plan(limits: &SearchLimits, situation: Situation) -> Option<TimePlan> {
    if !limits.is_timed() {
        return None;
    }
    let ceiling = limits.max_think.unwrap_or(CEILING);
    let by_clock = limits
        .clock
        .as_ref()
        .map(|clock| plan_by_clock(clock, situation).capped(ceiling));
    // Who sets a fixed time has decided already, so the ceiling says nothing to it.
    let by_fixed_time = limits.move_time.map(|time| {
        let bound = time.saturating_sub(limits.overhead.min(time / 2));
        TimePlan {
            soft: bound,
            hard: bound,
        }
    });
    let mut plan = match (by_clock, by_fixed_time) {
        (Some(a), Some(b)) => a.capped(b.hard),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return None,
    };
    if situation.n_legal <= 1 {
        plan.soft = Duration::ZERO;
    }
    Some(plan)
}

/// The core of the plan. Grows with `remaining` and `increment`, shrinks with `overhead`, and its
/// hard bound stays below `remaining - overhead`.
fn plan_by_clock(clock: &ClockLimits, situation: Situation) -> TimePlan {
    let usable = clock.remaining.saturating_sub(clock.overhead);
    let horizon = Horizon::of(situation.variant).moves_left(situation.ply);
    let moves = clock
        .moves_to_go
        .map_or(horizon, |n| n.clamp(1, horizon.max(40)));

    // All the time there will be until the horizon, each move paying its overhead.
    let later_moves = moves - 1;
    let total = usable
        .saturating_add(clock.increment.saturating_mul(later_moves))
        .saturating_sub(clock.overhead.saturating_mul(later_moves));
    let share = total / moves;

    // What may be spent at once: a part of the clock; more of it if the increment brings it back
    // or if the clock is filled up soon.
    let refilled = usable.min(clock.increment);
    let last_moves = 1.0 / f64::from(moves);
    let soft_cap = fraction(usable, (0.85 * last_moves).max(0.4)) + fraction(refilled, 0.3);
    let hard_cap = fraction(usable, (0.95 * last_moves).max(0.55)) + fraction(refilled, 0.35);

    let hard = share.saturating_mul(5).min(hard_cap.min(usable));
    TimePlan {
        soft: share.min(soft_cap).min(hard),
        hard,
    }
}

/// `part` of `whole`, for parts between zero and one.
fn fraction(whole: Duration, part: f64) -> Duration {
    // Durations beyond some centuries lose nothing by being cut; multiplying them would overflow.
    const LONGEST: Duration = Duration::from_secs(1 << 40);
    whole.min(LONGEST).mul_f64(part)
}

/// What an iteration of the search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// Plies.
    pub depth: u32,
    /// Best root move.
    pub best: Move,
    /// Its value.
    pub score: Score,
    /// Share of the iteration's nodes spent below the best move, 0 to 1.
    pub effort: f64,
}

/// Decides after each iteration whether the search has done enough.
///
/// The budget itself lies in the [`StopFlag`], where the pool may change it under way.
#[derive(Clone, Debug)]
pub struct TimeManager {
    timed: bool,
    n_legal: usize,
    last_best: Option<Move>,
    /// Iterations in a row with the same best move.
    settled: u32,
    /// Running mean of the score in centipawns.
    mean_cp: Option<f64>,
    /// Iterations in a row that saw a forced mate.
    mates_seen: u32,
}

impl TimeManager {
    /// Plans the search and puts the plan into `stop`, unless somebody has put one there already.
    /// Pondering is marked in `stop` by whoever starts the search, not here.
    pub fn new(limits: &SearchLimits, situation: Situation, stop: &StopFlag) -> TimeManager {
        if stop.plan().is_none()
            && let Some(plan) = plan(limits, situation)
        {
            stop.set_plan(plan);
        }
        TimeManager {
            timed: !limits.infinite && stop.plan().is_some(),
            n_legal: situation.n_legal,
            last_best: None,
            settled: 0,
            mean_cp: None,
            mates_seen: 0,
        }
    }

    /// Whether to end after this iteration. Never true for searches that no time bounds.
    pub fn is_enough(&mut self, iteration: &Iteration, stop: &StopFlag) -> bool {
        let factor = self.observe(iteration);
        if !self.timed || stop.is_pondering() {
            return false;
        }
        let Some(plan) = stop.plan() else {
            return false;
        };
        if self.n_legal <= 1 || self.mate_is_settled(iteration) {
            return true;
        }
        stop.elapsed() >= fraction(plan.soft, factor).min(plan.hard)
    }

    /// Takes the iteration in; the factor by which the soft bound is to be multiplied.
    fn observe(&mut self, iteration: &Iteration) -> f64 {
        self.settled = if self.last_best == Some(iteration.best) {
            self.settled + 1
        } else {
            0
        };
        self.last_best = Some(iteration.best);
        self.mates_seen = if iteration.score.is_mate() {
            self.mates_seen + 1
        } else {
            0
        };
        let cp = f64::from(iteration.score.centipawns().clamp(-2_000, 2_000));
        let fall_cp = self.mean_cp.map_or(0.0, |mean| mean - cp);
        self.mean_cp = Some(self.mean_cp.map_or(cp, |mean| 0.6 * mean + 0.4 * cp));

        let stability = match self.settled {
            0 => 1.5,
            1 => 1.25,
            2 => 1.1,
            3 => 1.0,
            4 => 0.9,
            _ => 0.8,
        };
        // A falling score asks for time to find something better, a rising one for little less.
        let falling = (1.0 + fall_cp / 150.0).clamp(0.9, 1.6);
        let effort = (1.65 - iteration.effort.clamp(0.0, 1.0)).clamp(0.7, 1.2);
        (stability * falling * effort).clamp(0.4, 2.8)
    }

    /// A mate seen several times and at a depth that leaves nothing shorter to find.
    fn mate_is_settled(&self, iteration: &Iteration) -> bool {
        match iteration.score {
            Score::Mate(moves) => {
                self.mates_seen >= 3 && iteration.depth > moves.unsigned_abs().saturating_mul(2)
            }
            Score::Cp(_) => false,
        }
    }
}

/// Learns how much of the clock a platform takes beside our thinking: network, queueing, rounding.
///
/// Keeps the last samples and answers a high percentile of them, so that a usual delay is paid for
/// and one hiccup does not cost every later move its time.
#[derive(Clone, Debug)]
pub struct OverheadTracker {
    samples: VecDeque<Duration>,
    prior: Duration,
}

impl OverheadTracker {
    /// Samples kept; older ones are forgotten, since networks change.
    const KEPT: usize = 128;
    /// Samples needed before the measurement alone is believed.
    const ENOUGH: usize = 16;
    /// Share of the samples that the estimate covers, in hundredths.
    const PERCENTILE: usize = 95;
    /// One delay is never believed to be longer: such a move hung, it was not overhead.
    const LONGEST: Duration = Duration::from_secs(3);

    /// A tracker that answers `prior` until it has measured.
    pub fn new(prior: Duration) -> OverheadTracker {
        OverheadTracker {
            samples: VecDeque::with_capacity(Self::KEPT),
            prior,
        }
    }

    /// Takes in what one move lost: the time the server charged beyond our thinking.
    pub fn record(&mut self, lost: Duration) {
        if self.samples.len() == Self::KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(lost.min(Self::LONGEST));
    }

    /// Time to leave on the clock for each move. While there are few samples it is not below the
    /// prior.
    pub fn estimate(&self) -> Duration {
        if self.samples.is_empty() {
            return self.prior;
        }
        let mut sorted: Vec<Duration> = self.samples.iter().copied().collect();
        sorted.sort_unstable();
        let measured = sorted[(sorted.len() * Self::PERCENTILE / 100).min(sorted.len() - 1)];
        if self.samples.len() < Self::ENOUGH {
            measured.max(self.prior)
        } else {
            measured
        }
    }
}
