//! The JSON document, with memtier_benchmark's keys.

use serde_json::{Map, Value, json};

use crate::load::{Latency, Target};
use crate::plan::load::{DEFAULT_REQUESTS, LoadSpec, Range, Requests, SizePattern};

use super::hdr::compressed;
use super::summary::{Row, RunSummary};
use super::table::latency_distribution;

/// What the document says of the server and of the way of running.
#[derive(Debug)]
pub struct Server<'a> {
    /// Where it is.
    pub target: &'a Target,
    /// Number of runs.
    pub runs: usize,
    /// Whether each run is shown.
    pub all_runs: bool,
    /// Percentiles to show.
    pub percentiles: &'a [f64],
    /// Whether the latency distributions are shown.
    pub distribution: bool,
}

/// The whole document. Keys of what is not supported here (TLS, import, WAIT) are there with the
/// value that they have in memtier_benchmark when they are not used.
pub fn document(spec: &LoadSpec, server: &Server<'_>, summaries: &[RunSummary]) -> Value {
    let mut document = Map::new();
    document.insert("configuration".to_owned(), configuration(spec, server));
    document.insert(
        "run information".to_owned(),
        json!({
            "Threads": spec.threads,
            "Connections per thread": spec.clients,
            requests_key(spec): requests(spec),
            "Format version": 2,
        }),
    );
    for summary in summaries {
        document.insert(summary.title.clone(), run(summary, server));
    }
    Value::Object(document)
}

fn requests_key(spec: &LoadSpec) -> &'static str {
    if spec.test_time.is_some() {
        "Seconds"
    } else {
        "Requests per client"
    }
}

fn requests(spec: &LoadSpec) -> Value {
    match (spec.test_time, spec.requests) {
        (Some(seconds), _) => json!(seconds),
        (None, Some(Requests::Count(count))) => json!(count),
        (None, Some(Requests::AllKeys)) => json!("allkeys"),
        (None, None) => json!(DEFAULT_REQUESTS),
    }
}

fn configuration(spec: &LoadSpec, server: &Server<'_>) -> Value {
    let (host, port, path) = match server.target {
        Target::Unix(path) => (Value::Null, 0, path.display().to_string()),
        Target::Tcp { host, port } => (json!(host), *port, String::new()),
    };
    let word = |flag: bool| if flag { "true" } else { "false" };
    let range = |range: Option<Range>| {
        range.map_or("0:0".to_owned(), |range| {
            format!("{}:{}", range.min, range.max)
        })
    };
    let sizes = spec.data_size_list.as_ref();
    let entries = [
        ("server", json!(host)),
        ("port", json!(port)),
        ("uri", json!("")),
        ("unix socket", json!(path)),
        ("address family", json!("Unspecified")),
        ("protocol", json!(spec.protocol.to_string())),
        ("out_file", json!(null)),
        ("tls", json!("false")),
        ("cert", json!(null)),
        ("key", json!(null)),
        ("cacert", json!(null)),
        ("tls_skip_verify", json!("false")),
        ("sni", json!(null)),
        ("client_stats", json!(null)),
        ("run_count", json!(server.runs)),
        ("debug", json!(0)),
        ("requests", json!(requests(spec))),
        ("rate_limit", json!(spec.rate_limiting.unwrap_or(0))),
        ("open_loop", json!(word(spec.open_loop))),
        ("clients", json!(spec.clients)),
        ("threads", json!(spec.threads)),
        ("test_time", json!(spec.test_time.unwrap_or(0))),
        ("ratio", json!(spec.ratio.to_string())),
        ("pipeline", json!(spec.pipeline)),
        ("data_size", json!(spec.data_size)),
        ("data_offset", json!(0)),
        ("random_data", json!(word(spec.random_data))),
        ("data_size_range", json!(range(spec.data_size_range))),
        (
            "data_size_list",
            json!(sizes.map(ToString::to_string).unwrap_or_default()),
        ),
        (
            "data_size_pattern",
            json!(match spec.data_size_pattern {
                SizePattern::Random => "R",
                SizePattern::Spread => "S",
            }),
        ),
        ("expiry_range", json!(range(spec.expiry_range))),
        ("data_import", json!(null)),
        ("data_verify", json!("false")),
        ("verify_only", json!("false")),
        ("generate_keys", json!("false")),
        ("key_prefix", json!(spec.key_prefix)),
        ("key_minimum", json!(spec.key_minimum)),
        ("key_maximum", json!(spec.key_maximum)),
        ("key_pattern", json!(spec.key_pattern.to_string())),
        ("key_stddev", json!(spec.key_stddev.unwrap_or(0.0))),
        ("key_median", json!(spec.key_median.unwrap_or(0.0))),
        ("key_zipf_exp", json!(spec.key_zipf_exp.unwrap_or(0.0))),
        ("seed", json!(spec.seed)),
        ("reconnect_interval", json!(spec.reconnect_interval)),
        ("connection_timeout", json!(0)),
        ("thread_conn_start_min_jitter_micros", json!(0)),
        ("thread_conn_start_max_jitter_micros", json!(0)),
        ("multi_key_get", json!(spec.multi_key_get)),
        // A document is often passed on: the password stays out of it.
        ("authenticate", json!("")),
        ("select-db", json!(spec.select_db.unwrap_or(0))),
        ("no-expiry", json!("false")),
        ("wait-ratio", json!("0:0")),
        ("num-slaves", json!("0:0")),
        ("wait-timeout", json!("0-0")),
        ("print-all-runs", json!(word(server.all_runs))),
    ];
    let named = entries.map(|(key, value)| (key.to_owned(), value));
    Value::Object(named.into_iter().collect())
}

