//! How many connections there are at a time, and which one goes when another wants in.
//!
//! A client that holds connections must not keep the others out, and a client must not find the
//! connection closed that it is using. So with every slot taken, a newcomer evicts the connection that has been stuck
//! for longest: half open, with a body that does not come or a response that is not read, or never used. Without
//! one of these, and without one that is about to be one, it evicts the one that has been idle for longest. Each must have been so for [`Limits::patience`]; a
//! request in service is never evicted. Until a slot is free, the newcomer waits.
//!
//! [`Limits::patience`]: super::Limits
//!
//! What a connection is doing it tells itself, to its `guard`. Used by `connection`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::guard::{Guard, Uselessness};
use crate::metrics::{Metrics, Stage};

/// How long to wait for an evicted connection to end before the next is evicted.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long to wait for a connection that can be evicted, while there is none.
const RETRY: Duration = Duration::from_millis(10);

/// The places of one listener.
#[derive(Debug)]
pub(super) struct Places {
    size: u32,
    /// How long connections may be stuck or idle while others wait.
    patience: Duration,
    /// What evictions count as.
    stage: Stage,
    metrics: Arc<Metrics>,
    /// One permit for each place. All of them are back when the last connection has ended.
    free: Arc<Semaphore>,
    /// Who has the others, by order of coming. Locked when a connection begins or ends, never for a request.
    taken: Mutex<BTreeMap<u64, Guard>>,
}

/// A connection's place, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) guard: Guard,
    number: u64,
    places: Arc<Places>,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    pub(super) fn new(
        size: u32,
        patience: Duration,
        stage: Stage,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        Arc::new(Self {
            size,
            patience,
            stage,
            metrics,
            free: Arc::new(Semaphore::new(size as usize)),
            taken: Mutex::default(),
        })
    }

    /// Waits for a place, and evicts others if there is none.
    pub(super) async fn take(self: &Arc<Self>) -> Place {
        loop {
            let wait = match self.free.available_permits() > 0 || self.evict() {
                true => PATIENCE,
                false => RETRY,
            };
            // The semaphore is never closed: an error is that time is up.
            let free = Arc::clone(&self.free).acquire_owned();
            if let Ok(Ok(permit)) = timeout(wait, free).await {
                return self.seat(permit);
            }
        }
    }

    /// Tells every connection to end as soon as it can do so without cutting a request off.
    pub(super) fn clear(&self) {
        self.taken().values().for_each(Guard::tell_to_go);
    }

    /// Waits until no connection is left.
    pub(super) async fn all_free(&self) {
        let _ = self.free.acquire_many(self.size).await;
    }

    /// Evicts a connection, if there is one that may be.
    fn evict(&self) -> bool {
        let now = Instant::now();
        let taken = self.taken();
        let useless = taken
            .values()
            .filter_map(|guard| Some((guard.uselessness(now)?, guard)));
        let most = useless.max_by_key(|(uselessness, _)| *uselessness);
        let Some((Uselessness::Stuck(_) | Uselessness::Idle(_), guard)) = most else {
            return false;
        };
        tracing::debug!(
            places = self.size,
            "every place is taken: a connection is closed for a new one"
        );
        self.metrics.error(self.stage);
        guard.evict();
        true
    }

    fn seat(self: &Arc<Self>, permit: OwnedSemaphorePermit) -> Place {
        let guard = Guard::new(self.patience);
        let mut taken = self.taken();
        let number = taken.last_key_value().map_or(0, |(last, _)| last + 1);
        taken.insert(number, guard.clone());
        Place {
            guard,
            number,
            places: Arc::clone(self),
            _permit: permit,
        }
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<u64, Guard>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::time::sleep;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_handshake_that_does_not_end_makes_room_after_a_second() {
        let metrics = Arc::new(Metrics::new());
        let places = Places::new(2, SECOND, Stage::Evicted, Arc::clone(&metrics));
        let first = places.take().await;
        sleep(Duration::from_millis(300)).await;
        let second = places.take().await;
        let began = Instant::now();
        let guard = first.guard.clone();
        let goes = async {
            guard.told().await;
            drop(first);
        };
        let (_third, ()) = tokio::join!(places.take(), goes);
        assert_eq!(began.elapsed().as_millis(), 700);
        let counted = "transom_errors_total{stage=\"evicted\"} 1\n";
        assert!(metrics.render().contains(counted));
        assert!(second.guard.told().now_or_never().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_asked_to_go_while_there_is_a_place() {
        let places = Places::new(2, SECOND, Stage::Evicted, Arc::default());
        let first = places.take().await;
        sleep(Duration::from_secs(100)).await;
        let _second = places.take().await;
        assert!(first.guard.told().now_or_never().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn each_is_asked_once_until_somebody_goes() {
        let places = Places::new(2, SECOND, Stage::Evicted, Arc::default());
        let both = [places.take().await, places.take().await];
        sleep(Duration::from_secs(1)).await;
        let newcomer = timeout(Duration::from_secs(60), places.take()).await;
        assert!(newcomer.is_err());
        for place in &both {
            assert!(place.guard.told().now_or_never().is_some());
        }
        drop(both);
        places.take().await;
        assert!(places.taken().is_empty());
    }
}
