//! Fits the weights of the hand-written evaluation to self-played games by gradient descent.
//!
//! The evaluation is a sum of counts times weights, blended by phase, plus a curve over the sum of danger terms. Both are
//! differentiated by hand; every position is reduced once to the counts that are not zero.

use std::path::Path;

use super::record::{GameRecord, Reader, RecordError};
use crate::engine::evaluation::features::{self, Tally, danger, index};
use crate::engine::evaluation::phase;
use crate::engine::evaluation::weights::{Weights, weights};
use crate::rules::pos::Pos;
use crate::rules::variants::Rules;
use crate::rules::{Color, Position, Variant};
use crate::with_pos;

/// How the fit goes.
#[derive(Clone, Copy, Debug)]
pub struct TuneConfig {
    /// Passes over the positions.
    pub epochs: u32,
    /// Step of the optimizer at the beginning, in search units.
    pub rate: f32,
    /// Share of the search's score in the target; the rest is the game's result.
    pub score_share: f32,
    /// Units of score by which the odds grow by a factor of e.
    pub scale: f32,
    /// Pull toward the starting weights, against fitting noise where counts are rare.
    pub anchor: f32,
}

impl Default for TuneConfig {
    fn default() -> Self {
        Self {
            epochs: 40,
            rate: 2.0,
            score_share: 0.6,
            scale: 200.0,
            anchor: 2e-5,
        }
    }
}

/// A position reduced to what the evaluation counts in it.
#[derive(Debug)]
struct Sample {
    linear: Vec<(u16, i8)>,
    danger: [Vec<(u8, i8)>; 2],
    /// 0 to 1.
    phase: f32,
    drops: bool,
    /// Expected score of White, 0 to 1.
    target: f32,
}

#[derive(Default)]
struct Trace {
    linear: Vec<(u16, i8)>,
    danger: [Vec<(u8, i8)>; 2],
}

fn merge<T: Copy + PartialEq>(list: &mut Vec<(T, i8)>, key: T, count: i32) {
    if count == 0 {
        return;
    }
    match list.iter_mut().find(|(k, _)| *k == key) {
        Some((_, sum)) => *sum = (i32::from(*sum) + count).clamp(-127, 127) as i8,
        None => list.push((key, count.clamp(-127, 127) as i8)),
    }
}

impl Tally for Trace {
    fn add(&mut self, index: usize, count: i32) {
        merge(&mut self.linear, index as u16, count);
    }
    fn danger(&mut self, king: Color, index: usize, count: i32) {
        merge(&mut self.danger[king.index()], index as u8, count);
    }
}

