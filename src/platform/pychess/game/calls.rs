//! Requests of one game that run beside its stream, each with its own deadline.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::time::Instant;
use tracing::info;

use crate::game::CommandKind;
use crate::platform::backoff::Backoff;
use crate::platform::error::{ErrorBody, PlatformError};
use crate::platform::http::{Answer, ByteStream, HttpClient};
use crate::platform::ndjson::FrameReader;

use crate::platform::pychess::listener::{frames, pause};
use crate::platform::pychess::page::GamePage;
use crate::platform::pychess::request::{PathId, Request};
use crate::platform::pychess::{PAGE_BUDGET, Timing};

/// Attempts for resigning and aborting, each.
const CONTROL_ATTEMPTS_MAX: u32 = 6;

/// What a request came to.
pub enum Done {
    /// The stream's head is there, or is not.
    Opened(Result<FrameReader<ByteStream>, PlatformError>),
    /// The game's page.
    Looked(Look),
    /// A move.
    Played {
        ply: usize,
        result: Result<Answer, PlatformError>,
    },
    /// Resignation, abort or chat.
    Sent {
        command: CommandKind,
        result: Result<Duration, PlatformError>,
    },
}

/// What the game's page showed.
#[derive(Debug)]
pub enum Look {
    /// The page.
    Page(GamePage),
    /// There is no such game.
    Missing,
    /// It could not be read.
    Blind(String),
}

/// The means of one game's requests.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The account.
    pub http: HttpClient,
    /// The game.
    pub id: PathId,
    /// Deadlines.
    pub timing: Timing,
}

impl Calls {
    fn deadline(&self) -> Duration {
        self.timing.request
    }

    /// Opens the game's stream.
    pub async fn open(self) -> Done {
        let outgoing = Request::GameStream(self.id.clone())
            .outgoing()
            .deadline(self.deadline());
        Done::Opened(self.http.open(outgoing, frames(&self.timing)).await)
    }

    /// Reads the game's page once.
    pub async fn look(self) -> Done {
        Done::Looked(self.look_once().await)
    }

    async fn look_once(&self) -> Look {
        let outgoing = Request::GamePage(self.id.clone())
            .outgoing()
            .charge(PAGE_BUDGET, 1)
            .patience(self.deadline())
            .deadline(self.deadline());
        match self.http.send(outgoing).await {
            Ok(answer) => match GamePage::parse(&String::from_utf8_lossy(&answer.body)) {
                Ok(page) => Look::Page(page),
                Err(error) => Look::Blind(error.to_string()),
            },
            // The server's own page for a missing game is HTML as well, so the status alone decides here.
            Err(error) if error.status() == Some(404) => Look::Missing,
            Err(error) => Look::Blind(error.to_string()),
        }
    }

    /// Sends a move, once.
    pub async fn play(self, ply: usize, uci: String) -> Done {
        let outgoing = Request::Move {
            id: self.id.clone(),
            uci,
        }
        .outgoing()
        .deadline(self.deadline());
        Done::Played {
            ply,
            result: self.http.send(outgoing).await,
        }
    }

    /// Says something, once.
    pub async fn say(self, room: &'static str, text: String) -> Done {
        let outgoing = Request::Chat {
            id: self.id.clone(),
            room,
            text,
        }
        .outgoing()
        .deadline(self.deadline());
        let result = self.http.send(outgoing).await.map(|answer| answer.took);
        Done::Sent {
            command: CommandKind::Say,
            result,
        }
    }

    /// Resigns. The server only notes it, so abort follows: that ends the game, with the result of the resignation.
    pub async fn resign(self, seed: u64) -> Done {
        let mut rng = SmallRng::seed_from_u64(seed);
        let resigned = self
            .insist(Request::Resign(self.id.clone()), &mut rng)
            .await;
        let result = match resigned {
            Ok(took) => self
                .insist(Request::Abort(self.id.clone()), &mut rng)
                .await
                .map(|more| took + more),
            Err(error) => Err(error),
        };
        Done::Sent {
            command: CommandKind::Resign,
            result,
        }
    }

    /// Aborts.
    pub async fn abort(self, seed: u64) -> Done {
        let mut rng = SmallRng::seed_from_u64(seed);
        let result = self.insist(Request::Abort(self.id.clone()), &mut rng).await;
        Done::Sent {
            command: CommandKind::Abort,
            result,
        }
    }

    /// Sends something that may be sent twice until it is answered.
    async fn insist(
        &self,
        request: Request,
        rng: &mut SmallRng,
    ) -> Result<Duration, PlatformError> {
        let mut backoff = Backoff::new(self.timing.backoff);
        let mut attempt = 0;
        loop {
            attempt += 1;
            let error = match self
                .http
                .send(request.outgoing().deadline(self.deadline()))
                .await
            {
                Ok(answer) => return Ok(answer.took),
                Err(error) => error,
            };
            info!(id = %self.id, %error, "will be sent again");
            let plain = error
                .refusal()
                .is_some_and(|refusal| !matches!(refusal.body, ErrorBody::Html(_)));
            let refused = matches!(error.status(), Some(404))
                || plain && matches!(error.status(), Some(400..=428 | 430..=499));
            if refused || attempt >= CONTROL_ATTEMPTS_MAX {
                return Err(error);
            }
            let wait = backoff
                .failed(Instant::now(), rng)
                .max(pause(&error).min(self.deadline()));
            tokio::time::sleep(wait).await;
        }
    }
}
