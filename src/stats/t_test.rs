//! Tests of means: Welch's, Student's with pooled variance, and Student's on paired differences.

use thiserror::Error;

use super::student::{t_two_sided, t_two_sided_quantile};
use super::summary::{mean, variance};

/// A test of a mean, or of a difference of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TTest {
    /// The statistic.
    pub t: f64,
    /// Degrees of freedom; not an integer in Welch's test.
    pub df: f64,
    /// Two-sided p.
    pub p: f64,
    /// Estimate of the mean, or of the difference.
    pub estimate: f64,
    /// Interval of [`Self::estimate`] at the level asked for.
    pub interval: [f64; 2],
}

/// Why there is no test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TTestError {
    /// A variance needs two values.
    #[error("a test needs at least two values on each side, and there is a side with {0}")]
    TooFew(usize),
    /// Not a number, or infinite.
    #[error("a value is not a finite number")]
    NotFinite,
    /// There is no noise to compare a difference with.
    #[error("all values of a side are the same, so there is no noise to compare a difference with")]
    Constant,
}

/// Welch's unequal-variances test of `mean(x) - mean(y)`, as R's `t.test(x, y)`.
///
/// `t = (x̄ - ȳ) / √(sx²/nx + sy²/ny)` with Welch–Satterthwaite degrees of freedom (Welch 1947).
/// `level` is the interval's, 0.95 as a rule.
pub fn welch(x: &[f64], y: &[f64], level: f64) -> Result<TTest, TTestError> {
    check(x)?;
    check(y)?;
    let (vx, vy) = (variance(x) / x.len() as f64, variance(y) / y.len() as f64);
    let error2 = vx + vy;
    let df =
        error2 * error2 / (vx * vx / (x.len() as f64 - 1.0) + vy * vy / (y.len() as f64 - 1.0));
    finish(mean(x), mean(y), error2, df, level)
}

/// Student's test of `mean(x) - mean(y)` with one variance for both sides.
pub fn student(x: &[f64], y: &[f64], level: f64) -> Result<TTest, TTestError> {
    check(x)?;
    check(y)?;
    let (nx, ny) = (x.len() as f64, y.len() as f64);
    let df = nx + ny - 2.0;
    let pooled = ((nx - 1.0) * variance(x) + (ny - 1.0) * variance(y)) / df;
    finish(mean(x), mean(y), pooled * (1.0 / nx + 1.0 / ny), df, level)
}

/// Student's test of the mean of paired differences against 0.
pub fn paired(differences: &[f64], level: f64) -> Result<TTest, TTestError> {
    check(differences)?;
    let n = differences.len() as f64;
    finish(
        mean(differences),
        0.0,
        variance(differences) / n,
        n - 1.0,
        level,
    )
}

fn check(values: &[f64]) -> Result<(), TTestError> {
    if values.len() < 2 {
        return Err(TTestError::TooFew(values.len()));
    }
    if values.iter().any(|v| !v.is_finite()) {
        return Err(TTestError::NotFinite);
    }
    Ok(())
}

fn finish(x: f64, y: f64, error2: f64, df: f64, level: f64) -> Result<TTest, TTestError> {
    let error = error2.sqrt();
    // R's rule: a deviation that is only the rounding of the means is none.
    if error <= 10.0 * f64::EPSILON * x.abs().max(y.abs()) {
        return Err(TTestError::Constant);
    }
    let estimate = x - y;
    let reach = t_two_sided_quantile(1.0 - level, df) * error;
    let t = estimate / error;
    Ok(TTest {
        t,
        df,
        p: t_two_sided(t, df),
        estimate,
        interval: [estimate - reach, estimate + reach],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Student's sleep data (1908), as in R's documentation of t.test.
    const ONE: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const TWO: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 5e-5 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn welch_on_the_sleep_data() {
        let test = welch(&ONE, &TWO, 0.95).unwrap();
        near(test.t, -1.8608);
        near(test.df, 17.776);
        near(test.p, 0.07939);
        near(test.interval[0], -3.3654832);
        near(test.interval[1], 0.2054832);
    }

    #[test]
    fn student_and_paired_on_the_sleep_data() {
        let test = student(&ONE, &TWO, 0.95).unwrap();
        near(test.t, -1.8608);
        assert_eq!(test.df, 18.0);
        near(test.p, 0.07919);
        let differences: Vec<f64> = ONE.iter().zip(TWO).map(|(a, b)| a - b).collect();
        let test = paired(&differences, 0.95).unwrap();
        near(test.t, -4.0621);
        near(test.p, 0.002833);
        near(test.interval[0], -2.4598858);
        near(test.interval[1], -0.7001142);
    }

    #[test]
    fn what_cannot_be_tested_is_said() {
        assert_eq!(welch(&[1.0], &ONE, 0.95), Err(TTestError::TooFew(1)));
        assert_eq!(
            welch(&[3.0, 3.0], &[4.0, 4.0], 0.95),
            Err(TTestError::Constant)
        );
        assert_eq!(paired(&[1.0, f64::NAN], 0.95), Err(TTestError::NotFinite));
        assert!(welch(&[3.0, 3.0], &[4.0, 5.0], 0.95).is_ok());
    }
}
