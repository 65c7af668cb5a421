//! `perfblame preset`: prints the plans that come with perfblame.

use std::io::Write;

use crate::plan::preset;

use super::Exit;

/// Lists the presets, or prints one to copy and change.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The preset to print
    name: Option<String>,
}

/// Prints.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let text = match args.name {
        Some(name) => preset::text(&name)?.to_owned(),
        None => preset::names().replace(' ', "\n") + "\n",
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Ok)
}
