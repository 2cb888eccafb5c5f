//! The client: connections that are kept, requests that are ready to be written, latencies.
//!
//! It must cost less than the servers do, or it is measured instead of them: so no HTTP library, one
//! thread, and each answer is read no further than its length.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::request::Request;

/// One thread: the other processor is the server's.
pub(crate) fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// Latencies in nanoseconds, to a thousandth, up to a minute.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap()
}

/// A connection after its handshake, kept alive.
pub(crate) struct Connection {
    stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

impl Connection {
    /// Dials and shakes hands. The server has no sessions: each handshake is a full one.
    pub(crate) async fn open(address: SocketAddr, tls: Arc<ClientConfig>) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost").unwrap();
        Ok(Self {
            stream: TlsConnector::from(tls).connect(name, stream).await?,
            buffer: Vec::with_capacity(16 * 1024),
        })
    }

    pub(crate) async fn open_many(
        count: usize,
        address: SocketAddr,
        tls: &Arc<ClientConfig>,
    ) -> Vec<Self> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Self::open(address, Arc::clone(tls)).await.unwrap());
        }
        connections
    }

    /// Sends a request and reads its answer, which must be a 200; returns its body.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> io::Result<&[u8]> {
        self.send(request).await?;
        self.answer().await
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    pub(crate) async fn answer(&mut self) -> io::Result<&[u8]> {
        self.buffer.clear();
        let (from, length) = loop {
            if let Some(found) = head(&self.buffer)? {
                break found;
            }
            self.read().await?;
        };
        while self.buffer.len() < from + length {
            self.read().await?;
        }
        Ok(&self.buffer[from..])
    }

    async fn read(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Where the body begins and how long it is, once the head is there.
fn head(bytes: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut answer = httparse::Response::new(&mut headers);
    let parsed = answer.parse(bytes).map_err(io::Error::other)?;
    let httparse::Status::Complete(from) = parsed else {
        return Ok(None);
    };
    if answer.code != Some(200) {
        let answer = String::from_utf8_lossy(bytes);
        return Err(io::Error::other(format!("not answered: {answer}")));
    }
    let length = answer
        .headers
        .iter()
        .find(|header| header.name == "content-length");
    let length = length.and_then(|header| std::str::from_utf8(header.value).ok()?.parse().ok());
    Ok(Some((from, length.unwrap())))
}

/// Asks on each connection again and again, each next request after the last answer, for so long. Gives
/// the connections back.
pub(crate) async fn closed_loop(
    connections: Vec<Connection>,
    request: &Arc<Request>,
    time: Duration,
    latencies: &mut Histogram<u64>,
) -> Vec<Connection> {
    let end = Instant::now() + time;
    let tasks = connections.into_iter().map(|mut connection| {
        let request = Arc::clone(request);
        async move {
            let mut taken = histogram();
            let mut begin = Instant::now();
            while begin < end {
                connection.ask(&request.bytes).await.unwrap();
                let now = Instant::now();
                taken.saturating_record(nanoseconds(now - begin));
                begin = now;
            }
            (connection, taken)
        }
    });
    join(tasks, latencies).await
}

/// Asks so many times a second, whether or not the answers keep up. A latency counts from when the request
/// was due, so that one slow answer is not one latency but that of all that waited behind it.
pub(crate) async fn open_loop(
    connections: Vec<Connection>,
    request: &Arc<Request>,
    rate: u32,
    time: Duration,
    latencies: &mut Histogram<u64>,
) -> Vec<Connection> {
    let (sender, due) = mpsc::unbounded_channel();
    // A thread of its own: tokio's timers know milliseconds only.
    let clock = std::thread::spawn(move || {
        let (begin, step) = (Instant::now(), Duration::from_secs(1) / rate);
        let mut next = begin;
        while next < begin + time {
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            if sender.send(next).is_err() {
                return;
            }
            next += step;
        }
    });
    let due = Arc::new(Mutex::new(due));
    let tasks = connections.into_iter().map(|mut connection| {
        let (request, due) = (Arc::clone(request), Arc::clone(&due));
        async move {
            let mut taken = histogram();
            loop {
                let next = due.lock().await.recv().await;
                let Some(begin) = next else {
                    return (connection, taken);
                };
                connection.ask(&request.bytes).await.unwrap();
                taken.saturating_record(nanoseconds(begin.elapsed()));
            }
        }
    });
    let connections = join(tasks, latencies).await;
    clock.join().unwrap();
    connections
}

/// Opens connections, so many at a time, and closes each after its handshake; tells how many.
pub(crate) async fn handshakes(
    address: SocketAddr,
    tls: &Arc<ClientConfig>,
    at_a_time: usize,
    time: Duration,
) -> u64 {
    let end = Instant::now() + time;
    let mut tasks = JoinSet::new();
    for _ in 0..at_a_time {
        let tls = Arc::clone(tls);
        tasks.spawn(async move {
            let mut count = 0;
            while Instant::now() < end {
                let mut connection = Connection::open(address, Arc::clone(&tls)).await.unwrap();
                let _ = connection.stream.shutdown().await;
                count += 1;
            }
            count
        });
    }
    tasks.join_all().await.into_iter().sum()
}

async fn join<F>(tasks: impl Iterator<Item = F>, latencies: &mut Histogram<u64>) -> Vec<Connection>
where
    F: Future<Output = (Connection, Histogram<u64>)> + Send + 'static,
{
    let tasks: JoinSet<_> = tasks.collect();
    let mut connections = Vec::new();
    for (connection, taken) in tasks.join_all().await {
        latencies.add(taken).unwrap();
        connections.push(connection);
    }
    connections
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
