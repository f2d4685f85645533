//! Challenges of ours after they were sent: created, declined, refused, withdrawn.

use std::time::Duration;

use crate::game::Moment;

use super::challenge::{Challenge, ChallengeId, ChallengeRefusal, DeclineReason, RequestId};
use super::matchmaking::rest_keys;
use super::memory::DAY_MS;
use super::slots::{Holder, Lease};
use super::{AccountName, Lobby, LobbyAction, Now};

/// Longest rest after refusals.
const MAX_REST: Duration = Duration::from_secs(30 * 86_400);
/// How long a withdrawn challenge still holds its slot: a game may start all the same.
const WITHDRAWN_LEASE: Duration = Duration::from_secs(3);

impl Lobby {
    /// The platform shows a challenge of ours: one that we know, or one of an earlier run. An offer to go on with an adjourned
    /// game is none of ours: the root told the client to make it.
    pub(super) fn echoed(&mut self, account: &AccountName, challenge: &Challenge) {
        if challenge.resumes_adjourned {
            return;
        }
        let known = self.slots.leases().iter().any(|lease| {
            &lease.account == account
                && match &lease.holder {
                    Holder::Outgoing { challenge: id, .. } => {
                        // While the answer to our request is on its way the echo may come first.
                        id.as_ref() == Some(&challenge.id)
                            || (id.is_none()
                                && lease.opponent.as_deref()
                                    == Some(challenge.opponent.name.key().as_str()))
                    }
                    _ => false,
                }
        });
        if !known {
            self.note(
                account,
                "matchmaking.stray",
                "withdraws",
                format!("challenge {} was not sent by this run", challenge.id),
            );
            self.act(account, LobbyAction::Cancel(challenge.id.clone()));
        }
    }

    pub(super) fn created(
        &mut self,
        account: &AccountName,
        request: RequestId,
        challenge: &Challenge,
        now: Now,
    ) {
        let until = now.mono + self.matchmaking.timeout;
        let lease = self.outgoing(account, request);
        if let Some(lease) = lease
            && let Holder::Outgoing {
                challenge: id,
                withdrawn,
                ..
            } = &mut lease.holder
        {
            *id = Some(challenge.id.clone());
            if *withdrawn {
                // It was to be withdrawn before its id was known.
                lease.until = Some(now.mono + WITHDRAWN_LEASE);
                return self.act(account, LobbyAction::Cancel(challenge.id.clone()));
            }
            lease.until = Some(until);
            return;
        }
        // The game started before the answer came, or the lease ran out while we waited for it.
        let started = self.slots.leases().iter().any(|lease| {
            &lease.account == account
                && matches!(&lease.holder, Holder::Game(game) if game.as_str() == challenge.id.as_str())
        });
        if !started {
            self.act(account, LobbyAction::Cancel(challenge.id.clone()));
        }
    }

    fn outgoing(&mut self, account: &AccountName, request: RequestId) -> Option<&mut Lease> {
        self.slots.find(|lease| {
            &lease.account == account
                && matches!(&lease.holder, Holder::Outgoing { request: r, .. } if *r == request)
        })
    }

    pub(super) fn declined(
        &mut self,
        account: &AccountName,
        id: &ChallengeId,
        reason: DeclineReason,
        now: Now,
    ) {
        self.waiting
            .retain(|w| &w.account != account || &w.challenge.id != id);
        let freed = self.slots.free(|lease| {
            &lease.account == account
                && matches!(&lease.holder,
                    Holder::Outgoing { challenge: Some(c), .. } if c == id)
        });
        let opponent = freed.into_iter().find_map(|lease| lease.opponent);
        if let Some(opponent) = opponent {
            let proposal = self.proposals.remove(&(account.clone(), opponent.clone()));
            self.rest_after_decline(account, &opponent, proposal.as_deref(), reason, now);
        }
    }

    /// How long and from what an opponent rests after his no.
    fn rest_after_decline(
        &mut self,
        account: &AccountName,
        opponent: &str,
        proposal: Option<&str>,
        reason: DeclineReason,
        now: Now,
    ) {
        let base = self.matchmaking.decline_rest;
        // A reason about the terms bars the terms, any other one the player.
        let (about_terms, base) = match reason {
            DeclineReason::Later => (false, base / 4),
            DeclineReason::NoBots => (false, base * 16),
            DeclineReason::Generic | DeclineReason::BotsOnly => (false, base),
            DeclineReason::TooFast
            | DeclineReason::TooSlow
            | DeclineReason::TimeControl
            | DeclineReason::RatedOnly
            | DeclineReason::CasualOnly
            | DeclineReason::StandardOnly
            | DeclineReason::Variant => (true, base * 4),
        };
        let key = match proposal {
            Some(terms) if about_terms => format!("player:{opponent} {terms}"),
            _ => format!("player:{opponent}"),
        };
        let strikes = self.memory.strikes(account, &key) + 1;
        let span = base
            .saturating_mul(1 << (strikes - 1).min(10))
            .min(MAX_REST);
        let words = format!("declined as {reason:?}");
        let until_ms = now.wall_after(span);
        let change = self
            .memory
            .let_rest(account, &key, until_ms, &words, strikes, now.wall_ms);
        self.act(account, LobbyAction::Remember(change));
        let text = format!("{key} {words}, rests {} s", span.as_secs());
        self.note(account, "matchmaking.declined", "leaves it alone", text);
    }

