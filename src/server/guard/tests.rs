//! What counts as stuck, and when.

use axum::body::{Body, HttpBody};
use futures_util::FutureExt;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_phase_only_moves_on() {
    let guard = Guard::new(SECOND);
    guard.response();
    guard.flushed();
    let phases = |guard: &Guard| phase(guard.turn());
    guard.bytes_read(1);
    let head = guard.turn();
    guard.bytes_read(1);
    assert_eq!(guard.turn(), head, "a trickle is still the same head");
    guard.request(Body::empty());
    guard.bytes_read(1);
    assert_eq!(
        phases(&guard),
        Phase::Service,
        "a body's bytes begin nothing"
    );
    guard.response();
    assert_eq!(phases(&guard), Phase::Response);
    guard.flushed();
    assert_eq!(phases(&guard), Phase::Idle);
    guard.request(Body::empty());
    assert_eq!(
        phases(&guard),
        Phase::Service,
        "pipelined: its head was in the buffer"
    );
    guard.flushed();
    assert_eq!(
        phases(&guard),
        Phase::Service,
        "what is flushed before the answer is none"
    );
    guard.response();
    guard.flushed();
    assert_ne!(guard.turn(), PHASES, "another rest has its own time");
}

#[test]
fn ends_the_body_phase_with_its_own_body_only() {
    let guard = Guard::new(SECOND);
    let first = guard.request(Body::from("a"));
    assert_eq!(phase(guard.turn()), Phase::Body);
    drop(first);
    assert_eq!(phase(guard.turn()), Phase::Service);
    guard.response();
    guard.flushed();
    let second = guard.request(Body::from("a"));
    guard.response();
    guard.flushed();
    let third = guard.request(Body::from("a"));
    drop(second);
    assert_eq!(phase(guard.turn()), Phase::Body, "another body has ended");
    drop(third);
    assert_eq!(phase(guard.turn()), Phase::Service);
}

#[test]
fn a_pipelined_request_waits_for_the_response_before_it() {
    let guard = Guard::new(SECOND);
    drop(guard.request(Body::empty()));
    guard.response();
    for body in [Body::empty(), Body::from("a")] {
        let next = match body.is_end_stream() {
            true => Phase::Service,
            false => Phase::Body,
        };
        let body = guard.request(body);
        assert_eq!(phase(guard.turn()), Phase::Response);
        guard.flushed();
        assert_eq!(phase(guard.turn()), next);
        drop(body);
        assert_eq!(phase(guard.turn()), Phase::Service);
        guard.response();
    }
    let _body = guard.request(Body::empty());
    guard.response();
    guard.flushed();
    assert_eq!(phase(guard.turn()), Phase::Idle, "both were answered");
}

#[tokio::test(start_paused = true)]
async fn evicts_bodies_below_the_rate_only() {
    let guard = Guard::new(SECOND);
    let _body = guard.request(Body::from("a"));
    let may_end = || {
        let uselessness = guard.uselessness(Instant::now());
        matches!(uselessness, Some(Uselessness::Stuck(_)))
    };
    tokio::time::advance(SECOND - Duration::from_millis(1)).await;
    assert!(!may_end(), "not before its time");
    tokio::time::advance(SECOND).await;
    guard.bytes_read(2 * 16 * 1024);
    assert!(!may_end(), "as fast as it has to be");
    tokio::time::advance(SECOND + Duration::from_millis(1)).await;
    assert!(may_end());
    guard.bytes_read(1);
    assert!(may_end(), "a byte is no progress");
    drop(guard.request(Body::empty()));
    assert!(!may_end(), "a request in service is never evicted");
}

#[tokio::test(start_paused = true)]
async fn evicts_bodies_that_stop_after_megabytes() {
    const MEGABYTES: usize = 6_000_000;
    let guard = Guard::new(SECOND);
    let _body = guard.request(Body::from("a"));
    let is_stuck = || {
        let uselessness = guard.uselessness(Instant::now());
        matches!(uselessness, Some(Uselessness::Stuck(_)))
    };
    guard.bytes_read(MEGABYTES);
    tokio::time::advance(SECOND).await;
    assert!(!is_stuck(), "not before its time");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(is_stuck(), "what has arrived is worth a second at most");
    guard.bytes_read(16 * 1024);
    assert!(!is_stuck(), "the client may not be at fault");
    tokio::time::advance(Duration::from_millis(100)).await;
    assert!(is_stuck(), "it holds too much for so few bytes");
    for _ in 0..100 {
        guard.bytes_read(70_000);
        tokio::time::advance(Duration::from_millis(50)).await;
        assert!(!is_stuck(), "a fast one goes on");
    }
}

#[tokio::test(start_paused = true)]
async fn keeps_a_connection_whose_request_has_just_begun() {
    let guard = Guard::new(SECOND);
    drop(guard.request(Body::empty()));
    guard.response();
    guard.flushed();
    tokio::time::advance(2 * SECOND).await;
    let uselessness = || guard.uselessness(Instant::now());
    assert_eq!(uselessness(), Some(Uselessness::Idle(2 * SECOND)));
    // Its task has read the first bytes, and has not come to the end of its turn.
    guard.bytes_read(1);
    assert_eq!(uselessness(), None);
    let _body = guard.request(Body::from("a"));
    assert_eq!(uselessness(), None);
}

#[tokio::test(start_paused = true)]
async fn keeps_a_connection_that_moves_on_after_it_was_evicted() {
    let guard = Guard::new(SECOND);
    let mut watch = guard.watch(std::future::pending::<()>(), 9 * SECOND, 9 * SECOND);
    let _body = guard.request(Body::from("a"));
    assert!((&mut watch).now_or_never().is_none());
    tokio::time::advance(2 * SECOND).await;
    guard.evict();
    assert!(guard.is_evicted());
    // The bytes were there, and the server had no time for them.
    guard.bytes_read(16 * 1024);
    assert!((&mut watch).now_or_never().is_none());
    assert!(!guard.is_evicted() && !guard.is_told());
    tokio::time::advance(2 * SECOND).await;
    guard.evict();
    assert_eq!((&mut watch).now_or_never(), Some(Ended::Evicted));
}
