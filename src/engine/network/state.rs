//! The network at work in one search thread: hidden values for the line searched, brought up to date when asked for.
//!
//! Nothing has to be told about moves. A ply's values are known to be those of its position by the position's key; for a
//! new position they come from the nearest earlier ply that is up to date, by the difference of the two positions.

use std::sync::Arc;

use super::file::{HIDDEN_ONE, Network, OUTPUT_ONE};
use super::inputs::{Changes, Inputs};
use super::kernel::{Block, Kernel};
use crate::engine::evaluation::weights::Weights;
use crate::engine::evaluation::{MAX_EVAL, evaluate, is_barren};
use crate::rules::Color;
use crate::rules::pos::Pos;
use crate::rules::variants::Rules;

/// Plies looked back for values to start from; beyond, starting from nothing is as fast.
const LOOK_BACK: usize = 8;
/// Mark of values that belong to no position.
const NO_KEY: u64 = 0;

/// Hidden values last seen with a king in one place, for nets whose input weights depend on it.
#[derive(Clone, Debug)]
struct Cached<R: Rules> {
    pos: Option<Pos<R>>,
    values: Vec<Block>,
}

/// Hidden values of every ply.
#[derive(Debug)]
pub struct NetworkState<R: Rules> {
    network: Arc<Network>,
    kernel: Kernel,
    /// Blocks of one view.
    width: usize,
    /// By ply, view, block.
    values: Vec<Block>,
    /// Key of the position whose values they are, by ply and view.
    keys: Vec<[u64; 2]>,
    /// Sets of input weights they were made with, by ply and view.
    sets: Vec<[u8; 2]>,
    changes: Changes,
    /// By view and set; empty if there is one set only.
    cache: Vec<Cached<R>>,
}

impl<R: Rules> NetworkState<R> {
    /// Room for lines of `plies` positions.
    ///
    /// # Panics
    /// If the network is for another variant.
    #[must_use]
    pub fn new(network: Arc<Network>, plies: usize) -> Self {
        Self::with_kernel(network, plies, Kernel::default())
    }

