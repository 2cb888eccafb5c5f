//! What the cluster and a registry know: labels of namespaces, nodes, runtime classes, images.

use crate::common::{KINDS, OS, ask_with, create, detected, namespace, object_of, pod, policy};
use crate::pieces::hints;
use crate::{BETA, BUILD, codes, flawed, image, is_left_alone, is_treated_as_windows, required};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::{Facts, ImageFacts, NamespaceFacts, NodeFacts, Platform, RuntimeClassFacts};
use transom::os::{Os, Source};
use transom::policy::Policy;

#[test]
fn takes_the_namespace_label_for_the_operators_intent() {
    let policy = Policy::default();
    let windows = namespace(NamespaceFacts::from_labels([("transom.dev/os", "windows")]));
    let linux = namespace(NamespaceFacts::from_labels([("transom.dev/os", "linux")]));
    for kind in KINDS {
        let plain = object_of(kind, json!({}));
        let found = detected(&create(&plain), &policy, &windows);
        assert_eq!(found, (Some(Os::Windows), Some(Source::Declared)));
        is_treated_as_windows("label", &plain, &policy, &windows);
        is_left_alone("label", &plain, &policy, &linux);
    }
    let denied = ask_with(
        Endpoint::Validate,
        &create(&flawed(&pod(json!({})))),
        &policy,
        &windows,
    );
    let told = "label transom.dev/os: windows of namespace default";
    assert!(denied.message().contains(told), "{}", denied.message());
    for hint in hints() {
        is_left_alone(hint.what, &hint.of("Pod"), &policy, &linux);
        is_treated_as_windows(hint.what, &hint.of("Pod"), &policy, &windows);
    }
    let elsewhere = Facts {
        namespaces: [(
            "other".to_owned(),
            NamespaceFacts::from_labels([("transom.dev/os", "windows")]),
        )]
        .into(),
        ..Facts::default()
    };
    is_left_alone("another namespace", &pod(json!({})), &policy, &elsewhere);
}

/// Nodes, runtime classes and images that the cluster or a registry knows.
fn known() -> Facts {
    let node = |os| NodeFacts {
        os,
        ..NodeFacts::default()
    };
    let class = |selector: &[(&str, &str)]| RuntimeClassFacts {
        node_selector: selector
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..RuntimeClassFacts::default()
    };
    let platforms = |list: &[Option<Os>]| ImageFacts {
        platforms: list
            .iter()
            .map(|os| Platform {
                os: *os,
                build: None,
            })
            .collect(),
    };
    let (windows, linux) = (Some(Os::Windows), Some(Os::Linux));
    let named = |name: &str| name.to_owned();
    Facts {
        nodes: [
            (named("win-1"), node(windows)),
            (named("lin-1"), node(linux)),
            (named("new-1"), node(None)),
        ]
        .into_iter()
        .collect(),
        runtime_classes: [
            (named("win"), class(&[(OS, "windows"), ("disk", "ssd")])),
            (named("lin"), class(&[(OS, "linux")])),
            (named("any"), class(&[])),
            (named("beta"), class(&[(BETA, "windows")])),
            (named("own"), class(&[("example.com/os", "windows")])),
            (named("build"), class(&[(BUILD, "10.0.20348")])),
            (
                named("both"),
                class(&[(OS, "linux"), (BUILD, "10.0.20348")]),
            ),
            (named("upper"), class(&[(OS, "Windows")])),
        ]
        .into(),
        images: [
            (named("team/win:1"), platforms(&[windows, windows])),
            (named("team/lin:1"), platforms(&[linux, linux])),
            (named("team/both:1"), platforms(&[linux, windows])),
            (named("team/other:1"), platforms(&[windows, None])),
            (named("team/none:1"), platforms(&[])),
        ]
        .into(),
        ..Facts::default()
    }
}

fn on_node(name: &str) -> Value {
    required(json!([{"matchFields":
        [{"key": "metadata.name", "operator": "In", "values": [name]}]}]))
}

