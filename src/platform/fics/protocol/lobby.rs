//! Challenges in both directions: what is open between us and other players while no game is on.

use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use crate::lobby::{
    Challenge, ChallengeDirection, ChallengeId, ChallengeRefusal, ChallengeRequest, DeclineReason,
    RequestId,
};
use crate::platform::{AccountEvent, Snapshot};

use super::super::outbound::Lane;
use super::super::translate;
use super::super::wire::{MatchOffer, Pending, PendingKind, Refusal, ServerLine};
use super::{Phase, Protocol};

/// Challenges kept in each direction. The servers themselves keep about ten; beyond this the oldest lapses.
const OFFERS_MAX: usize = 64;
/// An accept without a game after this long has failed.
const ACCEPT_WAIT: Duration = Duration::from_secs(10);
/// A match offer without confirmation after this long was lost.
const CREATE_WAIT: Duration = Duration::from_secs(10);
/// The sentence about the end of an offer of ours comes within this time of its number's removal.
const FAREWELL_WAIT: Duration = Duration::from_millis(200);
/// A challenge in words is complete after this long even without its last line.
const PARAGRAPH_WAIT: Duration = Duration::from_millis(100);
/// A declined player is told why at most once in this time.
const EXPLAIN_GAP: Duration = Duration::from_secs(600);
/// Declined players remembered for that.
const EXPLAINED_MAX: usize = 256;

/// How far an offer got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// In words only; its paragraph goes on.
    Reading { until: Instant },
    /// The daemon knows it.
    Open,
    /// Accepted by us or by the other side; a game should start.
    Accepted { until: Instant },
    /// Ours, and its number is gone; a sentence on the way may tell whether it was declined or accepted.
    Leaving { until: Instant },
}

#[derive(Debug, Clone)]
struct Entry {
    id: ChallengeId,
    number: Option<u32>,
    with: String,
    offer: MatchOffer,
    progress: Progress,
}

#[derive(Debug, Clone)]
struct Creation {
    /// `None` when we offer to resume a game.
    request: Option<RequestId>,
    with: String,
    until: Instant,
}

/// Open offers in both directions.
#[derive(Debug, Default)]
pub(super) struct Lobby {
    serial: u64,
    incoming: Vec<Entry>,
    outgoing: Vec<Entry>,
    creation: Option<Creation>,
    explained: Vec<(String, Instant)>,
}

impl Lobby {
    pub(super) fn reset(&mut self) {
        self.incoming.clear();
        self.outgoing.clear();
        self.creation = None;
    }

    pub(super) fn len(&self) -> usize {
        self.incoming.len() + self.outgoing.len() + self.explained.len()
    }

    /// Whether an offer of ours waits for the server's word.
    pub(super) fn is_creating(&self) -> bool {
        self.creation.is_some()
    }

    /// An offer to go on with an adjourned game was sent.
    pub(super) fn resuming(&mut self, name: &str, now: Instant) {
        self.creation = Some(Creation {
            request: None,
            with: name.to_owned(),
            until: now + CREATE_WAIT,
        });
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        let entries = self
            .incoming
            .iter()
            .chain(&self.outgoing)
            .filter_map(|entry| match entry.progress {
                Progress::Reading { until }
                | Progress::Accepted { until }
                | Progress::Leaving { until } => Some(until),
                Progress::Open => None,
            });
        entries
            .chain(self.creation.iter().map(|creation| creation.until))
            .min()
    }

    /// The challenge that an opponent's game came from, and whether it resumes one.
    pub(super) fn accepted_with(&self, opponent: &str) -> Option<ChallengeId> {
        let is_his = |entry: &&Entry| entry.with.eq_ignore_ascii_case(opponent);
        let accepted = |entry: &&Entry| matches!(entry.progress, Progress::Accepted { .. });
        let all = || self.incoming.iter().chain(&self.outgoing);
        all()
            .filter(accepted)
            .find(is_his)
            .or_else(|| all().find(is_his))
            .map(|entry| entry.id.clone())
    }

    pub(super) fn has_accepted(&self) -> bool {
        self.incoming
            .iter()
            .any(|entry| matches!(entry.progress, Progress::Accepted { .. }))
    }
}

impl Protocol {
    fn next_id(&mut self) -> ChallengeId {
        self.lobby.serial += 1;
        ChallengeId::new(format!("{}.{}", self.connected_unix_s, self.lobby.serial))
    }

