//! What can be sampled on this machine, and which setting stands in the way of the rest.

use std::fmt;
use std::fs;
use std::io;

use perf_event_open::config::{Cpu, Opts, Priv, Proc, SampleOn, SampleSkid};

use super::attributes::Attributes;
use super::error::SampleError;
use super::event::{NamedEvent, known_names};
use crate::plan::{CallGraph, EventChoice, SampleSpec};

/// What sampling can do here.
#[derive(Debug)]
pub struct Availability {
    /// Name of the event that `auto` stands for, and whether kernel code is sampled too; what
    /// forbids sampling otherwise.
    pub event: Result<(String, bool), SampleError>,
    /// Whether kernel functions can be named.
    pub kernel_symbols: bool,
    /// Settings that limit what can be measured, with the mend.
    pub findings: Vec<Finding>,
}

/// A setting that limits sampling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The setting and its value.
    pub setting: String,
    /// What it prevents.
    pub effect: String,
    /// What to do about it.
    pub mend: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.setting, self.effect, self.mend)
    }
}

impl Availability {
    /// Tries what works, and looks at the settings that limit it.
    #[must_use]
    pub fn probe() -> Self {
        let chosen = Chosen::new(&SampleSpec::default());
        let kernel_symbols = crate::symbol::kernel_symbols_readable();
        let mut findings = match &chosen {
            Ok(chosen) if chosen.attributes.kernel => Vec::new(),
            _ => permission_findings(),
        };
        if !kernel_symbols {
            findings.push(kernel_symbols_finding());
        }
        if let Ok(chosen) = &chosen
            && !chosen.event.is_hardware()
        {
            findings.push(Finding {
                setting: "no performance counters".to_owned(),
                effect: format!(
                    "CPU cycles cannot be counted here (usual in a virtual machine), so samples \
                     are taken by {}, and time spent with interrupts off shows at the \
                     instruction that turns them on",
                    chosen.event.name
                ),
                mend: "run on hardware, or let the hypervisor pass the counters through".to_owned(),
            });
        }
        Self {
            event: chosen.map(|chosen| (chosen.event.name, chosen.attributes.kernel)),
            kernel_symbols,
            findings,
        }
    }
}

/// Says whether a spec can be met here, by opening and closing a counter.
///
/// # Errors
///
/// The event is unknown or unsupported, or a setting forbids sampling; the error has the mend.
pub fn check(spec: &SampleSpec) -> Result<(), SampleError> {
    Chosen::new(spec).map(drop)
}

/// The event and attributes of a recording.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// The event.
    pub event: NamedEvent,
    /// What is asked of the kernel.
    pub attributes: Attributes,
}

impl Chosen {
    /// Finds what the kernel grants of a spec: the event, kernel frames, precise attribution.
    pub fn new(spec: &SampleSpec) -> Result<Self, SampleError> {
        check_frequency(spec.frequency_hz)?;
        match &spec.event {
            EventChoice::Named(name) => Self::open(NamedEvent::find(name)?, spec),
            EventChoice::Auto => {
                let cycles = NamedEvent::find("cycles")?;
                match Self::open(cycles, spec) {
                    Ok(chosen) if counts(&chosen.event) => Ok(chosen),
                    _ => Self::open(NamedEvent::find("cpu-clock")?, spec),
                }
            }
        }
    }

    fn open(event: NamedEvent, spec: &SampleSpec) -> Result<Self, SampleError> {
        let mut last = None;
        for kernel in [true, false] {
            for skid in skids(&event) {
                let attributes = Attributes {
                    frequency_hz: spec.frequency_hz,
                    call_graph: spec.call_graph,
                    kernel,
                    skid: *skid,
                    on_exec: false,
                };
                match try_open(&event, &attributes) {
                    Ok(()) => return Ok(Self { event, attributes }),
                    Err(error) => last = Some(error),
                }
            }
            if !last.as_ref().is_some_and(is_permission) {
                break;
            }
        }
        let source = last.unwrap_or_else(|| io::ErrorKind::Unsupported.into());
        Err(match is_permission(&source) {
            true => SampleError::NotPermitted {
                findings: permission_findings(),
                source,
            },
            false => SampleError::UnsupportedEvent {
                supported: supported_names(spec),
                findings: permission_findings(),
                name: event.name,
                source,
            },
        })
    }
}

fn skids(event: &NamedEvent) -> &'static [SampleSkid] {
    match event.is_hardware() {
        true => &[
            SampleSkid::ReqZero,
            SampleSkid::Const,
            SampleSkid::Arbitrary,
        ],
        false => &[SampleSkid::Arbitrary],
    }
}

