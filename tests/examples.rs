//! What stands in `examples/` is what README says of it, and what the program makes of it.

#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{ask, create, pod_spec};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhookConfiguration,
};
use serde_json::{Value, json};
use transom::config::Config;
use transom::decision::Endpoint;
use transom::policy::Policy;
use transom::workload::Kind;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The paths of all keys, those in lists as `list[].key`.
fn keys(value: &Value, path: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = format!("{path}.{key}");
                keys(value, &path, all);
                all.insert(path);
            }
        }
        Value::Array(list) => {
            for value in list {
                keys(value, &format!("{path}[]"), all);
            }
        }
        _ => {}
    }
}

#[test]
fn the_configuration_has_every_key_with_its_default() {
    let text = example("config.yaml");
    let written: Value = serde_saphyr::from_str(&text).unwrap();
    let default = serde_json::to_value(Config::default()).unwrap();
    let [mut have, mut want] = [BTreeSet::new(), BTreeSet::new()];
    keys(&written, "", &mut have);
    keys(&default, "", &mut want);
    assert_eq!(have, want);
    let config: Config = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(config, Config::default());
    Policy::parse(&text).unwrap();
}

/// The lines of the file with each `Example:` in the place of the entry below it, one at a time.
fn with_examples(text: &str) -> Vec<(String, String)> {
    let lines: Vec<_> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let key = |line: &str| line.trim_start().split(':').next().unwrap().to_owned();
    let mut all = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let Some((_, example)) = line.split_once("# Example: ") else {
            continue;
        };
        let entry = (i..lines.len())
            .find(|j| !lines[*j].trim_start().starts_with('#'))
            .unwrap();
        assert_eq!(key(lines[entry]), key(example), "{line}");
        let depth = indent(lines[entry]);
        // A whole block gives way; the rest of a list's item stays.
        let is_block = lines[entry].ends_with(':');
        let rest = lines[entry + 1..].iter().skip_while(|line| {
            let deeper = indent(line) > depth || line[depth.min(line.len())..].starts_with("- ");
            is_block && deeper
        });
        let mut changed: Vec<_> = lines[..entry].iter().map(ToString::to_string).collect();
        changed.push(format!("{}{example}", " ".repeat(depth)));
        changed.extend(rest.map(ToString::to_string));
        all.push((example.to_owned(), changed.join("\n")));
    }
    all
}

#[test]
fn every_example_in_the_configuration_is_valid() {
    let text = example("config.yaml");
    let examples = with_examples(&text);
    assert_eq!(
        examples.len(),
        text.matches("# Example: ").count(),
        "an example that is not tried"
    );
    assert!(examples.len() > 20, "{}", examples.len());
    for (example, text) in examples {
        let config: Config =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{example}: {error}"));
        Policy::try_from(config).unwrap_or_else(|error| panic!("{example}: {error}"));
    }
}

#[test]
fn keys_that_are_empty_by_default_have_an_example() {
    let text = example("config.yaml");
    let lines: Vec<_> = text.lines().collect();
    for pair in lines.windows(2) {
        if pair[1].ends_with(": {}") || pair[1].ends_with(": []") {
            assert!(
                pair[0].trim_start().starts_with("# Example: "),
                "{}",
                pair[1]
            );
        }
    }
}