    fn translated(&self, entry: &Entry) -> Option<Challenge> {
        let context = self.offer_context(self.is_computer(&entry.with));
        translate::challenge(entry.id.clone(), &entry.offer, context)
    }

    /// Lines about offers. Gives back what concerns something else.
    pub(super) fn lobby_line(&mut self, line: ServerLine, now: Instant) -> Option<ServerLine> {
        match line {
            ServerLine::OfferedToUs(pending) => self.offered_to_us(pending, now),
            ServerLine::OfferedByUs(pending) => self.offered_by_us(pending),
            ServerLine::OffersGone(numbers) => self.offers_gone(&numbers, now),
            // Where offers are numbered the numbered line is the trigger, so that one challenge is seen once.
            ServerLine::Challenge(offer) if !self.numbered_offers => self.challenged(
                *offer,
                None,
                Progress::Reading {
                    until: now + PARAGRAPH_WAIT,
                },
            ),
            ServerLine::Challenge(_) | ServerLine::OfferUpdated(_) => {}
            ServerLine::ChallengeGone(name) => self.drop_incoming(&name),
            ServerLine::ChallengerPlays { name, with } => {
                // One server says so even when it is our own game that starts.
                if !self.is_own(&with) {
                    self.drop_incoming(&name);
                }
            }
            ServerLine::Issuing(offer) => self.issued(*offer),
            ServerLine::OurChallengeGone(name) => self.drop_outgoing(&name),
            ServerLine::MatchAccepted(name) => self.outgoing_accepted(&name, now),
            ServerLine::MatchDeclined(name) => self.outgoing_declined(&name),
            ServerLine::MatchRefused { refusal, words } => self.match_refused(refusal, &words),
            ServerLine::NoSuchOffer => self.accept_failed("the offer is gone"),
            ServerLine::PartnershipOffered(name) if !self.numbered_offers => {
                self.decline_partnership(&name, None, now)
            }
            ServerLine::PartnershipOffered(_) => {}
            other => return self.adjourned_line(other),
        }
        None
    }

    fn offered_to_us(&mut self, pending: Pending, now: Instant) {
        match pending.kind {
            PendingKind::Match(offer) => {
                self.challenged(*offer, Some(pending.number), Progress::Open)
            }
            PendingKind::Partner => {
                self.decline_partnership(&pending.with, Some(pending.number), now)
            }
            PendingKind::Other(kind) => {
                debug!(
                    kind,
                    with = pending.with,
                    "an offer of a kind that we do not take part in"
                );
                self.outbound
                    .push(Lane::Control, &format!("decline {}", pending.number));
            }
            PendingKind::Draw
            | PendingKind::Abort
            | PendingKind::Adjourn
            | PendingKind::Takeback(_) => self.game_offer(&pending, false),
        }
    }

    fn offered_by_us(&mut self, pending: Pending) {
        match pending.kind {
            PendingKind::Match(_) => {
                if let Some(entry) = self
                    .lobby
                    .outgoing
                    .iter_mut()
                    .rev()
                    .find(|entry| entry.with.eq_ignore_ascii_case(&pending.with))
                {
                    entry.number = Some(pending.number);
                }
            }
            PendingKind::Draw
            | PendingKind::Abort
            | PendingKind::Adjourn
            | PendingKind::Takeback(_) => self.game_offer(&pending, true),
            PendingKind::Partner | PendingKind::Other(_) => {}
        }
    }

    /// A challenge to us. A newer one of the same player replaces the older, which the server does not always take back.
    fn challenged(&mut self, offer: MatchOffer, number: Option<u32>, progress: Progress) {
        if !self.is_own(&offer.opponent) {
            return;
        }
        self.drop_incoming(&offer.challenger);
        if let Some(number) = number {
            self.lobby
                .incoming
                .retain(|entry| entry.number != Some(number));
        }
        if self.lobby.incoming.len() >= OFFERS_MAX {
            let lapsed = self.lobby.incoming.remove(0);
            self.account(AccountEvent::ChallengeCanceled(lapsed.id));
        }
        let entry = Entry {
            id: self.next_id(),
            number,
            with: offer.challenger.clone(),
            offer,
            progress,
        };
        self.lobby.incoming.push(entry);
        if progress == Progress::Open {
            self.announce(self.lobby.incoming.len() - 1);
        }
    }

