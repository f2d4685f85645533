//! `seneschal match`: one engine against another, to measure or to accept a change.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::engine::arena::spec::{EngineSpec, Tempo, tempo};
use crate::engine::arena::statistics::Sprt;
use crate::engine::arena::{
    Arbiter, DrawRule, MatchConfig, OpeningChoice, Played, RandomOpenings, ScoreRule, Tally, pgn,
    play_match, read_openings,
};
use crate::engine::{EngineConfig, new_searcher};
use crate::rules::{Adjudication, CastlingMode, Variant};

/// Play engines against each other.
///
/// An engine is described by words key=value: cmd (program and arguments; without it: this
/// program), name, dir, one of tc, nodes, depth, movetime, and option.NAME for its UCI options.
/// For instance: --second "cmd=/usr/games/fairy-stockfish nodes=4000 option.Hash=64".
#[derive(Debug, Args)]
pub(super) struct Match {
    /// First engine; scores are its scores.
    #[arg(long, default_value = "self")]
    first: EngineSpec,
    /// Second engine.
    #[arg(long)]
    second: EngineSpec,
    /// UCI name of the variant, with 960 behind it for free castling.
    #[arg(long, default_value = "crazyhouse")]
    variant: String,
    /// Clock in seconds, initial time + increment, for engines without bounds of their own.
    #[arg(long, default_value = "2+0.02", value_parser = |text: &str| tempo("tc", text))]
    tc: Tempo,
    /// Nodes per move instead of a clock.
    #[arg(long, value_parser = |text: &str| tempo("nodes", text), conflicts_with_all = ["depth", "movetime"])]
    nodes: Option<Tempo>,
    /// Plies per move instead of a clock.
    #[arg(long, value_parser = |text: &str| tempo("depth", text), conflicts_with = "movetime")]
    depth: Option<Tempo>,
    /// Milliseconds per move instead of a clock.
    #[arg(long, value_parser = |text: &str| tempo("movetime", text))]
    movetime: Option<Tempo>,
    /// Greatest number of games; they are played in pairs with colors reversed.
    #[arg(long, default_value_t = 100)]
    games: u32,
    /// Games at the same time.
    #[arg(long, short, default_value_t = 1)]
    concurrency: usize,
    /// File with one opening a line (FEN or EPD, optionally with "moves ..."), instead of random
    /// openings.
    #[arg(long)]
    openings: Option<PathBuf>,
    /// Begin every game at the start position.
    #[arg(long, conflicts_with = "openings")]
    from_start: bool,
    /// Random half-moves of an opening.
    #[arg(long, default_value_t = 6)]
    plies: u32,
    /// Random openings are judged to be even within so many centipawns.
    #[arg(long, default_value_t = 100)]
    imbalance: i32,
    /// Nodes for that judgement.
    #[arg(long, default_value_t = 10_000)]
    judge_nodes: u64,
    /// Seed of the openings and their order.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Sequential test: Elo of hypothesis 0 and 1, and optionally the two error probabilities.
    #[arg(long, value_name = "ELO0,ELO1[,ALPHA,BETA]", value_parser = parse_sprt, allow_hyphen_values = true)]
    sprt: Option<Sprt>,
    /// A clock may be overdrawn by so many milliseconds, a fixed time a move likewise.
    #[arg(long, default_value_t = 10)]
    margin: u64,
    /// Seconds for a move that no clock bounds.
    #[arg(long, default_value_t = 120)]
    patience: u64,
    /// Half-moves after which a game is a draw.
    #[arg(long, default_value_t = 600)]
    max_plies: usize,
    /// Give up when both engines agree on so many centipawns for so many moves.
    #[arg(long, value_name = "CP,MOVES", value_parser = parse_score_rule)]
    resign: Option<ScoreRule>,
    /// Call a draw when both engines see at most so many centipawns for so many moves, after ply 60.
    #[arg(long, value_name = "CP,MOVES", value_parser = parse_score_rule)]
    draw: Option<ScoreRule>,
    /// Append the games to this file.
    #[arg(long)]
    pgn: Option<PathBuf>,
    /// Name of the event in the game records.
    #[arg(long, default_value = "seneschal match")]
    event: String,
    /// Print the score every so many games.
    #[arg(long, default_value_t = 20)]
    report: u32,
}

