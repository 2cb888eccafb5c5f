//! `transom scan`, run as a user runs it, against an API server in process: what is planted is found, once, whatever
//! the API server does.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::collections::BTreeSet;
use std::process::Output;

use axum::http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

#[path = "support/apiserver.rs"]
mod apiserver;
#[path = "support/ports.rs"]
mod ports;
#[path = "support/program.rs"]
mod program;
use apiserver::{ApiServer, Expiry, NAMESPACES};
use ports::Port;

const PODS: &str = "/api/v1/pods";
const DAEMON_SETS: &str = "/apis/apps/v1/daemonsets";
const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";
const SERVICES: &str = "/api/v1/services";
const REPLICA_SETS: &str = "/apis/apps/v1/replicasets";
const NODES: &str = "/api/v1/nodes";
const RUNTIME_CLASSES: &str = "/apis/node.k8s.io/v1/runtimeclasses";

/// A cluster, and the program beside it.
struct Cluster {
    server: ApiServer,
    place: TempDir,
}

impl Cluster {
    async fn start() -> Self {
        let server = ApiServer::new();
        let url = server.listen().await;
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join(".git")).unwrap();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [
                {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "shop"}},
                {"name": "there", "context": {"cluster": "c", "user": "u", "namespace": "back"}},
            ],
        });
        std::fs::write(place.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
        let cluster = Self { server, place };
        for name in ["shop", "back"] {
            cluster
                .server
                .put(NAMESPACES, name, json!({"metadata": {}}));
        }
        cluster
    }

    async fn scan(&self, args: &[&str]) -> Scanned {
        let mut command = program::transom(self.place.path());
        command
            .args(["scan", "--kubeconfig", "kubeconfig"])
            .args(args);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        Scanned(output.await.unwrap())
    }

    /// A Deployment with its ReplicaSet and pods, as controllers make them. `change` changes the spec of one pod.
    fn deployment(
        &self,
        name: &str,
        spec: &Value,
        pods: usize,
        change: impl Fn(usize, &mut Value),
    ) {
        let template = json!({"metadata": {"labels": {"app": name}}, "spec": spec});
        let object = |owner: Option<(&str, String)>, spec: Value, uid: String| {
            let mut object = json!({"metadata": {"uid": uid}, "spec": spec});
            if let Some((kind, uid)) = owner {
                object["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": kind, "uid": uid, "controller": true}]);
            }
            object
        };
        let [own, set] = ["deployment", "set"].map(|what| format!("{what}-{name}"));
        let spec_of = || json!({"template": template});
        self.server.put_in(
            DEPLOYMENTS,
            "shop",
            name,
            object(None, spec_of(), own.clone()),
        );
        let made = object(Some(("Deployment", own)), spec_of(), set.clone());
        self.server
            .put_in(REPLICA_SETS, "shop", &format!("{name}-1"), made);
        for i in 0..pods {
            let mut spec = spec.clone();
            change(i, &mut spec);
            let owner = Some(("ReplicaSet", set.clone()));
            let pod = object(owner, spec, format!("pod-{name}-{i}"));
            self.server
                .put_in(PODS, "shop", &format!("{name}-1-{i}"), pod);
        }
    }

    fn pod(&self, namespace: &str, name: &str, spec: &Value) {
        let pod = json!({"metadata": {"uid": format!("pod-{name}")}, "spec": spec});
        self.server.put_in(PODS, namespace, name, pod);
    }
}

struct Scanned(Output);

impl Scanned {
    fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    fn stderr(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.0.stdout).unwrap_or_else(|_| panic!("{}", self.stderr()))
    }

    /// `severity CODE Kind namespace/name pods` of each finding.
    fn found(&self) -> Vec<String> {
        let report = self.json();
        let findings = report["findings"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let line = |f: &Value| {
            let object = &f["object"];
            let [severity, code] = [&f["severity"], &f["code"]].map(text);
            let [kind, namespace, name] =
                [&object["kind"], &object["namespace"], &object["name"]].map(text);
            let pods = &f["pods"];
            format!("{severity} {code} {kind} {namespace}/{name} {pods}")
        };
        findings.map(line).collect()
    }
}

