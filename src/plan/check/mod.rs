//! Values that no plan can mean, although each is well formed.

mod commands;
mod words;

use crate::plan::model::{Plan, SubjectKind};
use crate::plan::workload::Listen;

use commands::{SERVER_PLACEHOLDERS, preparation, program};
use words::{fault, words, zero};

pub use words::Fault;

/// The first fault of a plan, if there is one.
pub fn check(plan: &Plan) -> Option<Fault> {
    workload(plan)
        .or_else(|| installed(plan))
        .or_else(|| {
            let (key, message) = crate::plan::kernel::check(plan)?;
            fault(&key, message)
        })
        .or_else(|| port(plan))
        .or_else(|| load(plan))
        .or_else(|| cpus(plan))
        .or_else(|| repetition(plan))
        .or_else(|| judging(plan))
        .or_else(|| settings(plan))
        .or_else(|| phases(plan))
        .or_else(|| kernels(plan))
        .or_else(|| {
            let (key, message) = plan.matrix.as_ref()?.check()?;
            fault(&format!("matrix.{key}"), message)
        })
}

fn phases(plan: &Plan) -> Option<Fault> {
    if plan.server.is_none() && !plan.phase.is_empty() {
        return fault("phase", "only a [server] has phases");
    }
    if let Some(name) = plan.metric.keys().next()
        && plan.server.is_none()
    {
        return fault(
            &format!("metric.{name}"),
            "only a [server] has such metrics; `command.metric` says what is measured of a command",
        );
    }
    if let Some((key, message)) = crate::plan::phase::check(&plan.phase, &plan.metric) {
        return fault(&key, message);
    }
    let of_phases = plan.phase.iter().enumerate().flat_map(|(at, phase)| {
        [("command", &phase.command), ("until", &phase.until)]
            .map(|(key, command)| (format!("phase.{at}.{key}"), command))
    });
    let of_metrics = plan
        .metric
        .iter()
        .map(|(name, metric)| (format!("metric.{name}.command"), &metric.command));
    of_phases
        .chain(of_metrics)
        .find_map(|(key, command)| words(&key, command.as_ref()?, &SERVER_PLACEHOLDERS))
}

fn settings(plan: &Plan) -> Option<Fault> {
    let planned = plan.settings.keys();
    let own = plan.custom_settings.keys();
    planned.chain(own).find_map(|name| {
        let error = crate::plan::settings::place(name, &plan.custom_settings).err()?;
        let section = match plan.custom_settings.contains_key(name) {
            true => "custom-settings",
            false => "settings",
        };
        fault(&format!("{section}.{name}"), error)
    })
}

/// The kernel that a trial runs under: a guest's, or one that this machine reboots into.
fn kernels(plan: &Plan) -> Option<Fault> {
    let below =
        |section: &str, (key, message): (&str, String)| fault(&format!("{section}.{key}"), message);
    if let Some(found) = plan.guest.as_ref().and_then(crate::plan::Guest::check) {
        return below("guest", found);
    }
    if let Some(found) = plan.host.as_ref().and_then(crate::plan::Host::check) {
        return below("host", found);
    }
    let kernel = plan.guest.as_ref().and_then(|guest| guest.kernel.as_ref());
    if plan.subject.kind == SubjectKind::Kernel && kernel.is_some() {
        return fault(
            "guest.kernel",
            "the subject is a kernel, and that is what the guest boots: leave this out",
        );
    }
    // Levels of a matrix may name it, and each of its cells is looked at.
    if plan.guest.is_some() && !plan.boots_guest() && plan.matrix.is_none() {
        return fault("guest.kernel", crate::plan::guest::NO_KERNEL);
    }
    let release = plan
        .host
        .as_ref()
        .and_then(|host| host.kernel_release.as_ref());
    if release.is_some() && plan.boots_guest() {
        return fault(
            "host.kernel-release",
            "the trial runs in a guest, whose kernel is another one: leave this out, or [guest]",
        );
    }
    words(
        "reboot.command",
        &plan.reboot.as_ref()?.command,
        &["release"],
    )
}

fn workload(plan: &Plan) -> Option<Fault> {
    match (&plan.server, &plan.command) {
        (Some(_), Some(_)) => fault(
            "command",
            "a plan has either [server] or [command], not both",
        ),
        (Some(server), None) => commands::server(server),
        (None, Some(command)) => commands::command(command),
        (None, None) => fault("server", "a plan needs a [server] or a [command] section"),
    }
}

