//! Every field that is read, with a value of another type and with null.

use crate::common::{
    Answer, ask_with, assert_none, bytes, merge, pod, pointers, policy, review_of,
};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;

/// A pod in which every field that the table reads has a value, of its own type.
fn everything() -> Value {
    let context = json!({
        "runAsUser": 1, "runAsGroup": 1, "runAsNonRoot": true, "privileged": true,
        "allowPrivilegeEscalation": true, "readOnlyRootFilesystem": true, "procMount": "Unmasked",
        "seLinuxOptions": {"level": "s0"},
        "appArmorProfile": {"type": "Localhost"},
        "seccompProfile": {"type": "Localhost"},
        "capabilities": {"add": ["NET_ADMIN"]},
        "windowsOptions": {"hostProcess": false, "runAsUserName": "ContainerAdministrator"},
    });
    let exec = json!({"exec": {"command": ["sh"]}});
    let container = json!({
        "name": "main", "image": "app:ltsc2022",
        "command": ["sh"], "args": ["sh"], "workingDir": "C:\\",
        "livenessProbe": exec, "readinessProbe": exec, "startupProbe": exec,
        "lifecycle": {"postStart": exec, "preStop": exec, "stopSignal": "SIGUSR1"},
        "terminationMessagePath": "/a",
        "restartPolicyRules": [{"action": "RestartAllContainers"}],
        "volumeDevices": [{"name": "v"}],
        "volumeMounts": [{
            "subPath": "a", "subPathExpr": "b", "mountPropagation": "Bidirectional",
            "recursiveReadOnly": "Enabled", "mountPath": "C:\\a",
        }],
        "resources": {
            "limits": {"hugepages-2Mi": "2Mi", "cpu": "1", "memory": "1Gi"},
            "requests": {"hugepages-2Mi": "2Mi", "cpu": "1", "memory": "2Gi"},
        },
        "securityContext": context,
    });
    let named = |name: &str, mut fields: Value| {
        fields["name"] = json!(name);
        fields
    };
    let items = json!({"defaultMode": 256, "items": [{"mode": 256}]});
    let expression = json!({"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]});
    let mut object = pod(json!({
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "os": {"name": "windows"},
        "hostNetwork": true, "hostPID": true, "hostIPC": true, "hostUsers": false,
        "shareProcessNamespace": true, "dnsPolicy": "ClusterFirstWithHostNet",
        "dnsConfig": {"searches": ["a", "b"]},
        "terminationGracePeriodSeconds": 5, "nodeName": "a", "runtimeClassName": "b",
        "resources": {"limits": {"cpu": "1"}},
        "tolerations": [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}],
        "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
                "matchExpressions": [expression],
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}],
            }]},
            "preferredDuringSchedulingIgnoredDuringExecution":
                [{"preference": {"matchExpressions": [expression]}}],
        }},
        "securityContext": {
            "runAsUser": 1, "runAsGroup": 1, "runAsNonRoot": true, "fsGroup": 1,
            "fsGroupChangePolicy": "Always", "supplementalGroups": [1],
            "supplementalGroupsPolicy": "Strict", "seLinuxChangePolicy": "Recursive",
            "sysctls": [{"name": "a"}],
            "seLinuxOptions": {"level": "s0"},
            "appArmorProfile": {"type": "Localhost"},
            "seccompProfile": {"type": "Localhost"},
            "windowsOptions": {"hostProcess": false, "runAsUserName": "ContainerAdministrator"},
        },
        "containers": [container], "initContainers": [container], "ephemeralContainers": [container],
        "volumes": [
            named("a", json!({"emptyDir": {"medium": "Memory"}})),
            named("b", json!({"hostPath": {"path": "/etc"}})),
            named("c", json!({"secret": items, "configMap": items, "downwardAPI": items})),
            named("d", json!({"projected": {"defaultMode": 256, "sources":
                [{"secret": items, "configMap": items, "downwardAPI": items}]}})),
            named("e", json!({"nfs": {}, "cephfs": {}, "rbd": {}, "glusterfs": {}, "fc": {},
                "quobyte": {}, "storageos": {}, "scaleIO": {}, "flocker": {}, "portworxVolume": {},
                "photonPersistentDisk": {}, "cinder": {}, "iscsi": {}, "flexVolume": {}, "csi": {},
                "image": {}})),
        ],
    }));
    merge(
        &mut object["metadata"],
        &json!({
            "labels": {"kubernetes.io/os": "windows"},
            "annotations": {
                "transom.dev/os": "windows",
                "container.apparmor.security.beta.kubernetes.io/main": "localhost/a",
                "container.seccomp.security.alpha.kubernetes.io/main": "localhost/a",
                "seccomp.security.alpha.kubernetes.io/pod": "localhost/a",
                "experimental.windows.kubernetes.io/isolation-type": "hyperv",
            },
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": true}],
        }),
    );
    object
}

