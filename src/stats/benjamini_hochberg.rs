//! The false discovery rate: a secondary list beside the family-wise one.

/// Adjusts p-values for the false discovery rate (Benjamini & Hochberg 1995): flagging all with
/// `q ≤ 0.05` keeps the expected part of false flags among the flags at 5 %.
///
/// `q(i) = min over j ≥ i of p(j)·m/j`, in the order given. A NaN is taken for 1.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let known = |i: usize| if p[i].is_nan() { 1.0 } else { p[i] };
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| known(i).total_cmp(&known(j)));
    let mut q = vec![1.0; p.len()];
    let mut least: f64 = 1.0;
    for (rank, &i) in order.iter().enumerate().rev() {
        least = least.min(known(i) * p.len() as f64 / (rank + 1) as f64);
        q[i] = least;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_example() {
        // Benjamini & Hochberg (1995), section 3.1: at 5 % the first four are rejected.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let q = benjamini_hochberg(&p);
        assert_eq!(q.iter().filter(|q| **q <= 0.05).count(), 4);
        assert!((q[3] - 0.0095 * 15.0 / 4.0).abs() < 1e-12);
    }

    #[test]
    fn order_ties_and_nothing() {
        let q = benjamini_hochberg(&[0.05, 0.01, 0.03, 0.02, 0.04]);
        assert!(q.iter().all(|q| (q - 0.05).abs() < 1e-15), "{q:?}");
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert!(benjamini_hochberg(&[]).is_empty());
    }
}
