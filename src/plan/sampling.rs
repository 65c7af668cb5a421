//! What is sampled, how often, and how the callers are found.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the subject is sampled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SampleSpec {
    /// What triggers a sample: `auto`, or a name as `perf record -e` takes it.
    pub event: EventChoice,
    /// Samples per second and CPU of the subject's running threads, in hertz.
    pub frequency_hz: u64,
    /// How the callers of a sampled instruction are found.
    pub call_graph: CallGraph,
}

impl Default for SampleSpec {
    fn default() -> Self {
        Self {
            event: EventChoice::Auto,
            // Off the round thousand, so that samples do not walk in step with timers of 1 kHz.
            frequency_hz: 999,
            call_graph: CallGraph::Fp,
        }
    }
}

/// The event that triggers a sample.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum EventChoice {
    /// `cycles` where the machine has a PMU that counts them, else `cpu-clock`.
    #[default]
    Auto,
    /// A named event; `sample` knows the names.
    Named(String),
}

impl From<String> for EventChoice {
    fn from(name: String) -> Self {
        match name.as_str() {
            "auto" => Self::Auto,
            _ => Self::Named(name),
        }
    }
}

impl From<EventChoice> for String {
    fn from(choice: EventChoice) -> Self {
        choice.to_string()
    }
}

impl fmt::Display for EventChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Named(name) => name,
        })
    }
}

/// How the callers of a sampled instruction are found. Written `none`, `fp`, `dwarf` or
/// `dwarf,SIZE`, as `perf record --call-graph` takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CallGraph {
    /// No callers: the sampled instruction only.
    None,
    /// The chain of frame pointers, walked by the kernel.
    Fp,
    /// Registers and a copy of the stack, unwound by call frame information.
    Dwarf {
        /// Bytes of user stack copied with each sample: a multiple of 8, at most
        /// [`CallGraph::MAX_STACK_BYTES`].
        stack_bytes: u32,
    },
}

impl CallGraph {
    /// Bytes of user stack that `dwarf` without a size copies; perf's default too.
    pub const DEFAULT_STACK_BYTES: u32 = 8192;
    /// The most that the kernel copies: a record's size is a `u16`.
    pub const MAX_STACK_BYTES: u32 = 65_528;
}

impl fmt::Display for CallGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Fp => f.write_str("fp"),
            Self::Dwarf { stack_bytes } => write!(f, "dwarf,{stack_bytes}"),
        }
    }
}

/// Why a text is no [`CallGraph`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallGraphError {
    /// Neither `none`, `fp` nor `dwarf`.
    #[error("`{0}` is no call graph: `fp`, `dwarf`, `dwarf,SIZE` or `none`")]
    Unknown(String),
    /// A size that the kernel would refuse.
    #[error(
        "`{0}` is no stack size: a multiple of 8 from 8 to {max} bytes",
        max = CallGraph::MAX_STACK_BYTES
    )]
    StackSize(String),
}

impl FromStr for CallGraph {
    type Err = CallGraphError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mode, size) = match text.split_once(',') {
            Some((mode, size)) => (mode, Some(size)),
            None => (text, None),
        };
        match (mode, size) {
            ("none", None) => Ok(Self::None),
            ("fp", None) => Ok(Self::Fp),
            ("dwarf", None) => Ok(Self::Dwarf {
                stack_bytes: Self::DEFAULT_STACK_BYTES,
            }),
            ("dwarf", Some(size)) => size
                .parse()
                .ok()
                .filter(|bytes| *bytes > 0 && bytes % 8 == 0 && *bytes <= Self::MAX_STACK_BYTES)
                .map(|stack_bytes| Self::Dwarf { stack_bytes })
                .ok_or_else(|| CallGraphError::StackSize(size.to_owned())),
            _ => Err(CallGraphError::Unknown(text.to_owned())),
        }
    }
}

impl TryFrom<String> for CallGraph {
    type Error = CallGraphError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CallGraph> for String {
    fn from(call_graph: CallGraph) -> Self {
        call_graph.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_graphs_read_as_they_are_written() {
        let cases = [
            ("none", Ok("none")),
            ("fp", Ok("fp")),
            ("dwarf", Ok("dwarf,8192")),
            ("dwarf,65528", Ok("dwarf,65528")),
            (
                "dwarf,65536",
                Err(CallGraphError::StackSize("65536".into())),
            ),
            ("dwarf,0", Err(CallGraphError::StackSize("0".into()))),
            ("dwarf,100", Err(CallGraphError::StackSize("100".into()))),
            ("dwarf,-8", Err(CallGraphError::StackSize("-8".into()))),
            ("fp,8", Err(CallGraphError::Unknown("fp,8".into()))),
            ("lbr", Err(CallGraphError::Unknown("lbr".into()))),
        ];
        for (text, expected) in cases {
            let read = text.parse::<CallGraph>().map(|graph| graph.to_string());
            assert_eq!(read, expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn a_spec_has_defaults_and_refuses_unknown_keys() {
        let spec: SampleSpec = toml::from_str("call-graph = 'dwarf'\nevent = 'cycles'").unwrap();
        assert_eq!(spec.event, EventChoice::Named("cycles".into()));
        assert_eq!(spec.frequency_hz, 999);
        assert_eq!(spec.call_graph, CallGraph::Dwarf { stack_bytes: 8192 });
        assert!(toml::from_str::<SampleSpec>("freq = 99").is_err());
        assert!(toml::from_str::<SampleSpec>("call-graph = 'lbr'").is_err());
    }
}
