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
use crate::load::{Call, Client, Tally, paced};
use crate::proc;
use crate::replica::Replica;
use crate::scenario::{Size, block_on};

/// The beginning of a ClientHello.
const HALF_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

const HALF_HEAD: &[u8] = b"POST /mutate HTTP/1.1\r\nHost: a\r\nX-Half";

/// So many callers, each of which rests so long after each answer: they do not need all of the machine.
const CALLERS: usize = 8;
const REST: Duration = Duration::from_millis(20);

/// What callers get that have their connections, in turns with and without thousands of others that are half open.
pub(crate) fn half_open(size: Size) {
    let (connections, rounds, time) = size.of((1000, 1, 1), (10_000, 7, 8));
    let time = Duration::from_secs(time);
    // The callers have a thread of their own: whoever dials by the thousand is not to keep them waiting.
    let mut callers = tokio::runtime::Builder::new_multi_thread();
    let callers = callers.worker_threads(1).enable_all().build().unwrap();
    block_on(async {
        // Once with a place for each of them, and once with the places that there are by default.
        for flags in [&["--max-connections", "12000"][..], &[]] {
            let authority = Authority::new();
            let replica = Replica::start(&authority, flags);
            let address = replica.serve.address;
            let client = || Client::new(authority.client(BOTH), &[address]);
            let calls: Arc<[Call]> = Arc::new([Call::learn_known(&client(), "patched pod").await]);
            let client = Arc::new(client());
            let round = async || {
                let (client, calls) = (Arc::clone(&client), Arc::clone(&calls));
                let calling = async move { paced(&client, &calls, CALLERS, time, REST).await };
                let before = proc::cpu(replica.id());
                let tally = callers.spawn(calling).await.unwrap();
                (tally, proc::cpu(replica.id()) - before)
            };
            round().await.0.must_be_right();
            let [mut without, mut with] = [(); 2].map(|()| (Tally::default(), Duration::ZERO));
            let (mut ratios, mut dialled) = (Vec::new(), 0);
            for _ in 0..rounds {
                let alone = round().await;
                let attack = Attack::start(address, &authority.client(BOTH), connections).await;
                let among = round().await;
                dialled += attack.end();
                ratios.push(among.0.right as f64 / alone.0.right as f64);
                for (sum, one) in [(&mut without, alone), (&mut with, among)] {
                    sum.0.add(one.0);
                    sum.1 += one.1;
                }
            }
            ratios.sort_by(f64::total_cmp);
            let ratio = ratios[ratios.len() / 2];
            println!(
                "{flags:?}: {connections} half open, {dialled} dialled in all; goodput with ÷ without: {ratio:.3}"
            );
            for (name, (tally, cpu)) in [("without", without), ("with", with)] {
                println!("{name}: {tally}; {:.1} s of CPU", cpu.as_secs_f64());
                tally.must_be_right();
            }
            if size == Size::Full {
                assert!(ratio >= 0.95, "goodput falls to {ratio:.3}");
            }
            replica.end();
        }
    });
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
    match number % 10 {
        0 => {
            let mut stream = connect(address, "localhost", tls).await?;
            stream.write_all(HALF_HEAD).await?;
            stream.flush().await?;
            stream.read_u8().await?;
        }
        kind => {
            let mut stream = TcpStream::connect(address).await?;
            if kind < 6 {
                stream.write_all(HALF_HELLO).await?;
            }
            stream.read_u8().await?;
        }
    }
    Ok(())
}
