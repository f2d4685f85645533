//! Keeps an account's event stream open.

use std::time::Duration;

use rand::rngs::SmallRng;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::api::{Api, EVENTS};
use super::{Timing, wire};
use crate::platform::backoff::{Backoff, BackoffConfig};
use crate::platform::error::{DEFAULT_PAUSE, PlatformError, Recovery};
use crate::platform::governor::Verdict;
use crate::platform::http::ByteStream;
use crate::platform::ndjson::{Frame, FrameError, FrameReader};

/// A stream that the server closes sooner than this was taken over by somebody.
const EVICTED_WITHIN: Duration = Duration::from_secs(15);
/// So many in a row are no accident.
const EVICTIONS_SUSPECT: u32 = 3;

/// What the reader tells the account's actor.
#[derive(Debug)]
pub(super) enum FromEvents {
    /// A stream is open; what was missed must be looked up.
    Opened,
    /// A line.
    Line(Box<wire::EventLine>, Instant),
    /// The stream is gone; the reader comes back by itself.
    Lost {
        /// Why.
        words: String,
        /// When it tries again.
        retry_in: Duration,
        /// The error of a refused opening.
        error: Option<PlatformError>,
    },
    /// The account cannot be used any more.
    Stopped(PlatformError),
}

/// Reads the event stream for ever. Returns when the account's actor is gone or the account cannot be used.
pub(super) async fn run(api: Api, timing: Timing, mut rng: SmallRng, to: mpsc::Sender<FromEvents>) {
    let config = BackoffConfig {
        cap: timing.event_backoff_cap,
        // A stream that lasted longer than one that somebody takes over was a good one: its loss begins the waits anew. How often
        // it may be opened at all, the account's allowance bounds.
        healthy_after: EVICTED_WITHIN,
        ..BackoffConfig::default()
    };
    let mut backoff = Backoff::new(config);
    let mut evictions = 0;
    loop {
        let opened = api.open_events(timing.frames()).await;
        let started = Instant::now();
        let (words, error, least) = match opened {
            Ok(reader) => {
                backoff.connected(started);
                if to.send(FromEvents::Opened).await.is_err() {
                    return;
                }
                let end = read(reader, &to).await;
                let Some(end) = end else { return };
                evictions = match &end {
                    End::Frame(FrameError::Ended { .. }) if started.elapsed() < EVICTED_WITHIN => {
                        evictions + 1
                    }
                    _ => 0,
                };
                judge(&api, end, evictions)
            }
            Err(error) => match error.recovery() {
                Recovery::StopAccount => {
                    drop(to.send(FromEvents::Stopped(error)).await);
                    return;
                }
                Recovery::WaitUntil { delay, .. } => (error.to_string(), Some(error), delay),
                // The address is wrong, or the server is another one than we think: that does not mend itself quickly.
                Recovery::GiveUpGame | Recovery::GiveUpRequest => {
                    (error.to_string(), Some(error), Duration::from_secs(10))
                }
                Recovery::Retry | Recovery::Resync => {
                    (error.to_string(), Some(error), Duration::ZERO)
                }
            },
        };
        // The account's allowance for openings is waited for here, so that what is told is the time it will take.
        let pause = backoff.failed(Instant::now(), &mut rng);
        let retry_in = pause.max(least).max(api.event_opening_in());
        if to
            .send(FromEvents::Lost {
                words,
                retry_in,
                error,
            })
            .await
            .is_err()
        {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(retry_in) => {}
            () = to.closed() => return,
        }
    }
}

enum End {
    Frame(FrameError),
    /// An error object in place of an event.
    Refused(String),
    /// The account's actor did not take events in time.
    Behind,
}

/// Reads one stream to its end. `None` if the account's actor is gone.
async fn read(mut reader: FrameReader<ByteStream>, to: &mpsc::Sender<FromEvents>) -> Option<End> {
    loop {
        let frame = tokio::select! {
            frame = reader.next() => frame,
            () = to.closed() => return None,
        };
        let at = Instant::now();
        let line = match frame {
            Ok(Frame::Line(line)) => line,
            Ok(Frame::KeepAlive) => continue,
            Ok(Frame::BadUtf8(bytes)) => {
                tracing::warn!(bytes, "a line of the event stream is not UTF-8");
                continue;
            }
            Err(error) => return Some(End::Frame(error)),
        };
        match wire::parse_event(&line) {
            Ok(wire::EventLine::Error(words)) => return Some(End::Refused(words)),
            Ok(event) => match to.try_send(FromEvents::Line(Box::new(event), at)) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Closed(_)) => return None,
                // The server forgets what is not read, so waiting here would lose events without a trace. A new stream
                // repeats what matters.
                Err(mpsc::error::TrySendError::Full(_)) => return Some(End::Behind),
            },
            Err(error) => tracing::warn!(%error, "an unreadable line on the event stream"),
        }
    }
}

/// Words for the loss of a stream and the least time to wait after it.
fn judge(api: &Api, end: End, evictions: u32) -> (String, Option<PlatformError>, Duration) {
    match end {
        End::Frame(source) if evictions >= EVICTIONS_SUSPECT => {
            let words = format!(
                "{source}, {evictions} times right after opening: another program seems to use this token"
            );
            (words, None, DEFAULT_PAUSE)
        }
        End::Frame(source) => (
            PlatformError::Broken {
                call: EVENTS,
                source,
            }
            .to_string(),
            None,
            Duration::ZERO,
        ),
        End::Refused(words) => {
            let text = words.clone();
            let verdict = Verdict::Limited {
                key: None,
                wait: None,
                text,
            };
            api.http()
                .governor()
                .note(api.http().account(), EVENTS, &verdict);
            (
                format!("refused on the open stream: {words}"),
                None,
                DEFAULT_PAUSE,
            )
        }
        End::Behind => (
            "events were not taken in time".to_owned(),
            None,
            Duration::ZERO,
        ),
    }
}
