//! A server in process, over sockets, and the files under it. It looks at them all the time.

// Each test crate uses its own part, and outside of a test function clippy does not see a test.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::client::TlsStream;
use transom::metrics::Metrics;
use transom::policy::Policy;
use transom::server::tls::reload::PairFiles;
use transom::server::{Limits, Options, Server, TlsSource};
use transom::webhook::WebhookState;

use crate::client::{Authority, BOTH, PATIENCE, connect, options};

pub(crate) struct Test {
    pub(crate) directory: TempDir,
    pub(crate) authority: Authority,
    pub(crate) address: SocketAddr,
    pub(crate) admin_address: SocketAddr,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) signals: mpsc::Sender<&'static str>,
    pub(crate) running: JoinHandle<anyhow::Result<()>>,
}

impl Test {
    pub(crate) async fn start() -> Self {
        Self::start_with(Limits::default()).await
    }

    pub(crate) async fn start_with(limits: Limits) -> Self {
        Self::start_from(pair, None, limits).await
    }

    /// A server that only lets the clients of the CAs in this file in.
    pub(crate) async fn start_mutual(client_ca: PathBuf) -> Self {
        Self::start_from(pair, Some(client_ca), Limits::default()).await
    }

    /// With the pair that is in this directory.
    pub(crate) async fn start_in(files: &Path, authority: Authority, limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::run(directory, authority, pair(files), None, limits).await
    }

    /// With a new pair in a directory of its own.
    pub(crate) async fn start_from(
        tls: impl Fn(&Path) -> TlsSource,
        client_ca: Option<PathBuf>,
        limits: Limits,
    ) -> Self {
        let authority = Authority::new();
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &authority.leaf());
        let tls = tls(directory.path());
        Self::run(directory, authority, tls, client_ca, limits).await
    }

    async fn run(
        directory: TempDir,
        authority: Authority,
        tls: TlsSource,
        client_ca: Option<PathBuf>,
        limits: Limits,
    ) -> Self {
        let options = Options {
            client_ca,
            poll: Duration::from_millis(10),
            limits,
            ..options(tls)
        };
        let metrics = Arc::new(Metrics::new());
        let webhook = Arc::new(WebhookState::new(Policy::default(), Arc::clone(&metrics)));
        let server = Server::bind(options, webhook, Arc::clone(&metrics))
            .await
            .unwrap();
        let (signals, receiver) = mpsc::channel(2);
        Self {
            directory,
            authority,
            address: server.address(),
            admin_address: server.admin_address(),
            metrics,
            signals,
            running: tokio::spawn(server.run(receiver)),
        }
    }

    pub(crate) async fn connect(&self) -> TlsStream<TcpStream> {
        let config = self.authority.client(BOTH);
        connect(self.address, "localhost", config).await.unwrap()
    }

    pub(crate) fn write(&self, pair: &(String, String)) {
        write(self.directory.path(), pair);
    }

    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = self.metrics.render();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().parse().unwrap()
    }
}

fn pair(files: &Path) -> TlsSource {
    TlsSource::Files(PairFiles {
        cert: files.join("tls.crt"),
        key: files.join("tls.key"),
    })
}

fn write(directory: &Path, (cert, key): &(String, String)) {
    replace(&directory.join("tls.crt"), cert);
    replace(&directory.join("tls.key"), key);
}

/// At once: a look at a file that is still empty would count as one more refusal.
pub(crate) fn replace(file: &Path, content: &str) {
    let new = file.with_extension("new");
    fs::write(&new, content).unwrap();
    fs::rename(new, file).unwrap();
}

pub(crate) fn shown(stream: &TlsStream<TcpStream>) -> CertificateDer<'static> {
    let chain = stream.get_ref().1.peer_certificates().unwrap();
    chain[0].clone().into_owned()
}

pub(crate) fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

pub(crate) async fn eventually(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "it never came true");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
