//! `seneschal spsa`: tunes search parameters, or compares two settings, by games of the program against itself.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::engine::arena::statistics::Pentanomial;
use crate::engine::evaluation::weights::Weights;
use crate::engine::network::Networks;
use crate::engine::search::params::Params;
use crate::engine::training::datagen::Random;
use crate::engine::training::duel::Duel;
use crate::engine::training::spsa::{SpsaConfig, tune};
use crate::rules::Variant;

/// Tune search parameters by games of the program against itself, or compare a setting with the one in use.
#[derive(Debug, Args)]
pub struct Spsa {
    /// UCI name of the variant
    #[arg(long)]
    variant: String,
    /// Nodes a move
    #[arg(long, default_value_t = 2000)]
    nodes: u64,
    /// Pairs of games
    #[arg(long, default_value_t = 1000)]
    pairs: u32,
    /// Parameters to tune; all if none are named
    #[arg(long, num_args = 1..)]
    names: Vec<String>,
    /// Play these values (name=value) against the ones in use instead of tuning
    #[arg(long, num_args = 1..)]
    compare: Vec<String>,
    /// Play this table of evaluation weights against the one in use instead of tuning
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Networks: `<embedded>`, `<none>` for the hand-written evaluation, or files with `;` between them
    #[arg(long, default_value = "<embedded>", value_parser = Networks::parse)]
    eval_file: Networks,
}

impl Spsa {
    /// Runs the tuning or the comparison.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let variant = Variant::ALL
            .into_iter()
            .find(|variant| variant.uci_name() == self.variant)
            .with_context(|| format!("{:?} is no variant", self.variant))?;
        for name in &self.names {
            anyhow::ensure!(
                Params::KNOBS.iter().any(|knob| knob.name == name),
                "there is no parameter {name:?}"
            );
        }
        if !self.compare.is_empty() || self.weights.is_some() {
            return self.compare(variant);
        }
        let config = SpsaConfig {
            variant,
            nodes: self.nodes,
            pairs: self.pairs,
            names: self.names,
            seed: self.seed,
            networks: self.eval_file,
        };
        tune(&config, |pairs, values| {
            let text: Vec<String> = values
                .iter()
                .map(|(name, value)| format!("{name}={value:.1}"))
                .collect();
            println!("{pairs} pairs: {}", text.join(" "));
        });
        Ok(ExitCode::SUCCESS)
    }

    fn compare(&self, variant: Variant) -> anyhow::Result<ExitCode> {
        let base = Params::of(variant);
        let mut changed = base;
        for item in &self.compare {
            let (name, value) = item
                .split_once('=')
                .with_context(|| format!("{item:?} is not of the form name=value"))?;
            let value = value
                .parse()
                .with_context(|| format!("{value:?} is no whole number"))?;
            anyhow::ensure!(changed.set(name, value), "there is no parameter {name:?}");
        }
        // A net corrects one table of weights: beside another it would say nothing about either.
        let networks = if self.weights.is_some() {
            Networks::none()
        } else {
            self.eval_file.clone()
        };
        let mut duel = Duel::new(variant, self.nodes, &networks);
        if let Some(path) = &self.weights {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("reading {}", path.display()))?;
            let weights = Weights::from_text(variant, &text)
                .with_context(|| format!("reading {}", path.display()))?;
            duel.set_first_weights(weights);
        }
        let mut random = Random(self.seed);
        let mut counts = Pentanomial::default();
        for pair in 1..=self.pairs {
            counts.add(duel.pair([changed, base], &mut random) as usize);
            if pair % 50 == 0 || pair == self.pairs {
                match counts.elo() {
                    Some(elo) => {
                        println!("{pair} pairs: {:+.1} +- {:.1} Elo", elo.elo, elo.error())
                    }
                    None => println!("{pair} pairs: one-sided so far"),
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
