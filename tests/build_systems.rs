//! Every build system that is recognised: what it makes, and that equal code is the same program.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod builds;
mod repository;

use builds::{Builds, run};
use object::{Object, ObjectSection};
use perfblame::build::Artifact;
use repository::TestRepository;

/// A program that holds its own path and the date, and a function to be renamed.
const MAIN_C: &str = "#include <stdio.h>
__attribute__((noinline)) int answer(int x) { return x * 6; }
int main(int argc, char **argv) {
    (void)argv;
    printf(\"%d %s %s\\n\", answer(argc + 6), __FILE__, __DATE__);
    return 0;
}
";

const MAIN_RS: &str = "#[inline(never)]
fn answer(x: usize) -> usize {
    x * 6
}
fn main() {
    println!(\"{} {}\", answer(std::env::args().count() + 6), file!());
}
";

/// Builds a commit, one that changes documents only, one that adds a comment, one that renames a
/// function and one that changes the code, and compares what they make.
fn same_program_where_the_code_is(builds: &mut Builds, main: &str, system: &str) -> Artifact {
    let source = std::fs::read_to_string(builds.repository.path().join(main)).unwrap();
    let first = builds.build("HEAD").unwrap();
    assert_eq!(first.system.as_deref(), Some(system));
    assert!(run(&first).starts_with("42 "), "{}", run(&first));

    builds
        .repository
        .commit_file("README", "changed\n", "documents");
    let documents = builds.build("HEAD").unwrap();
    assert!(!documents.cached);
    assert_ne!(documents.key, first.key);
    assert_eq!(documents.digest, first.digest);
    assert!(documents.is_same_program(&first));
    let read = |artifact: &Artifact| std::fs::read(&artifact.main).unwrap();
    assert!(read(&documents) == read(&first), "not the same to the byte");

    let commented = format!("// a comment\n\n{source}");
    builds.repository.commit_file(main, &commented, "a comment");
    let comment = builds.build("HEAD").unwrap();
    assert!(
        read(&comment) != read(&first),
        "line numbers should have moved"
    );
    assert_eq!(comment.digest, first.digest);

    builds
        .repository
        .commit_file(main, &source.replace("answer", "reply_"), "a new name");
    let renamed = builds.build("HEAD").unwrap();
    assert_ne!(renamed.digest, first.digest);

    builds
        .repository
        .commit_file(main, &source.replace("x * 6", "x * 7 - x"), "other code");
    builds
        .repository
        .commit_file(main, &source.replace("* 6", "* 7"), "other code");
    let changed = builds.build("HEAD").unwrap();
    assert_ne!(changed.digest, first.digest);
    assert_eq!(
        changed.built_from,
        builds.repository.git(&["rev-parse", "HEAD"])
    );
    first
}

/// The flags that the compiler wrote into the debug information of the program's own unit.
fn compiler_flags(artifact: &Artifact) -> String {
    let content = std::fs::read(&artifact.main).unwrap();
    let file = object::File::parse(&*content).unwrap();
    assert!(file.symbols().next().is_some());
    let section = file.section_by_name(".debug_str").unwrap();
    let text = section.uncompressed_data().unwrap().into_owned();
    let strings = text.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let producer = strings
        .into_iter()
        .find(|text| text.starts_with("GNU C") || text.contains("clang"));
    producer.unwrap().into_owned()
}

#[test]
fn a_makefile_keeps_its_own_flags_and_gains_ours() {
    for (flags, expected) in [
        ("CFLAGS = -O3", "-O3"),
        ("CFLAGS ?= -O3", "-O3"),
        ("CFLAGS += -O3 -fomit-frame-pointer", "-O3"),
        ("CFLAGS = -Os -g0", "-Os"),
    ] {
        let makefile = format!("{flags}\napp: main.c\n\t$(CC) $(CFLAGS) -o app main.c\n");
        let repository = TestRepository::with(&[("main.c", MAIN_C), ("Makefile", &makefile)]);
        let mut builds = Builds::of(repository);
        let artifact = builds.build("HEAD").unwrap();
        let found = compiler_flags(&artifact);
        assert!(found.contains(expected), "{flags}: {found}");
        assert!(
            found.contains("-fno-omit-frame-pointer"),
            "{flags}: {found}"
        );
        assert!(artifact.warnings.is_empty(), "{:?}", artifact.warnings);
    }
}

#[test]
fn make() {
    let makefile =
        "app: main.o\n\t$(CC) -o $@ $<\nmain.o: main.c\n\t$(CC) -O2 -c -o $@ $(CURDIR)/main.c\n";
    let repository = TestRepository::with(&[("main.c", MAIN_C), ("Makefile", makefile)]);
    let mut builds = Builds::of(repository);
    let artifact = same_program_where_the_code_is(&mut builds, "main.c", "make");
    assert!(artifact.main.ends_with("files/app"));
    // The path is the workshop's, the date the constant one.
    let said = run(&artifact);
    assert!(
        said.contains("/.perfblame/build/source/main.c Sep  9 2001"),
        "{said}"
    );
}

#[test]
fn configure_and_make() {
    let configure = "#!/bin/sh
set -e
: ${CC=cc}
# As autoconf does: its own flags where the environment has none.
: ${CFLAGS=-g -O2}
echo 'int main(void) { return 0; }' > conftest.c
$CC $CFLAGS -o conftest conftest.c && ./conftest
rm -f conftest conftest.c
sed -e \"s|@CC@|$CC|; s|@CFLAGS@|$CFLAGS|; s|@srcdir@|$(pwd)|\" Makefile.in > Makefile
";
    let makefile =
        "CC = @CC@\nCFLAGS = @CFLAGS@\napp: main.c\n\t$(CC) $(CFLAGS) -o $@ @srcdir@/main.c\n";
    let repository = TestRepository::with(&[
        ("main.c", MAIN_C),
        ("configure", configure),
        ("Makefile.in", makefile),
    ]);
    let mut builds = Builds::of(repository);
    let artifact = same_program_where_the_code_is(&mut builds, "main.c", "configure and make");
    let flags = compiler_flags(&artifact);
    assert!(
        flags.contains("-O2") && flags.contains("-fno-omit-frame-pointer"),
        "{flags}"
    );
}

#[test]
fn cmake() {
    let lists =
        "cmake_minimum_required(VERSION 3.10)\nproject(app C)\nadd_executable(app main.c)\n";
    let repository = TestRepository::with(&[("main.c", MAIN_C), ("CMakeLists.txt", lists)]);
    let mut builds = Builds::of(repository);
    let artifact = same_program_where_the_code_is(&mut builds, "main.c", "CMake");
    let flags = compiler_flags(&artifact);
    assert!(
        flags.contains("-O2") && flags.contains("-fno-omit-frame-pointer"),
        "{flags}"
    );
}

#[test]
fn meson() {
    let build = "project('app', 'c')\nexecutable('app', 'main.c')\n";
    let repository = TestRepository::with(&[("main.c", MAIN_C), ("meson.build", build)]);
    let mut builds = Builds::of(repository);
    let artifact = same_program_where_the_code_is(&mut builds, "main.c", "Meson");
    let flags = compiler_flags(&artifact);
    assert!(
        flags.contains("-O2") && flags.contains("-fno-omit-frame-pointer"),
        "{flags}"
    );
}

#[test]
fn cargo() {
    let manifest = "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
                    [profile.release]\nstrip = true\n";
    // Flags of the project's own, which RUSTFLAGS would put aside.
    let config = "[build]\nrustflags = [\"--cfg\", \"own_flag\"]\n";
    let main = MAIN_RS.replace("x * 6", "if cfg!(own_flag) { x * 6 } else { 0 }");
    let repository = TestRepository::with(&[
        ("src/main.rs", &main),
        ("Cargo.toml", manifest),
        (".cargo/config.toml", config),
    ]);
    let mut builds = Builds::of(repository);
    let artifact = same_program_where_the_code_is(&mut builds, "src/main.rs", "Cargo");
    let content = std::fs::read(&artifact.main).unwrap();
    let file = object::File::parse(&*content).unwrap();
    assert!(file.symbols().next().is_some() && file.has_debug_symbols());
    assert!(artifact.compiler.contains("rustc"));
    assert!(
        has_frame_pointer(&file),
        "no frame pointer in the program's own function"
    );
}

/// Whether the function `answer` begins by setting up a frame.
fn has_frame_pointer(file: &object::File<'_>) -> bool {
    use object::ObjectSymbol;
    let symbol = file
        .symbols()
        .find(|symbol| symbol.name().is_ok_and(|name| name.contains("app4main")))
        .unwrap();
    let section = file
        .section_by_index(symbol.section_index().unwrap())
        .unwrap();
    let code = section.data_range(symbol.address(), 16).unwrap().unwrap();
    match file.architecture() {
        // push rbp; mov rbp, rsp
        object::Architecture::X86_64 => code.starts_with(&[0x55, 0x48, 0x89, 0xe5]),
        _ => true,
    }
}

#[test]
fn a_shared_library_that_was_built_too_is_kept_and_used() {
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(app C)\n\
                 add_library(inner SHARED inner.c)\nadd_library(outer SHARED outer.c)\n\
                 target_link_libraries(outer inner)\nadd_executable(app main.c)\n\
                 target_link_libraries(app outer)\nset_target_properties(inner PROPERTIES VERSION 1.2 SOVERSION 1 \
                 LIBRARY_OUTPUT_DIRECTORY deep)\n";
    let repository = TestRepository::with(&[
        (
            "main.c",
            "#include <stdio.h>\nint outer(void);\nint main(void) { printf(\"%d\\n\", outer()); return 0; }\n",
        ),
        (
            "outer.c",
            "int inner(void);\nint outer(void) { return inner() + 1; }\n",
        ),
        ("inner.c", "int inner(void) { return 1; }\n"),
        ("CMakeLists.txt", lists),
    ]);
    let mut builds = Builds::of(repository);
    let base = builds.build("HEAD").unwrap();
    builds.repository.commit_file(
        "inner.c",
        "int inner(void) { return 2; }\n",
        "in a library only",
    );
    let head = builds.build("HEAD").unwrap();
    assert_ne!(base.digest, head.digest);
    let paths: Vec<&str> = base.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "_build/app",
            "_build/deep/libinner.so.1",
            "_build/libouter.so"
        ]
    );
    assert_eq!(run(&base), "2\n");
    assert_eq!(run(&head), "3\n");
}

