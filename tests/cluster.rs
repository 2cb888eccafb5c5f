//! `serve` in a cluster: the CA that replicas share, against an API server in process. Whatever happens to the
//! Secret or the caBundle, an API server that trusts the caBundle can shake hands.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::Method;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use transom::authority::{self, Authority};
use transom::cluster::certs::Settings;
use transom::cluster::rotation::Lifetimes;
use transom::cluster::{self, Wishes};
use transom::metrics::Metrics;
use transom::policy::Policy;
use transom::server::{Server, TlsSource};
use transom::webhook::WebhookState;

#[path = "support/apiserver.rs"]
mod apiserver;
#[path = "support/client.rs"]
mod client;
use apiserver::{ApiServer, MUTATING, SECRETS, VALIDATING};
use client::{BOTH, PATIENCE, connect, exchange, get, options};

const CA: &str = "transom-ca";
const WEBHOOKS: &str = "transom";

#[tokio::test]
async fn replicas_that_start_at_once_agree_on_one_ca() {
    let cluster = cluster();
    let replicas = [(); 4].map(|()| Replica::start(&cluster));
    let mut all = Vec::new();
    for replica in replicas {
        let replica = replica.await;
        replica.is_ready().await;
        all.push(replica);
    }
    let bundle = bundle(&cluster, MUTATING);
    assert_eq!(bundle.matches("BEGIN").count(), 1, "{bundle}");
    assert_eq!(bundle, secret(&cluster, "ca.crt"));
    for replica in &all {
        replica.is_trusted(&cluster).await;
        assert_eq!(replica.metric("transom_ca_in_secret "), 1);
    }
    let created = "transom_ca_writes_total{cause=\"created\"} ";
    assert_eq!(
        all.iter()
            .map(|replica| replica.metric(created))
            .sum::<u64>(),
        1
    );
}

#[tokio::test]
async fn a_secret_that_is_deleted_or_damaged_heals() {
    let cluster = cluster();
    let replica = Replica::start(&cluster).await;
    replica.is_ready().await;
    let [ca, key] = ["ca.crt", "ca.key"].map(|name| secret(&cluster, name));
    let other = Authority::new("another", authority::now(), 1000).unwrap();
    let set = |name: &'static str, value: String| {
        cluster.change(SECRETS, CA, |secret| {
            secret["data"][name] = STANDARD.encode(value).into()
        });
    };
    let damages: [&dyn Fn(); 6] = [
        &|| cluster.delete(SECRETS, CA),
        &|| cluster.change(SECRETS, CA, |secret| secret["data"] = Value::Null),
        &|| set("ca.crt", "garbage".to_owned()),
        &|| set("ca.key", other.key().to_owned()),
        &|| set("next-ca.crt", "garbage".to_owned()),
        &|| set("ca.crt", other.certificate().pem().to_owned()),
    ];
    for (i, damage) in damages.into_iter().enumerate() {
        damage();
        eventually(|| {
            let there = cluster
                .get(SECRETS, CA)
                .is_some_and(|secret| secret["data"].is_object());
            let next = there && !secret(&cluster, "next-ca.crt").is_empty();
            there
                && !next
                && [secret(&cluster, "ca.crt"), secret(&cluster, "ca.key")]
                    == [ca.clone(), key.clone()]
        })
        .await;
        replica.is_trusted(&cluster).await;
        let restored = replica.metric("transom_ca_writes_total{cause=\"restored\"} ");
        assert_eq!(restored, i as u64 + 1);
    }
    let labels = &cluster.get(SECRETS, CA).unwrap()["metadata"]["labels"];
    assert_eq!(
        labels["app.kubernetes.io/name"], "transom",
        "those of the one that is gone"
    );
}

#[tokio::test]
async fn a_secret_that_may_not_be_made_again_is_told_and_the_ca_lives_on() {
    let cluster = cluster();
    let replica = Replica::start(&cluster).await;
    replica.is_ready().await;
    let ca = secret(&cluster, "ca.crt");
    cluster.forbid(Method::POST, SECRETS);
    cluster.delete(SECRETS, CA);
    replica
        .says("[+]certificate ok, but: the CA is in memory only: cannot create Secret")
        .await;
    assert_eq!(replica.metric("transom_ca_in_secret "), 0);
    replica.is_trusted(&cluster).await;
    // Somebody helps.
    cluster.put(SECRETS, CA, json!({"type": "Opaque"}));
    replica.says("[+]certificate ok\n").await;
    assert_eq!(secret(&cluster, "ca.crt"), ca);
    assert_eq!(replica.metric("transom_ca_in_secret "), 1);
}

