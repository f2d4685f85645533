//! Who we are: the checks before an account is used.

use super::api::Api;
use super::{LichessConfig, wire};
use crate::platform::ClientEnd;
use crate::platform::error::{PlatformError, Recovery, excerpt};
use crate::platform::http::{HttpClient, Origin, SetupError};

/// The permission without which nothing works.
const NEEDED_SCOPE: &str = "bot:play";

/// An account that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The platform's key of the user, in lower case.
    pub id: String,
    /// The name as displayed.
    pub name: String,
    /// The platform lists the account as a bot.
    pub is_bot: bool,
    /// The token may read challenges.
    pub reads_challenges: bool,
    /// The token's permissions, as far as the platform tells them.
    pub scopes: Vec<String>,
}

/// Why an account cannot be used now.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// It never can, without somebody doing something about it.
    #[error("{0}")]
    Unusable(String),
    /// The platform could not be asked.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// The request could not even be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl IdentityError {
    /// The end of the client, if this is one.
    pub(super) fn end(&self) -> Option<ClientEnd> {
        let words = match self {
            IdentityError::Unusable(words) => words.clone(),
            IdentityError::Setup(error) => error.to_string(),
            IdentityError::Platform(error) if error.recovery() == Recovery::StopAccount => {
                error.to_string()
            }
            IdentityError::Platform(_) => return None,
        };
        Some(ClientEnd::Stopped { words })
    }
}

/// Checks token and account, and turns the account into a bot account if the configuration asks for it.
///
/// # Errors
/// [`IdentityError`]; never contains the token.
pub async fn identify(config: &LichessConfig, origin: &Origin) -> Result<Identity, IdentityError> {
    identify_with(
        config,
        &api_for(config, origin, config.expected_user.as_deref())?,
    )
    .await
}

/// The interface under a user agent that names the user, if known. One user agent for all streams: the platform keeps one
/// game stream per player and user agent.
pub(super) fn api_for(
    config: &LichessConfig,
    origin: &Origin,
    user: Option<&str>,
) -> Result<Api, SetupError> {
    let user_agent = match user {
        Some(user) => format!("{} user:{user}", config.product),
        None => config.product.clone(),
    };
    let http = HttpClient::new(
        origin.clone(),
        &config.account,
        &user_agent,
        Some(&config.token),
    )?;
    Ok(Api::new(http))
}

async fn identify_with(config: &LichessConfig, api: &Api) -> Result<Identity, IdentityError> {
    let scopes = scopes(config, api).await?;
    let mut account = api.account().await?;
    if account.disabled || account.tos_violation {
        return Err(unusable(config, "the account is closed or barred"));
    }
    let id = account.id.clone().filter(|id| !id.is_empty());
    let Some(id) = id.or_else(|| account.username.as_deref().map(str::to_lowercase)) else {
        return Err(unusable(
            config,
            "the platform does not tell who the token belongs to",
        ));
    };
    if let Some(expected) = &config.expected_user
        && !expected.eq_ignore_ascii_case(&id)
    {
        let words = format!(
            "the token belongs to {}, not to {}",
            excerpt(&id),
            excerpt(expected)
        );
        return Err(unusable(config, &words));
    }
    if account.title.as_deref() != Some("BOT") {
        if !config.upgrade_to_bot {
            let words = "this is not a bot account; upgrading it cannot be undone and must be asked for explicitly";
            return Err(unusable(config, words));
        }
        upgrade(config, api).await?;
        account = api.account().await?;
    }
    Ok(Identity {
        name: account.username.unwrap_or_else(|| id.clone()),
        is_bot: account.title.as_deref() == Some("BOT"),
        reads_challenges: scopes.is_empty() || scopes.iter().any(|scope| scope == "challenge:read"),
        scopes,
        id,
    })
}

/// The token's permissions; empty if this server cannot be asked.
async fn scopes(config: &LichessConfig, api: &Api) -> Result<Vec<String>, IdentityError> {
    let info: Option<wire::TokenInfo> = match api.test_token(&config.token).await {
        Ok(info) => info,
        Err(error) if matches!(error.own_status(), Some(404 | 405 | 501)) => {
            tracing::debug!(account = %config.account, "this server does not test tokens");
            return Ok(Vec::new());
        }
        Err(error) => return Err(error.into()),
    };
    let Some(info) = info else {
        return Err(unusable(config, "the platform does not know this token"));
    };
    let listed = info.scopes.unwrap_or_default();
    let scopes: Vec<String> = listed
        .split([',', ' '])
        .filter(|scope| !scope.is_empty())
        .map(str::to_owned)
        .collect();
    if !scopes.iter().any(|scope| scope == NEEDED_SCOPE) {
        let words = format!(
            "the token lacks the permission {NEEDED_SCOPE}; it has: {}",
            excerpt(&listed)
        );
        return Err(unusable(config, &words));
    }
    Ok(scopes)
}

async fn upgrade(config: &LichessConfig, api: &Api) -> Result<(), IdentityError> {
    match api.upgrade().await {
        Ok(_) => {
            tracing::warn!(account = %config.account, "the account is a bot account now");
            Ok(())
        }
        // It is never repeated by itself: whatever went wrong, somebody should look.
        Err(error) => Err(unusable(
            config,
            &format!("the upgrade to a bot account failed: {error}"),
        )),
    }
}

fn unusable(config: &LichessConfig, words: &str) -> IdentityError {
    IdentityError::Unusable(format!("account {}: {words}", config.account))
}
