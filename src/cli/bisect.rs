//! `perfblame bisect GOOD BAD`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;

use crate::build::Reuse;
use crate::executor::{Cancel, Supervisor};
use crate::experiment::bisect::{
    Begin, BisectRequest, Limits, Measured, Overrides, Resumable, Towards, bisect, peek, resumable,
};
use crate::experiment::{ExperimentError, Silent, Surroundings};
use crate::plan::{Plan, PlanError};
use crate::repo::Repository;
use crate::report::{BisectOutcome, BisectReport, bisect as report, write_atomically};
use crate::store::Store;

use super::Exit;
use super::global::GlobalArgs;
use super::plan_args::PlanArgs;
use super::progress::Terminal;

/// Finds the commit that made the change, and certifies it with fresh measurements
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// Looks at the cost of a function per operation: NAME, or NAME@MODULE
    #[arg(long, value_name = "NAME", conflicts_with_all = ["metric", "script"])]
    function: Option<String>,
    /// Looks at a metric, such as throughput, cpu_per_op, latency_p99 or rss; without it and
    /// --function, at the workload's main one
    #[arg(long, value_name = "NAME", conflicts_with = "script")]
    metric: Option<String>,
    /// Asks a shell command, run in an export of each commit: exit code 0 good, 1 to 124 bad, 125
    /// skip, as for git bisect run; it may err now and then
    #[arg(long = "run", value_name = "CMD", id = "script")]
    script: Option<String>,
    /// Looks only for a change of this direction from GOOD to BAD
    #[arg(long, value_name = "WAY")]
    direction: Option<Direction>,
    /// Gives up after this time, such as 30m or 2h
    #[arg(long, value_name = "D", value_parser = humantime::parse_duration)]
    max_time: Option<Duration>,
    /// Gives up before more builds than this
    #[arg(long, value_name = "N")]
    max_builds: Option<u32>,
    /// Takes a merged branch for one step
    #[arg(long)]
    first_parent: bool,
    /// Searches even where GOOD and BAD do not differ
    #[arg(long)]
    force: bool,
    /// Looks for every step, and says which part of the change each one makes
    #[arg(long)]
    all: bool,
    /// Goes on with a search that was stopped: this one, or the latest
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,
    /// Prints the path in the form of `git bisect log`; without GOOD and BAD that of a stored search
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    log: Option<String>,
    /// Draws what is believed of every commit, and writes posterior.svg; without GOOD and BAD that
    /// of a stored search
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    visualize: Option<String>,
    /// Where the report is written
    /// [default: perfblame-report, or where a resumed search was to write it]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Certifies without sampling: no comparison of functions
    #[arg(long)]
    no_profile: bool,
    /// Builds anew what was built, or did not build, before
    #[arg(long)]
    rebuild: bool,
    /// The end without the change: a commit, tag or branch
    good: Option<String>,
    /// The end with it
    bad: Option<String>,
}

/// Which change is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Direction {
    /// BAD is slower
    Slower,
    /// BAD is faster
    Faster,
}

/// Columns of the text: what every terminal has.
const WIDTH: usize = 80;

const EXAMPLES: &str = "\
Examples:
  perfblame bisect v1.2 main
  perfblame bisect --preset redis --function updateClientMemUsage 7.0.0 unstable
  perfblame bisect --metric latency_p99 --direction slower --max-time 2h v1.2 main
  perfblame bisect --run 'make && ./flaky-test' v1.2 main
  perfblame bisect --resume
  perfblame bisect --log > path && git bisect replay path

Exit codes: 0 culprit certified, 2 could not be carried out, 3 no culprit certified, 130 interrupted.";

/// What the command does.
enum Task {
    New { good: String, bad: String },
    Resume(Option<String>),
    Show(Option<String>),
}

