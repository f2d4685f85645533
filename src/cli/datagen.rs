//! `seneschal datagen`: self-play for training.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::engine::StopFlag;
use crate::engine::network::Networks;
use crate::engine::training::datagen::{DatagenConfig, DatagenStats, Rival, generate};
use crate::rules::starts::shuffled_start;
use crate::rules::{CastlingMode, Position, Variant};

/// Play games against itself and append them, with the score of every position, to a file.
///
/// A run that is broken off goes on where it was when it is started again with the same file.
#[derive(Debug, Args)]
pub struct Datagen {
    /// UCI name of the variant
    #[arg(long)]
    variant: String,
    /// File to append to
    #[arg(long)]
    out: PathBuf,
    /// Games to have in the file in the end
    #[arg(long, default_value_t = 1000)]
    games: u64,
    /// Nodes a move
    #[arg(long, default_value_t = 1000)]
    nodes: u64,
    /// Random half-moves of an opening, and up to three more
    #[arg(long, default_value_t = 6)]
    plies: u32,
    /// Openings are thrown away beyond so many units of imbalance
    #[arg(long, default_value_t = 300)]
    imbalance: i32,
    /// Seed of the openings
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Shuffled start positions of the variant beside its own: so many Chess960 numbers are mixed in
    #[arg(long, default_value_t = 0)]
    shuffled: u32,
    /// Networks: `<embedded>`, `<none>` for the hand-written evaluation, or files with `;` between them
    #[arg(long, default_value = "<embedded>", value_parser = Networks::parse)]
    eval_file: Networks,
    /// Networks, in the same form, that play one side of every game
    #[arg(long, value_parser = Networks::parse, requires = "rival_nodes")]
    rival: Option<Networks>,
    /// Nodes a move of the rival: as many as make it equally strong
    #[arg(long, requires = "rival")]
    rival_nodes: Option<u64>,
}

impl Datagen {
    /// Runs the generation.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let variant = Variant::ALL
            .into_iter()
            .find(|variant| variant.uci_name() == self.variant)
            .with_context(|| format!("{:?} is no variant", self.variant))?;
        let config = DatagenConfig {
            variant,
            games: self.games,
            nodes: self.nodes,
            random_plies: self.plies,
            imbalance: self.imbalance,
            seed: self.seed,
            networks: self.eval_file,
            starts: shuffled_starts(variant, self.shuffled)?,
            rival: self
                .rival
                .zip(self.rival_nodes)
                .map(|(networks, nodes)| Rival { networks, nodes }),
        };
        let stats = generate(&config, &self.out, &StopFlag::new(), |stats| {
            eprintln!("{}", line(stats));
        })?;
        println!("{}", line(&stats));
        Ok(ExitCode::SUCCESS)
    }
}

fn shuffled_starts(variant: Variant, count: u32) -> anyhow::Result<Vec<Position>> {
    // A step that shares no factor with the number of starts spreads a few of them over all.
    (0..count)
        .map(|n| {
            let number = (n * 367 % 960) as u16;
            let fen = shuffled_start(variant, number)
                .with_context(|| format!("start {number} of {}", variant.uci_name()))?;
            Ok(Position::from_fen(variant, CastlingMode::Chess960, &fen)?)
        })
        .collect()
}

fn line(stats: &DatagenStats) -> String {
    let share = |n: u64| 100.0 * n as f64 / stats.new_games.max(1) as f64;
    format!(
        "{} games ({} new), {} positions, {} usable, {:.0} positions/s, white {:.1} % draws {:.1} % black {:.1} %, mean |score| {:.0}",
        stats.games,
        stats.new_games,
        stats.positions,
        stats.usable,
        stats.positions as f64 / stats.seconds.max(1e-6),
        share(stats.results[0]),
        share(stats.results[1]),
        share(stats.results[2]),
        stats.score_sum as f64 / stats.usable.max(1) as f64,
    )
}
