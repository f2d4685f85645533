//! Who thinks next, for how long, and who has to make room: decisions without threads or locks.
//!
//! The order is "earliest need first". A search needs its answer when its soft bound is over, so a
//! game with a second left on its clock stands before a correspondence game that came earlier, and
//! the latter comes to the front when its own time has come. Searches on the opponent's time stand
//! behind all others.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use crate::engine::time::TimePlan;

/// A running search gives way at once to one that plans to use less than this part of its time.
const PACE_RATIO: u32 = 3;

/// Time a running search may take to notice that it has to stop.
const STOP_LATENCY: Duration = Duration::from_millis(4);

/// What the scheduler knows about a search that wants a thread or has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    /// Thinks on the opponent's time: nobody waits for it.
    pub(super) ponder: bool,
    /// Its budget from submission.
    pub(super) plan: TimePlan,
    /// When it was submitted; all its time counts from here.
    pub(super) submitted: Instant,
    /// Its place among those submitted, to keep the order of equals.
    pub(super) ticket: u64,
}

impl Demand {
    /// When the answer is wanted.
    pub(super) fn need_at(&self) -> Instant {
        far(self.submitted, self.plan.soft)
    }

    /// When the answer must be given.
    pub(super) fn deadline(&self) -> Instant {
        far(self.submitted, self.plan.latest)
    }

    /// `Less` stands before.
    pub(super) fn order(&self, other: &Demand) -> Ordering {
        (self.ponder, self.need_at(), self.ticket).cmp(&(
            other.ponder,
            other.need_at(),
            other.ticket,
        ))
    }
}

/// `start + after`, or a day later if that cannot be represented.
pub(super) fn far(start: Instant, after: Duration) -> Instant {
    const DAY: Duration = Duration::from_secs(86_400);
    start.checked_add(after).unwrap_or(start + DAY)
}

/// A search that has a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    /// Its demand.
    pub(super) demand: Demand,
    /// Since when it has the thread.
    pub(super) since: Instant,
    /// It was told to stop already and will free its thread soon.
    pub(super) stopping: bool,
}

/// Bounds, counted from submission, for a search that gets a thread after `waited`.
///
/// `crowd` is the number of searches that want to think per thread, at least one: what is left of
/// the budget is divided by it. Everybody gets `slice` at least, past the hard bound if there was
/// a long wait, but never past the latest answer.
pub(super) fn share(plan: TimePlan, waited: Duration, crowd: f64, slice: Duration) -> TimePlan {
    let part = |bound: Duration| {
        let left = bound.saturating_sub(waited);
        let left = left.min(Duration::from_secs(1 << 40));
        waited
            .saturating_add(left.div_f64(crowd.max(1.0)).max(slice))
            .min(plan.latest)
    };
    let hard = part(plan.hard);
    TimePlan {
        soft: part(plan.soft).min(hard),
        hard,
        latest: plan.latest,
    }
}

/// What to do now so that nobody waits in vain, and when to look again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Preemption {
    /// The running searches that have to stop now.
    pub(super) victims: Vec<Victim>,
    /// When a queued search will have to be looked at again, if nothing happens before.
    pub(super) look_again: Option<Instant>,
}

/// A running search that has to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Victim {
    /// Which of the running searches.
    pub(super) index: usize,
    /// Whether it may go on later. If it stands before the one it makes room for, it would get the
    /// next thread again at once; so it ends with the answer that it has.
    pub(super) resume: bool,
}

