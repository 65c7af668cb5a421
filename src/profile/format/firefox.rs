//! The Firefox Profiler's processed profile.
//!
//! Written by fxprof-processed-profile. Read in the shapes of its last versions: tables are in each
//! thread, or shared by all threads since version 56; strings likewise since version 54.

use std::collections::BTreeMap;
use std::collections::hash_map::{Entry, HashMap};

use fxprof_processed_profile as fxprof;
use serde_json::Value;

use crate::profile::Profile;
use crate::profile::folded::frame_text;

use super::builder::{Builder, TRUNCATED};
use super::error::FormatError;

/// Most samples that one entry of the form can stand for.
const MOST: u64 = i32::MAX as u64;

pub(super) fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let file: Value = serde_json::from_slice(bytes)?;
    let threads = file["threads"]
        .as_array()
        .ok_or_else(|| FormatError::content("threads", "there are none"))?;
    let mut builder = Builder::new("samples", "samples");
    for (number, thread) in threads.iter().enumerate() {
        let tables = Tables {
            thread,
            shared: &file["shared"],
            place: format!("thread {number}"),
        };
        tables.read(&mut builder)?;
    }
    Ok(builder.finish())
}

struct Tables<'a> {
    thread: &'a Value,
    shared: &'a Value,
    place: String,
}

impl<'a> Tables<'a> {
    /// A table of the thread, or the one that all threads share.
    fn table(&self, name: &str) -> &'a Value {
        match &self.thread[name] {
            Value::Null => &self.shared[name],
            table => table,
        }
    }

    fn column(&self, table: &str, column: &str) -> &'a [Value] {
        self.table(table)[column]
            .as_array()
            .map_or(&[], Vec::as_slice)
    }

    fn index(column: &[Value], at: usize) -> Option<usize> {
        column
            .get(at)?
            .as_u64()
            .and_then(|n| usize::try_from(n).ok())
    }

    fn read(&self, builder: &mut Builder) -> Result<(), FormatError> {
        let strings = match self.table("stringArray") {
            Value::Null => self.table("stringTable"),
            strings => strings,
        };
        let strings = strings.as_array().map_or(&[][..], Vec::as_slice);
        let (stack_frame, stack_prefix) = (
            self.column("stackTable", "frame"),
            self.column("stackTable", "prefix"),
        );
        let frame_func = self.column("frameTable", "func");
        let func_name = self.column("funcTable", "name");
        let name_of = |stack: usize| {
            let frame = Self::index(stack_frame, stack)?;
            let func = Self::index(frame_func, frame)?;
            let name = Self::index(func_name, func)?;
            strings.get(name)?.as_str()
        };
        let thread = self.thread["name"].as_str().unwrap_or("[unknown]");
        let samples = &self.thread["samples"];
        let stacks = samples["stack"].as_array().map_or(&[][..], Vec::as_slice);
        let weights = samples["weight"].as_array();
        let mut paths: HashMap<usize, Vec<&str>> = HashMap::new();
        for (at, stack) in stacks.iter().enumerate() {
            let Some(stack) = stack.as_u64() else {
                // A sample without a stack: the thread itself, if it counts.
                if weights.is_some() {
                    let count = self.weight(weights, at)?;
                    builder.add_names(thread, std::iter::empty(), count, count)?;
                }
                continue;
            };
            let stack = stack as usize;
            if let Entry::Vacant(entry) = paths.entry(stack) {
                let mut path = Vec::new();
                let mut next = Some(stack);
                while let Some(at) = next {
                    // A prefix comes before what it is the prefix of, or the walk had no end.
                    let prefix = Self::index(stack_prefix, at).filter(|&prefix| prefix < at);
                    path.push(name_of(at).ok_or_else(|| {
                        FormatError::content(&self.place, format!("stack {at} has no name"))
                    })?);
                    next = prefix;
                }
                path.reverse();
                entry.insert(path);
            }
            let count = self.weight(weights, at)?;
            builder.add_names(thread, paths[&stack].iter().copied(), count, count)?;
        }
        Ok(())
    }

    fn weight(&self, weights: Option<&Vec<Value>>, at: usize) -> Result<u64, FormatError> {
        let Some(weight) = weights.and_then(|weights| weights.get(at)) else {
            return Ok(1);
        };
        match (weight.as_u64(), weight.as_f64()) {
            (Some(count), _) => Ok(count),
            (None, Some(x)) if x >= 0.0 && x.fract() == 0.0 && x < 9e15 => Ok(x as u64),
            _ => Err(FormatError::content(
                &self.place,
                format!(
                    "the weight {weight} is no number of samples; it must be whole and not negative"
                ),
            )),
        }
    }
}

pub(super) fn write(profile: &Profile) -> Result<Vec<u8>, FormatError> {
    let start = fxprof::Timestamp::from_nanos_since_reference(0);
    let interval = match profile.event.frequency_hz {
        0 => fxprof::SamplingInterval::from_millis(1),
        hz => fxprof::SamplingInterval::from_nanos(1_000_000_000 / hz.max(1)),
    };
    let epoch = fxprof::ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
    let mut out = fxprof::Profile::new("perfblame", epoch, interval);
    out.set_symbolicated(true);
    let process = out.add_process("perfblame", 1, start);
    let other: fxprof::CategoryPairHandle = fxprof::CategoryHandle::OTHER.into();
    let texts: Vec<String> = (0..profile.frames.len())
        .map(|frame| frame_text(profile, frame))
        .collect();
    let mut threads: BTreeMap<&str, Vec<&crate::profile::Stack>> = BTreeMap::new();
    for stack in &profile.stacks {
        threads.entry(&stack.thread).or_default().push(stack);
    }
    let mut clock = 0u64;
    for (number, (name, stacks)) in threads.into_iter().enumerate() {
        let thread = out.add_thread(process, number as u32 + 1, start, false);
        out.set_thread_name(thread, name);
        for stack in stacks {
            let mut names = Vec::new();
            if stack.truncated {
                names.push(TRUNCATED);
            }
            for &frame in stack.frames.iter().rev() {
                names.extend(
                    texts
                        .get(frame as usize)
                        .map_or("", String::as_str)
                        .split(';'),
                );
            }
            let frames: Vec<fxprof::FrameInfo> = names
                .into_iter()
                .map(|name| fxprof::FrameInfo {
                    frame: fxprof::Frame::Label(out.intern_string(name)),
                    category_pair: other,
                    flags: fxprof::FrameFlags::empty(),
                })
                .collect();
            let handle = out.intern_stack_frames(thread, frames.into_iter());
            let mut left = stack.count;
            while left > 0 {
                let weight = left.min(MOST);
                let at = fxprof::Timestamp::from_nanos_since_reference(clock);
                // Entries keep an order; the time between them means nothing in a counted profile.
                clock += 1_000_000;
                out.add_sample(thread, at, handle, fxprof::CpuDelta::ZERO, weight as i32);
                left -= weight;
                if stack.count / MOST > 1_000_000 {
                    return Err(FormatError::content(
                        "samples",
                        "a stack has more samples than the form can hold in a million entries",
                    ));
                }
            }
        }
    }
    Ok(serde_json::to_vec(&out)?)
}
