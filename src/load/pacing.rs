//! When a connection may send, under `rate-limiting`.

/// The schedule of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Pacing {
    interval_ns: f64,
    /// When the next request is due, in nanoseconds of the monotonic clock.
    due_ns: f64,
    /// Keeps to the schedule however late it is.
    open_loop: bool,
    /// Requests that may be caught up with where the loop is closed.
    burst: f64,
}

impl Pacing {
    /// `rate` requests per second, the first at `start_ns` and `phase` (0 to 1) of an interval.
    pub fn new(rate: u64, start_ns: u64, phase: f64, open_loop: bool, pipeline: u32) -> Pacing {
        let interval_ns = 1e9 / rate.max(1) as f64;
        Pacing {
            interval_ns,
            due_ns: start_ns as f64 + phase * interval_ns,
            open_loop,
            burst: f64::from(pipeline),
        }
    }

    /// How many requests are due at `now_ns`.
    ///
    /// A closed loop gives up what it is late with, but for a pipeline's worth: it asks for as
    /// much as it can get, not for more later.
    pub fn due(&mut self, now_ns: u64) -> u64 {
        let now = now_ns as f64;
        if !self.open_loop {
            self.due_ns = self.due_ns.max(now - self.burst * self.interval_ns);
        }
        if now < self.due_ns {
            0
        } else {
            ((now - self.due_ns) / self.interval_ns) as u64 + 1
        }
    }

    /// Takes one request, and returns when it was due.
    pub fn take(&mut self) -> u64 {
        let due = self.due_ns;
        self.due_ns += self.interval_ns;
        due as u64
    }

    /// When the next request is due.
    pub fn next_ns(&self) -> u64 {
        self.due_ns.ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_due_at_the_rate() {
        let mut pacing = Pacing::new(1000, 5_000_000, 0.5, true, 1);
        assert_eq!(pacing.due(5_499_999), 0);
        assert_eq!(pacing.next_ns(), 5_500_000);
        assert_eq!(pacing.due(5_500_000), 1);
        assert_eq!(pacing.take(), 5_500_000);
        assert_eq!(pacing.due(6_499_999), 0);
        assert_eq!(pacing.due(8_500_000), 3);
    }

    #[test]
    fn an_open_loop_catches_up_and_a_closed_one_gives_up() {
        let second = 1_000_000_000;
        let mut open = Pacing::new(1000, 0, 0.0, true, 4);
        let mut closed = Pacing::new(1000, 0, 0.0, false, 4);
        assert_eq!(open.due(second), 1001);
        assert_eq!(closed.due(second), 5);
        assert_eq!(closed.take(), second - 4_000_000);
    }
}
