//! Plans that come with perfblame, run with stubs in the place of what is not installed: they take
//! the same command lines, and print what was recorded of the real programs.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{Ran, TestRepo};
use serde_json::Value;

const ALL: [&str; 7] = [
    "cassandra-ycsb",
    "huge-pages",
    "little-server",
    "postgresql",
    "postgresql-build",
    "postgresql-hammerdb",
    "redis",
];

/// A directory that another user may enter, with stubs in `bin`.
struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("pb")
            .permissions(std::fs::Permissions::from_mode(0o755))
            .tempdir()
            .unwrap();
        std::fs::create_dir(dir.path().join("bin")).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn stub(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// perfblame with the stubs before all other programs.
    fn run(&self, dir: &Path, arguments: &[&str]) -> Ran {
        let path = std::env::var("PATH").unwrap();
        let output = common::command()
            .args(arguments)
            .current_dir(dir)
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .output()
            .unwrap();
        common::ran(output)
    }

    fn matrix(&self, plan: &str, more: &[&str]) -> Ran {
        std::fs::write(self.path("plan.toml"), plan).unwrap();
        let store = self.path("store").display().to_string();
        let mut arguments = vec!["matrix", "plan.toml", "--out", "out", "--store", &store];
        arguments.extend(more);
        self.run(self.dir.path(), &arguments)
    }

    fn report(&self) -> Value {
        let text = std::fs::read_to_string(self.path("out/matrix.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn recorded(name: &str) -> String {
    let path = format!("{}/fixtures/recorded/{name}", env!("CARGO_MANIFEST_DIR"));
    // The stubs run as other users too, who may not enter the source's directory.
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_preset_is_printed_and_can_be_a_plan_of_ones_own() {
    let stage = Stage::new();
    let names = stage.run(stage.dir.path(), &["preset"]);
    for name in ALL {
        assert!(
            names.out.contains(name) || names.err.contains(name),
            "{names:#?}"
        );
        let printed = stage.run(stage.dir.path(), &["preset", name]);
        assert_eq!(printed.code, 0, "{printed:#?}");
        let path = format!(
            "{}/src/plan/presets/{name}.toml",
            env!("CARGO_MANIFEST_DIR")
        );
        assert_eq!(printed.out, std::fs::read_to_string(path).unwrap());
        // It is read and checked whole; what is refused is what was asked for.
        let axis = match printed.out.contains("[matrix]") {
            true => "",
            false => "[[matrix.axis]]\nname = 'a'\nlevel = [{ name = '1' }, { name = '2' }]\n",
        };
        let ran = stage.matrix(&format!("{}{axis}", printed.out), &["--points", "1"]);
        ran.refused(&["matrix.points", "needs at least 2"]);
    }
}

/// A node that is a Redis: it checks the configuration that it was given, as the node would.
fn cassandra(ycsb: &str) -> Stage {
    let stage = Stage::new();
    stage.stub(
        "cassandra",
        r#"
yaml=$CASSANDRA_CONF/cassandra.yaml
one() { test "$(grep -c "^$1:" "$yaml")" = 1 || { echo "$1 is there $(grep -c "^$1:" "$yaml") times"; exit 9; }; }
one data_file_directories; one native_transport_port; one memtable_allocation_type; one cluster_name
grep -q /var/lib/cassandra "$yaml" && { echo "a directory of the system is left:"; cat "$yaml"; exit 9; }
grep -q '^#-XX:+UseConcMarkSweepGC' "$CASSANDRA_CONF/jvm8-server.options" || { echo "CMS"; exit 9; }
case "$JVM_EXTRA_OPTS" in *-XX:+PreserveFramePointer*-XX:+DumpPerfMapAtExit*) ;; *) echo "JVM"; exit 9;; esac
test "$1" = -f || exit 9
exec redis-server --port "$(sed -n 's/^native_transport_port: //p' "$yaml")" --bind 127.0.0.1 --save ''
"#,
    );
    stage.stub(
        "cqlsh",
        "test \"$(redis-cli -h \"$1\" -p \"$2\" ping)\" = PONG\n",
    );
    let data = stage.path("recorded");
    std::fs::write(&data, recorded(ycsb)).unwrap();
    let loaded = "[OVERALL], Throughput(ops/sec), 5.0\\n[INSERT], Return=OK, 1000\\n";
    stage.stub(
        "ycsb",
        &format!(
            r#"
echo "$*" >> {log}
port=$(echo "$*" | sed -n 's/.* -p port=\([0-9]*\) .*/\1/p')
case "$1" in
  load) printf '{loaded}';;
  run) redis-benchmark -p "$port" -q -t get -n 30000 -P 8 >&2; cat {data};;
esac
"#,
            log = stage.path("ycsb.log").display(),
            data = data.display(),
        ),
    );
    // Anybody may write it.
    std::fs::write(stage.path("ycsb.log"), "").unwrap();
    std::fs::set_permissions(
        stage.path("ycsb.log"),
        std::fs::Permissions::from_mode(0o666),
    )
    .unwrap();
    std::fs::create_dir(stage.path("conf")).unwrap();
    let yaml = "cluster_name: 'Test Cluster'\n# Directories.\ndata_file_directories:\n    - /var/lib/cassandra/data\n\
                commitlog_directory: /var/lib/cassandra/commitlog\nmemtable_allocation_type: heap_buffers\nnative_transport_port: 9042\n";
    std::fs::write(stage.path("conf/cassandra.yaml"), yaml).unwrap();
    std::fs::write(
        stage.path("conf/jvm8-server.options"),
        "-Xss256k\n-XX:+UseConcMarkSweepGC\n",
    )
    .unwrap();
    stage
}

