//! One connection: what it asks next, what it waits for, and what comes back.

mod fault;
mod run;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::load::command::{CommandTemplate, Expect, Values};
use crate::load::error::{LoadError, escape};
use crate::load::keys::{KeySource, Rng};
use crate::load::pacing::Pacing;
use crate::load::recorder::Recorder;
use crate::load::reply::{Reply, ReplyParser};
use crate::plan::load::{KeyPattern, LoadSpec};

use fault::{Refusal, render};
use run::Run;

/// What all clients of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The specification.
    pub spec: LoadSpec,
    /// Commands of a round, with the number of times that each is sent in a row.
    pub templates: Vec<(CommandTemplate, u32)>,
    /// Values to be cloned for every client.
    pub values: Values,
    /// Seed of this run.
    pub seed: u64,
}

/// A command that was sent and not answered.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    key: u64,
    /// Under an open loop when sending was due.
    sent_ns: u64,
    wire: u32,
    command: u32,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Client {
    /// Number over all threads.
    pub id: u64,
    socket: OwnedFd,
    parser: ReplyParser,
    in_flight: VecDeque<InFlight>,
    /// Place in the round: command, and how often it is still to be sent in a row.
    turn: (usize, u32),
    keys: Vec<KeySource>,
    key_rng: Rng,
    values: Values,
    /// Requests that may still be sent; `u64::MAX` stands for no limit.
    left: u64,
    /// Requests until the connection is opened anew; `u64::MAX` for never.
    until_reconnect: u64,
    pacing: Option<Pacing>,
    /// Whether the thread will call again when the next request is due.
    pub scheduled: bool,
    /// What the kernel did not take yet.
    unsent: Vec<u8>,
    last: (u32, u64),
    /// When the server was last heard, or first owed something, in nanoseconds.
    pub heard_ns: u64,
}

/// What became of a readiness event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is more to come.
    Open,
    /// Everything was sent, but the kernel did not take all of it: wait until it is writable.
    Blocked,
    /// Nothing is due before that time of the monotonic clock, in nanoseconds.
    Later(u64),
    /// Everything on this connection was answered, and the next one is due.
    Reconnect,
    /// Everything was asked and answered.
    Finished,
}

fn reconnect_interval(spec: &LoadSpec) -> u64 {
    match spec.reconnect_interval {
        0 => u64::MAX,
        requests => requests,
    }
}

impl Client {
    /// A client on an open connection, with nothing sent.
    pub fn new(id: u64, socket: OwnedFd, shared: &Shared, left: u64) -> Client {
        let spec = &shared.spec;
        let stream = if spec.distinct_client_seed { id } else { 0 };
        let patterns: Vec<_> = if spec.command.is_empty() {
            vec![spec.key_pattern.set, spec.key_pattern.get]
        } else {
            spec.command_rounds()
                .map(|(_, _, pattern)| pattern)
                .collect()
        };
        Client {
            id,
            socket,
            parser: crate::load::connection::parser(spec),
            in_flight: VecDeque::with_capacity(spec.pipeline as usize),
            turn: (0, shared.templates[0].1),
            keys: patterns
                .into_iter()
                .zip(&shared.templates)
                .map(|(pattern, (_, ratio))| {
                    // What is never sent needs no keys, and may have none: P with few keys.
                    let pattern = if *ratio == 0 {
                        KeyPattern::Random
                    } else {
                        pattern
                    };
                    KeySource::new(pattern, spec, id)
                })
                .collect(),
            key_rng: Rng::new(shared.seed, 2 * stream),
            values: shared
                .values
                .with_rng(Rng::new(shared.seed, 2 * stream + 1)),
            left,
            until_reconnect: reconnect_interval(spec),
            pacing: None,
            scheduled: false,
            unsent: Vec::new(),
            last: (0, 0),
            heard_ns: 0,
        }
    }

    /// Sends by a schedule that begins at `start_ns`. Connections begin one after the other, so
    /// that they do not all send at the same moments.
    pub fn pace(&mut self, spec: &LoadSpec, start_ns: u64) {
        let phase = self.id as f64 / spec.connections() as f64;
        self.pacing = spec
            .rate_limiting
            .map(|rate| Pacing::new(rate, start_ns, phase, spec.open_loop, spec.pipeline));
    }

