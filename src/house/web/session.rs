//! Browsers: who is behind one, and whether a request comes from a page of this house.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

use super::super::account::{Account, Token};
use super::super::api::App;
use super::super::hall::{Caller, Viewer};
use super::super::refusal::Refusal;

/// Name of the cookie that holds the session's token.
const COOKIE: &str = "house_session";

/// A session lasts for thirty days after it was opened.
const MAX_AGE_S: u32 = 30 * 86_400;

/// The header value that gives a browser its session. Scripts cannot read it, and no
/// other site's pages can make the browser send it.
pub(super) fn cookie(token: &Token) -> String {
    let token = token.reveal();
    format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={MAX_AGE_S}")
}

/// The header value that takes it away.
pub(super) fn no_cookie() -> String {
    format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// The account of a browser, if it has one.
pub(super) fn session(app: &App, headers: &HeaderMap) -> Option<(Caller, Account)> {
    app.hall.page_caller(token(headers)?)
}

/// The same as somebody who only looks.
pub(super) fn viewer(app: &App, headers: &HeaderMap) -> Viewer {
    Viewer {
        account: session(app, headers).map(|(caller, _)| caller.account),
    }
}

/// The account of a browser that wants to do something.
///
/// # Errors
/// 403 for requests from other sites, 401 without a session.
pub(super) fn player(app: &App, headers: &HeaderMap) -> Result<Caller, Refusal> {
    check_origin(headers)?;
    session(app, headers)
        .map(|(caller, _)| caller)
        .ok_or(Refusal::Unauthorized("Take a name first"))
}

/// Lets through only what a page of this house has sent.
///
/// # Errors
/// 403.
pub(super) fn check_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    let refused = Refusal::Forbidden("Only pages of this house may do that");
    let text = |name| headers.get(name).and_then(|v: &header::HeaderValue| v.to_str().ok());
    if let Some(site) = text(header::HeaderName::from_static("sec-fetch-site"))
        && site != "same-origin"
    {
        return Err(refused);
    }
    let (Some(origin), Some(host)) = (text(header::ORIGIN), text(header::HOST)) else {
        return Err(refused);
    };
    let same = ["http://", "https://"]
        .iter()
        .filter_map(|scheme| origin.strip_prefix(scheme))
        .any(|name| name.eq_ignore_ascii_case(host));
    if same { Ok(()) } else { Err(refused) }
}

/// The key under which an address is limited: IPv6 networks count as one.
pub(super) fn address_key(address: IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => {
            let s = v6.segments();
            format!("{:x}:{:x}:{:x}:{:x}", s[0], s[1], s[2], s[3])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn only_the_own_origin_passes() {
        let ok = |pairs: &[(&'static str, &'static str)]| check_origin(&headers(pairs)).is_ok();
        let host = ("host", "localhost:8080");
        assert!(ok(&[host, ("origin", "http://localhost:8080")]));
        assert!(ok(&[host, ("origin", "https://LOCALHOST:8080"), ("sec-fetch-site", "same-origin")]));
        assert!(!ok(&[host]));
        assert!(!ok(&[host, ("origin", "null")]));
        assert!(!ok(&[host, ("origin", "http://evil.example")]));
        assert!(!ok(&[host, ("origin", "http://localhost:8081")]));
        assert!(!ok(&[host, ("origin", "http://localhost:8080"), ("sec-fetch-site", "cross-site")]));
        assert!(!ok(&[host, ("origin", "http://localhost:8080"), ("sec-fetch-site", "same-site")]));
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let found = |value: &'static str| token(&headers(&[("cookie", value)])).map(str::to_owned);
        assert_eq!(found("a=b; house_session=hse_x; c=d").as_deref(), Some("hse_x"));
        assert_eq!(found("house_sessions=hse_x"), None);
        assert_eq!(found("x=house_session=y"), None);
    }
}
