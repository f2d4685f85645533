//! `seneschal run`: the daemon.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::config::{BAD_CONFIG, ConfigFlags};
use crate::config::Config;
use crate::config::secrets::SecretError;
use crate::daemon::assemble::{Surroundings, assemble};
use crate::daemon::{RunReport, Shutdown};
use crate::observability::log;

/// Arguments of `seneschal run`.
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    flags: ConfigFlags,
}

impl Run {
    /// Runs the daemon until it is told to end.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let loaded = match self.flags.load_or_complain() {
            Ok(loaded) => loaded,
            Err(code) => return Ok(code),
        };
        let surroundings = Surroundings::of_process();
        log::start(&loaded.config.log, &surroundings.hidden)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .context("starting the runtime")?;
        let report = match runtime.block_on(serve(&loaded.config, &surroundings)) {
            Ok(report) => report,
            // A missing token does not come back by starting again.
            Err(error) if error.chain().any(|cause| cause.is::<SecretError>()) => {
                eprintln!("error: {error:#}");
                return Ok(ExitCode::from(BAD_CONFIG));
            }
            Err(error) => return Err(error),
        };
        for (account, words) in &report.stopped {
            eprintln!(
                "error: account `{account}` is stopped: {}",
                surroundings.hidden.hide(words).escape_debug()
            );
        }
        for part in &report.died {
            eprintln!("error: a part died: {part}");
        }
        Ok(match report.is_clean() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        })
    }
}

async fn serve(config: &Config, surroundings: &Surroundings) -> anyhow::Result<RunReport> {
    let daemon = assemble(config, surroundings).await?;
    let shutdown = Shutdown::default();
    let signals = pass_signals_on(shutdown.clone())?;
    let report = crate::daemon::run(daemon, shutdown).await;
    signals.abort();
    Ok(report)
}

/// The first SIGTERM or SIGINT drains, the second aborts.
pub(super) fn pass_signals_on(shutdown: Shutdown) -> anyhow::Result<tokio::task::AbortHandle> {
    let mut terminate = signal(SignalKind::terminate()).context("listening to SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listening to SIGINT")?;
    let listener = tokio::spawn(async move {
        loop {
            tokio::select! {
                Some(()) = terminate.recv() => tracing::info!("SIGTERM"),
                Some(()) = interrupt.recv() => tracing::info!("SIGINT"),
                else => return,
            }
            shutdown.signal();
        }
    });
    Ok(listener.abort_handle())
}
