//! Replies that share a latency.

use crate::load::recorder::Recorder;

use super::InFlight;

/// Replies in a row of one command that were sent at one time: their latency is recorded at once.
#[derive(Default)]
pub(super) struct Run {
    pub command: u32,
    pub sent_ns: u64,
    pub count: u64,
}

impl Run {
    #[inline]
    pub fn continues(&self, request: &InFlight) -> bool {
        self.count > 0 && self.sent_ns == request.sent_ns && self.command == request.command
    }

    #[inline]
    pub fn end(&self, now_ns: u64, recorder: &mut Recorder) {
        if self.count > 0 {
            recorder.commands[self.command as usize]
                .latency(now_ns.saturating_sub(self.sent_ns), self.count);
        }
    }
}
