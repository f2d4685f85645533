//! `seneschal uci`: the engine for GUIs and match tools.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;

use crate::engine::{new_searcher, uci};

/// Serve the UCI protocol on standard input and output.
#[derive(Debug, Args)]
pub(super) struct Uci {}

impl Uci {
    /// Runs until the GUI says `quit` or closes its end.
    ///
    /// # Errors
    /// If standard input cannot be read.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        uci::run(io::stdin().lock(), io::stdout(), Arc::new(new_searcher))
            .context("serving UCI on standard input")?;
        Ok(ExitCode::SUCCESS)
    }
}
