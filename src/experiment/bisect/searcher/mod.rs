//! The search on one line of history: asks the posterior what to do, does it, keeps the answer.

mod reused;
mod trial;

use std::time::Instant;

use crate::bisect::{Conclusion, Purpose, Response, Side, Step};
use crate::experiment::ExperimentError;
use crate::experiment::progress::{Progress, SearchState};

use super::alike::{Ends as AtEnds, compare_ends, is_constant};
use super::bench::Bench;
use super::ends::shown;
use super::field::{Costs, Field, Rules};
use super::journal::{Answer, Journal};
use super::line::Line;
use super::meter::Meter;

pub use reused::take_up_gauge;

/// Searches lines of history, one after the other.
pub struct Searcher<'a, 'p> {
    /// Builds and measures.
    pub bench: Bench<'a>,
    /// What was learnt.
    pub journal: Journal<'a>,
    /// From trials to values.
    pub meter: Meter,
    /// What a trial answers.
    pub response: Response,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Lines that were searched.
    pub searched: Vec<Searched>,
    /// Who hears of it.
    pub progress: &'p mut dyn Progress,
}

/// A line that was searched.
#[derive(Debug, Clone)]
pub struct Searched {
    /// What line it is, in words.
    pub title: String,
    /// Its classes and what is believed of them.
    pub field: Field,
    /// How the search ended.
    pub end: LineEnd,
}

/// How the search on a line ended.
#[derive(Debug, Clone, PartialEq)]
pub enum LineEnd {
    /// The search is done.
    Concluded(Conclusion),
    /// The budget of this name was spent.
    Stopped(&'static str),
}

impl Searcher<'_, '_> {
    /// Searches a line. Answers that an earlier process was given count as if given now.
    pub fn search(&mut self, title: &str, line: Line, force: bool) -> Result<(), ExperimentError> {
        let number = self.searched.len();
        let mut costs = Costs {
            trial_seconds: self.bench.trial_seconds(),
            ..Costs::default()
        };
        let earlier = self.journal.before_line(number);
        let earlier = earlier.filter(|answer| matches!(answer, Answer::Certificate { .. }));
        let rules = Rules {
            earlier_certificates: u32::try_from(earlier.count()).unwrap_or(u32::MAX),
            response: self.response,
            force,
            alpha: self.bench.request.plan.judging.alpha,
            seed: self.bench.request.plan.experiment.seed,
        };
        let reused = self.reused(&line)?;
        let known_skips: Vec<Answer> = self
            .journal
            .before_line(number)
            .filter(|answer| matches!(answer, Answer::Skipped { .. }))
            .cloned()
            .collect();
        let mut field = Field::new(line, rules, &costs, reused);
        for answer in known_skips.into_iter().chain(self.journal.on_line(number)) {
            field.take(answer, &costs);
        }
        self.appraise(&mut field, &mut costs, number)?;
        let end = self.until_done(&mut field, &mut costs, number)?;
        self.progress.finished();
        self.searched.push(Searched {
            title: title.to_owned(),
            field,
            end,
        });
        Ok(())
    }

    fn until_done(
        &mut self,
        field: &mut Field,
        costs: &mut Costs,
        number: usize,
    ) -> Result<LineEnd, ExperimentError> {
        let builds_before = self.bench.builds();
        let mut was_timed = !self.journal.on_line(number).is_empty();
        loop {
            if self.bench.surroundings.cancel.is_set() {
                return Err(ExperimentError::Interrupted);
            }
            let step = field.search.next();
            if let Step::Done(conclusion) = step {
                return Ok(LineEnd::Concluded(conclusion));
            }
            if !self.bench.request.force
                && let Some(conclusion) = self.alike(field, &step)
            {
                return Ok(LineEnd::Concluded(conclusion));
            }
            if self.is_out_of_time() {
                return Ok(LineEnd::Stopped("time"));
            }
            let builds = self.bench.builds();
            match self.carry_out(step, field, costs, number) {
                Ok(()) => {}
                Err(ExperimentError::Budget(what)) => return Ok(LineEnd::Stopped(what)),
                Err(error) => return Err(error),
            }
            // The first builds and the first trial tell what the others will cost.
            let has_built = self.bench.builds() > builds && builds - builds_before < 3;
            if has_built || !was_timed {
                was_timed = true;
                costs.trial_seconds = self.bench.trial_seconds();
                self.appraise(field, costs, number)?;
            }
            self.tell(field);
        }
    }

