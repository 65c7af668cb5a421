//! `perfblame load`: the load generator alone, with memtier_benchmark's options.

mod args;
mod commands;
mod output;

use std::sync::Arc;

use crate::executor::Cancel;
use crate::load::{LoadError, LoadOutcome, OnSecond, RunOptions, run as run_once};

pub use args::Args;

use super::Exit;

/// Runs the command. `quiet` keeps progress from standard error.
pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Exit> {
    let spec = args.spec()?;
    let target = args.target();
    let cancel = Cancel::on_signals()?;
    let mut outcomes: Vec<LoadOutcome> = Vec::new();
    for number in 1..=args.run_count {
        let options = RunOptions {
            cpus: args.cpus(),
            cancel: cancel.flag(),
            series: Some(args.percentiles.clone()),
            on_second: (!quiet).then(|| progress(number)),
        };
        match run_once(&spec, &target, &options) {
            Ok(outcome) => outcomes.push(outcome),
            Err(LoadError::Cancelled) => return Ok(Exit::Interrupted),
            Err(error) => return Err(error.into()),
        }
    }
    output::write(args, &spec, &target, &outcomes)?;
    Ok(Exit::Ok)
}

/// Says on a terminal how far a run is.
fn progress(number: u32) -> OnSecond {
    use std::io::{IsTerminal, Write};

    let terminal = std::io::stderr().is_terminal();
    OnSecond(Arc::new(move |second, ops| {
        if terminal {
            let mut error = std::io::stderr();
            let _ = write!(error, "\r[RUN #{number}] {} s, {ops} ops/sec ", second + 1);
            let _ = error.flush();
        }
    }))
}
