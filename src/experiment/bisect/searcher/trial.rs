//! One trial of the search: from a class to an answer in the journal.

use crate::bisect::Purpose;
use crate::experiment::ExperimentError;
use crate::experiment::bisect::bench::{Outcome, Raw};
use crate::experiment::bisect::ends::shown;
use crate::experiment::bisect::field::{Costs, Field};
use crate::experiment::bisect::journal::{Answer, Point};
use crate::experiment::bisect::request::Measured;

use super::Searcher;

impl Searcher<'_, '_> {
    /// A trial of a class, or the reason why there is none.
    pub(super) fn try_class(
        &mut self,
        field: &mut Field,
        costs: &Costs,
        number: usize,
        class: usize,
        purpose: Purpose,
    ) -> Result<(), ExperimentError> {
        let Some(outcome) = self.raw(field, costs, number, class)? else {
            return Ok(());
        };
        match outcome {
            Ok(raw) => {
                if !self.meter.is_set() {
                    self.gauge(std::slice::from_ref(&raw))?;
                }
                self.keep_trial(field, costs, number, class, &raw, purpose)
            }
            Err(skip) => {
                let commit = field.representative(class).id.clone();
                self.skip(field, costs, number, commit, skip.0)
            }
        }
    }

    /// The first trial of each end, before which no trial has a value.
    pub(super) fn pilot(
        &mut self,
        field: &mut Field,
        costs: &Costs,
        number: usize,
    ) -> Result<(), ExperimentError> {
        let mut raws = Vec::new();
        for class in [0, field.classes().len() - 1] {
            match self.raw(field, costs, number, class)? {
                None => return Ok(()),
                Some(Ok(raw)) => raws.push(raw),
                Some(Err(skip)) => {
                    let commit = field.representative(class).id.clone();
                    return self.skip(field, costs, number, commit, skip.0);
                }
            }
        }
        self.gauge(&raws)?;
        let ends = [0, field.classes().len() - 1];
        for (class, raw) in ends.into_iter().zip(&raws) {
            self.keep_trial(field, costs, number, class, raw, Purpose::Endpoint)?;
        }
        Ok(())
    }

    /// Builds and measures a class. `None`: it is the same program as another one, which was kept as
    /// the answer.
    fn raw(
        &mut self,
        field: &mut Field,
        costs: &Costs,
        number: usize,
        class: usize,
    ) -> Result<Option<Outcome<Raw>>, ExperimentError> {
        let revision = field.representative(class).clone();
        if !matches!(self.bench.request.measured, Measured::Script { .. }) {
            let artifact = match self.bench.artifact(&revision, self.progress)? {
                Ok(artifact) => artifact,
                Err(skip) => return Ok(Some(Err(skip))),
            };
            let twin = (0..field.classes().len())
                .filter(|other| *other != class)
                .map(|other| field.representative(other))
                .find(|other| {
                    self.bench
                        .built(&other.id)
                        .is_some_and(|built| built.is_same_program(&artifact))
                });
            if let Some(twin) = twin {
                self.progress.note(&format!(
                    "{} is the same program as {}",
                    shown(&revision),
                    shown(twin)
                ));
                let commits = [twin.id.clone(), revision.id.clone()];
                self.keep(field, costs, number, Answer::Same { commits })?;
                return Ok(None);
            }
        }
        let outcome = self.bench.measure(&revision, self.progress)?;
        Ok(Some(outcome))
    }

    fn gauge(&mut self, first: &[Raw]) -> Result<(), ExperimentError> {
        let gauge = self.meter.gauge(first)?;
        self.meter.set(&gauge, first.first())?;
        self.journal.keep_gauge(gauge)
    }

    fn keep_trial(
        &mut self,
        field: &mut Field,
        costs: &Costs,
        number: usize,
        class: usize,
        raw: &Raw,
        purpose: Purpose,
    ) -> Result<(), ExperimentError> {
        let commit = field.representative(class).id.clone();
        let value = match self.meter.value(raw) {
            Ok(value) => value,
            Err(why) => {
                let reason = format!("cannot be measured: {why}");
                return self.skip(field, costs, number, commit, reason);
            }
        };
        let point = Point {
            value,
            seconds: raw.seconds,
        };
        let answer = Answer::Trial {
            commit,
            point,
            purpose,
        };
        self.keep(field, costs, number, answer)
    }

    pub(in crate::experiment::bisect) fn skip(
        &mut self,
        field: &mut Field,
        costs: &Costs,
        number: usize,
        commit: String,
        reason: String,
    ) -> Result<(), ExperimentError> {
        let told = reason.lines().next().unwrap_or_default().to_owned();
        let short = commit.get(..10).unwrap_or(&commit).to_owned();
        self.progress.note(&format!("skipped {short}: {told}"));
        self.keep(field, costs, number, Answer::Skipped { commit, reason })
    }

    pub(in crate::experiment::bisect) fn keep(
        &mut self,
        field: &mut Field,
        costs: &Costs,
        number: usize,
        answer: Answer,
    ) -> Result<(), ExperimentError> {
        self.journal.keep(number, &answer)?;
        field.take(answer, costs);
        Ok(())
    }
}
