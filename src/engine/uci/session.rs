//! The state of a conversation with a GUI.

use std::io::{self, Write};
use std::time::Duration;

use super::command::{self, Command, Go};
use super::options::{Change, Options};
use super::thinker::{Gone, Job, Output, Thinker};
use crate::engine::NewSearcher;
use crate::engine::limits::{ClockLimits, SearchLimits};
use crate::engine::score::Score;
use crate::engine::stop::StopFlag;
use crate::engine::strength;
use crate::rules::{Color, FenError, History, Position, PositionError};

/// A stopped search ends within milliseconds; one that takes longer than this is broken.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Session {
    options: Options,
    /// `None`: the last `position` was refused, so there is nothing to search.
    history: Option<History>,
    thinker: Thinker,
    output: Output,
    /// Flag of the last search or perft.
    stop: StopFlag,
    /// Options changed that the searcher has not been built for yet.
    config_is_stale: bool,
}

impl Session {
    pub(super) fn start(
        output: impl Write + Send + 'static,
        new_searcher: NewSearcher,
    ) -> io::Result<Session> {
        let options = Options::default();
        let output = Output::new(output);
        let thinker = Thinker::start(options.engine.clone(), new_searcher, output.clone())?;
        Ok(Session {
            history: Some(History::new(Position::start(options.variant))),
            options,
            thinker,
            output,
            stop: StopFlag::new(),
            config_is_stale: false,
        })
    }

    pub(super) fn remark(&self, text: &str) {
        self.output.remark(text);
    }

    /// Answers a line; `false`: the conversation is over.
    pub(super) fn attend(&mut self, line: &str) -> bool {
        let done = match command::parse(line) {
            Ok(Command::Quit) => return false,
            Ok(command) => self.obey(command),
            Err(error) => {
                self.remark(&error.to_string());
                Ok(())
            }
        };
        if let Err(gone) = done {
            self.remark(&format!("error: {gone}"));
            return false;
        }
        !self.output.is_broken()
    }

    /// Ends a running search and lets it print its answer.
    pub(super) fn finish(&mut self) {
        self.halt();
        if !self.thinker.wait_idle(PATIENCE) {
            self.remark("error: the search does not stop; leaving it behind");
        }
    }

    fn obey(&mut self, command: Command) -> Result<(), Gone> {
        match command {
            Command::Empty | Command::Ignored | Command::Quit => {}
            Command::Uci => self.introduce(),
            Command::IsReady => return self.say_ready(),
            Command::SetOption { name, value } => return self.set_option(&name, value.as_deref()),
            Command::NewGame => {
                if self.wait_for_search() {
                    self.configure()?;
                    self.thinker.send(Job::NewGame)?;
                }
            }
            Command::Position { fen, moves } => self.set_position(fen.as_deref(), &moves),
            Command::Go(go) => return self.go(&go),
            Command::Stop => self.halt(),
            Command::PonderHit => {
                self.stop.ponder_hit();
                self.thinker.flag_changed();
            }
            Command::Display => self.display(),
            Command::Eval => {
                // What is shown has to be what a search would use, so options take effect first.
                if self.thinker.is_idle() {
                    self.configure()?;
                }
                if let Some(history) = &self.history {
                    let position = Box::new(history.position().clone());
                    return self.thinker.send(Job::Explain(position));
                }
            }
            Command::Bench { depth } => {
                if self.wait_for_search() {
                    return self.thinker.send(Job::Bench(depth));
                }
            }
        }
        Ok(())
    }

    fn introduce(&self) {
        let version = env!("CARGO_PKG_VERSION");
        self.output.line(&format!("id name Seneschal {version}"));
        self.output.line("id author the Seneschal developers");
        for line in Options::declarations() {
            self.output.line(&line);
        }
        self.output.line("uciok");
    }

    /// While a search runs the answer comes at once; otherwise when all options are in force and a new game is made ready.
    fn say_ready(&mut self) -> Result<(), Gone> {
        if !self.thinker.is_thinking() {
            self.configure()?;
            if let Some(history) = &self.history {
                let position = Box::new(history.position().clone());
                self.thinker.send(Job::Expect(position))?;
            }
            self.thinker.send(Job::Sync)
        } else {
            self.output.line("readyok");
            Ok(())
        }
    }

    fn set_option(&mut self, name: &str, value: Option<&str>) -> Result<(), Gone> {
        match self.options.set(name, value) {
            Ok(Change::Noted) => {}
            Ok(Change::Rules) => self.set_position(None, &[]),
            Ok(Change::Engine) => self.config_is_stale = true,
            Ok(Change::ClearHash) => {
                if self.wait_for_search() {
                    return self.thinker.send(Job::NewGame);
                }
            }
            Err(error) => self.remark(&error.to_string()),
        }
        Ok(())
    }

    fn configure(&mut self) -> Result<(), Gone> {
        if std::mem::take(&mut self.config_is_stale) {
            self.thinker
                .send(Job::Configure(self.options.engine.clone()))?;
        }
        Ok(())
    }

