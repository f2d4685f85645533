//! Requests and streams over HTTP/1, as every HTTP platform needs them.
//!
//! - One [`Origin`] per server: connections and [`Governor`] are shared by all accounts there.
//! - HTTP/1 only, so that each stream has its own connection and a stalled one stalls one game.
//! - Redirects are never followed: a token must not travel to another host.
//! - TLS is required unless the server is on the loopback interface.
//! - Every request has a deadline for its whole answer; every stream has one for its head, and [`FrameReader`]'s watchdogs
//!   afterwards.
//! - The token lives in a [`SecretString`] and in a header marked as sensitive; addresses are never part of an error.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Once};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT};
use reqwest::{Method, Url};
use secrecy::{ExposeSecret, SecretString};

use super::call::Call;
use super::error::{ErrorBody, PlatformError, Refusal, excerpt};
use super::governor::{Governor, GovernorConfig, GovernorSnapshot, Request, Verdict};
use super::ndjson::{FrameConfig, FrameReader};

/// Time for a TCP connection and its TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for the head of a stream's answer.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Deadline of a request that does not say otherwise.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(10);
/// Time to wait for the governor that does not count against the deadline, if a request does not say otherwise.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(30);
/// Largest body of a refusal that is read.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
/// Largest body of a success that is read.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Why an origin or an account cannot be set up. Never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The base address is not usable.
    #[error("base URL {url:?}: {reason}")]
    BaseUrl {
        /// As configured.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The token has characters that no header may have.
    #[error("the token contains characters that cannot be sent in a header")]
    Token,
    /// The user agent has characters that no header may have.
    #[error("user agent {0:?} contains characters that cannot be sent in a header")]
    UserAgent(String),
    /// The transport cannot be built.
    #[error("cannot set up the HTTP transport: {0}")]
    Transport(String),
}

/// One server: its address, its connections, its governor. Clones share all of it.
#[derive(Clone, Debug)]
pub struct Origin {
    base: Url,
    client: reqwest::Client,
    governor: Governor,
}

impl Origin {
    /// Prepares connections to a server; nothing is sent yet.
    ///
    /// # Errors
    /// [`SetupError`] for an address that is not HTTP(S), or not TLS and not loopback.
    pub fn new(
        base_url: &str,
        config: GovernorConfig,
        remembered: Option<&GovernorSnapshot>,
    ) -> Result<Origin, SetupError> {
        let base = parse_base(base_url)?;
        let client = build_client(is_loopback(&base))?;
        let governor = match remembered {
            Some(snapshot) => Governor::restore(config, snapshot),
            None => Governor::new(config),
        };
        Ok(Origin {
            base,
            client,
            governor,
        })
    }

    /// The same server under another base address: connections and governor are shared.
    ///
    /// # Errors
    /// [`SetupError`] for an address that cannot be used, or that is another server's.
    pub fn at(&self, base_url: &str) -> Result<Origin, SetupError> {
        let base = parse_base(base_url)?;
        if base.origin() != self.base.origin() {
            return Err(SetupError::BaseUrl {
                url: excerpt(base_url),
                reason: "another server",
            });
        }
        Ok(Origin {
            base,
            client: self.client.clone(),
            governor: self.governor.clone(),
        })
    }

    /// Scheme, host and port, as a key for what belongs to the server.
    #[must_use]
    pub fn key(&self) -> String {
        self.base.origin().ascii_serialization()
    }

    /// The key of the server at a base address.
    ///
    /// # Errors
    /// [`SetupError`] for an address that cannot be used.
    pub fn server_of(base_url: &str) -> Result<String, SetupError> {
        Ok(parse_base(base_url)?.origin().ascii_serialization())
    }

    /// The governor of all requests to this server.
    #[must_use]
    pub fn governor(&self) -> &Governor {
        &self.governor
    }
}

fn parse_base(text: &str) -> Result<Url, SetupError> {
    let refuse = |reason| SetupError::BaseUrl {
        url: excerpt(text),
        reason,
    };
    let mut url = Url::parse(text).map_err(|_| refuse("not a URL"))?;
    if url.cannot_be_a_base() || url.host_str().is_none() {
        return Err(refuse("no host"));
    }
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return Err(refuse("only scheme, host, port and path are allowed"));
    }
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => {
            return Err(refuse(
                "plain http is allowed on the loopback interface only",
            ));
        }
        _ => return Err(refuse("neither https nor http")),
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    }
}

