//! `perfblame guard`: not for users; the process that watches over a command.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::executor::guard::{self, GuardSpec, RunAs};

/// Arguments of the guard process.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the report is written.
    #[arg(long)]
    report: PathBuf,
    /// Milliseconds between SIGTERM and SIGKILL.
    #[arg(long, default_value_t = 5000)]
    grace_ms: u64,
    /// CPUs to run on.
    #[arg(long, value_delimiter = ',')]
    cpus: Option<Vec<usize>>,
    /// User to run as.
    #[arg(long, requires = "gid")]
    uid: Option<u32>,
    /// Group to run as.
    #[arg(long, requires = "uid")]
    gid: Option<u32>,
    /// The command.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// Runs the guard.
pub fn run(args: Args) -> ExitCode {
    guard::run(&GuardSpec {
        command: args.command,
        cpus: args.cpus,
        user: args.uid.zip(args.gid).map(|(uid, gid)| RunAs { uid, gid }),
        report: args.report,
        grace: Duration::from_millis(args.grace_ms),
    })
}