    /// Goes on with another connection. Nothing may be outstanding.
    pub fn reconnected(&mut self, socket: OwnedFd, spec: &LoadSpec) {
        self.socket = socket;
        self.parser = crate::load::connection::parser(spec);
        self.until_reconnect = reconnect_interval(spec);
    }

    /// The socket, to be watched.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Commands that wait for their reply.
    pub fn outstanding(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether nothing is owed and nothing more will be asked on this connection.
    fn is_done(&self) -> bool {
        self.in_flight.is_empty() && (self.left == 0 || self.until_reconnect == 0)
    }

    /// In an open loop, records for how long what was due has waited in vain when the time was up: those
    /// requests are no operations, but a stall at the end must not be left out of the latencies.
    pub fn give_up(&mut self, now_ns: u64, recorder: &mut Recorder) {
        for request in self.in_flight.drain(..) {
            let waited = now_ns.saturating_sub(request.sent_ns);
            recorder.commands[request.command as usize].latency(waited, 1);
        }
        let Some(pacing) = &mut self.pacing else {
            return;
        };
        let command = self.turn.0;
        for _ in 0..pacing.due(now_ns) {
            let waited = now_ns.saturating_sub(pacing.take());
            recorder.commands[command].latency(waited, 1);
        }
    }

    /// Command and key that come next.
    #[inline]
    fn next_request(&mut self, shared: &Shared) -> (usize, u64) {
        while self.turn.1 == 0 {
            let next = (self.turn.0 + 1) % shared.templates.len();
            self.turn = (next, shared.templates[next].1);
        }
        self.turn.1 -= 1;
        let command = self.turn.0;
        let key = self.keys[command].draw(&mut self.key_rng);
        (command, key)
    }

    /// Fills the pipeline once half of it has been answered, and sends all of that at once.
    ///
    /// `scratch` is a buffer to encode into; `now_ns` becomes the time of sending.
    #[inline]
    pub fn refill(
        &mut self,
        shared: &Shared,
        scratch: &mut Vec<u8>,
        now_ns: u64,
    ) -> Result<Progress, LoadError> {
        let pipeline = shared.spec.pipeline as usize;
        let outstanding = self.in_flight.len();
        if self.left == 0 {
            return Ok(if outstanding == 0 {
                Progress::Finished
            } else {
                Progress::Open
            });
        }
        if self.until_reconnect == 0 && outstanding == 0 {
            return Ok(Progress::Reconnect);
        }
        if !self.unsent.is_empty() {
            return Ok(Progress::Open);
        }
        let room = ((pipeline - outstanding) as u64)
            .min(self.left)
            .min(self.until_reconnect);
        let count = match &mut self.pacing {
            None if outstanding * 2 > pipeline => 0,
            None => room,
            Some(_) if room == 0 => 0,
            Some(pacing) => match pacing.due(now_ns) {
                0 => return Ok(Progress::Later(pacing.next_ns())),
                due => room.min(due),
            },
        };
        if count == 0 {
            return Ok(Progress::Open);
        }
        if outstanding == 0 {
            self.heard_ns = now_ns;
        }
        if self.left != u64::MAX {
            self.left -= count;
        }
        if self.until_reconnect != u64::MAX {
            self.until_reconnect -= count;
        }
        let open_loop = shared.spec.open_loop;
        scratch.clear();
        for _ in 0..count {
            let (command, key) = self.next_request(shared);
            let due_ns = self.pacing.as_mut().map(Pacing::take);
            let before = scratch.len();
            let (source, rng) = (&mut self.keys[command], &mut self.key_rng);
            shared.templates[command]
                .0
                .encode(key, || source.draw(rng), &mut self.values, scratch);
            self.in_flight.push_back(InFlight {
                key,
                sent_ns: due_ns.filter(|_| open_loop).unwrap_or(now_ns),
                wire: (scratch.len() - before) as u32,
                command: command as u32,
            });
        }
        if let Some(last) = self.in_flight.back() {
            self.last = (last.command, last.key);
        }
        let sent = self.send(shared, scratch)?;
        if sent == scratch.len() {
            let room = room > count;
            let next = self.pacing.as_ref().filter(|_| room).map(Pacing::next_ns);
            return Ok(next.map_or(Progress::Open, Progress::Later));
        }
        self.unsent.extend_from_slice(&scratch[sent..]);
        Ok(Progress::Blocked)
    }

    /// Sends what the kernel did not take before.
    pub fn flush(&mut self, shared: &Shared) -> Result<Progress, LoadError> {
        let unsent = std::mem::take(&mut self.unsent);
        let sent = self.send(shared, &unsent)?;
        if sent == unsent.len() {
            return Ok(Progress::Open);
        }
        self.unsent = unsent;
        self.unsent.drain(..sent);
        Ok(Progress::Blocked)
    }

    fn send(&self, shared: &Shared, bytes: &[u8]) -> Result<usize, LoadError> {
        let mut sent = 0;
        while sent < bytes.len() {
            match send(&self.socket, &bytes[sent..], SendFlags::NOSIGNAL) {
                Ok(count) => sent += count,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.broken(shared, error)),
            }
        }
        Ok(sent)
    }

