//! A trial in a guest: its CPUs, its job, and what became of it.

use std::path::Path;
use std::time::Duration;

use crate::executor::guest::{
    Choice, Console, Ending, Engine, Fault, GuestEnd, GuestError, GuestRun, GuestTrial, HostCpus,
    KvmMemory, Programs, choose, run_guest,
};
use crate::plan::{CpuList, Guest, Length, Plan, SubjectKind};
use crate::store::BlobDigest;
use crate::trial::{
    FailureKind, GuestRecord, Placement, SampledScope, Topology, TrialJob, write_json,
};

use super::attempt::LocalRunner;
use super::error::ExperimentError;
use super::job::{ProgramFiles, time_limit, trial_job};

/// How much longer everything may take where the guest's code is translated.
const TRANSLATION_SLOWS: u32 = 10;
/// A kernel's modules, in the directory of what was built: what `/lib/modules` is on a system.
const MODULES: &str = "modules";
/// The trial's directory in the guest: in memory, and short, since Unix sockets live below it.
const RUN_DIR: &str = "/run/perfblame/run";

/// What came of a guest.
pub enum GuestAttempt {
    /// It ran; its trial may have left an outcome.
    Ended {
        /// How it ended.
        ended: Box<GuestEnded>,
        /// What it was to do.
        job: Box<TrialJob>,
    },
    /// It could not be started.
    Refused(String),
}

/// A guest that is gone.
pub struct GuestEnded {
    /// What is known of it.
    pub record: GuestRecord,
    /// What must be said with any failure that its trial tells of.
    pub remark: Option<String>,
    /// Why there is no outcome, where there is none.
    pub otherwise: (FailureKind, String),
}

/// Runs a trial in a guest of its own.
///
/// # Errors
/// Where the user wishes to stop, and where processes or files of this machine fail.
pub fn in_guest(
    runner: &LocalRunner<'_>,
    files: ProgramFiles<'_>,
    dir: &Path,
) -> Result<GuestAttempt, ExperimentError> {
    let plan = runner.plan;
    let guest = plan.guest.clone().unwrap_or_default();
    let mut modules = None;
    let (kernel, files) = match (plan.subject.kind, &guest.kernel, files.main) {
        // What is built is the kernel; what runs on it is installed.
        (SubjectKind::Kernel, _, Some(image)) => {
            modules = files
                .dir
                .map(|dir| dir.join(MODULES))
                .filter(|dir| dir.is_dir());
            (image.to_owned(), ProgramFiles::default())
        }
        (_, Some(kernel), _) => (kernel.clone(), files),
        _ => {
            return Ok(GuestAttempt::Refused(
                "nothing names the guest's kernel (guest.kernel)".to_owned(),
            ));
        }
    };
    let cpus = match GuestCpus::of(&guest, runner.placement, &Topology::read()?.all()) {
        Ok(cpus) => cpus,
        Err(reason) => return Ok(GuestAttempt::Refused(reason)),
    };
    let prepared = prepare(runner, &guest, &kernel, dir);
    let (programs, choice) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Ok(GuestAttempt::Refused(error.to_string())),
    };
    let image = match std::fs::read(&kernel) {
        Ok(bytes) => BlobDigest::of(&bytes).to_string(),
        Err(source) => {
            let error = GuestError::Kernel {
                path: kernel,
                source,
            };
            return Ok(GuestAttempt::Refused(error.to_string()));
        }
    };
    let plan = match choice.engine {
        Engine::Kvm => plan.clone(),
        Engine::Tcg { .. } => patient(plan),
    };
    let job = trial_job(&plan, &cpus.guest, files, runner.profile, dir);
    let Some(mut job) = job else {
        return Ok(GuestAttempt::Refused(
            "the plan has neither a server nor a command".to_owned(),
        ));
    };
    job.run_dir = RUN_DIR.into();
    // Where the load shares the subject's CPU, it would be in the profile.
    if cpus
        .guest
        .subject
        .common(&cpus.guest.load)
        .as_slice()
        .is_empty()
    {
        job.sampled = SampledScope::SubjectCpus;
    }
    let job_file = dir.join("job.json");
    write_json(&job_file, &job)?;
    let trial = GuestTrial {
        guest: &guest,
        kernel: &kernel,
        modules: modules.as_deref(),
        engine: choice.engine,
        programs: &programs,
        host_cpus: &cpus.host,
        subject_cpus: &cpus.guest.subject,
        dir,
        job: &job_file,
        limit: time_limit(&plan),
    };
    match run_guest(runner.supervisor, &trial, runner.cancel) {
        Ok(GuestEnd::Cancelled) => Err(ExperimentError::Interrupted),
        Ok(GuestEnd::Ran(run)) => Ok(GuestAttempt::Ended {
            ended: Box::new(ended(
                &run,
                &guest,
                &cpus,
                &programs,
                &choice,
                (&image, trial.limit),
            )),
            job: Box::new(job),
        }),
        Err(GuestError::Process(error)) => Err(error.into()),
        Err(error) => Ok(GuestAttempt::Refused(error.to_string())),
    }
}

