//! Every piece of evidence alone, in every kind; which one is told, and where.

use crate::common::{KINDS, OS, ask_with, create, detected, merge, namespace, object_of, pod};
use crate::pieces::{hints, linux, nothing, windows};
use crate::{
    BUILD, expression, flawed, image, is_left_alone, is_only_hinted_at, is_treated_as_windows,
    required,
};
use serde_json::json;
use transom::decision::Endpoint;
use transom::facts::{Facts, NamespaceFacts};
use transom::mode::Mode;
use transom::os::{Os, Source};
use transom::policy::Policy;

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
