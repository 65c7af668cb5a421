//! Bootstrap intervals, for statistics that have no formula.

use super::random::SplitMix64;
use super::student::{normal_two_sided, normal_two_sided_quantile};
use super::summary::{mean, quantile_sorted};

/// Interval of a statistic by the bias-corrected and accelerated bootstrap (Efron 1987).
///
/// Draws `resamples` samples with replacement; the ends are the quantiles
/// `Φ(z₀ + (z₀ ± z) / (1 - a (z₀ ± z)))` of the statistic over them, with `z₀` from the part of
/// resamples below the estimate and `a` from the jackknife. `None` below two values, without
/// resamples, or where the statistic is not finite.
pub fn bootstrap_interval(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<[f64; 2]> {
    let n = values.len();
    let estimate = statistic(values);
    if n < 2 || resamples == 0 || !estimate.is_finite() {
        return None;
    }
    let mut random = SplitMix64::new(seed);
    let mut drawn: Vec<f64> = (0..resamples)
        .map(|_| {
            let sample: Vec<f64> = (0..n).map(|_| values[random.below(n)]).collect();
            statistic(&sample)
        })
        .filter(|s| s.is_finite())
        .collect();
    if drawn.is_empty() {
        return None;
    }
    drawn.sort_by(f64::total_cmp);
    let below = drawn.iter().filter(|s| **s < estimate).count() as f64;
    let equal = drawn.iter().filter(|s| **s == estimate).count() as f64;
    // Ties count half, as a discrete statistic would be corrected for nothing.
    let part = (below + equal / 2.0) / drawn.len() as f64;
    let floor = 0.5 / drawn.len() as f64;
    let bias = normal_quantile(part.clamp(floor, 1.0 - floor));
    let acceleration = acceleration(values, &statistic);
    let reach = normal_two_sided_quantile(1.0 - level);
    let end = |z: f64| {
        let shifted = bias + z;
        let at = bias + shifted / (1.0 - acceleration * shifted);
        quantile_sorted(&drawn, normal_below(at))
    };
    Some([end(-reach), end(reach)])
}

/// `a = Σ d³ / (6 (Σ d²)^1.5)` of the jackknife's deviations `d`.
fn acceleration(values: &[f64], statistic: &impl Fn(&[f64]) -> f64) -> f64 {
    let without: Vec<f64> = (0..values.len())
        .map(|i| {
            let mut rest = values.to_vec();
            rest.remove(i);
            statistic(&rest)
        })
        .collect();
    let centre = mean(&without);
    let (mut squares, mut cubes) = (0.0, 0.0);
    for w in &without {
        let d = centre - w;
        squares += d * d;
        cubes += d * d * d;
    }
    let a = cubes / (6.0 * squares.powf(1.5));
    if a.is_finite() { a } else { 0.0 }
}

fn normal_below(z: f64) -> f64 {
    let tail = normal_two_sided(z) / 2.0;
    if z < 0.0 { tail } else { 1.0 - tail }
}

fn normal_quantile(p: f64) -> f64 {
    if p < 0.5 {
        -normal_two_sided_quantile(2.0 * p)
    } else {
        normal_two_sided_quantile(2.0 * (1.0 - p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::summary::median;
    use crate::stats::t_test::paired;

    // Efron & Tibshirani (1993), table 2.1: survival of treated mice, in days.
    const MICE: [f64; 7] = [94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0];

    #[test]
    fn of_a_mean_it_is_near_student_s() {
        let values: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 61)).collect();
        let [lo, hi] = bootstrap_interval(&values, mean, 0.95, 5000, 1).unwrap();
        let student = paired(&values, 0.95).unwrap().interval;
        assert!((lo - student[0]).abs() < 0.6, "{lo} {student:?}");
        assert!((hi - student[1]).abs() < 0.6, "{hi} {student:?}");
    }

    #[test]
    fn the_mice() {
        // Mean 86.86, bootstrap standard error 23.36 (their table 2.2): the interval reaches about
        // two of them to either side, further above than below, as the sample is skewed.
        let [lo, hi] = bootstrap_interval(&MICE, mean, 0.95, 10_000, 1).unwrap();
        let (below, above) = (86.86 - lo, hi - 86.86);
        assert!((30.0..50.0).contains(&below), "{lo}");
        assert!(above > below && above < 65.0, "{hi}");
        let again = bootstrap_interval(&MICE, mean, 0.95, 10_000, 1).unwrap();
        assert_eq!([lo, hi], again);
    }

    #[test]
    fn of_a_median_its_ends_are_within_the_sample() {
        let [lo, hi] = bootstrap_interval(&MICE, median, 0.95, 2000, 3).unwrap();
        assert!(
            (16.0..=94.0).contains(&lo) && (94.0..=197.0).contains(&hi),
            "{lo} {hi}"
        );
    }

    #[test]
    fn nothing_to_draw_from() {
        assert_eq!(bootstrap_interval(&[1.0], mean, 0.95, 100, 1), None);
        assert_eq!(
            bootstrap_interval(&[1.0, f64::NAN], mean, 0.95, 100, 1),
            None
        );
        assert_eq!(
            bootstrap_interval(&[2.0; 5], mean, 0.95, 100, 1),
            Some([2.0, 2.0])
        );
    }
}
