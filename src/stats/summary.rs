//! Mean, variance, median and quantiles of a sample.

/// Arithmetic mean; NaN of an empty sample.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance with `n - 1` in the denominator; NaN below two values.
pub fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    squares / (values.len() as f64 - 1.0)
}

/// Quantile by linear interpolation between order statistics (R's type 7); NaN of an empty sample.
pub fn quantile(values: &[f64], probability: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_sorted(&sorted, probability)
}

/// As [`quantile`], of values that are in ascending order.
pub fn quantile_sorted(sorted: &[f64], probability: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let position = probability.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// Median; NaN of an empty sample.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Weighted median: the value at which half of the weight lies on either side, the mean of two
/// neighbours where the weight divides exactly between them. NaN of an empty sample.
pub fn weighted_median(pairs: &mut [(f64, f64)]) -> f64 {
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = pairs.iter().map(|p| p.1).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for (i, &(value, weight)) in pairs.iter().enumerate() {
        sum += weight;
        if (sum - half).abs() <= 1e-12 * half && i + 1 < pairs.len() {
            return (value + pairs[i + 1].0) / 2.0;
        }
        if sum > half {
            return value;
        }
    }
    pairs.last().map_or(f64::NAN, |p| p.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), 5.0);
        assert!((variance(&values) - 32.0 / 7.0).abs() < 1e-12);
        assert_eq!(median(&values), 4.5);
        // R: quantile(c(2,4,4,4,5,5,7,9), .9)
        assert!((quantile(&values, 0.9) - 7.6).abs() < 1e-12);
        assert!(mean(&[]).is_nan() && variance(&[1.0]).is_nan() && median(&[]).is_nan());
    }

    #[test]
    fn a_weighted_median_with_equal_weights_is_the_median() {
        let mut odd = [(3.0, 1.0), (1.0, 1.0), (2.0, 1.0)];
        assert_eq!(weighted_median(&mut odd), 2.0);
        let mut even = [(3.0, 2.0), (1.0, 2.0), (2.0, 2.0), (8.0, 2.0)];
        assert_eq!(weighted_median(&mut even), 2.5);
        let mut heavy = [(3.0, 9.0), (1.0, 1.0), (2.0, 1.0)];
        assert_eq!(weighted_median(&mut heavy), 3.0);
    }
}
