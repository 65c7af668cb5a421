//! Whether a load can be put on a server at all.

use thiserror::Error;

use super::{KeyPattern, LoadSpec, Requests};

/// A value of a load that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct LoadSpecError {
    /// The key at fault, as it is written in a plan.
    pub key: &'static str,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

/// Largest value that a Redis server takes (`proto-max-bulk-len`), in bytes.
const MAX_DATA_SIZE: u32 = 512 << 20;

/// Largest pipeline: what is under way is kept in memory for every connection.
const MAX_PIPELINE: u32 = 100_000;

/// Most threads: more than any machine has CPUs to run them on.
const MAX_THREADS: u32 = 1024;

/// Most keys of one command: the command is kept in memory for every one under way.
const MAX_KEYS: u32 = 100_000;

/// Most connections: what a process may reasonably have open.
const MAX_CONNECTIONS: u64 = 100_000;

fn fault<T>(key: &'static str, message: impl Into<String>) -> Result<T, LoadSpecError> {
    Err(LoadSpecError {
        key,
        message: message.into(),
    })
}

impl LoadSpec {
    /// Refuses what cannot be done, and says which key is at fault.
    pub fn check(&self) -> Result<(), LoadSpecError> {
        self.check_connections()?;
        self.check_keys()?;
        self.check_values()?;
        self.check_commands()?;
        self.check_length()
    }

    fn check_connections(&self) -> Result<(), LoadSpecError> {
        if self.threads == 0 {
            return fault("threads", "there must be at least one thread");
        }
        if self.threads > MAX_THREADS {
            return fault(
                "threads",
                format!("{} is more than {MAX_THREADS}", self.threads),
            );
        }
        if self.multi_key_get > MAX_KEYS {
            return fault(
                "multi-key-get",
                format!("{} is more than {MAX_KEYS}", self.multi_key_get),
            );
        }
        if self.clients == 0 {
            return fault("clients", "there must be at least one client a thread");
        }
        if self.connections() > MAX_CONNECTIONS {
            return fault(
                "clients",
                format!(
                    "{} threads of {} clients are {} connections; at most {MAX_CONNECTIONS} are allowed",
                    self.threads,
                    self.clients,
                    self.connections()
                ),
            );
        }
        if !(1..=MAX_PIPELINE).contains(&self.pipeline) {
            return fault(
                "pipeline",
                format!("{} is not within 1 and {MAX_PIPELINE}", self.pipeline),
            );
        }
        if self.rate_limiting == Some(0) {
            return fault("rate-limiting", "at least one request a second is needed");
        }
        if self.open_loop && self.rate_limiting.is_none() {
            return fault(
                "open-loop",
                "an open loop sends by the clock; give its rate with rate-limiting",
            );
        }
        if self.stall_timeout == 0 {
            return fault("stall-timeout", "at least one second is needed");
        }
        if !self.protocol.is_resp() && self.select_db.is_some() {
            return fault("select-db", "memcached has no numbered databases");
        }
        Ok(())
    }

    fn check_keys(&self) -> Result<(), LoadSpecError> {
        if self.key_minimum > self.key_maximum {
            return fault(
                "key-maximum",
                format!(
                    "{} is less than key-minimum {}: there is no key in between",
                    self.key_maximum, self.key_minimum
                ),
            );
        }
        if self.key_prefix.len() > 200 {
            return fault("key-prefix", "longer than 200 bytes");
        }
        if !self.protocol.is_resp()
            && self
                .key_prefix
                .bytes()
                .any(|byte| byte <= b' ' || byte == 0x7f)
        {
            return fault(
                "key-prefix",
                "memcached's keys hold neither spaces nor control characters",
            );
        }
        let gaussian = self.uses(KeyPattern::Gaussian);
        if let Some(stddev) = self.key_stddev {
            if !gaussian {
                return fault("key-stddev", "only key pattern G has a deviation");
            }
            if !(stddev.is_finite() && stddev > 0.0) {
                return fault("key-stddev", format!("{stddev} is not a positive number"));
            }
        }
        if let Some(median) = self.key_median {
            if !gaussian {
                return fault("key-median", "only key pattern G has a median");
            }
            if !(median >= self.key_minimum as f64 && median <= self.key_maximum as f64) {
                return fault(
                    "key-median",
                    format!(
                        "{median} is not within key-minimum {} and key-maximum {}",
                        self.key_minimum, self.key_maximum
                    ),
                );
            }
        }
        if self.uses(KeyPattern::Zipf) && self.key_maximum == 0 {
            return fault("key-maximum", "key pattern Z needs keys of 1 and more");
        }
        self.check_shape()?;
        if self.uses(KeyPattern::Parallel) && self.connections() > self.keys() {
            return fault(
                "key-pattern",
                format!(
                    "pattern P gives every client keys of its own, but there are {} clients and {} keys",
                    self.connections(),
                    self.keys()
                ),
            );
        }
        Ok(())
    }

