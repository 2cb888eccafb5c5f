//! The JSON Schema: the committed copy, and what it lets through, as another program reads it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use transom::config;
use transom::policy::Policy;
use transom::rules;

use super::config as lines;

fn root(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// What an editor would say.
fn is_valid(text: &str) -> bool {
    let value: Value = serde_saphyr::from_str(text).unwrap();
    let validator = jsonschema::draft202012::new(config::schema()).unwrap();
    validator.is_valid(&value)
}

#[test]
fn the_committed_schema_is_the_programs() {
    let path = "docs/config.schema.json";
    let committed = fs::read_to_string(root(path)).unwrap_or_default();
    let want = format!("{:#}\n", config::schema());
    assert!(
        committed == want,
        "{path} is stale: transom schema > {path}"
    );
}

#[test]
fn it_is_a_schema() {
    assert!(jsonschema::draft202012::meta::is_valid(config::schema()));
}

/// What is accepted validates, and so does the example of every key.
#[test]
fn what_is_accepted_validates() {
    let example = fs::read_to_string(root("examples/config.yaml")).unwrap();
    assert!(is_valid(&example));
    for yaml in ACCEPTED {
        let text = lines(yaml);
        Policy::parse(&text).unwrap_or_else(|error| panic!("{yaml}: {error}"));
        assert!(is_valid(&text), "{yaml}");
    }
}

const ACCEPTED: [&str; 9] = [
    "",
    "profile: kep-116\nmode: \"off\"",
    "namespaces: {shop: {mode: warn}, a-1: {mode: audit}}",
    "rules: {WIN301: deny, run-as-user: repair, WIN504: \"off\"}",
    "exemptions: {namespaces: [], users: [\"system:node:a\"], groups: [a], runtimeClasses: [b]}",
    "ownedObjects: enforce\nhostProcess: {namespaces: [kube-system]}",
    "evidence: {acting: [pod-label], images: {certain: {repositories: [\"a.b:5000/c/d\"], tags: [x_y]}, hint: {words: [win-x/], tags: [20H2]}}}",
    "placement: {osLabelKey: example.com/os, tolerations: [], setPodOS: never, repair: false}",
    "placement: {tolerations: [{key: a.b/c, operator: Exists, effect: \"\", builds: [10.0.17763]}, {key: d, value: e_f}]}",
];

/// What the program refuses for its structure or a name, an editor marks as well.
#[test]
fn what_is_refused_does_not_validate() {
    for yaml in [
        "mdoe: warn",
        "mode: enforced",
        "mode:",
        "mode: [warn]",
        "profile: kep116",
        "rules: {WIN331: deny}",
        "rules: {WIN301: repair}",
        "rules: [WIN301]",
        "rules:",
        "namespaces: {shop: {}}",
        "namespaces: {Shop: {mode: warn}}",
        "namespaces: {shop: {mode: warn, os: windows}}",
        "exemptions: {users: jane}",
        "exemptions: {users: ['']}",
        "exemptions: {namespaces: [team-*]}",
        "hostProcess: {namespaces: [A]}",
        "evidence: {acting: [os-field]}",
        "evidence: {images: {hint: {words: [Windows]}}}",
        "evidence: {images: {hint: {tags: [win-10]}}}",
        "evidence: {images: {certain: {tags: ['win*']}}}",
        "evidence: {images: {certain: {repositories: ['reg.example:5000/win:1']}}}",
        "evidence: {images: {certain: {repositories: [reg.example/win/]}}}",
        "placement: {tolerations: [{value: a}]}",
        "placement: {tolerations: [{key: 'a b'}]}",
        "placement: {tolerations: [{key: a, value: 'b c'}]}",
        "placement: {tolerations: [{key: a, effect: noschedule}]}",
        "placement: {tolerations: [{key: a, builds: ['17763']}]}",
        "placement: {osLabelKey: ''}",
        "placement: {osLabelKey: 'a/b/c'}",
        "placement: {repair: maybe}",
        "placement: {setPodOs: never}",
    ] {
        let text = lines(yaml);
        assert!(Policy::parse(&text).is_err(), "{yaml}");
        assert!(!is_valid(&text), "{yaml}");
    }
    assert!(!is_valid("kind: Config"));
    assert!(!is_valid("apiVersion: transom.dev/v1\nkind: Config"));
}

/// What an editor shows: words for every key, each rule by both names, its actions, defaults.
#[test]
fn every_key_is_described_and_has_its_default() {
    fn described(schema: &Value, path: &str) {
        for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{key}");
            assert!(schema["description"].is_string(), "{path}");
            described(schema, &path);
            described(&schema["items"], &path);
            described(&schema["additionalProperties"], &path);
        }
        if schema["type"] == "object" && schema["properties"].is_object() {
            assert_eq!(schema["additionalProperties"], false, "{path}");
        }
    }
    let schema = config::schema();
    described(schema, "");
    assert!(schema["title"].is_string() && schema["$id"].is_string());
    assert_eq!(schema["properties"]["mode"]["default"], "enforce");
    let placement = &schema["properties"]["placement"]["properties"];
    assert_eq!(placement["osLabelKey"]["default"], "kubernetes.io/os");
    let properties = schema["properties"]["rules"]["properties"]
        .as_object()
        .unwrap();
    assert_eq!(properties.len(), 2 * rules::all().count());
    for rule in rules::all() {
        for name in [rule.code, rule.name] {
            let want = match rule.is_repairable() {
                true => json!(["off", "warn", "repair", "deny"]),
                false => json!(["off", "warn", "deny"]),
            };
            assert_eq!(properties[name]["enum"], want, "{name}");
        }
    }
}
