//! Nodes and RuntimeClasses, from an API server in process to the answer of the webhook.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Method, Request};
use base64::Engine;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
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
#[path = "support/program.rs"]
mod program;
#[path = "support/serve.rs"]
mod serve;
use apiserver::{ApiServer, NODES, RUNTIME_CLASSES};
use client::{PATIENCE, exchange, get, options};
use serve::Serve;

const CONFIG: &str =
    "apiVersion: transom.dev/v1alpha1\nkind: Config\nplacement: {learnTaints: true}\n";

#[tokio::test]
async fn a_runtime_class_makes_a_template_windows() {
    let webhook = Webhook::watching(&cluster()).await;
    assert!(webhook.denies_template("win").await);
    assert!(!webhook.denies_template("lin").await);
    assert!(!webhook.denies_template("new").await);
    webhook
        .cluster
        .put(RUNTIME_CLASSES, "new", class("windows"));
    webhook
        .becomes(async || webhook.denies_template("new").await)
        .await;
    webhook
        .cluster
        .put(RUNTIME_CLASSES, "win", json!({"handler": "a"}));
    webhook
        .becomes(async || !webhook.denies_template("win").await)
        .await;
    webhook.cluster.delete(RUNTIME_CLASSES, "new");
    webhook
        .becomes(async || !webhook.denies_template("new").await)
        .await;
}

#[tokio::test]
async fn a_pod_that_names_a_windows_node_is_for_windows() {
    let webhook = Webhook::watching(&cluster()).await;
    assert!(webhook.denies_on("win-1").await);
    assert!(!webhook.denies_on("lin-1").await);
    assert!(!webhook.denies_on("win-3").await);
    webhook.cluster.put(NODES, "win-3", node("windows", &[]));
    webhook
        .becomes(async || webhook.denies_on("win-3").await)
        .await;
}

#[tokio::test]
async fn a_taint_of_all_windows_nodes_is_tolerated_and_that_of_one_is_not() {
    let webhook = Webhook::watching(&cluster()).await;
    assert_eq!(webhook.tolerated().await, ["os=Win1809:NoSchedule"]);
    assert_eq!(webhook.learnt(), 0);
    let taint = ["node.kubernetes.io/os=windows:NoExecute"];
    let both = ["os=Win1809:NoSchedule", taint[0]];
    webhook.cluster.put(NODES, "win-1", node("windows", &taint));
    // When this is known, so is the node before it.
    webhook.cluster.put(NODES, "later", node("windows", &taint));
    webhook
        .becomes(async || webhook.denies_on("later").await)
        .await;
    assert_eq!(webhook.tolerated().await, ["os=Win1809:NoSchedule"]);
    webhook.cluster.put(NODES, "win-2", node("windows", &taint));
    webhook
        .becomes(async || webhook.tolerated().await == both)
        .await;
    assert_eq!(webhook.learnt(), 1);
    webhook.cluster.put(NODES, "win-4", node("windows", &[]));
    webhook
        .becomes(async || webhook.tolerated().await == both[..1])
        .await;
    assert_eq!(webhook.learnt(), 0);
    webhook.cluster.delete(NODES, "win-4");
    webhook
        .becomes(async || webhook.tolerated().await == both)
        .await;
}

#[tokio::test]
async fn what_is_known_stays_in_force_while_the_watches_are_away_and_news_come_after() {
    let cluster = cluster();
    let taint = ["os=windows:NoSchedule"];
    cluster.put(NODES, "win-1", node("windows", &taint));
    cluster.put(NODES, "win-2", node("windows", &taint));
    let webhook = Webhook::watching(&cluster).await;
    let both = ["os=Win1809:NoSchedule", taint[0]];
    assert_eq!(webhook.tolerated().await, both);
    cluster.down(true);
    for part in ["nodes", "runtimeclasses"] {
        webhook.becomes(async || webhook.current(part) == 0).await;
        let told = format!("[+]{part} ok, but: cannot watch the {part}: ");
        webhook
            .becomes(async || webhook.readyz().await.contains(&told))
            .await;
    }
    assert_eq!(webhook.tolerated().await, both);
    assert!(webhook.denies_template("win").await);
    cluster.put(NODES, "win-2", node("windows", &[]));
    cluster.delete(RUNTIME_CLASSES, "win");
    cluster.down(false);
    webhook
        .becomes(async || webhook.tolerated().await == both[..1])
        .await;
    webhook
        .becomes(async || !webhook.denies_template("win").await)
        .await;
    for part in ["nodes", "runtimeclasses"] {
        webhook.becomes(async || webhook.current(part) == 1).await;
        let told = format!("[+]{part} ok\n");
        webhook
            .becomes(async || webhook.readyz().await.contains(&told))
            .await;
    }
}

