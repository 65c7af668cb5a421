//! Numbers out of other load generators' output.
//!
//! A reader takes the whole output as text and returns what the program measured. It is strict: an
//! output without the number, with two of it, or with operations that failed is an error that
//! quotes the line at fault, for a number from a broken run must not be judged.

mod hammerdb;
mod memtier;
mod own;
mod pgbench;
mod reading;
mod redis_benchmark;
mod search;
mod sysbench;
mod wrk;
mod ycsb;

pub use own::{read_json, read_regex};
pub use reading::{ReadMetric, ReaderError, Reading};

use crate::plan::load::{ExternalLoad, ReaderKind};

/// Looks through what a program wrote to standard error for what it says of failed operations:
/// memtier_benchmark and redis-benchmark go on after an error reply and print their numbers.
///
/// # Errors
/// [`ReaderError::Failed`] with the first line that says so.
pub fn check_log(reader: ReaderKind, log: &str) -> Result<(), ReaderError> {
    let failed: fn(&str) -> bool = match reader {
        ReaderKind::MemtierJson | ReaderKind::MemtierTable => memtier::failed,
        ReaderKind::RedisBenchmarkCsv | ReaderKind::RedisBenchmark => redis_benchmark::failed,
        ReaderKind::Ycsb => ycsb::failed,
        ReaderKind::Hammerdb => hammerdb::failed,
        ReaderKind::Pgbench => pgbench::failed,
        ReaderKind::Sysbench => sysbench::failed,
        ReaderKind::Wrk => wrk::failed,
        ReaderKind::Regex | ReaderKind::Json => return Ok(()),
    };
    search::refuse(log, failed)
}

/// Reads the output of an external load by the reader that it names.
///
/// # Errors
/// See [`ReaderError`].
pub fn read(load: &ExternalLoad, output: &str) -> Result<Reading, ReaderError> {
    let select = load.select.as_deref();
    match load.reader {
        ReaderKind::MemtierJson => memtier::read_json(output),
        ReaderKind::MemtierTable => memtier::read_table(output),
        ReaderKind::RedisBenchmarkCsv => redis_benchmark::read_csv(output, select),
        ReaderKind::RedisBenchmark => redis_benchmark::read_plain(output, select),
        ReaderKind::Ycsb => ycsb::read(output),
        ReaderKind::Hammerdb => hammerdb::read(output),
        ReaderKind::Pgbench => pgbench::read(output),
        ReaderKind::Sysbench => sysbench::read(output),
        ReaderKind::Wrk => wrk::read(output),
        ReaderKind::Regex => read_regex(output, load.pattern.as_deref().unwrap_or_default(), load),
        ReaderKind::Json => read_json(output, load.pointer.as_deref().unwrap_or_default(), load),
    }
}

/// A program's recorded output.
#[cfg(test)]
fn recorded(name: &str) -> String {
    let path = format!("{}/fixtures/recorded/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the output was recorded")
}
