//! Matrices over kernels, without booting one: what is refused, and the steps between reboots.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::PathBuf;

use tempfile::TempDir;

/// A command that prints a number, and two kernels of this machine.
const KERNELS: &str = r#"
[subject]
kind = "installed"
[command]
run = ["sh", "-c", "echo value: $(( 1000 + $$ % 50 ))"]
runs = 1
warmup-runs = 0
metric = "output"
pattern = 'value: (?<value>\d+)'
unit = "points"
better = "higher"
[reboot]
command = ["sh", "-c", "echo {release} >> rebooted"]
[matrix]
points = 2
[[matrix.axis]]
name = "kernel"
level = [
  { name = "old", set.host.kernel-release = "6.1.0-17" },
  { name = "new", set.host.kernel-release = "6.1.0-18" },
]
"#;

struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new(plan: &str) -> Self {
        let bench = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        std::fs::write(bench.path("plan.toml"), plan).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the matrix while a kernel runs; exit code, and all that it says.
    fn run(&self, release: &str, arguments: &[&str]) -> (i32, String) {
        let output = common::command()
            .args(["matrix", "plan.toml", "--out", "out"])
            .args(arguments)
            .current_dir(self.dir.path())
            .env("PERFBLAME_KERNEL_RELEASE", release)
            .env("PERFBLAME_STATE_DIR", self.path("state"))
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code().unwrap(),
            text(&output.stdout) + &text(&output.stderr),
        )
    }

    fn reboots(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("rebooted")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn each_round_is_measured_under_both_kernels_before_the_next() {
    let bench = Bench::new(KERNELS);
    let (code, said) = bench.run("6.1.0-17", &[]);
    assert_eq!(code, 130, "{said}");
    assert!(
        said.contains("kernel 6.1.0-18, and 6.1.0-17 runs"),
        "{said}"
    );
    assert_eq!(bench.reboots(), ["6.1.0-18"]);
    // The second kernel ends its first round, and begins the second one.
    let (code, said) = bench.run("6.1.0-18", &["--resume"]);
    assert_eq!(code, 130, "{said}");
    assert_eq!(bench.reboots(), ["6.1.0-18", "6.1.0-17"]);
    let (code, said) = bench.run("6.1.0-17", &["--resume"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("old / new"), "{said}");
    let raw = std::fs::read_to_string(bench.path("out/raw.csv")).unwrap();
    for level in ["old", "new"] {
        let points = raw
            .lines()
            .filter(|line| line.starts_with(level) && line.contains(",output,"));
        assert_eq!(points.count(), 2, "{raw}");
    }
    // And nothing is left to go on with.
    let (code, said) = bench.run("6.1.0-17", &["--resume"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("nothing to resume"), "{said}");
    assert_eq!(bench.reboots().len(), 2);
}

#[test]
fn a_reboot_that_changes_nothing_is_tried_twice_and_then_refused() {
    let bench = Bench::new(KERNELS);
    assert_eq!(bench.run("6.1.0-17", &[]).0, 130);
    assert_eq!(bench.run("6.1.0-17", &["--resume"]).0, 130);
    let (code, said) = bench.run("6.1.0-17", &["--resume"]);
    assert_eq!(code, 2, "{said}");
    for part in [
        "rebooted twice",
        "6.1.0-18",
        "still runs 6.1.0-17",
        "echo {release} >> rebooted'`",
        "--resume",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(bench.reboots(), ["6.1.0-18"; 2]);
    // Once the cause is mended, it goes on.
    let (code, said) = bench.run("6.1.0-18", &["--resume"]);
    assert_eq!(code, 130, "{said}");
    assert_eq!(bench.run("6.1.0-17", &["--resume"]).0, 0);
}

#[test]
fn a_cell_that_failed_is_not_tried_after_each_reboot() {
    let failing = KERNELS.replace(
        r#"{ name = "new","#,
        r#"{ name = "new", set.command.run = ["sh", "-c", "echo no such number; exit 3"],"#,
    );
    let bench = Bench::new(&failing);
    assert_eq!(bench.run("6.1.0-17", &[]).0, 130);
    // It fails twice; the rest is the other kernel's.
    let (code, said) = bench.run("6.1.0-18", &["--resume"]);
    assert_eq!(code, 130, "{said}");
    assert!(said.contains("kernel=new failed"), "{said}");
    let (code, said) = bench.run("6.1.0-17", &["--resume"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("exited with code 3"), "{said}");
    assert_eq!(bench.reboots(), ["6.1.0-18", "6.1.0-17"]);
}

#[test]
fn without_a_command_it_says_which_kernel_to_boot() {
    let plan = KERNELS.replace(
        "[reboot]\ncommand = [\"sh\", \"-c\", \"echo {release} >> rebooted\"]\n",
        "",
    );
    let bench = Bench::new(&plan);
    let (code, said) = bench.run("6.1.0-17", &[]);
    assert_eq!(code, 130, "{said}");
    assert!(said.contains("boot it"), "{said}");
    // As often as one likes: nothing is rebooted.
    for _ in 0..3 {
        assert_eq!(bench.run("6.1.0-17", &["--resume"]).0, 130);
    }
}

#[test]
fn a_reboot_that_fails_is_told() {
    let plan = KERNELS.replace("echo {release} >> rebooted", "exit 7");
    let (code, said) = Bench::new(&plan).run("6.1.0-17", &[]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("reboot.command"), "{said}");
}

#[test]
fn faults_of_levels_name_key_and_line() {
    let with = |level: &str| {
        let plan = KERNELS.replace(
            r#"{ name = "new", set.host.kernel-release = "6.1.0-18" }"#,
            level,
        );
        let line = 1 + plan.lines().position(|line| line.contains("bad")).unwrap();
        let (code, said) = Bench::new(&plan).run("6.1.0-17", &[]);
        assert_eq!(code, 2, "{said}");
        (said, line)
    };
    for (level, key, what) in [
        (
            r#"{ name = "bad", set.load.clients = "x" }"#,
            "set.load.clients",
            "whole number",
        ),
        (
            r#"{ name = "bad", set.guest.memory = "lots" }"#,
            "set.guest.memory",
            "amount of memory",
        ),
        (
            r#"{ name = "bad", set.guest.swap = "zram" }"#,
            "set.guest.swap",
            "is no swap",
        ),
        (
            r#"{ name = "bad", set.guest = { kernel = "k", memory = "1MiB" } }"#,
            "set.guest.memory",
            "at least 64MiB",
        ),
        (
            r#"{ name = "bad", set.host.kernel-release = "a b" }"#,
            "set.host.kernel-release",
            "uname -r",
        ),
        (
            r#"{ name = "bad", set.gest.memory = "1GiB" }"#,
            "set.gest",
            "unknown field",
        ),
    ] {
        let (said, line) = with(level);
        let place = format!("plan.toml:{line}: `matrix.axis.0.level.1.{key}");
        assert!(said.contains(&place), "{place}: {said}");
        assert!(said.contains(what), "{what}: {said}");
    }
    let (said, _) = with(r#"{ name = "bad", set.guest.memory = "1GiB" }"#);
    assert!(said.contains("a guest needs a kernel"), "{said}");
}

/// A cell whose guest cannot be started has its reason, and the others go on.
#[test]
fn a_guest_that_cannot_be_started_fails_its_cell_only() {
    let plan = KERNELS
        .replace(
            r#"{ name = "old", set.host.kernel-release = "6.1.0-17" },"#,
            r#"{ name = "here" }, { name = "large", set.guest = { kernel = "image", memory = "1024TiB" } }, { name = "many", set.guest = { kernel = "image", cpus = 8000 } },"#,
        )
        .replace(
            r#"{ name = "new", set.host.kernel-release = "6.1.0-18" }"#,
            r#"{ name = "absent", set.guest.kernel = "nowhere/bzImage" }"#,
        );
    let bench = Bench::new(&plan);
    std::fs::write(bench.path("image"), "no kernel").unwrap();
    let (code, said) = bench.run("6.1.0-17", &["--set", "guest.accel=tcg"]);
    assert_eq!(
        code, 2,
        "a [guest] without a kernel is a fault of the cell `here`: {said}"
    );
    let plan = plan.replace("set.guest = {", "set.guest = { accel = \"tcg\",");
    std::fs::write(bench.path("plan.toml"), plan).unwrap();
    let (code, said) = bench.run("6.1.0-17", &[]);
    assert_eq!(code, 0, "{said}");
    let has_programs = !said.contains("install it");
    for (cell, reason) in [
        ("kernel=large", "lower guest.memory"),
        ("kernel=many", "guest.cpus is 8000"),
        ("kernel=absent", "nowhere/bzImage: No such file"),
    ] {
        assert!(said.contains(&format!("{cell} failed")), "{cell}: {said}");
        assert!(!has_programs || said.contains(reason), "{reason}: {said}");
    }
    let raw = std::fs::read_to_string(bench.path("out/raw.csv")).unwrap();
    assert!(raw.lines().any(|line| line.starts_with("here,")), "{raw}");
}

#[test]
fn fewer_points_than_there_are_is_said_and_the_newest_is_resumed() {
    let plan = KERNELS.replace(r#"set.host.kernel-release = "6.1.0-18""#, r#"env.X = "1""#);
    let bench = Bench::new(&plan);
    assert_eq!(bench.run("6.1.0-17", &["--points", "4"]).0, 0);
    let (code, history) = {
        let output = common::command()
            .args(["history", "--store", ".perfblame"])
            .current_dir(bench.dir.path())
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    assert_eq!(code, Some(0));
    let is_id = |word: &&str| word.len() == 6 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = history.split_whitespace().find(is_id).unwrap().to_owned();
    let (code, said) = bench.run("6.1.0-17", &["--points", "2", "--resume", &id]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("4 data points a cell were measured earlier, and the plan has 2"),
        "{said}"
    );
}

#[test]
fn doctor_tells_of_guests_and_of_settings_that_were_left() {
    let dir = tempfile::tempdir().unwrap();
    let journal = r#"[{"name":"thp","place":{"file":"/nowhere"},"was":"always"}]"#;
    std::fs::write(dir.path().join("settings.json"), journal).unwrap();
    let output = common::command()
        .args(["doctor", "--kernel", "/nowhere"])
        .env("PERFBLAME_STATE_DIR", dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("settings left changed: thp"), "{said}");
    assert!(
        said.lines().any(|line| line.starts_with("guests ")),
        "{said}"
    );
    assert_eq!(
        std::fs::read_to_string(dir.path().join("settings.json")).unwrap(),
        journal
    );
}

#[test]
fn an_axis_that_is_a_condition_is_not_compared() {
    let axes = r#"level = [{ name = "low" }, { name = "high", env.X = "1" }]
[[matrix.axis]]
name = "pattern"
condition = true
level = [{ name = "P" }, { name = "R", env.Y = "1" }]
"#;
    let (before, _) = KERNELS.split_once("level = [").unwrap();
    let bench = Bench::new(&format!("{before}{axes}"));
    let (code, said) = bench.run("6.1.0-17", &[]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("kernel=high compared with kernel=low"),
        "{said}"
    );
    assert!(!said.contains("compared with pattern"), "{said}");
    let raw = std::fs::read_to_string(bench.path("out/raw.csv")).unwrap();
    assert!(raw.lines().any(|line| line.starts_with("high,R,")), "{raw}");
}

/// The plan that comes with perfblame is one, whatever there is to boot.
#[test]
fn the_redis_plan_has_its_twelve_cells() {
    let plan = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/plans/redis-mglru.toml"
    );
    let bench = Bench::new(&std::fs::read_to_string(plan).unwrap());
    let (code, said) = bench.run(
        "6.1.0-17",
        &["--points", "2", "--set", "guest.kernel=nowhere/bzImage"],
    );
    assert_eq!(code, 2, "{said}");
    let failed = said
        .lines()
        .filter(|line| line.starts_with("kernel=") && line.contains(" failed: "));
    assert_eq!(failed.count(), 12, "{said}");
    // Two axes are compared, and the pattern is the condition.
    for table in [
        "kernel=patched compared with kernel=baseline",
        "THP=never compared with THP=always",
    ] {
        assert!(said.contains(table), "{table}: {said}");
    }
    assert!(!said.contains("Table 3"), "{said}");
}
