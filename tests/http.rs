//! What is said before a review is looked at: the router in process, without sockets.

#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{Request, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::Frame;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::ServiceExt;
use transom::metrics::Metrics;
use transom::policy::Policy;
use transom::server::{AppState, Limits, router};
use transom::webhook::WebhookState;

#[path = "support/client.rs"]
mod client;
use client::REVIEW;

#[tokio::test]
async fn answers_reviews_at_both_paths_with_their_uid() {
    let server = Test::new();
    for path in ["/mutate", "/validate", "/mutate?timeout=10s"] {
        for content_type in ["application/json", "Application/JSON; charset=utf-8"] {
            let request = Request::post(path).header(CONTENT_TYPE, content_type);
            let (response, text) = server.send(request.body(REVIEW.into())).await;
            assert_eq!(response.status(), 200, "{text}");
            assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
            assert!(text.contains(r#""uid":"4e1e8a5c""#), "{text}");
        }
    }
}

#[tokio::test]
async fn rejects_another_path() {
    let request = Request::post("/mutate/").body(Body::empty());
    let (response, text) = Test::new().send(request).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_sentence(&text, &["/mutate/", "/mutate and /validate"]);
}

#[tokio::test]
async fn rejects_another_method() {
    for path in ["/mutate", "/validate"] {
        let request = Request::get(path).body(Body::empty());
        let (response, text) = Test::new().send(request).await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(response.headers()[ALLOW], "POST");
        assert!(!response.headers().contains_key(CONNECTION));
        assert_sentence(&text, &["GET", "POST"]);
    }
}

#[tokio::test]
async fn rejects_another_content_type() {
    for content_type in [Some("text/json"), Some("application/yaml"), Some(""), None] {
        let server = Test::new();
        let mut request = Request::post("/mutate");
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let (response, text) = server.send(request.body(REVIEW.into())).await;
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
        assert_eq!(response.headers()[CONNECTION], "close");
        assert_sentence(&text, &["Content-Type", "application/json"]);
        server.assert_counted("content_type");
    }
}

#[tokio::test]
async fn rejects_a_body_that_is_too_large() {
    let announced = Body::from("x".repeat(1001));
    let unannounced = Body::new(Sent(vec![Bytes::from("x".repeat(501)); 2], Then::End));
    for body in [announced, unannounced] {
        let server = Test::new();
        let (response, text) = server.send(json(body)).await;
        assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(response.headers()[CONNECTION], "close");
        assert!(!response.headers().contains_key(RETRY_AFTER));
        assert_sentence(&text, &["1000 bytes", "--max-body-bytes"]);
        server.assert_counted("body_too_large");
    }
}

#[tokio::test]
async fn accepts_a_body_of_exactly_the_limit() {
    let mut body = REVIEW.to_owned();
    body += &" ".repeat(1000 - body.len());
    let (response, text) = Test::new().send(json(body.into())).await;
    assert_eq!(response.status(), 200, "{text}");
}

#[tokio::test(start_paused = true)]
async fn rejects_a_body_that_does_not_arrive() {
    let server = Test::new();
    let body = Body::new(Sent(vec![Bytes::from("{")], Then::Hang));
    let (response, text) = server.send(json(body)).await;
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(response.headers()[CONNECTION], "close");
    assert_sentence(&text, &["10 s"]);
    server.assert_counted("body_timeout");
}

#[tokio::test(start_paused = true)]
async fn a_body_is_not_waited_for_longer_than_the_client_waits_for_the_answer() {
    let server = Test::new();
    for (path, seconds) in [("/mutate?timeout=3s", 3), ("/mutate?timeout=30s", 10)] {
        let began = Instant::now();
        let mut request = json(Body::new(Sent(vec![], Then::Hang))).unwrap();
        *request.uri_mut() = path.parse().unwrap();
        let (response, text) = server.send(Ok(request)).await;
        assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(began.elapsed().as_secs(), seconds);
        assert_sentence(&text, &[&format!("within {seconds} s")]);
    }
}

#[tokio::test]
async fn whatever_becomes_of_a_body_its_bytes_are_given_back() {
    for body in [
        Body::from(REVIEW),
        Body::from("no review"),
        Body::new(Sent(vec![Bytes::from("x".repeat(501)); 2], Then::End)),
        Body::new(Sent(vec![Bytes::from("{")], Then::Break)),
        Body::new(Sent(vec![Bytes::from("{")], Then::Panic)),
    ] {
        let server = Test::new();
        server.send(json(body)).await;
        server.assert_in_flight(0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_or_stops_gives_its_bytes_back() {
    let server = Test::new();
    let hangs = || Body::new(Sent(vec![Bytes::from("x".repeat(900))], Then::Hang));
    let gone = tokio::time::timeout(SECOND, server.send(json(hangs()))).await;
    assert!(gone.is_err());
    server.assert_in_flight(0);
    let (response, _) = server.send(json(hangs())).await;
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    server.assert_in_flight(0);
}

#[tokio::test(start_paused = true)]
async fn rejects_what_would_not_fit_beside_the_others_and_says_when_to_come_again() {
    let server = Test::new();
    let _other = server.hold(900).await;
    server.assert_in_flight(900);
    let announced = Body::from("x".repeat(601));
    let unannounced = Body::new(Sent(vec![Bytes::from("x".repeat(301)); 2], Then::End));
    for (count, body) in (1..).zip([announced, unannounced]) {
        let (response, text) = server.send(json(body)).await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], "1");
        assert!(!response.headers().contains_key(CONNECTION));
        assert_sentence(&text, &["1500 bytes", "--max-inflight-bytes", "again"]);
        server.assert_count("overload", count);
        server.assert_in_flight(900);
    }
    let (response, text) = server.send(json(REVIEW.into())).await;
    assert_eq!(response.status(), 200, "a smaller one fits: {text}");
}

#[tokio::test(start_paused = true)]
async fn a_rejected_body_that_does_not_end_is_not_waited_for() {
    let server = Test::new();
    let _other = server.hold(900).await;
    let body = Body::new(Sent(vec![Bytes::from("x".repeat(601))], Then::Hang));
    let (response, _) = server.send(json(body)).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()[RETRY_AFTER], "1");
    assert_eq!(response.headers()[CONNECTION], "close");
}

const SECOND: Duration = Duration::from_secs(1);

/// A router with small limits: 1000 bytes a body, 1500 in flight.
#[derive(Clone)]
struct Test {
    metrics: Arc<Metrics>,
    router: Router,
}

impl Test {
    fn new() -> Self {
        let metrics = Arc::new(Metrics::new());
        let webhook = WebhookState::new(Policy::default(), Arc::clone(&metrics));
        let router = router(AppState {
            webhook: Arc::new(webhook),
            metrics: Arc::clone(&metrics),
            limits: Limits {
                body_bytes: 1000,
                inflight_bytes: 1500,
                ..Limits::default()
            },
        });
        Self { metrics, router }
    }

    async fn send(&self, request: axum::http::Result<Request<Body>>) -> (Response<()>, String) {
        let response = self.router.clone().oneshot(request.unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = body.collect().await.unwrap().to_bytes().to_vec();
        let text = String::from_utf8(text).unwrap();
        (Response::from_parts(parts, ()), text)
    }

    /// A request that has sent so many bytes and sends no more, until this is dropped.
    async fn hold(&self, bytes: usize) -> JoinSet<()> {
        let (server, mut tasks) = (self.clone(), JoinSet::new());
        let body = Body::new(Sent(vec![Bytes::from("x".repeat(bytes))], Then::Hang));
        tasks.spawn(async move {
            server.send(json(body)).await;
        });
        tokio::task::yield_now().await;
        tasks
    }

    #[track_caller]
    fn assert_in_flight(&self, bytes: usize) {
        let line = format!("transom_inflight_bytes {bytes}\n");
        let text = self.metrics.render();
        assert!(text.contains(&line), "no {line} in\n{text}");
    }

    #[track_caller]
    fn assert_counted(&self, stage: &str) {
        self.assert_count(stage, 1);
    }

    #[track_caller]
    fn assert_count(&self, stage: &str, count: u32) {
        let line = format!("transom_errors_total{{stage=\"{stage}\"}} {count}\n");
        assert!(self.metrics.render().contains(&line), "no {line}");
    }
}

fn json(body: Body) -> axum::http::Result<Request<Body>> {
    Request::post("/mutate")
        .header(CONTENT_TYPE, "application/json")
        .body(body)
}

#[track_caller]
fn assert_sentence(text: &str, parts: &[&str]) {
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

/// Frames of a length that is not announced, and what comes after them.
struct Sent(Vec<Bytes>, Then);

enum Then {
    End,
    Hang,
    Break,
    Panic,
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match (self.0.pop(), &self.1) {
            (Some(frame), _) => Poll::Ready(Some(Ok(Frame::data(frame)))),
            (None, Then::End) => Poll::Ready(None),
            (None, Then::Hang) => Poll::Pending,
            (None, Then::Break) => Poll::Ready(Some(Err(axum::Error::new("broken")))),
            (None, Then::Panic) => panic!("on purpose"),
        }
    }
}
