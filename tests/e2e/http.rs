//! Connections of our own to the API server and to etcd: kept open, JSON in and out.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use serde_json::Value;

use crate::client::connect;

/// Where a server is, and how it is to be trusted and asked.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Arc<ClientConfig>,
}

impl Server {
    pub(crate) async fn connect(&self) -> std::io::Result<Connection> {
        let stream = connect(self.address, "127.0.0.1", (*self.tls).clone()).await?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(std::io::Error::other)?;
        tokio::spawn(connection);
        Ok(Connection(sender))
    }

    /// One request, for who has no runtime of its own.
    pub(crate) fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> std::io::Result<(u16, Vec<u8>)> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async { self.connect().await?.send(method, path, body).await })
    }

    /// Several requests over one connection, for who has no runtime of its own.
    pub(crate) fn with<T>(&self, ask: impl AsyncFnOnce(&mut Connection) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async { ask(&mut self.connect().await.unwrap()).await })
    }

    /// Over a few connections at once; a panic over one of them is one of the test.
    pub(crate) fn for_each(
        &self,
        objects: &[Value],
        ask: impl AsyncFn(&mut Connection, &Value) + Sync,
    ) {
        const CONNECTIONS: usize = 4;
        std::thread::scope(|scope| {
            for part in objects.chunks(objects.len().div_ceil(CONNECTIONS)) {
                let ask = &ask;
                scope.spawn(move || {
                    self.with(async |connection| {
                        for object in part {
                            ask(connection, object).await;
                        }
                    });
                });
            }
        });
    }
}

pub(crate) struct Connection(SendRequest<Full<Bytes>>);

impl Connection {
    /// Sends a request and reads all of the answer: status and body.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> std::io::Result<(u16, Vec<u8>)> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Host", "127.0.0.1")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json")
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        self.0.ready().await.map_err(std::io::Error::other)?;
        let answer = self.0.send_request(request).await;
        let answer = answer.map_err(std::io::Error::other)?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await;
        let body = body.map_err(std::io::Error::other)?;
        Ok((status, body.to_bytes().to_vec()))
    }
}
