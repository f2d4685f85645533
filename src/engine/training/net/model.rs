//! The network in floating point: its parameters, its value, and the gradient of its error.
//!
//! While training, an input's weights are a sum: of its own, and of those it shares with the other squares of its plane,
//! of its plane and rank, of its plane and file. What is learnt about a knight in one place thereby serves in others that
//! few games visit. Output weights likewise are shared among the sets in part. All of this is added up once per batch.

use super::data::{Sample, Samples};
use crate::engine::network::file::{
    HIDDEN_ONE, Network, NetworkError, OUTPUT_ONE, Parts, Shape, inputs_of,
};
use crate::engine::network::inputs::{Inputs, OUTPUT_BUCKETS};
use crate::engine::training::datagen::Random;
use crate::rules::pos::Pos;
use crate::rules::variants::Rules;
use crate::rules::{Position, Variant};
use crate::with_pos;

/// No weight leaves this range, so that it can be quantised: 127 / 64.
pub const WEIGHT_MAX: f32 = 1.98;

/// Where the parts of a row of parameters begin.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Shape of the network.
    pub shape: Shape,
    /// Inputs of one set.
    pub inputs: usize,
    /// For each set of shares: the share of every input, or none.
    shares: Vec<Vec<Option<u32>>>,
    /// First parameter of each set of shares.
    shares_at: Vec<usize>,
    hidden_biases_at: usize,
    output_weights_at: usize,
    output_shared_at: usize,
    output_biases_at: usize,
    /// Number of parameters.
    pub length: usize,
}

fn shares_of<R: Rules>(_: &Pos<R>) -> Vec<Vec<Option<u32>>> {
    use crate::rules::geometry::Geometry;
    let files = R::G::FILES as usize;
    let squares = R::G::SQUARES;
    let by = |share: &dyn Fn(usize, usize) -> usize| {
        (0..Inputs::<R>::COUNT)
            .map(|input| {
                (input < Inputs::<R>::HANDS_AT)
                    .then(|| share(input / squares, input % squares) as u32)
            })
            .collect()
    };
    vec![
        by(&|plane, _| plane),
        by(&|plane, square| plane * 8 + square / files),
        by(&|plane, square| plane * files + square % files),
    ]
}

