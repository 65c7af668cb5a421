//! Reads and writes one setting: a file of the kernel, or the user's programs.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::plan::settings::SettingPlace;
use crate::plan::{CommandLine, Placeholders};

use super::SettingError;

/// How long a program that reads or writes a setting may take.
const LIMIT: Duration = Duration::from_secs(60);
/// Bytes that are read of what it prints.
const LONGEST: u64 = 1 << 16;

/// One place of a setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A file.
    File(PathBuf),
    /// Two programs.
    Commands {
        /// Prints the value.
        read: Vec<String>,
        /// Sets it; `{value}` stands for the value.
        write: Vec<String>,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Commands { write, .. } => write!(f, "`{}`", shell_words::join(write)),
        }
    }
}

/// The places of a setting on this machine; a star in a path stands for any part of one name.
pub fn resolve(name: &str, place: &SettingPlace) -> Result<Vec<Place>, SettingError> {
    let pattern = match place {
        SettingPlace::Commands { read, write } => {
            return Ok(vec![Place::Commands {
                read: read.0.clone(),
                write: write.0.clone(),
            }]);
        }
        SettingPlace::Files(pattern) => pattern,
    };
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = found
            .into_iter()
            .flat_map(|dir| entries(&dir, part))
            .collect();
    }
    found.retain(|path| path.is_file());
    found.sort();
    if found.is_empty() {
        return Err(SettingError::Absent {
            name: name.to_owned(),
            path: pattern.clone(),
        });
    }
    Ok(found.into_iter().map(Place::File).collect())
}

fn entries(dir: &Path, part: &str) -> Vec<PathBuf> {
    let Some((before, after)) = part.split_once('*') else {
        return vec![dir.join(part)];
    };
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten();
    names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| {
            name.len() >= part.len() - 1 && name.starts_with(before) && name.ends_with(after)
        })
        .map(|name| dir.join(name))
        .collect()
}

/// What a place shows.
pub fn read(name: &str, place: &Place) -> Result<String, SettingError> {
    let text = match place {
        Place::File(path) => std::fs::read_to_string(path).map_err(|error| error.to_string()),
        Place::Commands { read, .. } => run(read),
    };
    text.map_err(|reason| SettingError::Read {
        name: name.to_owned(),
        place: match place {
            Place::Commands { read, .. } => format!("`{}`", shell_words::join(read)),
            Place::File(_) => place.to_string(),
        },
        reason,
    })
}

/// Writes a value; `reading` is what the place showed before, for the choices it names.
pub fn write(name: &str, place: &Place, value: &str, reading: &str) -> Result<(), SettingError> {
    let written = match place {
        Place::File(path) => std::fs::write(path, value).map_err(|error| {
            let refused = error.kind() == std::io::ErrorKind::PermissionDenied;
            (error.to_string(), refused)
        }),
        Place::Commands { write, .. } => {
            let values = Placeholders::new([("value", value.to_owned())]);
            CommandLine(write.clone())
                .expand(&values)
                .map_err(|error| error.to_string())
                .and_then(|command| run(&command))
                .map(|_| ())
                .map_err(|error| (error, false))
        }
    };
    written.map_err(|(reason, refused)| SettingError::Write {
        name: name.to_owned(),
        value: value.to_owned(),
        place: place.to_string(),
        reason,
        hint: match (refused, reading.contains('[')) {
            (true, _) => "; run as root, or leave the setting out".to_owned(),
            (false, true) => {
                let choices = reading.replace(['[', ']'], "");
                let choices: Vec<&str> = choices.split_whitespace().collect();
                format!("; it takes {}", choices.join(", "))
            }
            (false, false) => String::new(),
        },
    })
}

/// Runs a short program; its standard output, or why there is none.
///
/// Its output goes to files: what it leaves running may hold a pipe open for ever.
fn run(command: &[String]) -> Result<String, String> {
    let Some((program, arguments)) = command.split_first() else {
        return Err("there is no program".to_owned());
    };
    let file = || tempfile::tempfile().map_err(|error| error.to_string());
    let (mut output, mut errors) = (file()?, file()?);
    let to = |file: &File| file.try_clone().map_err(|error| error.to_string());
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(to(&output)?)
        .stderr(to(&errors)?)
        .spawn()
        .map_err(|error| error.to_string())?;
    let until = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("it was not done after {} seconds", LIMIT.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    if !status.success() {
        let said = whole(&mut errors)?;
        return Err(match said.trim() {
            "" => format!("it ended with {status}"),
            said => format!("it ended with {status}: {said}"),
        });
    }
    whole(&mut output)
}

/// What was written to a file, up to a length that no setting has.
fn whole(file: &mut File) -> Result<String, String> {
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.take(LONGEST).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
