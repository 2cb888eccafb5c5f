//! The API server's own validation of Windows pods is the judge of ours: generated pods that say os=windows are
//! created in dry runs where no webhook is, and what it refuses is what we deny.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::Method;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;

use crate::cluster::Cluster;
use crate::common::{Answer, ask_with, bytes, create, review_of};
use crate::http::Connection;

mod pods;

tests![
    of_windows_pods_what_the_api_server_refuses_is_what_we_deny,
    an_ephemeral_container_that_we_repaired_is_accepted,
];

const PODS: usize = 10_000;
const EPHEMERAL: usize = 1_000;
/// How often the API server must have refused each field of each list of containers.
const HITS: usize = 50;

/// A finding of the field at this path is told in these words.
const REFUSALS: [&str; 2] = [
    "cannot be set for a windows pod",
    "may not be set for a windows pod",
];

fn generate<S: Strategy>(strategy: &S, number: usize) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    let one = |_| strategy.new_tree(&mut runner).unwrap().current();
    (0..number).map(one).collect()
}

fn of_windows_pods_what_the_api_server_refuses_is_what_we_deny(cluster: &Cluster) {
    let namespace = cluster.namespace("oracle", &[]);
    let path = format!("/api/v1/namespaces/{}/pods?dryRun=All", namespace.name());
    let as_written = Policy::parse(
        "{apiVersion: transom.dev/v1alpha1, kind: Config, placement: {repair: false}}",
    )
    .unwrap();
    let repairing = Policy::default();
    let unknown = unknown_fields(cluster, &path);
    println!("fields that this API server does not store: {unknown:?}");
    let mut pods = generate(&pods::pod(), PODS);
    pods.iter_mut().for_each(|pod| pods::remove(pod, &unknown));
    let tally = Mutex::new(Tally::default());
    cluster.api().for_each(&pods, async |connection, pod| {
        let (status, answer) = post(connection, &path, pod).await;
        let refused = refused(&answer);
        let [mutated, validated] = both(pod, &as_written);
        let mut differences = Vec::new();
        for (webhook, ours) in [("/mutate", &mutated), ("/validate", &validated)] {
            if denied(ours) != refused {
                let ours = denied(ours);
                differences.push(format!("{webhook} {ours:?}, API server {refused:?}: {pod}"));
            }
        }

        let [mutated, validated] = both(pod, &repairing);
        let let_through = mutated.allowed && validated.allowed;
        if let_through {
            let patched = mutated.patched(pod);
            // What may not be created at all is for the other test.
            if patched["spec"]["ephemeralContainers"].is_null() {
                let (status, answer) = post(connection, &path, &patched).await;
                if status != 201 {
                    differences.push(format!("patched {patched}: {answer}"));
                }
            }
        } else if refused.is_empty() {
            differences.push(format!("denied with repairs on: {pod}"));
        }
        let mut tally = tally.lock().unwrap();
        tally.refused += usize::from(!refused.is_empty());
        tally.accepted += usize::from(status == 201);
        tally.repaired += usize::from(let_through && !refused.is_empty());
        for level in refused
            .iter()
            .map(|path| without_index(path))
            .collect::<BTreeSet<_>>()
        {
            *tally.hits.entry(level).or_default() += 1;
        }
        tally.differences.extend(differences);
    });
    let tally = tally.into_inner().unwrap();
    println!("{} pods: {tally}", pods.len());
    assert_eq!(tally.differences, Vec::<String>::new());
    assert!(tally.repaired > 500 && tally.accepted > 500);
    for field in pods::refused_fields() {
        if unknown.contains(&field) {
            continue;
        }
        let hits = tally.hits.get(&field).copied().unwrap_or(0);
        assert!(hits >= HITS, "{field} was refused {hits} times");
    }
}

/// The fields that API servers of older versions drop, or new ones behind a feature gate that is off.
fn unknown_fields(cluster: &Cluster, path: &str) -> BTreeSet<String> {
    /// From here on every field is stored.
    const NEW: u32 = 36;
    let mut unknown = BTreeSet::new();
    for (field, pods) in pods::samples() {
        let answers = pods.iter().map(|pod| {
            let answer = cluster.api().ask(Method::POST, path, Some(pod));
            json_of(answer)
        });
        let accepted: Vec<_> = answers.filter(|(status, _)| *status == 201).collect();
        if !accepted.is_empty() && !accepted.iter().any(|(_, pod)| pods::has(pod, &field)) {
            unknown.insert(field);
        }
    }
    let (_, version) = cluster.api().ask(Method::GET, "/version", None).unwrap();
    let version: Value = serde_json::from_slice(&version).unwrap();
    let minor: u32 = version["minor"].as_str().unwrap().parse().unwrap();
    assert!(
        unknown.is_empty() || minor < NEW,
        "{unknown:?} in {version}"
    );
    unknown
}

