//! `seneschal config`, and the layers' flags that several commands share.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::config::{self, ConfigError, Loaded, Sources};

/// Exit code for a configuration that cannot be used: the same as for a wrong command line, because starting again does not help.
pub(super) const BAD_CONFIG: u8 = 2;

/// Where the configuration comes from.
#[derive(Debug, Clone, Args)]
pub(super) struct ConfigFlags {
    /// Configuration file; may be repeated, later ones win
    #[arg(
        long,
        value_name = "FILE",
        env = "SENESCHAL_CONFIG",
        value_delimiter = ':'
    )]
    config: Vec<PathBuf>,
    /// Set one key, above files and environment
    #[arg(long, value_name = "SECTION.KEY=VALUE", value_parser = key_and_value)]
    set: Vec<(String, String)>,
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected SECTION.KEY=VALUE".to_owned()),
    }
}

impl ConfigFlags {
    /// Reads all layers.
    pub(super) fn load(&self) -> Result<Loaded, ConfigError> {
        config::load(&Sources::of_process(self.config.clone(), self.set.clone()))
    }

    /// Reads all layers; problems are printed, and the exit code is told.
    pub(super) fn load_or_complain(&self) -> Result<Loaded, ExitCode> {
        self.load().map_err(|error| {
            for problem in &error.problems {
                eprintln!("error: {problem}");
            }
            ExitCode::from(BAD_CONFIG)
        })
    }
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Check all layers and print what is in force
    Show {
        #[command(flatten)]
        flags: ConfigFlags,
        /// Print where each value was set as well
        #[arg(long)]
        origin: bool,
        /// Only keys that begin so
        #[arg(value_name = "KEY")]
        prefix: Option<String>,
    },
    /// Check all layers and print nothing if they are good
    Check {
        #[command(flatten)]
        flags: ConfigFlags,
    },
    /// Print the built-in file with every key, its unit and its default
    Default,
}

impl ConfigCommand {
    /// Carries the command out.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Show {
                flags,
                origin,
                prefix,
            } => {
                let loaded = match flags.load_or_complain() {
                    Ok(loaded) => loaded,
                    Err(code) => return Ok(code),
                };
                let prefix = prefix.unwrap_or_default();
                for shown in loaded.shown.iter().filter(|s| s.key.starts_with(&prefix)) {
                    if origin {
                        println!("{} = {}  # {}", shown.key, shown.value, shown.place);
                    } else {
                        println!("{} = {}", shown.key, shown.value);
                    }
                }
                Ok(ExitCode::SUCCESS)
            }
            Self::Check { flags } => Ok(match flags.load_or_complain() {
                Ok(_) => ExitCode::SUCCESS,
                Err(code) => code,
            }),
            Self::Default => {
                print!("{}", config::DEFAULTS);
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}
