//! What a score means: rating difference with error bars, and the sequential test that accepts or
//! rejects a change.
//!
//! Two games from the same opening with colors reversed are one observation (a pair), since their
//! results depend on each other through the opening. A pair scores 0, 0.5, 1, 1.5 or 2 points; the
//! counts of these are the pentanomial that everything here is computed from.

/// Standard normal quantile of a two-sided 95 % interval.
const Z95: f64 = 1.959_963_984_540_054;

/// Counts of pairs by the first engine's points: 0, 0.5, 1, 1.5, 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pentanomial(pub [u32; 5]);

/// Rating difference with a 95 % interval, in Elo. Infinite at scores of 0 or 100 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EloEstimate {
    /// Best estimate.
    pub elo: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability that the first engine is the stronger one.
    pub superiority: f64,
}

impl EloEstimate {
    /// Half the width of the interval.
    pub fn error(&self) -> f64 {
        if self.high == self.low {
            0.0
        } else {
            (self.high - self.low) / 2.0
        }
    }
}

impl Pentanomial {
    /// Counts a pair; `half_points` are the first engine's, 0 to 4.
    ///
    /// # Panics
    /// If a pair of games had more than two points.
    pub fn add(&mut self, half_points: usize) {
        self.0[half_points] += 1;
    }

    /// Number of pairs.
    pub fn pairs(&self) -> u32 {
        self.0.iter().sum()
    }

    /// Mean points per game, and the variance of a pair's mean, between 0 and 1 each.
    fn moments(&self) -> Option<(f64, f64)> {
        let n = f64::from(self.pairs());
        if n == 0.0 {
            return None;
        }
        let sum = |value: &dyn Fn(f64) -> f64| -> f64 {
            self.weighted()
                .map(|(points, count)| value(points) * count)
                .sum::<f64>()
                / n
        };
        let mean = sum(&|points| points);
        let variance = sum(&|points| (points - mean).powi(2));
        Some((mean, variance))
    }

    /// Points per game of each outcome, with its count.
    fn weighted(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        const POINTS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
        POINTS
            .into_iter()
            .zip(self.0)
            .map(|(points, count)| (points, f64::from(count)))
    }

    /// Rating difference of the first engine over the second; `None` without pairs.
    pub fn elo(&self) -> Option<EloEstimate> {
        let (mean, variance) = self.moments()?;
        let deviation = (variance / f64::from(self.pairs())).sqrt();
        let bound = |z: f64| elo_of_score((mean + z * deviation).clamp(0.0, 1.0));
        let superiority = if deviation > 0.0 {
            normal_cdf((mean - 0.5) / deviation)
        } else {
            // All pairs ended alike.
            match mean.total_cmp(&0.5) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Greater => 1.0,
            }
        };
        Some(EloEstimate {
            elo: elo_of_score(mean),
            low: bound(-Z95),
            high: bound(Z95),
            superiority,
        })
    }
}

/// Rating difference for an expected score (logistic curve). Infinite at 0 and 1.
pub fn elo_of_score(score: f64) -> f64 {
    if score <= 0.0 {
        f64::NEG_INFINITY
    } else if score >= 1.0 {
        f64::INFINITY
    } else {
        -400.0 * (1.0 / score - 1.0).log10()
    }
}

/// Expected score for a rating difference.
pub fn score_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 + 10.0_f64.powf(-elo / 400.0))
}

/// Sequential probability ratio test of `elo1` against `elo0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprt {
    /// Hypothesis 0: the difference is this (and no more).
    pub elo0: f64,
    /// Hypothesis 1: the difference is this (and no less).
    pub elo1: f64,
    /// Probability of accepting hypothesis 1 when 0 is true.
    pub alpha: f64,
    /// Probability of accepting hypothesis 0 when 1 is true.
    pub beta: f64,
}

/// How a test stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The difference is `elo0` or less.
    AcceptH0,
    /// The difference is `elo1` or more.
    AcceptH1,
    /// More games are needed.
    Continue,
}

impl Sprt {
    /// Log-likelihood ratio at which hypothesis 0 and 1 are accepted.
    pub fn bounds(&self) -> (f64, f64) {
        (
            (self.beta / (1.0 - self.alpha)).ln(),
            ((1.0 - self.beta) / self.alpha).ln(),
        )
    }

    /// Logarithm of how much likelier the counts are under hypothesis 1 than under 0, each with
    /// the distribution of its mean that explains the counts best (generalized ratio).
    pub fn log_likelihood_ratio(&self, counts: &Pentanomial) -> f64 {
        if counts.pairs() == 0 {
            return 0.0;
        }
        // An outcome that did not occur yet is not impossible.
        const UNSEEN: f64 = 1e-3;
        let observed: Vec<(f64, f64)> = counts
            .weighted()
            .map(|(points, count)| (points, count.max(UNSEEN)))
            .collect();
        let total: f64 = observed.iter().map(|(_, count)| count).sum();
        let under_0 = multiplier(&observed, total, score_of_elo(self.elo0));
        let under_1 = multiplier(&observed, total, score_of_elo(self.elo1));
        observed
            .iter()
            .map(|&(points, count)| {
                let weight = |(lambda, mean): (f64, f64)| 1.0 + lambda * (points - mean);
                count * (weight(under_0) / weight(under_1)).ln()
            })
            .sum()
    }

    /// Whether the counts decide the test.
    pub fn decide(&self, counts: &Pentanomial) -> Decision {
        let ratio = self.log_likelihood_ratio(counts);
        let (lower, upper) = self.bounds();
        if ratio >= upper {
            Decision::AcceptH1
        } else if ratio <= lower {
            Decision::AcceptH0
        } else {
            Decision::Continue
        }
    }
}