/// `/spec/containers/0/name` as messages have it.
fn dotted(pointer: &str) -> String {
    let mut out = String::new();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let plain = step
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if step.bytes().all(|b| b.is_ascii_digit()) {
            out += &format!("[{step}]");
        } else if !plain {
            out += &format!("[\"{step}\"]");
        } else if out.is_empty() {
            out += &step;
        } else {
            out += &format!(".{step}");
        }
    }
    out
}

fn same_type(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// Fields of `everything` that nobody reads, or reads no further than that they are there.
fn is_not_read(pointer: &str) -> bool {
    let ends = |list: &[&str]| list.iter().any(|end| pointer.ends_with(end));
    ends(&[
        "/apiVersion",
        "/kind",
        "/namespace",
        "/labels/app",
        "/metadata/labels",
        "/seLinuxOptions/level",
        "/spec/resources/limits",
        "/spec/resources/limits/cpu",
        "/searches/0",
        "/searches/1",
        // Kubernetes has it beside the sources only.
        "/sources/0/secret/defaultMode",
        "/sources/0/configMap/defaultMode",
        "/sources/0/downwardAPI/defaultMode",
        "/supplementalGroups/0",
        "/sysctls/0",
        "/sysctls/0/name",
        // Off in this profile: the tier is read and nothing comes of it.
        "/csi",
        "/volumeDevices/0",
        "/volumeDevices/0/name",
    ]) && pointer != "/metadata/labels"
        && !pointer.starts_with("/metadata/ownerReferences/0/")
        // A quantity is a string or a number; rules without a word in this profile read no more.
        || ends(&["/resources/limits/cpu", "/resources/requests/cpu"])
        || ends(&["/resources/limits/memory", "/resources/requests/memory"])
}

/// The rules of both profiles are read.
fn all_rules() -> Policy {
    let off_by_default = "WIN116 WIN117 WIN403 WIN404 WIN405 WIN501 WIN502";
    let rules: Vec<_> = off_by_default
        .split(' ')
        .map(|code| format!("{code}: deny"))
        .collect();
    policy(&format!(
        "profile: current\nrules: {{{}}}",
        rules.join(", ")
    ))
}

fn judge(review: &Value, policy: &Policy) -> Answer {
    ask_with(
        Endpoint::Validate,
        &bytes(review),
        policy,
        &Facts::default(),
    )
}

#[test]
fn names_every_field_of_the_wrong_type() {
    let object = everything();
    let policy = all_rules();
    let review = review_of(&object, "CREATE", None);
    let other = [
        json!(true),
        json!(5),
        json!("x"),
        json!([]),
        json!({}),
        json!(["x"]),
        json!({"x": 1}),
    ];
    let mut failures = Vec::new();
    let mut count = 0;
    for pointer in pointers(&object) {
        if is_not_read(&pointer) {
            continue;
        }
        for value in &other {
            let mut changed = object.clone();
            let place = changed.pointer_mut(&pointer).unwrap();
            if same_type(place, value) {
                continue;
            }
            *place = value.clone();
            let mut review = review.clone();
            review["request"]["object"] = changed;
            let answer = judge(&review, &policy);
            count += 1;
            let path = dotted(&pointer);
            let found = answer.deny.iter().chain(&answer.warn).any(|finding| {
                let (_, at) = finding.split_once(' ').unwrap();
                at == path
            });
            let unreadable = answer.message().starts_with(&format!("{path}: must be "));
            if answer.allowed || !(found || unreadable) {
                failures.push(format!("{path} = {value}"));
            }
        }
    }
    assert!(count > 1_500, "{count}");
    assert_none(&failures);
}

/// A null is as good as an absent field, everywhere.
#[test]
fn takes_nulls_for_absent_fields() {
    let object = everything();
    let policy = all_rules();
    for pointer in pointers(&object) {
        let in_list = pointer.rsplit('/').next().unwrap().parse::<usize>().is_ok();
        if in_list || is_not_read(&pointer) {
            continue;
        }
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        let mut null = object.clone();
        *null.pointer_mut(&pointer).unwrap() = Value::Null;
        let mut absent = object.clone();
        let map = absent.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        map.remove(&key);
        // The review is the same but for the field.
        let review = |object: &Value| {
            let mut review = review_of(&everything(), "CREATE", None);
            review["request"]["object"] = object.clone();
            review
        };
        let (with, without) = (
            judge(&review(&null), &policy),
            judge(&review(&absent), &policy),
        );
        assert_eq!(with.findings(), without.findings(), "{pointer}");
        assert_eq!(with.allowed, without.allowed, "{pointer}");
    }
}
