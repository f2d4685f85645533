//! A mover that knows the rules and counts material: nothing else. It is a test double, the static
//! choice when a search has failed, and the yardstick that every real search must beat.

use std::cmp::Reverse;

use super::limits::SearchLimits;
use super::report::{Bound, ReportOrigin, SearchInfo, SearchReport};
use super::score::Score;
use super::searcher::Searcher;
use super::stop::StopFlag;
use super::time::{Iteration, Situation, TimeManager};
use crate::rules::{Color, History, Move, Outcome, Position, Role, Square, Variant};

/// Value of a won game at the root; each ply to the end takes one off.
const WIN: i32 = 30_000;

/// Values beyond this mean that the game is over at the end of the line.
const WIN_BOUND: i32 = WIN - 1_000;

/// Deepest line searched.
const DEPTH_MAX: u32 = 64;

/// Iterations without any bound given.
const DEPTH_WITHOUT_BOUND: u32 = 4;

/// Material of the side to move minus that of the other side, pockets included, in centipawns.
pub fn balance(position: &Position) -> i32 {
    let turn = position.turn();
    let variant = position.variant();
    let mut sum = 0;
    for index in 0..variant.files() * 8 {
        let square = Square(index);
        if let Some(piece) = position.piece_at(square) {
            let role = if position.is_promoted(square) && variant.has_drops() {
                // It falls back to a pawn, so it is worth less than what it moves like.
                value(variant, piece.role) * 3 / 4
            } else {
                value(variant, piece.role)
            };
            sum += if piece.color == turn { role } else { -role };
        }
    }
    if variant.has_drops() {
        for &role in variant.roles() {
            let count = |color: Color| i32::from(position.pocket(color, role));
            sum += (count(turn) - count(!turn)) * value(variant, role);
        }
    }
    match variant {
        // Who has less is nearer to winning.
        Variant::Antichess | Variant::Suicide | Variant::Losers => -sum,
        _ => sum,
    }
}

fn value(variant: Variant, role: Role) -> i32 {
    let drops = variant.has_drops();
    match role {
        Role::Pawn => 100,
        Role::Knight | Role::Bishop if drops => 220,
        Role::Rook if drops => 260,
        Role::Archbishop if drops => 420,
        Role::Queen | Role::Chancellor if drops => 480,
        Role::Knight => 310,
        Role::Bishop => 330,
        Role::Rook => 500,
        Role::Archbishop => 800,
        Role::Chancellor => 880,
        Role::Queen => 930,
        Role::King => 0,
    }
}

/// Fixed-order alpha-beta on [`balance`], with iterative deepening and without a quiescence
/// search or table. Deterministic under a bound on depth or nodes.
#[derive(Debug, Default)]
pub struct MaterialSearcher {
    nodes: u64,
    node_limit: u64,
    stopped: bool,
}

impl MaterialSearcher {
    fn negamax(
        &mut self,
        position: &Position,
        depth: u32,
        ply: i32,
        window: (i32, i32),
        stop: &StopFlag,
    ) -> i32 {
        self.nodes += 1;
        if self.nodes >= self.node_limit || (self.nodes & 255 == 0 && stop.should_stop()) {
            self.stopped = true;
        }
        if self.stopped {
            return 0;
        }
        if let Some(ending) = position.ending() {
            return match ending.outcome {
                Outcome::Decisive { winner } if winner == position.turn() => WIN - ply,
                Outcome::Decisive { .. } => ply - WIN,
                Outcome::Draw => 0,
            };
        }
        if depth == 0 {
            return balance(position);
        }
        let (mut alpha, beta) = window;
        let mut best = -WIN;
        for candidate in ordered(position) {
            let mut after = position.clone();
            after.play_unchecked(candidate);
            let value = -self.negamax(&after, depth - 1, ply + 1, (-beta, -alpha), stop);
            if self.stopped {
                return 0;
            }
            best = best.max(value);
            alpha = alpha.max(value);
            if alpha >= beta {
                break;
            }
        }
        best
    }

