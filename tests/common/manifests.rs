//! What `check --fix` should make of manifests: what a text says, and what the webhook's patch makes of it.
//!
//! The patch is asked for as that of a DaemonSet, whose template is the one that the webhook
//! patches, whatever the kind is.

use serde_json::{Value, json};
use transom::admit::admit;
use transom::check::Options;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::{review, yaml};

use super::bytes;

/// What the documents of a text say.
pub(crate) fn said(text: &str) -> Vec<Value> {
    let documents = yaml::documents(text).unwrap().into_iter();
    documents
        .map(|document| {
            let mut json = Vec::new();
            document.write_json(&mut json).unwrap();
            serde_json::from_slice(&json).unwrap()
        })
        .collect()
}

/// Where the pod is in an object of this kind.
fn way(group: &str, kind: &str) -> Option<&'static str> {
    Some(match (group, kind) {
        ("", "Pod") => "",
        ("", "PodTemplate") => "/template",
        ("batch", "CronJob") => "/spec/jobTemplate/spec/template",
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job")
        | ("", "ReplicationController") => "/spec/template",
        _ => return None,
    })
}

/// Makes of an object, or of all in a list, what the webhook would.
pub(crate) fn patch(object: &mut Value, element: Option<&str>, options: &Options) {
    let kind = object["kind"]
        .as_str()
        .or(element)
        .unwrap_or_default()
        .to_owned();
    if let Some(element) = kind.strip_suffix("List")
        && let Some(items) = object.get_mut("items").and_then(Value::as_array_mut)
    {
        let element = Some(element).filter(|kind| !kind.is_empty());
        return items
            .iter_mut()
            .for_each(|item| patch(item, element, options));
    }
    // An element of a list of one kind need not say which: of these only Pods are in the tests.
    let version = object["apiVersion"].as_str().unwrap_or("v1");
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let Some(pod) = way(group, &kind).and_then(|way| object.pointer_mut(way)) else {
        return;
    };
    let mut object = json!({"spec": {"template": pod}});
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "a", "operation": "CREATE", "namespace": "default",
            "kind": {"group": "apps", "version": "v1", "kind": "DaemonSet"},
            "object": object,
        },
    });
    let body = bytes(&review);
    let request = review::decode(&body, &options.policy).unwrap();
    let facts = Facts::default();
    let verdict = admit(Endpoint::Mutate, &request, &options.policy, &facts);
    if let Some(patch) = verdict.patch() {
        let patch: json_patch::Patch = serde_json::from_str(&patch).unwrap();
        json_patch::patch(&mut object, &patch).unwrap();
        let before = pod.clone();
        *pod = object["spec"]["template"].take();
        remove_emptied(&before, pod);
    }
}

/// `--fix` leaves no empty securityContext or capabilities, unless it was there.
fn remove_emptied(before: &Value, after: &mut Value) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, before) in before {
                let Some(value) = after.get_mut(key) else {
                    continue;
                };
                remove_emptied(before, value);
                let is_empty = |value: &Value| value.as_object().is_some_and(|map| map.is_empty());
                let is_context = key == "securityContext" || key == "capabilities";
                if is_context && is_empty(value) && !is_empty(before) {
                    after.remove(key);
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            let pairs = before.iter().zip(after);
            pairs.for_each(|(before, after)| remove_emptied(before, after));
        }
        _ => {}
    }
}