#[tokio::test]
async fn without_facts_the_configuration_alone_counts() {
    let cluster = cluster();
    cluster.forbid(Method::GET, NODES);
    cluster.forbid(Method::GET, RUNTIME_CLASSES);
    let webhook = Webhook::new(&cluster).await;
    webhook
        .becomes(async || {
            webhook
                .readyz()
                .await
                .contains("you may not: give the ServiceAccount that right")
        })
        .await;
    assert_eq!(webhook.tolerated().await, ["os=Win1809:NoSchedule"]);
    assert!(!webhook.denies_template("win").await);
    for part in ["nodes", "runtimeclasses"] {
        assert_eq!(webhook.current(part), 0);
        let errors = format!("transom_cluster_errors_total{{part=\"{part}\"}} ");
        webhook.becomes(async || webhook.metric(&errors) > 0).await;
    }
    cluster.allow_all();
    webhook
        .becomes(async || webhook.denies_template("win").await)
        .await;
}

/// On several threads: the API server answers while this one waits for the log.
#[tokio::test(flavor = "multi_thread")]
async fn the_program_tells_what_it_has_learnt() {
    let cluster = cluster();
    let taint = ["os=windows:NoSchedule"];
    cluster.put(NODES, "win-1", node("windows", &taint));
    cluster.put(NODES, "win-2", node("windows", &taint));
    let directory = tempfile::tempdir().unwrap();
    let config = write(&directory, "config.yaml", CONFIG);
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": cluster.listen().await}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "users": [{"name": "c", "user": {}}],
    });
    let kubeconfig = write(&directory, "kubeconfig", &kubeconfig.to_string());
    let flags = [
        "--watch-nodes",
        "--watch-runtime-classes",
        "--config",
        &config,
    ];
    let server = Serve::start_with(&flags, &[("KUBECONFIG", &kubeconfig)]);
    let admin = async |path: &str| {
        let mut stream = TcpStream::connect(server.admin_address).await.unwrap();
        exchange(&mut stream, &get(path)).await.body
    };
    let told = admin("/readyz?verbose").await;
    assert!(
        told.contains("[+]nodes ok\n[+]runtimeclasses ok\n"),
        "{told}"
    );
    let metrics = admin("/metrics").await;
    assert!(
        metrics.contains("\ntransom_learnt_tolerations 1\n"),
        "{metrics}"
    );
    // It is ready when it has learnt: the line is one of those before.
    cluster.put(NODES, "win-2", node("windows", &[]));
    let line = server.wait_for_log("no taint is learnt any more");
    assert_eq!(line["level"], "INFO");
    cluster.put(NODES, "win-2", node("windows", &taint));
    let line = server.wait_for_log("learnt from the taints");
    assert_eq!(line["tolerations"], taint[0]);
    // Once, and not whenever a node comes.
    cluster.put(NODES, "lin-2", node("linux", &[]));
    cluster.put(NODES, "win-3", node("windows", &taint));
    cluster.put(NODES, "win-2", node("windows", &[]));
    let lines = server.log_until("no taint is learnt any more");
    assert_eq!(lines, [] as [String; 0]);
}

#[tokio::test]
async fn nothing_to_learn_from_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let config = write(&directory, "config.yaml", CONFIG);
    let server = Serve::start(&["--config", &config]);
    let readyz = async || {
        let mut stream = TcpStream::connect(server.admin_address).await.unwrap();
        exchange(&mut stream, &get("/readyz?verbose")).await.body
    };
    let told = readyz().await;
    let want =
        "[+]nodes ok, but: placement.learnTaints has nothing to learn from: nodes are not watched";
    assert!(told.contains(want), "{told}");
    std::fs::write(&config, "apiVersion: transom.dev/v1alpha1\nkind: Config\n").unwrap();
    server.wait_for_log("the configuration has changed and is in force");
    let began = Instant::now();
    while readyz().await.contains("nodes") {
        assert!(began.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn write(directory: &TempDir, name: &str, text: &str) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Two Windows nodes without a taint, a Linux node, and a RuntimeClass for each OS.
fn cluster() -> ApiServer {
    let cluster = ApiServer::new();
    cluster.put(NODES, "win-1", node("windows", &[]));
    cluster.put(NODES, "win-2", node("windows", &[]));
    cluster.put(NODES, "lin-1", node("linux", &["os=linux:NoSchedule"]));
    cluster.put(RUNTIME_CLASSES, "win", class("windows"));
    cluster.put(RUNTIME_CLASSES, "lin", class("linux"));
    cluster
}

fn node(os: &str, taints: &[&str]) -> Value {
    let taints = taints.iter().map(|taint| {
        let (name, effect) = taint.rsplit_once(':').unwrap();
        let (key, value) = name.split_once('=').unwrap();
        json!({"key": key, "value": value, "effect": effect})
    });
    let taints: Vec<_> = taints.collect();
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"labels": {"kubernetes.io/os": os}},
        "spec": {"taints": taints}, "status": {"nodeInfo": {"operatingSystem": os}}})
}

