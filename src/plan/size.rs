//! Amounts of memory as users write them: `512MiB`, `1GiB`, `4096`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of bytes, written and read as text such as `512MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(
    /// Bytes.
    pub u64,
);

/// Units with their bytes; a decimal unit is no unit of memory.
const UNITS: [(&str, u64); 5] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

impl Size {
    /// A whole number of mebibytes.
    pub const fn mib(mib: u64) -> Self {
        Self(mib << 20)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || format!("`{text}` is not an amount of memory such as `512MiB` or `1GiB`");
        let trimmed = text.trim();
        let digits = trimmed.trim_end_matches(|c: char| !c.is_ascii_digit());
        let number: u64 = digits.parse().map_err(|_| refused())?;
        let unit = trimmed[digits.len()..].trim();
        let (_, bytes) = UNITS
            .iter()
            .find(|(name, _)| *name == unit || name.trim_end_matches("iB") == unit)
            .ok_or_else(refused)?;
        number.checked_mul(*bytes).map(Self).ok_or_else(refused)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, bytes): &&(&str, u64)| self.0 >= *bytes && self.0.is_multiple_of(*bytes);
        match UNITS.iter().find(fits) {
            Some((name, bytes)) => write!(f, "{}{name}", self.0 / bytes),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

struct Text;

impl de::Visitor<'_> for Text {
    type Value = Size;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an amount of memory such as '512MiB' or '1GiB'")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for (text, bytes) in [
            ("512MiB", 512 << 20),
            ("1GiB", 1 << 30),
            ("1536MiB", 1536 << 20),
            ("7B", 7),
            ("0B", 0),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, text));
        }
        assert_eq!("2G".parse::<Size>(), Ok(Size(2 << 30)));
        assert_eq!("512 MiB".parse::<Size>(), Ok(Size::mib(512)));
    }

    #[test]
    fn what_is_no_amount_is_refused_with_an_example() {
        for text in [
            "",
            "512",
            "lots",
            "MiB",
            "-1MiB",
            "1.5GiB",
            "512MB",
            "99999999999TiB",
        ] {
            let error = text.parse::<Size>().unwrap_err();
            assert!(error.contains("`512MiB`"), "{text}: {error}");
        }
    }
}
