//! The state of a game's stream: waiting, being opened, open, or closed for good.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use tokio::time::Instant;

use crate::platform::error::PlatformError;
use crate::platform::http::ByteStream;
use crate::platform::lichess::api::Api;
use crate::platform::ndjson::{Frame, FrameConfig, FrameError, FrameReader};

type Opening = Pin<Box<dyn Future<Output = Result<FrameReader<ByteStream>, PlatformError>> + Send>>;

/// Where the stream stands.
pub(super) enum Link {
    /// To be opened at this moment.
    Waiting(Instant),
    /// The request left at this moment.
    Opening(Instant, Opening),
    /// Lines come.
    Open(Box<FrameReader<ByteStream>>),
    /// The game is over.
    Closed,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Link::Waiting(_) => "Waiting",
            Link::Opening(..) => "Opening",
            Link::Open(_) => "Open",
            Link::Closed => "Closed",
        })
    }
}

/// What the stream has to say.
#[derive(Debug)]
pub(super) enum LinkInput {
    /// It is open.
    Opened {
        /// When it was asked for: its first line is not older.
        asked: Instant,
    },
    /// It was not opened.
    NotOpened(PlatformError),
    /// A frame.
    Frame(Frame),
    /// It is gone.
    Broken(FrameError),
}

impl Link {
    /// Waits for the next input, and moves on by itself from waiting to opening to open. Cancel safe.
    pub(super) async fn next(&mut self, api: &Api, game: &str, frames: FrameConfig) -> LinkInput {
        loop {
            match self {
                Link::Waiting(at) => {
                    tokio::time::sleep_until(*at).await;
                    let (api, game) = (api.clone(), game.to_owned());
                    let opening = Box::pin(async move { api.open_game(&game, frames).await });
                    *self = Link::Opening(Instant::now(), opening);
                }
                Link::Opening(asked, opening) => match opening.await {
                    Ok(reader) => {
                        let asked = *asked;
                        *self = Link::Open(Box::new(reader));
                        return LinkInput::Opened { asked };
                    }
                    Err(error) => {
                        // The caller sets the time of the next attempt; until then nothing is polled twice.
                        *self = Link::Closed;
                        return LinkInput::NotOpened(error);
                    }
                },
                Link::Open(reader) => {
                    return match reader.next().await {
                        Ok(frame) => LinkInput::Frame(frame),
                        Err(error) => LinkInput::Broken(error),
                    };
                }
                Link::Closed => std::future::pending().await,
            }
        }
    }
}