    /// As [`Self::new`], with a chosen kernel.
    ///
    /// # Panics
    /// If the network is for another variant.
    #[must_use]
    pub fn with_kernel(network: Arc<Network>, plies: usize, kernel: Kernel) -> Self {
        assert_eq!(network.variant, R::VARIANT, "a network of another variant");
        let width = network.hidden_biases.len();
        let cached = Cached {
            pos: None,
            values: vec![Block::ZERO; width],
        };
        let n_cached = if network.king_buckets > 1 {
            2 * network.king_buckets
        } else {
            0
        };
        Self {
            kernel,
            width,
            values: vec![Block::ZERO; plies * 2 * width],
            keys: vec![[NO_KEY; 2]; plies],
            sets: vec![[0; 2]; plies],
            changes: Changes::default(),
            cache: vec![cached; n_cached],
            network,
        }
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Output for the position at `ply` of a line for the side to move, in search units.
    ///
    /// `positions` holds the line: what was before `ply` when `ply` was reached.
    ///
    /// # Panics
    /// If the line is longer than there is room for.
    #[inline]
    #[must_use]
    pub fn evaluate(&mut self, positions: &[Pos<R>], ply: usize) -> i32 {
        if self.network.king_buckets == 1 {
            self.follow(positions, ply);
        } else {
            for view in Color::ALL {
                self.follow_king(positions, ply, view);
            }
        }
        let pos = &positions[ply];
        let bucket = Inputs::<R>::output_bucket(pos);
        let (white, black) =
            self.values[ply * 2 * self.width..][..2 * self.width].split_at(self.width);
        let (own, enemy) = match pos.turn() {
            Color::White => (white, black),
            Color::Black => (black, white),
        };
        let weights = &self.network.output_weights[bucket * 2 * self.width..][..2 * self.width];
        let sum = self.kernel.output(own, enemy, weights);
        value_of(sum, self.network.output_biases[bucket], self.network.scale)
    }

    /// Value of the position at `ply` of a line for the side to move, in search units: the network's, together with the
    /// hand-written evaluation by `weights` if the network is a correction of it.
    #[inline]
    #[must_use]
    pub fn value(&mut self, positions: &[Pos<R>], ply: usize, weights: &Weights) -> i32 {
        if !self.network.is_correction() {
            return self.evaluate(positions, ply);
        }
        let pos = &positions[ply];
        let by_hand = evaluate(pos, weights);
        if is_barren(pos) {
            return by_hand;
        }
        (by_hand + self.evaluate(positions, ply)).clamp(-MAX_EVAL, MAX_EVAL)
    }

    #[inline(always)]
    fn is_current(&self, positions: &[Pos<R>], ply: usize) -> bool {
        let key = positions[ply].key();
        self.keys[ply] == [key; 2] && key != NO_KEY
    }

    /// One set of input weights: both views change together.
    #[inline]
    fn follow(&mut self, positions: &[Pos<R>], ply: usize) {
        if self.is_current(positions, ply) {
            return;
        }
        let nearest = (ply.saturating_sub(LOOK_BACK)..ply)
            .rev()
            .find(|&earlier| self.is_current(positions, earlier));
        match nearest {
            Some(earlier) => {
                // The parent's values serve its other children too.
                if earlier + 1 < ply {
                    self.step(positions, earlier, ply - 1);
                }
                self.step(positions, ply - 1, ply);
            }
            None => self.start(positions, ply),
        }
    }

    /// From the values at `from` to those at `to`, which lies later.
    #[inline]
    fn step(&mut self, positions: &[Pos<R>], from: usize, to: usize) {
        Inputs::<R>::compare(&positions[from], &positions[to], &mut self.changes);
        let size = 2 * self.width;
        let (before, after) = self.values.split_at_mut(to * size);
        for view in Color::ALL {
            let offset = view.index() * self.width;
            self.kernel.update(
                &before[from * size + offset..][..self.width],
                &mut after[offset..][..self.width],
                &self.network.input_weights,
                self.changes.added(view),
                self.changes.removed(view),
            );
        }
        self.keys[to] = [positions[to].key(); 2];
    }

    /// From nothing.
    fn start(&mut self, positions: &[Pos<R>], ply: usize) {
        Inputs::<R>::list(&positions[ply], &mut self.changes);
        for view in Color::ALL {
            let offset = (2 * ply + view.index()) * self.width;
            self.kernel.update(
                &self.network.hidden_biases,
                &mut self.values[offset..][..self.width],
                &self.network.input_weights,
                self.changes.added(view),
                &[],
            );
        }
        self.keys[ply] = [positions[ply].key(); 2];
    }

    /// Several sets of input weights: the set, and so the way to go, is each view's own.
    fn follow_king(&mut self, positions: &[Pos<R>], ply: usize, view: Color) {
        let v = view.index();
        let pos = &positions[ply];
        let key = pos.key();
        if self.keys[ply][v] == key && key != NO_KEY {
            return;
        }
        let set = Inputs::<R>::king_bucket(pos, view, self.network.king_buckets);
        let nearest = (ply.saturating_sub(LOOK_BACK)..ply).rev().find(|&earlier| {
            let key = positions[earlier].key();
            self.keys[earlier][v] == key
                && key != NO_KEY
                && usize::from(self.sets[earlier][v]) == set
        });
        let weights_at = set * self.network.inputs * self.width;
        let weights = &self.network.input_weights[weights_at..];
        let (before, after) = self.values.split_at_mut((2 * ply + v) * self.width);
        let target = &mut after[..self.width];
        let cached = &mut self.cache[v * self.network.king_buckets + set];
        let source = match (nearest, &cached.pos) {
            (Some(earlier), _) => {
                Inputs::<R>::compare(&positions[earlier], pos, &mut self.changes);
                &before[(2 * earlier + v) * self.width..][..self.width]
            }
            (None, Some(last)) => {
                Inputs::<R>::compare(last, pos, &mut self.changes);
                &cached.values
            }
            (None, None) => {
                Inputs::<R>::list(pos, &mut self.changes);
                &self.network.hidden_biases
            }
        };
        let (added, removed) = (self.changes.added(view), self.changes.removed(view));
        self.kernel.update(source, target, weights, added, removed);
        if nearest.is_none() {
            cached.pos = Some(*pos);
            cached.values.copy_from_slice(target);
        }
        self.keys[ply][v] = key;
        self.sets[ply][v] = set as u8;
    }
}

/// Search units of an output sum.
#[inline(always)]
fn value_of(sum: i32, bias: i32, scale: u16) -> i32 {
    // The sum has the unit 1 / (255 * 255 * 64), since activations are squares.
    let output = i64::from(sum / HIDDEN_ONE) + i64::from(bias);
    let value = output * i64::from(scale) / i64::from(HIDDEN_ONE * OUTPUT_ONE);
    value.clamp(-i64::from(MAX_EVAL), i64::from(MAX_EVAL)) as i32
}

#[cfg(test)]
mod tests {
    use super::super::file::Shape;
    use super::super::file::tests::random_network;
    use super::super::kernel::Level;
    use super::*;
    use crate::rules::{Position, Variant};
    use crate::with_pos;

