//! Tolerations of the taints that all Windows nodes share, where the configuration lets them be learnt.

use std::collections::BTreeSet;

use crate::common::{OS, ask_with, create, object_of, pod, policy};
use crate::{image_only, windows};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::{Facts, NodeFacts, Taint};
use transom::policy::Policy;

const LEARNING: &str = "placement: {learnTaints: true, tolerations: []}";

/// A node: its OS, and taints as kubectl writes them.
fn node(os: &str, taints: &[&str]) -> NodeFacts {
    let taints = taints.iter().map(|taint| {
        let (name, effect) = taint.rsplit_once(':').unwrap();
        let (key, value) = name.split_once('=').unwrap_or((name, ""));
        Taint {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        }
    });
    NodeFacts::new([(OS, os)], taints)
}

fn cluster(nodes: &[NodeFacts]) -> Facts {
    let nodes = nodes.iter().enumerate();
    Facts {
        nodes: nodes
            .map(|(i, node)| (format!("node-{i}"), node.clone()))
            .collect(),
        ..Facts::default()
    }
}

/// A cluster whose Windows nodes have these taints each.
fn windows_nodes(taints: &[&[&str]]) -> Facts {
    let nodes: Vec<_> = taints
        .iter()
        .map(|taints| node("windows", taints))
        .collect();
    cluster(&nodes)
}

/// The tolerations of an object after /mutate, as kubectl writes them. A second time changes nothing.
fn tolerated(object: &Value, policy: &Policy, facts: &Facts) -> BTreeSet<String> {
    let patched = ask_with(Endpoint::Mutate, &create(object), policy, facts).patched(object);
    let again = ask_with(Endpoint::Mutate, &create(&patched), policy, facts);
    assert_eq!(again.patch, None, "{patched}");
    let spec = match object["kind"].as_str() {
        Some("Pod") => &patched["spec"],
        _ => &patched["spec"]["template"]["spec"],
    };
    let all = spec["tolerations"].as_array().into_iter().flatten();
    let text =
        |toleration: &Value, field: &str| toleration[field].as_str().unwrap_or_default().to_owned();
    let written = all.map(|toleration| {
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|field| text(toleration, field));
        match operator.as_str() {
            "Exists" => format!("{key}:{effect} exists"),
            _ if value.is_empty() => format!("{key}:{effect}"),
            _ => format!("{key}={value}:{effect}"),
        }
    });
    let list: Vec<_> = written.collect();
    let set: BTreeSet<_> = list.iter().cloned().collect();
    assert_eq!(set.len(), list.len(), "twice: {list:?}");
    set
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn learns_the_taints_that_all_windows_nodes_share_and_that_name_windows() {
    const ALL: &[&str] = &["os=windows:NoSchedule"];
    for (what, nodes, want) in [
        ("one node", vec![ALL], ALL),
        ("two nodes", vec![ALL, ALL], ALL),
        ("one without", vec![ALL, &[]], &[]),
        ("another value", vec![ALL, &["os=Windows:NoSchedule"]], &[]),
        ("another effect", vec![ALL, &["os=windows:NoExecute"]], &[]),
        (
            "one has more",
            vec![ALL, &["os=windows:NoSchedule", "windows=sql:NoSchedule"]],
            ALL,
        ),
        (
            "several",
            vec![&["a=win:NoExecute", "os=windows:NoSchedule"]; 3],
            &["a=win:NoExecute", "os=windows:NoSchedule"],
        ),
        (
            "by the value",
            vec![&["a=Win1809:NoExecute"]],
            &["a=Win1809:NoExecute"],
        ),
        (
            "by the key",
            vec![&["example.com/windows=a:NoSchedule"]],
            &["example.com/windows=a:NoSchedule"],
        ),
        (
            "no value",
            vec![&["windows:NoSchedule"]],
            &["windows:NoSchedule"],
        ),
        (
            "it keeps nobody away",
            vec![&["os=windows:PreferNoSchedule"]],
            &[],
        ),
        (
            "it is there for something else",
            vec![&[
                "dedicated=sql:NoSchedule",
                "node.kubernetes.io/unschedulable:NoSchedule",
                "a=winter:NoSchedule",
            ]],
            &[],
        ),
        ("no node", vec![], &[]),
        // The builds of a cluster are not tainted alike.
        (
            "builds",
            vec![&["os=Win1809:NoSchedule"], &["os=Win2022:NoSchedule"]],
            &[],
        ),
    ] {
        let facts = windows_nodes(&nodes);
        let found = tolerated(&pod(image_only()), &policy(LEARNING), &facts);
        assert_eq!(found, set(want), "{what}");
    }
}

#[test]
fn learns_nothing_unless_it_is_asked_to() {
    let facts = windows_nodes(&[&["os=windows:NoSchedule"]]);
    for yaml in [
        "placement: {tolerations: []}",
        "placement: {tolerations: [], learnTaintKeys: [os]}",
    ] {
        let found = tolerated(&pod(image_only()), &policy(yaml), &facts);
        assert_eq!(found, set(&[]), "{yaml}");
    }
}

