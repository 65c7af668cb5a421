//! One thread: an epoll loop over its connections.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::client::{Client, Progress, Shared};
use super::clock::{monotonic_ns, thread_cpu_ns};
use super::connection::Address;
use super::control::{Control, Length, Report, Seconds, Times, WindowPart, requests};
use super::error::LoadError;
use super::recorder::Recorder;

/// Bytes read at once. What is read is used at once, so only its beginning is ever in the cache.
const READ_BUFFER: usize = 256 << 10;

/// How long a thread may sleep before it looks whether it should stop.
const NAP_NS: u64 = 50_000_000;

const SECOND_NS: u64 = 1_000_000_000;

/// What a timer's event carries in place of a client's index.
const TIMER: u64 = u64::MAX;

/// One thread's connections and counts.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    control: Arc<Control>,
    address: Address,
    epoll: OwnedFd,
    clients: Vec<Option<Client>>,
    open: usize,
    /// Clients that wait for a request to come due.
    schedule: BinaryHeap<Reverse<(u64, usize)>>,
    timer: OwnedFd,
    /// What the timer is set to; 0 for not set.
    timer_ns: u64,
    seconds: Option<Seconds>,
    /// The second of the run that replies count in, and its end on the monotonic clock.
    second: u64,
    second_end_ns: u64,
    parts: Vec<WindowPart>,
    window: u32,
    recorder: Recorder,
    /// CPU time of this thread when the window began.
    cpu_mark_ns: u64,
    times: Times,
    last_reply_ns: u64,
    scratch: Vec<u8>,
}

impl Worker {
    /// Opens the connections of thread `thread`, one after the other.
    pub fn connect(
        shared: Arc<Shared>,
        control: Arc<Control>,
        address: &Address,
        thread: u32,
        length: Length,
        seconds: Option<Seconds>,
    ) -> Result<Worker, LoadError> {
        let spec = &shared.spec;
        let start = |what| {
            move |source: Errno| LoadError::Start {
                what,
                source: source.into(),
            }
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(start("no epoll"))?;
        let timeout = Duration::from_secs(spec.stall_timeout);
        let mut clients = Vec::with_capacity(spec.clients as usize);
        for index in 0..spec.clients {
            if control.stopped() {
                return Err(LoadError::Cancelled);
            }
            let id = u64::from(thread) * u64::from(spec.clients) + u64::from(index);
            let socket = address.open(spec, id, timeout)?;
            epoll::add(
                &epoll,
                &socket,
                epoll::EventData::new_u64(index.into()),
                watched(false),
            )
            .map_err(start("a socket cannot be watched"))?;
            clients.push(Some(Client::new(
                id,
                socket,
                &shared,
                requests(spec, length, id),
            )));
        }
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )
        .map_err(start("no timer"))?;
        epoll::add(
            &epoll,
            &timer,
            epoll::EventData::new_u64(TIMER),
            epoll::EventFlags::IN | epoll::EventFlags::ET,
        )
        .map_err(start("a timer cannot be watched"))?;
        let recorder = Recorder::new(shared.templates.len(), seconds.is_some());
        Ok(Worker {
            control,
            address: address.clone(),
            epoll,
            schedule: BinaryHeap::new(),
            timer,
            timer_ns: 0,
            seconds,
            second: 0,
            second_end_ns: u64::MAX,
            open: clients.len(),
            clients,
            parts: Vec::new(),
            window: 0,
            recorder,
            cpu_mark_ns: 0,
            times: Times {
                start_ns: 0,
                deadline_ns: u64::MAX,
            },
            last_reply_ns: 0,
            scratch: Vec::with_capacity(64 << 10),
            shared,
        })
    }

