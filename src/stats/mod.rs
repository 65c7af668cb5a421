//! Tests, intervals and corrections, each with its formula and source. Pure.

mod gamma;
mod max_t;
mod moderated;
mod random;
mod sign_flip;
mod size_factor;
mod student;
mod summary;
mod t_test;
pub mod table;

pub use max_t::{Adjusted, Family, Hypothesis, step_down, t_of_score};
pub use moderated::{Prior, VariancePrior};
pub use random::SplitMix64;
pub use sign_flip::{SignFlips, blocks_to_reach, sign_flip_p};
pub use size_factor::log_size_factors;
pub use student::{normal_two_sided, normal_two_sided_quantile, t_two_sided, t_two_sided_quantile};
pub use summary::{mean, median, quantile, quantile_sorted, variance, weighted_median};
pub use t_test::{TTest, TTestError, paired, student, welch};