    fn announce(&mut self, index: usize) {
        self.lobby.incoming[index].progress = Progress::Open;
        if let Some(challenge) = self.translated(&self.lobby.incoming[index]) {
            self.account(AccountEvent::Challenged(Box::new(challenge)));
        }
    }

    /// The last line of a challenge in words.
    pub(super) fn challenge_paragraph_ended(&mut self, _now: Instant) {
        for index in 0..self.lobby.incoming.len() {
            if matches!(
                self.lobby.incoming[index].progress,
                Progress::Reading { .. }
            ) {
                self.announce(index);
            }
        }
    }

    fn drop_incoming(&mut self, name: &str) {
        while let Some(index) = self
            .lobby
            .incoming
            .iter()
            .position(|entry| entry.with.eq_ignore_ascii_case(name))
        {
            let entry = self.lobby.incoming.remove(index);
            self.incoming_gone(entry);
        }
    }

    fn incoming_gone(&mut self, entry: Entry) {
        let event = match entry.progress {
            Progress::Reading { .. } => return,
            Progress::Open | Progress::Leaving { .. } => AccountEvent::ChallengeCanceled(entry.id),
            Progress::Accepted { .. } => AccountEvent::AcceptFailed {
                id: entry.id,
                words: "the challenger is gone".to_owned(),
                our_budget: None,
            },
        };
        self.account(event);
    }

    fn drop_outgoing(&mut self, name: &str) {
        // Between "accepts" and the start of the game servers also report our challenge as withdrawn.
        let gone = |entry: &Entry| {
            entry.with.eq_ignore_ascii_case(name)
                && !matches!(entry.progress, Progress::Accepted { .. })
        };
        while let Some(index) = self.lobby.outgoing.iter().position(gone) {
            let entry = self.lobby.outgoing.remove(index);
            self.account(AccountEvent::ChallengeCanceled(entry.id));
        }
    }

    fn offers_gone(&mut self, numbers: &[u32], now: Instant) {
        for number in numbers {
            self.game_offer_gone(*number);
            let is_it = |entry: &Entry| entry.number == Some(*number);
            // The removal of an accepted offer is how its game begins; the failure of an accept has words of its own.
            if let Some(index) = self.lobby.incoming.iter().position(is_it) {
                if matches!(
                    self.lobby.incoming[index].progress,
                    Progress::Accepted { .. }
                ) {
                    self.lobby.incoming[index].number = None;
                } else {
                    let entry = self.lobby.incoming.remove(index);
                    self.incoming_gone(entry);
                }
            }
            if let Some(index) = self.lobby.outgoing.iter().position(is_it) {
                let entry = &mut self.lobby.outgoing[index];
                entry.number = None;
                if entry.progress == Progress::Open {
                    entry.progress = Progress::Leaving {
                        until: now + FAREWELL_WAIT,
                    };
                }
            }
        }
    }

    /// Accepts a challenge that is still open.
    pub(super) fn accept(&mut self, id: &ChallengeId, now: Instant) {
        let failed = |words: &str| AccountEvent::AcceptFailed {
            id: id.clone(),
            words: words.to_owned(),
            our_budget: None,
        };
        if self.games.is_playing() || self.lobby.has_accepted() {
            self.account(failed("another game is on or about to start"));
            return;
        }
        let Some(entry) = self.lobby.incoming.iter_mut().find(|entry| entry.id == *id) else {
            self.account(failed("the offer is gone"));
            return;
        };
        entry.progress = Progress::Accepted {
            until: now + ACCEPT_WAIT,
        };
        let command = match entry.number {
            Some(number) => format!("accept {number}"),
            None => format!("accept {}", entry.with),
        };
        self.outbound.push(Lane::Control, &command);
    }

    fn accept_failed(&mut self, words: &str) {
        if let Some(index) = self
            .lobby
            .incoming
            .iter()
            .position(|entry| matches!(entry.progress, Progress::Accepted { .. }))
        {
            let entry = self.lobby.incoming.remove(index);
            self.account(AccountEvent::AcceptFailed {
                id: entry.id,
                words: words.to_owned(),
                our_budget: None,
            });
        }
    }

