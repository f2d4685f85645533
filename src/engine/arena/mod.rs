//! Matches between engines: the judge of every change to the search.
//!
//! Each engine is a UCI program in its own process, ours included, so that a crash of one is its
//! loss and nothing else. We are the arbiter: our rules check every move, our clock measures it.

mod game;
mod openings;
mod player;
mod record;
pub mod spec;
pub mod statistics;
mod tally;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

pub use game::{Arbiter, DrawRule, GameEnd, GameRecord, MoveNote, ScoreRule};
use openings::{Generator, Openings};
pub use openings::{OpeningError, RandomOpenings, read_openings};
use player::Player;
pub use player::PlayerError;
pub use record::pgn;
use spec::{EngineSpec, Tempo};
use statistics::{Decision, Sprt};
pub use tally::{Effort, Faults, Tally};

use super::searcher::Searcher;
use crate::rules::{CastlingMode, Color, History, Position, Variant};

/// Where the games begin.
#[derive(Clone, Debug)]
pub enum OpeningChoice {
    /// These, one after the other; not empty.
    Listed(Vec<History>),
    /// Random ones.
    Random(RandomOpenings),
    /// The start position of the variant, for every game.
    Start,
}

/// A match to be played.
#[derive(Clone, Debug)]
pub struct MatchConfig {
    /// The engines; scores are the first one's.
    pub engines: [EngineSpec; 2],
    /// The program to run for engines without a command.
    pub own_program: PathBuf,
    /// Rule set.
    pub variant: Variant,
    /// Castling rules and notation.
    pub mode: CastlingMode,
    /// Bounds of moves for engines that have none of their own.
    pub tempo: Tempo,
    /// Games to play at most; an odd number is rounded up to whole pairs.
    pub games: u32,
    /// Games at the same time.
    pub concurrency: usize,
    /// Where they begin.
    pub openings: OpeningChoice,
    /// Rules of the match.
    pub arbiter: Arbiter,
    /// Ends the match as soon as it is decided.
    pub sprt: Option<Sprt>,
}

/// Why a match could not go on.
#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// An engine cannot be started.
    #[error(transparent)]
    Player(#[from] PlayerError),
    /// A list of openings without any.
    #[error("there are no openings")]
    NoOpenings,
}

/// A finished game, told while the match goes on.
#[derive(Clone, Debug)]
pub struct Played {
    /// Number of the pair, from 0.
    pub pair: u32,
    /// Color of the first engine.
    pub first_is: Color,
    /// The game.
    pub game: GameRecord,
}

/// Plays a match. `on_game` sees each finished game and the score with it. `judge` judges random
/// openings. Raising `stop` ends the match after the running games.
///
/// # Errors
/// If an engine cannot be started, at the beginning or again after a crash.
pub fn play_match(
    config: &MatchConfig,
    judge: Box<dyn Searcher>,
    stop: &AtomicBool,
    on_game: &mut dyn FnMut(&Played, &Tally),
) -> Result<Tally, MatchError> {
    let openings = Mutex::new(openings(config, judge)?);
    let names = config.engines.each_ref().map(|engine| engine.name.clone());
    let mut tally = Tally::new(names, config.sprt);
    let next_pair = AtomicU32::new(0);
    let pairs = config.games.div_ceil(2);
    let (sender, receiver) = sync_channel(config.concurrency.max(1) * 2);
    let mut failure = None;
    thread::scope(|scope| {
        for _ in 0..config.concurrency.max(1) {
            let sender = sender.clone();
            let (openings, next_pair) = (&openings, &next_pair);
            scope.spawn(move || {
                let worker = Worker {
                    config,
                    openings,
                    next_pair,
                    pairs,
                    stop,
                };
                if let Err(error) = worker.play_pairs(&sender) {
                    // If the match is over already, nobody needs to know.
                    drop(sender.send(Err(error)));
                }
            });
        }
        drop(sender);
        while let Ok(message) = receiver.recv() {
            match message {
                Ok(played) => {
                    tally.add(played.pair, played.first_is, &played.game);
                    on_game(&played, &tally);
                    let decision = tally.decision().unwrap_or(Decision::Continue);
                    if decision != Decision::Continue {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                Err(error) => {
                    failure.get_or_insert(error);
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(tally),
    }
}

fn openings(config: &MatchConfig, judge: Box<dyn Searcher>) -> Result<Openings, MatchError> {
    let start = || {
        Position::from_fen(config.variant, config.mode, config.variant.start_fen())
            .expect("the start position of a variant is legal")
    };
    Ok(match &config.openings {
        OpeningChoice::Listed(list) if list.is_empty() => return Err(MatchError::NoOpenings),
        OpeningChoice::Listed(list) => Openings::Listed {
            list: list.clone(),
            next: 0,
        },
        OpeningChoice::Random(plan) => {
            Openings::Random(Box::new(Generator::new(start(), *plan, judge)))
        }
        OpeningChoice::Start => Openings::Listed {
            list: vec![History::new(start())],
            next: 0,
        },
    })
}

/// One of the threads that play.
struct Worker<'a> {
    config: &'a MatchConfig,
    openings: &'a Mutex<Openings>,
    next_pair: &'a AtomicU32,
    pairs: u32,
    stop: &'a AtomicBool,
}

type Message = Result<Played, MatchError>;

impl Worker<'_> {
    fn play_pairs(&self, sender: &SyncSender<Message>) -> Result<(), MatchError> {
        let mut players = [self.start(0)?, self.start(1)?];
        while !self.stop.load(Ordering::Relaxed) {
            let pair = self.next_pair.fetch_add(1, Ordering::Relaxed);
            if pair >= self.pairs {
                break;
            }
            let opening = self
                .openings
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .next();
            for first_is in Color::ALL {
                let game = self.play_game(&mut players, first_is, &opening)?;
                let played = Played {
                    pair,
                    first_is,
                    game,
                };
                if sender.send(Ok(played)).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn start(&self, index: usize) -> Result<Player, MatchError> {
        let config = self.config;
        let player = Player::start(
            &config.engines[index],
            &config.own_program,
            config.variant,
            config.mode,
        )?;
        Ok(player)
    }

    fn play_game(
        &self,
        players: &mut [Player; 2],
        first_is: Color,
        opening: &History,
    ) -> Result<GameRecord, MatchError> {
        for (index, player) in players.iter_mut().enumerate() {
            if player.new_game().is_err() {
                *player = self.start(index)?;
            }
        }
        let tempo = |index: usize| {
            self.config.engines[index]
                .tempo
                .unwrap_or(self.config.tempo)
        };
        let [first, second] = players;
        let game = if first_is == Color::White {
            let tempi = [tempo(0), tempo(1)];
            game::play([first, second], tempi, opening, &self.config.arbiter)
        } else {
            let tempi = [tempo(1), tempo(0)];
            game::play([second, first], tempi, opening, &self.config.arbiter)
        };
        // A program that failed is not trusted with another game.
        if let Some(culprit) = game.end.culprit()
            && !matches!(game.end, GameEnd::Illegal(..))
        {
            let index = usize::from(culprit != first_is);
            players[index] = self.start(index)?;
        }
        Ok(game)
    }
}
