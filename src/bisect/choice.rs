//! The choice of the next step: endpoints, then the most informative trial, then the certificate.

use serde::{Deserialize, Serialize};

use super::conclusion::{Conclusion, Undecided};
use super::information::Information;
use super::observation::Purpose;
use super::search::Search;
use super::setup::{Response, Side};
use super::{certificate, endpoints};

/// Probability of no step at which the endpoints count as alike once their trials are done.
const ALIKE: f64 = 0.5;

/// Probability of no step at which the search gives up.
const NO_CULPRIT: f64 = 0.6;

/// Probability of no step from which on the endpoints are measured on in place of other classes,
/// as only they tell whether there is a step at all.
const IN_DOUBT: f64 = 0.2;

/// Part of a build's time that is put to the account of the trial that needs it: an artifact
/// serves later trials too. Chosen by simulation: with 1 a search takes a twentieth more trials, with
/// 0 twice the builds where the step is small.
const BUILD_PART: f64 = 0.25;

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

impl Search {
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
        if self.posterior.no_step >= NO_CULPRIT {
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
        if best.probability >= self.setup.confidence * self.posterior.step() {
            let attempt = self.next_attempt();
            let most = self.setup.max_certificates;
            if attempt > most.saturating_add(self.setup.earlier_certificates) {
                return self.undecided(Undecided::Certificates);
            }
            let alpha = certificate::level(self.setup.alpha, attempt);
            let culprit = *best.classes.end();
            return Step::Certify {
                culprit,
                parent: best.parent,
                attempt,
                alpha,
                blocks: certificate::blocks(
                    self.setup.response,
                    self.hypotheses.step_at(culprit),
                    alpha,
                ),
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
            if built
                .iter()
                .any(|g| g.probability >= self.setup.confidence * self.posterior.step())
            {
                return self.undecided(Undecided::Builds);
            }
        }
        if self.posterior.no_step >= IN_DOUBT {
            let last = self.setup.classes.len() - 1;
            let trials = |class| self.trials.iter().filter(|t| t.class == class).count();
            let class = if trials(0) <= trials(last) { 0 } else { last };
            return Step::Trial {
                class,
                anchor: None,
            };
        }
        match self.most_informative(may_build) {
            Some((class, anchor)) => {
                let class = self.unsure_side(class).unwrap_or(class);
                Step::Trial {
                    class,
                    anchor: anchor.filter(|a| *a != class),
                }
            }
            None => self.undecided(Undecided::Builds),
        }
    }

    /// The endpoint whose level is known from fewer trials than the class has itself, or than half of
    /// those that may be on either side of the step. The information looks one trial ahead, and one trial of an endpoint
    /// says nothing about where the step is; but while a level is known from few trials, further
    /// ones of the classes in doubt say little.
    fn unsure_side(&self, class: usize) -> Option<usize> {
        let (mut low, mut high, mut doubtful) = (0usize, 0usize, 0usize);
        let mut own = 0usize;
        let step = self.posterior.step().max(1e-300);
        let mut above = Vec::with_capacity(self.posterior.mass.len());
        let mut sum = 0.0;
        for mass in &self.posterior.mass {
            sum += mass / step;
            above.push(sum);
        }
        for trial in &self.trials {
            let has = above[trial.class];
            own += usize::from(trial.class == class);
            if has < 0.05 {
                low += 1;
            } else if has > 0.95 {
                high += 1;
            } else {
                doubtful += 1;
            }
        }
        let last = self.setup.classes.len() - 1;
        let (fewer, side) = if low <= high { (low, 0) } else { (high, last) };
        // A flake rate has a prior, and is learned from fewer trials.
        let shared = match self.setup.response {
            Response::PassFail => 0,
            Response::Value(_) => doubtful / 2,
        };
        (fewer < own.max(shared)).then_some(side)
    }

    /// The class whose trial tells most per second, building time included. A build serves several
    /// trials, so that the best rate over a few numbers of trials counts.
    fn most_informative(&self, may_build: bool) -> Option<(usize, Option<usize>)> {
        let information = Information::new(self.setup.response, &self.hypotheses, &self.posterior);
        let trial = self.setup.trial_seconds.max(1e-3);
        // The most promising first, so that most others are ruled out by their bound.
        let mut candidates: Vec<(f64, f64, usize)> = (0..self.setup.classes.len())
            .filter(|c| !self.skipped.contains_key(c) && (may_build || self.is_there(*c)))
            .map(|class| {
                let build = if self.is_there(class) {
                    0.0
                } else {
                    self.setup.classes[class].build_seconds * BUILD_PART
                };
                (information.bound(class) / (build + trial), build, class)
            })
            .collect();
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut best: Option<(f64, usize)> = None;
        for (bound, build, class) in candidates {
            if bound <= 0.0 || best.is_some_and(|(most, _)| bound < most) {
                break;
            }
            let counts: &[usize] = if build > 0.0 { &[1, 2, 4, 8] } else { &[1] };
            let rate = counts
                .iter()
                .map(|&n| information.bits(class, n) / (build + n as f64 * trial))
                .fold(0.0, f64::max);
            if rate > 0.0 && best.is_none_or(|(most, _)| rate > most) {
                best = Some((rate, class));
            }
        }
        let (rate, class) = best?;
        let build = if self.is_there(class) {
            0.0
        } else {
            self.setup.classes[class].build_seconds
        };
        let pair = information.bits_with_anchor(class) / (build + 2.0 * trial);
        let alone = information.bits(class, 1) / (build + trial);
        let better = pair > alone && rate > 0.0;
        Some((class, better.then_some(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::conclusion::Culprit;
    use crate::bisect::observation::{Observation, Trial};
    use crate::bisect::setup::{Change, Class, Setup};

    fn setup(classes: usize) -> Setup {
        let classes = vec![Class::to_build(60.0); classes];
        Setup::new(classes, Response::Value(Change::Rise), 30.0)
    }

    /// Runs a search to its end on values that step at `step`, with this noise; returns it, what it
    /// was told, and the conclusion.
    fn run(
        setup: Setup,
        step: usize,
        skip: &[usize],
        noise: f64,
    ) -> (Search, Vec<Observation>, Conclusion) {
        let mut search = Search::new(setup, 7);
        let mut random = crate::stats::SplitMix64::new(3);
        let mut clock = 0.0;
        let mut told = Vec::new();
        for _ in 0..2000 {
            let mut trial = |class: usize, purpose| {
                clock += 30.0;
                let uniform: f64 = (0..12).map(|_| random.next_f64()).sum();
                Trial {
                    class,
                    value: if class >= step { 2.0 } else { 1.0 } + noise * (uniform - 6.0),
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
                Step::Done(conclusion) => return (search, told, conclusion),
            };
            search.observe(&observation);
            told.push(observation);
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
                let (search, _, end) = run(setup(classes), step, &[], 0.0);
                assert_eq!(culprit(end).suspects.classes, step..=step, "{classes}");
                let counts = search.counts();
                assert!(counts.search <= most, "{classes} {step}: {counts:?}");
            }
        }
    }

    #[test]
    fn the_same_events_give_the_same_state_and_the_same_next_step() {
        let (search, told, end) = run(setup(65), 40, &[20, 39], 0.5);
        let mut again = Search::new(setup(65), 7);
        for observation in &told {
            // As from the store.
            let json = serde_json::to_string(observation).unwrap();
            let stored: Observation = serde_json::from_str(&json).unwrap();
            assert_eq!(&stored, observation);
            again.observe(&stored);
        }
        assert_eq!(again.posterior(), search.posterior());
        assert_eq!(again.counts(), search.counts());
        assert_eq!(again.next(), Step::Done(end));
    }

    #[test]
    fn classes_that_cannot_be_measured_are_named_with_their_neighbour() {
        // 8, 9 and 10 do not build: a step at any of 8 to 11 looks the same.
        for step in 8..=11 {
            let (search, _, end) = run(setup(17), step, &[8, 9, 10], 0.0);
            let culprit = culprit(end);
            assert_eq!(culprit.suspects.classes, 8..=11);
            assert_eq!(culprit.suspects.parent, 7);
            assert!(search.skipped().contains_key(&8));
        }
        let (_, _, end) = run(setup(17), 12, &[8, 9, 10], 0.0);
        assert_eq!(culprit(end).suspects.classes, 12..=12);
    }

    #[test]
    fn all_middle_classes_broken_is_one_set() {
        let middle: Vec<usize> = (1..8).collect();
        let (search, _, end) = run(setup(9), 4, &middle, 0.0);
        let culprit = culprit(end);
        assert_eq!(culprit.suspects.classes, 1..=8);
        assert_eq!(culprit.suspects.parent, 0);
        assert_eq!(search.counts().search, 0);
    }

    #[test]
    fn one_commit_needs_no_search() {
        let (search, _, end) = run(setup(2), 1, &[], 0.0);
        assert_eq!(culprit(end).suspects.classes, 1..=1);
        assert_eq!(search.counts().search, 0);
        for classes in [0, 1] {
            let search = Search::new(setup(classes), 7);
            assert_eq!(search.next(), Step::Done(Conclusion::NothingToSearch));
        }
    }

    #[test]
    fn endpoints_that_do_not_differ_end_it() {
        let (search, _, end) = run(setup(17), 99, &[], 1.0);
        assert!(
            matches!(end, Conclusion::EndpointsAlike { .. }),
            "{end:?} {:?}",
            search.counts()
        );
    }

    #[test]
    fn a_broken_endpoint_is_said() {
        let mut search = Search::new(setup(5), 7);
        search.observe(&Observation::Skipped {
            class: 4,
            reason: "does not start".to_owned(),
        });
        assert_eq!(
            search.next(),
            Step::Done(Conclusion::EndpointSkipped {
                side: Side::Bad,
                reason: "does not start".to_owned()
            })
        );
    }

    #[test]
    fn few_builds_give_a_set() {
        let mut few = setup(65);
        few.max_builds = Some(4);
        let (search, _, end) = run(few, 20, &[], 0.0);
        let Conclusion::Undecided {
            why: Undecided::Builds,
            suspects,
        } = end
        else {
            panic!("{end:?}");
        };
        // Two endpoints and two halvings.
        assert_eq!(search.counts().builds, 4);
        assert!(suspects.classes.contains(&20), "{suspects:?}");
        assert_eq!(suspects.classes.count(), 16);
    }

    #[test]
    fn cheap_classes_come_first() {
        let mut some_cached = setup(65);
        for class in [0, 30, 64] {
            some_cached.classes[class] = Class::cached();
        }
        let (search, told, _) = run(some_cached, 20, &[], 0.0);
        let first = told.iter().find_map(|o| match o {
            Observation::Trial(t) if t.purpose == Purpose::Search => Some(t.class),
            _ => None,
        });
        assert_eq!(first, Some(30));
        assert!(search.counts().builds <= 5);
    }

    #[test]
    fn what_makes_no_sense_changes_nothing() {
        let mut search = Search::new(setup(5), 7);
        for (class, value) in [(9, 1.0), (1, f64::NAN), (1, f64::INFINITY)] {
            search.observe(&Observation::value(class, value, 0.0, Purpose::Search));
        }
        search.observe(&Observation::Certificate {
            culprit: 1,
            parent: 3,
            blocks: Vec::new(),
        });
        assert!(search.trials().is_empty() && search.certificates().is_empty());
    }
}