impl Layout {
    /// The layout of a shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        let inputs = inputs_of(shape.variant);
        let hidden = shape.hidden;
        let start = Position::start(shape.variant);
        let mut shares = with_pos!(start.any(), pos => shares_of(pos));
        if shape.king_buckets > 1 {
            // What does not depend on the place of the king.
            shares.push((0..inputs as u32).map(Some).collect());
        }
        let mut at = shape.king_buckets * inputs * hidden;
        let mut shares_at = Vec::new();
        for share in &shares {
            shares_at.push(at);
            let n = share.iter().flatten().max().map_or(0, |&last| last + 1);
            at += n as usize * hidden;
        }
        let hidden_biases_at = at;
        let output_weights_at = hidden_biases_at + hidden;
        let output_shared_at = output_weights_at + OUTPUT_BUCKETS * 2 * hidden;
        let output_biases_at = output_shared_at + 2 * hidden;
        Self {
            shape,
            inputs,
            shares,
            shares_at,
            hidden_biases_at,
            output_weights_at,
            output_shared_at,
            output_biases_at,
            length: output_biases_at + OUTPUT_BUCKETS,
        }
    }

    fn input_rows(&self) -> usize {
        self.shape.king_buckets * self.inputs
    }

    /// Small random weights; biases such that most neurons are at work.
    #[must_use]
    pub fn random_row(&self, seed: u64) -> Vec<f32> {
        let mut random = Random(seed ^ 0x5EED);
        let mut uniform = move |limit: f32| {
            let unit = (random.next_u64() >> 40) as f32 / (1 << 24) as f32;
            (2.0 * unit - 1.0) * limit
        };
        let hidden = self.shape.hidden;
        let mut row = vec![0.0; self.length];
        // Own weights start small and shared ones large, so that a square that is never seen is like its neighbors.
        let shares_end = self.hidden_biases_at;
        row[..self.shares_at[0]].fill_with(|| uniform(0.02));
        row[self.shares_at[0]..shares_end].fill_with(|| uniform(0.06));
        row[shares_end..self.output_weights_at].fill_with(|| 0.3 + uniform(0.2));
        let limit = (1.0 / hidden as f32).sqrt();
        row[self.output_shared_at..self.output_biases_at].fill_with(|| uniform(limit));
        row
    }

    /// The parameters of a finished network, its output times `factor`: all of it is the inputs' own part, and the shares
    /// begin at nothing.
    #[must_use]
    pub fn row_of(&self, parts: &Parts, factor: f32) -> Vec<f32> {
        let mut row = vec![0.0; self.length];
        let mut put = |at: usize, values: &[i16], unit: f32| {
            for (target, &value) in row[at..].iter_mut().zip(values) {
                *target = f32::from(value) * unit;
            }
        };
        let hidden_unit = 1.0 / HIDDEN_ONE as f32;
        let output_unit = factor / OUTPUT_ONE as f32;
        put(0, &parts.input_weights, hidden_unit);
        put(self.hidden_biases_at, &parts.hidden_biases, hidden_unit);
        put(self.output_weights_at, &parts.output_weights, output_unit);
        let biases = &mut row[self.output_biases_at..];
        for (target, &bias) in biases.iter_mut().zip(&parts.output_biases) {
            *target = bias as f32 * hidden_unit * output_unit;
        }
        row
    }

    /// Adds the shares up.
    pub fn combine(&self, row: &[f32], sum: &mut Combined) {
        let hidden = self.shape.hidden;
        sum.input_weights
            .copy_from_slice(&row[..self.input_rows() * hidden]);
        for (shares, &at) in self.shares.iter().zip(&self.shares_at) {
            for (index, target) in sum.input_weights.chunks_exact_mut(hidden).enumerate() {
                if let Some(share) = shares[index % self.inputs] {
                    let shared = &row[at + share as usize * hidden..][..hidden];
                    for (value, part) in target.iter_mut().zip(shared) {
                        *value += part;
                    }
                }
            }
        }
        sum.hidden_biases
            .copy_from_slice(&row[self.hidden_biases_at..self.output_weights_at]);
        let shared = &row[self.output_shared_at..self.output_biases_at];
        let own = &row[self.output_weights_at..self.output_shared_at];
        for (index, value) in sum.output_weights.iter_mut().enumerate() {
            *value = own[index] + shared[index % (2 * hidden)];
        }
        sum.output_biases
            .copy_from_slice(&row[self.output_biases_at..]);
    }

    /// Takes the gradient of the sums apart into that of the parameters.
    pub fn distribute(&self, sum: &Combined, row: &mut [f32]) {
        let hidden = self.shape.hidden;
        row.fill(0.0);
        row[..self.input_rows() * hidden].copy_from_slice(&sum.input_weights);
        for (shares, &at) in self.shares.iter().zip(&self.shares_at) {
            for (index, gradient) in sum.input_weights.chunks_exact(hidden).enumerate() {
                if let Some(share) = shares[index % self.inputs] {
                    let target = &mut row[at + share as usize * hidden..][..hidden];
                    for (value, part) in target.iter_mut().zip(gradient) {
                        *value += part;
                    }
                }
            }
        }
        row[self.hidden_biases_at..self.output_weights_at].copy_from_slice(&sum.hidden_biases);
        row[self.output_weights_at..self.output_shared_at].copy_from_slice(&sum.output_weights);
        for (index, gradient) in sum.output_weights.iter().enumerate() {
            row[self.output_shared_at + index % (2 * hidden)] += gradient;
        }
        row[self.output_biases_at..].copy_from_slice(&sum.output_biases);
    }

    /// Brings sums that have left the range of weights back, by changing the inputs' own part.
    pub fn clip(&self, row: &mut [f32], sum: &mut Combined) {
        let (before, after) = row.split_at_mut(self.output_weights_at);
        let own_input = &mut before[..self.input_rows() * self.shape.hidden];
        let own_and_sum = own_input.iter_mut().zip(&mut sum.input_weights);
        let own_output = &mut after[..self.output_shared_at - self.output_weights_at];
        for (own, value) in own_and_sum.chain(own_output.iter_mut().zip(&mut sum.output_weights)) {
            let clipped = value.clamp(-WEIGHT_MAX, WEIGHT_MAX);
            *own += clipped - *value;
            *value = clipped;
        }
    }

    /// Parameters that decay: the inputs' own weights, so that a square without games is like its neighbors.
    #[must_use]
    pub fn n_decayed(&self) -> usize {
        self.input_rows() * self.shape.hidden
    }
}

