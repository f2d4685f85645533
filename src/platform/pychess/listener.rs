//! Keeps the account's one event stream open for as long as the client lives.
//!
//! One, because the server deals events to all open streams of an account in turn. It tells what it hears in order; it knows nothing
//! of games.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::platform::backoff::Backoff;
use crate::platform::error::{ErrorBody, PlatformError};
use crate::platform::http::{ByteStream, HttpClient};
use crate::platform::ndjson::{Frame, FrameConfig, FrameError, FrameReader};

use super::Timing;
use super::request::Request;
use super::wire::{self, AccountLine, CAPABILITIES_HEADER, LiveGame};

/// Longest line of either stream. The longest game of 600 plies stays below 4 KiB.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// The first lists after connecting are given up after this long: they are a help, not the truth.
const LISTS_DEADLINE: Duration = Duration::from_secs(10);

/// What the listener tells.
#[derive(Debug)]
pub enum Heard {
    /// The stream is open.
    Up {
        /// Who we are.
        account: wire::Account,
        /// Running games of each variant we play, ours and others', in the order of the lists; empty where one could not be read.
        live: Vec<Vec<LiveGame>>,
    },
    /// A line.
    Line {
        /// When it arrived.
        at: Instant,
        /// When reading began.
        up_at: Instant,
        /// What it says.
        line: AccountLine,
    },
    /// The stream is lost.
    Down {
        /// Why.
        words: String,
        /// When the next attempt is made.
        retry_in: Duration,
    },
}

/// The server will not have us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barred {
    /// What the operator must know.
    pub words: String,
}

/// What the listener needs.
#[derive(Debug)]
pub struct Listener {
    /// The account.
    pub http: HttpClient,
    /// Value of the capability header.
    pub header: String,
    /// The server's names of the variants we play, for the lists of running games.
    pub lists: Arc<[&'static str]>,
    /// Waits.
    pub timing: Timing,
    /// Jitter.
    pub rng: SmallRng,
    /// Where to.
    pub out: mpsc::Sender<Heard>,
}

/// How a stretch of listening ended.
enum Lost {
    /// The server does not want us: stop.
    Barred(Barred),
    /// Try again after the backoff, or after at least this long.
    Again { words: String, at_least: Duration },
    /// Nobody listens to us any more.
    Unheard,
}

impl Listener {
    /// Listens until the server bars the account (then says why) or nobody takes what is heard (then `None`).
    pub async fn run(mut self) -> Option<Barred> {
        let mut backoff = Backoff::new(self.timing.backoff);
        loop {
            match self.stretch(&mut backoff).await {
                Lost::Barred(barred) => return Some(barred),
                Lost::Unheard => return None,
                Lost::Again { words, at_least } => {
                    let retry_in = backoff.failed(Instant::now(), &mut self.rng).max(at_least);
                    if self
                        .out
                        .send(Heard::Down { words, retry_in })
                        .await
                        .is_err()
                    {
                        return None;
                    }
                    tokio::time::sleep(retry_in).await;
                }
            }
        }
    }

    async fn stretch(&mut self, backoff: &mut Backoff) -> Lost {
        let account = match self.account().await {
            Ok(account) => account,
            Err(lost) => return lost,
        };
        let deadline = self.timing.request;
        let open = Request::EventStream
            .outgoing()
            .header(CAPABILITIES_HEADER, self.header.clone())
            .deadline(deadline);
        let mut stream = match self.http.open(open, frames(&self.timing)).await {
            Ok(stream) => stream,
            Err(error) => return lost(&error, true),
        };
        backoff.connected(Instant::now());
        let live = self.live_games().await;
        if self.out.send(Heard::Up { account, live }).await.is_err() {
            return Lost::Unheard;
        }
        // What has waited in the socket meanwhile counts as old: nobody can tell it from what waited on the server.
        self.read(&mut stream, Instant::now()).await
    }

