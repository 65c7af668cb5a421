//! Student's t and the normal distribution: tails and quantiles.

use std::f64::consts::{PI, SQRT_2};

use statrs::function::beta::beta_reg;
use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::ln_gamma;

/// Above this many degrees of freedom the normal distribution is used.
const NORMAL_DF: f64 = 1e7;

/// Two-sided tail of Student's t: the chance of a value at least as far from 0 as `t`.
///
/// `p = I_x(df/2, 1/2)` with `x = df / (df + t²)` (Abramowitz & Stegun 26.7.1), which keeps its
/// relative precision far out in the tail. 1 where `t` is NaN.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    if df > NORMAL_DF {
        return normal_two_sided(t);
    }
    beta_reg(df / 2.0, 0.5, df / (df + t * t))
}

/// Two-sided tail of the normal distribution.
pub fn normal_two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

/// Upper quantile of the normal distribution by its two-sided tail: 1.96 for 0.05.
pub fn normal_two_sided_quantile(p: f64) -> f64 {
    SQRT_2 * erfc_inv(p.clamp(f64::MIN_POSITIVE, 1.0))
}

/// Upper quantile of Student's t by its two-sided tail: 2.228 for `p = 0.05`, `df = 10`.
///
/// Newton steps on the logarithm of the tail from Hill's expansion (Algorithm 396, CACM 1970),
/// kept between brackets. NaN where `p` is not within (0, 1] or `df` is not positive.
pub fn t_two_sided_quantile(p: f64, df: f64) -> f64 {
    if !(p > 0.0 && p <= 1.0 && df > 0.0) {
        return f64::NAN;
    }
    if p == 1.0 {
        return 0.0;
    }
    let z = normal_two_sided_quantile(p);
    if df > NORMAL_DF {
        return z;
    }
    let (mut lo, mut hi) = (0.0, f64::INFINITY);
    let z2 = z * z;
    let mut t =
        z * (1.0 + (z2 + 1.0) / (4.0 * df) + (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / (96.0 * df * df));
    for _ in 0..200 {
        let tail = t_two_sided(t, df);
        if tail > p {
            lo = t;
        } else {
            hi = t;
        }
        // d ln(tail) / dt = -2 f(t) / tail
        let step = (tail / p).ln() * tail / (2.0 * t_density(t, df));
        let mut next = t + step;
        if !(next > lo && next < hi) {
            next = if hi.is_finite() {
                (lo + hi) / 2.0
            } else {
                2.0 * t + 1.0
            };
        }
        if (next - t).abs() <= 1e-14 * t.abs() {
            return next;
        }
        t = next;
    }
    t
}

fn t_density(t: f64, df: f64) -> f64 {
    let ln_norm = ln_gamma((df + 1.0) / 2.0) - ln_gamma(df / 2.0) - 0.5 * (df * PI).ln();
    (ln_norm - (df + 1.0) / 2.0 * (t * t / df).ln_1p()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_printed_tables() {
        // Two-sided 5 % and 1 % points.
        for (df, five, one) in [
            (1.0, 12.706204736, 63.656741162),
            (2.0, 4.3026527297, 9.9248432009),
            (5.0, 2.5705818356, 4.0321429836),
            (10.0, 2.2281388520, 3.1692726726),
            (30.0, 2.0422724563, 2.7499956536),
        ] {
            assert!(
                (t_two_sided_quantile(0.05, df) / five - 1.0).abs() < 1e-9,
                "{df}"
            );
            assert!(
                (t_two_sided_quantile(0.01, df) / one - 1.0).abs() < 1e-9,
                "{df}"
            );
        }
        assert!((t_two_sided_quantile(0.05, 1e9) - 1.959963985).abs() < 1e-8);
        assert!((normal_two_sided_quantile(0.05) - 1.959963985).abs() < 1e-8);
    }

    #[test]
    fn tail_and_quantile_are_inverse() {
        for df in [0.7, 1.0, 3.3, 17.9, 250.0] {
            for p in [0.9, 0.3, 0.05, 1e-4, 1e-12] {
                let t = t_two_sided_quantile(p, df);
                assert!(
                    (t_two_sided(t, df) / p - 1.0).abs() < 1e-7,
                    "df {df}, p {p}"
                );
            }
        }
    }

    #[test]
    fn closed_forms_of_one_and_two_degrees() {
        for t in [0.1, 1.0, 7.0] {
            let cauchy = 1.0 - 2.0 * f64::atan(t) / PI;
            assert!((t_two_sided(t, 1.0) - cauchy).abs() < 1e-12);
            let two = 1.0 - t / f64::sqrt(2.0 + t * t);
            assert!((t_two_sided(t, 2.0) - two).abs() < 1e-12);
        }
        assert_eq!(t_two_sided(f64::INFINITY, 4.0), 0.0);
        assert_eq!(t_two_sided(f64::NAN, 4.0), 1.0);
    }
}
