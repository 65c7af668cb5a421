//! Commands laid out once: literal bytes, and places for what changes.

use std::ops::Range as Span;

use crate::load::decimal;
use crate::plan::load::LoadSpec;

use super::values::Values;

/// Values up to this size are part of the layout; larger ones would be kept once for every length
/// of key.
const INLINE_VALUE: usize = 16 << 10;

/// How a command is laid out.
#[derive(Debug)]
pub enum Form {
    /// One layout for each number of digits that a key can have.
    Single {
        /// Digits of the first.
        least_digits: usize,
        /// The layouts.
        programs: Vec<Program>,
    },
    /// `MGET`, or memcached's `get` of several keys.
    MultiGet {
        /// Number of keys.
        keys: u32,
        /// Whether it is RESP.
        resp: bool,
    },
}

/// The layout of a command whose key has a certain number of digits.
#[derive(Debug, Default)]
pub struct Program {
    /// All literal bytes.
    pub text: Vec<u8>,
    /// What is sent, in order.
    pub pieces: Vec<Piece>,
}

/// One piece of a layout.
#[derive(Debug)]
pub enum Piece {
    /// A part of the program's text.
    Literal(Span<usize>),
    /// Digits of the key.
    Key,
    /// Decimal length of an argument with `times` values and `extra` other bytes in it.
    Length {
        /// Number of values.
        times: u32,
        /// Other bytes.
        extra: usize,
    },
    /// The value.
    Value,
    /// Seconds until expiry, as an argument of RESP.
    ExpiryArgument,
    /// Seconds until expiry, bare.
    Expiry,
}

impl Program {
    /// Appends literal bytes.
    pub fn literal(&mut self, bytes: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(bytes);
        match self.pieces.last_mut() {
            Some(Piece::Literal(span)) => span.end = self.text.len(),
            _ => self.pieces.push(Piece::Literal(start..self.text.len())),
        }
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

/// Layouts for every number of digits of the keys of `spec`.
pub fn single(spec: &LoadSpec, mut build: impl FnMut(&mut Program, usize)) -> Form {
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

/// An array of bulk strings.
pub fn resp_form(words: &[String], spec: &LoadSpec, values: &Values) -> Form {
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

/// memcached's `set`.
pub fn memcache_set(spec: &LoadSpec, values: &Values) -> Form {
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
