//! What the conditions of the webhooks cost the API server: CPU time of its process, of which the
//! tests are the only client.
//!
//! The same requests go to a namespace that the webhooks see and to one that they do not. The
//! difference is what an installation adds: the conditions, and the calls of those that match.
//! `CONDITIONS=full` takes larger objects, and a long time.
#![allow(clippy::needless_pass_by_value)] // Most objects are made where they are passed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use transom::os::Condition;
use transom::policy::Policy;

use crate::cluster::{Cluster, namespace};
use crate::common::merge;
use crate::eventually;
use crate::http::Connection;
use crate::proc::cpu_nanoseconds;
use crate::webhook::Webhook;

tests![bounds_what_conditions_cost_the_api_server];

/// With webhooks, at most so many times what the same request costs without them is added.
const MOST: f64 = 10.0;
/// Twice the list adds at most so many times as much.
const GROWTH: f64 = 2.5;
/// What adds less than so many times the request is lost in the variance of both.
const NOTICEABLE: f64 = 2.0;

/// How much is measured.
struct Effort {
    /// The size of the larger object.
    bytes: usize,
    /// How many requests are summed up.
    requests: usize,
    /// Of how many sums the median is taken.
    sums: usize,
}

const SHORT: Effort = Effort {
    bytes: 32 << 10,
    requests: 4,
    sums: 3,
};

const FULL: Effort = Effort {
    bytes: 256 << 10,
    requests: 20,
    sums: 5,
};

/// An API server of its own, with both webhooks registered for one of two namespaces.
struct Bench<'a> {
    cluster: &'a Cluster,
    calls: Arc<AtomicUsize>,
    effort: Effort,
    _webhook: Webhook,
}

const SEEN: &str = "/api/v1/namespaces/seen/pods?dryRun=All";
const UNSEEN: &str = "/api/v1/namespaces/unseen/pods?dryRun=All";

