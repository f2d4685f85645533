//! Self-play for training: random openings, few nodes a move, every position with its score.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::record::{GameRecord, PlyRecord, RecordError, Writer};
use crate::engine::limits::SearchLimits;
use crate::engine::network::Networks;
use crate::engine::search::AlphaBeta;
use crate::engine::searcher::Searcher;
use crate::engine::stop::StopFlag;
use crate::engine::transposition::Table;
use crate::rules::{Adjudication, Color, History, Move, Outcome, Position, Variant};

/// How games are made.
#[derive(Clone, Debug)]
pub struct DatagenConfig {
    /// The variant.
    pub variant: Variant,
    /// Games to have in the file in the end, those already there included.
    pub games: u64,
    /// Nodes a move.
    pub nodes: u64,
    /// Random half-moves at the start: at least this many, and up to three more.
    pub random_plies: u32,
    /// Openings worse than this for either side are thrown away, in search units.
    pub imbalance: i32,
    /// Seed of the openings; together with the number of games in the file it decides what comes next.
    pub seed: u64,
    /// Networks that play.
    pub networks: Networks,
    /// Start positions to shuffle into the openings beside the variant's own; may be empty.
    pub starts: Vec<Position>,
    /// Plays one side of every game; without it the networks play both.
    pub rival: Option<Rival>,
}

/// An opponent that sees positions with other eyes. A net that only ever meets itself never learns what it misjudges, since
/// neither side goes there; the result of a game against somebody as strong but different tells.
#[derive(Clone, Debug)]
pub struct Rival {
    /// Networks of the rival.
    pub networks: Networks,
    /// Its nodes a move: as many as make both sides equally strong, or the results would speak of the players.
    pub nodes: u64,
}

/// What came out.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatagenStats {
    /// Games in the file.
    pub games: u64,
    /// Games written by this run.
    pub new_games: u64,
    /// Positions written by this run.
    pub positions: u64,
    /// Those fit for training.
    pub usable: u64,
    /// White's wins, draws, Black's wins of this run.
    pub results: [u64; 3],
    /// Sum of absolute scores of usable positions.
    pub score_sum: u64,
    /// Seconds of this run.
    pub seconds: f64,
}

impl DatagenStats {
    fn add(&mut self, game: &GameRecord) {
        self.games += 1;
        self.new_games += 1;
        self.positions += game.plies.len() as u64;
        for ply in game.plies.iter().filter(|ply| ply.usable) {
            self.usable += 1;
            self.score_sum += u64::from(ply.score.unsigned_abs());
        }
        let slot = match game.result.winner() {
            Some(Color::White) => 0,
            None => 1,
            Some(Color::Black) => 2,
        };
        self.results[slot] += 1;
    }
}

/// A score from which a game is called won when it stands for some moves.
const DECIDED: i32 = 2_200;
const DECIDED_PLIES: u32 = 4;
/// Scores beyond this say nothing a fit could use.
const USABLE_SCORE: i32 = 2_500;

/// A small generator of random numbers (splitmix64).
#[derive(Clone, Copy, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }
}

/// A searcher and its nodes a move.
#[derive(Debug)]
struct Player {
    searcher: AlphaBeta,
    limits: SearchLimits,
}

impl Player {
    fn new(networks: &Networks, nodes: u64) -> Self {
        let table = Arc::new(Table::new(4 << 20));
        Self {
            searcher: AlphaBeta::new(table, 1).with_networks(networks.clone()),
            limits: SearchLimits::nodes(nodes),
        }
    }
}

/// Plays games and appends them to a file until it holds as many as wanted or `stop` says so.
///
/// # Errors
/// If the file cannot be read or written.
pub fn generate(
    config: &DatagenConfig,
    path: &Path,
    stop: &StopFlag,
    mut on_progress: impl FnMut(&DatagenStats),
) -> Result<DatagenStats, RecordError> {
    let (mut writer, present) = Writer::open(path)?;
    let mut stats = DatagenStats {
        games: present,
        ..DatagenStats::default()
    };
    let mut players = vec![Player::new(&config.networks, config.nodes)];
    if let Some(rival) = &config.rival {
        players.push(Player::new(&rival.networks, rival.nodes));
    }
    let begin = Instant::now();
    while stats.games < config.games && !stop.is_stopped() {
        let mut random = Random(
            config
                .seed
                .wrapping_mul(0xD134_2543_DE82_EF95)
                .wrapping_add(stats.games),
        );
        let opening = opening(config, &mut players[0].searcher, &mut random);
        let first = random.below(players.len());
        let Some(game) = play(opening, &mut players, first, stop) else {
            break;
        };
        writer.append(&game)?;
        stats.add(&game);
        stats.seconds = begin.elapsed().as_secs_f64();
        if stats.new_games.is_multiple_of(100) {
            on_progress(&stats);
        }
    }
    Ok(stats)
}