    /// The parameters of Zipf's law and of the exponential one.
    fn check_shape(&self) -> Result<(), LoadSpecError> {
        if let Some(exponent) = self.key_zipf_exp {
            let of_ycsb = self.patterns().find(|used| used.has_zipfian_constant());
            if of_ycsb.is_none() && !self.uses(KeyPattern::Zipf) {
                return fault(
                    "key-zipf-exp",
                    "only the key patterns Z, zipfian, scrambled and latest have an exponent",
                );
            }
            if !(exponent > 0.0 && exponent < 5.0) {
                return fault(
                    "key-zipf-exp",
                    format!("{exponent} is not between 0 and 5, both excluded"),
                );
            }
            if let Some(pattern) = of_ycsb.filter(|_| exponent >= 1.0) {
                return fault(
                    "key-zipf-exp",
                    format!(
                        "{exponent} is not between 0 and 1, both excluded, as YCSB's method for the \
                         pattern {pattern} needs it; pattern Z takes any exponent up to 5"
                    ),
                );
            }
        }
        let exponential = self.uses(KeyPattern::Exponential);
        let shape = [
            ("key-exp-percentile", self.key_exp_percentile, 100.0),
            ("key-exp-fraction", self.key_exp_fraction, f64::INFINITY),
        ];
        for (key, value, below) in shape {
            let Some(value) = value else { continue };
            if !exponential {
                return fault(key, "only the key pattern exponential has it");
            }
            if !(value > 0.0 && value < below) {
                let most = match below.is_finite() {
                    true => format!("between 0 and {below}, both excluded"),
                    false => "a positive number".to_owned(),
                };
                return fault(key, format!("{value} is not {most}"));
            }
        }
        Ok(())
    }

    fn check_values(&self) -> Result<(), LoadSpecError> {
        if !(1..=MAX_DATA_SIZE).contains(&self.data_size) {
            return fault(
                "data-size",
                format!(
                    "{} is not within 1 and {MAX_DATA_SIZE} bytes",
                    self.data_size
                ),
            );
        }
        if let Some(range) = self.data_size_range
            && !(1 <= range.min && range.min <= range.max && range.max <= MAX_DATA_SIZE)
        {
            return fault(
                "data-size-range",
                format!("{range} does not go from 1 or more up to at most {MAX_DATA_SIZE}"),
            );
        }
        if let Some(list) = &self.data_size_list {
            if self.data_size_range.is_some() {
                return fault("data-size-list", "give either a list or a range of sizes");
            }
            if let Some((size, _)) = list
                .0
                .iter()
                .find(|(size, _)| !(1..=MAX_DATA_SIZE).contains(size))
            {
                return fault(
                    "data-size-list",
                    format!("{size} is not within 1 and {MAX_DATA_SIZE} bytes"),
                );
            }
            if list.0.iter().all(|(_, weight)| *weight == 0) {
                return fault("data-size-list", "every weight is zero");
            }
        }
        if let Some(range) = self.expiry_range
            && !(1 <= range.min && range.min <= range.max)
        {
            return fault(
                "expiry-range",
                format!("{range} does not go from 1 or more seconds upwards"),
            );
        }
        Ok(())
    }

    fn check_commands(&self) -> Result<(), LoadSpecError> {
        if self.command.is_empty() {
            if self.ratio.sets == 0 && self.ratio.gets == 0 {
                return fault("ratio", "0:0 asks for nothing");
            }
            if !self.command_ratio.is_empty() {
                return fault("command-ratio", "there is no command to go with it");
            }
            if !self.command_key_pattern.is_empty() {
                return fault("command-key-pattern", "there is no command to go with it");
            }
            return Ok(());
        }
        if !self.protocol.is_resp() {
            return fault("command", "own commands are sent over RESP only");
        }
        for command in &self.command {
            match shell_words::split(command) {
                Ok(words) if words.is_empty() => return fault("command", "an empty command"),
                Ok(_) => {}
                Err(error) => return fault("command", format!("`{command}`: {error}")),
            }
        }
        let lists = [
            ("command-ratio", self.command_ratio.len()),
            ("command-key-pattern", self.command_key_pattern.len()),
        ];
        for (key, length) in lists {
            if length != 0 && length != self.command.len() {
                return fault(
                    key,
                    format!("{length} values for {} commands", self.command.len()),
                );
            }
        }
        if self.command_rounds().all(|(_, ratio, _)| ratio == 0) {
            return fault("command-ratio", "every ratio is zero");
        }
        Ok(())
    }

    fn check_length(&self) -> Result<(), LoadSpecError> {
        if self.requests.is_some() && self.test_time.is_some() {
            return fault(
                "test-time",
                "give either a number of requests or a time, not both",
            );
        }
        if self.test_time == Some(0) {
            return fault("test-time", "at least one second is needed");
        }
        match self.requests {
            Some(Requests::Count(0)) => fault("requests", "at least one request is needed"),
            Some(Requests::AllKeys) if self.connections() > self.keys() => fault(
                "requests",
                format!(
                    "allkeys with {} clients, but there are only {} keys",
                    self.connections(),
                    self.keys()
                ),
            ),
            _ => Ok(()),
        }
    }

