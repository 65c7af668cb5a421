//! The rules of judging, as plan and workload say them together.

use crate::plan::{Better, CommandMetric, Direction, Judging, MetricDescription, Plan};
use crate::trial::TrialResult;

/// The rules of judging, with what the workload says about its metrics.
pub fn judging_of<'a>(plan: &Plan, results: impl Iterator<Item = &'a TrialResult>) -> Judging {
    let mut judging = plan.judging.clone();
    judging.seed = plan.experiment.seed;
    let is_default = judging.main_metric == Judging::default().main_metric;
    if let Some(phase) = plan.phase.first()
        && is_default
    {
        let of_phase = match phase.load {
            Some(_) => "throughput",
            None => "duration",
        };
        judging.main_metric = format!("{}.{of_phase}", phase.name);
    } else if let Some(program) = &plan.load_program
        && is_default
    {
        judging.main_metric = program.main_metric().to_owned();
    }
    if plan.load_program.is_some() || !plan.phase.is_empty() || !plan.metric.is_empty() {
        // The plan's own descriptions come first.
        for (name, description) in results.flat_map(|result| &result.descriptions) {
            let described = judging.metrics.entry(name.clone());
            described.or_insert_with(|| description.clone());
        }
    }
    if let Some(command) = &plan.command {
        judging.main_metric = match command.metric {
            CommandMetric::Wall => "wall_time",
            CommandMetric::Cpu => "cpu_time",
            CommandMetric::Output => "output",
        }
        .to_owned();
        if command.metric == CommandMetric::Output {
            let description = MetricDescription {
                unit: command.unit.clone().unwrap_or_default(),
                direction: match command.better {
                    Better::Higher => Direction::HigherIsBetter,
                    Better::Lower => Direction::LowerIsBetter,
                },
            };
            judging.metrics.insert("output".to_owned(), description);
        }
    }
    judging
}
