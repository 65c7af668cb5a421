//! Keys by Zipf's law (pattern Z).

use super::Rng;

/// Draws key k of `min..=max` with probability proportional to k^-s, by rejection-inversion
/// (Hörmann and Derflinger 1996, "Rejection-inversion to generate variates from monotone discrete
/// distributions"): about one draw a key, whatever the size of the range.
#[derive(Debug, Clone)]
pub struct Zipf {
    min: f64,
    max: f64,
    exponent: f64,
    /// H at the lower end less the mass of the least key.
    h_low: f64,
    h_high: f64,
    /// Below this distance a draw is accepted without computing H.
    squeeze: f64,
}

impl Zipf {
    /// Over `min..=max`, `min` at least 1, exponent above 0.
    pub fn new(min: u64, max: u64, exponent: f64) -> Zipf {
        let (low, high) = (min as f64, max as f64);
        let mut zipf = Zipf {
            min: low,
            max: high,
            exponent,
            h_low: 0.0,
            h_high: 0.0,
            squeeze: 0.0,
        };
        zipf.h_low = zipf.h(low + 0.5) - low.powf(-exponent);
        zipf.h_high = zipf.h(high + 0.5);
        let second = low + 1.0;
        zipf.squeeze = second - zipf.h_inverse(zipf.h(second + 0.5) - second.powf(-exponent));
        zipf
    }

    /// The next key.
    #[inline]
    pub fn draw(&mut self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.h_low + rng.unit() * (self.h_high - self.h_low);
            let x = self.h_inverse(u);
            let key = (x + 0.5).floor().clamp(self.min, self.max);
            if key - x <= self.squeeze || u >= self.h(key + 0.5) - key.powf(-self.exponent) {
                return key as u64;
            }
        }
    }

    /// Integral of x^-s: (x^(1-s) - 1) / (1 - s), and ln x where s is 1.
    fn h(&self, x: f64) -> f64 {
        let q = 1.0 - self.exponent;
        let log = x.ln();
        if q.abs() < 1e-9 {
            log
        } else {
            (q * log).exp_m1() / q
        }
    }

    fn h_inverse(&self, y: f64) -> f64 {
        let q = 1.0 - self.exponent;
        if q.abs() < 1e-9 {
            y.exp()
        } else {
            // Rounding may reach past the pole of a steep law; the clamp in `draw` mends that.
            ((q * y).max(-1.0).ln_1p() / q).exp()
        }
    }
}