/// The preset for the stubs: short windows, a user that there is, the stage's configuration.
fn cassandra_plan(stage: &Stage) -> String {
    format!(
        "preset = 'cassandra-ycsb'\n[server]\nuser = 'nobody'\n[server.env]\nCONF = '{}'\n\
         [windows]\nwarmup = '0s'\nmeasure = '1s'\nprofile = '1s'\n[disturbance]\nrepeats = 0\n",
        stage.path("conf").display()
    )
}

#[test]
fn cassandra_under_ycsb_in_a_matrix() {
    let stage = cassandra("ycsb-cassandra.txt");
    let ran = stage.matrix(&cassandra_plan(&stage), &["--points", "2"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = stage.report();
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 3);
    for cell in cells {
        assert!(cell["failure"].is_null(), "{cell}");
        for (name, value, unit) in [
            ("throughput", 70273.84615384616, "ops/s"),
            ("latency_read_mean", 2.0471253612, "ms"),
            ("latency_read_p95", 3.873, "ms"),
            ("latency_read_p99", 8.063, "ms"),
            ("latency_update_p99", 7.411, "ms"),
        ] {
            assert_eq!(cell["values"][name][1], value, "{name}");
            assert_eq!(cell["units"][name], unit, "{name}");
        }
        assert!(cell["values"]["cpu_per_op"][0].as_f64().unwrap() > 0.0);
    }
    assert!(ran.out.contains("access=zipfian"));
    // The command lines are those of the measurement.
    let log = std::fs::read_to_string(stage.path("ycsb.log")).unwrap();
    for said in [
        "load cassandra-cql -s -threads 24 -p hosts=127.0.0.1 -p port=",
        "-p workload=site.ycsb.workloads.CoreWorkload -p fieldlength=200 -p recordcount=100000",
        "run cassandra-cql -s -threads 6 -p hosts=127.0.0.1 -p port=",
        "-p readproportion=0.9 -p updateproportion=0.1 -p maxexecutiontime=1",
        "-p requestdistribution=exponential",
        "-p requestdistribution=zipfian",
    ] {
        assert!(log.contains(said), "{said}: {log}");
    }
}

#[test]
fn operations_that_fail_in_ycsb_are_quoted() {
    let stage = cassandra("ycsb-errors.txt");
    let plan = cassandra_plan(&stage);
    let ran = stage.matrix(&plan, &["--points", "2", "--set", "experiment.retries=0"]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.says("[READ], Return=ERROR, 544"), "{ran:#?}");

    // YCSB ends with code 0 when inserts fail, too.
    stage.stub(
        "ycsb",
        "printf '[OVERALL], Throughput(ops/sec), 5.0\\n[INSERT], Return=ERROR, 12\\n'\n",
    );
    let ran = stage.matrix(&plan, &["--points", "2", "--set", "experiment.retries=0"]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.says("being filled"), "{ran:#?}");
    assert!(ran.says("[INSERT], Return=ERROR, 12"), "{ran:#?}");
}

/// Two commits of a program, for presets whose server is another one.
fn two_builds() -> TestRepo {
    let repo = TestRepo::new();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(repo.path().parent().unwrap(), mode).unwrap();
    let tool = "int main(void) { return 0; }\n";
    let makefile = "tool: tool.c\n\t$(CC) $(CFLAGS) -o $@ $<\n";
    repo.commit("one", &[("Makefile", makefile), ("tool.c", tool)]);
    repo.commit("two", &[("tool.c", &tool.replace('0', "1"))]);
    repo
}

#[test]
fn cassandra_under_ycsb_in_a_comparison() {
    let stage = cassandra("ycsb-cassandra.txt");
    let repo = two_builds();
    std::fs::write(stage.path("plan.toml"), cassandra_plan(&stage)).unwrap();
    let (config, store) = (stage.path("plan.toml"), repo.beside("store"));
    let out = repo.beside("out");
    let text = |path: &Path| path.display().to_string();
    let arguments = [
        "compare",
        "--config",
        &text(&config),
        "--store",
        &text(&store),
        "--out",
        &text(&out),
        "--set",
        "subject.kind=program",
        "--blocks",
        "2",
        "main~1",
        "main",
    ];
    let ran = stage.run(&repo.path(), &arguments);
    assert!([0, 3].contains(&ran.code), "{ran:#?}");
    let report = repo.report();
    assert_eq!(report["throughput"]["base_mean"], 70273.84615384616);
    let metrics = report["metrics"].as_array().unwrap();
    let metric = |name: &str| metrics.iter().find(|m| m["name"] == name).unwrap();
    assert_eq!(metric("latency_read_p99")["head_mean"], 8.063);
    assert_eq!(metric("latency_update_mean")["unit"], "ms");
    assert!(report["samples"]["base"].as_u64().unwrap() > 0);

    // What fails in one arm ends the comparison with the line at fault.
    std::fs::write(stage.path("recorded"), recorded("ycsb-errors.txt")).unwrap();
    let ran = stage.run(&repo.path(), &arguments);
    ran.refused(&["[READ], Return=ERROR, 544"]);
}

const HAMMERDB: &str = r#"
test "$1" = auto || exit 9
cp "$2" BESIDE/
host=$(sed -n 's/^diset connection pg_host //p' "$2")
sql() { psql -q -h "$host" -p 5432 -U postgres "$@" >&2 || exit 8; }
if grep -q '^buildschema' "$2"; then
  sql -d postgres -c 'create database tpcc'
  echo 'Vuser 1:FINISHED SUCCESS'
else
  sql -d tpcc -c 'create table if not exists t (x int); insert into t select * from generate_series(1, 200000); select sum(x * x::float) from t'
  cat BESIDE/recorded
fi
"#;

#[test]
fn postgresql_under_hammerdb() {
    let stage = Stage::new();
    let beside = stage.dir.path().display().to_string();
    stage.stub("hammerdbcli", &HAMMERDB.replace("BESIDE", &beside));
    std::fs::write(stage.path("recorded"), recorded("hammerdb-4.txt")).unwrap();
    let axis = "[[matrix.axis]]\nname = 'users'\nlevel = [{ name = '8' }, { name = '16', set.load-program.env.USERS = '16' }]\n";
    let plan = format!(
        "preset = 'postgresql-hammerdb'\n[server.env]\nPG_SETTINGS = ''\n[matrix]\n\
         metrics = ['throughput', 'nopm', 'xact_commit', 'deadlocks']\n{axis}"
    );
    let ran = stage.matrix(&plan, &["--points", "2"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = stage.report();
    for cell in report["cells"].as_array().unwrap() {
        assert!(cell["failure"].is_null(), "{cell}");
        assert_eq!(cell["values"]["throughput"][0], 1_034_702.0);
        assert_eq!(cell["values"]["nopm"][1], 449_987.0);
        assert_eq!(cell["units"]["throughput"], "TPM");
        assert_eq!(cell["units"]["nopm"], "NOPM");
        // The statistics of the server, of its own database.
        assert!(
            cell["values"]["xact_commit"][0].as_f64().unwrap() >= 1.0,
            "{cell}"
        );
        assert_eq!(cell["values"]["deadlocks"][0], 0.0);
    }
    // The scripts are those of the measurement.
    let script = std::fs::read_to_string(stage.path("run_tpcc.tcl")).unwrap();
    for line in [
        "dbset db pg",
        "diset tpcc pg_driver timed",
        "diset tpcc pg_rampup 1",
        "diset tpcc pg_duration 2",
        "diset tpcc pg_allwarehouse true",
        "vuset unique 1",
        "runtimer 225",
    ] {
        assert!(
            script.lines().any(|found| found == line),
            "{line}: {script}"
        );
    }
    let script = std::fs::read_to_string(stage.path("prep_tpcc.tcl")).unwrap();
    assert!(
        script.contains("buildschema\nwaittocomplete\nquit"),
        "{script}"
    );

    std::fs::write(stage.path("recorded"), recorded("hammerdb-failed.txt")).unwrap();
    let ran = stage.matrix(&plan, &["--points", "2", "--set", "experiment.retries=0"]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.says("Error in Virtual User 2"), "{ran:#?}");
}

/// Stands in for PostgreSQL's source: `configure`, `make all` and `make install` in the form that the
/// recipe wants, and programs that become Debian's. A commit of it can have settings of its own.
const STAND_IN: [(&str, &str); 3] = [
    (
        "configure",
        "#!/bin/sh\nfor word; do case $word in --prefix=*) echo \"prefix = ${word#--prefix=}\" > config.mk;; esac; done\n",
    ),
    (
        "src/Makefile",
        "include ../config.mk\nbin = $(DESTDIR)$(prefix)/bin\nall: postgres initdb\n\
         %: %.c\n\t$(CC) $(CFLAGS) -o $@ $<\n\
         install: all\n\tmkdir -p $(bin)\n\tcp postgres initdb $(bin)\n\techo 1 > $(DESTDIR)$(prefix)/version\n",
    ),
    (
        "src/initdb.c",
        "#include <unistd.h>\nint main(int argc, char **argv) { (void)argc; return execvp(\"initdb\", argv); }\n",
    ),
];

const POSTGRES: &str = "#include <string.h>\n#include <unistd.h>\nint main(int argc, char **argv)\n{\n\
    char *all[64];\n    memcpy(all, argv, argc * sizeof *all);\n    all[argc] = \"-cSETTING\";\n\
    all[argc + 1] = 0;\n    return execvp(\"postgres\", all);\n}\n";

#[test]
fn commits_of_postgresql_are_built_served_and_compared() {
    let stage = Stage::new();
    let repo = TestRepo::new();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(repo.path().parent().unwrap(), mode.clone()).unwrap();
    let postgres = |setting: &str| POSTGRES.replace("SETTING", setting);
    let mut files = STAND_IN.to_vec();
    let first = postgres("synchronous_commit=off");
    files.push(("src/postgres.c", &first));
    // The executable bit goes into the commit.
    std::fs::write(repo.path().join("configure"), STAND_IN[0].1).unwrap();
    std::fs::set_permissions(repo.path().join("configure"), mode).unwrap();
    repo.commit("asynchronous", &files);
    repo.commit(
        "synchronous",
        &[("src/postgres.c", &postgres("synchronous_commit=on"))],
    );
    // Debian keeps the server's programs out of PATH.
    let versions = std::fs::read_dir("/usr/lib/postgresql").unwrap().flatten();
    let bin = versions
        .map(|version| version.path().join("bin"))
        .max()
        .unwrap();
    for program in ["initdb", "postgres"] {
        let script = format!("exec {}/{program} \"$@\"\n", bin.display());
        stage.stub(program, &script);
    }
    let store = repo.beside("store").display().to_string();
    let out = repo.beside("out").display().to_string();
    let mut arguments = vec!["compare", "--preset", "postgresql-build"];
    arguments.extend(["--store", &store, "--out", &out, "--blocks", "2"]);
    for set in [
        "windows.warmup=0s",
        "windows.measure=1s",
        "windows.profile=1s",
        "prepare-program.env.SCALE='1'",
        "disturbance.repeats=0",
    ] {
        arguments.extend(["--set", set]);
    }
    arguments.extend(["main~1", "main"]);
    let ran = stage.run(&repo.path(), &arguments);
    assert!([0, 1, 3].contains(&ran.code), "{ran:#?}");
    let report = repo.report();
    assert_eq!(report["throughput"]["unit"], "tps");
    let metrics = report["metrics"].as_array().unwrap();
    for name in [
        "xact_commit",
        "tup_updated",
        "blks_hit",
        "buffers_alloc",
        "latency_mean",
    ] {
        assert!(
            metrics.iter().any(|metric| metric["name"] == name),
            "no {name}: {ran:#?}"
        );
    }
    // The functions are those of all backends together: the postmaster's children.
    let functions = report["functions"].as_array().unwrap();
    let of_server = functions
        .iter()
        .filter(|function| function["module"] == "postgres");
    assert!(of_server.count() > 20, "{functions:#?}");
    let named = |name: &str| functions.iter().any(|function| function["name"] == name);
    assert!(named("PostgresMain"), "{functions:#?}");
    // Each thread of the flame graph is a process of the tree.
    let folded = std::fs::read_to_string(repo.beside("out/base.folded")).unwrap();
    assert!(
        folded.lines().any(|line| line.starts_with("postgres")),
        "{folded}"
    );
}
