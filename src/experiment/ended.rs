//! How an experiment ended, as the store keeps it: one form for compare, bisect and matrix.

use serde::Serialize;

use crate::store::{ExperimentState, Finish};

use super::error::ExperimentError;

/// What is kept of an outcome; `done` tells the state and the line of a report.
pub fn ended<R: Serialize>(
    outcome: &Result<R, ExperimentError>,
    done: impl FnOnce(&R) -> (ExperimentState, String),
) -> Finish {
    match outcome {
        Ok(report) => {
            let (state, summary) = done(report);
            Finish {
                state,
                summary,
                outcome: serde_json::to_value(report).unwrap_or_default(),
            }
        }
        Err(error) => {
            let text = error.to_string();
            Finish {
                state: match error {
                    ExperimentError::Interrupted | ExperimentError::OtherKernel { .. } => {
                        ExperimentState::Interrupted
                    }
                    _ => ExperimentState::Failed,
                },
                summary: text.lines().next().unwrap_or_default().to_owned(),
                outcome: serde_json::Value::String(text),
            }
        }
    }
}
