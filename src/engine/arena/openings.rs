//! Where the games of a match begin: positions from a file, or random ones that a search calls even.

use std::collections::HashSet;

use crate::engine::limits::SearchLimits;
use crate::engine::searcher::Searcher;
use crate::engine::stop::StopFlag;
use crate::rules::starts::SplitMix64;
use crate::rules::{CastlingMode, History, Position, Variant};

/// A line of an opening file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("opening file, line {line}: {reason}: {text:?}")]
pub struct OpeningError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
    /// The line.
    pub text: String,
}

/// How random openings are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomOpenings {
    /// Random half-moves from the start; every other opening has one more, so that both colors
    /// are on move.
    pub plies: u32,
    /// Openings that are judged further from even than this are thrown away, in centipawns.
    pub imbalance_cp_max: i32,
    /// Nodes for the judgement.
    pub nodes: u64,
    /// The same seed gives the same openings.
    pub seed: u64,
}

/// Reads an opening file: one opening a line, as FEN or EPD (operations behind `;` or behind the
/// position are skipped) or `startpos`, each with an optional `moves` and moves in UCI notation.
/// Empty lines and lines that begin with `#` are skipped. The order is shuffled by `seed`.
///
/// # Errors
/// The first line that is no legal position with a legal move.
pub fn read_openings(
    text: &str,
    variant: Variant,
    mode: CastlingMode,
    seed: u64,
) -> Result<Vec<History>, OpeningError> {
    let mut openings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.split(';').next().unwrap_or_default().trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let opening = read_opening(content, variant, mode).map_err(|reason| OpeningError {
            line: index + 1,
            reason,
            text: line.to_owned(),
        })?;
        openings.push(opening);
    }
    SplitMix64::new(seed).shuffle(&mut openings);
    Ok(openings)
}

fn read_opening(text: &str, variant: Variant, mode: CastlingMode) -> Result<History, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (setup, moves) = match words.iter().position(|&word| word == "moves") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (&words[..], &[][..]),
    };
    let start = if setup == ["startpos"] {
        Position::start(variant)
    } else {
        let whole = Position::from_fen(variant, mode, &setup.join(" "));
        // An EPD has four fields and then operations.
        whole.or_else(|error| {
            let fields = setup.len().min(4);
            Position::from_fen(variant, mode, &setup[..fields].join(" "))
                .map_err(|_| error.to_string())
        })?
    };
    let mut history = History::new(start);
    for text in moves {
        let played = history
            .position()
            .parse_uci(text)
            .map_err(|error| error.to_string())?;
        history.play_unchecked(played);
    }
    if history.position().ending().is_some() {
        return Err("the game is over already".into());
    }
    Ok(history)
}

/// Source of the openings of a match, one for each pair of games.
pub(super) enum Openings {
    /// From a list, from the beginning again at its end.
    Listed { list: Vec<History>, next: usize },
    /// Made as they are needed.
    Random(Box<Generator>),
}

impl Openings {
    pub(super) fn next(&mut self) -> History {
        match self {
            Openings::Listed { list, next } => {
                let opening = list[*next % list.len()].clone();
                *next += 1;
                opening
            }
            Openings::Random(generator) => generator.next(),
        }
    }
}

/// Makes random openings.
pub(super) struct Generator {
    start: Position,
    plan: RandomOpenings,
    random: SplitMix64,
    judge: Box<dyn Searcher>,
    seen: HashSet<u64>,
    n_made: u32,
}

impl Generator {
    /// Tries after which a seen or uneven opening is taken all the same: some starts have only few
    /// openings, and a match must not wait for ever.
    const TRIES_MAX: u32 = 2_000;

    pub(super) fn new(
        start: Position,
        plan: RandomOpenings,
        judge: Box<dyn Searcher>,
    ) -> Generator {
        Generator {
            start,
            random: SplitMix64::new(plan.seed),
            plan,
            judge,
            seen: HashSet::new(),
            n_made: 0,
        }
    }

    fn next(&mut self) -> History {
        let plies = self.plan.plies + self.n_made % 2;
        self.n_made += 1;
        let mut last = History::new(self.start.clone());
        for _ in 0..Self::TRIES_MAX {
            let Some(candidate) = self.random_line(plies) else {
                continue;
            };
            if self.seen.contains(&candidate.position().key()) || !self.is_even(&candidate) {
                last = candidate;
                continue;
            }
            last = candidate;
            break;
        }
        self.seen.insert(last.position().key());
        last
    }

    /// `None`: the game ended on the way.
    fn random_line(&mut self, plies: u32) -> Option<History> {
        let mut history = History::new(self.start.clone());
        for _ in 0..plies {
            let moves = history.position().legal_moves();
            let n = u32::try_from(moves.len()).ok().filter(|&n| n > 0)?;
            // Below the number of moves, so the index fits.
            let chosen = moves[self.random.below(n) as usize];
            history.play_unchecked(chosen);
        }
        history.position().ending().is_none().then_some(history)
    }

    fn is_even(&mut self, history: &History) -> bool {
        let limits = SearchLimits::nodes(self.plan.nodes);
        let report = self
            .judge
            .search(history, &limits, &StopFlag::new(), &mut |_| {});
        report.score.centipawns().abs() <= self.plan.imbalance_cp_max
    }
}
