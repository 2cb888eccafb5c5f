//! Is it a Windows pod? Every piece of evidence alone, pieces against each other, what the
//! cluster knows; and the recordings once more with evidence of another sort.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)] // Outside of a test function clippy does not see a test.

mod common;

use std::collections::BTreeMap;

use common::{
    Answer, Expected, KINDS, ask, ask_with, create, detected, endpoint_of, expectations, merge,
    object_of, pod, pod_metadata_mut, pod_spec, pod_spec_mut, policy, recordings, spec_path,
};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::{Facts, ImageFacts, NamespaceFacts, NodeFacts, Platform, RuntimeClassFacts};
use transom::mode::Mode;
use transom::os::{Os, Source};
use transom::policy::Policy;

/// A piece of evidence: what is merged into the pod's metadata and spec.
struct Piece {
    what: &'static str,
    metadata: Value,
    spec: Value,
    source: Source,
}

fn piece(what: &'static str, source: Source, spec: Value) -> Piece {
    let metadata = json!({});
    Piece {
        what,
        metadata,
        spec,
        source,
    }
}

fn on_metadata(what: &'static str, source: Source, metadata: Value) -> Piece {
    Piece {
        what,
        metadata,
        spec: json!({}),
        source,
    }
}

impl Piece {
    fn of(&self, kind: &str) -> Value {
        let mut object = object_of(kind, self.spec.clone());
        merge(pod_metadata_mut(&mut object), &self.metadata);
        object
    }
}

fn container(fields: Value) -> Value {
    let mut container = json!({"name": "main", "image": "registry.example/app:1"});
    merge(&mut container, &fields);
    json!({"containers": [container]})
}

fn image(image: &str) -> Value {
    container(json!({"image": image}))
}

fn required(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": terms}}}})
}

fn preferred(preference: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
        [{"weight": 1, "preference": preference}]}}})
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

const OS: &str = "kubernetes.io/os";
const BETA: &str = "beta.kubernetes.io/os";
const BUILD: &str = "node.kubernetes.io/windows-build";

