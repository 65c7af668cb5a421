//! Programs with their arguments, and the placeholders in them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

/// Program and arguments: in TOML a string, split as a shell splits words, or a list of strings.
///
/// No shell is involved; a command that needs one says `sh -c '…'`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CommandLine(pub Vec<String>);

impl CommandLine {
    /// The words with every placeholder replaced by its value.
    pub fn expand(&self, values: &Placeholders) -> Result<Vec<String>, UnknownPlaceholder> {
        self.0.iter().map(|word| values.expand(word)).collect()
    }
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Words)
    }
}

struct Words;

impl<'de> de::Visitor<'de> for Words {
    type Value = CommandLine;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a command as a string, or as a list of strings")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CommandLine, E> {
        match shell_words::split(text) {
            Ok(words) if !words.is_empty() => Ok(CommandLine(words)),
            Ok(_) => Err(E::custom("the command is empty")),
            Err(error) => Err(E::custom(format!(
                "`{text}` cannot be split into words: {error}"
            ))),
        }
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut sequence: A) -> Result<CommandLine, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = sequence.next_element()? {
            words.push(word);
        }
        if words.is_empty() {
            return Err(de::Error::custom("the command is empty"));
        }
        Ok(CommandLine(words))
    }
}

/// A `{name}` that nothing stands for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown placeholder `{{{name}}}`; known here: {known} (a literal brace is written twice)")]
pub struct UnknownPlaceholder {
    /// The name.
    pub name: String,
    /// The names that would have been known.
    pub known: String,
}

/// Values of placeholders, by name.
///
/// `{artifact}` the main built file; `{artifact-dir}` the directory of all built files; `{run}` the
/// trial's fresh directory; `{socket}` and `{port}` where the server is to listen; `{cpus}` the
/// server's CPU list; `{jobs}` the number of CPUs to build with; `{source}` the exported tree.
#[derive(Debug, Clone, Default)]
pub struct Placeholders(Vec<(&'static str, String)>);

impl Placeholders {
    /// Placeholders with the values given.
    pub fn new(values: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self(values.into_iter().collect())
    }

    /// Replaces every `{name}`; `{{` and `}}` stand for a brace, and `${name}` is left to the shell.
    pub fn expand(&self, text: &str) -> Result<String, UnknownPlaceholder> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            expanded.push_str(before);
            let brace = &from[..1];
            if from[1..].starts_with(brace) {
                expanded.push_str(brace);
                rest = &from[2..];
            } else if let Some(name) = placeholder_name(from).filter(|_| !before.ends_with('$')) {
                expanded.push_str(self.value(name)?);
                rest = &from[name.len() + 2..];
            } else {
                expanded.push_str(brace);
                rest = &from[1..];
            }
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    /// Gives a placeholder another value, or adds it.
    pub fn set(&mut self, name: &'static str, value: String) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    fn value(&self, name: &str) -> Result<&str, UnknownPlaceholder> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
            .ok_or_else(|| UnknownPlaceholder {
                name: name.to_owned(),
                known: self
                    .0
                    .iter()
                    .map(|(known, _)| format!("{{{known}}}"))
                    .collect::<Vec<_>>()
                    .join(" "),
            })
    }
}

/// The name in a text that starts with `{name}`; braces around anything else are no placeholder.
fn placeholder_name(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Placeholders {
        Placeholders::new([
            ("run", "/tmp/a b".to_owned()),
            ("artifact-dir", "/x".to_owned()),
        ])
    }

    #[test]
    fn placeholders_are_replaced_and_braces_survive() {
        for (text, expanded) in [
            ("--dir {run}", "--dir /tmp/a b"),
            ("{artifact-dir}/bin", "/x/bin"),
            ("a{{run}}b", "a{run}b"),
            ("${HOME}/{run}", "${HOME}//tmp/a b"),
            ("awk '{ print $1 }'", "awk '{ print $1 }'"),
            ("{", "{"),
            ("}", "}"),
            ("{}", "{}"),
            ("é{run}é", "é/tmp/a bé"),
        ] {
            assert_eq!(values().expand(text).unwrap(), expanded, "{text}");
        }
    }

    #[test]
    fn an_unknown_placeholder_is_named_with_those_that_are_known() {
        let error = values().expand("{sokket}").unwrap_err();
        assert_eq!(error.name, "sokket");
        assert!(
            error.to_string().contains("{run} {artifact-dir}"),
            "{error}"
        );
    }

    #[test]
    fn a_value_with_blanks_stays_one_word() {
        let command = CommandLine(vec!["cat".into(), "{run}/x".into()]);
        assert_eq!(command.expand(&values()).unwrap(), ["cat", "/tmp/a b/x"]);
    }
}
