//! The page as a whole.

use std::fmt::Write as _;

use crate::report::diff::{self, DiffTree, Judged};
use crate::report::escape::xml;
use crate::report::headline::{Outcome, Segment, headline};
use crate::report::text::{ROWS_ALONE, short};
use crate::report::{CompareReport, Side, number};
use crate::verdict::{MetricVerdict, Verdict};

use super::{facts, functions, plot};

const TEMPLATE: &str = include_str!("template.html");
/// The page's style sheet, for pages of other reports.
pub const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Renders the page. `tree` and `judged` are the difference of both arms' profiles.
pub fn render(report: &CompareReport, tree: &DiffTree, judged: &[Judged]) -> String {
    let headline = headline(report);
    let has_profile = tree.frames.len() > 1;
    fill(TEMPLATE, |name| {
        Some(match name {
            "title" => format!(
                "{}: {} → {}",
                headline.outcome.word(),
                xml(short(&report.base.commit)),
                xml(short(&report.head.commit))
            ),
            "style" => STYLE.to_string(),
            "flame-style" => diff::STYLE.to_string(),
            "flame-script" => diff::SCRIPT.to_string(),
            "script" => SCRIPT.to_string(),
            "outcome" => headline.outcome.word().to_string(),
            "outcome-class" => outcome_class(headline.outcome).to_string(),
            "sentence" => sentence(&headline.sentence),
            "base" => side(&report.base),
            "head" => side(&report.head),
            "warnings" => warnings(&report.warnings),
            "metric-tile" => metric_tile(&report.throughput),
            "plots" => plot::render(&report.throughput),
            "metrics" => metrics(report),
            "explained" => facts::explained(report),
            "functions" => functions::section(report),
            "function-data" => functions::data(report),
            "flame" if has_profile => flame(tree, judged),
            "flame" => String::new(),
            "flame-data" if has_profile => diff::page_data(tree, judged, ["base", "head"]),
            "flame-data" => "null".to_string(),
            "trials" => facts::trials(report),
            "machine" => facts::table(&report.machine),
            "plan" => facts::json(&report.plan),
            "commands" => facts::commands(&report.commands),
            "foot" => facts::foot(report),
            _ => return None,
        })
    })
}

/// Puts a value in the place of each `{{name}}`. Values are not searched for names; a name that
/// `value` does not know stays.
fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(template.len() * 2);
    let mut rest = template;
    while let Some(open) = rest.find("{{") {
        let (before, from) = rest.split_at(open);
        out.push_str(before);
        let Some(close) = from.find("}}") else {
            rest = from;
            break;
        };
        match value(&from[2..close]) {
            Some(text) => out.push_str(&text),
            None => out.push_str(&from[..close + 2]),
        }
        rest = &from[close + 2..];
    }
    out.push_str(rest);
    out
}

fn outcome_class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Regressed => "regressed",
        Outcome::Improved => "improved",
        Outcome::Undecided => "undecided",
        Outcome::Equivalent | Outcome::SameProgram => "equivalent",
    }
}

pub(super) fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed => "regressed",
        Verdict::Improved => "improved",
        Verdict::Undecided => "undecided",
        Verdict::Equivalent => "equivalent",
    }
}

fn sentence(segments: &[Segment]) -> String {
    let mut out = String::new();
    for segment in segments {
        match segment {
            Segment::Text(text) => out.push_str(&xml(text)),
            Segment::Code(name) => {
                let _ = write!(out, "<code>{}</code>", breakable(&xml(name)));
            }
        }
    }
    out
}

/// Lets a long name break after what parts it.
pub(super) fn breakable(escaped: &str) -> String {
    escaped.replace("::", "::<wbr>").replace('_', "_<wbr>")
}

fn side(side: &Side) -> String {
    format!(
        "<code title=\"{}\">{}</code> <span class=\"subject\">{}</span> \
         <span class=\"dim\">{}{} trial{}</span>",
        xml(&side.commit),
        xml(short(&side.commit)),
        xml(&side.subject_line),
        match side.commit.starts_with(&side.rev) {
            true => String::new(),
            false => format!("{} · ", xml(&side.rev)),
        },
        side.trials,
        if side.trials == 1 { "" } else { "s" }
    )
}

fn warnings(warnings: &[String]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut out = String::from("<ul class=\"warnings\" aria-label=\"Warnings\">");
    for warning in warnings {
        let _ = write!(out, "<li>{}</li>", xml(warning));
    }
    out.push_str("</ul>");
    out
}

