//! What the commands say of themselves: `--help`, manual pages and completions.

use std::fs;
use std::process::{Command, Stdio};

fn perfblame(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("perfblame starts");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The commands that `--help` lists.
fn commands() -> Vec<String> {
    let help = perfblame(&["--help"]);
    let list = help.split("Commands:").nth(1).expect("a list of commands");
    list.lines()
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&name| name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_shows_an_example_in_its_help() {
    let commands = commands();
    assert!(commands.len() >= 12, "{commands:?}");
    for name in [
        "compare",
        "diff",
        "flamegraph",
        "convert",
        "show",
        "history",
        "completions",
        "man",
    ] {
        assert!(commands.iter().any(|command| command == name), "{name}");
        let help = perfblame(&[name, "--help"]);
        assert!(help.contains("Example"), "{name}");
        assert!(help.contains(&format!("perfblame {name}")), "{name}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = tempfile::tempdir().expect("a directory");
    perfblame(&["man", dir.path().to_str().expect("letters")]);
    let page = |name: &str| fs::read_to_string(dir.path().join(name)).expect("the page is there");
    assert!(page("perfblame.1").contains(".SH NAME"));
    for name in commands() {
        let page = page(&format!("perfblame-{name}.1"));
        assert!(
            page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"),
            "{name}"
        );
    }
    // What is hidden in the help is hidden here.
    assert!(!dir.path().join("perfblame-guard.1").exists());
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = perfblame(&["completions", shell]);
        for name in commands() {
            assert!(script.contains(&name), "{shell}: {name}");
        }
    }
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("perfblame.bash");
    fs::write(&file, perfblame(&["completions", "bash"])).expect("it is written");
    let completed = Command::new("bash")
        .arg("-c")
        .arg(
            "source \"$0\"; COMP_WORDS=(perfblame fla); COMP_CWORD=1; \
             _perfblame perfblame fla perfblame; echo \"${COMPREPLY[@]}\"",
        )
        .arg(&file)
        .output()
        .expect("bash starts");
    assert_eq!(
        String::from_utf8_lossy(&completed.stdout).trim(),
        "flamegraph"
    );
}