/// The likeliest distribution with mean `mean` divides each observed frequency by
/// `1 + lambda * (points - mean)`; finds `lambda`, and hands `mean` back with it.
fn multiplier(observed: &[(f64, f64)], total: f64, mean: f64) -> (f64, f64) {
    // The constraint decreases in lambda between the poles at the least and greatest points.
    let mut low = -1.0 / (1.0 - mean);
    let mut high = 1.0 / mean;
    for _ in 0..200 {
        let lambda = f64::midpoint(low, high);
        let constraint: f64 = observed
            .iter()
            .map(|&(points, count)| {
                count / total * (points - mean) / (1.0 + lambda * (points - mean))
            })
            .sum();
        if constraint > 0.0 {
            low = lambda;
        } else {
            high = lambda;
        }
    }
    (f64::midpoint(low, high), mean)
}

/// Cumulative distribution of the standard normal; absolute error below 1e-7.
fn normal_cdf(x: f64) -> f64 {
    // Complementary error function by a Chebyshev-fitted rational exponent.
    let z = x.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * z);
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let exponent = FIT.iter().rev().fold(0.0, |sum, fit| sum * t + fit);
    let tail = 0.5 * t * (-z * z + exponent).exp();
    if x >= 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked values of this module's tests come from a separate computation in another language
    /// (bisection on the same likelihood, error function of its standard library).
    fn near(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() <= tolerance,
            "{value} is not {expected}"
        );
    }

    #[test]
    fn elo_with_error_bars_of_worked_examples() {
        let table = [
            ([10, 20, 60, 40, 15], 36.07065, 6.82239, 65.83864, 0.9922204),
            ([1, 0, 7, 2, 50], 416.55707, 323.34227, 591.64092, 1.0),
            ([3, 8, 20, 8, 3], 0.0, -51.64827, 51.64827, 0.5),
        ];
        for (counts, elo, low, high, superiority) in table {
            let estimate = Pentanomial(counts).elo().expect("there are pairs");
            near(estimate.elo, elo, 1e-4);
            near(estimate.low, low, 1e-4);
            near(estimate.high, high, 1e-4);
            near(estimate.superiority, superiority, 1e-6);
            near(estimate.error(), (high - low) / 2.0, 1e-4);
        }
    }

    #[test]
    fn estimates_at_the_edges() {
        assert_eq!(Pentanomial::default().elo(), None);
        let all_won = Pentanomial([0, 0, 0, 0, 9]).elo().expect("pairs");
        assert_eq!(all_won.elo, f64::INFINITY);
        assert_eq!((all_won.superiority, all_won.error()), (1.0, 0.0));
        let all_even = Pentanomial([0, 0, 9, 0, 0]).elo().expect("pairs");
        assert_eq!((all_even.elo, all_even.error()), (0.0, 0.0));
        assert_eq!(all_even.superiority, 0.5);
    }

    #[test]
    fn likelihood_ratios_of_worked_examples() {
        let table = [
            ([10, 20, 60, 40, 15], 0.0, 10.0, 1.320437839),
            ([10, 20, 60, 40, 15], 0.0, 50.0, 2.370880825),
            ([1, 0, 7, 2, 50], 0.0, 10.0, 1.635825442),
            ([30, 0, 7, 2, 9], -5.0, 5.0, -0.708822206),
            ([300, 10, 700, 20, 350], 0.0, 10.0, 2.124112427),
        ];
        for (counts, elo0, elo1, expected) in table {
            let sprt = Sprt {
                elo0,
                elo1,
                alpha: 0.05,
                beta: 0.05,
            };
            near(
                sprt.log_likelihood_ratio(&Pentanomial(counts)),
                expected,
                1e-6,
            );
        }
    }

    #[test]
    fn bounds_and_decisions() {
        let sprt = Sprt {
            elo0: 0.0,
            elo1: 10.0,
            alpha: 0.05,
            beta: 0.05,
        };
        let (lower, upper) = sprt.bounds();
        near(upper, 2.944_438_979, 1e-8);
        near(lower, -2.944_438_979, 1e-8);
        let decide = |counts| sprt.decide(&Pentanomial(counts));
        assert_eq!(decide([0; 5]), Decision::Continue);
        assert_eq!(decide([10, 20, 60, 40, 15]), Decision::Continue);
        assert_eq!(decide([300, 10, 700, 20, 500]), Decision::AcceptH1);
        assert_eq!(decide([500, 10, 700, 20, 300]), Decision::AcceptH0);
        let uneven = Sprt {
            alpha: 0.01,
            beta: 0.1,
            ..sprt
        };
        near(uneven.bounds().1, 90.0_f64.ln(), 1e-9);
        near(uneven.bounds().0, (0.1_f64 / 0.99).ln(), 1e-9);
    }

    #[test]
    fn the_ratio_changes_sign_with_the_sides() {
        let sprt = Sprt {
            elo0: -5.0,
            elo1: 5.0,
            alpha: 0.05,
            beta: 0.05,
        };
        let mut counts = [7, 11, 40, 19, 9];
        let one = sprt.log_likelihood_ratio(&Pentanomial(counts));
        counts.reverse();
        let other = sprt.log_likelihood_ratio(&Pentanomial(counts));
        near(one, -other, 1e-6);
        assert!(one > 0.0);
    }

    #[test]
    fn score_and_elo_are_inverse() {
        for elo in [-700.0, -35.0, 0.0, 10.0, 250.0] {
            near(elo_of_score(score_of_elo(elo)), elo, 1e-9);
        }
    }
}