/// What makes a pod a Windows pod: decisive and acting evidence.
fn windows() -> Vec<Piece> {
    use Source::*;
    vec![
        piece("os.name", OsField, json!({"os": {"name": "windows"}})),
        piece(
            "selector",
            NodeSelector,
            json!({"nodeSelector": {OS: "windows"}}),
        ),
        piece(
            "beta selector",
            NodeSelector,
            json!({"nodeSelector": {BETA: "windows"}}),
        ),
        piece(
            "windowsOptions of the pod",
            WindowsOptions,
            json!({"securityContext": {"windowsOptions": {"runAsUserName": "ContainerUser"}}}),
        ),
        piece(
            "gMSA of the pod",
            WindowsOptions,
            json!({"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "a"}}}),
        ),
        piece(
            "gMSA's text",
            WindowsOptions,
            json!({"securityContext": {"windowsOptions": {"gmsaCredentialSpec": "{}"}}}),
        ),
        piece(
            "windowsOptions of a container",
            WindowsOptions,
            container(json!({"securityContext": {"windowsOptions": {"runAsUserName": "a"}}})),
        ),
        piece(
            "hostProcess false is set, too",
            WindowsOptions,
            container(json!({"securityContext": {"windowsOptions": {"hostProcess": false}}})),
        ),
        piece(
            "build selector",
            Build,
            json!({"nodeSelector": {BUILD: "10.0.20348"}}),
        ),
        piece(
            "build by required affinity",
            Build,
            required(json!([expression(BUILD, "In", &["10.0.20348"])])),
        ),
        piece(
            "some build",
            Build,
            required(json!([expression(BUILD, "Exists", &[])])),
        ),
        piece(
            "required affinity",
            RequiredAffinity,
            required(json!([expression(OS, "In", &["windows"])])),
        ),
        piece(
            "required affinity to the old label",
            RequiredAffinity,
            required(json!([expression(BETA, "In", &["windows"])])),
        ),
        piece(
            "every term",
            RequiredAffinity,
            required(json!([
                expression(OS, "In", &["windows"]),
                expression(BETA, "In", &["windows"])
            ])),
        ),
        piece(
            "certain tag",
            CertainImage,
            image("registry.example/app:1-ltsc2022"),
        ),
        piece(
            "nanoserver",
            CertainImage,
            image("registry.example/app:nanoserver-1809"),
        ),
        piece("ltsc2019", CertainImage, image("app:ltsc2019")),
        piece("ltsc2025", CertainImage, image("app:v1.ltsc2025")),
        piece(
            "windowsservercore",
            CertainImage,
            image("registry.example:5000/app:4-windowsservercore"),
        ),
        piece(
            "certain repository",
            CertainImage,
            image("mcr.microsoft.com/windows:20H2"),
        ),
        piece(
            "below a certain repository",
            CertainImage,
            image("mcr.microsoft.com/windows/servercore@sha256:0123"),
        ),
        piece(
            "the .NET Framework",
            CertainImage,
            image("mcr.microsoft.com/dotnet/framework/runtime:4.8"),
        ),
        piece(
            "an init container's image",
            CertainImage,
            json!({"initContainers": [{"name": "i", "image": "app:nanoserver"}]}),
        ),
        on_metadata(
            "the annotation",
            Declared,
            json!({"annotations": {"transom.dev/os": "windows"}}),
        ),
    ]
}

/// What makes a pod a Linux pod.
fn linux() -> Vec<Piece> {
    use Source::*;
    vec![
        piece("os.name", OsField, json!({"os": {"name": "linux"}})),
        piece(
            "selector",
            NodeSelector,
            json!({"nodeSelector": {OS: "linux"}}),
        ),
        piece(
            "beta selector",
            NodeSelector,
            json!({"nodeSelector": {BETA: "linux"}}),
        ),
        piece(
            "required affinity",
            RequiredAffinity,
            required(json!([expression(OS, "In", &["linux"])])),
        ),
        piece(
            "not on Windows",
            RequiredAffinity,
            required(json!([expression(OS, "NotIn", &["windows"])])),
        ),
        on_metadata(
            "the annotation",
            Declared,
            json!({"annotations": {"transom.dev/os": "linux"}}),
        ),
    ]
}

/// What may mean Windows.
fn hints() -> Vec<Piece> {
    use Source::*;
    let toleration = |key: &str, value: &str| json!({"tolerations": [{"key": key, "operator": "Equal", "value": value}]});
    let host_path = |path: &str| json!({"volumes": [{"name": "v", "hostPath": {"path": path}}]});
    vec![
        piece(
            "empty windowsOptions of the pod",
            WindowsOptions,
            json!({"securityContext": {"windowsOptions": {}}}),
        ),
        piece(
            "empty windowsOptions of a container",
            WindowsOptions,
            container(json!({"securityContext": {"windowsOptions": {}}})),
        ),
        piece(
            "preferred affinity",
            PreferredAffinity,
            preferred(expression(OS, "In", &["windows"])),
        ),
        on_metadata("label", PodLabel, json!({"labels": {OS: "windows"}})),
        piece("tag 1809", ImageHint, image("registry.example/app:1809")),
        piece("tag 20H2", ImageHint, image("registry.example/app:1-20H2")),
        piece(
            "repository windows",
            ImageHint,
            image("registry.example/windows-app:1"),
        ),
        piece("repository iis", ImageHint, image("registry.example/iis:1")),
        piece(
            "C:\\ in a command",
            WindowsText,
            container(json!({"command": ["C:\\app.exe"]})),
        ),
        piece(
            "cmd.exe",
            WindowsText,
            container(json!({"command": ["cmd.exe", "/c", "dir"]})),
        ),
        piece(
            "powershell.exe in the arguments",
            WindowsText,
            container(json!({"args": ["-c", "powershell.exe"]})),
        ),
        piece(
            "working directory",
            WindowsText,
            container(json!({"workingDir": "c:\\app"})),
        ),
        piece(
            "mount path",
            WindowsText,
            container(json!({"volumeMounts": [{"name": "v", "mountPath": "C:\\data"}]})),
        ),
        piece("pipe", WindowsText, host_path("\\\\.\\pipe\\docker_engine")),
        piece("drive", WindowsText, host_path("C:\\logs")),
        piece("KEP-116's taint", Toleration, toleration("os", "Win1809")),
        piece("EKS's taint", Toleration, toleration("os", "windows")),
        piece("OpenShift's taint", Toleration, toleration("os", "Windows")),
        piece(
            "GKE's taint",
            Toleration,
            toleration("node.kubernetes.io/os", "windows"),
        ),
        piece(
            "another taint",
            Toleration,
            toleration("kubernetes.io/os", "windows"),
        ),
    ]
}

/// What means nothing, however much it looks like evidence.
fn nothing() -> Vec<(&'static str, Value)> {
    vec![
        ("no evidence", json!({})),
        (
            "both in one term",
            required(json!([expression(OS, "In", &["linux", "windows"])])),
        ),
        (
            "terms are alternatives",
            required(json!([
                expression(OS, "In", &["windows"]),
                expression(OS, "In", &["linux"])
            ])),
        ),
        (
            "one term without the label",
            required(json!([
                expression(OS, "In", &["windows"]),
                expression("disk", "In", &["ssd"])
            ])),
        ),
        ("no terms", required(json!([]))),
        (
            "no build",
            required(json!([expression(BUILD, "DoesNotExist", &[])])),
        ),
        (
            "the label, whatever it says",
            required(json!([expression(OS, "Exists", &[])])),
        ),
        ("a third system", json!({"nodeSelector": {OS: "freebsd"}})),
        (
            "preferred Linux",
            preferred(expression(OS, "In", &["linux"])),
        ),
        (
            "tolerates everything",
            json!({"tolerations": [{"operator": "Exists"}]}),
        ),
        (
            "tolerates every value",
            json!({"tolerations": [{"key": "os", "operator": "Exists"}]}),
        ),
        ("nginx", image("nginx:1.27")),
        ("a word's end", image("team/hawaiis:1")),
        ("a port", image("registry.example:1809/app")),
        (
            "a runtime class that nobody knows",
            json!({"runtimeClassName": "windows"}),
        ),
        ("a node that nobody knows", json!({"nodeName": "windows-1"})),
        ("a pod of nothing", json!({"containers": []})),
    ]
}

const FLAW: &str = r#"{"hostNetwork": true}"#;

fn flawed(object: &Value) -> Value {
    let mut object = object.clone();
    merge(
        pod_spec_mut(&mut object),
        &serde_json::from_str(FLAW).unwrap(),
    );
    object
}

fn is_left_alone(what: &str, object: &Value, policy: &Policy, facts: &Facts) {
    for object in [object, &flawed(object)] {
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let answer = ask_with(endpoint, &create(object), policy, facts);
            assert!(answer.allowed, "{what}");
            assert_eq!(answer.findings(), [""; 0], "{what}");
            assert_eq!(answer.warnings(), [""; 0], "{what}");
            assert_eq!(answer.patch, None, "{what}");
            let annotations = answer.response.get("auditAnnotations");
            assert_eq!(annotations, None, "{what}");
        }
    }
}

/// It is gated, and a pod is placed.
fn is_treated_as_windows(what: &str, object: &Value, policy: &Policy, facts: &Facts) {
    let kind = object["kind"].as_str().unwrap();
    let bad = ask_with(Endpoint::Validate, &create(&flawed(object)), policy, facts);
    let path = format!("WIN201 {}.hostNetwork", spec_path(kind));
    assert_eq!(bad.deny, [path], "{what} {kind}");
    let good = ask_with(Endpoint::Validate, &create(object), policy, facts);
    assert!(
        good.allowed && good.warnings().is_empty(),
        "{what} {kind}: {:?}",
        good.findings()
    );
    let mutated = ask_with(Endpoint::Mutate, &create(object), policy, facts);
    assert!(
        mutated.allowed && mutated.warnings().is_empty(),
        "{what} {kind}"
    );
    let patched = mutated.patched(object);
    if ["Pod", "DaemonSet"].contains(&kind) {
        let spec = pod_spec(&patched);
        assert_eq!(spec["os"]["name"], "windows", "{what} {kind}");
        assert_eq!(spec["nodeSelector"][OS], "windows", "{what} {kind}");
        assert!(has_toleration(spec), "{what} {kind}");
    } else {
        assert_eq!(mutated.patch, None, "{what} {kind}");
    }
}

fn has_toleration(spec: &Value) -> bool {
    let wanted =
        json!({"key": "os", "operator": "Equal", "value": "Win1809", "effect": "NoSchedule"});
    let tolerations = spec["tolerations"].as_array();
    tolerations.is_some_and(|list| {
        list.contains(&wanted)
            || list
                .iter()
                .any(|t| t["key"] == "os" && t["value"] == "Win1809")
    })
}

/// It is told of WIN604 and no more.
fn is_only_hinted_at(what: &str, object: &Value, policy: &Policy, facts: &Facts) {
    let kind = object["kind"].as_str().unwrap();
    for object in [object, &flawed(object)] {
        let validated = ask_with(Endpoint::Validate, &create(object), policy, facts);
        assert!(validated.allowed, "{what} {kind}");
        assert_eq!(validated.deny, [""; 0], "{what} {kind}");
        assert_eq!(codes(&validated.warn), ["WIN604"], "{what} {kind}");
        let warnings = validated.warnings();
        assert_eq!(warnings.len(), 2, "{what}: the hint is told, too");
        assert!(
            warnings[1].starts_with("transom: maybe for Windows by "),
            "{}",
            warnings[1]
        );
        let mutated = ask_with(Endpoint::Mutate, &create(object), policy, facts);
        assert!(mutated.allowed, "{what} {kind}");
        assert_eq!(mutated.patch, None, "{what} {kind}");
        assert_eq!(mutated.warnings(), [""; 0], "{what} {kind}");
    }
}

fn codes(findings: &[String]) -> Vec<&str> {
    findings
        .iter()
        .map(|finding| finding.split(' ').next().unwrap())
        .collect()
}

#[test]
fn takes_decisive_and_acting_evidence_for_windows_in_every_kind() {
    let (policy, facts) = (Policy::default(), Facts::default());
    for piece in windows() {
        for kind in KINDS {
            let object = piece.of(kind);
            let found = detected(&create(&object), &policy, &facts);
            let want = (Some(Os::Windows), Some(piece.source));
            assert_eq!(found, want, "{} {kind}", piece.what);
            is_treated_as_windows(piece.what, &object, &policy, &facts);
        }
    }
}

#[test]
fn leaves_pods_with_evidence_for_linux_alone() {
    let (policy, facts) = (Policy::default(), Facts::default());
    for piece in linux() {
        for kind in KINDS {
            let object = piece.of(kind);
            let found = detected(&create(&object), &policy, &facts);
            let want = (Some(Os::Linux), Some(piece.source));
            assert_eq!(found, want, "{} {kind}", piece.what);
            is_left_alone(piece.what, &object, &policy, &facts);
        }
    }
}

#[test]
fn leaves_pods_with_hints_unpatched_and_warns_of_them() {
    let (policy, facts) = (Policy::default(), Facts::default());
    for piece in hints() {
        for kind in KINDS {
            let object = piece.of(kind);
            let found = detected(&create(&object), &policy, &facts);
            assert_eq!(found, (None, Some(piece.source)), "{} {kind}", piece.what);
            is_only_hinted_at(piece.what, &object, &policy, &facts);
        }
    }
}

#[test]
fn leaves_pods_without_evidence_alone() {
    let (policy, facts) = (Policy::default(), Facts::default());
    for (what, spec) in nothing() {
        for kind in KINDS {
            let object = object_of(kind, spec.clone());
            let found = detected(&create(&object), &policy, &facts);
            assert_eq!(found, (None, None), "{what} {kind}");
            is_left_alone(what, &object, &policy, &facts);
        }
    }
}

/// The annotation may stand on a workload itself, too.
#[test]
fn reads_the_annotation_of_the_object_and_of_its_template() {
    let (policy, facts) = (Policy::default(), Facts::default());
    for kind in KINDS {
        let mut object = object_of(kind, json!({}));
        object["metadata"]["annotations"] = json!({"transom.dev/os": "windows"});
        let found = detected(&create(&object), &policy, &facts);
        assert_eq!(found, (Some(Os::Windows), Some(Source::Declared)), "{kind}");
        is_treated_as_windows("on the object", &object, &policy, &facts);
        object["metadata"]["annotations"] = json!({"transom.dev/os": "Windows"});
        is_left_alone("a value that means nothing", &object, &policy, &facts);
    }
}

#[test]
fn takes_the_strongest_evidence_for_its_reason() {
    let mut spec = image("mcr.microsoft.com/windows/nanoserver:ltsc2022");
    let (policy, facts) = (Policy::default(), Facts::default());
    for (source, more) in [
        (Source::CertainImage, json!({})),
        (
            Source::RequiredAffinity,
            required(json!([expression(OS, "In", &["windows"])])),
        ),
        (
            Source::Build,
            json!({"nodeSelector": {BUILD: "10.0.20348"}}),
        ),
        (
            Source::WindowsOptions,
            json!({"securityContext": {"windowsOptions": {"runAsUserName": "a"}}}),
        ),
        (
            Source::NodeSelector,
            json!({"nodeSelector": {OS: "windows"}}),
        ),
        (Source::OsField, json!({"os": {"name": "windows"}})),
    ] {
        merge(&mut spec, &more);
        let found = detected(&create(&pod(spec.clone())), &policy, &facts);
        assert_eq!(found, (Some(Os::Windows), Some(source)));
    }
}

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
    ] {
        let mut object = pod(spec);
        merge(
            &mut object,
            &json!({"metadata": {"labels": {OS: "windows"}}}),
        );
        is_only_hinted_at(what, &object, &policy, &facts);
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

fn namespace(facts: NamespaceFacts) -> Facts {
    Facts {
        namespaces: [("default".to_owned(), facts)].into(),
        ..Facts::default()
    }
}

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
    let node = |os| NodeFacts { os };
    let class = |os| RuntimeClassFacts { os };
    let platforms = |list: &[Option<Os>]| ImageFacts {
        platforms: list.iter().map(|os| Platform { os: *os }).collect(),
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
         hint: {words: [redmond], tags: [w19]}}}",
    );
    for certain in ["team/win:1", "team/win/a:1", "a:1-w2k22"] {
        is_treated_as_windows(certain, &pod(image(certain)), &own, &facts);
    }
    for hint in ["a/redmond-b:1", "a:1-w19", "a:W19"] {
        is_only_hinted_at(hint, &pod(image(hint)), &own, &facts);
    }
    for neither in [
        "team/windows:1",
        "mcr.microsoft.com/windows:1",
        "a:ltsc2022",
        "a:w190",
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

/// The evidence is told in denials, warnings and the audit log alike.
#[test]
fn tells_the_evidence() {
    let (policy, facts) = (Policy::default(), Facts::default());
    for piece in windows() {
        let answer = ask_with(
            Endpoint::Validate,
            &create(&flawed(&piece.of("Pod"))),
            &policy,
            &facts,
        );
        let audit = answer.response["auditAnnotations"]["evidence"]
            .as_str()
            .unwrap();
        let (source, place) = audit.split_once(' ').unwrap();
        assert_eq!(source, piece.source.name(), "{}", piece.what);
        assert!(
            answer.message().contains(&format!("({place})")),
            "{}: {}",
            piece.what,
            answer.message()
        );
    }
    let warn = namespace(NamespaceFacts {
        mode: Some(Mode::Warn),
        ..NamespaceFacts::default()
    });
    let object = flawed(&pod(json!({"nodeSelector": {OS: "windows"}})));
    let answer = ask_with(Endpoint::Validate, &create(&object), &policy, &warn);
    let told = "transom: for Windows by spec.nodeSelector[\"kubernetes.io/os\"]: windows";
    assert_eq!(answer.warnings().last(), Some(&told));
}

// ── The recordings with other evidence ───────────────────────────────────────────────────────

const NEUTRAL: &str = "registry.example/team/app:1.0";
/// The build of the recordings' own images.
const CERTAIN: &str = "registry.example/team/app:1.0-ltsc2022";

fn has_pod(object: &Value) -> bool {
    KINDS.contains(&object["kind"].as_str().unwrap()) && pod_spec(object).is_object()
}

fn set_images(object: &mut Value, image: &str) {
    let spec = pod_spec_mut(object);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            container["image"] = json!(image);
        }
    }
}

