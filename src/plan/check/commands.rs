//! The commands of a plan: what starts a server, loads it, or is measured itself.

use crate::plan::model::Plan;
use crate::plan::workload::{Command, CommandMetric, Probe, Server};

use super::words::{Fault, environment, expression, fault, one_word, words, zero};

/// Placeholders that a server's command may use.
pub(super) const SERVER_PLACEHOLDERS: [&str; 6] =
    ["artifact", "artifact-dir", "run", "socket", "port", "cpus"];
/// Placeholders that a program that is the load may use.
const PROGRAM_PLACEHOLDERS: [&str; 7] = [
    "artifact",
    "artifact-dir",
    "run",
    "socket",
    "port",
    "cpus",
    "seconds",
];
/// Placeholders that a command may use.
const COMMAND_PLACEHOLDERS: [&str; 4] = ["artifact", "artifact-dir", "run", "cpus"];

pub(super) fn server(server: &Server) -> Option<Fault> {
    let ready = &server.ready;
    words("server.start", &server.start, &SERVER_PLACEHOLDERS)
        .or_else(|| words("server.init", server.init.as_ref()?, &SERVER_PLACEHOLDERS))
        .or_else(|| environment("server.env", &server.env, &SERVER_PLACEHOLDERS))
        .or_else(|| one_word("server.socket", &server.socket, &["run"]))
        .or_else(|| match (ready.probe, &ready.pattern, &ready.command) {
            (Probe::Log, None, _) => {
                fault("server.ready.pattern", "the probe `log` needs a pattern")
            }
            (Probe::Log, Some(pattern), _) => expression("server.ready.pattern", pattern),
            (Probe::Command, _, None) => fault(
                "server.ready.command",
                "the probe `command` needs a command",
            ),
            (Probe::Command, _, Some(command)) => {
                words("server.ready.command", command, &SERVER_PLACEHOLDERS)
            }
            (Probe::Ping | Probe::Connect, _, _) => None,
        })
        .or_else(|| {
            ready
                .timeout
                .0
                .is_zero()
                .then(|| zero("server.ready.timeout"))?
        })
}

pub(super) fn command(command: &Command) -> Option<Fault> {
    words("command.run", &command.run, &COMMAND_PLACEHOLDERS)
        .or_else(|| environment("command.env", &command.env, &COMMAND_PLACEHOLDERS))
        .or_else(|| (command.runs == 0).then(|| zero("command.runs"))?)
        .or_else(|| command.timeout.0.is_zero().then(|| zero("command.timeout"))?)
        .or_else(|| match (command.metric, &command.pattern) {
            (CommandMetric::Output, None) => fault(
                "command.pattern",
                "the metric `output` needs a pattern with a group named `value`, such as 'ops/s: (?<value>[0-9.]+)'",
            ),
            (CommandMetric::Output, Some(pattern)) => expression("command.pattern", pattern).or_else(|| {
                let named = regex::Regex::new(pattern).is_ok_and(|regex| regex.capture_names().flatten().any(|name| name == "value"));
                (!named).then(|| fault("command.pattern", "the pattern has no group named `value`: write (?<value>[0-9.]+) where the number stands"))?
            }),
            (_, Some(_)) => fault("command.pattern", "a pattern goes with metric = \"output\" only"),
            (_, None) => None,
        })
}

pub(super) fn program(plan: &Plan) -> Option<Fault> {
    let program = plan.load_program.as_ref()?;
    if let Err(error) = program.check() {
        return fault(&format!("load-program.{}", error.key), error.message);
    }
    words("load-program.run", &program.run, &PROGRAM_PLACEHOLDERS)
        .or_else(|| environment("load-program.env", &program.env, &PROGRAM_PLACEHOLDERS))
        .or_else(|| {
            let output = program.output.as_deref()?;
            one_word("load-program.output", output, &PROGRAM_PLACEHOLDERS)
        })
        .or_else(|| {
            let is_zero = program.timeout.0.is_zero();
            is_zero.then(|| zero("load-program.timeout"))?
        })
}

pub(super) fn preparation(plan: &Plan) -> Option<Fault> {
    let program = plan.prepare_program.as_ref()?;
    words("prepare-program.run", &program.run, &SERVER_PLACEHOLDERS)
        .or_else(|| environment("prepare-program.env", &program.env, &SERVER_PLACEHOLDERS))
}
