//! Which lines are searched: first parents, then merged branches, then what is left of the gap.

use crate::bisect::{Conclusion, Culprit};
use crate::experiment::ExperimentError;
use crate::repo::Revision;

use super::ends::shown;
use super::line::Line;
use super::searcher::{LineEnd, Searched, Searcher};

/// A culprit, and where it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Number of the line.
    pub line: usize,
    /// The culprit.
    pub culprit: Culprit,
    /// The merge commit whose branch it is on.
    pub merged_by: Option<Revision>,
}

/// The search as a whole.
pub struct Hunt<'s, 'a, 'p> {
    /// Searches one line.
    pub searcher: &'s mut Searcher<'a, 'p>,
    /// What the user must be told.
    pub notes: Vec<String>,
}

impl Hunt<'_, '_, '_> {
    /// Searches the line from `old` to `new`, the branches that its culprit merges, and, where every
    /// step is asked for, the rest of the line. The first culprit comes first.
    pub fn hunt(&mut self, old: &Revision, new: &Revision) -> Result<Vec<Found>, ExperimentError> {
        let request = self.searcher.bench.request;
        let title = format!("first parents from {} to {}", old.short, new.short);
        let line = self.line(old, new)?;
        let mut found: Vec<Found> = Vec::new();
        // Lines that are still to be searched, the next one last.
        let mut open = vec![(title, line, request.force)];
        while let Some((title, line, force)) = open.pop() {
            let number = self.searcher.searched.len();
            self.searcher.search(&title, line, force)?;
            let Some(culprit) = self.culprit_of(number) else {
                if self.is_out_of_budget(number) {
                    break;
                }
                continue;
            };
            let here = Found {
                line: number,
                culprit: culprit.clone(),
                merged_by: None,
            };
            let inside = match request.first_parent {
                true => None,
                false => self.inside_merge(&here)?,
            };
            found.push(inside.unwrap_or(here));
            let last = self.searcher.searched.len() - 1;
            if !request.all || self.is_out_of_budget(last) {
                break;
            }
            let searched = &self.searcher.searched[number].field;
            let line = searched.line();
            let last = line.classes.len() - 1;
            let culprit_class = *culprit.suspects.classes.end();
            let parts = [(culprit_class, last), (0, culprit.suspects.parent)];
            for (from, to) in parts.into_iter().filter(|(from, to)| from < to) {
                let part = line.part(from, to);
                let title = format!(
                    "what is left from {} to {}",
                    part.classes[0].first().short,
                    part.classes[to - from].first().short
                );
                open.push((title, part, false));
            }
        }
        Ok(found)
    }

    /// The step inside the branches that a culprit merges.
    fn inside_merge(&mut self, found: &Found) -> Result<Option<Found>, ExperimentError> {
        let classes = found.culprit.suspects.classes.clone();
        let field = &self.searcher.searched[found.line].field;
        let merge = field.classes()[*classes.end()].first().clone();
        let is_one = classes.start() == classes.end();
        if merge.parents.len() < 2 {
            return Ok(None);
        }
        if !is_one {
            self.notes.push(format!(
                "the merged branches of {} were not searched: it is one of several commits that \
                 cannot be told apart",
                shown(&merge)
            ));
            return Ok(None);
        }
        let repository = self.searcher.bench.surroundings.repository;
        let first = repository.revision(&merge.parents[0])?;
        for parent in &merge.parents[1..] {
            let tip = repository.revision(parent)?;
            let Some(fork) = repository.merge_base(&first, &tip)? else {
                self.notes.push(format!(
                    "{} merges an unrelated history, which was not searched",
                    shown(&merge)
                ));
                continue;
            };
            if fork.id == tip.id {
                continue;
            }
            self.searcher
                .progress
                .note(&format!("into the branch that {} merges", shown(&merge)));
            let line = self.line(&fork, &tip)?;
            let number = self.searcher.searched.len();
            let title = format!("the branch that {} merges", merge.short);
            self.searcher.search(&title, line, false)?;
            if let Some(culprit) = self.culprit_of(number) {
                let here = Found {
                    line: number,
                    culprit,
                    merged_by: Some(merge),
                };
                let inside = self.inside_merge(&here)?;
                return Ok(Some(inside.unwrap_or(here)));
            }
            let why = match &self.searcher.searched[number].end {
                LineEnd::Stopped(what) => format!("the budget of {what} was spent before it was found"),
                LineEnd::Concluded(Conclusion::EndpointsAlike { .. }) => {
                    "its ends do not differ: the step is in the merge itself, or the branch is slow \
                     only together with what it was merged into"
                        .to_owned()
                }
                LineEnd::Concluded(Conclusion::EndpointSkipped { reason, .. }) => {
                    format!("an end cannot be measured: {}", first_line(reason))
                }
                LineEnd::Concluded(_) => "no single commit of it could be certified".to_owned(),
            };
            self.notes.push(format!(
                "the branch that {} merges was searched: {why}",
                shown(&merge)
            ));
        }
        Ok(None)
    }

    fn line(&mut self, old: &Revision, new: &Revision) -> Result<Line, ExperimentError> {
        let bench = &self.searcher.bench;
        let line = Line::between(bench.surroundings.repository, bench.paths, old, new)?;
        let first = line.classes[0].first();
        if first.id != old.id {
            self.notes.push(format!(
                "{} is not among the first parents of {}, into which it was merged: the search begins at \
                 {}, and looks into what merges brought",
                shown(old),
                shown(new),
                shown(first)
            ));
        }
        Ok(line)
    }

    fn culprit_of(&self, line: usize) -> Option<Culprit> {
        match &self.searcher.searched.get(line)?.end {
            LineEnd::Concluded(Conclusion::Culprit(culprit)) => Some(culprit.clone()),
            _ => None,
        }
    }

    fn is_out_of_budget(&self, line: usize) -> bool {
        let searched: Option<&Searched> = self.searcher.searched.get(line);
        searched.is_some_and(|searched| matches!(searched.end, LineEnd::Stopped(_)))
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