fn build_client(loopback: bool) -> Result<reqwest::Client, SetupError> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Fails only if another provider was installed first, and then that one serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
    let mut builder = reqwest::Client::builder()
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .https_only(!loopback)
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(Duration::from_secs(25))
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(15))
        .tcp_keepalive_interval(Duration::from_secs(5))
        .tcp_keepalive_retries(3);
    #[cfg(target_os = "linux")]
    {
        builder = builder.tcp_user_timeout(Duration::from_secs(10));
    }
    if loopback {
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| SetupError::Transport(error.without_url().to_string()))
}

/// What a request carries.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Payload {
    Empty,
    Form(Vec<(&'static str, String)>),
    /// Plain text that may be secret.
    Text(SecretText),
}

/// Text whose `Debug` form is a mask.
#[derive(Clone, PartialEq, Eq)]
struct SecretText(String);

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A request being put together.
#[derive(Clone, Debug)]
pub struct Outgoing {
    call: Call,
    method: Method,
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    payload: Payload,
    accept: &'static str,
    headers: Vec<(&'static str, String)>,
    charges: Vec<(&'static str, u32)>,
    keys: &'static [&'static str],
    deadline: Duration,
    patience: Duration,
    anonymous: bool,
}

impl Outgoing {
    fn new(call: Call, method: Method, path: &[&str]) -> Outgoing {
        Outgoing {
            call,
            method,
            path: path.iter().map(|segment| (*segment).to_owned()).collect(),
            query: Vec::new(),
            payload: Payload::Empty,
            accept: "application/json",
            headers: Vec::new(),
            charges: Vec::new(),
            keys: &[],
            deadline: DEFAULT_DEADLINE,
            patience: DEFAULT_PATIENCE,
            anonymous: false,
        }
    }

    /// A read. The segments of the path are escaped one by one.
    #[must_use]
    pub fn get(call: Call, path: &[&str]) -> Outgoing {
        Outgoing::new(call, Method::GET, path)
    }

    /// A command.
    #[must_use]
    pub fn post(call: Call, path: &[&str]) -> Outgoing {
        Outgoing::new(call, Method::POST, path)
    }

    /// Adds a query parameter; never a secret, since addresses are written to logs of servers.
    #[must_use]
    pub fn query(mut self, name: &'static str, value: impl Into<String>) -> Outgoing {
        self.query.push((name, value.into()));
        self
    }

    /// Adds a field to the form in the body.
    #[must_use]
    pub fn form(mut self, name: &'static str, value: impl Into<String>) -> Outgoing {
        let field = (name, value.into());
        match &mut self.payload {
            Payload::Form(fields) => fields.push(field),
            _ => self.payload = Payload::Form(vec![field]),
        }
        self
    }

    /// Sends this text as the body; it is treated as a secret.
    #[must_use]
    pub fn text(mut self, body: String) -> Outgoing {
        self.payload = Payload::Text(SecretText(body));
        self
    }

    /// Asks for another type of answer than JSON.
    #[must_use]
    pub fn accept(mut self, media_type: &'static str) -> Outgoing {
        self.accept = media_type;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Outgoing {
        self.headers.push((name, value.into()));
        self
    }

    /// Takes from a budget of the governor.
    #[must_use]
    pub fn charge(mut self, budget: &'static str, amount: u32) -> Outgoing {
        self.charges.push((budget, amount));
        self
    }

    /// Names the platform's limits that concern exactly this request.
    #[must_use]
    pub fn keys(mut self, keys: &'static [&'static str]) -> Outgoing {
        self.keys = keys;
        self
    }

    /// Time from leaving the governor until the whole answer is there (for a stream: its head).
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Outgoing {
        self.deadline = deadline;
        self
    }

    /// Time to wait for the governor.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Outgoing {
        self.patience = patience;
        self
    }

    /// Sends no token.
    #[must_use]
    pub fn anonymous(mut self) -> Outgoing {
        self.anonymous = true;
        self
    }
}

/// A success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What was asked.
    pub call: Call,
    /// HTTP status, 200 to 299.
    pub status: u16,
    /// The whole body.
    pub body: Bytes,
    /// From handing the request to the transport until the whole answer was there.
    pub took: Duration,
}

