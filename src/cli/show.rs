//! `perfblame show`: a stored experiment's report once more.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

use crate::profile::{Profile, merged_folded_lines};
use crate::repo::Repository;
use crate::report::matrix::{self, CellStacks, MatrixReport};
use crate::report::{
    BISECT_SCHEMA, BisectReport, CompareReport, Profiles, bisect, github, json, markdown, text,
    write_all,
};
use crate::store::{Experiment, Store};

use super::Exit;
use super::global::GlobalArgs;

/// Shows a stored experiment; without an id the latest
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  perfblame show
  perfblame show 3fa9c1 --format md
  perfblame show 3fa9c1 --out report")]
pub struct Args {
    /// The experiment, as `perfblame history` lists it
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Repository whose store is read
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,
    /// Where the store is, if not in the repository
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: ReportForm,
    /// Writes the whole report into this directory instead
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Forms in which a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportForm {
    /// A table for people
    Text,
    /// A comment for a pull request
    Md,
    /// The whole report
    Json,
    /// Annotations for GitHub Actions
    Github,
}

impl ReportForm {
    /// Renders a report.
    pub fn render(self, report: &CompareReport, color: bool) -> String {
        match self {
            Self::Text => text::render(report, 80, color),
            Self::Md => markdown::render(report),
            Self::Json => json::render(report),
            Self::Github => github::render(report),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, global: &GlobalArgs) -> anyhow::Result<Exit> {
    let directory = match &args.store {
        Some(directory) => directory.clone(),
        None => Repository::open(&args.repo)?.default_store(),
    };
    let store = Store::open_existing(&directory)?;
    let experiment = match &args.id {
        Some(id) => store.experiment(id)?,
        None => store
            .latest()?
            .with_context(|| format!("no experiments yet in {}", directory.display()))?,
    };
    if let Some(report) = bisect_of(&experiment) {
        return show_bisect(args, global, &store, &report);
    }
    if let Some(report) = matrix_of(&experiment) {
        return show_matrix(args, &store, &report);
    }
    let report = report_of(&experiment)?;
    match &args.out {
        Some(out) => {
            let profiles = profiles_of(&store, &experiment.id, 0..u32::MAX)?;
            let written = write_all(out, &report, &profiles)?;
            if !global.quiet {
                let paths: Vec<String> = written
                    .iter()
                    .map(|path| format!("{}\n", path.display()))
                    .collect();
                super::print(&paths.concat())?;
            }
        }
        None => {
            let rendered = args.format.render(&report, global.color.on_stdout());
            super::print(&rendered)?;
        }
    }
    Ok(Exit::Ok)
}

/// The report of a matrix, where the experiment is one and has a report.
fn matrix_of(experiment: &Experiment) -> Option<MatrixReport> {
    let outcome = experiment.outcome.as_ref()?;
    let is_matrix = outcome.get("schema")? == matrix::MATRIX_SCHEMA;
    is_matrix
        .then(|| serde_json::from_value(outcome.clone()).ok())
        .flatten()
}

fn show_matrix(args: &Args, store: &Store, report: &MatrixReport) -> anyhow::Result<Exit> {
    if let Some(out) = &args.out {
        matrix::write_matrix(out, report, &stacks_of(store, report)?)?;
        return Ok(Exit::Ok);
    }
    super::print(&match args.format {
        ReportForm::Text | ReportForm::Github => matrix::text(report),
        ReportForm::Md => matrix::markdown(report),
        ReportForm::Json => serde_json::to_string_pretty(report)? + "\n",
    })?;
    Ok(Exit::Ok)
}

/// The report of a search, where the experiment is one and has a report.
fn bisect_of(experiment: &Experiment) -> Option<BisectReport> {
    let outcome = experiment.outcome.as_ref()?;
    let is_bisect = outcome.get("schema")? == BISECT_SCHEMA;
    is_bisect
        .then(|| serde_json::from_value(outcome.clone()).ok())
        .flatten()
}

fn show_bisect(
    args: &Args,
    global: &GlobalArgs,
    store: &Store,
    report: &BisectReport,
) -> anyhow::Result<Exit> {
    let Some(out) = &args.out else {
        let text = match (args.format, &report.comparison) {
            (ReportForm::Text, _) => bisect::text::render(report, 80, global.color.on_stdout()),
            (ReportForm::Md, _) => bisect::markdown::render(report),
            (ReportForm::Github, Some(comparison)) => github::render(comparison),
            (ReportForm::Json | ReportForm::Github, _) => bisect::json(report),
        };
        super::print(&text)?;
        return Ok(Exit::Ok);
    };
    let blocks = report.certificate.as_ref().map_or(0..0, |certificate| {
        let count = u32::try_from(certificate.blocks).unwrap_or(u32::MAX);
        certificate.first_block..certificate.first_block.saturating_add(count)
    });
    let profiles = profiles_of(store, &report.experiment, blocks)?;
    for path in bisect::write_all(out, report, &profiles)? {
        if !global.quiet {
            println!("{}", path.display());
        }
    }
    Ok(Exit::Ok)
}

fn report_of(experiment: &Experiment) -> anyhow::Result<CompareReport> {
    let id = &experiment.id;
    let Some(outcome) = &experiment.outcome else {
        bail!(
            "experiment {id} is {} and has no report; `perfblame compare --resume {id}` goes on with it",
            experiment.state.as_str()
        );
    };
    if let Some(error) = outcome.as_str() {
        bail!("experiment {id} ended with an error: {error}");
    }
    // A bisect keeps the comparison of culprit and parent within its own report.
    let value = outcome.get("comparison").unwrap_or(outcome);
    let report: CompareReport = serde_json::from_value(value.clone())
        .with_context(|| format!("the report of experiment {id} cannot be read"))?;
    report.check_schema()?;
    Ok(report)
}

/// The merged profiles of a matrix's cells.
fn stacks_of(store: &Store, report: &MatrixReport) -> anyhow::Result<Vec<CellStacks>> {
    let trials = store.trials(&report.experiment)?;
    let mut stacks = Vec::new();
    for (number, cell) in report.cells.iter().enumerate() {
        let arm = matrix::cell_name(report, &cell.levels);
        let sampled = trials.iter().filter(|trial| trial.arm == arm);
        let mut profiles: Vec<Profile> = Vec::new();
        for digest in sampled.filter_map(|trial| trial.profile.as_ref()) {
            let bytes = store.blob(digest)?;
            let profile = serde_json::from_slice(&bytes)
                .with_context(|| format!("a profile of {arm} cannot be read"))?;
            profiles.push(profile);
        }
        if !profiles.is_empty() {
            stacks.push(CellStacks {
                cell: number,
                name: cell.levels.join(", "),
                lines: merged_folded_lines(&profiles),
            });
        }
    }
    Ok(stacks)
}

/// The merged profiles of an experiment's blocks.
fn profiles_of(store: &Store, id: &str, blocks: std::ops::Range<u32>) -> anyhow::Result<Profiles> {
    let mut arms: [Vec<Profile>; 2] = [Vec::new(), Vec::new()];
    for trial in store.trials(id)? {
        let arm = match trial.arm.as_str() {
            "base" => 0,
            "head" => 1,
            _ => continue,
        };
        if !blocks.contains(&trial.block) {
            continue;
        }
        if let Some(digest) = &trial.profile {
            let bytes = store.blob(digest)?;
            let profile = serde_json::from_slice(&bytes)
                .with_context(|| format!("the profile of trial {} cannot be read", trial.id))?;
            arms[arm].push(profile);
        }
    }
    let [base, head] = arms;
    Ok(Profiles {
        base: merged_folded_lines(&base),
        head: merged_folded_lines(&head),
    })
}
