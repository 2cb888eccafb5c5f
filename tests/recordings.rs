//! Every recorded AdmissionReview gets the answer that `expectations.yaml` says.

mod common;

use std::collections::BTreeMap;

use common::{Answer, ask, endpoint_of, recordings};
use serde::Deserialize;
use serde_json::{Value, json};
use transom::decision::Endpoint;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expected {
    patch: String,
    repair: Vec<String>,
    deny: Vec<String>,
    warn: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    mutating: Option<Expected>,
    validating: Option<Expected>,
}

fn expectations() -> BTreeMap<String, Expected> {
    let yaml = include_str!("expectations.yaml");
    let pairs: BTreeMap<String, Pair> = serde_saphyr::from_str(yaml).unwrap();
    let mut all = BTreeMap::new();
    for (name, pair) in pairs {
        for (end, expected) in [("mutating", pair.mutating), ("validating", pair.validating)] {
            if let Some(expected) = expected {
                all.insert(format!("{name}.{end}"), expected);
            }
        }
    }
    all
}

/// The patch that the table means, as the API server would be sent it.
fn patch_of(expected: &Expected, object: &Value) -> Value {
    let prefix = if object["kind"] == "Pod" {
        "/spec"
    } else {
        "/spec/template/spec"
    };
    let spec = object.pointer(prefix).unwrap_or(&Value::Null);
    let mut operations = Vec::new();
    for word in expected.patch.split_whitespace() {
        operations.push(match word {
            "os" => json!({"op": "add", "path": format!("{prefix}/os"), "value": {"name": "windows"}}),
            "selector" if spec.get("nodeSelector").is_some() => json!({
                "op": "add",
                "path": format!("{prefix}/nodeSelector/kubernetes.io~1os"),
                "value": "windows",
            }),
            "selector" => json!({
                "op": "add",
                "path": format!("{prefix}/nodeSelector"),
                "value": {"kubernetes.io/os": "windows"},
            }),
            "toleration" => json!({
                "op": "add",
                "path": format!("{prefix}/tolerations/-"),
                "value": {"key": "os", "operator": "Equal", "value": "Win1809", "effect": "NoSchedule"},
            }),
            other => panic!("{other}: not a word of the table"),
        });
    }
    for repair in &expected.repair {
        let (_, path) = repair.split_once(' ').unwrap();
        let pointer = path.replace(['.', '['], "/").replace(']', "");
        operations.push(json!({"op": "remove", "path": format!("/{pointer}")}));
    }
    Value::Array(operations)
}

fn hold(name: &str, answer: &Answer, expected: &Expected, object: &Value) {
    assert_eq!(answer.allowed, expected.deny.is_empty(), "{name}: allowed");
    assert_eq!(answer.deny, expected.deny, "{name}: deny");
    assert_eq!(answer.warn, expected.warn, "{name}: warn");
    assert_eq!(answer.repair, expected.repair, "{name}: repair");
    let patch = answer
        .patch
        .as_ref()
        .map_or(json!([]), |p| serde_json::to_value(p).unwrap());
    assert_eq!(patch, patch_of(expected, object), "{name}: patch");
    let tells = !expected.warn.is_empty() || !expected.repair.is_empty();
    assert_eq!(!answer.warnings().is_empty(), tells, "{name}: warnings");
    answer.patched(object);
}

#[test]
fn every_recording_gets_its_answer() {
    let expectations = expectations();
    let recordings = recordings();
    let names: Vec<_> = recordings.iter().map(|(name, _)| name).collect();
    assert_eq!(names, expectations.keys().collect::<Vec<_>>());
    assert_eq!(names.len(), 279);
    for (name, body) in &recordings {
        let review: Value = serde_json::from_slice(body).unwrap();
        let answer = ask(endpoint_of(name), body);
        hold(
            name,
            &answer,
            &expectations[name],
            &review["request"]["object"],
        );
    }
}

/// Asking again with the patched object finds nothing more to patch.
#[test]
fn a_patched_recording_is_left_alone() {
    let mut patched = 0;
    for (name, body) in recordings() {
        let mut review: Value = serde_json::from_slice(&body).unwrap();
        let answer = ask(endpoint_of(&name), &body);
        if answer.patch.is_some() {
            patched += 1;
            review["request"]["object"] = answer.patched(&review["request"]["object"]);
            let again = ask(Endpoint::Mutate, &serde_json::to_vec(&review).unwrap());
            assert!(again.patch.is_none(), "{name}: {:?}", again.patch);
        }
    }
    assert!(patched > 80, "{patched}");
}