fn bounds_what_conditions_cost_the_api_server(cluster: &Cluster) {
    // Without controllers there are no ServiceAccounts.
    let flags = ["--disable-admission-plugins=ServiceAccount"];
    let cluster = Cluster::api_server_alone(cluster.assets(), &flags);
    let effort = match std::env::var_os("CONDITIONS") {
        Some(_) => FULL,
        None => SHORT,
    };
    let bench = Bench::new(&cluster, effort);
    let mut failures = Vec::new();
    println!("| | kB | without | added | of it | twice the list |\n|---|---|---|---|---|---|");
    for (name, pod) in lists() {
        bench.measure_list(name, pod, &mut failures);
    }
    for (name, pod) in largest() {
        bench.measure_nesting(name, &pod, &mut failures);
    }
    for (name, pod) in too_large() {
        let calls = bench.calls.load(Ordering::Relaxed);
        let pod = [pod];
        bench.cluster.api().with(async |connection| {
            bench.send(connection, SEEN, &pod[0]).await;
        });
        let called = bench.calls.load(Ordering::Relaxed) - calls;
        assert_eq!(called, 2, "{name}: one entry more goes to both webhooks");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

impl<'a> Bench<'a> {
    fn new(cluster: &'a Cluster, effort: Effort) -> Self {
        cluster.add_loopback();
        for name in ["seen", "unseen"] {
            cluster.post("/api/v1/namespaces", &namespace(name, &json!({})));
        }
        let calls = Arc::new(AtomicUsize::new(0));
        let webhook = Webhook::start(cluster, {
            let calls = Arc::clone(&calls);
            move |_, _| {
                calls.fetch_add(1, Ordering::Relaxed);
                None
            }
        });
        let bench = Self {
            cluster,
            calls,
            effort,
            _webhook: webhook,
        };
        for kind in ["Mutating", "Validating"] {
            let configuration = json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": format!("{kind}WebhookConfiguration"),
                "metadata": {"name": "conditions"},
                "webhooks": [{
                    "name": "conditions.example.com",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                    "clientConfig": cluster.client_config(bench._webhook.port(), "/"),
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "seen"}},
                    "rules": [{
                        "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                        "resources": ["pods"],
                    }],
                    "matchConditions": [{
                        "name": "windows-evidence",
                        "expression": Policy::default().expression(Condition::Evidence),
                    }],
                }],
            });
            let resource = format!("{}webhookconfigurations", kind.to_lowercase());
            let path = format!("/apis/admissionregistration.k8s.io/v1/{resource}");
            cluster.post(&path, &configuration);
        }
        let windows = pod(json!({"os": {"name": "windows"}}));
        eventually("both webhooks are called", || {
            let before = bench.calls.load(Ordering::Relaxed);
            let answer = cluster.api().ask(Method::POST, SEEN, Some(&windows));
            assert_eq!(answer.unwrap().0, 201);
            (bench.calls.load(Ordering::Relaxed) == before + 2).then_some(())
        });
        bench
    }

    /// A list that is longer than what the conditions visit, and one that is twice as long.
    fn measure_list(&self, name: &str, pod: OfSize, failures: &mut Vec<String>) {
        let length = |count| pod(count).to_string().len();
        let per_entry = (length(2_000) - length(1_000)) as f64 / 1_000.0;
        let count = (self.effort.bytes as f64 / per_entry) as usize;
        let [half, whole] = [count / 2, count].map(pod);
        let [base_half, base, with_half, with] = self.medians([
            (UNSEEN, &half),
            (UNSEEN, &whole),
            (SEEN, &half),
            (SEEN, &whole),
        ]);
        let (added_half, added) = (with_half - base_half, with - base);
        let ratio = added / base;
        let growth = added / added_half;
        println!(
            "| {name} | {} | {:.2} ms | {:.2} ms | {ratio:.1} | {growth:.1} |",
            whole.to_string().len() / 1000,
            base,
            added
        );
        if ratio > MOST || (ratio > NOTICEABLE && growth > GROWTH) {
            failures.push(format!(
                "{name}: {ratio:.1} times the request, {growth:.1} times for twice the list"
            ));
        }
    }

    /// An object that no guard sends to the webhooks.
    fn measure_nesting(&self, name: &str, pod: &Value, failures: &mut Vec<String>) {
        let calls = self.calls.load(Ordering::Relaxed);
        let [base, with] = self.medians([(UNSEEN, pod), (SEEN, pod)]);
        let called = self.calls.load(Ordering::Relaxed) - calls;
        assert_eq!(called, 0, "{name}: everything in it is visited");
        let ratio = (with - base) / base;
        println!(
            "| {name} | {} | {base:.2} ms | {:.2} ms | {ratio:.1} | |",
            pod.to_string().len() / 1000,
            with - base
        );
        if ratio > MOST {
            failures.push(format!("{name}: {ratio:.1} times the request"));
        }
    }

    /// The median CPU time in milliseconds of a request of each kind.
    fn medians<const N: usize>(&self, requests: [(&str, &Value); N]) -> [f64; N] {
        self.cluster.api().with(async |connection| {
            let mut all = [(); N].map(|()| Vec::new());
            for (path, pod) in requests {
                self.send(connection, path, pod).await;
            }
            for _ in 0..self.effort.sums {
                for ((path, pod), sums) in requests.iter().zip(&mut all) {
                    let before = cpu_nanoseconds(self.cluster.api_server());
                    for _ in 0..self.effort.requests {
                        self.send(connection, path, pod).await;
                    }
                    let after = cpu_nanoseconds(self.cluster.api_server());
                    let spent = Duration::from_nanos(after - before);
                    sums.push(spent.as_secs_f64() * 1e3 / self.effort.requests as f64);
                }
            }
            all.map(|mut sums| {
                sums.sort_by(f64::total_cmp);
                sums[sums.len() / 2]
            })
        })
    }

    /// Some of the objects are not valid, which their own errors say. No condition may fail.
    async fn send(&self, connection: &mut Connection, path: &str, pod: &Value) {
        let answer = connection.send(Method::POST, path, Some(pod)).await;
        let (status, body) = answer.unwrap();
        let body = String::from_utf8_lossy(&body);
        assert!(
            [201, 422].contains(&status),
            "{status}: {}",
            &body[..500.min(body.len())]
        );
        assert!(
            status == 201 || !body.contains("conditions.example.com"),
            "{body}"
        );
    }
}

fn pod(spec: Value) -> Value {
    let mut all = json!({"containers": [{"name": "a", "image": "a"}]});
    merge(&mut all, &spec);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": all})
}

fn container(fields: Value) -> Value {
    let mut container = json!({"name": "a", "image": "a"});
    merge(&mut container, &fields);
    pod(json!({"containers": [container]}))
}

fn many(count: usize, entry: impl Fn(usize) -> Value) -> Value {
    (0..count).map(entry).collect()
}