fn prepare(
    runner: &LocalRunner<'_>,
    guest: &Guest,
    kernel: &Path,
    dir: &Path,
) -> Result<(Programs, Choice), GuestError> {
    let programs = Programs::find()?;
    let memory = KvmMemory {
        lasting: Some(runner.workspace.kvm_memory()),
        of_this_run: Some(runner.workspace.kvm_memory_of_this_run()),
    };
    let choice = choose(
        guest,
        kernel,
        &programs,
        &memory,
        &dir.join("test-boot"),
        runner.supervisor,
        runner.cancel,
    )?;
    Ok((programs, choice))
}

fn ended(
    run: &GuestRun,
    guest: &Guest,
    cpus: &GuestCpus,
    programs: &Programs,
    choice: &Choice,
    (image, limit): (&str, Duration),
) -> GuestEnded {
    let record = GuestRecord {
        kernel: run.console.release().unwrap_or_default().to_owned(),
        image: image.to_owned(),
        engine: engine_name(choice.engine),
        why_not_kvm: choice.why_not_kvm.clone(),
        qemu: programs.qemu_version.clone(),
        memory: guest.memory,
        cpus: cpus.host.of_guest.len(),
        swap: guest.swap,
        swapped_out_bytes: run.console.swapped_out_bytes(),
        boot_seconds: run.boot.map_or(0.0, |boot| boot.as_secs_f64()),
    };
    GuestEnded {
        record,
        remark: run.console.out_of_memory(),
        otherwise: failure(run, limit),
    }
}

fn failure(run: &GuestRun, limit: Duration) -> (FailureKind, String) {
    let (fault, what) = run.console.diagnose(run.ending);
    let what = match (&run.qemu_failure, run.ending) {
        (Some(failure), _) => failure.clone(),
        (None, Ending::NotDone) => {
            let seconds = Duration::from_secs(limit.as_secs());
            format!("{what} ({})", humantime::format_duration(seconds))
        }
        _ => what,
    };
    let kind = match fault {
        Fault::Setup => FailureKind::Setup,
        Fault::Boot => FailureKind::Start,
        Fault::Run => FailureKind::Run,
    };
    (kind, with_console(&what, &run.console))
}

/// What happened, and the console's last lines.
pub fn with_console(what: &str, console: &Console) -> String {
    format!("{what}; its console ends:\n{}", console.tail())
}

fn engine_name(engine: Engine) -> String {
    match engine {
        Engine::Kvm => "KVM".to_owned(),
        Engine::Tcg { icount: None } => "TCG".to_owned(),
        Engine::Tcg {
            icount: Some(shift),
        } => format!("TCG, {} ns an instruction", 1u32 << shift.min(31)),
    }
}

/// Who runs where, in the guest and under it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GuestCpus {
    /// The host's CPUs under the guest's.
    host: HostCpus,
    /// The guest's CPUs of subject and load.
    guest: Placement,
}

impl GuestCpus {
    /// One CPU for all.
    fn one(host: &Placement) -> Self {
        let first = CpuList::new(vec![0]);
        let load = host.load.as_slice();
        Self {
            host: HostCpus {
                of_guest: host
                    .subject
                    .as_slice()
                    .first()
                    .copied()
                    .into_iter()
                    .collect(),
                of_others: load.to_vec(),
            },
            guest: Placement {
                load: match load {
                    [] => CpuList::default(),
                    _ => first.clone(),
                },
                subject: first,
            },
        }
    }

    /// The guest's CPUs are numbered so: those that are the kernel's own, then the load's, then the
    /// subject's, so that what a kernel does on its first CPU disturbs the subject least.
    ///
    /// # Errors
    /// Where `guest.cpus` is fewer than the plan's CPUs, or more than there are.
    fn of(guest: &Guest, host: &Placement, allowed: &CpuList) -> Result<Self, String> {
        if guest.icount.is_some() {
            return Ok(Self::one(host));
        }
        let (subject, load) = (host.subject.as_slice(), host.load.as_slice());
        let used = subject.len() + load.len();
        let free = allowed.without(&host.subject).without(&host.load);
        let free = free.as_slice();
        let count = match guest.cpus {
            Some(cpus) => cpus.get() as usize,
            // A command's trial needs a place beside the command.
            None => used.max((1 + usize::from(!free.is_empty())).min(2)),
        };
        if count < used {
            return Err(format!(
                "guest.cpus is {count}, and subject and load have {used} CPUs (cpus.subject, cpus.load): each is one of the guest's"
            ));
        }
        let own = count - used;
        if own > free.len() {
            return Err(format!(
                "guest.cpus is {count}, and this process may use {} CPUs: each of the guest's needs one",
                allowed.as_slice().len()
            ));
        }
        let of_guest: Vec<usize> = free[..own]
            .iter()
            .chain(load)
            .chain(subject)
            .copied()
            .collect();
        let others = of_guest[..own + load.len()].to_vec();
        let range = |from: usize, to: usize| CpuList::new((from..to).collect());
        Ok(Self {
            guest: Placement {
                subject: range(own + load.len(), count),
                load: range(own, own + load.len()),
            },
            host: HostCpus {
                of_others: match others.is_empty() {
                    true => allowed.as_slice().to_vec(),
                    false => others,
                },
                of_guest,
            },
        })
    }
}