    /// Whether no further trial is to be begun.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.deadline.is_some_and(|at| Instant::now() >= at)
    }

    /// Ends a search whose ends do not differ, once their trials are done; where values have no
    /// noise, before that.
    fn alike(&self, field: &Field, step: &Step) -> Option<Conclusion> {
        let search = &field.search;
        let last = field.classes().len() - 1;
        let is_before = search.counts().search == 0 && search.certificates().is_empty();
        let is_early = matches!(step, Step::MeasureEndpoint { .. });
        if !is_before || is_early && !is_constant(search.trials(), last) {
            return None;
        }
        let ends = compare_ends(search.trials(), last, self.response);
        (ends == AtEnds::Alike).then(|| Conclusion::EndpointsAlike {
            probability: search.posterior().no_step,
            gap: search.gap(),
        })
    }

    /// Finds out what is built, what is known not to build, and what the rest will cost.
    fn appraise(
        &mut self,
        field: &mut Field,
        costs: &mut Costs,
        number: usize,
    ) -> Result<(), ExperimentError> {
        let mut skipped = Vec::new();
        costs.build_seconds = self
            .bench
            .build_seconds(field.line(), &mut |commit, reason| {
                skipped.push((commit.id.clone(), reason));
            })?;
        costs.builds_left = self.bench.builds_left().map(|left| left as usize);
        for (commit, reason) in skipped {
            let is_known = field
                .class_of(&commit)
                .is_some_and(|class| field.search.skipped().contains_key(&class));
            if !is_known {
                self.keep(field, costs, number, Answer::Skipped { commit, reason })?;
            }
        }
        field.refresh(costs);
        Ok(())
    }

    fn carry_out(
        &mut self,
        step: Step,
        field: &mut Field,
        costs: &Costs,
        number: usize,
    ) -> Result<(), ExperimentError> {
        match step {
            Step::MeasureEndpoint { side } => {
                let last = field.classes().len() - 1;
                let class = match side {
                    Side::Good => 0,
                    Side::Bad => last,
                };
                if !self.meter.is_set() && self.meter.needs_both_ends() {
                    return self.pilot(field, costs, number);
                }
                self.try_class(field, costs, number, class, Purpose::Endpoint)
            }
            Step::Trial { class, anchor } => {
                if let Some(anchor) = anchor {
                    self.try_class(field, costs, number, anchor, Purpose::Search)?;
                }
                self.try_class(field, costs, number, class, Purpose::Search)
            }
            Step::Certify {
                culprit,
                parent,
                blocks,
                ..
            } => self.certify(field, costs, number, [parent, culprit], blocks),
            Step::Done(_) => Ok(()),
        }
    }

    fn tell(&mut self, field: &Field) {
        let posterior = field.search.posterior();
        let best = field.search.best();
        let counts = field.search.counts();
        let candidate = best
            .as_ref()
            .and_then(|best| field.classes().get(*best.classes.end()))
            .map(|class| shown(class.first()));
        // A trial tells half a bit or so; what is left to be told, and the certificate's blocks.
        let bits = posterior.entropy();
        let trials_left = 2.0 * bits + 16.0;
        let state = SearchState {
            trials: counts.endpoints + counts.search + counts.certificate,
            commits_left: posterior.mass.iter().filter(|mass| **mass > 0.01).count(),
            commits: field.classes().len().saturating_sub(1),
            probability: best.map_or(0.0, |best| best.probability),
            no_step: posterior.no_step,
            candidate: candidate.unwrap_or_default(),
            left: std::time::Duration::from_secs_f64(
                (trials_left * self.bench.trial_seconds()).clamp(0.0, 1e7),
            ),
        };
        self.progress.search(&state);
    }
}
