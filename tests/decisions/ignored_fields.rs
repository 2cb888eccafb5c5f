//! `ignoredFields`: what happens to fields that Windows ignores.

use crate::common::{
    Answer, KINDS, ask_with, bytes, create, object_of, pod, pod_spec, policy, review_of,
};
use crate::{container, is_silent, patched_paths, secured, windows, windows_os};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;

fn ask(endpoint: Endpoint, object: &Value, yaml: &str) -> Answer {
    ask_with(endpoint, &create(object), &policy(yaml), &Facts::default())
}

/// Fields that Windows ignores and that the API server rejects when spec.os.name is windows.
fn ignored() -> Vec<(&'static str, Value)> {
    vec![
        ("WIN101", json!({"securityContext": {"runAsUser": 1000}})),
        ("WIN102", secured(json!({"runAsGroup": 1000}))),
        (
            "WIN104",
            json!({"securityContext": {"supplementalGroups": [1]}}),
        ),
        ("WIN106", json!({"securityContext": {"fsGroup": 1000}})),
        (
            "WIN108",
            secured(json!({"seLinuxOptions": {"level": "s0"}})),
        ),
        (
            "WIN109",
            secured(json!({"appArmorProfile": {"type": "RuntimeDefault"}})),
        ),
        (
            "WIN110",
            secured(json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}})),
        ),
        (
            "WIN111",
            secured(json!({"capabilities": {"add": ["NET_ADMIN"]}})),
        ),
        ("WIN112", secured(json!({"allowPrivilegeEscalation": true}))),
        ("WIN113", secured(json!({"privileged": true}))),
        ("WIN114", secured(json!({"procMount": "Unmasked"}))),
        ("WIN202", json!({"hostPID": true})),
        ("WIN203", json!({"hostIPC": true})),
        ("WIN204", json!({"shareProcessNamespace": true})),
        ("WIN205", json!({"hostUsers": false})),
    ]
}

/// Fields with which a pod fails, or runs with less protection.
fn others() -> Vec<(&'static str, Value)> {
    vec![
        (
            "WIN105",
            json!({"securityContext": {"supplementalGroupsPolicy": "Strict"}}),
        ),
        (
            "WIN107",
            json!({"securityContext": {"sysctls": [{"name": "a", "value": "b"}]}}),
        ),
        ("WIN115", secured(json!({"readOnlyRootFilesystem": true}))),
        ("WIN201", json!({"hostNetwork": true})),
        (
            "WIN304",
            json!({"volumes": [{"name": "a", "emptyDir": {"medium": "Memory"}}]}),
        ),
        (
            "WIN307",
            json!({"volumes": [{"name": "a", "nfs": {"server": "a", "path": "/"}}]}),
        ),
        ("WIN402", json!({"resources": {"limits": {"cpu": 1}}})),
    ]
}

#[test]
fn warns_of_ignored_fields_and_leaves_spec_os_out() {
    for (code, fields) in ignored() {
        for kind in KINDS {
            let object = object_of(kind, windows(fields.clone()));
            let what = format!("{kind} {fields}");
            let mutated = ask(Endpoint::Mutate, &object, "ignoredFields: warn");
            let patched = mutated.patched(&object);
            assert!(mutated.allowed && mutated.repair.is_empty(), "{what}");
            assert!(
                pod_spec(&patched).get("os").is_none(),
                "{what}: the API server would reject it"
            );
            let validated = ask(Endpoint::Validate, &patched, "ignoredFields: warn");
            assert!(validated.allowed, "{what}");
            assert_eq!(validated.warn.len(), 1, "{what}");
            assert!(validated.warn[0].starts_with(code), "{what}");
        }
    }
}

/// The API server rejects them anyway, so the webhook says why and what to do.
#[test]
fn denies_ignored_fields_with_spec_os_under_warn() {
    for (code, fields) in ignored() {
        for kind in KINDS {
            let object = object_of(kind, windows_os(fields.clone()));
            for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
                let answer = ask(endpoint, &object, "ignoredFields: warn");
                assert!(!answer.allowed, "{kind} {fields}");
                assert_eq!(answer.deny.len(), 1, "{kind} {fields}");
                assert!(answer.deny[0].starts_with(code), "{kind} {fields}");
            }
        }
    }
}

