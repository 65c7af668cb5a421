//! Plots of a metric over blocks, as inline SVG.

use std::fmt::Write as _;

use crate::report::escape::xml;
use crate::report::number;
use crate::verdict::MetricVerdict;

use super::page::verdict_class;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 34.0;

/// Renders the values of every block, and the change in every block with its interval.
pub(super) fn render(metric: &MetricVerdict) -> String {
    let blocks: Vec<[f64; 2]> = metric
        .blocks
        .iter()
        .copied()
        .filter(|block| block.iter().all(|x| x.is_finite()))
        .collect();
    if blocks.is_empty() {
        return String::new();
    }
    format!(
        "<figure>{}<figcaption>Every block: <span class=\"key-base\">base</span> and \
         <span class=\"key-head {class}\">head</span>, next to each other in time; lines are means</figcaption></figure>\
         <figure>{}<figcaption>Change in every block, and the 95 % interval of the mean</figcaption></figure>",
        values(metric, &blocks),
        changes(metric, &blocks),
        class = verdict_class(metric.verdict)
    )
}

fn open(label: &str) -> String {
    format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        xml(label)
    )
}

fn values(metric: &MetricVerdict, blocks: &[[f64; 2]]) -> String {
    let scale = Scale::over(blocks.iter().flatten().copied(), HEIGHT - BOTTOM, TOP);
    let class = verdict_class(metric.verdict);
    let mut out = open(&format!("{} in every block", metric.name));
    for tick in scale.ticks() {
        let y = scale.at(tick);
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0,
            axis_number(tick)
        );
    }
    for (mean, class) in [(metric.base_mean, "base"), (metric.head_mean, class)] {
        if mean.is_finite() {
            let y = scale.at(mean);
            let _ = write!(
                out,
                "<line class=\"mean {class}\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
                WIDTH - RIGHT
            );
        }
    }
    let step = (WIDTH - LEFT - RIGHT) / blocks.len() as f64;
    let radius = (step / 5.0).clamp(1.5, 4.5);
    let every = blocks.len().div_ceil(12);
    for (i, &[base, head]) in blocks.iter().enumerate() {
        let x = LEFT + step * (i as f64 + 0.5);
        let (xb, xh) = (x - step * 0.16, x + step * 0.16);
        let (yb, yh) = (scale.at(base), scale.at(head));
        let _ = write!(
            out,
            "<g><title>block {}: {} → {} {}</title>\
             <line class=\"pair\" x1=\"{xb:.1}\" y1=\"{yb:.1}\" x2=\"{xh:.1}\" y2=\"{yh:.1}\"/>\
             <circle class=\"base\" cx=\"{xb:.1}\" cy=\"{yb:.1}\" r=\"{radius:.1}\"/>\
             <circle class=\"head {class}\" cx=\"{xh:.1}\" cy=\"{yh:.1}\" r=\"{radius:.1}\"/></g>",
            i + 1,
            number::value(base),
            number::value(head),
            xml(&metric.unit)
        );
        if i % every == 0 {
            let _ = write!(
                out,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - BOTTOM + 16.0,
                i + 1
            );
        }
    }
    let _ = write!(
        out,
        "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">block</text>\
         <text class=\"axis\" x=\"{LEFT}\" y=\"{}\">{}</text></svg>",
        LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
        HEIGHT - 3.0,
        TOP - 6.0,
        xml(&metric.unit)
    );
    out
}

fn changes(metric: &MetricVerdict, blocks: &[[f64; 2]]) -> String {
    let changes: Vec<f64> = blocks
        .iter()
        .map(|&[base, head]| (head / base - 1.0) * 100.0)
        .filter(|change| change.is_finite())
        .collect();
    // An interval of two blocks may be wider than any paper: the points decide, then the interval
    // as far as it is not ten times as wide.
    let spread = changes.iter().fold(1e-9f64, |most, x| most.max(x.abs()));
    let interval = metric
        .ci95_pct
        .map(|ci| ci.map(|x| x.clamp(-10.0 * spread, 10.0 * spread)));
    let shown = changes
        .iter()
        .copied()
        .chain([0.0, metric.change_pct])
        .chain(interval.into_iter().flatten())
        .filter(|x| x.is_finite());
    let scale = Scale::over(shown, 14.0, WIDTH - RIGHT);
    let class = verdict_class(metric.verdict);
    let floor = HEIGHT - BOTTOM;
    let mut out = open(&format!("change of {} in every block", metric.name));
    for tick in scale.ticks() {
        let x = scale.at(tick);
        let zero = if tick == 0.0 { " zero" } else { "" };
        let _ = write!(
            out,
            "<line class=\"grid{zero}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{floor}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            floor + 16.0,
            signed_axis_number(tick)
        );
    }
    let bar = floor - 22.0;
    if let Some([lo, hi]) = interval {
        let (x, width) = (scale.at(lo), scale.at(hi) - scale.at(lo));
        let _ = write!(
            out,
            "<rect class=\"band {class}\" x=\"{x:.1}\" width=\"{width:.1}\" y=\"{TOP}\" height=\"{:.1}\"/>\
             <line class=\"interval {class}\" x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{bar}\" y2=\"{bar}\"/>",
            floor - TOP,
            x + width
        );
    }
    if metric.change_pct.is_finite() {
        let x = scale.at(metric.change_pct);
        let _ = write!(
            out,
            "<path class=\"diamond {class}\" d=\"M{:.1} {bar}l6 -7l6 7l-6 7z\"/>",
            x - 6.0
        );
    }
    let row = (bar - TOP - 24.0) / changes.len().max(1) as f64;
    for (i, &change) in changes.iter().enumerate() {
        let _ = write!(
            out,
            "<circle class=\"head {class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\"><title>block {}: {}</title></circle>",
            scale.at(change),
            TOP + 8.0 + row * (i as f64 + 0.5),
            (row * 0.45).clamp(1.5, 4.5),
            i + 1,
            number::change(change)
        );
    }
    let _ = write!(
        out,
        "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">change of head against base, %</text></svg>",
        WIDTH / 2.0,
        HEIGHT - 3.0
    );
    out
}

