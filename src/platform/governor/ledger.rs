//! The governor's decisions: who may send now, and if not, when. Synchronous; times are milliseconds since the Unix
//! epoch, handed in.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Held, Request};
use crate::platform::call::{Call, Lane};
use crate::platform::error::DEFAULT_PAUSE;

/// Longest pause that repeated, unexplained limits grow to.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
/// Budgets and limits shorter than this are not worth a write to disk.
const DURABLE_FROM: Duration = Duration::from_secs(30);
/// The budget that every request takes from, if there is a rule for it. Moves are counted and never held.
pub const EVERYTHING: &str = "everything";

/// Whom a budget belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetScope {
    /// Each account has its own.
    Account,
    /// All accounts on the origin share it.
    Origin,
}

/// At most `limit` units in any stretch of `per`. Several rules may share a name: one charge then counts for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetRule {
    /// What requests name in their charges.
    pub name: String,
    /// Whom it belongs to.
    pub scope: BudgetScope,
    /// Units.
    pub limit: u32,
    /// Length of the window. It slides, which is at least as strict as any fixed window of the platform.
    pub per: Duration,
}

impl BudgetRule {
    /// A rule.
    #[must_use]
    pub fn new(name: &str, scope: BudgetScope, limit: u32, per: Duration) -> BudgetRule {
        BudgetRule {
            name: name.to_owned(),
            scope,
            limit,
            per,
        }
    }

    fn id(&self) -> String {
        format!("{}/{}", self.name, self.per.as_secs())
    }

    fn owner<'a>(&self, account: &'a str) -> &'a str {
        match self.scope {
            BudgetScope::Account => account,
            BudgetScope::Origin => "",
        }
    }
}

/// What a governor allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GovernorConfig {
    /// Budgets.
    pub rules: Vec<BudgetRule>,
    /// Moves on the way at the same time.
    pub moves_in_flight: usize,
    /// Game controls on the way at the same time.
    pub controls_in_flight: usize,
    /// Streams being opened at the same time.
    pub opens_in_flight: usize,
    /// Everything else on the way at the same time. Lichess asks for one.
    pub calm_in_flight: usize,
    /// Requests that may wait in one lane.
    pub queue_per_lane: usize,
}

impl Default for GovernorConfig {
    fn default() -> GovernorConfig {
        GovernorConfig {
            rules: Vec::new(),
            moves_in_flight: 64,
            controls_in_flight: 16,
            opens_in_flight: 8,
            calm_in_flight: 1,
            queue_per_lane: 256,
        }
    }
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The platform answered, with success or with a refusal that is no limit.
    Answered,
    /// No answer, or an answer of something in front of the platform.
    NoAnswer,
    /// The platform said that we ask too much.
    Limited {
        /// The limit's name, if the platform named it.
        key: Option<String>,
        /// How long it said to wait.
        wait: Option<Duration>,
        /// Its words, for status pages.
        text: String,
    },
}

/// What is left of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Units left in the tightest window; `u32::MAX` if there is no such budget.
    pub left: u32,
    /// Time until at least one more unit is free; zero if one is free now.
    pub free_in: Duration,
}