    /// A search-like walk: down, back up, down again by other moves, evaluating only some of the positions.
    fn walk<R: Rules>(start: &Pos<R>, shape: Shape, seed: u64) {
        let network = Arc::new(random_network(shape, seed));
        let mut states: Vec<NetworkState<R>> = Level::available()
            .map(|level| {
                let kernel = Kernel::new(level).expect("it is available");
                NetworkState::with_kernel(Arc::clone(&network), 64, kernel)
            })
            .collect();
        let mut random = seed | 1;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random as usize >> 8
        };
        let mut line = vec![*start];
        let mut different = 0;
        let mut last = 0;
        for _ in 0..400 {
            let mut pos = *line.last().expect("the start is there");
            let mut moves = crate::rules::MoveList::new();
            pos.legal_moves(&mut moves);
            if moves.is_empty() || line.len() == 60 {
                line.truncate(1 + next() % line.len());
                continue;
            }
            if !pos.in_check() && next() % 16 == 0 {
                pos.pass();
            } else {
                pos.play(moves[next() % moves.len()]);
            }
            line.push(pos);
            if next() % 3 > 0 {
                let ply = line.len() - 1;
                // From nothing, by the plainest kernel.
                let kernel = Kernel::new(Level::Portable).expect("it is available");
                let mut fresh = NetworkState::with_kernel(Arc::clone(&network), 1, kernel);
                let wanted = fresh.evaluate(&[pos], 0);
                for state in &mut states {
                    assert_eq!(state.evaluate(&line, ply), wanted, "ply {ply}");
                    assert_eq!(state.evaluate(&line, ply), wanted, "asked twice");
                }
                different += usize::from(wanted != last);
                last = wanted;
            }
            if next() % 4 == 0 {
                line.truncate(1 + next() % line.len());
            }
        }
        assert!(different > 100, "the positions are told apart");
    }

    #[test]
    fn lazy_updates_equal_a_fresh_start_in_every_variant_and_at_every_level() {
        for variant in Variant::ALL {
            for (king_buckets, hidden) in [(1, 128), (4, 128), (1, 160), (4, 32)] {
                let shape = Shape {
                    variant,
                    hidden,
                    king_buckets,
                };
                let start = Position::start(variant);
                with_pos!(start.any(), pos => walk(pos, shape, 77 + hidden as u64));
            }
        }
    }

    #[test]
    fn the_sum_is_turned_into_search_units() {
        // An output of 1.0 is the scale.
        assert_eq!(value_of(255 * 255 * 64, 0, 400), 400);
        assert_eq!(value_of(0, -255 * 32, 400), -200);
        assert_eq!(value_of(i32::MAX, i32::MAX, u16::MAX), MAX_EVAL);
        assert_eq!(value_of(i32::MIN, i32::MIN, u16::MAX), -MAX_EVAL);
    }

    #[test]
    fn a_correction_is_added_to_the_hand_written_evaluation() {
        use crate::engine::evaluation::weights::weights;
        let shape = Shape {
            variant: Variant::Crazyhouse,
            hidden: 32,
            king_buckets: 1,
        };
        let fen = "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R[Pn] w KQkq - 0 4";
        let mode = crate::rules::CastlingMode::Standard;
        let position = Position::from_fen(shape.variant, mode, fen).expect("a position");
        let crate::rules::AnyPos::Crazyhouse(pos) = position.any() else {
            unreachable!("it is crazyhouse");
        };
        let weights = weights(shape.variant);
        let value =
            |network: Network| NetworkState::new(Arc::new(network), 1).value(&[*pos], 0, weights);
        let whole = random_network(shape, 5);
        let correction = whole.clone().correcting();
        assert_eq!(value(correction), value(whole) + evaluate(pos, weights));
    }

    #[test]
    fn mirrored_positions_are_worth_the_same() {
        use crate::rules::CastlingMode;
        let pairs = [(
            "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R[Pn] w KQkq - 0 4",
            "rnbqk2r/pppp1ppp/5n2/2b1p3/4P3/2N2N2/PPPP1PPP/R1BQKB1R[Np] b KQkq - 0 4",
        )];
        let shape = Shape {
            variant: Variant::Crazyhouse,
            hidden: 64,
            king_buckets: 1,
        };
        let network = Arc::new(random_network(shape, 5));
        for (one, other) in pairs {
            let value = |fen: &str| {
                let position = Position::from_fen(Variant::Crazyhouse, CastlingMode::Standard, fen)
                    .expect("a position");
                match position.any() {
                    crate::rules::AnyPos::Crazyhouse(pos) => {
                        NetworkState::new(Arc::clone(&network), 1).evaluate(&[*pos], 0)
                    }
                    _ => unreachable!("it is crazyhouse"),
                }
            };
            assert_eq!(value(one), value(other));
        }
    }
}
