//! `seneschal bench`: the node count that identifies search and evaluation.

use std::process::ExitCode;

use clap::Args;

use crate::engine::network::Networks;
use crate::engine::search::bench;

/// Search fixed positions of all variants and print `N nodes M nps`.
#[derive(Debug, Args)]
pub struct Bench {
    /// Depth of every search, in plies
    #[arg(default_value_t = bench::DEPTH, value_parser = clap::value_parser!(u32).range(1..=60))]
    depth: u32,
    /// Print a line for each position as well
    #[arg(long)]
    verbose: bool,
    /// Networks: `<embedded>`, `<none>` for the hand-written evaluation, or files with `;` between them
    #[arg(long, default_value = "<embedded>", value_parser = Networks::parse)]
    eval_file: Networks,
}

impl Bench {
    /// Runs the bench.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let result = bench::run_with(&self.eval_file, self.depth, |variant, fen, nodes| {
            if self.verbose {
                println!("{:>12} {} {fen}", nodes, variant.uci_name());
            }
        });
        println!("{} nodes {} nps", result.nodes, result.nps());
        Ok(ExitCode::SUCCESS)
    }
}
