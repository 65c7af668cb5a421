//! Size factors: what made every function of a trial dearer or cheaper alike.

use super::summary::{mean, weighted_median};

/// Logarithm of the size factor of each trial, by the median of ratios (Anders & Huber 2010,
/// eq. 5, on logarithms): for each function the log cost of a trial less its mean over all trials;
/// of these the median over functions. Weights favour functions that are measured well.
///
/// `log_cost[trial][function]`; `weight[function]`. All 0 without functions. Swapping the two arms
/// of a block swaps their factors and changes no other, which the sign-flip test relies on.
pub fn log_size_factors(log_cost: &[Vec<f64>], weight: &[f64]) -> Vec<f64> {
    let functions = weight.len();
    let mut centre = vec![0.0; functions];
    for trial in log_cost {
        for (sum, y) in centre.iter_mut().zip(trial) {
            *sum += y / log_cost.len() as f64;
        }
    }
    let mut factors: Vec<f64> = log_cost
        .iter()
        .map(|trial| {
            let mut ratios: Vec<(f64, f64)> = trial
                .iter()
                .zip(&centre)
                .zip(weight)
                .map(|((y, c), w)| (y - c, *w))
                .collect();
            let median = weighted_median(&mut ratios);
            if median.is_finite() { median } else { 0.0 }
        })
        .collect();
    let middle = mean(&factors);
    factors.iter_mut().for_each(|f| *f -= middle);
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_trial_is_found_whatever_one_function_does() {
        let base = [1.0, 2.0, 3.0, 4.0, 5.0];
        let slow: Vec<f64> = base.iter().map(|y| y + 0.3).collect();
        let mut changed = base.to_vec();
        changed[4] += 2.0;
        let factors = log_size_factors(&[base.to_vec(), slow, changed], &[1.0; 5]);
        assert!((factors[1] - factors[0] - 0.3).abs() < 1e-12, "{factors:?}");
        assert!((factors[2] - factors[0]).abs() < 1e-12, "{factors:?}");
    }

    #[test]
    fn no_function_no_factor() {
        assert_eq!(log_size_factors(&[vec![], vec![]], &[]), [0.0, 0.0]);
    }
}
