//! Anything else: a regular expression with a named group, or a JSON pointer.

use regex::Regex;
use serde_json::Value;

use crate::plan::load::ExternalLoad;

use super::search::{missing, number, one, quote};
use super::{ReaderError, Reading};

fn reading(value: f64, load: &ExternalLoad) -> Reading {
    let mut reading = Reading {
        metrics: Vec::new(),
        operations: None,
    };
    reading.push(&load.metric, value, &load.unit, load.direction);
    reading
}

/// Reads what the group `value` of the pattern holds in the only line that matches.
pub fn read_regex(
    output: &str,
    pattern: &str,
    load: &ExternalLoad,
) -> Result<Reading, ReaderError> {
    let regex = Regex::new(pattern).map_err(|error| ReaderError::Pattern {
        message: error.to_string(),
    })?;
    if !regex.capture_names().flatten().any(|name| name == "value") {
        return Err(ReaderError::Pattern {
            message: format!("`{pattern}` has no group `(?<value>…)`"),
        });
    }
    let what = format!("line that matches `{pattern}`");
    let (line, value) = one(output, &what, |line| {
        let captures = regex.captures(line)?;
        Some(captures.name("value").map_or("", |group| group.as_str()))
    })?;
    Ok(reading(number(value, line)?, load))
}

/// Reads the number at a JSON pointer (RFC 6901), such as `/results/0/ops`.
pub fn read_json(output: &str, pointer: &str, load: &ExternalLoad) -> Result<Reading, ReaderError> {
    let document: Value = serde_json::from_str(output).map_err(|error| ReaderError::Malformed {
        expected: "JSON".to_owned(),
        line: quote(&error.to_string()),
    })?;
    let found = document
        .pointer(pointer)
        .ok_or_else(|| missing(output, &format!("value at `{pointer}`")))?;
    let text = match found {
        Value::Number(value) => value.to_string(),
        Value::String(text) => text.clone(),
        other => quote(&other.to_string()),
    };
    Ok(reading(number(&text, &text)?, load))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> ExternalLoad {
        ExternalLoad {
            unit: "frames/s".to_owned(),
            ..ExternalLoad::default()
        }
    }

    #[test]
    fn a_named_group() {
        let output = "frames: 10\nspeed 59.94 fps\n";
        let reading = read_regex(output, r"speed (?<value>\S+) fps", &load()).unwrap();
        assert_eq!(reading.get("throughput"), Some(59.94));
        assert_eq!(reading.metrics[0].description.unit, "frames/s");
    }

    #[test]
    fn patterns_that_do_not_do() {
        let read = |output, pattern| read_regex(output, pattern, &load()).unwrap_err();
        assert!(matches!(read("x", "("), ReaderError::Pattern { .. }));
        assert!(matches!(read("x", "x"), ReaderError::Pattern { .. }));
        assert!(matches!(
            read("y", "x(?<value>1)"),
            ReaderError::Missing { .. }
        ));
        assert!(matches!(
            read("x1\nx1", "x(?<value>1)"),
            ReaderError::Twice { .. }
        ));
        assert!(matches!(
            read("x?", "x(?<value>.)"),
            ReaderError::Malformed { .. }
        ));
    }

    #[test]
    fn a_pointer() {
        let output = r#"{"results": [{"ops": 12.5, "name": "a", "text": "7"}]}"#;
        let read = |pointer| read_json(output, pointer, &load());
        assert_eq!(
            read("/results/0/ops").unwrap().get("throughput"),
            Some(12.5)
        );
        assert_eq!(
            read("/results/0/text").unwrap().get("throughput"),
            Some(7.0)
        );
        assert!(matches!(
            read("/results/1/ops"),
            Err(ReaderError::Missing { .. })
        ));
        assert!(matches!(
            read("/results"),
            Err(ReaderError::Malformed { .. })
        ));
        assert!(matches!(
            read("/results/0/name"),
            Err(ReaderError::Malformed { .. })
        ));
        assert!(matches!(
            read_json("{", "/a", &load()),
            Err(ReaderError::Malformed { .. })
        ));
    }
}
