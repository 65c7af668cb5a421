//! Phases: a trial that measures several things in a row, and where further metrics come from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::command_line::CommandLine;
use super::duration::Length;
use super::judging::{Direction, MetricDescription};
use super::load::LoadSpec;

/// One phase of a server's trial. Its own metrics are `NAME.duration`, `NAME.cpu`, `NAME.cpu_user`
/// and `NAME.cpu_system` in seconds, `NAME.page_faults`, and under a load `NAME.throughput` and
/// `NAME.latency_p99`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Phase {
    /// Name: letters, digits, `-` and `_`.
    pub name: String,
    /// The load meanwhile: `[load]`, overlaid with what stands here. None: the server is left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadSpec>,
    /// How long it lasts; without this and `until`, until the load's requests are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
    /// A program that is run at the beginning of the phase, such as `redis-cli bgsave`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// A program that is run again and again: the phase ends when it exits with code 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<CommandLine>,
    /// The server is stopped and started again on its data; the phase is from start to ready.
    pub restart: bool,
    /// Whether the server is sampled meanwhile. The phase's own metrics are then taken under the
    /// sampler, in all arms alike.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub profile: bool,
    /// After how long the phase is given up.
    pub timeout: Length,
}

impl Phase {
    /// Whether the work that is done in it depends on how fast the server is: it is under load for a
    /// time, so that its cost is counted by the operation. The cost of any other phase is that of
    /// the whole phase.
    pub fn is_by_operation(&self) -> bool {
        self.load.is_some() && self.until.is_none()
    }
}

impl Default for Phase {
    fn default() -> Self {
        Self {
            name: String::new(),
            load: None,
            length: None,
            command: None,
            until: None,
            restart: false,
            profile: false,
            timeout: Length::seconds(600),
        }
    }
}

/// A metric that is read at the end of a phase, or of the measured window where there are no phases.
/// Exactly one of `info`, `smaps`, `sql` and `command` is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct MetricSpec {
    /// The phase; the last one where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// A field of the answer to Redis's `INFO`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<String>,
    /// A line of `/proc/PID/smaps_rollup`, in bytes, summed over the server's processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smaps: Option<String>,
    /// A query to a PostgreSQL server that gives one row; its first column is the number. The
    /// server is asked where it listens ([`Server::socket`](crate::plan::Server)), and must trust
    /// whoever asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// For `sql`: the user who asks.
    pub sql_user: String,
    /// A program that prints the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// For `command`: a regular expression with a group named `value`; without it, all that is
    /// printed is the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Whether the value is what it grew by in the phase.
    pub difference: bool,
    /// Whether the value is divided by the operations that the load did meanwhile.
    pub per_operation: bool,
    /// What the number is multiplied by.
    pub scale: f64,
    /// Its unit, after scaling.
    pub unit: String,
    /// Which direction is good.
    pub direction: Direction,
}

impl Default for MetricSpec {
    fn default() -> Self {
        Self {
            phase: None,
            info: None,
            smaps: None,
            sql: None,
            sql_user: "postgres".to_owned(),
            command: None,
            pattern: None,
            difference: false,
            per_operation: false,
            scale: 1.0,
            unit: String::new(),
            direction: Direction::LowerIsBetter,
        }
    }
}

/// Units and directions of all metrics that phases give.
pub fn descriptions(
    phases: &[Phase],
    metrics: &BTreeMap<String, MetricSpec>,
) -> BTreeMap<String, MetricDescription> {
    let own = phases.iter().flat_map(|phase| {
        OF_PHASE.map(|(name, unit, direction)| (format!("{}.{name}", phase.name), unit, direction))
    });
    let named = metrics
        .iter()
        .map(|(name, metric)| (name.clone(), metric.unit.as_str(), metric.direction));
    own.chain(named)
        .map(|(name, unit, direction)| {
            let description = MetricDescription {
                unit: unit.to_owned(),
                direction,
            };
            (name, description)
        })
        .collect()
}

const OF_PHASE: [(&str, &str, Direction); 7] = [
    ("duration", "s", Direction::LowerIsBetter),
    ("cpu", "s", Direction::LowerIsBetter),
    ("cpu_user", "s", Direction::LowerIsBetter),
    ("cpu_system", "s", Direction::LowerIsBetter),
    ("page_faults", "faults", Direction::LowerIsBetter),
    ("throughput", "ops/s", Direction::HigherIsBetter),
    ("latency_p99", "ms", Direction::LowerIsBetter),
];

