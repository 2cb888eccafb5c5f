//! Every string of the values, replaced by one that would be something else if it were not quoted:
//! rejected by the schema, or a scalar in the place of another.

use serde_json::{Value, json};

use super::helm::{Helm, Manifests, helm};
use super::read;

/// Strings with a meaning for YAML or for Helm. The last ones are valid names as well, and would be
/// numbers or nothing.
const STRINGS: [&str; 8] = [
    "a\n  b: c",
    "\"",
    "{{ \"{{\" }}",
    "' # \t\\",
    "- a: *b",
    "123",
    "true",
    "null",
];

/// What is in none of the files, and has a string in it.
const MORE: &str = r"
nameOverride: gate
affinity: {podAffinity: {a: b}}
nodeSelector: {a: b}
tolerations: [{key: a}]
topologySpreadConstraints: [{topologyKey: a}]
podSecurityContext: {a: b}
securityContext: {a: b}
resources: {limits: {a: b}}
service: {annotations: {a: b}, ipFamilyPolicy: SingleStack, ipFamilies: [IPv4]}
strategy: {rollingUpdate: {maxSurge: 10%, maxUnavailable: 10%}}
podDisruptionBudget: {enabled: true, minAvailable: '', maxUnavailable: 10%}
networkPolicy:
  enabled: true
  apiServerCIDRs: [10.0.0.0/8]
  dnsTo: [{podSelector: {matchLabels: {a: b}}}]
webhook:
  annotations: {a: b}
  mutating: &hook
    namespaceSelector: &selector
      matchLabels: {a: b}
      matchExpressions: [{key: a, operator: In, values: [b]}]
    objectSelector: *selector
    matchConditions: [{name: a, expression: b}]
  validating: *hook
tls:
  clientCASecret: clients
  certManager: {issuerRef: {group: cert-manager.io, kind: Issuer, name: gate}}
";

/// A pointer to each string in it, and to each map of strings that a user fills.
fn strings(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(path.to_owned()),
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                strings(value, &format!("{path}/{i}"), found);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                strings(value, &format!("{path}/{key}"), found);
            }
        }
        _ => {}
    }
}

fn merge(to: &mut Value, from: &Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (key, value) in from {
                merge(to.entry(key).or_insert(Value::Null), value);
            }
        }
        (to, from) => *to = from.clone(),
    }
}

/// The values of the chart with those of a case and `MORE`.
fn base(case: &str) -> Value {
    let yaml = |text: &str| serde_saphyr::from_str::<Value>(text).unwrap();
    let mut values = yaml(&read("charts/transom/values.yaml"));
    for file in ["everything-on", "config", case] {
        let file = read(&format!("charts/transom/ci/{file}.yaml"));
        merge(&mut values, &yaml(&file));
    }
    merge(&mut values, &yaml(MORE));
    values
}

/// Every string of the schema, without those of the configuration, which is written as a whole.
fn described(schema: &Value, node: &Value, path: &str, found: &mut Vec<String>) {
    let node = match node["$ref"].as_str() {
        Some(reference) => schema.pointer(&reference[1..]).unwrap(),
        None => node,
    };
    for node in node["oneOf"].as_array().into_iter().flatten() {
        described(schema, node, path, found);
    }
    if node["type"] == "string" {
        found.push(path.to_owned());
    }
    for (key, node) in node["properties"].as_object().into_iter().flatten() {
        if !["config", "global"].contains(&key.as_str()) {
            described(schema, node, &format!("{path}/{key}"), found);
        }
    }
    for key in ["items", "additionalProperties"] {
        if node[key].is_object() {
            described(schema, &node[key], &format!("{path}/*"), found);
        }
    }
}

/// Whether a pointer is one of those that a pattern with `*` describes.
fn is_described_by(pointer: &str, pattern: &str) -> bool {
    let (pointer, pattern) = (pointer.split('/'), pattern.split('/'));
    pointer.clone().count() == pattern.clone().count()
        && pointer.zip(pattern).all(|(a, b)| a == b || b == "*")
}