/// Takes away everything but the images that speaks for an operating system.
fn strip(object: &mut Value) {
    fn options(owner: &mut Value) {
        if let Some(context) = owner["securityContext"].as_object_mut() {
            context.remove("windowsOptions");
        }
    }
    let spec = pod_spec_mut(object);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        spec[list]
            .as_array_mut()
            .into_iter()
            .flatten()
            .for_each(options);
    }
    options(spec);
    let spec = spec.as_object_mut().unwrap();
    for field in ["os", "affinity"] {
        spec.remove(field);
    }
    if let Some(selector) = spec.get_mut("nodeSelector") {
        for key in [OS, BETA, BUILD] {
            selector.as_object_mut().unwrap().remove(key);
        }
    }
    if let Some(tolerations) = spec.get_mut("tolerations") {
        tolerations
            .as_array_mut()
            .unwrap()
            .retain(|t| t["key"] != "os");
    }
}

fn objects_of(review: &mut Value) -> impl Iterator<Item = &mut Value> {
    let request = review["request"].as_object_mut().unwrap();
    request
        .iter_mut()
        .filter(|(key, value)| ["object", "oldObject"].contains(&key.as_str()) && !value.is_null())
        .map(|(_, object)| object)
}

/// The recordings of kinds with a pod, as values.
fn reviews() -> BTreeMap<String, Value> {
    recordings()
        .into_iter()
        .map(|(name, body)| (name, serde_json::from_slice::<Value>(&body).unwrap()))
        .filter(|(_, review)| has_pod(&review["request"]["object"]))
        .collect()
}

