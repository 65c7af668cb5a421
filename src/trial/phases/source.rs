//! Where further metrics come from: the server's own statistics, `/proc`, a program.

use std::collections::BTreeMap;
use std::io::{Read as _, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::executor::{Ended, ProcessId};
use crate::load::Target;
use crate::plan::MetricSpec;

use super::super::error::{TrialError, tail};
use super::super::server::RunningServer;
use super::one::PhaseRunner;
use super::postgres;

/// How long a server may take to tell its statistics, and a program to print its number.
const PATIENCE: Duration = Duration::from_secs(30);

/// Metrics as they were read, and those that could not be, with the reason.
#[derive(Debug, Default)]
pub struct Read {
    /// Values by name.
    pub values: BTreeMap<String, f64>,
    /// Reasons by name.
    pub absent: BTreeMap<String, String>,
}

/// How long PostgreSQL's backends may take to end.
const BACKENDS_END: Duration = Duration::from_millis(100);

impl PhaseRunner<'_> {
    /// The values of some metrics now; before a stretch only of those that are differences. One that
    /// cannot be read is absent, and the others go on.
    pub fn read(
        &self,
        wanted: &[(&String, &MetricSpec)],
        server: &RunningServer,
        before: bool,
    ) -> Result<Read, TrialError> {
        let wanted: Vec<_> = wanted
            .iter()
            .filter(|(_, metric)| metric.difference || !before)
            .collect();
        let info = match wanted.iter().any(|(_, metric)| metric.info.is_some()) {
            true => info(&server.target)
                .map_err(|reason| format!("the server does not answer INFO: {reason}")),
            false => Ok(String::new()),
        };
        if !before && wanted.iter().any(|(_, metric)| metric.sql.is_some()) {
            // A backend adds its counts when it ends, which is a moment after its client has.
            std::thread::sleep(BACKENDS_END);
        }
        let mut read = Read::default();
        for (name, metric) in wanted {
            match self.value(metric, server, &info) {
                Ok(value) => read.values.insert((*name).clone(), value * metric.scale),
                Err(Reason::Trial(error)) => return Err(error),
                Err(Reason::Text(reason)) => {
                    read.absent.insert((*name).clone(), reason);
                    None
                }
            };
        }
        Ok(read)
    }

    fn value(
        &self,
        metric: &MetricSpec,
        server: &RunningServer,
        info: &Result<String, String>,
    ) -> Result<f64, Reason> {
        if let Some(field) = &metric.info {
            let info = info
                .as_ref()
                .map_err(|reason| Reason::Text(reason.clone()))?;
            return info_field(info, field).map_err(Reason::Text);
        }
        if let Some(query) = &metric.sql {
            let answer = sql(&server.target, &metric.sql_user, query);
            return answer
                .and_then(|answer| printed(&answer, None))
                .map_err(Reason::Text);
        }
        if let Some(line) = &metric.smaps {
            return smaps(&server.processes(), line).map_err(Reason::Text);
        }
        let Some(command) = &metric.command else {
            return Err(Reason::Text("it has no source".to_owned()));
        };
        let (ended, log) = self
            .program(command, server, PATIENCE)
            .map_err(Reason::Trial)?;
        match ended {
            Ended::Cancelled(_) => return Err(Reason::Trial(TrialError::Cancelled)),
            Ended::Itself(report) if report.is_success() => {}
            ended => {
                let command = shell_words::join(&command.0);
                let how = ended.report().describe();
                return Err(Reason::Text(format!("`{command}` {how}:\n{}", tail(&log))));
            }
        }
        let text = std::fs::read(&log).unwrap_or_default();
        printed(&String::from_utf8_lossy(&text), metric.pattern.as_deref()).map_err(Reason::Text)
    }
}

impl Read {
    /// What was read after a stretch, less what was read before it, by the operation where the
    /// metric says so.
    pub fn since(
        mut self,
        before: Read,
        wanted: &[(&String, &MetricSpec)],
        ops: Option<u64>,
    ) -> Read {
        for (name, metric) in wanted {
            let Some(value) = self.values.get_mut(*name) else {
                continue;
            };
            *value -= before.values.get(*name).copied().unwrap_or(0.0);
            if metric.per_operation {
                match ops.filter(|ops| *ops > 0) {
                    Some(ops) => *value /= ops as f64,
                    None => {
                        self.values.remove(*name);
                        let reason = "the load did no operations that are counted".to_owned();
                        self.absent.insert((*name).clone(), reason);
                    }
                }
            }
        }
        for (name, reason) in before.absent {
            self.values.remove(&name);
            self.absent.entry(name).or_insert(reason);
        }
        self
    }
}

enum Reason {
    Trial(TrialError),
    Text(String),
}

