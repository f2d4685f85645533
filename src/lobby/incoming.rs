//! Challenges to us: welcome or not, and where to put them.

use std::time::Duration;

use crate::game::{Decision, Moment, PlayerKind};

use super::admission::{self, Case, Verdict};
use super::challenge::{Challenge, ChallengeDirection, ChallengeId, DeclineReason};
use super::slots::{Holder, Lease};
use super::{AccountName, Lobby, LobbyAction, Now};

/// Challenges that may wait at a time; more are declined at once.
const MAX_WAITING: usize = 64;

/// What stands in the way of a new challenge may go away by itself within this time: the game that its sender still plays
/// with us may be over already, and the word of it on its way.
const GRACE: Duration = Duration::from_secs(3);

/// A challenge that is welcome but has no slot, or may be welcome in a moment.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) account: AccountName,
    pub(super) challenge: Challenge,
    /// An objection that may pass must have passed by then.
    pub(super) grace: Moment,
    pub(super) until: Moment,
}

impl Lobby {
    /// What the rules say about a challenge at this moment.
    pub(super) fn case<'a>(
        &'a self,
        account: &'a AccountName,
        challenge: &'a Challenge,
        now: Now,
    ) -> Case<'a> {
        Case {
            account,
            challenge,
            policy: &self.policy,
            memory: &self.memory,
            slots: &self.slots,
            bot_games_per_day: self.bot_games_per_day(account),
            draining: self.draining,
            now,
        }
    }

    /// What every rule says about a challenge at this moment, for `seneschal why`.
    pub fn explain(&self, account: &AccountName, challenge: &Challenge, now: Now) -> Vec<Decision> {
        admission::explain(&self.case(account, challenge, now))
    }

    /// What the rules decide about a challenge at this moment, slots aside.
    pub fn verdict(&self, account: &AccountName, challenge: &Challenge, now: Now) -> Verdict {
        admission::admit(&self.case(account, challenge, now))
    }

    pub(super) fn challenged(&mut self, account: &AccountName, challenge: Challenge, now: Now) {
        let known = |w: &Waiting| &w.account == account && w.challenge.id == challenge.id;
        let accepted =
            |l: &Lease| &l.account == account && l.holder == Holder::Incoming(challenge.id.clone());
        if self.waiting.iter().any(known) || self.slots.leases().iter().any(accepted) {
            return;
        }
        // A newer challenge of the same player takes the place of his older one, as it does on every platform.
        let opponent = challenge.opponent.name.clone();
        self.waiting
            .retain(|w| &w.account != account || w.challenge.opponent.name != opponent);
        let who = crate::game::session::player_words(&challenge.opponent);
        let what = format!("{} {} from {who}", challenge.id, challenge.time_control);
        let verdict = self.verdict(account, &challenge, now);
        if let Verdict::Declined { rule, objection } = &verdict
            && !objection.passing
        {
            let reason = format!("{what}: {}", objection.reason);
            self.note(account, rule, "declines", reason);
            return self.act(
                account,
                LobbyAction::Decline(challenge.id, objection.decline),
            );
        }
        if self.waiting.len() >= MAX_WAITING {
            self.note(account, "queue.full", "declines", what);
            return self.act(
                account,
                LobbyAction::Decline(challenge.id, DeclineReason::Later),
            );
        }
        let lifetime = self.account(account).terms.capabilities.challenge_lifetime;
        let longest = lifetime.mul_f64(0.8);
        let grace = GRACE.min(longest);
        let mut patience = self.policy.queue.min(longest);
        if verdict != Verdict::Welcome {
            patience = patience.max(grace);
        }
        self.waiting.push(Waiting {
            account: account.clone(),
            challenge,
            grace: now.mono + grace,
            until: now.mono + patience,
        });
        // Whether there is a slot decides `serve_waiting`, the same way for new and old ones.
    }

    /// Gives free slots to waiting challenges and sends those away that waited too long.
    pub(super) fn serve_waiting(&mut self, now: Now) {
        let before = self.queue_names();
        let humans_first = self.policy.accept.humans_first;
        if humans_first {
            self.waiting
                .sort_by_key(|waiting| waiting.challenge.opponent.kind == PlayerKind::Bot);
        }
        // The whole queue is looked at: a bot that may not have the free slot does not stand in a person's way.
        let mut index = 0;
        while index < self.waiting.len() {
            let waiting = &self.waiting[index];
            let account = waiting.account.clone();
            if !self.accounts.get(&account).is_some_and(|state| state.ready) {
                index += 1;
                continue;
            }
            match self.verdict(&account, &waiting.challenge, now) {
                Verdict::Declined { objection, .. }
                    if objection.passing && now.mono < waiting.grace =>
                {
                    index += 1;
                }
                Verdict::Declined { rule, objection } => {
                    let waiting = self.waiting.remove(index);
                    self.note(&account, rule, "declines", objection.reason);
                    let id = waiting.challenge.id;
                    self.act(&account, LobbyAction::Decline(id, objection.decline));
                }
                Verdict::Welcome if self.make_room(index, now) => {
                    let waiting = self.waiting.remove(index);
                    self.accept(waiting, now);
                }
                Verdict::Welcome => index += 1,
            }
        }
        self.send_away_late(now);
        let after = self.queue_names();
        if before != after {
            let accounts: Vec<_> = self.accounts.keys().cloned().collect();
            for account in accounts {
                self.act(&account, LobbyAction::Queue(after.clone()));
            }
        }
    }

    fn queue_names(&self) -> Vec<String> {
        let names = self.waiting.iter();
        names
            .map(|w| w.challenge.opponent.name.to_string())
            .collect()
    }

    /// Whether the waiting challenge can have a slot; a person's may take that of an unanswered challenge of ours.
    fn make_room(&mut self, index: usize, now: Now) -> bool {
        let waiting = &self.waiting[index];
        let bot = waiting.challenge.opponent.kind == PlayerKind::Bot;
        let account = waiting.account.clone();
        if self.has_room(&account, bot) {
            return true;
        }
        if bot || self.slots.taken() > self.policy.max_games as usize {
            return false;
        }
        let given = self.withdraw_one(&account, now, "a person asks for a game");
        given && self.has_room(&account, bot)
    }

    fn accept(&mut self, waiting: Waiting, now: Now) {
        let Waiting {
            account, challenge, ..
        } = waiting;
        self.slots.take(Lease {
            account: account.clone(),
            opponent: Some(challenge.opponent.name.key()),
            bot: challenge.opponent.kind == PlayerKind::Bot,
            holder: Holder::Incoming(challenge.id.clone()),
            until: Some(now.mono + self.policy.lease),
        });
        let who = crate::game::session::player_words(&challenge.opponent);
        let reason = format!("{} {} from {who}", challenge.id, challenge.time_control);
        self.note(&account, "accept", "accepts", reason);
        self.act(&account, LobbyAction::Accept(challenge.id));
    }

    fn send_away_late(&mut self, now: Now) {
        let late = |waiting: &mut Waiting| waiting.until <= now.mono;
        let late: Vec<Waiting> = self.waiting.extract_if(.., late).collect();
        for Waiting {
            account, challenge, ..
        } in late
        {
            let reason = format!("{}: no slot became free in time", challenge.id);
            self.note(&account, "queue.time", "declines", reason);
            let decline = LobbyAction::Decline(challenge.id, DeclineReason::Later);
            self.act(&account, decline);
        }
    }

    pub(super) fn canceled(&mut self, account: &AccountName, id: &ChallengeId) {
        self.waiting
            .retain(|w| &w.account != account || &w.challenge.id != id);
        self.slots.free(|lease| {
            &lease.account == account
                && match &lease.holder {
                    Holder::Incoming(held) => held == id,
                    Holder::Outgoing { challenge, .. } => challenge.as_ref() == Some(id),
                    Holder::Game(_) => false,
                }
        });
    }

    pub(super) fn accept_failed(
        &mut self,
        account: &AccountName,
        id: &ChallengeId,
        our_budget: Option<Duration>,
        now: Now,
    ) {
        self.canceled(account, id);
        if let Some(span) = our_budget {
            self.limit(
                account,
                "limit:bot-games",
                span,
                "refused on accepting",
                now,
            );
        }
    }

    pub(super) fn reconciled(
        &mut self,
        account: &AccountName,
        incoming: Vec<Challenge>,
        outgoing: &[Challenge],
        complete: bool,
        now: Now,
    ) {
        if complete {
            self.waiting.retain(|w| {
                &w.account != account || incoming.iter().any(|c| c.id == w.challenge.id)
            });
            self.slots.free(|lease| {
                let Holder::Outgoing {
                    challenge: Some(id),
                    ..
                } = &lease.holder
                else {
                    return false;
                };
                &lease.account == account && !outgoing.iter().any(|c| &c.id == id)
            });
        }
        self.account(account).ready = true;
        for challenge in incoming {
            self.challenged(account, challenge, now);
        }
        for challenge in outgoing {
            debug_assert_eq!(challenge.direction, ChallengeDirection::Outgoing);
            self.echoed(account, challenge);
        }
    }
}
