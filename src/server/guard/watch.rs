//! Ends a connection whose phase lasts too long, or that is evicted.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::{Guard, Phase, phase};

/// How long a head may take, and how long a connection may be idle, once the server ends. Heads come in one piece; an
/// idle connection that has just answered may have the next request on its way to it.
const HURRY: Duration = Duration::from_secs(1);

/// What a watch has to tell.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) enum Ended<T> {
    /// The connection ended by itself, with this.
    Done(T),
    /// It was idle for too long.
    Idle,
    /// A request's head took too long.
    Head,
    /// The client did not take its response.
    Response,
    /// It was evicted, and is stuck.
    Evicted,
    /// It was told to go, and has not ended yet: tell it so, and go on watching. Comes once, and not within a head:
    /// the one that has begun is waited for, if only for a moment.
    Told,
}

/// See [`Guard::watch`].
pub(in crate::server) struct Watch<F> {
    connection: Pin<Box<F>>,
    guard: Guard,
    idle: Duration,
    head: Duration,
    response: Duration,
    /// The turn that the timer was set for.
    turn: u64,
    hurried: bool,
    told: bool,
    timer: Pin<Box<Sleep>>,
}

impl<F> Watch<F> {
    /// For a connection that is idle from now on.
    pub(super) fn new(guard: Guard, connection: F, idle: Duration, head: Duration) -> Self {
        Self {
            connection: Box::pin(connection),
            idle,
            head,
            response: head,
            turn: guard.turn(),
            guard,
            hurried: false,
            told: false,
            timer: Box::pin(sleep(idle)),
        }
    }

    /// The connection, to tell it something.
    pub(in crate::server) fn connection(&mut self) -> Pin<&mut F> {
        self.connection.as_mut()
    }

    /// From now on a head has less time, even one that has begun; and so has a connection that is closing, whose client
    /// may not take the end of it.
    fn hurry(&mut self) {
        self.hurried = true;
        self.head = self.head.min(HURRY);
        self.idle = self.idle.min(HURRY);
        let end = match phase(self.turn) {
            Phase::Head => self.guard.since() + self.head,
            Phase::Idle => Instant::now() + self.idle,
            Phase::Body | Phase::Service | Phase::Response => return,
        };
        self.timer.as_mut().reset(end);
    }

    /// How long a phase may last, unless a handler has a limit of its own for it.
    fn limit(&self, phase: Phase) -> Option<Duration> {
        match phase {
            Phase::Idle => Some(self.idle),
            Phase::Head => Some(self.head),
            Phase::Response => Some(self.response),
            Phase::Body | Phase::Service => None,
        }
    }

    fn begin(&mut self, turn: u64) {
        self.turn = turn;
        if let Some(limit) = self.limit(phase(turn)) {
            let end = self.guard.since() + limit;
            self.timer.as_mut().reset(end);
        }
    }

    /// Whether it was evicted in this turn and is still stuck, now that what had come was read and what could be
    /// written is. An idle connection is told to go instead.
    fn is_stuck(&self) -> bool {
        let phase = phase(self.turn);
        if phase == Phase::Idle || !self.guard.is_evicted() {
            return false;
        }
        let now = Instant::now();
        let age = now.saturating_duration_since(self.guard.since());
        let is_stuck = self.guard.may_end(phase, age, now);
        if !is_stuck {
            self.guard.keep();
        }
        is_stuck
    }
}

impl<F: Future> Future for Watch<F> {
    type Output = Ended<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(done) = self.connection.as_mut().poll(cx) {
            return Poll::Ready(Ended::Done(done));
        }
        let is_told = self.guard.poll_told(cx).is_ready();
        let turn = self.guard.turn();
        if turn != self.turn {
            self.begin(turn);
        }
        if self.is_stuck() {
            return Poll::Ready(Ended::Evicted);
        }
        let phase = phase(turn);
        if is_told && !self.told {
            if !self.hurried {
                self.hurry();
            }
            if phase != Phase::Head {
                self.told = true;
                return Poll::Ready(Ended::Told);
            }
        }
        let ended = match phase {
            Phase::Idle => Ended::Idle,
            Phase::Head => Ended::Head,
            Phase::Response => Ended::Response,
            Phase::Body | Phase::Service => return Poll::Pending,
        };
        ready!(self.timer.as_mut().poll(cx));
        Poll::Ready(ended)
    }
}
