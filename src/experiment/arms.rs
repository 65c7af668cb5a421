//! Builds the arms of an experiment.

use std::collections::BTreeMap;

use crate::build::{Artifact, BuildError, BuildEvent, BuildRequest, Builder, Reuse};
use crate::plan::Plan;
use crate::repo::{PathsDigester, Pathspecs, Revision};

use super::compare::Surroundings;
use super::error::ExperimentError;
use super::progress::Progress;
use super::trials::Arm;

/// A side to be built: its name, the revision as the user gave it, and the commit.
pub type Side<'a> = (&'static str, &'a str, Revision);

/// Builds both sides. What stands on both, or was built before, is built once.
pub fn build_arms(
    sides: [Side<'_>; 2],
    plan: &Plan,
    reuse: Reuse,
    surroundings: &Surroundings<'_>,
    progress: &mut dyn Progress,
) -> Result<Vec<Arm>, ExperimentError> {
    let mut arms: Vec<Arm> = Vec::new();
    for (name, given, revision) in sides {
        // A rebuild that was asked for is not asked for twice.
        let twin = arms.iter().find(|arm| arm.revision.id == revision.id);
        let artifact = match twin.map(|arm| arm.artifact.clone()) {
            Some(artifact) => artifact,
            None => build_revision(&revision, name, plan, reuse, surroundings, progress)?,
        };
        arms.push(Arm {
            name,
            given: given.to_owned(),
            revision,
            artifact,
        });
    }
    if arms[0].artifact.is_same_program(&arms[1].artifact) {
        progress
            .note("base and head are the same program: what differs below is this machine's noise");
    }
    Ok(arms)
}

/// Builds one revision, or takes what was built before.
pub fn build_revision(
    revision: &Revision,
    name: &str,
    plan: &Plan,
    reuse: Reuse,
    surroundings: &Surroundings<'_>,
    progress: &mut dyn Progress,
) -> Result<Artifact, ExperimentError> {
    let paths = PathsDigester::new(Pathspecs::parse(&plan.subject.paths)?);
    let builder = Builder::new(
        surroundings.store.directory(),
        surroundings.supervisor.clone(),
        surroundings.cancel.clone(),
    )?;
    let request = BuildRequest {
        repository: surroundings.repository,
        revision,
        kind: plan.subject.kind,
        recipe: &plan.build,
        paths: &paths,
        inputs: &BTreeMap::new(),
        reuse,
    };
    build(&builder, &request, name, progress)
}

fn build(
    builder: &Builder,
    request: &BuildRequest<'_>,
    name: &str,
    progress: &mut dyn Progress,
) -> Result<Artifact, ExperimentError> {
    let revision = request.revision;
    let shown = format!("{} {}", revision.short, revision.subject_line);
    let built = builder.build(request, &mut |event| match event {
        BuildEvent::Waiting { holder } => {
            let holder = holder
                .map(|pid| format!(" (process {pid})"))
                .unwrap_or_default();
            progress.note(&format!("waiting for another build in this store{holder}"));
        }
        BuildEvent::Exporting => progress.note(&format!("building {name}: {shown}")),
        BuildEvent::Step {
            number,
            count,
            command,
        } => {
            progress.note(&format!("  step {number} of {count}: {command}"));
        }
        BuildEvent::Note { text } => progress.note(&format!("  {text}")),
        BuildEvent::Built { time } => {
            let seconds = std::time::Duration::from_secs(time.as_secs().max(1));
            progress.note(&format!(
                "  built in {}",
                humantime::format_duration(seconds)
            ));
        }
    });
    match built {
        Ok(artifact) => {
            if artifact.cached {
                progress.note(&format!("{name}: {shown} (built before)"));
            }
            Ok(artifact)
        }
        Err(BuildError::Interrupted) => Err(ExperimentError::Interrupted),
        Err(error) => Err(error.into()),
    }
}
