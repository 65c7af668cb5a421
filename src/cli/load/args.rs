//! The options, with memtier_benchmark's names, letters and defaults.

use std::path::PathBuf;

use anyhow::bail;

use crate::load::{Target, memtier::DEFAULT_PERCENTILES};
use crate::plan::CpuList;
use crate::plan::load::{
    KeyPatterns, LoadSpec, Protocol, Range, Ratio, Requests, SizePattern, SizeWeights,
};

use super::commands::OwnCommands;

/// Loads a Redis or memcached server, as memtier_benchmark does.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Prints this help.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,

    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    test: Test,
    #[command(flatten)]
    own: OwnCommands,
    #[command(flatten)]
    object: Object,
    #[command(flatten)]
    key: Key,

    /// Number of runs; several show the best, the worst and their mean.
    #[arg(short = 'x', long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub run_count: u32,
    /// Writes the text there and not to standard output.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out_file: Option<PathBuf>,
    /// Writes a JSON document with memtier_benchmark's keys.
    #[arg(long, value_name = "FILE")]
    pub json_out_file: Option<PathBuf>,
    /// Writes HDR histograms into files whose names begin so.
    #[arg(long, value_name = "PREFIX")]
    pub hdr_file_prefix: Option<PathBuf>,
    /// Leaves the latency distributions out.
    #[arg(long)]
    pub hide_histogram: bool,
    /// Percentiles of latency to show.
    #[arg(long = "print-percentiles", value_name = "P,…", value_delimiter = ',',
          default_values_t = DEFAULT_PERCENTILES, value_parser = percentile)]
    pub percentiles: Vec<f64>,
    /// Shows each of several runs too.
    #[arg(long)]
    pub print_all_runs: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Connection")]
