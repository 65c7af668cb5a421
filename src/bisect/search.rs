//! The search's state: a fold over observations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::certificate::{self, Certificate};
use super::conclusion::Estimate;
use super::hypotheses::Hypotheses;
use super::observation::{Observation, Purpose, Trial};
use super::posterior::Posterior;
use super::setup::{Response, Setup};
use super::{flake, level};

/// Trials by purpose, and classes built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Trials of the endpoints before the search.
    pub endpoints: usize,
    /// Trials of the search, anchors included.
    pub search: usize,
    /// Trials of certificates' blocks.
    pub certificate: usize,
    /// Classes that had to be built, whether it worked or not.
    pub builds: usize,
}

/// A search in progress.
#[derive(Debug, Clone)]
pub struct Search {
    pub(super) setup: Setup,
    pub(super) seed: u64,
    pub(super) trials: Vec<Trial>,
    pub(super) skipped: BTreeMap<usize, String>,
    pub(super) certificates: Vec<Certificate>,
    pub(super) hypotheses: Hypotheses,
    pub(super) posterior: Posterior,
}

impl Search {
    /// Starts a search; the seed decides the order of the endpoints' trials.
    pub fn new(setup: Setup, seed: u64) -> Self {
        let hypotheses = weigh(&setup, &[]);
        let posterior = Posterior::new(&setup, &hypotheses);
        Self {
            setup,
            seed,
            trials: Vec::new(),
            skipped: BTreeMap::new(),
            certificates: Vec::new(),
            hypotheses,
            posterior,
        }
    }

    /// Takes in an event. The state depends on the events and their order only.
    pub fn observe(&mut self, observation: &Observation) {
        let n = self.setup.classes.len();
        match observation {
            Observation::Trial(trial) => self.keep(*trial),
            Observation::Skipped { class, reason } if *class < n => {
                self.skipped.insert(*class, reason.clone());
            }
            Observation::Certificate {
                culprit,
                parent,
                blocks,
            } if parent < culprit && *culprit < n => {
                let attempt = self.next_attempt();
                self.certificates.push(certificate::judge(
                    self.setup.response,
                    [*parent, *culprit],
                    attempt,
                    certificate::level(self.setup.alpha, attempt),
                    blocks,
                    self.seed,
                ));
                for trial in blocks.iter().flatten() {
                    self.keep(Trial {
                        purpose: Purpose::Certificate,
                        ..*trial
                    });
                }
            }
            Observation::Skipped { .. } | Observation::Certificate { .. } => {}
        }
        self.hypotheses = weigh(&self.setup, &self.trials);
        self.posterior = Posterior::new(&self.setup, &self.hypotheses);
    }

    fn keep(&mut self, trial: Trial) {
        let sane = trial.value.is_finite() && trial.seconds.is_finite();
        if sane && trial.class < self.setup.classes.len() {
            let place = self.trials.partition_point(|t| t.seconds <= trial.seconds);
            self.trials.insert(place, trial);
        }
    }

    /// The setup.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Probability of every class, given what was observed.
    pub fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    /// The trials so far, in the order of their times.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The classes that cannot be measured, with the reasons.
    pub fn skipped(&self) -> &BTreeMap<usize, String> {
        &self.skipped
    }

    /// The certificates that were attempted.
    pub fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }

    /// Trials by purpose, and builds.
    pub fn counts(&self) -> Counts {
        let of = |purpose| self.trials.iter().filter(|t| t.purpose == purpose).count();
        let costly = |class: &usize| self.setup.classes[*class].build_seconds > 0.0;
        Counts {
            endpoints: of(Purpose::Endpoint),
            search: of(Purpose::Search),
            certificate: of(Purpose::Certificate),
            builds: (0..self.setup.classes.len())
                .filter(costly)
                .filter(|c| self.is_tried(*c))
                .count(),
        }
    }

    /// BAD's level above GOOD's, as the endpoints' trials have it; without errors' bound where
    /// there are too few of them.
    pub fn gap(&self) -> Estimate {
        let last = self.setup.classes.len().saturating_sub(1);
        let side = |class: usize| {
            let values: Vec<f64> = self
                .trials
                .iter()
                .filter(|t| t.class == class)
                .map(|t| t.value)
                .collect();
            (!values.is_empty()).then(|| {
                let variance = crate::stats::variance(&values) / values.len() as f64;
                (crate::stats::mean(&values), variance)
            })
        };
        match (side(0), side(last)) {
            (Some((good, v)), Some((bad, w))) => Estimate {
                mean: bad - good,
                error: if (v + w).is_finite() {
                    (v + w).sqrt()
                } else {
                    f64::INFINITY
                },
            },
            _ => Estimate {
                mean: 0.0,
                error: f64::INFINITY,
            },
        }
    }

    /// The trials as observations for another search whose classes are `class_of` these ones, as
    /// when a step inside a merge or on one side of a certified step is searched for. Trials that
    /// are mapped to `None` are left out.
    pub fn carried_over(&self, class_of: impl Fn(usize) -> Option<usize>) -> Vec<Observation> {
        self.trials
            .iter()
            .filter_map(|trial| {
                Some(Observation::Trial(Trial {
                    class: class_of(trial.class)?,
                    purpose: Purpose::Reused,
                    ..*trial
                }))
            })
            .collect()
    }

    pub(super) fn next_attempt(&self) -> u32 {
        u32::try_from(self.certificates.len())
            .unwrap_or(u32::MAX)
            .saturating_add(self.setup.earlier_certificates)
            .saturating_add(1)
    }

    /// Whether a class was measured or skipped.
    pub(super) fn is_tried(&self, class: usize) -> bool {
        self.skipped.contains_key(&class) || self.hypotheses.measured.binary_search(&class).is_ok()
    }

    /// Whether a class can be measured without building it.
    pub(super) fn is_there(&self, class: usize) -> bool {
        self.setup.classes[class].build_seconds <= 0.0
            || self.hypotheses.measured.binary_search(&class).is_ok()
    }
}

fn weigh(setup: &Setup, trials: &[Trial]) -> Hypotheses {
    match setup.response {
        Response::Value(change) => {
            let now = trials.last().map_or(0.0, |t| t.seconds) + setup.trial_seconds;
            level::hypotheses(trials, change, now)
        }
        Response::PassFail => flake::hypotheses(trials),
    }
}