#[tokio::test]
async fn a_ca_bundle_that_somebody_overwrites_heals() {
    let cluster = cluster();
    let replica = Replica::start(&cluster).await;
    replica.is_ready().await;
    let want = secret(&cluster, "ca.crt");
    for collection in [MUTATING, VALIDATING] {
        for bundle_then in ["", "c29tZWJvZHk="] {
            cluster.change(collection, WEBHOOKS, |object| {
                object["webhooks"][1]["clientConfig"]["caBundle"] = bundle_then.into();
            });
            eventually(|| bundle(&cluster, collection) == want).await;
        }
    }
    let written = "transom_ca_bundle_writes_total{configuration=\"MutatingWebhookConfiguration\"} ";
    assert_eq!(replica.metric(written), 3);
}

#[tokio::test]
async fn webhook_configurations_that_are_missing_are_waited_for() {
    let cluster = cluster();
    let objects = [MUTATING, VALIDATING].map(|collection| {
        let object = cluster.get(collection, WEBHOOKS).unwrap();
        cluster.delete(collection, WEBHOOKS);
        (collection, object)
    });
    let replica = Replica::start(&cluster).await;
    replica.is_ready().await;
    replica
        .says("there is no webhook configuration transom yet")
        .await;
    for (collection, object) in objects {
        cluster.put(collection, WEBHOOKS, object);
    }
    replica.says("[+]certificate ok\n").await;
    let want = secret(&cluster, "ca.crt");
    for collection in [MUTATING, VALIDATING] {
        eventually(|| bundle(&cluster, collection) == want).await;
    }
    replica.is_trusted(&cluster).await;
}

/// The chart can be told to install only one of the two.
#[tokio::test]
async fn one_webhook_configuration_is_enough() {
    let cluster = cluster();
    let object = cluster.get(VALIDATING, WEBHOOKS).unwrap();
    cluster.delete(VALIDATING, WEBHOOKS);
    let replica = Replica::start(&cluster).await;
    replica.is_ready().await;
    replica.says("[+]certificate ok\n").await;
    let want = secret(&cluster, "ca.crt");
    assert_eq!(bundle(&cluster, MUTATING), want);
    // And if it comes all the same, it gets the same.
    cluster.put(VALIDATING, WEBHOOKS, object);
    eventually(|| bundle(&cluster, VALIDATING) == want).await;
}

#[tokio::test]
async fn without_an_api_server_nothing_is_served_and_the_reason_is_told() {
    let cluster = cluster();
    cluster.down(true);
    let replica = Replica::start(&cluster).await;
    replica
        .says("no certificate yet: cannot read Secret transom-ca")
        .await;
    let (status, _) = replica.admin("/readyz").await;
    assert_eq!(status, 503);
    assert_eq!(replica.admin("/livez").await.0, 200);
    cluster.down(false);
    replica.is_ready().await;
    replica.is_trusted(&cluster).await;
    // And once it has a certificate, it needs none.
    cluster.down(true);
    cluster.cut();
    replica.is_trusted(&cluster).await;
    assert_eq!(replica.admin("/readyz").await.0, 200);
}

/// The CA of the Secret is due in three seconds. All the way through, whoever trusts the caBundle as it was a moment ago
/// can shake hands.
#[tokio::test]
async fn a_rotation_of_the_ca_is_not_noticed() {
    let cluster = cluster();
    let old = Authority::new("old", authority::now(), 43).unwrap();
    fill(&cluster, &old);
    let lifetimes = Lifetimes { ca: 120, leaf: 30 };
    let replicas = [
        Replica::start_with(&cluster, lifetimes).await,
        Replica::start_with(&cluster, lifetimes).await,
    ];
    for replica in &replicas {
        replica.is_ready().await;
    }
    let begun = Instant::now();
    let mut shaken = 0;
    loop {
        let believed = bundle(&cluster, MUTATING);
        tokio::time::sleep(Duration::from_millis(100)).await;
        for replica in &replicas {
            let done = replica.shake_hands(&believed).await;
            assert!(done.is_ok(), "after {shaken} handshakes: {done:?}");
            shaken += 1;
        }
        let is_promoted = secret(&cluster, "ca.crt") != old.certificate().pem();
        let new = secret(&cluster, "ca.crt");
        if is_promoted && both_show(&replicas, &new).await {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "no rotation");
    }
    let bundle = bundle(&cluster, VALIDATING);
    assert_eq!(
        bundle.matches("BEGIN").count(),
        2,
        "the old one stays trusted until it expires"
    );
    assert_eq!(secret(&cluster, "previous-ca.crt"), old.certificate().pem());
    let sum = |cause| {
        let name = format!("transom_ca_writes_total{{cause=\"{cause}\"}} ");
        replicas
            .iter()
            .map(|replica| replica.metric(&name))
            .sum::<u64>()
    };
    assert_eq!(
        [sum("created"), sum("introduced"), sum("promoted")],
        [0, 1, 1]
    );
}