    /// Whether any command of the load chooses its keys by that pattern.
    fn uses(&self, pattern: KeyPattern) -> bool {
        self.patterns().any(|used| used == pattern)
    }

    /// The patterns of all commands of the load that are sent.
    fn patterns(&self) -> impl Iterator<Item = KeyPattern> {
        let plain = [
            (self.ratio.sets, self.key_pattern.set),
            (self.ratio.gets, self.key_pattern.get),
        ];
        let plain = plain.into_iter().filter(|_| self.command.is_empty());
        let own = self.command_rounds().map(|(_, ratio, used)| (ratio, used));
        // A command of one's own counts even where it is never sent: it was written by hand.
        plain
            .filter(|(times, _)| *times > 0)
            .chain(own)
            .map(|(_, used)| used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_sound() {
        assert_eq!(LoadSpec::default().check(), Ok(()));
    }

    #[test]
    fn impossible_values_name_their_key() {
        let cases = [
            ("threads = 0", "threads"),
            ("clients = 0", "clients"),
            ("threads = 1000\nclients = 1000", "clients"),
            ("pipeline = 0", "pipeline"),
            ("ratio = \"0:0\"", "ratio"),
            ("key-minimum = 5\nkey-maximum = 4", "key-maximum"),
            ("requests = \"allkeys\"\nkey-maximum = 100", "requests"),
            ("key-pattern = \"P:P\"\nkey-maximum = 100", "key-pattern"),
            ("key-stddev = 3.0", "key-stddev"),
            ("key-median = 3.0", "key-median"),
            ("key-pattern = \"G:G\"\nkey-median = 2e7", "key-median"),
            ("key-zipf-exp = 1.0", "key-zipf-exp"),
            ("key-pattern = \"Z:Z\"\nkey-zipf-exp = 5.0", "key-zipf-exp"),
            (
                "key-pattern = \"Z:scrambled\"\nkey-zipf-exp = 1.0",
                "key-zipf-exp",
            ),
            ("key-exp-percentile = 90.0", "key-exp-percentile"),
            (
                "key-pattern = \"R:exponential\"\nkey-exp-percentile = 100.0",
                "key-exp-percentile",
            ),
            (
                "key-pattern = \"R:exponential\"\nkey-exp-fraction = 0.0",
                "key-exp-fraction",
            ),
            ("data-size = 0", "data-size"),
            ("data-size = 629145600", "data-size"),
            ("data-size-range = \"9-3\"", "data-size-range"),
            ("data-size-list = \"9:0\"", "data-size-list"),
            ("expiry-range = \"0-3\"", "expiry-range"),
            ("requests = 0", "requests"),
            ("requests = 5\ntest-time = 5", "test-time"),
            ("open-loop = true", "open-loop"),
            ("rate-limiting = 0", "rate-limiting"),
            ("command = [\"\"]", "command"),
            ("command = [\"GET 'x\"]", "command"),
            ("command = [\"PING\"]\ncommand-ratio = [0]", "command-ratio"),
            (
                "command = [\"PING\"]\ncommand-ratio = [1, 2]",
                "command-ratio",
            ),
            ("command-key-pattern = [\"R\"]", "command-key-pattern"),
            ("protocol = \"memcache_text\"\nselect-db = 1", "select-db"),
            (
                "protocol = \"memcache_text\"\nkey-prefix = \"a b\"",
                "key-prefix",
            ),
        ];
        for (text, key) in cases {
            let spec: LoadSpec = toml::from_str(text).unwrap();
            assert_eq!(spec.check().unwrap_err().key, key, "{text}");
        }
    }

    #[test]
    fn unknown_keys_and_wrong_forms_are_refused() {
        for text in [
            "key-max = 3",
            "ratio = \"1\"",
            "key-pattern = \"X:R\"",
            "requests = \"some\"",
            "requests = -1",
            "protocol = \"memcache_binary\"",
            "data-size-list = \"3\"",
        ] {
            assert!(toml::from_str::<LoadSpec>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_plan_and_its_text_are_the_same() {
        let text = "protocol = \"memcache_text\"\nrequests = \"allkeys\"\nratio = \"0:1\"\nkey-pattern = \"G:Z\"\n\
                    data-size-list = \"32:8,1000:2\"\nexpiry-range = \"10-20\"\n";
        let spec: LoadSpec = toml::from_str(text).unwrap();
        let again: LoadSpec = toml::from_str(&toml::to_string(&spec).unwrap()).unwrap();
        assert_eq!(spec, again);
        assert_eq!(spec.requests, Some(Requests::AllKeys));
    }
}
