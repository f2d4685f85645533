//! `seneschal replay`: a recorded game, decided anew.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::game::tape;

/// Arguments of `seneschal replay`.
#[derive(Debug, Args)]
pub(super) struct Replay {
    /// The tape: a file from the directory `tapes` of the state directory
    tape: PathBuf,
    /// Print every decision with its time
    #[arg(long)]
    story: bool,
}

impl Replay {
    /// Replays the tape. Exit code 1: a decision came out differently.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let text = std::fs::read_to_string(&self.tape)
            .with_context(|| format!("reading the tape {}", self.tape.display()))?;
        // A tape whose last line was cut off by a kill is good up to there.
        let whole = match text.rfind('\n') {
            Some(end) => text.get(..end).unwrap_or_default(),
            None => "",
        };
        let found = tape::replay(whole.lines())?;
        if self.story {
            for line in &found.story {
                println!("{line}");
            }
        }
        for (line, old, new) in &found.differences {
            println!("line {line}: the tape says `{old}`, the session says `{new}`");
        }
        println!(
            "{} inputs, {} decisions, {} differences",
            found.inputs,
            found.decisions,
            found.differences.len()
        );
        Ok(match found.differences.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        })
    }
}
