//! The load: a client with the habits of an API server's, which are those of Go's net/http, and what came of its calls.
//!
//! It keeps connections for 90 s, gives one that the server has closed up as soon as it sees that, and calls a second
//! time only if not a byte of the first call was written: a POST that meets the end of its connection has failed.
//! Connections go to the endpoints in turn.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use transom::decision::Endpoint;

use crate::bodies;

/// As Go's transport keeps its connections, and client-go so many of them for one host.
const IDLE: Duration = Duration::from_secs(90);
const IDLE_CONNECTIONS: usize = 25;

/// The longest that an API server waits for a webhook; a test that is faster than its machine fails by nothing else.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// With more calls than that the machine cannot follow.
const OUTSTANDING: usize = 20_000;

/// How often calls are begun.
const TICK: Duration = Duration::from_millis(10);

/// A review that is sent, and what may be answered.
pub(crate) struct Call {
    path: &'static str,
    pub(crate) body: Bytes,
    answers: Vec<Bytes>,
}

impl Call {
    /// What is answered to it now is the right answer.
    pub(crate) async fn learn(client: &Client, path: &'static str, body: Vec<u8>) -> Self {
        let mut call = Self {
            path,
            body: body.into(),
            answers: Vec::new(),
        };
        call.learn_another(client).await;
        call
    }

    /// The first of the reviews of this name in the benchmarks.
    pub(crate) async fn learn_known(client: &Client, name: &str) -> Self {
        let body = bodies::of(name);
        let path = match body.endpoint {
            Endpoint::Mutate => "/mutate",
            Endpoint::Validate => "/validate",
        };
        let json = body.json.into_iter().next();
        Self::learn(client, path, json.unwrap()).await
    }

    /// What is answered to it now is right, too.
    pub(crate) async fn learn_another(&mut self, client: &Client) {
        let (status, answer) = client.ask(self).await.unwrap();
        assert_eq!(status, StatusCode::OK, "{answer:?}");
        self.answers.push(answer);
    }
}

/// What became of a call that was answered as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// With the right answer.
    Right,
    /// With 503 and when to come again.
    SentAway,
}

pub(crate) struct Client {
    tls: TlsConnector,
    endpoints: Mutex<Vec<SocketAddr>>,
    next: AtomicUsize,
    /// Those that were used last come last.
    idle: Mutex<Vec<Connection>>,
    /// After so many calls it gives a connection up.
    uses: u32,
    pub(crate) dialled: AtomicUsize,
    deadline: Duration,
    /// A place for each connection that it may have.
    places: Semaphore,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    uses: u32,
    since: Instant,
}

impl Client {
    pub(crate) fn new(tls: ClientConfig, endpoints: &[SocketAddr]) -> Self {
        Self {
            tls: TlsConnector::from(Arc::new(tls)),
            endpoints: Mutex::new(endpoints.to_vec()),
            next: AtomicUsize::new(0),
            idle: Mutex::default(),
            uses: u32::MAX,
            dialled: AtomicUsize::new(0),
            deadline: DEADLINE,
            places: Semaphore::new(Semaphore::MAX_PERMITS),
        }
    }

    /// Has no more connections than it keeps when they rest: calls wait for one of them. Without, a client that has
    /// fallen behind shakes hands for each call and falls behind the more.
    pub(crate) fn bounded(self) -> Self {
        Self {
            places: Semaphore::new(IDLE_CONNECTIONS),
            ..self
        }
    }

    /// Gives each connection up after so many calls, so that it dials all the time.
    pub(crate) fn dialling(self, uses: u32) -> Self {
        Self { uses, ..self }
    }

