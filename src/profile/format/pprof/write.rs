//! From a profile to pprof's messages.

use std::collections::HashMap;

use crate::profile::format::error::FormatError;
use crate::profile::format::gzip;
use crate::profile::format::protobuf::Message;
use crate::profile::{Module, ModuleKind, Profile};

use super::{THREAD_LABELS, TRUNCATED_LABEL};

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

pub(in crate::profile::format) fn write(profile: &Profile) -> Result<Vec<u8>, FormatError> {
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
