//! What is run in a trial: a server under load, or a command.

use serde::{Deserialize, Serialize};

use super::command_line::CommandLine;
use super::duration::Length;

/// A server: started fresh for each trial, loaded from other CPUs, stopped at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Server {
    /// Program that makes the server's data directory in `{run}` before it starts, such as `initdb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init: Option<CommandLine>,
    /// How long that may take.
    pub init_timeout: Length,
    /// User that the server runs as where perfblame runs as root; some servers refuse to be root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Program and arguments. Placeholders: `{artifact} {artifact-dir} {run} {socket} {port} {cpus}`.
    pub start: CommandLine,
    /// Variables added to the environment; the same placeholders in the values.
    pub env: std::collections::BTreeMap<String, String>,
    /// Where it listens.
    pub listen: Listen,
    /// Path of the Unix socket.
    pub socket: String,
    /// How to tell that it is ready.
    pub ready: Ready,
    /// Time from SIGTERM to SIGKILL when it is stopped.
    pub stop_timeout: Length,
}

/// Where a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Listen {
    /// On the Unix socket `{socket}`.
    Unix,
    /// On the loopback address, at the free port `{port}`.
    Tcp,
}

/// How to tell that a server is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Ready {
    /// What is tried again and again.
    pub probe: Probe,
    /// For the probe `log`: a regular expression that a line of the server's output must match.
    pub pattern: Option<String>,
    /// For the probe `command`: program and arguments; ready when it exits with code 0.
    pub command: Option<CommandLine>,
    /// How long the server may take.
    pub timeout: Length,
}

/// Readiness probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// `PING` is answered by `+PONG`.
    Ping,
    /// A connection is accepted.
    Connect,
    /// A line of output matches [`Ready::pattern`].
    Log,
    /// [`Ready::command`] exits with code 0.
    Command,
}

/// A command: run again and again, each window as long as it lasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Command {
    /// Program and arguments. Placeholders: `{artifact} {artifact-dir} {run}`.
    pub run: CommandLine,
    /// Variables added to the environment; the same placeholders in the values.
    pub env: std::collections::BTreeMap<String, String>,
    /// Runs in the measured window; the trial's value is their mean.
    pub runs: u32,
    /// Runs before the measured window.
    pub warmup_runs: u32,
    /// Runs in the profiled window.
    pub profile_runs: u32,
    /// What is measured.
    pub metric: CommandMetric,
    /// For the metric `output`: a regular expression with a group named `value`.
    pub pattern: Option<String>,
    /// For the metric `output`: the unit of the number.
    pub unit: Option<String>,
    /// For the metric `output`: which direction is good.
    pub better: Better,
    /// How long one run may take.
    pub timeout: Length,
}

/// What is measured of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandMetric {
    /// Wall time of a run.
    Wall,
    /// CPU time of a run, user and system, with all descendants.
    Cpu,
    /// A number that the command prints.
    Output,
}

/// Which direction of a number is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            init: None,
            init_timeout: Length::seconds(120),
            user: None,
            start: CommandLine::default(),
            env: Default::default(),
            listen: Listen::Unix,
            socket: "{run}/server.sock".to_owned(),
            ready: Ready::default(),
            stop_timeout: Length::seconds(10),
        }
    }
}

impl Default for Ready {
    fn default() -> Self {
        Self {
            probe: Probe::Ping,
            pattern: None,
            command: None,
            timeout: Length::seconds(30),
        }
    }
}

impl Default for Command {
    fn default() -> Self {
        Self {
            run: CommandLine::default(),
            env: Default::default(),
            runs: 5,
            warmup_runs: 1,
            profile_runs: 5,
            metric: CommandMetric::Wall,
            pattern: None,
            unit: None,
            better: Better::Lower,
            timeout: Length::seconds(600),
        }
    }
}
