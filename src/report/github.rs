//! Annotations that GitHub Actions shows on a run: workflow commands on standard output.

use std::fmt::Write as _;

use crate::verdict::Verdict;

use super::escape::plain;
use super::headline::{Outcome, function_verdict, headline, telling_cost};
use super::{CompareReport, number};

/// Most functions that get an annotation of their own; GitHub shows ten of a kind a step.
const FUNCTIONS: usize = 8;

/// Renders the report as workflow commands: the verdict first, then regressed functions.
pub fn render(report: &CompareReport) -> String {
    let headline = headline(report);
    let level = match headline.outcome {
        Outcome::Regressed => "error",
        Outcome::Undecided => "warning",
        Outcome::Improved | Outcome::Equivalent | Outcome::SameProgram => "notice",
    };
    let mut out = String::new();
    command(
        &mut out,
        level,
        &format!("perfblame: {}", headline.outcome.word()),
        &headline.text(),
    );
    let regressed = report
        .groups
        .iter()
        .chain(&report.functions)
        .filter(|f| function_verdict(f) == Verdict::Regressed && f.is_regression());
    for function in regressed.take(FUNCTIONS) {
        let (which, cost) = telling_cost(function);
        let change = cost.change_pct.map_or("new".to_string(), number::change);
        let text = format!(
            "{}: {change} CPU time per operation ({which}), {} → {} % of samples, p adj. {}",
            function.name,
            number::share(cost.base_share_pct),
            number::share(cost.head_share_pct),
            cost.p_adjusted.map_or("–".to_string(), number::p)
        );
        command(&mut out, "warning", "perfblame: function regressed", &text);
    }
    for warning in &report.warnings {
        command(&mut out, "notice", "perfblame", warning);
    }
    out
}

/// Writes `::level title=…::text`; what would end the command is escaped as GitHub has it.
fn command(out: &mut String, level: &str, title: &str, text: &str) {
    let data = |text: &str| plain(text).replace('%', "%25");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let _ = writeln!(out, "::{level} title={}::{}", property(title), data(text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::{report, with_names};

    #[test]
    fn one_command_a_line() {
        let text = render(&report());
        assert!(text.starts_with("::error title=perfblame%3A regressed::throughput fell"));
        assert!(
            text.contains("::warning title=perfblame%3A function regressed::accountClientMemory")
        );
        // A moved function is no regression, an improved one neither.
        assert!(!text.contains("parse_header:"));
    }

    #[test]
    fn names_cannot_command() {
        let text = render(&with_names(
            report(),
            "x\n::error::y\r::set-output name=a::b%0A",
        ));
        for line in text.lines() {
            assert!(
                line.starts_with("::error title=")
                    || line.starts_with("::warning title=")
                    || line.starts_with("::notice title=")
            );
        }
        assert!(!text.contains("%0A"));
    }
}
