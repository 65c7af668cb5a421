//! The report on a terminal.

mod columns;

pub(in crate::report) use columns::{fit, pad, wrap};

use std::fmt::Write as _;

use crate::verdict::{FunctionVerdict, MetricVerdict, Verdict};

use super::headline::{Outcome, change_text, function_verdict, headline, note_text, telling_cost};
use super::remarks::remarks;
use super::{CompareReport, Side, escape::plain, number};

/// Narrowest table that is drawn, in columns; a narrower terminal wraps.
const MIN_WIDTH: usize = 60;

/// Unflagged functions that are listed after the flagged ones.
const UNFLAGGED_ROWS: usize = 5;

/// Why a row whose interval leaves out 0 may be undecided.
pub(super) const ROWS_ALONE: &str =
    "Intervals hold for one row each, p adj. for all rows and functions.";

/// Renders the report as text for a terminal `width` columns wide.
///
/// `color` puts ANSI colours in; whoever calls decides by `--color`, `NO_COLOR` and whether
/// standard output is a terminal. Text from outside is shown without its control characters.
pub fn render(report: &CompareReport, width: usize, color: bool) -> String {
    let page = Page {
        width: width.max(MIN_WIDTH),
        color,
    };
    let mut out = String::new();
    page.sentence(&mut out, report);
    out.push('\n');
    page.side(&mut out, "base", &report.base);
    page.side(&mut out, "head", &report.head);
    out.push('\n');
    page.metrics(&mut out, report);
    page.functions(&mut out, report);
    page.foot(&mut out, report);
    out
}

struct Page {
    width: usize,
    color: bool,
}

impl Page {
    fn paint(&self, text: &str, ansi: &str) -> String {
        if self.color {
            format!("\u{1b}[{ansi}m{text}\u{1b}[0m")
        } else {
            text.to_string()
        }
    }

    fn sentence(&self, out: &mut String, report: &CompareReport) {
        let headline = headline(report);
        let word = headline.outcome.word().to_uppercase();
        let ansi = match headline.outcome {
            Outcome::Regressed => "1;31",
            Outcome::Improved => "1;32",
            Outcome::Equivalent | Outcome::SameProgram => "1",
            Outcome::Undecided => "1;33",
        };
        let text = format!("{word}  {}", plain(&headline.text()));
        for (i, line) in wrap(&text, self.width).into_iter().enumerate() {
            match line.strip_prefix(&word) {
                Some(rest) if i == 0 => {
                    let _ = writeln!(out, "{}{rest}", self.paint(&word, ansi));
                }
                _ => {
                    let _ = writeln!(out, "{line}");
                }
            }
        }
    }

    fn side(&self, out: &mut String, name: &str, side: &Side) {
        let commit = short(&side.commit);
        let trials = format!(
            "{} trial{}",
            side.trials,
            if side.trials == 1 { "" } else { "s" }
        );
        let room = self
            .width
            .saturating_sub(6 + commit.len() + 2 + trials.len() + 2);
        let subject = pad(&fit(&plain(&side.subject_line), room), room);
        let _ = writeln!(
            out,
            "{name}  {}  {subject}  {}",
            self.paint(&plain(commit), "1"),
            self.paint(&trials, "2")
        );
    }

    fn metrics(&self, out: &mut String, report: &CompareReport) {
        let head = format!(
            "{:<10} {:>9} {:>9} {:>8} {:>16} {:>6} metric",
            "verdict", "base", "head", "change", "95 % interval", "p adj."
        );
        let _ = writeln!(out, "{}", self.paint(&head, "2"));
        self.metric(out, &report.throughput);
        for metric in &report.metrics {
            self.metric(out, metric);
        }
        if let Some(welch) = report.throughput.welch {
            let unit = &report.throughput.unit;
            let text = format!(
                "Welch's t = {}, df = {:.1}, p = {}; head − base {} to {} {}",
                number::statistic(welch.t),
                welch.df,
                number::p(welch.p),
                number::quantity(welch.ci95[0], unit),
                number::quantity(welch.ci95[1], unit),
                plain(number::unit_beside(unit))
            );
            self.aside(out, text.trim_end());
        }
        self.aside(out, ROWS_ALONE);
    }

    /// Writes what explains a table, in lines below it.
    fn aside(&self, out: &mut String, text: &str) {
        for line in wrap(text, self.width.saturating_sub(11)) {
            let _ = writeln!(out, "{:<10} {}", "", self.paint(&line, "2"));
        }
    }

    fn metric(&self, out: &mut String, metric: &MetricVerdict) {
        let unit = number::unit_beside(&metric.unit);
        let name = format!("{} {}", plain(&metric.name), plain(unit));
        let _ = writeln!(
            out,
            "{} {:>9} {:>9} {:>8} {:>16} {:>6} {}",
            self.verdict(metric.verdict),
            number::quantity(metric.base_mean, &metric.unit),
            number::quantity(metric.head_mean, &metric.unit),
            number::change(metric.change_pct),
            metric
                .ci95_pct
                .map_or("–".to_string(), number::interval)
                .trim_end_matches(" %"),
            number::p(metric.p_adjusted),
            fit(name.trim_end(), self.width.saturating_sub(64)),
        );
    }

    fn verdict(&self, verdict: Verdict) -> String {
        let (word, ansi) = match verdict {
            Verdict::Regressed => ("regressed", "31"),
            Verdict::Improved => ("improved", "32"),
            Verdict::Equivalent => ("equivalent", "0"),
            Verdict::Undecided => ("undecided", "2"),
        };
        self.paint(&format!("{word:<10}"), ansi)
    }

