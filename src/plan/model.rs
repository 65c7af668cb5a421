//! The plan as a whole: the sections of `perfblame.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cpus::CpuList;
use super::duration::Length;
use super::guest::Guest;
use super::host::{Host, Reboot};
use super::load::{ExternalLoad, Preparation};
use super::matrix::MatrixSpec;
use super::phase::{MetricSpec, Phase};
use super::settings::CustomSetting;
use super::workload::{Command, Server};
use super::{Judging, LoadSpec, Recipe, SampleSpec};

/// What is to be done: how to build, serve, load, sample and judge.
///
/// Exactly one of [`Plan::server`] and [`Plan::command`] is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Plan {
    /// Name of the preset that this plan was overlaid on.
    pub preset: Option<String>,
    /// What is under test.
    pub subject: Subject,
    /// How a revision becomes an artifact.
    pub build: Recipe,
    /// The server under test.
    pub server: Option<Server>,
    /// The load on the server, in memtier_benchmark's words.
    pub load: LoadSpec,
    /// The load that fills the server with data first: `[load]`, overlaid with what stands here.
    pub prepare: Option<LoadSpec>,
    /// Another program as the load, in place of the generator.
    pub load_program: Option<ExternalLoad>,
    /// Another program that fills the server with data first, before the generator does where
    /// both are there.
    pub prepare_program: Option<Preparation>,
    /// Phases that are measured in a row, in place of the windows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phase: Vec<Phase>,
    /// Further metrics of phases, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metric: BTreeMap<String, MetricSpec>,
    /// The command under test.
    pub command: Option<Command>,
    /// Who runs where.
    pub cpus: Cpus,
    /// How long everything lasts.
    pub windows: Windows,
    /// How the CPU is sampled.
    pub sampling: SampleSpec,
    /// How the measurements are judged.
    pub judging: Judging,
    /// How often everything is repeated.
    pub experiment: Experiment,
    /// What counts as a disturbance of a trial.
    pub disturbance: DisturbanceLimits,
    /// Settings of the machine during each trial, such as `thp = "never"`; they are read back, and
    /// restored afterwards.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Settings that are not known by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_settings: BTreeMap<String, CustomSetting>,
    /// The virtual machine that each trial is booted in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// What is asked of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// How this machine gets to another kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reboot: Option<Reboot>,
    /// Axes and levels, for `perfblame matrix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix: Option<MatrixSpec>,
}

impl Plan {
    /// Whether a trial is booted in a guest of its own.
    pub fn boots_guest(&self) -> bool {
        let of_a_guest = self.guest.as_ref().and_then(|guest| guest.kernel.as_ref());
        self.subject.kind == SubjectKind::Kernel || of_a_guest.is_some()
    }
}

impl Plan {
    /// Most threads that the generator has at once, in any phase.
    pub fn load_threads(&self) -> usize {
        let phases = self.phase.iter().filter_map(|phase| phase.load.as_ref());
        let all = phases.chain(&self.prepare).chain([&self.load]);
        let threads = all.map(|load| load.threads).max();
        threads.unwrap_or(1) as usize
    }
}

/// What is under test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Subject {
    /// What kind of thing it is, and whether it is built.
    pub kind: SubjectKind,
    /// Paths that the artifact depends on (git pathspecs); empty: the whole tree. Commits that differ
    /// elsewhere only share one artifact.
    pub paths: Vec<String>,
}

/// What kind of thing the subject is, and whether it is built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectKind {
    /// Built from a revision of the repository.
    #[default]
    Program,
    /// A program that is on the machine: nothing is built, and only a matrix of settings, loads or
    /// plans can compare anything.
    Installed,
    /// A Linux kernel, built from a revision of the repository and booted for every trial. The
    /// workload is of programs that are on the machine.
    Kernel,
}

/// Who runs where. What is left out is chosen from the CPUs that perfblame may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Cpus {
    /// CPUs of the server or the command.
    pub subject: Option<CpuList>,
    /// CPUs of the load generator.
    pub load: Option<CpuList>,
}

/// How long the parts of a server's trial last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Windows {
    /// Load before anything is measured.
    pub warmup: Length,
    /// Measured without the profiler.
    pub measure: Length,
    /// Sampled.
    pub profile: Length,
    /// How long filling the data may take.
    pub prepare_timeout: Length,
}

/// How often everything is repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Experiment {
    /// Number of blocks, each one trial of every arm; where the comparison looks before the end, the
    /// most blocks.
    pub blocks: u32,
    /// Whether the comparison looks at a quarter, at half and at all of the blocks, each time at a
    /// part of `judging.alpha`, and stops as soon as there is nothing left to decide.
    pub sequential: bool,
    /// Seed of the order within blocks, of the load and of the statistics.
    pub seed: u64,
    /// How often a failed trial may be tried again before the experiment is given up.
    pub retries: u32,
}

/// When a trial counts as disturbed by what else happened on the machine, and how often such a trial
/// is repeated. Nothing that the trial measured of the subject plays a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DisturbanceLimits {
    /// Share of the time of the subject's CPUs that a hypervisor gave to others, in per cent.
    pub steal_pct: f64,
    /// Share of the time of the subject's CPUs that other processes took, in per cent.
    pub foreign_pct: f64,
    /// Most repeats of disturbed trials in one experiment. When they are used up, a disturbed trial
    /// counts, and is marked.
    pub repeats: u32,
}

impl Default for DisturbanceLimits {
    fn default() -> Self {
        Self {
            steal_pct: 5.0,
            foreign_pct: 10.0,
            repeats: 3,
        }
    }
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            warmup: Length::seconds(1),
            measure: Length::seconds(4),
            profile: Length::seconds(4),
            prepare_timeout: Length::seconds(600),
        }
    }
}

impl Default for Experiment {
    fn default() -> Self {
        Self {
            blocks: 8,
            sequential: false,
            seed: 1,
            retries: 1,
        }
    }
}
