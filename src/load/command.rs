//! Commands, encoded from templates: what never changes is laid out once.

use std::ops::Range as Span;
use std::sync::Arc;

use crate::plan::load::{LoadSpec, SizePattern};

use super::decimal;
use super::keys::Rng;

/// Values up to this size are part of the template; larger ones would be kept once for every
/// length of key.
const INLINE_VALUE: usize = 16 << 10;

/// Random values begin at a random byte of so many spare ones.
const RANDOM_SPARE: usize = 64 << 10;

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

#[derive(Debug)]
enum Form {
    /// One program for each number of digits that a key can have.
    Single {
        least_digits: usize,
        programs: Vec<Program>,
    },
    /// `MGET`, or memcached's `get` of several keys.
    MultiGet { keys: u32, resp: bool },
}

#[derive(Debug, Default)]
struct Program {
    text: Vec<u8>,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    /// A part of the program's text.
    Literal(Span<usize>),
    /// Digits of the key.
    Key,
    /// Decimal length of an argument with `times` values and `extra` other bytes in it.
    Length { times: u32, extra: usize },
    /// The value.
    Value,
    /// Seconds until expiry, as an argument of RESP.
    ExpiryArgument,
    /// Seconds until expiry, bare.
    Expiry,
}

impl Program {
    fn literal(&mut self, bytes: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(bytes);
        match self.pieces.last_mut() {
            Some(Piece::Literal(span)) => span.end = self.text.len(),
            _ => self.pieces.push(Piece::Literal(start..self.text.len())),
        }
    }
}

/// Sizes, bytes and expiries of the values of one client.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    sizes: Sizes,
    bytes: Arc<[u8]>,
    random: bool,
    expiry: Option<crate::plan::load::Range>,
    rng: Rng,
}

#[derive(Debug, Clone)]
enum Sizes {
    Fixed(usize),
    Random {
        min: u64,
        max: u64,
    },
    Spread {
        min: u64,
        max: u64,
        key_minimum: u64,
        key_span: u64,
    },
    Weighted {
        ends: Arc<[(u64, usize)]>,
        total: u64,
    },
}

impl Values {
    /// Values of `spec`; `rng` only serves sizes, bytes and expiries.
    pub fn new(spec: &LoadSpec, rng: Rng) -> Values {
        let sizes = if let Some(list) = &spec.data_size_list {
            let mut total = 0;
            let ends = list
                .0
                .iter()
                .map(|(size, weight)| {
                    total += u64::from(*weight);
                    (total, *size as usize)
                })
                .collect();
            Sizes::Weighted { ends, total }
        } else if let Some(range) = spec.data_size_range {
            let (min, max) = (u64::from(range.min), u64::from(range.max));
            match spec.data_size_pattern {
                SizePattern::Random => Sizes::Random { min, max },
                SizePattern::Spread => Sizes::Spread {
                    min,
                    max,
                    key_minimum: spec.key_minimum,
                    key_span: (spec.key_maximum - spec.key_minimum).max(1),
                },
            }
        } else {
            Sizes::Fixed(spec.data_size as usize)
        };
        let largest = match &sizes {
            Sizes::Fixed(size) => *size,
            Sizes::Random { max, .. } | Sizes::Spread { max, .. } => *max as usize,
            Sizes::Weighted { ends, .. } => ends.iter().map(|(_, size)| *size).max().unwrap_or(1),
        };
        let bytes = if spec.random_data {
            let mut bytes = vec![0; largest + RANDOM_SPARE];
            let mut filler = rng.clone();
            for chunk in bytes.chunks_mut(8) {
                chunk.copy_from_slice(&filler.next_u64().to_le_bytes()[..chunk.len()]);
            }
            bytes
        } else {
            vec![b'x'; largest]
        };
        Values {
            sizes,
            bytes: bytes.into(),
            random: spec.random_data,
            expiry: spec.expiry_range,
            rng,
        }
    }

    /// The same values for another client, sharing the bytes.
    pub fn with_rng(&self, rng: Rng) -> Values {
        Values {
            rng,
            ..self.clone()
        }
    }

