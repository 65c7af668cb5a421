//! From pprof's messages to a profile.

use std::collections::HashMap;

use crate::profile::format::builder::{Builder, kind_of_path};
use crate::profile::format::error::FormatError;
use crate::profile::format::protobuf::{Fields, Value};
use crate::profile::{Frame, Module, Profile, Symbol};

use super::{THREAD_LABELS, TRUNCATED_LABEL};

#[derive(Default)]
struct Raw<'a> {
    types: Vec<(u64, u64)>,
    samples: Vec<&'a [u8]>,
    mappings: HashMap<u64, (u64, u64)>,
    locations: HashMap<u64, Location>,
    functions: HashMap<u64, (u64, u64)>,
    strings: Vec<&'a [u8]>,
    duration: u64,
    default_type: u64,
}

#[derive(Default)]
struct Location {
    mapping: u64,
    address: u64,
    /// (function, line), innermost first.
    lines: Vec<(u64, u64)>,
}

fn damaged(place: &str) -> FormatError {
    FormatError::content(place, "the protocol buffer is damaged or cut short")
}

/// Calls back for every field of a message that must be in order.
fn each<'a>(
    message: &'a [u8],
    place: &str,
    mut field: impl FnMut(u64, Value<'a>),
) -> Result<(), FormatError> {
    let mut fields = Fields::of(message);
    for (number, value) in fields.by_ref() {
        field(number, value);
    }
    match fields.damaged {
        true => Err(damaged(place)),
        false => Ok(()),
    }
}

/// A message's fields that are plain numbers, by field.
fn numbers<const N: usize>(message: &[u8], place: &str) -> Result<[u64; N], FormatError> {
    let mut found = [0; N];
    each(message, place, |field, value| {
        if let (Value::Number(n), Some(slot)) = (value, found.get_mut(field as usize)) {
            *slot = n;
        }
    })?;
    Ok(found)
}

fn raw(bytes: &[u8]) -> Result<Raw<'_>, FormatError> {
    let mut raw = Raw::default();
    let mut types = Vec::new();
    let (mut mappings, mut locations, mut functions) = (Vec::new(), Vec::new(), Vec::new());
    each(bytes, "profile", |field, value| match (field, value) {
        (1, Value::Bytes(m)) => types.push(m),
        (2, Value::Bytes(m)) => raw.samples.push(m),
        (3, Value::Bytes(m)) => mappings.push(m),
        (4, Value::Bytes(m)) => locations.push(m),
        (5, Value::Bytes(m)) => functions.push(m),
        (6, Value::Bytes(text)) => raw.strings.push(text),
        (10, Value::Number(n)) => raw.duration = n,
        (14, Value::Number(n)) => raw.default_type = n,
        _ => {}
    })?;
    for message in types {
        let [_, kind, unit] = numbers::<3>(message, "sample type")?;
        raw.types.push((kind, unit));
    }
    for message in mappings {
        let [_, id, _, _, _, file, build_id] = numbers::<7>(message, "mapping")?;
        raw.mappings.insert(id, (file, build_id));
    }
    for message in functions {
        let [_, id, name, _, file] = numbers::<5>(message, "function")?;
        raw.functions.insert(id, (name, file));
    }
    for message in locations {
        let mut id = 0;
        let mut location = Location::default();
        let mut lines = Vec::new();
        each(message, "location", |field, value| match (field, value) {
            (1, Value::Number(n)) => id = n,
            (2, Value::Number(n)) => location.mapping = n,
            (3, Value::Number(n)) => location.address = n,
            (4, Value::Bytes(line)) => lines.push(line),
            _ => {}
        })?;
        for line in lines {
            let [_, function, line] = numbers::<3>(line, "line")?;
            location.lines.push((function, line));
        }
        raw.locations.insert(id, location);
    }
    Ok(raw)
}

