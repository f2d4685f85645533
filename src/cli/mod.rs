//! The command line: one file per subcommand, each with its arguments and a `run` that returns the exit code.
//!
//! Exit codes: 0 all went well, 1 the command failed or refused its input, 2 the command line itself is wrong.
//! This is the only module that may print: standard output is the answer, standard error the complaint.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what a command line is for"
)]

mod bench;
mod book;
mod config;
mod datagen;
mod demo;
mod house;
mod match_;
mod perft;
mod position;
mod replay;
mod run;
mod spsa;
#[cfg(feature = "train")]
mod train;
#[cfg(feature = "train")]
mod tune;
mod uci;
mod version;
mod why;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "seneschal", version, about, propagate_version = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// One line per subcommand, in the order the help shows them.
#[derive(Debug, Subcommand)]
enum Command {
    /// Search fixed positions and print the signature of the search
    Bench(bench::Bench),
    /// Grow an opening book by search
    Book(book::GrowBook),
    /// Play games against itself and record every position with its score
    Datagen(datagen::Datagen),
    /// Tune search parameters by games against itself
    Spsa(spsa::Spsa),
    #[cfg(feature = "train")]
    /// Fit the hand-written evaluation to recorded games
    Tune(tune::Tune),
    /// Serve the UCI protocol on standard input and output
    Uci(uci::Uci),
    /// Play engines against each other
    Match(Box<match_::Match>),
    /// Log the accounts of the configuration in and play
    Run(run::Run),
    /// Open a house, log two bots in to it and let them play
    Demo(demo::Demo),
    /// Show what the configuration is and where it comes from
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Tell what the lobby would say to a challenge, rule by rule
    Why(why::Why),
    /// Feed a recorded game to a new session and compare its decisions
    Replay(replay::Replay),
    /// Open a house: a Lichess-shaped server of your own, with a page
    House(Box<house::House>),
    /// Count the leaves of the move tree, or compare counts with a file of them
    Perft(perft::Perft),
    /// Show what the rules say about a position or game: legal moves, outcome, claims
    Position(position::Position),
    /// Train an evaluation network on recorded games
    #[cfg(feature = "train")]
    Train(train::Train),
    /// Print the version and what this build was made for
    Version(version::Version),
}

impl Command {
    /// Carries the command out.
    fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Bench(command) => command.run(),
            Self::Book(command) => command.run(),
            Self::Datagen(command) => command.run(),
            Self::Spsa(command) => command.run(),
            #[cfg(feature = "train")]
            Self::Tune(command) => command.run(),
            Self::Uci(command) => command.run(),
            Self::Match(command) => command.run(),
            Self::Run(command) => command.run(),
            Self::Demo(command) => command.run(),
            Self::Config(command) => command.run(),
            Self::Why(command) => command.run(),
            Self::Replay(command) => command.run(),
            Self::House(command) => command.run(),
            Self::Perft(command) => command.run(),
            Self::Position(command) => command.run(),
            #[cfg(feature = "train")]
            Self::Train(command) => command.run(),
            Self::Version(command) => command.run(),
        }
    }
}

/// Reads the process arguments, carries the command out and says how it went.
///
/// A wrong command line prints the usage and ends with code 2; a failed command prints its whole chain of causes on
/// standard error and ends with code 1.
#[must_use]
pub fn run() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(refusal) => {
            // Help and version are "errors" of the parser that go to standard output with code 0.
            if let Err(failure) = refusal.print() {
                eprintln!("error: the usage could not be printed: {failure}");
            }
            return ExitCode::from(u8::try_from(refusal.exit_code()).unwrap_or(2));
        }
    };
    match line.command.run() {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure:#}");
            ExitCode::FAILURE
        }
    }
}
