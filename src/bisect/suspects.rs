//! Rows of classes that cannot be told apart, and what is said of them in the end.

use super::choice::Step;
use super::conclusion::{Conclusion, Culprit, Suspects, Undecided};
use super::search::Search;

impl Search {
    /// The most probable suspects.
    pub fn best(&self) -> Option<Suspects> {
        self.groups(|_| true)
            .into_iter()
            .max_by(|a, b| a.probability.total_cmp(&b.probability))
    }

    pub(super) fn certified(&self) -> Option<Culprit> {
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

    pub(super) fn undecided(&self, why: Undecided) -> Step {
        let groups = self.groups(|_| true);
        let mut best: Option<Suspects> = None;
        for first in 0..groups.len() {
            let mut probability = 0.0;
            for last in &groups[first..] {
                probability += last.probability;
                if probability >= self.setup.confidence * self.posterior.step() {
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

    /// Rows of classes between neighbours that can be measured and that `may` be.
    pub(super) fn groups(&self, may: impl Fn(usize) -> bool) -> Vec<Suspects> {
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
