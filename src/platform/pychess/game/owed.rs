//! The move we owe: when it may be sent, and what its answer means.

use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

use crate::game::{CommandFailure, CommandKind, GameEvent, PlayMove};
use crate::platform::error::PlatformError;
use crate::platform::http::Answer;
use crate::platform::pychess::answers::may_have_arrived;
use crate::platform::pychess::listener::pause;
use crate::platform::pychess::track::Track;
use crate::platform::pychess::translate;
use crate::rules::CastlingMode;

use super::{GameTask, Link};

/// Wait before a move that did not arrive is sent again; doubled each time, up to sixteenfold.
const FIRST_RETRY: Duration = Duration::from_millis(125);

/// A move between the session and the server.
#[derive(Debug)]
pub struct Owed {
    play: Box<PlayMove>,
    stage: Stage,
    attempts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Waits for the stream, for a look, or for the move before it.
    Held,
    /// Certainly did not arrive; will be sent again then.
    Again(Instant),
    /// Under way.
    Sending,
    /// The server said yes, which proves nothing; the stream must show it by then.
    Taken(Instant),
}

impl Owed {
    /// When something must be done about it.
    pub fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Again(at) | Stage::Taken(at) => Some(at),
            Stage::Held | Stage::Sending => None,
        }
    }
}

/// A move that may or may not have arrived.
#[derive(Debug, Clone, Copy)]
pub struct Doubt {
    /// Its ply.
    pub ply: usize,
    /// Nothing seen before this settles it: the request may still have been under way.
    pub until: Instant,
}

/// Whether a move may leave.
enum Due {
    Now,
    Later,
    Never,
}

impl GameTask {
    pub(super) fn on_play(&mut self, play: Box<PlayMove>) {
        if self.closing.is_some() || self.wants.end || self.looking.is_some_and(|wants| wants.end) {
            return self.fail(CommandKind::Play { ply: play.ply }, CommandFailure::NotSent);
        }
        self.owed = Some(Owed {
            play,
            stage: Stage::Held,
            attempts: 0,
        });
        self.send_owed(Instant::now());
    }

    /// Sends the owed move if nothing speaks against it.
    pub(super) fn send_owed(&mut self, now: Instant) {
        let Some(mut owed) = self.owed.take_if(|owed| owed.stage == Stage::Held) else {
            return;
        };
        match self.due(&owed.play, now) {
            Due::Later => self.owed = Some(owed),
            Due::Never => {
                let command = CommandKind::Play { ply: owed.play.ply };
                info!(id = %self.calls.id, ?command, "not sent: it does not fit the board any more");
                self.fail(command, CommandFailure::NotSent);
            }
            Due::Now => {
                let (ply, m) = (owed.play.ply, owed.play.m);
                let notation = self
                    .track
                    .as_ref()
                    .map_or_else(CastlingMode::default, Track::notation);
                let uci = translate::move_word(&owed.play.position, m, notation);
                owed.stage = Stage::Sending;
                owed.attempts += 1;
                self.owed = Some(owed);
                self.playing = true;
                self.unconfirmed = Some((ply, m));
                self.jobs.spawn(self.calls.clone().play(ply, uci));
            }
        }
    }

    fn due(&mut self, play: &PlayMove, now: Instant) -> Due {
        let Some(track) = &self.track else {
            return Due::Later;
        };
        if !track.fits(play) {
            return Due::Never;
        }
        // The one before must be answered first, or both could reach a board they were not meant for.
        if self.playing {
            return Due::Later;
        }
        let seen_at = self.seen_at.unwrap_or(now);
        if let Some(doubt) = self.doubt.filter(|doubt| doubt.ply == play.ply) {
            if seen_at < doubt.until {
                self.look(doubt.until.max(now), |wants| wants.verify = true);
                return Due::Later;
            }
            self.doubt = None;
        }
        if matches!(self.link, Link::Up { shown: true, .. })
            || now.duration_since(seen_at) < self.timing.look_gap
        {
            return Due::Now;
        }
        // The stream is away, but the clock runs: the page shows whether the board is still the same.
        self.look(now, |wants| wants.verify = true);
        Due::Later
    }

    /// The board is known anew: is the move there, or pointless?
    pub(super) fn settle_owed(&mut self) {
        let (Some(track), Some(owed)) = (&self.track, &self.owed) else {
            return;
        };
        let (ply, waits) = (
            owed.play.ply,
            matches!(owed.stage, Stage::Held | Stage::Again(_)),
        );
        if track.moves().len() > ply {
            self.owed = None;
        } else if !track.fits(&owed.play) {
            self.owed = None;
            if waits {
                self.fail(CommandKind::Play { ply }, CommandFailure::NotSent);
            }
        }
    }

    pub(super) fn on_played(&mut self, ply: usize, result: Result<Answer, PlatformError>) {
        let now = Instant::now();
        self.playing = false;
        let command = CommandKind::Play { ply };
        let mine = |owed: &&mut Owed| owed.play.ply == ply && owed.stage == Stage::Sending;
        match result {
            Ok(answer) => {
                if let Some(owed) = self.owed.as_mut().filter(mine) {
                    owed.stage = Stage::Taken(now + self.timing.echo);
                }
                self.push(GameEvent::Accepted {
                    command,
                    took: answer.took,
                });
            }
            Err(error) if may_have_arrived(&error) => {
                warn!(id = %self.calls.id, ply, %error, "nobody knows whether the move arrived");
                self.doubt = Some(Doubt {
                    ply,
                    until: now + self.timing.settle,
                });
                if self.owed.as_mut().filter(mine).is_some() {
                    self.owed = None;
                    self.fail(command, CommandFailure::Unanswered);
                }
            }
            Err(error) => self.on_not_arrived(now, ply, &error),
        }
        self.send_owed(now);
    }

    /// The move certainly did not take effect.
    fn on_not_arrived(&mut self, now: Instant, ply: usize, error: &PlatformError) {
        let mine = |owed: &&mut Owed| owed.play.ply == ply && owed.stage == Stage::Sending;
        self.unconfirmed = None;
        let Some(owed) = self.owed.as_mut().filter(mine) else {
            return;
        };
        let passes = match error {
            PlatformError::Unreachable { .. } | PlatformError::Held { .. } => true,
            _ => matches!(error.status(), Some(300..=399 | 408 | 425 | 429)),
        };
        if passes {
            let wait = FIRST_RETRY
                .saturating_mul(1 << owed.attempts.min(4))
                .max(pause(error));
            info!(id = %self.calls.id, ply, %error, wait_ms = wait.as_millis(), "the move did not arrive and will be sent again");
            owed.stage = Stage::Again(now + wait);
            return;
        }
        warn!(id = %self.calls.id, ply, %error, "the move was refused");
        self.owed = None;
        self.fail(
            CommandKind::Play { ply },
            CommandFailure::Refused {
                words: error.to_string(),
            },
        );
        self.look(now, |wants| wants.gone = true);
    }

    pub(super) fn owed_on_time(&mut self, now: Instant) {
        let Some(owed) = &mut self.owed else { return };
        match owed.stage {
            Stage::Again(at) if at <= now => {
                owed.stage = Stage::Held;
                self.send_owed(now);
            }
            Stage::Taken(at) if at <= now => {
                // The server says yes to moves that it ignores; or our stream has stopped telling.
                let ply = owed.play.ply;
                warn!(id = %self.calls.id, ply, "the server took a move and does not show it");
                self.owed = None;
                self.doubt = Some(Doubt { ply, until: now });
                self.fail(CommandKind::Play { ply }, CommandFailure::Unanswered);
            }
            _ => {}
        }
    }
}
