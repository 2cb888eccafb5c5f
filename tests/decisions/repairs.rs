//! `spec.os`, the repair of harmless values that makes it hold, and the configured actions.

use crate::common::{
    KINDS, OS, ask_with, create, merge, namespace, object_of, pod, pod_spec, policy,
};
use crate::{
    container, is_silent, labelled, mutate, patched_paths, secured, validate, windows, windows_os,
};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::{Facts, NamespaceFacts};
use transom::mode::Mode;

#[test]
fn sets_spec_os_where_configuration_and_namespace_let_it() {
    let never = "placement: {setPodOS: never}";
    let facts = |set_pod_os, old_pod_security| {
        namespace(NamespaceFacts {
            set_pod_os,
            old_pod_security,
            ..NamespaceFacts::default()
        })
    };
    let object = pod(windows(secured(json!({"privileged": false}))));
    for (config, facts, os) in [
        ("", Facts::default(), true),
        ("placement: {setPodOS: always}", Facts::default(), true),
        (never, Facts::default(), false),
        ("", facts(Some(false), false), false),
        (never, facts(Some(true), false), true),
        (never, facts(None, false), false),
        ("", facts(None, true), false),
        ("", facts(None, false), true),
        ("", facts(Some(true), true), true),
        ("", labelled(Mode::Warn), false),
    ] {
        let policy = policy(config);
        let answer = ask_with(Endpoint::Mutate, &create(&object), &policy, &facts);
        let patched = answer.patched(&object);
        assert_eq!(
            patched["spec"].get("os").is_some(),
            os,
            "{config} {facts:?}"
        );
        let context = &patched["spec"]["containers"][0]["securityContext"];
        assert_eq!(
            context.get("privileged").is_none(),
            os,
            "repairs go with it"
        );
        assert!(
            patched["spec"].get("tolerations").is_some(),
            "{config} {facts:?}"
        );
    }
}

/// Harmless values, and what is left of the object without them.
fn harmless() -> Vec<(&'static str, Value)> {
    vec![
        (
            "WIN105",
            json!({"securityContext": {"supplementalGroupsPolicy": "Merge"}}),
        ),
        (
            "WIN109",
            json!({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}),
        ),
        (
            "WIN110",
            json!({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}),
        ),
        (
            "WIN104",
            json!({"securityContext": {"supplementalGroups": []}}),
        ),
        ("WIN108", json!({"securityContext": {"seLinuxOptions": {}}})),
        ("WIN108", secured(json!({"seLinuxOptions": {}}))),
        ("WIN204", json!({"shareProcessNamespace": false})),
        ("WIN205", json!({"hostUsers": true})),
        ("WIN402", json!({"resources": {}})),
        (
            "WIN109",
            secured(json!({"appArmorProfile": {"type": "Unconfined"}})),
        ),
        (
            "WIN110",
            secured(json!({"seccompProfile": {"type": "RuntimeDefault"}})),
        ),
        (
            "WIN110",
            secured(json!({"seccompProfile": {"type": "Unconfined"}})),
        ),
        (
            "WIN111",
            secured(json!({"capabilities": {"drop": ["ALL"]}})),
        ),
        ("WIN111", secured(json!({"capabilities": {}}))),
        ("WIN111", secured(json!({"capabilities": {"add": []}}))),
        (
            "WIN112",
            secured(json!({"allowPrivilegeEscalation": false})),
        ),
        ("WIN113", secured(json!({"privileged": false}))),
        ("WIN114", secured(json!({"procMount": "Default"}))),
        ("WIN115", secured(json!({"readOnlyRootFilesystem": false}))),
    ]
}

/// What a HostProcess pod has anyway. The chart of the metrics exporter for Windows renders hostPID.
#[test]
fn repairs_what_host_process_pods_have_anyway() {
    let host_process = json!({
        "hostNetwork": true,
        "securityContext": {"windowsOptions": {"hostProcess": true, "runAsUserName": "NT AUTHORITY\\SYSTEM"}},
    });
    for (code, fields) in [
        ("WIN202", json!({"hostPID": true})),
        ("WIN203", json!({"hostIPC": true})),
        ("WIN113", secured(json!({"privileged": true}))),
        (
            "WIN111",
            secured(json!({"capabilities": {"add": ["NET_ADMIN"]}})),
        ),
    ] {
        for base in [
            windows(host_process.clone()),
            windows_os(host_process.clone()),
        ] {
            for kind in ["Pod", "DaemonSet"] {
                let mut spec = base.clone();
                merge(&mut spec, &fields);
                let object = object_of(kind, spec);
                let what = format!("{kind} {fields}");
                let mutated = mutate(&object);
                assert!(mutated.allowed, "{what}");
                assert_eq!(mutated.repair.len(), 1, "{what}");
                assert!(mutated.repair[0].starts_with(code), "{what}");
                let patched = mutated.patched(&object);
                assert_eq!(pod_spec(&patched)["os"]["name"], "windows", "{what}");
                is_silent(&what, &validate(&patched));
            }
        }
    }
}

