//! Is it a Windows pod? Evidence alone, against other evidence, from the cluster and from the
//! configuration. A module for each subject; here is how pods are made and what they are held to.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)] // Outside of a test function clippy does not see a test.

#[path = "../common/mod.rs"]
mod common;

mod against;
mod alone;
mod cluster;
mod conditions;
mod configured;
mod filter;
#[path = "../properties/objects.rs"]
mod objects;
mod pieces;
mod recordings;

use common::{OS, ask_with, create, merge, pod_spec, pod_spec_mut, spec_path};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;

fn container(fields: Value) -> Value {
    let mut container = json!({"name": "main", "image": "registry.example/app:1"});
    merge(&mut container, &fields);
    json!({"containers": [container]})
}

fn image(image: &str) -> Value {
    container(json!({"image": image}))
}

fn required(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": terms}}}})
}

fn preferred(preference: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
        [{"weight": 1, "preference": preference}]}}})
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

const BETA: &str = "beta.kubernetes.io/os";
const BUILD: &str = "node.kubernetes.io/windows-build";
const OS_SKU: &str = "kubernetes.azure.com/os-sku";

const FLAW: &str = r#"{"hostNetwork": true}"#;

fn flawed(object: &Value) -> Value {
    let mut object = object.clone();
    merge(
        pod_spec_mut(&mut object),
        &serde_json::from_str(FLAW).unwrap(),
    );
    object
}

fn is_left_alone(what: &str, object: &Value, policy: &Policy, facts: &Facts) {
    for object in [object, &flawed(object)] {
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let answer = ask_with(endpoint, &create(object), policy, facts);
            assert!(answer.allowed, "{what}");
            assert_eq!(answer.findings(), [""; 0], "{what}");
            assert_eq!(answer.warnings(), [""; 0], "{what}");
            assert_eq!(answer.patch, None, "{what}");
            let annotations = answer.response.get("auditAnnotations");
            assert_eq!(annotations, None, "{what}");
        }
    }
}

/// It is gated, and a pod is placed.
fn is_treated_as_windows(what: &str, object: &Value, policy: &Policy, facts: &Facts) {
    let kind = object["kind"].as_str().unwrap();
    let bad = ask_with(Endpoint::Validate, &create(&flawed(object)), policy, facts);
    let path = format!("WIN201 {}.hostNetwork", spec_path(kind));
    assert_eq!(bad.deny, [path], "{what} {kind}");
    let good = ask_with(Endpoint::Validate, &create(object), policy, facts);
    assert!(
        good.allowed && good.warnings().is_empty(),
        "{what} {kind}: {:?}",
        good.findings()
    );
    let mutated = ask_with(Endpoint::Mutate, &create(object), policy, facts);
    assert!(
        mutated.allowed && mutated.warnings().is_empty(),
        "{what} {kind}"
    );
    let patched = mutated.patched(object);
    if ["Pod", "DaemonSet"].contains(&kind) {
        let spec = pod_spec(&patched);
        assert_eq!(spec["os"]["name"], "windows", "{what} {kind}");
        assert_eq!(spec["nodeSelector"][OS], "windows", "{what} {kind}");
        assert!(has_toleration(spec), "{what} {kind}");
    } else {
        assert_eq!(mutated.patch, None, "{what} {kind}");
    }
}

fn has_toleration(spec: &Value) -> bool {
    let wanted =
        json!({"key": "os", "operator": "Equal", "value": "Win1809", "effect": "NoSchedule"});
    let tolerations = spec["tolerations"].as_array();
    tolerations.is_some_and(|list| {
        list.contains(&wanted)
            || list
                .iter()
                .any(|t| t["key"] == "os" && t["value"] == "Win1809")
    })
}

/// It is told of WIN604 and no more.
fn is_only_hinted_at(what: &str, object: &Value, policy: &Policy, facts: &Facts) {
    let kind = object["kind"].as_str().unwrap();
    for object in [object, &flawed(object)] {
        let validated = ask_with(Endpoint::Validate, &create(object), policy, facts);
        assert!(validated.allowed, "{what} {kind}");
        assert_eq!(validated.deny, [""; 0], "{what} {kind}");
        assert_eq!(codes(&validated.warn), ["WIN604"], "{what} {kind}");
        let warnings = validated.warnings();
        assert_eq!(warnings.len(), 2, "{what}: the hint is told, too");
        assert!(
            warnings[1].starts_with("transom: maybe for Windows by "),
            "{}",
            warnings[1]
        );
        let mutated = ask_with(Endpoint::Mutate, &create(object), policy, facts);
        assert!(mutated.allowed, "{what} {kind}");
        assert_eq!(mutated.patch, None, "{what} {kind}");
        assert_eq!(mutated.warnings(), [""; 0], "{what} {kind}");
    }
}

fn codes(findings: &[String]) -> Vec<&str> {
    findings
        .iter()
        .map(|finding| finding.split(' ').next().unwrap())
        .collect()
}
