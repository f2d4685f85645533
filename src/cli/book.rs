//! `seneschal book`: grows an opening book.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::engine::book::grow::{Growth, grow};
use crate::engine::{EngineConfig, StopFlag, new_searcher};
use crate::rules::Variant;

/// Grow an opening book by search.
///
/// The file is a text: a position a line, with the moves that the search likes there. A run that is broken off goes on where
/// it was when it is started again with the same file. UCI options `OwnBook` and `BookFile`, or the key `engine.book_file` of
/// the configuration, let it be played from.
#[derive(Debug, Args)]
pub struct GrowBook {
    /// UCI name of the variant
    #[arg(long)]
    variant: String,
    /// File of the book, made if it does not exist
    #[arg(long)]
    out: PathBuf,
    /// Positions to have in the book in the end
    #[arg(long, default_value_t = 500)]
    positions: usize,
    /// Nodes for each position
    #[arg(long, default_value_t = 200_000)]
    nodes: u64,
    /// Moves looked at in each position
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=32))]
    lines: u8,
    /// Moves that are worse than the best by more centipawns are not followed
    #[arg(long, default_value_t = 50)]
    margin: i32,
    /// Centipawns that a ply costs: the greater, the broader the book
    #[arg(long, default_value_t = 10)]
    ply_cost: u16,
    /// Memory of the transposition table in MiB
    #[arg(long, default_value_t = 64)]
    hash_mib: u32,
}

impl GrowBook {
    /// Grows the book.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let variant = Variant::ALL
            .into_iter()
            .find(|variant| variant.uci_name() == self.variant)
            .with_context(|| format!("{:?} is no variant", self.variant))?;
        let growth = Growth {
            variant,
            positions: self.positions,
            nodes: self.nodes,
            lines: usize::from(self.lines),
            margin: self.margin,
            ply_cost: i32::from(self.ply_cost),
        };
        let mut searcher = new_searcher(&EngineConfig::new((self.hash_mib as usize) << 20, 1));
        let book = grow(
            &growth,
            &self.out,
            searcher.as_mut(),
            &StopFlag::new(),
            &mut |positions| {
                if positions % 50 == 0 {
                    eprintln!("{positions} positions");
                }
            },
        )?;
        println!("{} positions in {}", book.len(), self.out.display());
        Ok(ExitCode::SUCCESS)
    }
}
