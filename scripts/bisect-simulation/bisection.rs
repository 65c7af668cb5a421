//! One bisect of a simulated history, from the first trial to the conclusion.

use perfblame::bisect::{Conclusion, Counts, Observation, Purpose, Search, Setup, Step};

use crate::world::{Scenario, World};

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The true culprit (with the classes that cannot be told from it) was certified.
    Right,
    /// Another one was certified.
    Wrong,
    /// "The endpoints are alike", before any trial of the search.
    Alike,
    /// "No culprit", after trials of the search.
    NoCulprit,
    /// A budget ran out.
    Undecided,
}

/// One bisect's figures.
#[derive(Debug, Clone, Copy)]
pub struct Bisection {
    /// How it ended.
    pub ending: Ending,
    /// Trials by purpose, and builds.
    pub counts: Counts,
    /// Trials of the search when it first named a culprit, the probability that it stated then, and
    /// whether it was right.
    pub first: Option<(usize, f64, bool)>,
    /// Attempts at a certificate.
    pub attempts: usize,
    /// Hours that it took.
    pub hours: f64,
}

/// Steps after which a simulated search is given up as endless.
const MOST_STEPS: usize = 3000;

/// Runs one bisect; `rules` may change the setup.
pub fn bisect(scenario: Scenario, seed: u64, rules: impl Fn(&mut Setup)) -> Bisection {
    let mut world = World::new(scenario, seed);
    let truth = world.truth();
    let mut setup = world.setup();
    rules(&mut setup);
    let mut search = Search::new(setup, seed);
    let mut first = None;
    let mut ending = Ending::Undecided;
    for _ in 0..MOST_STEPS {
        match search.next() {
            Step::MeasureEndpoint { side } => {
                let class = search.setup().endpoint(side).unwrap_or(0);
                try_class(&mut search, &mut world, class, Purpose::Endpoint);
            }
            Step::Trial { class, anchor } => {
                try_class(&mut search, &mut world, class, Purpose::Search);
                if let Some(anchor) = anchor {
                    try_class(&mut search, &mut world, anchor, Purpose::Search);
                }
            }
            Step::Certify {
                culprit,
                parent,
                blocks,
                ..
            } => {
                let named = parent + 1..=culprit;
                first.get_or_insert_with(|| {
                    let probability = search.posterior().within(named.clone());
                    (search.counts().search, probability, named == truth)
                });
                let blocks = (0..blocks)
                    .filter_map(|_| block(&mut world, parent, culprit))
                    .collect();
                search.observe(&Observation::Certificate {
                    culprit,
                    parent,
                    blocks,
                });
            }
            Step::Done(conclusion) => {
                ending = match conclusion {
                    Conclusion::Culprit(c) if c.suspects.classes == truth => Ending::Right,
                    Conclusion::Culprit(_) => Ending::Wrong,
                    Conclusion::EndpointsAlike { .. } => Ending::Alike,
                    Conclusion::NoCulprit { .. } => Ending::NoCulprit,
                    _ => Ending::Undecided,
                };
                break;
            }
        }
    }
    Bisection {
        ending,
        counts: search.counts(),
        first,
        attempts: search.certificates().len(),
        hours: world.hours(),
    }
}

fn block(
    world: &mut World,
    parent: usize,
    culprit: usize,
) -> Option<[perfblame::bisect::Trial; 2]> {
    if world.coin() {
        let culprit = world.trial(culprit, Purpose::Certificate)?;
        Some([world.trial(parent, Purpose::Certificate)?, culprit])
    } else {
        let parent = world.trial(parent, Purpose::Certificate)?;
        Some([parent, world.trial(culprit, Purpose::Certificate)?])
    }
}

fn try_class(search: &mut Search, world: &mut World, class: usize, purpose: Purpose) {
    search.observe(&match world.trial(class, purpose) {
        Some(trial) => Observation::Trial(trial),
        None => Observation::Skipped {
            class,
            reason: "does not build".to_owned(),
        },
    });
}
