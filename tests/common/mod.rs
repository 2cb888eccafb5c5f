//! What the tests share: asking Transom, reading its answers, applying its patches.
#![allow(dead_code)] // each test target uses a part of it
#![allow(clippy::unwrap_used, clippy::expect_used)] // Outside of a test function clippy does not see a test.

pub(crate) mod everything;
pub(crate) mod manifests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use transom::admit::{Verdict, admit};
use transom::decision::{Effect, Endpoint};
use transom::facts::{Facts, NamespaceFacts};
use transom::os::{Os, Source};
use transom::policy::Policy;
use transom::review;

pub(crate) const OS: &str = "kubernetes.io/os";

pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// The recordings, by name (`pod-create-win-nfs.mutating`), sorted.
pub(crate) fn recordings() -> Vec<(String, Vec<u8>)> {
    let directory = corpus().join("admissionreviews");
    let mut all: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    all.sort();
    all
}

pub(crate) fn recording(name: &str) -> Vec<u8> {
    std::fs::read(corpus().join(format!("admissionreviews/{name}.json"))).unwrap()
}

/// The endpoint that a recording was made at.
pub(crate) fn endpoint_of(name: &str) -> Endpoint {
    match name.rsplit_once('.').unwrap().1 {
        "mutating" => Endpoint::Mutate,
        "validating" => Endpoint::Validate,
        other => panic!("{other}"),
    }
}

/// An answer in the terms of the tests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) allowed: bool,
    /// `CODE path`, by effect, in the order of the answer.
    pub(crate) deny: Vec<String>,
    pub(crate) warn: Vec<String>,
    pub(crate) repair: Vec<String>,
    pub(crate) ignore: Vec<String>,
    pub(crate) patch: Option<json_patch::Patch>,
    /// The `response` as it goes over the wire.
    pub(crate) response: Value,
}

impl Answer {
    pub(crate) fn warnings(&self) -> Vec<&str> {
        let list = self.response["warnings"].as_array();
        list.map(|l| l.iter().map(|w| w.as_str().unwrap()).collect())
            .unwrap_or_default()
    }

    pub(crate) fn message(&self) -> &str {
        self.response["status"]["message"].as_str().unwrap_or("")
    }

    pub(crate) fn findings(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for (effect, list) in [
            ("deny", &self.deny),
            ("warn", &self.warn),
            ("repair", &self.repair),
            ("ignore", &self.ignore),
        ] {
            all.extend(list.iter().map(|finding| format!("{effect} {finding}")));
        }
        all
    }

    /// The object with the patch applied.
    pub(crate) fn patched(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if let Some(patch) = &self.patch {
            json_patch::patch(&mut object, patch).expect("an API server can apply the patch");
        }
        object
    }
}

/// Asks with the default configuration and no facts.
pub(crate) fn ask(endpoint: Endpoint, body: &[u8]) -> Answer {
    ask_with(endpoint, body, &Policy::default(), &Facts::default())
}

pub(crate) fn ask_with(endpoint: Endpoint, body: &[u8], policy: &Policy, facts: &Facts) -> Answer {
    let request = review::decode(body, policy).expect("a review that can be answered");
    let verdict = admit(endpoint, &request, policy, facts);
    let bytes = review::encode(&verdict);
    read(&verdict, &bytes)
}

/// Reads an answer, and holds the bytes against the verdict that they were made from.
fn read(verdict: &Verdict<'_, '_>, bytes: &[u8]) -> Answer {
    let review: Value = serde_json::from_slice(bytes).expect("the answer is JSON");
    assert_eq!(review["kind"], "AdmissionReview");
    assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
    let response = review["response"].clone();
    assert_eq!(response["uid"], verdict.request().uid());
    let patch = response.get("patch").map(|patch| {
        use base64::Engine;
        assert_eq!(response["patchType"], "JSONPatch");
        let json = base64::engine::general_purpose::STANDARD
            .decode(patch.as_str().unwrap())
            .unwrap();
        let patch: json_patch::Patch = serde_json::from_slice(&json).unwrap();
        assert!(!patch.0.is_empty(), "no patch when nothing changes");
        patch
    });
    if response.get("patch").is_none() {
        assert!(response.get("patchType").is_none());
    }
    let told = |effect| {
        let findings = verdict.findings().iter().filter(|f| f.effect() == effect);
        findings
            .map(|f| format!("{} {}", f.rule().code, verdict.path(f)))
            .collect::<Vec<_>>()
    };
    let answer = Answer {
        allowed: response["allowed"].as_bool().unwrap(),
        deny: told(Effect::Deny),
        warn: told(Effect::Warn),
        repair: told(Effect::Repair),
        ignore: told(Effect::Ignore),
        patch,
        response,
    };
    assert_eq!(answer.allowed, verdict.allowed());
    if !answer.allowed {
        let status = &answer.response["status"];
        assert_eq!(status["code"], 403);
        assert_eq!(status["reason"], "Forbidden");
        assert!(!answer.message().is_empty());
        assert!(answer.response.get("patch").is_none());
        if verdict.unreadable().is_none() && answer.deny.len() <= 64 {
            let causes: Vec<_> = status["details"]["causes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|cause| {
                    let code = cause["message"]
                        .as_str()
                        .unwrap()
                        .split(' ')
                        .next()
                        .unwrap();
                    format!("{code} {}", cause["field"].as_str().unwrap())
                })
                .collect();
            assert_eq!(causes, answer.deny);
        }
    } else {
        assert!(answer.response.get("status").is_none());
    }
    answer
}

