//! One file per command: clap `Args`, turned into plan types at once; the core never sees clap.

use std::process::ExitCode;

/// Parses the command line, runs the command, and returns its exit code.
pub fn main() -> ExitCode {
    ExitCode::from(2)
}
