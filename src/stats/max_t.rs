//! Many hypotheses, one family: step-down max-T by sign flips of whole blocks.
//!
//! Westfall & Young (1993), algorithm 4.1, with the sign patterns of paired differences in place
//! of permutations. All hypotheses are flipped together, so that whatever ties them to each other
//! is kept, and the smallest p that `n` blocks can reach stays `2 / 2^n` however many hypotheses
//! there are.
//!
//! Statistics with different degrees of freedom are compared on one scale: the squared normal
//! score of a t, by Wallace's approximation `z² = ν((8ν+1)/(8ν+3))² ln(1 + t²/ν)` (1959). Any scale
//! would keep the level; a fair one keeps the power.

use super::sign_flip::SignFlips;

/// One hypothesis: the mean of these paired differences is 0.
#[derive(Debug, Clone)]
pub struct Hypothesis {
    /// Head less base by block; 0 in a block without a measurement.
    pub differences: Vec<f64>,
    /// Number of blocks with a measurement.
    pub measured: usize,
    /// Degrees of freedom that the prior variance is worth; 0 for none.
    pub prior_df: f64,
    /// Prior variance of a difference.
    pub prior_variance: f64,
    /// A mean nearer to 0 than this can not be flagged, in any sign pattern.
    pub least_effect: f64,
    /// Weight in the family: a hypothesis of weight `w` is treated like one of `1/w` times as
    /// many. 1 for all gives plain max-T.
    pub weight: f64,
}

/// What a family says of one hypothesis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjusted {
    /// Mean difference.
    pub mean: f64,
    /// Moderated variance of a difference.
    pub variance: f64,
    /// Degrees of freedom of [`Self::variance`].
    pub df: f64,
    /// Moderated statistic: the mean over its standard error.
    pub t: f64,
    /// Weight in the family.
    pub weight: f64,
    /// Sign-flip p adjusted for the family.
    pub p_adjusted: f64,
    /// Whether the mean is at least the least effect; without that, nothing is to be flagged and
    /// the adjusted p is only what it would have been.
    pub passes_gate: bool,
}

/// A judged family.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// By hypothesis, in the order given.
    pub adjusted: Vec<Adjusted>,
    ordered: Ordered,
    order: Vec<usize>,
}

/// Most sign patterns that [`Family::critical_score`] looks at: it needs no precision.
const CRITICAL_PATTERNS: usize = 1024;

impl Family {
    /// The squared normal score that a hypothesis of weight 1 needs to be flagged at `alpha`
    /// beside all that is not flagged yet; none where the number of sign patterns does not allow
    /// `alpha`.
    pub fn critical_score(&self, alpha: f64, flips: &SignFlips) -> Option<f64> {
        let patterns = flips.len() as f64;
        let alpha = alpha * (1.0 + 1e-12);
        if 1.0 > alpha * patterns {
            return None;
        }
        let open = self
            .order
            .iter()
            .take_while(|&&h| {
                let adjusted = &self.adjusted[h];
                !(adjusted.passes_gate && adjusted.p_adjusted <= alpha)
            })
            .count();
        let step = flips.len().div_ceil(CRITICAL_PATTERNS);
        let (_, mut scores) = self.ordered.count(flips.iter().skip(1).step_by(step), open);
        scores.sort_by(f64::total_cmp);
        // The adjusted p is (1 + number of patterns at least as large) / patterns.
        let allowed = (alpha * patterns).floor() / patterns * (scores.len() + 1) as f64;
        let index = (scores.len() + 1).checked_sub(allowed.floor().max(1.0) as usize)?;
        Some(scores.get(index).map_or(0.0, |s| s.max(0.0)))
    }
}

/// The score of a family's hypothesis as a t of `df` degrees of freedom: the inverse of Wallace's
/// approximation, for telling what a critical score means.
pub fn t_of_score(score: f64, df: f64) -> f64 {
    let scale = wallace(df);
    ((score.max(0.0) / scale).exp_m1() * df).sqrt()
}

