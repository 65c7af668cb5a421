//! The hypotheses of a search and what each of them expects of the next trial.
//!
//! "The step is at class k" means that classes below k have GOOD's level and the others BAD's. All
//! k between two neighbouring measured classes explain the trials alike, so that the likelihood is
//! computed once for each such gap and not for each class.

use super::observation::Trial;

/// What a hypothesis expects at a level: the mean, the variance of that mean and the variance of a
/// trial around it. For pass/fail the mean is the chance to fail and the variances are unused.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Level {
    pub mean: f64,
    pub variance: f64,
    pub noise: f64,
}

/// A hypothesis, or several that explain the trials alike.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Hypothesis {
    /// Log marginal likelihood, up to a term that all hypotheses share.
    pub log_likelihood: f64,
    /// What it expects below the step.
    pub low: Level,
    /// What it expects from the step on.
    pub high: Level,
}

/// Hypotheses as far as the trials tell them apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Hypotheses {
    /// Measured classes, ascending.
    pub measured: Vec<usize>,
    /// Element i: the step is above `measured[i - 1]` and not above `measured[i]`.
    pub steps: Vec<Hypothesis>,
    /// There is no step.
    pub none: Hypothesis,
}

impl Hypotheses {
    /// The hypothesis that the step is at `class`.
    pub fn step_at(&self, class: usize) -> &Hypothesis {
        let gap = self.measured.partition_point(|m| *m < class);
        self.steps.get(gap).unwrap_or(&self.none)
    }
}

/// Distinct classes of trials, ascending.
pub(super) fn measured(trials: &[Trial]) -> Vec<usize> {
    let mut classes: Vec<usize> = trials.iter().map(|t| t.class).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}
