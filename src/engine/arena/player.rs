//! A UCI engine in a process of its own, as one player of a match.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::spec::{EngineSpec, Tempo};
use crate::engine::score::Score;
use crate::rules::{CastlingMode, Variant};

/// Time to start, to answer `isready` (large tables have to be cleared), and to end.
const READY_PATIENCE: Duration = Duration::from_secs(30);
const QUIT_PATIENCE: Duration = Duration::from_secs(2);

/// Lines kept while nobody reads them; an engine that talks more has to wait.
const LINES_KEPT: usize = 4096;

/// Why an engine cannot play.
#[derive(Debug, thiserror::Error)]
pub enum PlayerError {
    /// The program could not be started.
    #[error("cannot start {command:?}")]
    Start {
        /// Program and arguments.
        command: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The process ended or closed its output.
    #[error("{name} ended unexpectedly")]
    Died {
        /// The engine.
        name: String,
    },
    /// No answer in time.
    #[error("{name} did not answer {to:?} within {patience:?}")]
    Silent {
        /// The engine.
        name: String,
        /// What it was asked.
        to: &'static str,
        /// How long we waited.
        patience: Duration,
    },
    /// The engine does not know the variant.
    #[error("{name} does not play {variant}")]
    Variant {
        /// The engine.
        name: String,
        /// UCI name of the variant.
        variant: &'static str,
    },
}

/// What an engine answered to `go`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// The move, as written by the engine.
    pub(super) best: String,
    /// The last score of the first line.
    pub(super) score: Option<Score>,
    pub(super) depth: u32,
    pub(super) nodes: u64,
    /// From our `go` to its answer.
    pub(super) elapsed: Duration,
}

/// Clocks in the order White, Black.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    pub(super) remaining: [Duration; 2],
    pub(super) increment: [Duration; 2],
}

/// A running engine.
pub(super) struct Player {
    pub(super) name: String,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<(Instant, String)>,
}

impl Player {
    /// Starts an engine and sets it up for a variant.
    pub(super) fn start(
        spec: &EngineSpec,
        own_program: &std::path::Path,
        variant: Variant,
        mode: CastlingMode,
    ) -> Result<Player, PlayerError> {
        let mut command = match spec.command.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
            None => {
                let mut command = Command::new(own_program);
                command.arg("uci");
                command
            }
        };
        if let Some(directory) = &spec.directory {
            command.current_dir(directory);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let start_error = |source| PlayerError::Start {
            command: spec.command.join(" "),
            source,
        };
        let mut child = command.spawn().map_err(start_error)?;
        let input = child.stdin.take();
        let (sender, lines) = sync_channel(LINES_KEPT);
        let output = child
            .stdout
            .take()
            .ok_or_else(|| start_error(io::ErrorKind::BrokenPipe.into()))?;
        thread::Builder::new()
            .name("match-reader".into())
            .spawn(move || read_lines(BufReader::new(output), &sender))
            .map_err(start_error)?;
        let mut player = Player {
            name: spec.name.clone(),
            child,
            input,
            lines,
        };
        player.set_up(spec, variant, mode)?;
        Ok(player)
    }

    fn set_up(
        &mut self,
        spec: &EngineSpec,
        variant: Variant,
        mode: CastlingMode,
    ) -> Result<(), PlayerError> {
        self.send("uci")?;
        let mut has_variants = false;
        let mut plays_variant = variant == Variant::Chess;
        let until = Instant::now() + READY_PATIENCE;
        loop {
            let line = self.line(until, "uci", READY_PATIENCE)?;
            if line == "uciok" {
                break;
            }
            if let Some(rest) = line.strip_prefix("option name UCI_Variant type combo") {
                has_variants = true;
                plays_variant |= rest
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .windows(2)
                    .any(|pair| pair == ["var", variant.uci_name()]);
            }
        }
        if !plays_variant {
            return Err(PlayerError::Variant {
                name: self.name.clone(),
                variant: variant.uci_name(),
            });
        }
        for (name, value) in &spec.options {
            self.send(&format!("setoption name {name} value {value}"))?;
        }
        if has_variants {
            self.send(&format!(
                "setoption name UCI_Variant value {}",
                variant.uci_name()
            ))?;
        }
        if mode == CastlingMode::Chess960 {
            self.send("setoption name UCI_Chess960 value true")?;
        }
        self.wait_ready()
    }

    /// Prepares for another game.
    pub(super) fn new_game(&mut self) -> Result<(), PlayerError> {
        self.send("ucinewgame")?;
        self.wait_ready()
    }

    fn wait_ready(&mut self) -> Result<(), PlayerError> {
        self.send("isready")?;
        let until = Instant::now() + READY_PATIENCE;
        while self.line(until, "isready", READY_PATIENCE)? != "readyok" {}
        Ok(())
    }

    /// Asks for a move. `position` is the whole `position` command; `patience` bounds the wait.
    pub(super) fn go(
        &mut self,
        position: &str,
        tempo: Tempo,
        clocks: &Clocks,
        patience: Duration,
    ) -> Result<Answer, PlayerError> {
        self.send(position)?;
        let mut answer = Answer::default();
        let go = go_command(tempo, clocks);
        let started = Instant::now();
        self.send(&go)?;
        let until = started + patience;
        loop {
            let (at, line) = self.stamped_line(until, "go", patience)?;
            if let Some(rest) = line.strip_prefix("bestmove") {
                answer.best = rest.split_whitespace().next().unwrap_or_default().into();
                answer.elapsed = at.saturating_duration_since(started);
                return Ok(answer);
            }
            note_info(&line, &mut answer);
        }
    }

