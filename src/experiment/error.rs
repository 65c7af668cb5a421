//! Why an experiment could not be carried out.

use std::path::PathBuf;

use crate::trial::FailureKind;

/// Why an experiment could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The repository.
    #[error(transparent)]
    Repo(#[from] crate::repo::RepoError),
    /// The plan.
    #[error(transparent)]
    Plan(#[from] crate::plan::PlanError),
    /// A plan without a matrix.
    #[error(
        "the plan has no [matrix] section: it names axes, each with levels, such as \
         [[matrix.axis]] name = \"THP\" level = [{{ name = \"never\", settings.thp = \"never\" }}, …]"
    )]
    NoMatrix,
    /// The plan of a cell of a matrix.
    #[error("cell {cell}: {source}")]
    Cell {
        /// The cell.
        cell: String,
        /// What is wrong with its plan.
        source: crate::plan::PlanError,
    },
    /// A build.
    #[error(transparent)]
    Build(#[from] crate::build::BuildError),
    /// The store.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    /// CPUs, sampling, and whatever else every trial would meet.
    #[error(transparent)]
    Trial(#[from] crate::trial::TrialError),
    /// A trial's process.
    #[error(transparent)]
    Process(#[from] crate::executor::ProcessError),
    /// Report files.
    #[error(transparent)]
    Report(#[from] crate::report::WriteError),
    /// A trial failed as often as it may.
    #[error("the trial of {arm} ({commit}) failed{times}: {message}", times = times(*attempts))]
    TrialFailed {
        /// `base` or `head`.
        arm: String,
        /// The commit, abbreviated, with its subject line.
        commit: String,
        /// How often it was tried.
        attempts: u32,
        /// Whether another commit's trial would have failed too.
        kind: FailureKind,
        /// The last failure.
        message: String,
    },
    /// The ends of a search, or what is looked for, do not make sense.
    #[error("{0}")]
    Ends(String),
    /// The user's own command ended the search.
    #[error("`{command}` on {commit} {reason}{said}")]
    Script {
        /// The command.
        command: String,
        /// The commit, abbreviated, with its subject line.
        commit: String,
        /// How it ended.
        reason: String,
        /// Its last lines, each after a line break.
        said: String,
    },
    /// Files of the workspace.
    #[error("{}: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An experiment to go on with is not of this kind or lacks something.
    #[error("experiment {id} cannot go on: {reason}")]
    NotResumable {
        /// The experiment.
        id: String,
        /// Why.
        reason: String,
    },
    /// A limit that the user set was reached; the search says what it knows.
    #[error("the budget of {0} is spent")]
    Budget(&'static str),
    /// The next trial is of another kernel, and this machine has to be rebooted into it.
    #[error("the next trial is of the kernel {release}, and {running} runs")]
    OtherKernel {
        /// The release that is wanted.
        release: String,
        /// The one that runs.
        running: String,
    },
    /// A reboot that has been tried.
    #[error(
        "this machine was rebooted twice for the kernel {wanted} (`{command}`), and still runs {running}: \
         is it installed, and does the command choose it? Then `matrix --resume {id}` tries again"
    )]
    RebootLoop {
        /// The experiment.
        id: String,
        /// The release that is wanted.
        wanted: String,
        /// The one that runs.
        running: String,
        /// The plan's command.
        command: String,
    },
    /// The command that reboots.
    #[error("`{command}` (reboot.command): {reason}")]
    Reboot {
        /// The command.
        command: String,
        /// What went wrong.
        reason: String,
    },
    /// The user wished to stop.
    #[error("interrupted")]
    Interrupted,
}

fn times(attempts: u32) -> String {
    match attempts {
        0 | 1 => String::new(),
        2 => " twice".to_owned(),
        more => format!(" {more} times"),
    }
}
