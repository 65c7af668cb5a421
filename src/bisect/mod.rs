//! Posterior, choice of the next commit, certificate. Pure.
//!
//! A history is a line of *classes*: commits that cannot differ are one class, class 0 is GOOD's
//! and the last is BAD's. The search asks at which class the measured value steps from GOOD's level
//! to BAD's. [`Search`] is a fold over [`Observation`]s: the same setup, seed and observations give
//! the same state and the same next [`Step`], so that a bisect that was stopped goes on from the
//! stored observations.

mod certificate;
mod choice;
mod conclusion;
mod endpoints;
mod flake;
mod hypotheses;
mod information;
mod level;
mod observation;
mod posterior;
mod search;
mod setup;
mod suspects;

pub use certificate::Certificate;
pub use choice::Step;
pub use conclusion::{Conclusion, Culprit, Estimate, Suspects, Undecided};
pub use observation::{Observation, Purpose, Trial};
pub use posterior::Posterior;
pub use search::{Counts, Search};
pub use setup::{Change, Class, Response, Setup, Side};