impl Answer {
    /// Reads the body as JSON.
    ///
    /// # Errors
    /// [`PlatformError::Unreadable`] with the place of the mistake, and an excerpt unless the answer may hold secrets.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, PlatformError> {
        let mut deserializer = serde_json::Deserializer::from_slice(&self.body);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let detail = excerpt(&format!("at {}: {}", error.path(), error.inner()));
            PlatformError::Unreadable {
                call: self.call,
                detail,
            }
        })
    }
}

/// The bytes of an open stream.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>;

/// Requests of one account on one origin. Clones share connections and governor.
#[derive(Clone)]
pub struct HttpClient {
    origin: Origin,
    account: Arc<str>,
    user_agent: HeaderValue,
    authorization: Option<HeaderValue>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("HttpClient");
        out.field("origin", &self.origin.key())
            .field("account", &self.account);
        out.field("user_agent", &self.user_agent)
            .finish_non_exhaustive()
    }
}

impl HttpClient {
    /// A client for one account. `account` is its name in the governor's books.
    ///
    /// # Errors
    /// [`SetupError`] if token or user agent cannot be put into a header.
    pub fn new(
        origin: Origin,
        account: &str,
        user_agent: &str,
        token: Option<&SecretString>,
    ) -> Result<HttpClient, SetupError> {
        let authorization = match token {
            None => None,
            Some(token) => {
                let text = format!("Bearer {}", token.expose_secret());
                let mut value = HeaderValue::from_str(&text).map_err(|_| SetupError::Token)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let user_agent = agent_header(user_agent)?;
        Ok(HttpClient {
            origin,
            account: Arc::from(account),
            user_agent,
            authorization,
        })
    }

    /// The same client under another user agent.
    ///
    /// # Errors
    /// [`SetupError::UserAgent`] if it cannot be put into a header.
    pub fn with_user_agent(mut self, user_agent: &str) -> Result<HttpClient, SetupError> {
        self.user_agent = agent_header(user_agent)?;
        Ok(self)
    }

    /// The governor that this client asks.
    #[must_use]
    pub fn governor(&self) -> &Governor {
        self.origin.governor()
    }

    /// The account's name in the governor's books.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    /// [`PlatformError`] for everything but a success that was read to its end.
    pub async fn send(&self, outgoing: Outgoing) -> Result<Answer, PlatformError> {
        let call = outgoing.call;
        let request = self.build(&outgoing)?;
        let permit = self.permit(&outgoing).await?;
        let started = tokio::time::Instant::now();
        let exchange = self.exchange(call, request);
        let result = match tokio::time::timeout(outgoing.deadline, exchange).await {
            Ok(result) => result,
            Err(_) => Err(PlatformError::Unanswered {
                call,
                timed_out: true,
                detail: format!("within {} ms", outgoing.deadline.as_millis()),
            }),
        };
        let took = started.elapsed();
        permit.finish(&verdict(result.as_ref().err()));
        result.map(|(status, body)| Answer {
            call,
            status,
            body,
            took,
        })
    }

    /// Opens a stream: sends the request and waits for the head of the answer.
    ///
    /// # Errors
    /// [`PlatformError`] for everything but a success.
    pub async fn open(
        &self,
        outgoing: Outgoing,
        frames: FrameConfig,
    ) -> Result<FrameReader<ByteStream>, PlatformError> {
        let call = outgoing.call;
        let request = self.build(&outgoing)?;
        let permit = self.permit(&outgoing).await?;
        let deadline = outgoing.deadline.min(HEAD_TIMEOUT);
        let opening = async {
            let response = self.execute(call, request).await?;
            if response.status().is_success() {
                Ok(response)
            } else {
                Err(self.refusal(call, response).await)
            }
        };
        let result = match tokio::time::timeout(deadline, opening).await {
            Ok(result) => result,
            Err(_) => Err(PlatformError::Unanswered {
                call,
                timed_out: true,
                detail: format!("no head within {} ms", deadline.as_millis()),
            }),
        };
        permit.finish(&verdict(result.as_ref().err()));
        let bytes = result?
            .bytes_stream()
            .map(|item| item.map_err(|error| describe(error).1));
        Ok(FrameReader::new(Box::pin(bytes) as ByteStream, frames))
    }

    async fn permit(&self, outgoing: &Outgoing) -> Result<super::governor::Permit, PlatformError> {
        let call = outgoing.call;
        let request = Request {
            account: Arc::clone(&self.account),
            call,
            charges: outgoing.charges.clone(),
            keys: outgoing.keys,
        };
        let permit = self.governor().acquire(request, outgoing.patience).await;
        permit.map_err(|source| PlatformError::Held { call, source })
    }

    fn build(&self, outgoing: &Outgoing) -> Result<reqwest::Request, PlatformError> {
        let mut url = self.origin.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(&outgoing.path);
        }
        for segment in &outgoing.path {
            if segment.is_empty() || segment == "." || segment == ".." {
                let value = excerpt(segment);
                return Err(PlatformError::Unsendable {
                    call: outgoing.call,
                    what: "path segment",
                    value,
                });
            }
        }
        let mut builder = self.origin.client.request(outgoing.method.clone(), url);
        if !outgoing.query.is_empty() {
            builder = builder.query(&outgoing.query);
        }
        builder = builder
            .header(ACCEPT, outgoing.accept)
            .header(USER_AGENT, self.user_agent.clone());
        if let Some(authorization) = self.authorization.as_ref().filter(|_| !outgoing.anonymous) {
            builder = builder.header(AUTHORIZATION, authorization.clone());
        }
        for (name, value) in &outgoing.headers {
            builder = builder.header(*name, value);
        }
        builder = match &outgoing.payload {
            // An explicit length of zero: some proxies refuse a POST without one.
            Payload::Empty if outgoing.method == Method::POST => builder.body(""),
            Payload::Empty => builder,
            Payload::Form(fields) => builder.form(fields),
            Payload::Text(text) => builder
                .header(CONTENT_TYPE, "text/plain")
                .body(text.0.clone()),
        };
        builder.build().map_err(|error| PlatformError::Unsendable {
            call: outgoing.call,
            what: "request",
            value: excerpt(&error.without_url().to_string()),
        })
    }

    async fn execute(
        &self,
        call: Call,
        request: reqwest::Request,
    ) -> Result<reqwest::Response, PlatformError> {
        self.origin.client.execute(request).await.map_err(|error| {
            let unreachable = error.is_connect();
            let (timed_out, detail) = describe(error);
            if unreachable {
                PlatformError::Unreachable { call, detail }
            } else {
                PlatformError::Unanswered {
                    call,
                    timed_out,
                    detail,
                }
            }
        })
    }

    async fn exchange(
        &self,
        call: Call,
        request: reqwest::Request,
    ) -> Result<(u16, Bytes), PlatformError> {
        let response = self.execute(call, request).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refusal(call, response).await);
        }
        let body = read_body(response, MAX_ANSWER_BYTES)
            .await
            .map_err(|broken| match broken {
                BrokenBody::Lost { timed_out, detail } => PlatformError::Unanswered {
                    call,
                    timed_out,
                    detail,
                },
                BrokenBody::TooLong => PlatformError::Unreadable {
                    call,
                    detail: format!("more than {MAX_ANSWER_BYTES} bytes"),
                },
            })?;
        Ok((status.as_u16(), body))
    }

    async fn refusal(&self, call: Call, response: reqwest::Response) -> PlatformError {
        let status = response.status().as_u16();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        // The status alone tells enough when the body does not arrive.
        let body = match tokio::time::timeout(
            Duration::from_secs(2),
            read_body(response, MAX_REFUSAL_BYTES),
        )
        .await
        {
            Ok(Ok(body)) => body,
            _ => Bytes::new(),
        };
        let refusal = Refusal::read(
            call,
            status,
            retry_after.as_deref(),
            &body,
            SystemTime::now(),
        );
        PlatformError::Refused(Box::new(refusal))
    }
}

