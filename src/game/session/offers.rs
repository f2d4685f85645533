//! Offers of the opponent and ours: draws, takebacks, requests to abort or adjourn.

use std::time::Duration;

use crate::rules::Move;

use super::super::command::{GameCommand, OfferKind};
use super::super::event::Offers;
use super::super::facts::PlayerKind;
use super::super::time::Moment;
use super::GameSession;

/// Plies between two draw offers of ours; platforms ignore more frequent ones.
const DRAW_OFFER_GAP: usize = 20;
/// How long a draw that we accepted may take to show before we play on.
const DRAW_WAIT: Duration = Duration::from_secs(2);

/// Which offers stand and which were answered.
#[derive(Debug)]
pub(super) struct OfferMemory {
    /// Open offers of the opponent, as of the last state.
    open: Offers,
    answered_takeback: bool,
    answered_abort: bool,
    answered_adjourn: bool,
    /// We said yes: a shorter move list is expected.
    pub(super) takeback_granted: bool,
    granted: u32,
    /// Our last draw offer.
    offered_at_ply: Option<usize>,
    /// We said yes to a draw in this ply; once is enough.
    accepted_at_ply: Option<usize>,
}

impl OfferMemory {
    pub(super) fn new(granted: u32) -> Self {
        Self {
            open: Offers::default(),
            answered_takeback: false,
            answered_abort: false,
            answered_adjourn: false,
            takeback_granted: false,
            granted,
            offered_at_ply: None,
            accepted_at_ply: None,
        }
    }

    pub(super) fn granted(&self) -> u32 {
        self.granted
    }
}

impl GameSession {
    /// Takes over the open offers of a state and answers those that need no search.
    pub(super) fn offers(&mut self, offers: &Offers, now: Moment) {
        let Some(game) = &mut self.game else { return };
        let them = !game.start.color;
        let memory = &mut game.offers;
        memory.open = *offers;
        let takeback = offers.takeback == Some(them);
        let abort = offers.abort == Some(them);
        let adjourn = offers.adjourn == Some(them);
        let new_takeback = takeback && !memory.answered_takeback;
        let new_abort = abort && !memory.answered_abort;
        let new_adjourn = adjourn && !memory.answered_adjourn;
        memory.answered_takeback = takeback;
        memory.answered_abort = abort;
        memory.answered_adjourn = adjourn;
        if new_takeback && self.terms.capabilities.takeback_requests {
            self.answer_takeback();
        }
        if self.terms.capabilities.abort_and_adjourn_requests {
            if new_abort {
                self.answer_abort();
            }
            if new_adjourn {
                self.note("adjourn.request", "declines", "games are played to the end");
                self.answer(OfferKind::Adjourn, false);
            }
        }
        self.answer_draw_while_waiting(now);
    }

    fn answer(&mut self, offer: OfferKind, accept: bool) {
        self.send(GameCommand::Answer { offer, accept });
    }

    fn answer_takeback(&mut self) {
        let policy = &self.terms.policy.takeback;
        let Some(game) = &mut self.game else { return };
        let bot = game.start.opponent.kind == PlayerKind::Bot;
        let refusal = if game.offers.granted >= policy.max_per_game {
            Some(format!(
                "{} of {} granted",
                game.offers.granted, policy.max_per_game
            ))
        } else if game.start.rated && !policy.in_rated {
            Some("the game is rated".to_owned())
        } else if bot && !policy.to_bots {
            Some("not for bots".to_owned())
        } else {
            None
        };
        if let Some(reason) = refusal {
            self.note("takeback.policy", "declines", reason);
            return self.answer(OfferKind::Takeback, false);
        }
        game.offers.granted += 1;
        game.offers.takeback_granted = true;
        let reason = format!("number {} of {}", game.offers.granted, policy.max_per_game);
        self.remember();
        self.note("takeback.policy", "accepts", reason);
        self.answer(OfferKind::Takeback, true);
    }

    fn answer_abort(&mut self) {
        let early = self.game.as_ref().is_some_and(|game| {
            game.record.absolute_ply() < 2 * self.terms.capabilities.abort_before_ply as usize
        });
        let verdict = if early { "accepts" } else { "declines" };
        self.note("abort.request", verdict, "asked by the opponent");
        self.answer(OfferKind::Abort, early);
    }

    /// A draw offered while the opponent thinks is answered by what we thought last; on our turn the search decides.
    fn answer_draw_while_waiting(&mut self, now: Moment) {
        let Some(game) = &self.game else { return };
        if !game.is_our_turn() && self.draw_is_offered() {
            self.accept_draw_by_score(None, now);
        }
    }

    fn draw_is_offered(&self) -> bool {
        self.game
            .as_ref()
            .is_some_and(|game| game.offers.open.draw == Some(!game.start.color))
    }

    /// Says yes to an open draw offer if the position is equal or worse for us. True if so: the move is held back then.
    pub(super) fn accepts_draw(&mut self, best: Move, now: Moment) -> bool {
        self.draw_is_offered() && self.accept_draw_by_score(Some(best), now)
    }

    fn accept_draw_by_score(&mut self, best: Option<Move>, now: Moment) -> bool {
        let policy = &self.terms.policy.draw;
        if !self.terms.capabilities.draw_offers || !policy.accept {
            return false;
        }
        let score_limit = policy.score_cp;
        let Some(game) = &mut self.game else {
            return false;
        };
        let ply = game.record.ply();
        if game.offers.accepted_at_ply == Some(ply) {
            return false;
        }
        let Some(score) = game
            .thoughts
            .last
            .as_ref()
            .map(|t| t.report.score.centipawns())
        else {
            return false;
        };
        if score > score_limit {
            return false;
        }
        game.offers.accepted_at_ply = Some(ply);
        let reason = format!("our score is {score} centipawns, at most {score_limit}");
        self.note("draw.accept", "accepts", reason);
        self.answer(OfferKind::Draw, true);
        if let Some(best) = best {
            let wait = self.short_wait(DRAW_WAIT, now);
            self.hold(best, now + wait);
        }
        true
    }

    /// A wait that costs at most a tenth of our clock.
    fn short_wait(&self, wait: Duration, now: Moment) -> Duration {
        match self.clocks(now) {
            Some((ours, _)) => wait.min(ours / 10),
            None => wait,
        }
    }

    /// Whether to offer a draw along with the next move.
    pub(super) fn offers_draw(&mut self) -> bool {
        let policy = &self.terms.policy.draw;
        let min_ply = policy.min_ply as usize;
        if !policy.offer || !self.terms.capabilities.draw_offers {
            return false;
        }
        let moves = policy.moves;
        let Some(game) = &mut self.game else {
            return false;
        };
        let ply = game.record.ply();
        let absolute = game.record.absolute_ply();
        let early = absolute < min_ply || (game.start.rules.no_early_draw && absolute < 60);
        let recent = game
            .offers
            .offered_at_ply
            .is_some_and(|last| ply < last + DRAW_OFFER_GAP && ply >= last);
        let us = game.start.color;
        let standing = game.offers.open.draw == Some(us);
        if early || recent || standing || game.thoughts.equal_run < moves {
            return false;
        }
        game.offers.offered_at_ply = Some(ply);
        let run = game.thoughts.equal_run;
        let reason = format!("{run} equal positions in a row");
        self.note("draw.offer", "offers", reason);
        true
    }
}
