//! `perfblame record`: samples a process tree.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Exit;
use crate::executor::{Cancel, descendants};
use crate::plan::{CallGraph, CpuList, EventChoice, Length, SampleSpec};
use crate::profile::{Profile, folded_lines};
use crate::report::{flamegraph, write_atomically};
use crate::sample::{EndWatch, Recorder, Target};

/// Samples a process with all its threads and children, or a command from its start to its end
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").args(["pid", "threads", "command"]))]
pub struct Args {
    /// Samples per second and CPU
    #[arg(short = 'F', long = "freq", value_name = "HZ", default_value_t = 999)]
    frequency: u64,
    /// How callers are found: fp, dwarf, dwarf,SIZE or none
    #[arg(short = 'g', long, value_name = "MODE", default_value = "fp")]
    call_graph: CallGraph,
    /// What triggers a sample: auto, cycles, cpu-clock, page-faults, …
    #[arg(short = 'e', long, value_name = "EVENT", default_value = "auto")]
    event: String,
    /// Process to attach to, until it ends, the duration is over, or Ctrl-C
    #[arg(short = 'p', long, value_name = "PID")]
    pid: Option<u32>,
    /// Threads to attach to, separated by commas
    #[arg(short = 't', long = "tid", value_name = "TIDS", value_delimiter = ',')]
    threads: Vec<u32>,
    /// CPUs to sample on, such as 0-3,5; alone: whatever runs on them
    #[arg(short = 'C', long, value_name = "CPUS")]
    cpu: Option<CpuList>,
    /// Length of the recording, such as 10s
    #[arg(long, value_name = "TIME")]
    duration: Option<Length>,
    /// Where to write; the ending says what: .folded, .json or .svg
    #[arg(short = 'o', long, value_name = "OUT")]
    output: PathBuf,
    /// Command to start and sample
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Forms of a recording on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Folded,
    Json,
    Svg,
}

/// Records, writes, and says on standard error what was recorded.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let form = form_of(&args.output)?;
    check_writable(&args.output)?;
    let spec = SampleSpec {
        event: EventChoice::from(args.event),
        frequency_hz: args.frequency,
        call_graph: args.call_graph,
    };
    let _cancel = Cancel::on_signals().context("cannot handle signals")?;
    let wake = signal_pipe().context("cannot handle signals")?;
    let limit = args.duration.map(|length| length.0);
    let (profile, subject, status) = if !args.command.is_empty() {
        let (profile, status) = record_command(&spec, &args.command, args.cpu, limit, &wake)?;
        (profile, shell_words::join(&args.command), Some(status))
    } else {
        let (target, subject) = target_of(args.pid, args.threads, args.cpu.as_ref())?;
        let recorder = Recorder::attach_to(&spec, target.clone(), args.cpu)?;
        recorder.enable();
        watch_of(&target).wait(wake.as_fd(), limit);
        (recorder.finish()?, subject, None)
    };
    let bytes = rendered(&profile, form, &subject)?;
    write_atomically(&args.output, &bytes)?;
    for line in summary(&profile, status) {
        say!("{line}");
    }
    Ok(Exit::Ok)
}

/// Finds out before the recording and not after it that its output has no place.
fn check_writable(output: &Path) -> anyhow::Result<()> {
    let dir = match output.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    tempfile::tempfile_in(dir)
        .with_context(|| format!("cannot write {}", output.display()))
        .map(drop)
}

fn form_of(output: &Path) -> anyhow::Result<Form> {
    match output.extension().and_then(|ending| ending.to_str()) {
        Some("folded") => Ok(Form::Folded),
        Some("json") => Ok(Form::Json),
        Some("svg") => Ok(Form::Svg),
        _ => bail!(
            "{}: the ending must say the form: .folded (stacks), .json (profile) or .svg (flame \
             graph)",
            output.display()
        ),
    }
}

fn target_of(
    pid: Option<u32>,
    threads: Vec<u32>,
    cpus: Option<&CpuList>,
) -> anyhow::Result<(Target, String)> {
    Ok(match (pid, threads.first(), cpus) {
        (Some(pid), _, _) => (Target::Tree(pid), format!("process {pid}")),
        (None, Some(first), _) => (Target::Threads(threads.clone()), format!("thread {first}")),
        (None, None, Some(cpus)) => (Target::Everything, format!("CPU {cpus}")),
        (None, None, None) => {
            bail!("nothing to record: give a process (-p), threads (-t), CPUs (-C) or -- COMMAND")
        }
    })
}