fn judged(name: &str, review: &Value) -> Answer {
    ask(endpoint_of(name), &serde_json::to_vec(review).unwrap())
}

/// The same findings; a `Value` has its keys in another order than the recording.
fn finds(name: &str, answer: &Answer, expected: &Expected) {
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        list
    };
    for (got, want) in [
        (&answer.deny, &expected.deny),
        (&answer.warn, &expected.warn),
        (&answer.repair, &expected.repair),
    ] {
        assert_eq!(sorted(got), sorted(want), "{name}");
    }
}

#[test]
fn recordings_with_neutral_images_get_the_same_answers() {
    let expectations = expectations();
    let mut count = 0;
    for (name, mut review) in reviews() {
        let before = judged(&name, &review);
        objects_of(&mut review).for_each(|object| set_images(object, NEUTRAL));
        let answer = judged(&name, &review);
        let expected = &expectations[&name];
        finds(&name, &answer, expected);
        assert_eq!(answer.patch, before.patch, "{name}");
        count += 1;
    }
    assert_eq!(count, 269);
}

/// Recordings that are about the very evidence that is taken away.
const ABOUT_EVIDENCE: &[(&str, &str)] = &[
    (
        "pod-create-bad-os-linux-winoptions",
        "windowsOptions against os=linux",
    ),
    (
        "pod-create-bad-os-name",
        "a name that is no operating system",
    ),
    (
        "pod-create-os-conflict-selector",
        "os=windows against a Linux selector",
    ),
    (
        "pod-create-win-hostprocess",
        "HostProcess is said in windowsOptions",
    ),
    (
        "pod-create-win-hostprocess-os",
        "HostProcess is said in windowsOptions",
    ),
    (
        "pod-create-bad-hostprocess-mixed",
        "HostProcess is said in windowsOptions",
    ),
];

