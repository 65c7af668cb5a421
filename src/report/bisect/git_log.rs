//! The path of a search in the form of `git bisect log`, which `git bisect replay` accepts.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::model::{Belief, BisectReport, SearchedLine};
use crate::report::plain;

/// Renders the log: the ends, then every class that was measured or skipped, line by line.
///
/// git knows no noise: a measured class is called good or bad by where the certified culprit lies,
/// or, without one, by which is the more probable. What the search believes stands in comments.
pub fn render(report: &BisectReport) -> String {
    // Where GOOD is the newer end, git must not call the newer commits bad: to it these are old and new.
    let (start, words, ends) = match report.swapped {
        false => ("", ["good", "bad"], [&report.good, &report.bad]),
        true => (
            " '--term-new=new' '--term-old=old'",
            ["old", "new"],
            [&report.bad, &report.good],
        ),
    };
    let mut log = Log {
        out: format!("git bisect start{start}\n"),
        words,
        told: BTreeSet::new(),
    };
    let [before, after] = ends;
    log.tell(words[1], &after.commit, &after.subject_line, "");
    log.tell(words[0], &before.commit, &before.subject_line, "");
    for line in &report.lines {
        log.line(line);
    }
    let further = report.further.iter().map(|further| &further.culprit);
    for culprit in report.culprit.iter().chain(further) {
        for (commit, subject) in culprit.commits.iter().zip(&culprit.subject_lines) {
            let _ = writeln!(
                log.out,
                "# first {} commit: [{commit}] {}",
                words[1],
                plain(subject)
            );
        }
    }
    log.out
}

struct Log {
    out: String,
    /// What git is to call commits before the step and from it on.
    words: [&'static str; 2],
    /// Commits that have been called something.
    told: BTreeSet<String>,
}

impl Log {
    fn tell(&mut self, word: &str, commit: &str, subject: &str, comment: &str) {
        if !self.told.insert(commit.to_owned()) {
            return;
        }
        let _ = writeln!(self.out, "# {word}: [{commit}] {}", plain(subject));
        if !comment.is_empty() {
            let _ = writeln!(self.out, "# {comment}");
        }
        let _ = writeln!(self.out, "git bisect {word} {commit}");
    }

    fn line(&mut self, line: &SearchedLine) {
        let last = line.classes.len().saturating_sub(1);
        let mut before = 0.0;
        let mut good = Vec::new();
        let mut bad = Vec::new();
        for (at, class) in line.classes.iter().enumerate() {
            before += class.probability;
            // Whether the step is at this class or before it.
            let is_bad = match line.culprit {
                Some(culprit) => at >= culprit,
                None => at == last || at > 0 && before > 0.5,
            };
            match is_bad && !class.skipped {
                true => bad.push((class, before)),
                false => good.push((class, before)),
            }
        }
        // To git the last one that was called bad is the bad one: the oldest comes last.
        for (class, before) in bad.into_iter().rev() {
            self.class(class, true, before);
        }
        for (class, before) in good {
            self.class(class, false, before);
        }
    }

    fn class(&mut self, class: &Belief, is_bad: bool, before: f64) {
        let subject = &class.subject_line;
        if class.skipped {
            for commit in &class.commits {
                self.tell("skip", commit, subject, "");
            }
            return;
        }
        if class.values.is_empty() {
            return;
        }
        let comment = format!(
            "probability that the step is here or before: {:.3}; {} trials",
            before.min(1.0),
            class.values.len()
        );
        // What is said of one commit of a class holds for all: the most telling one is named.
        let told = match is_bad {
            true => class.commits.first().map(|commit| (self.words[1], commit)),
            false => class.commits.last().map(|commit| (self.words[0], commit)),
        };
        if let Some((word, commit)) = told {
            self.tell(word, commit, subject, &comment);
        }
    }
}
