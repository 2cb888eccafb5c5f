//! What the accounts of the chart may do, as the API server sees it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::chart::{CHART, helm};
use crate::cluster::Cluster;
use crate::kubectl::Namespace;

tests![the_accounts_of_the_chart_may_do_what_is_written_here_and_nothing_else];

/// Release, namespace, and the account of the replicas.
const NAME: &str = "transom-rights";
/// The account of `helm test`.
const TEST: &str = "transom-rights-test";

/// Replicas are no part of it: only accounts and roles are made.
fn the_accounts_of_the_chart_may_do_what_is_written_here_and_nothing_else(cluster: &Cluster) {
    let here = cluster.namespace(NAME, &[]);
    let there = cluster.namespace("rights-elsewhere", &[]);
    let args = ["template", NAME, CHART, "--namespace", NAME];
    let rendered = helm(cluster, here.files(), &args).unwrap();
    let rendered: Vec<Value> = serde_saphyr::from_multiple(&rendered).unwrap();
    let is_of_rbac = |object: &&Value| {
        let kind = object["kind"].as_str().unwrap_or_default();
        kind == "ServiceAccount" || kind.contains("Role")
    };
    let items: Vec<_> = rendered.iter().filter(is_of_rbac).collect();
    here.create(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());

    let mut all = String::new();
    for (account, place) in [(NAME, &here), (NAME, &there), (TEST, &here)] {
        all += &format!("{account} in {}:\n", place.name());
        let everybodys = rights("default", place);
        for right in rights(account, place).difference(&everybodys) {
            all += &format!("- {right}\n");
        }
    }
    insta::assert_snapshot!("rights", all);

    let mutating = "mutatingwebhookconfigurations/transom-rights";
    let validating = "validatingwebhookconfigurations/transom-rights";
    for (expected, verb, what, place) in [
        ("yes", "get", "secrets/transom-rights-ca", &here),
        ("yes", "create", "secrets/transom-rights-ca", &here),
        ("no", "get", "secrets/transom-rights-ca", &there),
        ("no", "delete", "secrets/transom-rights-ca", &here),
        ("no", "get", "secrets/another", &here),
        ("no", "create", "secrets/another", &here),
        ("no", "create", "secrets", &here),
        ("no", "list", "secrets", &here),
        ("yes", "patch", mutating, &here),
        ("yes", "patch", validating, &here),
        ("no", "update", mutating, &here),
        ("no", "delete", validating, &here),
        (
            "no",
            "patch",
            "mutatingwebhookconfigurations/another",
            &here,
        ),
        ("no", "create", "validatingwebhookconfigurations", &here),
        ("no", "list", "mutatingwebhookconfigurations", &here),
        ("yes", "watch", "namespaces", &there),
        ("no", "patch", "namespaces", &there),
        ("no", "get", "configmaps/transom-rights-config", &here),
        ("no", "get", "pods", &there),
        ("no", "impersonate", "users", &there),
    ] {
        let told = can_i(NAME, place, &[verb, what]);
        assert_eq!(told.trim(), expected, "{verb} {what} in {}", place.name());
    }
}

/// What an account may do in a namespace and in the cluster, a line for each rule.
fn rights(account: &str, place: &Namespace<'_>) -> BTreeSet<String> {
    let told = can_i(account, place, &["--list", "--no-headers"]);
    let in_words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    told.lines().map(in_words).collect()
}

fn can_i(account: &str, place: &Namespace<'_>, args: &[&str]) -> String {
    let account = format!("--as=system:serviceaccount:{NAME}:{account}");
    let told = place.kubectl(&[&["auth", "can-i", &account], args].concat());
    // The code for no is 1.
    assert!(matches!(told.code, Some(0 | 1)), "{told}");
    told.stdout
}
