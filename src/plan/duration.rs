//! Lengths of time as users write them: `8s`, `500ms`, `1m 30s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A length of time, written and read as text such as `1m 30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Length(pub Duration);

impl Length {
    /// A whole number of seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// A whole number of milliseconds.
    pub const fn millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }
}

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        humantime::parse_duration(text).map(Self).map_err(|error| {
            format!("`{text}` is not a length of time such as `8s`, `500ms` or `1m 30s`: {error}")
        })
    }
}

impl fmt::Display for Length {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(formatter)
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

struct Text;

impl de::Visitor<'_> for Text {
    type Value = Length;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a length of time such as '8s', '500ms' or '1m 30s'")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Length, E> {
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for text in ["8s", "500ms", "1m 30s", "2h"] {
            assert_eq!(text.parse::<Length>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_an_example() {
        let error = "8".parse::<Length>().unwrap_err();
        assert!(error.contains("`8`") && error.contains("`8s`"), "{error}");
    }
}