fn map(count: usize) -> Value {
    let entry = |i| (format!("k{i}"), json!("v"));
    Value::Object((0..count).map(entry).collect())
}

fn required(terms: Value) -> Value {
    pod(
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": terms}}}}),
    )
}

fn expression(i: usize) -> Value {
    json!({"key": format!("k{i}"), "operator": "In", "values": ["v"]})
}

fn term(expressions: usize) -> Value {
    json!({"matchExpressions": many(expressions, expression)})
}

fn preferred(terms: usize, expressions: usize) -> Value {
    many(
        terms,
        |_| json!({"weight": 1, "preference": term(expressions)}),
    )
}

fn side(count: usize) -> usize {
    (count as f64).sqrt() as usize
}

fn text(length: usize) -> String {
    "1:\\n .ex".repeat(length / 8)
}

fn named(i: usize) -> Value {
    json!({"name": format!("c{i}"), "image": "a"})
}

/// A pod with a list of so many entries, or a text of so many characters.
type OfSize = fn(usize) -> Value;

/// One for each list, map and text.
fn lists() -> Vec<(&'static str, OfSize)> {
    vec![
        ("arguments", |n| container(json!({"args": vec!["a"; n]}))),
        ("command", |n| container(json!({"command": vec!["a"; n]}))),
        ("containers", |n| pod(json!({"containers": many(n, named)}))),
        ("init containers", |n| {
            pod(json!({"initContainers": many(n, named)}))
        }),
        ("ephemeral containers", |n| {
            pod(json!({"ephemeralContainers": many(n, named)}))
        }),
        ("containers × arguments", |n| {
            let args = vec!["a"; side(n)];
            let container = |i| json!({"name": format!("c{i}"), "image": "a", "args": args});
            pod(json!({"containers": many(side(n), container)}))
        }),
        ("volume mounts", |n| {
            let mount = |i| json!({"name": "v", "mountPath": format!("/{i}")});
            container(json!({"volumeMounts": many(n, mount)}))
        }),
        ("volumes", |n| {
            let volume = |i| json!({"name": format!("v{i}"), "hostPath": {"path": "/a"}});
            pod(json!({"volumes": many(n, volume)}))
        }),
        ("tolerations", |n| {
            let toleration = |i| json!({"key": format!("k{i}"), "value": "v"});
            pod(json!({"tolerations": many(n, toleration)}))
        }),
        ("required terms", |n| required(many(n, |_| term(1)))),
        ("preferred terms", |n| {
            pod(json!({"affinity": {"nodeAffinity":
                {"preferredDuringSchedulingIgnoredDuringExecution": preferred(n, 1)}}}))
        }),
        ("expressions", |n| required(json!([term(n)]))),
        ("terms × expressions", |n| {
            required(many(side(n), |_| term(side(n))))
        }),
        ("values", |n| {
            let expression = json!({"key": "k", "operator": "In", "values": vec!["v"; n]});
            required(json!([{"matchExpressions": [expression]}]))
        }),
        ("node selector", |n| pod(json!({"nodeSelector": map(n)}))),
        ("labels", |n| {
            let mut pod = pod(json!({}));
            pod["metadata"]["labels"] = map(n);
            pod
        }),
        ("annotations", |n| {
            let mut pod = pod(json!({}));
            pod["metadata"]["annotations"] = map(n);
            pod
        }),
        ("an image's length", |n| {
            container(json!({"image": "a".repeat(n)}))
        }),
        ("an argument's length", |n| {
            container(json!({"args": [text(n)]}))
        }),
        ("a mount path's length", |n| {
            container(json!({"volumeMounts": [{"name": "v", "mountPath": text(n)}]}))
        }),
        ("a host path's length", |n| {
            pod(json!({"volumes": [{"name": "v", "hostPath": {"path": text(n)}}]}))
        }),
        ("a toleration's length", |n| {
            pod(json!({"tolerations": [{"key": "a", "value": "v".repeat(n)}]}))
        }),
        ("a node selector's length", |n| {
            pod(json!({"nodeSelector": {"kubernetes.io/os": "v".repeat(n)}}))
        }),
    ]
}

/// The most that conditions visit: entries of a list, and characters of texts.
const ENTRIES: usize = 50;
const SEARCHED: usize = 8_000;
const MATCHED: usize = 300;
const IMAGE: usize = 299;

