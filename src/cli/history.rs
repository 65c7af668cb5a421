//! `perfblame history`: the stored experiments.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::repo::{RepoError, Repository};
use crate::store::{Experiment, Store, StoreError};

use super::Exit;

/// Lists the stored experiments, the latest first.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Repository whose store is read.
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,
    /// Where the store is, if not in the repository.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// At most this many.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Prints one JSON array instead of the table.
    #[arg(long)]
    json: bool,
}

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
    match std::io::stdout().write_all(text.as_bytes()) {
        // `perfblame history | head` is no error.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Exit::Ok),
    }
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
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths);
        let line: Vec<String> = cells
            .map(|(cell, &width)| format!("{cell:width$}"))
            .collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn row(experiment: &Experiment) -> [String; 6] {
    let short = |id: &String| id.chars().take(10).collect::<String>();
    let sides = [&experiment.base, &experiment.head];
    let sides: Vec<String> = sides.into_iter().flatten().map(short).collect();
    [
        experiment.id.clone(),
        experiment.created_local.clone(),
        experiment.kind.clone(),
        sides.join(".."),
        experiment.state.as_str().to_owned(),
        experiment.summary.clone().unwrap_or_default(),
    ]
}