/// Terms are alternatives: a pod that may go to nodes of either system is not for Windows.
#[test]
fn leaves_pods_for_nodes_of_both_systems_alone() {
    let facts = known();
    for names in [
        ["win-1", "lin-1"],
        ["lin-1", "win-1"],
        ["win-1", "elsewhere"],
    ] {
        let fields = |name: &str| {
            json!({"matchFields":
            [{"key": "metadata.name", "operator": "In", "values": [name]}]})
        };
        for terms in [
            json!([fields(names[0]), fields(names[1])]),
            json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": names}]}]),
        ] {
            let object = pod(required(terms));
            is_left_alone(names[1], &object, &Policy::default(), &facts);
        }
    }
}

#[test]
fn takes_what_the_cluster_and_the_registry_know_for_evidence() {
    let (policy, facts) = (Policy::default(), known());
    let class = |name: &str| json!({"runtimeClassName": name});
    for (source, windows, linux) in [
        (
            Source::NodeName,
            json!({"nodeName": "win-1"}),
            json!({"nodeName": "lin-1"}),
        ),
        (Source::NodeName, on_node("win-1"), on_node("lin-1")),
        (Source::RuntimeClass, class("win"), class("lin")),
        (Source::Registry, image("team/win:1"), image("team/lin:1")),
    ] {
        for kind in KINDS {
            let (windows, linux) = (
                object_of(kind, windows.clone()),
                object_of(kind, linux.clone()),
            );
            let found = detected(&create(&windows), &policy, &facts);
            assert_eq!(found, (Some(Os::Windows), Some(source)), "{kind}");
            is_treated_as_windows(source.name(), &windows, &policy, &facts);
            let found = detected(&create(&linux), &policy, &facts);
            assert_eq!(found, (Some(Os::Linux), Some(source)), "{kind}");
            is_left_alone(source.name(), &linux, &policy, &facts);
        }
    }
    for spec in [
        json!({"nodeName": "new-1"}),
        on_node("new-1"),
        class("any"),
        class("own"),
        class("both"),
        class("upper"),
        class("unknown"),
        image("team/both:1"),
        image("team/other:1"),
        image("team/none:1"),
        image("team/unknown:1"),
    ] {
        is_left_alone("ambiguous", &pod(spec), &policy, &facts);
    }
}

#[test]
fn reads_the_node_selector_of_a_runtime_class_as_that_of_a_pod() {
    let (usual, facts) = (Policy::default(), known());
    let own = policy("placement: {osLabelKey: example.com/os}");
    for (name, policy) in [("beta", &usual), ("build", &usual), ("own", &own)] {
        for kind in KINDS {
            let object = object_of(kind, json!({"runtimeClassName": name}));
            let found = detected(&create(&object), policy, &facts);
            let want = (Some(Os::Windows), Some(Source::RuntimeClass));
            assert_eq!(found, want, "{name} in {kind}");
        }
    }
}

#[test]
fn warns_where_known_facts_contradict_a_selector() {
    let (policy, facts) = (Policy::default(), known());
    for (spec, selector) in [
        (json!({"nodeName": "win-1"}), "linux"),
        (json!({"nodeName": "lin-1"}), "windows"),
        (json!({"runtimeClassName": "win"}), "linux"),
        (json!({"runtimeClassName": "lin"}), "windows"),
        (image("team/win:1"), "linux"),
        (image("team/lin:1"), "windows"),
    ] {
        let mut object = pod(spec);
        object["spec"]["nodeSelector"] = json!({OS: selector});
        let validated = ask_with(Endpoint::Validate, &create(&object), &policy, &facts);
        assert_eq!(codes(&validated.warn), ["WIN601"], "{object}");
        assert!(validated.allowed);
        let mutated = ask_with(Endpoint::Mutate, &create(&object), &policy, &facts);
        assert_eq!(mutated.patch, None, "{object}");
    }
}
