//! A matrix over settings of the machine: real files stand for the kernel's, and the subject prints
//! what it finds in them.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::TestRepo;
use serde_json::Value;
use tempfile::TempDir;

/// A directory with a plan, a setting's file and a place for the journal.
struct Bench {
    dir: TempDir,
}

/// Prints a number that depends on the setting, and a little on chance.
const SUBJECT: &str = r#"
[subject]
kind = "installed"
[command]
run = ["sh", "-c", "sleep $NAP; echo value: $(( $(cat FILE) * 1000 + $$ % 50 ))"]
env = { NAP = "0" }
runs = 1
warmup-runs = 0
metric = "output"
pattern = 'value: (?<value>\d+)'
unit = "points"
better = "higher"
[custom-settings.knob]
path = "FILE"
"#;

const AXES: &str = r#"
[matrix]
points = 4
[[matrix.axis]]
name = "knob"
level = [{ name = "low", settings.knob = "1" }, { name = "high", settings.knob = "2" }]
[[matrix.axis]]
name = "nap"
level = [{ name = "short", env.NAP = "0" }, { name = "long", env.NAP = "0.05" }]
"#;

impl Bench {
    fn new(plan: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bench = Self { dir };
        std::fs::write(bench.knob(), "0\n").unwrap();
        bench.plan(plan);
        bench
    }

