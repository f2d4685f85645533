//! What the lobby must not forget between two starts: rests, refusals and used budgets.

use std::collections::BTreeMap;

use super::AccountName;

/// One day, the window of the platforms' daily budgets.
pub const DAY_MS: i64 = 86_400_000;

/// A change of the memory, to be put on disk before anything is done because of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryChange {
    /// Leave somebody or something alone until then.
    Rest {
        /// Whose.
        account: AccountName,
        /// Who or what: see [`Memory`].
        key: String,
        /// End, in milliseconds since 1970.
        until_ms: i64,
        /// Why, in words.
        reason: String,
        /// How often in a row.
        strikes: u32,
    },
    /// Something was counted in a window that ends then.
    Used {
        /// Whose.
        account: AccountName,
        /// Which budget.
        key: String,
        /// Begin of the window, in milliseconds since 1970.
        since_ms: i64,
        /// End of the window.
        until_ms: i64,
        /// Uses so far.
        used: u32,
    },
}

/// Why somebody is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rest {
    /// End, in milliseconds since 1970.
    pub until_ms: i64,
    /// Why, in words.
    pub reason: String,
    /// How often in a row.
    pub strikes: u32,
}

/// A window of counted uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Begin, in milliseconds since 1970. Platforms count from the first use, not from midnight.
    pub since_ms: i64,
    /// End.
    pub until_ms: i64,
    /// Uses so far.
    pub used: u32,
}

/// Rests and windows of all accounts. Keys of rests: `player:NAME`, `player:NAME VARIANT SPEED`, `row:NAME`,
/// `limit:bot-games`, `limit:challenges`; of windows: `bot-games`, `challenges`, `challenges-minute`, `games:NAME`.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    rests: BTreeMap<(AccountName, String), Rest>,
    windows: BTreeMap<(AccountName, String), Window>,
}

impl Memory {
    /// Takes over what was on disk.
    pub fn recall(&mut self, change: MemoryChange) {
        match change {
            MemoryChange::Rest {
                account,
                key,
                until_ms,
                reason,
                strikes,
            } => {
                let rest = Rest {
                    until_ms,
                    reason,
                    strikes,
                };
                self.rests.insert((account, key), rest);
            }
            MemoryChange::Used {
                account,
                key,
                since_ms,
                until_ms,
                used,
            } => {
                let window = Window {
                    since_ms,
                    until_ms,
                    used,
                };
                self.windows.insert((account, key), window);
            }
        }
    }

    /// The rest in force, if any.
    pub fn rest(&self, account: &AccountName, key: &str, now_ms: i64) -> Option<&Rest> {
        self.rests
            .get(&(account.clone(), key.to_owned()))
            .filter(|rest| rest.until_ms > now_ms)
    }

    /// Lets somebody rest; never shortens a rest in force. The change must be put on disk.
    pub fn let_rest(
        &mut self,
        account: &AccountName,
        key: &str,
        until_ms: i64,
        reason: &str,
        strikes: u32,
        now_ms: i64,
    ) -> MemoryChange {
        let old = self.rest(account, key, now_ms).cloned();
        let rest = match old {
            Some(old) if old.until_ms > until_ms => old,
            _ => Rest {
                until_ms,
                reason: reason.to_owned(),
                strikes,
            },
        };
        let change = MemoryChange::Rest {
            account: account.clone(),
            key: key.to_owned(),
            until_ms: rest.until_ms,
            reason: rest.reason.clone(),
            strikes: rest.strikes,
        };
        self.rests.insert((account.clone(), key.to_owned()), rest);
        change
    }

    /// Strikes recorded under a key, also after the rest has ended: the next rest is longer.
    pub fn strikes(&self, account: &AccountName, key: &str) -> u32 {
        self.rests
            .get(&(account.clone(), key.to_owned()))
            .map_or(0, |rest| rest.strikes)
    }

    /// Uses counted in the present window.
    pub fn used(&self, account: &AccountName, key: &str, now_ms: i64) -> u32 {
        self.window(account, key, now_ms).map_or(0, |w| w.used)
    }

    /// The present window, if one is open.
    pub fn window(&self, account: &AccountName, key: &str, now_ms: i64) -> Option<Window> {
        self.windows
            .get(&(account.clone(), key.to_owned()))
            .copied()
            .filter(|window| window.until_ms > now_ms)
    }

    /// Counts `cost` uses; the window opens with the first. The change must be put on disk.
    pub fn count(
        &mut self,
        account: &AccountName,
        key: &str,
        cost: u32,
        span_ms: i64,
        now_ms: i64,
    ) -> MemoryChange {
        let open = self.window(account, key, now_ms).unwrap_or(Window {
            since_ms: now_ms,
            until_ms: now_ms.saturating_add(span_ms),
            used: 0,
        });
        let window = Window {
            used: open.used.saturating_add(cost),
            ..open
        };
        self.windows
            .insert((account.clone(), key.to_owned()), window);
        MemoryChange::Used {
            account: account.clone(),
            key: key.to_owned(),
            since_ms: window.since_ms,
            until_ms: window.until_ms,
            used: window.used,
        }
    }

    /// Drops what ended long ago, so that the memory stays bounded.
    pub fn prune(&mut self, now_ms: i64) {
        self.windows.retain(|_, window| window.until_ms > now_ms);
        // Strikes are remembered for a month after the rest.
        self.rests
            .retain(|_, rest| rest.until_ms.saturating_add(30 * DAY_MS) > now_ms);
    }

    /// Entries kept, for tests and status.
    pub fn len(&self) -> usize {
        self.rests.len() + self.windows.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> AccountName {
        AccountName::new("main")
    }

    #[test]
    fn a_window_opens_with_the_first_use_and_does_not_slide() {
        let mut memory = Memory::default();
        memory.count(&me(), "bot-games", 1, DAY_MS, 1_000);
        memory.count(&me(), "bot-games", 1, DAY_MS, DAY_MS);
        assert_eq!(memory.used(&me(), "bot-games", DAY_MS + 999), 2);
        assert_eq!(memory.used(&me(), "bot-games", DAY_MS + 1_000), 0);
        let change = memory.count(&me(), "bot-games", 1, DAY_MS, DAY_MS + 1_000);
        let MemoryChange::Used { used, since_ms, .. } = change else {
            panic!("{change:?}");
        };
        assert_eq!((used, since_ms), (1, DAY_MS + 1_000));
    }

    #[test]
    fn a_rest_is_never_shortened() {
        let mut memory = Memory::default();
        memory.let_rest(&me(), "player:x", 5_000, "limit", 1, 0);
        memory.let_rest(&me(), "player:x", 2_000, "declined", 1, 0);
        let rest = memory.rest(&me(), "player:x", 4_999).cloned();
        assert_eq!(rest.map(|r| r.reason), Some("limit".to_owned()));
        assert!(memory.rest(&me(), "player:x", 5_000).is_none());
        assert_eq!(memory.strikes(&me(), "player:x"), 1);
    }
}