    /// Runs until everything is answered, the time is up, or a stop.
    pub fn run(mut self, times: Times) -> Result<Report, LoadError> {
        self.times = times;
        if self.seconds.is_some() {
            self.second_end_ns = times.start_ns + SECOND_NS;
        }
        self.cpu_mark_ns = thread_cpu_ns();
        let now_ns = monotonic_ns();
        self.last_reply_ns = now_ns;
        for index in 0..self.clients.len() {
            if let Some(client) = &mut self.clients[index] {
                client.pace(&self.shared.spec, times.start_ns);
            }
            self.refill(index, now_ns)?;
        }
        let mut buffer = vec![0u8; READ_BUFFER];
        let mut events = Vec::with_capacity(self.clients.len().clamp(1, 512));
        let mut looked_ns = now_ns;
        let mut stalls_ns = now_ns;
        while self.open > 0 {
            if !self.schedule.is_empty() {
                self.send_what_is_due()?;
            }
            let nap = self.nap_ns(self.last_reply_ns.max(looked_ns));
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: nap as i64,
            };
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(source) => {
                    return Err(LoadError::Start {
                        what: "epoll does not wait",
                        source: source.into(),
                    });
                }
            }
            // The timer alone tells no time.
            let mut idle = true;
            for event in events.drain(..) {
                if event.data.u64() == TIMER {
                    continue;
                }
                idle = false;
                let (index, flags) = (event.data.u64() as usize, event.flags);
                if self.control.stopped() || !self.serve(index, flags, &mut buffer)? {
                    return self.finish();
                }
            }
            if idle || self.last_reply_ns.saturating_sub(looked_ns) > NAP_NS {
                let now_ns = monotonic_ns();
                looked_ns = now_ns;
                if self.control.stopped() {
                    return self.finish();
                }
                if now_ns >= self.times.deadline_ns {
                    self.look_for_silence(now_ns)?;
                    return self.finish();
                }
                if now_ns.saturating_sub(stalls_ns) > NAP_NS {
                    stalls_ns = now_ns;
                    self.look_for_stalls(now_ns)?;
                }
            }
        }
        self.finish()
    }

    fn nap_ns(&self, now_ns: u64) -> u64 {
        self.times.deadline_ns.saturating_sub(now_ns).min(NAP_NS)
    }

    /// Lets every client send whose time has come, and sets the timer to the next one.
    fn send_what_is_due(&mut self) -> Result<(), LoadError> {
        let now_ns = monotonic_ns();
        while let Some(Reverse((due_ns, index))) = self.schedule.peek().copied() {
            if due_ns > now_ns {
                break;
            }
            self.schedule.pop();
            if let Some(client) = &mut self.clients[index] {
                client.scheduled = false;
                self.refill(index, now_ns)?;
            }
        }
        let next_ns = self.schedule.peek().map_or(0, |Reverse((ns, _))| *ns);
        if next_ns != 0 && next_ns != self.timer_ns {
            let at = Itimerspec {
                it_interval: Timespec::default(),
                it_value: Timespec {
                    tv_sec: (next_ns / SECOND_NS) as i64,
                    tv_nsec: (next_ns % SECOND_NS) as i64,
                },
            };
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &at).map_err(|source| {
                LoadError::Start {
                    what: "a timer cannot be set",
                    source: source.into(),
                }
            })?;
            self.timer_ns = next_ns;
        }
        Ok(())
    }

    /// Serves one ready connection; false when the time is up.
    #[inline]
    fn serve(
        &mut self,
        index: usize,
        flags: epoll::EventFlags,
        buffer: &mut [u8],
    ) -> Result<bool, LoadError> {
        let Some(client) = &mut self.clients[index] else {
            return Ok(true);
        };
        if flags.contains(epoll::EventFlags::OUT) && client.flush(&self.shared)? == Progress::Open {
            watch(&self.epoll, client, index, false)?;
            self.refill(index, monotonic_ns())?;
        }
        let hung_up = flags
            .intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        let mut now_ns = 0;
        loop {
            let Some(client) = &mut self.clients[index] else {
                return Ok(true);
            };
            let Some(count) = client.read(&self.shared, buffer)? else {
                break;
            };
            now_ns = monotonic_ns();
            if now_ns >= self.times.deadline_ns {
                return Ok(false);
            }
            if now_ns >= self.second_end_ns {
                self.leave_second(now_ns);
            }
            let window = self.control.window.load(Ordering::Acquire);
            if window != self.window {
                self.enter(window);
            }
            let Some(client) = &mut self.clients[index] else {
                return Ok(true);
            };
            client.take(&self.shared, &buffer[..count], now_ns, &mut self.recorder)?;
            self.last_reply_ns = now_ns;
            // Edges are reported once: only a short read says that there is no more.
            if count < buffer.len() && !hung_up {
                break;
            }
        }
        if now_ns != 0 {
            self.refill(index, now_ns)?;
        }
        Ok(true)
    }

    #[inline]
    fn refill(&mut self, index: usize, now_ns: u64) -> Result<(), LoadError> {
        let Some(client) = &mut self.clients[index] else {
            return Ok(());
        };
        match client.refill(&self.shared, &mut self.scratch, now_ns)? {
            Progress::Open => {}
            Progress::Blocked => watch(&self.epoll, client, index, true)?,
            Progress::Later(due_ns) => {
                if !std::mem::replace(&mut client.scheduled, true) {
                    self.schedule.push(Reverse((due_ns, index)));
                }
            }
            Progress::Reconnect => return self.reconnect(index),
            Progress::Finished => {
                client.expect_silence(&self.shared, &mut self.recorder)?;
                // Closing takes it out of the epoll set.
                self.clients[index] = None;
                self.open -= 1;
            }
        }
        Ok(())
    }

    /// Closes a connection on which everything was answered, and goes on with a fresh one.
    #[cold]
    fn reconnect(&mut self, index: usize) -> Result<(), LoadError> {
        let Some(client) = &mut self.clients[index] else {
            return Ok(());
        };
        client.expect_silence(&self.shared, &mut self.recorder)?;
        let spec = &self.shared.spec;
        let timeout = Duration::from_secs(spec.stall_timeout);
        let socket = self.address.open(spec, client.id, timeout)?;
        epoll::add(
            &self.epoll,
            &socket,
            epoll::EventData::new_u64(index as u64),
            watched(false),
        )
        .map_err(|source| LoadError::Start {
            what: "a socket cannot be watched",
            source: source.into(),
        })?;
        client.reconnected(socket, spec);
        self.refill(index, monotonic_ns())
    }

    /// Hands in the second that has passed.
    #[cold]
    fn leave_second(&mut self, now_ns: u64) {
        let Some(seconds) = &self.seconds else {
            return;
        };
        let next = (now_ns - self.times.start_ns) / SECOND_NS;
        let counts = self.recorder.take_second();
        seconds
            .collector
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .leave(seconds.thread, self.second, counts, next);
        self.second = next;
        self.second_end_ns = self.times.start_ns + (next + 1) * SECOND_NS;
    }

    fn look_for_stalls(&self, now_ns: u64) -> Result<(), LoadError> {
        let seconds = self.shared.spec.stall_timeout;
        let limit_ns = seconds.saturating_mul(1_000_000_000);
        for client in self.clients.iter().flatten() {
            if client.outstanding() > 0 && now_ns.saturating_sub(client.heard_ns) > limit_ns {
                return Err(client.stalled(&self.shared, seconds));
            }
        }
        Ok(())
    }

    /// When the time is up: a server that has answered nothing at all has not been measured, however short
    /// the time was.
    fn look_for_silence(&self, now_ns: u64) -> Result<(), LoadError> {
        let has_answered = self.recorder.commands.iter().any(|command| command.ops > 0);
        if has_answered || !self.parts.is_empty() {
            return Ok(());
        }
        let owing = self.clients.iter().flatten().find(|c| c.outstanding() > 0);
        match owing {
            Some(client) => {
                let seconds = now_ns.saturating_sub(self.times.start_ns) / SECOND_NS;
                Err(client.stalled(&self.shared, seconds))
            }
            None => Ok(()),
        }
    }

    /// Counts in another window from now on.
    #[cold]
    fn enter(&mut self, window: u32) {
        let fresh = Recorder::new(self.shared.templates.len(), self.seconds.is_some());
        let recorder = std::mem::replace(&mut self.recorder, fresh);
        let cpu_ns = thread_cpu_ns();
        self.parts.push(WindowPart {
            window: self.window,
            recorder,
            cpu_ns: cpu_ns - self.cpu_mark_ns,
        });
        self.cpu_mark_ns = cpu_ns;
        self.window = window;
    }

    fn finish(mut self) -> Result<Report, LoadError> {
        if self.shared.spec.open_loop && self.times.deadline_ns != u64::MAX {
            let now_ns = monotonic_ns().min(self.times.deadline_ns);
            for client in self.clients.iter_mut().flatten() {
                client.give_up(now_ns, &mut self.recorder);
            }
        }
        if let Some(seconds) = &self.seconds {
            let counts = self.recorder.take_second();
            seconds
                .collector
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .leave(seconds.thread, self.second, counts, u64::MAX);
        }
        let window = self.window;
        self.enter(window);
        Ok(Report {
            parts: self.parts,
            last_reply_ns: self.last_reply_ns,
        })
    }
}

fn watched(writable: bool) -> epoll::EventFlags {
    let mut flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    if writable {
        flags |= epoll::EventFlags::OUT;
    }
    flags
}

fn watch(epoll: &OwnedFd, client: &Client, index: usize, writable: bool) -> Result<(), LoadError> {
    epoll::modify(
        epoll,
        client.socket(),
        epoll::EventData::new_u64(index as u64),
        watched(writable),
    )
    .map_err(|source| LoadError::Start {
        what: "a socket cannot be watched",
        source: source.into(),
    })
}
