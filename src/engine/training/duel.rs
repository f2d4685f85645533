//! Games between two settings of the search, in one process and at fixed nodes: the quickest way to compare them.

use std::sync::Arc;

use super::datagen::Random;
use crate::engine::evaluation::weights::Weights;
use crate::engine::limits::SearchLimits;
use crate::engine::network::Networks;
use crate::engine::search::AlphaBeta;
use crate::engine::search::params::Params;
use crate::engine::searcher::Searcher;
use crate::engine::stop::StopFlag;
use crate::engine::transposition::Table;
use crate::rules::{Adjudication, Color, History, Outcome, Position, Variant};

/// Two searchers and what they play.
#[derive(Debug)]
pub struct Duel {
    variant: Variant,
    nodes: u64,
    players: [AlphaBeta; 2],
}

impl Duel {
    /// Two searchers of equal means.
    #[must_use]
    pub fn new(variant: Variant, nodes: u64, networks: &Networks) -> Self {
        let player = || {
            let table = Arc::new(Table::new(8 << 20));
            AlphaBeta::new(table, 1).with_networks(networks.clone())
        };
        Self {
            variant,
            nodes,
            players: [player(), player()],
        }
    }

    /// The first searcher evaluates with these weights from now on. They stay in memory until the program ends.
    pub fn set_first_weights(&mut self, weights: Weights) {
        self.players[0].set_weights(Box::leak(Box::new(weights)));
    }

    /// A random opening that is about even.
    fn opening(&mut self, random: &mut Random) -> Position {
        loop {
            let mut history = History::new(Position::start(self.variant));
            let plies = 6 + random.below(3);
            for _ in 0..plies {
                let moves = history.position().legal_moves();
                if moves.is_empty() {
                    break;
                }
                history.play_unchecked(moves[random.below(moves.len())]);
            }
            if history.position().ending().is_some() {
                continue;
            }
            let position = history.position().clone();
            let limits = SearchLimits::nodes(self.nodes * 2);
            let report = self.players[0].search(
                &History::new(position.clone()),
                &limits,
                &StopFlag::new(),
                &mut |_| {},
            );
            if report.score.centipawns().abs() <= 120 {
                return position;
            }
        }
    }

    /// One game; points of the first searcher in halves: 0, 1 or 2.
    fn game(&mut self, start: &Position, first_is_white: bool) -> i32 {
        let mut history = History::new(start.clone());
        for player in &mut self.players {
            player.forget_game();
        }
        let limits = SearchLimits::nodes(self.nodes);
        let mut decided = 0;
        let outcome = loop {
            if let Some(ending) = Adjudication::SEED.verdict(&history).ending {
                break ending.outcome;
            }
            let is_white = history.position().turn() == Color::White;
            let player = usize::from(is_white != first_is_white);
            let report =
                self.players[player].search(&history, &limits, &StopFlag::new(), &mut |_| {});
            let cp = report.score.centipawns();
            let white = if is_white { cp } else { -cp };
            decided = if white.abs() < 2_000 {
                0
            } else if decided == 0 || (decided > 0) == (white > 0) {
                decided + white.signum()
            } else {
                white.signum()
            };
            if decided.abs() >= 6 {
                let winner = if decided > 0 {
                    Color::White
                } else {
                    Color::Black
                };
                break Outcome::win(winner);
            }
            history.play_unchecked(report.best);
        };
        match outcome.winner() {
            None => 1,
            Some(winner) if (winner == Color::White) == first_is_white => 2,
            Some(_) => 0,
        }
    }

    /// A pair of games from one opening with colors reversed; points of the first parameters in halves, 0 to 4.
    pub fn pair(&mut self, params: [Params; 2], random: &mut Random) -> i32 {
        for (player, params) in self.players.iter_mut().zip(params) {
            player.set_params(params);
        }
        let start = self.opening(random);
        self.game(&start, true) + self.game(&start, false)
    }
}
