//! The trainer of evaluation networks, on processors: recorded games in, a network file out.
//!
//! `data` holds the positions, `model` the network in floating point, `optimizer` the step, `checkpoint` the state of a
//! run. The result depends on the data, the settings and the seed, and on nothing else: not on the number of threads, and
//! not on the width of the processor's registers.

mod checkpoint;
pub mod data;
pub mod model;
pub mod optimizer;

use std::path::{Path, PathBuf};
use std::time::Instant;

pub use checkpoint::{Checkpoint, CheckpointError};

use super::datagen::Random;
use super::record::RecordError;
use crate::engine::network::file::{Network, NetworkError, Shape};
use data::{Choice, Samples};
use model::{Batch, Combined, Goal, Layout, MIRROR, Scratch, add_gradient, sum_of_errors};
use optimizer::{Adam, Schedule};

/// Settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainConfig {
    /// What is trained.
    pub shape: Shape,
    /// Times that every position is seen.
    pub epochs: u64,
    /// Positions per step.
    pub batch: usize,
    /// Highest rate of learning.
    pub rate: f32,
    /// Decay of weights, per unit of rate.
    pub decay: f32,
    /// Share of the search's score in what is learnt; the rest is the result's.
    pub score_share: f32,
    /// The network corrects the hand-written evaluation instead of replacing it.
    pub is_correction: bool,
    /// Search units that an output of 1.0 is worth; `None`: as the results say.
    pub scale: Option<f32>,
    /// Share of the output that the written network keeps, above 0 and up to 1: a correction learnt from few games says too
    /// much.
    pub kept_share: f32,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
    /// One game of so many is for validation.
    pub held_back: u64,
    /// Positions without rights to castle are seen mirrored half of the time.
    pub mirror: bool,
    /// Positions beyond this score are left out.
    pub score_max: i16,
    /// No more positions than this.
    pub limit: usize,
}

impl TrainConfig {
    /// Usual settings.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            epochs: 20,
            batch: 4096,
            rate: 0.001,
            decay: 0.01,
            score_share: 0.7,
            is_correction: false,
            scale: None,
            kept_share: 1.0,
            seed: 1,
            threads: 1,
            held_back: 20,
            mirror: true,
            score_max: 2_500,
            limit: usize::MAX,
        }
    }
}

/// How an epoch went.
#[derive(Clone, Copy, Debug)]
pub struct EpochReport {
    /// Which, from 1.
    pub epoch: u64,
    /// Mean squared error of the expected score while training.
    pub train: f64,
    /// The same of positions held back, after the epoch.
    pub check: f64,
    /// Rate of learning at the end of the epoch.
    pub rate: f32,
    /// Positions trained a second.
    pub positions_per_second: f64,
}

/// Why there is no network.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The data cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The run cannot be kept or resumed.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// What was learnt is no valid network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Nothing to learn from, or nothing to validate with.
    #[error("{train} positions to learn from and {check} to validate with are too few")]
    TooFewPositions {
        /// To learn from.
        train: usize,
        /// To validate with.
        check: usize,
    },
    /// More than can be numbered.
    #[error("there are too many positions; give a limit")]
    TooManyPositions,
    /// The network to begin with is of another kind.
    #[error("the network to begin with is {theirs}; wanted is {ours}")]
    OtherShape {
        /// What it is.
        theirs: String,
        /// What is trained.
        ours: String,
    },
    /// The network file cannot be written.
    #[error("network file {path:?} cannot be written")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Parts of a batch whose gradients are summed apart, so that two threads may work. Always the same number, so that the
/// order of the sums is the same for any number of threads.
const SHARDS: usize = 2;

/// A training run.
#[derive(Debug)]
pub struct Trainer {
    config: TrainConfig,
    goal: Goal,
    layout: Layout,
    train: Samples,
    check: Samples,
    state: Checkpoint,
    weights: Combined,
    /// Hash of the network that the run began with.
    start: Option<u64>,
    gradients: Vec<(Combined, Scratch)>,
    slopes: Vec<f32>,
    last_check: f64,
}

impl Trainer {
    /// Reads the data and begins.
    ///
    /// # Errors
    /// If the data cannot be read or there is too little.
    pub fn new(config: TrainConfig, paths: &[impl AsRef<Path>]) -> Result<Self, TrainError> {
        let choice = Choice {
            variant: config.shape.variant,
            king_buckets: config.shape.king_buckets,
            score_max: config.score_max,
        };
        let held_back = config.held_back.max(2);
        let [train, check] = Samples::read(paths, choice, held_back, config.limit)?;
        Self::with_samples(config, train, check)
    }

