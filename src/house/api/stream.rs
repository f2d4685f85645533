//! Lines on their way out, with keep-alives and the faults of the plan.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;

use super::super::conn::{ConnControl, RequestGuard};
use super::super::fault::{Effect, Loss};
use super::super::hall::OpenStream;
use super::super::lines::{Line, LineKind};
use super::App;

/// Bytes already handed out reach the socket within this time.
const FLUSH_TIME: Duration = Duration::from_millis(30);

/// The answer that streams a queue.
pub(super) fn respond(app: &Arc<App>, stream: OpenStream, control: &Arc<ConnControl>) -> Response {
    let driver = Driver {
        app: Arc::clone(app),
        keep_alive: keep_alive(app, &stream),
        stream,
        control: Arc::clone(control),
        steps: VecDeque::new(),
        _answering: control.begin_request(),
    };
    let body = Body::from_stream(unfold(driver, |mut driver| async move {
        let chunk = driver.next().await?;
        Some((chunk, driver))
    }));
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, body).into_response()
}

/// Challenges that are kept alive are quiet for longer.
fn keep_alive(app: &App, stream: &OpenStream) -> Duration {
    if stream.endpoint.is_stream() {
        app.keep_alive
    } else {
        app.keep_alive * 8
    }
}

/// What to do next on the wire.
#[derive(Debug)]
enum Step {
    Send(Bytes),
    Wait(Duration),
    /// End in good order.
    End,
    /// Lose the connection.
    Lose(Loss),
}

struct Driver {
    app: Arc<App>,
    stream: OpenStream,
    control: Arc<ConnControl>,
    keep_alive: Duration,
    steps: VecDeque<Step>,
    _answering: RequestGuard,
}

impl Driver {
    /// The next bytes; `None` ends the stream in good order.
    async fn next(&mut self) -> Option<Result<Bytes, io::Error>> {
        loop {
            match self.steps.pop_front() {
                Some(Step::Send(bytes)) => return Some(Ok(bytes)),
                Some(Step::Wait(time)) => tokio::time::sleep(time).await,
                Some(Step::End) => return None,
                Some(Step::Lose(loss)) => {
                    self.control.lose(loss);
                    // The connection's task drops this stream; a silent line stays until the client gives up.
                    std::future::pending::<()>().await;
                }
                None => {
                    let next = self.stream.queue.next();
                    match tokio::time::timeout(self.keep_alive, next).await {
                        Ok(Some(line)) => self.plan(line),
                        Ok(None) => return None,
                        // An empty line tells the client that the line is not dead.
                        Err(_) => return Some(Ok(Bytes::from_static(b"\n"))),
                    }
                }
            }
        }
    }

    fn plan(&mut self, line: Line) {
        let struck = self
            .app
            .faults
            .at_line(self.stream.endpoint, &self.stream.account, line.kind);
        let whole = with_end(&line.json, b"\n");
        let Some(effect) = struck else {
            self.steps.push_back(Step::Send(whole));
            return;
        };
        tracing::debug!(account = %self.stream.account, ?effect, "a fault strikes a stream");
        let half = whole.len() / 2;
        let steps = match effect {
            Effect::End => vec![Step::End],
            Effect::Cut => vec![
                Step::Send(whole.slice(..half)),
                Step::Wait(FLUSH_TIME),
                Step::Lose(Loss::Close),
            ],
            Effect::Close => vec![Step::Lose(Loss::Close)],
            Effect::Reset => vec![Step::Lose(Loss::Reset)],
            Effect::Silence => vec![Step::Lose(Loss::Silence)],
            Effect::Split { ms } => vec![
                Step::Send(whole.slice(..half)),
                Step::Wait(Duration::from_millis(ms)),
                Step::Send(whole.slice(half..)),
            ],
            Effect::Duplicate => vec![Step::Send(whole.clone()), Step::Send(whole)],
            Effect::Shrink { plies } => {
                let mut steps = Vec::new();
                if let Some(shrunken) = shrink(&line, plies) {
                    steps.push(Step::Send(shrunken));
                }
                steps.push(Step::Send(whole));
                steps
            }
            Effect::Lose => Vec::new(),
            Effect::Insert { line } => vec![
                Step::Send(with_end(&Bytes::from(line), b"\n")),
                Step::Send(whole),
            ],
            Effect::CrLf => vec![Step::Send(with_end(&line.json, b"\r\n"))],
            // The engine hands out effects on requests only for requests.
            _ => vec![Step::Send(whole)],
        };
        self.steps.extend(steps);
    }
}

fn with_end(json: &Bytes, end: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(json.len() + end.len());
    bytes.extend_from_slice(json);
    bytes.extend_from_slice(end);
    bytes.into()
}

/// The same state with fewer moves; `None` if the line has none.
fn shrink(line: &Line, plies: usize) -> Option<Bytes> {
    let mut json: serde_json::Value = serde_json::from_slice(&line.json).ok()?;
    let place = match line.kind {
        LineKind::GameFull => json.get_mut("state")?.get_mut("moves")?,
        LineKind::GameState => json.get_mut("moves")?,
        _ => return None,
    };
    let moves: Vec<String> = place
        .as_str()?
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let left = moves.len().saturating_sub(plies);
    *place = moves[..left].join(" ").into();
    Some(with_end(&Bytes::from(json.to_string()), b"\n"))
}
