//! Power of a comparison of blocks, and what follows from it.

use super::student::{normal_two_sided_quantile, t_two_sided_quantile};

/// Smallest mean difference that a two-sided paired t test at `alpha` finds with a chance of
/// `power`: `(t(1-α/2) + t(power)) σ / √n` on `n - 1` degrees of freedom. Infinite below two
/// blocks. `deviation` is that of one block's difference.
pub fn detectable_difference(deviation: f64, blocks: u32, alpha: f64, power: f64) -> f64 {
    if blocks < 2 {
        return f64::INFINITY;
    }
    let df = f64::from(blocks) - 1.0;
    let t = t_two_sided_quantile(alpha, df) + t_two_sided_quantile(2.0 * (1.0 - power), df);
    t * deviation / f64::from(blocks).sqrt()
}

/// Blocks with which a paired t test at `alpha` finds a mean difference with a chance of `power`;
/// `None` beyond a million, or without a difference.
pub fn blocks_to_detect(difference: f64, deviation: f64, alpha: f64, power: f64) -> Option<u32> {
    const MOST: u32 = 1_000_000;
    let enough = |n: u32| detectable_difference(deviation, n, alpha, power) <= difference.abs();
    if difference == 0.0 || !enough(MOST) {
        return None;
    }
    // The normal formula is below the answer, and near it.
    let z = normal_two_sided_quantile(alpha) + normal_two_sided_quantile(2.0 * (1.0 - power));
    let start = (z * deviation / difference).powi(2).floor().max(2.0) as u32;
    (start..=MOST).find(|&n| enough(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_the_textbook_s_numbers() {
        // A difference of one deviation at 5 % with a power of 80 %: ten pairs (R's
        // power.t.test(delta = 1, sd = 1, power = .8, type = "paired") gives 9.94).
        assert_eq!(blocks_to_detect(1.0, 1.0, 0.05, 0.8), Some(10));
        // Half a deviation: 33.4.
        let half = blocks_to_detect(0.5, 1.0, 0.05, 0.8).unwrap();
        assert!((33..=35).contains(&half), "{half}");
        // The normal formula for a large sample: 7.849 / 0.01² per unit of variance.
        let fine = blocks_to_detect(0.01, 1.0, 0.05, 0.8).unwrap();
        assert!((78_480..78_520).contains(&fine), "{fine}");
    }

    #[test]
    fn blocks_and_difference_are_inverse() {
        for blocks in [6, 12, 40] {
            let difference = detectable_difference(0.07, blocks, 0.05, 0.8);
            assert_eq!(
                blocks_to_detect(difference * 1.000001, 0.07, 0.05, 0.8),
                Some(blocks)
            );
        }
        assert_eq!(blocks_to_detect(0.0, 1.0, 0.05, 0.8), None);
        assert_eq!(detectable_difference(1.0, 1, 0.05, 0.8), f64::INFINITY);
    }
}
