//! The configuration: defaults < files < environment < flags, every value with its origin.
//!
//! A section belongs to the module that it configures: its struct, its ranges and its words are there. Here are the layers,
//! the accounts and the error that names file, line, key and what is allowed. Nothing in the program uses this module but
//! `daemon` and `cli`, so no section knows how its values came about.
//!
//! Tokens and passwords never pass through these layers: see [`secrets`].

pub mod accounts;
mod layers;
mod place;
pub mod secrets;
pub mod sections;
mod suggest;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::game::GamePolicy;
use crate::game::policy::Problem;
use crate::lobby::{LobbyPolicy, MatchmakingPolicy};
use crate::observability::LogConfig;

pub use accounts::{AccountConfig, PlatformConfig};
pub use place::{ConfigError, ConfigProblem, Place};
pub use sections::{DaemonSection, EngineSection};

/// The file with every key, its unit and its default; it is the lowest layer itself.
pub const DEFAULTS: &str = include_str!("../../config/seneschal.toml");

/// Where the layers above the defaults come from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Files, the later ones above the earlier ones.
    pub files: Vec<PathBuf>,
    /// The environment. Variables `SENESCHAL_SECTION__KEY` count, all others are ignored.
    pub environment: Vec<(String, String)>,
    /// Flags `--set key=value`, in order.
    pub flags: Vec<(String, String)>,
}

impl Sources {
    /// Files and flags with the environment of this process.
    pub fn of_process(files: Vec<PathBuf>, flags: Vec<(String, String)>) -> Self {
        // Variables that are not text cannot be ours.
        let environment = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self {
            files,
            environment,
            flags,
        }
    }
}

/// Everything that can be configured, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Section `[daemon]`.
    pub daemon: DaemonSection,
    /// Section `[log]`.
    pub log: LogConfig,
    /// Section `[engine]`.
    pub engine: EngineSection,
    /// Section `[game]`.
    pub game: GamePolicy,
    /// Section `[lobby]`.
    pub lobby: LobbyPolicy,
    /// Section `[matchmaking]`.
    pub matchmaking: MatchmakingPolicy,
    /// Sections `[accounts.NAME]`.
    pub accounts: BTreeMap<String, AccountConfig>,
}

/// The same before the accounts are read platform by platform.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sections {
    /// Section `[daemon]`.
    pub daemon: DaemonSection,
    /// Section `[log]`.
    pub log: LogConfig,
    /// Section `[engine]`.
    pub engine: EngineSection,
    /// Section `[game]`.
    pub game: GamePolicy,
    /// Section `[lobby]`.
    pub lobby: LobbyPolicy,
    /// Section `[matchmaking]`.
    pub matchmaking: MatchmakingPolicy,
    /// Sections `[accounts.NAME]`, unread.
    pub accounts: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
}

/// One value with its key and its origin, as `config show --origin` lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Dotted key.
    pub key: String,
    /// The value as TOML would write it.
    pub value: String,
    /// Where it was set.
    pub place: Place,
}

/// A configuration with the memory of where everything came from.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Every value with its origin, sorted by key.
    pub shown: Vec<Shown>,
}

/// Reads all layers, checks everything and reports all problems at once.
///
/// # Errors
/// [`ConfigError`] with every problem found, each with its place.
pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let layers = layers::Layers::read(sources)?;
    let sections: Sections = layers.sections()?;
    let mut problems = Vec::new();
    for (section, found) in [
        ("daemon", sections.daemon.problems()),
        ("log", log_problems(&sections.log)),
        ("engine", sections.engine.problems()),
        ("game", sections.game.problems()),
        ("lobby", sections.lobby.problems()),
        ("matchmaking", sections.matchmaking.problems()),
    ] {
        problems.extend(found.into_iter().map(|p| placed(&layers, section, p)));
    }
    let mut accounts = BTreeMap::new();
    for (name, table) in sections.accounts {
        match accounts::read(&name, table) {
            Ok(account) => {
                accounts.insert(name, account);
            }
            Err(found) => {
                let prefix = format!("accounts.{name}");
                problems.extend(found.into_iter().map(|p| placed(&layers, &prefix, p)));
            }
        }
    }
    if !problems.is_empty() {
        return Err(ConfigError { problems });
    }
    Ok(Loaded {
        shown: layers.shown(),
        config: Config {
            daemon: sections.daemon,
            log: sections.log,
            engine: sections.engine,
            game: sections.game,
            lobby: sections.lobby,
            matchmaking: sections.matchmaking,
            accounts,
        },
    })
}

fn log_problems(log: &LogConfig) -> Vec<Problem> {
    let allowed = "error, warn, info, debug, trace, or TARGET=LEVEL parts joined by commas";
    let found = log.filter_problem().into_iter();
    found
        .map(|words| Problem::new("filter", words, allowed))
        .collect()
}

fn placed(layers: &layers::Layers, prefix: &str, problem: Problem) -> ConfigProblem {
    let key = match problem.key.is_empty() {
        true => prefix.to_owned(),
        false => format!("{prefix}.{}", problem.key),
    };
    ConfigProblem {
        place: layers.place(&key),
        message: problem.found,
        allowed: Some(problem.allowed).filter(|text| !text.is_empty()),
        suggestion: None,
        key,
    }
}
