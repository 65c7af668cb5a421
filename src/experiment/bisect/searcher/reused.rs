//! What earlier lines and earlier processes have found out already.

use crate::experiment::ExperimentError;
use crate::experiment::bisect::bench::Bench;
use crate::experiment::bisect::journal::{Answer, Gauge, Journal, Point};
use crate::experiment::bisect::line::Line;
use crate::experiment::bisect::meter::Meter;

use super::Searcher;

impl Searcher<'_, '_> {
    /// Values of earlier lines that tell of commits of this one.
    pub(super) fn reused(&self, line: &Line) -> Result<Vec<(String, Point)>, ExperimentError> {
        let number = self.searched.len();
        let mut earlier: Vec<(&str, Point)> = Vec::new();
        for answer in self.journal.before_line(number) {
            match answer {
                Answer::Trial { commit, point, .. } => earlier.push((commit, *point)),
                Answer::Certificate {
                    culprit,
                    parent,
                    blocks,
                    ..
                } => {
                    for [p, c] in blocks {
                        earlier.push((parent, *p));
                        earlier.push((culprit, *c));
                    }
                }
                Answer::Begun { .. } | Answer::Skipped { .. } | Answer::Same { .. } => {}
            }
        }
        let repository = self.bench.surroundings.repository;
        let mut reused = Vec::new();
        for (commit, point) in earlier {
            let revision = repository.revision(commit)?;
            let Ok(digest) = self.bench.paths.digest(repository, &revision) else {
                continue;
            };
            let class = line
                .classes
                .iter()
                .find(|class| class.digest.as_ref() == Some(&digest) || class.first().id == commit);
            if let Some(class) = class {
                reused.push((class.first().id.clone(), point));
            }
        }
        Ok(reused)
    }
}

/// Sets the meter from what an earlier process fixed.
pub fn take_up_gauge(
    meter: &mut Meter,
    journal: &Journal<'_>,
    bench: &Bench<'_>,
) -> Result<(), ExperimentError> {
    let Some(gauge) = journal.gauge() else {
        return Ok(());
    };
    let reference = match gauge {
        Gauge::Function { reference, .. } => Some(bench.stored(*reference)?),
        Gauge::Metric { .. } => None,
    };
    meter.set(gauge, reference.as_ref())
}