    /// Waits no longer for an answer.
    pub(crate) fn waiting(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Where it dials from now on; connections that are open stay.
    pub(crate) fn lead_to(&self, endpoints: Vec<SocketAddr>) {
        *self.endpoints.lock().unwrap() = endpoints;
    }

    /// One call, at most [`Client::waiting`] long; or how it failed.
    pub(crate) async fn call(&self, call: &Call) -> Result<Answered, String> {
        let _place = self.places.acquire().await.unwrap();
        let asked = timeout(self.deadline, self.ask(call)).await;
        let (status, answer) = asked.map_err(|_| "not answered in time".to_owned())??;
        match status {
            StatusCode::OK if call.answers.contains(&answer) => Ok(Answered::Right),
            StatusCode::SERVICE_UNAVAILABLE => Ok(Answered::SentAway),
            _ => {
                let text = String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned();
                Err(format!("another answer: {status} {text}"))
            }
        }
    }

    async fn ask(&self, call: &Call) -> Result<(StatusCode, Bytes), String> {
        loop {
            let mut connection = match self.take() {
                Some(connection) => connection,
                None => self.dial().await?,
            };
            let request = Request::post(call.path)
                .header(HOST, "localhost")
                .header(CONTENT_TYPE, "application/json")
                .body(Full::new(call.body.clone()))
                .unwrap();
            let response = match connection.sender.try_send_request(request).await {
                Ok(response) => response,
                // Nothing was written: Go calls again, too.
                Err(mut error) => match error.take_message() {
                    Some(_) if connection.uses > 0 => continue,
                    _ => return Err(format!("{:?}", error.into_error())),
                },
            };
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| error.to_string())?;
            if head.status == StatusCode::SERVICE_UNAVAILABLE
                && !head.headers.contains_key(RETRY_AFTER)
            {
                return Err("503 without Retry-After".to_owned());
            }
            let last = head.headers.get(CONNECTION);
            let is_last = last.is_some_and(|value| value == "close");
            if head.status == StatusCode::SERVICE_UNAVAILABLE && is_last {
                return Err("503 that ends the connection".to_owned());
            }
            connection.uses += 1;
            if !is_last && connection.uses < self.uses {
                connection.since = Instant::now();
                let mut idle = self.idle.lock().unwrap();
                if idle.len() < IDLE_CONNECTIONS {
                    idle.push(connection);
                }
            }
            return Ok((head.status, body.to_bytes()));
        }
    }

    fn take(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap();
        idle.retain(|connection| {
            !connection.sender.is_closed() && connection.since.elapsed() < IDLE
        });
        // It is ready a moment after its last answer.
        let ready = idle
            .iter()
            .rposition(|connection| connection.sender.is_ready());
        ready.map(|index| idle.remove(index))
    }

    async fn dial(&self) -> Result<Connection, String> {
        self.dialled.fetch_add(1, Ordering::Relaxed);
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let endpoint = {
            let endpoints = self.endpoints.lock().unwrap();
            endpoints[turn % endpoints.len()]
        };
        let tcp = TcpStream::connect(endpoint).await;
        let tcp = tcp.map_err(|error| format!("dialling: {error}"))?;
        tcp.set_nodelay(true).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let tls = self.tls.connect(name, tcp).await;
        let tls = tls.map_err(|error| format!("handshake: {error}"))?;
        let shaken = http1::handshake(TokioIo::new(tls)).await;
        let (sender, connection) = shaken.map_err(|error| error.to_string())?;
        tokio::spawn(connection);
        Ok(Connection {
            sender,
            uses: 0,
            since: Instant::now(),
        })
    }
}

/// What came of many calls.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) right: u64,
    pub(crate) sent_away: u64,
    /// Were due and never begun, since too many were outstanding.
    pub(crate) held_back: u64,
    failed: BTreeMap<String, u64>,
    /// From when each was due, in microseconds; of those with the right answer.
    micros: Vec<u32>,
}

impl Tally {
    pub(crate) fn note(&mut self, outcome: Result<Answered, String>, since: Instant) {
        match outcome {
            Ok(Answered::Right) => {
                self.right += 1;
                let micros = since.elapsed().as_micros();
                self.micros.push(micros.try_into().unwrap_or(u32::MAX));
            }
            Ok(Answered::SentAway) => self.sent_away += 1,
            Err(why) => *self.failed.entry(why).or_default() += 1,
        }
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failed.values().sum()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.right += other.right;
        self.sent_away += other.sent_away;
        self.held_back += other.held_back;
        for (why, count) in other.failed {
            *self.failed.entry(why).or_default() += count;
        }
        self.micros.extend(other.micros);
    }

    /// Right answers, and nothing else.
    #[track_caller]
    pub(crate) fn must_be_right(&self) {
        assert!(self.right > 0, "nothing was asked");
        assert_eq!(self.sent_away + self.held_back + self.failed(), 0, "{self}");
    }

