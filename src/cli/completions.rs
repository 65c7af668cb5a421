//! `perfblame completions` and `perfblame man`: what a shell and `man` want to know.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Command;

use super::Exit;

/// Prints completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  perfblame completions bash > /etc/bash_completion.d/perfblame
  perfblame completions zsh > ~/.zfunc/_perfblame")]
pub struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

/// Writes the manual pages into a directory
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  perfblame man /usr/local/share/man/man1")]
pub struct ManArgs {
    /// The directory, which is made if it is not there
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Prints the completions.
pub fn completions(args: &CompletionsArgs, mut command: Command) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "perfblame", &mut script);
    super::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}

/// Writes a page for perfblame and one for each command.
pub fn man(args: &ManArgs, command: Command) -> anyhow::Result<Exit> {
    let directory = &args.directory;
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .with_context(|| format!("cannot write manual pages into {}", directory.display()))?;
    Ok(Exit::Ok)
}