fn an_ephemeral_container_that_we_repaired_is_accepted(cluster: &Cluster) {
    let namespace = cluster.namespace("oracle-ephemeral", &[]);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "debugged"},
        "spec": {"os": {"name": "windows"}, "containers": [{"name": "a", "image": "a"}]},
    });
    namespace.create(&pod.to_string());
    let old = namespace.get(&["pod", "debugged"]);
    let pods: Vec<_> = generate(&pods::container("ephemeral"), EPHEMERAL)
        .into_iter()
        .map(|container| {
            let mut pod = old.clone();
            pod["metadata"]["resourceVersion"] = Value::Null;
            pod["spec"]["ephemeralContainers"] = json!([container]);
            pod
        })
        .collect();
    let path = format!(
        "/api/v1/namespaces/{}/pods/debugged/ephemeralcontainers?dryRun=All",
        namespace.name()
    );
    let repaired = AtomicUsize::new(0);
    cluster.api().for_each(&pods, async |connection, pod| {
        let mut review = review_of(pod, "UPDATE", Some(&old));
        review["request"]["subResource"] = json!("ephemeralcontainers");
        let mutated = ask_with(
            Endpoint::Mutate,
            &bytes(&review),
            &Policy::default(),
            &Facts::default(),
        );
        assert!(mutated.allowed, "{} {pod}", mutated.message());
        let patched = mutated.patched(pod);
        let (status, answer) = put(connection, &path, &patched).await;
        assert_eq!(status, 200, "{patched}: {answer}");
        if mutated.patch.is_some() {
            let (status, answer) = put(connection, &path, pod).await;
            assert_eq!(status, 422, "{pod}: {answer}");
            repaired.fetch_add(1, Ordering::Relaxed);
        }
    });
    let repaired = repaired.into_inner();
    println!("{} ephemeral containers, {repaired} repaired", pods.len());
    assert!(repaired > 200);
}

async fn post(connection: &mut Connection, path: &str, pod: &Value) -> (u16, Value) {
    json_of(connection.send(Method::POST, path, Some(pod)).await)
}

async fn put(connection: &mut Connection, path: &str, pod: &Value) -> (u16, Value) {
    json_of(connection.send(Method::PUT, path, Some(pod)).await)
}

fn json_of(answer: std::io::Result<(u16, Vec<u8>)>) -> (u16, Value) {
    let (status, body) = answer.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

/// Both webhooks, one after the other, as the API server calls them.
fn both(pod: &Value, policy: &Policy) -> [Answer; 2] {
    let facts = Facts::default();
    let mutated = ask_with(Endpoint::Mutate, &create(pod), policy, &facts);
    let object = mutated.patched(pod);
    let validated = ask_with(Endpoint::Validate, &create(&object), policy, &facts);
    [mutated, validated]
}

fn denied(answer: &Answer) -> BTreeSet<String> {
    let paths = answer.deny.iter().map(|f| f.split_once(' ').unwrap().1);
    paths.map(str::to_owned).collect()
}

/// The fields that an answer of the API server refuses because of the operating system.
fn refused(answer: &Value) -> BTreeSet<String> {
    let causes = answer["details"]["causes"].as_array().into_iter().flatten();
    let causes = causes.filter(|cause| {
        let message = cause["message"].as_str().unwrap();
        REFUSALS.iter().any(|words| message.contains(words))
    });
    causes
        .map(|cause| cause["field"].as_str().unwrap().to_owned())
        .collect()
}

/// `spec.containers[1].securityContext.privileged` → `spec.containers.securityContext.privileged`.
fn without_index(path: &str) -> String {
    let mut out = String::new();
    for part in path.split(['[', ']']).step_by(2) {
        out.push_str(part);
    }
    out
}

#[derive(Default)]
struct Tally {
    refused: usize,
    accepted: usize,
    repaired: usize,
    hits: BTreeMap<String, usize>,
    differences: Vec<String>,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} accepted as they were, {} with a refused field, {} of them accepted once patched, {} differences",
            self.accepted,
            self.refused,
            self.repaired,
            self.differences.len()
        )?;
        for (field, hits) in &self.hits {
            writeln!(f, "  {hits:>5} {field}")?;
        }
        Ok(())
    }
}
