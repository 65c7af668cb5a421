//! What the report says of the search: its trials, what it skipped, and what it believes.

use crate::bisect::{Conclusion, Purpose};
use crate::report::{Belief, SearchedLine, SkippedCommit, TrialCounts};

use crate::experiment::bisect::find::Found;
use crate::experiment::bisect::journal::Answer;
use crate::experiment::bisect::searcher::{LineEnd, Searcher};

pub(super) fn counts(searcher: &Searcher<'_, '_>) -> TrialCounts {
    let mut counts = TrialCounts::default();
    for answer in searcher.journal.answers() {
        match answer {
            Answer::Trial { purpose, .. } => match purpose {
                Purpose::Endpoint => counts.endpoints += 1,
                _ => counts.search += 1,
            },
            Answer::Certificate { blocks, .. } => counts.certificate += 2 * blocks.len(),
            Answer::Begun { .. } | Answer::Skipped { .. } | Answer::Same { .. } => {}
        }
    }
    counts
}

pub(super) fn skipped(searcher: &Searcher<'_, '_>) -> Vec<SkippedCommit> {
    let repository = searcher.bench.surroundings.repository;
    let mut skipped: Vec<SkippedCommit> = Vec::new();
    for answer in searcher.journal.answers() {
        let Answer::Skipped { commit, reason } = answer else {
            continue;
        };
        if skipped.iter().any(|known| known.commit == *commit) {
            continue;
        }
        let subject = repository.revision(commit);
        skipped.push(SkippedCommit {
            commit: commit.clone(),
            subject_line: subject.map_or_else(|_| String::new(), |found| found.subject_line),
            reason: reason.clone(),
        });
    }
    skipped
}

pub(super) fn lines(searcher: &Searcher<'_, '_>, found: &[Found]) -> Vec<SearchedLine> {
    let searched = searcher.searched.iter().enumerate();
    searched
        .map(|(number, searched)| {
            let search = &searched.field.search;
            let posterior = search.posterior();
            let classes = searched.field.classes().iter().enumerate();
            let culprit = match &searched.end {
                LineEnd::Concluded(Conclusion::Culprit(culprit)) => {
                    Some(*culprit.suspects.classes.end())
                }
                _ => found
                    .iter()
                    .find(|found| found.line == number)
                    .map(|found| *found.culprit.suspects.classes.end()),
            };
            SearchedLine {
                title: searched.title.clone(),
                no_step_probability: posterior.no_step,
                culprit,
                classes: classes
                    .map(|(at, class)| Belief {
                        commits: class.commits.iter().map(|held| held.id.clone()).collect(),
                        subject_line: class.first().subject_line.clone(),
                        probability: posterior.mass.get(at).copied().unwrap_or(0.0),
                        values: search
                            .trials()
                            .iter()
                            .filter(|trial| trial.class == at)
                            .map(|trial| trial.value)
                            .collect(),
                        skipped: search.skipped().contains_key(&at),
                    })
                    .collect(),
            }
        })
        .collect()
}
