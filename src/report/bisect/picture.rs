//! The posterior over a line of history as a plain picture.

use std::fmt::Write as _;

use super::model::{Belief, SearchedLine};
use crate::report::xml;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 12.0;
const BARS_TOP: f64 = 24.0;
const BARS: f64 = 120.0;
const VALUES_TOP: f64 = 172.0;
const VALUES: f64 = 110.0;
const HEIGHT: f64 = 318.0;
/// Narrowest bar that is a bar of its own, in pixels.
const THINNEST: f64 = 1.5;

/// Draws a line: a bar for the probability of each class, and below it every trial's value. `alone`
/// makes it a file of its own, with colours in it.
pub fn svg(line: &SearchedLine, alone: bool) -> String {
    let count = line.classes.len().max(1);
    let step = (WIDTH - LEFT - RIGHT) / count as f64;
    let at = |class: usize| LEFT + step * (class as f64 + 0.5);
    let namespace = match alone {
        true => " xmlns=\"http://www.w3.org/2000/svg\"",
        false => "",
    };
    let mut out = format!(
        "<svg{namespace} class=\"posterior\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"Probability of each commit, and the values of its trials\">"
    );
    if alone {
        let _ = write!(out, "<style>{STYLE}</style>");
    }
    let most = line
        .classes
        .iter()
        .map(|class| class.probability)
        .fold(0.05f64, f64::max)
        .min(1.0);
    let floor = BARS_TOP + BARS;
    let _ = write!(
        out,
        "<text class=\"axis\" x=\"{LEFT}\" y=\"14\">{} (no step: {:.3})</text>\
         <line class=\"rule\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{floor}\" y2=\"{floor}\"/>",
        xml(&line.title),
        line.no_step_probability,
        WIDTH - RIGHT
    );
    for part in [0.0, 0.5, 1.0] {
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{:.2}</text>",
            LEFT - 6.0,
            floor - BARS * part + 4.0,
            most * part
        );
    }
    let scale = Scale::over(line.classes.iter().flat_map(|class| &class.values).copied());
    for (index, class) in line.classes.iter().enumerate() {
        let x = at(index);
        let kind = match (line.culprit == Some(index), class.skipped) {
            (true, _) => "culprit",
            (false, true) => "skipped",
            (false, false) => "class",
        };
        let bar = (class.probability / most).clamp(0.0, 1.0) * BARS;
        let width = (step * 0.8).max(THINNEST);
        let _ = write!(
            out,
            "<g class=\"{kind}\"><title>{}</title>\
             <rect class=\"reach\" x=\"{:.1}\" width=\"{:.1}\" y=\"{BARS_TOP}\" height=\"{:.1}\"/>\
             <rect class=\"bar\" x=\"{:.1}\" width=\"{width:.1}\" y=\"{:.1}\" height=\"{bar:.1}\"/>",
            title(class),
            x - step / 2.0,
            step.max(THINNEST),
            VALUES_TOP + VALUES - BARS_TOP,
            x - width / 2.0,
            floor - bar
        );
        if class.skipped {
            let y = VALUES_TOP + VALUES / 2.0;
            let _ = write!(
                out,
                "<path class=\"cross\" d=\"M{:.1} {:.1}l6 6m0 -6l-6 6\"/>",
                x - 3.0,
                y - 3.0
            );
        }
        for (trial, value) in class.values.iter().enumerate() {
            // Trials of a class next to each other, so that equal values do not hide one another.
            let spread = (trial as f64 + 0.5) / class.values.len() as f64 - 0.5;
            let _ = write!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"/>",
                x + spread * step * 0.7,
                scale.at(*value)
            );
        }
        out.push_str("</g>");
    }
    labels(&mut out, line, at);
    out.push_str("</svg>");
    out
}

const STYLE: &str = "text{font:11px sans-serif;fill:#555}.rule{stroke:#888}.reach{fill:transparent}\
                     .bar,circle{fill:#4778b3}.culprit .bar,.culprit circle{fill:#c0392b}\
                     .cross{stroke:#999;fill:none}";

/// Commits below the picture, as many as have room.
fn labels(out: &mut String, line: &SearchedLine, at: impl Fn(usize) -> f64) {
    let count = line.classes.len();
    let every = count.div_ceil(12).max(1);
    for (index, class) in line.classes.iter().enumerate() {
        let is_culprit = line.culprit == Some(index);
        let crowded = line
            .culprit
            .is_some_and(|culprit| index.abs_diff(culprit) < every);
        if !is_culprit && (index % every != 0 || crowded) {
            continue;
        }
        let commit = class.commits.first().map_or("", String::as_str);
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            at(index),
            HEIGHT - 12.0,
            xml(commit.get(..7).unwrap_or(commit))
        );
    }
    let _ = write!(
        out,
        "<text class=\"axis\" x=\"{LEFT}\" y=\"{}\">values of trials, on the scale of the search</text>",
        VALUES_TOP - 8.0
    );
}

fn title(class: &Belief) -> String {
    let commit = class.commits.first().map_or("", String::as_str);
    let more = match class.commits.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {more} that cannot differ"),
    };
    format!(
        "{} {}{more}: probability {:.4}{}",
        xml(commit.get(..12).unwrap_or(commit)),
        xml(&class.subject_line),
        class.probability,
        match (class.skipped, class.values.len()) {
            (true, _) => ", skipped".to_owned(),
            (false, 1) => ", 1 trial".to_owned(),
            (false, trials) => format!(", {trials} trials"),
        }
    )
}

/// From values to heights.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        match low < high {
            true => Self { low, high },
            // One value, or none: in the middle.
            false if low.is_finite() => Self {
                low: low - 1.0,
                high: low + 1.0,
            },
            false => Self {
                low: 0.0,
                high: 1.0,
            },
        }
    }

    fn at(&self, value: f64) -> f64 {
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let part = if part.is_finite() { part } else { 0.5 };
        VALUES_TOP + VALUES * (1.0 - part)
    }
}
