//! `seneschal perft`: counts the leaves of the move tree, to compare the rules with other programs.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::position::parse_variant;
use crate::rules::notation::{NamedVariant, epd};

/// Arguments of `seneschal perft`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["depth", "epd"]))]
pub(super) struct Perft {
    /// Half-moves to look ahead
    #[arg(value_parser = clap::value_parser!(u32).range(1..=30))]
    depth: Option<u32>,
    /// Variant by its UCI name, with 960 behind it for free castling
    #[arg(long, value_parser = parse_variant, default_value = "chess")]
    variant: NamedVariant,
    /// Position to begin from; the variant's start if left out
    #[arg(long)]
    fen: Option<String>,
    /// Count below each move of the position
    #[arg(long, conflicts_with = "epd")]
    divide: bool,
    /// Compare every position of this file with the counts it gives
    #[arg(long, conflicts_with_all = ["fen", "variant"])]
    epd: Option<PathBuf>,
    /// Leave out counts of a file that are larger than this
    #[arg(long, default_value_t = 20_000_000, requires = "epd")]
    max_nodes: u64,
}

impl Perft {
    /// Counts, prints, and fails if a count of the file is not met.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        match (&self.epd, self.depth) {
            (Some(_), _) => self.compare(),
            (None, Some(depth)) => self.count(depth),
            (None, None) => unreachable!("the argument group asks for one of the two"),
        }
    }

    fn count(&self, depth: u32) -> anyhow::Result<ExitCode> {
        let (variant, mode) = self.variant;
        let fen = self.fen.as_deref().unwrap_or_else(|| variant.start_fen());
        let position = epd::read_position(variant, mode, fen).context("the position is refused")?;
        let mut out = io::stdout().lock();
        let began = Instant::now();
        let nodes = if self.divide {
            let mut total = 0;
            for &m in &position.legal_moves() {
                let mut next = position.clone();
                next.play_unchecked(m);
                let nodes = next.perft(depth - 1);
                writeln!(out, "{}: {nodes}", position.uci(m))?;
                total += nodes;
            }
            total
        } else {
            position.perft(depth)
        };
        let took = began.elapsed();
        writeln!(out, "{nodes} nodes in {}", speed(nodes, took))?;
        Ok(ExitCode::SUCCESS)
    }

    fn compare(&self) -> anyhow::Result<ExitCode> {
        let path = self.epd.as_deref().unwrap_or_else(|| "".as_ref());
        let text =
            std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let mut out = io::stdout().lock();
        let (mut passed, mut failed, mut left_out, mut nodes) = (0_u32, 0_u32, 0_u32, 0_u64);
        let began = Instant::now();
        for case in epd::parse(&text) {
            let case = match case {
                Ok(case) => case,
                Err(error) => {
                    failed += 1;
                    writeln!(out, "FAILED {}: {error}", path.display())?;
                    continue;
                }
            };
            let mut right = true;
            for &(depth, expected) in &case.counts {
                if expected > self.max_nodes {
                    left_out += 1;
                    continue;
                }
                let counted = case.position.perft(depth);
                nodes += counted;
                if counted != expected {
                    right = false;
                    writeln!(
                        out,
                        "FAILED line {} {} ({}) depth {depth}: {counted} instead of {expected} in {}",
                        case.line,
                        case.variant,
                        case.label,
                        case.position.fen()
                    )?;
                }
            }
            if right {
                passed += 1;
            } else {
                failed += 1;
            }
        }
        writeln!(out, "{nodes} nodes in {}", speed(nodes, began.elapsed()))?;
        if left_out > 0 {
            writeln!(
                out,
                "{left_out} counts above {} nodes left out",
                self.max_nodes
            )?;
        }
        writeln!(out, "{passed} passed, {failed} failed")?;
        Ok(if failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

/// Time and speed in words.
fn speed(nodes: u64, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    format!(
        "{seconds:.3} s, {:.1} million a second",
        nodes as f64 / 1e6 / seconds.max(1e-9)
    )
}
