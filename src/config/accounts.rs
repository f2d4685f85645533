//! Accounts: `[accounts.NAME]`, each on one platform, with the keys that its platform knows.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::game::policy::{Problem, check_range};
use crate::platform::fics::FicsConfig;
use crate::platform::pychess::variant_named;

use super::suggest::nearest;

/// One account.
#[derive(Debug, Clone)]
pub struct AccountConfig {
    /// What every account has.
    pub common: CommonSection,
    /// What its platform knows.
    pub platform: PlatformConfig,
}

/// Keys of every account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CommonSection {
    /// Log in at all.
    pub enabled: bool,
    /// Games of this account at a time; 0 = only the common bound `lobby.max_games`. 0 to 512.
    pub max_games: u32,
    /// Challenge others, if `matchmaking.enabled`.
    pub matchmaking: bool,
    /// File with the token or password; nobody else may read it.
    pub token_file: Option<PathBuf>,
    /// Name of the service manager's credential; default `NAME.token`.
    pub credential: Option<String>,
}

impl Default for CommonSection {
    fn default() -> Self {
        Self {
            enabled: true,
            max_games: 0,
            matchmaking: true,
            token_file: None,
            credential: None,
        }
    }
}

/// The platform of an account, with its own keys.
#[derive(Debug, Clone)]
pub enum PlatformConfig {
    /// `platform = "lichess"`.
    Lichess(LichessSection),
    /// `platform = "house"`: a house of Seneschal.
    House(LichessSection),
    /// `platform = "pychess"`.
    Pychess(PychessSection),
    /// `platform = "fics"`: freechess.org or any other ICS.
    Fics(Box<FicsConfig>),
}

impl PlatformConfig {
    /// The word in the configuration.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Lichess(_) => "lichess",
            Self::House(_) => "house",
            Self::Pychess(_) => "pychess",
            Self::Fics(_) => "fics",
        }
    }

    /// Whether the account logs in with a secret. A guest of an ICS has none.
    pub fn needs_secret(&self) -> bool {
        match self {
            Self::Lichess(_) | Self::House(_) | Self::Pychess(_) => true,
            Self::Fics(own) => own.needs_password(),
        }
    }
}

/// Keys of accounts on Lichess and on a house.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LichessSection {
    /// Address of the server; plain `http` only on this machine.
    pub base_url: String,
    /// The user that the token must belong to; empty: any.
    pub user: String,
    /// Turn a new account into a bot account. Cannot be undone.
    pub upgrade_to_bot: bool,
    /// Ids of tournaments to enter, if they allow bots.
    pub tournaments: Vec<String>,
}

impl Default for LichessSection {
    fn default() -> Self {
        Self {
            base_url: "https://lichess.org".to_owned(),
            user: String::new(),
            upgrade_to_bot: false,
            tournaments: Vec::new(),
        }
    }
}

/// Keys of accounts on PyChess.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PychessSection {
    /// Address of the server; plain `http` only on this machine.
    pub base_url: String,
    /// Variants that people may challenge us to; empty: all that we and the server have.
    pub variants: Vec<String>,
}

impl Default for PychessSection {
    fn default() -> Self {
        Self {
            base_url: "https://www.pychess.org".to_owned(),
            variants: Vec::new(),
        }
    }
}

const PLATFORMS: [&str; 4] = ["lichess", "house", "pychess", "fics"];
const COMMON_KEYS: [&str; 5] = [
    "enabled",
    "max_games",
    "matchmaking",
    "token_file",
    "credential",
];
/// Keys under which people put secrets; none of them is taken.
const SECRET_KEYS: [&str; 4] = ["token", "password", "secret", "api_key"];

