//! What owners are told, from the review to the Event in an API server in process.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use axum::http::Method;
use serde_json::{Value, json};
use transom::cluster::Wishes;
use transom::webhook::Endpoint;

#[path = "support/apiserver.rs"]
mod apiserver;
#[path = "support/client.rs"]
mod client;
#[path = "support/webhook.rs"]
mod webhook;
use apiserver::{ApiServer, EVENTS};
use webhook::Webhook;

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
    assert_eq!(webhook.told("sent"), 1);
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
    assert_eq!(webhook.told("failed"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_told_is_told_to_operators_and_no_review_waits() {
    let cluster = ApiServer::new();
    cluster.forbid(Method::POST, EVENTS);
    let webhook = Webhook::new(&cluster).await;
    webhook.refuse("web").await;
    webhook.becomes(async || webhook.told("failed") == 1).await;
    let told = webhook.readyz().await;
    let want = "[+]events ok, but: cannot write an Event on web: you may not: give the ServiceAccount that right";
    assert!(told.contains(want), "{told}");
    let errors = "transom_cluster_errors_total{part=\"events\"} 1\n";
    assert!(webhook.metrics.render().contains(errors));
    cluster.allow_all();
    webhook.refuse("other").await;
    webhook.becomes(async || webhook.told("sent") == 1).await;
    assert!(webhook.readyz().await.contains("[+]events ok\n"));

    // Three attempts while the API server is away.
    cluster.down(true);
    webhook.refuse("third").await;
    webhook.becomes(async || webhook.told("failed") == 2).await;
    let errors = "transom_cluster_errors_total{part=\"events\"} 4\n";
    assert!(webhook.metrics.render().contains(errors));
    // More than may wait; nobody takes any notice while this thread does not let go.
    for number in 0..400 {
        webhook.refuse(&format!("more-{number}")).await;
    }
    assert!(webhook.told("dropped") > 0);
    cluster.down(false);
    webhook.becomes(async || webhook.told("sent") > 1).await;
}

#[tokio::test]
async fn without_the_wish_there_are_none() {
    let cluster = ApiServer::new();
    let webhook = Webhook::join(&cluster, CONFIG, Wishes::default()).await;
    webhook.refuse("web").await;
    assert!(!webhook.readyz().await.contains("events"));
    assert_eq!(cluster.requests(), [""; 0]);
}

impl Webhook {
    async fn new(cluster: &ApiServer) -> Self {
        let wishes = Wishes {
            events: true,
            ..Wishes::default()
        };
        let webhook = Self::join(cluster, CONFIG, wishes).await;
        let is_there = async || webhook.readyz().await.contains("events");
        webhook.becomes(is_there).await;
        webhook
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
        let response = self.answer(Endpoint::Validate, &review).await;
        assert_eq!(response["allowed"], false);
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

    fn told(&self, result: &str) -> u64 {
        self.metric(&format!("transom_events_total{{result=\"{result}\"}} "))
    }
}
