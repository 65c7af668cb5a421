//! One line of history under search: its classes, the answers, and the posterior over them.

use std::collections::{HashMap, HashSet};

use crate::bisect::{Class as Prior, Observation, Purpose, Response, Search, Setup, Trial};
use crate::repo::Revision;

use super::journal::{Answer, Point};
use super::line::{Class, Line};

/// What a search on a line goes by, apart from the answers.
#[derive(Debug, Clone)]
pub struct Rules {
    /// What a trial answers.
    pub response: Response,
    /// Whether to search where the ends do not differ.
    pub force: bool,
    /// Level of the certificate.
    pub alpha: f64,
    /// Certificates of earlier lines, which share the level.
    pub earlier_certificates: u32,
    /// Seed.
    pub seed: u64,
}

/// What things cost, as far as is known now.
#[derive(Debug, Clone, Default)]
pub struct Costs {
    /// Seconds of a trial.
    pub trial_seconds: f64,
    /// Seconds of each class's build, by its first commit's id; 0 where it is there already.
    pub build_seconds: HashMap<String, f64>,
    /// Builds that may still be done.
    pub builds_left: Option<usize>,
}

/// A line under search.
#[derive(Debug, Clone)]
pub struct Field {
    line: Line,
    rules: Rules,
    answers: Vec<Answer>,
    /// Values of earlier lines: commit, value.
    reused: Vec<(String, Point)>,
    /// Commits within a class that are not its program: a change and its undoing.
    strangers: HashSet<String>,
    /// The search.
    pub search: Search,
}

impl Field {
    /// A line of which nothing is known yet but what earlier lines tell.
    pub fn new(line: Line, rules: Rules, costs: &Costs, reused: Vec<(String, Point)>) -> Self {
        let mut field = Self {
            search: Search::new(setup(&line, &rules, costs), rules.seed),
            line,
            rules,
            answers: Vec::new(),
            reused,
            strangers: HashSet::new(),
        };
        field.refresh(costs);
        field
    }

    /// The classes.
    pub fn classes(&self) -> &[Class] {
        &self.line.classes
    }

    /// The line as it is now: what turned out to be the same program is one class.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The commit that stands for a class where it is built and measured.
    pub fn representative(&self, class: usize) -> &Revision {
        self.line.classes[class].first()
    }

    /// Takes in an answer. `costs` count where classes turn out to be one.
    pub fn take(&mut self, answer: Answer, costs: &Costs) {
        if let Answer::Same { commits: [a, b] } = &answer {
            if let (Some(a), Some(b)) = (self.class_of(a), self.class_of(b))
                && a != b
            {
                self.merge(a.min(b), a.max(b));
                self.refresh(costs);
            }
            return;
        }
        for observation in self.observations(&answer) {
            self.search.observe(&observation);
        }
        self.answers.push(answer);
    }

    /// Begins the search anew with what things cost now, and tells it every answer.
    pub fn refresh(&mut self, costs: &Costs) {
        let mut search = Search::new(setup(&self.line, &self.rules, costs), self.rules.seed);
        for (commit, point) in &self.reused {
            if let Some(class) = self.measurable(commit) {
                search.observe(&Observation::Trial(trial(class, *point, Purpose::Reused)));
            }
        }
        for observation in self.answers.iter().flat_map(|a| self.observations(a)) {
            search.observe(&observation);
        }
        self.search = search;
    }

    /// Place of the class that holds a commit.
    pub fn class_of(&self, commit: &str) -> Option<usize> {
        self.line
            .classes
            .iter()
            .position(|class| class.commits.iter().any(|held| held.id == commit))
    }

    /// Place of the class that a commit's trials tell of.
    fn measurable(&self, commit: &str) -> Option<usize> {
        match self.strangers.contains(commit) {
            true => None,
            false => self.class_of(commit),
        }
    }

    /// Makes one class of those from `first` to `last`: the same program stands at both ends, so
    /// that what lies between cannot be the step that is left in the end.
    fn merge(&mut self, first: usize, last: usize) {
        let between = self.line.classes[first + 1..last].iter();
        let between = between.flat_map(|class| &class.commits);
        self.strangers
            .extend(between.map(|commit| commit.id.clone()));
        let classes = self.line.classes.drain(first..=last);
        let commits = classes.flat_map(|class| class.commits).collect();
        self.line.classes.insert(
            first,
            Class {
                commits,
                digest: None,
            },
        );
    }

