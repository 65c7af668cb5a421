//! Draws the tree: a picture that stands without a script, and the script that makes it live.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use crate::report::escape::{plain, xml};
use crate::report::number;
use crate::report::text::wrap;

use super::data;
use super::function::Judged;
use super::tree::{DiffTree, FrameNode, Function, Side};

/// Style of the picture, in a file of its own and in the report.
pub(in crate::report) const STYLE: &str = include_str!("flame.css");

/// Script of the picture, in a file of its own and in the report.
pub(in crate::report) const SCRIPT: &str = include_str!("flame.js");

/// Width of the drawing before the script fits it to the window.
const WIDTH: f64 = 1200.0;

/// Space left and right of the frames.
const PAD: f64 = 10.0;

/// Height of a frame with the gap above it.
const ROW: f64 = 17.0;

/// Width of a character of the frames' font.
const CHAR: f64 = 7.2;

/// Characters of a title and of a line below it that the drawing is wide enough for.
const TITLE_ROOM: usize = 112;
const LINE_ROOM: usize = 160;

/// Height of a line below the title.
const LINE: f64 = 16.0;

/// Narrowest frame of the drawing without a script; the script draws more when zoomed.
const MIN_STATIC_WIDTH: f64 = 0.4;

/// Words of the picture.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// The title.
    pub title: &'a str,
    /// What stands below it, such as what the colours are worth.
    pub subtitle: &'a str,
    /// What base and head are called.
    pub labels: [&'a str; 2],
}

/// Draws the differential flame graph as a file of its own.
///
/// Without a script (in an `<img>`) it shows head's widths, or base's where head is empty. The
/// same tree and judgements give the same bytes.
pub fn render(tree: &DiffTree, judged: &[Judged], options: &Options<'_>) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    element(&mut out, tree, judged, options, "pbf");
    let svg_end = out.len() - "</svg>\n".len();
    out.truncate(svg_end);
    let _ = write!(
        out,
        "<style>{STYLE}</style>\n<script><![CDATA[\n{SCRIPT}\n\
         perfblameFlame(document.documentElement,{});\n]]></script>\n</svg>\n",
        data::json(tree, judged, options.labels)
    );
    out
}

/// The data of the picture, for a page that holds the style and the script.
pub(in crate::report) fn page_data(
    tree: &DiffTree,
    judged: &[Judged],
    labels: [&str; 2],
) -> String {
    data::json(tree, judged, labels)
}

/// Draws the `<svg>` element alone.
pub(in crate::report) fn element(
    out: &mut String,
    tree: &DiffTree,
    judged: &[Judged],
    options: &Options<'_>,
    id: &str,
) {
    let rows = tree.frames.iter().map(|f| f.depth).max().unwrap_or(0) + 1;
    let titled = !options.title.is_empty();
    let lines = match titled {
        true => wrap(&plain(options.subtitle), LINE_ROOM),
        false => Vec::new(),
    };
    // Title, lines, a row for the script's buttons, legend.
    let top = match titled {
        true => 96.0 + LINE * lines.len() as f64,
        false => 44.0,
    };
    let height = top + f64::from(rows) * ROW + 28.0;
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{id}\" class=\"pbf\" width=\"{WIDTH}\" \
         height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" data-top=\"{top}\" data-rows=\"{rows}\" \
         role=\"img\" aria-label=\"{}\">",
        xml(if titled {
            options.title
        } else {
            "flame graph of the difference"
        })
    );
    out.push_str("<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n");
    if titled {
        let title = plain(options.title);
        let shown = match title.width() <= TITLE_ROOM {
            true => title.into_owned(),
            false => title.chars().take(TITLE_ROOM - 1).collect::<String>() + "…",
        };
        let _ = writeln!(
            out,
            "<text class=\"title\" x=\"50%\" y=\"26\">{}</text>",
            xml(&shown)
        );
        for (i, line) in lines.iter().enumerate() {
            let _ = writeln!(
                out,
                "<text class=\"sub\" x=\"50%\" y=\"{}\">{}</text>",
                46.0 + LINE * i as f64,
                xml(line)
            );
        }
    }
    legend(out, tree, judged, top - 26.0);
    out.push_str("<g class=\"ui\"></g>\n<g class=\"frames\">\n");
    frames(out, tree, judged, top, rows);
    let _ = write!(
        out,
        "</g>\n<text class=\"details\" x=\"{PAD}\" y=\"{}\"></text>\n<g class=\"tip\"></g>\n</svg>\n",
        height - 10.0
    );
}

