//! What a machine's settings do to measurements. Pure.

use serde::Serialize;

use super::machine::Machine;

/// A setting, what it does to measurements, and what mends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The setting and its value.
    pub about: String,
    /// What it does.
    pub effect: String,
    /// What to do about it.
    pub mend: String,
}

/// What is known to make measurements on this machine noisier than they need be.
pub fn advice(machine: &Machine) -> Vec<Advice> {
    let setting = |name: &str| machine.settings.get(name).map(String::as_str);
    let mut found = Vec::new();
    let mut say = |about: String, effect: &str, mend: &str| {
        found.push(Advice {
            about,
            effect: effect.to_owned(),
            mend: mend.to_owned(),
        });
    };
    if let Some(governor) = setting("governor").filter(|governor| *governor != "performance") {
        say(
            format!("frequency governor {governor}"),
            "the CPU's speed follows its load, so that trials differ in speed",
            "cpupower frequency-set --governor performance",
        );
    }
    if setting("no-turbo") == Some("0") || setting("boost") == Some("1") {
        say(
            "turbo is on".to_owned(),
            "the CPU's speed follows its temperature, so that it drifts over an experiment",
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > /sys/devices/system/cpu/cpufreq/boost",
        );
    }
    if setting("smt") == Some("on") {
        say(
            "hyper-threading is on".to_owned(),
            "whatever runs on the other thread of the subject's core slows the subject",
            "keep that thread idle, or echo off > /sys/devices/system/cpu/smt/control",
        );
    }
    if machine.cpus < 2 {
        say(
            "one CPU".to_owned(),
            "a server and its load would share it, and each would measure the other",
            "measure commands, or use a machine with two CPUs",
        );
    }
    if machine.hypervisor {
        say(
            "a virtual machine".to_owned(),
            "other guests take CPU time and cache, so that the same program varies from run to run",
            "more blocks; the order of trials is random and functions are normalised, so that noise makes a verdict undecided and not wrong",
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(settings: &[(&str, &str)], cpus: usize) -> Machine {
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Machine {
            cpus,
            settings: settings.collect(),
            ..Machine::default()
        }
    }

    #[test]
    fn a_quiet_machine_gets_no_advice() {
        let quiet = machine(
            &[
                ("governor", "performance"),
                ("no-turbo", "1"),
                ("smt", "off"),
            ],
            8,
        );
        assert_eq!(advice(&quiet), []);
    }

    #[test]
    fn each_setting_is_named_with_its_mend() {
        let noisy = machine(
            &[("governor", "powersave"), ("boost", "1"), ("smt", "on")],
            1,
        );
        let about: Vec<String> = advice(&noisy)
            .into_iter()
            .map(|advice| advice.about)
            .collect();
        assert_eq!(
            about,
            [
                "frequency governor powersave",
                "turbo is on",
                "hyper-threading is on",
                "one CPU"
            ]
        );
    }
}
