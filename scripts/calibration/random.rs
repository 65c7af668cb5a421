//! Draws from distributions, on top of the library's seeded bits.

use std::f64::consts::PI;

use perfblame::stats::SplitMix64;
use statrs::function::gamma::ln_gamma;

/// A source of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    bits: SplitMix64,
    spare: Option<f64>,
}

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            bits: SplitMix64::new(seed),
            spare: None,
        }
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.bits.next_f64()
    }

    /// Standard normal (Box & Muller 1958).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let angle = 2.0 * PI * self.uniform();
        self.spare = Some(radius * angle.sin());
        radius * angle.cos()
    }

    /// Student's t of 3 degrees of freedom, scaled to a variance of 1: heavy tails.
    pub fn heavy(&mut self) -> f64 {
        let chi2: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / chi2.sqrt()
    }

    /// Poisson: products of uniforms for small means, Hörmann's PTRS (1993) for large ones.
    pub fn poisson(&mut self, mean: f64) -> f64 {
        if mean <= 0.0 {
            return 0.0;
        }
        if mean < 12.0 {
            let limit = (-mean).exp();
            let (mut count, mut product) = (0.0, self.uniform());
            while product > limit {
                count += 1.0;
                product *= self.uniform();
            }
            return count;
        }
        let b = 0.931 + 2.53 * mean.sqrt();
        let a = -0.059 + 0.02483 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let v_r = 0.9277 - 3.6224 / (b - 2.0);
        loop {
            let u = self.uniform() - 0.5;
            let v = self.uniform();
            let us = 0.5 - u.abs();
            let k = ((2.0 * a / us + b) * u + mean + 0.43).floor();
            if us >= 0.07 && v <= v_r {
                return k;
            }
            if k < 0.0 || (us < 0.013 && v > us) {
                continue;
            }
            let bound = -mean + k * mean.ln() - ln_gamma(k + 1.0);
            if (v * inverse_alpha / (a / (us * us) + b)).ln() <= bound {
                return k;
            }
        }
    }
}
