//! Many things at a time, their results in order.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does the work for each item, on as many threads as there are CPUs or as `jobs` says. The results
/// are in the order of the items.
pub(super) fn in_parallel<I: Sync, O: Send>(
    items: &[I],
    jobs: Option<NonZeroUsize>,
    work: impl Fn(&I) -> O + Sync,
) -> Vec<O> {
    let jobs = jobs.or_else(|| thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get).min(items.len());
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(i) else {
                return done;
            };
            done.push((i, work(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(worker)).collect();
        let mut done = Vec::with_capacity(items.len());
        for worker in workers {
            done.extend(worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_whatever_the_number_of_threads() {
        let items: Vec<_> = (0..1000).collect();
        let want: Vec<_> = items.iter().map(|i| i * 2).collect();
        for jobs in [1, 2, 7, 2000] {
            let got = in_parallel(&items, NonZeroUsize::new(jobs), |i| i * 2);
            assert_eq!(got, want);
        }
        assert_eq!(in_parallel(&[], None, |i: &i32| *i), Vec::<i32>::new());
    }
}
