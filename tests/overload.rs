//! More bytes of reviews than there is room for, over sockets: who is sent away, and comes again on the same
//! connection.

#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use transom::server::Limits;

#[path = "support/client.rs"]
mod client;
#[path = "support/server.rs"]
mod server;
use client::{Answer, REVIEW, answer, exchange, post};
use server::{Test, eventually};

#[tokio::test]
async fn an_announced_body_that_finds_no_room_comes_again_on_its_connection() {
    let server = start().await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    let large = post("/mutate", &padded(900));
    let (begun, rest) = large.split_at(large.len() - 700);
    send(&mut first, begun).await;
    eventually(|| server.metric(IN_FLIGHT) == 200).await;
    send(&mut first, &rest[..650]).await;
    eventually(|| server.metric(IN_FLIGHT) == 850).await;

    let same = post("/mutate", &padded(700));
    assert_sent_away(&exchange(&mut second, &same).await);
    assert_eq!(server.metric(OVERLOAD), 1);
    let small = exchange(&mut second, &post("/validate", REVIEW)).await;
    assert_eq!(small.status, 200, "there is room for it: {small:?}");

    assert_eq!(exchange(&mut first, &rest[650..]).await.status, 200);
    eventually(|| server.metric(IN_FLIGHT) == 0).await;
    assert_eq!(exchange(&mut second, &same).await.status, 200);
    assert_eq!(server.metric(OVERLOAD), 1);
}

#[tokio::test]
async fn a_chunked_body_that_finds_no_room_comes_again_on_its_connection() {
    let server = start().await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    let (begun, rest) = chunked(&padded(900), 800);
    send(&mut first, &begun).await;
    eventually(|| server.metric(IN_FLIGHT) == 800).await;

    let (begun_too, rest_too) = chunked(&padded(900), 600);
    send(&mut second, &begun_too).await;
    eventually(|| server.metric(IN_FLIGHT) == 1400).await;
    assert_sent_away(&exchange(&mut second, &rest_too).await);
    assert_eq!(server.metric(OVERLOAD), 1);
    assert_eq!(server.metric(IN_FLIGHT), 800);

    assert_eq!(exchange(&mut first, &rest).await.status, 200);
    eventually(|| server.metric(IN_FLIGHT) == 0).await;
    let again = exchange(&mut second, &(begun_too + &rest_too)).await;
    assert_eq!(again.status, 200, "{again:?}");
}

#[tokio::test]
async fn a_client_that_hangs_up_makes_room() {
    let server = start().await;
    let mut gone = server.connect().await;
    let request = post("/mutate", &padded(900));
    send(&mut gone, &request[..request.len() - 1]).await;
    eventually(|| server.metric(IN_FLIGHT) == 899).await;
    drop(gone);
    eventually(|| server.metric(IN_FLIGHT) == 0).await;
}

#[tokio::test]
async fn many_large_bodies_are_all_answered_in_the_end() {
    let server = start().await;
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(server.connect().await);
    }
    let answers = clients.into_iter().map(|mut stream| {
        tokio::spawn(async move {
            let request = post("/mutate", &padded(1000));
            loop {
                let (begun, rest) = request.split_at(600);
                send(&mut stream, begun).await;
                tokio::task::yield_now().await;
                send(&mut stream, rest).await;
                let answer = answer(&mut stream).await;
                if answer.status == 200 {
                    return;
                }
                assert_sent_away(&answer);
            }
        })
    });
    for answered in answers.collect::<Vec<_>>() {
        answered.await.unwrap();
    }
    eventually(|| server.metric(IN_FLIGHT) == 0).await;
}

const IN_FLIGHT: &str = "transom_inflight_bytes";
const OVERLOAD: &str = "transom_errors_total{stage=\"overload\"}";

async fn start() -> Test {
    Test::start_with(Limits {
        body_bytes: 1000,
        inflight_bytes: 1500,
        ..Limits::default()
    })
    .await
}

async fn send(stream: &mut TlsStream<TcpStream>, bytes: &str) {
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

/// A review of so many bytes.
fn padded(bytes: usize) -> String {
    format!("{REVIEW:<bytes$}")
}

/// A request in two chunks: its head and the first one, of so many bytes; the second one and the end.
fn chunked(body: &str, first: usize) -> (String, String) {
    let (one, two) = body.split_at(first);
    let head = "POST /mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let begun = format!("{head}{:x}\r\n{one}\r\n", one.len());
    (begun, format!("{:x}\r\n{two}\r\n0\r\n\r\n", two.len()))
}

#[track_caller]
fn assert_sent_away(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.head.contains("\r\nretry-after: 1\r\n"), "{answer:?}");
    assert!(!answer.head.contains("connection:"), "{answer:?}");
    assert!(answer.body.contains("--max-inflight-bytes"), "{answer:?}");
}
