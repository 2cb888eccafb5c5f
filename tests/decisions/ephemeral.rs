//! Ephemeral containers, as `kubectl debug` adds them.

use crate::common::{Answer, OS, ask_with, bytes, pod, policy, review_of};
use crate::{container, is_silent, labelled, windows, windows_os};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::mode::Mode;
use transom::policy::Policy;

fn debugged(spec: &Value, ephemeral: &[Value]) -> Value {
    let mut object = pod(spec.clone());
    object["spec"]["ephemeralContainers"] = json!(ephemeral);
    object
}

fn debug(endpoint: Endpoint, new: &Value, old: &Value, policy: &Policy, facts: &Facts) -> Answer {
    let mut review = review_of(new, "UPDATE", Some(old));
    review["request"]["subResource"] = json!("ephemeralcontainers");
    ask_with(endpoint, &bytes(&review), policy, facts)
}

/// All that validateWindows refuses of a container, harmful values included.
fn refused_context() -> Value {
    json!({
        "runAsUser": 0,
        "runAsGroup": 0,
        "privileged": true,
        "allowPrivilegeEscalation": true,
        "readOnlyRootFilesystem": true,
        "procMount": "Unmasked",
        "capabilities": {"add": ["SYS_PTRACE"]},
        "seccompProfile": {"type": "Localhost"},
        "appArmorProfile": {"type": "Localhost"},
        "seLinuxOptions": {"level": "s0"},
    })
}

#[test]
fn repairs_new_ephemeral_containers_of_windows_pods() {
    let (policy, facts) = (Policy::default(), Facts::default());
    let mut context = refused_context();
    context["runAsNonRoot"] = json!(true);
    let new_one = container(
        "debug",
        json!({"securityContext": context, "command": ["sh"]}),
    );
    let old_one = container("before", json!({"securityContext": refused_context()}));
    let flaws = json!({"hostNetwork": true, "hostPID": true});
    for spec in [windows(flaws.clone()), windows_os(flaws)] {
        let old = debugged(&spec, std::slice::from_ref(&old_one));
        let new = debugged(&spec, &[old_one.clone(), new_one.clone()]);
        let mutated = debug(Endpoint::Mutate, &new, &old, &policy, &facts);
        assert!(mutated.allowed);
        assert_eq!(mutated.repair.len(), 10, "{:?}", mutated.repair);
        assert_eq!(
            mutated.warnings().len(),
            11,
            "each repair, and the evidence"
        );
        let patched = mutated.patched(&new);
        let mut want = new.clone();
        want["spec"]["ephemeralContainers"][1]["securityContext"] = json!({"runAsNonRoot": true});
        assert_eq!(patched, want, "nothing else is touched");
        let again = debug(Endpoint::Mutate, &patched, &old, &policy, &facts);
        is_silent("once is enough", &again);
        let validated = debug(Endpoint::Validate, &patched, &old, &policy, &facts);
        assert!(
            validated.allowed,
            "old containers and the pod are not judged"
        );
        assert_eq!(
            validated.warn,
            [
                "WIN118 spec.ephemeralContainers[1].securityContext.runAsNonRoot",
                "WIN504 spec.ephemeralContainers[1].command[0]",
            ]
        );
        let unpatched = debug(Endpoint::Validate, &new, &old, &policy, &facts);
        assert_eq!(unpatched.deny.len(), 10, "{:?}", unpatched.deny);
    }
}

#[test]
fn leaves_new_ephemeral_containers_as_they_are_where_nothing_may_be_repaired() {
    let new_one = container("debug", json!({"securityContext": {"privileged": true}}));
    let facts = Facts::default();
    for spec in [windows(json!({})), windows_os(json!({}))] {
        let (old, new) = (
            debugged(&spec, &[]),
            debugged(&spec, std::slice::from_ref(&new_one)),
        );
        let off = policy("placement: {repair: false}");
        let answer = debug(Endpoint::Mutate, &new, &old, &off, &facts);
        let says_os = spec.get("os").is_some();
        assert_eq!(answer.allowed, !says_os, "the API server would refuse it");
        assert_eq!((&answer.patch, answer.repair.len()), (&None, 0));
        assert!(!debug(Endpoint::Validate, &new, &old, &off, &facts).allowed);
        for mode in [Mode::Warn, Mode::Audit, Mode::Off] {
            let default = Policy::default();
            let answer = debug(Endpoint::Mutate, &new, &old, &default, &labelled(mode));
            assert!(answer.allowed, "{mode:?}");
            assert_eq!((&answer.patch, answer.repair.len()), (&None, 0), "{mode:?}");
        }
        let lenient = policy("rules: {privileged: warn}");
        let answer = debug(Endpoint::Mutate, &new, &old, &lenient, &facts);
        assert_eq!(
            answer.patch, None,
            "a rule that only warns takes nothing out"
        );
    }
    for spec in [json!({}), json!({"nodeSelector": {OS: "linux"}})] {
        let (old, new) = (
            debugged(&spec, &[]),
            debugged(&spec, std::slice::from_ref(&new_one)),
        );
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let answer = debug(endpoint, &new, &old, &Policy::default(), &facts);
            is_silent("not a Windows pod", &answer);
        }
    }
}
