//! What a run needs to know beside the load itself.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a run needs to know beside the load itself.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// CPUs of the client threads: thread i is bound to the i-th, beginning again at the first
    /// where there are more threads. Empty: not bound.
    pub cpus: Vec<usize>,
    /// Set from outside to end the run with [`LoadError::Cancelled`](super::LoadError::Cancelled).
    pub cancel: Arc<AtomicBool>,
    /// Percentiles of a series by the second; `None` for no series. A bounded run only has one.
    pub series: Option<Vec<f64>>,
    /// Told of every whole second of a bounded run that has a series: its number from 0, and the
    /// operations in it.
    pub on_second: Option<OnSecond>,
}

/// Is called with the number of a second and the operations in it.
#[derive(Clone)]
pub struct OnSecond(
    /// What to call; from the thread that runs the load.
    pub Arc<dyn Fn(u64, u64) + Send + Sync>,
);

impl fmt::Debug for OnSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnSecond")
    }
}