    fn set_position(&mut self, fen: Option<&str>, moves: &[String]) {
        let Options {
            variant,
            castling_mode,
            ..
        } = self.options;
        let fen = fen.unwrap_or(variant.start_fen());
        let start = Position::from_fen(variant, castling_mode, fen).or_else(|error| {
            // Some libraries leave the rights of the standard start in variants without castling;
            // they say nothing there, and the game must not be lost for them.
            let FenError::Position {
                error: PositionError::CastlingForbidden { .. },
                ..
            } = error
            else {
                return Err(error);
            };
            self.remark(&format!("castling rights mean nothing here: {error}"));
            Position::from_fen(variant, castling_mode, &without_castling(fen))
        });
        let start = match start {
            Ok(start) => start,
            Err(error) => {
                self.remark(&format!("position refused: {error}"));
                self.history = None;
                return;
            }
        };
        let mut history = History::new(start);
        for text in moves {
            let played = match history.position().parse_uci(text) {
                Ok(played) => played,
                Err(error) => {
                    self.remark(&format!("position refused: {error}"));
                    self.history = None;
                    return;
                }
            };
            if let Err(error) = history.play(played) {
                self.remark(&format!("position refused: {error}"));
                self.history = None;
                return;
            }
        }
        self.history = Some(history);
    }

    fn go(&mut self, go: &Go) -> Result<(), Gone> {
        // The clock runs from here on.
        let stop = StopFlag::new();
        for word in &go.unknown {
            self.remark(&format!("go: unknown word {word:?}"));
        }
        if !self.wait_for_search() {
            return Ok(());
        }
        let Some(history) = self.history.clone() else {
            self.remark("no position to search: the last one was refused");
            self.output.line("bestmove (none)");
            return Ok(());
        };
        self.configure()?;
        self.stop = stop.clone();
        if let Some(depth) = go.perft {
            return self.thinker.send(Job::Perft {
                position: Box::new(history.position().clone()),
                depth,
                stop,
            });
        }
        if !history.position().has_legal_move() {
            let position = history.position();
            let winner = position.ending().and_then(|end| end.outcome.winner());
            let score = match winner {
                Some(winner) if winner == position.turn() => Score::Mate(1),
                Some(_) => Score::Mate(0),
                None => Score::DRAW,
            };
            self.output.line(&format!("info depth 0 score {score}"));
            self.output.line("bestmove (none)");
            return Ok(());
        }
        let limits = self.limits(go, history.position());
        if go.ponder {
            stop.start_pondering();
        }
        self.thinker.send(Job::Search {
            history: Box::new(history),
            limits: Box::new(limits),
            stop,
        })
    }

    fn limits(&self, go: &Go, position: &Position) -> SearchLimits {
        let mut search_moves = Vec::new();
        for text in &go.search_moves {
            match position.parse_uci(text) {
                Ok(candidate) => search_moves.push(candidate),
                Err(error) => self.remark(&format!("searchmoves: {error}")),
            }
        }
        let mut limits = SearchLimits {
            depth: go.depth,
            nodes: go.nodes,
            move_time: go.move_time,
            clock: self.clock(go, position.turn()),
            overhead: self.options.overhead,
            infinite: go.infinite,
            ponder: go.ponder,
            multi_pv: self.options.multi_pv,
            search_moves,
            mate: go.mate,
            max_think: None,
        };
        let bounded = limits.depth.is_some()
            || limits.nodes.is_some()
            || limits.mate.is_some()
            || limits.is_timed();
        // A bare `go` runs until `stop`.
        limits.infinite |= !bounded;
        if let Some(elo) = self.options.elo {
            strength::limit(&mut limits, elo);
        }
        limits
    }

    fn clock(&self, go: &Go, turn: Color) -> Option<ClockLimits> {
        let (own, own_increment, other, other_increment) = match turn {
            Color::White => (
                go.white_time,
                go.white_increment,
                go.black_time,
                go.black_increment,
            ),
            Color::Black => (
                go.black_time,
                go.black_increment,
                go.white_time,
                go.white_increment,
            ),
        };
        own.map(|remaining| ClockLimits {
            remaining,
            increment: own_increment.unwrap_or_default(),
            opponent_remaining: other.unwrap_or(remaining),
            opponent_increment: other_increment.unwrap_or_default(),
            moves_to_go: go.moves_to_go.filter(|&n| n > 0),
            overhead: self.options.overhead,
        })
    }

    fn halt(&self) {
        self.stop.stop();
        self.thinker.flag_changed();
    }

    /// Ends a search that still runs, since the GUI wants something else now.
    fn wait_for_search(&self) -> bool {
        if self.thinker.is_idle() {
            return true;
        }
        self.halt();
        let idle = self.thinker.wait_idle(PATIENCE);
        if !idle {
            self.remark("error: the search does not stop");
        }
        idle
    }

    fn display(&self) {
        let Some(history) = &self.history else {
            self.remark("no position: the last one was refused");
            return;
        };
        for line in super::board::drawing(history.position()) {
            self.output.line(&line);
        }
    }
}

/// The FEN with no castling rights: its third field.
fn without_castling(fen: &str) -> String {
    let fields = fen.split_whitespace().enumerate();
    let changed: Vec<&str> = fields
        .map(|(index, field)| if index == 2 { "-" } else { field })
        .collect();
    changed.join(" ")
}