/// The plan with more patience.
fn patient(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let longer = |length: &mut Length| length.0 = length.0.saturating_mul(TRANSLATION_SLOWS);
    if let Some(server) = &mut plan.server {
        for length in [
            &mut server.init_timeout,
            &mut server.ready.timeout,
            &mut server.stop_timeout,
        ] {
            longer(length);
        }
    }
    longer(&mut plan.windows.prepare_timeout);
    let loads = plan
        .phase
        .iter_mut()
        .filter_map(|phase| phase.load.as_mut());
    for load in loads.chain(plan.prepare.as_mut()).chain([&mut plan.load]) {
        load.stall_timeout = load
            .stall_timeout
            .saturating_mul(u64::from(TRANSLATION_SLOWS));
    }
    if let Some(program) = &mut plan.load_program {
        longer(&mut program.timeout);
    }
    for phase in &mut plan.phase {
        longer(&mut phase.timeout);
    }
    if let Some(command) = &mut plan.command {
        longer(&mut command.timeout);
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(subject: &str, load: &str) -> Placement {
        let list = |text: &str| match text {
            "" => CpuList::default(),
            text => text.parse().unwrap(),
        };
        Placement {
            subject: list(subject),
            load: list(load),
        }
    }

    fn of(
        subject: &str,
        load: &str,
        cpus: Option<u32>,
        allowed: &str,
    ) -> Result<GuestCpus, String> {
        let guest = Guest {
            cpus: cpus.and_then(std::num::NonZeroU32::new),
            ..Guest::default()
        };
        GuestCpus::of(&guest, &placement(subject, load), &allowed.parse().unwrap())
    }

    #[test]
    fn each_cpu_of_the_guest_has_one_of_the_hosts() {
        for (case, on_host, subject, load, others) in [
            (("0", "1", None, "0-1"), vec![1, 0], "1", "0", vec![1]),
            (
                ("2-3", "1", None, "0-3"),
                vec![1, 2, 3],
                "1-2",
                "0",
                vec![1],
            ),
            (
                ("2", "1", Some(4), "0-3"),
                vec![0, 3, 1, 2],
                "3",
                "2",
                vec![0, 3, 1],
            ),
            // A command.
            (("1", "", None, "0-1"), vec![0, 1], "1", "", vec![0]),
            (("0", "", None, "0"), vec![0], "0", "", vec![0]),
        ] {
            let (of_subject, of_load, cpus, allowed) = case;
            let got = of(of_subject, of_load, cpus, allowed).unwrap();
            assert_eq!(got.host.of_guest, on_host, "{case:?}");
            assert_eq!(got.guest, placement(subject, load), "{case:?}");
            assert_eq!(got.host.of_others, others, "{case:?}");
        }
    }

    #[test]
    fn a_guest_whose_instructions_are_counted_has_one_cpu() {
        let guest = Guest {
            icount: Some(6),
            ..Guest::default()
        };
        for (subject, load, in_guest) in [("1", "0", "0"), ("1", "", "")] {
            let of =
                GuestCpus::of(&guest, &placement(subject, load), &"0-1".parse().unwrap()).unwrap();
            assert_eq!(of.host.of_guest, [1]);
            assert_eq!(of.guest, placement("0", in_guest));
        }
    }

    #[test]
    fn too_few_and_too_many_cpus_are_refused() {
        assert!(
            of("0", "1", Some(1), "0-1")
                .unwrap_err()
                .contains("guest.cpus is 1")
        );
        assert!(
            of("0", "1", Some(3), "0-1")
                .unwrap_err()
                .contains("may use 2 CPUs")
        );
    }

    #[test]
    fn a_translated_guest_gets_more_time_and_no_longer_windows() {
        let plan: Plan = toml::from_str(
            "[server]\nstart = 'x'\nready = { timeout = '3s' }\n[windows]\nmeasure = '2s'\nprepare-timeout = '5s'\n",
        )
        .unwrap();
        let longer = patient(&plan);
        let server = longer.server.unwrap();
        assert_eq!(server.ready.timeout, Length::seconds(30));
        assert_eq!(longer.windows.prepare_timeout, Length::seconds(50));
        assert_eq!(longer.windows.measure, Length::seconds(2));
    }
}