    /// Declines a challenge and tells the challenger why, if he was not told lately.
    pub(super) fn decline(&mut self, id: &ChallengeId, reason: DeclineReason, now: Instant) {
        let Some(index) = self.lobby.incoming.iter().position(|entry| entry.id == *id) else {
            return;
        };
        let entry = self.lobby.incoming.remove(index);
        let command = match entry.number {
            Some(number) => format!("decline {number}"),
            None => format!("decline {}", entry.with),
        };
        self.outbound.push(Lane::Control, &command);
        self.account(AccountEvent::ChallengeDeclined {
            id: entry.id.clone(),
            reason,
        });
        let words = if reason == DeclineReason::Variant && entry.offer.kind == "bughouse" {
            "Sorry, I do not play bughouse."
        } else {
            translate::decline_words(reason)
        };
        self.explain(&entry.with, words, now);
    }

    fn explain(&mut self, name: &str, words: &str, now: Instant) {
        if !self.config.explain_declines {
            return;
        }
        let key = name.to_lowercase();
        self.lobby
            .explained
            .retain(|(_, at)| now.duration_since(*at) < EXPLAIN_GAP);
        if self.lobby.explained.iter().any(|(told, _)| *told == key)
            || self.lobby.explained.len() >= EXPLAINED_MAX
        {
            return;
        }
        self.lobby.explained.push((key, now));
        self.outbound
            .push(Lane::Chat, &format!("tell {name} {words}"));
    }

    fn decline_partnership(&mut self, name: &str, number: Option<u32>, now: Instant) {
        match number {
            Some(number) => self
                .outbound
                .push(Lane::Control, &format!("decline {number}")),
            None => self
                .outbound
                .push(Lane::Control, &format!("decline {name}")),
        }
        self.explain(name, "Sorry, I do not play bughouse.", now);
    }

    /// Offers a match to somebody on the list of those whom we may ask.
    pub(super) fn create(&mut self, request: ChallengeRequest, now: Instant) {
        let refused = |refusal| AccountEvent::ChallengeRefused {
            request: request.request,
            refusal,
        };
        let name = request.opponent.as_str();
        let allowed = super::super::wire::is_name(name)
            && self
                .config
                .may_challenge
                .iter()
                .any(|listed| listed.eq_ignore_ascii_case(name));
        if !allowed {
            self.account(refused(ChallengeRefusal::BadRequest {
                words: "not on the list of players whom we may challenge".to_owned(),
            }));
            return;
        }
        if self.games.is_playing()
            || self.lobby.creation.is_some()
            || self.quiesced
            || self.phase != Phase::Ready
        {
            let retry_after = Duration::from_secs(60);
            self.account(refused(ChallengeRefusal::OurBudget {
                words: "busy on this server".to_owned(),
                retry_after,
            }));
            return;
        }
        match translate::match_command(&request, self.numbered_offers) {
            Ok(command) => {
                self.outbound.push(Lane::Command, &command);
                self.lobby.creation = Some(Creation {
                    request: Some(request.request),
                    with: name.to_owned(),
                    until: now + CREATE_WAIT,
                });
            }
            Err(refusal) => self.account(refused(refusal)),
        }
    }

    /// The server confirms a match offer of ours.
    fn issued(&mut self, offer: MatchOffer) {
        if !self.is_own(&offer.challenger) {
            return;
        }
        self.drop_outgoing(&offer.opponent);
        let creation = self
            .lobby
            .creation
            .take_if(|creation| creation.with.eq_ignore_ascii_case(&offer.opponent));
        let resuming = creation
            .as_ref()
            .is_some_and(|creation| creation.request.is_none());
        if resuming && !offer.adjourned {
            // There was no such game, so this is an ordinary challenge that nobody wanted.
            self.outbound
                .push(Lane::Control, &format!("withdraw {}", offer.opponent));
            return;
        }
        let entry = Entry {
            id: self.next_id(),
            number: None,
            with: offer.opponent.clone(),
            offer,
            progress: Progress::Open,
        };
        let Some(challenge) = self.translated(&entry).map(Box::new) else {
            return;
        };
        if self.lobby.outgoing.len() >= OFFERS_MAX {
            self.lobby.outgoing.remove(0);
        }
        self.lobby.outgoing.push(entry);
        match creation.and_then(|creation| creation.request) {
            Some(request) => self.account(AccountEvent::ChallengeCreated { request, challenge }),
            None => self.account(AccountEvent::Challenged(challenge)),
        }
    }

