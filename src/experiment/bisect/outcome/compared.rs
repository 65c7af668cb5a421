//! The culprit's comparison with its parent, as `compare` would report it.

use crate::build::Reuse;
use crate::experiment::ExperimentError;
use crate::experiment::compare::CompareRequest;
use crate::experiment::judge::{Judged, judge};
use crate::experiment::trials::MeasuredTrial;
use crate::profile::Profile;
use crate::report::{CompareReport, Explanation, Profiles};

use crate::experiment::bisect::certify::arms_of;
use crate::experiment::bisect::explain::explain;
use crate::experiment::bisect::find::Found;
use crate::experiment::bisect::searcher::Searcher;

use super::Scene;
use super::culprit::stored_blocks;

/// The comparison of culprit and parent from the blocks of the certificate, and what explains it.
pub(super) fn compared(
    scene: &Scene<'_>,
    searcher: &mut Searcher<'_, '_>,
    found: &Found,
) -> Result<(Option<CompareReport>, Vec<Explanation>, Profiles), ExperimentError> {
    let field = &searcher.searched[found.line].field;
    let pair = [
        found.culprit.suspects.parent,
        *found.culprit.suspects.classes.end(),
    ]
    .map(|class| field.representative(class).clone());
    let nothing = (None, Vec::new(), Profiles::default());
    let Some(range) = stored_blocks(searcher, found) else {
        return Ok(nothing);
    };
    let first = range.start;
    let mut built = Vec::new();
    for revision in &pair {
        match searcher.bench.artifact(revision, searcher.progress)? {
            Ok(artifact) => built.push((revision.clone(), artifact)),
            Err(_) => return Ok(nothing),
        }
    }
    let arms = arms_of(built);
    let mut trials = searcher.blocks(&arms, range)?;
    for trial in &mut trials {
        trial.slot.block -= first;
    }
    let request = CompareRequest {
        base: pair[0].id.clone(),
        head: pair[1].id.clone(),
        plan: scene.request.plan.clone(),
        reuse: Reuse::Everything,
        profile: true,
        out: scene.request.out.clone(),
        resume: None,
        command: scene.request.compare_command.clone(),
    };
    let Judged {
        report: comparison,
        profiles,
        ..
    } = judge(
        &request,
        &arms,
        &trials,
        scene.machine,
        scene.experiment,
        request.plan.judging.alpha,
    );
    let changes = searcher
        .bench
        .surroundings
        .repository
        .changes_between(Some(&pair[0]), &pair[1])?;
    let of_arm = |arm: usize| -> Vec<&Profile> {
        let trials = trials.iter().filter(|trial| trial.slot.arm == arm);
        trials
            .filter_map(|trial: &MeasuredTrial| trial.profile.as_ref())
            .collect()
    };
    let target = searcher.meter.function();
    let explanation = explain(
        &comparison.functions,
        &of_arm(0),
        &of_arm(1),
        &changes,
        target,
    );
    Ok((Some(comparison), explanation, profiles))
}
