//! `docs/plan.md` has every key of a plan, and no other.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use perfblame::plan::Plan;
use serde_json::{Value, json};

/// A key that no section has: the error names those that it has.
const NONE: &str = "no-such-key";

/// Sections by the head that they have in the reference, with their keys.
type Sections = BTreeMap<String, BTreeSet<String>>;

/// How a section is written in a plan: its keys, and `*` for an element of a list or for any name.
fn probe(path: &[&str], innermost: Value) -> Value {
    path.iter()
        .rev()
        .fold(innermost, |inner, part| match *part {
            "[]" => json!([inner]),
            "*" => json!({ "NAME": inner }),
            key => json!({ key: inner }),
        })
}

/// The keys of a section, if there is one.
fn keys(path: &[&str]) -> Option<BTreeSet<String>> {
    let plan = probe(path, json!({ NONE: 0 }));
    let error = serde_json::from_value::<Plan>(plan).err()?.to_string();
    let known = error.strip_prefix(&format!("unknown field `{NONE}`, expected "))?;
    let quoted = known.split('`').skip(1).step_by(2);
    Some(quoted.map(str::to_owned).collect())
}

fn head(path: &[&str]) -> String {
    let mut parts = path.to_vec();
    let is_list = parts.last() == Some(&"[]");
    parts.retain(|part| *part != "[]");
    let name = parts.join(".").replace('*', "NAME");
    match (name.as_str(), is_list) {
        ("", _) => "Top level".to_owned(),
        (name, false) => format!("`[{name}]`"),
        (name, true) => format!("`[[{name}]]`"),
    }
}

/// All sections below one, as the plan's own types tell them.
fn sections(path: &mut Vec<&'static str>, found: &mut Sections) {
    let Some(keys) = keys(path) else { return };
    for key in &keys {
        let key: &'static str = key.clone().leak();
        // The reference says that these are as `[load]`.
        if matches!(
            (path.as_slice(), key),
            ([], "prepare") | (["phase", "[]"], "load")
        ) {
            continue;
        }
        for more in [vec![key], vec![key, "[]"], vec![key, "*"]] {
            let length = path.len();
            path.extend(more);
            sections(path, found);
            path.truncate(length);
        }
    }
    found.insert(head(path), keys);
}

fn documented() -> Sections {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/plan.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut found = Sections::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("## ") {
            section = head.to_owned();
        }
        let Some(row) = line.strip_prefix("| `") else {
            continue;
        };
        let bars = line.matches('|').count();
        assert_eq!(bars, 6, "a row has five cells: {line}");
        let (key, _) = row.split_once('`').unwrap();
        let keys = found.entry(section.clone()).or_default();
        assert!(keys.insert(key.to_owned()), "twice in {section}: {key}");
    }
    found
}

#[test]
fn the_reference_has_every_key_and_no_other() {
    let mut known = Sections::new();
    sections(&mut Vec::new(), &mut known);
    // The way of asking works at all, in sections, lists and maps.
    for head in [
        "Top level",
        "`[server.ready]`",
        "`[[matrix.axis.level]]`",
        "`[metric.NAME]`",
    ] {
        assert!(known.contains_key(head), "{head}: {known:#?}");
    }
    let documented = documented();
    let listed = |sections: &Sections, others: &Sections| -> Vec<String> {
        let none = BTreeSet::new();
        sections
            .iter()
            .flat_map(|(head, keys)| {
                let there = others.get(head).unwrap_or(&none);
                keys.difference(there)
                    .map(move |key| format!("{head} {key}"))
            })
            .collect()
    };
    let missing = listed(&known, &documented);
    let invented = listed(&documented, &known);
    assert!(
        missing.is_empty() && invented.is_empty(),
        "docs/plan.md lacks the keys {missing:#?}\nand has keys that no plan has: {invented:#?}"
    );
}
