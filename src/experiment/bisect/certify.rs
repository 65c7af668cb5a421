//! The trials of a certificate: fresh blocks of a culprit and its parent.

use crate::experiment::ExperimentError;
use crate::experiment::progress::Progress;
use crate::experiment::schedule::slots;
use crate::experiment::trials::{Arm, MeasuredTrial, TrialSeries};
use crate::repo::Revision;
use crate::store::TrialState;
use crate::trial::FailureKind;

use super::bench::{CERTIFICATE_BLOCKS, Raw};
use super::ends::shown;
use super::field::{Costs, Field};
use super::journal::{Answer, Point};
use super::request::Measured;
use super::searcher::Searcher;

/// How often a user's command may say, within a certificate, that a commit cannot be tested.
const SCRIPT_RETRIES: u32 = 3;

impl Searcher<'_, '_> {
    /// Fresh blocks of two classes next to each other in random order.
    pub(super) fn certify(
        &mut self,
        field: &mut Field,
        costs: &Costs,
        number: usize,
        [parent, culprit]: [usize; 2],
        blocks: u32,
    ) -> Result<(), ExperimentError> {
        let pair = [parent, culprit].map(|class| field.representative(class).clone());
        let first_block = self.first_block_of(number, &pair)?;
        self.progress.note(&format!(
            "certifying {} against {}: {blocks} blocks",
            shown(&pair[1]),
            shown(&pair[0])
        ));
        let range = first_block..first_block.saturating_add(blocks);
        let measured = match &self.bench.request.measured {
            Measured::Script { command } => {
                let command = command.clone();
                self.script_blocks(&command, &pair, range)
            }
            _ => {
                let mut arms = Vec::new();
                for (class, revision) in [parent, culprit].into_iter().zip(&pair) {
                    match self.bench.artifact(revision, self.progress)? {
                        Ok(artifact) => arms.push((revision.clone(), artifact)),
                        Err(skip) => {
                            let commit = field.representative(class).id.clone();
                            return self.skip(field, costs, number, commit, skip.0);
                        }
                    }
                }
                self.blocks(&arms_of(arms), range)
                    .and_then(|trials| self.points(&trials))
            }
        };
        let points = match measured {
            Ok(points) => points,
            // A commit that fails now and then was measured by luck: its neighbour is tried.
            Err(ExperimentError::TrialFailed {
                arm,
                kind: FailureKind::Start | FailureKind::Run,
                message,
                ..
            }) => {
                let class = if arm == "base" { parent } else { culprit };
                let commit = field.representative(class).id.clone();
                let reason = format!("cannot be certified: {message}");
                return self.skip(field, costs, number, commit, reason);
            }
            Err(error) => return Err(error),
        };
        let [parent, culprit] = pair.map(|revision| revision.id);
        let answer = Answer::Certificate {
            culprit,
            parent,
            blocks: points,
            first_block,
            measured: blocks,
        };
        self.keep(field, costs, number, answer)
    }

    /// Where a certificate's blocks are in the store: where an interrupted one of the same pair has begun,
    /// or else after all others, those included that ended with a commit that failed.
    fn first_block_of(
        &mut self,
        number: usize,
        pair: &[Revision; 2],
    ) -> Result<u32, ExperimentError> {
        let mut open = None;
        let mut places: u32 = 0;
        for answer in self.journal.answers() {
            match answer {
                Answer::Begun {
                    culprit,
                    parent,
                    first_block,
                } => {
                    let is_same = *parent == pair[0].id && *culprit == pair[1].id;
                    open = is_same.then_some(*first_block);
                    places += 1;
                }
                Answer::Certificate { .. } => {
                    open = None;
                    places += 1;
                }
                Answer::Skipped { commit, .. } => {
                    open = open.filter(|_| pair.iter().all(|revision| revision.id != *commit));
                }
                Answer::Trial { .. } | Answer::Same { .. } => {}
            }
        }
        if let Some(first_block) = open {
            return Ok(first_block);
        }
        let first_block = CERTIFICATE_BLOCKS.saturating_mul(places.saturating_add(1));
        let [parent, culprit] = pair.clone().map(|revision| revision.id);
        let begun = Answer::Begun {
            culprit,
            parent,
            first_block,
        };
        self.journal.keep(number, &begun)?;
        Ok(first_block)
    }

