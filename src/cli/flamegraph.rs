//! `perfblame flamegraph`: one picture of one profile.

use std::path::PathBuf;

use crate::profile::folded_lines;
use crate::report::{flamegraph, write_atomically};

use super::Exit;
use super::profile_input::read_profile;

/// Draws a profile as a flame graph
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads every form that `perfblame convert` reads.

Example:
  perfblame flamegraph perf.data -o profile.svg")]
pub struct Args {
    /// The profile to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The picture to write
    #[arg(short, long, value_name = "OUT.svg")]
    output: PathBuf,
    /// Title of the picture
    #[arg(long)]
    title: Option<String>,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let profile = read_profile(&args.input)?;
    let title = args
        .title
        .unwrap_or_else(|| args.input.display().to_string());
    let lines = folded_lines(&profile);
    let svg = flamegraph(&title, None, &lines)?;
    write_atomically(&args.output, &svg)?;
    Ok(Exit::Ok)
}
