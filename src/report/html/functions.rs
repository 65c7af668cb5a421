//! The table of functions: the first rows as they stand, all of them as data for the script.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::report::escape::{plain, xml};
use crate::report::headline::{change_text, note_text, telling_cost};
use crate::report::{CompareReport, number};
use crate::verdict::{CostVerdict, FunctionStatus, FunctionVerdict};

use super::page::{breakable, verdict_class};

/// Rows that are there without the script, and in print.
const STATIC_ROWS: usize = 60;

/// The section of the table; empty where there are no functions.
pub(super) fn section(report: &CompareReport) -> String {
    let count = report.groups.len() + report.functions.len();
    if count == 0 {
        return "<section><h2>Functions</h2><p class=\"dim\">No profile was taken.</p></section>"
            .to_string();
    }
    let mut out = String::from(include_str!("functions.html"));
    for function in report
        .groups
        .iter()
        .chain(&report.functions)
        .take(STATIC_ROWS)
    {
        row(&mut out, function);
    }
    out.push_str("</tbody></table></div><p class=\"dim small\" id=\"fn-more\">");
    if count > STATIC_ROWS {
        let _ = write!(
            out,
            "{} more functions are in report.json.",
            count - STATIC_ROWS
        );
    }
    out.push_str("</p></section>");
    out
}

fn row(out: &mut String, function: &FunctionVerdict) {
    let (which, cost) = telling_cost(function);
    let change = change_text(function, cost);
    let _ = write!(
        out,
        "<tr><td><span class=\"pill {class}\">{class}</span></td><td class=\"name\"><code>{}</code></td>\
         <td class=\"num\">{} → {}</td><td class=\"num\">{} → {}</td><td class=\"num\">{change} <span class=\"dim\">{which}</span></td>\
         <td class=\"num\">{}</td></tr>",
        breakable(&xml(&function.name)),
        number::share(function.self_cost.base_share_pct),
        number::share(function.self_cost.head_share_pct),
        number::share(function.inclusive.base_share_pct),
        number::share(function.inclusive.head_share_pct),
        cost.p_adjusted.map_or("–".to_string(), number::p),
        class = verdict_class(cost.verdict),
    );
}

/// All functions as compact JSON that may stand in a `<script>`.
pub(super) fn data(report: &CompareReport) -> String {
    let rows: Vec<Value> = report
        .groups
        .iter()
        .map(|group| function(group, true))
        .chain(report.functions.iter().map(|f| function(f, false)))
        .collect();
    Value::Array(rows)
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

fn function(function: &FunctionVerdict, group: bool) -> Value {
    let notes: Vec<String> = function
        .notes
        .iter()
        .map(|note| plain(&note_text(note)).into_owned())
        .collect();
    let status = match function.status {
        FunctionStatus::Both => "",
        FunctionStatus::New => "new",
        FunctionStatus::Gone => "gone",
    };
    let own = telling_cost(function).0 == "self";
    json!([
        plain(&function.name),
        plain(&function.module),
        status,
        u8::from(own),
        cost(&function.self_cost),
        cost(&function.inclusive),
        notes,
        u8::from(group),
    ])
}

fn cost(cost: &CostVerdict) -> Value {
    let round = |x: f64| {
        // Six digits are more than is shown, and a third of the bytes.
        let text = format!("{x:.5e}");
        text.parse::<f64>().ok().filter(|x| x.is_finite())
    };
    json!([
        round(cost.base_share_pct),
        round(cost.head_share_pct),
        round(cost.base_ns_per_op),
        round(cost.head_ns_per_op),
        cost.change_pct.and_then(round),
        cost.ci95_pct.map(|ci| ci.map(round)),
        cost.p.and_then(round),
        cost.p_adjusted.and_then(round),
        verdict_class(cost.verdict),
        round(cost.change_points),
        cost.detectable_pct.and_then(round),
        cost.blocks_to_decide,
    ])
}
