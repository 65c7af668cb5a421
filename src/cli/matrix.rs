//! `perfblame matrix PLAN.toml`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::build::Reuse;
use crate::executor::{Cancel, Supervisor};
use crate::experiment::ExperimentError;
use crate::experiment::matrix::{
    MatrixPlan, MatrixRequest, MatrixSurroundings, Resume, matrix, reboot,
};
use crate::plan::{Layer, Plan, PlanSources, set_flag};
use crate::repo::Repository;
use crate::report::matrix::text;
use crate::store::Store;

use super::Exit;
use super::global::GlobalArgs;
use super::progress::Terminal;

/// Measures every combination of settings, loads and revisions, and tells what each setting does
///
/// The plan's [[matrix.axis]] sections name the axes and their levels. Every combination is a cell;
/// each cell gets the same number of data points, in random order over the whole matrix. Settings of
/// the machine are read back after they are made, and restored after each trial.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The plan, with a [matrix] section
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// The repository, where cells are built from revisions; by default the plan's directory
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// A plan that comes with perfblame, laid under the file
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Sets a key of the plan, such as windows.measure=60s
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Data points a cell
    #[arg(long, value_name = "N")]
    points: Option<u32>,
    /// Seed of the order and of the load
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Where everything measured is kept, instead of .perfblame beside the plan
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Where raw.csv and the tables are written
    #[arg(long, value_name = "DIR", default_value = "perfblame-matrix")]
    out: PathBuf,
    /// Builds anew what was built before
    #[arg(long)]
    rebuild: bool,
    /// Goes on with an interrupted matrix, or adds data points to one; without an ID with the newest
    /// that is not done
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,
}

const EXAMPLES: &str = "\
Example of a plan, with Debian's redis-server:
  [subject]
  kind = \"installed\"
  [server]
  start = \"redis-server --port 0 --unixsocket {socket} --save '' --dir {run}\"
  [[matrix.axis]]
  name = \"THP\"
  level = [{ name = \"never\", settings.thp = \"never\" }, { name = \"always\", settings.thp = \"always\" }]
  [[matrix.axis]]
  name = \"pattern\"
  level = [{ name = \"R\", set.load.key-pattern = \"R:R\" }, { name = \"G\", set.load.key-pattern = \"G:G\" }]

  perfblame matrix plan.toml
  perfblame stats perfblame-matrix/raw.csv --compare THP --within pattern,metric --value value

Exit codes: 0 done (cells that failed are told in the tables), 2 could not be carried out or no cell
could be measured, 130 interrupted, or the next trial is of another kernel: --resume goes on.";

/// Runs the matrix, and prints its tables.
pub fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<Exit> {
    let sources = sources(&args)?;
    let plan = MatrixPlan::read(&sources)?;
    let beside = match args.plan.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let is_built = plan.cells.iter().any(|cell| cell.revision.is_some());
    let repository = match is_built {
        true => Some(Repository::open(args.repo.as_deref().unwrap_or(beside)).context(
            "the cells are built from revisions; subject.kind = \"installed\" measures a program that is on the machine",
        )?),
        false => None,
    };
    let store_dir = match (&args.store, &repository) {
        (Some(dir), _) => dir.clone(),
        (None, Some(repository)) => repository.default_store(),
        (None, None) => beside.join(".perfblame"),
    };
    if let Some(repository) = &repository {
        repository.exclude_store(&store_dir)?;
        repository.exclude_store(&args.out)?;
    }
    let store = Store::open(&store_dir)?;
    let supervisor = Supervisor::current()?;
    let mut progress = Terminal::new(global.quiet);
    progress.restore_settings();
    let cancel = Cancel::on_signals()?;
    let request = MatrixRequest {
        plan,
        reuse: match args.rebuild {
            true => Reuse::Nothing,
            false => Reuse::Artifacts,
        },
        out: args.out.clone(),
        resume: args.resume.map(|id| match id.is_empty() {
            true => Resume::Newest,
            false => Resume::Id(id),
        }),
    };
    let surroundings = MatrixSurroundings {
        repository: repository.as_ref(),
        store: &store,
        supervisor: &supervisor,
        cancel: &cancel,
    };
    let outcome = matrix(&request, &surroundings, &mut progress);
    progress.restore_settings();
    match outcome {
        Ok(report) => {
            super::print(&text(&report))?;
            if !global.quiet {
                let raw = request.out.join("raw.csv");
                super::print(&format!(
                    "\nevery value: {}; experiment {}\n",
                    raw.display(),
                    report.experiment
                ))?;
            }
            if report.cells.iter().all(|cell| cell.values.is_empty()) {
                bail!(
                    "no cell could be measured; `--resume {}` tries them again",
                    report.experiment
                );
            }
            Ok(Exit::Ok)
        }
        Err(ExperimentError::Interrupted) => {
            let store = match &args.store {
                Some(dir) => format!(" --store {}", dir.display()),
                None => String::new(),
            };
            let command = format!("matrix {}{store}", args.plan.display());
            say!("{}", progress.resumable(&command));
            Ok(Exit::Interrupted)
        }
        Err(error @ ExperimentError::OtherKernel { .. }) => {
            other_kernel(&error, &request.plan.common)?;
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(error.into()),
    }
}

/// The next trial is of another kernel: reboots, where the plan says how.
fn other_kernel(error: &ExperimentError, plan: &Plan) -> anyhow::Result<()> {
    let ExperimentError::OtherKernel { release, .. } = error else {
        return Ok(());
    };
    match plan.reboot {
        Some(_) => {
            say!("{error}: rebooting; `perfblame matrix --resume` goes on");
            Ok(reboot(plan, release)?)
        }
        None => {
            say!(
                "{error}: boot it, and `perfblame matrix --resume` goes on ([reboot] command could boot it)"
            );
            Ok(())
        }
    }
}

fn sources(args: &Args) -> anyhow::Result<PlanSources> {
    let mut flags = Vec::new();
    let dedicated = [
        ("--points", "matrix.points", args.points.map(u64::from)),
        ("--seed", "experiment.seed", args.seed),
    ];
    for (name, key, value) in dedicated {
        if let Some(value) = value {
            flags.push(Layer {
                name: format!("flag {name}"),
                text: format!("{key} = {value}"),
                has_lines: false,
            });
        }
    }
    for text in &args.set {
        flags.push(set_flag(text)?);
    }
    Ok(PlanSources {
        preset: args.preset.clone(),
        file: Some(args.plan.clone()),
        flags,
    })
}
