//! From a trial to the one number that a search looks at.

use crate::experiment::ExperimentError;
use crate::profile::FunctionId;

use super::bench::{Raw, Values};
use super::function_cost::{CostKind, Reference};
use super::function_name::{FunctionName, NotOne};
use super::journal::Gauge;
use super::request::Measured;

/// Turns trials into values. Costs and metrics are on a log scale, so that a difference is a ratio;
/// an answer of the user's command is 0 or 1.
#[derive(Debug, Clone)]
pub struct Meter {
    measured: Measured,
    metric: String,
    /// Whether 1 stands for the answer "good": the user called the newer end GOOD.
    swapped: bool,
    scale: Option<Scale>,
}

#[derive(Debug, Clone)]
enum Scale {
    Function {
        id: FunctionId,
        cost: CostKind,
        reference: Reference,
    },
    Metric {
        unit: f64,
    },
}

impl Meter {
    /// A meter that has not been set; `metric` is the workload's main one.
    pub fn new(measured: &Measured, main_metric: &str, swapped: bool) -> Self {
        let metric = match measured {
            Measured::Metric { name: Some(name) } => name.clone(),
            _ => main_metric.to_owned(),
        };
        Self {
            measured: measured.clone(),
            metric,
            swapped,
            scale: None,
        }
    }

    /// The metric that is looked at.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// The function that is looked at, once it is known.
    pub fn function(&self) -> Option<&FunctionId> {
        match &self.scale {
            Some(Scale::Function { id, .. }) => Some(id),
            _ => None,
        }
    }

    /// Which of the function's costs is looked at, once it is known.
    pub fn cost(&self) -> Option<CostKind> {
        match &self.scale {
            Some(Scale::Function { cost, .. }) => Some(*cost),
            _ => None,
        }
    }

    /// Whether trials have to be seen before any of them has a value.
    pub fn is_set(&self) -> bool {
        self.scale.is_some() || matches!(self.measured, Measured::Script { .. })
    }

    /// Whether a trial of each end is needed to set it: a function may exist on one side only.
    pub fn needs_both_ends(&self) -> bool {
        matches!(self.measured, Measured::Function { .. })
    }

    /// Takes up what was fixed earlier; `reference` is the trial that a function's gauge names.
    pub fn set(&mut self, gauge: &Gauge, reference: Option<&Raw>) -> Result<(), ExperimentError> {
        self.scale = Some(match gauge {
            Gauge::Metric { first } => Scale::Metric { unit: unit(*first) },
            Gauge::Function { id, cost, .. } => {
                let reference = reference.and_then(|raw| match &raw.values {
                    Values::Measured(trial) => Reference::of(trial),
                    Values::Script { .. } => None,
                });
                Scale::Function {
                    id: id.clone(),
                    cost: *cost,
                    reference: reference.ok_or_else(no_samples)?,
                }
            }
        });
        Ok(())
    }

    /// What the first trials fix.
    pub fn gauge(&self, first: &[Raw]) -> Result<Gauge, ExperimentError> {
        let Some(reference) = first.first() else {
            return Err(no_samples());
        };
        match &self.measured {
            Measured::Function { name } => {
                let id = find(name, first)?;
                let cost = match first.iter().map(|raw| &raw.values).collect::<Vec<_>>()[..] {
                    [Values::Measured(good), Values::Measured(bad)] => {
                        CostKind::telling(&id, [good, bad])
                    }
                    _ => CostKind::default(),
                };
                Ok(Gauge::Function {
                    id,
                    reference: reference.stored,
                    cost,
                })
            }
            _ => Ok(Gauge::Metric {
                first: self
                    .of_metric(reference)
                    .ok_or_else(|| self.no_metric(reference))?,
            }),
        }
    }

    /// The value of a trial, or why it has none.
    pub fn value(&self, raw: &Raw) -> Result<f64, String> {
        match (&raw.values, &self.scale) {
            (Values::Script { is_bad }, _) => Ok(f64::from(u8::from(*is_bad != self.swapped))),
            (
                Values::Measured(trial),
                Some(Scale::Function {
                    id,
                    cost,
                    reference,
                }),
            ) => reference
                .value(id, *cost, trial)
                .ok_or_else(|| "its profile has no samples".to_owned()),
            (Values::Measured(_), Some(Scale::Metric { unit })) => self
                .of_metric(raw)
                .map(|value| (value / (2.0 * unit)).asinh())
                .ok_or_else(|| format!("its trial has no metric `{}`", self.metric)),
            (Values::Measured(_), None) => Err("nothing to compare it with".to_owned()),
        }
    }

    fn of_metric(&self, raw: &Raw) -> Option<f64> {
        let Values::Measured(trial) = &raw.values else {
            return None;
        };
        let value = trial.metrics.get(&self.metric).copied();
        value.filter(|value| value.is_finite())
    }

    fn no_metric(&self, raw: &Raw) -> ExperimentError {
        let there = match &raw.values {
            Values::Measured(trial) => trial.metrics.keys().cloned().collect(),
            Values::Script { .. } => Vec::new(),
        };
        ExperimentError::Ends(format!(
            "the first trial does not measure the metric `{}`; there are {}",
            self.metric,
            there.join(", ")
        ))
    }
}

/// A thousandth of the first value: the inverse hyperbolic sine of a value in such units is its
/// logarithm to within a millionth, and goes through 0 without harm.
fn unit(first: f64) -> f64 {
    match first.abs() * 1e-3 {
        unit if unit > 0.0 => unit,
        _ => 1.0,
    }
}

fn find(name: &str, trials: &[Raw]) -> Result<FunctionId, ExperimentError> {
    let tables = trials.iter().filter_map(|raw| match &raw.values {
        Values::Measured(trial) => trial.functions.as_ref(),
        Values::Script { .. } => None,
    });
    let seen: std::collections::BTreeSet<&FunctionId> =
        tables.flat_map(|table| table.rows.keys()).collect();
    FunctionName::parse(name)
        .find(seen.iter().copied())
        .map_err(|error| {
            ExperimentError::Ends(match error {
                NotOne::Several(names) => format!(
                    "`{name}` is the name of several functions; say which one:\n  {}",
                    names.join("\n  ")
                ),
                NotOne::None(similar) if similar.is_empty() => format!(
                    "no sample of GOOD or BAD holds a function named `{name}`; longer windows \
                     (windows.profile) or another load may reach it"
                ),
                NotOne::None(similar) => format!(
                    "no sample of GOOD or BAD holds a function named `{name}`; there is\n  {}",
                    similar.join("\n  ")
                ),
            })
        })
}

fn no_samples() -> ExperimentError {
    ExperimentError::Ends(
        "the first trial has no samples: is the subject ever busy in windows.profile?".to_owned(),
    )
}
