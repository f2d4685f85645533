//! The arithmetic in plain Rust: the reference, and what runs on processors without wide registers.

use super::{ACTIVATION_MAX, Block};

pub(super) fn update(
    source: &[Block],
    target: &mut [Block],
    weights: &[Block],
    added: &[u16],
    removed: &[u16],
) {
    let n = source.len();
    target.copy_from_slice(source);
    let row = |index: u16| &weights[index as usize * n..][..n];
    for &index in removed {
        for (block, change) in target.iter_mut().zip(row(index)) {
            for (value, weight) in block.0.iter_mut().zip(&change.0) {
                *value = value.wrapping_sub(*weight);
            }
        }
    }
    for &index in added {
        for (block, change) in target.iter_mut().zip(row(index)) {
            for (value, weight) in block.0.iter_mut().zip(&change.0) {
                *value = value.wrapping_add(*weight);
            }
        }
    }
}

pub(super) fn output(values: &[Block], weights: &[Block]) -> i32 {
    let mut sum = 0_i32;
    for (block, weights) in values.iter().zip(weights) {
        for (&value, &weight) in block.0.iter().zip(&weights.0) {
            let clipped = i32::from(value.clamp(0, ACTIVATION_MAX));
            sum = sum.wrapping_add(clipped * clipped * i32::from(weight));
        }
    }
    sum
}
