//! Which connection is closed when another needs its slot or its bytes.

use super::*;
use crate::server::admin;

const DENIED: &str = include_str!("../../../../examples/deployment-denied.json");

#[tokio::test(start_paused = true)]
async fn with_every_place_taken_who_is_idle_longest_makes_room() {
    let gate = gate(paths(), 3);
    let [mut oldest, mut used, mut newest] = [(); 3].map(|()| enter(&gate).0);
    for client in [&mut used, &mut oldest, &mut newest] {
        sleep(Duration::from_secs(40)).await;
        answers(client, REQUEST).await;
    }
    sleep(Duration::from_secs(40)).await;
    answers(&mut used, REQUEST).await;
    sleep(Duration::from_secs(40)).await;
    let (mut newcomer, _server) = enter(&gate);
    answers(&mut newcomer, REQUEST).await;
    assert_eq!(seconds_until_closed(&mut oldest).await, 0);
    for client in [&mut used, &mut newest] {
        answers(client, REQUEST).await;
    }
}

#[tokio::test(start_paused = true)]
async fn with_every_place_taken_half_a_head_makes_room_before_an_idle_one() {
    let gate = gate(paths(), 2);
    let [mut idle, mut half] = [(); 2].map(|()| enter(&gate).0);
    answers(&mut idle, REQUEST).await;
    sleep(Duration::from_secs(60)).await;
    half.write_all(HALF_A_HEAD).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    let (mut newcomer, _server) = enter(&gate);
    answers(&mut newcomer, REQUEST).await;
    assert_eq!(seconds_until_closed(&mut half).await, 0);
    answers(&mut idle, REQUEST).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_being_answered_makes_no_room() {
    let gate = gate(paths(), 1);
    let (mut busy, _server) = enter(&gate);
    busy.write_all(SLOW).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let (mut newcomer, _server) = enter(&gate);
    answers(&mut busy, b"").await;
    answers(&mut newcomer, REQUEST).await;
    assert_eq!(seconds_until_closed(&mut busy).await, 0);
}

#[tokio::test(start_paused = true)]
async fn evicts_an_unread_response_before_an_idle_connection() {
    let gate = gate(paths(), 2);
    let [mut unread, mut idle] = [(); 2].map(|()| enter(&gate));
    answers(&mut idle.0, REQUEST).await;
    sleep(Duration::from_secs(60)).await;
    unread.0.write_all(LARGE).await.unwrap();
    sleep(Duration::from_millis(900)).await;
    let began = Instant::now();
    let (mut newcomer, _server) = enter(&gate);
    answers(&mut newcomer, REQUEST).await;
    assert_eq!(began.elapsed().as_millis(), 100, "once it is a second old");
    assert!(unread.1.await.unwrap().is_err());
    answers(&mut idle.0, REQUEST).await;
}

#[tokio::test(start_paused = true)]
async fn evicts_a_body_that_does_not_come_before_an_idle_connection() {
    for trickle in [false, true] {
        let gate = gate(reviews(Limits::default()), 2);
        let [mut idle, mut slow] = [(); 2].map(|()| enter(&gate).0);
        idle.write_all(NOTHING_THERE).await.unwrap();
        not_found(&mut idle).await;
        sleep(Duration::from_secs(60)).await;
        slow.write_all(&post(100_000, "{")).await.unwrap();
        for _ in 0..2 {
            sleep(Duration::from_millis(900)).await;
            if trickle {
                slow.write_all(b" ").await.unwrap();
            }
        }
        let (mut newcomer, _server) = enter(&gate);
        newcomer.write_all(NOTHING_THERE).await.unwrap();
        not_found(&mut newcomer).await;
        assert_eq!(seconds_until_closed(&mut slow).await, 0);
        idle.write_all(NOTHING_THERE).await.unwrap();
        not_found(&mut idle).await;
    }
}

#[tokio::test(start_paused = true)]
async fn keeps_a_body_that_comes_fast_enough() {
    let gate = gate(reviews(Limits::default()), 1);
    let (mut busy, _server) = enter(&gate);
    let (mut newcomer, _server) = enter(&gate);
    newcomer.write_all(NOTHING_THERE).await.unwrap();
    busy.write_all(&post(100_000, "")).await.unwrap();
    for _ in 0..5 {
        busy.write_all(&[b' '; 20_000]).await.unwrap();
        sleep(Duration::from_secs(1)).await;
    }
    let answer = head(&mut busy).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn evicts_a_client_that_rests_after_its_handshake_before_one_that_was_served() {
    let gate = gate(paths(), 2);
    let [mut served, mut silent] = [(); 2].map(|()| enter(&gate).0);
    answers(&mut served, REQUEST).await;
    sleep(Duration::from_secs(60)).await;
    let (mut newcomer, _server) = enter(&gate);
    answers(&mut newcomer, REQUEST).await;
    assert_eq!(seconds_until_closed(&mut silent).await, 0);
    answers(&mut served, REQUEST).await;
}

#[tokio::test(start_paused = true)]
async fn evicts_half_open_probes_after_milliseconds() {
    let gate = probes(2);
    let halves = [(); 2].map(|()| enter(&gate));
    let halves = halves.map(async |(mut half, _)| {
        half.write_all(b"G").await.unwrap();
        half
    });
    let mut held = Vec::new();
    for half in halves {
        held.push(half.await);
    }
    let began = Instant::now();
    for _ in 0..100 {
        let (mut probe, _server) = enter(&gate);
        answers(&mut probe, PROBE).await;
    }
    assert!(
        began.elapsed() < Duration::from_secs(6),
        "50 ms for two of them"
    );
}

#[tokio::test(start_paused = true)]
async fn ends_probes_with_bodies_that_do_not_end() {
    let announced = b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\na".as_slice();
    let chunked = b"GET /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na";
    let pipelined = [
        &b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na"[..],
        announced,
    ]
    .concat();
    let twice = [PROBE, &pipelined].concat();
    for request in [announced, chunked, &pipelined, &twice] {
        for trickle in [false, true] {
            let gate = probes(1);
            let (mut client, mut server) = enter(&gate);
            client.write_all(request).await.unwrap();
            let began = Instant::now();
            while timeout(Duration::from_millis(900), &mut server)
                .await
                .is_err()
            {
                assert!(began.elapsed() < Duration::from_secs(11), "{trickle}");
                if trickle {
                    let _ = client.write_all(b"a").await;
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn evicts_unread_responses_for_their_bytes() {
    let body = format!("{DENIED:<5000}");
    let limits = Limits {
        inflight_bytes: body.len(),
        ..Limits::default()
    };
    let gate = gate(reviews(limits), 3);
    let (mut unread, server) = enter_with(&gate, 64);
    unread.write_all(&post(body.len(), &body)).await.unwrap();
    sleep(Duration::from_millis(900)).await;
    let [mut soon, mut late] = [(); 2].map(|()| enter(&gate).0);
    soon.write_all(&post(body.len(), &body)).await.unwrap();
    assert!(head(&mut soon).await.starts_with("HTTP/1.1 503 "));
    assert!(!server.is_finished());

    sleep(Duration::from_millis(100)).await;
    let began = Instant::now();
    late.write_all(&post(body.len(), &body)).await.unwrap();
    let answer = head(&mut late).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert!(server.await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn evicts_bodies_that_do_not_come_for_their_bytes() {
    let body = format!("{DENIED:<5000}");
    let limits = Limits {
        inflight_bytes: body.len(),
        ..Limits::default()
    };
    let gate = gate(reviews(limits), 2);
    let (mut slow, server) = enter(&gate);
    slow.write_all(&post(body.len(), &body[..100]))
        .await
        .unwrap();
    sleep(Duration::from_secs(2)).await;
    let (mut newcomer, _server) = enter(&gate);
    newcomer.write_all(&post(body.len(), &body)).await.unwrap();
    let answer = head(&mut newcomer).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(server.await.unwrap().is_err());
}

const PROBE: &[u8] = b"GET /livez HTTP/1.1\r\nHost: transom\r\n\r\n";
const NOTHING_THERE: &[u8] = b"POST / HTTP/1.1\r\nHost: transom\r\nContent-Length: 0\r\n\r\n";

/// The head of a request with a body of so many bytes, and the beginning of that.
fn post(length: usize, begun: &str) -> Vec<u8> {
    let head = format!(
        "POST /validate HTTP/1.1\r\nHost: transom\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{begun}"
    );
    head.into_bytes()
}

async fn not_found(client: &mut DuplexStream) {
    let answer = head(client).await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    let length = answer.split("content-length: ").nth(1).unwrap();
    let length = length.split('\r').next().unwrap().parse().unwrap();
    client.read_exact(&mut vec![0; length]).await.unwrap();
}

/// The admin listener with so many connections.
fn probes(connections: u32) -> Arc<Gate> {
    let limits = Limits {
        connections,
        ..admin_limits(Limits::default())
    };
    let router = admin::router(Arc::default(), Arc::default());
    gate_with(router, limits)
}
