//! `seneschal version`: what a bug report should begin with.

use std::process::ExitCode;

/// Arguments of `seneschal version`: none.
#[derive(Debug, clap::Args)]
pub(super) struct Version {}

impl Version {
    /// Prints the version, the processor architecture and the system.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        println!(
            "seneschal {} ({}, {}, {} build)",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::ARCH,
            std::env::consts::OS,
            if cfg!(debug_assertions) {
                "checked"
            } else {
                "release"
            },
        );
        Ok(ExitCode::SUCCESS)
    }
}
