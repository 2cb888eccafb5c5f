//! Clients that hold what they can: slots with slow bodies, the admin port with half-open connections, the budget with
//! responses that they do not read. Whoever comes after them is served.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use crate::bodies;
use crate::client::{Authority, BOTH, admin, connect, get, post};
use crate::load::{Answered, Call, Client, Tally, paced};
use crate::proc;
use crate::replica::Replica;
use crate::scenario::{Size, block_on};

/// How soon a newcomer is answered, for 99 of 100.
const PROMISE: f64 = 2_000.0;

/// An API server comes again after so long when it was sent away, for as long as the webhook's timeout lasts.
const AGAIN: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(5);

/// What the program may take in kilobytes. The limit of the chart is 384 MiB: the kernel has socket buffers in it, too.
const MEMORY: u64 = 256 * 1024;

/// A byte so often looks like progress.
const TRICKLE: Duration = Duration::from_millis(900);

/// Bodies that are begun and hardly go on, from more clients than there are slots.
pub(crate) fn slow_bodies(size: Size) {
    let (clients, flags, seconds) = size.of(
        (100, &["--max-connections", "64"][..], 4),
        (1_500, &[][..], 60),
    );
    let time = Duration::from_secs(seconds);
    let callers = runtime();
    block_on(async {
        let authority = Authority::new();
        let replica = Replica::start(&authority, flags);
        let address = replica.serve.address;
        let client = || Client::new(authority.client(BOTH), &[address]);
        let calls: Arc<[Call]> = Arc::new([Call::learn_known(&client(), "patched pod").await]);

        // As an API server's: idle most of the time, with no reason to dial again.
        let resting = Arc::new(client());
        let (idle, known) = (Arc::clone(&resting), Arc::clone(&calls));
        let first = async move { paced(&idle, &known, 8, Duration::from_millis(100), AGAIN).await };
        callers.spawn(first).await.unwrap().must_be_right();
        let dialled = resting.dialled.load(Ordering::Relaxed);

        let attack = Attack::start(
            clients,
            move |number, tls| slow_body(number, address, tls),
            &authority,
        )
        .await;
        let (resting, newcomers, used) = {
            let client = Arc::new(client().dialling(1));
            let (idle, calls) = (Arc::clone(&resting), Arc::clone(&calls));
            let both = callers.spawn(async move {
                tokio::join!(
                    paced(&idle, &calls, 8, time, Duration::from_millis(1500)),
                    paced(&client, &calls, 4, time, Duration::from_millis(100)),
                )
            });
            let (tally, newcomers) = both.await.unwrap();
            (tally, newcomers, resting)
        };
        println!(
            "{clients} slow bodies, {} dialled in all for {seconds} s; newcomers: {newcomers}",
            attack.end()
        );
        println!("idle between calls: {resting}");
        newcomers.must_be_right();
        resting.must_be_right();
        let again = used.dialled.load(Ordering::Relaxed);
        assert_eq!(again, dialled, "idle connections were closed");
        if size == Size::Full {
            assert!(newcomers.quantile(990) < PROMISE, "{newcomers}");
        }
        replica.end();
    });
}

/// Every other client is silent after the first byte of its body; the others send one more now and then.
async fn slow_body(number: usize, address: SocketAddr, tls: ClientConfig) -> std::io::Result<()> {
    let mut stream = connect(address, "localhost", tls).await?;
    let request = post("/mutate", &" ".repeat(100_000));
    let head = request.find("\r\n\r\n").map_or(0, |end| end + 5);
    stream.write_all(&request.as_bytes()[..head]).await?;
    stream.flush().await?;
    loop {
        let wait = if number.is_multiple_of(2) {
            TIMEOUT * 4
        } else {
            TRICKLE
        };
        if let Ok(read) = timeout(wait, stream.read_u8()).await {
            return read.map(|_| ());
        }
        stream.write_all(b" ").await?;
        stream.flush().await?;
    }
}

