//! Keys around a median (pattern G).

use super::Rng;

/// Normal deviates by Marsaglia's polar method, redrawn outside the range and truncated.
#[derive(Debug, Clone)]
pub struct Gaussian {
    min: f64,
    end: f64,
    median: f64,
    stddev: f64,
    spare: Option<f64>,
}

impl Gaussian {
    /// Over `min..=max`. The median is `(max - min) / 2 + min + 0.5` and the deviation
    /// `(max - min) / 6` where none is given.
    pub fn new(min: u64, max: u64, median: Option<f64>, stddev: Option<f64>) -> Gaussian {
        let length = (max - min) as f64;
        Gaussian {
            min: min as f64,
            end: max as f64 + 1.0,
            median: median.unwrap_or(length / 2.0 + min as f64 + 0.5),
            // A range of one key has no deviation to derive; any draw that hits the key will do.
            stddev: stddev.unwrap_or(length / 6.0),
            spare: None,
        }
    }

    /// The next key.
    #[inline]
    pub fn draw(&mut self, rng: &mut Rng) -> u64 {
        loop {
            let value = self.median + self.stddev * self.standard(rng);
            if value >= self.min && value < self.end {
                return value as u64;
            }
        }
    }

    /// A standard normal deviate; every second one comes from the pair of the one before.
    fn standard(&mut self, rng: &mut Rng) -> f64 {
        if let Some(value) = self.spare.take() {
            return value;
        }
        loop {
            let u = 2.0 * rng.unit() - 1.0;
            let v = 2.0 * rng.unit() - 1.0;
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(v * scale);
                return u * scale;
            }
        }
    }
}
