//! pprof's `profile.proto`, gzipped as its tools write it.
//!
//! Of several sample values the first whose unit is a count is taken as the number of samples,
//! and the one that is the profile's default as its weight. The thread is a label.

use std::collections::HashMap;

use crate::profile::{Frame, Module, ModuleKind, Profile, Symbol};

use super::builder::{Builder, kind_of_path};
use super::error::FormatError;
use super::gzip;
use super::protobuf::{Fields, Message, Value};

/// Labels that name a thread, ours first.
const THREAD_LABELS: [&str; 3] = ["thread", "thread_name", "comm"];

/// Label of a stack that did not reach its thread's start.
const TRUNCATED_LABEL: &str = "truncated";

/// Whether bytes are a message whose first fields pprof knows.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    let mut fields = Fields::of(bytes);
    let known = fields.by_ref().take(16).all(|(field, value)| {
        matches!(
            (field, value),
            (1..=6 | 11 | 13, Value::Bytes(_)) | (7..=10 | 12 | 14, Value::Number(_)) | (13, _)
        )
    });
    known && !fields.damaged
}

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

pub(super) fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
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

/// Strings by number, each once; number 0 is the empty one.
struct Strings {
    numbers: HashMap<String, u64>,
    list: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.list.len() as u64;
        self.list.push(text.to_string());
        self.numbers.insert(text.to_string(), number);
        number
    }
}

pub(super) fn write(profile: &Profile) -> Result<Vec<u8>, FormatError> {
    let mut strings = Strings {
        numbers: HashMap::from([(String::new(), 0)]),
        list: vec![String::new()],
    };
    let mut out = Message::default();
    let types = [
        ("samples", "count"),
        (profile.event.name.as_str(), profile.event.unit.as_str()),
    ];
    for (kind, unit) in types {
        let mut message = Message::default();
        message.number(1, strings.number(kind));
        message.number(2, strings.number(unit));
        out.message(1, &message);
    }
    let thread_key = strings.number(THREAD_LABELS[0]);
    let truncated_key = strings.number(TRUNCATED_LABEL);
    for stack in &profile.stacks {
        let mut message = Message::default();
        message.packed(1, stack.frames.iter().map(|&frame| u64::from(frame) + 1));
        let value = |n: u64| {
            i64::try_from(n).map(|_| n).map_err(|_| {
                FormatError::content("sample", "its count is beyond the 63 bits that pprof has")
            })
        };
        message.packed(
            2,
            [
                value(stack.count)?,
                value(stack.weight.min(i64::MAX as u64))?,
            ],
        );
        let mut label = Message::default();
        label.number(1, thread_key);
        label.number(2, strings.number(&stack.thread));
        message.message(3, &label);
        if stack.truncated {
            let mut label = Message::default();
            label.number(1, truncated_key);
            label.number(3, 1);
            message.message(3, &label);
        }
        out.message(2, &message);
    }
    for (i, module) in profile.modules.iter().enumerate() {
        let mut message = Message::default();
        message.number(1, i as u64 + 1);
        message.number(5, strings.number(module_path(module)));
        message.number(6, strings.number(module.build_id.as_deref().unwrap_or("")));
        message.number(7, 1);
        message.number(8, 1);
        message.number(9, 1);
        message.number(10, 1);
        out.message(3, &message);
    }
    let mut functions: HashMap<(&str, Option<&str>), u64> = HashMap::new();
    let mut function_messages = Vec::new();
    for (i, frame) in profile.frames.iter().enumerate() {
        let mut message = Message::default();
        message.number(1, i as u64 + 1);
        message.number(2, u64::from(frame.module) + 1);
        message.number(3, frame.address);
        for symbol in &frame.symbols {
            let next = functions.len() as u64 + 1;
            let key = (symbol.name.as_str(), symbol.file.as_deref());
            let id = *functions.entry(key).or_insert_with(|| {
                let mut function = Message::default();
                function.number(1, next);
                function.number(2, strings.number(&symbol.name));
                function.number(3, strings.number(&symbol.name));
                function.number(4, strings.number(symbol.file.as_deref().unwrap_or("")));
                function_messages.push(function);
                next
            });
            let mut line = Message::default();
            line.number(1, id);
            line.number(2, u64::from(symbol.line.unwrap_or(0)));
            message.message(4, &line);
        }
        out.message(4, &message);
    }
    for function in &function_messages {
        out.message(5, function);
    }
    let default = strings.number(types[0].0);
    for text in &strings.list {
        out.bytes(6, text.as_bytes());
    }
    out.number(10, profile.duration_ns);
    out.number(14, default);
    Ok(gzip::compress(&out.into_bytes()))
}

/// The path, in brackets where it would not tell that the module is the kernel's.
fn module_path(module: &Module) -> &str {
    match module.kind {
        ModuleKind::Kernel => "[kernel]",
        _ => &module.path,
    }
}
