//! speedscope's JSON: one sampled profile a thread, weights are samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::profile::Profile;
use crate::profile::folded::frame_text;

use super::builder::{Builder, TRUNCATED};
use super::error::FormatError;

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize, Deserialize)]
struct File {
    #[serde(rename = "$schema", default)]
    schema: String,
    shared: Shared,
    profiles: Vec<Recording>,
    #[serde(default)]
    exporter: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Shared {
    frames: Vec<NamedFrame>,
}

#[derive(Serialize, Deserialize)]
struct NamedFrame {
    name: String,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Recording {
    #[serde(rename_all = "camelCase")]
    Sampled {
        name: String,
        unit: String,
        start_value: f64,
        end_value: f64,
        samples: Vec<Vec<usize>>,
        weights: Vec<serde_json::Number>,
    },
    #[serde(rename_all = "camelCase")]
    Evented {
        name: String,
        unit: String,
        start_value: f64,
        end_value: f64,
        events: Vec<Event>,
    },
}

#[derive(Serialize, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    frame: usize,
    at: f64,
}

/// Nanoseconds of a unit; `None` where weights are counts.
fn nanoseconds(unit: &str) -> Option<f64> {
    match unit {
        "nanoseconds" => Some(1.0),
        "microseconds" => Some(1e3),
        "milliseconds" => Some(1e6),
        "seconds" => Some(1e9),
        _ => None,
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let file: File = serde_json::from_slice(bytes)?;
    let is_time = file.profiles.iter().any(|profile| {
        let (Recording::Sampled { unit, .. } | Recording::Evented { unit, .. }) = profile;
        nanoseconds(unit).is_some()
    });
    let mut builder = match is_time {
        true => Builder::new("time", "ns"),
        false => Builder::new("samples", "samples"),
    };
    for (number, recording) in file.profiles.iter().enumerate() {
        let place = format!("profile {number}");
        match recording {
            Recording::Sampled {
                name,
                unit,
                samples,
                weights,
                ..
            } => {
                if samples.len() != weights.len() {
                    return Err(FormatError::content(
                        place,
                        "it has not as many weights as samples",
                    ));
                }
                for (stack, weight) in samples.iter().zip(weights) {
                    let (count, weight) = match nanoseconds(unit) {
                        Some(factor) => {
                            (1, time(weight.as_f64().unwrap_or(-1.0) * factor, &place)?)
                        }
                        None => {
                            let count = whole(weight, &place)?;
                            (count, count)
                        }
                    };
                    let names = names(&file.shared, stack, &place)?;
                    builder.add_names(name, names.into_iter(), count, weight)?;
                }
            }
            Recording::Evented {
                name, unit, events, ..
            } => {
                evented(&mut builder, &file.shared, (name, unit, &place), events)?;
            }
        }
    }
    Ok(builder.finish())
}

/// Each stretch of time between two events is one sample of the stack that was open then; in no
/// unit of time, as many samples as it is long.
fn evented(
    builder: &mut Builder,
    shared: &Shared,
    (name, unit, place): (&str, &str, &str),
    events: &[Event],
) -> Result<(), FormatError> {
    let factor = nanoseconds(unit);
    let mut open: Vec<usize> = Vec::new();
    let mut since = events.first().map_or(0.0, |event| event.at);
    for event in events {
        let length = event.at - since;
        let weight = time(length * factor.unwrap_or(1.0), place)?;
        let count = match factor {
            Some(_) => 1,
            None if length.fract() == 0.0 => weight,
            None => {
                let problem = format!("{length} is no number of samples; it must be whole");
                return Err(FormatError::content(place, problem));
            }
        };
        if weight > 0 && !open.is_empty() {
            let names = names(shared, &open, place)?;
            builder.add_names(name, names.into_iter(), count, weight)?;
        }
        since = event.at;
        match event.kind.as_str() {
            "O" => open.push(event.frame),
            _ if open.last() == Some(&event.frame) => {
                open.pop();
            }
            _ => {
                let problem = format!("at {} a frame closes that is not the innermost", event.at);
                return Err(FormatError::content(place, problem));
            }
        }
    }
    Ok(())
}

fn names<'a>(
    shared: &'a Shared,
    stack: &[usize],
    place: &str,
) -> Result<Vec<&'a str>, FormatError> {
    stack
        .iter()
        .map(|&frame| match shared.frames.get(frame) {
            Some(frame) => Ok(frame.name.as_str()),
            None => Err(FormatError::content(
                place,
                format!("there is no frame {frame}"),
            )),
        })
        .collect()
}

fn whole(weight: &serde_json::Number, place: &str) -> Result<u64, FormatError> {
    if let Some(count) = weight.as_u64() {
        return Ok(count);
    }
    match weight.as_f64() {
        Some(x) if x >= 0.0 && x.fract() == 0.0 && x < 9e15 => Ok(x as u64),
        _ => Err(FormatError::content(
            place,
            format!(
                "the weight {weight} is no number of samples; it must be whole and not negative"
            ),
        )),
    }
}

fn time(nanoseconds: f64, place: &str) -> Result<u64, FormatError> {
    match nanoseconds {
        x if (0.0..1.8e19).contains(&x) => Ok(x.round() as u64),
        _ => Err(FormatError::content(
            place,
            "time goes backwards, or beyond 64 bits",
        )),
    }
}

pub(super) fn write(profile: &Profile) -> Result<Vec<u8>, FormatError> {
    // Frames of the file by name: a frame with inlined functions is several.
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut frames = Vec::new();
    let mut number = |name: &str| {
        if let Some(&number) = numbers.get(name) {
            return number;
        }
        frames.push(NamedFrame {
            name: name.to_string(),
        });
        numbers.insert(name.to_string(), frames.len() - 1);
        frames.len() - 1
    };
    let of_frame: Vec<Vec<usize>> = (0..profile.frames.len())
        .map(|frame| {
            frame_text(profile, frame)
                .split(';')
                .map(&mut number)
                .collect()
        })
        .collect();
    let truncated = number(TRUNCATED);
    type Samples = (Vec<Vec<usize>>, Vec<serde_json::Number>, u64);
    let mut threads: BTreeMap<&str, Samples> = BTreeMap::new();
    for stack in &profile.stacks {
        let mut names = Vec::new();
        if stack.truncated {
            names.push(truncated);
        }
        for &frame in stack.frames.iter().rev() {
            names.extend_from_slice(of_frame.get(frame as usize).map_or(&[], Vec::as_slice));
        }
        let thread = threads.entry(&stack.thread).or_default();
        thread.0.push(names);
        thread.1.push(stack.count.into());
        thread.2 = thread.2.saturating_add(stack.count);
    }
    let file = File {
        schema: SCHEMA.to_string(),
        shared: Shared { frames },
        profiles: threads
            .into_iter()
            .map(|(name, (samples, weights, total))| Recording::Sampled {
                name: name.to_string(),
                unit: "none".to_string(),
                start_value: 0.0,
                end_value: total as f64,
                samples,
                weights,
            })
            .collect(),
        exporter: Some(concat!("perfblame@", env!("CARGO_PKG_VERSION")).to_string()),
    };
    Ok(serde_json::to_vec(&file)?)
}
