//! Opponents who do not begin, or who leave.

use std::time::Duration;

use crate::rules::Color;

use super::super::command::GameCommand;
use super::super::facts::GameSource;
use super::super::time::Moment;
use super::{Game, GameSession};

/// After a claim that changed nothing, the next one waits this long.
const CLAIM_RETRY: Duration = Duration::from_secs(10);
/// Claims per absence; then the platform has its reasons.
const MAX_CLAIMS: u32 = 5;
/// Times that `!wait` works in one game.
const MAX_WAITS: u32 = 3;
/// After an abort that changed nothing, the next one waits this long.
const ABORT_RETRY: Duration = Duration::from_secs(15);

/// What we know about an absent opponent.
#[derive(Debug)]
pub(super) struct Absence {
    /// When a claim is allowed; `None`: he is there.
    claim_at: Option<Moment>,
    claims: u32,
    /// Since when the side to move has been on move.
    on_move_since: Option<Moment>,
    /// Added by `!wait`.
    patience: Duration,
    waits: u32,
    abort_allowed: bool,
    abort_sent: Option<Moment>,
}

impl Default for Absence {
    fn default() -> Self {
        Self {
            claim_at: None,
            claims: 0,
            on_move_since: None,
            patience: Duration::ZERO,
            waits: 0,
            abort_allowed: true,
            abort_sent: None,
        }
    }
}

impl Absence {
    /// The first state that we see: whoever is to move has been so at least from now on.
    pub(super) fn begin(&mut self, at: Moment) {
        self.on_move_since.get_or_insert(at);
    }

    pub(super) fn turn_changed(&mut self, at: Moment) {
        self.on_move_since = Some(at);
    }

    pub(super) fn opponent_returned(&mut self) {
        self.claim_at = None;
        self.claims = 0;
    }

    pub(super) fn claim_failed(&mut self) {
        // The platform repeats the notice if he is still away.
        self.claim_at = None;
    }

    pub(super) fn may_abort(&self) -> bool {
        self.abort_allowed
    }

    pub(super) fn forbid_abort(&mut self) {
        self.abort_allowed = false;
    }

    /// Adds to our patience; false if it was asked for too often.
    pub(super) fn wait(&mut self, span: Duration) -> bool {
        if self.waits >= MAX_WAITS {
            return false;
        }
        self.waits += 1;
        self.patience += span;
        true
    }
}

impl GameSession {
    pub(super) fn opponent_left(&mut self, claimable_in: Option<Duration>, at: Moment) {
        let Some(game) = &mut self.game else { return };
        if game.start.rules.no_claim_win || !self.terms.policy.absence.claim {
            return;
        }
        if let Some(span) = claimable_in
            && game.absence.claims < MAX_CLAIMS
        {
            game.absence.claim_at = Some(at + span);
        }
    }

    pub(super) fn opponent_returned(&mut self) {
        if let Some(game) = &mut self.game {
            game.absence.opponent_returned();
        }
    }

    /// When something is due about the opponent's absence.
    pub(super) fn absence_due(&self, game: &Game) -> Option<Moment> {
        if !game.link_up || game.is_our_turn() || game.leaving.is_some() {
            return None;
        }
        let claim = game.absence.claim_at;
        let abort = self.abort_due(game);
        claim.into_iter().chain(abort).min()
    }

    fn abort_due(&self, game: &Game) -> Option<Moment> {
        if !self.can_abort(game) || matches!(game.start.source, GameSource::Resumed) {
            return None;
        }
        if let Some(sent) = game.absence.abort_sent {
            return Some(sent + ABORT_RETRY);
        }
        let since = game.absence.on_move_since?;
        Some(since + self.terms.policy.absence.abort_after + game.absence.patience)
    }

    pub(super) fn tick_absence(&mut self, now: Moment) {
        let Some(game) = &self.game else { return };
        if !game.link_up || game.is_our_turn() || game.leaving.is_some() || game.doubt.is_some() {
            return;
        }
        if self.abort_due(game).is_some_and(|due| due <= now) {
            if game.absence.abort_sent.is_some() {
                // A second attempt would not fare better.
                if let Some(game) = &mut self.game {
                    game.absence.forbid_abort();
                }
                return;
            }
            if let Some(game) = &mut self.game {
                game.absence.abort_sent = Some(now);
            }
            self.note(
                "absence.abort",
                "aborts",
                "the opponent does not make his first move",
            );
            return self.send(GameCommand::Abort);
        }
        if game.absence.claim_at.is_some_and(|due| due <= now) {
            self.claim(now);
        }
    }

    fn claim(&mut self, now: Moment) {
        let Some(game) = &mut self.game else { return };
        let us = game.start.color;
        let absence = &mut game.absence;
        absence.claims += 1;
        absence.claim_at = (absence.claims < MAX_CLAIMS).then_some(now + CLAIM_RETRY);
        let (verdict, command) = if can_win(game, us) {
            ("claims the win", GameCommand::ClaimVictory)
        } else {
            ("claims a draw", GameCommand::ClaimDraw)
        };
        self.note(
            "absence.claim",
            verdict,
            "the opponent left and the platform allows it",
        );
        self.send(command);
    }
}

/// Whether our side still has what it takes to win, by the flag rule of the strictest platform.
fn can_win(game: &Game, us: Color) -> bool {
    use crate::rules::{Adjudication, Outcome};
    let ending = Adjudication::LICHESS.flag(game.record.position(), !us);
    ending.outcome != Outcome::Draw
}
