//! One thread of a run.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::client::Shared;
use super::connection::Address;
use super::control::{Control, Length, Report, Seconds, Times, pin};
use super::error::LoadError;
use super::worker::Worker;

/// What a thread takes along.
pub(crate) struct Thread {
    pub shared: Arc<Shared>,
    pub control: Arc<Control>,
    pub failure: Arc<Mutex<Option<LoadError>>>,
    pub address: Address,
    pub index: u32,
    pub cpu: Option<usize>,
    pub length: Length,
    pub seconds: Option<Seconds>,
}

impl Thread {
    /// Connects, says so to `ready`, waits for the deadline from `gate`, and loads.
    pub fn run(self, ready: SyncSender<bool>, gate: Receiver<Times>) -> Option<Report> {
        let worker = match self.connect() {
            Ok(worker) => worker,
            Err(error) => {
                self.fail(error);
                let _ = ready.send(false);
                return None;
            }
        };
        ready.send(true).ok()?;
        drop(ready);
        // Nothing comes where another thread could not connect.
        let times = gate.recv().ok()?;
        match worker.run(times) {
            Ok(report) => Some(report),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    fn connect(&self) -> Result<Worker, LoadError> {
        if let Some(cpu) = self.cpu {
            pin(cpu)?;
        }
        Worker::connect(
            self.shared.clone(),
            self.control.clone(),
            &self.address,
            self.index,
            self.length,
            self.seconds.clone(),
        )
    }

    /// Keeps the first error, and stops the other threads: nothing of the run counts.
    fn fail(&self, error: LoadError) {
        let mut failure = lock(&self.failure);
        if !self.control.stop.swap(true, Ordering::Relaxed) || failure.is_none() {
            failure.get_or_insert(error);
        }
    }
}

/// Locks, also after a thread has panicked with it: what is held is whole at any time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
