//! Whether players are there, and what may be claimed when they are not.

use crate::game::Speed;
use crate::rules::{Color, EndReason, Ending};

use super::super::status::Status;
use super::{EARLY_PLIES, Game, Note, Term};

/// Whether a player is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Presence {
    /// Streams and pages open.
    pub(super) here: u32,
    /// Since when nobody is, ms since 1970.
    pub(super) away_since: i64,
    /// Whether the opponent has been told, and when last.
    pub(super) told_at: Option<i64>,
}

impl Presence {
    /// Nobody is there since `now_ms`, and nobody has been told.
    pub(super) fn away(now_ms: i64) -> Presence {
        Presence {
            here: 0,
            away_since: now_ms,
            told_at: None,
        }
    }
}

impl Game {
    /// A stream or page of `color` was opened.
    pub fn came(&mut self, color: Color) -> Option<Note> {
        let presence = &mut self.presence[color.index()];
        presence.here += 1;
        presence.told_at.take().map(|_| Note::Gone {
            absent: color,
            claim_in_s: None,
        })
    }

    /// A stream or page of `color` was closed.
    pub fn left(&mut self, color: Color, now_ms: i64) {
        let presence = &mut self.presence[color.index()];
        presence.here = presence.here.saturating_sub(1);
        if presence.here == 0 {
            presence.away_since = now_ms;
        }
    }

    /// Whether `color` is there.
    pub fn is_here(&self, color: Color) -> bool {
        self.presence[color.index()].here > 0
    }

    /// Milliseconds after which an absent player may be claimed against: 40 s, twice that in rapid, thrice in slower games.
    fn patience_ms(&self, base_ms: i64) -> i64 {
        match self.speed() {
            Speed::UltraBullet | Speed::Bullet | Speed::Blitz => base_ms,
            Speed::Rapid => base_ms * 2,
            Speed::Classical | Speed::Correspondence => base_ms * 3,
        }
    }

    fn claim_in_ms(&self, absent: Color, base_ms: i64, now_ms: i64) -> Option<i64> {
        let presence = &self.presence[absent.index()];
        let counts = presence.here == 0
            && self.status == Status::Started
            && self.clock.is_real_time()
            && self.plies() >= 2;
        counts.then(|| {
            let gone_for = now_ms - presence.away_since.max(self.created_ms);
            (self.patience_ms(base_ms) - gone_for).max(0)
        })
    }

    /// Whether `color`'s opponent has been away for long enough to be claimed against.
    pub fn could_claim(&self, color: Color, base_ms: i64, now_ms: i64) -> bool {
        self.claim_in_ms(!color, base_ms, now_ms) == Some(0)
    }

    /// Tells the opponent of an absent player how long he must wait, every five seconds.
    pub fn watch_absence(&mut self, base_ms: i64, now_ms: i64) -> Vec<Note> {
        const AGAIN_MS: i64 = 5_000;
        let mut notes = Vec::new();
        for absent in Color::ALL {
            let Some(claim_in) = self.claim_in_ms(absent, base_ms, now_ms) else {
                continue;
            };
            let presence = &mut self.presence[absent.index()];
            // A second of absence is a reconnect, not a departure.
            let counts = now_ms - presence.away_since >= 1_000.min(base_ms);
            let due = presence
                .told_at
                .is_none_or(|at| now_ms - at >= AGAIN_MS.min(base_ms.max(1)));
            if counts && due {
                presence.told_at = Some(now_ms);
                notes.push(Note::Gone {
                    absent,
                    claim_in_s: Some((claim_in + 999) / 1000),
                });
            }
        }
        notes
    }

    /// `color` claims the win (`victory`) or a draw against an absent opponent.
    pub fn claim(&mut self, color: Color, victory: bool, base_ms: i64, now_ms: i64) -> Claim {
        let refused_terms = if victory {
            !self.clock.is_real_time()
                || self.terms.contains(&Term::NoClaimWin)
                || self.turn() == color
        } else {
            self.plies() < 2
                || (self.terms.contains(&Term::NoEarlyDraw) && self.plies() < EARLY_PLIES)
        };
        if self.status.is_over() || refused_terms {
            return Claim::Ignored;
        }
        let gone = self.claim_in_ms(!color, base_ms, now_ms) == Some(0);
        if !gone || self.turn() == color {
            return Claim::Refused;
        }
        let could_win = self
            .adjudication
            .flag(self.position(), !color)
            .outcome
            .winner()
            .is_some();
        let winner = (victory && could_win).then_some(color);
        let ending = match winner {
            Some(winner) => Ending::win(winner, EndReason::Abandonment),
            None => Ending::draw(EndReason::Abandonment),
        };
        let notes = self.finish(ending, now_ms);
        if victory && winner.is_none() {
            Claim::DrawnButRefused(notes)
        } else {
            Claim::Done(notes)
        }
    }
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// This game knows no such claim (now); the API says 200 and nothing happens.
    Ignored,
    /// The opponent is not gone (long enough): 400.
    Refused,
    /// The game is over.
    Done(Vec<Note>),
    /// The claimant could never have won: the game is drawn, and the API says 400 all the same.
    DrawnButRefused(Vec<Note>),
}