fn run(summary: &RunSummary, server: &Server<'_>) -> Value {
    let mut object = Map::new();
    object.insert(
        "Runtime".to_owned(),
        json!({
            "Start time": summary.started_ms,
            "Finish time": summary.finished_ms,
            "Total duration": summary.finished_ms - summary.started_ms,
            "Time unit": "MILLISECONDS",
            "Interrupted": "false",
        }),
    );
    for row in &summary.rows {
        object.insert(row.title.clone(), row_object(row, server.percentiles));
    }
    if server.distribution {
        for row in &summary.rows {
            if let Some(name) = &row.distribution {
                object.insert(name.clone(), distribution(&row.latency));
            }
        }
    }
    Value::Object(object)
}

fn row_object(row: &Row, percentiles: &[f64]) -> Value {
    let (hits, misses) = row.hits_and_misses.unwrap_or((0.0, 0.0));
    let latency = &row.latency;
    let mean = round(latency.mean_ns() / 1e6, 3);
    json!({
        "Count": row.count,
        "Ops/sec": round(row.ops_per_second, 2),
        "Hits/sec": round(hits, 2),
        "Misses/sec": round(misses, 2),
        "Connection Errors/sec": 0.0,
        "Connection Errors": 0,
        "Latency": mean,
        "Average Latency": mean,
        "Accumulated Latency": (latency.mean_ns() * latency.count() as f64 / 1e6) as u64,
        "Min Latency": ms(latency.min_ns()),
        "Max Latency": ms(latency.max_ns()),
        "KB/sec": round(row.kb_per_second(), 2),
        "KB/sec RX/TX": round(row.kb_per_second(), 2),
        "KB/sec RX": round(row.received_per_second / 1024.0, 2),
        "KB/sec TX": round(row.sent_per_second / 1024.0, 2),
        "Time-Serie": series(row, percentiles),
        "Percentile Latencies": percentile_latencies(latency, percentiles),
    })
}

fn series(row: &Row, percentiles: &[f64]) -> Value {
    let mut object = Map::new();
    for (second, stats) in &row.series {
        let mut entry = Map::new();
        entry.insert("Bytes RX".to_owned(), json!(stats.received_bytes));
        entry.insert("Bytes TX".to_owned(), json!(stats.sent_bytes));
        entry.insert("Count".to_owned(), json!(stats.ops));
        if stats.ops > 0 {
            let sum_ms = stats.latency_sum_ns as f64 / 1e6;
            let mean = round(sum_ms / stats.ops as f64, 3);
            entry.insert("Average Latency".to_owned(), json!(mean));
            entry.insert("Accumulated Latency".to_owned(), json!(sum_ms as u64));
            entry.insert("Min Latency".to_owned(), json!(ms(stats.min_ns)));
            entry.insert("Max Latency".to_owned(), json!(ms(stats.max_ns)));
            for (percentile, ns) in percentiles.iter().zip(&stats.percentiles_ns) {
                entry.insert(percentile_key(*percentile), json!(ms(*ns)));
            }
        }
        object.insert(second.to_string(), Value::Object(entry));
    }
    Value::Object(object)
}

fn percentile_latencies(latency: &Latency, percentiles: &[f64]) -> Value {
    let mut object = Map::new();
    for percentile in percentiles {
        let value = json!(ms(latency.percentile_ns(*percentile)));
        object.insert(percentile_key(*percentile), value);
    }
    if let Ok(text) = compressed(latency) {
        object.insert(
            "Histogram log format".to_owned(),
            json!({ "Compressed Histogram": text }),
        );
    }
    Value::Object(object)
}

fn distribution(latency: &Latency) -> Value {
    latency_distribution(latency)
        .into_iter()
        .map(|(ms, percent)| json!({ "<=msec": round(ms, 3), "percent": round(percent, 3) }))
        .collect()
}

/// `p50.00`, `p99.90`.
fn percentile_key(percentile: f64) -> String {
    format!("p{percentile:.2}")
}

fn ms(ns: u64) -> f64 {
    round(ns as f64 / 1e6, 3)
}

fn round(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}