#[test]
fn patches_ignored_fields_away_and_adds_spec_os() {
    for (code, fields) in ignored() {
        for spec in [windows(fields.clone()), windows_os(fields.clone())] {
            for kind in ["Pod", "DaemonSet"] {
                let object = object_of(kind, spec.clone());
                let what = format!("{kind} {spec}");
                let mutated = ask(Endpoint::Mutate, &object, "ignoredFields: repair");
                assert_eq!(mutated.repair.len(), 1, "{what}");
                assert!(mutated.repair[0].starts_with(code), "{what}");
                let patched = mutated.patched(&object);
                assert_eq!(pod_spec(&patched)["os"]["name"], "windows", "{what}");
                is_silent(
                    &what,
                    &ask(Endpoint::Validate, &patched, "ignoredFields: repair"),
                );
            }
        }
    }
}

/// Templates that are not patched: a warning, or a denial when spec.os.name is windows.
#[test]
fn warns_where_ignored_fields_cannot_be_removed() {
    for (code, fields) in ignored() {
        for kind in KINDS
            .into_iter()
            .filter(|kind| !["Pod", "DaemonSet"].contains(kind))
        {
            for (spec, allowed) in [
                (windows(fields.clone()), true),
                (windows_os(fields.clone()), false),
            ] {
                let object = object_of(kind, spec);
                let validated = ask(Endpoint::Validate, &object, "ignoredFields: repair");
                assert_eq!(validated.allowed, allowed, "{kind} {fields}");
                let told = if allowed {
                    &validated.warn
                } else {
                    &validated.deny
                };
                assert_eq!(told.len(), 1, "{kind} {fields}");
                assert!(told[0].starts_with(code), "{kind} {fields}");
            }
        }
    }
    let off = "ignoredFields: repair\nplacement: {repair: false}";
    let object = pod(windows(json!({"securityContext": {"runAsUser": 1}})));
    let mutated = ask(Endpoint::Mutate, &object, off);
    assert_eq!(patched_paths(&mutated), ["add /spec/tolerations"]);
    assert!(ask(Endpoint::Validate, &object, off).allowed);
}

#[test]
fn denies_what_fails_or_is_unprotected_whatever_the_switch_says() {
    for (code, fields) in others() {
        for value in ["deny", "warn", "repair"] {
            let object = pod(windows(fields.clone()));
            let answer = ask(
                Endpoint::Validate,
                &object,
                &format!("ignoredFields: {value}"),
            );
            assert!(!answer.allowed, "{fields} {value}");
            assert!(answer.deny[0].starts_with(code), "{fields} {value}");
        }
    }
}

/// `rules` takes precedence: a plain warning stays one, and so does a denial.
#[test]
fn keeps_the_effect_of_an_action_of_a_single_rule() {
    let fields = json!({"securityContext": {"runAsUser": 1}});
    for (yaml, spec, allowed) in [
        (
            "ignoredFields: warn\nrules: {WIN101: deny}",
            windows(fields.clone()),
            false,
        ),
        ("rules: {WIN101: warn}", windows_os(fields.clone()), true),
        (
            "ignoredFields: repair\nrules: {WIN101: warn}",
            windows_os(fields.clone()),
            true,
        ),
        (
            "ignoredFields: warn\nrules: {WIN101: 'off'}",
            windows_os(fields.clone()),
            true,
        ),
        (
            "ignoredFields: warn\nprofile: kep-116",
            windows(fields),
            false,
        ),
    ] {
        let answer = ask(Endpoint::Validate, &pod(spec), yaml);
        assert_eq!(
            answer
                .deny
                .contains(&"WIN101 spec.securityContext.runAsUser".to_owned()),
            !allowed,
            "{yaml}"
        );
    }
}

/// `kubectl debug` adds such fields by itself; the API server would reject the container.
#[test]
fn repairs_ephemeral_containers_under_every_value() {
    let old = pod(windows_os(json!({})));
    let mut new = old.clone();
    new["spec"]["ephemeralContainers"] = json!([container(
        "debug",
        json!({"securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}}})
    )]);
    for value in ["deny", "warn", "repair"] {
        let mut review = review_of(&new, "UPDATE", Some(&old));
        review["request"]["subResource"] = json!("ephemeralcontainers");
        let answer = ask_with(
            Endpoint::Mutate,
            &bytes(&review),
            &policy(&format!("ignoredFields: {value}")),
            &Facts::default(),
        );
        assert_eq!(
            answer.repair,
            ["WIN111 spec.ephemeralContainers[0].securityContext.capabilities"],
            "{value}"
        );
    }
}
