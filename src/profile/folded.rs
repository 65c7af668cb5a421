//! Folded stacks: one line a stack, outermost frame first, as Brendan Gregg's scripts and inferno
//! read them.

use std::collections::BTreeMap;

use super::model::{ModuleKind, Profile};

/// Returns the folded lines of a profile, sorted, without line ends.
///
/// A line is `thread;outermost;…;innermost COUNT`, where COUNT is the number of samples. Names are
/// those of the build, with `;` and line breaks replaced. Suffixes are those of inferno and
/// FlameGraph: `_[k]` kernel, `_[i]` inlined, `_[j]` code made at run time. A frame without a symbol
/// is the module's file name in brackets; a stack that did not reach its thread's start has
/// `[truncated]` above the thread's name.
#[must_use]
pub fn folded_lines(profile: &Profile) -> Vec<String> {
    merged_folded_lines(std::slice::from_ref(profile))
}

/// Returns the folded lines of several profiles together, as of one recording.
#[must_use]
pub fn merged_folded_lines<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Vec<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for profile in profiles {
        let names: Vec<String> = (0..profile.frames.len())
            .map(|frame| frame_text(profile, frame))
            .collect();
        for stack in &profile.stacks {
            let mut line = safe_name(&stack.thread);
            if stack.truncated {
                line.push_str(";[truncated]");
            }
            for frame in stack.frames.iter().rev() {
                if let Some(name) = names.get(*frame as usize) {
                    line.push(';');
                    line.push_str(name);
                }
            }
            *counts.entry(line).or_default() += stack.count;
        }
    }
    counts
        .into_iter()
        .map(|(line, count)| format!("{line} {count}"))
        .collect()
}

/// The functions of a frame, outermost first, joined by `;`.
pub(super) fn frame_text(profile: &Profile, frame: usize) -> String {
    let frame = &profile.frames[frame];
    let module = profile.modules.get(frame.module as usize);
    let kind = module.map_or(ModuleKind::Unknown, |module| module.kind);
    if frame.symbols.is_empty() {
        let name = module.map_or("unknown", |module| module.file_name());
        let bracketed = match name.starts_with('[') {
            true => safe_name(name),
            false => format!("[{}]", safe_name(name)),
        };
        return match kind {
            ModuleKind::Kernel | ModuleKind::KernelModule => bracketed + "_[k]",
            _ => bracketed,
        };
    }
    let mut text = String::new();
    for symbol in frame.symbols.iter().rev() {
        if !text.is_empty() {
            text.push(';');
        }
        text.push_str(&safe_name(&symbol.name));
        text.push_str(match kind {
            ModuleKind::Kernel | ModuleKind::KernelModule => "_[k]",
            ModuleKind::Jit => "_[j]",
            _ if symbol.inlined => "_[i]",
            _ => "",
        });
    }
    text
}

/// A name that cannot be taken for two frames or two lines.
fn safe_name(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            ';' => ':',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::example::example_profile;
    use super::*;

    #[test]
    fn stacks_become_lines_root_first() {
        assert_eq!(
            folded_lines(&example_profile()),
            [
                "srv;[truncated];[libc.so.6] 2",
                "srv;main;work:er;add_[i] 5",
                "srv;main;work:er;work:er;add_[i];read_[k];[kernel]_[k] 3",
            ]
        );
    }

    #[test]
    fn merging_adds_counts() {
        let lines = merged_folded_lines(&[example_profile(), example_profile()]);
        assert_eq!(lines[0], "srv;[truncated];[libc.so.6] 4");
        assert_eq!(lines.len(), 3);
    }
}