/// The number that a program printed.
fn printed(text: &str, pattern: Option<&str>) -> Result<f64, String> {
    let number = match pattern {
        None => text.trim(),
        Some(pattern) => {
            let regex = regex::Regex::new(pattern).map_err(|error| error.to_string())?;
            let mut found = regex.captures_iter(text).filter_map(|c| c.name("value"));
            match (found.next(), found.next()) {
                (Some(one), None) => one.as_str(),
                (None, _) => return Err(format!("nothing printed matches `{pattern}`")),
                (Some(_), Some(_)) => {
                    return Err(format!("more than one thing printed matches `{pattern}`"));
                }
            }
        }
    };
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("`{number}` is no number")),
    }
}

/// A connection to the server.
trait Stream: std::io::Read + Write {}
impl Stream for UnixStream {}
impl Stream for TcpStream {}

fn connect(target: &Target) -> std::io::Result<Box<dyn Stream>> {
    Ok(match target {
        Target::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
        Target::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
    })
}

/// The answer of a PostgreSQL server to a query.
fn sql(target: &Target, user: &str, query: &str) -> Result<String, String> {
    let stream = connect(target).map_err(|error| match target {
        Target::Unix(path) => format!("{}: {error} (server.socket)", path.display()),
        Target::Tcp { .. } => error.to_string(),
    })?;
    postgres::ask(stream, user, query).map_err(|reason| format!("`{query}`: {reason}"))
}

/// The answer to Redis's `INFO`.
fn info(target: &Target) -> Result<String, String> {
    let text = connect(target).and_then(ask);
    let text = text.map_err(|error| error.to_string())?;
    match text.starts_with('$') {
        true => Ok(text),
        false => Err(text.lines().next().unwrap_or_default().to_owned()),
    }
}

fn ask(mut stream: Box<dyn Stream>) -> std::io::Result<String> {
    // QUIT makes the server close, which is the end of the answer.
    stream.write_all(b"INFO everything\r\nQUIT\r\n")?;
    let mut bytes = Vec::new();
    stream.take(1 << 22).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn info_field(info: &str, field: &str) -> Result<f64, String> {
    let line = info.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == field).then_some(value.trim())
    });
    let value = line.ok_or_else(|| format!("INFO has no field `{field}`"))?;
    value
        .parse()
        .map_err(|_| format!("INFO says {field}:{value}, which is no number"))
}

/// A line of `smaps_rollup` in bytes, over all processes.
fn smaps(processes: &[ProcessId], line: &str) -> Result<f64, String> {
    let mut sum = 0.0;
    let mut found = false;
    for process in processes {
        let path = format!("/proc/{}/smaps_rollup", process.pid);
        // A process that has just ended has none.
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        if let Some(kilobytes) = smaps_line(&text, line) {
            sum += kilobytes * 1024.0;
            found = true;
        }
    }
    match found {
        true => Ok(sum),
        false => Err(format!("smaps_rollup has no line `{line}`")),
    }
}

fn smaps_line(text: &str, line: &str) -> Option<f64> {
    text.lines().find_map(|candidate| {
        let (name, value) = candidate.split_once(':')?;
        let value = value.trim().strip_suffix(" kB")?;
        (name == line).then(|| value.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_info_are_found_by_their_whole_name() {
        let info = "$99\r\n# Stats\r\nlatest_fork_usec:287\r\nrole:master\r\n";
        assert_eq!(info_field(info, "latest_fork_usec"), Ok(287.0));
        assert!(
            info_field(info, "fork_usec")
                .unwrap_err()
                .contains("no field")
        );
        assert!(info_field(info, "role").unwrap_err().contains("no number"));
    }

    #[test]
    fn lines_of_smaps_are_bytes() {
        let me = [ProcessId::of(std::process::id() as i32).unwrap()];
        assert!(smaps(&me, "Rss").unwrap() > 100_000.0);
        assert!(smaps(&me, "Rs").is_err());
        assert_eq!(smaps_line("Rss:      12 kB\nPss: 1 kB\n", "Pss"), Some(1.0));
    }

    #[test]
    fn one_number_is_taken_of_what_is_printed() {
        assert_eq!(printed(" 12.5\n", None), Ok(12.5));
        assert_eq!(printed("cow 3 MB", Some("cow (?<value>[0-9]+)")), Ok(3.0));
        assert!(printed("x", None).unwrap_err().contains("`x`"));
        assert!(
            printed("1 2", Some("(?<value>[0-9])"))
                .unwrap_err()
                .contains("more than one")
        );
        assert!(
            printed("", Some("(?<value>[0-9])"))
                .unwrap_err()
                .contains("nothing")
        );
    }
}
