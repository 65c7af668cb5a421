//! One source of a plan (a preset, a file, a flag), and where in it a key stands.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::PlanError;
use super::model::Plan;

/// A TOML text with the name by which the user knows it.
#[derive(Debug, Clone)]
pub struct Layer {
    /// `preset redis`, a file's path, or the flag.
    pub name: String,
    /// The text.
    pub text: String,
    /// Whether the text has lines that the user knows: a file has, a flag has not.
    pub has_lines: bool,
}

impl Layer {
    /// Reads the text, refusing what is no TOML and what no plan may hold: unknown keys and values
    /// of a wrong type.
    pub fn table(&self) -> Result<toml::Table, PlanError> {
        let table: toml::Table = toml::from_str(&self.text).map_err(|error| self.refuse(&error))?;
        toml::from_str::<Plan>(&self.text).map_err(|error| self.refuse(&error))?;
        Ok(table)
    }

    fn refuse(&self, error: &toml::de::Error) -> PlanError {
        let span = error.span();
        PlanError::Invalid {
            layer: self.name.clone(),
            line: span.as_ref().and_then(|span| self.line_at(span.start)),
            key: span.and_then(|span| self.key_at(&span)).unwrap_or_default(),
            message: in_users_words(error.message()),
        }
    }

    /// The offset at which a dotted key stands, if it stands in this layer.
    pub fn find_key(&self, key: &str) -> Option<usize> {
        let document = DeTable::parse(&self.text).ok()?;
        let mut parts = key.split('.');
        let (name, value) = document.get_ref().iter().find({
            let first = parts.next()?;
            move |(name, _)| name.get_ref() == first
        })?;
        let mut start = name.span().start;
        let mut place = value;
        for part in parts {
            let below = match place.get_ref() {
                DeValue::Table(table) => {
                    let (name, value) = table.iter().find(|(name, _)| name.get_ref() == part)?;
                    Some((name.span().start, value))
                }
                DeValue::Array(list) => {
                    let element = part.parse().ok().and_then(|at: usize| list.get(at));
                    element.map(|value| (value.span().start, value))
                }
                _ => None,
            };
            // Deeper than the text goes: the line above serves.
            let Some((at, value)) = below else { break };
            (start, place) = (at, value);
        }
        Some(start)
    }

    /// The line of an offset, where lines mean something to the user.
    pub fn line_at(&self, offset: usize) -> Option<usize> {
        self.has_lines.then(|| line_of(&self.text, offset))
    }

    /// The dotted key whose name or value holds the span.
    fn key_at(&self, span: &Range<usize>) -> Option<String> {
        let document = DeTable::parse(&self.text).ok()?;
        let mut path = Vec::new();
        descend(document.get_ref(), span, &mut path);
        (!path.is_empty()).then(|| path.join("."))
    }
}

/// Follows the one entry of each table that holds the span.
fn descend(table: &DeTable<'_>, span: &Range<usize>, path: &mut Vec<String>) {
    let holds = |outer: Range<usize>| outer.start <= span.start && span.end <= outer.end;
    for (name, value) in table {
        let below = match value.get_ref() {
            DeValue::Table(below) => Some(below),
            _ => None,
        };
        // A `[section]` has the span of its header only, so tables are searched whatever their span.
        let mut deeper = Vec::new();
        if let Some(below) = below {
            descend(below, span, &mut deeper);
        }
        if !deeper.is_empty() || holds(Spanned::span(name)) || holds(Spanned::span(value)) {
            path.push(name.get_ref().to_string());
            path.append(&mut deeper);
            return;
        }
    }
}

/// The deserialiser names Rust's types; users think in numbers.
fn in_users_words(message: &str) -> String {
    let range = |name: &str, most: String| {
        (
            format!("expected {name}"),
            format!("expected a whole number from 0 to {most}"),
        )
    };
    let words = [
        range("u32", u32::MAX.to_string()),
        range("u64", i64::MAX.to_string()),
        (
            "expected any valid TOML value".to_owned(),
            "which is too large for TOML".to_owned(),
        ),
        (" as i128".to_owned(), String::new()),
    ];
    words
        .iter()
        .fold(message.to_owned(), |message, (from, to)| {
            message.replace(from, to)
        })
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()
        .iter()
        .take(offset)
        .filter(|&&byte| byte == b'\n')
        .count()
        + 1
}

