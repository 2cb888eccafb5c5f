//! Ten times what the server can do, and how soon it is itself again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::{self, Authority, BOTH};
use crate::load::{Answered, Call, Client, Load, Tally, closed};
use crate::replica::Replica;
use crate::scenario::{Size, block_on};

/// What is usual, before and after.
const CALLERS: usize = 16;

/// As many calls as an API server has in flight at most, by default (`--max-requests-inflight` and
/// `--max-mutating-requests-inflight`).
const CROWD: usize = 600;

/// A piece of time in which something is answered.
const PIECE: Duration = Duration::from_millis(100);

/// From this part of it on, a piece is as usual.
const USUAL: f64 = 0.9;

pub(crate) fn ten_times(size: Size) {
    let (rounds, time) = size.of((1, 1), (5, 10));
    let time = Duration::from_secs(time);
    block_on(async {
        let authority = Authority::new();
        // Less than what comes: some are sent away.
        let flags = ["--max-inflight-bytes", "8388608"];
        let replica = Replica::start(&authority, &flags);
        let address = replica.serve.address;
        let client = || Client::new(authority.client(BOTH), &[address]);
        let usual = Arc::new(client());
        let calls: Arc<[Call]> = Arc::new([Call::learn_known(&usual, "146 containers").await]);
        let probe = Call::learn_known(&usual, "patched pod").await;
        for _ in 0..rounds {
            let mut before = Vec::new();
            let began = Instant::now();
            while began.elapsed() < time {
                let tally = piece(&usual, &calls).await;
                tally.must_be_right();
                before.push(rate(&tally));
            }
            let capacity = before.iter().sum::<f64>() / before.len() as f64;
            let slow = before.iter().filter(|rate| **rate < USUAL * capacity);
            let slow = 100 * slow.count() / before.len();

            let crowd = Arc::new(client());
            let load = Load::start_bounded(&crowd, &calls, 10.0 * capacity, CROWD);
            tokio::time::sleep(time).await;
            // Whoever waits for an answer still, goes.
            let during = load.abort().await;
            drop(crowd);

            let ended = Instant::now();
            assert_eq!(client().call(&probe).await, Ok(Answered::Right));
            let first = ended.elapsed();
            loop {
                let tally = piece(&usual, &calls).await;
                assert_eq!(tally.failed(), 0, "{tally}");
                if rate(&tally) >= USUAL * capacity {
                    break;
                }
                assert!(ended.elapsed() < client::PATIENCE, "it does not pass");
            }
            let recovered = ended.elapsed();
            println!(
                "usual: {capacity:.0} a second, {slow} of 100 pieces below nine tenths of that; ten times that: {during}"
            );
            println!(
                "then the first answer after {:.0} ms, nine tenths of the usual after {:.0} ms",
                first.as_secs_f64() * 1000.0,
                recovered.as_secs_f64() * 1000.0
            );
            assert_eq!(during.failed(), 0, "{during}");
        }
        replica.end();
    });
}

/// What becomes of the calls of the usual callers in a piece.
async fn piece(client: &Arc<Client>, calls: &Arc<[Call]>) -> Tally {
    closed(client, calls, CALLERS, PIECE).await
}

/// How many calls a second were answered in it.
fn rate(piece: &Tally) -> f64 {
    piece.right as f64 / PIECE.as_secs_f64()
}
