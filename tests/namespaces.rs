//! The labels of namespaces, from an API server in process to the answer of the webhook.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use transom::cluster::namespaces::Namespaces;
use transom::metrics::Metrics;
use transom::policy::Policy;
use transom::server::Health;
use transom::webhook::{self, Endpoint, WebhookState};

#[path = "support/apiserver.rs"]
mod apiserver;
use apiserver::{ApiServer, NAMESPACES};

/// Only keeps a test from hanging.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_label_changes_the_mode() {
    let webhook = Webhook::watching(&cluster()).await;
    assert_eq!(webhook.mode_in("shop").await, "enforce");
    for (label, mode) in [
        (json!("warn"), "warn"),
        (json!("audit"), "quiet"),
        (Value::Null, "enforce"),
    ] {
        webhook.label("shop", label);
        webhook.becomes("shop", mode).await;
    }
    assert_eq!(webhook.mode_in("lenient").await, "warn");
    assert_eq!(webhook.lookups("found"), 0, "all of this was watched");
}

#[tokio::test]
async fn a_namespace_that_is_not_known_yet_is_asked_for_once() {
    let webhook = Webhook::unsynced(&cluster());
    assert_eq!(webhook.mode_in("lenient").await, "warn");
    assert_eq!(webhook.mode_in("lenient").await, "warn");
    assert_eq!(webhook.mode_in("shop").await, "enforce");
    assert_eq!(webhook.lookups("found"), 2);
    // None of that name: there is no label that could say anything.
    assert_eq!(webhook.mode_in("nowhere").await, "enforce");
    assert_eq!(webhook.lookups("missing"), 1);
    // A path to something else, which would be found.
    for elsewhere in ["lenient?", "lenient?a=b", "../namespaces/lenient"] {
        assert_eq!(webhook.mode_in(elsewhere).await, "enforce", "{elsewhere}");
    }
    assert_eq!(webhook.lookups("missing"), 4);
}