impl Raw<'_> {
    fn string(&self, at: u64) -> String {
        let bytes = usize::try_from(at).ok().and_then(|at| self.strings.get(at));
        String::from_utf8_lossy(bytes.copied().unwrap_or_default()).into_owned()
    }

    fn module(&self, mapping: u64) -> Module {
        let (file, build_id) = self.mappings.get(&mapping).copied().unwrap_or_default();
        let path = match self.string(file) {
            path if path.is_empty() => "[unknown]".to_string(),
            path => path,
        };
        let build_id = self.string(build_id);
        Module {
            kind: kind_of_path(&path),
            build_id: (!build_id.is_empty()).then_some(build_id),
            path,
        }
    }
}

pub(in crate::profile::format) fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let raw = raw(bytes)?;
    let types: Vec<(String, String)> = raw
        .types
        .iter()
        .map(|&(kind, unit)| (raw.string(kind), raw.string(unit)))
        .collect();
    if types.is_empty() {
        return Err(FormatError::content("profile", "it has no sample type"));
    }
    let default = raw.string(raw.default_type);
    let weight_at = types
        .iter()
        .position(|(kind, _)| *kind == default)
        .unwrap_or(types.len() - 1);
    let count_at = types
        .iter()
        .position(|(kind, unit)| unit == "count" || kind == "samples");
    let (event, unit) = &types[weight_at];
    let mut builder = Builder::new(event, unit);
    builder.set_duration(raw.duration);
    let mut frames: HashMap<u64, u32> = HashMap::new();
    let main = raw.mappings.keys().min().map(|&id| raw.module(id));
    let default_thread = main.map_or("all".to_string(), |m| m.file_name().to_string());
    for sample in &raw.samples {
        let (mut locations, mut values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        let mut in_order = true;
        each(sample, "sample", |field, value| match (field, value) {
            (1, value) => in_order &= value.numbers(&mut locations),
            (2, value) => in_order &= value.numbers(&mut values),
            (3, Value::Bytes(label)) => labels.push(label),
            _ => {}
        })?;
        if !in_order {
            return Err(damaged("sample"));
        }
        let value = |at: usize| {
            let value = values.get(at).copied().unwrap_or(0);
            match i64::try_from(value) {
                Ok(_) => Ok(value),
                Err(_) => Err(FormatError::content("sample", "its value is negative")),
            }
        };
        let weight = value(weight_at)?;
        let count = match count_at {
            Some(at) => value(at)?,
            None => weight,
        };
        let mut thread = None;
        let mut truncated = false;
        for label in labels {
            let [_, key, text, number] = numbers::<4>(label, "label")?;
            let key = raw.string(key);
            if key == TRUNCATED_LABEL {
                truncated = number != 0 || text != 0;
            } else if THREAD_LABELS.contains(&key.as_str()) && text != 0 {
                thread = Some(raw.string(text));
            }
        }
        let stack = locations
            .iter()
            .map(|&id| {
                if let Some(&frame) = frames.get(&id) {
                    return frame;
                }
                let frame = frame(&raw, &mut builder, id);
                frames.insert(id, frame);
                frame
            })
            .collect();
        let thread = thread.unwrap_or_else(|| default_thread.clone());
        builder.add(&thread, stack, truncated, count, weight)?;
    }
    Ok(builder.finish())
}

fn frame(raw: &Raw<'_>, builder: &mut Builder, id: u64) -> u32 {
    let Some(location) = raw.locations.get(&id) else {
        return builder.named("[unknown]");
    };
    let innermost = location.lines.len().saturating_sub(1);
    let symbols = location
        .lines
        .iter()
        .enumerate()
        .map(|(i, &(function, line))| {
            let (name, file) = raw.functions.get(&function).copied().unwrap_or_default();
            let (name, file) = (raw.string(name), raw.string(file));
            Symbol {
                name: match name.is_empty() {
                    true => "[unknown]".to_string(),
                    false => name,
                },
                file: (!file.is_empty()).then_some(file),
                line: u32::try_from(line).ok().filter(|&line| line > 0),
                inlined: i < innermost,
            }
        })
        .collect();
    let module = builder.module(raw.module(location.mapping));
    builder.frame(Frame {
        module,
        address: location.address,
        symbols,
    })
}
