//! Marginal likelihood of passes and fails with unknown flake rates.
//!
//! Below the step a trial fails with chance p₀, from the step on with p₁; both have Beta priors and
//! integrate out: `B(a₀ + fails, b₀ + passes) / B(a₀, b₀)` on each side (Beta-Bernoulli).

use statrs::function::beta::ln_beta;

use super::hypotheses::{Hypotheses, Hypothesis, Level, measured};
use super::observation::Trial;

/// Prior of the chance to fail below the step.
const LOW: [f64; 2] = [0.5, 1.5];
/// Prior of the chance to fail from the step on.
const HIGH: [f64; 2] = [1.5, 0.5];

/// Weights the hypotheses by trials whose value is 1 for a fail and 0 for a pass.
pub(super) fn hypotheses(trials: &[Trial]) -> Hypotheses {
    let measured = measured(trials);
    let mut counts = vec![[0.0; 2]; measured.len()];
    for trial in trials {
        let class = measured.partition_point(|m| *m < trial.class);
        counts[class][usize::from(trial.value <= 0.5)] += 1.0;
    }
    let all = counts
        .iter()
        .fold([0.0; 2], |sum, c| [sum[0] + c[0], sum[1] + c[1]]);
    let mut below = [0.0; 2];
    let mut steps = Vec::with_capacity(measured.len() + 1);
    for gap in 0..=measured.len() {
        let above = [all[0] - below[0], all[1] - below[1]];
        let (low, low_log) = side(LOW, below);
        let (high, high_log) = side(HIGH, above);
        steps.push(Hypothesis {
            log_likelihood: low_log + high_log,
            low,
            high,
        });
        if let Some(count) = counts.get(gap) {
            below = [below[0] + count[0], below[1] + count[1]];
        }
    }
    let (low, log_likelihood) = side(LOW, all);
    Hypotheses {
        measured,
        steps,
        none: Hypothesis {
            log_likelihood,
            low,
            high: low,
        },
    }
}

/// Posterior mean of a side's chance to fail, and the log marginal likelihood of its counts.
fn side(prior: [f64; 2], [fails, passes]: [f64; 2]) -> (Level, f64) {
    let [a, b] = [prior[0] + fails, prior[1] + passes];
    let mean = a / (a + b);
    let level = Level {
        mean,
        variance: mean * (1.0 - mean) / (a + b + 1.0),
        noise: mean * (1.0 - mean),
    };
    (level, ln_beta(a, b) - ln_beta(prior[0], prior[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::observation::Purpose;

    #[test]
    fn the_marginal_likelihood_of_beta_bernoulli() {
        let trial = |class, value| Trial {
            class,
            value,
            seconds: 0.0,
            purpose: Purpose::Search,
        };
        // Two passes below and a fail above: with Beta(1/2, 3/2) below, the chance of two passes is
        // 3/4 · 5/6; with Beta(3/2, 1/2) above, that of a fail is 3/4.
        let both = hypotheses(&[trial(0, 0.0), trial(0, 0.0), trial(5, 1.0)]);
        let likelihood = both.step_at(3).log_likelihood.exp();
        assert!((likelihood - 0.75 * 5.0 / 6.0 * 0.75).abs() < 1e-12);
        // No step: 3/4 · 5/6, then a fail after two passes: (1/2) / (2 + 2).
        let none = both.none.log_likelihood.exp();
        assert!((none - 0.75 * 5.0 / 6.0 / 8.0).abs() < 1e-12);
        assert!((both.step_at(3).low.mean - 0.5 / 4.0).abs() < 1e-12);
    }
}