    /// Reads once. `None`: there is nothing to read now.
    #[inline]
    pub fn read(&self, shared: &Shared, buffer: &mut [u8]) -> Result<Option<usize>, LoadError> {
        loop {
            match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                // All was answered: to close now is the server's good right.
                Ok((0, _)) if self.is_done() => return Ok(None),
                Ok((0, _)) => return Err(self.closed(shared)),
                Ok((count, _)) => return Ok(Some(count)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.broken(shared, error)),
            }
        }
    }

    /// Takes every reply that ends in `bytes`, read at `now_ns`, and counts it.
    #[inline]
    pub fn take(
        &mut self,
        shared: &Shared,
        bytes: &[u8],
        now_ns: u64,
        recorder: &mut Recorder,
    ) -> Result<(), LoadError> {
        self.heard_ns = now_ns;
        let in_flight = &mut self.in_flight;
        let mut run = Run::default();
        let fed = self.parser.feed(bytes, |reply, wire| {
            let Some(request) = in_flight.pop_front() else {
                return Err(Refusal::Unasked(render(reply)));
            };
            let expect = shared.templates[request.command as usize].0.expect;
            let counts = &mut recorder.commands[request.command as usize];
            match (expect, reply) {
                (_, Reply::Error(text)) => return Err(Refusal::Error(request, escape(text))),
                (Expect::Value, Reply::Value(_)) => counts.hits += 1,
                (Expect::Value, Reply::Nil) => counts.misses += 1,
                (Expect::Ok, Reply::Simple(b"OK"))
                | (Expect::Stored, Reply::Simple(b"STORED"))
                | (Expect::Any, _) => {}
                // memcached leaves misses out.
                (Expect::Values(keys), Reply::Array { elements, nils })
                    if elements == keys || (elements < keys && !shared.spec.protocol.is_resp()) =>
                {
                    counts.hits += elements - nils;
                    counts.misses += keys - (elements - nils);
                }
                (Expect::Values(keys), Reply::Value(_)) if !shared.spec.protocol.is_resp() => {
                    counts.hits += 1;
                    counts.misses += keys - 1;
                }
                (Expect::Values(keys), Reply::Nil) if !shared.spec.protocol.is_resp() => {
                    counts.misses += keys;
                }
                (expect, reply) => {
                    return Err(Refusal::Wrong(request, expect.describe(), render(reply)));
                }
            }
            counts.ops += 1;
            counts.received_bytes += wire;
            counts.sent_bytes += u64::from(request.wire);
            if run.continues(&request) {
                run.count += 1;
            } else {
                run.end(now_ns, recorder);
                run = Run {
                    command: request.command,
                    sent_ns: request.sent_ns,
                    count: 1,
                };
            }
            Ok(())
        });
        match fed {
            Ok(()) => {
                run.end(now_ns, recorder);
                Ok(())
            }
            Err(stop) => Err(self.refused(shared, stop)),
        }
    }

    /// Everything was answered: what comes now was not asked for.
    pub fn expect_silence(
        &mut self,
        shared: &Shared,
        recorder: &mut Recorder,
    ) -> Result<(), LoadError> {
        let mut buffer = [0u8; 512];
        // A server may close by itself now; that is its good right.
        if let Ok(Some(count)) = self.read(shared, &mut buffer) {
            self.take(shared, &buffer[..count], self.heard_ns, recorder)?;
        }
        Ok(())
    }
}
