//! What happens to every request before and after its handler: host check, faults, waiting times.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::super::account::TokenHash;
use super::super::conn::{ConnControl, Peer};
use super::super::endpoint::Endpoint;
use super::super::fault::{Effect, Loss, RateLimitShape};
use super::super::refusal::Refusal;
use super::super::violation::ViolationKind;
use super::{App, BODY_BYTES, BODY_TIME, token_of};

/// Runs a request through the checks and the fault plan.
pub(super) async fn guard(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let _answering = peer.control.begin_request();
    if !host_is_known(&app, request.headers()) {
        let refused = "This host name is not served here";
        return Refusal::Forbidden(refused).into_response();
    }
    let endpoint = Endpoint::of(request.method(), request.uri().path());
    if endpoint == Endpoint::Page && is_too_large(request.headers()) {
        // Most commands of the page read no body, and would leave a huge one lying there.
        return Refusal::TooLarge.into_response();
    }
    if endpoint == Endpoint::Unknown {
        let detail = format!("{} {}", request.method(), request.uri().path());
        app.hall
            .report(ViolationKind::UnknownEndpoint, None, None, detail);
    }
    let caller = token_of(request.headers()).and_then(|t| app.hall.caller(TokenHash::of(t)));
    let account = caller.as_ref().map(|caller| caller.account.clone());
    if let Some(account) = &account {
        app.hall.check_waiting(account, endpoint);
    }
    let effect = app.faults.at_request(endpoint, account.as_deref());
    if let Some(effect) = &effect {
        tracing::debug!(endpoint = %endpoint.name(), ?effect, "a fault strikes");
    }
    let mut response = match effect {
        None => handle(request, next).await,
        Some(effect) => strike(&app, &peer.control, effect, request, next).await,
    };
    if let Some(caller) = &caller
        && let Ok(scopes) = HeaderValue::from_str(&caller.scopes.to_string())
    {
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-oauth-scopes"), scopes);
    }
    if let Some(account) = &account
        && response.status() == StatusCode::TOO_MANY_REQUESTS
        && let Some(seconds) = response.extensions().get::<ToldToWait>()
    {
        app.hall.told_to_wait(account, endpoint, seconds.0);
    }
    response
}

/// Whether a body says of itself that it is longer than what is read.
fn is_too_large(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok())
        .is_some_and(|length| length > BODY_BYTES)
}

/// Marks an answer that said how long to wait.
#[derive(Debug, Clone, Copy)]
struct ToldToWait(u64);

async fn handle(request: Request, next: Next) -> Response {
    // A stream's handler returns at once, so this bounds only slow bodies and slow handlers.
    match tokio::time::timeout(BODY_TIME, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::REQUEST_TIMEOUT, "").into_response(),
    }
}

async fn strike(
    app: &App,
    control: &Arc<ConnControl>,
    effect: Effect,
    request: Request,
    next: Next,
) -> Response {
    match effect {
        Effect::RateLimit { shape, seconds } => rate_limited(shape, seconds),
        Effect::Html { status } => html_page(status),
        Effect::Answer { status, body } => {
            let kind = [(header::CONTENT_TYPE, "application/json")];
            (status_of(status), kind, body).into_response()
        }
        Effect::Delay { ms } => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            handle(request, next).await
        }
        Effect::DelayAnswer { ms } => {
            let response = handle(request, next).await;
            tokio::time::sleep(Duration::from_millis(ms)).await;
            response
        }
        Effect::DropRequest(loss) => lose(control, loss).await,
        Effect::DropAnswer(loss) => {
            drop(handle(request, next).await);
            lose(control, loss).await
        }
        Effect::Restart { down_ms } => {
            if app
                .restart
                .try_send(Duration::from_millis(down_ms))
                .is_err()
            {
                tracing::debug!("a restart is under way already");
            }
            lose(control, Loss::Reset).await
        }
        // The engine hands out effects on lines only for lines.
        _ => handle(request, next).await,
    }
}

/// Breaks the connection; the answer is never seen.
async fn lose(control: &Arc<ConnControl>, loss: Loss) -> Response {
    control.lose(loss);
    // The connection's task ends this one. If the client holds a silent line open for
    // long, an answer into the void ends it.
    tokio::time::sleep(Duration::from_secs(120)).await;
    (StatusCode::INTERNAL_SERVER_ERROR, "").into_response()
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY)
}

fn html_page(status: u16) -> Response {
    let status = status_of(status);
    let page = format!(
        "<!DOCTYPE html>\n<html><head><title>{0}</title></head><body><center><h1>{0}</h1></center></body></html>\n",
        escape_status(status)
    );
    (status, [(header::CONTENT_TYPE, "text/html")], page).into_response()
}

fn escape_status(status: StatusCode) -> String {
    format!(
        "{} {}",
        status.as_u16(),
        status.canonical_reason().unwrap_or("Error")
    )
}

fn rate_limited(shape: RateLimitShape, seconds: u64) -> Response {
    let status = StatusCode::TOO_MANY_REQUESTS;
    let json_type = (header::CONTENT_TYPE, "application/json");
    let error = "Too many requests. Try again later.";
    let (mut response, told) = match shape {
        RateLimitShape::RetryAfter => {
            let after = (header::RETRY_AFTER, seconds.to_string());
            let body = json!({ "error": error }).to_string();
            let headers = [(json_type.0, json_type.1.to_owned()), after];
            ((status, headers, body).into_response(), true)
        }
        RateLimitShape::Object => {
            let limit = json!({ "key": "house.fault", "seconds": seconds });
            let body = json!({ "error": error, "ratelimit": limit }).to_string();
            ((status, [json_type], body).into_response(), true)
        }
        RateLimitShape::Plain => {
            let body = json!({ "error": error }).to_string();
            ((status, [json_type], body).into_response(), false)
        }
        RateLimitShape::Empty => ((status, Body::empty()).into_response(), false),
        RateLimitShape::Html => (html_page(429), false),
    };
    if told {
        response.extensions_mut().insert(ToldToWait(seconds));
    }
    response
}

/// Only names that a foreign page cannot make its visitor's browser use: addresses,
/// `localhost`, and what the configuration adds.
fn host_is_known(app: &App, headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|h| h.to_str().ok()) else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok()
        || app
            .hosts
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
}
