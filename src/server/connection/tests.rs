//! Connections without sockets, on a clock that stands still: what lives, what dies, and when.

use std::time::Duration;

use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::metrics::Metrics;
use crate::policy::Policy;
use crate::server::{AppState, admin_limits, router};
use crate::webhook::WebhookState;

mod eviction;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: transom\r\n\r\n";
const SLOW: &[u8] = b"POST /slow HTTP/1.1\r\nHost: transom\r\nContent-Length: 0\r\n\r\n";
const LARGE: &[u8] = b"GET /large HTTP/1.1\r\nHost: transom\r\n\r\n";
const HALF_A_HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: tra";

#[tokio::test(start_paused = true)]
async fn an_idle_connection_outlives_the_api_servers_pool() {
    let (mut client, _server) = connect();
    answers(&mut client, REQUEST).await;
    for _ in 0..3 {
        sleep(Duration::from_secs(120)).await;
        answers(&mut client, REQUEST).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_does_not_live_forever() {
    let (mut client, _server) = connect();
    assert_eq!(seconds_until_closed(&mut client).await, 180);

    let (mut client, _server) = connect();
    sleep(Duration::from_secs(100)).await;
    answers(&mut client, REQUEST).await;
    assert_eq!(seconds_until_closed(&mut client).await, 180);
}

#[tokio::test(start_paused = true)]
async fn half_a_head_dies() {
    let (mut client, _server) = connect();
    client.write_all(HALF_A_HEAD).await.unwrap();
    assert_eq!(seconds_until_closed(&mut client).await, 10);
}

#[tokio::test(start_paused = true)]
async fn half_a_head_dies_after_a_request_and_a_rest() {
    let (mut client, _server) = connect();
    answers(&mut client, REQUEST).await;
    sleep(Duration::from_secs(100)).await;
    client.write_all(HALF_A_HEAD).await.unwrap();
    assert_eq!(seconds_until_closed(&mut client).await, 10);
}

#[tokio::test(start_paused = true)]
async fn a_trickle_dies() {
    let (mut client, _server) = connect();
    let began = Instant::now();
    for byte in HALF_A_HEAD {
        if client.write_all(&[*byte]).await.is_err() {
            break;
        }
        sleep(Duration::from_secs(1)).await;
    }
    let closed = seconds_until_closed(&mut client).await;
    assert_eq!(closed, 0, "it was closed while bytes were still coming");
    assert!(began.elapsed() < Duration::from_secs(12));
}

#[tokio::test(start_paused = true)]
async fn each_head_has_its_own_time() {
    let (mut client, _server) = connect();
    for _ in 0..3 {
        let (first, second) = REQUEST.split_at(9);
        client.write_all(first).await.unwrap();
        sleep(Duration::from_secs(8)).await;
        answers(&mut client, second).await;
    }
}

#[tokio::test(start_paused = true)]
async fn pipelined_requests_are_answered() {
    let (mut client, _server) = connect();
    let two_and_a_half = [REQUEST, REQUEST, HALF_A_HEAD].concat();
    answers(&mut client, &two_and_a_half).await;
    answers(&mut client, b"").await;
    sleep(Duration::from_secs(5)).await;
    answers(&mut client, &REQUEST[HALF_A_HEAD.len()..]).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_is_not_idle() {
    let (mut client, _server) = connect();
    answers(&mut client, SLOW).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_waited_for() {
    let (mut client, server) = connect();
    client.write_all(LARGE).await.unwrap();
    let began = Instant::now();
    assert!(server.await.unwrap().is_err());
    assert_eq!(began.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn ends_pipelined_requests_whose_responses_are_not_read() {
    for requests in [[LARGE, LARGE], [LARGE, SLOW], [REQUEST, LARGE]] {
        let (mut client, server) = connect();
        let began = Instant::now();
        client.write_all(&requests.concat()).await.unwrap();
        let ended = timeout(Duration::from_secs(60), server).await;
        assert!(ended.is_ok_and(|ended| ended.unwrap().is_err()));
        assert_eq!(began.elapsed().as_secs(), 10);
    }
}

#[tokio::test(start_paused = true)]
async fn stopping_closes_what_is_idle_and_finishes_what_is_not() {
    let gate = gate(paths(), 3);
    let [mut unused, mut idle, mut busy] = [(); 3].map(|()| enter(&gate).0);
    answers(&mut idle, REQUEST).await;
    busy.write_all(SLOW).await.unwrap();
    sleep(Duration::from_secs(1)).await;

    gate.places.clear();
    assert_eq!(seconds_until_closed(&mut unused).await, 0);
    assert_eq!(seconds_until_closed(&mut idle).await, 0);
    let mut answer = String::new();
    busy.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    gate.ended().await;
}

#[tokio::test(start_paused = true)]
async fn stopping_hurries_a_head_and_answers_it_if_it_comes() {
    let gate = gate(paths(), 3);
    let [mut fresh, mut used, mut other] = [(); 3].map(|()| enter(&gate).0);
    answers(&mut used, REQUEST).await;
    let (first, second) = REQUEST.split_at(9);
    for client in [&mut fresh, &mut used, &mut other] {
        client.write_all(first).await.unwrap();
    }
    sleep(Duration::from_millis(500)).await;

    gate.places.clear();
    sleep(Duration::from_millis(100)).await;
    for client in [&mut fresh, &mut used] {
        let mut answer = String::new();
        client.write_all(second).await.unwrap();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    }
    assert_eq!(seconds_until_closed(&mut other).await, 0, "not ten");
    gate.ended().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_taken_leaves_the_connection_its_rest() {
    let (mut client, _server) = connect();
    client.write_all(LARGE).await.unwrap();
    sleep(Duration::from_secs(9)).await;
    answers(&mut client, b"").await;
    client.read_exact(&mut vec![0; 1_000_000]).await.unwrap();
    sleep(Duration::from_secs(120)).await;
    answers(&mut client, REQUEST).await;
}

#[tokio::test(start_paused = true)]
async fn draining_makes_each_answer_the_last() {
    let gate = gate(paths(), 1);
    gate.health.drain();
    let (mut client, _server) = enter(&gate);
    client.write_all(REQUEST).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn who_finds_no_room_may_stay_unless_the_server_drains() {
    let limits = Limits {
        inflight_bytes: 1,
        ..Limits::default()
    };
    let gate = gate(reviews(limits), 1);
    let (mut client, _server) = enter(&gate);
    let request = b"POST /mutate HTTP/1.1\r\nHost: transom\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    for drains in [false, false, true] {
        if drains {
            gate.health.drain();
        }
        client.write_all(request).await.unwrap();
        let head = head(&mut client).await;
        assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
        assert!(head.contains("\r\nretry-after: 1\r\n"), "{head}");
        assert_eq!(head.contains("\r\nconnection: close\r\n"), drains);
        let length = head.split("content-length: ").nth(1).unwrap();
        let length = length.split('\r').next().unwrap().parse().unwrap();
        client.read_exact(&mut vec![0; length]).await.unwrap();
    }
    assert_eq!(seconds_until_closed(&mut client).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_told_so_and_closed() {
    let (mut client, _server) = enter(&gate(reviews(Limits::default()), 1));
    let half = b"POST /mutate HTTP/1.1\r\nHost: transom\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    client.write_all(half).await.unwrap();
    let began = Instant::now();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"),
        "{answer}"
    );
    assert_eq!(began.elapsed().as_secs(), 10);
}

fn connect() -> (DuplexStream, JoinHandle<io::Result<()>>) {
    enter(&gate(paths(), 1))
}

/// A connection that comes in here once there is a place.
fn enter(gate: &Arc<Gate>) -> (DuplexStream, JoinHandle<io::Result<()>>) {
    enter_with(gate, 1024)
}

/// The same, where so many bytes fit between client and server.
fn enter_with(gate: &Arc<Gate>, between: usize) -> (DuplexStream, JoinHandle<io::Result<()>>) {
    let (client, stream) = duplex(between);
    let gate = Arc::clone(gate);
    let server = tokio::spawn(async move {
        let place = gate.places.take().await;
        gate.serve_http(stream, &place.guard).await
    });
    (client, server)
}

fn gate(router: Router, connections: u32) -> Arc<Gate> {
    let limits = Limits {
        connections,
        ..Limits::default()
    };
    gate_with(router, limits)
}

fn gate_with(router: Router, limits: Limits) -> Arc<Gate> {
    // Nobody listens here, so nothing is to be stopped.
    let (_, stopped) = watch::channel(false);
    let health = Arc::new(Health::default());
    Gate::new(
        Transport::Plain,
        router,
        limits,
        health,
        Arc::default(),
        stopped,
    )
}

fn reviews(limits: Limits) -> Router {
    let metrics = Arc::new(Metrics::new());
    router(AppState {
        webhook: Arc::new(WebhookState::new(Policy::default(), Arc::clone(&metrics))),
        metrics,
        limits,
    })
}

fn paths() -> Router {
    let slow = async || sleep(Duration::from_secs(1000)).await;
    Router::new()
        .route("/", get(async || "ok"))
        .route("/large", get(async || "x".repeat(1_000_000)))
        .route("/slow", post(slow))
}

/// Sends, and reads the head of one answer with its two bytes of body, if it has any.
async fn answers(client: &mut DuplexStream, request: &[u8]) {
    client.write_all(request).await.unwrap();
    let answer = head(client).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    if answer.contains("content-length: 2\r\n") {
        assert_eq!(client.read_u16().await.unwrap(), u16::from_be_bytes(*b"ok"));
    }
}

async fn head(client: &mut DuplexStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

async fn seconds_until_closed(client: &mut DuplexStream) -> u64 {
    let began = Instant::now();
    let mut rest = Vec::new();
    let closed = timeout(Duration::from_secs(3600), client.read_to_end(&mut rest)).await;
    assert!(closed.is_ok(), "it was never closed");
    assert_eq!(String::from_utf8_lossy(&rest), "");
    began.elapsed().as_secs()
}
