//! The ratchet: what was there before an update is told, what is new is denied; and what is being
//! deleted or cannot be changed any more.

use crate::common::{
    KINDS, OS, ask, ask_with, bytes, merge, object_of, pod, pod_metadata_mut, policy, review_of,
    update,
};
use crate::{
    asked, container, is_silent, mutate, secured, validate, validate_update, windows, windows_os,
};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;

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
fn denies_another_case_of_a_known_rule() {
    // The value stays `true`; the account makes it a container that cannot start.
    let with = |options: Value| {
        pod(windows(
            json!({"securityContext": {"runAsNonRoot": true, "windowsOptions": options}}),
        ))
    };
    let old = with(json!({"runAsUserName": "ContainerUser"}));
    let new = with(json!({"runAsUserName": "ContainerAdministrator"}));
    let policy = policy("profile: kep-116");
    let ask = |new: &Value| {
        let facts = Facts::default();
        ask_with(Endpoint::Validate, &update(new, &old), &policy, &facts)
    };
    assert_eq!(ask(&new).deny, ["WIN103 spec.securityContext.runAsNonRoot"]);
    assert_eq!(ask(&old).deny, [""; 0]);
}

#[test]
fn denies_other_content_of_fields_that_no_rule_reads() {
    let volume = |volume: Value| windows(json!({"volumes": [volume]}));
    let nfs = |server: &str| volume(json!({"name": "a", "nfs": {"server": server, "path": "/"}}));
    let labels =
        |level: &str| windows(json!({"securityContext": {"seLinuxOptions": {"level": level}}}));
    let sysctls = |name: &str| {
        windows(json!({"securityContext": {"sysctls": [{"name": name, "value": "1"}]}}))
    };
    let devices = |path: &str| {
        let devices = json!([{"name": "a", "devicePath": path}]);
        windows(json!({"containers": [container("a", json!({"volumeDevices": devices}))]}))
    };
    for [old, new] in [
        [nfs("a"), nfs("b")],
        [labels("s0"), labels("s1")],
        [sysctls("a"), sysctls("b")],
        [devices("/dev/a"), devices("/dev/b")],
    ] {
        let [old, new] = [pod(old), pod(new)];
        assert_eq!(validate_update(&new, &old).deny.len(), 1, "{new}");
        assert!(validate_update(&old, &old).allowed, "{old}");
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

/// What the API server let pass before, it refuses beside the os=windows that this UPDATE adds.
#[test]
fn adding_os_makes_old_findings_new() {
    let flawed = json!({
        "securityContext": {"runAsUser": 1},
        "containers": [container("a", json!({"securityContext": {"privileged": false}}))],
    });
    let old = object_of("Deployment", windows(flawed.clone()));
    let new = object_of("Deployment", windows_os(flawed));
    let answer = asked(Endpoint::Mutate, &new, Some(&old), &json!({}));
    assert_eq!(
        answer.deny,
        [
            "WIN101 spec.template.spec.securityContext.runAsUser",
            "WIN113 spec.template.spec.containers[0].securityContext.privileged",
        ]
    );
    let message = answer.message();
    assert!(
        message.contains("The pod loses nothing without it, but the API server rejects"),
        "{message}"
    );
    assert!(
        !message.contains("HostProcess"),
        "no escalation for false: {message}"
    );
}

#[test]
fn another_contradiction_is_new() {
    let old = pod(json!({"nodeSelector": {OS: "windows", "beta.kubernetes.io/os": "linux"}}));
    let new = pod(json!({"os": {"name": "windows"}, "nodeSelector": {OS: "linux"}}));
    let answer = validate_update(&new, &old);
    assert_eq!(
        answer.deny,
        ["WIN601 spec.nodeSelector[\"kubernetes.io/os\"]"]
    );
}
