//! From clocks to bounds: when a search should be content, and when it must have ended.

use std::collections::VecDeque;
use std::time::Duration;

use super::limits::{ClockLimits, SearchLimits};
use super::score::Score;
use super::stop::StopFlag;
use crate::rules::{Move, Variant};

/// No move takes longer by default: correspondence clocks and clocks of hours are cut here.
pub const CEILING: Duration = Duration::from_secs(600);

/// The bounds of a search, counted from its start. `soft <= hard <= latest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimePlan {
    /// When an undisturbed search has done enough; stretched or shrunk by how settled it is, and
    /// looked at between iterations.
    pub soft: Duration,
    /// When the search must have ended, however unsettled it is.
    pub hard: Duration,
    /// When there must be an answer, whatever happened. Between `hard` and this only those think
    /// who had to wait for a thread.
    pub latest: Duration,
}

impl TimePlan {
    /// All bounds the same.
    pub fn exactly(bound: Duration) -> TimePlan {
        TimePlan {
            soft: bound,
            hard: bound,
            latest: bound,
        }
    }

    /// No bound above `ceiling`.
    pub fn capped(self, ceiling: Duration) -> TimePlan {
        TimePlan {
            soft: self.soft.min(ceiling),
            hard: self.hard.min(ceiling),
            latest: self.latest.min(ceiling),
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
    let by_fixed_time = limits
        .move_time
        .map(|time| TimePlan::exactly(time.saturating_sub(limits.overhead.min(time / 2))));
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

/// The core of the plan. Grows with `remaining` and `increment`, shrinks with `overhead`, and no
/// bound lies beyond `remaining - overhead`.
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

    let most = hard_cap.min(usable);
    let hard = share.saturating_mul(5).min(most);
    TimePlan {
        soft: share.min(soft_cap).min(hard),
        hard,
        latest: most,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn situation(variant: Variant, ply: u32) -> Situation {
        Situation {
            variant,
            ply,
            n_legal: 30,
        }
    }

    fn clock(remaining: u64, increment: u64, overhead: u64) -> ClockLimits {
        ClockLimits {
            remaining: ms(remaining),
            increment: ms(increment),
            overhead: ms(overhead),
            ..ClockLimits::default()
        }
    }

    fn planned(clock: ClockLimits, situation: Situation) -> TimePlan {
        plan(&SearchLimits::clock(clock), situation).expect("a clock bounds the search")
    }

    /// Numbers for the property tests: a fixed linear congruence, so that a failure comes again.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }

        fn clock(&mut self) -> ClockLimits {
            let scale = [1, 50, 3_000, 600_000, 2_000_000_000][self.below(5) as usize];
            let mut clock = clock(self.below(scale), 0, self.below(400));
            if self.below(2) == 0 {
                clock.increment = ms(self.below(30_000));
            }
            if self.below(3) == 0 {
                clock.moves_to_go = Some(self.below(60) as u32);
            }
            clock
        }

        fn situation(&mut self) -> Situation {
            let variant = Variant::ALL[self.below(12) as usize];
            situation(variant, self.below(300) as u32)
        }
    }

    #[test]
    fn bullet_blitz_and_rapid_in_drop_games() {
        let start = situation(Variant::Crazyhouse, 0);
        // A minute for about 28 moves: about two seconds, at most five times as much.
        let plan = planned(clock(60_000, 0, 0), start);
        assert!((ms(2_000)..ms(2_300)).contains(&plan.soft), "{plan:?}");
        assert!((ms(10_000)..ms(11_000)).contains(&plan.hard), "{plan:?}");
        // Increment: nearly all of it on top.
        let with_increment = planned(clock(60_000, 1_000, 0), start);
        assert!((ms(2_900)..ms(3_300)).contains(&with_increment.soft));
        // Late in the game the floor of 13 moves holds.
        let late = planned(clock(13_000, 0, 0), situation(Variant::Crazyhouse, 90));
        assert_eq!(late.soft, ms(1_000));
        // Capablanca games last longer, so the share is smaller.
        let long = planned(clock(60_000, 0, 0), situation(Variant::Capablanca, 0));
        assert!(long.soft < plan.soft * 2 / 3);
    }

    #[test]
    fn overhead_is_paid_for_every_move_to_come() {
        let start = situation(Variant::Crazyhouse, 0);
        let plan = planned(clock(28_000, 0, 500), start);
        assert_eq!(plan.soft, ms(500), "1000 ms a move, half of it overhead");
        let broke = planned(clock(28_000, 0, 1_000), start);
        assert_eq!(broke.soft, Duration::ZERO);
        let repaid = planned(clock(28_000, 1_000, 1_000), start);
        assert!(repaid.soft >= ms(900), "{repaid:?}");
    }

    #[test]
    fn moves_to_go() {
        let mut last = clock(10_000, 0, 100);
        last.moves_to_go = Some(1);
        let plan = planned(last, situation(Variant::Chess, 78));
        assert!(plan.hard > ms(9_000) && plan.hard < ms(9_900), "{plan:?}");
        assert!(plan.soft > ms(8_000));
        let mut many = clock(60_000, 0, 0);
        many.moves_to_go = Some(40);
        assert_eq!(planned(many, situation(Variant::Chess, 0)).soft, ms(1_500));
        many.moves_to_go = Some(0);
        assert!(planned(many, situation(Variant::Chess, 0)).hard < ms(60_000));
    }

    #[test]
    fn empty_clocks_give_an_instant_answer() {
        for variant in Variant::ALL {
            let plan = planned(clock(0, 0, 50), situation(variant, 12));
            assert_eq!(plan, TimePlan::exactly(Duration::ZERO));
            // With nothing left the increment comes too late.
            let plan = planned(clock(30, 5_000, 50), situation(variant, 12));
            assert_eq!(plan.hard, Duration::ZERO);
        }
    }

    #[test]
    fn huge_clocks_are_capped() {
        let days = clock(14 * 86_400_000, 0, 0);
        let plan = planned(days, situation(Variant::Chess, 0));
        assert!(plan.soft <= CEILING && plan.hard == CEILING);
        let limits = SearchLimits {
            max_think: Some(ms(20_000)),
            ..SearchLimits::clock(days)
        };
        let plan = super::plan(&limits, situation(Variant::Chess, 0)).expect("timed");
        assert_eq!(plan.hard, ms(20_000));
        let endless = ClockLimits {
            remaining: Duration::MAX,
            increment: Duration::MAX,
            ..ClockLimits::default()
        };
        assert_eq!(planned(endless, situation(Variant::Horde, 3)).hard, CEILING);
    }

    #[test]
    fn fixed_time_less_overhead() {
        let mut limits = SearchLimits::move_time(ms(100));
        let here = situation(Variant::Atomic, 5);
        let both = TimePlan::exactly;
        assert_eq!(plan(&limits, here), Some(both(ms(100))));
        limits.overhead = ms(30);
        assert_eq!(plan(&limits, here), Some(both(ms(70))));
        limits.overhead = ms(300);
        assert_eq!(plan(&limits, here), Some(both(ms(50))));
        // Together with a clock the tighter bound holds.
        limits.clock = Some(clock(50, 0, 0));
        assert!(plan(&limits, here).expect("timed").hard < ms(40));
    }

    #[test]
    fn searches_without_time_have_no_plan() {
        let here = situation(Variant::Chess, 0);
        assert_eq!(plan(&SearchLimits::depth(5), here), None);
        assert_eq!(plan(&SearchLimits::nodes(5), here), None);
        let analysis = SearchLimits {
            infinite: true,
            ..SearchLimits::clock(clock(1_000, 0, 0))
        };
        assert_eq!(plan(&analysis, here), None);
    }

    #[test]
    fn a_forced_move_needs_no_time() {
        let forced = Situation {
            n_legal: 1,
            ..situation(Variant::Chess, 40)
        };
        let plan = planned(clock(60_000, 0, 0), forced);
        assert_eq!(plan.soft, Duration::ZERO);
    }

    #[test]
    fn never_plans_more_than_remaining_less_overhead() {
        let mut numbers = Numbers(1);
        for _ in 0..20_000 {
            let (clock, situation) = (numbers.clock(), numbers.situation());
            let plan = planned(clock, situation);
            let usable = clock.remaining.saturating_sub(clock.overhead);
            let ascending = plan.soft <= plan.hard && plan.hard <= plan.latest;
            assert!(ascending, "{clock:?} {situation:?} {plan:?}");
            assert!(plan.latest <= usable, "{clock:?} {situation:?} {plan:?}");
        }
    }

    #[test]
    fn more_time_never_shrinks_the_plan_and_more_overhead_never_grows_it() {
        let mut numbers = Numbers(2);
        for _ in 0..20_000 {
            let (clock, situation) = (numbers.clock(), numbers.situation());
            let plan = planned(clock, situation);
            let more = ms(numbers.below(2_000));
            let richer = ClockLimits {
                remaining: clock.remaining + more,
                ..clock
            };
            let faster = ClockLimits {
                increment: clock.increment + more,
                ..clock
            };
            let slower_net = ClockLimits {
                overhead: clock.overhead + more,
                ..clock
            };
            for (grown, shrunk) in [
                (planned(richer, situation), plan),
                (planned(faster, situation), plan),
                (plan, planned(slower_net, situation)),
            ] {
                assert!(
                    grown.soft >= shrunk.soft,
                    "{clock:?} {situation:?} +{more:?}"
                );
                assert!(
                    grown.latest >= shrunk.latest,
                    "{clock:?} {situation:?} +{more:?}"
                );
                assert!(
                    grown.hard >= shrunk.hard,
                    "{clock:?} {situation:?} +{more:?}"
                );
            }
        }
    }

    #[test]
    fn a_game_at_the_soft_bound_never_runs_out_of_time() {
        for variant in Variant::ALL {
            let mut clock = clock(60_000, 0, 40);
            for ply in (0..600).step_by(2) {
                let plan = planned(clock, situation(variant, ply));
                let spent = plan.soft + clock.overhead.min(clock.remaining);
                assert!(spent <= clock.remaining, "{variant:?} {ply}");
                clock.remaining -= spent;
            }
        }
    }

    fn iteration(depth: u32, best: u16, score: Score) -> Iteration {
        Iteration {
            depth,
            best: Move(best),
            score,
            effort: 0.6,
        }
    }

    /// A search that has been running for `elapsed` with a soft bound of one second.
    fn running_for(elapsed: Duration) -> (TimeManager, StopFlag) {
        let started = std::time::Instant::now().checked_sub(elapsed);
        let stop = StopFlag::started_at(started.expect("the machine has been up long enough"));
        stop.set_plan(TimePlan {
            soft: ms(1_000),
            hard: ms(60_000),
            latest: ms(60_000),
        });
        let limits = SearchLimits::clock(clock(60_000, 0, 0));
        let time = TimeManager::new(&limits, situation(Variant::Chess, 0), &stop);
        (time, stop)
    }

    #[test]
    fn a_settled_search_ends_earlier_than_an_unsettled_one() {
        let (mut settled, stop) = running_for(ms(950));
        let ends =
            (1..=9).map(|depth| settled.is_enough(&iteration(depth, 7, Score::Cp(20)), &stop));
        assert!(ends.last() == Some(true), "a second is not needed");
        let (mut changing, stop) = running_for(ms(1_200));
        for depth in 1..=9 {
            let enough = changing.is_enough(&iteration(depth, depth as u16, Score::Cp(20)), &stop);
            assert!(!enough, "the best move changes with each iteration");
        }
        let (mut falling, stop) = running_for(ms(1_200));
        let mut last = true;
        for depth in 1..=9 {
            let score = Score::Cp(200 - 70 * depth as i32);
            last = falling.is_enough(&iteration(depth, 7, score), &stop);
        }
        assert!(!last, "the score falls");
    }

    #[test]
    fn a_mate_is_played_when_it_has_been_seen_often_enough() {
        let (mut time, stop) = running_for(ms(0));
        let mate = |depth| iteration(depth, 7, Score::Mate(3));
        assert!(!time.is_enough(&mate(6), &stop));
        assert!(!time.is_enough(&mate(7), &stop));
        assert!(time.is_enough(&mate(8), &stop));
    }

    #[test]
    fn analysis_and_pondering_are_never_enough() {
        let (mut time, stop) = running_for(ms(50_000));
        stop.start_pondering();
        assert!(!time.is_enough(&iteration(9, 7, Score::Cp(0)), &stop));
        stop.ponder_hit();
        assert!(time.is_enough(&iteration(10, 7, Score::Cp(0)), &stop));
        let stop = StopFlag::new();
        let mut endless = TimeManager::new(
            &SearchLimits::depth(60),
            situation(Variant::Chess, 0),
            &stop,
        );
        assert!(!endless.is_enough(&iteration(9, 7, Score::Cp(0)), &stop));
    }

    #[test]
    fn the_hard_bound_cuts_the_stretched_soft_one() {
        let (mut time, stop) = running_for(ms(1_300));
        stop.set_plan(TimePlan {
            soft: ms(1_000),
            hard: ms(1_200),
            latest: ms(1_200),
        });
        assert!(time.is_enough(&iteration(1, 1, Score::Cp(0)), &stop));
    }

    #[test]
    fn overhead_is_a_high_percentile_of_what_was_measured() {
        let mut tracker = OverheadTracker::new(ms(300));
        assert_eq!(tracker.estimate(), ms(300));
        tracker.record(ms(40));
        assert_eq!(tracker.estimate(), ms(300), "one sample proves little");
        for _ in 0..98 {
            tracker.record(ms(40));
        }
        assert_eq!(tracker.estimate(), ms(40));
        tracker.record(ms(2_000));
        assert_eq!(tracker.estimate(), ms(40), "one hiccup");
        for _ in 0..10 {
            tracker.record(ms(900));
        }
        assert_eq!(tracker.estimate(), ms(900), "one in ten");
        for _ in 0..OverheadTracker::KEPT {
            tracker.record(ms(60));
        }
        assert_eq!(tracker.estimate(), ms(60), "the past is forgotten");
        tracker.record(Duration::MAX);
        assert!(tracker.samples.iter().max() <= Some(&OverheadTracker::LONGEST));
    }
}
