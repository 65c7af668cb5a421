//! Names of events, as `perf list` has them.

use std::io;

use perf_event_open::config::{Opts, Target};
use perf_event_open::count::Counter;
use perf_event_open::event::hw::{Hardware, Op, OpResult, Type};
use perf_event_open::event::raw::Raw;
use perf_event_open::event::sw::Software;

use super::error::SampleError;

/// An event that triggers samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEvent {
    /// The kernel's name.
    pub name: String,
    /// Unit of a sample's period.
    pub unit: &'static str,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Hardware(Hardware),
    Software(Software),
    Raw(u64),
}

/// Hardware events by name.
const HARDWARE: &[(&str, &str, Hardware)] = &[
    ("cycles", "cycles", Hardware::CpuCycle),
    ("cpu-cycles", "cycles", Hardware::CpuCycle),
    ("instructions", "instructions", Hardware::Instr),
    ("ref-cycles", "cycles", Hardware::RefCpuCycle),
    ("bus-cycles", "cycles", Hardware::BusCycle),
    ("cache-references", "events", Hardware::CacheAccess),
    ("cache-misses", "events", Hardware::CacheMiss),
    ("branches", "events", Hardware::BranchInstr),
    ("branch-instructions", "events", Hardware::BranchInstr),
    ("branch-misses", "events", Hardware::BranchMiss),
    (
        "stalled-cycles-frontend",
        "cycles",
        Hardware::FrontendStalledCycle,
    ),
    (
        "stalled-cycles-backend",
        "cycles",
        Hardware::BackendStalledCycle,
    ),
    (
        "L1-dcache-load-misses",
        "events",
        Hardware::Cache(Type::L1d, Op::Read, OpResult::Miss),
    ),
    (
        "L1-icache-load-misses",
        "events",
        Hardware::Cache(Type::L1i, Op::Read, OpResult::Miss),
    ),
    (
        "LLC-load-misses",
        "events",
        Hardware::Cache(Type::Ll, Op::Read, OpResult::Miss),
    ),
    (
        "dTLB-load-misses",
        "events",
        Hardware::Cache(Type::Dtlb, Op::Read, OpResult::Miss),
    ),
    (
        "iTLB-load-misses",
        "events",
        Hardware::Cache(Type::Itlb, Op::Read, OpResult::Miss),
    ),
];

/// Software events by name.
const SOFTWARE: &[(&str, &str, Software)] = &[
    ("cpu-clock", "ns", Software::CpuClock),
    ("task-clock", "ns", Software::TaskClock),
    ("page-faults", "events", Software::PageFault),
    ("minor-faults", "events", Software::MinorPageFault),
    ("major-faults", "events", Software::MajorPageFault),
    ("context-switches", "events", Software::CtxSwitch),
    ("cpu-migrations", "events", Software::CpuMigration),
];

impl NamedEvent {
    /// Finds an event by its name; `rNNN` is a raw event number in hexadecimal.
    pub fn find(name: &str) -> Result<Self, SampleError> {
        let found = |unit, source| Self {
            name: name.to_owned(),
            unit,
            source,
        };
        if let Some((_, unit, event)) = HARDWARE.iter().find(|(known, _, _)| *known == name) {
            return Ok(found(unit, Source::Hardware(event.clone())));
        }
        if let Some((_, unit, event)) = SOFTWARE.iter().find(|(known, _, _)| *known == name) {
            return Ok(found(unit, Source::Software(*event)));
        }
        let raw = name
            .strip_prefix('r')
            .and_then(|hex| u64::from_str_radix(hex, 16).ok());
        match raw {
            Some(config) => Ok(found("events", Source::Raw(config))),
            None => Err(SampleError::UnknownEvent {
                name: name.to_owned(),
                known: known_names().collect::<Vec<_>>().join(", ") + ", rNNN",
            }),
        }
    }

    /// Whether the CPU counts it, so that precise attribution may be asked for.
    pub fn is_hardware(&self) -> bool {
        !matches!(self.source, Source::Software(_))
    }

    /// Opens the event on a thread.
    pub fn open(&self, target: impl Into<Target>, opts: &Opts) -> io::Result<Counter> {
        match &self.source {
            Source::Hardware(event) => Counter::new(event, target, opts),
            Source::Software(event) => Counter::new(event, target, opts),
            Source::Raw(config) => Counter::new(
                &Raw {
                    config: *config,
                    config1: 0,
                    config2: 0,
                    config3: 0,
                },
                target,
                opts,
            ),
        }
    }
}

/// Returns the names of all events that have one.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    let hardware = HARDWARE.iter().map(|(name, _, _)| *name);
    hardware.chain(SOFTWARE.iter().map(|(name, _, _)| *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_others_are_refused_with_a_list() {
        for name in known_names().chain(["r1c0"]) {
            assert_eq!(NamedEvent::find(name).unwrap().name, name);
        }
        for name in ["", "cycle", "r", "rxyz", "auto"] {
            let error = NamedEvent::find(name).unwrap_err().to_string();
            assert!(error.contains("cpu-clock"), "{error}");
        }
    }
}