/// The weights that a position meets, or their gradient.
#[derive(Clone, Debug)]
pub struct Combined {
    hidden: usize,
    inputs: usize,
    /// By set, input, neuron.
    pub input_weights: Vec<f32>,
    /// By neuron.
    pub hidden_biases: Vec<f32>,
    /// By set, own before enemy, neuron.
    pub output_weights: Vec<f32>,
    /// By set.
    pub output_biases: Vec<f32>,
}

/// Room for one position.
#[derive(Clone, Debug)]
pub struct Scratch {
    sums: [Vec<f32>; 2],
    slopes: [Vec<f32>; 2],
    rows: [Vec<u32>; 2],
}

impl Scratch {
    /// Room for a hidden layer.
    #[must_use]
    pub fn new(hidden: usize) -> Self {
        Self {
            sums: [vec![0.0; hidden], vec![0.0; hidden]],
            slopes: [vec![0.0; hidden], vec![0.0; hidden]],
            rows: [Vec::with_capacity(256), Vec::with_capacity(256)],
        }
    }
}

/// What is learnt: a mixture of the search's score and the game's result.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// Search units that an output of 1.0 is worth.
    pub scale: f32,
    /// Share of the score; the rest is the result's.
    pub score_share: f32,
    /// The output is added to the hand-written evaluation.
    pub is_correction: bool,
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

impl Goal {
    /// Expected score of the side to move by an output.
    #[inline(always)]
    #[must_use]
    fn expected(self, output: f32, sample: &Sample<'_>) -> f32 {
        let base = if self.is_correction {
            f32::from(sample.by_hand) / self.scale
        } else {
            0.0
        };
        sigmoid(base + output)
    }

    /// Squared error of the hand-written evaluation alone.
    #[must_use]
    pub fn error_by_hand(self, sample: &Sample<'_>) -> f32 {
        let expected = sigmoid(f32::from(sample.by_hand) / self.scale);
        (expected - self.target(sample)).powi(2)
    }

    /// Expected score of the side to move that a position should have.
    #[inline(always)]
    #[must_use]
    pub fn target(self, sample: &Sample<'_>) -> f32 {
        let by_score = sigmoid(f32::from(sample.score) / self.scale);
        self.score_share * by_score + (1.0 - self.score_share) * sample.result
    }
}

const LANES: usize = 8;

impl Combined {
    /// All zero.
    #[must_use]
    pub fn zero(shape: Shape) -> Self {
        let inputs = inputs_of(shape.variant);
        let hidden = shape.hidden;
        Self {
            hidden,
            inputs,
            input_weights: vec![0.0; shape.king_buckets * inputs * hidden],
            hidden_biases: vec![0.0; hidden],
            output_weights: vec![0.0; OUTPUT_BUCKETS * 2 * hidden],
            output_biases: vec![0.0; OUTPUT_BUCKETS],
        }
    }

    fn parts(&mut self) -> [&mut Vec<f32>; 4] {
        [
            &mut self.input_weights,
            &mut self.hidden_biases,
            &mut self.output_weights,
            &mut self.output_biases,
        ]
    }

