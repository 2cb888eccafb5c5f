//! What is measured, in which order, and how long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use rustls::ClientConfig;
use serde::Serialize;
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::client::{self, Connection};
use crate::machine::Machine;
use crate::process::{self, BOTH, Process, Programs, Which};
use crate::request::{self, Request};
use crate::rounds::{Figure, Rounds, turns};
use crate::support::{self, Authority};

/// How much of everything.
pub(crate) struct Plan {
    rounds: usize,
    /// How long one turn takes.
    turn: Duration,
    starts: usize,
}

impl Plan {
    pub(crate) const FULL: Self = Self {
        rounds: 11,
        turn: Duration::from_secs(1),
        starts: 21,
    };
    pub(crate) const QUICK: Self = Self {
        rounds: 3,
        turn: Duration::from_millis(200),
        starts: 3,
    };
}

/// Everything that was found out.
#[derive(Debug, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) closed: Vec<Closed>,
    pub(crate) open: Vec<Open>,
    pub(crate) memory: [Memory; 2],
    /// From the start of the process to the first answer, in milliseconds.
    pub(crate) start: Figure,
    pub(crate) handshakes: Handshakes,
}

/// Each connection asks again when it is answered.
#[derive(Debug, Serialize)]
pub(crate) struct Closed {
    pub(crate) body: String,
    pub(crate) kilobytes: f64,
    pub(crate) connections: usize,
    /// Requests a second.
    pub(crate) throughput: Figure,
    /// Microseconds a request, of all the server's threads.
    pub(crate) cpu: Figure,
    /// The client's, in microseconds a request: where it is more than the server's, it is the client that is
    /// measured.
    pub(crate) client_cpu: Figure,
    pub(crate) latency: [Percentiles; 2],
    /// The bucket of Transom's own histogram in which the 99th percentile of its handler lies, in
    /// milliseconds.
    pub(crate) handler_p99: f64,
}

/// So many requests a second, whether or not the answers keep up.
#[derive(Debug, Serialize)]
pub(crate) struct Open {
    pub(crate) body: String,
    pub(crate) kilobytes: f64,
    pub(crate) connections: usize,
    pub(crate) rate: u32,
    pub(crate) latency: [Percentiles; 2],
}

/// Milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
}

/// Resident bytes.
#[derive(Debug, Serialize)]
pub(crate) struct Memory {
    /// Before the first connection.
    pub(crate) idle: f64,
    /// At most, while 16 bodies of 3.4 MB were there at once.
    pub(crate) loaded: f64,
}

/// Full TLS 1.3 handshakes with ECDSA P-256.
#[derive(Debug, Serialize)]
pub(crate) struct Handshakes {
    pub(crate) a_second: Figure,
    /// Microseconds of the server's CPU for each, with accepting and closing.
    pub(crate) cpu: Figure,
}

/// All of it.
pub(crate) async fn all(plan: &Plan, programs: &Programs) -> Results {
    let bench = Bench::new(plan, programs);
    let machine = Machine::new();
    let start = bench.start().await;
    let memory = [
        bench.memory(Which::Null).await,
        bench.memory(Which::Transom).await,
    ];
    let pair = BOTH.map(|which| bench.process(which, Some(1)));
    let handshakes = bench.handshakes(&pair).await;
    let closed = bench.closed_loops(&pair, "").await;
    let mut open = Vec::new();
    for (request, rate) in open_loops() {
        open.push(bench.open(&pair, &request, rate).await);
    }
    bench.progress.finish_and_clear();
    Results {
        machine,
        closed,
        open,
        memory,
        start,
        handshakes,
    }
}

/// The closed loops of the bodies with this in their names.
pub(crate) async fn named(plan: &Plan, programs: &Programs, name: &str) -> Vec<Closed> {
    let bench = Bench::new(plan, programs);
    let pair = BOTH.map(|which| bench.process(which, Some(1)));
    let closed = bench.closed_loops(&pair, name).await;
    bench.progress.finish_and_clear();
    closed
}

/// The sizes on few and many connections; then what the body is made of, on some.
fn closed_loops() -> Vec<(Arc<Request>, usize)> {
    let sizes = [
        ("5 kB", 5_000),
        ("20 kB", 20_000),
        ("100 kB", 100_000),
        ("1 MB", 1_000_000),
    ];
    let sizes = sizes.map(|(name, bytes)| request::sized(name, bytes));
    let sizes = sizes
        .iter()
        .flat_map(|request| [1, 8, 64].map(|n| (Arc::clone(request), n)));
    let named = [
        "patched pod",
        "Linux pod",
        "denied Deployment",
        "padded",
        "146 containers",
    ];
    let named = named.into_iter().map(|name| (request::named(name), 8));
    sizes.chain(named).collect()
}

