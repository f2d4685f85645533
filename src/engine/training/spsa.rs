//! Tuning of search parameters by simultaneous perturbation: all move at once, a pair of games says which way.

use super::datagen::Random;
use super::duel::Duel;
use crate::engine::network::Networks;
use crate::engine::search::params::Params;
use crate::rules::Variant;

/// How the tuning goes.
#[derive(Clone, Debug)]
pub struct SpsaConfig {
    /// The variant.
    pub variant: Variant,
    /// Nodes a move.
    pub nodes: u64,
    /// Pairs of games.
    pub pairs: u32,
    /// Names of the parameters to tune; empty: all.
    pub names: Vec<String>,
    /// Seed.
    pub seed: u64,
    /// Nets that evaluate.
    pub networks: Networks,
}

/// Tunes; `on_progress` gets the pairs played and the values so far, by name.
pub fn tune(
    config: &SpsaConfig,
    mut on_progress: impl FnMut(u32, &[(&'static str, f64)]),
) -> Params {
    let base = Params::of(config.variant);
    let tuned: Vec<usize> = (0..Params::KNOBS.len())
        .filter(|&n| {
            config.names.is_empty() || config.names.iter().any(|x| x == Params::KNOBS[n].name)
        })
        .collect();
    let mut values: Vec<f64> = base.get().into_iter().map(f64::from).collect();
    // A parameter is disturbed by a fifth of its value, but never by less than what rounds to a change.
    let widths: Vec<f64> = values.iter().map(|v| (v.abs() * 0.2).max(1.0)).collect();
    let mut duel = Duel::new(config.variant, config.nodes, &config.networks);
    let mut random = Random(config.seed);
    for pair in 1..=config.pairs {
        let progress = f64::from(pair) / f64::from(config.pairs);
        let width = (1.0 - progress).mul_add(0.6, 0.4);
        let rate = 0.06 * (1.0 - progress).mul_add(0.9, 0.1);
        let signs: Vec<f64> = tuned
            .iter()
            .map(|_| if random.below(2) == 0 { 1.0 } else { -1.0 })
            .collect();
        let disturbed = |direction: f64| {
            let mut params = base;
            for (&n, &sign) in tuned.iter().zip(&signs) {
                let value = direction.mul_add(sign * widths[n] * width, values[n]);
                params.set(Params::KNOBS[n].name, value.round() as i32);
            }
            params
        };
        let sides = [disturbed(1.0), disturbed(-1.0)];
        let advantage = f64::from(duel.pair(sides, &mut random) - 2) / 2.0;
        for (&n, &sign) in tuned.iter().zip(&signs) {
            let knob = Params::KNOBS[n];
            values[n] = (values[n] + rate * advantage * sign * widths[n])
                .clamp(f64::from(knob.min), f64::from(knob.max));
        }
        if pair % 50 == 0 || pair == config.pairs {
            let now: Vec<(&'static str, f64)> = tuned
                .iter()
                .map(|&n| (Params::KNOBS[n].name, values[n]))
                .collect();
            on_progress(pair, &now);
        }
    }
    let mut result = base;
    for &n in &tuned {
        result.set(Params::KNOBS[n].name, values[n].round() as i32);
    }
    result
}
