//! A search's report on a terminal.

use std::fmt::Write as _;

use super::git_log;
use super::model::{Belief, BisectOutcome, BisectReport, SearchedLine};
use super::sentence::{change, short};
use crate::report::text::{fit, pad, wrap};
use crate::report::{number, plain};

/// Commits that are listed with their probability.
const LISTED: usize = 6;
/// Skipped commits that are listed.
const SKIPPED: usize = 8;
/// Functions that are listed.
const FUNCTIONS: usize = 6;
/// Widest bar of the picture.
const BAR: usize = 24;

/// Renders the report as text of at most `width` columns.
pub fn render(report: &BisectReport, width: usize, color: bool) -> String {
    let page = Page { width, color };
    let mut out = String::new();
    page.sentence(&mut out, report);
    out.push('\n');
    page.ends(&mut out, report);
    page.culprits(&mut out, report);
    page.functions(&mut out, report);
    page.skipped(&mut out, report);
    for note in &report.notes {
        page.lines(&mut out, &format!("note: {}", plain(note)));
    }
    out.push('\n');
    page.foot(&mut out, report);
    out
}

/// The posterior over every line as bars of text, for `--visualize`.
pub fn picture(report: &BisectReport, width: usize) -> String {
    let page = Page {
        width,
        color: false,
    };
    let mut out = String::new();
    for line in &report.lines {
        page.line(&mut out, line);
    }
    out
}

/// The path in git's own form.
pub fn log(report: &BisectReport) -> String {
    git_log::render(report)
}

struct Page {
    width: usize,
    color: bool,
}

