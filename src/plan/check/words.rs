//! A fault, and the tests that many keys share.

use crate::plan::command_line::{CommandLine, Placeholders};

/// A fault of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Dotted key.
    pub key: String,
    /// What is wrong and what would be right.
    pub message: String,
}

pub(super) fn fault(key: &str, message: impl Into<String>) -> Option<Fault> {
    Some(Fault {
        key: key.to_owned(),
        message: message.into(),
    })
}

pub(super) fn zero(key: &str) -> Option<Fault> {
    fault(key, "must be more than zero")
}

pub(super) fn words(key: &str, command: &CommandLine, known: &[&'static str]) -> Option<Fault> {
    if command.0.is_empty() {
        return fault(key, "is missing: it says what to run");
    }
    command.0.iter().find_map(|word| one_word(key, word, known))
}

pub(super) fn environment(
    key: &str,
    variables: &std::collections::BTreeMap<String, String>,
    known: &[&'static str],
) -> Option<Fault> {
    variables.iter().find_map(|(name, value)| {
        if name.is_empty() || name.contains(['=', '\0']) {
            return fault(key, format!("`{name}` cannot be the name of a variable"));
        }
        one_word(&format!("{key}.{name}"), value, known)
    })
}

pub(super) fn one_word(key: &str, word: &str, known: &[&'static str]) -> Option<Fault> {
    let values = Placeholders::new(known.iter().map(|name| (*name, String::new())));
    if word.contains('\0') {
        return fault(key, "holds a NUL character");
    }
    values
        .expand(word)
        .err()
        .and_then(|error| fault(key, error.to_string()))
}

pub(super) fn expression(key: &str, pattern: &str) -> Option<Fault> {
    regex::Regex::new(pattern)
        .err()
        .and_then(|error| fault(key, error.to_string()))
}
