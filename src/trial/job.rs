//! A trial as a self-contained description: what a process on any machine needs to carry it out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::plan::load::{ExternalLoad, Preparation};
use crate::plan::{
    Command, CpuList, CustomSetting, LoadSpec, MetricSpec, Phase, SampleSpec, Server, Windows,
};

/// Version of the JSON form of [`TrialJob`].
pub const JOB_SCHEMA: &str = "perfblame.job/1";

/// One trial: one fresh start of the subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrialJob {
    /// [`JOB_SCHEMA`].
    pub schema: String,
    /// Main file of the artifact.
    pub artifact: PathBuf,
    /// Directory of all files of the artifact.
    pub artifact_dir: PathBuf,
    /// Directories of shared libraries that belong to the artifact.
    pub library_path: Vec<PathBuf>,
    /// The trial's directory; it is made, and must not be there.
    pub run_dir: PathBuf,
    /// What to run.
    pub workload: Workload,
    /// Settings of the machine while the trial lasts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Settings that are not known by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_settings: BTreeMap<String, CustomSetting>,
    /// CPUs of the server or the command.
    pub subject_cpus: CpuList,
    /// How to sample; `None` leaves the profiled window out.
    pub sampling: Option<SampleSpec>,
    /// What is sampled.
    #[serde(default)]
    pub sampled: SampledScope,
    /// Seed of the load.
    pub seed: u64,
    /// Where the outcome is written.
    pub outcome: PathBuf,
    /// Where the profile is written.
    pub profile: PathBuf,
}

/// What a trial samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampledScope {
    /// The subject's processes.
    #[default]
    Subject,
    /// Whatever runs on the subject's CPUs: what the kernel does for the subject, too.
    SubjectCpus,
}

/// What a trial runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// A server under load.
    Server(Box<ServerWorkload>),
    /// A command, again and again.
    Command(Box<Command>),
}

/// A server and the load on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ServerWorkload {
    /// The server.
    pub server: Server,
    /// The load.
    pub load: LoadSpec,
    /// The load that fills it first.
    pub prepare: Option<LoadSpec>,
    /// Another program as the load, in place of the generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_program: Option<ExternalLoad>,
    /// Another program that fills it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare_program: Option<Preparation>,
    /// Phases in place of the windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Further metrics of phases.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, MetricSpec>,
    /// How long the parts last.
    pub windows: Windows,
    /// CPUs of the load.
    pub load_cpus: CpuList,
}