/// The name that a frame shows.
pub(super) fn display_name(function: &Function) -> String {
    if function.kernel {
        format!("{}_[k]", function.name)
    } else {
        function.name.clone()
    }
}

/// Which of the greys a function has.
pub(super) fn shade(function: &Function) -> u8 {
    function
        .name
        .bytes()
        .fold(0u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte))
        % 3
}

fn legend(out: &mut String, tree: &DiffTree, judged: &[Judged], y: f64) {
    let mut counts = [(0u32, "", ""); 9];
    let mut seen = vec![false; judged.len()];
    for frame in tree.frames.iter().filter(|frame| frame.depth > 0) {
        let at = frame.function as usize;
        if !std::mem::replace(&mut seen[at], true) {
            let (place, text, class) = judged[at].colour.legend();
            counts[place] = (counts[place].0 + 1, text, class);
        }
    }
    out.push_str("<g class=\"legend\">\n");
    let mut x = PAD;
    for (place, (count, text, class)) in counts.into_iter().enumerate() {
        if count == 0 {
            continue;
        }
        let _ = writeln!(
            out,
            "<g class=\"key\" data-key=\"{place}\"><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" \
             width=\"12\" height=\"12\" rx=\"2\"/><text x=\"{}\" y=\"{}\">{text} {count}</text></g>",
            x + 17.0,
            y + 10.5
        );
        x += 17.0 + CHAR * (text.len() + 1 + count.to_string().len()) as f64 + 16.0;
    }
    out.push_str("</g>\n");
}

fn frames(out: &mut String, tree: &DiffTree, judged: &[Judged], top: f64, rows: u32) {
    let side = match tree.total(Side::Head) {
        0 => Side::Base,
        _ => Side::Head,
    };
    let totals = [tree.total(Side::Base), tree.total(Side::Head)];
    let width_of = |frame: &FrameNode| match side {
        Side::Base => frame.base,
        Side::Head => frame.head,
    };
    let total = tree.total(side);
    if total == 0 {
        let _ = writeln!(
            out,
            "<text x=\"50%\" y=\"{}\">no samples</text>",
            top + 13.0
        );
        return;
    }
    let scale = (WIDTH - 2.0 * PAD) / total as f64;
    // Where the next child of each open frame begins, in samples.
    let mut starts: Vec<u64> = vec![0];
    for frame in &tree.frames {
        let depth = frame.depth as usize;
        starts.truncate(depth + 1);
        let start = starts[depth];
        starts[depth] += width_of(frame);
        starts.push(start);
        let width = width_of(frame) as f64 * scale;
        if width < MIN_STATIC_WIDTH {
            continue;
        }
        let x = PAD + start as f64 * scale;
        let y = top + f64::from(rows - 1 - frame.depth) * ROW;
        let (class, name) = match frame.depth {
            0 => ("z0", "all".to_string()),
            _ => {
                let function = &tree.functions[frame.function as usize];
                let colour = judged[frame.function as usize].colour;
                (colour.class(shade(function)), display_name(function))
            }
        };
        let _ = write!(out, "<g class=\"{class}\"><title>{}", xml(&name));
        let share = |n: u64, total: u64| match total {
            0 => "–".to_string(),
            _ => number::share(100.0 * n as f64 / total as f64),
        };
        let _ = write!(
            out,
            "\n{} → {} % of samples",
            share(frame.base, totals[0]),
            share(frame.head, totals[1])
        );
        if frame.depth > 0 {
            for line in &judged[frame.function as usize].lines {
                let _ = write!(out, "\n{}", xml(line));
            }
        }
        let _ = write!(
            out,
            "</title><rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\"/>",
            ROW - 1.0
        );
        let room = ((width - 6.0) / CHAR) as usize;
        if room >= 3 {
            let shown = crate::report::escape::plain(&name);
            let shown = match shown.chars().count() <= room {
                true => shown.into_owned(),
                false => shown.chars().take(room - 2).collect::<String>() + "..",
            };
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{}\">{}</text>",
                x + 3.0,
                y + 12.0,
                xml(&shown)
            );
        }
        out.push_str("</g>\n");
    }
}
