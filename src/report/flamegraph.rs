//! One flame graph of one profile, by inferno.

use inferno::flamegraph::{self as graph, Options};
use thiserror::Error;

use super::escape::plain;

/// Why a flame graph could not be drawn.
#[derive(Debug, Error)]
#[error("cannot draw the flame graph {title:?}")]
pub struct FlameGraphError {
    title: String,
    source: std::io::Error,
}

/// Draws folded lines as an SVG with search and zoom. The same stacks give the same bytes.
///
/// Frames have one shade a name, so that base and head are easy to look at side by side. Stacks
/// without a sample give a picture that says so.
pub fn flamegraph(
    title: &str,
    subtitle: Option<&str>,
    lines: &[String],
) -> Result<Vec<u8>, FlameGraphError> {
    if lines.is_empty() {
        return Ok(empty(title));
    }
    let mut options = Options::default();
    options.title = plain(title).into_owned();
    options.subtitle = subtitle.map(|text| plain(text).into_owned());
    options.deterministic = true;
    options.min_width = 0.05;
    let lines: Vec<_> = lines.iter().map(|line| plain(line)).collect();
    let mut svg = Vec::new();
    graph::from_lines(
        &mut options,
        lines.iter().map(|line| line.as_ref()),
        &mut svg,
    )
    .map_err(|source| FlameGraphError {
        title: title.to_string(),
        source,
    })?;
    Ok(svg)
}

fn empty(title: &str) -> Vec<u8> {
    format!(
        "<?xml version=\"1.0\" standalone=\"no\"?>\n\
         <svg version=\"1.1\" width=\"1200\" height=\"80\" viewBox=\"0 0 1200 80\" \
         xmlns=\"http://www.w3.org/2000/svg\" font-family=\"monospace\" text-anchor=\"middle\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#eeeeee\"/>\n\
         <text x=\"600\" y=\"30\" font-size=\"17\">{}</text>\n\
         <text x=\"600\" y=\"58\" font-size=\"12\">no samples</text>\n</svg>\n",
        super::escape::xml(title)
    )
    .into_bytes()
}