/// Sizes and rates.
fn open_loops() -> Vec<(Arc<Request>, u32)> {
    let loops = [
        ("5 kB", 5_000, 1_000),
        ("5 kB", 5_000, 5_000),
        ("20 kB", 20_000, 2_000),
        ("100 kB", 100_000, 500),
    ];
    let loops = loops.map(|(name, bytes, rate)| (request::sized(name, bytes), rate));
    loops.into()
}

/// How many connections an open loop has: more than the API server keeps.
const OPEN: usize = 64;

/// How many handshakes are under way at a time.
const HANDSHAKES: usize = 8;

struct Bench<'p> {
    plan: &'p Plan,
    programs: &'p Programs,
    directory: TempDir,
    tls: Arc<ClientConfig>,
    progress: ProgressBar,
}

impl<'p> Bench<'p> {
    fn new(plan: &'p Plan, programs: &'p Programs) -> Self {
        let authority = Authority::new();
        let (cert, key) = authority.leaf();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("tls.crt"), cert).unwrap();
        std::fs::write(directory.path().join("tls.key"), key).unwrap();
        Self {
            plan,
            programs,
            directory,
            tls: Arc::new(authority.client(support::BOTH)),
            progress: ProgressBar::new_spinner(),
        }
    }

    fn process(&self, which: Which, workers: Option<usize>) -> Process {
        Process::start(self.programs, which, self.directory.path(), workers)
    }

    fn tell(&self, what: String) {
        self.progress.set_message(what);
        self.progress.tick();
    }

    async fn start(&self) -> Figure {
        let request = request::named("allowed pod");
        let mut rounds = Rounds::default();
        for round in 0..self.plan.starts {
            self.tell(format!("start-up {}/{}", round + 1, self.plan.starts));
            for which in turns(round) {
                let begin = Instant::now();
                let process = self.process(which, None);
                let connection = Connection::open(process.address, Arc::clone(&self.tls)).await;
                connection.unwrap().ask(&request.bytes).await.unwrap();
                rounds.push(which, begin.elapsed().as_secs_f64() * 1e3);
            }
        }
        rounds.figure()
    }

    /// The memory of a fresh server; then 16 bodies, of each of which the last byte is missing until all others
    /// are there.
    async fn memory(&self, which: Which) -> Memory {
        self.tell(format!("memory of {which:?}"));
        let process = self.process(which, None);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let [idle, _] = process.memory();
        let request = request::sized("3.4 MB", 3_400_000);
        let mut connections = Connection::open_many(16, process.address, &self.tls).await;
        let (last, most) = request.bytes.split_last().unwrap();
        for _ in 0..3 {
            for connection in &mut connections {
                connection.send(most).await.unwrap();
            }
            for connection in &mut connections {
                connection.send(&[*last]).await.unwrap();
            }
            for connection in &mut connections {
                connection.answer().await.unwrap();
            }
        }
        let [_, loaded] = process.memory();
        Memory { idle, loaded }
    }

    async fn handshakes(&self, pair: &[Process; 2]) -> Handshakes {
        let (mut a_second, mut cpu) = (Rounds::default(), Rounds::default());
        for round in 0..self.plan.rounds {
            self.tell(format!("handshakes {}/{}", round + 1, self.plan.rounds));
            for which in turns(round) {
                let process = &pair[which as usize];
                let (begin, before) = (Instant::now(), process.cpu());
                let address = process.address;
                let count =
                    client::handshakes(address, &self.tls, HANDSHAKES, self.plan.turn).await;
                let (time, taken) = (begin.elapsed(), process.cpu() - before);
                a_second.push(which, count as f64 / time.as_secs_f64());
                cpu.push(which, taken.as_secs_f64() * 1e6 / count as f64);
            }
        }
        Handshakes {
            a_second: a_second.figure(),
            cpu: cpu.figure(),
        }
    }

    async fn closed_loops(&self, pair: &[Process; 2], name: &str) -> Vec<Closed> {
        let mut closed = Vec::new();
        for (request, connections) in closed_loops() {
            if request.name.contains(name) {
                closed.push(self.closed(pair, &request, connections).await);
            }
        }
        closed
    }

    async fn closed(&self, pair: &[Process; 2], request: &Arc<Request>, count: usize) -> Closed {
        let mut kept = self.connections(pair, request, count).await;
        let mut latency = [(); 2].map(|()| client::histogram());
        let [mut throughput, mut cpu, mut client_cpu] = [(); 3].map(|()| Rounds::default());
        let handled = Handled::of(&pair[1]).await;
        for round in 0..self.plan.rounds {
            self.tell(format!(
                "{}, {count} connections {}/{}",
                request.name,
                round + 1,
                self.plan.rounds
            ));
            for which in turns(round) {
                let (process, latency) = (&pair[which as usize], &mut latency[which as usize]);
                let answered = latency.len();
                let before = [process.cpu(), process::cpu("self")];
                let begin = Instant::now();
                let mine = std::mem::take(&mut kept[which as usize]);
                kept[which as usize] =
                    client::closed_loop(mine, request, self.plan.turn, latency).await;
                let time = begin.elapsed();
                let after = [process.cpu(), process::cpu("self")];
                let answered = (latency.len() - answered) as f64;
                throughput.push(which, answered / time.as_secs_f64());
                for (rounds, i) in [(&mut cpu, 0), (&mut client_cpu, 1)] {
                    let taken = (after[i] - before[i]).as_secs_f64();
                    rounds.push(which, taken * 1e6 / answered);
                }
            }
        }
        Closed {
            body: request.name.clone(),
            kilobytes: request.kilobytes,
            connections: count,
            throughput: throughput.figure(),
            cpu: cpu.figure(),
            client_cpu: client_cpu.figure(),
            latency: latency.map(|latency| percentiles(&latency)),
            handler_p99: Handled::of(&pair[1]).await.since(&handled).p99() * 1e3,
        }
    }

    async fn open(&self, pair: &[Process; 2], request: &Arc<Request>, rate: u32) -> Open {
        let mut kept = self.connections(pair, request, OPEN).await;
        let mut latency = [(); 2].map(|()| client::histogram());
        for round in 0..self.plan.rounds {
            self.tell(format!(
                "{}, {rate} a second {}/{}",
                request.name,
                round + 1,
                self.plan.rounds
            ));
            for which in turns(round) {
                let (mine, latency) = (&mut kept[which as usize], &mut latency[which as usize]);
                let connections = std::mem::take(mine);
                *mine =
                    client::open_loop(connections, request, rate, self.plan.turn, latency).await;
            }
        }
        Open {
            body: request.name.clone(),
            kilobytes: request.kilobytes,
            connections: OPEN,
            rate,
            latency: latency.map(|latency| percentiles(&latency)),
        }
    }

    /// Connections to both, on each of which one request was answered.
    async fn connections(
        &self,
        pair: &[Process; 2],
        request: &Arc<Request>,
        count: usize,
    ) -> [Vec<Connection>; 2] {
        let mut both = [Vec::new(), Vec::new()];
        for (connections, process) in both.iter_mut().zip(pair) {
            *connections = Connection::open_many(count, process.address, &self.tls).await;
            for connection in connections {
                let answer = connection.ask(&request.bytes).await.unwrap();
                let answer: serde_json::Value = serde_json::from_slice(answer).unwrap();
                assert!(answer["response"]["uid"].is_string(), "{answer}");
            }
        }
        both
    }
}

