//! Requests of one game, each a future that ends in a [`Done`].

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

use crate::game::{ChatRoom, CommandFailure, CommandKind, GameCommand, GameId, OfferKind};
use crate::platform::error::{DEFAULT_PAUSE, PlatformError, Recovery};
use crate::platform::lichess::Timing;
use crate::platform::lichess::api::Api;

/// Attempts at a command other than a move.
const CONTROL_ATTEMPTS: u32 = 4;

/// A request on its way.
pub(super) type Pending = Pin<Box<dyn Future<Output = Done> + Send>>;

/// What came of a request.
#[derive(Debug)]
pub(super) struct Done {
    pub command: CommandKind,
    /// The move, if it was one.
    pub uci: String,
    /// The time it took, or what went wrong.
    pub result: Result<Duration, PlatformError>,
}

/// Commands that are neither moves nor chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    Resign,
    Abort,
    ClaimVictory,
    ClaimDraw,
    Draw(bool),
    Takeback(bool),
}

impl Control {
    /// The platform's command for ours; `None` if it has none.
    pub(super) fn of(command: &GameCommand) -> Option<Control> {
        Some(match command {
            GameCommand::OfferDraw => Control::Draw(true),
            GameCommand::Answer {
                offer: OfferKind::Draw,
                accept,
            } => Control::Draw(*accept),
            GameCommand::Answer {
                offer: OfferKind::Takeback,
                accept,
            } => Control::Takeback(*accept),
            GameCommand::Resign => Control::Resign,
            GameCommand::Abort => Control::Abort,
            GameCommand::ClaimVictory => Control::ClaimVictory,
            GameCommand::ClaimDraw => Control::ClaimDraw,
            _ => return None,
        })
    }
}

/// Sends a move once.
pub(super) fn play(
    api: Api,
    id: GameId,
    ply: usize,
    uci: String,
    offer_draw: bool,
    deadline: Duration,
) -> Pending {
    Box::pin(async move {
        let answer = api.play(id.as_str(), &uci, offer_draw, deadline).await;
        Done {
            command: CommandKind::Play { ply },
            uci,
            result: answer.map(|answer| answer.took),
        }
    })
}

/// Sends a command, a few times if need be: each of them has the same effect once or twice.
pub(super) fn control(
    api: Api,
    id: GameId,
    command: CommandKind,
    control: Control,
    timing: Timing,
) -> Pending {
    Box::pin(async move {
        let mut attempt = 0;
        let result = loop {
            attempt += 1;
            let id = id.as_str();
            let answer = match control {
                Control::Resign => api.resign(id).await,
                Control::Abort => api.abort(id).await,
                Control::ClaimVictory => api.claim_victory(id).await,
                Control::ClaimDraw => api.claim_draw(id).await,
                Control::Draw(yes) => api.draw(id, yes).await,
                Control::Takeback(yes) => api.takeback(id, yes).await,
            };
            let error = match answer {
                Ok(answer) => break Ok(answer.took),
                Err(error) => error,
            };
            let pause = match error.recovery() {
                Recovery::Retry => retry_pause(attempt),
                Recovery::WaitUntil { .. } => own_pause(&error, attempt, &timing),
                _ => break Err(error),
            };
            if attempt == CONTROL_ATTEMPTS || pause > Duration::from_secs(30) {
                break Err(error);
            }
            tokio::time::sleep(pause).await;
        };
        Done {
            command,
            uci: String::new(),
            result,
        }
    })
}

/// Says something, line by line; the first line that does not get through is the last.
pub(super) fn say(api: Api, id: GameId, room: ChatRoom, lines: Vec<String>) -> Pending {
    Box::pin(async move {
        let started = Instant::now();
        let mut result = Ok(Duration::ZERO);
        for line in lines {
            result = api
                .chat(id.as_str(), room, &line)
                .await
                .map(|_| started.elapsed());
            if result.is_err() {
                break;
            }
        }
        Done {
            command: CommandKind::Say,
            uci: String::new(),
            result,
        }
    })
}

/// Pause before a request that did not arrive is sent again.
pub(super) fn retry_pause(attempt: u32) -> Duration {
    Duration::from_millis(150) * 2_u32.pow(attempt.saturating_sub(1).min(4))
}

/// Pause after a 429 that a running game can afford: what the platform says, to the second; if it says nothing, one, two
/// and then four seconds, since a minute would lose the game.
pub(super) fn own_pause(error: &PlatformError, attempt: u32, timing: &Timing) -> Duration {
    let stated = error
        .refusal()
        .is_some_and(|refusal| refusal.retry_after.is_some() || refusal.limit.is_some());
    match error.recovery() {
        Recovery::WaitUntil { delay, .. } if stated => delay,
        Recovery::WaitUntil { delay, .. } if error.refusal().is_none() => delay.min(DEFAULT_PAUSE),
        _ => timing.move_pause * 2_u32.pow(attempt.saturating_sub(1).min(2)),
    }
}

/// What is known about a command that did not succeed.
pub(super) fn failure(error: &PlatformError) -> CommandFailure {
    match error {
        PlatformError::Refused(refusal) if refusal.status == 429 => CommandFailure::NotSent,
        PlatformError::Refused(_) if error.own_status().is_none_or(|status| status >= 500) => {
            CommandFailure::Unanswered
        }
        PlatformError::Refused(refusal) => CommandFailure::Refused {
            words: refusal.body.to_string(),
        },
        PlatformError::Unanswered { .. }
        | PlatformError::Unreadable { .. }
        | PlatformError::Broken { .. } => CommandFailure::Unanswered,
        PlatformError::Unreachable { .. }
        | PlatformError::Held { .. }
        | PlatformError::Unsendable { .. } => CommandFailure::NotSent,
    }
}
