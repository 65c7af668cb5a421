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
    /// Blocks, each one trial of every arm; auto looks at 8, 16 and 32 blocks and stops as soon as
    /// all is decided (experiment.blocks sets another number than 32)
    #[arg(long, value_name = "N|auto", value_parser = blocks)]
    blocks: Option<Blocks>,
    /// Judges several functions as one, such as alloc=malloc,free; may be given again
    #[arg(long, value_name = "NAME=F,G,…", value_parser = group)]
    group: Vec<Group>,
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
            SubjectKind::Program | SubjectKind::Kernel => Ok(plan),
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
        for group in &self.group {
            let text = format!("{}={}", group.name, group.functions.join(","));
            flag("--group", Some(text));
        }
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
                self.blocks.map(|blocks| blocks.most().to_string()),
            ),
            (
                "--blocks",
                "experiment.sequential",
                self.blocks
                    .map(|blocks| (blocks == Blocks::Auto).to_string()),
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
        let groups = self.group.iter().map(|group| {
            let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
            let functions: Vec<String> = group.functions.iter().map(|f| quoted(f)).collect();
            Layer {
                name: "flag --group".to_owned(),
                text: format!(
                    "judging.groups.{} = [{}]",
                    quoted(&group.name),
                    functions.join(", ")
                ),
                has_lines: false,
            }
        });
        flags
            .into_iter()
            .filter_map(|(name, key, value)| {
                value.map(|value| Layer {
                    name: format!("flag {name}"),
                    text: format!("{key} = {value}"),
                    has_lines: false,
                })
            })
            .chain(groups)
            .collect()
    }
}

/// What `--blocks` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocks {
    /// So many.
    Number(u32),
    /// As many as it takes, up to [`MOST_BLOCKS`].
    Auto,
}

/// Most blocks where their number is left open.
const MOST_BLOCKS: u32 = 32;

impl Blocks {
    fn most(self) -> u32 {
        match self {
            Self::Number(number) => number,
            Self::Auto => MOST_BLOCKS,
        }
    }
}

impl std::fmt::Display for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

fn blocks(text: &str) -> Result<Blocks, String> {
    match text {
        "auto" => Ok(Blocks::Auto),
        _ => text
            .parse()
            .map(Blocks::Number)
            .map_err(|_| "a whole number or `auto` is needed".to_owned()),
    }
}

/// Functions that are judged as one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    name: String,
    functions: Vec<String>,
}

fn group(text: &str) -> Result<Group, String> {
    let (name, functions) = text
        .split_once('=')
        .ok_or("write NAME=FUNCTION,FUNCTION,…")?;
    let functions: Vec<String> = separate(functions);
    if name.is_empty() || functions.iter().any(String::is_empty) {
        return Err("write NAME=FUNCTION,FUNCTION,… without empty names".to_owned());
    }
    Ok(Group {
        name: name.to_owned(),
        functions,
    })
}

/// Splits at commas that stand in no brackets: C++ names have commas of their own.
fn separate(text: &str) -> Vec<String> {
    let mut depth = 0i32;
    let mut parts = vec![String::new()];
    for c in text.chars() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        match (c, depth) {
            (',', ..=0) => parts.push(String::new()),
            _ => {
                if let Some(last) = parts.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read() {
        let functions = |text: &str| group(text).map(|group| group.functions);
        assert_eq!(
            functions("mem=malloc,free"),
            Ok(vec!["malloc".into(), "free".into()])
        );
        assert_eq!(
            functions("map=std::map<int, long>::at,f"),
            Ok(vec!["std::map<int, long>::at".into(), "f".into()])
        );
        for wrong in ["", "a", "a=", "=f", "a=f,,g"] {
            assert!(group(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn blocks_are_a_number_or_auto() {
        assert_eq!(blocks("12"), Ok(Blocks::Number(12)));
        assert_eq!(blocks("auto"), Ok(Blocks::Auto));
        assert!(blocks("-1").is_err() && blocks("many").is_err());
    }
}
