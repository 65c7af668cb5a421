//! `perfblame history`: the stored experiments.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::repo::{RepoError, Repository};
use crate::report::plain;
use crate::store::{Experiment, Store, StoreError};

use super::Exit;

/// Lists the stored experiments, the latest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The table is cut to 80 columns; --json and `perfblame show ID` have all of it.

Examples:
  perfblame history -n 5
  perfblame history --json | jq -r '.[0].id'")]
pub struct Args {
    /// Repository whose store is read
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,
    /// Where the store is, if not in the repository.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Prints one JSON array instead of the table
    #[arg(long)]
    json: bool,
}

/// Width of the table in columns.
const WIDTH: usize = 80;

/// Columns that a verdict has at least, however wide the rest is.
const LEAST_VERDICT: usize = 10;

/// The columns.
const HEADINGS: [&str; 6] = ["ID", "WHEN", "KIND", "REVISIONS", "STATE", "VERDICT"];

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let directory = match &args.store {
        Some(directory) => directory.clone(),
        None => store_of(&args.repo)?,
    };
    let experiments = match Store::open_existing(&directory) {
        Ok(store) => store.experiments()?,
        Err(StoreError::NoStore { .. }) if args.store.is_none() => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let shown = &experiments[..experiments.len().min(args.limit.unwrap_or(usize::MAX))];
    let text = if args.json {
        serde_json::to_string_pretty(shown).context("cannot write JSON")? + "\n"
    } else if shown.is_empty() {
        format!("no experiments yet in {}\n", directory.display())
    } else {
        table(shown)
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}

fn store_of(repository: &Path) -> Result<PathBuf, RepoError> {
    Ok(Repository::open(repository)?.default_store())
}

fn table(experiments: &[Experiment]) -> String {
    let rows: Vec<[String; 6]> = std::iter::once(HEADINGS.map(str::to_owned))
        .chain(experiments.iter().map(row))
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    if let Some((verdict, others)) = widths.split_last_mut() {
        let taken: usize = others.iter().map(|width| width + 2).sum();
        *verdict = (*verdict).min(WIDTH.saturating_sub(taken).max(LEAST_VERDICT));
    }
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths);
        let line: Vec<String> = cells
            .map(|(cell, &width)| format!("{:width$}", cut(cell, width)))
            .collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// A text of at most `width` characters; what is cut off is marked.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The cells of an experiment; what comes from outside is plain.
fn row(experiment: &Experiment) -> [String; 6] {
    let short = |id: &String| id.chars().take(10).collect::<String>();
    let sides = [&experiment.base, &experiment.head];
    let sides: Vec<String> = sides.into_iter().flatten().map(short).collect();
    [
        experiment.id.clone(),
        // Without seconds.
        experiment.created_local.chars().take(16).collect(),
        experiment.kind.clone(),
        sides.join(".."),
        experiment.state.as_str().to_owned(),
        experiment.summary.clone().unwrap_or_default(),
    ]
    .map(|cell| plain(&cell).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_verdict_is_cut() {
        assert_eq!(cut("regressed: throughput fell", 12), "regressed:…");
        assert_eq!(cut("regressed", 9), "regressed");
        assert_eq!(cut("漢字漢字", 3), "漢字…");
    }
}
