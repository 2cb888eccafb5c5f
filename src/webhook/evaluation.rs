//! Where a request is evaluated: so that all evaluations at a time take a bounded amount of memory, on any number of cores.
//!
//! A small body takes at most 1 MiB (tests/memory.rs) and is evaluated on the thread that has read it. A larger one takes
//! up to 3 times its size and 8 MiB. It waits for its turn and is evaluated on one of few threads, because the allocator
//! keeps some of the memory that an evaluation took for the thread that freed it.
//! Medium and large bodies do not wait for each other: a few of the largest would delay every ordinary workload.
//!
//! Not here: the memory of bodies and responses (`server::budget`).

use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

/// The largest body that does not wait, in bytes.
const SMALL: usize = 8 * 1024;

/// The largest body that waits for medium ones only, in bytes. It takes up to 5 MiB of memory.
const MEDIUM: usize = 64 * 1024;

/// How many medium bodies, and how many large ones, are evaluated at a time: at 7 MiB each, 58 MiB of memory.
const TURNS: usize = 2;

/// The turns of bodies that are not small.
pub(super) struct Evaluations {
    medium: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// The turn of this body did not come in time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Busy;

impl Default for Evaluations {
    fn default() -> Self {
        let turns = || Arc::new(Semaphore::new(TURNS));
        Self {
            medium: turns(),
            large: turns(),
        }
    }
}

impl Evaluations {
    /// Evaluates a body of so many bytes: here, or elsewhere when its turn has come.
    ///
    /// # Errors
    /// It did not come before `deadline`.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        deadline: Instant,
        evaluate: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        if bytes <= SMALL {
            return Ok(evaluate());
        }
        let turns = match bytes <= MEDIUM {
            true => &self.medium,
            false => &self.large,
        };
        let turn = Arc::clone(turns).acquire_owned();
        // The semaphore is never closed.
        let Ok(Ok(turn)) = timeout_at(deadline, turn).await else {
            return Err(Busy);
        };
        let evaluated = spawn_blocking(move || {
            // Also if nobody waits for the response any more.
            let _turn = turn;
            evaluate()
        });
        match evaluated.await {
            Ok(evaluated) => Ok(evaluated),
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // The program ends.
            Err(_) => Err(Busy),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[tokio::test]
    async fn bounds_large_bodies_at_a_time_and_delays_no_others() {
        let evaluations = Arc::new(Evaluations::default());
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(std::sync::Mutex::new(ended));
        let mut large = Vec::new();
        for _ in 0..TURNS {
            let (evaluations, ended) = (Arc::clone(&evaluations), Arc::clone(&ended));
            let (begin, begun) = tokio::sync::oneshot::channel();
            large.push(tokio::spawn(async move {
                let wait = move || {
                    begin.send(()).unwrap();
                    let ended = ended.lock().unwrap();
                    ended.recv().unwrap();
                };
                evaluations.run(MEDIUM + 1, soon(), wait).await
            }));
            begun.await.unwrap();
        }
        let late = Instant::now() + Duration::from_millis(10);
        assert_eq!(evaluations.run(MEDIUM + 1, late, || ()).await, Err(Busy));
        for bytes in [SMALL, SMALL + 1, MEDIUM] {
            assert_eq!(evaluations.run(bytes, soon(), || 1).await, Ok(1));
        }
        for _ in 0..TURNS {
            end.send(()).unwrap();
        }
        for one in large {
            assert_eq!(one.await.unwrap(), Ok(()));
        }
        assert_eq!(evaluations.run(MEDIUM + 1, soon(), || 2).await, Ok(2));
    }

    #[tokio::test]
    async fn releases_turn_when_evaluation_panics_or_client_disconnects() {
        let evaluations = Arc::new(Evaluations::default());
        for _ in 0..=TURNS {
            let evaluations = Arc::clone(&evaluations);
            let panics = async move {
                let _: Result<(), Busy> = evaluations
                    .run(MEDIUM + 1, soon(), || panic!("on purpose"))
                    .await;
            };
            assert!(tokio::spawn(panics).await.unwrap_err().is_panic());
        }
        for _ in 0..=TURNS {
            let (begin, begun) = tokio::sync::oneshot::channel();
            let evaluations = Arc::clone(&evaluations);
            let gone = tokio::spawn(async move {
                let wait = move || begin.send(()).unwrap();
                evaluations.run(MEDIUM + 1, soon(), wait).await
            });
            begun.await.unwrap();
            gone.abort();
        }
        assert_eq!(evaluations.run(MEDIUM + 1, soon(), || 3).await, Ok(3));
    }
}
