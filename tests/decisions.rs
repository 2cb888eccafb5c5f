//! What is done about findings: which webhook denies what, modes, exemptions, the ratchet, owned
//! objects, kubectl debug, and the words of the answer.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)] // Outside of a test function clippy does not see a test.

mod common;

use common::{
    Answer, KINDS, ask, ask_with, create, merge, object_of, pod, pod_metadata_mut, pod_spec,
    pod_spec_mut, policy, review_of, spec_path, update,
};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::{Facts, NamespaceFacts};
use transom::mode::Mode;
use transom::os::Os;
use transom::policy::Policy;
use transom::rules::Rule;

const OS: &str = "kubernetes.io/os";

/// A Windows pod spec with a selector only.
fn windows(fields: Value) -> Value {
    let mut spec = json!({"nodeSelector": {OS: "windows"}});
    merge(&mut spec, &fields);
    spec
}

/// A Windows pod spec that says os=windows, too.
fn windows_os(fields: Value) -> Value {
    let mut spec = windows(json!({"os": {"name": "windows"}}));
    merge(&mut spec, &fields);
    spec
}

fn container(name: &str, fields: Value) -> Value {
    let mut container = json!({"name": name, "image": "registry.example/app:1"});
    merge(&mut container, &fields);
    container
}

fn secured(context: Value) -> Value {
    json!({"containers": [container("main", json!({"securityContext": context}))]})
}

fn namespace(facts: NamespaceFacts) -> Facts {
    Facts {
        namespaces: [("default".to_owned(), facts)].into(),
        ..Facts::default()
    }
}

fn labelled(mode: Mode) -> Facts {
    namespace(NamespaceFacts {
        mode: Some(mode),
        ..NamespaceFacts::default()
    })
}

fn bytes(review: &Value) -> Vec<u8> {
    serde_json::to_vec(review).unwrap()
}

/// A CREATE or UPDATE by somebody, with more fields of the request.
fn asked(endpoint: Endpoint, object: &Value, old: Option<&Value>, more: &Value) -> Answer {
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let mut review = review_of(object, operation, old);
    merge(&mut review["request"], more);
    ask(endpoint, &bytes(&review))
}

fn mutate(object: &Value) -> Answer {
    ask(Endpoint::Mutate, &create(object))
}

fn validate(object: &Value) -> Answer {
    ask(Endpoint::Validate, &create(object))
}

fn validate_update(object: &Value, old: &Value) -> Answer {
    ask(Endpoint::Validate, &update(object, old))
}

/// Nothing is denied, told or patched.
fn is_silent(what: &str, answer: &Answer) {
    assert!(answer.allowed, "{what}");
    assert_eq!(answer.patch, None, "{what}");
    assert_eq!(answer.findings(), [""; 0], "{what}");
    assert_eq!(answer.warnings(), [""; 0], "{what}");
}

/// The paths of the operations of a patch, after the pod spec's.
fn patched_paths(answer: &Answer) -> Vec<String> {
    let patch = serde_json::to_value(answer.patch.as_ref().map(|p| &p.0)).unwrap();
    let operations = patch.as_array().cloned().unwrap_or_default();
    operations
        .iter()
        .map(|o| {
            format!(
                "{} {}",
                o["op"].as_str().unwrap(),
                o["path"].as_str().unwrap()
            )
        })
        .collect()
}

// ── /mutate and /validate ────────────────────────────────────────────────────────────────────

