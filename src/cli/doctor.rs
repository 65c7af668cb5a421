//! `perfblame doctor`: what this machine can and cannot measure.

use std::fmt::Write;
use std::path::PathBuf;

use crate::build::missing_kernel_tools;
use crate::plan::Cpus;
use crate::report::plain;
use crate::sample::Availability;
use crate::trial::settings::left_over;
use crate::trial::{Advice, Machine, Topology, advice};

use super::Exit;
use super::guests::Guests;

/// Says what this machine can and cannot measure, why, and what mends it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// As JSON
    #[arg(long)]
    json: bool,
    /// A kernel to try KVM with, in place of one of this machine's own
    #[arg(long, value_name = "BZIMAGE")]
    kernel: Option<PathBuf>,
}

/// Settings that a killed run left changed.
fn settings_left_over() -> Option<Advice> {
    let left = left_over()?;
    Some(Advice {
        about: format!("settings left changed: {}", left.names.join(", ")),
        effect: format!(
            "a run that was killed could not restore them ({})",
            left.path.display()
        ),
        mend: "perfblame compare, bisect and matrix restore them first thing; a reboot does too"
            .to_owned(),
    })
}

/// What is to be installed before a kernel can be built.
fn for_kernels() -> Option<Advice> {
    let tools = missing_kernel_tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    let mut packages: Vec<&str> = tools.iter().map(|tool| tool.package).collect();
    packages.dedup();
    (!tools.is_empty()).then(|| Advice {
        about: "tools for kernels".to_owned(),
        effect: format!(
            "no kernel can be built: these are not installed: {}",
            names.join(", ")
        ),
        mend: format!("apt-get install {}", packages.join(" ")),
    })
}

/// Looks, and prints what was found. Changes nothing.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let machine = Machine::read();
    let availability = Availability::probe();
    let sampling = availability.event.as_ref().map_err(ToString::to_string);
    let placement =
        Topology::read().and_then(|topology| topology.place_server(&Cpus::default(), 1));
    let placement = placement.map_err(|error| error.to_string());
    let mut found: Vec<Advice> = availability
        .findings
        .iter()
        .map(|finding| Advice {
            about: finding.setting.clone(),
            effect: finding.effect.clone(),
            mend: finding.mend.clone(),
        })
        .collect();
    found.extend(advice(&machine));
    let for_kernels = for_kernels();
    found.extend(for_kernels.clone());
    found.extend(settings_left_over());
    let guests = Guests::look(args.kernel.as_deref());
    found.extend(guests.advice());
    if args.json {
        let json = serde_json::json!({
            "machine": machine,
            "sampling": {
                "event": sampling.as_ref().ok().map(|(event, _)| event),
                "kernel": sampling.as_ref().is_ok_and(|(_, kernel)| *kernel),
                "kernel_symbols": availability.kernel_symbols,
                "error": sampling.as_ref().err(),
            },
            "placement": placement.as_ref().ok().map(|cpus| {
                serde_json::json!({"subject": cpus.subject, "load": cpus.load})
            }),
            "guests": guests.json(),
            "findings": found,
        });
        println!("{}", serde_json::to_string_pretty(&json)?);
        return Ok(Exit::Ok);
    }
    let mut text = String::new();
    let mut line = |name: &str, value: &str| writeln!(text, "{name:10} {value}");
    line(
        "machine",
        &format!(
            "{}, {} CPUs, Linux {}",
            machine.cpu_model, machine.cpus, machine.kernel
        ),
    )?;
    match &sampling {
        Ok((event, kernel)) => {
            let scope = if *kernel {
                "user and kernel code"
            } else {
                "user code only"
            };
            line("sampling", &format!("by {event}, {scope}"))?;
        }
        Err(error) => line("sampling", &format!("not possible: {error}"))?,
    }
    let symbols = if availability.kernel_symbols {
        "yes"
    } else {
        "no"
    };
    line("kernel", &format!("functions can be named: {symbols}"))?;
    line(
        "kernels",
        match for_kernels.is_none() {
            true => "can be built",
            false => "cannot be built: tools are missing",
        },
    )?;
    match &placement {
        Ok(cpus) => line(
            "CPUs",
            &format!("server on {}, load on {}", cpus.subject, cpus.load),
        )?,
        Err(error) => line("CPUs", error)?,
    }
    line("guests", &guests.in_words())?;
    for advice in found {
        write!(
            text,
            "\n{}\n  {}\n  mend: {}\n",
            advice.about, advice.effect, advice.mend
        )?;
    }
    print!(
        "{}",
        text.lines()
            .map(|line| plain(line).to_string() + "\n")
            .collect::<String>()
    );
    Ok(Exit::Ok)
}
