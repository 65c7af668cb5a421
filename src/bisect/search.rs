//! The search: a fold over observations, and the next step of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::certificate::{self, Certificate};
use super::conclusion::{Conclusion, Culprit, Estimate, Suspects, Undecided};
use super::hypotheses::Hypotheses;
use super::information::Information;
use super::observation::{Observation, Purpose, Trial};
use super::posterior::Posterior;
use super::setup::{Response, Setup, Side};
use super::{endpoints, flake, level};

/// What to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Do a trial of an endpoint.
    MeasureEndpoint {
        /// Which.
        side: Side,
    },
    /// Do a trial of a class, and of an anchor right before or after it where there is one.
    Trial {
        /// Index of the class.
        class: usize,
        /// A class whose level is known, to take out the machine's drift.
        anchor: Option<usize>,
    },
    /// Do fresh blocks, each one trial of the parent and one of the culprit in random order.
    Certify {
        /// Last class of the suspects.
        culprit: usize,
        /// Last class before the suspects that can be measured.
        parent: usize,
        /// Which attempt of the search, counted from 1.
        attempt: u32,
        /// Level of this attempt.
        alpha: f64,
        /// Number of blocks.
        blocks: u32,
    },
    /// The search is over.
    Done(Conclusion),
}

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
    setup: Setup,
    seed: u64,
    trials: Vec<Trial>,
    skipped: BTreeMap<usize, String>,
    certificates: Vec<Certificate>,
    hypotheses: Hypotheses,
    posterior: Posterior,
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

    /// The most probable suspects.
    pub fn best(&self) -> Option<Suspects> {
        self.groups(|_| true)
            .into_iter()
            .max_by(|a, b| a.probability.total_cmp(&b.probability))
    }

    /// What to do next. The same state gives the same answer.
    pub fn next(&self) -> Step {
        if self.setup.classes.len() < 2 {
            return Step::Done(Conclusion::NothingToSearch);
        }
        for side in [Side::Good, Side::Bad] {
            let reason = self.setup.endpoint(side).and_then(|c| self.skipped.get(&c));
            if let Some(reason) = reason {
                let reason = reason.clone();
                return Step::Done(Conclusion::EndpointSkipped { side, reason });
            }
        }
        if let Some(culprit) = self.certified() {
            return Step::Done(Conclusion::Culprit(culprit));
        }
        if !self.trials.iter().any(|t| t.purpose == Purpose::Search) && self.certificates.is_empty()
        {
            let side = endpoints::next(
                &self.setup,
                &self.trials,
                &self.hypotheses,
                &self.posterior,
                self.seed,
            );
            if let Some(side) = side {
                return Step::MeasureEndpoint { side };
            }
            if self.posterior.no_step >= ALIKE {
                return Step::Done(Conclusion::EndpointsAlike {
                    probability: self.posterior.no_step,
                    gap: self.gap(),
                });
            }
        }
        if self.posterior.no_step >= self.setup.confidence {
            return Step::Done(Conclusion::NoCulprit {
                probability: self.posterior.no_step,
            });
        }
        self.certify_or_try()
    }

    fn certify_or_try(&self) -> Step {
        let Some(best) = self.best() else {
            return Step::Done(Conclusion::NothingToSearch);
        };
        if best.probability >= self.setup.confidence {
            let attempt = self.next_attempt();
            if attempt > self.setup.max_certificates {
                return self.undecided(Undecided::Certificates);
            }
            let alpha = certificate::level(self.setup.alpha, attempt);
            let culprit = *best.classes.end();
            let hypothesis = self.hypotheses.step_at(culprit);
            let step = hypothesis.high.mean - hypothesis.low.mean;
            let deviation = (hypothesis.low.noise + hypothesis.high.noise).sqrt();
            return Step::Certify {
                culprit,
                parent: best.parent,
                attempt,
                alpha,
                blocks: certificate::blocks(step, deviation, alpha),
            };
        }
        let counts = self.counts();
        if self
            .setup
            .max_trials
            .is_some_and(|most| counts.search >= most)
        {
            return self.undecided(Undecided::Trials);
        }
        let may_build = self
            .setup
            .max_builds
            .is_none_or(|most| counts.builds < most);
        if !may_build {
            let built = self.groups(|c| self.is_there(c));
            if built.iter().any(|g| g.probability >= self.setup.confidence) {
                return self.undecided(Undecided::Builds);
            }
        }
        match self.most_informative(may_build) {
            Some(class) => Step::Trial {
                class,
                anchor: None,
            },
            None => self.undecided(Undecided::Builds),
        }
    }

    /// The class whose trial tells most per second, building time included. A build serves several
    /// trials, so that the best rate over a few numbers of trials counts.
    fn most_informative(&self, may_build: bool) -> Option<usize> {
        let information = Information::new(self.setup.response, &self.hypotheses, &self.posterior);
        let trial = self.setup.trial_seconds.max(1e-3);
        let mut best: Option<(f64, usize)> = None;
        for class in 0..self.setup.classes.len() {
            let there = self.is_there(class);
            if self.skipped.contains_key(&class) || (!there && !may_build) {
                continue;
            }
            let build = if there {
                0.0
            } else {
                self.setup.classes[class].build_seconds
            };
            let counts: &[usize] = if there { &[1] } else { &[1, 2, 4, 8] };
            let rate = counts
                .iter()
                .map(|&n| information.bits(class, n) / (build + n as f64 * trial))
                .fold(0.0, f64::max);
            if rate > 0.0 && best.is_none_or(|(most, _)| rate > most) {
                best = Some((rate, class));
            }
        }
        best.map(|(_, class)| class)
    }

    fn certified(&self) -> Option<Culprit> {
        let certificate = self.certificates.last().filter(|c| c.confirmed)?;
        let classes = certificate.parent + 1..=certificate.culprit;
        Some(Culprit {
            suspects: Suspects {
                probability: self.posterior.within(classes.clone()),
                classes,
                parent: certificate.parent,
            },
            step: certificate.step,
            gap: self.gap(),
            certificate: certificate.clone(),
        })
    }

    fn undecided(&self, why: Undecided) -> Step {
        let groups = self.groups(|_| true);
        let mut best: Option<Suspects> = None;
        for first in 0..groups.len() {
            let mut probability = 0.0;
            for last in &groups[first..] {
                probability += last.probability;
                if probability >= self.setup.confidence {
                    let classes = *groups[first].classes.start()..=*last.classes.end();
                    let shorter = |b: &Suspects| {
                        classes.end() - classes.start() < b.classes.end() - b.classes.start()
                    };
                    if best.as_ref().is_none_or(shorter) {
                        best = Some(Suspects {
                            classes,
                            parent: groups[first].parent,
                            probability,
                        });
                    }
                    break;
                }
            }
        }
        let suspects = best.unwrap_or_else(|| {
            let classes = 1..=self.setup.classes.len() - 1;
            Suspects {
                probability: self.posterior.within(classes.clone()),
                classes,
                parent: 0,
            }
        });
        Step::Done(Conclusion::Undecided { why, suspects })
    }

    fn next_attempt(&self) -> u32 {
        u32::try_from(self.certificates.len())
            .unwrap_or(u32::MAX)
            .saturating_add(1)
    }

    /// Whether a class was measured or skipped.
    fn is_tried(&self, class: usize) -> bool {
        self.skipped.contains_key(&class) || self.hypotheses.measured.binary_search(&class).is_ok()
    }

    /// Whether a class can be measured without building it.
    fn is_there(&self, class: usize) -> bool {
        self.setup.classes[class].build_seconds <= 0.0
            || self.hypotheses.measured.binary_search(&class).is_ok()
    }

    /// Rows of classes between neighbours that can be measured and that `may` be.
    fn groups(&self, may: impl Fn(usize) -> bool) -> Vec<Suspects> {
        let mut groups = Vec::new();
        let mut parent = 0;
        for class in 1..self.setup.classes.len() {
            let last = class + 1 == self.setup.classes.len();
            if last || (!self.skipped.contains_key(&class) && may(class)) {
                let classes = parent + 1..=class;
                groups.push(Suspects {
                    probability: self.posterior.within(classes.clone()),
                    classes,
                    parent,
                });
                parent = class;
            }
        }
        groups
    }
}