#[test]
fn mutate_denies_only_what_the_api_server_would_refuse_first() {
    let refused = [
        json!({"hostPID": true}),
        json!({"hostIPC": true}),
        json!({"hostUsers": false}),
        json!({"shareProcessNamespace": true}),
        json!({"resources": {}}),
        json!({"securityContext": {"runAsUser": 0}}),
        json!({"securityContext": {"runAsGroup": 0}}),
        json!({"securityContext": {"fsGroup": 0}}),
        json!({"securityContext": {"fsGroupChangePolicy": "Always"}}),
        json!({"securityContext": {"supplementalGroups": []}}),
        json!({"securityContext": {"supplementalGroupsPolicy": "Strict"}}),
        json!({"securityContext": {"sysctls": [{"name": "a", "value": "b"}]}}),
        json!({"securityContext": {"seLinuxOptions": {}}}),
        json!({"securityContext": {"seLinuxChangePolicy": "Recursive"}}),
        json!({"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}),
        json!({"securityContext": {"seccompProfile": {"type": "Localhost"}}}),
        secured(json!({"runAsUser": 0})),
        secured(json!({"runAsGroup": 0})),
        secured(json!({"privileged": true})),
        secured(json!({"allowPrivilegeEscalation": true})),
        secured(json!({"readOnlyRootFilesystem": true})),
        secured(json!({"procMount": "Unmasked"})),
        secured(json!({"seLinuxOptions": {"level": "s0"}})),
        secured(json!({"capabilities": {"add": ["NET_ADMIN"]}})),
        secured(json!({"appArmorProfile": {"type": "Localhost"}})),
        secured(json!({"seccompProfile": {"type": "Localhost"}})),
    ];
    for kind in KINDS {
        for fields in &refused {
            let said = object_of(kind, windows_os(fields.clone()));
            let mutated = mutate(&said);
            assert!(!mutated.allowed, "{kind} {fields}");
            assert_eq!(mutated.deny, validate(&said).deny, "{kind} {fields}");
            let unsaid = object_of(kind, windows(fields.clone()));
            let mutated = mutate(&unsaid);
            assert!(mutated.allowed, "{kind} {fields}");
            assert_eq!(mutated.warnings(), [""; 0], "{kind} {fields}");
            let spec = pod_spec(&mutated.patched(&unsaid)).clone();
            assert!(
                spec.get("os").is_none(),
                "{kind} {fields}: os beside it is refused"
            );
            assert!(!validate(&unsaid).allowed, "{kind} {fields}");
        }
    }
}

#[test]
fn mutate_leaves_to_validate_what_the_api_server_accepts() {
    let accepted = [
        json!({"hostNetwork": true}),
        json!({"dnsPolicy": "ClusterFirstWithHostNet"}),
        json!({"volumes": [{"name": "v", "nfs": {"server": "a", "path": "/"}}]}),
        json!({"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]}),
        json!({"volumes": [{"name": "v", "emptyDir": {"medium": "HugePages-2Mi"}}]}),
        json!({"volumes": [{"name": "v", "glusterfs": {"endpoints": "a", "path": "b"}}]}),
        json!({"volumes": [{"name": "v", "image": {"reference": "a"}}]}),
        json!({"containers": [container("main", json!({"volumeDevices": [{"name": "v"}]}))]}),
        json!({"containers": [container("main", json!({"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}))]}),
    ];
    for fields in accepted {
        for spec in [windows(fields.clone()), windows_os(fields.clone())] {
            for kind in KINDS {
                let object = object_of(kind, spec.clone());
                let mutated = mutate(&object);
                assert!(mutated.allowed, "{kind} {fields}");
                assert_eq!(mutated.warnings(), [""; 0], "{kind} {fields}");
                let patched = mutated.patched(&object);
                if ["Pod", "DaemonSet"].contains(&kind) {
                    assert_eq!(
                        pod_spec(&patched)["os"]["name"],
                        "windows",
                        "{kind} {fields}"
                    );
                } else {
                    assert_eq!(patched, object);
                }
                let validated = validate(&patched);
                assert_eq!(validated.deny.len(), 1, "{kind} {fields}");
                assert_eq!(validated.patch, None);
            }
        }
    }
}

#[test]
fn a_denial_at_mutate_is_complete() {
    let spec = windows_os(json!({
        "hostNetwork": true,
        "hostPID": true,
        "containers": [container("main", json!({
            "command": ["/bin/sh"],
            "securityContext": {"privileged": false, "runAsUser": 0},
        }))],
    }));
    let answer = mutate(&pod(spec));
    assert_eq!(
        answer.deny,
        [
            "WIN101 spec.containers[0].securityContext.runAsUser",
            "WIN201 spec.hostNetwork",
            "WIN202 spec.hostPID",
        ]
    );
    assert_eq!(
        answer.warn,
        [
            "WIN113 spec.containers[0].securityContext.privileged",
            "WIN504 spec.containers[0].command[0]",
        ]
    );
    let warnings = answer.warnings().join("\n");
    assert!(!warnings.contains("removed"), "{warnings}");
    assert_eq!(answer.patch, None);
}

#[test]
fn leaves_stop_signals_to_validate() {
    let stopping = |signal: &str| json!({"containers": [container("main", json!({"lifecycle": {"stopSignal": signal}}))]});
    for spec in [
        windows(stopping("SIGUSR1")),
        windows_os(stopping("SIGUSR1")),
    ] {
        let object = pod(spec.clone());
        let mutated = mutate(&object);
        assert!(mutated.allowed);
        assert_eq!(mutated.findings(), [""; 0]);
        let os = mutated.patched(&object)["spec"]["os"].clone();
        assert_eq!(os, spec["os"], "not patched in beside the signal");
        let validated = validate(&object);
        assert_eq!(
            validated.deny,
            ["WIN503 spec.containers[0].lifecycle.stopSignal"]
        );
    }
    for signal in ["SIGTERM", "SIGKILL"] {
        let object = pod(windows(stopping(signal)));
        assert_eq!(
            mutate(&object).patched(&object)["spec"]["os"]["name"],
            "windows"
        );
        is_silent(signal, &validate(&object));
    }
}

// ── Modes ────────────────────────────────────────────────────────────────────────────────────

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

// ── Exemptions ───────────────────────────────────────────────────────────────────────────────

#[test]
fn leaves_exempt_requests_alone() {
    let flawed = windows(json!({"hostNetwork": true, "runtimeClassName": "legacy"}));
    for (config, exempt) in [
        ("exemptions: {namespaces: [default]}", true),
        ("exemptions: {namespaces: [defaul, default2]}", false),
        ("exemptions: {users: [jane]}", true),
        ("exemptions: {users: [system:authenticated, Jane]}", false),
        (
            "exemptions: {groups: [other, 'system:authenticated']}",
            true,
        ),
        ("exemptions: {groups: [jane]}", false),
        ("exemptions: {runtimeClasses: [legacy]}", true),
        ("exemptions: {runtimeClasses: [lega]}", false),
    ] {
        let policy = policy(config);
        for kind in KINDS {
            let body = create(&object_of(kind, flawed.clone()));
            for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
                let answer = ask_with(endpoint, &body, &policy, &Facts::default());
                if exempt {
                    is_silent(config, &answer);
                } else if endpoint == Endpoint::Validate {
                    assert!(!answer.allowed, "{config} {kind}");
                }
            }
        }
    }
    let mut system = pod(flawed);
    system["metadata"]["namespace"] = json!("kube-system");
    is_silent("kube-system by default", &validate(&system));
    let policy = policy("exemptions: {namespaces: []}");
    let answer = ask_with(
        Endpoint::Validate,
        &create(&system),
        &policy,
        &Facts::default(),
    );
    assert!(!answer.allowed, "unless the configuration says otherwise");
}

#[test]
fn leaves_mirror_pods_alone() {
    let mirror = json!({"annotations": {"kubernetes.io/config.mirror": "hash"}});
    for kind in KINDS {
        let mut object = object_of(kind, windows(json!({"hostNetwork": true})));
        merge(pod_metadata_mut(&mut object), &mirror);
        let answer = validate(&object);
        assert_eq!(
            answer.allowed,
            kind == "Pod",
            "{kind}: a template makes no mirror pods"
        );
    }
    let mut on_workload = object_of("Deployment", windows(json!({"hostNetwork": true})));
    merge(&mut on_workload["metadata"], &mirror);
    assert!(!validate(&on_workload).allowed);
}

#[test]
fn judges_only_its_own_kinds_operations_and_subresources() {
    let object = pod(windows(json!({"hostNetwork": true})));
    let judged = |operation: &str, subresource: Value, kind: Value| {
        let mut review = review_of(&object, operation, None);
        review["request"]["subResource"] = subresource;
        merge(&mut review["request"]["kind"], &kind);
        !ask(Endpoint::Validate, &bytes(&review)).allowed
    };
    let same = json!({});
    assert!(judged("CREATE", Value::Null, same.clone()));
    assert!(judged("CREATE", json!(""), same.clone()));
    assert!(judged("UPDATE", Value::Null, same.clone()));
    for operation in ["DELETE", "CONNECT", "create", ""] {
        assert!(!judged(operation, Value::Null, same.clone()), "{operation}");
    }
    for subresource in ["status", "scale", "resize", "eviction", "binding", "exec"] {
        assert!(
            !judged("UPDATE", json!(subresource), same.clone()),
            "{subresource}"
        );
        assert!(
            !judged("CREATE", json!(subresource), same.clone()),
            "{subresource}"
        );
    }
    assert!(!judged("CREATE", json!("ephemeralcontainers"), same));
    for (group, kind) in [
        ("apps", "Pod"),
        ("", "Deployment"),
        ("", "pod"),
        ("batch", "Pod"),
        ("", "Node"),
    ] {
        let kind = json!({"group": group, "kind": kind});
        assert!(!judged("CREATE", Value::Null, kind.clone()), "{kind}");
    }
    // Webhooks match equivalent versions.
    assert!(judged("CREATE", Value::Null, json!({"version": "v7"})));
}

#[test]
fn dry_runs_get_the_same_answers() {
    for object in [
        pod(windows(json!({"hostNetwork": true}))),
        pod(windows(json!({}))),
    ] {
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let dry = asked(endpoint, &object, None, &json!({"dryRun": true}));
            assert_eq!(dry, ask(endpoint, &create(&object)));
        }
    }
}

// ── The ratchet ──────────────────────────────────────────────────────────────────────────────

#[test]
fn warns_of_what_was_there_before_and_denies_what_is_new() {
    let users = |list: &[(&str, i64)]| {
        let list: Vec<_> = list
            .iter()
            .map(|(name, user)| container(name, json!({"securityContext": {"runAsUser": user}})))
            .collect();
        windows(json!({"containers": list}))
    };
    let old = users(&[("a", 1)]);
    let volume = |name: &str, medium: &str| {
        windows(json!({"volumes": [{"name": name, "emptyDir": {"medium": medium}}]}))
    };
    let two_volumes = windows(json!({"volumes": [
        {"name": "w", "emptyDir": {}},
        {"name": "v", "emptyDir": {"medium": "Memory"}},
    ]}));
    let image = |image: &str, more: Value| {
        let mut spec = windows(json!({"containers": [container("a", json!({"image": image}))]}));
        merge(&mut spec, &more);
        spec
    };
    let context = |context: Value| windows(json!({"securityContext": context}));
    for (what, old, new, deny, warn) in [
        ("unchanged", old.clone(), old.clone(), 0, 1),
        (
            "another container before it",
            old.clone(),
            {
                let mut new = users(&[("b", 9), ("a", 1)]);
                new["containers"][0]["securityContext"] = json!({});
                new
            },
            0,
            1,
        ),
        (
            "reordered",
            users(&[("a", 1), ("b", 2)]),
            users(&[("b", 2), ("a", 1)]),
            0,
            2,
        ),
        ("renamed", old.clone(), users(&[("b", 1)]), 1, 0),
        ("another value", old.clone(), users(&[("a", 2)]), 1, 0),
        ("one more", old.clone(), users(&[("a", 1), ("b", 1)]), 1, 1),
        (
            "values changed over",
            users(&[("a", 1), ("b", 2)]),
            users(&[("a", 2), ("b", 1)]),
            2,
            0,
        ),
        ("one less", users(&[("a", 1), ("b", 1)]), old, 0, 1),
        (
            "another field, same value",
            context(json!({"runAsUser": 1})),
            context(json!({"runAsGroup": 1})),
            1,
            0,
        ),
        (
            "from the pod to a container",
            context(json!({"runAsUser": 1})),
            users(&[("a", 1)]),
            1,
            0,
        ),
        (
            "a pod's field",
            context(json!({"fsGroup": 1})),
            context(json!({"fsGroup": 1})),
            0,
            1,
        ),
        (
            "not for Windows before",
            json!({"securityContext": {"fsGroup": 1}}),
            context(json!({"fsGroup": 1})),
            1,
            0,
        ),
        (
            "for Linux before",
            json!({"nodeSelector": {OS: "linux"}, "securityContext": {"fsGroup": 1}}),
            context(json!({"fsGroup": 1})),
            1,
            0,
        ),
        (
            "a volume",
            volume("v", "Memory"),
            volume("v", "Memory"),
            0,
            1,
        ),
        (
            "a volume further down",
            volume("v", "Memory"),
            two_volumes,
            0,
            1,
        ),
        (
            "a volume of another name",
            volume("v", "Memory"),
            volume("w", "Memory"),
            1,
            0,
        ),
        (
            "a volume's medium",
            volume("v", "HugePages-2Mi"),
            volume("v", "HugePages-1Gi"),
            1,
            0,
        ),
        (
            "a new image",
            image("a:ltsc2022", context(json!({"fsGroup": 1}))),
            image("b:ltsc2022", context(json!({"fsGroup": 1}))),
            0,
            1,
        ),
        (
            "the build of an image",
            image(
                "a:ltsc2022",
                json!({"nodeSelector": {"node.kubernetes.io/windows-build": "10.0.17763"}}),
            ),
            image(
                "a:ltsc2025",
                json!({"nodeSelector": {"node.kubernetes.io/windows-build": "10.0.17763"}}),
            ),
            1,
            0,
        ),
        (
            "a harmless value",
            windows_os(secured(json!({"privileged": false}))),
            windows_os(secured(json!({"privileged": false}))),
            0,
            1,
        ),
        (
            "no longer harmless",
            windows_os(secured(json!({"privileged": false}))),
            windows_os(secured(json!({"privileged": true}))),
            1,
            0,
        ),
    ] {
        for kind in KINDS {
            let answer =
                validate_update(&object_of(kind, new.clone()), &object_of(kind, old.clone()));
            assert_eq!(
                (answer.deny.len(), answer.warn.len()),
                (deny, warn),
                "{what} {kind}: {:?}",
                answer.findings()
            );
            assert_eq!(answer.allowed, deny == 0, "{what} {kind}");
        }
    }
}

#[test]
fn a_huge_page_of_another_size_is_new() {
    let with = |size: &str| {
        pod(windows(json!({"containers": [container("a", json!({
            "resources": {"limits": {size: "1Gi"}}}))]})))
    };
    let answer = validate_update(&with("hugepages-1Gi"), &with("hugepages-2Mi"));
    assert_eq!(
        answer.deny,
        ["WIN401 spec.containers[0].resources.limits.hugepages-1Gi"]
    );
}

#[test]
fn warns_of_contradictions_that_were_there_before() {
    let conflict = json!({"nodeSelector": {OS: "linux"}, "os": {"name": "windows"}});
    for kind in KINDS {
        let object = object_of(kind, conflict.clone());
        assert!(!validate(&object).allowed);
        let again = validate_update(&object, &object);
        assert!(again.allowed, "{kind}");
        assert_eq!(again.warn.len(), 1, "{kind}");
        let was_linux = object_of(kind, json!({"nodeSelector": {OS: "linux"}}));
        assert!(!validate_update(&object, &was_linux).allowed, "{kind}");
    }
}

#[test]
fn the_ratchet_holds_at_mutate() {
    let object = pod(windows_os(json!({"hostPID": true})));
    assert!(!mutate(&object).allowed);
    is_silent("known", &ask(Endpoint::Mutate, &update(&object, &object)));
    let clean = pod(windows_os(json!({})));
    assert!(
        !ask(Endpoint::Mutate, &update(&object, &clean)).allowed,
        "new"
    );
}

#[test]
fn an_old_object_counts_in_updates_only() {
    let object = pod(windows(json!({"hostNetwork": true})));
    let review = review_of(&object, "CREATE", Some(&object));
    assert!(!ask(Endpoint::Validate, &bytes(&review)).allowed);
    let review = review_of(&object, "UPDATE", None);
    assert!(!ask(Endpoint::Validate, &bytes(&review)).allowed);
}

#[test]
fn never_denies_what_is_being_deleted() {
    let stamp = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
    for kind in KINDS {
        for spec in [
            windows(json!({"hostNetwork": true})),
            windows_os(json!({"hostPID": true})),
            json!({"nodeSelector": {OS: "linux"}, "os": {"name": "windows"}}),
            windows(json!({"hostNetwork": "unreadable"})),
        ] {
            let old = object_of(kind, windows(json!({})));
            let mut object = object_of(kind, spec.clone());
            assert!(!validate_update(&object, &old).allowed, "{kind} {spec}");
            merge(&mut object["metadata"], &stamp);
            for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
                let answer = ask(endpoint, &update(&object, &old));
                assert!(answer.allowed, "{kind} {spec}");
                if kind != "DaemonSet" {
                    assert_eq!(answer.patch, None, "{kind} {spec}");
                }
            }
        }
    }
    // The template's stamp means nothing.
    let mut object = object_of("Deployment", windows(json!({"hostNetwork": true})));
    merge(pod_metadata_mut(&mut object), &stamp);
    assert!(!validate_update(&object, &object_of("Deployment", windows(json!({})))).allowed);
}

#[test]
fn never_patches_updates_of_pods() {
    let old = pod(windows(json!({})));
    let mut new = pod(windows(secured(json!({"privileged": false}))));
    new["metadata"]["labels"] = json!({"a": "b"});
    let answer = ask(Endpoint::Mutate, &update(&new, &old));
    is_silent("an update", &answer);
}

// ── kubectl debug ────────────────────────────────────────────────────────────────────────────

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
            ["WIN504 spec.ephemeralContainers[1].command[0]"]
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

// ── Owned objects ────────────────────────────────────────────────────────────────────────────

const CONTROLLER: &str = "system:serviceaccount:kube-system:replicaset-controller";

fn owned_by(kind: &str, owner: &str, api_version: &str, controller: Value, spec: Value) -> Value {
    let mut object = object_of(kind, spec);
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": api_version, "kind": owner, "name": "o", "uid": "u", "controller": controller,
    }]);
    object
}

fn by(user: &str) -> Value {
    json!({"userInfo": {"username": user}})
}

#[test]
fn warns_of_objects_that_controllers_made_for_judged_owners() {
    let flawed = windows(json!({"hostNetwork": true}));
    let own = [
        ("Pod", "ReplicaSet", "apps/v1"),
        ("Pod", "ReplicationController", "v1"),
        ("Pod", "StatefulSet", "apps/v1"),
        ("Pod", "DaemonSet", "apps/v1"),
        ("Pod", "Job", "batch/v1"),
        ("ReplicaSet", "Deployment", "apps/v1"),
        ("Job", "CronJob", "batch/v1"),
    ];
    let other = [
        ("Pod", "ReplicaSet", "v1"),
        ("Pod", "ReplicaSet", "extensions/v1"),
        ("Pod", "ReplicationController", "apps/v1"),
        ("Pod", "Job", "apps/v1"),
        ("Pod", "Deployment", "apps/v1"),
        ("Pod", "CronJob", "batch/v1"),
        ("Pod", "Workflow", "argoproj.io/v1"),
        ("Pod", "Node", "v1"),
        ("ReplicaSet", "Rollout", "argoproj.io/v1"),
        ("ReplicaSet", "DaemonSet", "apps/v1"),
        ("Job", "Deployment", "apps/v1"),
        ("Deployment", "Deployment", "apps/v1"),
        ("StatefulSet", "StatefulSet", "apps/v1"),
    ];
    let controllers = [
        "system:kube-controller-manager",
        CONTROLLER,
        "system:serviceaccount:kube-system:job-controller",
        "system:serviceaccount:kube-system:daemon-set-controller",
    ];
    let users = [
        "jane",
        "system:serviceaccount:default:replicaset-controller",
        "system:serviceaccount:kube-system:replicaset-controller2",
        "system:serviceaccount:kube-system:default",
        "system:node:a",
        "",
    ];
    let judge = |object: &Value, user: &str| asked(Endpoint::Validate, object, None, &by(user));
    for (kind, owner, api_version) in own {
        let object = owned_by(kind, owner, api_version, json!(true), flawed.clone());
        for user in controllers {
            let answer = judge(&object, user);
            assert!(answer.allowed, "{kind} of {owner} by {user}");
            assert_eq!(answer.warn.len(), 1, "{kind} of {owner} by {user}");
        }
        for user in users {
            assert!(!judge(&object, user).allowed, "{kind} of {owner} by {user}");
        }
        for flag in [json!(false), Value::Null] {
            let object = owned_by(kind, owner, api_version, flag, flawed.clone());
            assert!(!judge(&object, CONTROLLER).allowed, "{kind} of {owner}");
        }
        let enforce = policy("ownedObjects: enforce");
        let mut review = review_of(&object, "CREATE", None);
        merge(&mut review["request"], &by(CONTROLLER));
        let answer = ask_with(
            Endpoint::Validate,
            &bytes(&review),
            &enforce,
            &Facts::default(),
        );
        assert!(!answer.allowed, "{kind} of {owner}");
    }
    for (kind, owner, api_version) in other {
        let object = owned_by(kind, owner, api_version, json!(true), flawed.clone());
        assert!(
            !judge(&object, CONTROLLER).allowed,
            "{kind} of {api_version} {owner}"
        );
    }
    let unowned = object_of("Pod", flawed);
    assert!(!judge(&unowned, CONTROLLER).allowed);
}

#[test]
fn owned_objects_keep_the_denial_of_contradictions() {
    let conflict = json!({"nodeSelector": {OS: "linux"}, "os": {"name": "windows"}});
    let object = owned_by("Pod", "ReplicaSet", "apps/v1", json!(true), conflict);
    let answer = asked(Endpoint::Validate, &object, None, &by(CONTROLLER));
    assert_eq!(answer.deny.len(), 1);
    assert!(answer.deny[0].starts_with("WIN601 "));
}

#[test]
fn owned_pods_are_placed_like_others() {
    let object = owned_by("Pod", "ReplicaSet", "apps/v1", json!(true), image_only());
    let answer = asked(Endpoint::Mutate, &object, None, &by(CONTROLLER));
    assert_eq!(
        patched_paths(&answer),
        [
            "add /spec/os",
            "add /spec/nodeSelector",
            "add /spec/tolerations"
        ]
    );
}

/// A Windows pod spec without a node selector.
fn image_only() -> Value {
    json!({"containers": [container("main", json!({"image": "app:ltsc2022"}))]})
}

// ── DaemonSets and other templates ───────────────────────────────────────────────────────────

#[test]
fn pods_of_daemon_sets_get_no_selector() {
    let object = owned_by("Pod", "DaemonSet", "apps/v1", json!(true), image_only());
    for user in [
        "system:serviceaccount:kube-system:daemon-set-controller",
        "jane",
    ] {
        let answer = asked(Endpoint::Mutate, &object, None, &by(user));
        assert_eq!(
            patched_paths(&answer),
            ["add /spec/os", "add /spec/tolerations"],
            "{user}"
        );
    }
    for (owner, api_version, controller) in [
        ("DaemonSet", "example.com/v1", json!(true)),
        ("DaemonSet", "apps/v1", json!(false)),
        ("ReplicaSet", "apps/v1", json!(true)),
    ] {
        let object = owned_by("Pod", owner, api_version, controller, image_only());
        assert!(patched_paths(&mutate(&object)).contains(&"add /spec/nodeSelector".to_owned()));
    }
}

#[test]
fn patches_the_template_of_daemon_sets_and_of_no_other_workload() {
    for kind in KINDS.into_iter().filter(|kind| *kind != "Pod") {
        let mut spec = image_only();
        spec["containers"][0]["securityContext"] = json!({"privileged": false});
        let object = object_of(kind, spec);
        let answer = mutate(&object);
        if kind == "DaemonSet" {
            assert_eq!(
                patched_paths(&answer),
                [
                    "add /spec/template/spec/os",
                    "add /spec/template/spec/nodeSelector",
                    "add /spec/template/spec/tolerations",
                    "remove /spec/template/spec/containers/0/securityContext/privileged",
                ]
            );
        } else {
            is_silent(kind, &answer);
        }
    }
}

#[test]
fn patches_daemon_sets_on_updates_that_change_the_template() {
    let set = |spec: Value| object_of("DaemonSet", spec);
    let old = set(image_only());
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut new = old.clone();
        change(&mut new);
        ask(Endpoint::Mutate, &update(&new, &old)).patch.is_some()
    };
    let main = |object: &mut Value, fields: Value| {
        merge(&mut pod_spec_mut(object)["containers"][0], &fields);
    };
    assert!(!changed(&|_| {}), "nothing changed");
    assert!(
        !changed(&|o| o["metadata"]["labels"] = json!({"x": "y"})),
        "its own labels"
    );
    assert!(
        !changed(&|o| o["spec"]["minReadySeconds"] = json!(5)),
        "beside the template"
    );
    assert!(!changed(&|o| o["status"] = json!({"x": 1})), "status");
    assert!(
        changed(&|o| main(o, json!({"image": "app:1-ltsc2022"}))),
        "an image"
    );
    assert!(
        changed(&|o| main(o, json!({"env": [{"name": "A", "value": "b"}]}))),
        "env, which nobody reads"
    );
    assert!(
        changed(&|o| main(o, json!({"ports": [{"containerPort": 1}]}))),
        "ports"
    );
    assert!(
        changed(&|o| merge(
            pod_metadata_mut(o),
            &json!({"annotations": {"restartedAt": "now"}})
        )),
        "an annotation of the template"
    );
    assert!(
        !changed(&|o| {
            o["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            main(o, json!({"image": "app:1-ltsc2022"}));
        }),
        "it is on its way out"
    );
    for kind in ["Deployment", "StatefulSet", "ReplicaSet", "Job"] {
        let old = object_of(kind, image_only());
        let mut new = old.clone();
        merge(
            &mut pod_spec_mut(&mut new)["containers"][0],
            &json!({"image": "b:ltsc2022"}),
        );
        is_silent(kind, &ask(Endpoint::Mutate, &update(&new, &old)));
    }
}

// ── spec.os and repairs ──────────────────────────────────────────────────────────────────────

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
        ("WIN204", json!({"shareProcessNamespace": false})),
        ("WIN205", json!({"hostUsers": true})),
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

// ── Placement ────────────────────────────────────────────────────────────────────────────────

#[test]
fn adds_only_what_is_missing() {
    let toleration = |fields: Value| json!({"tolerations": [fields]});
    for (what, fields, missing) in [
        ("nothing", json!({}), true),
        (
            "the very same",
            toleration(
                json!({"key": "os", "operator": "Equal", "value": "Win1809", "effect": "NoSchedule"}),
            ),
            false,
        ),
        (
            "operator left out",
            toleration(json!({"key": "os", "value": "Win1809", "effect": "NoSchedule"})),
            false,
        ),
        (
            "every effect",
            toleration(json!({"key": "os", "value": "Win1809"})),
            false,
        ),
        (
            "every value",
            toleration(json!({"key": "os", "operator": "Exists"})),
            false,
        ),
        (
            "everything",
            toleration(json!({"operator": "Exists"})),
            false,
        ),
        (
            "everything of an effect",
            toleration(json!({"operator": "Exists", "effect": "NoSchedule"})),
            false,
        ),
        (
            "another effect",
            toleration(json!({"operator": "Exists", "effect": "NoExecute"})),
            true,
        ),
        (
            "another value",
            toleration(json!({"key": "os", "value": "windows"})),
            true,
        ),
        (
            "another key",
            toleration(json!({"key": "o", "operator": "Exists"})),
            true,
        ),
        ("an empty list", json!({"tolerations": []}), true),
        ("null", json!({"tolerations": null}), true),
    ] {
        let object = pod(windows(fields));
        let patched = mutate(&object).patched(&object);
        let before = object["spec"]["tolerations"].as_array().map_or(0, Vec::len);
        let after = patched["spec"]["tolerations"]
            .as_array()
            .map_or(0, Vec::len);
        assert_eq!(after - before, usize::from(missing), "{what}");
        is_silent(what, &mutate(&patched));
    }
    for selector in [
        json!({}),
        Value::Null,
        json!({"disk": "ssd"}),
        json!({"beta.kubernetes.io/os": "windows"}),
    ] {
        let mut object = pod(image_only());
        object["spec"]["nodeSelector"] = selector.clone();
        let patched = mutate(&object).patched(&object);
        assert_eq!(patched["spec"]["nodeSelector"][OS], "windows");
        for (key, value) in selector.as_object().into_iter().flatten() {
            assert_eq!(&patched["spec"]["nodeSelector"][key], value);
        }
    }
    for os in [json!({}), Value::Null, json!({"name": null})] {
        let mut object = pod(image_only());
        object["spec"]["os"] = os;
        let patched = mutate(&object).patched(&object);
        assert_eq!(patched["spec"]["os"], json!({"name": "windows"}));
    }
}

#[test]
fn adds_the_tolerations_of_the_pods_build() {
    let policy = policy(
        "placement:\n  tolerations:\n  - {key: os, value: Win1809, builds: [10.0.17763]}\n  \
         - {key: os, value: Win2022, builds: [10.0.20348]}\n  - {key: pool, operator: Exists}\n",
    );
    let build = "node.kubernetes.io/windows-build";
    let required = |values: Value| {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchExpressions": [{"key": build, "operator": "In", "values": values}]}]}}}})
    };
    let image =
        |image: &str| windows(json!({"containers": [container("a", json!({"image": image}))]}));
    for (what, spec, want) in [
        (
            "unknown",
            windows(json!({})),
            vec!["Win1809", "Win2022", ""],
        ),
        (
            "by selector",
            windows(json!({"nodeSelector": {build: "10.0.17763"}})),
            vec!["Win1809", ""],
        ),
        (
            "by affinity",
            required(json!(["10.0.20348"])),
            vec!["Win2022", ""],
        ),
        (
            "by affinity to two",
            required(json!(["10.0.17763", "10.0.20348"])),
            vec!["Win1809", "Win2022", ""],
        ),
        ("by image", image("a:ltsc2019"), vec!["Win1809", ""]),
        ("by image", image("a:1809"), vec!["Win1809", ""]),
        ("another build", image("a:ltsc2025"), vec![""]),
        (
            "no whole word",
            image("a:xltsc2019"),
            vec!["Win1809", "Win2022", ""],
        ),
    ] {
        let object = pod(spec);
        let answer = ask_with(
            Endpoint::Mutate,
            &create(&object),
            &policy,
            &Facts::default(),
        );
        let patched = answer.patched(&object);
        let values: Vec<_> = patched["spec"]["tolerations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["value"].as_str().unwrap_or(""))
            .collect();
        assert_eq!(values, want, "{what}");
    }
}

#[test]
fn writes_the_configured_label() {
    let policy = policy("placement: {osLabelKey: example.com/os, tolerations: []}");
    let object = pod(windows(json!({})));
    let answer = ask_with(
        Endpoint::Mutate,
        &create(&object),
        &policy,
        &Facts::default(),
    );
    assert_eq!(
        patched_paths(&answer),
        ["add /spec/os", "add /spec/nodeSelector/example.com~1os"]
    );
}

// ── The words ────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_denial_names_rule_field_value_reason_remedy_and_evidence() {
    let answer = validate(&pod(windows(json!({
        "hostNetwork": true,
        "securityContext": {"runAsUser": 1000},
        "containers": [container("main", json!({"command": ["bash"]}))],
    }))));
    let lines: Vec<_> = answer.message().lines().collect();
    assert_eq!(
        lines[0],
        "this Pod is for Windows (spec.nodeSelector[\"kubernetes.io/os\"]: windows), \
         which cannot honour it as it is written:"
    );
    assert_eq!(
        lines.len(),
        3,
        "one line each, sorted; warnings stay warnings"
    );
    for (line, (code, field)) in lines[1..].iter().zip([
        ("WIN101", "spec.securityContext.runAsUser: 1000"),
        ("WIN201", "spec.hostNetwork: true"),
    ]) {
        let rule = Rule::find(code).unwrap();
        let want = format!(
            "- {field} [{code} {}] {} {}",
            rule.name, rule.reason, rule.remedy
        );
        assert_eq!(*line, want);
    }
    let causes = &answer.response["status"]["details"]["causes"];
    assert_eq!(
        causes[0],
        json!({
            "reason": "FieldValueForbidden",
            "field": "spec.securityContext.runAsUser",
            "message": "WIN101 run-as-user: Windows has no numeric user IDs",
        })
    );
    assert_eq!(
        answer.warnings(),
        ["WIN504 spec.containers[0].command[0]: bash: Windows images do not have this program"]
    );
    let audit = &answer.response["auditAnnotations"];
    assert_eq!(audit["os"], "windows");
    assert_eq!(audit["mode"], "enforce");
    assert_eq!(
        audit["evidence"],
        "node-selector spec.nodeSelector[\"kubernetes.io/os\"]: windows"
    );
    assert_eq!(
        audit["findings"],
        "WIN101 deny spec.securityContext.runAsUser; WIN201 deny spec.hostNetwork; \
         WIN504 warn spec.containers[0].command[0]"
    );
}

#[test]
fn a_contradiction_is_told_with_both_sides() {
    let answer = validate(&pod(
        json!({"os": {"name": "windows"}, "nodeSelector": {OS: "linux"}}),
    ));
    let message = answer.message();
    assert!(message.starts_with("no node can run this Pod as it is written:\n- spec.nodeSelector"));
    assert!(
        message.contains(r#"["kubernetes.io/os"]: linux against spec.os.name: windows [WIN601"#),
        "{message}"
    );
}

#[test]
fn findings_are_sorted_by_rule_and_then_by_place() {
    let flawed = |name: &str| {
        container(
            name,
            json!({"securityContext": {"runAsUser": 1, "privileged": true}}),
        )
    };
    let object = pod(windows(json!({
        "hostPID": true,
        "containers": [flawed("a"), flawed("b")],
        "volumes": [{"name": "v", "nfs": {}}],
    })));
    let codes: Vec<_> = validate(&object).deny;
    let code = |finding: &String| finding.split(' ').next().unwrap().to_owned();
    assert!(codes.is_sorted_by_key(code), "{codes:?}");
    assert_eq!(codes.len(), 6);
    assert!(codes[0].contains("containers[0]") && codes[1].contains("containers[1]"));
}

#[test]
fn tells_sixty_four_findings_and_counts_the_rest() {
    let many = |fields: Value, count: usize| {
        let list: Vec<_> = (0..count)
            .map(|i| container(&format!("c{i}"), fields.clone()))
            .collect();
        pod(windows(json!({"containers": list})))
    };
    let deny = json!({"securityContext": {"runAsUser": 1}});
    for (count, more) in [
        (64, None),
        (65, Some("and 1 more")),
        (200, Some("and 136 more")),
    ] {
        let answer = validate(&many(deny.clone(), count));
        let lines: Vec<_> = answer.message().lines().skip(1).collect();
        assert_eq!(
            lines.iter().filter(|l| l.starts_with("- ")).count(),
            count.min(64)
        );
        assert_eq!(lines.get(64).copied(), more);
        let causes = answer.response["status"]["details"]["causes"]
            .as_array()
            .unwrap();
        assert_eq!(causes.len(), count.min(64));
        assert_eq!(
            causes[63]["field"],
            "spec.containers[63].securityContext.runAsUser"
        );
        assert_eq!(answer.deny.len(), count);
        let audit = answer.response["auditAnnotations"]["findings"]
            .as_str()
            .unwrap();
        assert_eq!(audit.split("; ").count(), 64 + usize::from(more.is_some()));
    }
    let warn = json!({"command": ["sh"]});
    for (count, more) in [(64, None), (65, Some("transom: and 1 more findings"))] {
        let answer = validate(&many(warn.clone(), count));
        assert!(answer.allowed);
        let warnings = answer.warnings();
        assert!(warnings[63].contains("spec.containers[63].command[0]"));
        assert_eq!(
            warnings.get(64).copied().filter(|w| !w.contains(" by ")),
            more
        );
        assert!(warnings.last().unwrap().contains("for Windows by"));
    }
}

#[test]
fn warnings_are_short() {
    let warn = labelled(Mode::Warn);
    let policy = policy("profile: current");
    let object = pod(windows(json!({
        "hostNetwork": true, "hostPID": true, "hostIPC": true, "hostUsers": false,
        "shareProcessNamespace": true, "dnsPolicy": "ClusterFirstWithHostNet", "resources": {},
        "dnsConfig": {"searches": ["a.example", "b.example"]},
        "securityContext": {
            "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000,
            "fsGroupChangePolicy": "OnRootMismatch", "supplementalGroups": [1000],
            "supplementalGroupsPolicy": "Strict", "seLinuxOptions": {"level": "s0"},
            "seLinuxChangePolicy": "Recursive", "sysctls": [{"name": "a", "value": "b"}],
            "appArmorProfile": {"type": "RuntimeDefault"},
            "seccompProfile": {"type": "Localhost", "localhostProfile": "a"},
        },
        "containers": [container("main", json!({
            "command": ["/bin/sh", "-c", "true"],
            "resources": {"limits": {"hugepages-2Mi": "2Mi"}},
            "lifecycle": {"stopSignal": "SIGUSR1"},
            "restartPolicyRules": [{"action": "RestartAllContainers"}],
            "volumeDevices": [{"name": "a", "devicePath": "/dev/a"}],
            "volumeMounts": [{"name": "a", "mountPath": "/a", "subPath": "file", "mountPropagation": "HostToContainer", "recursiveReadOnly": "Enabled"}],
            "securityContext": {
                "privileged": true, "allowPrivilegeEscalation": true, "procMount": "Unmasked",
                "readOnlyRootFilesystem": true, "capabilities": {"add": ["NET_ADMIN"]},
                "runAsUser": 1000, "runAsGroup": 1000, "seLinuxOptions": {"level": "s0"},
                "appArmorProfile": {"type": "RuntimeDefault"}, "seccompProfile": {"type": "Localhost"},
            },
        }))],
        "volumes": [
            {"name": "a", "emptyDir": {"medium": "Memory"}},
            {"name": "b", "emptyDir": {"medium": "HugePages-2Mi"}},
            {"name": "c", "nfs": {}}, {"name": "d", "glusterfs": {}}, {"name": "e", "image": {}},
            {"name": "f", "secret": {"defaultMode": 256}}, {"name": "g", "hostPath": {"path": "/var/run/docker.sock"}},
            {"name": "h", "iscsi": {}},
        ],
    })));
    let answer = ask_with(Endpoint::Validate, &create(&object), &policy, &warn);
    for warning in answer.warnings() {
        assert!(warning.chars().count() <= 120, "{warning}");
    }
    assert!(answer.warnings().len() > 45, "{}", answer.warnings().len());
}

#[test]
fn control_characters_and_long_values_are_cut_in_messages() {
    let long = "x".repeat(5_000);
    let object = pod(windows(json!({
        "containers": [container("main", json!({"volumeMounts": [
            {"name": "a", "mountPath": "/a", "subPath": format!("a\nb\u{1b}[31m{long}")},
        ]}))],
    })));
    let answer = validate(&object);
    let warning = answer.warnings()[0];
    assert!(warning.len() < 250, "{}", warning.len());
    assert!(!warning.chars().any(char::is_control), "{warning:?}");
    assert!(warning.contains("a b [31mxxx"), "{warning}");
}

#[test]
fn evidence_of_the_namespace_reaches_the_audit_log() {
    let facts = namespace(NamespaceFacts {
        os: Some(Os::Windows),
        ..NamespaceFacts::default()
    });
    let body = create(&pod(json!({})));
    let answer = ask_with(Endpoint::Validate, &body, &Policy::default(), &facts);
    assert_eq!(answer.warnings(), [""; 0], "no finding, no warning");
    assert_eq!(
        answer.response["auditAnnotations"]["evidence"],
        "declared label transom.dev/os: windows of namespace default"
    );
}

/// Every kind names its own paths.
#[test]
fn paths_start_at_the_object() {
    for kind in KINDS {
        let answer = validate(&object_of(kind, windows(json!({"hostPID": true}))));
        assert_eq!(answer.deny, [format!("WIN202 {}.hostPID", spec_path(kind))]);
        assert!(
            answer
                .message()
                .starts_with(&format!("this {kind} is for Windows ("))
        );
    }
}
