//! What owners are told, from the review to the Event in an API server in process.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;
use transom::cluster::{self, Wishes};
use transom::metrics::Metrics;
use transom::policy::Policy;
use transom::server::{Server, TlsSource, admin};
use transom::webhook::{self, Endpoint, WebhookState};

#[path = "support/apiserver.rs"]
mod apiserver;
#[path = "support/client.rs"]
mod client;
use apiserver::{ApiServer, EVENTS};
use client::{PATIENCE, options};

const CONFIG: &str = "apiVersion: transom.dev/v1alpha1\nkind: Config\nownedObjects: enforce\n";

#[tokio::test]
async fn the_owner_of_a_refused_pod_gets_an_event() {
    let webhook = Webhook::new(&ApiServer::new()).await;
    assert!(webhook.readyz().await.contains("[+]events ok\n"));
    webhook.refuse("web").await;
    webhook.becomes(async || webhook.events().len() == 1).await;
    let event = &webhook.events()[0];
    let name = event["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("web."), "{name}");
    assert_eq!(event["metadata"]["namespace"], "shop");
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["reason"], "TransomDenied");
    assert_eq!(event["action"], "Admission");
    assert_eq!(event["reportingController"], "transom.dev/transom");
    assert!(!event["reportingInstance"].as_str().unwrap().is_empty());
    assert!(event["eventTime"].is_string(), "{event}");
    assert_eq!(event["series"], Value::Null);
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "namespace": "shop", "name": "web", "uid": "uid-web",
    });
    assert_eq!(event["regarding"], owner);
    let note = event["note"].as_str().unwrap();
    assert!(
        note.contains("spec.hostPID: true [WIN202 host-pid]"),
        "{note}"
    );
    assert_eq!(webhook.metric("sent"), 1);
}

/// In 31 seconds that pass at once where nothing else is to be done.
#[tokio::test(start_paused = true)]
async fn many_refusals_make_one_event_that_counts() {
    let webhook = Webhook::new(&ApiServer::new()).await;
    for _ in 0..40 {
        webhook.refuse("web").await;
    }
    webhook.refuse("other").await;
    webhook
        .becomes(async || webhook.count_of("web") == Some(40))
        .await;
    assert_eq!(webhook.events().len(), 2);
    assert_eq!(webhook.count_of("other"), None);
    // One that somebody has deleted is made again.
    for event in webhook.events() {
        let name = event["metadata"]["name"].as_str().unwrap();
        webhook.cluster.delete(EVENTS, name);
    }
    webhook.refuse("web").await;
    webhook
        .becomes(async || webhook.count_of("web") == Some(41))
        .await;
    assert_eq!(webhook.events().len(), 1);
    assert_eq!(webhook.metric("failed"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_told_is_told_to_operators_and_no_review_waits() {
    let cluster = ApiServer::new();
    cluster.forbid(Method::POST, EVENTS);
    let webhook = Webhook::new(&cluster).await;
    webhook.refuse("web").await;
    webhook
        .becomes(async || webhook.metric("failed") == 1)
        .await;
    let told = webhook.readyz().await;
    let want = "[+]events ok, but: cannot write an Event on web: you may not: give the ServiceAccount that right";
    assert!(told.contains(want), "{told}");
    let errors = "transom_cluster_errors_total{part=\"events\"} 1\n";
    assert!(webhook.metrics.render().contains(errors));
    cluster.allow_all();
    webhook.refuse("other").await;
    webhook.becomes(async || webhook.metric("sent") == 1).await;
    assert!(webhook.readyz().await.contains("[+]events ok\n"));

    // Three attempts while the API server is away.
    cluster.down(true);
    webhook.refuse("third").await;
    webhook
        .becomes(async || webhook.metric("failed") == 2)
        .await;
    let errors = "transom_cluster_errors_total{part=\"events\"} 4\n";
    assert!(webhook.metrics.render().contains(errors));
    // More than may wait; nobody takes any notice while this thread does not let go.
    for number in 0..400 {
        webhook.refuse(&format!("more-{number}")).await;
    }
    assert!(webhook.metric("dropped") > 0);
    cluster.down(false);
    webhook.becomes(async || webhook.metric("sent") > 1).await;
}

#[tokio::test]
async fn without_the_wish_there_are_none() {
    let cluster = ApiServer::new();
    let webhook = Webhook::wishing(&cluster, Wishes::default()).await;
    webhook.refuse("web").await;
    assert!(!webhook.readyz().await.contains("events"));
    assert_eq!(cluster.requests(), [""; 0]);
}

struct Webhook {
    cluster: ApiServer,
    state: Arc<WebhookState>,
    metrics: Arc<Metrics>,
    /// The teller ends with it.
    server: Server,
}

impl Webhook {
    async fn new(cluster: &ApiServer) -> Self {
        let wishes = Wishes {
            events: true,
            ..Wishes::default()
        };
        let webhook = Self::wishing(cluster, wishes).await;
        let is_there = async || webhook.readyz().await.contains("events");
        webhook.becomes(is_there).await;
        webhook
    }

    async fn wishing(cluster: &ApiServer, wishes: Wishes) -> Self {
        let metrics = Arc::new(Metrics::new());
        let policy = Policy::parse(CONFIG).unwrap();
        let state = Arc::new(WebhookState::new(policy, Arc::clone(&metrics)));
        let tls = options(TlsSource::Later);
        let server = Server::bind(tls, Arc::clone(&state), Arc::clone(&metrics)).await;
        let server = cluster::join(server.unwrap(), wishes, cluster.client(), &state, &metrics);
        Self {
            cluster: cluster.clone(),
            state,
            metrics,
            server,
        }
    }

    /// A review of a pod that is refused to the controller of a ReplicaSet.
    async fn refuse(&self, owner: &str) {
        let reference = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": format!("uid-{owner}"),
            "controller": true,
        });
        let object = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"generateName": format!("{owner}-"), "ownerReferences": [reference]},
            "spec": {
                "nodeSelector": {"kubernetes.io/os": "windows"}, "hostPID": true,
                "containers": [{"name": "a", "image": "a"}],
            },
        });
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "1", "operation": "CREATE", "namespace": "shop",
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
                "object": object,
            },
        });
        let body = review.to_string();
        let answer = webhook::answer(Endpoint::Validate, body.as_bytes(), &self.state).await;
        let answer = answer.into_body().collect().await.unwrap().to_bytes();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["response"]["allowed"], false);
    }

    fn events(&self) -> Vec<Value> {
        self.cluster.all(EVENTS)
    }

    /// What the only event on an owner counts.
    fn count_of(&self, owner: &str) -> Option<u64> {
        let events = self.events();
        let mut events = events.iter().filter(|e| e["regarding"]["name"] == owner);
        let event = events.next()?;
        assert_eq!(events.next(), None);
        event["series"]["count"].as_u64()
    }

    async fn readyz(&self) -> String {
        let router = admin::router(self.server.health(), Arc::clone(&self.metrics));
        let request = Request::get("/readyz?verbose").body(Body::empty()).unwrap();
        let answer = router.oneshot(request).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.into()).unwrap()
    }

    async fn becomes(&self, condition: impl AsyncFn() -> bool) {
        let began = Instant::now();
        while !condition().await {
            assert!(began.elapsed() < PATIENCE, "it never came true");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn metric(&self, result: &str) -> u64 {
        let name = format!("transom_events_total{{result=\"{result}\"}} ");
        let text = self.metrics.render();
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap().trim().parse().unwrap()
    }
}
