//! `perfblame trial JOB.json`: one job, on the machine it is on.

use std::path::PathBuf;

use crate::executor::{Cancel, Supervisor};
use crate::trial;

use super::Exit;

/// Does one trial and writes its outcome. Started by the executor; the job says everything.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job
    job: PathBuf,
}

/// Runs the trial. A trial that failed is an outcome too: code 0.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let cancel = Cancel::on_signals()?;
    trial::run(&args.job, &Supervisor::current()?, &cancel)?;
    Ok(Exit::Ok)
}
