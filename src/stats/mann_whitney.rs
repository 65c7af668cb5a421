//! The Mann–Whitney U test, exact with and without ties.

use super::student::normal_two_sided;

/// Most table cells that the exact distribution is counted in; beyond, the normal approximation
/// is within a thousandth.
const MOST_WORK: usize = 50_000_000;

/// Result of a Mann–Whitney test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Number of pairs in which `x` is larger, ties counting half.
    pub u: f64,
    /// Two-sided p.
    pub p: f64,
    /// Whether `p` is exact.
    pub exact: bool,
}

/// Tests whether values of `x` tend to be larger or smaller than those of `y` (Mann & Whitney
/// 1947).
///
/// The exact p is the part of all ways to choose which of the pooled values are `x` whose rank sum
/// is at least as far from its mean as the one that was seen; tied values share their mean rank,
/// so that ties are exact too. `None` where a side is empty or a value is not finite.
pub fn mann_whitney(x: &[f64], y: &[f64]) -> Option<MannWhitney> {
    if x.is_empty() || y.is_empty() || x.iter().chain(y).any(|v| !v.is_finite()) {
        return None;
    }
    let (n, m) = (x.len(), y.len());
    let ranks = doubled_ranks(x, y);
    let doubled: usize = ranks[..n].iter().sum();
    let u = doubled as f64 / 2.0 - (n * (n + 1)) as f64 / 2.0;
    // The rank sum of the smaller side says the same, in a smaller table.
    let (smaller, seen) = if n <= m {
        (n, doubled)
    } else {
        (m, ranks[n..].iter().sum())
    };
    let total = n + m;
    let width = ranks.iter().sum::<usize>() + 1;
    if total * smaller * width <= MOST_WORK && total <= 1000 {
        Some(MannWhitney {
            u,
            p: exact(&ranks, smaller, seen),
            exact: true,
        })
    } else {
        Some(MannWhitney {
            u,
            p: approximate(&ranks, n, m, u),
            exact: false,
        })
    }
}

/// Twice the mean rank of each value, `x` first: whole numbers even with ties.
fn doubled_ranks(x: &[f64], y: &[f64]) -> Vec<usize> {
    let pooled: Vec<f64> = x.iter().chain(y).copied().collect();
    let mut order: Vec<usize> = (0..pooled.len()).collect();
    order.sort_by(|&i, &j| pooled[i].total_cmp(&pooled[j]));
    let mut ranks = vec![0; pooled.len()];
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && pooled[order[end]] == pooled[order[start]] {
            end += 1;
        }
        // Ranks start+1 … end; twice their mean is start + 1 + end.
        for &i in &order[start..end] {
            ranks[i] = start + 1 + end;
        }
        start = end;
    }
    ranks
}

/// Counts subsets of `size` ranks by their sum, in parts of all subsets.
fn exact(ranks: &[usize], size: usize, seen: usize) -> f64 {
    let width = ranks.iter().sum::<usize>() + 1;
    // chance[k][s]: that of the ranks met so far k are chosen, with sum s. Each rank is chosen
    // with a chance that makes all subsets of `size` equally likely in the end; the common factor
    // cancels, and chances do not overflow where counts do.
    let mut chance = vec![vec![0.0f64; width]; size + 1];
    chance[0][0] = 1.0;
    for (met, &rank) in ranks.iter().enumerate() {
        for k in (0..size.min(met + 1)).rev() {
            let (lower, upper) = chance.split_at_mut(k + 1);
            let (from, to) = (&lower[k], &mut upper[0]);
            for s in 0..width - rank {
                to[s + rank] += from[s];
            }
        }
        // Halving keeps the numbers in range, and is the same for every subset.
        for row in &mut chance {
            row.iter_mut().for_each(|c| *c /= 2.0);
        }
    }
    let all: f64 = chance[size].iter().sum();
    let mean = size as f64 * (width - 1) as f64 / ranks.len() as f64;
    let distance = (seen as f64 - mean).abs() - 1e-9;
    let far: f64 = chance[size]
        .iter()
        .enumerate()
        .filter(|(s, _)| (*s as f64 - mean).abs() >= distance)
        .map(|(_, c)| c)
        .sum();
    (far / all).min(1.0)
}

/// The normal approximation with the variance corrected for ties and a continuity correction.
fn approximate(ranks: &[usize], n: usize, m: usize, u: f64) -> f64 {
    let (n, m) = (n as f64, m as f64);
    let total = n + m;
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|group| {
            let t = group.len() as f64;
            t * t * t - t
        })
        .sum();
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    normal_two_sided(distance / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(x: &[f64], y: &[f64]) -> f64 {
        mann_whitney(x, y).unwrap().p
    }

    #[test]
    fn separated_sides_of_every_size() {
        // 2 of C(n+m, n) choices are as extreme.
        let choose =
            |n: usize, k: usize| (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
        for n in 1..=9 {
            for m in 1..=9 {
                let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
                let y: Vec<f64> = (0..m).map(|i| 100.0 + i as f64).collect();
                let expected = 2.0 / choose(n + m, n);
                assert!((p(&x, &y) - expected.min(1.0)).abs() < 1e-12, "{n} {m}");
                assert_eq!(p(&x, &y), p(&y, &x));
            }
        }
        let five: Vec<f64> = (0..5).map(f64::from).collect();
        let more: Vec<f64> = (5..10).map(f64::from).collect();
        assert!((p(&five, &more) - 0.0079365).abs() < 1e-6);
    }

    #[test]
    fn the_permeability_data() {
        // Hollander & Wolfe (1973), p. 69 f., as in R's documentation of wilcox.test: W = 35, and
        // one-sided p = 0.1272, of which the two-sided is twice.
        let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let y = [1.15, 0.88, 0.90, 0.74, 1.21];
        let test = mann_whitney(&x, &y).unwrap();
        assert_eq!(test.u, 35.0);
        assert!((test.p - 0.2544).abs() < 1e-4, "{test:?}");
    }

    #[test]
    fn ties_by_hand() {
        // Of the six ways to choose two of (1, 2, 2, 3), rank sums 3.5, 3.5, 5, 5, 6.5, 6.5: four
        // are as far from 5 as 3.5.
        let test = mann_whitney(&[1.0, 2.0], &[2.0, 3.0]).unwrap();
        assert_eq!(test.u, 0.5);
        assert!((test.p - 4.0 / 6.0).abs() < 1e-12, "{test:?}");
        assert_eq!(p(&[2.0; 4], &[2.0; 6]), 1.0);
    }

    #[test]
    fn large_sides_are_approximated_and_near_the_exact() {
        let x: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 41)).collect();
        let y: Vec<f64> = (0..40).map(|i| f64::from(i * 5 % 43) + 6.3).collect();
        let exact = mann_whitney(&x, &y).unwrap();
        assert!(exact.exact);
        let ranks = doubled_ranks(&x, &y);
        let near = approximate(&ranks, 40, 40, exact.u);
        assert!((near - exact.p).abs() < 2e-3, "{near} {exact:?}");
        let big: Vec<f64> = (0..3000).map(f64::from).collect();
        assert!(!mann_whitney(&big, &big).unwrap().exact);
    }

    #[test]
    fn nothing_to_test() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[f64::NAN], &[1.0]), None);
    }
}