fn wallace(df: f64) -> f64 {
    let ratio = (8.0 * df + 1.0) / (8.0 * df + 3.0);
    df * ratio * ratio
}

/// Places that are counted together.
const CHUNK: usize = 128;

/// Constants of a hypothesis that no sign pattern changes.
struct Scorer {
    measured: f64,
    /// `-score / scale = ln(1 - n·mean²/total)`.
    total: f64,
    scale: f64,
    offset: f64,
    least_effect: f64,
}

impl Scorer {
    fn new(h: &Hypothesis) -> Self {
        let n = h.measured.max(1) as f64;
        let squares: f64 = h.differences.iter().map(|d| d * d).sum();
        Self {
            measured: n,
            total: (h.prior_df * h.prior_variance + squares).max(f64::MIN_POSITIVE),
            scale: wallace(h.prior_df + n - 1.0),
            // A two-sided normal tail is about exp(-z²/2).
            offset: 2.0 * h.weight.max(f64::MIN_POSITIVE).ln(),
            least_effect: h.least_effect,
        }
    }

    fn raw(&self, mean: f64) -> f64 {
        let part = (self.measured * mean * mean / self.total).min(1.0 - 1e-15);
        -self.scale * (-part).ln_1p() + self.offset
    }
}

/// Judges a family. All hypotheses must have as many differences as `flips` has blocks.
pub fn step_down(hypotheses: &[Hypothesis], flips: &SignFlips) -> Family {
    let blocks = flips.blocks();
    let scorers: Vec<Scorer> = hypotheses.iter().map(Scorer::new).collect();
    let seen: Vec<f64> = hypotheses
        .iter()
        .map(|h| h.differences.iter().sum::<f64>() / h.measured.max(1) as f64)
        .collect();
    let scores: Vec<f64> = scorers.iter().zip(&seen).map(|(s, m)| s.raw(*m)).collect();
    let passes: Vec<bool> = scorers
        .iter()
        .zip(&seen)
        .map(|(s, m)| m.abs() >= s.least_effect && *m != 0.0)
        .collect();

    // Ascending: those below the gate first, then by score, so that a running maximum over the
    // order is the maximum over all that are not more extreme.
    let mut order: Vec<usize> = (0..hypotheses.len()).collect();
    order.sort_by(|&i, &j| {
        (passes[i], scores[i])
            .partial_cmp(&(passes[j], scores[j]))
            .unwrap_or(std::cmp::Ordering::Equal)
            .then(j.cmp(&i))
    });
    let ordered = Ordered::new(&order, hypotheses, &scorers, &scores, blocks);
    let (at_least, _) = ordered.count(flips.iter().skip(1), order.len());

    let patterns = flips.len().max(1) as f64;
    let mut p_adjusted = vec![1.0; hypotheses.len()];
    let mut worst: f64 = 0.0;
    for (place, &h) in order.iter().enumerate().rev() {
        worst = worst
            .max((1.0 + at_least[place] as f64) / patterns)
            .min(1.0);
        p_adjusted[h] = worst;
    }
    let adjusted = hypotheses
        .iter()
        .enumerate()
        .map(|(i, h)| {
            let alone = h.estimate();
            Adjusted {
                p_adjusted: if alone.mean == 0.0 {
                    1.0
                } else {
                    p_adjusted[i]
                },
                ..alone
            }
        })
        .collect();
    Family {
        adjusted,
        ordered,
        order,
    }
}

impl Hypothesis {
    /// The moderated statistic of the hypothesis alone; its adjusted p is 1, as there is no family.
    pub fn estimate(&self) -> Adjusted {
        let n = self.measured.max(1) as f64;
        let mean = self.differences.iter().sum::<f64>() / n;
        let squares: f64 = self.differences.iter().map(|d| d * d).sum();
        let about_mean = (squares - n * mean * mean).max(0.0);
        let df = self.prior_df + n - 1.0;
        let variance = (self.prior_df * self.prior_variance + about_mean) / df;
        let t = if mean == 0.0 {
            0.0
        } else {
            mean / (variance / n).sqrt()
        };
        Adjusted {
            mean,
            variance,
            df,
            t,
            weight: self.weight,
            p_adjusted: 1.0,
            passes_gate: mean.abs() >= self.least_effect && mean != 0.0,
        }
    }
}

