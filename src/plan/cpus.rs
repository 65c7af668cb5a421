//! Lists of CPUs as the kernel writes them: `0-3,5`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Upper bound of a CPU number; the kernel's own largest configuration is 8192.
const MOST: usize = 8192;

/// A sorted set of CPU numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuList(Vec<usize>);

impl CpuList {
    /// The set of the numbers given.
    pub fn new(mut cpus: Vec<usize>) -> Self {
        cpus.sort_unstable();
        cpus.dedup();
        Self(cpus)
    }

    /// The numbers, ascending.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }

    /// Numbers that both lists hold.
    pub fn common(&self, other: &Self) -> Self {
        Self(
            self.0
                .iter()
                .copied()
                .filter(|cpu| other.0.contains(cpu))
                .collect(),
        )
    }

    /// Numbers that the other list lacks.
    pub fn without(&self, other: &Self) -> Self {
        Self(
            self.0
                .iter()
                .copied()
                .filter(|cpu| !other.0.contains(cpu))
                .collect(),
        )
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || format!("`{text}` is not a list of CPUs such as `0`, `0-3` or `0-3,5`");
        let number = |part: &str| {
            part.trim()
                .parse::<usize>()
                .ok()
                .filter(|&cpu| cpu < MOST)
                .ok_or_else(refuse)
        };
        let mut cpus = Vec::new();
        for part in text.trim().split(',') {
            match part.split_once('-') {
                None => cpus.push(number(part)?),
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(refuse());
                    }
                    cpus.extend(first..=last);
                }
            }
        }
        Ok(Self::new(cpus))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut separator = "";
        while let Some(&first) = rest.first() {
            let length = rest
                .iter()
                .zip(first..)
                .take_while(|(cpu, next)| *cpu == next)
                .count();
            match length {
                1 => write!(formatter, "{separator}{first}")?,
                _ => write!(formatter, "{separator}{first}-{}", first + length - 1)?,
            }
            separator = ",";
            rest = &rest[length..];
        }
        Ok(())
    }
}

impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_sorted_and_written_short() {
        for (text, shown) in [
            ("0", "0"),
            ("3,1,2", "1-3"),
            ("0-3,5", "0-3,5"),
            ("7,7", "7"),
            ("0,2,4", "0,2,4"),
        ] {
            assert_eq!(text.parse::<CpuList>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in [
            "",
            "a",
            "3-1",
            "1-",
            "-1",
            "0,,1",
            "99999999999",
            "0-9999999",
        ] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }
}
