//! Commands, encoded from templates: what never changes is laid out once.

mod of_spec;
mod program;
mod values;

use super::decimal;

pub(crate) use of_spec::templates;
use program::{Form, Piece};
pub(crate) use values::Values;

/// What a good reply to a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// `+OK`.
    Ok,
    /// `STORED`.
    Stored,
    /// A value, or nil for a miss.
    Value,
    /// Values of that many keys, nil or left out for a miss.
    Values(u64),
    /// Anything but an error.
    Any,
}

impl Expect {
    /// As a message says it.
    pub fn describe(self) -> &'static str {
        match self {
            Expect::Ok => "OK",
            Expect::Stored => "STORED",
            Expect::Value => "a value or nil",
            Expect::Values(_) => "an array with a value or nil for each key",
            Expect::Any => "any reply",
        }
    }
}

/// What a command counts as in a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A write of the ratio.
    Set,
    /// A read of the ratio.
    Get,
    /// A command of the user's own.
    Other,
}

/// A command that can be encoded over and over.
#[derive(Debug)]
pub(crate) struct CommandTemplate {
    /// Name in results: the first word.
    pub name: String,
    /// What it counts as.
    pub role: Role,
    /// What a good reply is.
    pub expect: Expect,
    /// The words, for messages.
    words: Vec<String>,
    prefix: String,
    form: Form,
}

impl CommandTemplate {
    /// Appends the command for `key`; `more` gives the further keys of a multi-key command.
    #[inline]
    pub fn encode(
        &self,
        key: u64,
        mut more: impl FnMut() -> u64,
        values: &mut Values,
        out: &mut Vec<u8>,
    ) {
        match &self.form {
            Form::Single {
                least_digits,
                programs,
            } => {
                let digits = decimal::digits(key);
                let Some(program) = programs.get(digits.wrapping_sub(*least_digits)) else {
                    debug_assert!(false, "a key outside its range");
                    return;
                };
                let mut size = None;
                for piece in &program.pieces {
                    match piece {
                        Piece::Literal(span) => out.extend_from_slice(&program.text[span.clone()]),
                        Piece::Key => decimal::push(out, key, digits),
                        Piece::Length { times, extra } => {
                            let size = *size.get_or_insert_with(|| values.size(key));
                            let length = (size * *times as usize + extra) as u64;
                            decimal::push(out, length, decimal::digits(length));
                        }
                        Piece::Value => {
                            let size = *size.get_or_insert_with(|| values.size(key));
                            values.value(size, out);
                        }
                        Piece::ExpiryArgument => {
                            let seconds = values.expiry();
                            let digits = decimal::digits(seconds);
                            out.push(b'$');
                            decimal::push(out, digits as u64, decimal::digits(digits as u64));
                            out.extend_from_slice(b"\r\n");
                            decimal::push(out, seconds, digits);
                            out.extend_from_slice(b"\r\n");
                        }
                        Piece::Expiry => {
                            let seconds = values.expiry();
                            decimal::push(out, seconds, decimal::digits(seconds));
                        }
                    }
                }
            }
            Form::MultiGet { keys, resp } => {
                let count = u64::from(*keys);
                if *resp {
                    out.push(b'*');
                    decimal::push(out, count + 1, decimal::digits(count + 1));
                    out.extend_from_slice(b"\r\n$4\r\nMGET\r\n");
                } else {
                    out.extend_from_slice(b"get");
                }
                for index in 0..count {
                    let key = if index == 0 { key } else { more() };
                    let digits = decimal::digits(key);
                    if *resp {
                        let length = (self.prefix.len() + digits) as u64;
                        out.push(b'$');
                        decimal::push(out, length, decimal::digits(length));
                        out.extend_from_slice(b"\r\n");
                    } else {
                        out.push(b' ');
                    }
                    out.extend_from_slice(self.prefix.as_bytes());
                    decimal::push(out, key, digits);
                    if *resp {
                        out.extend_from_slice(b"\r\n");
                    }
                }
                if !resp {
                    out.extend_from_slice(b"\r\n");
                }
            }
        }
    }