fn agent_header(user_agent: &str) -> Result<HeaderValue, SetupError> {
    HeaderValue::from_str(user_agent).map_err(|_| SetupError::UserAgent(excerpt(user_agent)))
}

enum BrokenBody {
    Lost { timed_out: bool, detail: String },
    TooLong,
}

async fn read_body(response: reqwest::Response, max_bytes: usize) -> Result<Bytes, BrokenBody> {
    let mut stream = response.bytes_stream();
    let mut body: Vec<u8> = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| {
            let (timed_out, detail) = describe(error);
            BrokenBody::Lost { timed_out, detail }
        })?;
        if body.len() + chunk.len() > max_bytes {
            return Err(BrokenBody::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Bytes::from(body))
}

/// The transport's words with their causes, without the address, and whether a deadline passed.
fn describe(error: reqwest::Error) -> (bool, String) {
    let timed_out = error.is_timeout();
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    (timed_out, excerpt(&text))
}

/// What an outcome means to the governor.
fn verdict(error: Option<&PlatformError>) -> Verdict {
    match error {
        None => Verdict::Answered,
        Some(PlatformError::Refused(refusal)) => refusal_verdict(refusal),
        Some(_) => Verdict::NoAnswer,
    }
}

/// What a refusal means to the governor.
#[must_use]
pub fn refusal_verdict(refusal: &Refusal) -> Verdict {
    if refusal.status == 429 {
        let named = refusal.limit.as_ref();
        let wait = match (named.map(|limit| limit.wait), refusal.retry_after) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        let key = named.map(|limit| limit.key.clone());
        return Verdict::Limited {
            key,
            wait,
            text: refusal.body.to_string(),
        };
    }
    if refusal.status >= 500 || matches!(refusal.body, ErrorBody::Html(_)) {
        return Verdict::NoAnswer;
    }
    Verdict::Answered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_loopback_only() {
        for good in [
            "https://example.org",
            "http://127.0.0.1:8080",
            "http://localhost:1/base",
            "http://[::1]:9/",
        ] {
            assert!(parse_base(good).is_ok(), "{good}");
        }
        let bad = [
            "http://example.org",
            "ftp://localhost",
            "nonsense",
            "https://u:p@example.org",
            "https://e.org/?a=1",
        ];
        for bad in bad {
            assert!(
                matches!(parse_base(bad), Err(SetupError::BaseUrl { .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn secrets_are_not_in_debug_forms() {
        let origin = Origin::new("http://127.0.0.1:1", GovernorConfig::default(), None).unwrap();
        let token = SecretString::from("canary_7d1f");
        let client = HttpClient::new(origin, "bot_us", "seneschal/0", Some(&token)).unwrap();
        let call = Call::new(
            "token.test",
            crate::platform::call::Lane::Profile,
            crate::platform::call::Repeat::Safe,
        );
        let outgoing =
            Outgoing::post(call, &["api", "token", "test"]).text("canary_7d1f".to_owned());
        let request = client.build(&outgoing).unwrap();
        let shown = format!("{client:?} {outgoing:?} {request:?}");
        assert!(!shown.contains("canary"), "{shown}");
        let bad = SecretString::from("canary\n");
        let origin = Origin::new("http://127.0.0.1:1", GovernorConfig::default(), None).unwrap();
        let error = HttpClient::new(origin, "bot_us", "seneschal/0", Some(&bad)).unwrap_err();
        assert!(!error.to_string().contains("canary"));
    }

    #[test]
    fn paths_are_escaped_by_segment() {
        let origin =
            Origin::new("http://127.0.0.1:1/base", GovernorConfig::default(), None).unwrap();
        let client = HttpClient::new(origin, "bot_us", "seneschal/0", None).unwrap();
        let call = Call::new(
            "game.move",
            crate::platform::call::Lane::Move,
            crate::platform::call::Repeat::AfterLook,
        );
        let path = |segment: &str| {
            let request = client.build(&Outgoing::post(call, &["api", "move", segment]))?;
            Ok::<_, PlatformError>(request.url().path().to_owned())
        };
        assert_eq!(path("P@e4").unwrap(), "/base/api/move/P@e4");
        assert_eq!(path("../x?y").unwrap(), "/base/api/move/..%2Fx%3Fy");
        assert!(path("..").is_err());
        assert!(path("").is_err());
    }
}