/// The first fault of phases and metrics: key and message.
pub fn check(phases: &[Phase], metrics: &BTreeMap<String, MetricSpec>) -> Option<(String, String)> {
    for (at, phase) in phases.iter().enumerate() {
        let key = |of: &str| format!("phase.{at}.{of}");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if phase.name.is_empty() || !phase.name.chars().all(is_name) {
            return Some((
                key("name"),
                "every phase has a name of letters, digits, - and _".to_owned(),
            ));
        }
        if phases[..at].iter().any(|other| other.name == phase.name) {
            return Some((
                key("name"),
                format!("there are two phases `{}`", phase.name),
            ));
        }
        if let Some(error) = phase.load.as_ref().and_then(|load| load.check().err()) {
            return Some((format!("phase.{at}.load.{}", error.key), error.message));
        }
        let ends = [phase.length.is_some(), phase.until.is_some(), phase.restart];
        let ends = ends.iter().filter(|end| **end).count();
        let message = match (ends, &phase.load, phase.restart) {
            (0, None, _) => {
                "a phase ends by `length`, `until`, `restart`, or when its load is done"
            }
            (2.., _, _) => "a phase ends by one of `length`, `until` and `restart`",
            (_, Some(_), true) => "a server that restarts cannot be under load",
            _ => continue,
        };
        return Some((key("length"), format!("phase `{}`: {message}", phase.name)));
    }
    metrics.iter().find_map(|(name, metric)| {
        let fault =
            |key: &str, message: &str| Some((format!("metric.{name}.{key}"), message.to_owned()));
        let sources = [
            metric.info.is_some(),
            metric.smaps.is_some(),
            metric.sql.is_some(),
            metric.command.is_some(),
        ];
        if sources.iter().filter(|source| **source).count() != 1 {
            return fault(
                "info",
                "a metric comes from one of `info`, `smaps`, `sql` and `command`",
            );
        }
        if !metric.scale.is_finite() || metric.scale == 0.0 {
            return fault("scale", "must be a number other than zero");
        }
        if let Some(pattern) = &metric.pattern {
            let good = regex::Regex::new(pattern)
                .is_ok_and(|regex| regex.capture_names().flatten().any(|name| name == "value"));
            if !good {
                return fault(
                    "pattern",
                    "is no regular expression with a group `(?<value>…)`",
                );
            }
        }
        match &metric.phase {
            Some(wanted) if !phases.iter().any(|phase| phase.name == *wanted) => {
                fault("phase", &format!("there is no phase `{wanted}`"))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Part {
        phase: Vec<Phase>,
        metric: BTreeMap<String, MetricSpec>,
    }

    fn fault(text: &str) -> Option<String> {
        let part: Part = toml::from_str(text).unwrap();
        check(&part.phase, &part.metric).map(|(key, _)| key)
    }

    #[test]
    fn faults_name_their_key() {
        const READ: &str = "[[phase]]\nname = 'read'\nlength = '1s'\n";
        for (text, key) in [
            ("", None),
            (READ, None),
            ("[[phase]]\nlength = '1s'\n", Some("phase.0.name")),
            (
                "[[phase]]\nname = 'a b'\nlength = '1s'\n",
                Some("phase.0.name"),
            ),
            ("[[phase]]\nname = 'a'\n", Some("phase.0.length")),
            (
                "[[phase]]\nname = 'a'\nrestart = true\nlength = '1s'\n",
                Some("phase.0.length"),
            ),
            (
                "[[phase]]\nname = 'a'\nrestart = true\nload = {}\n",
                Some("phase.0.length"),
            ),
            (
                "[[phase]]\nname = 'a'\nload = { pipeline = 0 }\n",
                Some("phase.0.load.pipeline"),
            ),
        ] {
            assert_eq!(fault(text).as_deref(), key, "{text}");
        }
        for (metric, key) in [
            ("info = 'x'", None),
            ("", Some("metric.m.info")),
            ("info = 'x'\nsmaps = 'Rss'", Some("metric.m.info")),
            ("info = 'x'\nphase = 'write'", Some("metric.m.phase")),
            ("info = 'x'\nscale = 0.0", Some("metric.m.scale")),
            ("command = 'x'\npattern = 'y'", Some("metric.m.pattern")),
        ] {
            assert_eq!(
                fault(&format!("{READ}[metric.m]\n{metric}\n")).as_deref(),
                key,
                "{metric}"
            );
        }
        assert_eq!(fault("[metric.m]\ninfo = 'x'\n"), None);
        assert_eq!(
            fault(&format!("{READ}{READ}")).as_deref(),
            Some("phase.1.name")
        );
    }

    #[test]
    fn every_metric_is_described() {
        let part: Part = toml::from_str(
            "[[phase]]\nname = 'fill'\nload = {}\n[metric.fork]\ninfo = 'latest_fork_usec'\nscale = 0.001\nunit = 'ms'\n",
        )
        .unwrap();
        let all = descriptions(&part.phase, &part.metric);
        assert_eq!(all["fork"].unit, "ms");
        assert_eq!(all["fill.throughput"].direction, Direction::HigherIsBetter);
        assert_eq!(all["fill.cpu_user"].unit, "s");
    }
}
