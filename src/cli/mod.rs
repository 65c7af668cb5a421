//! One file per command: clap `Args`, turned into plan types at once; the core never sees clap.

mod diff;
mod exit;
mod global;
mod guard;
mod history;
mod profile_input;
mod record;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use exit::Exit;

/// Says which commit made a program slower, and in which function.
#[derive(Debug, Parser)]
#[command(name = "perfblame", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Diff(diff::Args),
    Record(record::Args),
    History(history::Args),
    #[command(hide = true)]
    Guard(guard::Args),
}

/// Parses the command line, runs the command, and returns its exit code.
pub fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Diff(args) => diff::run(args),
        Command::Record(args) => record::run(args),
        Command::History(args) => history::run(&args),
        Command::Guard(args) => return guard::run(args),
    };
    exit::report(outcome)
}
