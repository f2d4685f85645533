//! Whom we challenge next, and on which terms.

use std::collections::BTreeSet;
use std::time::Duration;

use rand::Rng;

use crate::game::{Moment, Rating};

use super::challenge::{ChallengeRequest, ColorChoice, OnlineBot, RequestId};
use super::policy::{Offer, variant_name};
use super::slots::{Holder, Lease};
use super::{AccountName, Lobby, LobbyAction, Now};

/// An answer to a request for the list of bots may take so long.
const LIST_WAIT: Duration = Duration::from_secs(60);
/// When nobody can be challenged, look again after this time.
const NOBODY_WAIT: Duration = Duration::from_secs(15);

/// The keys under which an opponent may rest: altogether, or for these terms.
pub(super) fn rest_keys(opponent: &str, terms: &str) -> [String; 2] {
    [
        format!("player:{opponent}"),
        format!("player:{opponent} {terms}"),
    ]
}

/// The terms of an offer in the words that rests are remembered by.
pub(super) fn terms_words(offer: &Offer) -> String {
    let (Some((variant, mode)), Some(clock)) = (offer.parsed_variant(), offer.parsed_clock())
    else {
        return offer.variant.clone();
    };
    let rated = if offer.rated { "rated" } else { "casual" };
    format!(
        "{} {:?} {rated}",
        variant_name(variant, mode),
        clock.speed()
    )
}

impl Lobby {
    /// Sends at most one challenge per account, if it is time and somebody is there.
    pub(super) fn matchmake(&mut self, now: Now) {
        if self.draining || !self.matchmaking.enabled {
            return;
        }
        let accounts: Vec<AccountName> = self.accounts.keys().cloned().collect();
        for account in accounts {
            if self.may_challenge(&account, now) && self.has_fresh_list(&account, now) {
                self.challenge_somebody(&account, now);
            }
        }
    }

    /// When matchmaking wants to look again.
    pub(super) fn matchmaking_due(&self, now: Now) -> Option<Moment> {
        if self.draining || !self.matchmaking.enabled {
            return None;
        }
        let wants = self.accounts.values().filter(|state| {
            state.ready && state.terms.matchmaking && state.terms.capabilities.create_challenges
        });
        // Not before a second from now: whatever bars us at the moment is rarely gone earlier.
        let floor = now.mono + Duration::from_secs(1);
        wants.map(|state| state.next_challenge.max(floor)).min()
    }

    fn may_challenge(&mut self, account: &AccountName, now: Now) -> bool {
        let state = self.account(account);
        let capable = state.terms.capabilities.create_challenges && state.terms.matchmaking;
        if !capable || !state.ready || state.next_challenge > now.mono {
            return false;
        }
        let capabilities = state.terms.capabilities.clone();
        let pending = self.slots.leases().iter().any(|lease| {
            &lease.account == account && matches!(lease.holder, Holder::Outgoing { .. })
        });
        let playing = self.slots.games_of(account) > 0;
        if pending || (playing && !self.matchmaking.while_playing) || !self.has_room(account, true)
        {
            return false;
        }
        let rest = ["limit:challenges", "limit:bot-games"]
            .iter()
            .any(|key| self.memory.rest(account, key, now.wall_ms).is_some());
        let under = |bound: Option<u32>, key: &str| {
            bound.is_none_or(|bound| {
                let used = self.memory.used(account, key, now.wall_ms);
                used + capabilities.challenge_cost.0 <= bound
            })
        };
        let own_bound = self
            .bot_games_per_day(account)
            .map(|bound| bound.saturating_sub(self.matchmaking.bot_games_left_for_others));
        let games = self.memory.used(account, "bot-games", now.wall_ms);
        !rest
            && under(capabilities.challenges_per_minute, "challenges-minute")
            && under(capabilities.challenges_per_day, "challenges")
            && own_bound.is_none_or(|bound| games < bound)
    }

    /// Whether the list of bots is fresh; asks for a new one if not.
    fn has_fresh_list(&mut self, account: &AccountName, now: Now) -> bool {
        let age = self.matchmaking.list_age;
        let state = self.account(account);
        let fresh = state
            .bots
            .as_ref()
            .is_some_and(|(at, _)| now.mono.since(*at) < age);
        let asked = state
            .listing
            .is_some_and(|at| now.mono.since(at) < LIST_WAIT);
        if !fresh && !asked && state.terms.capabilities.list_bots {
            state.listing = Some(now.mono);
            self.act(account, LobbyAction::ListBots);
        }
        fresh
    }