    fn observations(&self, answer: &Answer) -> Vec<Observation> {
        match answer {
            Answer::Trial {
                commit,
                point,
                purpose,
            } => self
                .measurable(commit)
                .map(|class| Observation::Trial(trial(class, *point, *purpose)))
                .into_iter()
                .collect(),
            // A commit within a class that can be measured elsewhere is no reason to skip the class.
            Answer::Skipped { commit, reason } => self
                .class_of(commit)
                .filter(|class| self.representative(*class).id == *commit)
                .map(|class| Observation::Skipped {
                    class,
                    reason: reason.clone(),
                })
                .into_iter()
                .collect(),
            Answer::Certificate {
                culprit,
                parent,
                blocks,
                ..
            } => match (self.class_of(parent), self.class_of(culprit)) {
                (Some(parent), Some(culprit)) if parent < culprit => {
                    let of = |class, point: Point| trial(class, point, Purpose::Certificate);
                    let blocks = blocks
                        .iter()
                        .map(|[p, c]| [of(parent, *p), of(culprit, *c)])
                        .collect();
                    vec![Observation::Certificate {
                        culprit,
                        parent,
                        blocks,
                    }]
                }
                _ => Vec::new(),
            },
            Answer::Begun { .. } | Answer::Same { .. } => Vec::new(),
        }
    }
}

fn trial(class: usize, point: Point, purpose: Purpose) -> Trial {
    Trial {
        class,
        value: point.value,
        seconds: point.seconds,
        purpose,
    }
}

fn setup(line: &Line, rules: &Rules, costs: &Costs) -> Setup {
    let classes = line
        .classes
        .iter()
        .map(|class| {
            let seconds = class
                .commits
                .iter()
                .filter_map(|commit| costs.build_seconds.get(&commit.id))
                .copied()
                .fold(None, |least: Option<f64>, seconds| {
                    Some(least.map_or(seconds, |least| least.min(seconds)))
                });
            Prior::to_build(seconds.unwrap_or(0.0))
        })
        .collect();
    let mut setup = Setup::new(classes, rules.response, costs.trial_seconds);
    setup.alpha = rules.alpha;
    setup.earlier_certificates = rules.earlier_certificates;
    setup.force = rules.force;
    setup.max_builds = costs.builds_left;
    setup.max_trials = Some(MOST_TRIALS);
    setup
}

/// Most trials of candidates on one line: what cannot be told by then is not worth the time.
const MOST_TRIALS: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::{Change, Step};

    fn revision(id: &str) -> Revision {
        Revision {
            id: id.to_owned(),
            short: id.to_owned(),
            subject_line: id.to_owned(),
            author_time: 0,
            tree: id.to_owned(),
            parents: Vec::new(),
        }
    }

    fn field(ids: &[&str]) -> Field {
        let classes = ids.iter().map(|id| Class {
            commits: vec![revision(id)],
            digest: Some((*id).to_owned()),
        });
        let line = Line {
            classes: classes.collect(),
            commits: ids.len() - 1,
        };
        let rules = Rules {
            response: Response::Value(Change::Any),
            force: false,
            alpha: 0.05,
            earlier_certificates: 0,
            seed: 1,
        };
        Field::new(line, rules, &Costs::default(), Vec::new())
    }

    fn answer(commit: &str, value: f64, seconds: f64) -> Answer {
        Answer::Trial {
            commit: commit.to_owned(),
            point: Point { value, seconds },
            purpose: Purpose::Search,
        }
    }

    #[test]
    fn the_same_program_at_both_ends_of_a_row_makes_one_class() {
        let costs = Costs::default();
        let mut field = field(&["a", "up", "down", "b", "c"]);
        for (at, (commit, value)) in [("a", 1.0), ("up", 2.0), ("c", 3.0)].iter().enumerate() {
            field.take(answer(commit, *value, at as f64), &costs);
        }
        assert_eq!(field.search.trials().len(), 3);
        let commits = ["a".to_owned(), "down".to_owned()];
        field.take(Answer::Same { commits }, &costs);
        assert_eq!(field.classes().len(), 3);
        assert_eq!(field.class_of("up"), Some(0));
        assert_eq!(field.representative(0).id, "a");
        // The trial of the commit in between tells nothing of the class.
        let classes: Vec<usize> = field.search.trials().iter().map(|t| t.class).collect();
        assert_eq!(classes, [0, 2]);
        // A commit inside that does not build is no reason to skip the class.
        field.take(
            Answer::Skipped {
                commit: "up".to_owned(),
                reason: "broken".to_owned(),
            },
            &costs,
        );
        assert!(field.search.skipped().is_empty());
    }

    #[test]
    fn one_program_from_end_to_end_leaves_nothing_to_search() {
        let mut field = field(&["a", "b", "c"]);
        let commits = ["c".to_owned(), "a".to_owned()];
        field.take(Answer::Same { commits }, &Costs::default());
        assert_eq!(field.classes().len(), 1);
        assert!(matches!(field.search.next(), Step::Done(_)));
    }
}
