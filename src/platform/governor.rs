//! One governor per origin: every request of every account on that origin asks here before it leaves.
//!
//! The governor knows the platform's budgets, the limits that the platform has declared, how many requests are on the
//! way, and who else waits. Waiting requests are served by [`Lane`], then by age. A limit met by one request holds what
//! can wait; it never holds a move. What must outlive the process can be taken as a [`GovernorSnapshot`] and given back.
//!
//! The decisions are in [`ledger`], which is synchronous and gets the time as an argument; this file only waits.

pub mod ledger;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

pub use self::ledger::{
    BudgetRule, BudgetScope, GovernorConfig, GovernorSnapshot, HoldReport, Room, Verdict,
};
use self::ledger::{Ledger, Start};
use super::call::{Call, Lane};

/// Why a request was not let out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Held {
    /// Too many requests wait in this lane already.
    #[error("too many requests wait in lane {0}")]
    QueueFull(Lane),
    /// Our own budget is spent for longer than the caller is willing to wait.
    #[error("budget {name} is spent for {} s", .wait.as_secs())]
    Budget {
        /// Name of the budget.
        name: String,
        /// Time until there is room.
        wait: Duration,
    },
    /// The platform declared a limit that lasts longer than the caller is willing to wait.
    #[error("limit {name} lasts {} s", .wait.as_secs())]
    Limit {
        /// What is limited: a key of the platform, or a route.
        name: String,
        /// Time until it ends.
        wait: Duration,
    },
    /// Others were served first for longer than the caller was willing to wait.
    #[error("not served within {} ms", .0.as_millis())]
    Impatient(Duration),
}

impl Held {
    /// How long the reason lasts, where that is known.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Held::Budget { wait, .. } | Held::Limit { wait, .. } => Some(*wait),
            Held::QueueFull(_) | Held::Impatient(_) => None,
        }
    }
}

/// A request that asks to be let out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whose request it is; a name that is unique on this origin.
    pub account: Arc<str>,
    /// Which endpoint.
    pub call: Call,
    /// Budgets that it takes from, with the amount.
    pub charges: Vec<(&'static str, u32)>,
    /// The platform's limit keys that concern exactly this request. A limit with such a key holds only requests that
    /// name it; a limit with any other key holds the whole route.
    pub keys: &'static [&'static str],
}

impl Request {
    /// A request that takes from no budget of its own.
    #[must_use]
    pub fn new(account: Arc<str>, call: Call) -> Request {
        Request {
            account,
            call,
            charges: Vec::new(),
            keys: &[],
        }
    }

    /// Takes `amount` from the budget `name` as well.
    #[must_use]
    pub fn charge(mut self, name: &'static str, amount: u32) -> Request {
        self.charges.push((name, amount));
        self
    }

    /// Names the limit keys that concern this request.
    #[must_use]
    pub fn keys(mut self, keys: &'static [&'static str]) -> Request {
        self.keys = keys;
        self
    }
}

#[derive(Debug)]
struct Shared {
    ledger: Mutex<Ledger>,
    changed: Notify,
    durable: watch::Sender<u64>,
    started: Instant,
    started_unix_ms: u64,
}

/// Handle to the governor of one origin; clones share it.
#[derive(Clone, Debug)]
pub struct Governor {
    shared: Arc<Shared>,
}

impl Governor {
    /// A governor with an empty history.
    #[must_use]
    pub fn new(config: GovernorConfig) -> Governor {
        Governor::start(Ledger::new(config), SystemTime::now())
    }

    /// A governor that remembers: budgets spent and limits declared before the restart still count.
    #[must_use]
    pub fn restore(config: GovernorConfig, snapshot: &GovernorSnapshot) -> Governor {
        let wall = SystemTime::now();
        let mut ledger = Ledger::new(config);
        ledger.restore(snapshot, unix_ms(wall));
        Governor::start(ledger, wall)
    }

    fn start(ledger: Ledger, wall: SystemTime) -> Governor {
        let shared = Shared {
            ledger: Mutex::new(ledger),
            changed: Notify::new(),
            durable: watch::Sender::new(0),
            started: Instant::now(),
            started_unix_ms: unix_ms(wall),
        };
        Governor {
            shared: Arc::new(shared),
        }
    }

    /// What must outlive the process.
    #[must_use]
    pub fn snapshot(&self) -> GovernorSnapshot {
        let now = self.now_ms();
        self.ledger().snapshot(now)
    }

    /// Changes whenever [`Governor::snapshot`] has something new that is worth writing to disk.
    #[must_use]
    pub fn durable_changes(&self) -> watch::Receiver<u64> {
        self.shared.durable.subscribe()
    }

    /// Limits that hold now, for status pages: what, for how long, and the platform's words.
    #[must_use]
    pub fn holds(&self) -> Vec<HoldReport> {
        let now = self.now_ms();
        self.ledger().holds(now)
    }

    /// What is left of a budget.
    #[must_use]
    pub fn room(&self, account: &str, budget: &str) -> Room {
        let now = self.now_ms();
        self.ledger().room(account, budget, now)
    }