fn class(os: &str) -> Value {
    json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {}, "handler": "a",
        "scheduling": {"nodeSelector": {"kubernetes.io/os": os}}})
}

/// What Windows cannot honour, without any evidence of it.
fn flawed(more: &Value) -> Value {
    let mut spec = json!({"securityContext": {"runAsUser": 1000}, "containers": [{"name": "a", "image": "a"}]});
    let spec_map = spec.as_object_mut().unwrap();
    spec_map.extend(more.as_object().unwrap().clone());
    spec
}

struct Webhook {
    cluster: ApiServer,
    state: Arc<WebhookState>,
    metrics: Arc<Metrics>,
    /// Its watches end with it.
    server: Server,
}

impl Webhook {
    async fn new(cluster: &ApiServer) -> Self {
        let metrics = Arc::new(Metrics::new());
        let policy = Policy::parse(CONFIG).unwrap();
        let state = Arc::new(WebhookState::new(policy, Arc::clone(&metrics)));
        let server = Server::bind(
            options(TlsSource::Later),
            Arc::clone(&state),
            Arc::clone(&metrics),
        )
        .await;
        let wishes = Wishes {
            runtime_classes: true,
            nodes: true,
            ..Wishes::default()
        };
        let server = cluster::join(server.unwrap(), wishes, cluster.client(), &state, &metrics);
        Self {
            cluster: cluster.clone(),
            state,
            metrics,
            server,
        }
    }

    /// One that has heard of everything.
    async fn watching(cluster: &ApiServer) -> Self {
        let webhook = Self::new(cluster).await;
        for part in ["nodes", "runtimeclasses"] {
            webhook.becomes(async || webhook.current(part) == 1).await;
        }
        webhook
    }

    async fn denies_template(&self, class: &str) -> bool {
        let template = json!({"spec": flawed(&json!({"runtimeClassName": class}))});
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"template": template}});
        !self.ask(Endpoint::Validate, "apps", object).await["allowed"]
            .as_bool()
            .unwrap()
    }

    async fn denies_on(&self, node: &str) -> bool {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
            "spec": flawed(&json!({"nodeName": node}))});
        !self.ask(Endpoint::Validate, "", object).await["allowed"]
            .as_bool()
            .unwrap()
    }

    /// The tolerations that a Windows pod is given.
    async fn tolerated(&self) -> Vec<String> {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {
            "nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [{"name": "a", "image": "a"}]}});
        let answer = self.ask(Endpoint::Mutate, "", object.clone()).await;
        let patch = base64::engine::general_purpose::STANDARD
            .decode(answer["patch"].as_str().unwrap())
            .unwrap();
        let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
        let mut object = object;
        json_patch::patch(&mut object, &patch).unwrap();
        let all = object["spec"]["tolerations"].as_array().unwrap().iter();
        all.map(|toleration| {
            let [key, value, effect] =
                ["key", "value", "effect"].map(|field| toleration[field].as_str().unwrap());
            format!("{key}={value}:{effect}")
        })
        .collect()
    }

    async fn ask(&self, endpoint: Endpoint, group: &str, object: Value) -> Value {
        let kind = object["kind"].as_str().unwrap().to_owned();
        let resource = format!("{}s", kind.to_lowercase());
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "1", "operation": "CREATE", "namespace": "shop",
                "kind": {"group": group, "version": "v1", "kind": kind},
                "resource": {"group": group, "version": "v1", "resource": resource},
                "userInfo": {"username": "somebody"},
                "object": object,
            },
        });
        let body = review.to_string();
        let deadline = (Instant::now() + PATIENCE).into();
        let answer = webhook::answer(endpoint, body.as_bytes(), deadline, &self.state).await;
        let answer = answer.into_body().collect().await.unwrap().to_bytes();
        let mut answer: Value = serde_json::from_slice(&answer).unwrap();
        answer["response"].take()
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

    fn learnt(&self) -> u64 {
        self.metric("transom_learnt_tolerations ")
    }

    fn current(&self, part: &str) -> u64 {
        self.metric(&format!("transom_facts_current{{facts=\"{part}\"}} "))
    }

    fn metric(&self, name: &str) -> u64 {
        let text = self.metrics.render();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().parse().unwrap()
    }
}
