//! `perfblame convert`: between forms of profiles.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

use crate::profile::format::{self, Format};
use crate::report::write_atomically;

use super::Exit;
use super::profile_input::read_profile;

/// Converts a profile to another form, without loss of counts
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads, by content: folded stacks (one or two counts), `perf script` text, perf.data, pprof,
speedscope, Firefox processed profiles, perfblame's JSON; each also gzipped; - is standard input.
Writes, by the ending of OUT or --to: .folded, .json, .pb.gz (pprof), .speedscope.json,
.firefox.json; a further .gz compresses.

Examples:
  perfblame convert perf.data -o profile.speedscope.json
  perf script | perfblame convert - -o profile.pb.gz")]
pub struct Args {
    /// The profile to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Where to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// The form to write, where the ending does not say it
    #[arg(long, value_name = "FORM")]
    to: Option<Form>,
}

/// Forms that can be written.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Form {
    /// One line a stack
    Folded,
    /// perfblame's own
    Json,
    /// Google's pprof
    Pprof,
    /// speedscope's
    Speedscope,
    /// The Firefox Profiler's
    Firefox,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let name = args.output.to_string_lossy();
    let format = match args.to {
        Some(Form::Folded) => Format::Folded,
        Some(Form::Json) => Format::Json,
        Some(Form::Pprof) => Format::Pprof,
        Some(Form::Speedscope) => Format::Speedscope,
        Some(Form::Firefox) => Format::Firefox,
        None => match Format::of_name(&name) {
            Some(format) => format,
            None => bail!(
                "the ending of {name} names no form: end it in .folded, .json, .pb.gz, \
                 .speedscope.json or .firefox.json, or give --to"
            ),
        },
    };
    let profile = read_profile(&args.input)?;
    let mut bytes = format::write(&profile, format)
        .with_context(|| format!("cannot write {name} as {}", format.name()))?;
    // pprof is compressed as it is.
    if name.ends_with(".gz") && format != Format::Pprof {
        bytes = format::compress(&bytes);
    }
    write_atomically(&args.output, &bytes)?;
    Ok(Exit::Ok)
}
