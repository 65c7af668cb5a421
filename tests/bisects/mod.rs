//! Histories of a small command whose number is known, for the tests of bisect.
#![allow(dead_code, clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::common::{Ran, TestRepo, perfblame};

const MAKEFILE: &str = "count: count.c side.h\n\t$(CC) $(CFLAGS) -O1 -o $@ $<\n";
const PLAN: &str = "[command]\nrun = '{artifact}'\nruns = 1\nwarmup-runs = 0\nprofile-runs = 1\n\
                    metric = 'output'\npattern = 'steps: (?<value>[0-9]+)'\nunit = 'steps'\n\
                    better = 'lower'\n[experiment]\nseed = 7\n";

/// A program that works `rounds` hundred thousand steps and prints how many, so that its number
/// does not depend on the machine. `salt` makes it another program all the same.
pub fn program(rounds: u32, salt: u32) -> String {
    format!(
        "#include <stdio.h>\n#include \"side.h\"\n\
         __attribute__((noinline)) static unsigned work(unsigned n) {{\n\
             unsigned x = {salt};\n\
             for (unsigned i = 0; i < n; i++) x = x * 1664525u + 1013904223u;\n\
             return x;\n}}\n\
         int main(void) {{\n\
             unsigned rounds = {rounds} + SIDE;\n\
             volatile unsigned x = work(rounds * 100000u);\n\
             (void)x;\n\
             printf(\"steps: %u\\n\", rounds);\n\
             return 0;\n}}\n"
    )
}

/// A repository whose first commit is tagged `first`.
pub struct History {
    /// The repository.
    pub repo: TestRepo,
    ids: RefCell<BTreeMap<String, String>>,
}

impl History {
    /// A history of one commit, whose number is 10.
    pub fn new() -> Self {
        let repo = TestRepo::new();
        let first = repo.commit(
            "first",
            &[
                ("Makefile", MAKEFILE),
                ("count.c", &program(10, 0)),
                ("side.h", "#define SIDE 0\n/* of main */\n"),
                ("perfblame.toml", PLAN),
            ],
        );
        repo.git(&["tag", "first"]);
        let ids = RefCell::new(BTreeMap::from([("first".to_owned(), first)]));
        Self { repo, ids }
    }

    /// Commits another text of the program.
    pub fn commit(&self, name: &str, text: &str) -> String {
        self.file(name, "count.c", text)
    }

    /// Commits another text of a file.
    pub fn file(&self, name: &str, path: &str, text: &str) -> String {
        let id = self.repo.commit(name, &[(path, text)]);
        self.ids.borrow_mut().insert(name.to_owned(), id.clone());
        id
    }

    /// Id of the commit of this name.
    pub fn id(&self, name: &str) -> String {
        self.ids.borrow()[name].clone()
    }

    /// `perfblame bisect` with store and report beside the repository, without sampling.
    pub fn bisect(&self, arguments: &[&str]) -> Ran {
        self.bisect_sampled(&[&["--no-profile"], arguments].concat())
    }

    /// The same, with samples in the certificate.
    pub fn bisect_sampled(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["bisect".to_owned(), "--store".to_owned()];
        all.push(self.repo.beside("store").display().to_string());
        all.push("--out".to_owned());
        all.push(self.repo.beside("out").display().to_string());
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        perfblame(self.repo.path().as_path(), &all)
    }

    /// The report that the last search wrote.
    pub fn report(&self) -> serde_json::Value {
        self.repo.report()
    }

    /// A file that the last search wrote.
    pub fn out(&self, name: &str) -> String {
        std::fs::read_to_string(self.repo.beside("out").join(name)).unwrap()
    }

    /// A query of the store, one column.
    pub fn store(&self, sql: &str) -> Vec<String> {
        let database = rusqlite::Connection::open(self.repo.beside("store/store.sqlite")).unwrap();
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<Vec<String>, _>>().unwrap()
    }

    /// Commits that were built, in order.
    pub fn built(&self) -> Vec<String> {
        self.store("SELECT revision FROM builds WHERE NOT cached ORDER BY id")
    }
}
