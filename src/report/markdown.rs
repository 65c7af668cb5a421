//! The report as a comment on a pull request: short, with the rest folded away.

use std::fmt::Write as _;

use crate::verdict::{FunctionVerdict, MetricVerdict, Verdict};

use super::escape::{markdown, markdown_code};
use super::headline::{
    Outcome, Segment, change_text, function_verdict, headline, note_text, telling_cost,
};
use super::remarks::remarks;
use super::text::{ROWS_ALONE, short};
use super::{CompareReport, number};

/// Flagged functions that are shown before the fold.
const OPEN_ROWS: usize = 10;

/// Functions in the folded table.
const FOLDED_ROWS: usize = 30;

/// Renders the report as GitHub Markdown.
pub fn render(report: &CompareReport) -> String {
    let mut out = String::new();
    let headline = headline(report);
    let mark = match headline.outcome {
        Outcome::Regressed => "🔴",
        Outcome::Improved => "🟢",
        Outcome::Equivalent | Outcome::SameProgram => "⚪",
        Outcome::Undecided => "🟡",
    };
    let _ = write!(out, "### {mark} perfblame: {}\n\n", headline.outcome.word());
    for segment in &headline.sentence {
        match segment {
            Segment::Text(text) => out.push_str(text),
            Segment::Code(name) => out.push_str(&markdown_code(name)),
        }
    }
    let _ = write!(
        out,
        "\n\n<code>{}</code> {} → <code>{}</code> {}\n\n",
        markdown(short(&report.base.commit)),
        markdown(&report.base.subject_line),
        markdown(short(&report.head.commit)),
        markdown(&report.head.subject_line)
    );
    metrics(&mut out, report);
    let flagged: Vec<&FunctionVerdict> = report
        .groups
        .iter()
        .chain(&report.functions)
        .filter(|f| function_verdict(f).is_flagged())
        .collect();
    if !flagged.is_empty() {
        functions(&mut out, flagged.iter().copied().take(OPEN_ROWS));
        if flagged.len() > OPEN_ROWS {
            let _ = write!(
                out,
                "{} more changed functions are in the report.\n\n",
                flagged.len() - OPEN_ROWS
            );
        }
    }
    for warning in &report.warnings {
        let _ = writeln!(out, "> ⚠️ {}", markdown(warning));
    }
    if !report.warnings.is_empty() {
        out.push('\n');
    }
    details(&mut out, report);
    out
}

fn metrics(out: &mut String, report: &CompareReport) {
    out.push_str("| metric | base | head | change | 95 % interval | p adj. | verdict |\n");
    out.push_str("| :-- | --: | --: | --: | :-: | --: | :-- |\n");
    for metric in std::iter::once(&report.throughput).chain(&report.metrics) {
        metric_row(out, metric);
    }
    out.push('\n');
}

fn metric_row(out: &mut String, metric: &MetricVerdict) {
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {} | {} |",
        match number::unit_beside(&metric.unit) {
            "" => markdown(&metric.name),
            unit => format!("{} ({})", markdown(&metric.name), markdown(unit)),
        },
        number::quantity(metric.base_mean, &metric.unit),
        number::quantity(metric.head_mean, &metric.unit),
        number::change(metric.change_pct),
        metric.ci95_pct.map_or("–".to_string(), number::interval),
        number::p(metric.p_adjusted),
        verdict(metric.verdict)
    );
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed => "**regressed**",
        Verdict::Improved => "**improved**",
        Verdict::Equivalent => "equivalent",
        Verdict::Undecided => "undecided",
    }
}

fn functions<'a>(out: &mut String, rows: impl Iterator<Item = &'a FunctionVerdict>) {
    out.push_str("| function | cost | base | head | change per operation | p adj. | verdict |\n");
    out.push_str("| :-- | :-- | --: | --: | --: | --: | :-- |\n");
    for function in rows {
        let (which, cost) = telling_cost(function);
        let change = change_text(function, cost);
        let mut answer = verdict(cost.verdict).to_string();
        for note in &function.notes {
            let _ = write!(answer, ", {}", markdown(&note_text(note)));
        }
        let _ = writeln!(
            out,
            "| {} | {which} | {} % | {} % | {change} | {} | {answer} |",
            markdown_code(&function.name),
            number::share(cost.base_share_pct),
            number::share(cost.head_share_pct),
            cost.p_adjusted.map_or("–".to_string(), number::p)
        );
    }
    out.push('\n');
}

fn details(out: &mut String, report: &CompareReport) {
    out.push_str("<details><summary>Details</summary>\n\n");
    if !report.functions.is_empty() {
        functions(out, report.functions.iter().take(FOLDED_ROWS));
        if report.functions.len() > FOLDED_ROWS {
            let _ = write!(
                out,
                "{} more functions are in the report.\n\n",
                report.functions.len() - FOLDED_ROWS
            );
        }
    }
    let _ = writeln!(
        out,
        "- {} blocks, {} base and {} head trials, seed {}",
        report.throughput.blocks.len(),
        report.base.trials,
        report.head.trials,
        report.seed
    );
    if let Some(event) = &report.event {
        let _ = writeln!(
            out,
            "- {} at {} Hz: {} base and {} head samples, {} lost",
            markdown(&event.name),
            event.frequency_hz,
            number::count(report.samples.base),
            number::count(report.samples.head),
            number::count(report.samples.lost)
        );
    }
    let _ = writeln!(out, "- {ROWS_ALONE}");
    if let Some(welch) = report.throughput.welch {
        let unit = &report.throughput.unit;
        let _ = writeln!(
            out,
            "- Welch's t = {}, df = {:.1}, p = {}; head − base {} to {} {}",
            number::statistic(welch.t),
            welch.df,
            number::p(welch.p),
            number::quantity(welch.ci95[0], unit),
            number::quantity(welch.ci95[1], unit),
            markdown(number::unit_beside(unit))
        );
    }
    for remark in remarks(report) {
        let _ = writeln!(out, "- {}", markdown(&remark));
    }
    if let Some(id) = &report.experiment {
        let _ = writeln!(out, "- experiment {}", markdown_code(id));
    }
    for command in &report.commands {
        let _ = writeln!(out, "- {}", markdown_code(command));
    }
    let _ = write!(
        out,
        "\n</details>\n\n<sub>perfblame {}</sub>\n",
        markdown(&report.tool_version)
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::{report, with_names};

    #[test]
    fn begins_with_the_verdict_and_folds_the_rest() {
        let text = render(&report());
        assert!(text.starts_with("### 🔴 perfblame: regressed\n"));
        let fold = text.find("<details>").unwrap();
        assert!(text[..fold].contains("accountClientMemory") || text[..fold].contains("account"));
        assert!(text.trim_end().ends_with("</sub>"));
    }

    #[test]
    fn names_cannot_break_out() {
        let text = render(&with_names(report(), "</code><script>|`\n\n# @all"));
        assert!(!text.contains("<script>"));
        assert!(!text.contains("@all"));
        for line in text.lines().filter(|line| line.contains("script")) {
            let bars = line.replace("\\|", "").matches('|').count();
            assert!(bars == 0 || bars == 8, "{line}");
        }
    }
}