#[test]
fn harmless_values_are_repaired_or_denied_or_warned_of() {
    for (code, fields) in harmless() {
        for kind in KINDS {
            for says_os in [false, true] {
                let spec = if says_os {
                    windows_os(fields.clone())
                } else {
                    windows(fields.clone())
                };
                let object = object_of(kind, spec);
                let what = format!("{kind} {fields} os {says_os}");
                let validated = validate(&object);
                assert_eq!(validated.allowed, !says_os, "{what}");
                let told = if says_os {
                    &validated.deny
                } else {
                    &validated.warn
                };
                assert_eq!(told.len(), 1, "{what}");
                assert!(told[0].starts_with(code), "{what}");
                let mutated = mutate(&object);
                if ["Pod", "DaemonSet"].contains(&kind) {
                    assert_eq!(mutated.repair, *told, "{what}");
                    let patched = mutated.patched(&object);
                    assert_eq!(pod_spec(&patched)["os"]["name"], "windows", "{what}");
                    is_silent(&what, &validate(&patched));
                    assert_eq!(mutated.warnings().len(), 2, "{what}");
                } else if says_os {
                    assert_eq!(
                        mutated.deny, *told,
                        "{what}: the API server would refuse it"
                    );
                } else {
                    is_silent(&what, &mutated);
                }
            }
        }
    }
}

#[test]
fn without_repairs_harmless_values_are_what_they_are_for_the_api_server() {
    let off = policy("placement: {repair: false}");
    for (code, fields) in harmless() {
        let unsaid = pod(windows(fields.clone()));
        let mutated = ask_with(Endpoint::Mutate, &create(&unsaid), &off, &Facts::default());
        assert_eq!(patched_paths(&mutated), ["add /spec/tolerations"], "{code}");
        assert_eq!(mutated.warnings(), [""; 0]);
        let validated = ask_with(
            Endpoint::Validate,
            &create(&unsaid),
            &off,
            &Facts::default(),
        );
        assert_eq!(
            (validated.allowed, validated.warn.len()),
            (true, 1),
            "{code}"
        );
        let said = pod(windows_os(fields));
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let answer = ask_with(endpoint, &create(&said), &off, &Facts::default());
            assert_eq!((answer.allowed, answer.deny.len()), (false, 1), "{code}");
        }
    }
}

/// Beside one field that stays refused nothing is repaired, as os=windows cannot hold.
#[test]
fn repairs_nothing_that_does_not_make_os_hold() {
    let object = pod(windows(secured(
        json!({"privileged": false, "runAsUser": 1}),
    )));
    let mutated = mutate(&object);
    assert_eq!(patched_paths(&mutated), ["add /spec/tolerations"]);
    let validated = validate(&object);
    assert_eq!((validated.deny.len(), validated.warn.len()), (1, 1));
}

#[test]
fn actions_of_the_configuration_are_followed() {
    let deny_false = policy("rules: {privileged: deny}");
    let object = pod(windows(secured(json!({"privileged": false}))));
    let repaired = ask_with(
        Endpoint::Mutate,
        &create(&object),
        &deny_false,
        &Facts::default(),
    );
    assert_eq!(
        repaired.repair.len(),
        1,
        "deny is the first tier's; the second stays repair"
    );
    let repair_true = policy("rules: {WIN113: repair}");
    let object = pod(windows(secured(json!({"privileged": true}))));
    let repaired = ask_with(
        Endpoint::Mutate,
        &create(&object),
        &repair_true,
        &Facts::default(),
    );
    assert_eq!(
        repaired.repair.len(),
        1,
        "set to repair, a true value is taken out, too"
    );
    let warn = policy("rules: {WIN113: warn}");
    for value in [true, false] {
        let object = pod(windows(secured(json!({"privileged": value}))));
        let mutated = ask_with(Endpoint::Mutate, &create(&object), &warn, &Facts::default());
        assert_eq!(patched_paths(&mutated), ["add /spec/tolerations"]);
        let validated = ask_with(
            Endpoint::Validate,
            &create(&object),
            &warn,
            &Facts::default(),
        );
        assert_eq!((validated.allowed, validated.warn.len()), (true, 1));
    }
    let off = policy("rules: {WIN113: 'off'}");
    let object = pod(windows(secured(json!({"privileged": true}))));
    let mutated = ask_with(Endpoint::Mutate, &create(&object), &off, &Facts::default());
    assert_eq!(
        patched_paths(&mutated),
        ["add /spec/tolerations"],
        "no os beside a refused field"
    );
    let validated = ask_with(
        Endpoint::Validate,
        &create(&object),
        &off,
        &Facts::default(),
    );
    is_silent("off", &validated);
    let conflict = pod(json!({"nodeSelector": {OS: "linux"}, "os": {"name": "windows"}}));
    let warn = policy("rules: {os-conflict: warn, unplaced: deny}");
    let answer = ask_with(
        Endpoint::Validate,
        &create(&conflict),
        &warn,
        &Facts::default(),
    );
    assert_eq!((answer.allowed, answer.warn.len()), (true, 1));
    let hint = pod(json!({"containers": [container("main", json!({"image": "team/iis:1"}))]}));
    let answer = ask_with(Endpoint::Validate, &create(&hint), &warn, &Facts::default());
    assert_eq!(
        (answer.allowed, answer.warn.len()),
        (true, 1),
        "hints never deny"
    );
}
