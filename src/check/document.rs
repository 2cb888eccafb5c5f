//! From bytes to objects: encodings, documents, lists of objects, kinds that carry no pod.

use serde_json::{Value as Json, json};

use super::report::Problem;
use crate::workload::Kind;
use crate::yaml::{self, Key, Node, Place, Value};

/// One document of a file, or one element of a list of objects.
pub(super) enum Document {
    /// An object that is judged.
    Object(Object),
    /// Another kind.
    Other { kind: String, node: Node },
    /// It is YAML and no Kubernetes object.
    Foreign(Problem),
    /// It is an object that cannot be read.
    Broken(Problem),
}

/// An object of a kind that is judged.
pub(super) struct Object {
    pub(super) kind: Kind,
    pub(super) json: Json,
    pub(super) node: Node,
}

impl Object {
    /// A text of its metadata.
    pub(super) fn metadata(&self, key: &str) -> Option<&str> {
        self.json["metadata"][key].as_str()
    }
}

/// The text in a file.
pub(super) fn text(bytes: &[u8]) -> Result<&str, Problem> {
    let utf_16 = [&b"\xff\xfe"[..], b"\xfe\xff"];
    if utf_16.iter().any(|mark| bytes.starts_with(mark)) {
        return Err(Problem::whole(
            "this is UTF-16, which kubectl does not read; save it as UTF-8",
        ));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let start = before
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |i| i + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        Problem::at(
            Place { line, column },
            "this is not UTF-8; save the file as UTF-8",
        )
    })?;
    Ok(text)
}

/// All objects of a text, those of lists one by one.
pub(super) fn documents(text: &str) -> Result<Vec<Document>, Problem> {
    let nodes = yaml::documents(text).map_err(|flaw| unreadable(text, flaw))?;
    let mut documents = Vec::new();
    for node in nodes {
        push(node, &mut documents);
    }
    Ok(documents)
}

/// A template that nobody has rendered is the usual reason.
fn unreadable(text: &str, flaw: yaml::Flaw) -> Problem {
    let place = flaw.place;
    let near = text.lines().nth(place.line - 1).unwrap_or_default();
    if near.contains("{{") || text.contains("{{-") || text.contains("{{ ") {
        let problem =
            "this is a template and not YAML; render it first (helm template … | transom check -)";
        return Problem::at(place, problem);
    }
    Problem::at(place, flaw.problem)
}

fn push(node: Node, documents: &mut Vec<Document>) {
    let Value::Map(map) = &node.value else {
        let problem = "this is no Kubernetes object: it has no keys";
        return documents.push(Document::Foreign(Problem::at(node.place, problem)));
    };
    let text = |key: &str| {
        let entry = map.iter().rev().find(|(k, _)| k.text == key);
        entry
            .and_then(|(_, node)| node.scalar())
            .map(|s| s.text.clone())
    };
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        let problem = "this is no Kubernetes object: apiVersion or kind is missing";
        return documents.push(Document::Foreign(Problem::at(node.place, problem)));
    };
    let is_list = kind.ends_with("List") && map.iter().any(|(key, _)| key.text == "items");
    if is_list {
        return items(node, documents);
    }
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let Some(found) = Kind::find(group, &kind) else {
        return documents.push(Document::Other { kind, node });
    };
    documents.push(match node.to_json() {
        Ok(json) => Document::Object(Object {
            kind: found,
            json,
            node,
        }),
        Err(flaw) => Document::Broken(Problem::at(flaw.place, flaw.problem)),
    });
}

fn items(node: Node, documents: &mut Vec<Document>) {
    let Value::Map(map) = node.value else { return };
    let items = map.into_iter().rev().find(|(key, _)| key.text == "items");
    if let Some(Value::List(list)) = items.map(|(_, node)| node.value) {
        list.into_iter().for_each(|item| push(item, documents));
    }
}

impl Document {
    /// Keys that stand in one map twice, with the place of the first.
    pub(super) fn duplicates(&self) -> Vec<(Key, Place)> {
        let mut all = Vec::new();
        match self {
            Self::Object(Object { node, .. }) | Self::Other { node, .. } => {
                duplicates(node, &mut all)
            }
            Self::Foreign(_) | Self::Broken(_) => {}
        }
        all
    }
}

fn duplicates(node: &Node, all: &mut Vec<(Key, Place)>) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::List(list) => list.iter().for_each(|node| duplicates(node, all)),
        Value::Map(map) => {
            let mut seen = std::collections::HashMap::new();
            for (key, node) in map {
                if let Some(first) = seen.insert(key.text.as_str(), key.place) {
                    all.push((key.clone(), first));
                }
                duplicates(node, all);
            }
        }
    }
}

/// The review that the API server would send for the creation of this object.
pub(super) fn review(object: &Object, namespace: &str) -> Json {
    let api_version = object.json["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "check",
            "kind": {"group": group, "version": version, "kind": object.kind.name()},
            "namespace": namespace,
            "operation": "CREATE",
            "object": object.json,
        },
    })
}