/// Half-open connections to the port of health and metrics, 300 more each second, and probes as of a kubelet.
pub(crate) fn half_open_probes(size: Size) {
    const EACH_SECOND: u32 = 300;
    let time = Duration::from_secs(size.of(4, 60));
    let kubelet = runtime();
    block_on(async {
        let authority = Authority::new();
        let replica = Replica::start(&authority, &[]);
        let address = replica.serve.admin_address;
        let probing = kubelet.spawn(async move {
            let began = Instant::now();
            let (mut tally, mut late) = (Tally::default(), 0);
            while began.elapsed() < time {
                let since = Instant::now();
                let probe = timeout(TIMEOUT, probe(address)).await;
                late += usize::from(since.elapsed() > Duration::from_secs(1));
                let outcome = probe.map_err(|_| "no answer within 5 s".to_owned());
                tally.note(outcome.flatten().map(|()| Answered::Right), since);
                sleep(Duration::from_millis(100)).await;
            }
            (tally, late)
        });
        let (mut running, began, mut dialled) = (JoinSet::new(), Instant::now(), 0);
        while began.elapsed() < time {
            while f64::from(dialled) < began.elapsed().as_secs_f64() * f64::from(EACH_SECOND) {
                dialled += 1;
                running.spawn(async move {
                    let mut stream = TcpStream::connect(address).await?;
                    stream.write_all(b"G").await?;
                    stream.read_u8().await
                });
            }
            while running.try_join_next().is_some() {}
            sleep(Duration::from_millis(5)).await;
        }
        let (tally, late) = probing.await.unwrap();
        println!(
            "{dialled} half open in {} s; {late} probes took longer than 1 s: {tally}",
            time.as_secs()
        );
        tally.must_be_right();
        if size == Size::Full {
            assert_eq!(late, 0, "a probe with a timeout of 1 s fails");
        }
        drop(running);
        replica.end();
    });
}

