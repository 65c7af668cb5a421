//! `perfblame stats` on the published kernel benchmarks, and on files that are not in order.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Output};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/seeds")
        .join(name)
}

fn stats(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .arg("stats")
        .args(arguments)
        .output()
        .unwrap()
}

fn seeds(compare: &str, within: &str, more: &[&str]) -> String {
    let raw = fixture("mglru_raw.csv");
    let mut arguments = vec![raw.to_str().unwrap(), "--compare", compare];
    arguments.extend(["--within", within, "--value", "value"]);
    arguments.extend(more);
    let output = stats(&arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// One line of the expected results: the printed figures by the two arms' names.
struct Expected {
    system: String,
    arms: [String; 2],
    figures: Vec<String>,
    verdict: String,
}

fn expected() -> Vec<Expected> {
    let mut reader = csv::Reader::from_path(fixture("mglru_expected_welch.csv")).unwrap();
    reader
        .records()
        .map(|record| {
            let record = record.unwrap();
            Expected {
                system: record[0].to_owned(),
                arms: [record[1].to_owned(), record[2].to_owned()],
                figures: (3..10).map(|i| record[i].to_owned()).collect(),
                verdict: record[10].to_owned(),
            }
        })
        .collect()
}

/// The results that the program gives, by system and by the names of the arms.
fn given() -> HashMap<(String, [String; 2]), serde_json::Value> {
    let mut given = HashMap::new();
    for (compare, within) in [
        ("kernel", "system,setting,workload"),
        ("setting", "system,kernel,workload"),
    ] {
        let json: serde_json::Value =
            serde_json::from_str(&seeds(compare, within, &["--json"])).unwrap();
        assert_eq!(json["schema"], "perfblame.stats/1");
        for result in json["results"].as_array().unwrap() {
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            let group = &result["group"];
            let arm = |level: String| {
                let other = if compare == "kernel" {
                    "setting"
                } else {
                    "kernel"
                };
                let (kernel, setting) = if compare == "kernel" {
                    (level, text(&group[other]))
                } else {
                    (text(&group[other]), level)
                };
                format!("{kernel} {setting} {}", text(&group["workload"]))
            };
            let arms = [arm(text(&result["base"])), arm(text(&result["head"]))];
            given.insert((text(&group["system"]), arms), result.clone());
        }
    }
    given
}

/// Whether a number rounds to the printed one, in the last digit that is printed.
fn rounds_to(value: f64, printed: &str) -> bool {
    if printed.starts_with('<') {
        return value < 2.2e-16;
    }
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, d)| d.len()) as i32;
    let unit = 10f64.powi(exponent.parse::<i32>().unwrap() - decimals);
    let printed: f64 = printed.parse().unwrap();
    (value - printed).abs() <= 0.5000001 * unit
}

#[test]
fn all_36_published_results() {
    let (expected, given) = (expected(), given());
    assert_eq!(expected.len(), 36);
    assert_eq!(given.len(), 36);
    for line in expected {
        let result = &given[&(line.system.clone(), line.arms.clone())];
        let figures = [
            &result["t"],
            &result["df"],
            &result["p"],
            &result["ci95"][0],
            &result["ci95"][1],
            &result["base_mean"],
            &result["head_mean"],
        ];
        for (figure, printed) in figures.iter().zip(&line.figures) {
            let value = figure.as_f64().unwrap();
            assert!(
                rounds_to(value, printed),
                "{:?}: {value} is not {printed}",
                line.arms
            );
        }
        assert_eq!(result["verdict"], line.verdict.as_str(), "{:?}", line.arms);
        assert_eq!(
            result["change_ci95_pct"].is_null(),
            line.verdict == "no significance"
        );
    }
}

#[test]
fn text_prints_the_digits_that_r_prints() {
    let text = seeds("kernel", "system,setting,workload", &[])
        + &seeds("setting", "system,kernel,workload", &[]);
    for line in expected() {
        let [t, df, p, lo, hi, base, head] = &line.figures[..] else {
            panic!("seven figures")
        };
        let p = match p.strip_prefix('<') {
            Some(bound) => format!("< {bound}"),
            None => format!("= {p}"),
        };
        let head_line = format!("  t = {t}, df = {df}, p-value {p}\n");
        assert!(text.contains(&head_line), "{head_line}");
        assert!(text.contains(&format!(": {lo} {hi}\n")), "{lo} {hi}");
        assert!(
            text.contains(&format!("  {}\n", line.verdict)),
            "{}",
            line.verdict
        );
        for mean in [base, head] {
            let number: f64 = mean.parse().unwrap();
            let shorter = format!(" {number} (n = 10)");
            assert!(
                text.contains(&format!(" {mean} (n = 10)")) || text.contains(&shorter),
                "{mean}"
            );
        }
    }
    assert!(
        text.starts_with("redis, THP=always, sequential: patched against baseline\n"),
        "{text}"
    );
}