    /// Sets all to zero.
    pub fn clear(&mut self) {
        for part in self.parts() {
            part.fill(0.0);
        }
    }

    /// Adds another gradient.
    pub fn add(&mut self, other: &mut Self) {
        for (part, others) in self.parts().into_iter().zip(other.parts()) {
            for (value, more) in part.iter_mut().zip(others) {
                *value += *more;
            }
        }
    }

    /// Output for a position; the hidden sums stay in `scratch`.
    #[inline(always)]
    fn forward(&self, sample: &Sample<'_>, scratch: &mut Scratch) -> f32 {
        let hidden = self.hidden;
        let bucket = usize::from(sample.bucket);
        let weights = &self.output_weights[bucket * 2 * hidden..][..2 * hidden];
        let mut lanes = [0.0_f32; LANES];
        for view in 0..2 {
            let base = usize::from(sample.sets[view]) * self.inputs;
            let map = sample.maps[view];
            let rows = &mut scratch.rows[view];
            rows.clear();
            rows.extend(
                sample
                    .inputs
                    .iter()
                    .map(|&input| ((base + usize::from(map[usize::from(input)])) * hidden) as u32),
            );
            let sums = &mut scratch.sums[view][..hidden];
            sums.copy_from_slice(&self.hidden_biases);
            for &row in rows.iter() {
                let row = &self.input_weights[row as usize..][..hidden];
                for (sum, weight) in sums.iter_mut().zip(row) {
                    *sum += weight;
                }
            }
            // Sums in a fixed order, whatever the processor does eight at a time.
            let weights = &weights[view * hidden..][..hidden];
            for (sums, weights) in sums.chunks_exact(LANES).zip(weights.chunks_exact(LANES)) {
                for lane in 0..LANES {
                    let value = sums[lane].clamp(0.0, 1.0);
                    lanes[lane] += value * value * weights[lane];
                }
            }
        }
        lanes.iter().sum::<f32>() + self.output_biases[bucket]
    }

    /// Adds the gradient of half a position's squared error to `gradient`; the squared error itself.
    #[inline(always)]
    fn backward(
        &self,
        sample: &Sample<'_>,
        goal: Goal,
        scratch: &mut Scratch,
        gradient: &mut Self,
    ) -> f32 {
        let hidden = self.hidden;
        let expected = goal.expected(self.forward(sample, scratch), sample);
        let error = expected - goal.target(sample);
        let slope = error * expected * (1.0 - expected);
        let bucket = usize::from(sample.bucket);
        gradient.output_biases[bucket] += slope;
        for view in 0..2 {
            let at = (bucket * 2 + view) * hidden;
            let weights = &self.output_weights[at..][..hidden];
            let output = &mut gradient.output_weights[at..][..hidden];
            let sums = &scratch.sums[view][..hidden];
            let slopes = &mut scratch.slopes[view][..hidden];
            for neuron in 0..hidden {
                let sum = sums[neuron];
                let value = sum.clamp(0.0, 1.0);
                output[neuron] += slope * value * value;
                // The activation is flat outside of 0..1.
                let inside = if value == sum { 2.0 * value } else { 0.0 };
                slopes[neuron] = slope * weights[neuron] * inside;
            }
            for (bias, slope) in gradient.hidden_biases.iter_mut().zip(slopes.iter()) {
                *bias += slope;
            }
            for &row in &scratch.rows[view] {
                let row = &mut gradient.input_weights[row as usize..][..hidden];
                for (value, slope) in row.iter_mut().zip(slopes.iter()) {
                    *value += slope;
                }
            }
        }
        error * error
    }
}

/// Part of a batch: which positions, and whether each is mirrored.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// All positions.
    pub samples: &'a Samples,
    /// Those of this part; the highest bit says that the position is to be mirrored.
    pub order: &'a [u32],
}

/// Mark of a mirrored position in [`Batch::order`].
pub const MIRROR: u32 = 1 << 31;

