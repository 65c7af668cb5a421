//! The wish of the user that everything stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that Ctrl-C (SIGINT), SIGTERM and SIGHUP set; clones share it.
///
/// A second signal while the first is being honoured ends the process at once: guards then clean up.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Makes a flag that signals set. To be called once, early in a command.
    pub fn on_signals() -> std::io::Result<Self> {
        let cancel = Self::default();
        for signal in [
            signal_hook::consts::SIGINT,
            signal_hook::consts::SIGTERM,
            signal_hook::consts::SIGHUP,
        ] {
            // The order matters: the shutdown handler must see the flag of an earlier signal only.
            signal_hook::flag::register_conditional_shutdown(signal, 130, cancel.0.clone())?;
            signal_hook::flag::register(signal, cancel.0.clone())?;
        }
        Ok(cancel)
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the flag, as a signal would.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The shared flag itself, for code that knows nothing of signals.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}