/// With a connection of its own, as a kubelet's.
async fn probe(address: SocketAddr) -> Result<(), String> {
    let told = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(get("/livez").as_bytes()).await?;
        let mut told = [0; 15];
        stream.read_exact(&mut told).await?;
        std::io::Result::Ok(told)
    };
    match told.await {
        Ok(told) if told == *b"HTTP/1.1 200 OK" => Ok(()),
        Ok(told) => Err(String::from_utf8_lossy(&told).into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Responses that nobody reads, for as many bytes as there are for all requests and more.
pub(crate) fn unread(size: Size) {
    let (clients, flags, seconds) = size.of(
        (100, &["--max-inflight-bytes", "8388608"][..], 4),
        (1_024, &[][..], 60),
    );
    let time = Duration::from_secs(seconds);
    let callers = runtime();
    block_on(async {
        let authority = Authority::new();
        let replica = Replica::start(&authority, flags);
        let address = replica.serve.address;
        let client = || Client::new(authority.client(BOTH), &[address]);
        let calls: Arc<[Call]> = Arc::new([Call::learn_known(&client(), "patched pod").await]);
        let told = |name| proc::kilobytes(replica.id(), name).unwrap();
        let idle = told("VmRSS");
        // Few findings for a long patch, and as many as fit for a longer one, if there is no bound.
        let requests = [330, 10_000].map(|count| Arc::from(post("/mutate", &repaired(count))));
        let attack = Attack::start(
            clients,
            move |number, tls| unread_response(Arc::clone(&requests[number % 2]), address, tls),
            &authority,
        )
        .await;
        let newcomers = {
            let client = Arc::new(client().dialling(1));
            let calls = Arc::clone(&calls);
            callers.spawn(async move { persistent(&client, &calls[0], time).await })
        };
        let (newcomers, again) = newcomers.await.unwrap();
        let metrics = admin(replica.serve.admin_address, "/metrics").await;
        let metric = |name: &str| {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim().parse::<u64>().unwrap()
        };
        let evicted = metric("transom_errors_total{stage=\"evicted_bytes\"}");
        let (peak, held) = (told("VmHWM"), metric("transom_inflight_bytes"));
        println!(
            "{clients} clients that do not read, {} dialled in all for {seconds} s; {held} bytes in flight at the end, \
             {evicted} evicted for their bytes",
            attack.end()
        );
        println!("resident, in kB: idle {idle}, at most {peak}; {MEMORY} are allowed");
        println!("newcomers, {again} of which came again after a 503: {newcomers}");
        assert!(peak < MEMORY);
        newcomers.must_be_right();
        replica.end();
    });
}

/// Newcomers that come again when they are sent away, as an API server does; how many had to.
async fn persistent(client: &Arc<Client>, call: &Call, time: Duration) -> (Tally, usize) {
    let (mut tally, mut again) = (Tally::default(), 0);
    let began = Instant::now();
    while began.elapsed() < time {
        let since = Instant::now();
        let answered = async {
            loop {
                match client.call(call).await {
                    Ok(Answered::SentAway) => again += 1,
                    other => return other,
                }
                sleep(AGAIN).await;
            }
        };
        let outcome = timeout(TIMEOUT, answered).await;
        let outcome = outcome.unwrap_or_else(|_| Err("not answered within 5 s".to_owned()));
        tally.note(outcome, since);
        sleep(Duration::from_millis(100)).await;
    }
    (tally, again)
}

/// Sends its request, and reads nothing of the response until the connection ends. Its window is small, so that
/// little of the response is in the kernel.
async fn unread_response(
    request: Arc<str>,
    address: SocketAddr,
    tls: ClientConfig,
) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    let tcp = socket.connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(tls)).connect(name, tcp).await?;
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    // Only the end of it is of interest, which a client that does not read sees when it writes.
    loop {
        sleep(Duration::from_millis(500)).await;
        stream.write_all(b"\r\n").await?;
        stream.flush().await?;
    }
}

/// A pod review with so many containers, each with three fields that a patch removes.
fn repaired(count: usize) -> String {
    let known = bodies::of("patched pod").json.swap_remove(0);
    let mut review: Value = serde_json::from_slice(&known).unwrap();
    let spec = &mut review["request"]["object"]["spec"];
    let containers = (0..count).map(|number| {
        json!({"name": format!("c{number}"), "image": "a", "securityContext": {
            "privileged": false, "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
        }})
    });
    spec["containers"] = containers.collect();
    review.to_string()
}

/// Clients that come again whenever the server has closed their connection.
struct Attack {
    running: JoinSet<()>,
    dialled: Arc<AtomicUsize>,
}

impl Attack {
    /// Each has begun once, and most have got as far as they go.
    async fn start<F>(
        clients: usize,
        one: impl Fn(usize, ClientConfig) -> F + Clone + Send + 'static,
        authority: &Authority,
    ) -> Self
    where
        F: Future<Output = std::io::Result<()>> + Send,
    {
        let dialled = Arc::new(AtomicUsize::new(0));
        let mut running = JoinSet::new();
        for number in 0..clients {
            let (one, dialled, tls) = (one.clone(), Arc::clone(&dialled), authority.client(BOTH));
            running.spawn(async move {
                loop {
                    dialled.fetch_add(1, Ordering::Relaxed);
                    if one(number, tls.clone()).await.is_err() {
                        sleep(Duration::from_millis(10)).await;
                    }
                }
            });
        }
        sleep(Duration::from_secs(2)).await;
        Self { running, dialled }
    }

    /// Gives all up; how often it has dialled.
    fn end(self) -> usize {
        drop(self.running);
        self.dialled.load(Ordering::Relaxed)
    }
}

/// A thread of its own: who attacks is not to keep those waiting that are measured.
fn runtime() -> Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap()
}