#[inline(always)]
fn gradient_body(
    weights: &Combined,
    batch: Batch<'_>,
    goal: Goal,
    scratch: &mut Scratch,
    gradient: &mut Combined,
) -> f64 {
    let mut error = 0.0;
    for &entry in batch.order {
        let sample = batch
            .samples
            .get((entry & !MIRROR) as usize, entry & MIRROR != 0);
        error += f64::from(weights.backward(&sample, goal, scratch, gradient));
    }
    error
}

#[inline(always)]
fn error_body(weights: &Combined, batch: Batch<'_>, goal: Goal, scratch: &mut Scratch) -> f64 {
    let mut error = 0.0;
    for &entry in batch.order {
        let sample = batch
            .samples
            .get((entry & !MIRROR) as usize, entry & MIRROR != 0);
        let expected = goal.expected(weights.forward(&sample, scratch), &sample);
        let difference = expected - goal.target(&sample);
        error += f64::from(difference * difference);
    }
    error
}

/// The same code compiled for processors with 256-bit registers. Without fused multiplication the results are the same.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Batch, Combined, Goal, Scratch, error_body, gradient_body};

    #[target_feature(enable = "avx2")]
    pub(super) fn gradient(
        weights: &Combined,
        batch: Batch<'_>,
        goal: Goal,
        scratch: &mut Scratch,
        gradient: &mut Combined,
    ) -> f64 {
        gradient_body(weights, batch, goal, scratch, gradient)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn error(
        weights: &Combined,
        batch: Batch<'_>,
        goal: Goal,
        scratch: &mut Scratch,
    ) -> f64 {
        error_body(weights, batch, goal, scratch)
    }
}

/// Adds the gradient of half the squared errors of a part of a batch; the sum of the squared errors.
#[cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "the form for wide registers needs a processor that has them"
    )
)]
pub fn add_gradient(
    weights: &Combined,
    batch: Batch<'_>,
    goal: Goal,
    scratch: &mut Scratch,
    gradient: &mut Combined,
) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor was asked just now.
        return unsafe { wide::gradient(weights, batch, goal, scratch, gradient) };
    }
    gradient_body(weights, batch, goal, scratch, gradient)
}

/// Sum of the squared errors of positions.
#[cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "the form for wide registers needs a processor that has them"
    )
)]
#[must_use]
pub fn sum_of_errors(
    weights: &Combined,
    batch: Batch<'_>,
    goal: Goal,
    scratch: &mut Scratch,
) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor was asked just now.
        return unsafe { wide::error(weights, batch, goal, scratch) };
    }
    error_body(weights, batch, goal, scratch)
}

impl Combined {
    /// Value of a position in search units, as the network in floating point sees it.
    #[must_use]
    pub fn value(&self, sample: &Sample<'_>, scale: f32) -> f32 {
        let mut scratch = Scratch::new(self.hidden);
        self.forward(sample, &mut scratch) * scale
    }

    /// The network in whole numbers.
    ///
    /// # Errors
    /// If its sums could overflow, see [`NetworkError`].
    pub fn quantise(
        &self,
        shape: Shape,
        scale: u16,
        summary: &str,
    ) -> Result<Network, NetworkError> {
        let round = |values: &[f32], one: i32| -> Vec<i16> {
            values
                .iter()
                .map(|value| (value * one as f32).round() as i16)
                .collect()
        };
        let parts = Parts {
            input_weights: round(&self.input_weights, HIDDEN_ONE),
            hidden_biases: round(&self.hidden_biases, HIDDEN_ONE),
            output_weights: round(&self.output_weights, OUTPUT_ONE),
            output_biases: self
                .output_biases
                .iter()
                .map(|bias| (bias * (HIDDEN_ONE * OUTPUT_ONE) as f32).round() as i32)
                .collect(),
        };
        Network::new(shape, scale, summary, &parts)
    }
}

/// Shape for a variant with one set of input weights.
#[must_use]
pub const fn plain_shape(variant: Variant, hidden: usize) -> Shape {
    Shape {
        variant,
        hidden,
        king_buckets: 1,
    }
}
