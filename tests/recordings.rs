//! Every recorded AdmissionReview gets the answer that `expectations.yaml` says.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

mod common;

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use common::{Answer, Expected, ask, endpoint_of, expectations, recordings};
use serde_json::{Value, json};
use tower::ServiceExt;
use transom::admit::admit;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::metrics::Metrics;
use transom::policy::Policy;
use transom::review;
use transom::server::{AppState, Limits, router};
use transom::webhook::WebhookState;

/// The patch that the table means, as the API server would be sent it.
fn patch_of(expected: &Expected, object: &Value) -> Value {
    let prefix = if object["kind"] == "Pod" {
        "/spec"
    } else {
        "/spec/template/spec"
    };
    let spec = object.pointer(prefix).unwrap_or(&Value::Null);
    let mut operations = Vec::new();
    for word in expected.patch.split_whitespace() {
        operations.push(match word {
            "os" => json!({"op": "add", "path": format!("{prefix}/os"), "value": {"name": "windows"}}),
            "selector" if spec.get("nodeSelector").is_some() => json!({
                "op": "add",
                "path": format!("{prefix}/nodeSelector/kubernetes.io~1os"),
                "value": "windows",
            }),
            "selector" => json!({
                "op": "add",
                "path": format!("{prefix}/nodeSelector"),
                "value": {"kubernetes.io/os": "windows"},
            }),
            "toleration" => json!({
                "op": "add",
                "path": format!("{prefix}/tolerations/-"),
                "value": {"key": "os", "operator": "Equal", "value": "Win1809", "effect": "NoSchedule"},
            }),
            other => panic!("{other}: not a word of the table"),
        });
    }
    for repair in &expected.repair {
        let (_, path) = repair.split_once(' ').unwrap();
        let pointer = path.replace(['.', '['], "/").replace(']', "");
        operations.push(json!({"op": "remove", "path": format!("/{pointer}")}));
    }
    Value::Array(operations)
}

fn hold(name: &str, answer: &Answer, expected: &Expected, object: &Value) {
    assert_eq!(answer.allowed, expected.deny.is_empty(), "{name}: allowed");
    assert_eq!(answer.deny, expected.deny, "{name}: deny");
    assert_eq!(answer.warn, expected.warn, "{name}: warn");
    assert_eq!(answer.repair, expected.repair, "{name}: repair");
    let patch = answer
        .patch
        .as_ref()
        .map_or(json!([]), |p| serde_json::to_value(p).unwrap());
    assert_eq!(patch, patch_of(expected, object), "{name}: patch");
    let tells = !expected.warn.is_empty() || !expected.repair.is_empty();
    assert_eq!(!answer.warnings().is_empty(), tells, "{name}: warnings");
    answer.patched(object);
}

#[test]
fn every_recording_gets_its_answer() {
    let expectations = expectations();
    let recordings = recordings();
    let names: Vec<_> = recordings.iter().map(|(name, _)| name).collect();
    assert_eq!(names, expectations.keys().collect::<Vec<_>>());
    assert_eq!(names.len(), 279);
    for (name, body) in &recordings {
        let review: Value = serde_json::from_slice(body).unwrap();
        let answer = ask(endpoint_of(name), body);
        hold(
            name,
            &answer,
            &expectations[name],
            &review["request"]["object"],
        );
    }
}

/// The same answers, byte for byte, come out of the server's public router.
#[tokio::test]
async fn the_router_answers_every_recording() {
    let metrics = Arc::new(Metrics::new());
    let policy = Policy::default();
    let router = router(AppState {
        webhook: Arc::new(WebhookState::new(policy.clone(), Arc::clone(&metrics))),
        metrics: Arc::clone(&metrics),
        limits: Limits::default(),
    });
    let facts = Facts::default();
    let mut denials = 0;
    for (name, body) in recordings() {
        let endpoint = endpoint_of(&name);
        let request = Request::post(format!("/{}?timeout=10s", endpoint.name()))
            .header("Content-Type", "application/json")
            .header("Accept-Encoding", "gzip")
            .body(Body::from(body.clone()))
            .unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200, "{name}");
        assert_eq!(response.headers()["content-type"], "application/json");
        let answer = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let request = review::decode(&body, &policy).unwrap();
        let verdict = admit(endpoint, &request, &policy, &facts);
        assert_eq!(answer, review::encode(&verdict), "{name}");
        denials += usize::from(!verdict.allowed());
    }
    let text = metrics.render();
    let answered = |line: &&str| line.starts_with("transom_admission_requests_total");
    let total = |pick: &dyn Fn(&str) -> bool| -> usize {
        let lines = text.lines().filter(answered).filter(|line| pick(line));
        lines
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<usize>().unwrap())
            .sum()
    };
    assert_eq!(total(&|_| true), 279);
    assert_eq!(total(&|line| line.contains("decision=\"deny\"")), denials);
    assert_eq!(
        total(&|line| line.contains("kind=\"Service\"")),
        10,
        "the Services"
    );
}

/// Asking again with the patched object finds nothing more to patch.
#[test]
fn a_patched_recording_is_left_alone() {
    let mut patched = 0;
    for (name, body) in recordings() {
        let mut review: Value = serde_json::from_slice(&body).unwrap();
        let answer = ask(endpoint_of(&name), &body);
        if answer.patch.is_some() {
            patched += 1;
            review["request"]["object"] = answer.patched(&review["request"]["object"]);
            let again = ask(Endpoint::Mutate, &serde_json::to_vec(&review).unwrap());
            assert!(again.patch.is_none(), "{name}: {:?}", again.patch);
        }
    }
    assert!(patched > 80, "{patched}");
}
