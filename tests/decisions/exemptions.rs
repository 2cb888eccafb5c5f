//! Which requests are judged at all: exemptions, mirror pods, kinds, operations, dry runs.

use crate::common::{
    KINDS, ask, ask_with, bytes, create, merge, object_of, pod, pod_metadata_mut, policy, review_of,
};
use crate::{asked, is_silent, validate, windows};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;

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