    fn send(&mut self, line: &str) -> Result<(), PlayerError> {
        let written = match self.input.as_mut() {
            Some(input) => writeln!(input, "{line}").and_then(|()| input.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        written.map_err(|_| self.died())
    }

    fn line(
        &self,
        until: Instant,
        to: &'static str,
        patience: Duration,
    ) -> Result<String, PlayerError> {
        self.stamped_line(until, to, patience).map(|(_, line)| line)
    }

    fn stamped_line(
        &self,
        until: Instant,
        to: &'static str,
        patience: Duration,
    ) -> Result<(Instant, String), PlayerError> {
        let left = until.saturating_duration_since(Instant::now());
        self.lines.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Disconnected => self.died(),
            RecvTimeoutError::Timeout => PlayerError::Silent {
                name: self.name.clone(),
                to,
                patience,
            },
        })
    }

    fn died(&self) -> PlayerError {
        PlayerError::Died {
            name: self.name.clone(),
        }
    }
}

impl Drop for Player {
    /// Asks the engine to quit, and kills it if it does not.
    fn drop(&mut self) {
        // A dead engine cannot be asked; it is reaped below all the same.
        drop(self.send("quit"));
        drop(self.input.take());
        let until = Instant::now() + QUIT_PATIENCE;
        let ended = loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break true,
                Err(RecvTimeoutError::Timeout) => break false,
            }
        };
        if !ended {
            // Fails only if the process has ended by itself in the meantime.
            drop(self.child.kill());
        }
        // Either the process closed its output on quitting or it was killed: it ends at once.
        drop(self.child.wait());
    }
}

fn read_lines(mut output: impl BufRead, sender: &SyncSender<(Instant, String)>) {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match output.read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let at = Instant::now();
        let line = String::from_utf8_lossy(&bytes).trim().to_owned();
        if sender.send((at, line)).is_err() {
            return;
        }
    }
}

fn go_command(tempo: Tempo, clocks: &Clocks) -> String {
    match tempo {
        Tempo::Nodes(nodes) => format!("go nodes {nodes}"),
        Tempo::Depth(depth) => format!("go depth {depth}"),
        Tempo::MoveTime(time) => format!("go movetime {}", time.as_millis()),
        Tempo::Clock { .. } => {
            let ms = |time: Duration| time.as_millis();
            format!(
                "go wtime {} btime {} winc {} binc {}",
                ms(clocks.remaining[0]),
                ms(clocks.remaining[1]),
                ms(clocks.increment[0]),
                ms(clocks.increment[1]),
            )
        }
    }
}

/// Keeps what an `info` line says about the first line of thought.
fn note_info(line: &str, answer: &mut Answer) {
    let Some(rest) = line.strip_prefix("info ") else {
        return;
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let after = |key: &str| {
        let at = words.iter().position(|&word| word == key)?;
        words.get(at + 1).copied()
    };
    if words.first() == Some(&"string") || after("multipv").is_some_and(|rank| rank != "1") {
        return;
    }
    if let Some(nodes) = after("nodes").and_then(|word| word.parse().ok()) {
        answer.nodes = nodes;
    }
    let Some(at) = words.iter().position(|&word| word == "score") else {
        return;
    };
    let number = words.get(at + 2).and_then(|word| word.parse().ok());
    answer.score = match (words.get(at + 1), number) {
        (Some(&"cp"), Some(n)) => Some(Score::Cp(n)),
        (Some(&"mate"), Some(n)) => Some(Score::Mate(n)),
        _ => answer.score,
    };
    if let Some(depth) = after("depth").and_then(|word| word.parse().ok()) {
        answer.depth = depth;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_lines_are_kept_for_the_first_line_only() {
        let mut answer = Answer::default();
        note_info(
            "info depth 9 seldepth 12 multipv 1 score cp -31 nodes 5000 nps 9 pv e2e4",
            &mut answer,
        );
        note_info(
            "info depth 9 multipv 2 score cp 900 nodes 1 pv d2d4",
            &mut answer,
        );
        note_info("info string depth 99 score cp 5", &mut answer);
        note_info("info depth 10 currmove e2e4 currmovenumber 1", &mut answer);
        assert_eq!((answer.depth, answer.nodes), (9, 5000));
        assert_eq!(answer.score, Some(Score::Cp(-31)));
        note_info("info depth 11 score mate -2 nodes 6000", &mut answer);
        assert_eq!(answer.score, Some(Score::Mate(-2)));
        note_info("info depth x score cp y", &mut answer);
        assert_eq!(answer.score, Some(Score::Mate(-2)));
    }

    #[test]
    fn go_commands() {
        let clocks = Clocks {
            remaining: [Duration::from_millis(1500), Duration::from_millis(900)],
            increment: [Duration::from_millis(20), Duration::ZERO],
        };
        let clock = Tempo::Clock {
            initial: Duration::from_secs(2),
            increment: Duration::ZERO,
        };
        assert_eq!(
            go_command(clock, &clocks),
            "go wtime 1500 btime 900 winc 20 binc 0"
        );
        assert_eq!(go_command(Tempo::Nodes(7), &clocks), "go nodes 7");
        assert_eq!(go_command(Tempo::Depth(3), &clocks), "go depth 3");
        let time = Tempo::MoveTime(Duration::from_millis(10));
        assert_eq!(go_command(time, &clocks), "go movetime 10");
    }
}
