//! How many bytes of requests and responses may be in memory at a time, over all connections.
//!
//! Bytes are reserved as they come, so that a client that announces many and sends none takes nothing from
//! the others. They are given back when the response is written, or when the connection ends. When they run out, the
//! connections are evicted that have been stuck for longest: those whose response is not read, or whose body hardly
//! comes. If that is not enough, the client is told to come again. Taken by `body` and `router`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::guard::{Guard, Uselessness};
use crate::metrics::{Metrics, Stage};

/// How long to wait for the bytes of evicted connections. They end within milliseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// The bytes that there are, and those that are taken.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bytes: usize,
    holders: Mutex<Holders>,
    released: Notify,
    metrics: Arc<Metrics>,
}

#[derive(Debug, Default)]
struct Holders {
    /// The sum over all holders.
    taken: usize,
    by_number: BTreeMap<u64, Holder>,
}

#[derive(Debug)]
struct Holder {
    bytes: usize,
    connection: Option<Guard>,
}

/// Bytes of a budget, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Reserved {
    budget: Budget,
    number: u64,
}

/// There are not so many bytes left.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

impl Budget {
    pub(super) fn new(bytes: usize, metrics: Arc<Metrics>) -> Self {
        Self(Arc::new(Shared {
            bytes,
            holders: Mutex::default(),
            released: Notify::new(),
            metrics,
        }))
    }

    /// Nothing yet, for a request that came over this connection.
    pub(super) fn reserve(&self, connection: Option<Guard>) -> Reserved {
        let mut holders = self.holders();
        let number = holders.by_number.last_key_value();
        let number = number.map_or(0, |(last, _)| last + 1);
        let holder = Holder {
            bytes: 0,
            connection,
        };
        holders.by_number.insert(number, holder);
        Reserved {
            budget: self.clone(),
            number,
        }
    }

    /// Waits until so many bytes are free, for as long as it helps to evict others than this holder, and does
    /// something with them.
    async fn when_free(
        &self,
        number: u64,
        bytes: usize,
        then: impl FnOnce(&mut Holders),
    ) -> Result<(), Exhausted> {
        let until = Instant::now() + PATIENCE;
        loop {
            let released = self.0.released.notified();
            {
                let mut holders = self.holders();
                if self.0.bytes.saturating_sub(holders.taken) >= bytes {
                    then(&mut holders);
                    return Ok(());
                }
                self.evict(&holders, number, bytes)?;
            }
            timeout_at(until, released).await.map_err(|_| Exhausted)?;
        }
    }

    /// Evicts connections until so many bytes are free or about to be.
    ///
    /// # Errors
    /// All that may be evicted do not have enough; none is evicted then.
    fn evict(&self, holders: &Holders, number: u64, bytes: usize) -> Result<(), Exhausted> {
        let now = Instant::now();
        let mut free = self.0.bytes.saturating_sub(holders.taken);
        let mut stuck = Vec::new();
        for (other, Holder { bytes, connection }) in &holders.by_number {
            let Some(connection) = connection.as_ref().filter(|_| *other != number) else {
                continue;
            };
            if connection.is_evicted() {
                free = free.saturating_add(*bytes);
            } else if let Some(Uselessness::Stuck(age)) = connection.uselessness(now) {
                stuck.push((age, *bytes, connection));
            }
        }
        stuck.sort_unstable_by_key(|&(age, ..)| age);
        let mut evicted = Vec::new();
        while free < bytes {
            let (_, bytes, connection) = stuck.pop().ok_or(Exhausted)?;
            free = free.saturating_add(bytes);
            evicted.push(connection);
        }
        for connection in evicted {
            tracing::debug!("the bytes in flight are exhausted: a stuck connection is closed");
            self.0.metrics.error(Stage::EvictedBytes);
            connection.evict();
        }
        Ok(())
    }

    fn holders(&self) -> MutexGuard<'_, Holders> {
        self.0
            .holders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Holders {
    fn bytes(&self, number: u64) -> usize {
        self.by_number.get(&number).map_or(0, |holder| holder.bytes)
    }

    fn add(&mut self, number: u64, bytes: usize) {
        if let Some(holder) = self.by_number.get_mut(&number) {
            holder.bytes += bytes;
            self.taken += bytes;
        }
    }

    fn subtract(&mut self, number: u64, bytes: usize) {
        if let Some(holder) = self.by_number.get_mut(&number) {
            holder.bytes -= bytes;
            self.taken -= bytes;
        }
    }
}

impl Reserved {
    /// Waits until so many bytes would fit, and reserves none of them.
    ///
    /// # Errors
    /// They would not, even without the connections that may be evicted.
    pub(super) async fn has_room(&self, bytes: usize) -> Result<(), Exhausted> {
        self.budget.when_free(self.number, bytes, |_| {}).await
    }

    /// Reserves what is missing to so many bytes in all.
    ///
    /// # Errors
    /// There are not enough left, even without the connections that may be evicted; what was reserved before stays
    /// so.
    pub(super) async fn grow_to(&self, bytes: usize) -> Result<(), Exhausted> {
        let more = bytes.saturating_sub(self.budget.holders().bytes(self.number));
        if more > 0 {
            let add = |holders: &mut Holders| holders.add(self.number, more);
            self.budget.when_free(self.number, more, add).await?;
            self.budget.0.metrics.inflight_bytes(signed(more));
        }
        Ok(())
    }

    /// Gives back what is beyond so many bytes.
    pub(super) fn shrink_to(&self, bytes: usize) {
        let mut holders = self.budget.holders();
        let less = holders.bytes(self.number).saturating_sub(bytes);
        if less > 0 {
            holders.subtract(self.number, less);
            drop(holders);
            self.released(less);
        }
    }