/// Hypotheses in ascending order of evidence, laid out for speed: `columns[block][place]`.
#[derive(Debug, Clone, PartialEq)]
struct Ordered {
    columns: Vec<Vec<f64>>,
    /// Per place: n/total, least effect, scale, offset.
    factor: Vec<f64>,
    least: Vec<f64>,
    scale: Vec<f64>,
    offset: Vec<f64>,
    /// Score to be reached, a little below the one that was seen, for rounding.
    bar: Vec<f64>,
}

impl Ordered {
    fn new(
        order: &[usize],
        hypotheses: &[Hypothesis],
        scorers: &[Scorer],
        scores: &[f64],
        blocks: usize,
    ) -> Self {
        let of = |f: &dyn Fn(usize) -> f64| order.iter().map(|&h| f(h)).collect::<Vec<f64>>();
        Self {
            columns: (0..blocks)
                .map(|b| of(&|h| hypotheses[h].differences[b] / scorers[h].measured))
                .collect(),
            factor: of(&|h| scorers[h].measured / scorers[h].total),
            least: of(&|h| scorers[h].least_effect.max(1e-300)),
            scale: of(&|h| scorers[h].scale),
            offset: of(&|h| scorers[h].offset),
            bar: of(&|h| scores[h] - 1e-9 * (1.0 + scores[h].abs())),
        }
    }