/// A position some random moves away from the start that neither side has lost yet.
fn opening(config: &DatagenConfig, searcher: &mut AlphaBeta, random: &mut Random) -> History {
    loop {
        let start = if config.starts.is_empty() || random.below(4) == 0 {
            Position::start(config.variant)
        } else {
            config.starts[random.below(config.starts.len())].clone()
        };
        let mut history = History::new(start);
        let plies = config.random_plies + random.below(4) as u32;
        let mut alive = true;
        for _ in 0..plies {
            let moves = history.position().legal_moves();
            if moves.is_empty() {
                alive = false;
                break;
            }
            let m = moves[random.below(moves.len())];
            history.play_unchecked(m);
        }
        if !alive || history.position().ending().is_some() {
            continue;
        }
        let history = History::new(history.position().clone());
        let report = searcher.search(
            &history,
            &SearchLimits::nodes(config.nodes * 2),
            &StopFlag::new(),
            &mut |_| {},
        );
        if report.score.centipawns().abs() <= config.imbalance {
            return history;
        }
    }
}

/// Plays a game out, player number `first` beginning; `None` if stopped in the middle.
fn play(
    mut history: History,
    players: &mut [Player],
    first: usize,
    stop: &StopFlag,
) -> Option<GameRecord> {
    let start = history.position().clone();
    let mut plies = Vec::new();
    let mut decided = (0, 0);
    let n_players = players.len();
    for player in players.iter_mut() {
        player.searcher.forget_game();
    }
    let result = loop {
        if stop.is_stopped() {
            return None;
        }
        if let Some(ending) = Adjudication::SEED.verdict(&history).ending {
            break ending.outcome;
        }
        let player = &mut players[(first + plies.len()) % n_players];
        let report =
            player
                .searcher
                .search(&history, &player.limits, &StopFlag::new(), &mut |_| {});
        let score = report.score.centipawns().clamp(-32_000, 32_000);
        let position = history.position();
        plies.push(PlyRecord {
            m: report.best,
            score: score as i16,
            usable: is_usable(position, report.best, score),
        });
        let white = if position.turn() == Color::White {
            score
        } else {
            -score
        };
        let sign = if white >= DECIDED {
            1
        } else if white <= -DECIDED {
            -1
        } else {
            0
        };
        decided = if sign != 0 && sign == decided.0 {
            (sign, decided.1 + 1)
        } else {
            (sign, 0)
        };
        if decided.1 >= DECIDED_PLIES {
            break Outcome::win(if sign > 0 { Color::White } else { Color::Black });
        }
        history.play_unchecked(report.best);
        if plies.len() >= 600 {
            break Outcome::Draw;
        }
    };
    Some(GameRecord {
        start,
        result,
        plies,
    })
}

/// Whether a static evaluation can be expected to see what the search saw: no check, no capture, no promotion, no drop with
/// check about to happen.
fn is_usable(position: &Position, best: Move, score: i32) -> bool {
    if position.in_check()
        || score.abs() > USABLE_SCORE
        || position.is_capture(best)
        || best.is_promotion()
    {
        return false;
    }
    let mut next = position.clone();
    next.play_unchecked(best);
    !next.in_check()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(games: u64, rival: Option<Rival>) -> DatagenConfig {
        DatagenConfig {
            variant: Variant::Crazyhouse,
            games,
            nodes: 40,
            random_plies: 6,
            imbalance: 400,
            seed: 5,
            networks: Networks::none(),
            starts: Vec::new(),
            rival,
        }
    }

    fn run(games: u64, rival: Option<Rival>, path: &Path) -> Vec<u8> {
        generate(&config(games, rival), path, &StopFlag::new(), |_| {}).expect("games");
        std::fs::read(path).expect("it was written")
    }

    #[test]
    fn a_broken_run_against_a_rival_goes_on_as_an_unbroken_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let rival = || {
            Some(Rival {
                networks: Networks::none(),
                nodes: 3,
            })
        };
        let whole = run(4, rival(), &folder.path().join("whole"));
        let broken = folder.path().join("broken");
        run(2, rival(), &broken);
        assert_eq!(run(4, rival(), &broken), whole);
        let alone = run(4, None, &folder.path().join("alone"));
        assert_ne!(alone, whole, "the rival plays one side");
    }
}
