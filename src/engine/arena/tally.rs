//! The score of a match so far, and its summary in words.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use super::game::{GameEnd, GameRecord};
use super::statistics::{Decision, EloEstimate, Pentanomial, Sprt};
use crate::rules::{Color, Outcome};

/// What went wrong on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Illegal moves.
    pub illegal: u32,
    /// Games lost on time.
    pub time_losses: u32,
    /// Programs that ended or had to be killed.
    pub crashes: u32,
}

impl Faults {
    /// All of them.
    pub fn total(self) -> u32 {
        self.illegal + self.time_losses + self.crashes
    }
}

/// How an engine worked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Moves it thought about.
    pub moves: u64,
    /// Sum of nodes it said.
    pub nodes: u64,
    /// Sum of depths it said.
    pub depth: u64,
    /// Time it took, by our clock.
    pub time: Duration,
    /// Moves that took longer than their fixed time.
    pub late: u64,
    /// Longest single move, by our clock.
    pub longest: Duration,
}

/// The score of a match.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Names of the engines.
    pub names: [String; 2],
    /// The first engine's wins, draws and losses.
    pub wins_draws_losses: [u32; 3],
    /// White's wins, draws and losses.
    pub white: [u32; 3],
    /// Finished pairs.
    pub pentanomial: Pentanomial,
    /// Per engine.
    pub faults: [Faults; 2],
    /// Per engine.
    pub effort: [Effort; 2],
    /// How games ended.
    pub ends: BTreeMap<String, u32>,
    /// Sum of half-moves, openings included.
    pub plies: u64,
    sprt: Option<Sprt>,
    /// First game of pairs that wait for their second: the first engine's half-points.
    half_pairs: HashMap<u32, usize>,
}

impl Tally {
    pub(super) fn new(names: [String; 2], sprt: Option<Sprt>) -> Tally {
        Tally {
            names,
            wins_draws_losses: [0; 3],
            white: [0; 3],
            pentanomial: Pentanomial::default(),
            faults: [Faults::default(); 2],
            effort: [Effort::default(); 2],
            ends: BTreeMap::new(),
            plies: 0,
            sprt,
            half_pairs: HashMap::new(),
        }
    }

    /// Games counted.
    pub fn games(&self) -> u32 {
        self.wins_draws_losses.iter().sum()
    }

    /// Rating difference of the first engine over the second.
    pub fn elo(&self) -> Option<EloEstimate> {
        self.pentanomial.elo()
    }

    /// Where the sequential test stands, if there is one.
    pub fn decision(&self) -> Option<Decision> {
        self.sprt.map(|sprt| sprt.decide(&self.pentanomial))
    }

    /// Counts a game of a pair; `first_is` is the color of the first engine.
    pub(super) fn add(&mut self, pair: u32, first_is: Color, game: &GameRecord) {
        let from = |color: Color| match game.outcome {
            Outcome::Draw => 1,
            Outcome::Decisive { winner } if winner == color => 0,
            Outcome::Decisive { .. } => 2,
        };
        self.wins_draws_losses[from(first_is)] += 1;
        self.white[from(Color::White)] += 1;
        let half_points = 2 - from(first_is);
        match self.half_pairs.remove(&pair) {
            Some(other) => self.pentanomial.add(half_points + other),
            None => {
                self.half_pairs.insert(pair, half_points);
            }
        }
        self.plies += game.history.moves().len() as u64;
        self.count_end(first_is, &game.end);
        self.count_effort(first_is, game);
    }

    fn count_end(&mut self, first_is: Color, end: &GameEnd) {
        let text = match end {
            GameEnd::Illegal(..) => "illegal move".to_owned(),
            other => other.to_string(),
        };
        *self.ends.entry(text).or_default() += 1;
        if let Some(culprit) = end.culprit() {
            let faults = &mut self.faults[usize::from(culprit != first_is)];
            match end {
                GameEnd::Illegal(..) => faults.illegal += 1,
                GameEnd::TimeLoss(_) => faults.time_losses += 1,
                _ => faults.crashes += 1,
            }
        }
    }

    fn count_effort(&mut self, first_is: Color, game: &GameRecord) {
        let last_mover = !game.history.position().turn();
        let n_notes = game.notes.len();
        for (index, note) in game.notes.iter().enumerate() {
            let mover = if (n_notes - 1 - index).is_multiple_of(2) {
                last_mover
            } else {
                !last_mover
            };
            let effort = &mut self.effort[usize::from(mover != first_is)];
            effort.moves += 1;
            effort.nodes += note.nodes;
            effort.depth += u64::from(note.depth);
            effort.time += note.elapsed;
            effort.late += u64::from(note.late);
            effort.longest = effort.longest.max(note.elapsed);
        }
    }
}

impl fmt::Display for Tally {
    /// Several lines: score, rating, test, ends, what the engines did.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [wins, draws, losses] = self.wins_draws_losses;
        let [first, second] = &self.names;
        let games = self.games();
        writeln!(
            f,
            "{first} vs {second}: {games} games, +{wins} ={draws} -{losses}"
        )?;
        if let Some(elo) = self.elo() {
            writeln!(
                f,
                "Elo {:+.1} +- {:.1} [{:+.1}, {:+.1}] (95 %), superiority {:.1} %, pairs {:?}",
                elo.elo,
                elo.error(),
                elo.low,
                elo.high,
                100.0 * elo.superiority,
                self.pentanomial.0
            )?;
        }
        if let Some(sprt) = &self.sprt {
            let (lower, upper) = sprt.bounds();
            let verdict = match sprt.decide(&self.pentanomial) {
                Decision::AcceptH0 => "accepted: H0",
                Decision::AcceptH1 => "accepted: H1",
                Decision::Continue => "undecided",
            };
            writeln!(
                f,
                "SPRT [{}, {}]: LLR {:.2} in ({lower:.2}, {upper:.2}), {verdict}",
                sprt.elo0,
                sprt.elo1,
                sprt.log_likelihood_ratio(&self.pentanomial),
            )?;
        }
        let [white_wins, white_draws, white_losses] = self.white;
        write!(f, "White +{white_wins} ={white_draws} -{white_losses}, ")?;
        writeln!(f, "{:.0} plies a game, ends:", per(self.plies, games))?;
        for (end, count) in &self.ends {
            writeln!(f, "  {count} {end}")?;
        }
        for (name, (faults, effort)) in self.names.iter().zip(self.faults.iter().zip(&self.effort))
        {
            let seconds = effort.time.as_secs_f64().max(1e-9);
            writeln!(
                f,
                "{name}: {} illegal, {} time losses, {} crashes, {} late; a move: {:.0} nodes, depth {:.1}, \
                 {:.1} ms (longest {:.0} ms), {:.0} knps",
                faults.illegal,
                faults.time_losses,
                faults.crashes,
                effort.late,
                per(effort.nodes, effort.moves),
                per(effort.depth, effort.moves),
                1e3 * effort.time.as_secs_f64() / (effort.moves.max(1) as f64),
                1e3 * effort.longest.as_secs_f64(),
                effort.nodes as f64 / seconds / 1e3,
            )?;
        }
        Ok(())
    }
}

/// Mean for display; the counts are far below where the conversion would lose digits.
fn per(sum: u64, count: impl Into<u64>) -> f64 {
    sum as f64 / count.into().max(1) as f64
}