/// Runs on a file with this content and returns exit code and standard error.
fn on_file(content: &[u8]) -> (Option<i32>, String, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.csv");
    std::fs::write(&path, content).unwrap();
    let output = stats(&[
        path.to_str().unwrap(),
        "--compare",
        "kernel",
        "--value",
        "value",
    ]);
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn files_that_are_not_in_order_are_refused_with_their_line() {
    for (content, line, words) in [
        (
            "kernel,value\na,1\na\nb,2\n",
            "line 3",
            "1 fields where the header has 2",
        ),
        (
            "kernel,value\na,1\na,2,3\nb,2\n",
            "line 3",
            "3 fields where the header has 2",
        ),
        (
            "kernel,value\na,1\na,fast\nb,2\n",
            "line 3",
            "`fast` is not a finite number",
        ),
        ("kernel,value\na,1\na,NaN\nb,2\n", "line 3", "`NaN`"),
        ("kernel,value\na,1\na,inf\nb,2\n", "line 3", "`inf`"),
        (
            "kernel,value\na,1\na,-Infinity\nb,2\n",
            "line 3",
            "`-Infinity`",
        ),
        ("kernel,value\na,1\na,1e999\nb,2\n", "line 3", "`1e999`"),
        ("kernel,value\na,1\na,\nb,2\n", "line 3", "``"),
        ("kernel,value\na,1\na,1 000\nb,2\n", "line 3", "`1 000`"),
        (
            "kernel,value,value\na,1,1\na,2,2\nb,2,3\n",
            "line 1",
            "value",
        ),
        ("kernel,value\na,1\na,2\nb,3\n", "line 4", "`b` has 1 value"),
        ("kernel,value\na,1\na,1\nb,2\nb,2\n", "line 4", "no noise"),
        (
            "kernel,run,value\na,1,1\na,1,1\na,2,3\nb,1,2\nb,2,2\n",
            "line 3",
            "as on line 2",
        ),
        ("kernel,value\na,1\na,2\n", "", "no second level"),
        (
            "kernel,speed\na,1\n",
            "line 1",
            "the columns are: kernel, speed",
        ),
        ("", "", "no measurement"),
        ("kernel,value\n", "", "no measurement"),
    ] {
        let (code, stdout, stderr) = on_file(content.as_bytes());
        assert_eq!(code, Some(2), "{content:?}: {stderr}");
        assert!(stdout.is_empty());
        assert!(
            stderr.contains(line) && stderr.contains(words),
            "{content:?}: {stderr}"
        );
    }
    let (code, _, stderr) = on_file(b"kernel,value\na,1\n\xffa,2\n");
    assert_eq!(code, Some(2));
    assert!(stderr.contains("line 3: not UTF-8"), "{stderr}");
    let missing = stats(&["/nonexistent.csv", "--compare", "a", "--value", "b"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn forms_of_a_file_that_are_fine_give_the_same_answer() {
    let plain = "kernel,run,value\nold,1,1.5\nold,2,1.7\nold,3,1.6\nnew,1,1.9\nnew,2,2.2\n";
    let (code, answer, stderr) = on_file(plain.as_bytes());
    assert_eq!(code, Some(0), "{stderr}");
    assert!(answer.starts_with("new against old\n"), "{answer}");
    assert!(
        answer.contains("(n = 3), mean of new 2.05 (n = 2)"),
        "{answer}"
    );
    for same in [
        format!("\u{feff}{plain}"),
        plain.replace('\n', "\r\n"),
        plain.replace(',', ";"),
        plain.replace(',', ";").replace('.', ","),
        plain.replace(',', "\t"),
        format!("{plain}\n\n"),
    ] {
        assert_eq!(on_file(same.as_bytes()).1, answer, "{same:?}");
    }
}

#[test]
fn a_side_without_noise_is_tested_where_the_other_has_some() {
    let (code, answer, stderr) = on_file(b"kernel,value\na,1\na,1\na,1\nb,2\nb,2.1\nb,1.9\n");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(answer.contains("df = 2, "), "{answer}");
}

/// A matrix's `raw.csv` of several metrics: milliseconds and operations make no mean.
#[test]
fn metrics_are_never_mixed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("raw.csv");
    let table = |metrics: &[(&str, f64)]| {
        let mut text = "io,point,metric,unit,value\n".to_owned();
        for (level, factor) in [("one", 1.0), ("two", 1.1)] {
            for point in 1..=5 {
                for (metric, scale) in metrics {
                    let value = scale * (factor + f64::from(point) * 0.001);
                    text += &format!("{level},{point},{metric},x,{value}\n");
                }
            }
        }
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let with = |more: &[&str]| {
            let mut arguments = vec![file, "--compare", "io", "--value", "value", "--json"];
            arguments.extend(more);
            let output = stats(&arguments);
            assert!(output.status.success(), "{output:?}");
            let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            (json, String::from_utf8(output.stderr).unwrap())
        };
        (with(&[]), with(&["--within", "metric"]))
    };
    let ((own, said), (asked, quiet)) = table(&[("latency", 1.0), ("throughput", 1e6)]);
    assert_eq!(own, asked);
    assert_eq!(own["results"].as_array().unwrap().len(), 2);
    assert_eq!(own["results"][1]["group"]["metric"], "throughput");
    assert!(
        said.contains("2 metrics") && said.contains("--within metric"),
        "{said}"
    );
    assert_eq!(quiet, "");
    let ((own, said), _) = table(&[("latency", 1.0)]);
    assert_eq!(own["results"].as_array().unwrap().len(), 1);
    assert_eq!(
        (own["within"].as_array().unwrap().len(), said.as_str()),
        (0, "")
    );
}
