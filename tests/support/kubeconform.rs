//! kubeconform with the schemas of a running API server: what it calls /openapi/v2, one closed JSON Schema a kind.
//!
//! For tests that have such a document; kubeconform is a program of its own, and no network is needed.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Where definitions refer to each other, in the document and in our schemas.
const DEFINITIONS: &str = "#/definitions/";

/// Kinds that no API server knows by itself.
const CUSTOM: &str = "Certificate,Issuer,PrometheusRule,ServiceMonitor";

/// A schema for each kind that an API server serves.
pub(crate) struct Schemas {
    directory: TempDir,
    kubeconform: PathBuf,
}

impl Schemas {
    /// From the document that the API server serves at /openapi/v2.
    pub(crate) fn of(openapi: &Value, kubeconform: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut definitions = openapi["definitions"].as_object().unwrap().clone();
        for definition in definitions.values_mut() {
            close(definition);
        }
        let mut kinds = 0;
        for (name, definition) in &definitions {
            let kind = definition.get("x-kubernetes-group-version-kind");
            // Those of several kinds are the options of requests.
            let Some([kind]) = kind.and_then(Value::as_array).map(Vec::as_slice) else {
                continue;
            };
            let schema = json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$ref": format!("{DEFINITIONS}{name}"),
                "definitions": needed(name, &definitions),
            });
            let file = directory.path().join(file_name(kind));
            std::fs::write(file, schema.to_string()).unwrap();
            kinds += 1;
        }
        assert!(kinds > 0, "no kinds in this document");
        Self {
            directory,
            kubeconform: kubeconform.to_owned(),
        }
    }

    /// What is wrong with these manifests (YAML).
    pub(crate) fn check(&self, manifests: &str) -> Result<(), String> {
        let location = "{{.ResourceKind}}{{.KindSuffix}}.json";
        let location = self.directory.path().join(location);
        let mut command = Command::new(&self.kubeconform);
        command.args(["-strict", "-summary", "-skip", CUSTOM, "-schema-location"]);
        command.arg(location).arg("-");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(manifests.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        if output.status.success() {
            Ok(())
        } else {
            Err(text)
        }
    }
}

/// What kubeconform asks for: `deployment-apps-v1.json`, `pod-v1.json`.
fn file_name(kind: &Value) -> String {
    let part = |key: &str| kind[key].as_str().unwrap().to_lowercase();
    let group = part("group");
    let group = match group.split('.').next().unwrap() {
        "" => String::new(),
        first => format!("-{first}"),
    };
    format!("{}{group}-{}.json", part("kind"), part("version"))
}

/// An object has the properties that are listed and no other; numbers may be written where quantities are meant.
fn close(schema: &mut Value) {
    if let Value::Object(map) = schema {
        if map.contains_key("properties") {
            map.entry("additionalProperties").or_insert(false.into());
        }
        let format = map.get("format").and_then(Value::as_str);
        let description = map.get("description").and_then(Value::as_str);
        let is_quantity = description.is_some_and(|text| text.starts_with("Quantity is "));
        if format == Some("int-or-string") {
            map.insert("type".to_owned(), json!(["string", "integer"]));
        } else if is_quantity {
            map.insert("type".to_owned(), json!(["string", "number"]));
        }
        map.values_mut().for_each(close);
    } else if let Value::Array(list) = schema {
        list.iter_mut().for_each(close);
    }
}

/// This definition and all that it refers to.
fn needed(name: &str, definitions: &Map<String, Value>) -> Map<String, Value> {
    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(map) => {
                let reference = map.get("$ref").and_then(Value::as_str);
                found.extend(reference.and_then(|to| to.strip_prefix(DEFINITIONS)));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let mut names = BTreeSet::from([name]);
    let mut open = vec![name];
    while let Some(name) = open.pop() {
        let mut found = Vec::new();
        references(&definitions[name], &mut found);
        open.extend(found.into_iter().filter(|name| names.insert(name)));
    }
    let definition = |name: &str| (name.to_owned(), definitions[name].clone());
    names.into_iter().map(definition).collect()
}