    fn released(&self, bytes: usize) {
        let Shared {
            released, metrics, ..
        } = &*self.budget.0;
        metrics.inflight_bytes(-signed(bytes));
        released.notify_waiters();
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut holders = self.budget.holders();
        let bytes = holders.bytes(self.number);
        holders.by_number.remove(&self.number);
        holders.taken -= bytes;
        drop(holders);
        self.released(bytes);
    }
}

/// No body has as many bytes as would not fit.
fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures_util::FutureExt;
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_taken_is_given_back() {
        let budget = budget(10);
        let one = budget.reserve(None);
        grow(&one, 6).unwrap();
        let two = budget.reserve(None);
        assert_eq!(grow(&two, 5), Err(Exhausted));
        grow(&two, 4).unwrap();
        drop(one);
        assert_eq!(grow(&two, 11), Err(Exhausted));
        grow(&two, 10).unwrap();
        drop(two);
        assert_eq!(taken(&budget), 0);
    }

    #[test]
    fn a_refusal_takes_nothing() {
        let budget = budget(10);
        let reserved = budget.reserve(None);
        grow(&reserved, 7).unwrap();
        for too_much in [11, usize::MAX] {
            assert_eq!(grow(&reserved, too_much), Err(Exhausted));
        }
        assert_eq!(taken(&budget), 7);
    }

    #[test]
    fn shrinks_only_where_it_is_told_to() {
        let budget = budget(10);
        let reserved = budget.reserve(None);
        for bytes in [10, 3, 0] {
            grow(&reserved, bytes).unwrap();
        }
        assert_eq!(taken(&budget), 10);
        reserved.shrink_to(12);
        assert_eq!(taken(&budget), 10);
        reserved.shrink_to(3);
        assert_eq!(taken(&budget), 3);
        grow(&budget.reserve(None), 7).unwrap();
        assert_eq!(
            budget
                .0
                .metrics
                .render()
                .matches("inflight_bytes 3\n")
                .count(),
            1
        );
    }

    #[test]
    fn many_at_a_time_never_take_too_much() {
        let budget = budget(100);
        std::thread::scope(|scope| {
            for bytes in 30..40 {
                let budget = &budget;
                scope.spawn(move || {
                    for _ in 0..1000 {
                        let reserved = budget.reserve(None);
                        let _ = grow(&reserved, bytes);
                        let _ = grow(&reserved, 2 * bytes);
                        assert!(taken(budget) <= 100);
                    }
                });
            }
        });
        assert_eq!(taken(&budget), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn evicts_the_oldest_unread_responses_until_there_is_room() {
        let budget = budget(10);
        let mut unread = Vec::new();
        for bytes in [4, 3, 3] {
            let connection = Guard::new(SECOND);
            connection.response();
            let reserved = budget.reserve(Some(connection.clone()));
            grow(&reserved, bytes).unwrap();
            unread.push((connection, Some(reserved)));
            advance(SECOND / 4).await;
        }
        let newcomer = budget.reserve(None);
        assert_eq!(grow(&newcomer, 1), Err(Exhausted), "not so soon");
        advance(SECOND / 2).await;
        let is_evicted = |unread: &[(Guard, Option<Reserved>)]| {
            unread
                .iter()
                .map(|(guard, _)| guard.is_evicted())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            grow(&newcomer, 8),
            Err(Exhausted),
            "two are old enough, with 7 bytes"
        );
        assert_eq!(is_evicted(&unread), [false; 3], "it would not help");
        {
            let waiting = newcomer.grow_to(4);
            tokio::pin!(waiting);
            assert!(waiting.as_mut().now_or_never().is_none());
            assert_eq!(is_evicted(&unread), [true, false, false]);
            assert!(waiting.as_mut().now_or_never().is_none());
            assert_eq!(is_evicted(&unread), [true, false, false], "one is enough");
            unread[0].1 = None;
            waiting.await.unwrap();
        }
        assert_eq!(taken(&budget), 10);
        let counted = "transom_errors_total{stage=\"evicted_bytes\"} 1\n";
        assert!(budget.0.metrics.render().contains(counted));

        let began = Instant::now();
        assert_eq!(newcomer.grow_to(7).await, Err(Exhausted));
        assert_eq!(began.elapsed(), PATIENCE, "the evicted one does not end");
    }

    #[tokio::test(start_paused = true)]
    async fn evicts_no_requests_in_service_and_not_itself() {
        let budget = budget(10);
        let [busy, slow] = [(); 2].map(|()| Guard::new(SECOND));
        drop(busy.request(Body::empty()));
        let _body = slow.request(Body::from("a"));
        let one = budget.reserve(Some(busy));
        let two = budget.reserve(Some(slow.clone()));
        grow(&one, 5).unwrap();
        grow(&two, 5).unwrap();
        advance(100 * SECOND).await;
        assert_eq!(grow(&two, 6), Err(Exhausted));
        assert!(!slow.is_evicted());
        assert!(one.has_room(5).now_or_never().is_none());
        assert!(slow.is_evicted());
        drop(two);
        one.has_room(5).await.unwrap();
        assert_eq!(taken(&budget), 5);
    }

    fn grow(reserved: &Reserved, bytes: usize) -> Result<(), Exhausted> {
        reserved.grow_to(bytes).now_or_never().unwrap()
    }

    fn budget(bytes: usize) -> Budget {
        Budget::new(bytes, Arc::new(Metrics::new()))
    }

    fn taken(budget: &Budget) -> usize {
        budget.holders().taken
    }
}