/// A limit that holds, for status pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldReport {
    /// Whom: an account, or everybody on the origin.
    pub account: Option<String>,
    /// What: a key of the platform, a route, or everything that can wait.
    pub what: String,
    /// Time until it ends.
    pub left: Duration,
    /// The platform's words.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum HoldOn {
    /// All lanes that do not serve running games, of all accounts.
    CalmLanes,
    /// One route of one account.
    Route(String, String),
    /// Requests of one account that name this key.
    Key(String, String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Hold {
    on: HoldOn,
    set_ms: u64,
    until_ms: u64,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Spent {
    rule: String,
    owner: String,
    /// Time and amount.
    entries: VecDeque<(u64, u32)>,
}

/// The part of a governor's state that must outlive the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GovernorSnapshot {
    taken_ms: u64,
    strikes: u32,
    holds: Vec<Hold>,
    spent: Vec<Spent>,
}

/// Answer to [`Ledger::try_start`].
#[derive(Debug)]
pub(super) enum Start {
    /// Send now. `durable`: something changed that belongs on disk.
    Go { durable: bool },
    /// Not now. Without a time: when something changes.
    Wait { until_ms: Option<u64>, held: Held },
    /// Not at all.
    Never(Held),
}

#[derive(Debug)]
pub(super) struct Ledger {
    config: GovernorConfig,
    next_id: u64,
    waiting: BTreeMap<(Lane, u64), Request>,
    in_flight: [usize; GROUPS],
    holds: BTreeMap<HoldOn, Hold>,
    /// Unexplained limits in a row.
    strikes: u32,
    spent: BTreeMap<(usize, String), VecDeque<(u64, u32)>>,
}

const GROUPS: usize = 4;

/// Lanes that share a number of connections.
fn group(lane: Lane) -> usize {
    match lane {
        Lane::Move => 0,
        Lane::GameControl => 1,
        Lane::StreamOpen => 2,
        Lane::ChallengeAnswer | Lane::ChallengeCreate | Lane::Chat | Lane::Profile => 3,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4)
}

/// Why a request cannot leave now.
struct Block {
    until_ms: Option<u64>,
    held: Held,
}

impl Ledger {
    pub(super) fn new(config: GovernorConfig) -> Ledger {
        Ledger {
            config,
            next_id: 0,
            waiting: BTreeMap::new(),
            in_flight: [0; GROUPS],
            holds: BTreeMap::new(),
            strikes: 0,
            spent: BTreeMap::new(),
        }
    }

    pub(super) fn enqueue(&mut self, request: Request) -> Result<u64, Held> {
        let lane = request.call.lane;
        let in_lane = self.waiting.range((lane, 0)..=(lane, u64::MAX)).count();
        if in_lane >= self.config.queue_per_lane {
            return Err(Held::QueueFull(lane));
        }
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.insert((lane, id), request);
        Ok(id)
    }

    pub(super) fn leave(&mut self, id: u64, lane: Lane) {
        self.waiting.remove(&(lane, id));
    }

    pub(super) fn release(&mut self, lane: Lane) {
        let count = &mut self.in_flight[group(lane)];
        *count = count.saturating_sub(1);
    }

    pub(super) fn try_start(&mut self, id: u64, now_ms: u64) -> Start {
        let Some((key, request)) = self.waiting.iter().find(|((_, waiting), _)| *waiting == id)
        else {
            return Start::Never(Held::Impatient(Duration::ZERO));
        };
        let key = *key;
        if let Some(block) = self.block(request, now_ms) {
            return match block.until_ms {
                Some(u64::MAX) => Start::Never(block.held),
                until_ms => Start::Wait {
                    until_ms,
                    held: block.held,
                },
            };
        }
        let group = group(key.0);
        let busy = self.in_flight[group] >= self.capacity(group);
        let overtakes = self.waiting.range(..key).any(|((lane, _), other)| {
            self::group(*lane) == group && self.block(other, now_ms).is_none()
        });
        if busy || overtakes {
            return Start::Wait {
                until_ms: None,
                held: Held::Impatient(Duration::ZERO),
            };
        }
        let Some(request) = self.waiting.remove(&key) else {
            return Start::Never(Held::Impatient(Duration::ZERO));
        };
        self.in_flight[group] += 1;
        let mut durable = self.count(&request.account, EVERYTHING, 1, now_ms);
        for (budget, amount) in &request.charges {
            durable |= self.count(&request.account, budget, *amount, now_ms);
        }
        Start::Go { durable }
    }

    fn capacity(&self, group: usize) -> usize {
        let config = &self.config;
        [
            config.moves_in_flight,
            config.controls_in_flight,
            config.opens_in_flight,
            config.calm_in_flight,
        ][group]
            .max(1)
    }

    /// The longest-lasting reason why a request may not leave, apart from others on the way.
    fn block(&self, request: &Request, now_ms: u64) -> Option<Block> {
        if request.call.lane == Lane::Move {
            return None;
        }
        let held = self.hold_block(request, now_ms);
        let spent = self.budget_block(request, now_ms);
        match (held, spent) {
            (Some(a), Some(b)) => Some(if a.until_ms >= b.until_ms { a } else { b }),
            (a, b) => a.or(b),
        }
    }

    fn hold_block(&self, request: &Request, now_ms: u64) -> Option<Block> {
        let hold = self
            .holds
            .values()
            .filter(|hold| hold.until_ms > now_ms && concerns(&hold.on, request))
            .max_by_key(|hold| hold.until_ms)?;
        let wait = Duration::from_millis(hold.until_ms - now_ms);
        let held = Held::Limit {
            name: hold_name(&hold.on),
            wait,
        };
        Some(Block {
            until_ms: Some(hold.until_ms),
            held,
        })
    }

    fn budget_block(&self, request: &Request, now_ms: u64) -> Option<Block> {
        let everything = (EVERYTHING, 1);
        let mut worst: Option<Block> = None;
        for (budget, amount) in request.charges.iter().chain([&everything]) {
            for (index, rule) in self
                .config
                .rules
                .iter()
                .enumerate()
                .filter(|(_, rule)| rule.name == *budget)
            {
                let Some(until) = self.free_at(index, rule, &request.account, *amount, now_ms)
                else {
                    continue;
                };
                if worst
                    .as_ref()
                    .is_none_or(|block| block.until_ms < Some(until))
                {
                    let wait = Duration::from_millis(until.saturating_sub(now_ms));
                    let held = Held::Budget {
                        name: rule.name.clone(),
                        wait,
                    };
                    worst = Some(Block {
                        until_ms: Some(until),
                        held,
                    });
                }
            }
        }
        worst
    }

    /// When `amount` units of a rule are free; `None` if they are free now, `u64::MAX` if they never are.
    fn free_at(
        &self,
        index: usize,
        rule: &BudgetRule,
        account: &str,
        amount: u32,
        now_ms: u64,
    ) -> Option<u64> {
        if amount == 0 {
            return None;
        }
        if amount > rule.limit {
            return Some(u64::MAX);
        }
        let entries = self.spent.get(&(index, rule.owner(account).to_owned()))?;
        let per = millis(rule.per);
        let live = || {
            entries
                .iter()
                .filter(|(at, _)| at.saturating_add(per) > now_ms)
        };
        let mut used: u64 = live().map(|(_, amount)| u64::from(*amount)).sum();
        let allowed = u64::from(rule.limit - amount);
        if used <= allowed {
            return None;
        }
        for (at, amount) in live() {
            used -= u64::from(*amount);
            if used <= allowed {
                return Some(at.saturating_add(per));
            }
        }
        None
    }

    pub(super) fn count(&mut self, account: &str, budget: &str, amount: u32, now_ms: u64) -> bool {
        if amount == 0 {
            return false;
        }
        let mut durable = false;
        for (index, rule) in self
            .config
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.name == budget)
        {
            let entries = self
                .spent
                .entry((index, rule.owner(account).to_owned()))
                .or_default();
            let per = millis(rule.per);
            while entries
                .front()
                .is_some_and(|(at, _)| at.saturating_add(per) <= now_ms)
            {
                entries.pop_front();
            }
            match entries.back_mut() {
                // Entries of the same instant share a place, and a rule never keeps more places than units.
                Some((at, sum)) if *at == now_ms => *sum = sum.saturating_add(amount),
                _ => entries.push_back((now_ms, amount)),
            }
            if entries.len() > rule.limit as usize {
                let (_, oldest) = entries.pop_front().unwrap_or_default();
                if let Some((_, next)) = entries.front_mut() {
                    *next = next.saturating_add(oldest);
                }
            }
            durable |= rule.per >= DURABLE_FROM && rule.name != EVERYTHING;
        }
        durable
    }

    pub(super) fn room(&self, account: &str, budget: &str, now_ms: u64) -> Room {
        let mut room = Room {
            left: u32::MAX,
            free_in: Duration::ZERO,
        };
        for (index, rule) in self
            .config
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.name == budget)
        {
            let per = millis(rule.per);
            let entries = self.spent.get(&(index, rule.owner(account).to_owned()));
            let live = entries
                .into_iter()
                .flatten()
                .filter(|(at, _)| at.saturating_add(per) > now_ms);
            let used: u64 = live.map(|(_, amount)| u64::from(*amount)).sum();
            let left = u64::from(rule.limit).saturating_sub(used);
            room.left = room.left.min(u32::try_from(left).unwrap_or(u32::MAX));
            if let Some(at) = self.free_at(index, rule, account, 1, now_ms) {
                room.free_in = room
                    .free_in
                    .max(Duration::from_millis(at.saturating_sub(now_ms)));
            }
        }
        room
    }

    pub(super) fn limited_for(&self, account: &str, key: &str, now_ms: u64) -> Duration {
        let on = HoldOn::Key(account.to_owned(), key.to_owned());
        let until_ms = self.holds.get(&on).map_or(0, |hold| hold.until_ms);
        Duration::from_millis(until_ms.saturating_sub(now_ms))
    }

    /// Draws the consequences of an outcome. The times: when the request left, and now. `keys`: the limit keys that the
    /// request named.
    pub(super) fn note(
        &mut self,
        account: &str,
        call: Call,
        keys: &[&str],
        (issued_ms, now_ms): (u64, u64),
        verdict: &Verdict,
    ) -> bool {
        self.holds.retain(|_, hold| hold.until_ms > now_ms);
        match verdict {
            Verdict::NoAnswer => false,
            Verdict::Answered => {
                // A success of a lane that the hold does not concern says nothing about the limit.
                let clears = self.strikes > 0
                    && !call.lane.serves_running_games()
                    && !self.holds.contains_key(&HoldOn::CalmLanes);
                if clears {
                    self.strikes = 0;
                }
                clears
            }
            Verdict::Limited {
                key: Some(key),
                wait: Some(wait),
                text,
            } => {
                let account = account.to_owned();
                self.hold(
                    HoldOn::Key(account.clone(), key.clone()),
                    *wait,
                    now_ms,
                    text,
                );
                if !keys.contains(&key.as_str()) && !call.self_paced {
                    self.hold(
                        HoldOn::Route(account, call.route.to_owned()),
                        *wait,
                        now_ms,
                        text,
                    );
                }
                true
            }
            Verdict::Limited { wait, text, .. } => {
                let pause = wait.unwrap_or_else(|| self.next_pause(issued_ms));
                self.hold(HoldOn::CalmLanes, pause, now_ms, text);
                if !call.self_paced {
                    self.hold(
                        HoldOn::Route(account.to_owned(), call.route.to_owned()),
                        pause,
                        now_ms,
                        text,
                    );
                }
                true
            }
        }
    }

    /// Sixty seconds, doubled with each limit in a row. Requests that left before the last limit was known belong to it.
    fn next_pause(&mut self, issued_ms: u64) -> Duration {
        let same_incident = self
            .holds
            .get(&HoldOn::CalmLanes)
            .is_some_and(|hold| issued_ms <= hold.set_ms);
        if !same_incident {
            self.strikes = (self.strikes + 1).min(16);
        }
        let doublings = self.strikes.saturating_sub(1);
        DEFAULT_PAUSE
            .saturating_mul(1 << doublings)
            .min(LONGEST_PAUSE)
    }

    fn hold(&mut self, on: HoldOn, wait: Duration, now_ms: u64, text: &str) {
        let until_ms = now_ms.saturating_add(millis(wait));
        let hold = Hold {
            on: on.clone(),
            set_ms: now_ms,
            until_ms,
            text: text.to_owned(),
        };
        let current = self.holds.get(&on).map_or(0, |hold| hold.until_ms);
        if until_ms > current {
            self.holds.insert(on, hold);
        }
    }

    pub(super) fn holds(&self, now_ms: u64) -> Vec<HoldReport> {
        let live = self.holds.values().filter(|hold| hold.until_ms > now_ms);
        live.map(|hold| HoldReport {
            account: match &hold.on {
                HoldOn::CalmLanes => None,
                HoldOn::Route(account, _) | HoldOn::Key(account, _) => Some(account.clone()),
            },
            what: hold_name(&hold.on),
            left: Duration::from_millis(hold.until_ms - now_ms),
            text: hold.text.clone(),
        })
        .collect()
    }

    pub(super) fn snapshot(&self, now_ms: u64) -> GovernorSnapshot {
        let holds = self
            .holds
            .values()
            .filter(|hold| hold.until_ms > now_ms)
            .cloned()
            .collect();
        let mut spent = Vec::new();
        for ((index, owner), entries) in &self.spent {
            let rule = &self.config.rules[*index];
            let per = millis(rule.per);
            let live: VecDeque<(u64, u32)> = entries
                .iter()
                .filter(|(at, _)| at.saturating_add(per) > now_ms)
                .copied()
                .collect();
            if rule.per >= DURABLE_FROM && !live.is_empty() {
                spent.push(Spent {
                    rule: rule.id(),
                    owner: owner.clone(),
                    entries: live,
                });
            }
        }
        GovernorSnapshot {
            taken_ms: now_ms,
            strikes: self.strikes,
            holds,
            spent,
        }
    }

    /// Takes a snapshot back. If the wall clock went backwards meanwhile, times are moved with it, so that nothing lasts
    /// longer than it was declared for.
    pub(super) fn restore(&mut self, snapshot: &GovernorSnapshot, now_ms: u64) {
        let back = snapshot.taken_ms.saturating_sub(now_ms);
        self.strikes = snapshot.strikes.min(16);
        for hold in &snapshot.holds {
            let hold = Hold {
                set_ms: hold.set_ms.saturating_sub(back),
                until_ms: hold.until_ms.saturating_sub(back),
                ..hold.clone()
            };
            if hold.until_ms > now_ms {
                self.holds.insert(hold.on.clone(), hold);
            }
        }
        for spent in &snapshot.spent {
            let Some(index) = self
                .config
                .rules
                .iter()
                .position(|rule| rule.id() == spent.rule)
            else {
                continue;
            };
            let entries = spent
                .entries
                .iter()
                .map(|(at, amount)| (at.saturating_sub(back), *amount))
                .collect();
            self.spent.insert((index, spent.owner.clone()), entries);
        }
    }
}