/// Probability of no step at which the endpoints count as alike.
const ALIKE: f64 = 0.75;

fn weigh(setup: &Setup, trials: &[Trial]) -> Hypotheses {
    match setup.response {
        Response::Value(change) => {
            let now = trials.last().map_or(0.0, |t| t.seconds) + setup.trial_seconds;
            level::hypotheses(trials, change, now)
        }
        Response::PassFail => flake::hypotheses(trials),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::setup::{Change, Class};

    /// Runs a search on values without noise to its end; returns it, and the conclusion.
    fn noiseless(classes: usize, culprit: usize, skip: &[usize]) -> (Search, Conclusion) {
        let setup = Setup::new(
            vec![Class::to_build(60.0); classes],
            Response::Value(Change::Rise),
            30.0,
        );
        let mut search = Search::new(setup, 7);
        let mut clock = 0.0;
        for _ in 0..500 {
            let mut trial = |class: usize, purpose| {
                clock += 30.0;
                Trial {
                    class,
                    value: if class >= culprit { 2.0 } else { 1.0 },
                    seconds: clock,
                    purpose,
                }
            };
            let observation = match search.next() {
                Step::MeasureEndpoint { side } => {
                    let class = search.setup().endpoint(side).unwrap();
                    Observation::Trial(trial(class, Purpose::Endpoint))
                }
                Step::Trial { class, .. } if skip.contains(&class) => Observation::Skipped {
                    class,
                    reason: "does not build".to_owned(),
                },
                Step::Trial { class, .. } => Observation::Trial(trial(class, Purpose::Search)),
                Step::Certify {
                    culprit,
                    parent,
                    blocks,
                    ..
                } => Observation::Certificate {
                    culprit,
                    parent,
                    blocks: (0..blocks)
                        .map(|_| [parent, culprit].map(|c| trial(c, Purpose::Certificate)))
                        .collect(),
                },
                Step::Done(conclusion) => return (search, conclusion),
            };
            search.observe(&observation);
        }
        panic!("no end");
    }

    fn culprit(conclusion: Conclusion) -> Culprit {
        match conclusion {
            Conclusion::Culprit(culprit) => culprit,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_noise_it_halves() {
        for (classes, most) in [(3, 1), (17, 4), (129, 7)] {
            for step in 1..classes {
                let (search, end) = noiseless(classes, step, &[]);
                assert_eq!(culprit(end).suspects.classes, step..=step, "{classes}");
                let counts = search.counts();
                assert!(counts.search <= most, "{classes} {step}: {counts:?}");
            }
        }
    }
}
