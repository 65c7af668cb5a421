//! What was wished of a configuration, and what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::configuration::Configuration;
use super::definition::definitions;
use super::inputs::Fragment;

/// Options that are named in one sentence at most.
const NAMED: usize = 20;

/// Sentences about fragments that contradict each other, and about wishes that the finished
/// configuration does not fulfil.
pub fn remarks(fragments: &[Fragment], finished: &Configuration, source: &Path) -> Vec<String> {
    let wishes = wishes(fragments);
    let mut remarks = no_options(fragments);
    remarks.extend(conflicts(&wishes));
    remarks.extend(unfulfilled(&wishes, finished, source));
    remarks
}

/// A wish for an option: value and origin.
struct Wish<'f> {
    value: String,
    /// The fragment's name and line.
    place: String,
    fragment: &'f Fragment,
}

/// All wishes for each option, in the order in which they are merged.
type Wishes<'f> = BTreeMap<String, Vec<Wish<'f>>>;

fn wishes(fragments: &[Fragment]) -> Wishes<'_> {
    let mut wishes = Wishes::new();
    for fragment in fragments {
        for (name, setting) in Configuration::parse(&fragment.text).options() {
            wishes.entry(name.to_owned()).or_default().push(Wish {
                value: setting.value.clone(),
                place: fragment.place(setting.line),
                fragment,
            });
        }
    }
    wishes
}

/// Lines that are neither options nor comments: the kernel's scripts pass over them.
fn no_options(fragments: &[Fragment]) -> Vec<String> {
    let lines = fragments.iter().flat_map(|fragment| {
        let lines = Configuration::unread(&fragment.text).into_iter();
        lines.map(move |(line, text)| {
            format!(
                "{}: `{text}` is no option and has no effect: write CONFIG_NAME=value from the line's beginning",
                fragment.place(line)
            )
        })
    });
    lines.collect()
}

fn conflicts(wishes: &Wishes<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    for (name, wishes) in wishes {
        let Some(last) = wishes.last() else { continue };
        let other = wishes.iter().find(|wish| wish.value != last.value);
        if let Some(other) = other {
            let warning = match other.fragment.is_own {
                true => ": the guest may not boot",
                false => "",
            };
            remarks.push(format!(
                "CONFIG_{name}: {} says {}, {} says {}, and the later counts{warning}",
                other.place, other.value, last.place, last.value
            ));
        }
    }
    remarks
}

fn unfulfilled(wishes: &Wishes<'_>, finished: &Configuration, source: &Path) -> Vec<String> {
    let last = wishes.iter().filter_map(|(name, wishes)| {
        let wish = wishes.last()?;
        (finished.value(name) != wish.value).then_some((name.as_str(), wish))
    });
    let unfulfilled: Vec<(&str, &Wish<'_>)> = last.collect();
    let names: BTreeSet<&str> = unfulfilled.iter().map(|(name, _)| *name).collect();
    let defined = definitions(source, &names);
    let mut remarks = Vec::new();
    let mut unknown = Vec::new();
    for (name, wish) in &unfulfilled {
        let got = finished.value(name);
        let Some(definition) = defined.get(*name) else {
            // Of our own list, what a kernel does not know it does not need.
            if !wish.fragment.is_own {
                unknown.push(format!("CONFIG_{name} ({})", wish.place));
            }
            continue;
        };
        let depends = definition.depends.join(" and on ");
        let why = match (definition.depends.is_empty(), got) {
            (false, "n") => format!(": a dependency is not met, it depends on {depends}"),
            (true, "n") => {
                ": what encloses it there is not met, or another choice was taken".to_owned()
            }
            (false, _) => format!("; it depends on {depends}"),
            (true, _) => String::new(),
        };
        remarks.push(format!(
            "CONFIG_{name}: {} wished for {}, the kernel has {got} ({}){why}",
            wish.place, wish.value, definition.place
        ));
    }
    let surplus = remarks.len().saturating_sub(NAMED);
    if surplus > 0 {
        remarks.truncate(NAMED);
        remarks.push(format!(
            "{surplus} more options have other values than wished for: see the artifact's config"
        ));
    }
    if !unknown.is_empty() {
        remarks.push(format!(
            "this kernel has no option of the name {}",
            unknown.join(", ")
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(name: &str, text: &str, is_own: bool) -> Fragment {
        Fragment {
            name: name.to_owned(),
            text: text.to_owned(),
            is_own,
        }
    }

    #[test]
    fn wishes_that_contradict_each_other_or_came_to_nothing_are_said() {
        let dir = tempfile::tempdir().unwrap();
        let text = "config B\n\tbool\n\tdepends on C\nconfig D\n\tint\n";
        std::fs::write(dir.path().join("Kconfig"), text).unwrap();
        let fragments = [
            fragment("the guest's options", "CONFIG_A=y\nCONFIG_OLD=y\n", true),
            fragment("one.config", "\nCONFIG_B=y\nCONFIG_D=3\n", false),
            fragment(
                "two.config",
                "# CONFIG_A is not set\nCONFIG_NEW=y\n# CONFIG_GONE is not set\n",
                false,
            ),
        ];
        let finished = Configuration::parse("# CONFIG_A is not set\nCONFIG_D=4\n");
        assert_eq!(
            remarks(&fragments, &finished, dir.path()),
            [
                "CONFIG_A: the guest's options says y, two.config:1 says n, and the later counts: \
                 the guest may not boot",
                "CONFIG_B: one.config:2 wished for y, the kernel has n (Kconfig:1): a dependency is \
                 not met, it depends on C",
                "CONFIG_D: one.config:3 wished for 3, the kernel has 4 (Kconfig:4)",
                "this kernel has no option of the name CONFIG_NEW (two.config:2)",
            ]
        );
    }
}
