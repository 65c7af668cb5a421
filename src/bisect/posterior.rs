//! Probability of every class to hold the step.

use serde::{Deserialize, Serialize};

use super::hypotheses::Hypotheses;
use super::setup::Setup;

/// Probabilities that add up to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Posterior {
    /// Probability that there is no step.
    pub no_step: f64,
    /// Probability by class that the step is there; 0 for the first, which nothing precedes.
    pub mass: Vec<f64>,
}

/// Probability of no step before anything is measured.
const NO_STEP: f64 = 0.25;

impl Posterior {
    /// Weights classes by their prior weight and the likelihood of their hypothesis.
    pub(super) fn new(setup: &Setup, hypotheses: &Hypotheses) -> Self {
        let weights: f64 = setup.classes.iter().skip(1).map(|c| weight(c.weight)).sum();
        let no_step = if setup.force { 0.0 } else { NO_STEP };
        let logs: Vec<f64> = setup
            .classes
            .iter()
            .enumerate()
            .map(|(k, class)| {
                if k == 0 {
                    f64::NEG_INFINITY
                } else {
                    ((1.0 - no_step) * weight(class.weight) / weights).ln()
                        + hypotheses.step_at(k).log_likelihood
                }
            })
            .collect();
        let none = no_step.ln() + hypotheses.none.log_likelihood;
        let top = logs.iter().copied().fold(none, f64::max);
        if !top.is_finite() {
            // One class, and a search that is forced: nothing can hold a step.
            return Self {
                no_step: 1.0,
                mass: vec![0.0; logs.len()],
            };
        }
        let mut mass: Vec<f64> = logs.iter().map(|l| (l - top).exp()).collect();
        let mut no_step = (none - top).exp();
        let sum = no_step + mass.iter().sum::<f64>();
        mass.iter_mut().for_each(|m| *m /= sum);
        no_step /= sum;
        Self { no_step, mass }
    }

    /// Probability that the step is at one of these classes.
    pub fn within(&self, classes: std::ops::RangeInclusive<usize>) -> f64 {
        self.mass.get(classes).map_or(0.0, |m| m.iter().sum())
    }

    /// Probability that there is a step.
    pub fn step(&self) -> f64 {
        self.mass.iter().sum()
    }

    /// Entropy in bits.
    pub fn entropy(&self) -> f64 {
        self.mass
            .iter()
            .chain([&self.no_step])
            .filter(|p| **p > 0.0)
            .map(|p| -p * p.log2())
            .sum()
    }
}

fn weight(weight: f64) -> f64 {
    if weight > 0.0 && weight.is_finite() {
        weight
    } else {
        1e-6
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::setup::{Change, Class, Response};

    #[test]
    fn one_class_that_is_searched_by_force_holds_nothing() {
        let classes = vec![Class::cached()];
        let mut setup = Setup::new(classes, Response::Value(Change::Any), 1.0);
        setup.force = true;
        let posterior = Posterior::new(&setup, &Hypotheses::default());
        assert_eq!((posterior.no_step, posterior.step()), (1.0, 0.0));
    }
}