    fn challenge_somebody(&mut self, account: &AccountName, now: Now) {
        let Some((index, offer)) = self.draw_offer(account) else {
            return;
        };
        let Some(opponent) = self.draw_opponent(account, &offer, now) else {
            self.account(account).next_challenge = now.mono + NOBODY_WAIT;
            // A shorter list may be the reason: fetch another one next time.
            self.account(account).bots = None;
            return;
        };
        let (Some((variant, castling_mode)), Some(time_control)) =
            (offer.parsed_variant(), offer.parsed_clock())
        else {
            return;
        };
        let request = RequestId(self.next_request);
        self.next_request += 1;
        let key = opponent.name.key();
        self.count_challenge(account, now);
        self.requests.insert(request, index);
        self.proposals
            .insert((account.clone(), key.clone()), terms_words(&offer));
        self.account(account).next_challenge = now.mono + self.matchmaking.interval;
        self.slots.take(Lease {
            account: account.clone(),
            opponent: Some(key),
            bot: true,
            holder: Holder::Outgoing {
                request,
                challenge: None,
                withdrawn: false,
            },
            // Until the platform answers; then the timeout of the challenge counts.
            until: Some(now.mono + self.matchmaking.timeout + self.policy.lease),
        });
        let reason = format!(
            "{} {} against {}",
            offer.variant, offer.clock, opponent.name
        );
        self.note(account, "matchmaking", "challenges", reason);
        self.act(
            account,
            LobbyAction::Create(ChallengeRequest {
                request,
                opponent: opponent.name,
                variant,
                castling_mode,
                time_control,
                rated: offer.rated,
                color: ColorChoice::Random,
            }),
        );
    }

    /// The next of the offers that this account's platform serves: by weight and evenly, so that also the first few games
    /// of a run show the proportions (every offer gains its weight each time, the highest is taken and pays the sum).
    fn draw_offer(&mut self, account: &AccountName) -> Option<(usize, Offer)> {
        let offers = &self.matchmaking.offers;
        let disabled = &self.disabled_offers;
        let state = self
            .accounts
            .get_mut(account)
            .expect("step lets only known accounts in, and none is ever removed");
        let capabilities = &state.terms.capabilities;
        state.turns.resize(offers.len(), 0);
        let served = |index: usize, offer: &Offer| {
            let variant = offer.parsed_variant();
            !disabled.contains_key(&index)
                && variant.is_some_and(|v| capabilities.variants.contains(&v))
                && (capabilities.rated_games || !offer.rated)
        };
        let mut total = 0;
        let mut best: Option<usize> = None;
        for (index, offer) in offers.iter().enumerate() {
            if !served(index, offer) {
                continue;
            }
            total += i64::from(offer.weight);
            state.turns[index] += i64::from(offer.weight);
            if best.is_none_or(|best| state.turns[index] > state.turns[best]) {
                best = Some(index);
            }
        }
        let index = best?;
        state.turns[index] -= total;
        Some((index, offers[index].clone()))
    }

    /// Draws one of the bots that may be asked; those we played least today first.
    fn draw_opponent(
        &mut self,
        account: &AccountName,
        offer: &Offer,
        now: Now,
    ) -> Option<OnlineBot> {
        let list = self.account(account).bots.as_ref()?.1.clone();
        let our_name = self.account(account).name.as_ref().map(|name| name.key());
        let lower = |names: &[String]| -> BTreeSet<String> {
            names.iter().map(|name| name.to_lowercase()).collect()
        };
        let (block, only) = (
            lower(&self.matchmaking.block),
            lower(&self.matchmaking.only),
        );
        let terms = terms_words(offer);
        let per_opponent = self.policy.max_games_per_opponent as usize;
        let mut candidates: Vec<(u32, OnlineBot)> = list
            .into_iter()
            .filter(|bot| {
                let key = bot.name.key();
                Some(&key) != our_name.as_ref()
                    && !bot.unavailable
                    && !block.contains(&key)
                    && (only.is_empty() || only.contains(&key))
                    && self.slots.with_opponent(account, &key) < per_opponent
                    && !self.rests(account, &key, &terms, now)
                    && self.rating_fits(bot, offer)
            })
            .map(|bot| {
                let key = format!("games:{}", bot.name.key());
                (self.memory.used(account, &key, now.wall_ms), bot)
            })
            .collect();
        let fewest = candidates.iter().map(|(games, _)| *games).min()?;
        candidates.retain(|(games, _)| *games == fewest);
        let index = self.rng.random_range(0..candidates.len());
        Some(candidates.swap_remove(index).1)
    }

    fn rating_fits(&self, bot: &OnlineBot, offer: &Offer) -> bool {
        let range = self.matchmaking.min_rating..=self.matchmaking.max_rating;
        rating_for(bot, offer).is_none_or(|rating| range.contains(&rating.points))
    }
}

/// The rating of a bot that counts for an offer: the variant's, else the speed's.
fn rating_for(bot: &OnlineBot, offer: &Offer) -> Option<Rating> {
    let (variant, _) = offer.parsed_variant()?;
    let speed = offer.parsed_clock()?.speed();
    let of_variant = bot.ratings.iter().find(|r| r.variant == Some(variant));
    let of_speed = bot
        .ratings
        .iter()
        .find(|r| r.variant.is_none() && r.speed == Some(speed));
    let wants_speed = variant == crate::rules::Variant::Chess;
    let found = if wants_speed { of_speed } else { of_variant };
    found.map(|entry| entry.rating)
}
