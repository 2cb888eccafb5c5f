//! How long a connection may stay in which phase.
//!
//! hyper has one timer for "waiting for a head", which cannot tell a connection that rests from one that
//! has begun a request and never ends it. The API server keeps idle connections for 90 s and does not
//! retry a POST when it finds one closed, so the first must live; the second must die. So bytes and requests
//! are noted here as they pass, and [`Guard::watch`] ends the connection when a phase lasts too long.
//!
//! `places` and `budget` evict connections when their slots or bytes are needed: a connection is closed only if it
//! is still stuck in the phase it was evicted for. Nothing here knows HTTP. `connection` puts it around each
//! connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

mod stream;
mod watch;

pub(super) use stream::{Guarded, GuardedBody};
pub(super) use watch::{Ended, Watch};

/// What a connection is doing. Each follows the one before it, round and round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No request has begun, and nothing is on its way out.
    Idle = 0,
    /// It is half-open: the first byte of a request has come, and its head has not ended. A connection
    /// begins in this phase, with the handshake.
    Head = 1,
    /// A handler has the request, and its body has not ended. The handler has a time limit of its own for it.
    Body = 2,
    /// The handler has all of the request.
    Service = 3,
    /// The response is on its way out. A client that does not read keeps it in memory.
    Response = 4,
}

/// How many phases there are.
const PHASES: u64 = 5;

/// The fewest bytes a second at which a body may arrive once its slot or its bytes are needed: a byte now and then must
/// not keep a connection.
const SLOW_BODY: u64 = 16 * 1024;

/// What has arrived must be as much as arrives in so many seconds at the rate of now, if that is more than [`SLOW_BODY`]. A
/// body has 10 s in all, so one that is in time is as fast. One that has sent megabytes and then hardly anything holds them.
const BODY_SECONDS: u64 = 10;

/// A client that sends a body at once sends more than this in each record of TLS.
const MANY_BYTES: u64 = 1024;

/// How long a client that has been answered before is not yet taken for one that gets stuck: heads, bodies and
/// responses pass in less.
const PASSING: Duration = Duration::from_millis(50);

/// The phase of one connection, shared by its stream, its service and its watch; and whether it is to go.
#[derive(Clone, Debug)]
pub(super) struct Guard(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    began: Instant,
    /// How long the connection may be stuck in a phase once its slot or its bytes are needed.
    patience: Duration,
    /// It only grows: its remainder by [`PHASES`] is the phase, and any change of it is a new phase, even if it is
    /// the same one after a whole request. Stream, service and watch run in the connection's one task; who looks
    /// from outside may see what has just passed.
    turn: AtomicU64,
    /// The turn to go on with after the response, if a pipelined request was read before that was written; else 0.
    /// hyper gives it to the handler, and does not poll the handler.
    next: AtomicU64,
    /// When the phase began, in microseconds since the connection began. It is stored before the turn, so that whoever
    /// reads the turn first never takes a phase that has just begun for an old one.
    since: AtomicU64,
    /// The bytes of the body that have come in this phase.
    body_bytes: AtomicU64,
    /// How long they are fast enough, in microseconds since the connection began.
    body_until: AtomicU64,
    /// A request was answered on this connection.
    used: AtomicBool,
    /// The connection ends as soon as it can do so without cutting a request off.
    told: AtomicBool,
    /// The turn in which it was evicted last; it begins with a turn that is not 0.
    evicted: AtomicU64,
    task: AtomicWaker,
}

/// How much sooner than others a connection should be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Uselessness {
    /// It rests between two requests, for so long.
    Idle(Duration),
    /// It is about to be stuck, and is not yet to be evicted. Who finds no other but idle ones waits for it.
    Suspect,
    /// It waits for its client, or has never answered a request, for so long.
    Stuck(Duration),
}

