//! How much of what an account may ask for: fixed windows that begin with the first use, as on Lichess.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// A number of uses per window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Uses.
    pub uses: u32,
    /// Length of the window, ms.
    pub window_ms: i64,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limited {
    /// Opening the event stream.
    EventStream,
    /// Reading one's own account.
    Account,
    /// Asking for the list of one's games.
    Playing,
    /// Credits for challenges, per minute: one for a bot, five for a person.
    ChallengeMinute,
    /// The same, per day.
    ChallengeDay,
    /// New guests, by address.
    Guest,
    /// Commands on the page.
    Page,
    /// Games to analyse.
    Analysis,
    /// Games between bots, counted when they begin, for both.
    BotGamesDay,
}

/// The limits of a house; what is not named is free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Limits(HashMap<Limited, Limit>);

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

impl Limits {
    /// Lichess's own.
    pub fn lichess() -> Limits {
        let mut limits = Limits::house();
        let mut set = |what, uses, window_ms| {
            limits.0.insert(what, Limit { uses, window_ms });
        };
        set(Limited::ChallengeMinute, 25, MINUTE_MS);
        set(Limited::ChallengeDay, 200, DAY_MS);
        set(Limited::BotGamesDay, 100, DAY_MS);
        limits
    }

    /// What a house wants for itself: nobody polls, everybody plays as much as he likes.
    pub fn house() -> Limits {
        let set = |uses, window_ms| Limit { uses, window_ms };
        Limits(HashMap::from([
            (Limited::EventStream, set(30, 10 * MINUTE_MS)),
            (Limited::Account, set(30, 5 * MINUTE_MS)),
            (Limited::Playing, set(120, 5 * MINUTE_MS)),
            (Limited::Guest, set(30, 10 * MINUTE_MS)),
            (Limited::Page, set(300, MINUTE_MS)),
            (Limited::Analysis, set(60, 60 * MINUTE_MS)),
        ]))
    }

    /// None at all.
    pub fn none() -> Limits {
        Limits(HashMap::new())
    }

    /// Sets one limit.
    pub fn with(mut self, what: Limited, uses: u32, window_ms: i64) -> Limits {
        self.0.insert(what, Limit { uses, window_ms });
        self
    }
}

/// Counts uses against the limits.
#[derive(Debug)]
pub struct Meter {
    limits: Limits,
    windows: HashMap<(Limited, String), Window>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    first_ms: i64,
    used: u32,
}

impl Meter {
    /// A meter that has counted nothing.
    pub fn new(limits: Limits) -> Meter {
        Meter {
            limits,
            windows: HashMap::new(),
        }
    }

    /// Counts `cost` uses; refused ones do not count.
    ///
    /// # Errors
    /// The seconds until the window ends.
    pub fn charge(&mut self, what: Limited, who: &str, cost: u32, now_ms: i64) -> Result<(), u64> {
        self.check(what, who, cost, now_ms)?;
        if let Some(limit) = self.limits.0.get(&what) {
            let key = (what, who.to_owned());
            let fresh = Window {
                first_ms: now_ms,
                used: 0,
            };
            let window = self.windows.entry(key).or_insert(fresh);
            if now_ms >= window.first_ms + limit.window_ms {
                *window = fresh;
            }
            window.used += cost;
        }
        Ok(())
    }

    /// Whether `cost` uses would be allowed.
    ///
    /// # Errors
    /// The seconds until the window ends.
    pub fn check(&self, what: Limited, who: &str, cost: u32, now_ms: i64) -> Result<(), u64> {
        let Some(limit) = self.limits.0.get(&what) else {
            return Ok(());
        };
        match self.windows.get(&(what, who.to_owned())) {
            Some(window)
                if now_ms < window.first_ms + limit.window_ms
                    && window.used + cost > limit.uses =>
            {
                let left = window.first_ms + limit.window_ms - now_ms;
                Err((left as u64).div_ceil(1000))
            }
            _ => Ok(()),
        }
    }

    /// Forgets windows that have ended.
    pub fn sweep(&mut self, now_ms: i64) {
        let limits = &self.limits.0;
        self.windows.retain(|(what, _), window| {
            limits
                .get(what)
                .is_some_and(|limit| now_ms < window.first_ms + limit.window_ms)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_begin_with_the_first_use_and_refusals_do_not_count() {
        let limits = Limits::none().with(Limited::Account, 3, 10_000);
        let mut meter = Meter::new(limits);
        let mut charge = |now, cost| meter.charge(Limited::Account, "a", cost, now);
        assert_eq!(charge(1_000, 2), Ok(()));
        assert_eq!(charge(2_000, 2), Err(9));
        assert_eq!(charge(2_000, 1), Ok(()));
        assert_eq!(charge(10_999, 1), Err(1));
        assert_eq!(charge(11_000, 3), Ok(()));
        assert_eq!(charge(11_001, 1), Err(10));
        assert_eq!(meter.charge(Limited::Account, "b", 1, 11_001), Ok(()));
        assert_eq!(meter.charge(Limited::Playing, "a", 99, 11_001), Ok(()));
        meter.sweep(30_000);
        assert!(meter.windows.is_empty());
    }
}