/// A pod for Windows that runs as this user, unless that is 0.
fn windows(user: usize) -> Value {
    let mut spec = json!({
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "containers": [{"name": "main", "image": "app"}],
    });
    if user > 0 {
        spec["securityContext"] = json!({"runAsUser": user});
    }
    spec
}

fn same(_: usize, _: &mut Value) {}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_is_for_the_pods_that_it_selects() {
    let cluster = Cluster::start().await;
    let linux = json!({
        "nodeSelector": {"kubernetes.io/os": "linux"}, "containers": [{"name": "main", "image": "app"}],
    });
    for (namespace, app, spec) in [
        ("shop", "web", &windows(0)),
        ("shop", "proxy", &linux),
        ("back", "proxy", &windows(0)),
    ] {
        let pod = |hash: &str| json!({"metadata": {"uid": format!("{app}-{hash}"), "labels": {"app": app, "hash": hash}}, "spec": spec});
        for hash in ["a", "b"] {
            let name = format!("{app}-{hash}");
            cluster.server.put_in(PODS, namespace, &name, pod(hash));
        }
    }
    for (namespace, name, selector) in [
        ("shop", "web", json!({"app": "web"})),
        ("shop", "narrow", json!({"app": "web", "hash": "b"})),
        ("shop", "none", json!({"app": "web", "hash": "c"})),
        ("shop", "proxy", json!({"app": "proxy"})),
        ("back", "proxy", json!({"app": "proxy"})),
        ("back", "web", json!({"app": "web"})),
        ("back", "by-hand", Value::Null),
    ] {
        let service = json!({
            "metadata": {"uid": format!("service-{name}")},
            "spec": {"selector": selector, "externalTrafficPolicy": "Local"},
        });
        cluster.server.put_in(SERVICES, namespace, name, service);
    }
    let config = "apiVersion: transom.dev/v1alpha1\nkind: Config\nrules: {WIN702: deny}\n";
    std::fs::write(cluster.place.path().join("config.yaml"), config).unwrap();
    let args = ["-A", "-o", "json", "--config", "config.yaml"];
    let found = cluster.scan(&args).await.found();
    let want = [("back", "proxy"), ("shop", "narrow"), ("shop", "web")];
    let want = want.map(|(namespace, name)| format!("deny WIN702 Service {namespace}/{name} 0"));
    assert_eq!(found, want);
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_count_for_the_workload_that_made_them() {
    let cluster = Cluster::start().await;
    cluster.deployment("web", &windows(1000), 3, same);
    cluster.deployment("sound", &windows(0), 2, same);
    // A webhook of somebody else has been at this pod, and at that of another Deployment.
    cluster.deployment("changed", &windows(0), 3, |i, spec| {
        if i > 0 {
            spec["securityContext"] = json!({"fsGroup": 2000});
        }
    });
    cluster.pod("back", "bare", &windows(7));
    let mut finished =
        json!({"metadata": {"uid": "f"}, "spec": windows(8), "status": {"phase": "Failed"}});
    cluster
        .server
        .put_in(PODS, "back", "ended", finished.clone());
    finished["status"]["phase"] = "Succeeded".into();
    cluster.server.put_in(PODS, "back", "done", finished);
    // Nobody knows what a Rollout is, so its pods are told, the flaw that they share once.
    let owner =
        json!([{"apiVersion": "x.example/v1", "kind": "Rollout", "uid": "r", "controller": true}]);
    for i in 0..4 {
        let metadata = json!({"uid": format!("roll-{i}"), "ownerReferences": owner});
        let pod = json!({"metadata": metadata, "spec": windows(9)});
        cluster
            .server
            .put_in(PODS, "shop", &format!("roll-{i}"), pod);
    }

    let scanned = cluster.scan(&["-A", "-o", "json"]).await;
    assert_eq!(
        scanned.found(),
        [
            "deny WIN101 Pod back/bare null",
            "deny WIN101 Deployment shop/web 3",
            "deny WIN106 Pod shop/changed-1-1 2",
            "deny WIN101 Pod shop/roll-0 4",
        ]
    );
    assert_eq!(scanned.code(), 1);
    let summary = &scanned.json()["summary"];
    assert_eq!(summary["owned"], json!({"Pod": 8, "ReplicaSet": 3}));
    assert_eq!(summary["finished"], 2);
    assert_eq!(summary["byNamespace"]["shop"]["refused"], 3);
    assert_eq!(summary["byRule"]["WIN101"]["objects"], 3);
    assert_eq!(summary["files"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_is_gone_hides_nothing() {
    let cluster = Cluster::start().await;
    cluster.deployment("web", &windows(1000), 2, same);
    cluster.server.delete(DEPLOYMENTS, "shop/web");
    let scanned = cluster.scan(&["-A", "-o", "json"]).await;
    assert_eq!(scanned.found(), ["deny WIN101 ReplicaSet shop/web-1 2"]);
}

/// 1,234 pods in three pages, some of them planted; whatever happens between the pages, each is seen once.
#[tokio::test(flavor = "multi_thread")]
async fn lists_that_expire_go_on() {
    let cluster = Cluster::start().await;
    let mut planted = BTreeSet::new();
    for i in 0..1234 {
        let is_planted = i % 100 == 99 || (498..502).contains(&i);
        let namespace = if i % 2 == 0 { "shop" } else { "shop-2" };
        let name = format!("pod-{i:04}");
        cluster.pod(namespace, &name, &windows(if is_planted { 1 } else { 0 }));
        if is_planted {
            planted.insert(format!("deny WIN101 Pod {namespace}/{name} null"));
        }
    }
    let pages = |cluster: &Cluster| {
        let requests = cluster.server.requests();
        requests
            .iter()
            .filter(|r| r.as_str() == "GET /api/v1/pods")
            .count()
    };
    use Expiry::{GoOn, StartAgain};
    let mut before = 0;
    for (expiries, requests) in [
        (&[][..], 3),
        (&[GoOn], 4),
        (&[GoOn, GoOn], 5),
        // The first page comes twice, and then the second one twice.
        (&[StartAgain], 5),
        (&[GoOn, StartAgain], 6),
    ] {
        cluster.server.expire(expiries);
        let scanned = cluster.scan(&["-A", "-o", "json"]).await;
        let found = scanned.found();
        assert_eq!(found.len(), planted.len(), "{}", scanned.stderr());
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), planted);
        assert_eq!(scanned.json()["summary"]["judged"], 1234);
        assert_eq!(pages(&cluster) - before, requests);
        before = pages(&cluster);
    }
    // One that never gets any further is given up.
    cluster.server.expire(&[StartAgain; 20]);
    let scanned = cluster.scan(&["-A", "-o", "json"]).await;
    assert_eq!(scanned.code(), 2);
    assert_eq!(scanned.json()["summary"]["judged"], 500);
    let stderr = scanned.stderr();
    assert!(
        stderr.contains("Pod: error: cannot be listed: "),
        "{stderr}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_listed_is_told_and_the_rest_is_scanned() {
    let cluster = Cluster::start().await;
    cluster.deployment("web", &windows(1000), 2, same);
    cluster.server.forbid(Method::GET, "/apis/batch/v1/jobs");
    cluster.server.forbid(Method::GET, NODES);
    let scanned = cluster.scan(&["-A", "-o", "json"]).await;
    assert_eq!(scanned.found(), ["deny WIN101 Deployment shop/web 2"]);
    assert_eq!(scanned.code(), 2);
    let stderr = scanned.stderr();
    let told: Vec<_> = stderr.lines().collect();
    assert!(
        told[0].starts_with("Job: error: may not be listed"),
        "{stderr}"
    );
    assert!(
        told[0].contains("kubectl auth can-i list jobs.batch --all-namespaces"),
        "{stderr}"
    );
    assert_eq!(told.len(), 2, "{stderr}");
    let oddities = &scanned.json()["oddities"];
    assert_eq!(oddities[0]["subject"], "Node");
    assert_eq!(oddities[0]["file"], Value::Null);

    // Without Deployments, what they made stands for itself.
    cluster.server.allow_all();
    cluster.server.forbid(Method::GET, DEPLOYMENTS);
    let scanned = cluster.scan(&["-A", "-o", "json"]).await;
    assert_eq!(scanned.found(), ["deny WIN101 ReplicaSet shop/web-1 2"]);
    assert_eq!(scanned.code(), 2);

    // Facts are wanted, not needed.
    cluster.server.allow_all();
    cluster.server.forbid(Method::GET, NODES);
    let scanned = cluster.scan(&["-A", "--exit-zero"]).await;
    assert_eq!(scanned.code(), 0, "{}", scanned.stderr());
    assert!(
        scanned.stdout().contains("--> Node"),
        "{}",
        scanned.stdout()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_knows_more_than_the_object() {
    let cluster = Cluster::start().await;
    let flawed = |more: Value| {
        let mut spec = json!({"securityContext": {"runAsUser": 5}, "containers": [{"name": "a", "image": "app"}]});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        spec
    };
    let node = |os: &str| json!({"metadata": {"labels": {"kubernetes.io/os": os}}});
    cluster.server.put(NODES, "win", node("windows"));
    cluster.server.put(NODES, "lin", node("linux"));
    let scheduling = json!({"nodeSelector": {"kubernetes.io/os": "windows"}});
    let class = json!({"metadata": {}, "scheduling": scheduling});
    cluster.server.put(RUNTIME_CLASSES, "wcow", class);
    cluster.pod(
        "shop",
        "by-class",
        &flawed(json!({"runtimeClassName": "wcow"})),
    );
    cluster.pod("shop", "by-node", &flawed(json!({"nodeName": "win"})));
    cluster.pod("shop", "linux", &flawed(json!({"nodeName": "lin"})));
    cluster.pod("shop", "unknown", &flawed(json!({})));
    let mut misplaced = windows(0);
    misplaced["nodeName"] = "lin".into();
    cluster.pod("shop", "misplaced", &misplaced);
    cluster.pod("declared", "by-label", &flawed(json!({})));
    cluster.pod("audited", "told", &windows(6));
    cluster.pod("silent", "off", &windows(6));
    for (name, key, value) in [
        ("declared", "transom.dev/os", "windows"),
        ("audited", "transom.dev/mode", "audit"),
        ("silent", "transom.dev/mode", "off"),
    ] {
        let namespace = json!({"metadata": {"labels": {key: value}}});
        cluster.server.put(NAMESPACES, name, namespace);
    }

    let found = cluster.scan(&["-A", "-o", "json"]).await.found();
    let of = |name: &str| {
        let lines = found.iter().filter(|line| line.contains(name));
        lines
            .map(|line| line.split(" Pod").next().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("shop/by-class"), ["deny WIN101"]);
    assert_eq!(of("shop/by-node"), ["deny WIN101"]);
    assert_eq!(of("shop/misplaced"), [""; 0]);
    assert_eq!(of("declared/by-label"), ["deny WIN101"]);
    assert_eq!(of("audited/told"), ["warn WIN101"]);
    assert_eq!(found.len(), 4, "{found:#?}");

    let scanned = cluster.scan(&["-A", "--enforce", "-o", "json"]).await;
    let found = scanned.found();
    assert!(
        found.contains(&"deny WIN101 Pod audited/told null".to_owned()),
        "{found:#?}"
    );
    assert!(
        !found.iter().any(|line| line.contains("silent/")),
        "{found:#?}"
    );
    assert_eq!(scanned.json()["summary"]["exempt"], 1);
}

/// Two Linux nodes, and two Windows nodes with a taint.
fn mixed_nodes(cluster: &Cluster) {
    for name in ["lin1", "lin2", "win1", "win2"] {
        let (os, taints) = match name.starts_with("win") {
            true => (
                "windows",
                json!([{"key": "os", "value": "windows", "effect": "NoSchedule"}]),
            ),
            false => ("linux", json!([])),
        };
        let labels = json!({"kubernetes.io/os": os, "pool": name});
        let node = json!({"metadata": {"labels": labels}, "spec": {"taints": taints}});
        cluster.server.put(NODES, name, node);
    }
}

/// A node agent as most charts write it, which needs Linux.
fn node_exporter() -> Value {
    json!({
        "hostNetwork": true, "hostPID": true, "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "quay.io/prometheus/node-exporter:v1.10.2"}],
        "volumes": [{"name": "proc", "hostPath": {"path": "/proc"}}],
    })
}

impl Cluster {
    /// A DaemonSet, and its pods on these nodes as the controller makes them.
    fn daemon_set(&self, name: &str, spec: &Value, nodes: &[(&str, Value)]) {
        let uid = format!("daemon-set-{name}");
        let set = json!({"metadata": {"uid": uid}, "spec": {"template": {"spec": spec}}});
        self.server.put_in(DAEMON_SETS, "shop", name, set);
        for (node, state) in nodes {
            let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
            let terms = json!({"nodeSelectorTerms": [{"matchFields": [field]}]});
            let mut spec = spec.clone();
            spec["affinity"] =
                json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
            spec["nodeName"] = json!(node);
            let owner = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "uid": uid, "controller": true}]);
            let pod = json!({
                "metadata": {"uid": format!("{name}-{node}"), "ownerReferences": owner},
                "spec": spec, "status": {"containerStatuses": [{"state": state}]},
            });
            self.server
                .put_in(PODS, "shop", &format!("{name}-{node}"), pod);
        }
    }
}

fn running() -> Value {
    json!({"running": {"startedAt": "2026-11-22T00:00:00Z"}})
}

fn waiting(message: &str) -> Value {
    json!({"waiting": {"reason": "ErrImagePull", "message": message}})
}

/// `subject: message` of each oddity.
fn oddities(scanned: &Scanned) -> Vec<String> {
    let report = scanned.json();
    let all = report["oddities"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.map(|oddity| format!("{}: {}", text(&oddity["subject"]), text(&oddity["message"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_linux_daemon_sets_on_windows_nodes_as_misplaced() {
    let cluster = Cluster::start().await;
    mixed_nodes(&cluster);
    let nodes = ["lin1", "lin2", "win1", "win2"].map(|node| (node, running()));
    cluster.daemon_set("ne", &node_exporter(), &nodes);
    let want = [
        "DaemonSet shop/ne: Linux image on Windows nodes win1, win2; select kubernetes.io/os: linux in DaemonSet ne",
    ];
    let scanned = cluster.scan(&["-A", "-o", "json"]).await;
    assert_eq!(scanned.found(), [""; 0]);
    assert_eq!(oddities(&scanned), want);
    assert_eq!(scanned.json()["summary"]["misplaced"], 1);
    assert_eq!(scanned.code(), 0);
    let scanned = cluster.scan(&["-A", "--fail-on", "warn"]).await;
    assert_eq!(scanned.code(), 1);
    assert!(
        scanned.stderr().starts_with("1 misplaced; "),
        "{}",
        scanned.stderr()
    );
    for format in ["text", "concise", "markdown", "github", "sarif"] {
        let text = cluster.scan(&["-A", "-o", format]).await.stdout();
        assert!(
            text.contains("select kubernetes.io/os: linux in DaemonSet ne"),
            "{format}: {text}"
        );
        assert!(!text.contains("WIN2"), "{format}: {text}");
    }

    // The controller has made no pod yet, or pods may not be listed.
    cluster.server.forbid(Method::GET, PODS);
    let scanned = cluster.scan(&["-A", "-o", "json"]).await;
    assert_eq!(oddities(&scanned), want);
    cluster.server.allow_all();
    // Or DaemonSets may not be.
    cluster.server.forbid(Method::GET, DAEMON_SETS);
    let scanned = cluster.scan(&["-A", "-o", "json"]).await;
    assert_eq!(oddities(&scanned), want);
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_windows_pods_on_linux_nodes_as_misplaced() {
    let cluster = Cluster::start().await;
    mixed_nodes(&cluster);
    let image = json!({"containers": [{"name": "main", "image": "mcr.microsoft.com/windows/servercore:ltsc2022"}]});
    cluster.deployment("web", &image, 2, |i, spec| {
        spec["nodeName"] = json!(["lin1", "lin2"][i]);
    });
    // As kube-controller-manager names and labels them.
    for i in 0..2 {
        let mut pod = cluster
            .server
            .get(PODS, &format!("shop/web-1-{i}"))
            .unwrap();
        pod["metadata"]["labels"] = json!({"pod-template-hash": "1"});
        pod["metadata"]["ownerReferences"][0]["name"] = json!("web-1");
        cluster
            .server
            .put_in(PODS, "shop", &format!("web-1-{i}"), pod);
    }
    let mut bare = windows(1000);
    bare["nodeName"] = json!("lin1");
    cluster.pod("shop", "bare", &bare);
    let scanned = cluster.scan(&["-A", "-o", "json"]).await;
    // Its own flaw is reported all the same.
    assert_eq!(scanned.found(), ["deny WIN101 Pod shop/bare null"]);
    assert_eq!(
        oddities(&scanned),
        [
            "Deployment shop/web: Windows image on Linux nodes lin1, lin2; select kubernetes.io/os: windows in Deployment web",
            "Pod shop/bare: Windows image on Linux node lin1; remove spec.nodeName, which bypasses the node selector, from Pod bare",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_pods_whose_image_has_no_windows_platform_as_misplaced() {
    let cluster = Cluster::start().await;
    mixed_nodes(&cluster);
    let spec = |more: Value| {
        let mut spec =
            json!({"nodeName": "win1", "containers": [{"name": "main", "image": "app"}]});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        spec
    };
    let no_match = "failed to pull and unpack image \"docker.io/library/app:latest\": no match for platform in manifest: not found";
    let everything = json!({"tolerations": [{"operator": "Exists"}]});
    for (name, spec, state, is_misplaced) in [
        ("no-image", spec(json!({})), waiting(no_match), true),
        (
            "other-error",
            spec(json!({})),
            waiting("pull access denied"),
            false,
        ),
        (
            "pinned",
            spec(json!({"nodeSelector": {"pool": "win1"}})),
            waiting(no_match),
            false,
        ),
        (
            "tolerant",
            spec(everything.clone()),
            waiting("pull access denied"),
            true,
        ),
        ("runs", spec(everything.clone()), running(), false),
        (
            "crashes",
            spec(everything),
            json!({"terminated": {"reason": "Error", "exitCode": 1}}),
            false,
        ),
        (
            "host-network",
            spec(json!({"hostNetwork": true})),
            running(),
            true,
        ),
    ] {
        let metadata = json!({"uid": name});
        let status = json!({"containerStatuses": [{"state": state}]});
        let pod = json!({"metadata": metadata, "spec": spec, "status": status});
        cluster.server.put_in(PODS, "shop", name, pod);
        let scanned = cluster.scan(&["-A", "-o", "json"]).await;
        let want = match is_misplaced {
            true => vec![format!(
                "Pod shop/{name}: Linux image on Windows node win1; select kubernetes.io/os: linux in Pod {name}"
            )],
            false => Vec::new(),
        };
        assert_eq!(oddities(&scanned), want, "{name}");
        cluster.server.delete(PODS, &format!("shop/{name}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keeps_workloads_that_run_where_they_are_placed() {
    let cluster = Cluster::start().await;
    mixed_nodes(&cluster);
    let spec = |more: Value| {
        let mut spec = json!({"containers": [{"name": "main", "image": "agent"}]});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        spec
    };
    // One image for both systems.
    let both = spec(json!({"tolerations": [{"operator": "Exists"}]}));
    let nodes = ["lin1", "win1", "win2"].map(|node| (node, running()));
    cluster.daemon_set("both", &both, &nodes);
    // Windows nodes by a label of their own: the rules for Windows apply.
    let pool = spec(json!({
        "hostNetwork": true, "nodeSelector": {"pool": "win1"}, "tolerations": [{"operator": "Exists"}],
    }));
    cluster.daemon_set("pool", &pool, &[("win1", waiting("pull access denied"))]);
    let linux = spec(
        json!({"nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": [{"operator": "Exists"}]}),
    );
    cluster.daemon_set("linux", &linux, &[("lin1", running())]);
    // The taint keeps it away.
    cluster.daemon_set("tainted", &spec(json!({})), &[("lin1", running())]);
    let scanned = cluster.scan(&["-A", "-o", "json"]).await;
    assert_eq!(oddities(&scanned), [""; 0]);
    assert_eq!(scanned.found(), ["deny WIN201 Pod shop/pool-win1 1"]);
    assert_eq!(scanned.json()["summary"]["misplaced"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_namespace_is_that_of_the_context() {
    let cluster = Cluster::start().await;
    for namespace in ["shop", "back"] {
        let pod = json!({"metadata": {"name": "web", "namespace": namespace}, "spec": windows(1)});
        let collection = format!("/api/v1/namespaces/{namespace}/pods");
        cluster.server.put(&collection, "web", pod);
    }
    for (args, want) in [
        (&[][..], &["deny WIN101 Pod shop/web null"][..]),
        (&["--context", "there"], &["deny WIN101 Pod back/web null"]),
        (
            &["-n", "shop,back"],
            &[
                "deny WIN101 Pod back/web null",
                "deny WIN101 Pod shop/web null",
            ],
        ),
    ] {
        let args = [args, &["-o", "json"]].concat();
        assert_eq!(cluster.scan(&args).await.found(), want, "{args:?}");
    }
    let scanned = cluster.scan(&["-n", "shpo"]).await;
    assert_eq!(scanned.code(), 2);
    let text = scanned.stdout();
    assert!(
        text.contains("there is none of this name") && text.contains("Namespace in shpo"),
        "{text}"
    );
    let scanned = cluster.scan(&["--context", "nowhere"]).await;
    assert_eq!(scanned.code(), 2);
    assert!(scanned.stderr().contains("nowhere"), "{}", scanned.stderr());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_away_is_told_in_one_line() {
    let cluster = Cluster::start().await;
    let kubeconfig = cluster.place.path().join("kubeconfig");
    let text = std::fs::read_to_string(&kubeconfig).unwrap();
    let nobody = Port::take();
    let url = text
        .split("http://")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    std::fs::write(
        &kubeconfig,
        text.replace(url, &nobody.address().to_string()),
    )
    .unwrap();
    let scanned = cluster.scan(&["-A"]).await;
    assert_eq!(scanned.code(), 2);
    assert_eq!(scanned.stdout(), "");
    let stderr = scanned.stderr();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(
        stderr.contains("the API server cannot be reached"),
        "{stderr}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_format_names_the_object() {
    let cluster = Cluster::start().await;
    cluster.deployment("web", &windows(1000), 3, same);
    let told = async |format: &str| cluster.scan(&["-A", "-o", format]).await.stdout();
    let path = "spec.template.spec.securityContext.runAsUser";

    let text = told("text").await;
    for part in [
        "--> Deployment shop/web",
        path,
        "it is in 3 live pods",
        "NAMESPACE",
        "REFUSED",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let concise = told("concise").await;
    assert!(
        concise.starts_with("Deployment shop/web: deny WIN101 "),
        "{concise}"
    );
    assert_eq!(concise.lines().count(), 1);
    let github = told("github").await;
    assert!(
        github.starts_with("::error title=WIN101 run-as-user::Deployment shop/web: "),
        "{github}"
    );
    let markdown = told("markdown").await;
    for part in [
        "### `Deployment shop/web`",
        "| `shop` | 1 | 1 | 1 | 0 | 0 |",
        path,
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    let json: Value = serde_json::from_str(&told("json").await).unwrap();
    let finding = &json["findings"][0];
    assert_eq!(
        finding["object"],
        json!({"kind": "Deployment", "namespace": "shop", "name": "web"})
    );
    for place in ["file", "line", "column", "endLine", "endColumn"] {
        assert!(finding.get(place).unwrap().is_null(), "{place}");
    }
    let sarif: Value = serde_json::from_str(&told("sarif").await).unwrap();
    let location = &sarif["runs"][0]["results"][0]["locations"][0];
    assert_eq!(
        *location,
        json!({"logicalLocations": [
            {"fullyQualifiedName": "Deployment shop/web", "kind": "resource"},
            {"fullyQualifiedName": path, "kind": "member"},
        ]})
    );
}

const HOSTILE: &str =
    "\u{1b}]0;owned\u{7}\u{1b}[2J\n::stop-commands::x ##[add-mask]y \u{9b}31m\u{202e}";

/// Whether a terminal or GitHub Actions obeys something in it.
fn is_obeyed(text: &str) -> bool {
    let ours = ["::error title=", "::warning title="];
    let is_command = |line: &str| {
        let line = line.trim_start();
        let is_ours = ours.iter().any(|ours| line.starts_with(ours));
        let is_start = line.starts_with("::") && !line.starts_with(":::");
        !is_ours && (is_start || line.contains("##["))
    };
    let is_control = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    text.contains(is_control) || text.lines().any(is_command)
}

#[tokio::test(flavor = "multi_thread")]
async fn escapes_what_objects_say() {
    let cluster = Cluster::start().await;
    let spec = json!({
        "nodeSelector": {"kubernetes.io/os": "windows", HOSTILE: HOSTILE},
        "hostNetwork": true,
        "containers": [{"name": HOSTILE, "image": HOSTILE, "command": [HOSTILE],
            "securityContext": {"capabilities": {"add": [HOSTILE]}, "privileged": true}}],
    });
    cluster.pod("shop", HOSTILE, &spec);
    for format in ["text", "concise", "json", "sarif", "github", "markdown"] {
        let got = cluster.scan(&["-A", "-o", format, "--verbose"]).await;
        assert_eq!(got.code(), 1, "{}", got.stderr());
        let (out, err) = (got.stdout(), got.stderr());
        assert!(out.contains("stop-commands"), "{format}: {out}");
        // JSON has the characters, escaped.
        let is_data = ["json", "sarif"].contains(&format);
        let is_bad = is_obeyed(&out.replace('\u{202e}', if is_data { "" } else { "\u{202e}" }));
        assert!(!is_bad && !is_obeyed(&err), "{format}: {out:?} {err:?}");
    }
}

/// `scan` and `doctor`, whatever the API server says is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn escapes_and_bounds_errors_of_the_api_server() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let codes = [401, 500].into_iter().cycle();
        for code in codes {
            let Ok((mut stream, _)) = listener.accept().await else {
                return;
            };
            let message = HOSTILE.repeat(10_000);
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": HOSTILE, "message": message});
            let body = status.to_string();
            let answer = format!(
                "HTTP/1.1 {code} No\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.read(&mut [0; 1 << 14]).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let cluster = Cluster::start().await;
    let kubeconfig = cluster.place.path().join("kubeconfig");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&kubeconfig).unwrap()).unwrap();
    config["clusters"][0]["cluster"]["server"] = json!(url);
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    for command in ["scan", "doctor", "scan", "doctor"] {
        let mut program = program::transom(cluster.place.path());
        program.args([command, "--kubeconfig", "kubeconfig"]);
        let output = tokio::task::spawn_blocking(move || program.output().unwrap());
        let Scanned(output) = Scanned(output.await.unwrap());
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        assert!(output.status.code() >= Some(1), "{command}: {text}");
        assert!(text.contains("stop-commands"), "{command}: {text}");
        assert!(!is_obeyed(&text), "{command}: {text:?}");
        assert!(text.len() < 40_000, "{command}: {}", text.len());
    }
}
