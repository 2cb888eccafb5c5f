//! Bytes that are no review: refused with a sentence, cut off or changed anywhere.

use std::sync::Arc;

use crate::common::recording;
use crate::{HEAD, answers_or_refuses, pod_text};
use axum::body::Body;
use axum::http::Request;
use tower::ServiceExt;
use transom::metrics::Metrics;
use transom::policy::Policy;
use transom::review;
use transom::server::{AppState, Limits, router};
use transom::webhook::WebhookState;

/// Why these bytes are no review.
fn malformed(body: &[u8]) -> String {
    match review::decode(body, &Policy::default()) {
        Ok(_) => panic!("{}", String::from_utf8_lossy(body)),
        Err(error) => error.to_string(),
    }
}

fn not_reviews() -> Vec<(Vec<u8>, &'static str)> {
    let with = |request: &str| format!("{{{HEAD},\"request\":{request}}}").into_bytes();
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        (text(""), "the body is not JSON: "),
        (text(" \n"), "the body is not JSON: "),
        (text("{"), "the body is not JSON: "),
        (text("{]"), "the body is not JSON: "),
        (text("nul"), "the body is not JSON: "),
        (text("<html>"), "the body is not JSON: "),
        (text("{'a': 1}"), "the body is not JSON: "),
        (text("null"), "the body is null"),
        (text("[]"), "the body: must be an object, not a list"),
        (text("5"), "the body: must be an object, not a number"),
        (
            text("\"AdmissionReview\""),
            "the body: must be an object, not a string",
        ),
        (
            text("true"),
            "the body: must be an object, not true or false",
        ),
        (text("{}"), "kind is \"\""),
        (
            text(r#"{"kind": "Pod", "apiVersion": "v1"}"#),
            "kind is \"Pod\"",
        ),
        (
            text(r#"{"kind": 5}"#),
            "kind: must be a string, not a number",
        ),
        (
            text(
                r#"{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "request": {"uid": "u"}}"#,
            ),
            "apiVersion is \"admission.k8s.io/v1beta1\"",
        ),
        (text(r#"{"kind": "AdmissionReview"}"#), "apiVersion is \"\""),
        (
            format!("{{{HEAD}}}").into_bytes(),
            "the AdmissionReview has no request",
        ),
        (with("null"), "the AdmissionReview has no request"),
        (with("[]"), "request: must be an object, not a list"),
        (with("\"a\""), "request: must be an object, not a string"),
        (with("{}"), "request.uid is missing"),
        (with(r#"{"uid": ""}"#), "request.uid is missing"),
        (with(r#"{"uid": null}"#), "request.uid is missing"),
        (
            with(r#"{"uid": 5}"#),
            "request.uid: must be a string, not a number",
        ),
        (
            with(r#"{"uid": "a", "uid": "b"}"#),
            "request.uid: stands there twice",
        ),
        (
            with(r#"{"uid": "a", "object": {"spec": []}, "operation": 1}"#),
            "request.operation: must be a string, not a number",
        ),
        (
            with(r#"{"uid": "a", "operation": 1}"#),
            "request.operation: must be a string",
        ),
        (
            with(r#"{"uid": "a", "kind": "Pod"}"#),
            "request.kind: must be an object",
        ),
        (
            with(r#"{"uid": "a", "userInfo": {"username": ["g"]}}"#),
            "request.userInfo.username: must be a string, not a list",
        ),
        (
            with(r#"{"uid": "a", "object": {}, "object": {}}"#),
            "request.object: stands there twice",
        ),
        (with(r#"{"uid": "a"}} {"#), "the body is not JSON: "),
        (b"\xff\xfe{}".to_vec(), "the body is not UTF-8 from byte 0"),
        (
            b"{\"kind\":\"\xc3\x28\"}".to_vec(),
            "the body is not UTF-8 from byte 9",
        ),
    ]
}

#[test]
fn refuses_what_is_no_review_and_says_why() {
    for (body, want) in not_reviews() {
        let error = malformed(&body);
        assert!(error.starts_with(want), "{error}\n  want {want}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[tokio::test]
async fn the_router_answers_400_to_what_is_no_review() {
    let metrics = Arc::new(Metrics::new());
    let router = router(AppState {
        webhook: Arc::new(WebhookState::new(Policy::default(), Arc::clone(&metrics))),
        metrics,
        limits: Limits::default(),
    });
    for path in ["/mutate", "/validate"] {
        for (body, want) in not_reviews() {
            let request = Request::post(path)
                .header("Content-Type", "application/json")
                .body(Body::from(body))
                .unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), 400, "{want}");
        }
    }
}

#[test]
fn accepts_no_prefix_of_a_review() {
    let policy = Policy::default();
    for name in [
        "pod-create-linux-plain.mutating",
        "pod-create-winos-c-capabilities.mutating",
    ] {
        let body = recording(name);
        let end = body.trim_ascii_end().len();
        for cut in 0..end {
            assert!(review::decode(&body[..cut], &policy).is_err(), "{cut}");
        }
        answers_or_refuses(&body, &policy);
    }
}

#[test]
fn survives_every_changed_byte() {
    let policy = Policy::default();
    let body = pod_text(r#""hostNetwork":true,"containers":[{"name":"a","image":"b:ltsc2022"}]"#);
    for at in 0..body.len() {
        for byte in [0, b'"', b'{', b'}', b'[', b'\\', b'0', b' ', 0xff] {
            let mut changed = body.clone().into_bytes();
            changed[at] = byte;
            answers_or_refuses(&changed, &policy);
        }
    }
}