    /// Reads lines until the stream breaks.
    async fn read(&self, stream: &mut FrameReader<ByteStream>, up_at: Instant) -> Lost {
        loop {
            let frame = tokio::select! {
                biased;
                () = self.out.closed() => return Lost::Unheard,
                frame = stream.next() => frame,
            };
            let line = match frame {
                Ok(Frame::Line(line)) => line,
                Ok(Frame::KeepAlive) => continue,
                Ok(Frame::BadUtf8(bytes)) => {
                    warn!(
                        bytes,
                        "a line of PyChess's event stream is not UTF-8 and was dropped"
                    );
                    continue;
                }
                Err(error) => {
                    // When we close a stream that the server still believes in, its handler swallows the next event.
                    let ours = matches!(
                        error,
                        FrameError::Silent(_) | FrameError::Stalled(_) | FrameError::TooLong(_)
                    );
                    let at_least = if ours {
                        self.timing.quiet
                    } else {
                        Duration::ZERO
                    };
                    return Lost::Again {
                        words: format!("event stream: {error}"),
                        at_least,
                    };
                }
            };
            match AccountLine::parse(&line) {
                Ok(AccountLine::Ping) => {}
                Ok(AccountLine::Terminated) => {
                    return Lost::Again {
                        words: "the server is stopping".to_owned(),
                        at_least: Duration::ZERO,
                    };
                }
                Ok(AccountLine::Other(kind)) => debug!(kind, "unknown event of PyChess"),
                Ok(line) => {
                    let heard = Heard::Line {
                        at: Instant::now(),
                        up_at,
                        line,
                    };
                    if self.out.send(heard).await.is_err() {
                        return Lost::Unheard;
                    }
                }
                Err(error) => warn!(%error, "an event of PyChess was dropped"),
            }
        }
    }

    async fn account(&self) -> Result<wire::Account, Lost> {
        let deadline = self.timing.request;
        let answer = self
            .http
            .send(Request::Account.outgoing().deadline(deadline))
            .await;
        let account: wire::Account = match answer.and_then(|answer| answer.json()) {
            Ok(account) => account,
            Err(error) => return Err(lost(&error, false)),
        };
        if account.title.as_deref() == Some("BOT") {
            return Ok(account);
        }
        let words = format!(
            "{} is not a BOT account on PyChess; upgrade it at /account/bot before its first game",
            account.username
        );
        Err(Lost::Barred(Barred { words }))
    }

    /// The running games of all our variants. A list that fails is empty: the next round of polling has it.
    async fn live_games(&self) -> Vec<Vec<LiveGame>> {
        let mut live = vec![Vec::new(); self.lists.len()];
        let all = async {
            for (variant, games) in self.lists.iter().zip(&mut live) {
                match live_games(&self.http, &self.timing, variant).await {
                    Ok(found) => *games = found,
                    Err(error) => debug!(%error, variant, "no list of running games"),
                }
            }
        };
        if tokio::time::timeout(LISTS_DEADLINE, all).await.is_err() {
            debug!("the lists of running games were not read in time");
        }
        live
    }
}

/// One public list of running games.
///
/// # Errors
/// Whatever went wrong; the list proves nothing anyway.
pub async fn live_games(
    http: &HttpClient,
    timing: &Timing,
    variant: &'static str,
) -> Result<Vec<LiveGame>, PlatformError> {
    let deadline = timing.request;
    http.send(Request::LiveGames { variant }.outgoing().deadline(deadline))
        .await?
        .json()
}

/// The limits of both kinds of stream.
pub fn frames(timing: &Timing) -> FrameConfig {
    let silence = timing.silence;
    FrameConfig {
        max_line_bytes: LINE_BYTES_MAX,
        silence,
        line_deadline: silence + silence / 2,
        keep_last: true,
    }
}

/// Whether to come back. The server says 403 in plain text for a bad token and for an account that is no bot, and 400 when it does not
/// like the capability header; a page of HTML comes from something in front of it and passes.
fn lost(error: &PlatformError, stream: bool) -> Lost {
    let plain = error
        .refusal()
        .is_some_and(|refusal| !matches!(refusal.body, ErrorBody::Html(_)));
    let barred = match error.status() {
        Some(401 | 403) if plain => Some("the token is refused; make a new one at /account/bot"),
        Some(400) if stream && plain => {
            Some("the capability header is refused; the server's interface has changed")
        }
        _ => None,
    };
    match barred {
        Some(advice) => Lost::Barred(Barred {
            words: format!("{error}: {advice}"),
        }),
        None => Lost::Again {
            words: error.to_string(),
            at_least: pause(error),
        },
    }
}

/// How long a refusal asks us to stay away.
pub fn pause(error: &PlatformError) -> Duration {
    use crate::platform::error::Recovery;
    match error.recovery() {
        Recovery::WaitUntil { delay, .. } => delay,
        _ => Duration::ZERO,
    }
}