/// Looks like the beginning of everything that the pattern knows, at every place.
fn image(length: usize) -> String {
    let mut image = ":wwindow-180".repeat(length.div_ceil(12));
    image.truncate(length);
    image
}

fn with_containers(entries: usize, fields: impl Fn() -> Value) -> Value {
    let container = |i| {
        let mut container = named(i);
        merge(&mut container, &fields());
        container
    };
    json!({"containers": many(entries, container)})
}

fn mounts(entries: usize) -> Value {
    many(
        entries,
        |i| json!({"name": "v0", "mountPath": format!("/{i}")}),
    )
}

fn volumes(entries: usize) -> Value {
    many(
        entries,
        |i| json!({"name": format!("v{i}"), "hostPath": {"path": "/a:\\n"}}),
    )
}

fn affinity(terms: usize, expressions: usize) -> Value {
    json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": many(terms, |_| term(expressions))},
        "preferredDuringSchedulingIgnoredDuringExecution": preferred(terms, expressions),
    }})
}

/// The API server adds two of its own to each pod.
fn tolerations(entries: usize) -> Value {
    let entries = entries - 2;
    many(entries, |i| json!({"key": format!("k{i}"), "value": "v"}))
}

/// What of everything passes all guards.
fn largest() -> Vec<(&'static str, Value)> {
    let mut matched = "1:\\n .exe ".repeat(MATCHED / 10);
    matched.truncate(MATCHED);
    let searched = ".".repeat(SEARCHED);
    // Mounts are joined with the arguments, so a container has one or the other.
    let everything = |container: &dyn Fn() -> Value| {
        let mut all = with_containers(ENTRIES, container);
        merge(
            &mut all,
            &json!({
                "affinity": affinity(ENTRIES, ENTRIES),
                "tolerations": tolerations(ENTRIES),
                "volumes": volumes(ENTRIES),
            }),
        );
        pod(all)
    };
    vec![
        (
            "images",
            pod(with_containers(ENTRIES, || json!({"image": image(IMAGE)}))),
        ),
        (
            "texts that are searched",
            pod(with_containers(ENTRIES, || json!({"args": [searched]}))),
        ),
        (
            "texts that are matched",
            pod(with_containers(ENTRIES, || json!({"args": [matched]}))),
        ),
        (
            "short texts",
            pod(with_containers(
                ENTRIES,
                || json!({"args": vec!["a"; 1_000]}),
            )),
        ),
        (
            "affinity",
            pod(json!({"affinity": affinity(ENTRIES, ENTRIES)})),
        ),
        ("mounts", {
            let mut pod = pod(with_containers(
                ENTRIES,
                || json!({"volumeMounts": mounts(ENTRIES)}),
            ));
            pod["spec"]["volumes"] = volumes(1);
            pod
        }),
        (
            "everything, with mounts",
            everything(&|| json!({"image": image(IMAGE), "volumeMounts": mounts(ENTRIES)})),
        ),
        (
            "everything, with texts that are searched",
            everything(&|| json!({"image": image(IMAGE), "args": [searched]})),
        ),
        (
            "everything, with texts that are matched",
            everything(&|| json!({"image": image(IMAGE), "args": [matched]})),
        ),
    ]
}

/// One more than passes, of each of them.
fn too_large() -> Vec<(&'static str, Value)> {
    let more = ENTRIES + 1;
    let mut split = with_containers(ENTRIES, || json!({}));
    split["initContainers"] = json!([named(ENTRIES)]);
    vec![
        ("containers", pod(with_containers(more, || json!({})))),
        ("containers of two lists", pod(split)),
        ("images", container(json!({"image": "a".repeat(IMAGE + 1)}))),
        ("texts", container(json!({"args": vec!["a"; 1_001]}))),
        (
            "searched",
            container(json!({"args": ["a".repeat(SEARCHED + 1)]})),
        ),
        (
            "matched",
            container(json!({"args": [format!("{}:\\n", "a".repeat(MATCHED))]})),
        ),
        ("mounts", {
            let mut pod = container(json!({"volumeMounts": mounts(more)}));
            pod["spec"]["volumes"] = volumes(1);
            pod
        }),
        ("volumes", pod(json!({"volumes": volumes(more)}))),
        ("terms", required(many(more, |_| term(1)))),
        ("expressions", required(json!([term(more)]))),
        (
            "tolerations",
            pod(json!({"tolerations": tolerations(more)})),
        ),
    ]
}