    fn functions(&self, out: &mut String, report: &CompareReport) {
        if report.functions.is_empty() {
            return;
        }
        let head = format!(
            "\n{:<10} {:<4} {:>7} {:>7} {:>8} {:>6}  function (share of samples, %)",
            "verdict", "cost", "base", "head", "change", "p adj."
        );
        let _ = writeln!(out, "{}", self.paint(&head, "2"));
        let mut flagged = 0;
        let mut unflagged = 0;
        for function in report.groups.iter().chain(&report.functions) {
            if function_verdict(function).is_flagged() {
                flagged += 1;
            } else if unflagged < UNFLAGGED_ROWS {
                unflagged += 1;
            } else {
                continue;
            }
            self.function(out, function);
        }
        let hidden = report.groups.len() + report.functions.len() - flagged - unflagged;
        if hidden > 0 {
            self.aside(out, &format!("{hidden} more without evidence of a change"));
        }
    }

    fn function(&self, out: &mut String, function: &FunctionVerdict) {
        let (which, cost) = telling_cost(function);
        let change = change_text(function, cost);
        let _ = writeln!(
            out,
            "{} {:<4} {:>7} {:>7} {:>8} {:>6}  {}",
            self.verdict(cost.verdict),
            which,
            number::share(cost.base_share_pct),
            number::share(cost.head_share_pct),
            change,
            cost.p_adjusted.map_or("–".to_string(), number::p),
            fit(&plain(&function.name), self.width.saturating_sub(49)),
        );
        for note in &function.notes {
            let text = format!("↳ {}", note_text(note));
            let text = fit(&plain(&text), self.width.saturating_sub(16));
            let _ = writeln!(out, "{:<15} {}", "", self.paint(&text, "2"));
        }
    }

    fn foot(&self, out: &mut String, report: &CompareReport) {
        let blocks = report.throughput.blocks.len();
        let mut facts = format!(
            "{blocks} block{}, seed {}",
            if blocks == 1 { "" } else { "s" },
            report.seed
        );
        if let Some(event) = &report.event {
            let _ = write!(
                facts,
                "; {} at {} Hz, {} + {} samples, {} lost",
                plain(&event.name),
                event.frequency_hz,
                number::count(report.samples.base),
                number::count(report.samples.head),
                number::count(report.samples.lost)
            );
        }
        if let Some(id) = &report.experiment {
            let _ = write!(facts, "; experiment {}", plain(id));
        }
        out.push('\n');
        for line in wrap(&facts, self.width) {
            let _ = writeln!(out, "{}", self.paint(&line, "2"));
        }
        for remark in remarks(report) {
            for line in wrap(&plain(&remark), self.width) {
                let _ = writeln!(out, "{line}");
            }
        }
        for warning in &report.warnings {
            let text = format!("warning: {}", plain(warning));
            for (i, line) in wrap(&text, self.width).into_iter().enumerate() {
                match line.strip_prefix("warning:") {
                    Some(rest) if i == 0 => {
                        let _ = writeln!(out, "{}{rest}", self.paint("warning:", "33"));
                    }
                    _ => {
                        let _ = writeln!(out, "{line}");
                    }
                }
            }
        }
    }
}

/// The first twelve digits of a commit.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::{report, with_names};
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn fits_eighty_columns() {
        let long = "std::__detail::_Map_base<std::pair<std::string const, std::vector<long>>>::at";
        for name in [
            "f",
            long,
            "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
        ] {
            let text = render(&with_names(report(), name), 80, false);
            for line in text.lines() {
                assert!(line.width() <= 80, "{} columns: {line}", line.width());
            }
        }
    }

    #[test]
    fn numbers_of_any_size_keep_to_their_columns() {
        let mut report = report();
        let mut size = report.metrics[0].clone();
        size.name = "rss".to_string();
        size.unit = "bytes".to_string();
        (size.base_mean, size.head_mean) = (25_276_502_016.0, 25_376_502_016.0);
        let mut wild = report.metrics[0].clone();
        (wild.base_mean, wild.head_mean) = (1.4e15, 9.9e15);
        wild.change_pct = 2_304_450.5;
        wild.ci95_pct = Some([-99.988, 2.3e9]);
        report.metrics.extend([size, wild]);
        let text = render(&report, 80, false);
        let rows: Vec<&str> = text
            .lines()
            .skip_while(|l| !l.starts_with("verdict"))
            .collect();
        let column = |line: &str, name: &str| {
            let at = line.find(name).unwrap();
            line[..at].width()
        };
        let metric = column(rows[0], "metric");
        assert_eq!(column(rows[3], "rss"), metric, "{text}");
        assert_eq!(column(rows[4], "latency_p99"), metric, "{text}");
        assert!(rows[3].contains("25.28 GB"), "{text}");
    }

    #[test]
    fn the_line_of_welch_is_whole() {
        let mut report = report();
        report.throughput.unit = "operations per second".to_string();
        let text = render(&report, 80, false);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("p = .012; head − base −6,190 to −890.0 operations per second"));
    }

    #[test]
    fn colour_only_where_asked() {
        assert!(!render(&report(), 80, false).contains('\u{1b}'));
        assert!(render(&report(), 80, true).contains("\u{1b}[1;31mREGRESSED\u{1b}[0m"));
    }

    #[test]
    fn names_cannot_act_on_the_terminal() {
        let text = render(
            &with_names(report(), "x\u{1b}]0;title\u{7}\u{202e}y"),
            80,
            false,
        );
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']));
    }
}