fn metric_tile(metric: &MetricVerdict) -> String {
    let mut out = format!(
        "<div class=\"big {}\">{}</div><div class=\"dim\">{}</div><dl>\
         <dt>base</dt><dd>{} {unit}</dd><dt>head</dt><dd>{} {unit}</dd>",
        verdict_class(metric.verdict),
        number::change(metric.change_pct),
        match metric.ci95_pct {
            Some(ci) => format!("95 % interval {}", number::interval(ci)),
            None => "one block: no interval".to_string(),
        },
        number::quantity(metric.base_mean, &metric.unit),
        number::quantity(metric.head_mean, &metric.unit),
        unit = xml(number::unit_beside(&metric.unit)),
    );
    let _ = write!(
        out,
        "<dt>p</dt><dd>{} <span class=\"dim\">sign-flip over {} blocks; {} adjusted</span></dd>",
        number::p(metric.p),
        metric.blocks.len(),
        number::p(metric.p_adjusted)
    );
    if let Some(welch) = metric.welch {
        let _ = write!(
            out,
            "<dt>Welch</dt><dd>p {} <span class=\"dim\">t {}, df {:.1}; head − base {} to {} {}</span></dd>",
            number::p(welch.p),
            number::statistic(welch.t),
            welch.df,
            number::quantity(welch.ci95[0], &metric.unit),
            number::quantity(welch.ci95[1], &metric.unit),
            xml(number::unit_beside(&metric.unit))
        );
    }
    if let Some(pct) = metric.detectable_pct {
        let _ = write!(
            out,
            "<dt>detectable</dt><dd>{} % <span class=\"dim\">in four of five comparisons of this size</span></dd>",
            number::share(pct)
        );
    }
    if let (Verdict::Undecided, Some(blocks)) = (metric.verdict, metric.blocks_to_decide) {
        let _ = write!(out, "<dt>to decide</dt><dd>about {blocks} blocks</dd>");
    }
    out.push_str("</dl>");
    out
}

fn metrics(report: &CompareReport) -> String {
    if report.metrics.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"plain\"><caption>Other metrics</caption><thead><tr>\
         <th>metric</th><th class=\"num\">base</th><th class=\"num\">head</th>\
         <th class=\"num\">change</th><th class=\"num\">95 % interval</th>\
         <th class=\"num\">p adj.</th><th>verdict</th></tr></thead><tbody>",
    );
    for metric in &report.metrics {
        let _ = write!(
            out,
            "<tr><td>{} <span class=\"dim\">{}</span></td><td class=\"num\">{}</td>\
             <td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>\
             <td class=\"num\">{}</td><td><span class=\"pill {class}\">{class}</span></td></tr>",
            xml(&metric.name),
            xml(number::unit_beside(&metric.unit)),
            number::quantity(metric.base_mean, &metric.unit),
            number::quantity(metric.head_mean, &metric.unit),
            number::change(metric.change_pct),
            metric.ci95_pct.map_or("–".to_string(), number::interval),
            number::p(metric.p_adjusted),
            class = verdict_class(metric.verdict)
        );
    }
    let _ = write!(
        out,
        "</tbody></table></div><p class=\"dim small\">{ROWS_ALONE}</p>"
    );
    out
}

fn flame(tree: &DiffTree, judged: &[Judged]) -> String {
    let mut out = String::from(
        "<section id=\"flame\" aria-labelledby=\"flame-h\"><h2 id=\"flame-h\">Flame graphs</h2>\
         <div class=\"bar\"><div class=\"tabs\" role=\"group\" aria-label=\"Flame graph\">\
         <button data-view=\"1\" aria-pressed=\"true\">difference, head’s widths</button>\
         <button data-view=\"0\">difference, base’s widths</button>\
         <button data-view=\"2\">side by side</button>\
         <button data-view=\"0\" data-plain=\"1\">base</button>\
         <button data-view=\"1\" data-plain=\"1\">head</button></div>\
         <span class=\"grow\"></span>\
         <input id=\"flame-search\" type=\"search\" placeholder=\"search frames\" \
         aria-label=\"Search frames by regular expression\">\
         <button id=\"flame-reset\">reset zoom</button></div>\
         <div class=\"flame-box\">",
    );
    let options = diff::Options {
        title: "",
        subtitle: "",
        labels: ["base", "head"],
    };
    diff::element(&mut out, tree, judged, &options, "flame-svg");
    out.push_str(
        "</div><p class=\"dim small\">Colour is evidence: a grey frame may differ in width, and nothing \
         says that it changed. Click to zoom, Escape to reset, arrow keys to walk.</p></section>",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::format::folded::{Column, parse};
    use crate::report::diff::{Run, verdicts};
    use crate::report::sample::{report, with_names};

    pub(crate) fn page(report: &CompareReport, folded: &str) -> String {
        let run = |side| Run {
            side,
            lines: parse(folded.as_bytes(), Column::Only).unwrap(),
        };
        let tree = DiffTree::build(vec![run(diff::Side::Base), run(diff::Side::Head)], 0.0);
        let judged = verdicts(&tree, &report.functions, &report.groups);
        render(report, &tree, &judged)
    }

    #[test]
    fn every_place_is_filled_and_values_are_not_searched() {
        let page = page(&with_names(report(), "{{style}}"), "a;b 1\n");
        assert_eq!(page.matches(STYLE.trim()).count(), 1);
        assert!(page.contains("<code>{{style}}</code>"));
        let filled = fill("a{{x}}b{{y}}c{{", |name| {
            (name == "x").then(|| "{{y}}".into())
        });
        assert_eq!(filled, "a{{y}}b{{y}}c{{");
    }

    #[test]
    fn names_cannot_break_out() {
        let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{202e}";
        let page = page(&with_names(report(), evil), &format!("s;{evil} 3\n"));
        assert!(!page.contains("<script>alert"));
        assert!(!page.contains("<img"));
        assert!(!page.contains('\u{202e}'));
    }

    #[test]
    fn asks_for_nothing() {
        let page = page(&report(), "a;b 1\n");
        for outside in ["src=", "href=\"http", "url(", "@import", "fetch("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
