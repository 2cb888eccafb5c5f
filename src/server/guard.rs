//! How long a connection may stay in which phase.
//!
//! hyper has one timer for "waiting for a head", which cannot tell a connection that rests from one that
//! has begun a request and never ends it. The API server keeps idle connections for 90 s and does not
//! retry a POST when it finds one closed, so the first must live; the second must die. So bytes and requests
//! are noted here as they pass, and [`Guard::watch`] ends the connection when a phase lasts too long.
//!
//! The phases tell `places`, too, which connection is of least use when another wants in; one that is told to go
//! hears of it here. Nothing here knows HTTP. `connection` puts it around each connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// What a connection is doing. Each follows the one before it, round and round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No request has begun, and nothing is on its way out.
    Idle = 0,
    /// It is half-open: the first byte of a request has come, and its head has not ended. A connection
    /// begins in this phase, with the handshake.
    Head = 1,
    /// A handler has the request. It has a time limit of its own for the body.
    Service = 2,
    /// The answer is on its way out. A client that does not read keeps it in memory, outside of every budget.
    Answer = 3,
}

/// How many phases there are.
const PHASES: u64 = 4;

/// How long a connection may do nothing, once its place is wanted or the server ends. Heads come in one piece and
/// handshakes take milliseconds; an idle connection that has just answered may have the next request on its
/// way to it.
const HURRY: Duration = Duration::from_secs(1);

/// The phase of one connection, shared by its stream, its service and its watch; and whether it is to go.
#[derive(Clone, Debug)]
pub(super) struct Guard(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    began: Instant,
    /// It only grows: its remainder by four is the phase, and any change of it is a new phase, even if it is
    /// the same one after a whole request. Stream, service and watch run in the connection's one task, so the
    /// order of memory accesses does not matter; who looks from outside may see what has just passed.
    turn: AtomicU64,
    /// When the phase began, if a handler does not have the request: in milliseconds since the connection began.
    since: AtomicU64,
    /// Somebody wants this connection to end.
    told: AtomicBool,
    task: AtomicWaker,
}

impl Guard {
    /// For a connection whose handshake begins now.
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            began: Instant::now(),
            turn: AtomicU64::new(Phase::Head as u64),
            since: AtomicU64::new(0),
            told: AtomicBool::new(false),
            task: AtomicWaker::new(),
        }))
    }

    /// A stream that tells this guard when a request begins.
    pub(super) fn stream<S>(&self, stream: S) -> Guarded<S> {
        Guarded {
            stream,
            guard: self.clone(),
        }
    }

    /// A handler got the request.
    pub(super) fn request(&self) {
        self.advance_to(Phase::Service);
    }

    /// The handler has answered.
    pub(super) fn response(&self) {
        self.advance_to(Phase::Answer);
    }

    /// All that there was to write is written.
    ///
    /// The beginning of a pipelined request may have been read already, together with the last one's body.
    /// That counts as idle until another byte comes: it costs no more than an idle connection does.
    fn flushed(&self) {
        if phase(self.turn()) == Phase::Answer {
            self.advance_to(Phase::Idle);
        }
    }

    /// Drives a connection, from the end of its handshake until it ends by itself, or a phase lasts too long. A
    /// client has as long to take an answer as to send a head.
    pub(super) fn watch<F: Future>(
        &self,
        connection: F,
        idle: Duration,
        head: Duration,
    ) -> Watch<F> {
        self.advance_to(Phase::Idle);
        let now = Instant::now();
        Watch {
            connection: Box::pin(connection),
            guard: self.clone(),
            idle,
            head,
            answer: head,
            turn: self.begin(now),
            since: now,
            hurried: false,
            told: false,
            timer: Box::pin(sleep(idle)),
        }
    }

    /// Has the connection end as soon as it can do so without cutting a request off.
    pub(super) fn tell_to_go(&self) {
        self.0.told.store(true, Ordering::Release);
        self.0.task.wake();
    }

    /// Until it is told to go.
    pub(super) async fn told(&self) {
        std::future::poll_fn(|cx| self.poll_told(cx)).await;
    }

    /// Whether somebody wants this connection to end.
    pub(super) fn is_told(&self) -> bool {
        self.0.told.load(Ordering::Relaxed)
    }

    /// How much sooner than others this connection should go, if it may be told to: half-open ones first, then
    /// the one that rests longest.
    pub(super) fn uselessness(&self, now: Instant) -> Option<(bool, Duration)> {
        if self.is_told() {
            return None;
        }
        let since = Duration::from_millis(self.0.since.load(Ordering::Relaxed));
        let age = now.saturating_duration_since(self.0.began + since);
        let phase = phase(self.turn());
        (phase != Phase::Service && age >= HURRY).then_some((phase == Phase::Head, age))
    }

    fn poll_told(&self, cx: &Context<'_>) -> Poll<()> {
        self.0.task.register(cx.waker());
        match self.0.told.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    fn turn(&self) -> u64 {
        self.0.turn.load(Ordering::Relaxed)
    }

    /// Notes that the phase has begun, and which turn that is.
    fn begin(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.0.began).as_millis();
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        self.0.since.store(since, Ordering::Relaxed);
        self.turn()
    }

    fn advance_to(&self, phase: Phase) {
        let turn = self.turn();
        let steps = (phase as u64 + PHASES - turn % PHASES) % PHASES;
        self.0.turn.store(turn + steps, Ordering::Relaxed);
    }

    fn byte_read(&self) {
        if phase(self.turn()) == Phase::Idle {
            self.advance_to(Phase::Head);
        }
    }
}

