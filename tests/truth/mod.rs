//! Programs whose profile is known, and recordings of them by the real binary.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use perfblame::profile::{FunctionCounts, FunctionTable, Profile, Stack, Symbol};
use tempfile::TempDir;

/// Flags of a build with frame pointers.
pub const FRAME_POINTERS: &[&str] = &["-O2", "-g", "-fno-omit-frame-pointer"];
/// Flags of a build without.
pub const NO_FRAME_POINTERS: &[&str] = &["-O2", "-g", "-fomit-frame-pointer"];

/// A directory with compiled programs of `fixtures/sampler`.
pub struct Truth {
    dir: TempDir,
}

impl Truth {
    pub fn new() -> Self {
        Self {
            dir: tempfile::Builder::new().prefix("truth").tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Compiles sources to a program.
    pub fn compile(&self, name: &str, sources: &[&str], flags: &[&str]) -> PathBuf {
        let program = self.path(name);
        let compiler = match sources[0].ends_with(".cc") {
            true => "c++",
            false => "cc",
        };
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sampler");
        let output = Command::new(compiler)
            .args(flags)
            .arg("-o")
            .arg(&program)
            .args(sources.iter().map(|source| fixtures.join(source)))
            .args(["-pthread", "-ldl"])
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        program
    }

    /// Runs a tool in the directory.
    pub fn tool(&self, program: &str, arguments: &[&str]) {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{program}: {}",
            text(&output.stderr)
        );
    }

    /// Runs `perfblame record` in the directory.
    pub fn perfblame_record(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_perfblame"))
            .arg("record")
            .args(arguments)
            .current_dir(self.dir.path())
            .output()
            .unwrap()
    }

    /// Records with `-o` to a profile and the given arguments; fails where that fails.
    pub fn record(&self, arguments: &[&str]) -> Recording {
        let out = self.path("profile.json");
        let mut all = vec!["-o", out.to_str().unwrap()];
        all.extend(arguments);
        let output = self.perfblame_record(&all);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let profile: Profile = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
        Recording {
            profile,
            messages: text(&output.stderr),
        }
    }
}

/// A program that runs until this is dropped.
pub struct Running(Child);

impl Running {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What was recorded.
pub struct Recording {
    pub profile: Profile,
    pub messages: String,
}

impl Recording {
    /// Counts of a function in any module.
    pub fn function(&self, name: &str) -> FunctionCounts {
        let table = FunctionTable::from_profile(&self.profile);
        let rows = table.rows.iter().filter(|(id, _)| id.name == name);
        rows.fold(FunctionCounts::default(), |sum, (_, counts)| {
            FunctionCounts {
                self_samples: sum.self_samples + counts.self_samples,
                inclusive_samples: sum.inclusive_samples + counts.inclusive_samples,
            }
        })
    }

    /// All function names.
    pub fn functions(&self) -> Vec<String> {
        let table = FunctionTable::from_profile(&self.profile);
        table.rows.into_keys().map(|id| id.name).collect()
    }

    /// Names of a stack's functions, outermost first, with inlined ones.
    pub fn names(&self, stack: &Stack) -> Vec<&str> {
        self.symbols(stack)
            .iter()
            .map(|symbol| symbol.name.as_str())
            .collect()
    }

    /// A stack's functions, outermost first.
    pub fn symbols(&self, stack: &Stack) -> Vec<&Symbol> {
        let frames = stack.frames.iter().rev();
        frames
            .flat_map(|frame| self.profile.frames[*frame as usize].symbols.iter().rev())
            .collect()
    }

    /// Samples whose stack holds the functions one directly below the other.
    pub fn samples_with(&self, chain: &[&str]) -> u64 {
        let holds = |stack: &&Stack| self.names(stack).windows(chain.len()).any(|w| w == chain);
        self.profile
            .stacks
            .iter()
            .filter(holds)
            .map(|stack| stack.count)
            .sum()
    }

    pub fn truncated(&self) -> u64 {
        self.profile.accounting.truncated
    }

    pub fn samples(&self) -> u64 {
        self.profile.accounting.samples
    }

    /// The folded stacks, to show where a test fails.
    pub fn folded(&self) -> String {
        perfblame::profile::folded_lines(&self.profile).join("\n")
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether a command runs here at all.
pub fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}