struct Connection {
    /// Name or address of the server.
    #[arg(
        short = 's',
        long = "server",
        visible_short_alias = 'h',
        visible_alias = "host",
        value_name = "HOST",
        default_value = "localhost",
        conflicts_with = "unix_socket"
    )]
    server: String,
    /// Port of the server.
    #[arg(
        short = 'p',
        long,
        value_name = "PORT",
        default_value_t = 6379,
        conflicts_with = "unix_socket"
    )]
    port: u16,
    /// Unix socket of the server.
    #[arg(short = 'S', long, value_name = "PATH")]
    unix_socket: Option<PathBuf>,
    /// What the server speaks: redis, resp2, resp3 or memcache_text.
    #[arg(short = 'P', long, value_name = "NAME", default_value = "redis")]
    protocol: Protocol,
    /// Password, or USER:PASSWORD.
    #[arg(short = 'a', long, value_name = "CREDENTIALS")]
    authenticate: Option<String>,
    /// Number of the database.
    #[arg(long, value_name = "N")]
    select_db: Option<u32>,
    /// CPUs of the client threads, one each, such as 1 or 1,2.
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Test")]
struct Test {
    /// Requests of each client, or `allkeys` [default: 10000].
    #[arg(short = 'n', long, value_name = "N")]
    requests: Option<Requests>,
    /// Clients of each thread.
    #[arg(short = 'c', long, value_name = "N", default_value_t = 50)]
    clients: u32,
    /// Threads.
    #[arg(short = 't', long, value_name = "N", default_value_t = 4)]
    threads: u32,
    /// Seconds to run, in place of a number of requests.
    #[arg(long, value_name = "SECONDS")]
    test_time: Option<u64>,
    /// SETs and GETs of one round.
    #[arg(long, value_name = "SETS:GETS", default_value = "1:10")]
    ratio: Ratio,
    /// Requests that a connection may have under way at once.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pipeline: u32,
    /// Requests per second of each connection, at most.
    #[arg(long, value_name = "N")]
    rate_limiting: Option<u64>,
    /// Keeps to the schedule of --rate-limiting whatever the replies do, and measures latency from
    /// the time at which a request was due (no coordinated omission).
    #[arg(long, requires = "rate_limiting")]
    open_loop: bool,
    /// Requests after which a connection is opened anew.
    #[arg(long, value_name = "N", default_value_t = 0)]
    reconnect_interval: u64,
    /// Keys of one GET, which becomes MGET.
    #[arg(long, value_name = "N", default_value_t = 0)]
    multi_key_get: u32,
    /// Gives every client a seed of its own.
    #[arg(long)]
    distinct_client_seed: bool,
    /// Takes the seed from the clock.
    #[arg(long)]
    randomize: bool,
    /// Seed of keys, sizes and bytes.
    #[arg(long, value_name = "N", default_value_t = crate::plan::load::DEFAULT_SEED)]
    seed: u64,
    /// Seconds without a byte from the server, while replies are owed, that end the run.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    stall_timeout: u64,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Values")]
struct Object {
    /// Bytes of a value.
    #[arg(short = 'd', long, value_name = "BYTES", default_value_t = 32)]
    data_size: u32,
    /// Fills values with random bytes.
    #[arg(short = 'R', long)]
    random_data: bool,
    /// Least and greatest size of a value.
    #[arg(long, value_name = "MIN-MAX", conflicts_with = "data_size")]
    data_size_range: Option<Range>,
    /// Sizes of values and their weights.
    #[arg(long, value_name = "SIZE:WEIGHT,…", conflicts_with_all = ["data_size", "data_size_range"])]
    data_size_list: Option<SizeWeights>,
    /// R: a random size of the range each time; S: sizes grow with the keys [default: R].
    #[arg(long, value_name = "R|S", requires = "data_size_range")]
    data_size_pattern: Option<SizePattern>,
    /// Least and greatest seconds until a value expires.
    #[arg(long, value_name = "MIN-MAX")]
    expiry_range: Option<Range>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Keys")]
struct Key {
    /// What the name of every key begins with.
    #[arg(long, value_name = "TEXT", default_value = "memtier-")]
    key_prefix: String,
    /// Least number of a key.
    #[arg(long, value_name = "N", default_value_t = 0)]
    key_minimum: u64,
    /// Greatest number of a key.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    key_maximum: u64,
    /// How SETs and GETs choose keys: R uniform, S sequential, P sequential with a part of the range
    /// for each client, G normal, Z Zipf; or YCSB's uniform, zipfian, scrambled (its zipfian request
    /// distribution), exponential, latest.
    #[arg(long, value_name = "SET:GET", default_value = "R:R")]
    key_pattern: KeyPatterns,
    /// Standard deviation of pattern G [default: a sixth of the range].
    #[arg(long, value_name = "X")]
    key_stddev: Option<f64>,
    /// Median of pattern G [default: the middle of the range].
    #[arg(long, value_name = "X")]
    key_median: Option<f64>,
    /// Exponent of pattern Z [default: 1], and of zipfian, scrambled and latest [default: 0.99].
    #[arg(long, value_name = "X")]
    key_zipf_exp: Option<f64>,
    /// Per cent of exponential requests that go to --key-exp-fraction of the keys [default: 95].
    #[arg(long, value_name = "X")]
    key_exp_percentile: Option<f64>,
    /// That part of the keys [default: 0.8571428571].
    #[arg(long, value_name = "X")]
    key_exp_fraction: Option<f64>,
}

fn percentile(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err("a percentile is a number from 0 to 100".to_owned()),
    }
}

impl Args {
    /// The load that the options describe.
    pub fn spec(&self) -> anyhow::Result<LoadSpec> {
        let Args {
            connection,
            test,
            own,
            object,
            key,
            ..
        } = self;
        let spec = LoadSpec {
            protocol: connection.protocol,
            threads: test.threads,
            clients: test.clients,
            pipeline: test.pipeline,
            ratio: test.ratio,
            requests: test.requests,
            test_time: test.test_time,
            rate_limiting: test.rate_limiting,
            open_loop: test.open_loop,
            reconnect_interval: test.reconnect_interval,
            stall_timeout: test.stall_timeout,
            authenticate: connection.authenticate.clone(),
            select_db: connection.select_db,
            data_size: object.data_size,
            data_size_range: object.data_size_range,
            data_size_list: object.data_size_list.clone(),
            data_size_pattern: object.data_size_pattern.unwrap_or(SizePattern::Random),
            random_data: object.random_data,
            expiry_range: object.expiry_range,
            key_prefix: key.key_prefix.clone(),
            key_minimum: key.key_minimum,
            key_maximum: key.key_maximum,
            key_pattern: key.key_pattern,
            key_stddev: key.key_stddev,
            key_median: key.key_median,
            key_zipf_exp: key.key_zipf_exp,
            key_exp_percentile: key.key_exp_percentile,
            key_exp_fraction: key.key_exp_fraction,
            seed: test.seed,
            distinct_client_seed: test.distinct_client_seed,
            randomize: test.randomize,
            multi_key_get: test.multi_key_get,
            command: own.commands.clone(),
            command_ratio: own.ratios.clone(),
            command_key_pattern: own.patterns.clone(),
        };
        if let Err(error) = spec.check() {
            bail!("--{error}");
        }
        Ok(spec)
    }

    /// Where the server is.
    pub fn target(&self) -> Target {
        match &self.connection.unix_socket {
            Some(path) => Target::Unix(path.clone()),
            None => Target::Tcp {
                host: self.connection.server.clone(),
                port: self.connection.port,
            },
        }
    }

    /// CPUs of the client threads; none for no binding.
    pub fn cpus(&self) -> Vec<usize> {
        self.connection
            .cpus
            .as_ref()
            .map_or_else(Vec::new, |cpus| cpus.as_slice().to_vec())
    }
}
