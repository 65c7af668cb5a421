//! Kernels that are installed on this machine: which one runs, and how the machine gets to another.

use crate::plan::{Placeholders, Plan};
use crate::store::{Event, Store};

use super::super::error::ExperimentError;

/// Names the running kernel's release in place of what `uname` says, for tests.
const RELEASE: &str = "PERFBLAME_KERNEL_RELEASE";
/// Kind of the stored event that says that a reboot was asked for.
const REBOOT: &str = "reboot";
/// Kind of the stored event that says that one was refused.
const REFUSED: &str = "reboot-refused";
/// Kind of the stored event that says that a chain of reboots is over.
const STOPPED: &str = "reboots-over";
/// How often the same reboot is tried.
const TRIES: usize = 2;

/// The running kernel's release.
pub fn running_release() -> String {
    if let Ok(release) = std::env::var(RELEASE) {
        return release;
    }
    nix::sys::utsname::uname()
        .map(|name| name.release().to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The release that a plan asks of this machine, where it is not the one that runs.
pub fn other_release<'p>(plan: &'p Plan, running: &str) -> Option<&'p str> {
    let wanted = plan.host.as_ref()?.kernel_release.as_deref()?;
    (wanted != running).then_some(wanted)
}

/// Whether the last thing that happened in an experiment is that this machine was rebooted for it.
pub fn was_rebooted(events: &[Event]) -> bool {
    events.last().is_some_and(|event| event.kind == REBOOT)
}

/// Notes that the machine is about to be rebooted into a release.
///
/// # Errors
/// Where that has been tried without the release changing: the next start would try it again.
pub fn note_reboot(
    store: &Store,
    experiment: &str,
    (running, wanted): (&str, &str),
    command: &str,
) -> Result<(), ExperimentError> {
    let body = serde_json::json!({ "release": wanted, "running": running });
    let events = store.events(experiment)?;
    if tries(&events, &body) >= TRIES {
        store.put_event(experiment, REFUSED, &body)?;
        return Err(ExperimentError::RebootLoop {
            id: experiment.to_owned(),
            wanted: wanted.to_owned(),
            running: running.to_owned(),
            command: command.to_owned(),
        });
    }
    Ok(store.put_event(experiment, REBOOT, &body)?)
}

/// Notes that a chain of reboots is over: whoever goes on does so by hand.
pub fn note_stop(store: &Store, experiment: &str) -> Result<(), ExperimentError> {
    match was_rebooted(&store.events(experiment)?) {
        true => Ok(store.put_event(experiment, STOPPED, &serde_json::Value::Null)?),
        false => Ok(()),
    }
}

/// How often the same reboot was asked for of late.
fn tries(events: &[Event], body: &serde_json::Value) -> usize {
    let is_same = |event: &&Event| event.kind == REBOOT && event.body == *body;
    events.iter().rev().take_while(is_same).count()
}

/// Runs the plan's command that reboots. The machine may be gone before it returns.
///
/// # Errors
/// Where it cannot be started, or fails.
pub fn reboot(plan: &Plan, release: &str) -> Result<(), ExperimentError> {
    let Some(reboot) = &plan.reboot else {
        return Ok(());
    };
    let failed = |reason: String| ExperimentError::Reboot {
        command: shell_words::join(&reboot.command.0),
        reason,
    };
    let values = Placeholders::new([("release", release.to_owned())]);
    let command = reboot.command.expand(&values);
    let command = command.map_err(|error| failed(error.to_string()))?;
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| failed("there is no program".to_owned()))?;
    let status = std::process::Command::new(program)
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .status()
        .map_err(|error| failed(error.to_string()))?;
    match status.success() {
        true => Ok(()),
        false => Err(failed(format!("it ended with {status}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: i64, kind: &str, release: &str, running: &str) -> Event {
        Event {
            id,
            at: std::time::SystemTime::UNIX_EPOCH,
            kind: kind.to_owned(),
            body: serde_json::json!({ "release": release, "running": running }),
        }
    }

    #[test]
    fn the_same_reboot_is_counted_until_something_else_happens() {
        let body = serde_json::json!({ "release": "b", "running": "a" });
        for (events, expected) in [
            (vec![], 0),
            (vec![event(1, REBOOT, "b", "a")], 1),
            (
                vec![event(1, REBOOT, "b", "a"), event(2, REBOOT, "b", "a")],
                2,
            ),
            (
                vec![event(1, REBOOT, "b", "a"), event(2, REBOOT, "a", "b")],
                0,
            ),
            (
                vec![event(1, REBOOT, "b", "a"), event(2, REFUSED, "b", "a")],
                0,
            ),
        ] {
            assert_eq!(tries(&events, &body), expected, "{events:?}");
        }
    }

    #[test]
    fn a_plan_asks_for_another_release_or_for_none() {
        let plan = |text: &str| -> Plan { toml::from_str(text).unwrap() };
        let asks = plan("[host]\nkernel-release = '6.1.0-18-amd64'\n");
        assert_eq!(
            other_release(&asks, "6.1.0-17-amd64"),
            Some("6.1.0-18-amd64")
        );
        assert_eq!(other_release(&asks, "6.1.0-18-amd64"), None);
        assert_eq!(other_release(&plan(""), "6.1.0-17-amd64"), None);
    }
}