/// Ends when there is nothing left to sample.
fn watch_of(target: &Target) -> EndWatch {
    match target {
        Target::Tree(pid) | Target::OnExec(pid) => EndWatch::of(&[*pid]),
        Target::Threads(threads) => EndWatch::of(threads),
        Target::Everything => EndWatch::of_nothing(),
    }
}

fn record_command(
    spec: &SampleSpec,
    words: &[String],
    cpus: Option<CpuList>,
    limit: Option<Duration>,
    wake: &UnixStream,
) -> anyhow::Result<(Profile, ExitStatus)> {
    let (program, arguments) = words.split_first().context("no command was given")?;
    let mut command = Command::new(program);
    command.args(arguments);
    let (recorder, mut child) = Recorder::launch(spec, command, cpus)?;
    EndWatch::of(&[child.id()]).wait(wake.as_fd(), limit);
    let ended = child.try_wait().context("cannot wait for the command")?;
    let status = match ended {
        Some(status) => status,
        None => end(&mut child)?,
    };
    Ok((recorder.finish()?, status))
}

/// Becomes readable when a signal asks to stop.
fn signal_pipe() -> anyhow::Result<UnixStream> {
    let (wake, write) = UnixStream::pair()?;
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
    }
    Ok(wake)
}

/// Asks the command and all that it has started to end, and insists after a while.
fn end(child: &mut Child) -> anyhow::Result<ExitStatus> {
    let pid = child.id() as i32;
    let below = descendants(pid);
    // It may have ended by itself, or by the same Ctrl-C.
    let tell = |signal: Signal, is_running: bool| {
        let living = below.iter().filter(|process| process.is_alive());
        let living = living.map(|process| process.pid);
        for pid in living.chain(is_running.then_some(pid)) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    };
    tell(Signal::SIGTERM, true);
    let started = Instant::now();
    let mut ended = None;
    while started.elapsed() < Duration::from_secs(3) {
        if ended.is_none() {
            ended = child.try_wait().context("cannot wait for the command")?;
        }
        match ended {
            Some(status) if !below.iter().any(|process| process.is_alive()) => return Ok(status),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    tell(Signal::SIGKILL, ended.is_none());
    match ended {
        Some(status) => Ok(status),
        None => child.wait().context("cannot wait for the command"),
    }
}

fn rendered(profile: &Profile, form: Form, subject: &str) -> anyhow::Result<Vec<u8>> {
    Ok(match form {
        Form::Json => serde_json::to_vec(profile).context("cannot write the profile")?,
        Form::Folded => {
            let mut text = folded_lines(profile).join("\n");
            if !text.is_empty() {
                text.push('\n');
            }
            text.into_bytes()
        }
        Form::Svg => {
            let subtitle = format!(
                "{} samples of {} at {} Hz",
                profile.accounting.samples, profile.event.name, profile.event.frequency_hz
            );
            flamegraph(subject, Some(&subtitle), &folded_lines(profile))?
        }
    })
}

fn summary(profile: &Profile, status: Option<ExitStatus>) -> Vec<String> {
    let accounting = &profile.accounting;
    let share = |part: u64| 100.0 * part as f64 / accounting.samples.max(1) as f64;
    let mut lines = vec![format!(
        "{} samples of {} in {:.1} s, {} lost; {:.1} % without a name, {:.1} % of stacks not whole; \
         sampler took {:.0} ms of CPU",
        accounting.samples,
        profile.event.name,
        profile.duration_ns as f64 / 1e9,
        accounting.lost,
        share(accounting.unsymbolized),
        share(accounting.truncated),
        accounting.sampler_cpu_ns as f64 / 1e6,
    )];
    if let Some(status) = status.filter(|status| !status.success()) {
        lines.push(format!("note: the command ended with {status}"));
    }
    let doubts = accounting.doubts().into_iter().map(|doubt| doubt.text);
    let warnings = accounting.warnings.iter().cloned().chain(doubts);
    lines.extend(warnings.map(|warning| format!("warning: {warning}")));
    lines
}
