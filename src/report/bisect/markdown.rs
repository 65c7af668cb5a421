//! A search's report as a comment on a pull request or an issue.

use std::fmt::Write as _;

use super::model::{BisectOutcome, BisectReport, CertificateReport, CulpritReport};
use super::sentence::{change, short};
use crate::report::escape::{markdown, markdown_code};
use crate::report::number;

/// Skipped commits that are listed.
const SKIPPED: usize = 20;

/// Renders the report as GitHub Markdown.
pub fn render(report: &BisectReport) -> String {
    let mark = match report.outcome {
        BisectOutcome::Certified => "🎯",
        BisectOutcome::Undecided => "🟡",
        _ => "⚪",
    };
    let mut out = format!(
        "### {mark} perfblame bisect: {}\n\n{}\n\n",
        report.outcome.word(),
        markdown(&report.sentence)
    );
    let end = |name: &str, end: &super::model::End| {
        format!(
            "| {name} | {} | {} |\n",
            markdown_code(short(&end.commit)),
            markdown(&end.subject_line)
        )
    };
    out.push_str("| | commit | |\n|---|---|---|\n");
    out.push_str(&end("good", &report.good));
    out.push_str(&end("bad", &report.bad));
    if let Some(culprit) = &report.culprit {
        culprit_rows(&mut out, report, culprit, report.certificate.as_ref());
    }
    for further in &report.further {
        culprit_rows(
            &mut out,
            report,
            &further.culprit,
            Some(&further.certificate),
        );
    }
    out.push('\n');
    if !report.explanation.is_empty() {
        out.push_str("| function | points | change | |\n|---|---:|---:|---|\n");
        for function in &report.explanation {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                markdown_code(&function.function),
                number::change(function.change_points).trim_end_matches(" %"),
                function.change_pct.map_or("–".to_owned(), number::change),
                function.touched.words()
            );
        }
        out.push('\n');
    }
    for note in &report.notes {
        let _ = writeln!(out, "> {}\n", markdown(note));
    }
    if !report.skipped.is_empty() {
        let _ = write!(
            out,
            "<details><summary>{} commits skipped</summary>\n\n",
            report.skipped.len()
        );
        for skipped in report.skipped.iter().take(SKIPPED) {
            let reason = skipped.reason.lines().next().unwrap_or_default();
            let _ = writeln!(
                out,
                "- {} {}: {}",
                markdown_code(short(&skipped.commit)),
                markdown(&skipped.subject_line),
                markdown(reason)
            );
        }
        out.push_str("\n</details>\n\n");
    }
    let trials = &report.trials;
    let _ = writeln!(
        out,
        "<sub>{} commits in {} classes; trials: {} of the ends, {} of the search, {} of certificates; \
         {} builds; experiment {}, perfblame {}</sub>",
        report.commits,
        report.classes,
        trials.endpoints,
        trials.search,
        trials.certificate,
        report.builds,
        markdown(&report.experiment),
        markdown(&report.tool_version)
    );
    out
}

fn culprit_rows(
    out: &mut String,
    report: &BisectReport,
    culprit: &CulpritReport,
    certificate: Option<&CertificateReport>,
) {
    for (commit, subject) in culprit.commits.iter().zip(&culprit.subject_lines) {
        let _ = writeln!(
            out,
            "| **culprit** | {} | {} |",
            markdown_code(commit),
            markdown(subject)
        );
    }
    let mut step = change(&report.measured, &culprit.change);
    if let Some(share) = culprit.share_of_gap_pct {
        let _ = write!(step, ", {share:.0} % of the change between the ends");
    }
    if let Some(certificate) = certificate {
        let _ = write!(
            step,
            "; {} fresh blocks, p {}",
            certificate.blocks,
            number::p(certificate.p)
        );
    }
    let _ = writeln!(out, "| step | | {} |", markdown(&step));
}
