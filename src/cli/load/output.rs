//! Where results go.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context;

use crate::load::memtier::{RunSummary, Server, document, table, write_files};
use crate::load::{LoadOutcome, Target};
use crate::plan::load::{DEFAULT_REQUESTS, LoadSpec, Requests};

use super::args::Args;

/// Writes the text, and the JSON document and HDR files where they are asked for.
pub fn write(
    args: &Args,
    spec: &LoadSpec,
    target: &Target,
    outcomes: &[LoadOutcome],
) -> anyhow::Result<()> {
    let summaries = RunSummary::of_runs(outcomes, args.print_all_runs);
    if let Some(path) = &args.json_out_file {
        let server = Server {
            target,
            runs: outcomes.len(),
            all_runs: args.print_all_runs,
            percentiles: &args.percentiles,
            distribution: !args.hide_histogram,
        };
        let text = serde_json::to_string_pretty(&document(spec, &server, &summaries))
            .context("cannot write JSON")?;
        write_file(path, &(text + "\n"))?;
    }
    if let Some(prefix) = &args.hdr_file_prefix {
        for (index, outcome) in outcomes.iter().enumerate() {
            let summary = RunSummary::of(outcome, "");
            write_files(prefix, index + 1, &summary)
                .with_context(|| format!("cannot write the histograms {}_…", prefix.display()))?;
        }
    }
    let mut text = head(spec);
    for summary in &summaries {
        text.push_str(&table(summary, &args.percentiles, !args.hide_histogram));
    }
    match &args.out_file {
        Some(path) => write_file(path, &text),
        None => match std::io::stdout().write_all(text.as_bytes()) {
            // `perfblame load | head` is no error.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        },
    }
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn head(spec: &LoadSpec) -> String {
    let (count, unit) = match (spec.test_time, spec.requests) {
        (Some(seconds), _) => (seconds.to_string(), "Seconds"),
        (None, Some(Requests::AllKeys)) => ("allkeys".to_owned(), "Requests per client"),
        (None, Some(Requests::Count(count))) => (count.to_string(), "Requests per client"),
        (None, None) => (DEFAULT_REQUESTS.to_string(), "Requests per client"),
    };
    let mut text = format!(
        "{:<9} Threads\n{:<9} Connections per thread\n{count:<9} {unit}\n",
        spec.threads, spec.clients
    );
    if let Some(rate) = spec.rate_limiting {
        let kind = if spec.open_loop {
            "open loop: latency from the time at which a request was due"
        } else {
            "closed loop: latency from the time of sending"
        };
        text.push_str(&format!(
            "{rate:<9} Requests per second and connection, {kind}\n"
        ));
    }
    text
}
