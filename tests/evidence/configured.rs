//! What the configuration makes evidence: hints that act, images, labels, taints.

use crate::common::{KINDS, OS, ask_with, create, detected, pod, policy};
use crate::pieces::hints;
use crate::{codes, image, is_left_alone, is_only_hinted_at, is_treated_as_windows};
use serde_json::json;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::os::{Os, Source};
use transom::policy::Policy;

#[test]
fn lets_the_hints_act_that_the_configuration_names() {
    let facts = Facts::default();
    for hint in hints() {
        let name = match hint.source {
            Source::WindowsOptions => "windows-options",
            Source::PreferredAffinity => "preferred-affinity",
            Source::PodLabel => "pod-label",
            Source::ImageHint => "image-hint",
            Source::WindowsText => "windows-text",
            Source::Toleration => "toleration",
            other => panic!("{other:?} is no hint"),
        };
        let acting = policy(&format!("evidence: {{acting: [{name}]}}"));
        for kind in KINDS {
            is_treated_as_windows(hint.what, &hint.of(kind), &acting, &facts);
        }
        let others: Vec<_> = [
            "preferred-affinity",
            "pod-label",
            "image-hint",
            "toleration",
        ]
        .into_iter()
        .filter(|other| *other != name)
        .collect();
        let others = policy(&format!("evidence: {{acting: [{}]}}", others.join(", ")));
        is_only_hinted_at(hint.what, &hint.of("Pod"), &others, &facts);
    }
}

#[test]
fn reads_the_lists_of_images_from_the_configuration() {
    let facts = Facts::default();
    let own = policy(
        "evidence: {images: {certain: {repositories: [team/win], tags: [w2k]}, \
         hint: {words: [redmond], tags: [w19]}, linux: {repositories: [a/redmond]}}}",
    );
    for certain in [
        "team/win:1",
        "team/win/a:1",
        "a:1-w2k22",
        "mirror.corp/team/win:1",
    ] {
        is_treated_as_windows(certain, &pod(image(certain)), &own, &facts);
    }
    for hint in ["a/redmond-b:1", "a:1-w19", "a:W190"] {
        is_only_hinted_at(hint, &pod(image(hint)), &own, &facts);
    }
    for neither in [
        "team/windows:1",
        "mcr.microsoft.com/windows:1",
        "a:ltsc2022",
        "a:w19a",
        "a/redmond:1-w2k-w19",
        "a/redmond/b:1",
        "redmond.corp/a:1",
        "dockurr/windows",
    ] {
        is_left_alone(neither, &pod(image(neither)), &own, &facts);
    }
}

#[test]
fn takes_the_label_that_placement_writes_for_evidence() {
    let facts = Facts::default();
    let own = policy("placement: {osLabelKey: example.com/os}");
    let windows = json!({"nodeSelector": {"example.com/os": "windows"}});
    let body = create(&pod(windows));
    let found = detected(&body, &own, &facts);
    assert_eq!(found, (Some(Os::Windows), Some(Source::NodeSelector)));
    let linux = pod(json!({"nodeSelector": {"example.com/os": "linux"}}));
    is_left_alone("own label", &linux, &own, &facts);
    let both = pod(json!({"nodeSelector": {"example.com/os": "linux", OS: "windows"}}));
    let answer = ask_with(Endpoint::Validate, &create(&both), &own, &facts);
    assert_eq!(codes(&answer.deny), ["WIN601"]);
}

#[test]
fn takes_the_configured_taints_for_windows_ones() {
    let facts = Facts::default();
    let own = policy("placement: {tolerations: [{key: pool, value: win, effect: NoSchedule}]}");
    let pool = pod(json!({"tolerations": [{"key": "pool", "operator": "Equal", "value": "win"}]}));
    is_only_hinted_at("own taint", &pool, &own, &facts);
    is_left_alone("not configured", &pool, &Policy::default(), &facts);
}