    /// Begins with data in memory.
    ///
    /// # Errors
    /// If there is too little.
    pub fn with_samples(
        config: TrainConfig,
        train: Samples,
        check: Samples,
    ) -> Result<Self, TrainError> {
        if train.is_empty() || check.is_empty() || train.len() >= MIRROR as usize {
            return Err(TrainError::TooFewPositions {
                train: train.len(),
                check: check.len(),
            });
        }
        let layout = Layout::new(config.shape);
        let row = layout.random_row(config.seed);
        let adam = Adam::new(layout.length);
        let mut weights = Combined::zero(config.shape);
        layout.combine(&row, &mut weights);
        let gradient = || {
            (
                Combined::zero(config.shape),
                Scratch::new(config.shape.hidden),
            )
        };
        let scale = config.scale.unwrap_or_else(|| train.best_scale());
        Ok(Self {
            goal: Goal {
                // A network file keeps whole units.
                scale: scale.round().clamp(1.0, f32::from(u16::MAX)),
                score_share: config.score_share,
                is_correction: config.is_correction,
            },
            gradients: (0..SHARDS).map(|_| gradient()).collect(),
            slopes: vec![0.0; layout.length],
            state: Checkpoint {
                epochs: 0,
                row,
                adam,
            },
            config,
            layout,
            train,
            check,
            weights,
            start: None,
            last_check: f64::NAN,
        })
    }

    /// Begins with a finished network instead of random weights. To be called before the run is resumed. Its values stay
    /// the same, whatever its scale was.
    ///
    /// # Errors
    /// If it is of another shape, or corrects where a whole evaluation is trained.
    pub fn begin_with(&mut self, network: &Network) -> Result<(), TrainError> {
        let describe = |shape: Shape, is_correction: bool| {
            let kind = if is_correction { "correction" } else { "whole" };
            format!("{shape:?}, {kind}")
        };
        let theirs = describe(network.shape(), network.is_correction());
        let ours = describe(self.config.shape, self.goal.is_correction);
        if theirs != ours {
            return Err(TrainError::OtherShape { theirs, ours });
        }
        let factor = f32::from(network.scale()) / self.goal.scale;
        self.state.row = self.layout.row_of(&network.parts(), factor);
        self.layout.combine(&self.state.row, &mut self.weights);
        self.start = Some(network.hash());
        Ok(())
    }

    /// Positions to learn from, to validate with, and search units of an output of 1.0.
    #[must_use]
    pub fn size(&self) -> (usize, usize, f32) {
        (self.train.len(), self.check.len(), self.goal.scale)
    }

    /// Tells one run from another: settings, except the number of threads, and amount of data.
    fn run(&self) -> String {
        let config = TrainConfig {
            threads: 0,
            ..self.config.clone()
        };
        format!(
            "{config:?}, {} and {} positions, begun with {:?}",
            self.train.len(),
            self.check.len(),
            self.start
        )
    }

    /// Goes on with a run that was kept; `false` if there is none.
    ///
    /// # Errors
    /// If the file is damaged or of another run.
    pub fn resume(&mut self, path: &Path) -> Result<bool, TrainError> {
        let Some(state) = Checkpoint::load(path, &self.run())? else {
            return Ok(false);
        };
        self.state = state;
        self.layout.combine(&self.state.row, &mut self.weights);
        self.last_check = self.check_error();
        Ok(true)
    }

