//! The flags that say what is to be done, shared by all commands that run experiments.

use std::path::{Path, PathBuf};

use crate::plan::{Layer, Plan, PlanError, PlanSources, SubjectKind, find_file, set_flag};

/// Flags that are laid over preset and file.
#[derive(Debug, Clone, clap::Args)]
pub struct PlanArgs {
    /// The repository, or a directory inside it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,
    /// The plan; by default the nearest perfblame.toml, from the repository upwards
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A plan that comes with perfblame, laid under the file (`perfblame preset` lists them)
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Sets a key of the plan, such as load.clients=10 or windows.measure=8s
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Blocks, each one trial of every arm
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
    /// Seed of the order of trials, the load and the statistics
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Sampling frequency in hertz
    #[arg(short = 'F', long = "freq", value_name = "HZ")]
    freq: Option<u64>,
    /// How callers are found: fp, dwarf, dwarf,SIZE or none
    #[arg(short = 'g', long, value_name = "MODE")]
    call_graph: Option<String>,
    /// What is sampled: auto, cycles, cpu-clock, …
    #[arg(short = 'e', long, value_name = "EVENT")]
    event: Option<String>,
    /// CPUs of the server or the command, such as 0 or 0-3
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// CPUs of the load generator
    #[arg(long, value_name = "LIST")]
    load_cpus: Option<String>,
    /// Where everything measured is kept, instead of .perfblame in the repository
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

impl PlanArgs {
    /// Reads preset, file and flags. `root` is the repository's directory, where the search for a
    /// file begins.
    pub fn plan(&self, root: &Path) -> Result<Plan, PlanError> {
        let file = match &self.config {
            Some(path) => Some(path.clone()),
            None => find_file(root),
        };
        let mut flags = self.dedicated();
        for text in &self.set {
            flags.push(set_flag(text)?);
        }
        let plan = PlanSources {
            preset: self.preset.clone(),
            file,
            flags,
        }
        .read()?;
        match plan.subject.kind {
            SubjectKind::Program => Ok(plan),
            SubjectKind::Installed => Err(PlanError::Invalid {
                layer: "plan".to_owned(),
                line: None,
                key: "subject.kind".to_owned(),
                message:
                    "an installed program is the same in every commit: `perfblame matrix` compares \
                          settings, loads and environments of it"
                        .to_owned(),
            }),
        }
    }

    /// The flags that a person gives in the repository to get the same plan: without seed, and
    /// without the places of repository and store.
    pub fn to_repeat(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut flag = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                flags.extend([name.to_owned(), value]);
            }
        };
        let config = self.config.as_ref();
        flag("--config", config.map(|path| path.display().to_string()));
        flag("--preset", self.preset.clone());
        for key in &self.set {
            flag("--set", Some(key.clone()));
        }
        flag("--blocks", self.blocks.map(|blocks| blocks.to_string()));
        flag("--freq", self.freq.map(|freq| freq.to_string()));
        flag("--call-graph", self.call_graph.clone());
        flag("--event", self.event.clone());
        flag("--cpus", self.cpus.clone());
        flag("--load-cpus", self.load_cpus.clone());
        flags
    }

    fn dedicated(&self) -> Vec<Layer> {
        let text = |value: &String| toml::Value::String(value.clone()).to_string();
        let flags = [
            (
                "--blocks",
                "experiment.blocks",
                self.blocks.map(|blocks| blocks.to_string()),
            ),
            (
                "--seed",
                "experiment.seed",
                self.seed.map(|seed| seed.to_string()),
            ),
            (
                "--freq",
                "sampling.frequency-hz",
                self.freq.map(|freq| freq.to_string()),
            ),
            (
                "--call-graph",
                "sampling.call-graph",
                self.call_graph.as_ref().map(text),
            ),
            ("--event", "sampling.event", self.event.as_ref().map(text)),
            ("--cpus", "cpus.subject", self.cpus.as_ref().map(text)),
            (
                "--load-cpus",
                "cpus.load",
                self.load_cpus.as_ref().map(text),
            ),
        ];
        flags
            .into_iter()
            .filter_map(|(name, key, value)| {
                value.map(|value| Layer {
                    name: format!("flag {name}"),
                    text: format!("{key} = {value}"),
                    has_lines: false,
                })
            })
            .collect()
    }
}
