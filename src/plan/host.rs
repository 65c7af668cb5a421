//! `[host]` and `[reboot]`: a matrix over kernels that are installed on this machine.

use serde::{Deserialize, Serialize};

use super::command_line::CommandLine;

/// What a cell asks of the machine itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Host {
    /// The kernel that must run, as `uname -r` says it; a level names it by
    /// `set.host.kernel-release`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_release: Option<String>,
}

/// How the machine gets to another kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Reboot {
    /// Chooses the kernel `{release}` and reboots.
    pub command: CommandLine,
}

impl Host {
    /// What is wrong with the release, if anything.
    pub fn check(&self) -> Option<(&'static str, String)> {
        let release = self.kernel_release.as_deref()?;
        let is_word = |c: char| c.is_ascii_graphic() && c != '/';
        match release.is_empty() || !release.chars().all(is_word) {
            true => Some((
                "kernel-release",
                "is a release as `uname -r` says it, such as 6.1.0-18-amd64".to_owned(),
            )),
            false => None,
        }
    }
}