/// Searches, and prints what was found.
pub fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<Exit> {
    let task = task(&args)?;
    let supervisor = Supervisor::current()?;
    let repository = Repository::open(&args.plan.repo)?;
    let store_dir = args
        .plan
        .store
        .clone()
        .unwrap_or_else(|| repository.default_store());
    if let Task::Show(id) = &task {
        let store = Store::open_existing(&store_dir)?;
        let cancel = Cancel::on_signals()?;
        let surroundings = Surroundings {
            repository: &repository,
            store: &store,
            supervisor: &supervisor,
            cancel: &cancel,
        };
        let search = resumable(&store, id.as_deref())?;
        let report = peek(&search, &surroundings, &mut Silent)?;
        show(&args, &report, &out_of(&args))?;
        return Ok(Exit::Ok);
    }
    // Nothing of ours is to show up in `git status`.
    let exclude = |out: &Path| -> anyhow::Result<()> {
        repository.exclude_store(&store_dir)?;
        repository.exclude_store(out)?;
        Ok(())
    };
    let (store, begin, out) = match task {
        Task::New { good, bad } => {
            let request = request(&args, good, bad)?;
            for revision in [&request.good, &request.bad] {
                repository.resolve(revision)?;
            }
            let out = request.out.clone();
            exclude(&out)?;
            (Store::open(&store_dir)?, Begin::New(Box::new(request)), out)
        }
        Task::Resume(id) | Task::Show(id) => {
            let store = Store::open_existing(&store_dir)?;
            let mut search: Resumable = resumable(&store, id.as_deref())?;
            search.overlay(&Overrides {
                max_time_ms: args.max_time.map(milliseconds),
                max_builds: args.max_builds,
                out: args.out.clone(),
            });
            let out = search.start.request.out.clone();
            exclude(&out)?;
            (store, Begin::Resume(Box::new(search)), out)
        }
    };
    // Until here a signal ends the process at once: nothing has begun.
    let cancel = Cancel::on_signals()?;
    let surroundings = Surroundings {
        repository: &repository,
        store: &store,
        supervisor: &supervisor,
        cancel: &cancel,
    };
    let reuse = match args.rebuild {
        true => Reuse::Nothing,
        false => Reuse::Everything,
    };
    let mut progress = Terminal::new(global.quiet);
    progress.restore_settings();
    let outcome = bisect(begin, reuse, &surroundings, &mut progress);
    progress.restore_settings();
    match outcome {
        Ok(report) => {
            let is_shown = show(&args, &report, &out)?;
            if !is_shown {
                let text = report::text::render(&report, WIDTH, global.color.on_stdout());
                super::print(&text)?;
                if !global.quiet {
                    let path = out.join("report.html");
                    super::print(&format!("\nthe whole report: {}\n", path.display()))?;
                }
            }
            Ok(exit(&report))
        }
        Err(ExperimentError::Interrupted) => {
            say!("{}", progress.resumable("bisect"));
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(error.into()),
    }
}

/// What is asked for. The value of --log and the like may have taken the place of GOOD.
fn task(args: &Args) -> anyhow::Result<Task> {
    let shows = args.log.as_ref().or(args.visualize.as_ref());
    let id = |id: &String| Some(id.clone()).filter(|id| !id.is_empty());
    match (&args.good, &args.bad, &args.resume, shows) {
        (Some(good), Some(bad), None, shown) => match shown.and_then(id) {
            Some(id) => bail!("both a stored search ({id}) and GOOD and BAD are given"),
            None => Ok(Task::New {
                good: good.clone(),
                bad: bad.clone(),
            }),
        },
        // `--log GOOD BAD`
        (Some(bad), None, None, Some(good)) if !good.is_empty() => Ok(Task::New {
            good: good.clone(),
            bad: bad.clone(),
        }),
        (None, None, Some(resume), _) => Ok(Task::Resume(id(resume))),
        (None, None, None, Some(shown)) => Ok(Task::Show(id(shown))),
        (_, _, Some(_), _) => {
            bail!("a search goes on with the ends that it has: --resume takes no GOOD and BAD")
        }
        _ => bail!(
            "GOOD and BAD are needed: perfblame bisect GOOD BAD (or --resume, --log, --visualize)"
        ),
    }
}

fn request(args: &Args, good: String, bad: String) -> anyhow::Result<BisectRequest> {
    let root = std::path::absolute(&args.plan.repo)?;
    let measured = match (&args.function, &args.script) {
        (Some(name), _) => Measured::Function { name: name.clone() },
        (_, Some(command)) => Measured::Script {
            command: command.clone(),
        },
        _ => Measured::Metric {
            name: args.metric.clone(),
        },
    };
    let plan = match args.plan.plan(&root) {
        Ok(plan) => plan,
        // A command of the user's own needs no workload.
        Err(PlanError::NoWorkload { .. }) if args.script.is_some() => Plan::default(),
        Err(error) => return Err(error.into()),
    };
    if measured
        == (Measured::Function {
            name: String::new(),
        })
    {
        bail!("--function needs a name");
    }
    let mut compare = vec!["perfblame".to_owned(), "compare".to_owned()];
    compare.extend(args.plan.to_repeat());
    Ok(BisectRequest {
        good,
        bad,
        plan,
        measured,
        towards: args.direction.map(|direction| match direction {
            Direction::Slower => Towards::Slower,
            Direction::Faster => Towards::Faster,
        }),
        limits: Limits {
            max_time_ms: args.max_time.map(milliseconds),
            max_builds: args.max_builds,
        },
        first_parent: args.first_parent,
        force: args.force,
        all: args.all,
        profile: !args.no_profile,
        out: out_of(args),
        command: shell_words::join(std::env::args()),
        compare_command: shell_words::join(compare),
    })
}

fn out_of(args: &Args) -> PathBuf {
    let given = args.out.clone();
    given.unwrap_or_else(|| PathBuf::from("perfblame-report"))
}

/// Prints log and picture where they are asked for; whether one of them was.
fn show(args: &Args, found: &BisectReport, out: &Path) -> anyhow::Result<bool> {
    if args.log.is_some() {
        super::print(&report::text::log(found))?;
    }
    if args.visualize.is_some() {
        super::print(&report::text::picture(found, WIDTH))?;
        std::fs::create_dir_all(out)?;
        let path = out.join("posterior.svg");
        let drawn = found.lines.first().map(|line| report::svg(line, true));
        write_atomically(&path, drawn.unwrap_or_default().as_bytes())?;
        super::print(&format!("\n{}\n", path.display()))?;
    }
    Ok(args.log.is_some() || args.visualize.is_some())
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn exit(report: &BisectReport) -> Exit {
    match report.outcome {
        BisectOutcome::Certified => Exit::Ok,
        _ => Exit::Undecided,
    }
}