/// Decides which running searches make room. `queue` is in order, `n_idle` threads are free.
///
/// * A search on the opponent's time makes room for any other at once.
/// * A search at a slow pace makes room at once for one at a fast pace: no bullet game waits for a
///   correspondence game.
/// * Anybody makes room when a queued search would otherwise not get its `slice` before its
///   deadline, but only after having had a slice itself: then it holds an answer.
pub(super) fn preemption(
    queue: &[Demand],
    running: &[Running],
    n_idle: usize,
    now: Instant,
    slice: Duration,
) -> Preemption {
    let mut result = Preemption::default();
    let n_threads = running.len() + n_idle;
    let n_soon_free = n_idle + running.iter().filter(|r| r.stopping).count();
    let mut candidates: Vec<usize> = (0..running.len())
        .filter(|&i| !running[i].stopping)
        .collect();
    // Lowest claim last, to be taken first.
    candidates.sort_by(|&a, &b| running[a].demand.order(&running[b].demand));

    for (rank, waiting) in queue.iter().enumerate().skip(n_soon_free) {
        if candidates.is_empty() {
            break;
        }
        let turns = u32::try_from(rank / n_threads.max(1)).unwrap_or(u32::MAX) + 1;
        let room = slice.saturating_mul(turns).saturating_add(STOP_LATENCY);
        let latest_start = waiting
            .deadline()
            .checked_sub(room)
            .unwrap_or(waiting.submitted);
        let due = !waiting.ponder && now >= latest_start;

        let found = candidates.iter().rposition(|&i| {
            let other = &running[i];
            let served = now.saturating_duration_since(other.since) >= slice;
            makes_room_at_once(&other.demand, waiting, served) || (due && served)
        });
        match found {
            Some(position) => {
                let index = candidates.remove(position);
                result.victims.push(Victim {
                    index,
                    resume: waiting.order(&running[index].demand).is_lt(),
                });
            }
            None => {
                let next = if due || paced(&candidates, running, waiting) {
                    candidates
                        .iter()
                        .map(|&i| far(running[i].since, slice))
                        .min()
                } else if waiting.ponder {
                    None
                } else {
                    Some(latest_start)
                };
                result.look_again = earliest(result.look_again, next);
            }
        }
    }
    result
}

fn makes_room_at_once(running: &Demand, waiting: &Demand, served: bool) -> bool {
    if waiting.ponder {
        return false;
    }
    running.ponder || (served && is_slower(running, waiting))
}

fn is_slower(running: &Demand, waiting: &Demand) -> bool {
    running.plan.soft > waiting.plan.soft.saturating_mul(PACE_RATIO)
}

/// Whether one of the candidates will make room as soon as it has had its slice.
fn paced(candidates: &[usize], running: &[Running], waiting: &Demand) -> bool {
    !waiting.ponder
        && candidates
            .iter()
            .any(|&i| is_slower(&running[i].demand, waiting))
}