    /// The value that every command carries, where there is one.
    fn constant(&self) -> Option<&[u8]> {
        match self.sizes {
            Sizes::Fixed(size) if !self.random => Some(&self.bytes[..size]),
            _ => None,
        }
    }

    /// Size of the next value in bytes, for key `key`.
    fn size(&mut self, key: u64) -> usize {
        match &self.sizes {
            Sizes::Fixed(size) => *size,
            Sizes::Random { min, max } => (min + self.rng.below(max - min + 1)) as usize,
            Sizes::Spread {
                min,
                max,
                key_minimum,
                key_span,
            } => {
                let along = u128::from(key.saturating_sub(*key_minimum).min(*key_span));
                let grown = u128::from(max - min) * along / u128::from(*key_span);
                *min as usize + grown as usize
            }
            Sizes::Weighted { ends, total } => {
                let draw = self.rng.below(*total);
                let index = ends.partition_point(|(end, _)| *end <= draw);
                ends.get(index).map_or(1, |(_, size)| *size)
            }
        }
    }

    fn value(&mut self, size: usize, out: &mut Vec<u8>) {
        let start = if self.random {
            self.rng.below((self.bytes.len() - size + 1) as u64) as usize
        } else {
            0
        };
        out.extend_from_slice(&self.bytes[start..start + size]);
    }

    fn expiry(&mut self) -> u64 {
        self.expiry.map_or(0, |range| {
            u64::from(range.min) + self.rng.below(u64::from(range.max - range.min) + 1)
        })
    }
}

/// A word of a command with the places to be filled in.
enum Part<'a> {
    Text(&'a str),
    Key,
    Value,
}

fn parts(word: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        let next = [("__key__", true), ("__data__", false)]
            .into_iter()
            .filter_map(|(mark, is_key)| rest.find(mark).map(|at| (at, mark.len(), is_key)))
            .min();
        let Some((at, length, is_key)) = next else {
            parts.push(Part::Text(rest));
            break;
        };
        if at > 0 {
            parts.push(Part::Text(&rest[..at]));
        }
        parts.push(if is_key { Part::Key } else { Part::Value });
        rest = &rest[at + length..];
    }
    parts
}

/// The commands of one round, each with the number of times that it is sent in a row.
pub(crate) fn templates(spec: &LoadSpec, values: &Values) -> Vec<(CommandTemplate, u32)> {
    if !spec.command.is_empty() {
        return spec
            .command_rounds()
            .map(|(command, ratio, _)| {
                // `LoadSpec::check` has split it already.
                let words = shell_words::split(command).unwrap_or_default();
                (CommandTemplate::own(words, spec, values), ratio)
            })
            .collect();
    }
    vec![
        (CommandTemplate::set(spec, values), spec.ratio.sets),
        (CommandTemplate::get(spec, values), spec.ratio.gets),
    ]
}

impl CommandTemplate {
    fn own(words: Vec<String>, spec: &LoadSpec, values: &Values) -> CommandTemplate {
        CommandTemplate {
            name: words.first().map(|w| w.to_uppercase()).unwrap_or_default(),
            role: Role::Other,
            expect: Expect::Any,
            prefix: spec.key_prefix.clone(),
            form: resp_form(&words, spec, values),
            words,
        }
    }

    fn set(spec: &LoadSpec, values: &Values) -> CommandTemplate {
        let expires = spec.expiry_range.is_some();
        let words: Vec<String> = match (spec.protocol.is_resp(), expires) {
            (true, false) => vec!["SET".into(), "__key__".into(), "__data__".into()],
            (true, true) => vec![
                "SETEX".into(),
                "__key__".into(),
                "__expiry__".into(),
                "__data__".into(),
            ],
            (false, _) => vec!["set".into(), "__key__".into()],
        };
        let form = if spec.protocol.is_resp() {
            resp_form(&words, spec, values)
        } else {
            memcache_set(spec, values)
        };
        CommandTemplate {
            name: "SET".to_owned(),
            role: Role::Set,
            expect: if spec.protocol.is_resp() {
                Expect::Ok
            } else {
                Expect::Stored
            },
            prefix: spec.key_prefix.clone(),
            form,
            words,
        }
    }