impl Guard {
    /// For a connection whose handshake begins now, and that may be stuck for as long as `patience` once its slot is
    /// needed.
    pub(super) fn new(patience: Duration) -> Self {
        Self(Arc::new(Shared {
            began: Instant::now(),
            patience,
            turn: AtomicU64::new(Phase::Head as u64),
            next: AtomicU64::new(0),
            since: AtomicU64::new(0),
            body_bytes: AtomicU64::new(0),
            body_until: AtomicU64::new(0),
            used: AtomicBool::new(false),
            told: AtomicBool::new(false),
            evicted: AtomicU64::new(0),
            task: AtomicWaker::new(),
        }))
    }

    /// A stream that tells this guard when a request begins.
    pub(super) fn stream<S>(&self, stream: S) -> Guarded<S> {
        Guarded::new(stream, self.clone())
    }

    /// A handler got the request. What it gets for a body that has not ended tells this guard when it does.
    pub(super) fn request<B: hyper::body::Body>(&self, body: B) -> GuardedBody<B> {
        let turn = self.turn();
        let next = match body.is_end_stream() {
            true => turn_of(Phase::Service, turn),
            false => turn_of(Phase::Body, turn),
        };
        self.0.body_bytes.store(0, Ordering::Relaxed);
        match phase(turn) {
            Phase::Response => self.0.next.store(next, Ordering::Relaxed),
            _ => self.begin(next),
        }
        let guard = (phase(next) == Phase::Body).then(|| (self.clone(), next));
        GuardedBody::new(body, guard)
    }

    /// The handler has answered.
    pub(super) fn response(&self) {
        self.0.used.store(true, Ordering::Relaxed);
        self.0.next.store(0, Ordering::Relaxed);
        self.advance_to(Phase::Response);
    }

