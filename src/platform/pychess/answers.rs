//! Answers to challenges.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::time::Instant;
use tracing::{debug, info};

use crate::lobby::DeclineReason;
use crate::platform::backoff::Backoff;
use crate::platform::error::{PlatformError, Recovery};
use crate::platform::http::HttpClient;

use super::Timing;
use super::request::{PathId, Request};
use super::translate;

/// Attempts to accept one challenge.
const ACCEPTS_MAX: u32 = 4;

/// What came of accepting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptOutcome {
    /// The server took it, or may have: the game's stream will show. (It also says yes when the game cannot be created.)
    Taken,
    /// There is no such challenge any more, or it is not ours to accept.
    Failed {
        /// The server's words.
        words: String,
        /// The server asks us to stay away for this long.
        rest: Option<Duration>,
    },
}

/// Accepts a challenge, again if it may not have arrived.
///
/// A challenge that is gone answers 404. After an attempt without an answer that can also mean that the attempt had worked, so then
/// the game's stream decides.
pub async fn accept(http: &HttpClient, timing: &Timing, id: &PathId, seed: u64) -> AcceptOutcome {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut backoff = Backoff::new(timing.backoff);
    let mut perhaps = false;
    let mut attempt = 0;
    loop {
        attempt += 1;
        let outgoing = Request::Accept(id.clone())
            .outgoing()
            .deadline(timing.request);
        let error = match http.send(outgoing).await {
            Ok(_) => return AcceptOutcome::Taken,
            Err(error) => error,
        };
        info!(%id, %error, "accepting failed");
        let gone = matches!(error.status(), Some(400..=428 | 430..=499));
        if gone && perhaps {
            return AcceptOutcome::Taken;
        }
        perhaps |= may_have_arrived(&error);
        if gone || attempt >= ACCEPTS_MAX {
            if perhaps && !gone {
                return AcceptOutcome::Taken;
            }
            let rest = match error.recovery() {
                Recovery::WaitUntil { delay, .. } => Some(delay),
                _ => None,
            };
            return AcceptOutcome::Failed {
                words: error.to_string(),
                rest,
            };
        }
        tokio::time::sleep(backoff.failed(Instant::now(), &mut rng)).await;
    }
}

/// Declines a challenge; tried twice. Whether the challenger was told.
pub async fn decline(
    http: &HttpClient,
    timing: &Timing,
    id: &PathId,
    reason: DeclineReason,
) -> bool {
    for _ in 0..2 {
        let request = Request::Decline {
            id: id.clone(),
            reason: translate::decline_key(reason).to_owned(),
        };
        let outgoing = request.outgoing().deadline(timing.request);
        match http.send(outgoing).await {
            Ok(_) => return true,
            Err(error) if matches!(error.status(), Some(400..=499)) => {
                debug!(%id, %error, "nothing to decline");
                return false;
            }
            Err(error) => info!(%id, %error, "declining failed"),
        }
    }
    false
}

/// Whether the server may have acted although no success came back.
pub fn may_have_arrived(error: &PlatformError) -> bool {
    match error {
        PlatformError::Unanswered { .. }
        | PlatformError::Unreadable { .. }
        | PlatformError::Broken { .. } => true,
        PlatformError::Refused(refusal) => refusal.status >= 500,
        PlatformError::Unreachable { .. }
        | PlatformError::Held { .. }
        | PlatformError::Unsendable { .. } => false,
    }
}