#[tokio::test]
async fn another_ca_that_somebody_puts_in_is_taken_without_a_gap() {
    let cluster = cluster();
    let replica = Replica::start_with(&cluster, Lifetimes { ca: 90, leaf: 30 }).await;
    replica.is_ready().await;
    let first = secret(&cluster, "ca.crt");
    let other = Authority::new("by hand", authority::now(), 1000).unwrap();
    fill(&cluster, &other);
    let begun = Instant::now();
    loop {
        // Two objects that change one after the other: trusted by the one that is asked.
        let believed = bundle(&cluster, MUTATING);
        replica.shake_hands(&believed).await.unwrap();
        if replica.shake_hands(other.certificate().pem()).await.is_ok() {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "it was not taken");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(secret(&cluster, "previous-ca.crt"), first);
}

async fn both_show(replicas: &[Replica; 2], ca: &str) -> bool {
    replicas[0].shake_hands(ca).await.is_ok() && replicas[1].shake_hands(ca).await.is_ok()
}

fn cluster() -> ApiServer {
    ApiServer::installed(CA, WEBHOOKS)
}

fn fill(cluster: &ApiServer, ca: &Authority) {
    cluster.change(SECRETS, CA, |secret| {
        let [certificate, key] =
            [ca.certificate().pem(), ca.key()].map(|text| STANDARD.encode(text));
        secret["data"] = json!({"ca.crt": certificate, "ca.key": key});
    });
}

fn secret(cluster: &ApiServer, name: &str) -> String {
    let secret = cluster.get(SECRETS, CA).unwrap();
    decode(&secret["data"][name])
}

/// The caBundle, which is the same in every entry.
fn bundle(cluster: &ApiServer, collection: &str) -> String {
    let object = cluster.get(collection, WEBHOOKS).unwrap();
    let entries = object["webhooks"].as_array().unwrap();
    let bundles: Vec<_> = entries
        .iter()
        .map(|entry| decode(&entry["clientConfig"]["caBundle"]))
        .collect();
    match bundles.iter().all(|bundle| *bundle == bundles[0]) {
        true => bundles[0].clone(),
        false => "they differ".to_owned(),
    }
}

fn decode(text: &Value) -> String {
    let bytes = STANDARD.decode(text.as_str().unwrap_or_default()).unwrap();
    String::from_utf8(bytes).unwrap()
}

async fn eventually(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "it never came true");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

struct Replica {
    address: SocketAddr,
    admin_address: SocketAddr,
    metrics: Arc<Metrics>,
    _signals: mpsc::Sender<&'static str>,
    running: JoinHandle<anyhow::Result<()>>,
}

impl Replica {
    async fn start(cluster: &ApiServer) -> Self {
        Self::start_with(cluster, Lifetimes::DEFAULT).await
    }

    async fn start_with(cluster: &ApiServer, lifetimes: Lifetimes) -> Self {
        let metrics = Arc::new(Metrics::new());
        let webhook = Arc::new(WebhookState::new(Policy::default(), Arc::clone(&metrics)));
        let server = Server::bind(
            options(TlsSource::Later),
            Arc::clone(&webhook),
            Arc::clone(&metrics),
        )
        .await;
        let settings = Settings {
            secret: CA.to_owned(),
            namespace: "transom".to_owned(),
            service: "transom".to_owned(),
            configuration: WEBHOOKS.to_owned(),
            lifetimes,
        };
        let wishes = Wishes {
            certificate: Some(settings),
            ..Wishes::default()
        };
        let server = cluster::join(
            server.unwrap(),
            wishes,
            cluster.client(),
            &webhook,
            &metrics,
        );
        let (signals, receiver) = mpsc::channel(2);
        Self {
            address: server.address(),
            admin_address: server.admin_address(),
            metrics,
            _signals: signals,
            running: tokio::spawn(server.run(receiver)),
        }
    }

    async fn shake_hands(&self, bundle: &str) -> std::io::Result<()> {
        let config = client::client(bundle, BOTH);
        let shaken = connect(self.address, "transom.transom.svc", config).await;
        shaken.map(|_| ())
    }

    async fn is_trusted(&self, cluster: &ApiServer) {
        for collection in [MUTATING, VALIDATING] {
            let bundle = bundle(cluster, collection);
            self.shake_hands(&bundle).await.unwrap();
        }
    }

    async fn admin(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.admin_address).await.unwrap();
        let answer = exchange(&mut stream, &get(path)).await;
        (answer.status, answer.body)
    }

    async fn is_ready(&self) {
        self.says("readyz check passed").await;
    }

    /// Waits until readiness tells this.
    async fn says(&self, text: &str) {
        let began = Instant::now();
        loop {
            let (_, told) = self.admin("/readyz?verbose").await;
            if told.contains(text) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "not {text:?}: {told}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn metric(&self, name: &str) -> u64 {
        let text = self.metrics.render();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().parse().unwrap()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.running.abort();
    }
}