impl Match {
    /// Plays the match and prints its score. Exit code 1: an engine was at fault.
    ///
    /// # Errors
    /// If an engine cannot be started or a file cannot be read or written.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let config = self.config()?;
        let names = config.engines.each_ref().map(|engine| engine.name.clone());
        let mut record = self.pgn_file()?;
        let date = jiff::Timestamp::now().strftime("%Y.%m.%d").to_string();
        let mut write_error = None;
        let judge = new_searcher(&EngineConfig::new(16 << 20, 1));
        let every = self.report.max(1);
        let on_game = &mut |played: &Played, tally: &Tally| {
            report_fault(played, &names);
            if let Some(file) = &mut record {
                let text = pgn(played, &names, &self.event, &date).to_string();
                let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
                if let Err(error) = written {
                    write_error.get_or_insert(error);
                }
            }
            if tally.games().is_multiple_of(every) {
                println!("{tally}");
            }
        };
        let tally = play_match(&config, judge, &AtomicBool::new(false), on_game)
            .context("playing the match")?;
        println!("Final\n{tally}");
        if let Some(error) = write_error {
            return Err(error).context("writing the games");
        }
        let faults: u32 = tally.faults.iter().map(|faults| faults.total()).sum();
        Ok(if faults == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn config(&self) -> anyhow::Result<MatchConfig> {
        let Some((variant, mode)) = Variant::from_uci_name(&self.variant) else {
            bail!("no variant is called {:?}", self.variant);
        };
        let mut engines = [self.first.clone(), self.second.clone()];
        if engines[0].name == engines[1].name {
            for (index, engine) in engines.iter_mut().enumerate() {
                engine.name.push_str(&format!("-{}", index + 1));
            }
        }
        Ok(MatchConfig {
            engines,
            own_program: std::env::current_exe().context("finding this program's own file")?,
            variant,
            mode,
            tempo: self
                .nodes
                .or(self.depth)
                .or(self.movetime)
                .unwrap_or(self.tc),
            games: self.games,
            concurrency: self.concurrency,
            openings: self.opening_choice(variant, mode)?,
            arbiter: Arbiter {
                adjudication: Adjudication::SEED,
                margin: Duration::from_millis(self.margin),
                patience: Duration::from_secs(self.patience),
                plies_max: self.max_plies,
                resign: self.resign,
                draw: self.draw.map(|score| DrawRule {
                    score,
                    from_ply: 60,
                }),
            },
            sprt: self.sprt,
        })
    }

    fn opening_choice(
        &self,
        variant: Variant,
        mode: CastlingMode,
    ) -> anyhow::Result<OpeningChoice> {
        if self.from_start {
            return Ok(OpeningChoice::Start);
        }
        let Some(path) = &self.openings else {
            return Ok(OpeningChoice::Random(RandomOpenings {
                plies: self.plies,
                imbalance_cp_max: self.imbalance,
                nodes: self.judge_nodes,
                seed: self.seed,
            }));
        };
        let text = fs::read_to_string(path)
            .with_context(|| format!("reading openings from {}", path.display()))?;
        let list = read_openings(&text, variant, mode, self.seed)
            .with_context(|| format!("reading openings from {}", path.display()))?;
        Ok(OpeningChoice::Listed(list))
    }

    fn pgn_file(&self) -> anyhow::Result<Option<BufWriter<File>>> {
        let Some(path) = &self.pgn else {
            return Ok(None);
        };
        let file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| format!("opening {} for the games", path.display()))?;
        Ok(Some(BufWriter::new(file)))
    }
}

/// Says at once what an engine did wrong, so that it can be looked into.
fn report_fault(played: &Played, names: &[String; 2]) {
    let Some(culprit) = played.game.end.culprit() else {
        return;
    };
    let name = &names[usize::from(culprit != played.first_is)];
    eprintln!(
        "{name}, game {}.{}: {} after {} half-moves in {}",
        played.pair + 1,
        played.first_is.index() + 1,
        played.game.end,
        played.game.history.moves().len(),
        played.game.history.position().fen(),
    );
}

fn parse_sprt(text: &str) -> Result<Sprt, String> {
    let numbers: Vec<f64> = text
        .split(',')
        .map(|word| word.trim().parse().ok().filter(|n: &f64| n.is_finite()))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{text:?} is no list of numbers"))?;
    let (elo0, elo1, alpha, beta) = match numbers[..] {
        [elo0, elo1] => (elo0, elo1, 0.05, 0.05),
        [elo0, elo1, alpha, beta] => (elo0, elo1, alpha, beta),
        _ => return Err("two or four numbers are needed".into()),
    };
    let is_probability = |p: f64| p > 0.0 && p < 0.5;
    if elo0 >= elo1 {
        return Err("the first Elo must be below the second".into());
    }
    if !is_probability(alpha) || !is_probability(beta) {
        return Err("error probabilities must lie between 0 and 0.5".into());
    }
    Ok(Sprt {
        elo0,
        elo1,
        alpha,
        beta,
    })
}

fn parse_score_rule(text: &str) -> Result<ScoreRule, String> {
    let refused = || format!("{text:?} is not of the form CENTIPAWNS,MOVES");
    let (cp, moves) = text.split_once(',').ok_or_else(refused)?;
    let rule = ScoreRule {
        cp: cp.trim().parse().map_err(|_| refused())?,
        moves: moves.trim().parse().map_err(|_| refused())?,
    };
    if rule.cp < 0 || rule.moves == 0 {
        return Err(refused());
    }
    Ok(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_tests_are_read_and_checked() {
        let sprt = parse_sprt("-5, 5").unwrap();
        assert_eq!((sprt.elo0, sprt.elo1, sprt.alpha), (-5.0, 5.0, 0.05));
        let sprt = parse_sprt("0,10,0.01,0.1").unwrap();
        assert_eq!((sprt.alpha, sprt.beta), (0.01, 0.1));
        for bad in [
            "",
            "1",
            "5,5",
            "5,0",
            "0,5,0.05",
            "0,5,0.7,0.05",
            "0,inf",
            "a,b",
        ] {
            assert!(parse_sprt(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn score_rules_are_read_and_checked() {
        let rule = ScoreRule { cp: 900, moves: 4 };
        assert_eq!(parse_score_rule("900,4"), Ok(rule));
        for bad in ["900", "900,0", "-1,3", "x,3", "900,"] {
            assert!(parse_score_rule(bad).is_err(), "{bad}");
        }
    }
}
