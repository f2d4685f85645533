//! `seneschal tune`: fits the hand-written evaluation to self-played games.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::engine::evaluation::weights::weights;
use crate::engine::training::tune::{Samples, TuneConfig, fit};
use crate::rules::Variant;

/// Fit the weights of the hand-written evaluation to games of `datagen` and write the table.
#[derive(Debug, Args)]
pub struct Tune {
    /// UCI name of the variant
    #[arg(long)]
    variant: String,
    /// Files of games
    #[arg(long, required = true, num_args = 1..)]
    data: Vec<PathBuf>,
    /// Table to write
    #[arg(long)]
    out: PathBuf,
    /// Passes over the positions
    #[arg(long, default_value_t = 40)]
    epochs: u32,
    /// Step of the optimizer at the beginning
    #[arg(long, default_value_t = 2.0)]
    rate: f32,
    /// Share of the search's score in the target
    #[arg(long, default_value_t = 0.6)]
    score_share: f32,
    /// Greatest number of positions
    #[arg(long, default_value_t = 1_500_000)]
    limit: usize,
}

impl Tune {
    /// Runs the fit.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let variant = Variant::ALL
            .into_iter()
            .find(|variant| variant.uci_name() == self.variant)
            .with_context(|| format!("{:?} is no variant", self.variant))?;
        let config = TuneConfig {
            epochs: self.epochs,
            rate: self.rate,
            score_share: self.score_share,
            ..TuneConfig::default()
        };
        let samples = Samples::read(&self.data, variant, &config, self.limit)?;
        let (fitted, held_back) = samples.len();
        anyhow::ensure!(
            fitted > 0 && held_back > 0,
            "the files hold too few positions of {}: {fitted} to fit, {held_back} held back",
            self.variant
        );
        eprintln!("{fitted} positions to fit, {held_back} held back");
        let table = fit(
            &samples,
            weights(variant),
            &config,
            |epoch, error, check| {
                eprintln!("epoch {epoch}: error {error:.6}, held back {check:.6}");
            },
        );
        let comment = format!(
            "Fitted to {fitted} positions of own games: `seneschal tune --variant {} --epochs {} --rate {} --score-share {}`.",
            self.variant, self.epochs, self.rate, self.score_share
        );
        std::fs::write(&self.out, table.to_text(&comment))
            .with_context(|| format!("writing {}", self.out.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}
