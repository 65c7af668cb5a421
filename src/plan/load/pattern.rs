//! How keys are chosen.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ValueError;

/// How a command chooses its keys: memtier_benchmark's letters, and YCSB's distributions as words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum KeyPattern {
    /// `R`: uniform over the range.
    Random,
    /// `S`: one after the other, each client from the least key on.
    Sequential,
    /// `P`: one after the other, each client through a part of the range of its own.
    Parallel,
    /// `G`: normal around the median.
    Gaussian,
    /// `Z`: Zipf, the least key most often.
    Zipf,
    /// `zipfian`: Zipf as YCSB's generator draws it, the least key most often.
    Zipfian,
    /// `scrambled`: the same with the popular keys scattered by a hash, which is what YCSB's
    /// `requestdistribution=zipfian` is.
    Scrambled,
    /// `exponential`: YCSB's, the greatest key most often.
    Exponential,
    /// `latest`: zipfian from the greatest key down.
    Latest,
}

impl KeyPattern {
    const NAMES: [(KeyPattern, &'static str); 9] = [
        (KeyPattern::Random, "R"),
        (KeyPattern::Sequential, "S"),
        (KeyPattern::Parallel, "P"),
        (KeyPattern::Gaussian, "G"),
        (KeyPattern::Zipf, "Z"),
        (KeyPattern::Zipfian, "zipfian"),
        (KeyPattern::Scrambled, "scrambled"),
        (KeyPattern::Exponential, "exponential"),
        (KeyPattern::Latest, "latest"),
    ];

    /// YCSB's word for `R`.
    const UNIFORM: &'static str = "uniform";

    /// Whether YCSB's zipfian constant is a parameter of it.
    pub fn has_zipfian_constant(self) -> bool {
        matches!(self, Self::Zipfian | Self::Scrambled | Self::Latest)
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = Self::NAMES
            .iter()
            .find(|(pattern, _)| pattern == self)
            .ok_or(fmt::Error)?;
        f.write_str(name)
    }
}

impl FromStr for KeyPattern {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text == Self::UNIFORM {
            return Ok(Self::Random);
        }
        Self::NAMES
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(pattern, _)| *pattern)
            .ok_or_else(|| {
                ValueError::new(
                    text,
                    "a key pattern: R, S, P, G or Z, or YCSB's uniform, zipfian, scrambled, exponential or latest",
                )
            })
    }
}

/// Key patterns of SETs and of GETs, written `SET:GET`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyPatterns {
    /// Pattern of SETs.
    pub set: KeyPattern,
    /// Pattern of GETs.
    pub get: KeyPattern,
}

impl Default for KeyPatterns {
    fn default() -> Self {
        KeyPatterns {
            set: KeyPattern::Random,
            get: KeyPattern::Random,
        }
    }
}

impl fmt::Display for KeyPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.set, self.get)
    }
}

impl FromStr for KeyPatterns {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let parsed = text.split_once(':').and_then(|(set, get)| {
            Some(KeyPatterns {
                set: set.parse().ok()?,
                get: get.parse().ok()?,
            })
        });
        parsed.ok_or_else(|| {
            ValueError::new(
                text,
                "two key patterns of R, S, P, G, Z, uniform, zipfian, scrambled, exponential, latest written SET:GET, such as R:R",
            )
        })
    }
}

super::values::string_conversions!(KeyPattern, KeyPatterns);