/// A port is given to a server that listens on one.
fn port(plan: &Plan) -> Option<Fault> {
    let server = plan.server.as_ref()?;
    let commands = [
        Some(&server.start),
        plan.load_program.as_ref().map(|program| &program.run),
        plan.prepare_program.as_ref().map(|program| &program.run),
    ];
    let mut words = commands
        .into_iter()
        .flatten()
        .flat_map(|command| &command.0);
    (server.listen == Listen::Unix && words.any(|word| word.contains("{port}"))).then(|| {
        fault(
            "server.listen",
            "a command names {port}, and the server listens on a Unix socket: set listen = \"tcp\"",
        )
    })?
}

/// Nothing is built of an installed program, so that nothing of it has a path of ours; and what a
/// kernel is loaded with is installed.
fn installed(plan: &Plan) -> Option<Fault> {
    if plan.subject.kind == SubjectKind::Program {
        return None;
    }
    let commands = [
        (
            "server.start",
            plan.server.as_ref().map(|server| &server.start),
        ),
        (
            "command.run",
            plan.command.as_ref().map(|command| &command.run),
        ),
    ];
    commands.into_iter().find_map(|(key, command)| {
        let mut words = command?.0.iter();
        words.any(|word| word.contains("{artifact")).then(|| {
            fault(
                key,
                "an installed program has no {artifact}: write its name or its path",
            )
        })?
    })
}

fn load(plan: &Plan) -> Option<Fault> {
    let check = |section: &str, spec: &crate::plan::LoadSpec| {
        let error = spec.check().err()?;
        fault(&format!("{section}.{}", error.key), error.message)
    };
    if plan.server.is_none() {
        let given = [
            ("load-program", plan.load_program.is_some()),
            ("prepare-program", plan.prepare_program.is_some()),
        ];
        let (key, _) = given.iter().find(|(_, given)| *given)?;
        return fault(key, "only a [server] is put under load");
    }
    program(plan)
        .or_else(|| preparation(plan))
        .or_else(|| check("load", &plan.load))
        .or_else(|| check("prepare", plan.prepare.as_ref()?))
}

fn cpus(plan: &Plan) -> Option<Fault> {
    let (subject, load) = (plan.cpus.subject.as_ref()?, plan.cpus.load.as_ref()?);
    let shared = subject.common(load);
    if plan.command.is_some() || shared.as_slice().is_empty() {
        return None;
    }
    fault(
        "cpus.load",
        format!(
            "server and load share CPU {shared}: each would measure the other; give them CPUs of their own"
        ),
    )
}

fn repetition(plan: &Plan) -> Option<Fault> {
    if plan.experiment.blocks == 0 {
        return zero("experiment.blocks");
    }
    if plan.server.is_some() && plan.windows.measure.0.is_zero() {
        return zero("windows.measure");
    }
    (plan.server.is_some() && plan.windows.profile.0.is_zero()).then(|| {
        fault(
            "windows.profile",
            "must be longer than zero; to measure without sampling say --no-profile",
        )
    })?
}

fn judging(plan: &Plan) -> Option<Fault> {
    let judging = &plan.judging;
    if !(judging.alpha > 0.0 && judging.alpha < 1.0) {
        return fault("judging.alpha", "must lie between 0 and 1");
    }
    let limits = &plan.disturbance;
    for (key, value) in [
        ("judging.margin-pct", judging.margin_pct),
        ("judging.gate-points", judging.gate_points),
        ("disturbance.steal-pct", limits.steal_pct),
        ("disturbance.foreign-pct", limits.foreign_pct),
    ] {
        if !(value >= 0.0 && value.is_finite()) {
            return fault(key, "must be a number of at least zero");
        }
    }
    let mut group_of = std::collections::BTreeMap::new();
    for (name, members) in &judging.groups {
        let key = format!("judging.groups.{name}");
        if name.is_empty() || members.is_empty() || members.iter().any(String::is_empty) {
            return fault(&key, "a group needs a name and the names of its functions");
        }
        for member in members {
            if let Some(other) = group_of.insert(member, name)
                && other != name
            {
                let message = format!("`{member}` is in the group `{other}` too; it can be in one");
                return fault(&key, message);
            }
        }
    }
    None
}
