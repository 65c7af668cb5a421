//! Values that are written as one word on a command line and as one string in a plan.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// A word that is not of the form that an option takes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not {expected}")]
pub struct ValueError {
    text: String,
    expected: &'static str,
}

impl ValueError {
    pub(super) fn new(text: &str, expected: &'static str) -> Self {
        ValueError {
            text: text.to_owned(),
            expected,
        }
    }
}

/// Lets serde go through `FromStr` and `Display`.
macro_rules! string_conversions {
    ($($name:ty),*) => {$(
        impl TryFrom<String> for $name {
            type Error = $crate::plan::load::ValueError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
    )*};
}
pub(super) use string_conversions;

string_conversions!(Ratio, Range, SizeWeights);

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// RESP as a fresh connection speaks it.
    Redis,
    /// RESP 2, asked for with HELLO.
    Resp2,
    /// RESP 3, asked for with HELLO.
    Resp3,
    /// memcached's text protocol.
    MemcacheText,
}

impl Protocol {
    const NAMES: [(Protocol, &'static str); 4] = [
        (Protocol::Redis, "redis"),
        (Protocol::Resp2, "resp2"),
        (Protocol::Resp3, "resp3"),
        (Protocol::MemcacheText, "memcache_text"),
    ];

    /// Whether it is one of the RESP family.
    pub fn is_resp(self) -> bool {
        self != Protocol::MemcacheText
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = Self::NAMES
            .iter()
            .find(|(protocol, _)| protocol == self)
            .ok_or(fmt::Error)?;
        f.write_str(name)
    }
}

impl FromStr for Protocol {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        Self::NAMES
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(protocol, _)| *protocol)
            .ok_or_else(|| {
                ValueError::new(
                    text,
                    "a protocol that is spoken here: redis, resp2, resp3 or memcache_text",
                )
            })
    }
}

/// SETs and GETs of one round, written `SETS:GETS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ratio {
    /// SETs in a row.
    pub sets: u32,
    /// GETs in a row.
    pub gets: u32,
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.sets, self.gets)
    }
}

impl FromStr for Ratio {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let parsed = text.split_once(':').and_then(|(sets, gets)| {
            Some(Ratio {
                sets: sets.parse().ok()?,
                gets: gets.parse().ok()?,
            })
        });
        parsed.ok_or_else(|| ValueError::new(text, "a ratio written SETS:GETS, such as 1:10"))
    }
}

/// Least and greatest value, written `MIN-MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Range {
    /// Least value.
    pub min: u32,
    /// Greatest value.
    pub max: u32,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.min, self.max)
    }
}

impl FromStr for Range {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let parsed = text.split_once('-').and_then(|(min, max)| {
            Some(Range {
                min: min.parse().ok()?,
                max: max.parse().ok()?,
            })
        });
        parsed.ok_or_else(|| ValueError::new(text, "a range written MIN-MAX, such as 10-1000"))
    }
}

/// Sizes of values and how often each comes, written `SIZE:WEIGHT,…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SizeWeights(
    /// Size in bytes, and weight.
    pub Vec<(u32, u32)>,
);

impl fmt::Display for SizeWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (size, weight)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{size}:{weight}")?;
        }
        Ok(())
    }
}

impl FromStr for SizeWeights {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        text.split(',')
            .map(|item| {
                let (size, weight) = item.split_once(':')?;
                Some((size.trim().parse().ok()?, weight.trim().parse().ok()?))
            })
            .collect::<Option<Vec<_>>>()
            .map(SizeWeights)
            .ok_or_else(|| {
                ValueError::new(text, "sizes written SIZE:WEIGHT,…, such as 32:8,1000:2")
            })
    }
}

/// How the sizes of a range go with keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SizePattern {
    /// A random size each time.
    #[serde(rename = "R")]
    Random,
    /// Sizes grow with the keys, from the least key to the greatest.
    #[serde(rename = "S")]
    Spread,
}

impl FromStr for SizePattern {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "R" => Ok(SizePattern::Random),
            "S" => Ok(SizePattern::Spread),
            _ => Err(ValueError::new(text, "a data size pattern: R or S")),
        }
    }
}

/// How many requests each client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requests {
    /// That many.
    Count(u64),
    /// As many as there are keys for the client to go through.
    AllKeys,
}

impl FromStr for Requests {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text == "allkeys" {
            return Ok(Requests::AllKeys);
        }
        text.parse()
            .map(Requests::Count)
            .map_err(|_| ValueError::new(text, "a number of requests or `allkeys`"))
    }
}

impl Serialize for Requests {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Requests::Count(count) => serializer.serialize_u64(*count),
            Requests::AllKeys => serializer.serialize_str("allkeys"),
        }
    }
}

impl<'de> Deserialize<'de> for Requests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl Visitor<'_> for Either {
            type Value = Requests;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of requests or \"allkeys\"")
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Requests, E> {
                Ok(Requests::Count(count))
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Requests, E> {
                u64::try_from(count)
                    .map(Requests::Count)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(count), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Requests, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Either)
    }
}