    fn match_refused(&mut self, refusal: Refusal, words: &str) {
        if let Some(request) = self
            .lobby
            .creation
            .take()
            .and_then(|creation| creation.request)
        {
            self.account(AccountEvent::ChallengeRefused {
                request,
                refusal: translate::refusal(refusal, words),
            });
        } else {
            self.seek_refused(words);
        }
    }

    fn outgoing_accepted(&mut self, name: &str, now: Instant) {
        for entry in self
            .lobby
            .outgoing
            .iter_mut()
            .filter(|entry| entry.with.eq_ignore_ascii_case(name))
        {
            entry.progress = Progress::Accepted {
                until: now + ACCEPT_WAIT,
            };
        }
    }

    fn outgoing_declined(&mut self, name: &str) {
        while let Some(index) = self
            .lobby
            .outgoing
            .iter()
            .position(|entry| entry.with.eq_ignore_ascii_case(name))
        {
            let entry = self.lobby.outgoing.remove(index);
            self.account(AccountEvent::ChallengeDeclined {
                id: entry.id,
                reason: DeclineReason::Generic,
            });
        }
    }

    /// Withdraws a challenge of ours.
    pub(super) fn cancel(&mut self, id: &ChallengeId) {
        let Some(index) = self.lobby.outgoing.iter().position(|entry| entry.id == *id) else {
            return;
        };
        let entry = &self.lobby.outgoing[index];
        if let Some(number) = entry.number {
            // The removal of the number is the answer.
            self.outbound
                .push(Lane::Control, &format!("withdraw {number}"));
            return;
        }
        self.outbound
            .push(Lane::Control, &format!("withdraw {}", entry.with));
        let entry = self.lobby.outgoing.remove(index);
        self.account(AccountEvent::ChallengeCanceled(entry.id));
    }

    /// A game of ours starts: every other offer is void, on the server as well.
    pub(super) fn offers_void(&mut self, opponent: &str) {
        let incoming = std::mem::take(&mut self.lobby.incoming);
        for entry in incoming {
            let started = entry.with.eq_ignore_ascii_case(opponent);
            if !started {
                self.incoming_gone(entry);
            }
        }
        let outgoing = std::mem::take(&mut self.lobby.outgoing);
        for entry in outgoing
            .into_iter()
            .filter(|entry| !entry.with.eq_ignore_ascii_case(opponent))
        {
            self.account(AccountEvent::ChallengeCanceled(entry.id));
        }
        self.adjourned.forget(opponent);
    }

    /// Tells the daemon everything that is open.
    pub(super) fn reconcile(&mut self) {
        let all = |entries: &[Entry]| -> Vec<Challenge> {
            entries
                .iter()
                .filter(|entry| entry.progress == Progress::Open)
                .filter_map(|entry| self.translated(entry))
                .collect()
        };
        let incoming = all(&self.lobby.incoming);
        let outgoing = all(&self.lobby.outgoing);
        debug_assert!(
            incoming
                .iter()
                .all(|challenge| challenge.direction == ChallengeDirection::Incoming)
        );
        let snapshot = Snapshot {
            games: self.games.notice().into_iter().collect(),
            games_complete: true,
            incoming,
            outgoing,
            challenges_complete: true,
            adjourned: self.adjourned.online(),
        };
        self.account(AccountEvent::Reconciled(snapshot));
    }

    pub(super) fn lobby_tick(&mut self, now: Instant) {
        for index in 0..self.lobby.incoming.len() {
            if matches!(self.lobby.incoming[index].progress, Progress::Reading { until } if until <= now)
            {
                self.announce(index);
            }
        }
        let overdue = |entry: &Entry| matches!(entry.progress, Progress::Accepted { until } | Progress::Leaving { until } if until <= now);
        while let Some(index) = self.lobby.incoming.iter().position(overdue) {
            let entry = self.lobby.incoming.remove(index);
            self.account(AccountEvent::AcceptFailed {
                id: entry.id,
                words: "no game started".to_owned(),
                our_budget: None,
            });
        }
        while let Some(index) = self.lobby.outgoing.iter().position(overdue) {
            let entry = self.lobby.outgoing.remove(index);
            self.account(AccountEvent::ChallengeCanceled(entry.id));
        }
        if let Some(creation) = self
            .lobby
            .creation
            .take_if(|creation| creation.until <= now)
            && let Some(request) = creation.request
        {
            self.account(AccountEvent::ChallengeRefused {
                request,
                refusal: ChallengeRefusal::Lost,
            });
        }
    }
}