    fn get(spec: &LoadSpec, values: &Values) -> CommandTemplate {
        let resp = spec.protocol.is_resp();
        let word = match (resp, spec.multi_key_get) {
            (true, 0) => "GET",
            (true, _) => "MGET",
            (false, _) => "get",
        };
        let words = vec![word.to_owned(), "__key__".to_owned()];
        let (form, expect) = match (spec.multi_key_get, resp) {
            (0, true) => (resp_form(&words, spec, values), Expect::Value),
            (0, false) => (
                single(spec, |program, _| {
                    program.literal(b"get ");
                    program.literal(spec.key_prefix.as_bytes());
                    program.pieces.push(Piece::Key);
                    program.literal(b"\r\n");
                }),
                Expect::Value,
            ),
            (keys, resp) => (Form::MultiGet { keys, resp }, Expect::Values(keys.into())),
        };
        CommandTemplate {
            name: "GET".to_owned(),
            role: Role::Get,
            expect,
            prefix: spec.key_prefix.clone(),
            form,
            words,
        }
    }

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

/// Programs for every number of digits of the keys of `spec`.
fn single(spec: &LoadSpec, mut build: impl FnMut(&mut Program, usize)) -> Form {
    let least_digits = decimal::digits(spec.key_minimum);
    let programs = (least_digits..=decimal::digits(spec.key_maximum))
        .map(|digits| {
            let mut program = Program::default();
            build(&mut program, digits);
            program
        })
        .collect();
    Form::Single {
        least_digits,
        programs,
    }
}

fn resp_form(words: &[String], spec: &LoadSpec, values: &Values) -> Form {
    let constant = values
        .constant()
        .filter(|value| value.len() <= INLINE_VALUE);
    single(spec, |program, digits| {
        program.literal(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            if word == "__expiry__" {
                program.pieces.push(Piece::ExpiryArgument);
                continue;
            }
            let parts = parts(word);
            let mut extra = 0;
            let mut times = 0;
            for part in &parts {
                match part {
                    Part::Text(text) => extra += text.len(),
                    Part::Key => extra += spec.key_prefix.len() + digits,
                    Part::Value => match constant {
                        Some(value) => extra += value.len(),
                        None => times += 1,
                    },
                }
            }
            program.literal(b"$");
            if times == 0 {
                program.literal(extra.to_string().as_bytes());
            } else {
                program.pieces.push(Piece::Length { times, extra });
            }
            program.literal(b"\r\n");
            for part in &parts {
                match (part, constant) {
                    (Part::Text(text), _) => program.literal(text.as_bytes()),
                    (Part::Key, _) => {
                        program.literal(spec.key_prefix.as_bytes());
                        program.pieces.push(Piece::Key);
                    }
                    (Part::Value, Some(value)) => program.literal(value),
                    (Part::Value, None) => program.pieces.push(Piece::Value),
                }
            }
            program.literal(b"\r\n");
        }
    })
}

fn memcache_set(spec: &LoadSpec, values: &Values) -> Form {
    let constant = values
        .constant()
        .filter(|value| value.len() <= INLINE_VALUE);
    single(spec, |program, _| {
        program.literal(b"set ");
        program.literal(spec.key_prefix.as_bytes());
        program.pieces.push(Piece::Key);
        program.literal(b" 0 ");
        program.pieces.push(Piece::Expiry);
        program.literal(b" ");
        match constant {
            Some(value) => program.literal(value.len().to_string().as_bytes()),
            None => program.pieces.push(Piece::Length { times: 1, extra: 0 }),
        }
        program.literal(b"\r\n");
        match constant {
            Some(value) => program.literal(value),
            None => program.pieces.push(Piece::Value),
        }
        program.literal(b"\r\n");
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