impl Page {
    fn paint(&self, text: &str, ansi: &str) -> String {
        match self.color {
            true => format!("\u{1b}[{ansi}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    fn lines(&self, out: &mut String, text: &str) {
        for line in wrap(text, self.width) {
            let _ = writeln!(out, "{line}");
        }
    }

    fn sentence(&self, out: &mut String, report: &BisectReport) {
        let word = report.outcome.word().to_uppercase();
        let ansi = match report.outcome {
            BisectOutcome::Certified => "1;32",
            BisectOutcome::Undecided => "1;33",
            _ => "1",
        };
        let text = format!("{word}  {}", plain(&report.sentence));
        for (at, line) in wrap(&text, self.width).into_iter().enumerate() {
            match line.strip_prefix(&word) {
                Some(rest) if at == 0 => {
                    let _ = writeln!(out, "{}{rest}", self.paint(&word, ansi));
                }
                _ => {
                    let _ = writeln!(out, "{line}");
                }
            }
        }
    }

    fn commit(&self, out: &mut String, name: &str, commit: &str, subject: &str) {
        let room = self.width.saturating_sub(9 + 12 + 2);
        let _ = writeln!(
            out,
            "{} {}  {}",
            pad(name, 8),
            self.paint(short(commit), "1"),
            fit(&plain(subject), room)
        );
    }

    fn ends(&self, out: &mut String, report: &BisectReport) {
        self.commit(out, "good", &report.good.commit, &report.good.subject_line);
        self.commit(out, "bad", &report.bad.commit, &report.bad.subject_line);
        if let Some(gap) = &report.gap {
            let text = format!(
                "{} from {} to {}: {}",
                plain(&report.measured.name),
                if report.swapped { "bad" } else { "good" },
                if report.swapped { "good" } else { "bad" },
                change(&report.measured, gap)
            );
            let _ = writeln!(
                out,
                "{} {}",
                pad("change", 8),
                fit(&text, self.width.saturating_sub(9))
            );
        }
    }

    fn culprits(&self, out: &mut String, report: &BisectReport) {
        let further = report
            .further
            .iter()
            .map(|further| (&further.culprit, Some(&further.certificate)));
        let all = report
            .culprit
            .iter()
            .map(|culprit| (culprit, report.certificate.as_ref()));
        for (culprit, certificate) in all.chain(further) {
            out.push('\n');
            for (commit, subject) in culprit.commits.iter().zip(&culprit.subject_lines) {
                self.commit(out, "culprit", commit, subject);
            }
            self.commit(out, "parent", &culprit.parent, &culprit.parent_subject_line);
            let mut facts = change(&report.measured, &culprit.change);
            if let Some(share) = culprit.share_of_gap_pct {
                let _ = write!(facts, ", {share:.0} % of the change between the ends");
            }
            if let Some(certificate) = certificate {
                let _ = write!(
                    facts,
                    "; {} blocks, p {}",
                    certificate.blocks,
                    number::p(certificate.p)
                );
            }
            for (at, line) in wrap(&facts, self.width.saturating_sub(9))
                .into_iter()
                .enumerate()
            {
                let name = if at == 0 { "step" } else { "" };
                let _ = writeln!(out, "{} {line}", pad(name, 8));
            }
        }
        if report.outcome == BisectOutcome::Undecided
            && let Some(line) = report.lines.last()
        {
            let mut ranked: Vec<&Belief> = line.classes.iter().collect();
            ranked.sort_by(|a, b| b.probability.total_cmp(&a.probability));
            ranked.retain(|class| class.probability >= 0.005);
            if !ranked.is_empty() {
                out.push('\n');
            }
            for class in ranked.into_iter().take(LISTED) {
                let commit = class.commits.first().map_or("", String::as_str);
                let name = format!("{:.1} %", 100.0 * class.probability);
                self.commit(out, &name, commit, &class.subject_line);
            }
        }
    }

    fn functions(&self, out: &mut String, report: &BisectReport) {
        if report.explanation.is_empty() {
            return;
        }
        let head = format!("\n{:<10} {:>9} {:>9}  function", "", "points", "change");
        let _ = writeln!(out, "{}", self.paint(&head, "2"));
        for function in report.explanation.iter().take(FUNCTIONS) {
            let verdict = match function.verdict {
                crate::verdict::Verdict::Regressed => "regressed",
                crate::verdict::Verdict::Improved => "improved",
                _ => "",
            };
            let pct = function.change_pct.map_or("–".to_owned(), number::change);
            let points = number::change(function.change_points);
            let _ = writeln!(
                out,
                "{verdict:<10} {:>9} {:>9}  {}",
                points.trim_end_matches(" %"),
                pct,
                fit(&plain(&function.function), self.width.saturating_sub(32))
            );
            let mut place = function.touched.words().to_owned();
            if let (Some(file), Some([first, last])) = (&function.file, function.lines) {
                let _ = write!(place, " ({}:{first}–{last})", plain(file));
            }
            let place = fit(&format!("↳ {place}"), self.width.saturating_sub(11));
            let _ = writeln!(out, "{:<10} {}", "", self.paint(&place, "2"));
        }
    }

    fn skipped(&self, out: &mut String, report: &BisectReport) {
        if report.skipped.is_empty() {
            return;
        }
        out.push('\n');
        for skipped in report.skipped.iter().take(SKIPPED) {
            let reason = skipped.reason.lines().next().unwrap_or_default();
            self.commit(out, "skipped", &skipped.commit, &skipped.subject_line);
            let reason = fit(&plain(reason), self.width.saturating_sub(9));
            let _ = writeln!(out, "{:<8} {}", "", self.paint(&reason, "2"));
        }
        if let Some(more @ 1..) = report.skipped.len().checked_sub(SKIPPED) {
            let _ = writeln!(out, "{:<8} and {more} more, in report.json", "");
        }
    }

    fn foot(&self, out: &mut String, report: &BisectReport) {
        let trials = &report.trials;
        let facts = format!(
            "{} commits in {} classes; trials: {} of the ends, {} of the search, {} of certificates; \
             {} builds; {:.0} s; seed {}; experiment {}",
            report.commits,
            report.classes,
            trials.endpoints,
            trials.search,
            trials.certificate,
            report.builds,
            report.seconds,
            report.seed,
            plain(&report.experiment)
        );
        for line in wrap(&facts, self.width) {
            let _ = writeln!(out, "{}", self.paint(&line, "2"));
        }
    }

    fn line(&self, out: &mut String, line: &SearchedLine) {
        let title = format!(
            "{} (no step: {:.3})",
            plain(&line.title),
            line.no_step_probability
        );
        let _ = writeln!(out, "{}", fit(&title, self.width));
        for (at, class) in line.classes.iter().enumerate() {
            let commit = class.commits.first().map_or("", String::as_str);
            let cells = (class.probability * BAR as f64).round() as usize;
            let mark = match (line.culprit == Some(at), class.skipped, class.values.len()) {
                (true, ..) => "  ◀".to_owned(),
                (_, true, _) => "  ×".to_owned(),
                (_, _, 0) => "  ·".to_owned(),
                (_, _, trials) => format!("{trials:>3}"),
            };
            let subject = fit(
                &plain(&class.subject_line),
                self.width.saturating_sub(12 + 2 + 6 + 3 + 3 + BAR),
            );
            let _ = writeln!(
                out,
                "{} {:>5.1}% {} {mark} {subject}",
                short(commit),
                100.0 * class.probability,
                pad(&"█".repeat(cells.min(BAR)), BAR),
            );
        }
    }
}
