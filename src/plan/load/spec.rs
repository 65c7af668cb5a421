//! The load as memtier_benchmark names and defaults it.

use serde::{Deserialize, Serialize};

use super::{KeyPattern, KeyPatterns, Protocol, Range, Ratio, Requests, SizePattern, SizeWeights};

/// Requests of each client where neither `requests` nor `test-time` is given.
pub const DEFAULT_REQUESTS: u64 = 10_000;

/// Seed of the keys where none is given.
pub const DEFAULT_SEED: u64 = 1;

/// A load: who connects, what they ask for, how long. Keys are memtier_benchmark's option names,
/// defaults are its defaults; `seed`, `open-loop` and `stall-timeout` are perfblame's own.
///
/// A load is *fixed*: the same specification gives every client the same sequence of keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LoadSpec {
    /// What the server speaks.
    pub protocol: Protocol,
    /// Threads of the generator.
    pub threads: u32,
    /// Connections of each thread.
    pub clients: u32,
    /// Requests that a connection may have under way at once.
    pub pipeline: u32,
    /// SETs and GETs of one round; every client repeats the round.
    pub ratio: Ratio,
    /// Requests of each client; `allkeys` for as many as there are keys to go through. Absent:
    /// [`DEFAULT_REQUESTS`], or no limit where there is a `test-time`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
    /// Length of the run in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_time: Option<u64>,
    /// Requests per second of each connection, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limiting: Option<u64>,
    /// Sends by the clock of `rate-limiting` whatever the replies do, and measures latency from
    /// the time at which a request was due, so that a slow server cannot hide its slowness by
    /// slowing the generator down (coordinated omission).
    pub open_loop: bool,
    /// Requests after which a connection is closed and opened anew; 0 for never.
    pub reconnect_interval: u64,
    /// Seconds without a byte from the server, while replies are owed, that end the run.
    pub stall_timeout: u64,
    /// Password, or `USER:PASSWORD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authenticate: Option<String>,
    /// Number of the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select_db: Option<u32>,

    /// Bytes of a value.
    pub data_size: u32,
    /// Least and greatest size of a value; takes the place of `data-size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_size_range: Option<Range>,
    /// Sizes and their weights; takes the place of `data-size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_size_list: Option<SizeWeights>,
    /// How sizes of `data-size-range` go with keys.
    pub data_size_pattern: SizePattern,
    /// Whether values are random bytes; otherwise they are all the same.
    pub random_data: bool,
    /// Least and greatest seconds until a value expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiry_range: Option<Range>,

    /// What the name of every key begins with.
    pub key_prefix: String,
    /// Least number of a key.
    pub key_minimum: u64,
    /// Greatest number of a key.
    pub key_maximum: u64,
    /// How SETs and GETs choose keys.
    pub key_pattern: KeyPatterns,
    /// Standard deviation of pattern G; a sixth of the range where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_stddev: Option<f64>,
    /// Median of pattern G; the middle of the range where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_median: Option<f64>,
    /// Exponent of pattern Z (1 where absent), and YCSB's zipfian constant of the patterns zipfian,
    /// scrambled and latest (0.99 where absent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_zipf_exp: Option<f64>,
    /// Per cent of the requests of the pattern exponential that go to `key-exp-fraction` of the keys;
    /// 95 where absent (YCSB's `exponential.percentile`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_exp_percentile: Option<f64>,
    /// That part of the keys; 0.8571428571 where absent (YCSB's `exponential.frac`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_exp_fraction: Option<f64>,
    /// Seed of the keys, sizes and bytes.
    pub seed: u64,
    /// Whether every client has a seed of its own. Without it every client draws the same keys,
    /// as memtier_benchmark's do.
    pub distinct_client_seed: bool,
    /// Whether the seed is taken from the clock; the load is not fixed then.
    pub randomize: bool,
    /// Keys of one GET, which becomes MGET; 0 for plain GET.
    pub multi_key_get: u32,

    /// Commands to send in place of SET and GET; `__key__` and `__data__` are filled in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// How often each command is sent in a row; empty for once each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command_ratio: Vec<u32>,
    /// How each command chooses keys; empty for R each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command_key_pattern: Vec<KeyPattern>,
}

impl Default for LoadSpec {
    fn default() -> Self {
        LoadSpec {
            protocol: Protocol::Redis,
            threads: 4,
            clients: 50,
            pipeline: 1,
            ratio: Ratio { sets: 1, gets: 10 },
            requests: None,
            test_time: None,
            rate_limiting: None,
            open_loop: false,
            reconnect_interval: 0,
            stall_timeout: 30,
            authenticate: None,
            select_db: None,
            data_size: 32,
            data_size_range: None,
            data_size_list: None,
            data_size_pattern: SizePattern::Random,
            random_data: false,
            expiry_range: None,
            key_prefix: "memtier-".to_owned(),
            key_minimum: 0,
            key_maximum: 10_000_000,
            key_pattern: KeyPatterns::default(),
            key_stddev: None,
            key_median: None,
            key_zipf_exp: None,
            key_exp_percentile: None,
            key_exp_fraction: None,
            seed: DEFAULT_SEED,
            distinct_client_seed: false,
            randomize: false,
            multi_key_get: 0,
            command: Vec::new(),
            command_ratio: Vec::new(),
            command_key_pattern: Vec::new(),
        }
    }
}

impl LoadSpec {
    /// Connections of all threads.
    pub fn connections(&self) -> u64 {
        u64::from(self.threads) * u64::from(self.clients)
    }

    /// How many keys there are, from `key-minimum` to `key-maximum`; only meaningful after
    /// [`LoadSpec::check`].
    pub fn keys(&self) -> u64 {
        (self.key_maximum - self.key_minimum).saturating_add(1)
    }

    /// Pattern and number of repetitions of each command of a round, in order.
    pub fn command_rounds(&self) -> impl Iterator<Item = (&str, u32, KeyPattern)> {
        self.command.iter().enumerate().map(|(index, command)| {
            (
                command.as_str(),
                self.command_ratio.get(index).copied().unwrap_or(1),
                self.command_key_pattern
                    .get(index)
                    .copied()
                    .unwrap_or(KeyPattern::Random),
            )
        })
    }
}