fn phase(turn: u64) -> Phase {
    match turn % PHASES {
        0 => Phase::Idle,
        1 => Phase::Head,
        2 => Phase::Service,
        _ => Phase::Answer,
    }
}

/// What a watch has to tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended<T> {
    /// The connection ended by itself, with this.
    Done(T),
    /// It was idle for too long.
    Idle,
    /// A request's head took too long.
    Head,
    /// The client did not take its answer.
    Answer,
    /// It was told to go, and has not ended yet: tell it so, and go on watching. Comes once, and not within a head:
    /// the one that has begun is waited for, if only for a moment.
    Told,
}

/// See [`Guard::watch`].
pub(super) struct Watch<F> {
    connection: Pin<Box<F>>,
    guard: Guard,
    idle: Duration,
    head: Duration,
    answer: Duration,
    /// The turn that the timer was set for, and when it began.
    turn: u64,
    since: Instant,
    hurried: bool,
    told: bool,
    timer: Pin<Box<Sleep>>,
}

impl<F> Watch<F> {
    /// The connection, to tell it something.
    pub(super) fn connection(&mut self) -> Pin<&mut F> {
        self.connection.as_mut()
    }

    /// From now on a head has less time, even one that has begun; and so has a connection that is closing, whose client
    /// may not take the end of it.
    fn hurry(&mut self) {
        self.hurried = true;
        self.head = self.head.min(HURRY);
        self.idle = self.idle.min(HURRY);
        let end = match phase(self.turn) {
            Phase::Head => self.since + self.head,
            Phase::Idle => Instant::now() + self.idle,
            Phase::Service | Phase::Answer => return,
        };
        self.timer.as_mut().reset(end);
    }
}

impl<F: Future> Future for Watch<F> {
    type Output = Ended<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(done) = self.connection.as_mut().poll(cx) {
            return Poll::Ready(Ended::Done(done));
        }
        let turn = self.guard.turn();
        if !self.told && self.guard.poll_told(cx).is_ready() {
            if !self.hurried {
                self.hurry();
            }
            if phase(turn) != Phase::Head {
                self.told = true;
                return Poll::Ready(Ended::Told);
            }
        }
        let (limit, ended) = match phase(turn) {
            Phase::Idle => (self.idle, Ended::Idle),
            Phase::Head => (self.head, Ended::Head),
            Phase::Answer => (self.answer, Ended::Answer),
            Phase::Service => return Poll::Pending,
        };
        if turn != self.turn {
            let now = Instant::now();
            self.turn = self.guard.begin(now);
            self.since = now;
            self.timer.as_mut().reset(now + limit);
        }
        ready!(self.timer.as_mut().poll(cx));
        Poll::Ready(ended)
    }
}

/// A stream that tells a [`Guard`] when a request begins.
#[derive(Debug)]
pub(super) struct Guarded<S> {
    stream: S,
    guard: Guard,
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.guard.byte_read();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if let Poll::Ready(Ok(())) = flushed {
            self.guard.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_only_moves_on() {
        let guard = Guard::new();
        guard.response();
        let phases = |guard: &Guard| phase(guard.turn());
        guard.byte_read();
        let head = guard.turn();
        guard.byte_read();
        assert_eq!(guard.turn(), head, "a trickle is still the same head");
        guard.request();
        guard.byte_read();
        assert_eq!(
            phases(&guard),
            Phase::Service,
            "a body's bytes begin nothing"
        );
        guard.response();
        assert_eq!(phases(&guard), Phase::Answer);
        guard.flushed();
        assert_eq!(phases(&guard), Phase::Idle);
        guard.request();
        assert_eq!(
            phases(&guard),
            Phase::Service,
            "pipelined: its head was in the buffer"
        );
        guard.flushed();
        assert_eq!(
            phases(&guard),
            Phase::Service,
            "what is flushed before the answer is none"
        );
        guard.response();
        guard.flushed();
        assert_ne!(guard.turn(), PHASES, "another rest has its own time");
    }
}
