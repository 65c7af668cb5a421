//! What is needed to trust and to repeat a comparison: trials, machine, plan, commands.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use crate::report::escape::xml;
use crate::report::{CompareReport, TrialArm, number};

/// How far the flagged functions explain the change, as a sentence; empty where unknown.
pub(super) fn explained(report: &CompareReport) -> String {
    let mut out = String::new();
    if let Some(explained) = report.explained {
        let _ = write!(
            out,
            "<p>CPU time per operation changed by {} over all functions; what the flagged functions \
             themselves changed comes to {} of base’s time. ",
            number::change(explained.total_points),
            number::change(explained.flagged_points)
        );
        let _ = write!(
            out,
            "<span class=\"dim\">Normalisation took out {} that touches every function alike (p {}).</span></p>",
            number::change(explained.common_pct),
            number::p(explained.common_p)
        );
    }
    for proposal in &report.proposed_groups {
        let names: Vec<String> = proposal
            .members
            .iter()
            .map(|name| format!("<code>{}</code>", xml(name)))
            .collect();
        let _ = write!(
            out,
            "<p>{} may be one thing in two builds: together {} → {} % of samples{}.</p>",
            names.join(" and "),
            number::share(proposal.inclusive.base_share_pct),
            number::share(proposal.inclusive.head_share_pct),
            match proposal.inclusive.change_pct {
                Some(change) => format!(", {}", number::change(change)),
                None => String::new(),
            }
        );
    }
    for note in &report.notes {
        let _ = write!(out, "<p>{}.</p>", xml(note));
    }
    out
}

/// Every trial's raw values.
pub(super) fn trials(report: &CompareReport) -> String {
    if report.trials.is_empty() {
        return "<p class=\"dim\">No per-trial values.</p>".to_string();
    }
    let names: BTreeSet<&str> = report
        .trials
        .iter()
        .flat_map(|trial| trial.values.keys().map(String::as_str))
        .collect();
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th class=\"num\">order</th>\
         <th class=\"num\">block</th><th>arm</th><th>started</th>",
    );
    for name in &names {
        let _ = write!(out, "<th class=\"num\">{}</th>", xml(name));
    }
    out.push_str("<th class=\"num\">samples</th><th class=\"num\">lost</th></tr></thead><tbody>");
    for trial in &report.trials {
        let arm = match trial.arm {
            TrialArm::Base => "base",
            TrialArm::Head => "head",
        };
        let _ = write!(
            out,
            "<tr class=\"{arm}\"><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{arm}</td><td class=\"when\">{}</td>",
            trial.order + 1,
            trial.block + 1,
            xml(&trial.started)
        );
        for name in &names {
            let value = trial.values.get(*name).copied();
            let _ = write!(
                out,
                "<td class=\"num\">{}</td>",
                value.map_or("–".to_string(), number::value)
            );
        }
        let _ = write!(
            out,
            "<td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
            number::count(trial.samples),
            number::count(trial.lost)
        );
    }
    out.push_str("</tbody></table></div>");
    out
}

/// A JSON object as a list of keys and values, nested objects by dotted keys.
pub(super) fn table(value: &Value) -> String {
    let mut rows = String::new();
    flatten(value, "", &mut rows);
    if rows.is_empty() {
        return "<p class=\"dim\">Nothing was recorded.</p>".to_string();
    }
    format!("<dl class=\"facts\">{rows}</dl>")
}

fn flatten(value: &Value, key: &str, rows: &mut String) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, field) in fields {
                let key = match key.is_empty() {
                    true => name.clone(),
                    false => format!("{key}.{name}"),
                };
                flatten(field, &key, rows);
            }
        }
        other => {
            let text = match other {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let _ = write!(
                rows,
                "<dt>{}</dt><dd>{}</dd>",
                xml(&key.replace('_', " ")),
                xml(&text)
            );
        }
    }
}

/// A JSON value, indented.
pub(super) fn json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let lines: Vec<String> = text.lines().map(|line| xml(line).into_owned()).collect();
    format!("<pre tabindex=\"0\">{}</pre>", lines.join("\n"))
}

/// The commands that repeat the comparison.
pub(super) fn commands(commands: &[String]) -> String {
    if commands.is_empty() {
        return "<p class=\"dim\">None recorded.</p>".to_string();
    }
    let lines: Vec<String> = commands.iter().map(|c| xml(c).into_owned()).collect();
    format!(
        "<div class=\"copy\"><pre tabindex=\"0\">{}</pre><button data-copy>copy</button></div>",
        lines.join("\n")
    )
}

/// The last line: what made this, when, from what.
pub(super) fn foot(report: &CompareReport) -> String {
    let mut parts = vec![
        format!("perfblame {}", xml(&report.tool_version)),
        xml(&report.created).into_owned(),
    ];
    if let Some(id) = &report.experiment {
        parts.push(format!("experiment {}", xml(id)));
    }
    parts.push(format!("seed {}", report.seed));
    if let Some(event) = &report.event {
        parts.push(format!(
            "{} at {} Hz, {} + {} samples, {} lost",
            xml(&event.name),
            event.frequency_hz,
            number::count(report.samples.base),
            number::count(report.samples.head),
            number::count(report.samples.lost)
        ));
    }
    for (arm, side) in [("base", &report.base), ("head", &report.head)] {
        parts.push(format!("{arm} {}", xml(&side.artifact_digest)));
    }
    parts.join(" · ")
}
