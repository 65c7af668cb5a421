//! The text form of a kernel's configuration.

use std::collections::BTreeMap;

/// A configuration or a fragment of one: options by name, without `CONFIG_`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration(BTreeMap<String, Setting>);

/// An option's value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// `y`, `m`, a number or a quoted text; `n` where it is not set.
    pub value: String,
    /// Line, from 1.
    pub line: usize,
}

impl Configuration {
    /// Reads a text as `make` does: what is no option is a comment.
    pub fn parse(text: &str) -> Self {
        let mut options = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            if let Some((name, value)) = option(line.trim_end()) {
                let setting = Setting {
                    value: value.to_owned(),
                    line: at + 1,
                };
                options.insert(name.to_owned(), setting);
            }
        }
        Self(options)
    }

    /// The lines of a text that are neither options nor comments, with their numbers from 1.
    pub fn unread(text: &str) -> Vec<(usize, &str)> {
        let lines = text.lines().enumerate();
        lines
            .filter(|(_, line)| option(line.trim_end()).is_none())
            .map(|(at, line)| (at + 1, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .collect()
    }

    /// An option's value: `n` for what is not named.
    pub fn value(&self, name: &str) -> &str {
        self.0.get(name).map_or("n", |setting| &setting.value)
    }

    /// Whether an option is built in.
    pub fn is_on(&self, name: &str) -> bool {
        self.value(name) == "y"
    }

    /// All options that are named, in order of their names.
    pub fn options(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.0
            .iter()
            .map(|(name, setting)| (name.as_str(), setting))
    }
}

/// `CONFIG_NAME=value`, or `# CONFIG_NAME is not set`.
fn option(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line.strip_prefix("# CONFIG_") {
        let name = rest.strip_suffix(" is not set")?;
        return is_name(name).then_some((name, "n"));
    }
    let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
    is_name(name).then_some((name, value))
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_make_reads_them() {
        let text = "# a comment\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"a b\"\nCONFIG_D=3\n\
                    CONFIG_A=m\n#CONFIG_E=y\nnonsense\n";
        let configuration = Configuration::parse(text);
        let all: Vec<_> = configuration
            .options()
            .map(|(name, setting)| (name, setting.value.as_str(), setting.line))
            .collect();
        assert_eq!(
            all,
            [
                ("A", "m", 6),
                ("B", "n", 3),
                ("C", "\"a b\"", 4),
                ("D", "3", 5)
            ]
        );
        assert_eq!(configuration.value("E"), "n");
        assert!(!configuration.is_on("A"));
        let text = "  CONFIG_A=y\nCONFIG_B = y\nCONFIG_C=y\n\n  # a comment\nD=y\n";
        let unread = [(1, "CONFIG_A=y"), (2, "CONFIG_B = y"), (6, "D=y")];
        assert_eq!(Configuration::unread(text), unread);
    }
}
