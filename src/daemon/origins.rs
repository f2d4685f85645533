//! The servers in use: accounts of one server share its connections and its governor, whose limits outlive the process.

use std::collections::BTreeMap;

use tokio::sync::watch;

use crate::platform::governor::{Governor, GovernorConfig, GovernorSnapshot};
use crate::platform::http::{Origin, SetupError};
use crate::store::Store;
use crate::store::records::GovernorState;

use super::supervise::Companion;

/// One [`Origin`] per server, whatever way its address is spelled.
pub(super) struct Origins {
    store: Store,
    by_server: BTreeMap<String, Origin>,
}

impl Origins {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            by_server: BTreeMap::new(),
        }
    }

    /// The origin of this address, with the limits that an earlier run met there. The first account of a server decides
    /// on the governor's rules.
    pub(super) async fn get(
        &mut self,
        base_url: &str,
        config: GovernorConfig,
    ) -> Result<Origin, SetupError> {
        let server = Origin::server_of(base_url)?;
        if let Some(origin) = self.by_server.get(&server) {
            return origin.at(base_url);
        }
        let remembered = self.remembered(&server).await;
        let origin = Origin::new(base_url, config, remembered.as_ref())?;
        self.by_server.insert(server, origin.clone());
        Ok(origin)
    }

    async fn remembered(&self, server: &str) -> Option<GovernorSnapshot> {
        let record = self.store.get::<GovernorState>(server, "", 0).await;
        match record {
            Ok(record) => match serde_json::from_value(record?.value.0) {
                Ok(snapshot) => Some(snapshot),
                Err(error) => {
                    tracing::error!(%server, %error, "limits of an earlier run cannot be understood");
                    None
                }
            },
            Err(error) => {
                tracing::error!(%server, %error, "limits of an earlier run cannot be read");
                None
            }
        }
    }

    /// One task per server that keeps its limits on disk.
    pub(super) fn keepers(self) -> Vec<Companion> {
        let store = self.store;
        let keeper = |(server, origin): (String, Origin)| -> Companion {
            let governor = origin.governor().clone();
            let keeper = Keeper {
                store: store.clone(),
                server,
                // From now on, and not from the first turn of the task: an account may meet a limit before that.
                changes: governor.durable_changes(),
                governor,
            };
            ("limits", Box::pin(keeper.keep()))
        };
        self.by_server.into_iter().map(keeper).collect()
    }
}

/// Writes a governor's state whenever it has something new, and once more when it is dropped: the companions of the
/// daemon are cut off at its end, and the last limit that was met must not be the one that is forgotten.
struct Keeper {
    store: Store,
    server: String,
    governor: Governor,
    changes: watch::Receiver<u64>,
}

impl Keeper {
    async fn keep(mut self) {
        while self.changes.changed().await.is_ok() {
            if let Some(written) = self.write()
                && let Err(error) = written.await
            {
                tracing::error!(server = %self.server, %error, "limits of the platform are not kept");
            }
        }
    }

    fn write(&self) -> Option<crate::store::Pending<()>> {
        let value = serde_json::to_value(self.governor.snapshot()).ok()?;
        let state = GovernorState(value);
        Some(self.store.put(&self.server, "", &state, None, 0))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Submitted is enough: the root waits for the store before it returns.
        drop(self.write());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::platform::governor::Verdict;
    use crate::platform::lichess::{Server, governor_config};
    use crate::store::StoreOptions;

    const KEY: &str = "bot.vsBot.day";

    fn limited(seconds: u64) -> Verdict {
        Verdict::Limited {
            key: Some(KEY.to_owned()),
            wait: Some(Duration::from_secs(seconds)),
            text: "You played 100 games".to_owned(),
        }
    }

    fn note(origin: &Origin, account: &str, seconds: u64) {
        use crate::platform::call::{Call, Lane, Repeat};
        let create = Call::new("challenge.create", Lane::ChallengeCreate, Repeat::AfterLook);
        origin.governor().note(account, create, &limited(seconds));
    }

    async fn of(store: &Store, base_url: &str) -> (Origins, Origin) {
        let mut origins = Origins::new(store.clone());
        let config = governor_config(Server::House);
        let origin = origins.get(base_url, config).await.expect("an address");
        (origins, origin)
    }

    #[tokio::test]
    async fn all_accounts_of_a_server_share_one_governor_however_they_spell_it() {
        let store = Store::in_memory(&StoreOptions::default()).expect("a store");
        let (mut origins, first) = of(&store, "https://Lichess.org").await;
        note(&first, "a", 600);
        for spelling in [
            "https://lichess.org/",
            "https://lichess.org:443",
            "HTTPS://LICHESS.ORG",
        ] {
            let config = governor_config(Server::Lichess);
            let other = origins.get(spelling, config).await.expect("an address");
            assert!(
                other.governor().limited_for("a", KEY) > Duration::from_secs(500),
                "{spelling}"
            );
        }
        let config = governor_config(Server::Lichess);
        let other = origins.get("https://lichess.dev", config).await;
        let other = other.expect("an address");
        assert_eq!(other.governor().limited_for("a", KEY), Duration::ZERO);
        assert_eq!(origins.keepers().len(), 2, "one keeper a server");
    }

    #[tokio::test]
    async fn limits_are_kept_when_they_are_met_and_hold_after_a_restart() {
        let store = Store::in_memory(&StoreOptions::default()).expect("a store");
        let url = "http://127.0.0.1:1";
        let (origins, origin) = of(&store, url).await;
        let mut keepers: Vec<_> = origins.keepers().into_iter().map(|(_, k)| k).collect();
        let keeper = keepers.pop().expect("one server");
        let keeper = tokio::spawn(keeper);
        note(&origin, "a", 86_398);
        let kept = async {
            loop {
                let (_, again) = of(&store, url).await;
                if again.governor().limited_for("a", KEY) > Duration::from_secs(86_000) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let kept = tokio::time::timeout(Duration::from_secs(30), kept).await;
        kept.expect("the limit is on disk while the daemon runs");
        // Cut off in the moment of another limit: that one is kept as well.
        note(&origin, "b", 500);
        keeper.abort();
        drop(keeper.await);
        store.flush().await.expect("written");
        let (_, again) = of(&store, "http://127.0.0.1:1/").await;
        assert!(again.governor().limited_for("b", KEY) > Duration::from_secs(400));
    }
}