    pub(super) fn refused(
        &mut self,
        account: &AccountName,
        request: RequestId,
        refusal: ChallengeRefusal,
        now: Now,
    ) {
        let freed = self.slots.free(|lease| {
            &lease.account == account
                && matches!(&lease.holder, Holder::Outgoing { request: r, .. } if *r == request)
        });
        let opponent = freed.into_iter().find_map(|lease| lease.opponent);
        match refusal {
            ChallengeRefusal::Opponent { words, retry_after } => {
                let Some(opponent) = opponent else { return };
                let span = retry_after.unwrap_or(self.matchmaking.decline_rest);
                self.limit(account, &format!("player:{opponent}"), span, &words, now);
                // Somebody else may be asked at once: this one was no answer of a player.
                self.account(account).next_challenge = now.mono;
            }
            ChallengeRefusal::OurBudget { words, retry_after } => {
                self.limit(account, "limit:challenges", retry_after, &words, now);
            }
            ChallengeRefusal::BadRequest { words } => {
                if let Some(index) = self.requests.get(&request).copied() {
                    let reason = format!("offer {index}: {}", words.escape_debug());
                    self.note(account, "matchmaking.offer", "drops the offer", reason);
                    self.disabled_offers.insert(index, words);
                }
            }
            ChallengeRefusal::Lost => {
                self.account(account).next_challenge = now.mono + self.matchmaking.interval * 2;
            }
        }
        self.requests.remove(&request);
    }

    /// Withdraws every challenge of ours, on all accounts.
    pub(super) fn withdraw_all(&mut self) {
        let mut cancels = Vec::new();
        for lease in self.slots.outgoing_mut() {
            if let Some(id) = withdraw(lease, None) {
                cancels.push((lease.account.clone(), LobbyAction::Cancel(id)));
            }
        }
        self.out.extend(cancels);
    }

    /// Withdraws one unanswered challenge, of this account first, to free its slot. True if there was one.
    pub(super) fn withdraw_one(&mut self, account: &AccountName, now: Now, reason: &str) -> bool {
        let _ = now;
        let own = self.pending_outgoing(|lease| &lease.account == account);
        let Some(found) = own.or_else(|| self.pending_outgoing(|_| true)) else {
            return false;
        };
        // The slot is given away at once; should a game start all the same, it is a surprise and handled as one.
        let freed = self.slots.free(|lease| *lease == found);
        for lease in freed {
            let Holder::Outgoing { challenge, .. } = &lease.holder else {
                continue;
            };
            self.note(
                &lease.account,
                "slots.withdraw",
                "withdraws its challenge",
                reason,
            );
            if let Some(id) = challenge {
                self.act(&lease.account, LobbyAction::Cancel(id.clone()));
            }
        }
        true
    }

    fn pending_outgoing(&self, which: impl Fn(&Lease) -> bool) -> Option<Lease> {
        self.slots
            .leases()
            .iter()
            .find(|lease| {
                // One whose id is not known yet cannot be withdrawn; its creation is on the wire.
                which(lease)
                    && matches!(
                        &lease.holder,
                        Holder::Outgoing {
                            challenge: Some(_),
                            withdrawn: false,
                            ..
                        }
                    )
            })
            .cloned()
    }

    /// More slots are taken than there are: unanswered challenges go first.
    pub(super) fn withdraw_excess(&mut self, now: Now) {
        while self.slots.taken() > self.policy.max_games as usize {
            let account = match self.pending_outgoing(|_| true) {
                Some(lease) => lease.account,
                None => return,
            };
            if !self.withdraw_one(&account, now, "all slots are taken by games") {
                return;
            }
        }
    }

    /// Counts a challenge in the budgets before it is sent.
    pub(super) fn count_challenge(&mut self, account: &AccountName, now: Now) {
        let cost = self.account(account).terms.capabilities.challenge_cost.0;
        for (key, span_ms) in [("challenges", DAY_MS), ("challenges-minute", 60_000)] {
            let change = self.memory.count(account, key, cost, span_ms, now.wall_ms);
            self.act(account, LobbyAction::Remember(change));
        }
    }

    /// Whether an opponent, or these terms with him, must be left alone.
    pub(super) fn rests(
        &self,
        account: &AccountName,
        opponent: &str,
        terms: &str,
        now: Now,
    ) -> bool {
        rest_keys(opponent, terms)
            .iter()
            .any(|key| self.memory.rest(account, key, now.wall_ms).is_some())
    }
}

/// Marks a challenge as withdrawn; the id to cancel, if it is known already.
fn withdraw(lease: &mut Lease, until: Option<Moment>) -> Option<ChallengeId> {
    let Holder::Outgoing {
        challenge,
        withdrawn,
        ..
    } = &mut lease.holder
    else {
        return None;
    };
    if *withdrawn {
        return None;
    }
    *withdrawn = true;
    if until.is_some() {
        lease.until = until;
    }
    challenge.clone()
}