fn concerns(on: &HoldOn, request: &Request) -> bool {
    match on {
        HoldOn::CalmLanes => !request.call.lane.serves_running_games(),
        HoldOn::Route(account, route) => {
            !request.call.self_paced && **account == *request.account && request.call.route == route
        }
        HoldOn::Key(account, key) => {
            **account == *request.account && request.keys.contains(&key.as_str())
        }
    }
}

fn hold_name(on: &HoldOn) -> String {
    match on {
        HoldOn::CalmLanes => "everything but running games".to_owned(),
        HoldOn::Route(_, route) => route.clone(),
        HoldOn::Key(_, key) => key.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::platform::call::Repeat;

    const CHAT: Call = Call::new("game.chat", Lane::Chat, Repeat::Never);
    const MOVE: Call = Call::new("game.move", Lane::Move, Repeat::AfterLook);
    const EVENTS: Call = Call::new("event.stream", Lane::StreamOpen, Repeat::Safe);
    const GAME: Call = Call::new("game.stream", Lane::StreamOpen, Repeat::Safe).self_paced();
    const NOW: u64 = 1_700_000_000_000;

    fn limited(wait: Option<u64>) -> Verdict {
        Verdict::Limited {
            key: None,
            wait: wait.map(Duration::from_secs),
            text: String::new(),
        }
    }

    fn wait_of(ledger: &mut Ledger, call: Call, now_ms: u64) -> Option<Duration> {
        let id = ledger.enqueue(Request::new(Arc::from("a"), call)).unwrap();
        let start = ledger.try_start(id, now_ms);
        ledger.leave(id, call.lane);
        match start {
            Start::Go { .. } => {
                ledger.release(call.lane);
                None
            }
            Start::Wait { held, .. } | Start::Never(held) => held.wait(),
        }
    }

    #[test]
    fn an_unexplained_limit_is_a_minute_and_doubles_on_repeat() {
        let mut ledger = Ledger::new(GovernorConfig::default());
        let mut now = NOW;
        for expected in [60, 120, 240, 480] {
            ledger.note("a", CHAT, &[], (now, now), &limited(None));
            assert_eq!(
                wait_of(&mut ledger, CHAT, now),
                Some(Duration::from_secs(expected))
            );
            now += expected * 1000;
            assert_eq!(wait_of(&mut ledger, CHAT, now), None);
            now += 1;
        }
        ledger.note("a", CHAT, &[], (now, now), &Verdict::Answered);
        ledger.note("a", CHAT, &[], (now, now), &limited(None));
        assert_eq!(
            wait_of(&mut ledger, CHAT, now),
            Some(Duration::from_secs(60)),
            "a success ends the row"
        );
    }

    #[test]
    fn requests_of_the_same_burst_count_as_one_limit() {
        let mut ledger = Ledger::new(GovernorConfig::default());
        for delay in 0..5 {
            ledger.note("a", CHAT, &[], (NOW - 10, NOW + delay), &limited(None));
        }
        let wait = wait_of(&mut ledger, CHAT, NOW + 5).unwrap();
        assert!(wait <= Duration::from_secs(60), "{wait:?}");
    }

    #[test]
    fn successful_moves_do_not_end_a_row_of_limits() {
        let mut ledger = Ledger::new(GovernorConfig::default());
        ledger.note("a", CHAT, &[], (NOW, NOW), &limited(None));
        ledger.note(
            "a",
            MOVE,
            &[],
            (NOW + 61_000, NOW + 61_000),
            &Verdict::Answered,
        );
        ledger.note("a", CHAT, &[], (NOW + 62_000, NOW + 62_000), &limited(None));
        assert_eq!(
            wait_of(&mut ledger, CHAT, NOW + 62_000),
            Some(Duration::from_secs(120))
        );
    }

    #[test]
    fn a_limited_event_stream_leaves_game_streams_and_moves_alone() {
        let mut ledger = Ledger::new(GovernorConfig::default());
        ledger.note("a", EVENTS, &[], (NOW, NOW), &limited(Some(90)));
        assert_eq!(
            wait_of(&mut ledger, EVENTS, NOW),
            Some(Duration::from_secs(90))
        );
        assert_eq!(wait_of(&mut ledger, GAME, NOW), None);
        assert_eq!(wait_of(&mut ledger, MOVE, NOW), None);
        assert_eq!(
            wait_of(&mut ledger, CHAT, NOW),
            Some(Duration::from_secs(90))
        );
    }

    #[test]
    fn two_rules_of_one_name_both_count() {
        let minute = Duration::from_secs(60);
        let day = Duration::from_secs(86_400);
        let rules = vec![
            BudgetRule::new("credits", BudgetScope::Account, 25, minute),
            BudgetRule::new("credits", BudgetScope::Account, 30, day),
        ];
        let mut ledger = Ledger::new(GovernorConfig {
            rules,
            ..GovernorConfig::default()
        });
        ledger.count("a", "credits", 25, NOW);
        assert_eq!(
            ledger.room("a", "credits", NOW),
            Room {
                left: 0,
                free_in: minute
            }
        );
        assert_eq!(ledger.room("a", "credits", NOW + 60_000).left, 5);
        ledger.count("a", "credits", 5, NOW + 60_000);
        let room = ledger.room("a", "credits", NOW + 120_000);
        assert_eq!(
            room,
            Room {
                left: 0,
                free_in: day - Duration::from_secs(120)
            }
        );
    }

    #[test]
    fn a_wall_clock_that_went_back_does_not_lengthen_a_limit() {
        let mut ledger = Ledger::new(GovernorConfig::default());
        ledger.note("a", CHAT, &[], (NOW, NOW), &limited(Some(100)));
        let snapshot = ledger.snapshot(NOW + 10_000);
        let mut restored = Ledger::new(GovernorConfig::default());
        let yesterday = NOW - 86_400_000;
        restored.restore(&snapshot, yesterday);
        assert_eq!(
            wait_of(&mut restored, CHAT, yesterday),
            Some(Duration::from_secs(90))
        );
    }
}
