//! Exit codes of every command, and how an error is shown.

use std::process::ExitCode;

use crate::report::plain;

/// How a command ended when it could be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done; for `compare` no regression, for `bisect` a certified culprit.
    Ok,
    /// A regression was found.
    Regression,
    /// The budget ran out without a decision.
    Undecided,
    /// Interrupted; what was measured is kept.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Ok => 0,
            Exit::Regression => 1,
            Exit::Undecided => 3,
            Exit::Interrupted => 130,
        })
    }
}

/// Turns a command's outcome into the process's exit code; an error goes to standard error, each
/// cause on a line of its own, and is code 2.
pub fn report(outcome: anyhow::Result<Exit>) -> ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            say!("perfblame: {}", shown(&error.to_string()));
            let mut said = error.to_string();
            for cause in error.chain().skip(1).map(ToString::to_string) {
                // Many of our own texts end with their cause.
                if !said.contains(&cause) {
                    say!("  because: {}", shown(&cause));
                }
                said = cause;
            }
            ExitCode::from(2)
        }
    }
}

/// Errors quote subject lines and programs' output, which may hold anything but line breaks of ours.
pub fn shown(text: &str) -> String {
    text.lines()
        .map(|line| plain(line).to_string())
        .collect::<Vec<_>>()
        .join("\n")
}
