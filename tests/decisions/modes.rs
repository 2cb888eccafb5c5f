//! The modes: one evaluation, denied, told, written to the audit log alone, or not made at all.

use crate::common::{Answer, ask_with, create, namespace, pod, policy};
use crate::{container, is_silent, labelled, patched_paths, validate, windows, windows_os};
use serde_json::json;
use transom::decision::Endpoint;
use transom::facts::{Facts, NamespaceFacts};
use transom::mode::Mode;
use transom::policy::Policy;

/// Three ways to say a mode: for all namespaces, for one, and by the namespace's label.
fn ways(mode: Mode) -> Vec<(Policy, Facts)> {
    let name = mode.name();
    let other = if mode == Mode::Enforce {
        "\"off\""
    } else {
        "enforce"
    };
    vec![
        (policy(&format!("mode: {name:?}")), Facts::default()),
        (
            policy(&format!(
                "mode: {other}\nnamespaces: {{default: {{mode: {name:?}}}}}"
            )),
            Facts::default(),
        ),
        (
            policy(&format!(
                "mode: {other}\nnamespaces: {{default: {{mode: {other}}}}}"
            )),
            labelled(mode),
        ),
        (
            policy(&format!(
                "mode: {name:?}\nnamespaces: {{elsewhere: {{mode: {other}}}}}"
            )),
            namespace(NamespaceFacts::default()),
        ),
    ]
}

#[test]
fn modes_deliver_one_evaluation_in_four_ways() {
    let object = pod(windows(json!({
        "hostNetwork": true,
        "containers": [container("main", json!({
            "command": ["sh"],
            "securityContext": {"privileged": false},
        }))],
    })));
    let all = |answer: &Answer| {
        let mut codes: Vec<_> = [&answer.deny, &answer.warn]
            .into_iter()
            .flatten()
            .map(|f| f.split(' ').next().unwrap().to_owned())
            .collect();
        codes.sort();
        codes
    };
    for mode in Mode::ALL {
        for (policy, facts) in ways(mode) {
            let validated = ask_with(Endpoint::Validate, &create(&object), &policy, &facts);
            let mutated = ask_with(Endpoint::Mutate, &create(&object), &policy, &facts);
            let audit = |answer: &Answer| answer.response.get("auditAnnotations").cloned();
            match mode {
                Mode::Off => {
                    is_silent("off", &validated);
                    is_silent("off", &mutated);
                    assert_eq!((audit(&validated), audit(&mutated)), (None, None));
                }
                Mode::Audit => {
                    assert!(validated.allowed && mutated.allowed);
                    assert_eq!((&validated.patch, &mutated.patch), (&None, &None));
                    assert_eq!(validated.warnings(), [""; 0]);
                    assert_eq!(mutated.warnings(), [""; 0]);
                    assert_eq!(all(&validated), ["WIN113", "WIN201", "WIN504"]);
                    let audit = audit(&validated).unwrap();
                    assert_eq!(audit["mode"], "audit");
                    let findings = audit["findings"].as_str().unwrap();
                    assert!(
                        findings.contains("WIN201 deny spec.hostNetwork"),
                        "{findings}"
                    );
                }
                Mode::Warn => {
                    assert!(validated.allowed && mutated.allowed);
                    assert_eq!(all(&validated), ["WIN113", "WIN201", "WIN504"]);
                    assert_eq!(validated.warnings().len(), 4, "each one, and the evidence");
                    assert_eq!(mutated.warnings(), [""; 0]);
                    assert_eq!(patched_paths(&mutated), ["add /spec/tolerations"]);
                }
                Mode::Enforce => {
                    assert!(!validated.allowed && mutated.allowed);
                    assert_eq!(all(&validated), ["WIN113", "WIN201", "WIN504"]);
                    assert_eq!(
                        patched_paths(&mutated),
                        [
                            "add /spec/os",
                            "add /spec/tolerations",
                            "remove /spec/containers/0/securityContext/privileged",
                        ]
                    );
                }
            }
        }
    }
}

#[test]
fn warn_and_audit_never_deny_at_mutate() {
    let object = pod(windows_os(json!({"hostPID": true})));
    for mode in [Mode::Audit, Mode::Warn] {
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let answer = ask_with(
                endpoint,
                &create(&object),
                &Policy::default(),
                &labelled(mode),
            );
            assert!(answer.allowed);
            assert_eq!(answer.deny, ["WIN202 spec.hostPID"]);
            assert_eq!(!answer.warnings().is_empty(), mode == Mode::Warn);
        }
    }
}

/// What cannot be read is delivered by mode, too.
#[test]
fn modes_deliver_unreadable_objects() {
    let object = pod(json!({"hostNetwork": "yes"}));
    for (mode, warnings) in [
        (Mode::Off, 0),
        (Mode::Audit, 0),
        (Mode::Warn, 1),
        (Mode::Enforce, 0),
    ] {
        let (policy, facts) = (Policy::default(), labelled(mode));
        let validated = ask_with(Endpoint::Validate, &create(&object), &policy, &facts);
        assert_eq!(validated.allowed, mode != Mode::Enforce, "{mode:?}");
        assert_eq!(validated.warnings().len(), warnings, "{mode:?}");
        let mutated = ask_with(Endpoint::Mutate, &create(&object), &policy, &facts);
        assert!(mutated.allowed, "{mode:?}");
        assert_eq!(mutated.patch, None, "{mode:?}");
        assert_eq!(mutated.warnings(), [""; 0], "{mode:?}");
        let audit = validated.response.get("auditAnnotations");
        assert_eq!(audit.is_some(), mode != Mode::Off, "{mode:?}");
    }
    let mut service = object;
    service["kind"] = json!("Service");
    assert!(validate(&service).allowed, "a kind without pods");
}