/// An AdmissionReview as the API server would send it for this object.
pub(crate) fn review_of(object: &Value, operation: &str, old: Option<&Value>) -> Value {
    let api_version = object["apiVersion"].as_str().unwrap_or("v1");
    let (group, version) = api_version.split_once('/').unwrap_or(("", "v1"));
    json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "5f3ce9e4-6b8b-4a07-8b1c-8a2f5e0c9d11",
            "kind": {"group": group, "version": version, "kind": object["kind"]},
            "name": object["metadata"]["name"],
            "namespace": object["metadata"]["namespace"].as_str().unwrap_or("default"),
            "operation": operation,
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
            "object": object,
            "oldObject": old,
            "dryRun": false,
        },
    })
}

pub(crate) fn bytes(review: &Value) -> Vec<u8> {
    serde_json::to_vec(review).unwrap()
}

pub(crate) fn create(object: &Value) -> Vec<u8> {
    serde_json::to_vec(&review_of(object, "CREATE", None)).unwrap()
}

pub(crate) fn update(object: &Value, old: &Value) -> Vec<u8> {
    serde_json::to_vec(&review_of(object, "UPDATE", Some(old))).unwrap()
}

/// The pod spec inside an object of any kind.
pub(crate) fn pod_spec(object: &Value) -> &Value {
    let path = match object["kind"].as_str().unwrap() {
        "Pod" => "/spec",
        "PodTemplate" => "/template/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    };
    object.pointer(path).unwrap_or(&Value::Null)
}

pub(crate) fn pod_spec_mut(object: &mut Value) -> &mut Value {
    let path = match object["kind"].as_str().unwrap() {
        "Pod" => "/spec",
        "PodTemplate" => "/template/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    };
    object.pointer_mut(path).unwrap()
}

/// What `expectations.yaml` says of one recording.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Expected {
    pub(crate) patch: String,
    pub(crate) repair: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) warn: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    mutating: Option<Expected>,
    validating: Option<Expected>,
}

/// `expectations.yaml`, by the recording's name (`pod-create-win-nfs.mutating`).
pub(crate) fn expectations() -> BTreeMap<String, Expected> {
    let yaml = include_str!("../expectations.yaml");
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

/// The kinds that are or make pods.
pub(crate) const KINDS: [&str; 9] = [
    "Pod",
    "ReplicationController",
    "PodTemplate",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
];

/// An object of this kind with this pod spec; one container is put in where there is none.
pub(crate) fn object_of(kind: &str, mut spec: Value) -> Value {
    if spec.get("containers").is_none() {
        spec["containers"] = json!([{"name": "main", "image": "registry.example/app:1"}]);
    }
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": spec});
    let api_version = match kind {
        "Pod" | "ReplicationController" | "PodTemplate" => "v1",
        "Job" | "CronJob" => "batch/v1",
        _ => "apps/v1",
    };
    let mut object = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "a", "namespace": "default", "labels": {"app": "a"}},
    });
    match kind {
        "Pod" => object["spec"] = template["spec"].clone(),
        "PodTemplate" => object["template"] = template,
        "CronJob" => object["spec"] = json!({"jobTemplate": {"spec": {"template": template}}}),
        _ => object["spec"] = json!({"template": template}),
    }
    object
}

pub(crate) fn pod(spec: Value) -> Value {
    object_of("Pod", spec)
}

/// The path of the pod spec in an object of this kind, as messages have it.
pub(crate) fn spec_path(kind: &str) -> &'static str {
    match kind {
        "Pod" => "spec",
        "PodTemplate" => "template.spec",
        "CronJob" => "spec.jobTemplate.spec.template.spec",
        _ => "spec.template.spec",
    }
}

/// A configuration of these lines below the two that every one has.
pub(crate) fn policy(yaml: &str) -> Policy {
    Policy::parse(&config(yaml)).unwrap()
}

pub(crate) fn config(yaml: &str) -> String {
    format!("apiVersion: transom.dev/v1alpha1\nkind: Config\n{yaml}\n")
}

/// What is known of the namespace that the objects are in.
pub(crate) fn namespace(facts: NamespaceFacts) -> Facts {
    Facts {
        namespaces: [("default".to_owned(), facts)].into(),
        ..Facts::default()
    }
}

/// Puts `from` into `into`: maps are merged, everything else is replaced.
pub(crate) fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// The metadata of the pod or pod template inside an object.
pub(crate) fn pod_metadata_mut(object: &mut Value) -> &mut Value {
    let path = match object["kind"].as_str().unwrap() {
        "Pod" => "/metadata",
        "PodTemplate" => "/template/metadata",
        "CronJob" => "/spec/jobTemplate/spec/template/metadata",
        _ => "/spec/template/metadata",
    };
    object.pointer_mut(path).unwrap()
}

/// What the object is taken for, and the strongest evidence of it.
pub(crate) fn detected(
    body: &[u8],
    policy: &Policy,
    facts: &Facts,
) -> (Option<Os>, Option<Source>) {
    let request = review::decode(body, policy).unwrap();
    admit(Endpoint::Validate, &request, policy, facts).detected()
}

/// The JSON pointers of everything below a value, lists and maps included.
pub(crate) fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, out: &mut Vec<String>) {
        let mut below = |key: &str, value: &Value| {
            let key = key.replace('~', "~0").replace('/', "~1");
            let path = format!("{path}/{key}");
            out.push(path.clone());
            walk(value, &path, out);
        };
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| below(key, value)),
            Value::Array(list) => {
                for (i, value) in list.iter().enumerate() {
                    below(&i.to_string(), value);
                }
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(value, "", &mut out);
    out
}

/// Tells all failures of a table at once.
pub(crate) fn assert_none(failures: &[String]) {
    let (count, all) = (failures.len(), failures.join("\n"));
    assert!(failures.is_empty(), "{count}\n{all}");
}