#[test]
fn learns_taints_of_listed_keys_whatever_they_are_called() {
    let listed = policy(
        "placement: {tolerations: [], learnTaints: true, learnTaintKeys: [dedicated, a.example/b]}",
    );
    let shared = [
        "dedicated=sql:NoSchedule",
        "a.example/b:NoExecute",
        "team=shop:NoSchedule",
    ];
    let facts = windows_nodes(&[&shared, &shared]);
    let found = tolerated(&pod(image_only()), &listed, &facts);
    assert_eq!(found, set(&shared[..2]));
    let facts = windows_nodes(&[&shared, &shared[1..]]);
    let found = tolerated(&pod(image_only()), &listed, &facts);
    assert_eq!(found, set(&shared[1..2]), "all have to have it");
}

/// Taints of Linux nodes, and of nodes that have not said what they are, count for nothing.
#[test]
fn looks_at_windows_nodes_only() {
    const TAINT: &[&str] = &["os=windows:NoSchedule"];
    let policy = policy(LEARNING);
    let mixed = cluster(&[node("windows", TAINT), node("linux", &[]), node("", &[])]);
    assert_eq!(tolerated(&pod(image_only()), &policy, &mixed), set(TAINT));
    let none = cluster(&[
        node("linux", TAINT),
        node("", TAINT),
        node("Windows", TAINT),
    ]);
    assert_eq!(tolerated(&pod(image_only()), &policy, &none), set(&[]));
    let linux = pod(json!({"nodeSelector": {OS: "linux"}}));
    assert_eq!(tolerated(&linux, &policy, &mixed), set(&[]));
}

#[test]
fn adds_to_what_is_configured_and_nothing_twice() {
    let facts = windows_nodes(&[&["os=windows:NoSchedule", "os=Win1809:NoSchedule"]]);
    for (placement, want) in [
        (
            "learnTaints: true",
            vec!["os=Win1809:NoSchedule", "os=windows:NoSchedule"],
        ),
        (
            "learnTaints: true, tolerations: [{key: os, operator: Exists}]",
            vec!["os: exists"],
        ),
        (
            "learnTaints: true, tolerations: [{key: os, operator: Exists, effect: NoExecute}]",
            vec![
                "os:NoExecute exists",
                "os=Win1809:NoSchedule",
                "os=windows:NoSchedule",
            ],
        ),
        (
            "learnTaints: true, tolerations: [{key: os, value: windows}, {key: o, value: windows}]",
            vec!["os=windows:", "o=windows:", "os=Win1809:NoSchedule"],
        ),
        // This one is for other pods.
        (
            "learnTaints: true, tolerations: [{key: os, operator: Exists, builds: [10.0.17763]}]",
            vec!["os=Win1809:NoSchedule", "os=windows:NoSchedule"],
        ),
    ] {
        let policy = policy(&format!("placement: {{{placement}}}"));
        let spec = json!({"containers": [{"name": "a", "image": "a:ltsc2022"}]});
        let found = tolerated(&pod(spec), &policy, &facts);
        assert_eq!(found, set(&want), "{placement}");
    }
}

#[test]
fn leaves_alone_what_a_pod_tolerates_already() {
    let facts = windows_nodes(&[&["os=windows:NoSchedule", "windows:NoExecute"]]);
    let both = ["os=windows:NoSchedule", "windows:NoExecute"];
    for (toleration, want) in [
        (json!({"operator": "Exists"}), vec![": exists"]),
        (
            json!({"key": "os", "value": "windows"}),
            vec!["os=windows:", both[1]],
        ),
        (
            json!({"key": "windows", "operator": "Exists"}),
            vec!["windows: exists", both[0]],
        ),
        (
            json!({"key": "os", "value": "linux"}),
            vec!["os=linux:", both[0], both[1]],
        ),
    ] {
        let object = pod(windows(json!({"tolerations": [toleration]})));
        let found = tolerated(&object, &policy(LEARNING), &facts);
        assert_eq!(found, set(&want), "{object}");
    }
}

#[test]
fn daemonsets_learn_and_other_templates_are_not_patched() {
    let facts = windows_nodes(&[&["os=windows:NoSchedule"]]);
    let policy = policy(LEARNING);
    for (kind, want) in [
        ("DaemonSet", vec!["os=windows:NoSchedule"]),
        ("Deployment", vec![]),
    ] {
        let object = object_of(kind, image_only());
        assert_eq!(tolerated(&object, &policy, &facts), set(&want), "{kind}");
    }
}

/// As nodes come, change and go.
#[test]
fn follows_the_nodes() {
    let policy = policy(LEARNING);
    let mut facts = Facts::default();
    let tainted = node("windows", &["os=windows:NoSchedule"]);
    let check = |facts: &Facts, want: &[&str]| {
        assert_eq!(tolerated(&pod(image_only()), &policy, facts), set(want));
    };
    check(&facts, &[]);
    facts.nodes.insert("a".to_owned(), tainted.clone());
    check(&facts, &["os=windows:NoSchedule"]);
    facts.nodes.insert("b".to_owned(), node("windows", &[]));
    check(&facts, &[]);
    facts.nodes.insert("b".to_owned(), tainted);
    check(&facts, &["os=windows:NoSchedule"]);
    facts.nodes.remove("a");
    check(&facts, &["os=windows:NoSchedule"]);
    facts.nodes.remove("b");
    check(&facts, &[]);
}