/// What a recording without its decisive evidence is held to: the recording of the same pod that
/// has a selector only, or else (`os` is what the patch makes of it) its own line.
#[test]
fn recordings_with_an_image_as_their_only_evidence_get_the_answers_of_their_twins() {
    let expectations = expectations();
    let facts = Facts::default();
    let default = Policy::default();
    let (mut judged_all, mut left_out) = (0, Vec::new());
    for (name, mut review) in reviews() {
        let (base, end) = name.rsplit_once('.').unwrap();
        if ABOUT_EVIDENCE.iter().any(|(about, _)| *about == base) {
            left_out.push(base.to_owned());
            continue;
        }
        let body = serde_json::to_vec(&review).unwrap();
        if detected(&body, &default, &facts).0 != Some(Os::Windows) {
            continue;
        }
        let says_os = pod_spec(&review["request"]["object"])["os"]["name"] == "windows";
        objects_of(&mut review).for_each(|object| {
            strip(object);
            set_images(object, CERTAIN);
        });
        let object = review["request"]["object"].clone();
        let body = serde_json::to_vec(&review).unwrap();
        let found = detected(&body, &default, &facts);
        assert_eq!(
            found,
            (Some(Os::Windows), Some(Source::CertainImage)),
            "{name}"
        );

        let twin = format!("{}.{end}", base.replace("winos-", "win-"));
        let own = &expectations[&name];
        let mut expected = match expectations.get(&twin) {
            // The API server made a field of the twin's annotation, as nothing said os=windows.
            Some(_) if name == "pod-create-winos-apparmor-annotation.validating" => own.clone(),
            Some(twin) => twin.clone(),
            None => own.clone(),
        };
        let has_own_line_only = says_os && (twin == name || !expectations.contains_key(&twin));
        if has_own_line_only && end == "mutating" && !own.deny.is_empty() {
            // What the API server refuses beside os=windows is /validate's without it.
            expected.deny.clear();
            expected.warn.clear();
            expected.patch = match object["kind"].as_str() {
                Some("Pod" | "DaemonSet") => "toleration".to_owned(),
                _ => String::new(),
            };
        } else if has_own_line_only && !expected.patch.is_empty() {
            expected.patch = "os toleration".to_owned();
        }

        let answer = judged(&name, &review);
        finds(&name, &answer, &expected);
        let patched = answer.patched(&object);
        let spec = pod_spec(&patched);
        let says = |word| expected.patch.split(' ').any(|w| w == word);
        assert_eq!(spec["os"]["name"] == "windows", says("os"), "{name}: os");
        assert_eq!(
            has_toleration(spec),
            says("toleration"),
            "{name}: toleration"
        );
        // A DaemonSet's pod keeps the selector of its template, here none.
        let of_daemon_set = object["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet";
        let selector = says("toleration") && !of_daemon_set;
        assert_eq!(
            spec["nodeSelector"][OS] == "windows",
            selector,
            "{name}: selector"
        );
        judged_all += 1;
    }
    assert!(judged_all > 200, "{judged_all}");
    left_out.dedup();
    assert_eq!(left_out.len(), ABOUT_EVIDENCE.len(), "{left_out:?}");
}
