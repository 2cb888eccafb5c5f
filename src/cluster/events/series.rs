//! How often an owner is told: what comes again is counted, and written from time to time.
//!
//! An owner is written to at once, then every half minute at most, and all of them together not faster than a bucket
//! of tokens allows. So a controller that tries again and again makes one event with a count. No I/O and no clock.

use std::collections::HashMap;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use crate::admit::Notice;

/// Between two writes for the same owner.
const PAUSE: Duration = Duration::from_secs(30);
/// An owner of whom nothing was heard for so long is forgotten; then there is a new event.
const FORGET: Duration = Duration::from_secs(600);
/// So many owners are remembered.
const OWNERS: usize = 1024;
/// So many writes at once, and one more for each `REFILL`.
const BURST: u32 = 20;
const REFILL: Duration = Duration::from_secs(1);
/// So often it is tried to write the same.
const ATTEMPTS: u32 = 3;

/// What is to be written.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) notice: Notice,
    /// The name of the event that has told the same before.
    pub(super) event: Option<String>,
    /// How often it has come.
    pub(super) count: u64,
    /// When it came last.
    pub(super) last: Timestamp,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Outcome {
    /// This event says it now.
    Written(String),
    /// The event that has told the same is not there any more.
    Lost,
    /// There is no use in trying again.
    Refused,
    /// It may go better next time.
    Failed,
}

/// All owners that there was something to tell of late.
#[derive(Default)]
pub(super) struct Series {
    /// By their uids.
    owners: HashMap<String, Known>,
    tokens: Tokens,
}

struct Known {
    write: Write,
    /// How often it had come when it was last written.
    written: u64,
    /// Not to be written before.
    pause: Instant,
    heard: Instant,
    failures: u32,
}

impl Known {
    fn is_pending(&self) -> bool {
        self.write.count > self.written
    }
}

impl Series {
    /// Takes a notice; `false` if there is no room for its owner.
    pub(super) fn add(&mut self, notice: Notice, time: Timestamp, now: Instant) -> bool {
        let uid = &notice.owner.uid;
        if self.owners.len() >= OWNERS && !self.owners.contains_key(uid) {
            self.forget(now);
            if self.owners.len() >= OWNERS {
                return false;
            }
        }
        let known = self.owners.entry(uid.clone()).or_insert_with(|| Known {
            write: Write {
                notice: notice.clone(),
                event: None,
                count: 0,
                last: time,
            },
            written: 0,
            pause: now,
            heard: now,
            failures: 0,
        });
        if now.duration_since(known.heard) > FORGET || known.write.notice != notice {
            known.write.notice = notice;
            (known.write.event, known.write.count, known.written) = (None, 0, 0);
        }
        known.write.count += 1;
        known.write.last = time;
        known.heard = now;
        true
    }

    /// What is to be written now. It has to be followed by [`Self::done`].
    pub(super) fn due(&mut self, now: Instant) -> Option<Write> {
        let pending = self.owners.values().filter(|known| known.is_pending());
        let first = pending.min_by_key(|known| known.pause)?;
        (first.pause <= now && self.tokens.take(now)).then(|| first.write.clone())
    }

    /// When something may be due.
    pub(super) fn next(&self) -> Option<Instant> {
        let pending = self.owners.values().filter(|known| known.is_pending());
        let first = pending.map(|known| known.pause).min()?;
        Some(self.tokens.next().map_or(first, |next| next.max(first)))
    }

    /// Whether it is given up.
    pub(super) fn done(&mut self, write: &Write, outcome: Outcome, now: Instant) -> bool {
        let uid = &write.notice.owner.uid;
        let Some(known) = self.owners.get_mut(uid) else {
            return false;
        };
        match outcome {
            Outcome::Written(name) => {
                known.write.event = Some(name);
                known.written = write.count;
                known.failures = 0;
                known.pause = now + PAUSE;
            }
            Outcome::Lost => known.write.event = None,
            Outcome::Failed if known.failures + 1 < ATTEMPTS => {
                known.failures += 1;
                known.pause = now + Duration::from_secs(1 << known.failures);
            }
            Outcome::Failed | Outcome::Refused => {
                // What comes next is tried anew, but not at once.
                known.written = known.write.count;
                known.failures = 0;
                known.pause = now + PAUSE;
                return true;
            }
        }
        false
    }

    fn forget(&mut self, now: Instant) {
        self.owners
            .retain(|_, known| known.is_pending() || now.duration_since(known.heard) <= FORGET);
    }
}

/// A bucket of tokens, full in the beginning.
#[derive(Default)]
struct Tokens {
    /// When it will be full again, if it is not.
    full: Option<Instant>,
}

impl Tokens {
    fn take(&mut self, now: Instant) -> bool {
        let is_there = self.next().is_none_or(|next| next <= now);
        if is_there {
            self.full = Some(self.full.map_or(now, |full| full.max(now)) + REFILL);
        }
        is_there
    }

    /// When there is one, if there is none now.
    fn next(&self) -> Option<Instant> {
        self.full?.checked_sub(REFILL * (BURST - 1))
    }
}

#[cfg(test)]
mod tests;
