//! `seneschal train`: an evaluation network from recorded games.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::engine::network::Networks;
use crate::engine::network::file::Shape;
use crate::engine::training::net::{TrainConfig, TrainError, Trainer};
use crate::rules::Variant;

/// Train an evaluation network on games recorded by `datagen`.
///
/// The same data, settings and seed give the same network, whatever the number of threads.
#[derive(Debug, Args)]
pub struct Train {
    /// Files of games
    #[arg(long, required = true, num_args = 1..)]
    data: Vec<PathBuf>,
    /// UCI name of the variant
    #[arg(long)]
    variant: String,
    /// Network file to write, after every epoch
    #[arg(long)]
    out: PathBuf,
    /// Hidden neurons for each side's view, a multiple of 32
    #[arg(long, default_value_t = 128)]
    hidden: usize,
    /// Sets of input weights by the place of the king: 1 or 4
    #[arg(long, default_value_t = 1)]
    king_buckets: usize,
    /// Times that every position is seen
    #[arg(long, default_value_t = 20)]
    epochs: u64,
    /// Positions per step
    #[arg(long, default_value_t = 4096)]
    batch: usize,
    /// Highest rate of learning
    #[arg(long, default_value_t = 0.001)]
    rate: f32,
    /// Decay of weights, per unit of rate
    #[arg(long, default_value_t = 0.01)]
    decay: f32,
    /// Share of the search's score in what is learnt, 0 to 1; the rest is the game result's
    #[arg(long, default_value_t = 0.7)]
    lambda: f32,
    /// Learn a correction that is added to the hand-written evaluation, instead of a whole evaluation
    #[arg(long)]
    correction: bool,
    /// Search units at which the expected score is 73 %; without it, what the results say
    #[arg(long)]
    scale: Option<f32>,
    /// Share of the output that the written network keeps, above 0 and up to 1
    #[arg(long, default_value_t = 1.0, value_parser = kept_share)]
    keep: f32,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads: 1 or 2
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=2))]
    threads: u64,
    /// One game of so many is held back for validation
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
    held_back: u64,
    /// Do not learn from mirrored positions
    #[arg(long)]
    no_mirror: bool,
    /// Leave out positions beyond this score
    #[arg(long, default_value_t = 2_500)]
    score_max: i16,
    /// Learn from no more positions than this
    #[arg(long, default_value_t = usize::MAX, hide_default_value = true)]
    limit: usize,
    /// Begin with this network, `<embedded>` or a file, instead of random weights: for few but good games
    #[arg(long, value_parser = Networks::parse)]
    start: Option<Networks>,
    /// Keep the run in this file after every epoch, and go on from there if it exists
    #[arg(long)]
    checkpoint: Option<PathBuf>,
}

fn kept_share(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        Ok(_) => Err("a share is above 0 and at most 1".into()),
        Err(error) => Err(error.to_string()),
    }
}

impl Train {
    /// Runs the training.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let variant = Variant::ALL
            .into_iter()
            .find(|variant| variant.uci_name() == self.variant)
            .with_context(|| format!("{:?} is no variant", self.variant))?;
        let shape = Shape {
            variant,
            hidden: self.hidden,
            king_buckets: self.king_buckets,
        };
        shape.check()?;
        let config = TrainConfig {
            shape,
            epochs: self.epochs,
            batch: self.batch,
            rate: self.rate,
            decay: self.decay,
            score_share: self.lambda.clamp(0.0, 1.0),
            is_correction: self.correction,
            scale: self.scale,
            kept_share: self.keep,
            seed: self.seed,
            threads: self.threads as usize,
            held_back: self.held_back,
            mirror: !self.no_mirror,
            score_max: self.score_max,
            limit: self.limit,
        };
        let mut trainer = Trainer::new(config, &self.data)?;
        let (train, check, scale) = trainer.size();
        println!(
            "{train} positions to learn from, {check} to validate with, scale {scale} units; error of the hand-written evaluation {:.6}",
            trainer.check_error_by_hand()
        );
        if let Some(start) = &self.start {
            let network = start.get(variant);
            let network = network.with_context(|| format!("no network for {}", self.variant))?;
            trainer.begin_with(&network)?;
            println!("begun with error {:.6}", trainer.check_error());
        }
        if let Some(path) = &self.checkpoint
            && trainer.resume(path)?
        {
            println!("resumed from {}", path.display());
        }
        while !trainer.is_done() {
            let report = trainer.epoch();
            println!(
                "epoch {}: error {:.6}, held back {:.6}, rate {:.6}, {:.0} positions/s",
                report.epoch, report.train, report.check, report.rate, report.positions_per_second
            );
            if let Some(path) = &self.checkpoint {
                trainer.keep(path)?;
            }
            self.write(&trainer)?;
        }
        self.write(&trainer)?;
        println!("{}: {}", self.out.display(), trainer.network()?.summary());
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, trainer: &Trainer) -> Result<(), TrainError> {
        let bytes = trainer.network()?.to_bytes();
        std::fs::write(&self.out, bytes).map_err(|source| TrainError::Write {
            path: self.out.clone(),
            source,
        })
    }
}