    /// The best root move of an iteration; `None` if it was cut off before a first one was known.
    fn iterate(
        &mut self,
        position: &Position,
        moves: &[Move],
        depth: u32,
        stop: &StopFlag,
    ) -> Option<(Move, i32)> {
        let mut best: Option<(Move, i32)> = None;
        for &candidate in moves {
            let mut after = position.clone();
            after.play_unchecked(candidate);
            let alpha = best.map_or(-WIN, |(_, value)| value);
            let value = -self.negamax(&after, depth - 1, 1, (-WIN, -alpha), stop);
            if self.stopped {
                break;
            }
            if best.is_none_or(|(_, so_far)| value > so_far) {
                best = Some((candidate, value));
            }
        }
        best
    }
}

/// Captures of much by little first; otherwise in the order of generation.
fn ordered(position: &Position) -> Vec<Move> {
    let variant = position.variant();
    let (files, turn) = (position.files(), position.turn());
    let worth = |square: u8| {
        position
            .piece_at(Square(square))
            .map_or(0, |piece| value(variant, piece.role))
    };
    let mut moves: Vec<Move> = position.legal_moves().to_vec();
    moves.sort_by_key(|&candidate| {
        Reverse(if position.is_capture(candidate) {
            10_000 + worth(candidate.to()) * 10 - worth(candidate.from(files, turn))
        } else {
            0
        })
    });
    moves
}

impl Searcher for MaterialSearcher {
    fn search(
        &mut self,
        history: &History,
        limits: &SearchLimits,
        stop: &StopFlag,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        let position = history.position();
        let mut moves = ordered(position);
        if !limits.search_moves.is_empty() {
            moves.retain(|candidate| limits.search_moves.contains(candidate));
        }
        let mut time = TimeManager::new(
            limits,
            Situation {
                variant: position.variant(),
                ply: position.ply(),
                n_legal: moves.len(),
            },
            stop,
        );
        self.nodes = 0;
        self.stopped = false;
        self.node_limit = limits.nodes.unwrap_or(u64::MAX);
        let bounded = limits.nodes.is_some() || limits.is_timed() || limits.infinite;
        let depth_max = limits.depth.unwrap_or(if bounded {
            DEPTH_MAX
        } else {
            DEPTH_WITHOUT_BOUND
        });

        let mut report =
            SearchReport::without_search(moves[0], ReportOrigin::Search, stop.elapsed());
        for depth in 1..=depth_max.clamp(1, DEPTH_MAX) {
            let found = self.iterate(position, &moves, depth, stop);
            let complete = !self.stopped;
            if let Some((best, value)) = found.filter(|_| complete || depth == 1) {
                report.best = best;
                report.score = score_of(value);
                report.depth = depth;
                report.seldepth = depth;
                report.pv = vec![best];
                // The best move so far is looked at first next time.
                if let Some(at) = moves.iter().position(|&candidate| candidate == best) {
                    moves[..=at].rotate_right(1);
                }
                on_info(&info_of(&report, self.nodes, stop));
            }
            let iteration = Iteration {
                depth,
                best: report.best,
                score: report.score,
                effort: 0.5,
            };
            if !complete || time.is_enough(&iteration, stop) {
                break;
            }
        }
        report.nodes = self.nodes;
        report.elapsed = stop.elapsed();
        report
    }

    fn new_game(&mut self) {}

    fn explain(&self, position: &Position) -> Option<String> {
        Some(format!(
            "material: {} cp for the side to move",
            balance(position)
        ))
    }
}

fn score_of(value: i32) -> Score {
    if value >= WIN_BOUND {
        Score::Mate((WIN - value + 1) / 2)
    } else if value <= -WIN_BOUND {
        Score::Mate(-(WIN + value) / 2)
    } else {
        Score::Cp(value)
    }
}

fn info_of(report: &SearchReport, nodes: u64, stop: &StopFlag) -> SearchInfo {
    SearchInfo {
        depth: report.depth,
        seldepth: report.seldepth,
        multi_pv: 1,
        score: report.score,
        bound: Bound::Exact,
        nodes,
        elapsed: stop.elapsed(),
        hash_full_permille: 0,
        pv: report.pv.clone(),
    }
}
