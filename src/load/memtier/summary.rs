//! The rows that both the table and the JSON show.

use crate::load::{CommandStats, Latency, LoadOutcome, Role, SecondStats};

/// One line of the table.
#[derive(Debug, Clone)]
pub struct Row {
    /// `Sets`, `Gets`, `Waits`, `Totals`, or the plural of a command of the user's own.
    pub title: String,
    /// Name of its latency distribution, where it has one.
    pub distribution: Option<String>,
    /// Whether latencies are shown.
    pub has_latency: bool,
    /// Operations.
    pub count: u64,
    /// Operations per second.
    pub ops_per_second: f64,
    /// Hits and misses per second, where the row has them.
    pub hits_and_misses: Option<(f64, f64)>,
    /// Bytes received per second.
    pub received_per_second: f64,
    /// Bytes sent per second.
    pub sent_per_second: f64,
    /// Latencies.
    pub latency: Latency,
    /// Second by second.
    pub series: Vec<(u64, SecondStats)>,
}

impl Row {
    fn new(title: &str, commands: &[&CommandStats], seconds: f64) -> Row {
        let sum = |value: fn(&CommandStats) -> u64| {
            commands.iter().map(|command| value(command)).sum::<u64>()
        };
        let rate = |count: u64| {
            if seconds > 0.0 {
                count as f64 / seconds
            } else {
                0.0
            }
        };
        let mut latency = Latency::default();
        for command in commands {
            latency.merge(&command.latency);
        }
        Row {
            title: title.to_owned(),
            distribution: None,
            has_latency: sum(|command| command.ops) > 0,
            count: sum(|command| command.ops),
            ops_per_second: rate(sum(|command| command.ops)),
            hits_and_misses: None,
            received_per_second: rate(sum(|command| command.received_bytes)),
            sent_per_second: rate(sum(|command| command.sent_bytes)),
            latency,
            series: Vec::new(),
        }
    }

    /// Bytes sent and received per second, in KiB.
    pub fn kb_per_second(&self) -> f64 {
        (self.received_per_second + self.sent_per_second) / 1024.0
    }
}

/// One run, or several together, under a title.
#[derive(Debug, Clone)]
pub struct RunSummary {
    /// `ALL STATS`, `BEST RUN RESULTS` and the like.
    pub title: String,
    /// Milliseconds since 1970; 0 for several runs together.
    pub started_ms: u64,
    /// Milliseconds since 1970; 0 for several runs together.
    pub finished_ms: u64,
    /// The lines, `Totals` last.
    pub rows: Vec<Row>,
    /// Whether the commands are the user's own: no hits and misses then.
    pub own_commands: bool,
}

impl RunSummary {
    /// Lays one run out.
    pub fn of(outcome: &LoadOutcome, title: &str) -> RunSummary {
        let total = &outcome.total;
        let seconds = total.duration_ns as f64 / 1e9;
        let own_commands = total
            .commands
            .iter()
            .any(|command| command.role == Role::Other);
        let mut rows = Vec::new();
        for (index, command) in total.commands.iter().enumerate() {
            let mut row = Row::new(&row_title(command), &[command], seconds);
            row.distribution = Some(command.name.clone());
            if command.role == Role::Get {
                row.hits_and_misses = Some((
                    command.hits as f64 / seconds.max(f64::MIN_POSITIVE),
                    command.misses as f64 / seconds.max(f64::MIN_POSITIVE),
                ));
            }
            row.series = outcome
                .series
                .iter()
                .filter_map(|second| Some((second.second, second.commands.get(index)?.clone())))
                .collect();
            rows.push(row);
        }
        if !own_commands {
            let mut waits = Row::new("Waits", &[], seconds);
            waits.distribution = Some("WAIT".to_owned());
            waits.series = outcome
                .series
                .iter()
                .map(|second| (second.second, nothing()))
                .collect();
            rows.push(waits);
        }
        let all: Vec<&CommandStats> = total.commands.iter().collect();
        let mut totals = Row::new("Totals", &all, seconds);
        totals.hits_and_misses = rows.iter().find_map(|row| row.hits_and_misses);
        totals.series = outcome
            .series
            .iter()
            .map(|second| (second.second, second.total.clone()))
            .collect();
        rows.push(totals);
        let started_ms = (outcome.started_unix_ns / 1_000_000) as u64;
        RunSummary {
            title: title.to_owned(),
            started_ms,
            finished_ms: started_ms + total.duration_ns / 1_000_000,
            rows,
            own_commands,
        }
    }

    /// The titles under which `runs` runs are shown; `all` shows each of them too.
    pub fn of_runs(outcomes: &[LoadOutcome], all: bool) -> Vec<RunSummary> {
        if let [outcome] = outcomes {
            return vec![RunSummary::of(outcome, "ALL STATS")];
        }
        let mut summaries = Vec::new();
        if all {
            for (index, outcome) in outcomes.iter().enumerate() {
                let title = format!("RUN #{} RESULTS", index + 1);
                summaries.push(RunSummary::of(outcome, &title));
            }
        }
        let rate = |outcome: &&LoadOutcome| outcome.total.ops_per_second();
        let by_rate = |a: &&LoadOutcome, b: &&LoadOutcome| rate(a).total_cmp(&rate(b));
        if let (Some(best), Some(worst)) = (
            outcomes.iter().max_by(by_rate),
            outcomes.iter().min_by(by_rate),
        ) {
            summaries.push(RunSummary::of(best, "BEST RUN RESULTS"));
            summaries.push(RunSummary::of(worst, "WORST RUN RESULTS"));
            summaries.extend(aggregate(outcomes));
        }
        summaries
    }
}

/// Counts and latencies together, rates as the mean of the runs.
fn aggregate(outcomes: &[LoadOutcome]) -> Option<RunSummary> {
    let runs = outcomes.len();
    let title = format!("AGGREGATED AVERAGE RESULTS ({runs} runs)");
    let mut each = outcomes
        .iter()
        .map(|outcome| RunSummary::of(outcome, &title));
    let mut sum = each.next()?;
    for run in each {
        for (mine, theirs) in sum.rows.iter_mut().zip(&run.rows) {
            mine.count += theirs.count;
            mine.has_latency |= theirs.has_latency;
            mine.ops_per_second += theirs.ops_per_second;
            mine.received_per_second += theirs.received_per_second;
            mine.sent_per_second += theirs.sent_per_second;
            if let (Some(mine), Some(theirs)) = (&mut mine.hits_and_misses, theirs.hits_and_misses)
            {
                mine.0 += theirs.0;
                mine.1 += theirs.1;
            }
            mine.latency.merge(&theirs.latency);
        }
    }
    let runs = runs as f64;
    for row in &mut sum.rows {
        row.ops_per_second /= runs;
        row.received_per_second /= runs;
        row.sent_per_second /= runs;
        if let Some((hits, misses)) = &mut row.hits_and_misses {
            *hits /= runs;
            *misses /= runs;
        }
        row.series.clear();
    }
    sum.started_ms = 0;
    sum.finished_ms = 0;
    Some(sum)
}

fn row_title(command: &CommandStats) -> String {
    let mut letters = command.name.chars();
    let first = letters.next().into_iter();
    first
        .chain(letters.flat_map(char::to_lowercase))
        .chain(['s'])
        .collect()
}

fn nothing() -> SecondStats {
    SecondStats {
        ops: 0,
        sent_bytes: 0,
        received_bytes: 0,
        latency_sum_ns: 0,
        min_ns: 0,
        max_ns: 0,
        percentiles_ns: Vec::new(),
    }
}
