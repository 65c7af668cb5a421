//! A search's `report.html`: the search first, then the comparison of culprit and parent.

use std::fmt::Write as _;

use super::model::{BisectOutcome, BisectReport, CertificateReport, CulpritReport, End};
use super::picture;
use super::sentence::{change, short};
use crate::report::{number, xml};

/// Style of what only a search's page has.
const STYLE: &str = "
.posterior{width:100%;height:auto;display:block;margin:.6rem 0}
.posterior text{font-size:11px;fill:currentColor;opacity:.75}
.posterior .rule{stroke:currentColor;opacity:.4}
.posterior .reach{fill:transparent}
.posterior g:hover .reach{fill:currentColor;opacity:.06}
.posterior .bar,.posterior circle{fill:#4778b3}
.posterior .culprit .bar,.posterior .culprit circle{fill:#c0392b}
.posterior .cross{stroke:currentColor;opacity:.5;fill:none}
.bisect td,.bisect th{vertical-align:top;text-align:left}
.bisect pre{white-space:pre-wrap}
";

/// The header of the page: the outcome, and the ends.
pub fn header(report: &BisectReport) -> String {
    let class = match report.outcome {
        BisectOutcome::Certified => "regressed",
        BisectOutcome::Undecided => "undecided",
        _ => "equivalent",
    };
    let mut out = format!(
        "<style>{STYLE}</style>\
         <h1><span class=\"pill {class}\">{}</span> {}</h1><div class=\"sides\">",
        report.outcome.word(),
        xml(&report.sentence)
    );
    for (name, end) in [("good", &report.good), ("bad", &report.bad)] {
        let _ = write!(
            out,
            "<div><span class=\"arm\">{name}</span> {}</div>",
            commit(end)
        );
    }
    out.push_str("</div>");
    if !report.notes.is_empty() {
        out.push_str("<ul class=\"warnings\" aria-label=\"Notes\">");
        for note in &report.notes {
            let _ = write!(out, "<li>{}</li>", xml(note));
        }
        out.push_str("</ul>");
    }
    out
}

/// The sections of the search.
pub fn sections(report: &BisectReport) -> String {
    let mut out = String::from("<section class=\"bisect\" id=\"search\"><h2>Search</h2>");
    for line in &report.lines {
        out.push_str(&picture::svg(line, false));
    }
    let trials = &report.trials;
    let _ = write!(
        out,
        "<p class=\"dim small\">{} commits in {} classes that can differ; trials: {} of the ends, {} of \
         the search, {} of certificates; {} builds; {:.0} seconds.</p></section>",
        report.commits,
        report.classes,
        trials.endpoints,
        trials.search,
        trials.certificate,
        report.builds,
        report.seconds
    );
    culprits(&mut out, report);
    explanation(&mut out, report);
    skipped(&mut out, report);
    if report.comparison.is_some() {
        out.push_str("<h2>Culprit against parent</h2>");
    }
    out
}

fn commit(end: &End) -> String {
    format!(
        "<code title=\"{}\">{}</code> <span class=\"subject\">{}</span>",
        xml(&end.commit),
        xml(short(&end.commit)),
        xml(&end.subject_line)
    )
}

fn culprits(out: &mut String, report: &BisectReport) {
    let first = report
        .culprit
        .iter()
        .map(|culprit| (culprit, report.certificate.as_ref()));
    let further = report
        .further
        .iter()
        .map(|further| (&further.culprit, Some(&further.certificate)));
    let all: Vec<(&CulpritReport, Option<&CertificateReport>)> = first.chain(further).collect();
    if all.is_empty() {
        return;
    }
    out.push_str(
        "<section class=\"bisect\"><h2>Culprit</h2><div class=\"scroll\"><table class=\"plain\"><thead>\
         <tr><th>commit</th><th>step</th><th>of the gap</th><th>probability</th><th>certificate</th></tr>\
         </thead><tbody>",
    );
    for (culprit, certificate) in all {
        let mut commits = String::new();
        for (id, subject) in culprit.commits.iter().zip(&culprit.subject_lines) {
            let _ = write!(
                commits,
                "<code title=\"{}\">{}</code> {}<br>",
                xml(id),
                xml(short(id)),
                xml(subject)
            );
        }
        if let Some(merge) = &culprit.merged_by {
            let _ = write!(
                commits,
                "<span class=\"dim\">merged by <code>{}</code></span>",
                xml(short(merge))
            );
        }
        let _ = write!(
            out,
            "<tr><td>{commits}</td><td>{}</td><td>{}</td><td>{:.3}</td><td>{}</td></tr>",
            xml(&change(&report.measured, &culprit.change)),
            culprit
                .share_of_gap_pct
                .map_or("–".to_owned(), |share| format!("{share:.0} %")),
            culprit.probability,
            certificate.map_or("–".to_owned(), |certificate| format!(
                "{} fresh blocks, p {}",
                certificate.blocks,
                xml(&number::p(certificate.p))
            ))
        );
    }
    out.push_str("</tbody></table></div></section>");
}

fn explanation(out: &mut String, report: &BisectReport) {
    if report.explanation.is_empty() {
        return;
    }
    out.push_str(
        "<section class=\"bisect\"><h2>Functions that changed</h2><div class=\"scroll\">\
         <table class=\"plain\"><thead><tr><th>function</th><th>points</th><th>change</th>\
         <th>the diff</th><th>source</th></tr></thead><tbody>",
    );
    for function in &report.explanation {
        let place = match (&function.file, function.lines) {
            (Some(file), Some([first, last])) => format!("{}:{first}–{last}", xml(file)),
            _ => "–".to_owned(),
        };
        let _ = write!(
            out,
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{place}</td></tr>",
            xml(&function.function),
            number::change(function.change_points).trim_end_matches(" %"),
            function.change_pct.map_or("–".to_owned(), number::change),
            function.touched.words(),
        );
    }
    out.push_str("</tbody></table></div></section>");
}

fn skipped(out: &mut String, report: &BisectReport) {
    if report.skipped.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<section class=\"bisect\"><details><summary><h2>{} commits skipped</h2></summary><dl>",
        report.skipped.len()
    );
    for skipped in &report.skipped {
        let _ = write!(
            out,
            "<dt><code>{}</code> {}</dt><dd><pre>",
            xml(short(&skipped.commit)),
            xml(&skipped.subject_line)
        );
        for line in skipped.reason.lines() {
            let _ = writeln!(out, "{}", xml(line));
        }
        out.push_str("</pre></dd>");
    }
    out.push_str("</dl></details></section>");
}
