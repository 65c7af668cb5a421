//! Tests, intervals and corrections, each with its formula and source. Pure.

mod benjamini_hochberg;
mod bootstrap;
mod gamma;
mod looks;
mod mann_whitney;
mod max_t;
mod moderated;
mod power;
mod random;
mod sign_flip;
mod size_factor;
mod student;
mod summary;
mod t_test;
pub mod table;

pub use benjamini_hochberg::benjamini_hochberg;
pub use bootstrap::bootstrap_interval;
pub use gamma::{digamma, inverse_trigamma, trigamma};
pub use looks::{Look, Looks};
pub use mann_whitney::{MannWhitney, mann_whitney};
pub use max_t::{Adjusted, Family, Hypothesis, step_down, t_of_score};
pub use moderated::{Prior, VariancePrior};
pub use power::{blocks_to_detect, detectable_difference};
pub use random::SplitMix64;
pub use sign_flip::{SignFlips, blocks_to_reach, sign_flip_p};
pub use size_factor::log_size_factors;
pub use student::{normal_two_sided, normal_two_sided_quantile, t_two_sided, t_two_sided_quantile};
pub use summary::{mean, median, quantile, quantile_sorted, variance, weighted_median};
pub use t_test::{TTest, TTestError, paired, student, welch};
