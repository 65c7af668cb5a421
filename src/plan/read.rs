//! Finds the sources of a plan, lays them over each other, and checks the result.

use std::path::{Path, PathBuf};

use super::check::check;
use super::error::PlanError;
use super::layer::{Layer, into_plan, overlay};
use super::model::Plan;
use super::preset;

/// Name of the plan's file.
pub const FILE_NAME: &str = "perfblame.toml";

/// Bytes above which a file is no plan.
const LARGEST_FILE: u64 = 1 << 20;

/// Where a plan comes from, the lowest layer first: preset, file, flags.
#[derive(Debug, Clone, Default)]
pub struct PlanSources {
    /// Preset by name; without one, the file's own `preset` key counts.
    pub preset: Option<String>,
    /// The file, where there is one.
    pub file: Option<PathBuf>,
    /// Flags as TOML, each with the flag as its name.
    pub flags: Vec<Layer>,
}

/// The nearest `perfblame.toml` in a directory or above it.
pub fn find_file(from: &Path) -> Option<PathBuf> {
    from.ancestors()
        .map(|dir| dir.join(FILE_NAME))
        .find(|path| path.is_file())
}

/// A flag `--set KEY=VALUE` as a layer. The value is TOML, or else a string.
pub fn set_flag(text: &str) -> Result<Layer, PlanError> {
    let (key, value) = text.split_once('=').ok_or_else(|| PlanError::Invalid {
        layer: format!("--set {text}"),
        line: None,
        key: String::new(),
        message: "is not of the form KEY=VALUE, such as windows.measure=8s".to_owned(),
    })?;
    let line = format!("{} = {}", key.trim(), value.trim());
    let text_of = |line: String| Layer {
        name: format!("--set {text}"),
        text: line,
        has_lines: false,
    };
    if toml::from_str::<toml::Table>(&line).is_ok() {
        return Ok(text_of(line));
    }
    let quoted = toml::Value::String(value.trim().to_owned());
    Ok(text_of(format!("{} = {quoted}", key.trim())))
}

impl PlanSources {
    /// Reads, merges and checks. Every fault names the layer, the line and the key.
    pub fn read(&self) -> Result<Plan, PlanError> {
        self.read_under(toml::Table::new())
    }

    /// The same with a table laid over all layers: a cell of a matrix.
    pub fn read_under(&self, top: toml::Table) -> Result<Plan, PlanError> {
        let layers = self.layers()?;
        let mut merged = toml::Table::new();
        for layer in &layers {
            overlay(&mut merged, layer.table()?);
        }
        let at_fault = |key: &str, message: String| {
            // The topmost layer that sets the key is the one that the user has to change.
            let found = layers
                .iter()
                .rev()
                .find_map(|layer| layer.find_key(key).map(|offset| (layer, offset)));
            PlanError::Invalid {
                layer: found.map_or_else(|| "plan".to_owned(), |(layer, _)| layer.name.clone()),
                line: found.and_then(|(layer, offset)| layer.line_at(offset)),
                key: key.to_owned(),
                message,
            }
        };
        overlay(&mut merged, top);
        let mut plan =
            into_plan(merged).map_err(|error| at_fault("", error.message().to_owned()))?;
        if let Some(beside) = self.file.as_deref().and_then(Path::parent) {
            super::kernel::read_files(&mut plan, beside)
                .map_err(|(key, message)| at_fault(&key, message))?;
            // As any file that a plan names: beside the plan.
            if let Some(kernel) = plan.guest.as_mut().and_then(|guest| guest.kernel.as_mut()) {
                *kernel = std::path::absolute(beside.join(&*kernel)).unwrap_or_default();
            }
        }
        if plan.server.is_none() && plan.command.is_none() {
            return Err(PlanError::NoWorkload {
                file: match &self.file {
                    Some(path) => format!("{} has neither", path.display()),
                    None => format!("there is no {FILE_NAME}"),
                },
                known: preset::names(),
            });
        }
        match check(&plan) {
            Some(fault) => Err(at_fault(&fault.key, fault.message)),
            None => Ok(plan),
        }
    }

    /// The topmost layer that has a key, by name, and the key's line.
    pub fn place_of(&self, key: &str) -> Option<(String, Option<usize>)> {
        let layers = self.layers().ok()?;
        layers.iter().rev().find_map(|layer| {
            let offset = layer.find_key(key)?;
            Some((layer.name.clone(), layer.line_at(offset)))
        })
    }

    fn layers(&self) -> Result<Vec<Layer>, PlanError> {
        let file = self.file.as_deref().map(read_file).transpose()?;
        let named_in_file = match &file {
            Some(layer) => layer
                .table()?
                .get("preset")
                .and_then(toml::Value::as_str)
                .map(str::to_owned),
            None => None,
        };
        let mut layers = Vec::new();
        if let Some(name) = self.preset.clone().or(named_in_file) {
            layers.push(preset::layer(&name)?);
            layers.push(Layer {
                name: format!("preset {name}"),
                text: format!("preset = {}", toml::Value::String(name)),
                has_lines: false,
            });
        }
        layers.extend(file);
        layers.extend(self.flags.iter().cloned());
        Ok(layers)
    }
}

fn read_file(path: &Path) -> Result<Layer, PlanError> {
    let unreadable = |source| PlanError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::metadata(path).map_err(unreadable)?;
    // Opening anything else may block for ever, or never come to an end.
    if !file.is_file() || file.len() > LARGEST_FILE {
        return Err(PlanError::NoFile {
            path: path.to_owned(),
        });
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Ok(Layer {
        name: path.display().to_string(),
        text,
        has_lines: true,
    })
}
