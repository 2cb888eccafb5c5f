//! Replicas that are restarted under load, as a Deployment's rollout does it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use crate::client::{Authority, BOTH, answer, connect};
use crate::load::{Call, Client, Load, Tally};
use crate::replica::Replica;
use crate::scenario::{Size, block_on};

const REPLICAS: usize = 2;

/// How the replicas are restarted.
#[derive(Clone, Copy)]
struct Plan {
    rollouts: usize,
    /// `--drain-seconds`.
    drain: u64,
    /// When the client learns, after the SIGTERM, that an endpoint is gone.
    removal: Duration,
    /// Calls a second.
    rate: f64,
}

/// With draining, no call fails; the same without fails, so that the first says something.
pub(crate) fn rolling(size: Size) {
    let plan = size.of(
        Plan {
            rollouts: 1,
            drain: 8,
            removal: Duration::from_secs(1),
            rate: 30.0,
        },
        Plan {
            rollouts: 100,
            drain: 15,
            removal: Duration::from_secs(5),
            rate: 300.0,
        },
    );
    let without = Plan {
        rollouts: plan.rollouts.div_ceil(10),
        drain: 0,
        // Often enough that somebody dials the one that is gone.
        rate: 300.0,
        ..plan
    };
    block_on(async {
        roll(plan).await.must_be_right();
        let tally = roll(without).await;
        assert!(
            tally.failed() > 0,
            "without draining nothing fails either: {tally}"
        );
    });
}

async fn roll(plan: Plan) -> Tally {
    let authority = Authority::new();
    let seconds = plan.drain.to_string();
    let flags = ["--drain-seconds", &seconds];
    let mut replicas: Vec<_> = (0..REPLICAS)
        .map(|_| Replica::start(&authority, &flags))
        .collect();
    let endpoints: Vec<_> = replicas.iter().map(|one| one.serve.address).collect();
    // A pool alone would seldom dial while replicas come and go.
    let client = Client::new(authority.client(BOTH), &endpoints).dialling(20);
    let client = Arc::new(client);
    let endpoints = Arc::new(Mutex::new(endpoints));
    let calls = Arc::new([
        Call::learn_known(&client, "patched pod").await,
        Call::learn_known(&client, "denied Deployment").await,
        Call::learn_known(&client, "6 containers").await,
    ]);
    let began = Instant::now();
    let load = Load::start(&client, &(calls as _), plan.rate);
    for _ in 0..plan.rollouts {
        // One more than there are to be; an old one is told to end when the new one is ready, and nobody waits for its end.
        let mut ending = JoinSet::new();
        for replica in &mut replicas {
            let new = Replica::start(&authority, &flags);
            let address = new.serve.address;
            let old = std::mem::replace(replica, new);
            let change = {
                let (client, endpoints) = (Arc::clone(&client), Arc::clone(&endpoints));
                move |change: &dyn Fn(&mut Vec<_>)| {
                    let mut endpoints = endpoints.lock().unwrap();
                    change(&mut endpoints);
                    client.lead_to(endpoints.clone());
                }
            };
            change(&|all| all.push(address));
            ending.spawn(async move {
                let gone = old.serve.address;
                old.serve.signal("TERM");
                let ended = tokio::task::spawn_blocking(move || old.serve.wait().0);
                tokio::time::sleep(plan.removal).await;
                change(&|all| all.retain(|address| *address != gone));
                assert_eq!(ended.await.unwrap(), Some(0));
            });
        }
        ending.join_all().await;
    }
    let tally = load.end().await;
    println!(
        "{} rollouts of {REPLICAS} replicas in {:.0} s, --drain-seconds {}, endpoints removed after {} s; {} connections",
        plan.rollouts,
        began.elapsed().as_secs_f64(),
        plan.drain,
        plan.removal.as_secs(),
        client.dialled.load(Ordering::Relaxed),
    );
    println!("{tally}");
    tally
}

/// Whatever a handler has when the server closes is answered, however slowly the rest of it comes.
pub(crate) fn in_flight(size: Size) {
    let (rounds, requests) = size.of((1, 100), (20, 500));
    block_on(async {
        let authority = Authority::new();
        let mut answered = 0;
        for _ in 0..rounds {
            let replica = Replica::start(&authority, &["--drain-seconds", "0"]);
            let address = replica.serve.address;
            let client = Client::new(authority.client(BOTH), &[address]);
            let call = Call::learn_known(&client, "6 containers").await;
            let mut streams = Vec::new();
            for _ in 0..requests {
                let mut stream = connect(address, "localhost", authority.client(BOTH))
                    .await
                    .unwrap();
                let head = format!(
                    "POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
                     Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
                    call.body.len()
                );
                stream.write_all(head.as_bytes()).await.unwrap();
                streams.push(stream);
            }
            for stream in &mut streams {
                // Once this comes, a handler is waiting for the body.
                let mut go_on = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
                stream.read_exact(&mut go_on).await.unwrap();
            }
            replica.serve.signal("TERM");
            let replica = tokio::task::spawn_blocking(move || {
                replica.serve.wait_for_log("closing:");
                replica
            });
            let replica = replica.await.unwrap();
            let mut sending = JoinSet::new();
            for mut stream in streams {
                let body = call.body.clone();
                sending.spawn(async move {
                    for piece in body.chunks(body.len().div_ceil(10)) {
                        stream.write_all(piece).await.unwrap();
                        stream.flush().await.unwrap();
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                    let answer = answer(&mut stream).await;
                    assert_eq!(answer.status, 200, "{answer:?}");
                });
            }
            answered += sending.join_all().await.len();
            let ended = tokio::task::spawn_blocking(move || replica.serve.wait());
            assert_eq!(ended.await.unwrap().0, Some(0));
        }
        println!(
            "{} requests in flight at {rounds} ends, {answered} answered",
            rounds * requests
        );
        assert_eq!(answered, rounds * requests);
    });
}
