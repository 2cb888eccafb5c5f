//! Clients that must present a certificate: who gets in, who does not, and a client CA that changes.

#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustls::ClientConfig;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use transom::server::{Limits, TlsSource};

#[path = "support/client.rs"]
mod client;
#[cfg(unix)]
#[path = "support/mount.rs"]
mod mount;
#[path = "support/server.rs"]
mod server;
use client::{Authority, BOTH, REVIEW, connect, exchange, get, post};
#[cfg(unix)]
use mount::mount;
use server::{Test, der, eventually, replace, shown};

#[tokio::test]
async fn a_client_of_the_ca_gets_in() {
    let clients = Clients::new();
    let server = clients.server().await;
    let leaf = clients.ca.client_leaf();
    for version in BOTH {
        let config = server.authority.client_with(&leaf, &[version]);
        enters(&server, config).await.unwrap();
    }
}

#[tokio::test]
async fn nobody_else_gets_in_and_each_is_counted() {
    let clients = Clients::new();
    let server = clients.server().await;
    let mut count = 0;
    for version in BOTH {
        let versions = &[*version];
        let with = |leaf| server.authority.client_with(&leaf, versions);
        for config in [
            server.authority.client(versions),
            with(Authority::new().client_leaf()),
            with(clients.ca.expired_client_leaf()),
            with(clients.ca.leaf()),
        ] {
            assert!(enters(&server, config).await.is_err());
            count += 1;
            eventually(|| server.metric(FAILED) == count).await;
        }
    }
}

#[tokio::test]
async fn the_admin_port_asks_for_no_certificate() {
    let server = Clients::new().server().await;
    let mut stream = TcpStream::connect(server.admin_address).await.unwrap();
    assert_eq!(exchange(&mut stream, &get("/readyz")).await.status, 200);
}

#[tokio::test]
async fn a_throw_away_certificate_can_ask_for_clients_certificates_too() {
    let clients = Clients::new();
    let throw_away = |directory: &Path| TlsSource::ThrowAway {
        ca_file: directory.join("ca.crt"),
    };
    let server = Test::start_from(throw_away, Some(clients.file()), Limits::default()).await;
    let ca = fs::read_to_string(server.directory.path().join("ca.crt")).unwrap();
    assert!(enters(&server, client::client(&ca, BOTH)).await.is_err());
    let leaf = clients.ca.client_leaf();
    let config = client::client_with(&ca, &leaf, BOTH);
    enters(&server, config).await.unwrap();
}

#[tokio::test]
async fn every_ca_in_the_bundle_counts() {
    let (clients, other) = (Clients::new(), Authority::new());
    let bundle = format!("{}{}", clients.ca.pem(), other.pem());
    replace(&clients.file(), &bundle);
    let server = clients.server().await;
    for ca in [&clients.ca, &other] {
        let config = server.authority.client_with(&ca.client_leaf(), BOTH);
        enters(&server, config).await.unwrap();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_client_ca_is_for_the_next_handshake() {
    let (ca, new) = (Authority::new(), Authority::new());
    let directory = tempfile::tempdir().unwrap();
    let swap = |ca: &Authority| mount(directory.path(), &[("ca.crt", &ca.pem())]);
    swap(&ca);
    let server = Test::start_mutual(directory.path().join("ca.crt")).await;
    let old_client = server.authority.client_with(&ca.client_leaf(), BOTH);
    let new_client = server.authority.client_with(&new.client_leaf(), BOTH);
    let mut before = enters(&server, old_client.clone()).await.unwrap();
    assert!(enters(&server, new_client.clone()).await.is_err());

    swap(&new);
    eventually(|| server.metric(RELOADED) == 1).await;
    enters(&server, new_client).await.unwrap();
    assert!(enters(&server, old_client).await.is_err());
    let answer = exchange(&mut before, &post("/mutate", REVIEW)).await;
    assert_eq!(answer.status, 200, "a connection outlives its client CA");
}

#[tokio::test]
async fn a_bad_client_ca_is_refused_once_and_heals() {
    let clients = Clients::new();
    let server = clients.server().await;
    let old_client = server
        .authority
        .client_with(&clients.ca.client_leaf(), BOTH);
    let leaf = clients.ca.client_leaf().0;
    let half = &clients.ca.pem()[..100];
    for (count, bad) in (1..).zip(["", "not PEM\n", &leaf, half]) {
        clients.write(bad);
        eventually(|| server.metric(REFUSED) == count).await;
        enters(&server, old_client.clone()).await.unwrap();
        assert!(
            enters(&server, server.authority.client(BOTH))
                .await
                .is_err()
        );
    }
    fs::remove_file(clients.file()).unwrap();
    eventually(|| server.metric(REFUSED) == 5).await;
    enters(&server, old_client).await.unwrap();

    let new = Authority::new();
    clients.write(&new.pem());
    eventually(|| server.metric(RELOADED) == 1).await;
    let new_client = server.authority.client_with(&new.client_leaf(), BOTH);
    enters(&server, new_client).await.unwrap();
    assert_eq!(server.metric(REFUSED), 5, "one bad content counts once");
}

#[tokio::test]
async fn the_pair_and_the_client_ca_change_without_each_other() {
    let clients = Clients::new();
    let server = clients.server().await;
    let pair = server.authority.leaf();
    server.write(&pair);
    eventually(|| server.metric("transom_certificate_reloads_total{result=\"success\"}") == 1)
        .await;
    assert!(
        enters(&server, server.authority.client(BOTH))
            .await
            .is_err()
    );

    let new = Authority::new();
    clients.write(&new.pem());
    eventually(|| server.metric(RELOADED) == 1).await;
    let new_client = server.authority.client_with(&new.client_leaf(), BOTH);
    let stream = enters(&server, new_client).await.unwrap();
    assert_eq!(shown(&stream), der(&pair.0));
}

const FAILED: &str = "transom_errors_total{stage=\"tls_handshake\"}";
const RELOADED: &str = "transom_client_ca_reloads_total{result=\"success\"}";
const REFUSED: &str = "transom_client_ca_reloads_total{result=\"failure\"}";

/// A CA for clients, in a file.
struct Clients {
    ca: Authority,
    directory: TempDir,
}

impl Clients {
    fn new() -> Self {
        let clients = Self {
            ca: Authority::new(),
            directory: tempfile::tempdir().unwrap(),
        };
        clients.write(&clients.ca.pem());
        clients
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("client-ca.crt")
    }

    fn write(&self, content: &str) {
        replace(&self.file(), content);
    }

    async fn server(&self) -> Test {
        Test::start_mutual(self.file()).await
    }
}

/// Whether a client gets an answer. With TLS 1.3 it learns only then that it is not let in.
async fn enters(server: &Test, config: ClientConfig) -> io::Result<TlsStream<TcpStream>> {
    let mut stream = connect(server.address, "localhost", config).await?;
    stream.write_all(post("/mutate", REVIEW).as_bytes()).await?;
    let first = [stream.read_u8().await?];
    let answer = client::answer(&mut first.chain(&mut stream)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    Ok(stream)
}