/// Lays one table over another: tables are merged key by key, all else is replaced.
pub fn overlay(below: &mut toml::Table, above: toml::Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => overlay(old, new),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// Turns the merged table into a plan. `[prepare]` and the loads of phases are laid over copies of
/// `[load]`.
pub fn into_plan(mut table: toml::Table) -> Result<Plan, toml::de::Error> {
    let load = match table.get("load") {
        Some(toml::Value::Table(load)) => load.clone(),
        _ => toml::Table::new(),
    };
    let over_load = |value: &mut toml::Value| {
        if let toml::Value::Table(own) = value {
            let mut whole = load.clone();
            overlay(&mut whole, std::mem::take(own));
            *own = whole;
        }
    };
    if let Some(prepare) = table.get_mut("prepare") {
        over_load(prepare);
    }
    let phases = table.get_mut("phase").and_then(toml::Value::as_array_mut);
    for phase in phases.into_iter().flatten() {
        if let Some(load) = phase.get_mut("load") {
            over_load(load);
        }
    }
    Plan::deserialize(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(text: &str) -> Layer {
        Layer {
            name: "perfblame.toml".to_owned(),
            text: text.to_owned(),
            has_lines: true,
        }
    }

    #[test]
    fn faults_are_found_with_line_and_key() {
        for (text, line, key, said) in [
            (
                "[experiment]\nblocks = 8\nblcks = 3\n",
                3,
                "experiment.blcks",
                "unknown field",
            ),
            (
                "\n[windows]\nmeasure = 8\n",
                3,
                "windows.measure",
                "a length of time",
            ),
            (
                "[windows]\nmeasure = '8'\n",
                2,
                "windows.measure",
                "length of time",
            ),
            (
                "[experiment]\nblocks = -1\n",
                2,
                "experiment.blocks",
                "`-1`, expected a whole number from 0",
            ),
            ("[sever]\nstart = 'x'\n", 1, "sever", "unknown field"),
            (
                "[server]\nready = { probe = 'pong' }\n",
                2,
                "server.ready.probe",
                "pong",
            ),
            (
                "[cpus]\nsubject = 'first'\n",
                2,
                "cpus.subject",
                "list of CPUs",
            ),
            (
                "[server]\nstart = \"unclosed 'quote\"\n",
                2,
                "server.start",
                "words",
            ),
        ] {
            let Err(PlanError::Invalid {
                line: at,
                key: named,
                message,
                ..
            }) = layer(text).table()
            else {
                panic!("accepted: {text}");
            };
            assert_eq!((at, named.as_str()), (Some(line), key), "{text}: {message}");
            assert!(message.contains(said), "{text}: {message}");
        }
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line() {
        let error = layer("[experiment]\nblocks = \n").table().unwrap_err();
        assert!(
            matches!(error, PlanError::Invalid { line: Some(2), .. }),
            "{error:?}"
        );
    }

    #[test]
    fn a_key_is_found_in_sections_and_inline_tables() {
        let layer = layer(
            "[experiment]\nblocks = 8\n\n[server]\nready = { probe = 'ping' }\n\
             [[matrix.axis]]\nname = 'a'\nlevel = [\n  { name = '1' },\n  { name = '2', set.load.clients = 'x' },\n]\n",
        );
        let line_of_key = |key| layer.line_at(layer.find_key(key)?);
        assert_eq!(line_of_key("matrix.axis.0.level.0.name"), Some(9));
        assert_eq!(
            line_of_key("matrix.axis.0.level.1.set.load.clients"),
            Some(10)
        );
        assert_eq!(line_of_key("matrix.axis.0.level.7.name"), Some(8));
        assert_eq!(line_of_key("experiment.blocks"), Some(2));
        assert_eq!(line_of_key("server.ready.probe"), Some(5));
        assert_eq!(line_of_key("windows.measure"), None);
    }

    #[test]
    fn tables_merge_and_values_replace() {
        let mut below: toml::Table = toml::from_str("[a]\nx = 1\ny = [1, 2]\n").unwrap();
        overlay(
            &mut below,
            toml::from_str("[a]\ny = [3]\n[b]\nz = 1\n").unwrap(),
        );
        let expected: toml::Table = toml::from_str("[a]\nx = 1\ny = [3]\n[b]\nz = 1\n").unwrap();
        assert_eq!(below, expected);
    }
}