    /// Time until a limit with this key ends for this account; zero if there is none.
    #[must_use]
    pub fn limited_for(&self, account: &str, key: &str) -> Duration {
        let now = self.now_ms();
        self.ledger().limited_for(account, key, now)
    }

    /// Counts something against a budget that was not a request of ours, for instance a game that an opponent started.
    pub fn count(&self, account: &str, budget: &str, amount: u32) {
        let now = self.now_ms();
        let durable = self.ledger().count(account, budget, amount, now);
        self.after_change(durable);
    }

    /// Notes a limit that arrived outside an answer, for instance as a line on a stream.
    pub fn note(&self, account: &str, call: Call, verdict: &Verdict) {
        let now = self.now_ms();
        let durable = self.ledger().note(account, call, &[], (now, now), verdict);
        self.after_change(durable);
    }

    /// Waits until the request may leave, at most `patience`.
    ///
    /// Cancel safe: dropping the future gives up the place in the queue. Moves wait only for a free connection.
    ///
    /// # Errors
    /// Why it may not leave. Known waits longer than `patience` are reported at once.
    pub async fn acquire(&self, request: Request, patience: Duration) -> Result<Permit, Held> {
        let account = Arc::clone(&request.account);
        let (call, keys) = (request.call, request.keys);
        let deadline = Instant::now() + patience;
        let id = self.ledger().enqueue(request)?;
        let _place = Place {
            governor: self,
            id,
            call,
        };
        loop {
            // Registered before the look, so that a change between the look and the wait is not missed.
            let changed = self.shared.changed.notified();
            let now = self.now_ms();
            let start = self.ledger().try_start(id, now);
            let until = match start {
                Start::Go { durable } => {
                    self.after_change(durable);
                    let governor = self.clone();
                    return Ok(Permit {
                        governor,
                        account,
                        call,
                        keys,
                        issued_ms: now,
                        reported: false,
                    });
                }
                Start::Never(held) => return Err(held),
                Start::Wait { until_ms: None, .. } => deadline,
                Start::Wait {
                    until_ms: Some(until_ms),
                    held,
                } => {
                    let until = self.shared.started
                        + Duration::from_millis(
                            until_ms.saturating_sub(self.shared.started_unix_ms),
                        );
                    if until > deadline {
                        return Err(held);
                    }
                    until
                }
            };
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(until.min(deadline)) => {
                    if Instant::now() >= deadline {
                        return Err(Held::Impatient(patience));
                    }
                }
            }
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // A panic while the lock is held leaves counters that are still valid numbers.
        self.shared
            .ledger
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Unix time by the monotonic clock: a jump of the wall clock while we run changes nothing.
    fn now_ms(&self) -> u64 {
        let run = Instant::now().saturating_duration_since(self.shared.started);
        self.shared.started_unix_ms + u64::try_from(run.as_millis()).unwrap_or(u64::MAX / 2)
    }

    fn after_change(&self, durable: bool) {
        if durable {
            self.shared.durable.send_modify(|n| *n += 1);
        }
        self.shared.changed.notify_waiters();
    }
}

/// A place in the queue, given up on drop.
struct Place<'a> {
    governor: &'a Governor,
    id: u64,
    call: Call,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.governor.ledger().leave(self.id, self.call.lane);
        self.governor.after_change(false);
    }
}

/// The right to send one request. Report what came of it; dropping it without a report counts as no answer.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    governor: Governor,
    account: Arc<str>,
    call: Call,
    keys: &'static [&'static str],
    issued_ms: u64,
    reported: bool,
}

impl Permit {
    /// Reports the outcome and frees the connection.
    pub fn finish(mut self, verdict: &Verdict) {
        self.report(verdict);
    }

    fn report(&mut self, verdict: &Verdict) {
        if self.reported {
            return;
        }
        self.reported = true;
        let now = self.governor.now_ms();
        let durable = {
            let mut ledger = self.governor.ledger();
            ledger.release(self.call.lane);
            ledger.note(
                &self.account,
                self.call,
                self.keys,
                (self.issued_ms, now),
                verdict,
            )
        };
        self.governor.after_change(durable);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.report(&Verdict::NoAnswer);
    }
}

fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::call::Repeat;

    const MOVE: Call = Call::new("game.move", Lane::Move, Repeat::AfterLook);
    const CREATE: Call = Call::new("challenge.create", Lane::ChallengeCreate, Repeat::AfterLook);
    const CHAT: Call = Call::new("game.chat", Lane::Chat, Repeat::Never);
    const ANSWER: Call = Call::new("challenge.accept", Lane::ChallengeAnswer, Repeat::Safe);

    fn request(call: Call) -> Request {
        Request::new(Arc::from("bot_us"), call)
    }

    fn limited() -> Verdict {
        Verdict::Limited {
            key: None,
            wait: None,
            text: "slow down".to_owned(),
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_429_holds_what_can_wait_and_never_a_move() {
        let governor = Governor::new(GovernorConfig::default());
        governor
            .acquire(request(CHAT), SECOND)
            .await
            .unwrap()
            .finish(&limited());
        let held = governor.acquire(request(CREATE), SECOND).await.unwrap_err();
        assert_eq!(held.wait(), Some(Duration::from_secs(60)), "{held}");
        governor
            .acquire(request(MOVE), SECOND)
            .await
            .unwrap()
            .finish(&limited());
        governor
            .acquire(request(MOVE), SECOND)
            .await
            .unwrap()
            .finish(&Verdict::Answered);
        let start = Instant::now();
        drop(
            governor
                .acquire(request(ANSWER), Duration::from_secs(600))
                .await
                .unwrap(),
        );
        assert!(
            start.elapsed() >= Duration::from_secs(59),
            "{:?}",
            start.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_requests_are_served_by_lane_and_then_by_age() {
        let governor = Governor::new(GovernorConfig::default());
        let busy = governor.acquire(request(CHAT), SECOND).await.unwrap();
        let (sender, mut served) = tokio::sync::mpsc::channel(8);
        let mut tasks = tokio::task::JoinSet::new();
        for (n, call) in [CHAT, CREATE, ANSWER, CREATE].into_iter().enumerate() {
            let (governor, sender) = (governor.clone(), sender.clone());
            tasks.spawn(async move {
                let permit = governor
                    .acquire(request(call), Duration::from_secs(5))
                    .await
                    .unwrap();
                sender.send(n).await.unwrap();
                permit.finish(&Verdict::Answered);
            });
            tokio::task::yield_now().await;
        }
        busy.finish(&Verdict::Answered);
        tasks.join_all().await;
        let mut order = Vec::new();
        while let Ok(n) = served.try_recv() {
            order.push(n);
        }
        assert_eq!(order, [2, 1, 3, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn queues_are_bounded_and_a_dropped_wait_gives_its_place_back() {
        let governor = Governor::new(GovernorConfig {
            queue_per_lane: 1,
            ..GovernorConfig::default()
        });
        let busy = governor.acquire(request(CHAT), SECOND).await.unwrap();
        {
            let waiting = governor.acquire(request(CHAT), SECOND);
            tokio::pin!(waiting);
            assert!(
                tokio::time::timeout(Duration::from_millis(1), &mut waiting)
                    .await
                    .is_err()
            );
            let refused = governor.acquire(request(CHAT), SECOND).await.unwrap_err();
            assert_eq!(refused, Held::QueueFull(Lane::Chat));
        }
        assert_eq!(
            governor.acquire(request(CHAT), SECOND).await.unwrap_err(),
            Held::Impatient(SECOND)
        );
        drop(busy);
        drop(governor.acquire(request(CHAT), SECOND).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn limits_and_budgets_survive_a_restart() {
        let config = GovernorConfig {
            rules: vec![BudgetRule::new(
                "bot_games",
                BudgetScope::Account,
                100,
                Duration::from_secs(86_400),
            )],
            ..GovernorConfig::default()
        };
        let governor = Governor::new(config.clone());
        let mut changes = governor.durable_changes();
        governor.count("bot_us", "bot_games", 99);
        let verdict = Verdict::Limited {
            key: Some("bot.vsBot.day".to_owned()),
            wait: Some(Duration::from_secs(86_398)),
            text: "You played 100 games".to_owned(),
        };
        let permit = governor
            .acquire(request(CREATE).keys(&["bot.vsBot.day"]), SECOND)
            .await
            .unwrap();
        permit.finish(&verdict);
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        let text = serde_json::to_string(&governor.snapshot()).unwrap();
        let snapshot: GovernorSnapshot = serde_json::from_str(&text).unwrap();
        let governor = Governor::restore(config, &snapshot);
        let wait = governor.limited_for("bot_us", "bot.vsBot.day");
        assert!((86_390..=86_398).contains(&wait.as_secs()), "{wait:?}");
        assert_eq!(governor.room("bot_us", "bot_games").left, 1);
        assert_eq!(governor.room("other", "bot_games").left, 100);
        // Only requests that the key concerns are held; a human may still be challenged.
        drop(governor.acquire(request(CREATE), SECOND).await.unwrap());
        let held = governor
            .acquire(request(CREATE).keys(&["bot.vsBot.day"]), SECOND)
            .await
            .unwrap_err();
        assert!(matches!(held, Held::Limit { .. }), "{held}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_spent_budget_is_waited_for_or_reported() {
        let rules = vec![BudgetRule::new(
            "event_opens",
            BudgetScope::Account,
            3,
            Duration::from_secs(60),
        )];
        let governor = Governor::new(GovernorConfig {
            rules,
            ..GovernorConfig::default()
        });
        let open = || request(CREATE).charge("event_opens", 1);
        for _ in 0..3 {
            drop(governor.acquire(open(), SECOND).await.unwrap());
            tokio::time::advance(SECOND).await;
        }
        let held = governor.acquire(open(), SECOND).await.unwrap_err();
        assert_eq!(
            held,
            Held::Budget {
                name: "event_opens".to_owned(),
                wait: Duration::from_secs(57)
            }
        );
        let start = Instant::now();
        drop(
            governor
                .acquire(open(), Duration::from_secs(120))
                .await
                .unwrap(),
        );
        assert_eq!(start.elapsed().as_secs(), 57);
    }
}
