//! How many bytes of request bodies may be in memory at a time, over all connections.
//!
//! Bytes are reserved as they come, so that a client that announces many and sends none takes nothing from
//! the others. What finds no room is not waited for: the client is told to come again. Taken by `body`, given back when the answer has been made, or when nobody waits for
//! it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::metrics::Metrics;

/// The bytes that there are, and those that are taken.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bytes: usize,
    taken: AtomicUsize,
    metrics: Arc<Metrics>,
}

/// Bytes of a budget, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Reserved {
    budget: Budget,
    bytes: usize,
}

/// There are not so many bytes left.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

impl Budget {
    pub(super) fn new(bytes: usize, metrics: Arc<Metrics>) -> Self {
        Self(Arc::new(Shared {
            bytes,
            taken: AtomicUsize::new(0),
            metrics,
        }))
    }

    /// Whether so many bytes would fit now.
    ///
    /// # Errors
    /// They would not.
    pub(super) fn has_room(&self, bytes: usize) -> Result<(), Exhausted> {
        let taken = self.0.taken.load(Ordering::Relaxed);
        match self.0.bytes.saturating_sub(taken) >= bytes {
            true => Ok(()),
            false => Err(Exhausted),
        }
    }

    /// Nothing yet.
    pub(super) fn reserve(&self) -> Reserved {
        Reserved {
            budget: self.clone(),
            bytes: 0,
        }
    }

    fn take(&self, more: usize) -> Result<(), Exhausted> {
        let Shared {
            bytes,
            taken,
            metrics,
        } = &*self.0;
        // Only this number matters, nothing that is written beside it: no order is needed.
        taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                taken.checked_add(more).filter(|sum| sum <= bytes)
            })
            .map_err(|_| Exhausted)?;
        metrics.inflight_bytes(signed(more));
        Ok(())
    }
}

impl Reserved {
    /// Reserves what is missing to so many bytes in all.
    ///
    /// # Errors
    /// There are not enough left; what was reserved before stays so.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 {
            self.budget.take(more)?;
            self.bytes = bytes;
        }
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let Shared { taken, metrics, .. } = &*self.budget.0;
        taken.fetch_sub(self.bytes, Ordering::Relaxed);
        metrics.inflight_bytes(-signed(self.bytes));
    }
}

/// No body has as many bytes as would not fit.
fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_given_back() {
        let budget = budget(10);
        let mut one = budget.reserve();
        one.grow_to(6).unwrap();
        let mut two = budget.reserve();
        assert_eq!(two.grow_to(5), Err(Exhausted));
        two.grow_to(4).unwrap();
        drop(one);
        assert_eq!(two.grow_to(11), Err(Exhausted));
        two.grow_to(10).unwrap();
        drop(two);
        assert_eq!(taken(&budget), 0);
    }

    #[test]
    fn a_refusal_takes_nothing() {
        let budget = budget(10);
        let mut reserved = budget.reserve();
        reserved.grow_to(7).unwrap();
        for too_much in [11, usize::MAX] {
            assert_eq!(reserved.grow_to(too_much), Err(Exhausted));
        }
        assert_eq!(taken(&budget), 7);
    }

    #[test]
    fn nothing_shrinks_before_its_end() {
        let budget = budget(10);
        let mut reserved = budget.reserve();
        for bytes in [10, 3, 0] {
            reserved.grow_to(bytes).unwrap();
        }
        assert_eq!(taken(&budget), 10);
    }

    #[test]
    fn many_at_a_time_never_take_too_much() {
        let budget = budget(100);
        std::thread::scope(|scope| {
            for bytes in 30..40 {
                let budget = &budget;
                scope.spawn(move || {
                    for _ in 0..1000 {
                        let mut reserved = budget.reserve();
                        let _ = reserved.grow_to(bytes);
                        let _ = reserved.grow_to(2 * bytes);
                        assert!(taken(budget) <= 100);
                    }
                });
            }
        });
        assert_eq!(taken(&budget), 0);
    }

    fn budget(bytes: usize) -> Budget {
        Budget::new(bytes, Arc::new(Metrics::new()))
    }

    fn taken(budget: &Budget) -> usize {
        budget.0.taken.load(Ordering::Relaxed)
    }
}
