//! What the cluster and a registry know: labels of namespaces, nodes, runtime classes, images.

use crate::common::{KINDS, OS, ask_with, create, detected, namespace, object_of, pod};
use crate::pieces::hints;
use crate::{codes, flawed, image, is_left_alone, is_treated_as_windows, required};
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
    let node = |os| NodeFacts { os, build: None };
    let class = |os| RuntimeClassFacts { os };
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
        .into(),
        runtime_classes: [
            (named("win"), class(windows)),
            (named("lin"), class(linux)),
            (named("any"), class(None)),
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
