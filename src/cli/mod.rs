//! One file per command: clap `Args`, turned into plan types at once; the core never sees clap.

/// Says a line on standard error; whoever closed it does not want to hear it, and that is no error.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

mod bisect;
mod compare;
mod completions;
mod convert;
mod diff;
mod doctor;
mod exit;
mod flamegraph;
mod folded_file;
mod global;
mod guard;
mod guests;
mod history;
mod load;
mod matrix;
mod plan_args;
mod preset;
mod profile_input;
mod progress;
mod record;
mod show;
mod stats;
mod trial;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

pub use exit::Exit;

/// Says which commit made a program slower, and in which function.
#[derive(Debug, Parser)]
#[command(name = "perfblame", version, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    global: global::GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compare(Box<compare::Args>),
    Bisect(Box<bisect::Args>),
    Diff(diff::Args),
    Flamegraph(flamegraph::Args),
    Convert(convert::Args),
    Record(record::Args),
    Show(show::Args),
    History(history::Args),
    Matrix(matrix::Args),
    Load(Box<load::Args>),
    Doctor(doctor::Args),
    Preset(preset::Args),
    Stats(stats::Args),
    Completions(completions::CompletionsArgs),
    Man(completions::ManArgs),
    #[command(hide = true)]
    Trial(trial::Args),
    #[command(hide = true)]
    Guard(guard::Args),
}

/// Parses the command line, runs the command, and returns its exit code.
pub fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    let outcome = match command {
        Command::Compare(args) => compare::run(*args, &global),
        Command::Bisect(args) => bisect::run(*args, &global),
        Command::Diff(args) => diff::run(args),
        Command::Flamegraph(args) => flamegraph::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Show(args) => show::run(&args, &global),
        Command::Completions(args) => completions::completions(&args, Cli::command()),
        Command::Man(args) => completions::man(&args, Cli::command()),
        Command::Record(args) => record::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::History(args) => history::run(&args),
        Command::Matrix(args) => matrix::run(args, &global),
        Command::Load(args) => load::run(&args, global.quiet),
        Command::Preset(args) => preset::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Trial(args) => trial::run(args),
        Command::Guard(args) => return guard::run(args),
    };
    exit::report(outcome)
}

/// Prints results; a reader that has gone, as in `perfblame show | head`, is no error.
fn print(text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}