/// Reads one account.
///
/// # Errors
/// Everything that is wrong with it; keys are relative to the account.
pub fn read(name: &str, mut table: Map<String, Value>) -> Result<AccountConfig, Vec<Problem>> {
    if let Some(problem) = name_problem(name) {
        return Err(vec![problem]);
    }
    if let Some(key) = SECRET_KEYS.iter().find(|key| table.contains_key(**key)) {
        let variable = super::secrets::variable_name(name);
        let allowed =
            format!("token_file = \"PATH\", a credential, or {variable} in the environment");
        let found = "secrets are not written into the configuration";
        return Err(vec![Problem::new(*key, found, allowed)]);
    }
    let platform = match table.remove("platform") {
        Some(Value::String(word)) => word,
        Some(other) => return Err(vec![Problem::new("platform", other, platforms())]),
        None => return Err(vec![Problem::new("platform", "is missing", platforms())]),
    };
    let (own, rest): (Map<String, Value>, Map<String, Value>) = table
        .into_iter()
        .partition(|(key, _)| COMMON_KEYS.contains(&key.as_str()));
    let common: CommonSection = section(own)?;
    let platform = match platform.as_str() {
        "lichess" => PlatformConfig::Lichess(section(rest)?),
        "house" => PlatformConfig::House(house(rest)?),
        "pychess" => PlatformConfig::Pychess(section(rest)?),
        "fics" => PlatformConfig::Fics(section(rest)?),
        other => {
            let slip = nearest(other, PLATFORMS)
                .map(|word| format!("; did you mean `{word}`?"))
                .unwrap_or_default();
            let found = format!("`{other}` is not a platform{slip}");
            return Err(vec![Problem::new("platform", found, platforms())]);
        }
    };
    let account = AccountConfig { common, platform };
    let problems = account.problems();
    if problems.is_empty() {
        Ok(account)
    } else {
        Err(problems)
    }
}

fn house(mut table: Map<String, Value>) -> Result<LichessSection, Vec<Problem>> {
    if !table.contains_key("base_url") {
        let found = "a house has no public address";
        return Err(vec![Problem::new(
            "base_url",
            found,
            "http://127.0.0.1:PORT",
        )]);
    }
    table
        .entry("user")
        .or_insert_with(|| Value::String(String::new()));
    section(table)
}

fn platforms() -> String {
    PLATFORMS.join(", ")
}

fn name_problem(name: &str) -> Option<Problem> {
    let good = !name.is_empty()
        && name.len() <= 64
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
    // The environment can name an account only if its name has no capitals; one rule for all layers.
    (!good).then(|| {
        let allowed = "1 to 64 of a-z, 0-9, `_` and `-`";
        Problem::new(
            "",
            format!("`{name}` is not a name for an account"),
            allowed,
        )
    })
}

fn section<T: DeserializeOwned>(table: Map<String, Value>) -> Result<T, Vec<Problem>> {
    serde_path_to_error::deserialize(Value::Object(table)).map_err(|error| {
        let path = error.path().to_string();
        let (key, message, suggestion) = super::layers::explain(&path, &error.inner().to_string());
        let found = match suggestion {
            Some(word) => format!("{message}; did you mean `{word}`?"),
            None => message,
        };
        vec![Problem::new(key, found, "")]
    })
}

impl AccountConfig {
    fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        check_range(&mut found, "max_games", self.common.max_games, 0..=512);
        match &self.platform {
            PlatformConfig::Lichess(own) | PlatformConfig::House(own) => {
                check_url(&mut found, &own.base_url);
            }
            PlatformConfig::Pychess(own) => {
                check_url(&mut found, &own.base_url);
                for (index, name) in own.variants.iter().enumerate() {
                    if variant_named(name).is_none() {
                        let key = format!("variants[{index}]");
                        let allowed = "names of variants that both the server and we have, 960 behind a name for its \
                                       Chess960 form";
                        found.push(Problem::new(key, format!("`{name}`"), allowed));
                    }
                }
            }
            PlatformConfig::Fics(own) => {
                if let Err(error) = own.validate() {
                    let words = error.to_string();
                    // The error names its key first.
                    let (key, what) = words.split_once(": ").unwrap_or(("", &words));
                    found.push(Problem::new(key, what, ""));
                }
            }
        }
        found
    }
}

/// A token goes in clear over plain http, so that is for this machine only.
fn check_url(problems: &mut Vec<Problem>, url: &str) {
    let good = match url.split_once("://") {
        Some(("https", host)) => !host.is_empty(),
        Some(("http", host)) => {
            let host = host.split('/').next().unwrap_or_default();
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            matches!(name, "127.0.0.1" | "localhost" | "[::1]")
        }
        _ => false,
    };
    if !good || url.contains(['?', '#', '@']) {
        let allowed = "https://HOST, or http://127.0.0.1:PORT";
        problems.push(Problem::new("base_url", format!("`{url}`"), allowed));
    }
}
