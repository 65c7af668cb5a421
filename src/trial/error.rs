//! Why a trial cannot give numbers.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::profile::Profile;

use super::outcome::{FailureKind, TrialFailure};

/// Lines of a subject's output that an error shows.
const TAIL_LINES: usize = 15;
/// Characters of such a line that it shows.
const TAIL_COLUMNS: usize = 200;
/// Bytes at the end of a log that are looked at.
const TAIL_BYTES: u64 = 64 * 1024;

/// Why a trial cannot give numbers.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// A file or directory of the trial.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The plan cannot be carried out here.
    #[error("{0}")]
    Setup(String),
    /// Sampling is not possible.
    #[error("cannot sample: {0}; --no-profile compares throughput without sampling")]
    Sampling(String),
    /// A setting of the machine cannot be made here, or not be restored.
    #[error(transparent)]
    Setting(#[from] super::settings::SettingError),
    /// The profile of this trial cannot be trusted; another trial's may.
    #[error("the profile cannot be used: {0}")]
    Profile(String),
    /// The subject could not be started.
    #[error(transparent)]
    Process(#[from] crate::executor::ProcessError),
    /// The subject ended before it was ready.
    #[error("the server {how} before it was ready; its last output:\n{output}")]
    DiedAtStart {
        /// How it ended.
        how: String,
        /// Its last lines.
        output: String,
    },
    /// The subject was not ready in time.
    #[error("the server was not ready after {waited} ({tried}); its last output:\n{output}")]
    NeverReady {
        /// How long it had.
        waited: String,
        /// What the probe met last.
        tried: String,
        /// Its last lines.
        output: String,
    },
    /// The subject ended while it was measured.
    #[error("the server {how} while it was {doing}; its last output:\n{output}")]
    DiedUnderLoad {
        /// How it ended.
        how: String,
        /// The window.
        doing: &'static str,
        /// Its last lines.
        output: String,
    },
    /// The load met an error.
    #[error("while the server was {doing}: {reason}; the server's last output:\n{output}")]
    Load {
        /// The window.
        doing: &'static str,
        /// What the generator met.
        reason: String,
        /// The server's last lines.
        output: String,
    },
    /// The server answered nothing in a whole window.
    #[error(
        "the server answered nothing in the whole {window} window: it hangs, or the window is too \
         short for a single answer (windows.measure, windows.profile)"
    )]
    Silent {
        /// The window.
        window: &'static str,
    },
    /// A command failed, or printed no number.
    #[error("`{command}` {how}; its last output:\n{output}")]
    Command {
        /// The command line.
        command: String,
        /// What went wrong.
        how: String,
        /// Its last lines.
        output: String,
    },
    /// The user wished to stop.
    #[error("interrupted")]
    Cancelled,
}

impl TrialError {
    /// Whose fault it is.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::File { .. } | Self::Setup(_) | Self::Sampling(_) | Self::Setting(_) => {
                FailureKind::Setup
            }
            Self::Process(_) | Self::DiedAtStart { .. } | Self::NeverReady { .. } => {
                FailureKind::Start
            }
            Self::DiedUnderLoad { .. }
            | Self::Load { .. }
            | Self::Silent { .. }
            | Self::Profile(_)
            | Self::Command { .. } => FailureKind::Run,
            Self::Cancelled => FailureKind::Cancelled,
        }
    }
}

/// Refuses a profile that lost too much to be used; lesser doubts are said of all trials together.
pub fn refuse_untrusted(profile: &Profile) -> Result<(), TrialError> {
    let mut doubts = profile.accounting.doubts().into_iter();
    match doubts.find(|doubt| doubt.unusable) {
        Some(doubt) => Err(TrialError::Profile(doubt.text)),
        None => Ok(()),
    }
}

impl From<&TrialError> for TrialFailure {
    fn from(error: &TrialError) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
        }
    }
}

/// The last part of a file, which may be huge.
fn end_of(log: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The beginning of a line that is too long to be shown.
fn cut(line: &str) -> String {
    match line.char_indices().nth(TAIL_COLUMNS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The last lines of a log, indented; says so where there are none.
pub fn tail(log: &Path) -> String {
    let bytes = end_of(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return "  (none)".to_owned();
    }
    let shown = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    shown
        .iter()
        .map(|line| format!("  {}", cut(line)))
        .collect::<Vec<_>>()
        .join(
            "
",
        )
}