/// What differs between two renderings: each must be a string that has the text in it, in the place of
/// a string, or a key that has it.
fn compare(before: &Value, after: &Value, text: &str, path: &str, wrong: &mut Vec<String>) {
    let is_expression = path.contains("/matchConditions/") && path.ends_with("/expression");
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in after {
                match before.get(key) {
                    Some(before) => compare(before, value, text, &format!("{path}/{key}"), wrong),
                    None if key.contains(text) && value == text => {}
                    None => wrong.push(format!("{path}: new key {key}")),
                }
            }
            let gone = before.keys().filter(|key| !after.contains_key(*key));
            wrong.extend(gone.map(|key| format!("{path}: key {key} is gone")));
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (i, (before, after)) in before.iter().zip(after).enumerate() {
                compare(before, after, text, &format!("{path}/{i}"), wrong);
            }
        }
        (Value::String(before), Value::String(after)) if path.ends_with("/config.yaml") => {
            let [before, after] = [before, after].map(|text| serde_saphyr::from_str::<Value>(text));
            compare(
                &before.unwrap(),
                &after.unwrap(),
                text,
                &format!("{path}!"),
                wrong,
            );
        }
        (Value::String(_), Value::String(after)) if is_expression || after.contains(text) => {}
        (before, after) if before == after => {}
        (before, after) => wrong.push(format!("{path}: {before} became {after}")),
    }
}

fn render(helm: &Helm, values: &Value) -> Result<Value, String> {
    let rendered: Manifests = helm.with(&values.to_string())?;
    Ok(Value::Array(rendered.0))
}

#[test]
fn keeps_every_string_in_its_scalar_or_rejects_it() {
    let Some(helm) = helm() else { return };
    let schema: Value = serde_json::from_str(&read("charts/transom/values.schema.json")).unwrap();
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let mut wanted = Vec::new();
    described(&schema, &schema, "", &mut wanted);
    assert!(wanted.len() > 40, "{wanted:?}");
    for case in ["default", "existing-secret", "cert-manager"] {
        let base = base(case);
        let before = render(&helm, &base).unwrap();
        let mut all = Vec::new();
        strings(&base, "", &mut all);
        if base["tls"]["mode"] != "existingSecret" {
            // It is refused beside another mode.
            all.retain(|pointer| pointer != "/tls/existingSecret");
        }
        wanted.retain(|pattern| !all.iter().any(|pointer| is_described_by(pointer, pattern)));
        for text in STRINGS {
            let with = |pointers: &[String]| {
                let mut values = base.clone();
                for pointer in pointers {
                    *values.pointer_mut(pointer).unwrap() = json!(text);
                }
                values
            };
            let is_valid =
                |pointer: &String| validator.is_valid(&with(std::slice::from_ref(pointer)));
            let (valid, invalid): (Vec<_>, Vec<_>) = all.iter().cloned().partition(is_valid);
            assert!(valid.len() > 10 && invalid.len() > 10);
            let error = render(&helm, &with(&invalid)).unwrap_err();
            for pointer in invalid
                .iter()
                .filter(|pointer| !pointer.starts_with("/config/"))
            {
                let place = format!("at '{pointer}");
                let is_named = error.contains(&place)
                    || error.contains(&format!("at '{}'", pointer.rsplit_once('/').unwrap().0));
                assert!(is_named, "{case} {text:?}: {pointer}: {error}");
            }
            let mut values = with(&valid);
            for map in [
                "/commonLabels",
                "/podLabels",
                "/podAnnotations",
                "/service/annotations",
                "/serviceAccount/annotations",
                "/webhook/annotations",
                "/nodeSelector",
            ] {
                values.pointer_mut(map).unwrap()[text] = json!(text);
            }
            let after = render(&helm, &values);
            let after = after.unwrap_or_else(|error| panic!("{case} {text:?}: {error}"));
            let mut wrong = Vec::new();
            compare(&before, &after, text, "", &mut wrong);
            assert_eq!(wrong, Vec::<String>::new(), "{case} {text:?}");
        }
    }
    assert_eq!(
        wanted,
        Vec::<String>::new(),
        "no value here has this string"
    );
}

#[test]
fn rejects_and_quotes_what_added_a_field() {
    let Some(helm) = helm() else { return };
    let more = "a\n      hostPID: true";
    for (values, path) in [
        (json!({"priorityClassName": more}), "/priorityClassName"),
        (json!({"log": {"level": more}}), "/log/level"),
        (
            json!({"serviceAccount": {"name": more}}),
            "/serviceAccount/name",
        ),
        (
            json!({"tls": {"mode": "existingSecret", "existingSecret": more}}),
            "/tls/existingSecret",
        ),
        (
            json!({"tls": {"clientCASecret": more}}),
            "/tls/clientCASecret",
        ),
        (
            json!({"image": {"repository": "a\" b"}}),
            "/image/repository",
        ),
        (
            json!({"networkPolicy": {"apiServerCIDRs": [more]}}),
            "/networkPolicy/apiServerCIDRs/0",
        ),
        (
            json!({"networkPolicy": {"apiServerCIDRs": ["10.0.0.1"]}}),
            "/networkPolicy/apiServerCIDRs/0",
        ),
    ] {
        let error = helm.with(&values.to_string()).map(|_| ()).unwrap_err();
        assert!(error.contains(&format!("at '{path}'")), "{error}");
    }
}