/// Opens the event on this thread, as it will be opened on others, and lets it go.
fn try_open(event: &NamedEvent, attributes: &Attributes) -> io::Result<()> {
    let mut opts = attributes.sampling();
    opts.enable = false;
    event.open((Proc::CURRENT, Cpu::ALL), &opts).map(drop)
}

/// Returns whether the event moves at all: some hypervisors offer counters that stand still.
fn counts(event: &NamedEvent) -> bool {
    let opts = Opts {
        exclude: Priv {
            kernel: true,
            hv: true,
            ..Priv::default()
        },
        enable: true,
        sample_on: SampleOn::Count(0),
        ..Opts::default()
    };
    let Ok(counter) = event.open((Proc::CURRENT, Cpu::ALL), &opts) else {
        return false;
    };
    let mut sum = 0_u64;
    for n in 0..10_000_u64 {
        sum = std::hint::black_box(sum.wrapping_add(n));
    }
    counter.stat().is_ok_and(|stat| stat.count > 0)
}

fn check_frequency(requested: u64) -> Result<(), SampleError> {
    let limit = setting("kernel/perf_event_max_sample_rate")
        .and_then(|text| text.parse().ok())
        .unwrap_or(u64::MAX);
    match requested {
        0 => Err(SampleError::Frequency { requested, limit }),
        _ if requested > limit => Err(SampleError::Frequency { requested, limit }),
        _ => Ok(()),
    }
}

fn supported_names(spec: &SampleSpec) -> String {
    let attributes = |skid| Attributes {
        frequency_hz: spec.frequency_hz,
        call_graph: CallGraph::None,
        kernel: false,
        skid,
        on_exec: false,
    };
    let works = |name: &&str| {
        NamedEvent::find(name)
            .is_ok_and(|event| try_open(&event, &attributes(SampleSkid::Arbitrary)).is_ok())
    };
    let names: Vec<&str> = known_names().filter(works).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// Returns whether an error is a refusal of permission.
pub fn is_permission(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Settings that can be the cause of a refusal.
pub fn permission_findings() -> Vec<Finding> {
    let mut findings = Vec::new();
    let privileged = has_capability(21) || has_capability(38);
    let paranoid: Option<i64> =
        setting("kernel/perf_event_paranoid").and_then(|text| text.parse().ok());
    match paranoid {
        Some(level) if !privileged && level >= 2 => findings.push(Finding {
            setting: format!("kernel.perf_event_paranoid is {level}"),
            effect: match level {
                2 => "kernel code cannot be sampled by an ordinary user".to_owned(),
                _ => "an ordinary user cannot sample at all".to_owned(),
            },
            mend: "run `sysctl kernel.perf_event_paranoid=1`, or perfblame as root".to_owned(),
        }),
        None => findings.push(Finding {
            setting: "/proc/sys/kernel/perf_event_paranoid is missing".to_owned(),
            effect: "the kernel was built without perf events, or /proc is hidden".to_owned(),
            mend: "use a kernel with CONFIG_PERF_EVENTS".to_owned(),
        }),
        Some(_) => {}
    }
    if status_value("Seccomp").as_deref() == Some("2") {
        findings.push(Finding {
            setting: "a seccomp filter is active (a container's usual sandbox)".to_owned(),
            effect: "it may forbid perf_event_open".to_owned(),
            mend: "start the container with `--security-opt seccomp=unconfined` or `--cap-add \
                   PERFMON`"
                .to_owned(),
        });
    }
    findings
}

fn kernel_symbols_finding() -> Finding {
    let value = setting("kernel/kptr_restrict").unwrap_or_else(|| "unreadable".to_owned());
    Finding {
        setting: format!("kernel.kptr_restrict is {value}"),
        effect: "addresses in /proc/kallsyms are hidden, so kernel functions have no names"
            .to_owned(),
        mend: "run `sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1`, or perfblame as \
               root"
            .to_owned(),
    }
}

fn setting(name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/sys/{name}")).ok()?;
    Some(text.trim().to_owned())
}

fn has_capability(number: u32) -> bool {
    status_value("CapEff")
        .and_then(|mask| u64::from_str_radix(&mask, 16).ok())
        .is_some_and(|mask| mask >> number & 1 == 1)
}

fn status_value(key: &str) -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == key).then(|| value.trim().to_owned())
    })
}
