//! `perfblame compare BASE HEAD`.

use std::path::PathBuf;

use crate::build::Reuse;
use crate::executor::{Cancel, Supervisor};
use crate::experiment::{CompareRequest, ExperimentError, Surroundings, compare};
use crate::repo::Repository;
use crate::report::{CompareReport, Outcome, headline};
use crate::store::Store;

use super::Exit;
use super::global::GlobalArgs;
use super::plan_args::PlanArgs;
use super::progress::Terminal;
use super::show::ReportForm;

/// Says which functions got slower or faster from one commit to another, and what it did to
/// throughput
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// Where the report is written
    #[arg(long, value_name = "DIR", default_value = "perfblame-report")]
    out: PathBuf,
    /// How the verdict is printed; the report in --out has every form
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: ReportForm,
    /// Measures without sampling: no functions, no flame graphs
    #[arg(long)]
    no_profile: bool,
    /// Builds anew what was built before
    #[arg(long)]
    rebuild: bool,
    /// Goes on with an interrupted comparison of the same commits
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// The baseline: a commit, tag or branch
    base: String,
    /// What is judged against it
    head: String,
}

const EXAMPLES: &str = "\
Examples:
  perfblame compare main my-branch
  perfblame compare --preset redis --blocks 12 7.0.0 unstable
  perfblame compare --format github main HEAD
  perfblame compare --set windows.measure=20s --out report v1.2 v1.3

Exit codes: 0 no regression, 1 regression, 2 could not be carried out, 3 undecided, 130 interrupted.";

/// Compares, and prints the verdict.
pub fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<Exit> {
    let supervisor = Supervisor::current()?;
    let repository = Repository::open(&args.plan.repo)?;
    let root = std::path::absolute(&args.plan.repo)?;
    let plan = args.plan.plan(&root)?;
    let store_dir = args
        .plan
        .store
        .clone()
        .unwrap_or_else(|| repository.default_store());
    for revision in [&args.base, &args.head] {
        repository.resolve(revision)?;
    }
    // Nothing of ours is to show up in `git status`.
    repository.exclude_store(&store_dir)?;
    repository.exclude_store(&args.out)?;
    let store = Store::open(&store_dir)?;
    // Until here a signal ends the process at once: nothing has begun.
    let cancel = Cancel::on_signals()?;
    let mut command = vec!["perfblame".to_owned(), "compare".to_owned()];
    command.extend(args.plan.to_repeat());
    if args.no_profile {
        command.push("--no-profile".to_owned());
    }
    let request = CompareRequest {
        base: args.base,
        head: args.head,
        plan,
        reuse: match args.rebuild {
            true => Reuse::Nothing,
            false => Reuse::Artifacts,
        },
        profile: !args.no_profile,
        out: args.out,
        resume: args.resume,
        command: shell_words::join(command),
    };
    let surroundings = Surroundings {
        repository: &repository,
        store: &store,
        supervisor: &supervisor,
        cancel: &cancel,
    };
    let mut progress = Terminal::new(global.quiet);
    progress.restore_settings();
    let outcome = compare(&request, &surroundings, &mut progress);
    progress.restore_settings();
    match outcome {
        Ok(report) => {
            let text = args.format.render(&report, global.color.on_stdout());
            super::print(&text)?;
            if !global.quiet && args.format == ReportForm::Text {
                println!(
                    "\nthe whole report: {}",
                    request.out.join("report.html").display()
                );
            }
            Ok(exit(&report))
        }
        Err(ExperimentError::Interrupted) => {
            say!("{}", progress.resumable("compare …"));
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(error.into()),
    }
}

fn exit(report: &CompareReport) -> Exit {
    match headline(report).outcome {
        Outcome::Regressed => Exit::Regression,
        Outcome::Undecided => Exit::Undecided,
        Outcome::Improved | Outcome::Equivalent | Outcome::SameProgram => Exit::Ok,
    }
}
