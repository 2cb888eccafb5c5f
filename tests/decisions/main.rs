//! What is done about findings: which webhook denies what, when it denies, tells or repairs, and
//! the words of the answer. A module for each subject; here is what they share.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)] // Outside of a test function clippy does not see a test.

#[path = "../common/mod.rs"]
mod common;

mod daemonsets;
mod ephemeral;
mod exemptions;
mod guard;
mod ignored_fields;
mod ignores;
mod learnt;
mod messages;
mod modes;
mod notices;
mod openshift;
mod owned;
mod placement;
mod ratchet;
mod repairs;
#[path = "../support/scc.rs"]
mod scc;
mod services;
mod webhooks;

use common::{Answer, OS, ask, bytes, create, merge, namespace, object_of, review_of, update};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::{Facts, NamespaceFacts};
use transom::mode::Mode;

/// A Windows pod spec with a selector only.
fn windows(fields: Value) -> Value {
    let mut spec = json!({"nodeSelector": {OS: "windows"}});
    merge(&mut spec, &fields);
    spec
}

/// A Windows pod spec that says os=windows, too.
fn windows_os(fields: Value) -> Value {
    let mut spec = windows(json!({"os": {"name": "windows"}}));
    merge(&mut spec, &fields);
    spec
}

fn container(name: &str, fields: Value) -> Value {
    let mut container = json!({"name": name, "image": "registry.example/app:1"});
    merge(&mut container, &fields);
    container
}

fn secured(context: Value) -> Value {
    json!({"containers": [container("main", json!({"securityContext": context}))]})
}

fn labelled(mode: Mode) -> Facts {
    namespace(NamespaceFacts {
        mode: Some(mode),
        ..NamespaceFacts::default()
    })
}

/// A CREATE or UPDATE by somebody, with more fields of the request.
fn asked(endpoint: Endpoint, object: &Value, old: Option<&Value>, more: &Value) -> Answer {
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let mut review = review_of(object, operation, old);
    merge(&mut review["request"], more);
    ask(endpoint, &bytes(&review))
}

fn mutate(object: &Value) -> Answer {
    ask(Endpoint::Mutate, &create(object))
}

fn validate(object: &Value) -> Answer {
    ask(Endpoint::Validate, &create(object))
}

fn validate_update(object: &Value, old: &Value) -> Answer {
    ask(Endpoint::Validate, &update(object, old))
}

/// Nothing is denied, told or patched.
fn is_silent(what: &str, answer: &Answer) {
    assert!(answer.allowed, "{what}");
    assert_eq!(answer.patch, None, "{what}");
    assert_eq!(answer.findings(), [""; 0], "{what}");
    assert_eq!(answer.warnings(), [""; 0], "{what}");
}

/// The paths of the operations of a patch, after the pod spec's.
fn patched_paths(answer: &Answer) -> Vec<String> {
    let patch = serde_json::to_value(answer.patch.as_ref().map(|p| &p.0)).unwrap();
    let operations = patch.as_array().cloned().unwrap_or_default();
    operations
        .iter()
        .map(|o| {
            format!(
                "{} {}",
                o["op"].as_str().unwrap(),
                o["path"].as_str().unwrap()
            )
        })
        .collect()
}

const CONTROLLER: &str = "system:serviceaccount:kube-system:replicaset-controller";

fn owned_by(kind: &str, owner: &str, api_version: &str, controller: Value, spec: Value) -> Value {
    let mut object = object_of(kind, spec);
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": api_version, "kind": owner, "name": "o", "uid": "u", "controller": controller,
    }]);
    object
}

fn by(user: &str) -> Value {
    json!({"userInfo": {"username": user}})
}

/// A Windows pod spec without a node selector.
fn image_only() -> Value {
    json!({"containers": [container("main", json!({"image": "app:ltsc2022"}))]})
}
