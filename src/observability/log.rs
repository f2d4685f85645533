//! The log: lines of text or JSON on standard error.

use std::io::IsTerminal;

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::hidden::{HiddenWords, Hiding};
use super::panics;

/// Section `[log]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// What is logged: `error`, `warn`, `info`, `debug`, `trace`, or a list as `info,seneschal::game=debug`.
    pub filter: String,
    /// How.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            format: LogFormat::Text,
        }
    }
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

impl LogConfig {
    /// What is wrong with the filter, if anything.
    pub fn filter_problem(&self) -> Option<String> {
        let error = EnvFilter::try_new(&self.filter).err()?;
        Some(format!("`{}`: {error}", self.filter))
    }
}

/// The log could not be started: one is running already.
#[derive(Debug, thiserror::Error)]
#[error("the log is running already")]
pub struct LogStarted;

/// Starts the log of this process; `hidden` words are taken out of every line, and panics are told by it as well.
///
/// # Errors
/// [`LogStarted`] if it was started before; the old one goes on.
pub fn start(config: &LogConfig, hidden: &HiddenWords) -> Result<(), LogStarted> {
    let writer = {
        let hidden = hidden.clone();
        move || Hiding::new(std::io::stderr(), hidden.clone())
    };
    let filter = EnvFilter::try_new(&config.filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let registry = tracing_subscriber::registry().with(filter);
    let started = match config.format {
        LogFormat::Text => registry
            .with(
                tracing_subscriber::fmt::layer()
                    // Colours are for eyes: in a file or a journal they would stand between key and value.
                    .with_ansi(wants_colours())
                    .with_writer(writer),
            )
            .try_init(),
        LogFormat::Json => registry
            .with(tracing_subscriber::fmt::layer().json().with_writer(writer))
            .try_init(),
    };
    started.map_err(|_| LogStarted)?;
    panics::report_to_log(hidden.clone());
    Ok(())
}

/// Standard error is a terminal, and its owner has not asked for plain text.
fn wants_colours() -> bool {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !plain
}