    /// So many parts of a thousand were answered faster, in milliseconds.
    pub(crate) fn quantile(&self, of_1000: usize) -> f64 {
        let mut micros = self.micros.clone();
        micros.sort_unstable();
        let index = (micros.len() * of_1000 / 1000).min(micros.len().saturating_sub(1));
        micros
            .get(index)
            .map_or(f64::NAN, |&micros| f64::from(micros) / 1000.0)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = self.right + self.sent_away + self.failed();
        write!(
            f,
            "{sum} calls, {} failed, {} sent away with 503; p50 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms, longest {:.1} ms",
            self.failed(),
            self.sent_away,
            self.quantile(500),
            self.quantile(990),
            self.quantile(999),
            self.quantile(1000),
        )?;
        if self.held_back > 0 {
            write!(f, "\n    {} more were due and never begun", self.held_back)?;
        }
        for (why, count) in &self.failed {
            write!(f, "\n    {count} × {why}")?;
        }
        Ok(())
    }
}

/// Calls that are begun when they are due, whatever becomes of those before them.
pub(crate) struct Load {
    stop: watch::Sender<Stop>,
    running: JoinHandle<Tally>,
}

impl Load {
    /// So many calls a second, of all these in turn.
    pub(crate) fn start(client: &Arc<Client>, calls: &Arc<[Call]>, rate: f64) -> Self {
        Self::start_bounded(client, calls, rate, OUTSTANDING)
    }

    /// No more than so many at a time.
    pub(crate) fn start_bounded(
        client: &Arc<Client>,
        calls: &Arc<[Call]>,
        rate: f64,
        outstanding: usize,
    ) -> Self {
        let (stop, stopped) = watch::channel(Stop::Not);
        let (client, calls) = (Arc::clone(client), Arc::clone(calls));
        let running = tokio::spawn(run(client, calls, rate, outstanding, stopped));
        Self { stop, running }
    }

    /// Begins no more, waits for those that are outstanding, and counts.
    pub(crate) async fn end(self) -> Tally {
        self.stop.send_replace(Stop::Wait);
        self.running.await.unwrap()
    }

    /// Begins no more and gives up those that are outstanding, as callers do whose time is over.
    pub(crate) async fn abort(self) -> Tally {
        self.stop.send_replace(Stop::Now);
        self.running.await.unwrap()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Not,
    Wait,
    Now,
}

async fn run(
    client: Arc<Client>,
    calls: Arc<[Call]>,
    rate: f64,
    most: usize,
    stop: watch::Receiver<Stop>,
) -> Tally {
    let tally = Arc::new(Mutex::new(Tally::default()));
    let mut outstanding = JoinSet::new();
    let (began, mut begun) = (Instant::now(), 0_u32);
    let mut ticks = tokio::time::interval(TICK);
    while *stop.borrow() == Stop::Not {
        ticks.tick().await;
        while f64::from(begun) < began.elapsed().as_secs_f64() * rate {
            let due = began + Duration::from_secs_f64(f64::from(begun) / rate);
            // A step that has no divisor in common with the number of calls comes by all of them.
            let index = begun as usize * 7919 % calls.len();
            begun += 1;
            while outstanding.try_join_next().is_some() {}
            if outstanding.len() >= most {
                tally.lock().unwrap().held_back += 1;
                continue;
            }
            let (client, calls, tally) = (client.clone(), calls.clone(), tally.clone());
            outstanding.spawn(async move {
                let outcome = client.call(&calls[index]).await;
                tally.lock().unwrap().note(outcome, due);
            });
        }
    }
    if *stop.borrow() == Stop::Wait {
        outstanding.join_all().await;
    } else {
        outstanding.shutdown().await;
    }
    tally.lock().unwrap().clone()
}

/// So many callers, each of which calls again as soon as it has its answer, for this long.
pub(crate) async fn closed(
    client: &Arc<Client>,
    calls: &Arc<[Call]>,
    callers: usize,
    time: Duration,
) -> Tally {
    paced(client, calls, callers, time, Duration::ZERO).await
}

/// As [`closed`], where each rests after each answer.
pub(crate) async fn paced(
    client: &Arc<Client>,
    calls: &Arc<[Call]>,
    callers: usize,
    time: Duration,
    rest: Duration,
) -> Tally {
    let until = Instant::now() + time;
    let mut running = JoinSet::new();
    for caller in 0..callers {
        let (client, calls) = (client.clone(), calls.clone());
        running.spawn(async move {
            let mut tally = Tally::default();
            let mut index = caller;
            while Instant::now() < until {
                let since = Instant::now();
                let outcome = client.call(&calls[index % calls.len()]).await;
                tally.note(outcome, since);
                index += 1;
                if !rest.is_zero() {
                    tokio::time::sleep(rest).await;
                }
            }
            tally
        });
    }
    let mut tally = Tally::default();
    for one in running.join_all().await {
        tally.add(one);
    }
    tally
}