    /// The command as a person would type it, with the value left out.
    pub fn describe(&self, key: u64) -> String {
        let words: Vec<String> = self
            .words
            .iter()
            .map(|word| {
                word.replace("__key__", &format!("{}{key}", self.prefix))
                    .replace("__data__", "…")
                    .replace("__expiry__", "…")
            })
            .collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::keys::Rng;
    use crate::plan::load::LoadSpec;

    fn encoded(toml: &str, keys: &[u64]) -> Vec<String> {
        let spec: LoadSpec = toml::from_str(toml).unwrap();
        spec.check().unwrap();
        let mut values = Values::new(&spec, Rng::new(1, 0));
        let templates = templates(&spec, &values);
        let mut out = Vec::new();
        for (template, ratio) in &templates {
            if *ratio == 0 {
                continue;
            }
            for key in keys {
                let mut bytes = Vec::new();
                let mut next = *key;
                let more = || {
                    next += 1;
                    next
                };
                template.encode(*key, more, &mut values, &mut bytes);
                out.push(String::from_utf8(bytes).unwrap());
            }
        }
        out
    }

    #[test]
    fn commands_on_the_wire() {
        assert_eq!(
            encoded("data-size = 3", &[7, 10_000_000]),
            [
                "*3\r\n$3\r\nSET\r\n$9\r\nmemtier-7\r\n$3\r\nxxx\r\n",
                "*3\r\n$3\r\nSET\r\n$16\r\nmemtier-10000000\r\n$3\r\nxxx\r\n",
                "*2\r\n$3\r\nGET\r\n$9\r\nmemtier-7\r\n",
                "*2\r\n$3\r\nGET\r\n$16\r\nmemtier-10000000\r\n",
            ]
        );
        assert_eq!(
            encoded(
                "data-size = 1\nexpiry-range = \"90-90\"\nratio = \"1:0\"",
                &[7]
            ),
            ["*4\r\n$5\r\nSETEX\r\n$9\r\nmemtier-7\r\n$2\r\n90\r\n$1\r\nx\r\n"]
        );
        assert_eq!(
            encoded(
                "multi-key-get = 3\nratio = \"0:1\"\nkey-prefix = \"k\"",
                &[9]
            ),
            ["*4\r\n$4\r\nMGET\r\n$2\r\nk9\r\n$3\r\nk10\r\n$3\r\nk11\r\n"]
        );
        assert_eq!(
            encoded(
                "command = [\"LPUSH l:__key__ 'a __data__' __data__\"]\ndata-size-range = \"2-2\"\nkey-prefix = \"k\"",
                &[5]
            ),
            ["*4\r\n$5\r\nLPUSH\r\n$4\r\nl:k5\r\n$4\r\na xx\r\n$2\r\nxx\r\n"]
        );
        assert_eq!(
            encoded("protocol = \"memcache_text\"\ndata-size = 2", &[5]),
            ["set memtier-5 0 0 2\r\nxx\r\n", "get memtier-5\r\n"]
        );
        assert_eq!(
            encoded(
                "protocol = \"memcache_text\"\nratio = \"0:1\"\nmulti-key-get = 2",
                &[5]
            ),
            ["get memtier-5 memtier-6\r\n"]
        );
    }

    #[test]
    fn large_and_random_values_have_the_size_they_say() {
        for toml in [
            "data-size = 20000",
            "random-data = true\ndata-size = 5",
            "data-size-range = \"1-300\"",
            "data-size-list = \"3:1,200:4\"",
        ] {
            let spec: LoadSpec = toml::from_str(toml).unwrap();
            let mut values = Values::new(&spec, Rng::new(1, 0));
            let templates = templates(&spec, &values);
            let mut seen = std::collections::BTreeSet::new();
            for key in 0..500 {
                let mut out = Vec::new();
                templates[0].0.encode(key, || 0, &mut values, &mut out);
                let body = out
                    .windows(2)
                    .enumerate()
                    .filter(|(_, w)| w == b"\r\n")
                    .nth(5)
                    .unwrap()
                    .0
                    + 2;
                let header = out[..body - 2].iter().rposition(|b| *b == b'$').unwrap() + 1;
                let size: usize = std::str::from_utf8(&out[header..body - 2])
                    .unwrap()
                    .parse()
                    .unwrap();
                assert_eq!(out.len(), body + size + 2, "{toml}");
                seen.insert(size);
            }
            match toml {
                "data-size = 20000" => assert_eq!(seen.into_iter().collect::<Vec<_>>(), [20000]),
                "random-data = true\ndata-size = 5" => assert_eq!(seen.len(), 1),
                "data-size-range = \"1-300\"" => assert!(seen.len() > 200),
                _ => assert_eq!(seen.into_iter().collect::<Vec<_>>(), [3, 200]),
            }
        }
    }

    #[test]
    fn spread_sizes_grow_from_the_least_key_to_the_greatest() {
        let spec: LoadSpec = toml::from_str(
            "key-minimum = 10\nkey-maximum = 20\ndata-size-range = \"100-200\"\ndata-size-pattern = \"S\"",
        )
        .unwrap();
        let mut values = Values::new(&spec, Rng::new(1, 0));
        let sizes: Vec<usize> = (10..=20).map(|key| values.size(key)).collect();
        assert_eq!(
            sizes,
            [100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200]
        );
    }

    #[test]
    fn commands_are_described_without_their_value() {
        let spec = LoadSpec::default();
        let values = Values::new(&spec, Rng::new(1, 0));
        let templates = templates(&spec, &values);
        assert_eq!(templates[0].0.describe(4), "SET memtier-4 …");
        assert_eq!(templates[1].0.describe(4), "GET memtier-4");
    }
}