/// README quotes the answers: whatever it shows has to be what is answered.
#[test]
fn readme_shows_the_answer_of_mutate() {
    let readme = include_str!("../README.md");
    let body = example("review.json");
    let answer = ask(Endpoint::Mutate, body.as_bytes());
    assert!(answer.allowed);
    let patch = serde_json::to_value(answer.patch.as_ref().unwrap()).unwrap();
    let operations: Vec<_> = patch.as_array().unwrap().iter().collect();
    assert_eq!(operations.len(), 4, "os, node selector, toleration, repair");
    let shown: Vec<Value> = readme
        .lines()
        .filter(|line| line.starts_with(r#"{"op":"#))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(shown.iter().collect::<Vec<_>>(), operations);
    let base64 = answer.response["patch"].as_str().unwrap();
    assert!(readme.contains(base64), "{base64}");
    for warning in answer.warnings() {
        assert!(readme.contains(&format!("\"{warning}\"")), "{warning}");
        assert!(
            readme.contains(&format!("\nWarning: {warning}\n")),
            "{warning}"
        );
    }

    // The patched pod passes /validate and stays as it is.
    let review: Value = serde_json::from_str(&body).unwrap();
    let patched = create(&answer.patched(&review["request"]["object"]));
    let answer = ask(Endpoint::Validate, &patched);
    assert!(answer.allowed && answer.warnings().is_empty(), "{answer:?}");
    assert!(ask(Endpoint::Mutate, &patched).patch.is_none());
}

#[test]
fn readme_shows_the_refusal_of_validate() {
    let readme = include_str!("../README.md");
    let body = example("deployment-denied.json");
    let answer = ask(Endpoint::Validate, body.as_bytes());
    assert!(!answer.allowed);
    assert!(answer.deny.len() > 1, "several findings at once");
    let refusal = format!(
        "Error from server (Forbidden): error when creating \"web.yaml\": admission webhook \
         \"validate.transom.dev\" denied the request: {}\n",
        answer.message()
    );
    assert!(readme.contains(&refusal), "{refusal}");
    assert!(!answer.warnings().is_empty());
    for warning in answer.warnings() {
        assert!(
            readme.contains(&format!("\nWarning: {warning}\n")),
            "{warning}"
        );
    }
    let mutated = ask(Endpoint::Mutate, body.as_bytes());
    assert!(mutated.allowed && mutated.patch.is_none());
}

#[test]
fn the_reviews_are_for_namespaces_that_are_judged() {
    for name in ["review.json", "deployment-denied.json"] {
        let review: Value = serde_json::from_str(&example(name)).unwrap();
        let object = &review["request"]["object"];
        assert_eq!(object["metadata"]["namespace"], "default");
        assert_eq!(review["request"]["name"], object["metadata"]["name"]);
        assert!(pod_spec(object)["containers"].is_array());
    }
}

/// Everything that is in `part` is in `whole`.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(key, value)| whole.get(key).is_some_and(|other| is_part(value, other))),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(p, w)| is_part(p, w))
        }
        _ => part == whole,
    }
}

#[test]
fn the_refused_manifest_is_the_one_in_the_review() {
    let manifest: Value = serde_saphyr::from_str(&example("web.yaml")).unwrap();
    let review: Value = serde_json::from_str(&example("deployment-denied.json")).unwrap();
    assert!(is_part(&manifest, &review["request"]["object"]));
}

#[test]
fn the_webhooks_ask_for_everything_that_is_judged() {
    let text = example("webhooks.yaml");
    let (mutating, validating) = text.split_once("\n---\n").unwrap();
    let mutating: Value = serde_saphyr::from_str(mutating).unwrap();
    let validating: Value = serde_saphyr::from_str(validating).unwrap();
    for (configuration, path) in [(&mutating, "/mutate"), (&validating, "/validate")] {
        let webhook = &configuration["webhooks"][0];
        assert_eq!(webhook["clientConfig"]["service"]["path"], path);
        assert_eq!(webhook["matchPolicy"], "Equivalent");
        assert_eq!(webhook["sideEffects"], "None");
        assert_eq!(webhook["timeoutSeconds"], 5);
        assert_eq!(webhook["failurePolicy"], "Ignore");
        assert_eq!(webhook["admissionReviewVersions"], json!(["v1"]));
        let rules: Vec<RuleWithOperations> =
            serde_json::from_value(webhook["rules"].clone()).unwrap();
        assert_eq!(resources(&rules), judged());
        for rule in &rules {
            let operations = rule.operations.as_ref().unwrap();
            assert_eq!(operations, &["CREATE", "UPDATE"]);
        }
    }
    assert_eq!(
        mutating["webhooks"][0]["reinvocationPolicy"],
        json!("IfNeeded")
    );
    for key in ["rules", "namespaceSelector"] {
        assert_eq!(mutating["webhooks"][0][key], validating["webhooks"][0][key]);
    }
    // Nothing is lost on the way through Kubernetes' own types: no key is misspelt.
    let typed: MutatingWebhookConfiguration = serde_json::from_value(mutating.clone()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), mutating);
    let typed: ValidatingWebhookConfiguration = serde_json::from_value(validating.clone()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), validating);
}

/// Group and resource of everything that is asked for.
fn resources(rules: &[RuleWithOperations]) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for rule in rules {
        for group in rule.api_groups.as_ref().unwrap() {
            for resource in rule.resources.as_ref().unwrap() {
                all.insert((group.clone(), resource.clone()));
            }
        }
    }
    all
}

fn judged() -> BTreeSet<(String, String)> {
    // Rules for Services are off, so nobody need wait for them.
    let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Service);
    let kinds = kinds.map(|kind| {
        let resource = format!("{}s", kind.name().to_lowercase());
        (kind.group().to_owned(), resource)
    });
    let sub = (String::new(), "pods/ephemeralcontainers".to_owned());
    kinds.chain([sub]).collect()
}
