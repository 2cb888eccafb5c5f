//! TLS for real: sockets, handshakes, and certificates that change under a running server.

#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::time::Duration;

use rustls::ProtocolVersion;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use transom::server::Limits;

#[path = "support/client.rs"]
mod client;
#[cfg(unix)]
#[path = "support/mount.rs"]
mod mount;
#[path = "support/server.rs"]
mod server;
use client::{Authority, BOTH, PATIENCE, REVIEW, connect, exchange, get, post};
#[cfg(unix)]
use mount::mount;
use server::{Test, der, eventually, replace, shown};

#[tokio::test]
async fn answers_over_tls_1_2_and_1_3() {
    let server = Test::start().await;
    for (version, spoken) in [
        (&rustls::version::TLS12, ProtocolVersion::TLSv1_2),
        (&rustls::version::TLS13, ProtocolVersion::TLSv1_3),
    ] {
        let config = server.authority.client(&[version]);
        let mut stream = connect(server.address, "localhost", config).await.unwrap();
        assert_eq!(stream.get_ref().1.protocol_version(), Some(spoken));
        let answer = exchange(&mut stream, &post("/mutate?timeout=10s", REVIEW)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.contains(r#""uid":"4e1e8a5c""#), "{answer:?}");
    }
}

#[tokio::test]
async fn an_address_instead_of_a_name_works() {
    let server = Test::start().await;
    let config = server.authority.client(BOTH);
    let mut stream = connect(server.address, "127.0.0.1", config).await.unwrap();
    let answer = exchange(&mut stream, &post("/validate", REVIEW)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[tokio::test]
async fn speaks_http_1_1_only() {
    let server = Test::start().await;
    let mut config = server.authority.client(BOTH);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = connect(server.address, "localhost", config.clone()).await;
    let stream = stream.unwrap();
    assert_eq!(
        stream.get_ref().1.alpn_protocol(),
        Some(b"http/1.1".as_slice())
    );

    config.alpn_protocols = vec![b"h2".to_vec()];
    assert!(connect(server.address, "localhost", config).await.is_err());
    eventually(|| server.metric("transom_errors_total{stage=\"tls_handshake\"}") == 1).await;
}

#[tokio::test]
async fn plain_http_gets_no_answer_and_the_server_goes_on() {
    let server = Test::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(get("/mutate").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"));
    server.connect().await;
}

#[tokio::test]
async fn a_silent_client_is_not_waited_for() {
    let limits = Limits {
        handshake: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = Test::start_with(limits).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let closed = tokio::time::timeout(PATIENCE, stream.read_u8()).await;
    assert!(closed.unwrap().is_err());
}

#[tokio::test]
async fn above_the_limit_a_new_connection_takes_the_place_of_the_one_that_is_idle_longest() {
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let server = Test::start_with(limits).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    for stream in [&mut first, &mut second] {
        let answer = exchange(stream, &post("/mutate", REVIEW)).await;
        assert_eq!(answer.status, 200);
        // They are told apart by milliseconds.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut third = server.connect().await;
    assert_eq!(first.read(&mut [0]).await.unwrap(), 0);
    for stream in [&mut second, &mut third] {
        let answer = exchange(stream, &post("/mutate", REVIEW)).await;
        assert_eq!(answer.status, 200);
    }
}

#[tokio::test]
async fn clients_do_not_keep_probes_out() {
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let server = Test::start_with(limits).await;
    let _only = server.connect().await;
    let mut probes = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(server.admin_address).await.unwrap();
        assert_eq!(exchange(&mut stream, &get("/livez")).await.status, 200);
        probes.push(stream);
    }
}

#[tokio::test]
async fn a_client_that_sends_too_much_comes_to_read_why() {
    let server = Test::start().await;
    let large = "x".repeat(20 * 1024 * 1024);
    for (path, status) in [("/mutate", 413), ("/nothing", 404)] {
        let mut stream = server.connect().await;
        let answer = exchange(&mut stream, &post(path, &large)).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
}

#[tokio::test]
async fn a_new_certificate_is_for_the_next_connection() {
    let server = Test::start().await;
    let mut before = server.connect().await;
    let new = server.authority.leaf();
    server.write(&new);
    eventually(|| server.metric(RELOADED) == 1).await;

    let after = server.connect().await;
    assert_eq!(shown(&after), der(&new.0));
    assert_ne!(shown(&before), der(&new.0));
    let answer = exchange(&mut before, &post("/mutate", REVIEW)).await;
    assert_eq!(answer.status, 200, "a connection outlives its certificate");
}

#[tokio::test]
async fn every_one_of_several_certificates_is_taken() {
    let server = Test::start().await;
    for count in 1..=3 {
        let new = server.authority.leaf();
        server.write(&new);
        eventually(|| server.metric(RELOADED) == count).await;
        assert_eq!(shown(&server.connect().await), der(&new.0));
    }
}

#[tokio::test]
async fn half_a_pair_is_refused_and_heals() {
    let server = Test::start().await;
    let old = shown(&server.connect().await);
    let new = server.authority.leaf();
    replace(&server.directory.path().join("tls.crt"), &new.0);
    eventually(|| server.metric(REFUSED) == 1).await;
    assert_eq!(shown(&server.connect().await), old);

    replace(&server.directory.path().join("tls.key"), &new.1);
    eventually(|| server.metric(RELOADED) == 1).await;
    assert_eq!(shown(&server.connect().await), der(&new.0));
    assert_eq!(server.metric(REFUSED), 1, "one bad content counts once");
}

#[cfg(unix)]
#[tokio::test]
async fn a_mounted_secret_is_followed() {
    let authority = Authority::new();
    let directory = tempfile::tempdir().unwrap();
    let swap = |(cert, key): &(String, String)| {
        mount(directory.path(), &[("tls.crt", cert), ("tls.key", key)]);
    };
    swap(&authority.leaf());
    let server = Test::start_in(directory.path(), authority, Limits::default()).await;
    let new = server.authority.leaf();
    swap(&new);
    eventually(|| server.metric(RELOADED) == 1).await;
    assert_eq!(shown(&server.connect().await), der(&new.0));
}

#[tokio::test]
async fn the_expiry_of_what_is_served_is_a_metric() {
    let server = Test::start().await;
    assert!(server.metric("transom_certificate_expiry_timestamp_seconds") > 1_000_000_000);
}

#[tokio::test]
async fn ending_closes_idle_connections() {
    let server = Test::start().await;
    let mut idle = server.connect().await;
    let answer = exchange(&mut idle, &post("/mutate", REVIEW)).await;
    assert_eq!(answer.status, 200);
    server.signals.send("SIGTERM").await.unwrap();
    let ended = tokio::time::timeout(PATIENCE, server.running).await;
    ended.unwrap().unwrap().unwrap();
    assert_eq!(idle.read(&mut [0]).await.unwrap(), 0);
}

const RELOADED: &str = "transom_certificate_reloads_total{result=\"success\"}";
const REFUSED: &str = "transom_certificate_reloads_total{result=\"failure\"}";