fn sample<R: Rules>(pos: &Pos<R>, full_phase: i32, target: f32) -> Sample {
    let mut trace = Trace::default();
    features::walk(pos, &mut trace);
    trace.linear.retain(|(_, count)| *count != 0);
    Sample {
        linear: trace.linear,
        danger: trace.danger,
        phase: if R::DROPS {
            1.0
        } else {
            phase(pos, full_phase) as f32 / 256.0
        },
        drops: R::DROPS,
        target,
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The danger curve and its slope.
fn curve(danger: f32) -> (f32, f32) {
    if danger <= 0.0 {
        // A little slope lets weights come back from below.
        (0.0, 0.02)
    } else if danger <= 800.0 {
        (
            danger * danger / 1000.0 + danger / 8.0,
            danger / 500.0 + 0.125,
        )
    } else {
        (740.0 + (danger - 800.0) * 1.5, 1.5)
    }
}

/// All parameters in one row: middle game, endgame, danger.
const N: usize = 2 * index::LENGTH + danger::LENGTH;
const DANGER: usize = 2 * index::LENGTH;

fn to_row(weights: &Weights) -> Vec<f32> {
    let mut row = vec![0.0; N];
    for (n, &(middle, end)) in weights.linear.iter().enumerate() {
        row[n] = f32::from(middle);
        row[index::LENGTH + n] = f32::from(end);
    }
    for (n, &value) in weights.danger.iter().enumerate() {
        row[DANGER + n] = f32::from(value);
    }
    row
}

fn from_row(row: &[f32], full_phase: i32) -> Weights {
    let round = |value: f32| value.round().clamp(-3_000.0, 3_000.0) as i16;
    let mut weights = Weights {
        linear: [(0, 0); index::LENGTH],
        danger: [0; danger::LENGTH],
        full_phase,
    };
    for (n, slot) in weights.linear.iter_mut().enumerate() {
        *slot = (round(row[n]), round(row[index::LENGTH + n]));
    }
    for (n, slot) in weights.danger.iter_mut().enumerate() {
        *slot = round(row[DANGER + n]);
    }
    weights
}

/// White's evaluation of a sample, and the slopes of both danger curves.
fn value(sample: &Sample, row: &[f32]) -> (f32, [f32; 2]) {
    let (mut middle, mut end) = (0.0, 0.0);
    for &(n, count) in &sample.linear {
        middle += row[usize::from(n)] * f32::from(count);
        end += row[index::LENGTH + usize::from(n)] * f32::from(count);
    }
    let mut slopes = [0.0; 2];
    for (color, terms) in sample.danger.iter().enumerate() {
        let sum: f32 = terms
            .iter()
            .map(|&(n, count)| row[DANGER + usize::from(n)] * f32::from(count))
            .sum();
        let (loss, slope) = curve(sum);
        middle += if color == 0 { -loss } else { loss };
        slopes[color] = slope;
    }
    let blended = middle * sample.phase + end * (1.0 - sample.phase);
    (blended, slopes)
}

/// Adds the gradient of a sample's squared error; the error itself.
fn add_gradient(sample: &Sample, row: &[f32], scale: f32, gradient: &mut [f32]) -> f32 {
    let (value, slopes) = value(sample, row);
    let expected = sigmoid(value / scale);
    let error = expected - sample.target;
    let slope = 2.0 * error * expected * (1.0 - expected) / scale;
    let middle = slope * sample.phase;
    let end = slope * (1.0 - sample.phase);
    for &(n, count) in &sample.linear {
        gradient[usize::from(n)] += middle * f32::from(count);
        if !sample.drops {
            gradient[index::LENGTH + usize::from(n)] += end * f32::from(count);
        }
    }
    for ((terms, slope), sign) in sample.danger.iter().zip(slopes).zip([-1.0, 1.0]) {
        for &(n, count) in terms {
            gradient[DANGER + usize::from(n)] += middle * sign * slope * f32::from(count);
        }
    }
    error * error
}

/// Positions reduced for a fit.
#[derive(Debug, Default)]
pub struct Samples {
    train: Vec<Sample>,
    check: Vec<Sample>,
    full_phase: i32,
}

impl Samples {
    /// Number of positions: fitted, held back.
    #[must_use]
    pub fn len(&self) -> (usize, usize) {
        (self.train.len(), self.check.len())
    }

    /// Reads usable positions of a variant from files of games; every sixteenth game is held back.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn read(
        paths: &[impl AsRef<Path>],
        variant: Variant,
        config: &TuneConfig,
        limit: usize,
    ) -> Result<Self, RecordError> {
        let full_phase = weights(variant).full_phase;
        let mut samples = Self {
            full_phase,
            ..Self::default()
        };
        let mut games = 0;
        for path in paths {
            for game in Reader::open(path.as_ref())? {
                let game = game?;
                if game.start.variant() != variant {
                    continue;
                }
                games += 1;
                samples.add_game(&game, games % 16 == 0, config);
                if samples.train.len() >= limit {
                    return Ok(samples);
                }
            }
        }
        Ok(samples)
    }

    fn add_game(&mut self, game: &GameRecord, held_back: bool, config: &TuneConfig) {
        let result = match game.result.winner() {
            Some(Color::White) => 1.0,
            None => 0.5,
            Some(Color::Black) => 0.0,
        };
        let full_phase = self.full_phase;
        let list = if held_back {
            &mut self.check
        } else {
            &mut self.train
        };
        let replayed = game.replay(|position, ply| {
            if !ply.usable {
                return;
            }
            let score = f32::from(ply.score);
            let white = if position.turn() == Color::White {
                score
            } else {
                -score
            };
            let target = config.score_share * sigmoid(white / config.scale)
                + (1.0 - config.score_share) * result;
            list.push(make_sample(position, full_phase, target));
        });
        // A record that does not replay was made by other rules; what came before the break is still good.
        if let Err(ply) = replayed {
            tracing::warn!(
                ply,
                "a game record holds an illegal move; the rest of it is left out"
            );
        }
    }
}

fn make_sample(position: &Position, full_phase: i32, target: f32) -> Sample {
    with_pos!(position.any(), pos => sample(pos, full_phase, target))
}

fn mean_error(samples: &[Sample], row: &[f32], scale: f32) -> f32 {
    let sum: f64 = samples
        .iter()
        .map(|s| {
            let error = sigmoid(value(s, row).0 / scale) - s.target;
            f64::from(error * error)
        })
        .sum();
    (sum / samples.len().max(1) as f64) as f32
}

/// Fits weights; `on_epoch` gets the epoch and the mean squared errors of fitted and held-back positions. The weights with
/// the least held-back error are returned.
pub fn fit(
    samples: &Samples,
    start: &Weights,
    config: &TuneConfig,
    mut on_epoch: impl FnMut(u32, f32, f32),
) -> Weights {
    const BATCH: usize = 4096;
    let origin = to_row(start);
    let mut row = origin.clone();
    let mut momentum = vec![0.0_f32; N];
    let mut square = vec![0.0_f32; N];
    let mut best = (mean_error(&samples.check, &row, config.scale), row.clone());
    on_epoch(0, mean_error(&samples.train, &row, config.scale), best.0);
    let mut order: Vec<u32> = (0..samples.train.len() as u32).collect();
    let mut random = super::datagen::Random(1);
    let mut step = 0;
    for epoch in 1..=config.epochs {
        for n in (1..order.len()).rev() {
            order.swap(n, random.below(n + 1));
        }
        let rate = config.rate * (1.0 - (epoch - 1) as f32 / config.epochs as f32);
        let mut error = 0.0_f64;
        for batch in order.chunks(BATCH) {
            let mut gradient = vec![0.0_f32; N];
            for &n in batch {
                let sample = &samples.train[n as usize];
                error += f64::from(add_gradient(sample, &row, config.scale, &mut gradient));
            }
            step += 1;
            for n in 0..N {
                let pull = config.anchor * (row[n] - origin[n]) / config.scale;
                let g = gradient[n] / batch.len() as f32 + pull;
                momentum[n] = 0.9 * momentum[n] + 0.1 * g;
                square[n] = 0.999 * square[n] + 0.001 * g * g;
                let m = momentum[n] / (1.0 - 0.9_f32.powi(step));
                let v = square[n] / (1.0 - 0.999_f32.powi(step));
                row[n] -= rate * m / (v.sqrt() + 1e-9);
            }
        }
        let check = mean_error(&samples.check, &row, config.scale);
        on_epoch(
            epoch,
            (error / samples.train.len().max(1) as f64) as f32,
            check,
        );
        if check < best.0 {
            best = (check, row.clone());
        }
    }
    from_row(&best.1, samples.full_phase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_agrees_with_differences() {
        let position = Position::from_fen(
            Variant::Capablanca,
            crate::rules::CastlingMode::Standard,
            "r1b1qkbc1r/pp3pp1pp/2n1p3n1/a2p1p4/3P2P3/2N1C1N1B1/PPP1PP1PPP/R1A1QK1B1R w - - 0 12",
        )
        .unwrap();
        let table = weights(Variant::Capablanca);
        let sample = make_sample(&position, table.full_phase, 0.9);
        let row = to_row(table);
        let mut gradient = vec![0.0; N];
        add_gradient(&sample, &row, 200.0, &mut gradient);
        let error = |row: &[f32]| {
            let e = f64::from(sigmoid(value(&sample, row).0 / 200.0)) - 0.9;
            e * e
        };
        let mut checked = 0;
        for n in 0..N {
            let step = 2.0;
            let (mut up, mut down) = (row.clone(), row.clone());
            up[n] += step;
            down[n] -= step;
            let slope = (error(&up) - error(&down)) / (2.0 * f64::from(step));
            if slope.abs() > 1e-5 {
                let relative = (f64::from(gradient[n]) - slope).abs() / slope.abs();
                assert!(relative < 0.05, "weight {n}: {} {slope}", gradient[n]);
                checked += 1;
            }
        }
        assert!(checked > 20, "{checked}");
    }

    #[test]
    fn the_reduced_position_has_the_same_value() {
        for variant in Variant::ALL {
            let position = Position::start(variant);
            let table = weights(variant);
            let sample = make_sample(&position, table.full_phase, 0.5);
            let (value, _) = value(&sample, &to_row(table));
            let direct =
                with_pos!(position.any(), pos => crate::engine::evaluation::evaluate(pos, table));
            assert!(
                (value - direct as f32).abs() <= 2.0,
                "{variant:?} {value} {direct}"
            );
        }
    }
}