/// The earlier of two moments that may be missing.
pub(super) fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_millis(5);

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn demand(now: Instant, soft: u64, hard: u64, ticket: u64) -> Demand {
        Demand {
            ponder: false,
            plan: TimePlan {
                soft: ms(soft),
                hard: ms(hard),
                latest: ms(hard),
            },
            submitted: now,
            ticket,
        }
    }

    fn pondering(now: Instant, ticket: u64) -> Demand {
        Demand {
            ponder: true,
            ..demand(now, 0, 1, ticket)
        }
    }

    fn resumed(index: usize) -> Victim {
        Victim {
            index,
            resume: true,
        }
    }

    fn running(demand: Demand, since: Instant) -> Running {
        Running {
            demand,
            since,
            stopping: false,
        }
    }

    #[test]
    fn earliest_need_stands_first_and_pondering_last() {
        let now = Instant::now();
        let slow = demand(now, 20_000, 60_000, 1);
        let fast = demand(now + ms(50), 300, 900, 2);
        let twin = demand(now + ms(50), 300, 900, 3);
        let ponder = pondering(now, 0);
        let mut all = [ponder, slow, twin, fast];
        all.sort_by(Demand::order);
        assert_eq!(all, [fast, twin, slow, ponder]);
        let overdue = Demand {
            submitted: now - ms(20_000),
            ..slow
        };
        assert_eq!(overdue.order(&fast), Ordering::Less, "its time has come");
    }

    #[test]
    fn share_divides_what_is_left_and_keeps_the_slice() {
        let plan = TimePlan {
            soft: ms(400),
            hard: ms(1000),
            latest: ms(1500),
        };
        assert_eq!(share(plan, ms(0), 1.0, SLICE), plan);
        let crowded = share(plan, ms(200), 4.0, SLICE);
        assert_eq!((crowded.soft, crowded.hard), (ms(250), ms(400)));
        let late = share(plan, ms(600), 4.0, SLICE);
        assert_eq!((late.soft, late.hard), (ms(605), ms(700)));
        let waited_long = share(plan, ms(1200), 50.0, SLICE);
        assert_eq!((waited_long.soft, waited_long.hard), (ms(1205), ms(1205)));
        let last = share(plan, ms(1498), 1.0, SLICE);
        assert_eq!((last.soft, last.hard), (ms(1500), ms(1500)), "never later");
    }

    #[test]
    fn bullet_waits_for_no_correspondence_game() {
        let now = Instant::now();
        let slow = running(demand(now, 20_000, 60_000, 1), now - ms(100));
        let bullet = demand(now, 300, 900, 2);
        let answer = preemption(&[bullet], &[slow], 0, now, SLICE);
        assert_eq!(answer.victims, [resumed(0)]);
        let answer = preemption(&[bullet], &[slow], 1, now, SLICE);
        assert_eq!(answer, Preemption::default(), "a thread is free");
        let answer = preemption(&[slow.demand], &[running(bullet, now)], 0, now, SLICE);
        assert!(answer.victims.is_empty(), "not the other way round");
        // Just begun: it may first find a move, which takes one slice.
        let begun = running(slow.demand, now);
        let answer = preemption(&[bullet], &[begun], 0, now, SLICE);
        assert_eq!(answer.victims, []);
        assert_eq!(answer.look_again, Some(now + SLICE));
    }

    #[test]
    fn pondering_makes_room_at_once_and_takes_none() {
        let now = Instant::now();
        let ponder = running(pondering(now, 1), now);
        let slow = demand(now, 20_000, 60_000, 2);
        let run = running(slow, now - ms(9_000));
        let answer = preemption(&[slow], &[run, ponder], 0, now, SLICE);
        assert_eq!(answer.victims, [resumed(1)]);
        let answer = preemption(&[pondering(now, 3)], &[run, ponder], 0, now, SLICE);
        assert_eq!(answer, Preemption::default());
    }

    #[test]
    fn equals_wait_until_the_deadline_presses() {
        let now = Instant::now();
        let one = running(demand(now, 300, 900, 1), now - ms(10));
        let other = running(demand(now, 400, 1200, 2), now - ms(10));
        let waiting = demand(now, 250, 800, 3);
        let answer = preemption(&[waiting], &[one, other], 0, now, SLICE);
        assert!(answer.victims.is_empty());
        let latest = now + ms(800) - SLICE - STOP_LATENCY;
        assert_eq!(answer.look_again, Some(latest));
        let answer = preemption(&[waiting], &[one, other], 0, latest, SLICE);
        assert_eq!(answer.victims, [resumed(1)], "the one with the later need");
    }

    #[test]
    fn who_stands_before_the_one_it_makes_room_for_ends_with_its_answer() {
        let now = Instant::now();
        let run = running(demand(now - ms(400), 404, 5000, 1), now - ms(10));
        let pressing = demand(now, 8, 8, 2);
        let answer = preemption(&[pressing], &[run], 0, now, SLICE);
        let ends = Victim {
            index: 0,
            resume: false,
        };
        assert_eq!(answer.victims, [ends]);
    }

    #[test]
    fn one_stop_serves_one_waiting_search() {
        let now = Instant::now();
        let mut slow = running(demand(now, 20_000, 60_000, 1), now - ms(100));
        slow.stopping = true;
        let other = running(demand(now, 30_000, 60_000, 2), now - ms(100));
        let bullets = [demand(now, 300, 900, 3), demand(now, 310, 900, 4)];
        let answer = preemption(&bullets[..1], &[slow, other], 0, now, SLICE);
        assert!(answer.victims.is_empty(), "a thread is on its way");
        let answer = preemption(&bullets, &[slow, other], 0, now, SLICE);
        assert_eq!(answer.victims, [resumed(1)]);
    }
}
