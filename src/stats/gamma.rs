//! Digamma and trigamma, and the inverse of trigamma.

pub use statrs::function::gamma::digamma;

/// Trigamma, the second derivative of ln Γ, for `x > 0`: recurrence up to 8, then the asymptotic
/// series (Abramowitz & Stegun 6.4.6, 6.4.12).
pub fn trigamma(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < 8.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let w = 1.0 / (x * x);
    let series =
        1.0 / 6.0 - w * (1.0 / 30.0 - w * (1.0 / 42.0 - w * (1.0 / 30.0 - w * (5.0 / 66.0))));
    sum + 1.0 / x + w / 2.0 + w / x * series
}

/// Solves `trigamma(y) = x` for `x > 0` by Newton's method on `1 / trigamma` (Smyth 2004,
/// appendix), which rises almost linearly. Infinite where `x` is 0 or below.
pub fn inverse_trigamma(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    if x <= 1e-7 {
        return if x <= 0.0 { f64::INFINITY } else { 1.0 / x };
    }
    if x > 1e7 {
        return 1.0 / x.sqrt();
    }
    let mut y = 0.5 + 1.0 / x;
    for _ in 0..50 {
        let value = trigamma(y);
        let h = 1e-4 * y;
        let slope = (trigamma(y + h) - trigamma(y - h)) / (2.0 * h);
        let step = value * (1.0 - value / x) / slope;
        y += step;
        if (step / y).abs() < 1e-9 {
            break;
        }
    }
    y
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn closed_forms() {
        assert!((trigamma(1.0) - PI * PI / 6.0).abs() < 1e-11);
        assert!((trigamma(0.5) - PI * PI / 2.0).abs() < 1e-11);
        assert!((trigamma(20.0) - 0.051270822935203).abs() < 1e-11);
    }

    #[test]
    fn the_inverse_is_one() {
        for y in [0.01, 0.4, 1.0, 3.7, 55.0, 4000.0] {
            assert!(
                (inverse_trigamma(trigamma(y)) / y - 1.0).abs() < 1e-6,
                "{y}"
            );
        }
        assert_eq!(inverse_trigamma(0.0), f64::INFINITY);
    }
}
