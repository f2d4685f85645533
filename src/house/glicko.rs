//! Glicko-2 ratings, after Mark Glickman's paper "Example of the Glicko-2 system".
//!
//! A rating period is one game; both players are rated from what they were before it.

use super::account::Perf;

/// How much volatility may change over time. The paper's example value.
const TAU: f64 = 0.5;

/// Between the scale of ratings and the paper's inner scale.
const SCALE: f64 = 173.7178;

/// Limits of the deviation: sure enough, and as unsure as a newcomer.
const DEVIATION: (f64, f64) = (45.0, 350.0);

/// A game's result for one side: 1, 0.5 or 0.
pub type Score = f64;

/// The rating after one period with these games.
///
/// Without games only the deviation grows.
pub fn rated(perf: &Perf, games: &[(Perf, Score)]) -> Perf {
    let mu = (perf.rating - 1500.0) / SCALE;
    let phi = perf.deviation / SCALE;
    let mut information = 0.0;
    let mut surprise = 0.0;
    for (opponent, score) in games {
        let g = weight(opponent.deviation / SCALE);
        let expected = expectation(mu, (opponent.rating - 1500.0) / SCALE, g);
        information += g * g * expected * (1.0 - expected);
        surprise += g * (score - expected);
    }
    if games.is_empty() {
        return Perf {
            deviation: (phi.hypot(perf.volatility) * SCALE).min(DEVIATION.1),
            ..*perf
        };
    }
    let v = 1.0 / information;
    let delta = v * surprise;
    let volatility = new_volatility(phi, perf.volatility, v, delta);
    let grown = phi.hypot(volatility);
    let phi = 1.0 / (1.0 / (grown * grown) + 1.0 / v).sqrt();
    Perf {
        games: perf.games + games.len() as u32,
        rating: (mu + phi * phi * surprise) * SCALE + 1500.0,
        deviation: phi * SCALE,
        volatility,
    }
}

/// Both players' ratings after one game; `score` is the first one's. Deviations are kept within the house's limits.
pub fn after_game(first: &Perf, second: &Perf, score: Score) -> [Perf; 2] {
    let new = [
        rated(first, &[(*second, score)]),
        rated(second, &[(*first, 1.0 - score)]),
    ];
    new.map(|perf| Perf {
        deviation: perf.deviation.clamp(DEVIATION.0, DEVIATION.1),
        ..perf
    })
}

/// The paper's g: how much a result against so uncertain an opponent counts.
fn weight(phi: f64) -> f64 {
    let share = phi / std::f64::consts::PI;
    1.0 / (1.0 + 3.0 * share * share).sqrt()
}

/// The paper's E.
fn expectation(mu: f64, opponent: f64, g: f64) -> f64 {
    1.0 / (1.0 + (-g * (mu - opponent)).exp())
}

/// Step 5 of the paper: the root of f by the Illinois algorithm.
fn new_volatility(phi: f64, sigma: f64, v: f64, delta: f64) -> f64 {
    const PRECISION: f64 = 1e-6;
    let a = (sigma * sigma).ln();
    let f = |x: f64| {
        let e = x.exp();
        let denominator = phi * phi + v + e;
        e * (delta * delta - denominator) / (2.0 * denominator * denominator)
            - (x - a) / (TAU * TAU)
    };
    let mut low = a;
    let mut high = if delta * delta > phi * phi + v {
        (delta * delta - phi * phi - v).ln()
    } else {
        let mut k = 1.0;
        // The paper proves that this ends; the bound guards against numbers that are none.
        while f(a - k * TAU) < 0.0 && k < 100.0 {
            k += 1.0;
        }
        a - k * TAU
    };
    let (mut f_low, mut f_high) = (f(low), f(high));
    for _ in 0..100 {
        if (high - low).abs() <= PRECISION {
            break;
        }
        let middle = low + (low - high) * f_low / (f_high - f_low);
        let f_middle = f(middle);
        if f_middle * f_high <= 0.0 {
            low = high;
            f_low = f_high;
        } else {
            f_low /= 2.0;
        }
        high = middle;
        f_high = f_middle;
    }
    (low / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn perf(rating: f64, deviation: f64) -> Perf {
        Perf {
            games: 0,
            rating,
            deviation,
            volatility: 0.06,
        }
    }

    #[test]
    fn the_worked_example_of_the_paper_comes_out() {
        let player = perf(1500.0, 200.0);
        let games = [
            (perf(1400.0, 30.0), 1.0),
            (perf(1550.0, 100.0), 0.0),
            (perf(1700.0, 300.0), 0.0),
        ];
        let new = rated(&player, &games);
        assert!((new.rating - 1464.06).abs() < 0.01, "{}", new.rating);
        assert!((new.deviation - 151.52).abs() < 0.01, "{}", new.deviation);
        assert!(
            (new.volatility - 0.05999).abs() < 0.00001,
            "{}",
            new.volatility
        );
        assert_eq!(new.games, 3);
    }

    #[test]
    fn without_games_only_the_deviation_grows() {
        let player = perf(1600.0, 50.0);
        let new = rated(&player, &[]);
        assert_eq!((new.rating, new.games), (1600.0, 0));
        let expected = SCALE * ((50.0 / SCALE) * (50.0 / SCALE) + 0.06 * 0.06_f64).sqrt();
        assert!((new.deviation - expected).abs() < 1e-9);
    }

    #[test]
    fn a_game_moves_both_the_unsure_one_more() {
        let (sure, unsure) = (perf(1500.0, 50.0), perf(1500.0, 350.0));
        let [winner, loser] = after_game(&unsure, &sure, 1.0);
        assert!(winner.rating - 1500.0 > 5.0 * (1500.0 - loser.rating));
        assert!(winner.deviation < 350.0 && loser.deviation >= 45.0);
        let [a, b] = after_game(&sure, &sure, 0.5);
        assert!((a.rating - 1500.0).abs() < 1e-9 && (b.rating - 1500.0).abs() < 1e-9);
    }

    #[test]
    fn volatility_is_found_for_great_surprises_too() {
        let low = perf(1000.0, 40.0);
        let high = perf(2800.0, 40.0);
        let new = rated(&low, &[(high, 1.0)]);
        assert!(
            new.volatility > 0.06 && new.volatility < 0.2,
            "{}",
            new.volatility
        );
        assert!(new.rating.is_finite() && new.deviation.is_finite());
    }
}