#[tokio::test]
async fn a_namespace_that_nobody_can_tell_of_is_warned_at_most() {
    let cluster = cluster();
    let webhook = Webhook::unsynced(&cluster);
    cluster.forbid(Method::GET, NAMESPACES);
    assert_eq!(webhook.mode_in("shop").await, "warn");
    assert_eq!(webhook.lookups("failed"), 1);
    cluster.allow_all();
    cluster.down(true);
    assert_eq!(webhook.mode_in("shop").await, "warn");
    // It was not taken for an answer.
    cluster.down(false);
    assert_eq!(webhook.mode_in("shop").await, "enforce");
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_answer_is_not_waited_for_until_the_review_is_too_late() {
    let silent =
        tower::service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
    let mut webhook = Webhook::asking(&cluster(), Client::new(silent, "transom"));
    for (timeout, asked) in [(1_000, 500), (2_000, 1_000), (30_000, 1_000), (0, 0)] {
        webhook.patience = Duration::from_millis(timeout);
        let began = tokio::time::Instant::now();
        assert_eq!(webhook.mode_in("shop").await, "warn");
        assert_eq!(began.elapsed().as_millis(), asked);
    }
    assert_eq!(webhook.lookups("failed"), 4);
}

#[tokio::test]
async fn what_is_known_stays_in_force_while_the_watch_is_away_and_news_come_after() {
    let cluster = cluster();
    let webhook = Webhook::watching(&cluster).await;
    assert_eq!(webhook.current(), 1);
    cluster.down(true);
    eventually(|| webhook.current() == 0).await;
    assert_eq!(webhook.mode_in("lenient").await, "warn");
    assert_eq!(webhook.mode_in("shop").await, "enforce");
    webhook.label("shop", json!("warn"));
    cluster.delete(NAMESPACES, "lenient");
    cluster.put(
        NAMESPACES,
        "new",
        json!({"metadata": {"labels": {"transom.dev/mode": "audit"}}}),
    );
    cluster.down(false);
    webhook.becomes("shop", "warn").await;
    webhook.becomes("new", "quiet").await;
    eventually(|| webhook.current() == 1).await;
    // Gone, so that it has to be asked for.
    webhook.becomes("lenient", "enforce").await;
}

#[tokio::test]
async fn five_thousand_namespaces_are_no_reason_to_ask() {
    let cluster = ApiServer::new();
    for i in 0..5000 {
        let mode = if i % 2 == 0 { "warn" } else { "enforce" };
        let labels = json!({"metadata": {"labels": {"transom.dev/mode": mode}}});
        cluster.put(NAMESPACES, &format!("n{i}"), labels);
    }
    let webhook = Webhook::watching(&cluster).await;
    let before = cluster.requests().len();
    for (name, mode) in [("n0", "warn"), ("n4998", "warn"), ("n4999", "enforce")] {
        assert_eq!(webhook.mode_in(name).await, mode);
    }
    assert_eq!(cluster.requests().len(), before);
}

fn cluster() -> ApiServer {
    let cluster = ApiServer::new();
    cluster.put(
        NAMESPACES,
        "shop",
        json!({"metadata": {"labels": {"team": "shop"}}}),
    );
    let labels = json!({"transom.dev/mode": "warn"});
    cluster.put(
        NAMESPACES,
        "lenient",
        json!({"metadata": {"labels": labels}}),
    );
    cluster
}

async fn eventually(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "it never came true");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

struct Webhook {
    cluster: ApiServer,
    state: Arc<WebhookState>,
    metrics: Arc<Metrics>,
    watching: Option<JoinHandle<()>>,
    /// How long an answer is waited for.
    patience: Duration,
}

impl Webhook {
    /// One that has not heard of any namespace.
    fn unsynced(cluster: &ApiServer) -> Self {
        Self::asking(cluster, cluster.client())
    }

    /// One that has not heard of any, and asks this client.
    fn asking(cluster: &ApiServer, client: Client) -> Self {
        let metrics = Arc::new(Metrics::new());
        let state = Arc::new(WebhookState::new(Policy::default(), Arc::clone(&metrics)));
        let namespaces = Namespaces::new(client, Arc::clone(&metrics));
        state.look_up_namespaces(Arc::new(namespaces));
        Self {
            cluster: cluster.clone(),
            state,
            metrics,
            watching: None,
            patience: PATIENCE,
        }
    }

    /// One that has heard of all.
    async fn watching(cluster: &ApiServer) -> Self {
        let metrics = Arc::new(Metrics::new());
        let state = Arc::new(WebhookState::new(Policy::default(), Arc::clone(&metrics)));
        let namespaces = Arc::new(Namespaces::new(cluster.client(), Arc::clone(&metrics)));
        state.look_up_namespaces(Arc::clone(&namespaces));
        let mut synced = namespaces.synced();
        let watching = tokio::spawn(namespaces.watch(Arc::<Health>::default()));
        synced.wait_for(|synced| *synced).await.unwrap();
        let webhook = Self {
            cluster: cluster.clone(),
            state,
            metrics,
            watching: Some(watching),
            patience: PATIENCE,
        };
        eventually(|| webhook.current() == 1).await;
        webhook
    }

    fn label(&self, namespace: &str, mode: Value) {
        self.cluster.change(NAMESPACES, namespace, |object| {
            let labels = &mut object["metadata"]["labels"];
            match mode {
                Value::Null => drop(labels.as_object_mut().unwrap().remove("transom.dev/mode")),
                mode => labels["transom.dev/mode"] = mode,
            }
        });
    }

    /// How a bad Windows pod fares there.
    async fn mode_in(&self, namespace: &str) -> &'static str {
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "1", "operation": "CREATE", "namespace": namespace,
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "userInfo": {"username": "somebody"},
                "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {
                    "nodeSelector": {"kubernetes.io/os": "windows"},
                    "securityContext": {"runAsUser": 1000},
                    "containers": [{"name": "a", "image": "a"}],
                }},
            },
        });
        let body = review.to_string();
        let deadline = tokio::time::Instant::now() + self.patience;
        let answer = webhook::answer(Endpoint::Validate, body.into(), deadline, &self.state).await;
        let answer = answer.into_body().collect().await.unwrap().to_bytes();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let response = &answer["response"];
        match (
            response["allowed"].as_bool().unwrap(),
            &response["warnings"],
        ) {
            (false, _) => "enforce",
            (true, Value::Array(_)) => "warn",
            (true, _) => "quiet",
        }
    }

    async fn becomes(&self, namespace: &str, mode: &str) {
        let began = Instant::now();
        while self.mode_in(namespace).await != mode {
            assert!(
                began.elapsed() < PATIENCE,
                "{namespace} does not become {mode}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn lookups(&self, result: &str) -> u64 {
        self.metric(&format!(
            "transom_namespace_lookups_total{{result=\"{result}\"}} "
        ))
    }

    fn current(&self) -> u64 {
        self.metric("transom_facts_current{facts=\"namespaces\"} ")
    }

    fn metric(&self, name: &str) -> u64 {
        let text = self.metrics.render();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().parse().unwrap()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        if let Some(watching) = &self.watching {
            watching.abort();
        }
    }
}
