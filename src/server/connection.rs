//! From a listening socket to HTTP: accepting, TLS, one task for each connection, and its end.
//!
//! It serves reviews over TLS and probes without; which, it does not know. Every wait has a limit.
//! Started by `Server::run`.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONNECTION, HeaderValue};
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tower::Service;

use super::guard::{Ended, Guard};
use super::places::Places;
use super::tls::Tls;
use super::{Health, Limits};
use crate::metrics::{Metrics, Stage};
use failures::Failures;

pub(super) mod failures;

/// How long to wait when no connection can be accepted, for want of file descriptors for instance.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(500);

/// The most that is buffered of a request's head, and for each connection; bodies are read in pieces of this size.
const HEAD_BYTES: usize = 16 * 1024;

/// The most that is encrypted and not yet taken by the socket, for each connection: no budget counts it.
const TLS_BYTES: usize = 16 * 1024;

/// What is between TCP and HTTP.
pub(super) enum Transport {
    Plain,
    Tls(Arc<Tls>, Failures),
}

/// Lets connections in to one router, a limited number at a time.
pub(super) struct Gate {
    transport: Transport,
    router: Router,
    limits: Limits,
    health: Arc<Health>,
    stopped: watch::Receiver<bool>,
    places: Arc<Places>,
}

impl Gate {
    pub(super) fn new(
        transport: Transport,
        router: Router,
        limits: Limits,
        health: Arc<Health>,
        metrics: Arc<Metrics>,
        stopped: watch::Receiver<bool>,
    ) -> Arc<Self> {
        let stage = match transport {
            Transport::Plain => Stage::EvictedAdmin,
            Transport::Tls(..) => Stage::Evicted,
        };
        Arc::new(Self {
            transport,
            router,
            limits,
            health,
            stopped,
            places: Places::new(limits.connections, limits.patience, stage, metrics),
        })
    }

    /// Accepts connections until the server stops; then closes the listener, and each connection as soon as it
    /// has answered.
    pub(super) async fn accept_forever(self: Arc<Self>, listener: TcpListener) {
        tokio::select! {
            () = self.accept_all(&listener) => {}
            () = self.stopped() => {}
        }
        drop(listener);
        self.places.clear();
    }

    /// Waits until no connection is left. Nothing must be accepted any more.
    pub(super) async fn ended(&self) {
        self.places.all_free().await;
    }

    /// A server that is gone has stopped, too.
    async fn stopped(&self) {
        let mut stopped = self.stopped.clone();
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }

    async fn accept_all(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let (stream, peer) = accept(listener).await;
            let place = self.places.take().await;
            let gate = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(error) = gate.serve(stream, peer, &place.guard).await {
                    tracing::debug!(%peer, "a connection ended: {error}");
                }
                drop(place);
            });
        }
    }

    async fn serve(&self, stream: TcpStream, peer: SocketAddr, guard: &Guard) -> io::Result<()> {
        // Answers are small and each is waited for.
        stream.set_nodelay(true)?;
        match &self.transport {
            Transport::Plain => self.serve_http(stream, guard).await,
            Transport::Tls(tls, failures) => {
                let handshake = TlsAcceptor::from(tls.current())
                    .accept_with(stream, |tls| tls.set_buffer_limit(Some(TLS_BYTES)));
                let shaken = tokio::select! {
                    biased;
                    shaken = tokio::time::timeout(self.limits.handshake, handshake) => shaken,
                    () = guard.told() => return Ok(()),
                };
                match shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                    Ok(stream) => self.serve_http(stream, guard).await,
                    Err(error) => {
                        failures.handshake(peer, &error);
                        Ok(())
                    }
                }
            }
        }
    }

    async fn serve_http<S>(&self, stream: S, guard: &Guard) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let service = service_fn(|request: Request<Incoming>| {
            let mut request = request.map(|body| Body::new(guard.request(body)));
            // The budget evicts the connections that hold its bytes.
            request.extensions_mut().insert(guard.clone());
            let answer = self.router.clone().call(request);
            async {
                let mut response = answer.await?;
                guard.response();
                if self.health.draining() || guard.is_told() {
                    retire(&mut response);
                }
                Ok::<_, Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            // It would run while a connection is idle, too: see `guard`.
            .header_read_timeout(None)
            // A head of the API server has less than 1 kB; hyper would buffer 400 kB of each.
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(guard.stream(stream)), service);
        let mut watch = guard.watch(connection, self.limits.idle, self.limits.head);

        loop {
            return match (&mut watch).await {
                Ended::Told => {
                    watch.connection().graceful_shutdown();
                    continue;
                }
                Ended::Done(done) => done.map_err(io::Error::other),
                Ended::Idle => Err(timed_out("it was idle")),
                Ended::Head => Err(timed_out("a request's head did not end")),
                Ended::Response => Err(timed_out("the client did not take its response")),
                Ended::Evicted => Err(timed_out("it was stuck, and evicted for another")),
            };
        }
    }
}

/// The client dials again, to another replica while this one is draining, instead of finding this connection closed
/// under its next request.
fn retire(response: &mut Response<Body>) {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
}

fn timed_out(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            // The client went away between its SYN and our accept.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted, trying again");
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
