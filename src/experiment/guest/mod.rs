//! A trial in a guest: its CPUs, its job, and what became of it.

mod cpus;
mod patience;

use std::path::Path;
use std::time::Duration;

use crate::executor::guest::{
    Choice, Ending, Engine, Fault, GuestEnd, GuestError, GuestRun, GuestTrial, KvmMemory, Programs,
    choose, run_guest,
};
use crate::plan::{Guest, SubjectKind};
use crate::store::BlobDigest;
use crate::trial::{FailureKind, GuestRecord, SampledScope, Topology, TrialJob, write_json};

use super::attempt::LocalRunner;
use super::error::ExperimentError;
use super::job::{ProgramFiles, time_limit, trial_job};

use cpus::GuestCpus;
use patience::patient;

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
    /// The console's last lines, for a failure.
    pub tail: String,
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
        remark: run.console.mishap(),
        tail: run.console.tail(),
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
    (kind, with_console(&what, &run.console.tail()))
}

/// What happened, and the console's last lines.
pub fn with_console(what: &str, tail: &str) -> String {
    format!("{what}; its console ends:\n{tail}")
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
