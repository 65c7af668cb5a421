//! What an experiment tells of itself while it goes on.

use std::time::Duration;

/// Receives what happens. The default of each method does nothing.
pub trait Progress {
    /// A step that is worth a line of its own: what is built, from which cache, what is retried.
    fn note(&mut self, _text: &str) {}

    /// The experiment has begun, or goes on; its id in the store.
    fn began(&mut self, _id: &str) {}

    /// Trials begin: how many there are, and how many of them were done earlier.
    fn trials(&mut self, _all: usize, _done: usize) {}

    /// A trial begins.
    fn trial(&mut self, _block: u32, _arm: &str) {}

    /// A trial ended well; the time that the rest may take.
    fn trial_done(&mut self, _left: Duration) {}

    /// A search knows more than before.
    fn search(&mut self, _state: &SearchState) {}

    /// All trials are done, or the experiment was given up.
    fn finished(&mut self) {}
}

/// Where a search stands.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchState {
    /// Trials so far.
    pub trials: usize,
    /// Classes of commits after GOOD.
    pub commits: usize,
    /// Those whose probability is above one in a hundred.
    pub commits_left: usize,
    /// Probability of the best candidate.
    pub probability: f64,
    /// Probability that there is no step.
    pub no_step: f64,
    /// The best candidate, abbreviated, with its subject line.
    pub candidate: String,
    /// The time that the rest may take.
    pub left: Duration,
}

/// Tells nobody.
#[derive(Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