#[test]
fn an_artifact_that_the_plan_names_may_be_globs_and_directories() {
    let makefile = "all:\n\tmkdir -p out/plugins out/data/deep\n\t$(CC) -o out/app main.c\n\
                    \tcp main.c out/plugins/one.so; cp main.c out/plugins/two.so; echo x > out/plugins/not\n\
                    \techo y > out/data/deep/file; ln -s ../app out/data/link\n";
    let repository = TestRepository::with(&[("main.c", MAIN_C), ("Makefile", makefile)]);
    let mut builds = Builds::of(repository);
    builds.name_artifact(&["out/app", "out/plugins/*.so", "out/data"]);
    let artifact = builds.build("HEAD").unwrap();
    let paths: Vec<&str> = artifact
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "out/app",
            "out/data/deep/file",
            "out/data/link",
            "out/plugins/one.so",
            "out/plugins/two.so"
        ]
    );
    assert!(run(&artifact).starts_with("42 "));
    assert_eq!(artifact.dir.join("out/app"), artifact.main);
}

#[test]
fn a_script_needs_no_build() {
    let repository = TestRepository::with(&[("run.sh", "#!/bin/sh\necho 42\n")]);
    let mut builds = Builds::of(repository);
    builds.name_artifact(&["run.sh"]);
    let artifact = builds.build("HEAD").unwrap();
    assert_eq!(run(&artifact), "42\n");
    assert_eq!(artifact.system, None);
}

#[test]
fn a_libtool_script_is_not_taken_for_the_program() {
    let makefile = "all:\n\tmkdir -p .libs\n\t$(CC) -o .libs/app main.c\n\
                    \tprintf '#!/bin/sh\\n# app - temporary wrapper script for .libs/app\\n' > app; chmod +x app\n";
    let repository = TestRepository::with(&[("main.c", MAIN_C), ("Makefile", makefile)]);
    let mut builds = Builds::of(repository);
    builds.name_artifact(&["app"]);
    let artifact = builds.build("HEAD").unwrap();
    assert!(artifact.main.ends_with(".libs/app"));
    assert!(run(&artifact).starts_with("42 "));
}

#[test]
fn a_stripped_program_is_built_with_a_warning() {
    let makefile = "app: main.c\n\t$(CC) -o app main.c\n\tstrip app\n";
    let repository = TestRepository::with(&[("main.c", MAIN_C), ("Makefile", makefile)]);
    let artifact = Builds::of(repository).build("HEAD").unwrap();
    assert!(
        artifact.warnings[0].contains("app has no symbol table"),
        "{:?}",
        artifact.warnings
    );
}
