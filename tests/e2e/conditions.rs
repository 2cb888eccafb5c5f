//! The conditions of the webhooks, judged by the API server: it calls us where something speaks of Windows, and
//! Linux neither waits for us nor depends on us.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hyper::Method;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use transom::os::Condition;
use transom::policy::Policy;

use crate::cluster::Cluster;
use crate::common::KINDS;
use crate::eventually;
use crate::filter::{Filter, matters};
use crate::objects::{any_object, linux_object, windows_object};
use crate::transom::{LABEL, Options, Transom};
use crate::webhook::Webhook;
use crate::workloads::every_kind;

tests![
    the_api_server_calls_us_wherever_something_speaks_of_windows,
    with_all_of_transom_gone_and_fail_linux_is_admitted_as_ever,
];

const OBJECTS: usize = 3_000;

/// What one of two webhooks has seen, by the objects' names: one without conditions, and one that has ours.
#[derive(Default)]
struct Seen {
    all: BTreeMap<String, Value>,
    with_conditions: BTreeMap<String, Value>,
}

fn the_api_server_calls_us_wherever_something_speaks_of_windows(cluster: &Cluster) {
    let policy = Policy::default();
    let namespace = cluster.namespace("conditions", &[(LABEL, "conditions")]);
    let seen = Arc::new(Mutex::new(Seen::default()));
    let webhook = Webhook::start(cluster, {
        let seen = Arc::clone(&seen);
        move |path, request| {
            let object = request["object"].clone();
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            let mut seen = seen.lock().unwrap();
            let seen = match path {
                "/all" => &mut seen.all,
                _ => &mut seen.with_conditions,
            };
            seen.insert(name, object);
            None
        }
    });
    let registration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "conditions"},
        "webhooks": [webhook_of(cluster, &webhook, "all", None),
            webhook_of(cluster, &webhook, "conditions", Some(policy.expression(Condition::Evidence)))],
    });
    namespace.create(&registration.to_string());
    let probe = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
        "spec": {"os": {"name": "windows"}, "containers": [{"name": "a", "image": "a"}]},
    });
    eventually("both webhooks are called", || {
        let path = path_of(&probe, namespace.name());
        cluster
            .api()
            .ask(Method::POST, &path, Some(&probe))
            .unwrap();
        let seen = seen.lock().unwrap();
        (!seen.all.is_empty() && !seen.with_conditions.is_empty()).then_some(())
    });

    let strategy = prop_oneof![any_object(), windows_object(), linux_object()];
    let mut runner = TestRunner::deterministic();
    let objects: Vec<_> = (0..OBJECTS)
        .map(|index| {
            let mut object = strategy.new_tree(&mut runner).unwrap().current();
            object["metadata"]["name"] = json!(format!("generated-{index}"));
            object["metadata"]["namespace"] = json!(namespace.name());
            object
        })
        .collect();
    cluster
        .api()
        .for_each(&objects, async |connection, object| {
            let path = path_of(object, namespace.name());
            let answer = connection.send(Method::POST, &path, Some(object)).await;
            let answer = String::from_utf8(answer.unwrap().1).unwrap();
            // failurePolicy is Fail: a condition that cannot be evaluated would be told.
            assert!(!answer.contains("conditions.example.com"), "{answer}");
        });
    let filter = Filter::new(Condition::Evidence, &policy);
    let seen = seen.lock().unwrap();
    let mut kinds = BTreeMap::<&str, usize>::new();
    for (name, object) in &seen.all {
        let called = seen.with_conditions.contains_key(name);
        assert_eq!(called, filter.lets_through(object), "{object:#}");
        assert!(called || !matters(object, &policy), "{object:#}");
        *kinds.entry(object["kind"].as_str().unwrap()).or_default() += 1;
    }
    println!(
        "{} objects reached the webhooks ({kinds:?}), {} passed the conditions",
        seen.all.len(),
        seen.with_conditions.len()
    );
    assert!(seen.all.len() >= 2_500 && kinds.len() == KINDS.len());
    assert!(seen.all.len() - seen.with_conditions.len() > 300);
}

/// Where an object is created that is not to stay.
pub(crate) fn path_of(object: &Value, namespace: &str) -> String {
    let root = match object["apiVersion"].as_str().unwrap() {
        "v1" => "/api/v1".to_owned(),
        group => format!("/apis/{group}"),
    };
    let resource = object["kind"].as_str().unwrap().to_lowercase();
    format!("{root}/namespaces/{namespace}/{resource}s?dryRun=All")
}

fn webhook_of(
    cluster: &Cluster,
    webhook: &Webhook,
    name: &str,
    expression: Option<String>,
) -> Value {
    let mut entry = json!({
        "name": format!("{name}.example.com"),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "clientConfig": cluster.client_config(webhook.port(), &format!("/{name}")),
        "namespaceSelector": {"matchLabels": {LABEL: "conditions"}},
        "rules": [{
            "operations": ["CREATE"], "apiGroups": ["", "apps", "batch"], "apiVersions": ["v1"],
            "resources": ["pods", "replicationcontrollers", "podtemplates", "deployments",
                "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs"],
        }],
    });
    if let Some(expression) = expression {
        entry["matchConditions"] = json!([{"name": name, "expression": expression}]);
    }
    entry
}

fn with_all_of_transom_gone_and_fail_linux_is_admitted_as_ever(cluster: &Cluster) {
    let options = Options {
        failure_policy: "Fail",
        conditions: true,
        ..Options::default()
    };
    let mut transom = Transom::install(cluster, "gone", &options);
    let namespace = transom.namespace("gone", &[]);
    let calls = || (transom.calls("mutate"), transom.calls("validate"));
    let before = calls();
    let deployment = "deployment/deployment-linux";
    let rolled_out = || namespace.ok(&["rollout", "status", deployment, "--timeout=60s"]);
    let told = namespace.apply("linux.yaml", &every_kind("linux").to_string());
    assert!(told.succeeded(), "{told}");
    rolled_out();
    assert_eq!(calls(), before, "Linux pods stay off the wire");

    transom.stop();
    let told = namespace.apply("windows.yaml", &every_kind("windows").to_string());
    assert!(!told.succeeded(), "{told}");
    assert!(!told.stdout.contains("created"), "{told}");
    namespace.ok(&["delete", "-f", "linux.yaml"]);
    let told = namespace.apply("linux.yaml", &every_kind("linux").to_string());
    assert!(told.succeeded(), "{told}");
    rolled_out();
    namespace.ok(&["rollout", "restart", deployment]);
    rolled_out();
}