/// From values to places.
struct Scale {
    lo: f64,
    hi: f64,
    from: f64,
    to: f64,
    step: f64,
}

impl Scale {
    /// A scale over all values with a little room, ends at round numbers.
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            lo = lo.min(value);
            hi = hi.max(value);
        }
        if !(lo.is_finite() && hi.is_finite()) {
            (lo, hi) = (0.0, 1.0);
        }
        let least = (hi.abs().max(lo.abs()) * 1e-6).max(1e-12);
        if hi - lo < least {
            (lo, hi) = (lo - least, hi + least);
        }
        let step = round_step((hi - lo) / 4.0);
        Scale {
            lo: (lo / step).floor() * step,
            hi: (hi / step).ceil() * step,
            from,
            to,
            step,
        }
    }

    fn at(&self, value: f64) -> f64 {
        self.from + (value - self.lo) / (self.hi - self.lo) * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        let count = ((self.hi - self.lo) / self.step).round().clamp(1.0, 12.0) as i32;
        (0..=count)
            .map(|i| {
                let tick = self.lo + f64::from(i) * self.step;
                if tick.abs() < self.step * 1e-9 {
                    0.0
                } else {
                    tick
                }
            })
            .collect()
    }
}

/// The next of 1, 2, 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let digit = step / power;
    power
        * match digit {
            d if d <= 1.0 => 1.0,
            d if d <= 2.0 => 2.0,
            d if d <= 5.0 => 5.0,
            _ => 10.0,
        }
}

fn axis_number(x: f64) -> String {
    match x.abs() {
        m if m >= 1e6 => format!("{}M", trim(x / 1e6)),
        m if m >= 1e4 => format!("{}k", trim(x / 1e3)),
        _ => trim(x),
    }
}

fn signed_axis_number(x: f64) -> String {
    let sign = if x > 0.0 { "+" } else { "" };
    format!("{sign}{}", trim(x).replace('-', "−"))
}

fn trim(x: f64) -> String {
    let text = format!("{x:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::report;

    #[test]
    fn scales_end_at_round_numbers() {
        let scale = Scale::over([-3.1, -2.4, 0.0].into_iter(), 0.0, 400.0);
        assert_eq!(scale.ticks(), [-4.0, -3.0, -2.0, -1.0, 0.0]);
        assert_eq!(scale.at(-4.0), 0.0);
        assert_eq!(scale.at(0.0), 400.0);
        for odd in [
            vec![],
            vec![5.0],
            vec![0.0, 0.0],
            vec![1e300, -1e300],
            vec![1e-300],
        ] {
            let scale = Scale::over(odd.into_iter(), 0.0, 1.0);
            assert!(!scale.ticks().is_empty());
            assert!(scale.at(scale.lo).is_finite());
        }
    }

    #[test]
    fn every_block_is_a_point() {
        let metric = report().throughput;
        let plots = render(&metric);
        assert_eq!(plots.matches("<circle").count(), 3 * metric.blocks.len());
        assert!(!plots.contains("NaN"));
    }

    #[test]
    fn odd_values_do_not_reach_the_plot() {
        let mut metric = report().throughput;
        metric.blocks = vec![[0.0, 1.0], [f64::NAN, 1.0], [2.0, f64::INFINITY]];
        metric.ci95_pct = Some([f64::NEG_INFINITY, f64::INFINITY]);
        metric.change_pct = f64::NAN;
        let plots = render(&metric);
        assert!(
            !plots.contains("NaN") && !plots.contains("inf\""),
            "{plots}"
        );
    }
}
