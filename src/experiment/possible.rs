//! Whether trials can be carried out here at all: better asked before anything is built.

use crate::executor::guest::{Programs, check_memory};
use crate::plan::Plan;
use crate::trial::TrialError;

/// Checks what every trial of a plan needs of this machine: programs and memory for a guest, or else
/// the right to sample. What a guest can sample is known only once it runs.
pub fn check_possible(plan: &Plan, samples: bool) -> Result<(), TrialError> {
    if plan.boots_guest() {
        let memory = plan.guest.clone().unwrap_or_default().memory;
        Programs::find()
            .and_then(|_| check_memory(memory))
            .map_err(|error| TrialError::Setup(error.to_string()))
    } else if samples {
        crate::sample::check(&plan.sampling)
            .map_err(|error| TrialError::Sampling(error.to_string()))
    } else {
        Ok(())
    }
}
