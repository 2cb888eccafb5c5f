//! Pieces of evidence against each other: what wins, what is denied, what is told.

use crate::common::{
    KINDS, OS, ask_with, create, detected, merge, namespace, object_of, pod, pod_metadata_mut,
    pod_spec_mut, policy, spec_path,
};
use crate::pieces::{hints, linux, windows};
use crate::{
    BETA, codes, container, expression, image, is_left_alone, is_only_hinted_at, required,
};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::{Facts, NamespaceFacts};
use transom::os::{Os, Source};
use transom::policy::Policy;

#[test]
fn takes_counter_evidence_against_hints_only() {
    let (policy, facts) = (Policy::default(), Facts::default());
    let counter = [
        (
            "/proc",
            json!({"volumes": [{"name": "p", "hostPath": {"path": "/proc"}}]}),
        ),
        (
            "/sys/fs",
            json!({"volumes": [{"name": "p", "hostPath": {"path": "/sys/fs"}}]}),
        ),
        (
            "capabilities",
            container(json!({"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}})),
        ),
        (
            "huge pages",
            container(json!({"resources": {"limits": {"hugepages-2Mi": "2Mi"}}})),
        ),
        (
            "/dev/kvm",
            json!({"volumes": [{"name": "p", "hostPath": {"path": "/dev/kvm"}}]}),
        ),
    ];
    for (what, against) in counter {
        for kind in KINDS {
            let mut object = object_of(kind, against.clone());
            merge(
                pod_metadata_mut(&mut object),
                &json!({"labels": {OS: "windows"}}),
            );
            is_left_alone(what, &object, &policy, &facts);
            pod_spec_mut(&mut object)["nodeSelector"] = json!({OS: "windows"});
            let found = detected(&create(&object), &policy, &facts);
            assert_eq!(found.0, Some(Os::Windows), "{what} {kind}");
        }
    }
    for (what, spec) in [
        (
            "dropped",
            container(json!({"securityContext": {"capabilities": {"add": [], "drop": ["ALL"]}}})),
        ),
        (
            "/process",
            json!({"volumes": [{"name": "p", "hostPath": {"path": "/process"}}]}),
        ),
        (
            "not privileged",
            container(json!({"securityContext": {"privileged": false}})),
        ),
        (
            "empty options",
            container(json!({"securityContext": {"seLinuxOptions": {}}})),
        ),
        (
            "a program without a directory",
            container(json!({"command": ["app", "/bin/sh"]})),
        ),
        ("an argument", container(json!({"args": ["/bin/sh"]}))),
        ("/binary", container(json!({"command": ["/binary"]}))),
    ] {
        let mut object = pod(spec);
        merge(
            &mut object,
            &json!({"metadata": {"labels": {OS: "windows"}}}),
        );
        is_only_hinted_at(what, &object, &policy, &facts);
    }
}

/// Fields that Linux pods have often, and Windows pods by mistake: they silence a hint that only warns.
/// Where hints act, they are findings.
#[test]
fn takes_settings_of_linux_against_hints_that_do_not_act() {
    let facts = Facts::default();
    let acting = policy("evidence: {acting: [pod-label]}");
    let scc = json!({"metadata": {"annotations": {"openshift.io/scc": "restricted-v2"}}});
    for (what, against, is_of_scc, code) in [
        (
            "user of the pod",
            json!({"securityContext": {"runAsUser": 1000}}),
            true,
            "WIN101",
        ),
        (
            "user of a container",
            container(json!({"securityContext": {"runAsUser": 0}})),
            true,
            "WIN101",
        ),
        (
            "group",
            json!({"securityContext": {"fsGroup": 1000}}),
            true,
            "WIN106",
        ),
        (
            "SELinux",
            json!({"securityContext": {"seLinuxOptions": {"level": "s0"}}}),
            true,
            "WIN108",
        ),
        (
            "SELinux of a container",
            container(json!({"securityContext": {"seLinuxOptions": {"level": "s0"}}})),
            true,
            "WIN108",
        ),
        (
            "privileged",
            container(json!({"securityContext": {"privileged": true}})),
            false,
            "WIN113",
        ),
        (
            "/bin/sh",
            container(json!({"command": ["/bin/sh", "-c", "x"]})),
            false,
            "WIN504",
        ),
        (
            "/usr/local/bin/app",
            container(
                json!({"command": ["/usr/local/bin/app"], "securityContext": {"procMount": "Unmasked"}}),
            ),
            false,
            "WIN114",
        ),
    ] {
        for kind in KINDS {
            let mut object = object_of(kind, against.clone());
            let label = json!({"labels": {OS: "windows"}});
            merge(pod_metadata_mut(&mut object), &label);
            is_left_alone(what, &object, &Policy::default(), &facts);
            let found = detected(&create(&object), &acting, &facts);
            assert_eq!(found.0, Some(Os::Windows), "{what} {kind}");
            let validated = ask_with(Endpoint::Validate, &create(&object), &acting, &facts);
            let findings = validated.findings();
            assert!(
                findings.iter().any(|finding| finding.contains(code)),
                "{what} {kind}: {findings:?}"
            );
        }
        let mut object = pod(against);
        let label = json!({"metadata": {"labels": {OS: "windows"}}});
        merge(&mut object, &label);
        merge(&mut object, &scc);
        match is_of_scc {
            true => is_only_hinted_at(what, &object, &Policy::default(), &facts),
            false => is_left_alone(what, &object, &Policy::default(), &facts),
        }
    }
}

#[test]
fn denies_contradictions_between_decisive_signals() {
    let (policy, facts) = (Policy::default(), Facts::default());
    for (what, spec, at) in [
        (
            "os windows, selector linux",
            json!({"os": {"name": "windows"}, "nodeSelector": {OS: "linux"}}),
            "nodeSelector[\"kubernetes.io/os\"]",
        ),
        (
            "os linux, selector windows",
            json!({"os": {"name": "linux"}, "nodeSelector": {OS: "windows"}}),
            "nodeSelector[\"kubernetes.io/os\"]",
        ),
        (
            "os windows, old selector linux",
            json!({"os": {"name": "windows"}, "nodeSelector": {BETA: "linux"}}),
            "nodeSelector[\"beta.kubernetes.io/os\"]",
        ),
        (
            "both selectors",
            json!({"nodeSelector": {OS: "windows", BETA: "linux"}}),
            "nodeSelector[\"beta.kubernetes.io/os\"]",
        ),
        (
            "both selectors, the other way round",
            json!({"nodeSelector": {OS: "linux", BETA: "windows"}}),
            "nodeSelector[\"beta.kubernetes.io/os\"]",
        ),
        (
            "capital letter",
            json!({"os": {"name": "Windows"}}),
            "os.name",
        ),
        ("neither", json!({"os": {"name": "freebsd"}}), "os.name"),
    ] {
        for kind in KINDS {
            let object = object_of(kind, spec.clone());
            let validated = ask_with(Endpoint::Validate, &create(&object), &policy, &facts);
            let want = format!("WIN601 {}.{at}", spec_path(kind));
            assert_eq!(validated.deny, [want], "{what} {kind}");
            let mutated = ask_with(Endpoint::Mutate, &create(&object), &policy, &facts);
            assert!(mutated.allowed, "{what} {kind}");
            assert_eq!(mutated.patch, None, "{what} {kind}");
            assert_eq!(mutated.warnings(), [""; 0], "{what} {kind}");
        }
    }
}

#[test]
fn warns_of_acting_evidence_against_stronger_or_equal_signals() {
    let (policy, facts) = (Policy::default(), Facts::default());
    let affinity = |os: &str| required(json!([expression(OS, "In", &[os])]));
    let with = |mut spec: Value, more: Value| {
        merge(&mut spec, &more);
        spec
    };
    let certain = image("app:ltsc2022");
    for (what, spec, os) in [
        (
            "certain image on Linux nodes",
            with(certain.clone(), json!({"nodeSelector": {OS: "linux"}})),
            Some(Os::Linux),
        ),
        (
            "certain image in a Linux pod",
            with(certain.clone(), json!({"os": {"name": "linux"}})),
            Some(Os::Linux),
        ),
        (
            "windowsOptions in a Linux pod",
            json!({"os": {"name": "linux"}, "securityContext": {"windowsOptions": {"hostProcess": true}}}),
            Some(Os::Linux),
        ),
        (
            "affinity to Linux in a Windows pod",
            with(affinity("linux"), json!({"os": {"name": "windows"}})),
            Some(Os::Windows),
        ),
        (
            "affinity to Linux beside a Windows selector",
            with(
                affinity("linux"),
                json!({"nodeSelector": {BETA: "windows"}}),
            ),
            Some(Os::Windows),
        ),
        (
            "certain image with affinity to Linux",
            with(certain, affinity("linux")),
            None,
        ),
    ] {
        for kind in KINDS {
            let object = object_of(kind, spec.clone());
            assert_eq!(
                detected(&create(&object), &policy, &facts).0,
                os,
                "{what} {kind}"
            );
            let validated = ask_with(Endpoint::Validate, &create(&object), &policy, &facts);
            assert!(validated.allowed, "{what} {kind}");
            assert_eq!(codes(&validated.warn), ["WIN601"], "{what} {kind}");
            let warnings = validated.warnings().join("\n");
            assert!(warnings.contains(" against "), "{what}: {warnings}");
            let mutated = ask_with(Endpoint::Mutate, &create(&object), &policy, &facts);
            assert_eq!(mutated.patch, None, "{what} {kind}");
            assert_eq!(mutated.warnings(), [""; 0], "{what} {kind}");
        }
    }
}

#[test]
fn leaves_hints_against_linux_signals_unsaid() {
    let (policy, facts) = (Policy::default(), Facts::default());
    for hint in hints() {
        for against in linux() {
            let mut object = hint.of("Deployment");
            merge(pod_metadata_mut(&mut object), &against.metadata);
            merge(pod_spec_mut(&mut object), &against.spec);
            let what = format!("{} beside {}", hint.what, against.what);
            is_left_alone(&what, &object, &policy, &facts);
        }
    }
}

/// Class 9, the operator's intent, in both places and both directions.
#[test]
fn lets_stronger_evidence_beat_the_declared_os_in_silence() {
    let policy = Policy::default();
    for (declared, pieces) in [("linux", windows()), ("windows", linux())] {
        for piece in pieces.into_iter().filter(|p| p.source != Source::Declared) {
            let mut by_annotation = piece.of("Pod");
            merge(
                &mut by_annotation,
                &json!({"metadata": {"annotations": {"transom.dev/os": declared}}}),
            );
            let none = Facts::default();
            let label = namespace(NamespaceFacts::from_labels([("transom.dev/os", declared)]));
            for (object, facts) in [(by_annotation, none), (piece.of("Pod"), label)] {
                let body = create(&object);
                let found = detected(&body, &policy, &facts);
                let os = if declared == "linux" {
                    Os::Windows
                } else {
                    Os::Linux
                };
                assert_eq!(found, (Some(os), Some(piece.source)), "{}", piece.what);
                let validated = ask_with(Endpoint::Validate, &body, &policy, &facts);
                assert_eq!(validated.findings(), [""; 0], "{}", piece.what);
            }
        }
    }
}
