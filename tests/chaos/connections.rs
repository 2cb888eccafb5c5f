//! Connections that are begun and never become requests, by the thousand.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::client::{Authority, BOTH, PATIENCE, connect};
use crate::load::{Call, Client, Tally, closed};
use crate::replica::Replica;
use crate::scenario::{Size, block_on};

/// The beginning of a ClientHello.
const HALF_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

const HALF_HEAD: &[u8] = b"POST /mutate HTTP/1.1\r\nHost: a\r\nX-Half";

/// What a client gets that has its connections, in turns with and without thousands of others that are half open.
pub(crate) fn half_open(size: Size) {
    let (connections, rounds, time) = size.of((1000, 1, 1), (10_000, 7, 8));
    let time = Duration::from_secs(time);
    block_on(async {
        // Once with a place for each of them, and once with the places that there are by default.
        for flags in [&["--max-connections", "12000"][..], &[]] {
            let authority = Authority::new();
            let replica = Replica::start(&authority, flags);
            let address = replica.serve.address;
            let client = Arc::new(Client::new(authority.client(BOTH), &[address]));
            let calls: Arc<[Call]> = Arc::new([Call::learn_known(&client, "patched pod").await]);
            closed(&client, &calls, 8, Duration::from_secs(1))
                .await
                .must_be_right();
            let [mut without, mut with] = [Vec::new(), Vec::new()];
            let [mut sum_without, mut sum_with] = [Tally::default(), Tally::default()];
            let mut dialled = 0;
            for _ in 0..rounds {
                let tally = closed(&client, &calls, 8, time).await;
                without.push(tally.right);
                sum_without.add(tally);
                let attack = Attack::start(address, &authority.client(BOTH), connections).await;
                let tally = closed(&client, &calls, 8, time).await;
                with.push(tally.right);
                sum_with.add(tally);
                dialled += attack.end();
            }
            let ratio = median(
                with.iter()
                    .zip(&without)
                    .map(|(with, without)| *with as f64 / *without as f64),
            );
            println!(
                "{flags:?}: {connections} half open, {dialled} dialled in all; goodput with ÷ without: {ratio:.3}"
            );
            println!("without: {sum_without}\nwith: {sum_with}");
            sum_without.must_be_right();
            sum_with.must_be_right();
            if size == Size::Full {
                assert!(ratio >= 0.95, "goodput falls to {ratio:.3}");
            }
            replica.end();
        }
    });
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Connections that are half open, and come again whenever the server has closed them.
struct Attack {
    running: JoinSet<()>,
    dialled: Arc<AtomicUsize>,
}

impl Attack {
    /// Begun as far as they can: those that find no place wait in the operating system's queues, or for it.
    async fn start(address: SocketAddr, tls: &ClientConfig, connections: usize) -> Self {
        let dialled = Arc::new(AtomicUsize::new(0));
        let mut running = JoinSet::new();
        for number in 0..connections {
            let (tls, dialled) = (tls.clone(), Arc::clone(&dialled));
            running.spawn(async move {
                loop {
                    dialled.fetch_add(1, Ordering::Relaxed);
                    let _ = half(number, address, tls.clone()).await;
                }
            });
        }
        let began = Instant::now();
        while dialled.load(Ordering::Relaxed) < connections {
            assert!(began.elapsed() < PATIENCE, "they were never begun");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        Self { running, dialled }
    }

    /// Gives all up; how often it has dialled.
    fn end(self) -> usize {
        drop(self.running);
        self.dialled.load(Ordering::Relaxed)
    }
}

/// Of ten connections, four say nothing, five half of a ClientHello, and one half of a request's head.
async fn half(number: usize, address: SocketAddr, tls: ClientConfig) -> std::io::Result<()> {
    let mut byte = [0];
    match number % 10 {
        0 => {
            let mut stream = connect(address, "localhost", tls).await?;
            stream.write_all(HALF_HEAD).await?;
            stream.flush().await?;
            stream.read(&mut byte).await?;
        }
        kind => {
            let mut stream = TcpStream::connect(address).await?;
            if kind < 6 {
                stream.write_all(HALF_HELLO).await?;
            }
            stream.read(&mut byte).await?;
        }
    }
    Ok(())
}
