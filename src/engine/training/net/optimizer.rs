//! Adam with decoupled decay of weights.

/// Running means of a row of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// Mean gradient.
    pub mean: Vec<f32>,
    /// Mean square of the gradient.
    pub square: Vec<f32>,
    /// Steps made.
    pub steps: u64,
}

const MEAN_MEMORY: f32 = 0.9;
const SQUARE_MEMORY: f32 = 0.999;
const EPSILON: f32 = 1e-8;

impl Adam {
    /// For `length` parameters.
    #[must_use]
    pub fn new(length: usize) -> Self {
        Self {
            mean: vec![0.0; length],
            square: vec![0.0; length],
            steps: 0,
        }
    }

    /// One step against the gradient; the first `n_decayed` parameters are drawn to zero as well.
    pub fn step(
        &mut self,
        row: &mut [f32],
        gradient: &[f32],
        rate: f32,
        decay: f32,
        n_decayed: usize,
    ) {
        self.steps += 1;
        let steps = self.steps.min(i32::MAX as u64) as i32;
        let mean_left = 1.0 - MEAN_MEMORY.powi(steps);
        let square_left = 1.0 - SQUARE_MEMORY.powi(steps);
        let keep = 1.0 - rate * decay;
        for value in &mut row[..n_decayed] {
            *value *= keep;
        }
        let means = self.mean.iter_mut().zip(&mut self.square);
        for ((value, &slope), (mean, square)) in row.iter_mut().zip(gradient).zip(means) {
            *mean = MEAN_MEMORY * *mean + (1.0 - MEAN_MEMORY) * slope;
            *square = SQUARE_MEMORY * *square + (1.0 - SQUARE_MEMORY) * slope * slope;
            let size = (*square / square_left).sqrt() + EPSILON;
            *value -= rate * (*mean / mean_left) / size;
        }
    }
}

/// Rate of learning: rises from nothing, then falls along half a cosine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Highest rate.
    pub top: f32,
    /// Rate at the end.
    pub end: f32,
    /// Steps until the highest rate.
    pub warm_up: u64,
    /// Steps in all.
    pub steps: u64,
}

impl Schedule {
    /// Rate of a step, counted from 0.
    #[must_use]
    pub fn rate(&self, step: u64) -> f32 {
        if step < self.warm_up {
            return self.top * (step + 1) as f32 / self.warm_up as f32;
        }
        let left = self.steps.saturating_sub(self.warm_up).max(1);
        let part = ((step - self.warm_up) as f32 / left as f32).min(1.0);
        let cosine = f32::midpoint(1.0, (std::f32::consts::PI * part).cos());
        self.end + (self.top - self.end) * cosine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bowl_is_descended() {
        let mut row = vec![3.0, -2.0, 0.5];
        let mut adam = Adam::new(3);
        let schedule = Schedule {
            top: 0.05,
            end: 0.0005,
            warm_up: 10,
            steps: 800,
        };
        for step in 0..800 {
            let gradient: Vec<f32> = row.iter().map(|value| 2.0 * (value - 1.0)).collect();
            adam.step(&mut row, &gradient, schedule.rate(step), 0.0, 3);
        }
        for value in row {
            assert!((value - 1.0).abs() < 0.01, "{value}");
        }
    }

    #[test]
    fn decay_draws_to_zero_what_has_no_gradient() {
        let mut row = vec![1.0, 1.0];
        let mut adam = Adam::new(2);
        for _ in 0..100 {
            adam.step(&mut row, &[0.0, 0.0], 0.1, 0.1, 1);
        }
        assert!(row[0] < 0.4 && row[1] == 1.0, "{row:?}");
    }

    #[test]
    fn the_rate_rises_and_falls() {
        let schedule = Schedule {
            top: 1.0,
            end: 0.1,
            warm_up: 4,
            steps: 104,
        };
        assert!(schedule.rate(0) < schedule.rate(3));
        assert!((schedule.rate(4) - 1.0).abs() < 1e-6);
        assert!((schedule.rate(54) - 0.55).abs() < 1e-3);
        assert!((schedule.rate(104) - 0.1).abs() < 1e-3);
        assert!((schedule.rate(9_999) - 0.1).abs() < 1e-3);
    }
}
