//! Who there is, who is there, and what they may be told.

use serde_json::{Value, json};

use super::super::account::{Account, AccountKind, account_id};
use super::super::limits::Limited;
use super::super::refusal::Refusal;
use super::{Caller, Hall};

impl Hall {
    /// Counts a reading of one's own account.
    ///
    /// # Errors
    /// 429 if it is asked for too often.
    pub fn charge_account(&self, caller: &Caller) -> Result<(), Refusal> {
        self.command(|state, now_ms| {
            state.refuse_if_closing()?;
            state.charge_reading(Limited::Account, &caller.account, now_ms)
        })
    }

    /// Makes a bot of a person's account that has not played.
    ///
    /// # Errors
    /// 400 if it has.
    pub fn upgrade(&self, caller: &Caller) -> Result<(), Refusal> {
        self.command(|state, _| {
            let busy = state.running_games_of(&caller.account).next().is_some();
            let Some(account) = state.accounts.get_mut(&caller.account) else {
                return Err(Refusal::Unauthorized("No such user"));
            };
            if account.is_bot() {
                return Ok(());
            }
            if busy || account.counts.all > 0 {
                let played = "You already have games played. Make a new account.";
                return Err(Refusal::bad(played));
            }
            account.kind = AccountKind::Bot;
            account.takebacks = false;
            state.dirty_accounts.insert(caller.account.clone());
            Ok(())
        })
    }

    /// Bots that are online and say something about themselves, by name.
    pub fn online_bots(&self) -> Vec<(Account, Option<i64>)> {
        let state = self.lock();
        let now_ms = self.timeline.now_ms();
        state
            .accounts
            .iter()
            .filter(|(id, account)| {
                account.is_bot() && !account.bio.is_empty() && state.is_online(id, now_ms)
            })
            .map(|(id, account)| (account.clone(), state.seen_ms.get(id).copied()))
            .collect()
    }

    /// One entry of `users/status`; `None` for nobody.
    pub fn user_status(&self, name: &str, with_games: bool) -> Option<Value> {
        let state = self.lock();
        let now_ms = self.timeline.now_ms();
        let id = account_id(name);
        let account = state.accounts.get(&id)?;
        let mut json = json!({ "id": id, "name": account.name });
        if let Some(title) = account.title() {
            json["title"] = json!(title);
        }
        if state.is_online(&id, now_ms) {
            json["online"] = json!(true);
        }
        if let Some((live, _)) = state.running_games_of(&id).next() {
            json["playing"] = json!(true);
            if with_games {
                json["playingId"] = json!(live.game.id);
            }
        }
        Some(json)
    }
}
