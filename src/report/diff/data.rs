//! The picture as data for its script: names, verdicts and frames, as compact JSON.

use std::fmt::Write as _;

use crate::report::escape::plain;

use super::function::Judged;
use super::tree::{DiffTree, Side};

/// Renders the data as JSON that may stand in a `<script>` of HTML or SVG: no `<`, `>` or `&`.
///
/// `n` names, `c` classes and `t` hover lines by function; `f` six numbers a frame in pre-order:
/// depth, function, base, head, base self, head self; `l` the place in the legend by function.
pub(super) fn json(tree: &DiffTree, judged: &[Judged], labels: [&str; 2]) -> String {
    // Functions that no frame shows are left out.
    let mut number_of = vec![u32::MAX; tree.functions.len()];
    let mut shown = Vec::new();
    for frame in tree.frames.iter().filter(|frame| frame.depth > 0) {
        let number = &mut number_of[frame.function as usize];
        if *number == u32::MAX {
            *number = shown.len() as u32;
            shown.push(frame.function as usize);
        }
    }
    let mut out = String::with_capacity(tree.frames.len() * 24 + shown.len() * 80);
    out.push_str("{\"n\":[");
    list(&mut out, &shown, |out, &at| {
        string(out, &super::svg::display_name(&tree.functions[at]));
    });
    out.push_str("],\"c\":[");
    list(&mut out, &shown, |out, &at| {
        let class = judged[at]
            .colour
            .class(super::svg::shade(&tree.functions[at]));
        string(out, class);
    });
    out.push_str("],\"l\":[");
    list(&mut out, &shown, |out, &at| {
        let _ = write!(out, "{}", judged[at].colour.legend().0);
    });
    out.push_str("],\"t\":[");
    list(&mut out, &shown, |out, &at| {
        string(out, &judged[at].lines.join("\n"));
    });
    let _ = write!(
        out,
        "],\"b\":{},\"h\":{},\"labels\":[",
        tree.total(Side::Base),
        tree.total(Side::Head)
    );
    list(&mut out, &labels, |out, label| string(out, label));
    out.push_str("],\"f\":[");
    list(&mut out, &tree.frames, |out, frame| {
        let function = match frame.depth {
            0 => 0,
            _ => number_of[frame.function as usize],
        };
        let _ = write!(
            out,
            "{},{function},{},{},{},{}",
            frame.depth, frame.base, frame.head, frame.base_self, frame.head_self
        );
    });
    out.push_str("]}");
    out
}

fn list<T>(out: &mut String, items: &[T], mut each: impl FnMut(&mut String, &T)) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        each(out, item);
    }
}

/// A JSON string; a line break stays, everything else that acts is shown as text.
fn string(out: &mut String, text: &str) {
    out.push('"');
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push_str("\\n");
        }
        for c in plain(line).chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '<' => out.push_str("\\u003c"),
                '>' => out.push_str("\\u003e"),
                '&' => out.push_str("\\u0026"),
                _ => out.push(c),
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_cannot_end_the_script() {
        let mut out = String::new();
        string(&mut out, "a\"</script>]]>\\&\u{2028}\nb");
        assert!(!out.contains(['<', '>', '&', '\u{2028}', '\n']));
        let back: String = serde_json::from_str(&out).unwrap();
        assert_eq!(back, "a\"</script>]]>\\&\\u{2028}\nb");
    }
}
