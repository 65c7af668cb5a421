//! One file per command: clap `Args`, turned into plan types at once; the core never sees clap.

mod diff;
mod exit;
mod guard;
mod history;
mod profile_input;

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
    #[command(hide = true)]
    Guard(guard::Args),
    History(history::Args),
}

/// Parses the command line, runs the command, and returns its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        Command::Diff(args) => exit::report(diff::run(args)),
        Command::Guard(args) => guard::run(args),
        Command::History(args) => exit::report(history::run(&args)),
    }
}
