//! All trials of an experiment: in scheduled order, retried, and kept as soon as they end.

use std::time::{Duration, Instant, SystemTime};

use crate::build::Artifact;
use crate::profile::Profile;
use crate::repo::Revision;
use crate::store::{Store, StoredTrial, TrialState};
use crate::trial::{FailureKind, TrialEnd, TrialResult};

use super::attempt::{LocalRunner, keep, read_profile};
use super::error::ExperimentError;
use super::progress::Progress;
use super::schedule::{Slot, slots};

/// One side of an experiment: a built revision.
#[derive(Debug, Clone)]
pub struct Arm {
    /// Its name: `base`, `head`.
    pub name: &'static str,
    /// The revision as the user gave it.
    pub given: String,
    /// The commit.
    pub revision: Revision,
    /// What was built of it.
    pub artifact: Artifact,
}

/// A trial whose numbers count.
#[derive(Debug, Clone)]
pub struct MeasuredTrial {
    /// Where it stood in the schedule.
    pub slot: Slot,
    /// When it began.
    pub started: SystemTime,
    /// Its values.
    pub result: TrialResult,
    /// Its profile, where it was sampled.
    pub profile: Option<Profile>,
    /// What disturbed it, where that exceeds the plan's limits.
    pub disturbed: Option<String>,
}

/// What is counted while trials run.
struct Counts {
    /// Number of the next trial's directory.
    number: usize,
    /// Repeats of disturbed trials that are left.
    repeats: u32,
}

/// Runs what is still to be run of an experiment's trials.
pub struct TrialSeries<'a> {
    /// Where trials are kept.
    pub store: &'a Store,
    /// The experiment's id in the store.
    pub experiment: &'a str,
    /// Who runs a trial.
    pub runner: LocalRunner<'a>,
    /// The arms.
    pub arms: &'a [Arm],
    /// When no further trial is begun.
    pub deadline: Option<Instant>,
}

impl TrialSeries<'_> {
    /// Runs a range of blocks; trials that an earlier process has completed are taken from the
    /// store. Returns all of them in the order of the schedule.
    pub fn run(
        &self,
        blocks: std::ops::Range<u32>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<MeasuredTrial>, ExperimentError> {
        let stored = self.store.trials(self.experiment)?;
        let slots = slots(blocks, self.arms.len(), self.runner.plan.experiment.seed);
        let kept: Vec<Option<&StoredTrial>> =
            slots.iter().map(|slot| self.kept(&stored, slot)).collect();
        let missing = kept.iter().filter(|trial| trial.is_none()).count();
        progress.trials(slots.len(), slots.len() - missing);

        let started = Instant::now();
        let mut done = 0;
        let mut counts = Counts {
            number: 0,
            repeats: self.repeats_left(&stored),
        };
        let mut trials = Vec::with_capacity(slots.len());
        for (slot, kept) in slots.iter().zip(kept) {
            if let Some(stored) = kept {
                trials.push(self.read(slot, stored)?);
                continue;
            }
            if self.deadline.is_some_and(|at| Instant::now() >= at) {
                return Err(ExperimentError::Budget("time"));
            }
            progress.trial(slot.block, self.arms[slot.arm].name);
            trials.push(self.measure(slot, &mut counts, progress)?);
            done += 1;
            let each = started.elapsed() / done;
            progress.trial_done(each * (missing as u32).saturating_sub(done));
        }
        progress.finished();
        Ok(trials)
    }

    /// The stored trial of a slot, if its whole block is stored: the arms of a block run next to
    /// each other, so a block that was cut in two is measured anew.
    fn kept<'s>(&self, stored: &'s [StoredTrial], slot: &Slot) -> Option<&'s StoredTrial> {
        let find = |arm: &Arm| {
            stored.iter().rev().find(|trial| {
                trial.state == TrialState::Complete
                    && trial.block == slot.block
                    && trial.arm == arm.name
            })
        };
        self.arms
            .iter()
            .all(|arm| find(arm).is_some())
            .then(|| find(&self.arms[slot.arm]))
            .flatten()
    }

    /// Repeats of disturbed trials that are left of those the plan allows. What was measured twice
    /// for another reason counts too.
    fn repeats_left(&self, stored: &[StoredTrial]) -> u32 {
        let complete = stored
            .iter()
            .filter(|trial| trial.state == TrialState::Complete);
        let slots: std::collections::BTreeSet<(u32, &str)> = complete
            .clone()
            .map(|trial| (trial.block, trial.arm.as_str()))
            .collect();
        let used = complete.count() - slots.len();
        let allowed = self.runner.plan.disturbance.repeats;
        allowed.saturating_sub(used.try_into().unwrap_or(u32::MAX))
    }

    fn read(&self, slot: &Slot, stored: &StoredTrial) -> Result<MeasuredTrial, ExperimentError> {
        let unreadable = |error: serde_json::Error| ExperimentError::NotResumable {
            id: self.experiment.to_owned(),
            reason: format!("its stored trial {} cannot be read ({error})", stored.id),
        };
        let profile = match &stored.profile {
            Some(digest) => {
                let bytes = self.store.blob(digest)?;
                Some(serde_json::from_slice(&bytes).map_err(unreadable)?)
            }
            None => None,
        };
        let result: TrialResult =
            serde_json::from_value(stored.result.clone()).map_err(unreadable)?;
        Ok(MeasuredTrial {
            slot: *slot,
            started: stored.started,
            disturbed: self.disturbed(&result),
            result,
            profile,
        })
    }

    fn disturbed(&self, result: &TrialResult) -> Option<String> {
        let limits = &self.runner.plan.disturbance;
        result.disturbance.exceeds(limits)
    }

    fn measure(
        &self,
        slot: &Slot,
        counts: &mut Counts,
        progress: &mut dyn Progress,
    ) -> Result<MeasuredTrial, ExperimentError> {
        let arm = &self.arms[slot.arm];
        let allowed = 1 + self.runner.plan.experiment.retries;
        let mut attempts = 0;
        loop {
            let started = SystemTime::now();
            let attempt = self.runner.attempt(counts.number, &arm.artifact)?;
            counts.number += 1;
            keep(
                (self.store, self.experiment),
                (slot, self.arms[slot.arm].name),
                started,
                &attempt,
            )?;
            let failure = match attempt.end {
                TrialEnd::Measured(result) => {
                    let disturbed = self.disturbed(&result);
                    if let Some(what) = &disturbed
                        && counts.repeats > 0
                    {
                        // Whatever it measured: the later one counts.
                        counts.repeats -= 1;
                        progress.note(&format!(
                            "a trial of {} was disturbed and is repeated: {what}",
                            arm.name
                        ));
                        continue;
                    }
                    let profile = attempt
                        .profile
                        .map(|bytes| read_profile(&bytes))
                        .transpose()?;
                    return Ok(MeasuredTrial {
                        slot: *slot,
                        started,
                        result,
                        profile,
                        disturbed,
                    });
                }
                TrialEnd::Failed(failure) => failure,
            };
            attempts += 1;
            if attempts >= allowed || failure.kind == FailureKind::Setup {
                return Err(ExperimentError::TrialFailed {
                    arm: arm.name.to_owned(),
                    commit: format!("{} {}", arm.revision.short, arm.revision.subject_line),
                    attempts,
                    kind: failure.kind,
                    message: failure.message,
                });
            }
            progress.note(&format!(
                "a trial of {} failed and is tried again: {}",
                arm.name, failure.message
            ));
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