fn percentiles(latencies: &Histogram<u64>) -> Percentiles {
    let at = |quantile| latencies.value_at_quantile(quantile) as f64 / 1e6;
    Percentiles {
        p50: at(0.5),
        p99: at(0.99),
        p999: at(0.999),
    }
}

/// What Transom says of its handler: how many reviews took at most so many seconds.
struct Handled(Vec<(f64, u64)>);

impl Handled {
    async fn of(process: &Process) -> Self {
        let mut stream = TcpStream::connect(process.admin_address).await.unwrap();
        let answer = support::exchange(&mut stream, &support::get("/metrics")).await;
        let mut buckets: Vec<(f64, u64)> = Vec::new();
        for line in answer.body.lines() {
            let Some(line) = line.strip_prefix("transom_admission_duration_seconds_bucket{") else {
                continue;
            };
            let (labels, count) = line.rsplit_once("} ").unwrap();
            let le = labels.split("le=\"").nth(1).unwrap();
            let le = le.split('"').next().unwrap().parse().unwrap();
            let count: u64 = count.parse().unwrap();
            // Both webhooks together.
            match buckets.iter_mut().find(|bucket| bucket.0 == le) {
                Some(bucket) => bucket.1 += count,
                None => buckets.push((le, count)),
            }
        }
        Self(buckets)
    }

    fn since(self, before: &Self) -> Self {
        let pairs = self.0.into_iter().zip(&before.0);
        Self(
            pairs
                .map(|(now, before)| (now.0, now.1 - before.1))
                .collect(),
        )
    }

    /// The upper bound of the bucket with the 99th percentile, in seconds.
    fn p99(&self) -> f64 {
        let all = self.0.last().unwrap().1 as f64;
        let bucket = self.0.iter().find(|bucket| bucket.1 as f64 >= all * 0.99);
        bucket.unwrap().0
    }
}
