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
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tower::Service;

use super::guard::{Ended, Guard};
use super::tls::Tls;
use super::{Health, Limits};
use failures::Failures;

pub(super) mod failures;

/// How long to wait when no connection can be accepted, for want of file descriptors for instance.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(500);

/// The most that is buffered of a request's head; bodies are read in pieces of this size.
const HEAD_BYTES: usize = 64 * 1024;

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
    /// One permit for each connection. All of them are back when the last connection has ended.
    places: Arc<Semaphore>,
}

impl Gate {
    pub(super) fn new(
        transport: Transport,
        router: Router,
        limits: Limits,
        health: Arc<Health>,
        stopped: watch::Receiver<bool>,
    ) -> Arc<Self> {
        Arc::new(Self {
            transport,
            router,
            limits,
            health,
            stopped,
            places: Arc::new(Semaphore::new(limits.connections as usize)),
        })
    }

    /// Accepts connections until the server stops, and then closes the listener.
    pub(super) async fn accept_forever(self: Arc<Self>, listener: TcpListener) {
        tokio::select! {
            () = self.accept_all(&listener) => {}
            () = self.stopped() => {}
        }
    }

    /// Waits until no connection is left. Nothing must be accepted any more.
    pub(super) async fn ended(&self) {
        let _ = self.places.acquire_many(self.limits.connections).await;
    }

    /// A server that is gone has stopped, too.
    async fn stopped(&self) {
        let mut stopped = self.stopped.clone();
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }

    async fn accept_all(self: &Arc<Self>, listener: &TcpListener) {
        // The semaphore is never closed, so there is always a place in the end.
        while let Ok(place) = Arc::clone(&self.places).acquire_owned().await {
            let (stream, peer) = accept(listener).await;
            let gate = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(error) = gate.serve(stream, peer).await {
                    tracing::debug!(%peer, "a connection ended: {error}");
                }
                drop(place);
            });
        }
    }

    async fn serve(&self, stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
        // Answers are small and each is waited for.
        stream.set_nodelay(true)?;
        match &self.transport {
            Transport::Plain => self.serve_http(stream).await,
            Transport::Tls(tls, failures) => {
                let handshake = TlsAcceptor::from(tls.current()).accept(stream);
                let shaken = tokio::select! {
                    shaken = tokio::time::timeout(self.limits.handshake, handshake) => shaken,
                    () = self.stopped() => return Ok(()),
                };
                match shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                    Ok(stream) => self.serve_http(stream).await,
                    Err(error) => {
                        failures.handshake(peer, &error);
                        Ok(())
                    }
                }
            }
        }
    }

    async fn serve_http<S>(&self, stream: S) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let guard = Guard::default();
        let service = service_fn(|request: Request<Incoming>| {
            guard.request();
            let answer = self.router.clone().call(request.map(Body::new));
            async {
                let mut response = answer.await?;
                guard.response();
                self.retire(&mut response);
                Ok::<_, Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            // It would run while a connection is idle, too: see `guard`.
            .header_read_timeout(None)
            // A head of the API server has less than 1 kB; hyper would buffer 400 kB of one.
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(guard.stream(stream)), service);
        let mut watch = guard.watch(connection, self.limits.idle, self.limits.head);

        let ended = tokio::select! {
            ended = &mut watch => ended,
            () = self.stopped() => {
                watch.connection().graceful_shutdown();
                watch.await
            }
        };
        match ended {
            Ended::Done(done) => done.map_err(io::Error::other),
            Ended::Idle => Err(io::Error::new(io::ErrorKind::TimedOut, "it was idle")),
            Ended::Head => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "a request's head did not end",
            )),
        }
    }

    /// While draining, each answer is its connection's last: the client dials again, to another replica,
    /// instead of finding this connection closed under its next request.
    fn retire(&self, response: &mut Response<Body>) {
        if self.health.draining() {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
    }
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
