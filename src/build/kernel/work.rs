//! One kernel's build, from tree to artifact.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::plan::Recipe;
use crate::repo::ExportOptions;

use super::super::cache::{Entry, Outcome, remove};
use super::super::environment::{Environment, SOURCE_TIME};
use super::super::error::BuildError;
use super::super::failure::FailureReason;
use super::super::request::{BuildEvent, Reuse};
use super::super::runner::Runner;
use super::super::work::{Work, available_jobs, with_warnings};
use super::collect::collect;
use super::configuration::Configuration;
use super::inputs::{Base, Inputs, compiler, compiler_identity, key_parts};
use super::kept::KeptTrees;
use super::make::{FIXED, Make, OWN, fragment_file, is_foreign, uses_ccache};
use super::requests::remarks;
use super::tools::{KernelTool, missing_for, missing_tools};

impl Work<'_> {
    /// Configures and builds a kernel.
    pub fn make_kernel(
        &self,
        entry: &mut Entry,
        files: &Path,
        tell: &mut dyn FnMut(BuildEvent),
    ) -> Result<Outcome, BuildError> {
        let request = self.request;
        let recipe = request.recipe;
        let places = self.workshop.kernel_places();
        if places.source.to_string_lossy().contains([' ', ':']) {
            return Err(BuildError::KernelPath {
                path: places.source.to_owned(),
            });
        }
        entry.system = Some("the kernel's Makefile".to_owned());
        fs::write(&self.workshop.log, self.heading(entry))
            .map_err(BuildError::io(&self.workshop.log))?;
        let inputs = Inputs::of(recipe, request.repository, request.revision)?;
        if !inputs.missing.is_empty() {
            let files = inputs.missing;
            return self.disk_or_failure(FailureReason::NoConfiguration { files });
        }
        let environment = self.kernel_environment()?;
        let path = match environment.set.get("PATH") {
            Some(path) => path.clone(),
            None => std::env::var("PATH").unwrap_or_default(),
        };
        self.check_tools(missing_tools(&path, &compiler(recipe)))?;
        let ccache = uses_ccache(recipe, &path);
        tell(BuildEvent::Exporting);
        let trees = KeptTrees::in_workshop(&self.workshop.kernel(), places.source);
        let made_by = made_by(self, ccache)?;
        let options = ExportOptions {
            mtime: SOURCE_TIME,
            skip_submodules: recipe.skip_submodules.clone(),
        };
        let (report, manifest, is_incremental) = trees.prepare(
            request.repository,
            request.revision,
            &options,
            &made_by,
            request.reuse == Reuse::Nothing,
        )?;
        tell(note(match (is_incremental, ccache) {
            (true, _) => "built upon what the last kernel left",
            (false, true) => "ccache serves what was compiled before",
            (false, false) => "built from nothing (with ccache the next time is shorter)",
        }));
        self.put_configuration(&trees, &inputs)?;
        let make = Make {
            source: &trees.source,
            objects: &trees.objects,
            recipe,
            ccache,
            jobs: recipe.jobs.map_or_else(available_jobs, |jobs| jobs.get()),
        };
        let (configure, build) = (
            make.configure(&inputs.base, inputs.fragments.len()),
            make.build(),
        );
        entry.steps = [configure.clone(), build.clone()].concat();
        let count = entry.steps.len();
        let started = Instant::now();
        let mut run = |steps: &[String], before: usize| {
            let left = recipe.timeout.0.saturating_sub(started.elapsed());
            let runner = self.runner(&environment, &trees, left);
            runner.run(steps, &mut |index, command| {
                tell(BuildEvent::Step {
                    number: before + index + 1,
                    count,
                    command: command.to_owned(),
                });
            })
        };
        let mut reason = run(&configure, 0)?;
        let mut warnings = Vec::new();
        if reason.is_none() {
            let finished = read_configuration(&trees)?;
            self.check_tools(missing_for(&finished, recipe.modules, &path))?;
            warnings = remarks(&inputs.fragments, &finished, &trees.source);
            reason = run(&build, configure.len())?;
        }
        for warning in &warnings {
            tell(note(warning));
        }
        match reason {
            // Killed in the middle: what lies there may be half written.
            Some(reason @ FailureReason::TimeLimit { .. }) => return self.disk_or_failure(reason),
            Some(reason) => {
                trees.seal(&manifest, &made_by)?;
                return self.disk_or_failure(reason);
            }
            None => {}
        }
        let collected = collect(&trees.objects, files)?;
        trees.seal(&manifest, &made_by)?;
        match collected {
            Ok(mut outcome) => {
                if let Outcome::Built { warnings: kept, .. } = &mut outcome {
                    kept.extend(warnings);
                }
                Ok(with_warnings(outcome, &report))
            }
            Err(artifact) => self.disk_or_failure(FailureReason::Missing {
                artifact,
                made: Vec::new(),
            }),
        }
    }

    /// The environment of every build, with what makes kernels repeatable and no scripts before the
    /// compilers: the kernel's own flags are the ones to measure.
    fn kernel_environment(&self) -> Result<Environment, BuildError> {
        let places = self.workshop.kernel_places();
        let recipe = Recipe {
            compiler_flags: String::new(),
            rust_flags: String::new(),
            ..self.request.recipe.clone()
        };
        let mut environment =
            Environment::prepare(places, &recipe, None, 1).map_err(BuildError::io(places.shims))?;
        let set = &mut environment.set;
        set.extend(FIXED.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let foreign = std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| is_foreign(name) && !environment.set.contains_key(name));
        environment.unset.extend(foreign);
        Ok(environment)
    }

    fn check_tools(&self, missing: Vec<KernelTool>) -> Result<(), BuildError> {
        match missing.is_empty() {
            true => Ok(()),
            false => Err(BuildError::NoKernelTools {
                missing,
                commit: self.request.revision.short.clone(),
            }),
        }
    }

    /// Writes base and fragments into the object tree.
    fn put_configuration(&self, trees: &KeptTrees, inputs: &Inputs) -> Result<(), BuildError> {
        let own = trees.objects.join(OWN);
        remove(&own)?;
        fs::create_dir_all(&own).map_err(BuildError::io(&own))?;
        let write = |path: std::path::PathBuf, text: &str| {
            fs::write(&path, text).map_err(BuildError::io(&path))
        };
        if let Base::Text(text) = &inputs.base {
            write(own.join("base.config"), text)?;
        }
        for (number, fragment) in inputs.fragments.iter().enumerate() {
            let path = trees.objects.join(fragment_file(number));
            write(path, &(fragment.text.clone() + "\n"))?;
        }
        Ok(())
    }

    fn runner<'r>(
        &'r self,
        environment: &'r Environment,
        trees: &'r KeptTrees,
        limit: Duration,
    ) -> Runner<'r> {
        Runner {
            supervisor: &self.builder.supervisor,
            cancel: &self.builder.cancel,
            environment,
            source: &trees.source,
            scripts: self.workshop.places.workshop,
            log: &self.workshop.log,
            limit,
        }
    }
}

/// Everything but the tree that decides what the objects are.
fn made_by(work: &Work<'_>, ccache: bool) -> Result<String, BuildError> {
    let request = work.request;
    let parts = key_parts(request.recipe, request.repository, request.revision)?;
    Ok(format!(
        "{parts:?} {:?} {} {ccache}",
        request.recipe.env,
        compiler_identity(request.recipe)
    ))
}

fn read_configuration(trees: &KeptTrees) -> Result<Configuration, BuildError> {
    let path = trees.objects.join(".config");
    let text = fs::read(&path).map_err(BuildError::io(&path))?;
    Ok(Configuration::parse(&String::from_utf8_lossy(&text)))
}

fn note(text: &str) -> BuildEvent {
    BuildEvent::Note {
        text: text.to_owned(),
    }
}