    /// Counts, for each of the first places, the patterns whose largest score at or below that
    /// place reaches its bar; and returns the largest score of each pattern.
    fn count<'p>(
        &self,
        patterns: impl Iterator<Item = &'p [f64]>,
        places: usize,
    ) -> (Vec<u64>, Vec<f64>) {
        let patterns: Vec<&[f64]> = patterns.collect();
        let mut at_least = vec![0u64; places];
        let mut largest = vec![f64::NEG_INFINITY; patterns.len()];
        let mut from = 0;
        // A few places at a time, whose columns stay in the processor's cache.
        while from < places {
            let to = (from + CHUNK).min(places);
            let mut means = [0.0; CHUNK];
            for (pattern, largest) in patterns.iter().zip(&mut largest) {
                let means = &mut means[..to - from];
                means.fill(0.0);
                for (sign, column) in pattern.iter().zip(&self.columns) {
                    for (mean, d) in means.iter_mut().zip(&column[from..to]) {
                        *mean += sign * d;
                    }
                }
                for (place, mean) in (from..to).zip(means) {
                    let part = *mean * *mean * self.factor[place];
                    // -ln(1 - x) is at most x + x² up to one half: most need no logarithm.
                    let most = self.scale[place] * (part + part * part) + self.offset[place];
                    if (most > *largest || part > 0.5) && mean.abs() >= self.least[place] {
                        let part = part.min(1.0 - 1e-15);
                        let score = self.offset[place] - self.scale[place] * (-part).ln_1p();
                        *largest = largest.max(score);
                    }
                    at_least[place] += u64::from(*largest >= self.bar[place]);
                }
            }
            from = to;
        }
        (at_least, largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::sign_flip_p;

    fn plain(differences: &[f64]) -> Hypothesis {
        Hypothesis {
            differences: differences.to_vec(),
            measured: differences.len(),
            prior_df: 0.0,
            prior_variance: 0.0,
            least_effect: 0.0,
            weight: 1.0,
        }
    }

    fn p(family: &Family) -> Vec<f64> {
        family.adjusted.iter().map(|a| a.p_adjusted).collect()
    }

    #[test]
    fn one_hypothesis_is_the_sign_flip_test() {
        let differences = [0.3, -0.1, 0.4, 0.2, 0.5, 0.1, -0.05];
        let family = step_down(&[plain(&differences)], &SignFlips::new(7, 4096, 1));
        assert_eq!(p(&family), [sign_flip_p(&differences, 1)]);
        assert!((family.adjusted[0].t - 2.27381).abs() < 5e-5, "{family:?}");
        assert_eq!(family.adjusted[0].df, 6.0);
    }

    #[test]
    fn by_hand_three_blocks_two_hypotheses() {
        // Four patterns. A is (1, 1, 1.1), B is (1, 1, -1): A's score is beaten by no pattern, B's
        // is tied by each of its other patterns of one odd sign, and A does not count against it.
        let family = step_down(
            &[plain(&[1.0, 1.0, 1.1]), plain(&[1.0, 1.0, -1.0])],
            &SignFlips::new(3, 64, 1),
        );
        // B alone has |sum| = 3 in one pattern, 1 in the other three: the pattern with 3 beats A's
        // score of a nearly constant difference (B's is constant), so that A's p is 2/4.
        assert_eq!(p(&family), [0.5, 1.0]);
    }

    #[test]
    fn a_clear_change_reaches_the_floor_among_many() {
        let mut random = crate::stats::SplitMix64::new(3);
        let mut family: Vec<Hypothesis> = (0..500)
            .map(|_| plain(&[(); 8].map(|()| random.next_f64() - random.next_f64())))
            .collect();
        for h in &mut family {
            h.prior_df = 20.0;
            h.prior_variance = 1.0 / 6.0;
        }
        family.push(Hypothesis {
            differences: vec![3.0, 3.1, 2.9, 3.0, 3.2, 3.0, 2.8, 3.0],
            ..family[0].clone()
        });
        let judged = step_down(&family, &SignFlips::new(8, 4096, 1));
        assert_eq!(judged.adjusted[500].p_adjusted, 1.0 / 128.0);
        assert!(judged.adjusted[..500].iter().all(|a| a.p_adjusted > 0.05));
        // Step-down: the largest of the others competes without the one that is gone.
        let without = step_down(&family[..500], &SignFlips::new(8, 4096, 1));
        assert_eq!(p(&judged)[..500], p(&without));
    }

    #[test]
    fn what_is_below_the_gate_does_not_compete() {
        let noisy = Hypothesis {
            least_effect: 1.5,
            ..plain(&[1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
        };
        let clear = plain(&[0.5, 0.6, 0.5, 0.4, 0.5, 0.7]);
        let flips = SignFlips::new(6, 4096, 1);
        let judged = step_down(&[noisy.clone(), clear.clone()], &flips);
        assert_eq!(judged.adjusted[1].p_adjusted, 1.0 / 32.0);
        assert!(!judged.adjusted[0].passes_gate);
        let competing = Hypothesis {
            least_effect: 0.0,
            ..noisy
        };
        let judged = step_down(&[competing, clear], &flips);
        assert_eq!(judged.adjusted[1].p_adjusted, 2.0 / 32.0);
    }

    #[test]
    fn a_block_without_a_measurement_costs_its_patterns() {
        let mut short = plain(&[1.0, 1.1, 0.9, 1.0, 1.2, 0.8, 0.0]);
        short.measured = 6;
        let judged = step_down(&[short], &SignFlips::new(7, 4096, 1));
        assert_eq!(judged.adjusted[0].p_adjusted, 1.0 / 32.0);
        assert_eq!(judged.adjusted[0].mean, 1.0);
    }

    #[test]
    fn the_critical_score_is_where_flags_begin() {
        let differences = [0.3, -0.1, 0.4, 0.2, 0.5, 0.1, -0.05, 0.2];
        let flips = SignFlips::new(8, 4096, 1);
        let differences = differences.map(|d| d - 0.1);
        let judged = step_down(&[plain(&differences)], &flips);
        let critical = judged.critical_score(0.05, &flips).unwrap();
        let t = t_of_score(critical, 7.0);
        // With one hypothesis the bar is near Student's 5 % point, 2.36.
        assert!((1.5..3.5).contains(&t), "{t}");
        assert_eq!(judged.critical_score(0.001, &flips), None);
        assert_eq!(step_down(&[], &flips).adjusted, []);
    }
}