    /// Keeps the run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self, path: &Path) -> Result<(), TrainError> {
        Ok(self.state.save(path, &self.run())?)
    }

    fn schedule(&self) -> Schedule {
        let per_epoch = self.train.len().div_ceil(self.config.batch.max(1)) as u64;
        let steps = per_epoch * self.config.epochs;
        Schedule {
            top: self.config.rate,
            end: self.config.rate / 100.0,
            warm_up: (steps / 20).min(500),
            steps,
        }
    }

    /// Whether all epochs are done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state.epochs >= self.config.epochs
    }

    /// Sees every position once more.
    pub fn epoch(&mut self) -> EpochReport {
        let begin = Instant::now();
        let order = self.order();
        let schedule = self.schedule();
        let mut error = 0.0;
        for batch in order.chunks(self.config.batch.max(1)) {
            error += self.step(batch, schedule.rate(self.state.adam.steps));
        }
        self.state.epochs += 1;
        let seconds = begin.elapsed().as_secs_f64();
        self.last_check = self.check_error();
        EpochReport {
            epoch: self.state.epochs,
            train: error / self.train.len() as f64,
            check: self.last_check,
            rate: schedule.rate(self.state.adam.steps),
            positions_per_second: self.train.len() as f64 / seconds.max(1e-9),
        }
    }

    /// All positions in random order, some of them mirrored. Depends on the seed and the epoch only.
    fn order(&self) -> Vec<u32> {
        let seed = self.config.seed ^ (self.state.epochs + 1).wrapping_mul(0xD134_2543_DE82_EF95);
        let mut random = Random(seed);
        let mut order: Vec<u32> = (0..self.train.len() as u32).collect();
        for n in (1..order.len()).rev() {
            order.swap(n, random.below(n + 1));
        }
        if self.config.mirror {
            for entry in &mut order {
                if random.next_u64() & 1 == 1 {
                    *entry |= MIRROR;
                }
            }
        }
        order
    }

    fn step(&mut self, order: &[u32], rate: f32) -> f64 {
        let error = self.gradient(order);
        let (sum, _) = &self.gradients[0];
        self.layout.distribute(sum, &mut self.slopes);
        let share = 1.0 / order.len() as f32;
        self.slopes.iter_mut().for_each(|slope| *slope *= share);
        let n_decayed = self.layout.n_decayed();
        let state = &mut self.state;
        state.adam.step(
            &mut state.row,
            &self.slopes,
            rate,
            self.config.decay,
            n_decayed,
        );
        self.layout.combine(&state.row, &mut self.weights);
        self.layout.clip(&mut state.row, &mut self.weights);
        error
    }

    /// Sums the gradient of a batch into the first shard's; the sum of the squared errors.
    fn gradient(&mut self, order: &[u32]) -> f64 {
        let Self {
            weights,
            train,
            goal,
            gradients,
            ..
        } = self;
        let (weights, samples, goal) = (&*weights, &*train, *goal);
        let size = order.len().div_ceil(SHARDS).max(1);
        let work = |shard: usize, (gradient, scratch): &mut (Combined, Scratch)| {
            gradient.clear();
            let order = order.chunks(size).nth(shard).unwrap_or(&[]);
            add_gradient(weights, Batch { samples, order }, goal, scratch, gradient)
        };
        let shards = gradients.iter_mut().enumerate();
        let error: f64 = if self.config.threads > 1 {
            std::thread::scope(|scope| {
                let threads: Vec<_> = shards
                    .map(|(shard, room)| scope.spawn(move || work(shard, room)))
                    .collect();
                let errors = threads.into_iter().map(|thread| {
                    thread
                        .join()
                        .expect("the arithmetic of a shard does not panic")
                });
                errors.sum()
            })
        } else {
            shards.map(|(shard, room)| work(shard, room)).sum()
        };
        let (first, rest) = self.gradients.split_at_mut(1);
        for (gradient, _) in rest {
            first[0].0.add(gradient);
        }
        error
    }

    /// Mean squared error of the positions held back, by the network as it is.
    pub fn check_error(&mut self) -> f64 {
        let order: Vec<u32> = (0..self.check.len() as u32).collect();
        let batch = Batch {
            samples: &self.check,
            order: &order,
        };
        let (_, scratch) = &mut self.gradients[0];
        sum_of_errors(&self.weights, batch, self.goal, scratch) / self.check.len() as f64
    }

    /// Mean squared error of the hand-written evaluation on the positions held back.
    #[must_use]
    pub fn check_error_by_hand(&self) -> f64 {
        let errors = (0..self.check.len()).map(|index| {
            let sample = self.check.get(index, false);
            f64::from(self.goal.error_by_hand(&sample))
        });
        errors.sum::<f64>() / self.check.len() as f64
    }

    /// What was learnt, in whole numbers.
    ///
    /// # Errors
    /// If its sums could overflow.
    pub fn network(&self) -> Result<Network, TrainError> {
        let kept = self.config.kept_share;
        let summary = format!(
            "{} positions of {} games, {} epochs of {}, batch {}, rate {}, decay {}, score share {}, scale {}, seed {}, \
             mirror {}, {}{}{}; error on {} held back: {:.6}",
            self.train.len(),
            self.train.games,
            self.state.epochs,
            self.config.epochs,
            self.config.batch,
            self.config.rate,
            self.config.decay,
            self.goal.score_share,
            self.goal.scale,
            self.config.seed,
            self.config.mirror,
            if self.goal.is_correction {
                "correction"
            } else {
                "whole"
            },
            self.start
                .map_or_else(String::new, |hash| format!(", begun with {hash:016x}")),
            if kept < 1.0 {
                format!(", {kept} of it kept")
            } else {
                String::new()
            },
            self.check.len(),
            self.last_check,
        );
        let scale = (self.goal.scale * kept).round().max(1.0) as u16;
        let network = self.weights.quantise(self.config.shape, scale, &summary)?;
        Ok(if self.goal.is_correction {
            network.correcting()
        } else {
            network
        })
    }
}

#[cfg(test)]
mod tests;