    /// The body has ended that began in this turn, unless its request was answered before. It may be in another task
    /// than the connection by then.
    fn body_ended(&self, turn: u64) {
        let service = turn + (Phase::Service as u64 - Phase::Body as u64);
        let _ = self
            .0
            .turn
            .compare_exchange(turn, service, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// All that there was to write is written.
    ///
    /// The beginning of a pipelined request may have been read already, together with the last one's body.
    /// That counts as idle until another byte comes: it costs no more than an idle connection does.
    fn flushed(&self) {
        if phase(self.turn()) == Phase::Response {
            match self.0.next.swap(0, Ordering::Relaxed) {
                0 => self.advance_to(Phase::Idle),
                next => self.begin(next),
            }
        }
    }

    fn bytes_read(&self, bytes: usize) {
        match phase(self.turn()) {
            Phase::Idle => self.advance_to(Phase::Head),
            Phase::Body => self.body_bytes_read(bytes),
            Phase::Head | Phase::Service | Phase::Response => {}
        }
    }

    /// Each byte is worth some time. For a read of many, it counts from now: that the server did not read earlier is not
    /// the client's fault.
    fn body_bytes_read(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let all = self.0.body_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let rate = SLOW_BODY.max(all / BODY_SECONDS);
        let worth = Duration::from_micros(bytes.saturating_mul(1_000_000) / rate);
        let now = Instant::now();
        let before = self.0.body_until.load(Ordering::Relaxed);
        let from = match bytes < MANY_BYTES {
            true => before,
            false => before.max(self.micros(now)),
        };
        let until = from + micros(worth);
        let most = self.micros(now + self.0.patience);
        self.0.body_until.store(until.min(most), Ordering::Relaxed);
    }

    /// Drives a connection, from the end of its handshake until it ends by itself, a phase lasts too long, or it is
    /// evicted. A client has as long to take a response as to send a head.
    pub(super) fn watch<F: Future>(
        &self,
        connection: F,
        idle: Duration,
        head: Duration,
    ) -> Watch<F> {
        self.advance_to(Phase::Idle);
        Watch::new(self.clone(), connection, idle, head)
    }

    /// Has the connection end as soon as it can do so without cutting a request off.
    pub(super) fn tell_to_go(&self) {
        self.0.told.store(true, Ordering::Release);
        self.0.task.wake();
    }

    /// Has the connection end at once if it is still stuck when it hears of it. One that has moved on meanwhile stays,
    /// unless it was idle, which ends as [`Guard::tell_to_go`] has it end.
    pub(super) fn evict(&self) {
        let turn = self.turn();
        self.0.evicted.store(turn, Ordering::Relaxed);
        match phase(turn) {
            Phase::Idle => self.tell_to_go(),
            _ => self.0.task.wake(),
        }
    }

    /// Until it is told to go or evicted, for a connection that nobody watches yet.
    pub(super) async fn told(&self) {
        std::future::poll_fn(|cx| match self.poll_told(cx) {
            Poll::Pending if !self.is_evicted() => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    }

    /// Whether somebody wants this connection to end.
    pub(super) fn is_told(&self) -> bool {
        self.0.told.load(Ordering::Relaxed)
    }

    /// Whether it was evicted in the phase that it is in now, so that it is about to end.
    pub(super) fn is_evicted(&self) -> bool {
        self.0.evicted.load(Ordering::Relaxed) == self.turn()
    }

    /// Takes an eviction back: the connection has moved on meanwhile.
    fn keep(&self) {
        self.0.evicted.store(0, Ordering::Relaxed);
    }

    /// How much sooner than others this connection should be evicted, if at all.
    pub(super) fn uselessness(&self, now: Instant) -> Option<Uselessness> {
        let turn = self.turn();
        let phase = phase(turn);
        if phase == Phase::Service || self.is_evicted() {
            return None;
        }
        let unused = !self.0.used.load(Ordering::Relaxed);
        let began = match phase {
            // A client that rests after its handshake, or between two bytes of its first head, gains no time.
            Phase::Idle | Phase::Head if unused => self.0.began,
            _ => self.since(),
        };
        let age = now.saturating_duration_since(began);
        let is_idle = phase == Phase::Idle && !unused;
        if self.may_end(phase, age, now) {
            return Some(match is_idle {
                true => Uselessness::Idle(age),
                false => Uselessness::Stuck(age),
            });
        }
        let is_suspect = !is_idle && age < self.0.patience && (unused || age >= PASSING);
        is_suspect.then_some(Uselessness::Suspect)
    }

    /// Whether a connection may be evicted that has been in this phase for so long.
    fn may_end(&self, phase: Phase, age: Duration, now: Instant) -> bool {
        let is_slow = || self.micros(now) > self.0.body_until.load(Ordering::Relaxed);
        match phase {
            Phase::Service => false,
            Phase::Body => age >= self.0.patience && is_slow(),
            Phase::Idle | Phase::Head | Phase::Response => age >= self.0.patience,
        }
    }

    fn poll_told(&self, cx: &Context<'_>) -> Poll<()> {
        self.0.task.register(cx.waker());
        match self.0.told.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    fn turn(&self) -> u64 {
        self.0.turn.load(Ordering::Acquire)
    }

    /// When the phase began.
    fn since(&self) -> Instant {
        self.0.began + Duration::from_micros(self.0.since.load(Ordering::Relaxed))
    }

    /// Begins the phase of this turn now.
    fn begin(&self, turn: u64) {
        let now = Instant::now();
        self.0.since.store(self.micros(now), Ordering::Relaxed);
        let until = self.micros(now + self.0.patience);
        self.0.body_until.store(until, Ordering::Relaxed);
        self.0.turn.store(turn, Ordering::Release);
    }

    /// The time since the connection began.
    fn micros(&self, now: Instant) -> u64 {
        micros(now.saturating_duration_since(self.0.began))
    }

    /// Moves on to the next turn that is of this phase. A body that ends at the same time in another task makes no
    /// difference: its phase is on the way there.
    fn advance_to(&self, phase: Phase) {
        self.begin(turn_of(phase, self.turn()));
    }
}

/// The first turn from this one on that is of this phase.
fn turn_of(phase: Phase, from: u64) -> u64 {
    from + (phase as u64 + PHASES - from % PHASES) % PHASES
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn phase(turn: u64) -> Phase {
    match turn % PHASES {
        0 => Phase::Idle,
        1 => Phase::Head,
        2 => Phase::Body,
        3 => Phase::Service,
        _ => Phase::Response,
    }
}

#[cfg(test)]
mod tests;