    fn plan(&self, text: &str) {
        let text = format!("{SUBJECT}{text}").replace("FILE", &self.knob().display().to_string());
        std::fs::write(self.path("plan.toml"), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn knob(&self) -> PathBuf {
        self.path("knob")
    }

    fn knob_shows(&self) -> String {
        std::fs::read_to_string(self.knob())
            .unwrap()
            .trim()
            .to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = common::command();
        command
            .args(["matrix", "plan.toml", "--out", "out"])
            .args(arguments)
            .current_dir(self.dir.path())
            .env("PERFBLAME_STATE_DIR", self.path("state"));
        command
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    fn report(&self) -> Value {
        let text = std::fs::read_to_string(self.path("out/matrix.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Starts a matrix of many points and returns once it has changed the setting.
    fn started(&self) -> std::process::Child {
        let child = self
            .command(&["--points", "500"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.eventually("the setting is changed", || self.knob_shows() != "0");
        child
    }

    fn eventually(&self, what: &str, is_so: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < deadline, "{what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn signal(child: &std::process::Child, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, signal).unwrap();
}

#[test]
fn every_cell_gets_its_points_and_both_axes_their_tables() {
    let bench = Bench::new(AXES);
    let (code, out, error) = bench.run(&[]);
    assert_eq!(code, 0, "{error}");
    assert_eq!(bench.knob_shows(), "0", "the setting is restored");
    assert!(
        out.contains("Table 1. output: knob=high compared with knob=low"),
        "{out}"
    );
    assert!(
        out.contains("Table 2. output: nap=long compared with nap=short"),
        "{out}"
    );

    let report = bench.report();
    assert_eq!(report["schema"], "perfblame.matrix/1");
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert_eq!(
            cell["values"]["output"].as_array().unwrap().len(),
            4,
            "{cell}"
        );
        let low = if cell["levels"][0] == "low" {
            1000.0
        } else {
            2000.0
        };
        let value = cell["values"]["output"][0].as_f64().unwrap();
        assert!((low..low + 50.0).contains(&value), "{cell}");
    }
    // From low to high the number doubles.
    let compared = &report["tables"][0]["cells"][0][0]["compared"];
    let change = compared["change_pct"][0].as_f64().unwrap();
    assert!((80.0..120.0).contains(&change), "{compared}");

    // The table of raw.csv gives the same by `stats`.
    let raw = bench.path("out/raw.csv").display().to_string();
    let ran = common::perfblame(
        bench.dir.path(),
        &[
            "stats",
            &raw,
            "--compare",
            "knob",
            "--within",
            "nap,metric",
            "--value",
            "value",
            "--json",
        ],
    );
    assert_eq!(ran.code, 0, "{ran:#?}");
    let stats: Value = serde_json::from_str(&ran.out).unwrap();
    let same = stats["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|test| test["group"] == serde_json::json!({"nap": "short", "metric": "output"}))
        .unwrap_or_else(|| panic!("{stats:#}"));
    // R's t is of base minus head, ours of head minus base.
    let t = same["t"].as_f64().unwrap();
    let ours = compared["t"].as_f64().unwrap();
    assert!((t + ours).abs() < 1e-9, "{same} {compared}");

    // A stored matrix is shown once more.
    let store = bench.path(".perfblame").display().to_string();
    let ran = common::perfblame(bench.dir.path(), &["show", "--store", &store]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(out.starts_with(&ran.out), "{ran:#?}");
}

#[test]
fn settings_are_restored_after_a_signal_and_after_kill_at_the_next_start() {
    use nix::sys::signal::Signal;

    let bench = Bench::new(
        &AXES
            .replace("\"0.05\"", "\"0.3\"")
            .replace("NAP = \"0\"", "NAP = \"0.2\""),
    );
    let mut child = bench.started();
    signal(&child, Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(bench.knob_shows(), "0", "restored after Ctrl-C");

    let mut child = bench.started();
    signal(&child, Signal::SIGKILL);
    child.wait().unwrap();
    let (code, _, error) = bench.run(&["--points", "2"]);
    assert_eq!(code, 0, "{error}");
    assert_eq!(bench.knob_shows(), "0", "restored after kill -9");
}

#[test]
fn what_an_earlier_run_left_and_cannot_be_restored_stops_nobody_else() {
    let bench = Bench::new(AXES);
    let dead = bench.path("dead").display().to_string();
    std::fs::create_dir(bench.path("state")).unwrap();
    let journal = bench.path("state/settings.json");
    let left =
        format!("[{{\"name\": \"gone\", \"was\": \"7\", \"place\": {{\"file\": \"{dead}\"}}}}]");
    std::fs::write(&journal, &left).unwrap();
    // A plan that sets nothing goes on, and says what is wrong.
    bench.plan(
        "[[matrix.axis]]\nname = 'nap'\nlevel = [{ name = 'a', env.NAP = '0' }, { name = 'b', env.NAP = '0' }]\n",
    );
    let (code, _, error) = bench.run(&["--points", "2"]);
    assert_eq!(code, 0, "{error}");
    assert!(error.contains("left setting gone changed"), "{error}");
    assert!(error.contains(&journal.display().to_string()), "{error}");
    // One that has settings does not; nothing is measured.
    bench.plan(AXES);
    let (code, out, error) = bench.run(&["--points", "2"]);
    assert_eq!(code, 2, "{error}");
    assert!(out.contains("left setting gone changed"), "{out}");
    // What reads as it was is restored already.
    std::fs::write(bench.path("dead"), "7\n").unwrap();
    let (code, _, error) = bench.run(&["--points", "2"]);
    assert_eq!(code, 0, "{error}");
    assert!(!journal.exists());
}

#[test]
fn two_matrices_at_once_take_turns_with_the_settings() {
    let bench = Bench::new(&AXES.replace("\"0.05\"", "\"0.1\""));
    let start = |out: &str| {
        let store = bench.path(out).join("store").display().to_string();
        common::command()
            .args([
                "matrix",
                "plan.toml",
                "--points",
                "3",
                "--store",
                &store,
                "--out",
                out,
            ])
            .current_dir(bench.dir.path())
            .env("PERFBLAME_STATE_DIR", bench.path("state"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let both = [start("one"), start("two")];
    for mut child in both {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    for out in ["one", "two"] {
        let text = std::fs::read_to_string(bench.path(out).join("matrix.json")).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        for cell in report["cells"].as_array().unwrap() {
            assert!(cell["failure"].is_null(), "{cell}");
        }
    }
    assert_eq!(bench.knob_shows(), "0");
}

#[test]
fn values_without_any_spread_are_shown_and_not_called_failed() {
    let bench = Bench::new(&AXES.replace("[matrix]", "[matrix]\n"));
    let fixed = "command.run=['sh', '-c', 'echo value: 5']";
    let (code, out, error) = bench.run(&["--points", "2", "--set", fixed]);
    assert_eq!(code, 0, "{error}");
    assert!(
        out.contains("5 / 5") && out.contains("all values are equal"),
        "{out}"
    );
    assert!(!out.contains("failed"), "{out}");
}

#[test]
fn an_interrupted_matrix_goes_on_where_it_was() {
    let bench = Bench::new(AXES);
    let (code, _, error) = bench.run(&["--points", "2"]);
    assert_eq!(code, 0, "{error}");
    let id = bench.report()["experiment"].as_str().unwrap().to_owned();
    let first = bench.report()["cells"][0]["values"]["output"].clone();
    let (code, _, error) = bench.run(&["--points", "3", "--resume", &id]);
    assert_eq!(code, 0, "{error}");
    let cells = bench.report()["cells"].clone();
    for cell in cells.as_array().unwrap() {
        assert_eq!(cell["values"]["output"].as_array().unwrap().len(), 3);
    }
    assert_eq!(
        cells[0]["values"]["output"][0], first[0],
        "kept, not measured anew"
    );
    assert_eq!(cells[0]["values"]["output"][1], first[1]);

    let (code, _, error) = bench.run(&["--seed", "9", "--resume", &id]);
    assert_eq!(code, 2);
    assert!(error.contains("its plan was another one"), "{error}");
}

#[test]
fn cells_that_cannot_run_are_told_in_their_place_and_the_others_go_on() {
    let bench = Bench::new(&format!(
        "{AXES}[[matrix.axis]]\nname = 'way'\nlevel = [{{ name = 'ok' }}, \
         {{ name = 'absent', settings.missing = '1' }}, {{ name = 'fails', set.command.run = 'false' }}]\n\
         [custom-settings.missing]\npath = '/proc/no/such/file'\n"
    ));
    let (code, out, error) = bench.run(&["--points", "2"]);
    assert_eq!(code, 0, "{error}");
    assert!(
        out.contains("this kernel has no /proc/no/such/file"),
        "{out}"
    );
    assert!(out.contains("exited with code 1"), "{out}");
    let report = bench.report();
    for cell in report["cells"].as_array().unwrap() {
        let points = cell["values"]["output"].as_array().map_or(0, Vec::len);
        let is_ok = cell["levels"][2] == "ok";
        assert_eq!(points, if is_ok { 2 } else { 0 }, "{cell}");
        assert_eq!(cell["failure"].is_null(), is_ok, "{cell}");
    }
    assert_eq!(bench.knob_shows(), "0");
}

#[test]
fn a_setting_that_does_not_take_is_an_error_that_shows_what_it_reads() {
    let bench = Bench::new(AXES);
    bench.plan(
        "[custom-settings.deaf]\nread = 'echo old'\nwrite = 'true {value}'\n\
         [matrix]\npoints = 2\n[[matrix.axis]]\nname = 'd'\n\
         level = [{ name = 'a', settings.deaf = 'old' }, { name = 'b', settings.deaf = 'new' }]\n",
    );
    let (code, out, error) = bench.run(&[]);
    assert_eq!(code, 0, "{error}");
    assert!(
        out.contains("wrote `new` to") && out.contains("it reads `old`"),
        "{out}"
    );
}

#[test]
fn plans_that_cannot_be_meant_are_refused() {
    let bench = Bench::new(AXES);
    for (plan, said) in [
        ("", "no [matrix] section"),
        ("[matrix]\npoints = 3\n", "matrix.axis"),
        (
            "[[matrix.axis]]\nname = 'a'\nlevel = [{ name = 'x' }]\n",
            "nothing to compare",
        ),
        (
            "[[matrix.axis]]\nname = 'a'\nlevel = [{ name = 'x', settings.thb = '1' }, { name = 'y' }]\n",
            "no setting `thb`",
        ),
        (
            "[[matrix.axis]]\nname = 'a'\nlevel = [{ name = 'x', set.command.rums = 1 }, { name = 'y' }]\n",
            "cell a=x",
        ),
        (
            "[[matrix.axis]]\nname = 'a'\nlevel = [{ name = 'x', set.command.run = '{artifact}' }, { name = 'y' }]\n",
            "no {artifact}",
        ),
        ("[matrix]\npints = 3\n", "matrix.pints"),
    ] {
        bench.plan(plan);
        let (code, _, error) = bench.run(&[]);
        assert_eq!(code, 2, "{plan}: {error}");
        assert!(error.contains(said), "{plan}: {error}");
    }
    let (code, _, error) = {
        std::fs::remove_file(bench.path("plan.toml")).unwrap();
        bench.run(&[])
    };
    assert_eq!(code, 2);
    assert!(error.contains("plan.toml"), "{error}");
}

#[test]
fn revisions_are_an_axis_and_built_once_each() {
    let repo = TestRepo::new();
    let program = |value: u32| {
        format!(
            "#include <stdio.h>\nint main(void) {{ printf(\"value: %d\\n\", {value}); return 0; }}\n"
        )
    };
    let plan = "[command]\nrun = '{artifact}'\nruns = 1\nwarmup-runs = 0\nmetric = 'output'\npattern = 'value: (?<value>[0-9]+)'\n\
        [matrix]\npoints = 2\n[[matrix.axis]]\nname = 'version'\n\
        level = [{ name = 'old', revision = 'main~1' }, { name = 'new', revision = 'main' }, { name = 'none', revision = 'nowhere' }]\n\
        [[matrix.axis]]\nname = 'env'\nlevel = [{ name = 'a', env.A = '1' }, { name = 'b', env.A = '2' }]\n";
    let makefile = "tool: tool.c\n\t$(CC) $(CFLAGS) -o $@ $<\n";
    repo.commit("one", &[("Makefile", makefile), ("tool.c", &program(10))]);
    repo.commit("two", &[("tool.c", &program(20)), ("plan.toml", plan)]);
    let out = repo.beside("out").display().to_string();
    let ran = common::perfblame(&repo.path(), &["matrix", "plan.toml", "--out", &out]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(ran.err.matches("building ").count(), 2, "{ran:#?}");
    assert!(ran.out.contains("nowhere"), "{ran:#?}");
    let text = std::fs::read_to_string(Path::new(&out).join("matrix.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let value = |cell: usize| report["cells"][cell]["values"]["output"][0].as_f64();
    assert_eq!(
        (value(0), value(2), value(4)),
        (Some(10.0), Some(20.0), None)
    );
    assert!(
        report["cells"][4]["failure"]
            .as_str()
            .unwrap()
            .contains("nowhere")
    );
    assert_eq!(repo.git(&["status", "--porcelain"]), "");

    // Names move; a matrix that goes on is of the commits with which it began.
    repo.commit("three", &[("tool.c", &program(99))]);
    let id = report["experiment"].as_str().unwrap();
    let more = [
        "matrix",
        "plan.toml",
        "--out",
        &out,
        "--points",
        "3",
        "--resume",
        id,
    ];
    let ran = common::perfblame(&repo.path(), &more);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(
        ran.err
            .contains("version=new, env=a: main is another commit now"),
        "{ran:#?}"
    );
    let text = std::fs::read_to_string(Path::new(&out).join("matrix.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let values = report["cells"][2]["values"]["output"].clone();
    assert_eq!(values, serde_json::json!([20.0, 20.0, 20.0]));
}