    /// The trials of a certificate: those that are stored, and those that are missing.
    pub fn blocks(
        &mut self,
        arms: &[Arm],
        range: std::ops::Range<u32>,
    ) -> Result<Vec<MeasuredTrial>, ExperimentError> {
        let request = self.bench.request;
        let series = TrialSeries {
            deadline: self.deadline,
            store: self.bench.surroundings.store,
            experiment: self.bench.experiment,
            runner: self
                .bench
                .runner(request.profile || request.samples_trials()),
            arms,
        };
        let mut progress = FromFirst {
            first: range.start,
            inner: self.progress,
        };
        series.run(range, &mut progress)
    }

    fn points(&self, trials: &[MeasuredTrial]) -> Result<Vec<[Point; 2]>, ExperimentError> {
        let mut blocks: std::collections::BTreeMap<u32, [Option<Point>; 2]> = Default::default();
        for trial in trials {
            let raw = self
                .bench
                .raw(0, trial.started, &trial.result, trial.profile.as_ref());
            let value = self.meter.value(&raw).ok();
            let seconds = raw.seconds;
            blocks.entry(trial.slot.block).or_default()[trial.slot.arm] =
                value.map(|value| Point { value, seconds });
        }
        Ok(blocks
            .into_values()
            .filter_map(|[parent, culprit]| Some([parent?, culprit?]))
            .collect())
    }

    fn script_blocks(
        &mut self,
        command: &str,
        pair: &[Revision; 2],
        range: std::ops::Range<u32>,
    ) -> Result<Vec<[Point; 2]>, ExperimentError> {
        let store = self.bench.surroundings.store;
        let stored = store.trials(self.bench.experiment)?;
        let seed = self.bench.request.plan.experiment.seed;
        let mut points: Vec<[Option<Point>; 2]> = vec![[None; 2]; range.len()];
        for slot in slots(range.clone(), 2, seed) {
            let revision = &pair[slot.arm];
            let arm = ["base", "head"][slot.arm];
            let kept = stored.iter().find(|trial| {
                trial.block == slot.block && trial.arm == arm && trial.state == TrialState::Complete
            });
            let raw = match kept {
                Some(trial) => self.bench.stored_script(trial),
                None if self.is_out_of_time() => {
                    return Err(ExperimentError::Budget("time"));
                }
                None => self.script_again(command, revision, slot.block, arm)?,
            };
            let value = self.meter.value(&raw).ok();
            let seconds = raw.seconds;
            points[(slot.block - range.start) as usize][slot.arm] =
                value.map(|value| Point { value, seconds });
        }
        Ok(points
            .into_iter()
            .filter_map(|[parent, culprit]| Some([parent?, culprit?]))
            .collect())
    }

    /// Asks again where the command says that it could not test.
    fn script_again(
        &mut self,
        command: &str,
        revision: &Revision,
        block: u32,
        arm: &str,
    ) -> Result<Raw, ExperimentError> {
        let mut said = String::new();
        for _ in 0..=SCRIPT_RETRIES {
            match self
                .bench
                .script(command.to_owned(), revision, block, arm)?
            {
                Ok(raw) => return Ok(raw),
                Err(skip) => said = skip.0,
            }
        }
        Err(ExperimentError::TrialFailed {
            arm: arm.to_owned(),
            commit: shown(revision),
            attempts: SCRIPT_RETRIES + 1,
            kind: FailureKind::Run,
            message: said,
        })
    }
}

/// Counts a certificate's blocks from its first.
struct FromFirst<'p> {
    first: u32,
    inner: &'p mut dyn Progress,
}

impl Progress for FromFirst<'_> {
    fn note(&mut self, text: &str) {
        self.inner.note(text);
    }

    fn trials(&mut self, all: usize, done: usize) {
        self.inner.trials(all, done);
    }

    fn trial(&mut self, block: u32, arm: &str) {
        let arm = match arm {
            "base" => "parent",
            _ => "culprit",
        };
        self.inner.trial(block - self.first, arm);
    }

    fn trial_done(&mut self, left: std::time::Duration) {
        self.inner.trial_done(left);
    }

    fn finished(&mut self) {
        self.inner.finished();
    }
}

/// The arms of a certificate: `base` is the parent, `head` the culprit.
pub fn arms_of(pair: Vec<(Revision, crate::build::Artifact)>) -> Vec<Arm> {
    ["base", "head"]
        .into_iter()
        .zip(pair)
        .map(|(name, (revision, artifact))| Arm {
            name,
            given: revision.id.clone(),
            revision,
            artifact,
        })
        .collect()
}
