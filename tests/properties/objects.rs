//! The generated objects: pods of every kind with flaws, evidence, both or neither.

use crate::common::{KINDS, merge, object_of, pod_metadata_mut};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// Some of these pieces, merged.
fn some_of(pieces: Vec<Value>, most: usize) -> impl Strategy<Value = Value> {
    vec(select(pieces), 0..=most).prop_map(|pieces| {
        let mut all = json!({});
        pieces.iter().for_each(|piece| merge(&mut all, piece));
        all
    })
}

/// What containers may have in their security context.
fn context() -> impl Strategy<Value = Value> {
    some_of(
        vec![
            json!({"runAsUser": 1000}),
            json!({"runAsGroup": 0}),
            json!({"runAsNonRoot": true}),
            json!({"privileged": true}),
            json!({"privileged": false}),
            json!({"allowPrivilegeEscalation": true}),
            json!({"allowPrivilegeEscalation": false}),
            json!({"readOnlyRootFilesystem": true}),
            json!({"readOnlyRootFilesystem": false}),
            json!({"procMount": "Default"}),
            json!({"procMount": "Unmasked"}),
            json!({"capabilities": {"drop": ["ALL"]}}),
            json!({"capabilities": {"add": ["NET_ADMIN"]}}),
            json!({"capabilities": {}}),
            json!({"seLinuxOptions": {}}),
            json!({"seccompProfile": {"type": "RuntimeDefault"}}),
            json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}}),
            json!({"appArmorProfile": {"type": "Unconfined"}}),
            json!({"appArmorProfile": {"type": "RuntimeDefault"}}),
        ],
        3,
    )
}

fn image() -> impl Strategy<Value = &'static str> {
    select(vec![
        "registry.example/app:1",
        "registry.example/app:1",
        "registry.example/other@sha256:0123",
        "registry.example/team/iis:1",
    ])
}

fn container(name: String) -> impl Strategy<Value = Value> {
    let fields = some_of(
        vec![
            json!({"command": ["/bin/sh", "-c", "true"]}),
            json!({"command": ["app"]}),
            json!({"env": [{"name": "A", "value": "b"}]}),
            json!({"resources": {"limits": {"memory": "1Gi"}}}),
            json!({"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}),
            json!({"volumeMounts": [{"name": "v", "mountPath": "/a", "mountPropagation": "HostToContainer"}]}),
            json!({"volumeMounts": [{"name": "v", "mountPath": "/a", "readOnly": true}]}),
            json!({"volumeDevices": [{"name": "v", "devicePath": "/dev/a"}]}),
            json!({"livenessProbe": {"exec": {"command": ["bash"]}}}),
            json!({"lifecycle": {"stopSignal": "SIGUSR1"}}),
            json!({"terminationMessagePath": "/dev/termination-log"}),
        ],
        2,
    );
    (fields, proptest::option::of(context()), image()).prop_map(move |(mut all, context, image)| {
        all["name"] = json!(name);
        all["image"] = json!(image);
        if let Some(context) = context {
            all["securityContext"] = context;
        }
        all
    })
}

fn containers(prefix: &'static str, least: usize) -> impl Strategy<Value = Vec<Value>> {
    (least..=least + 2).prop_flat_map(move |count| {
        (0..count)
            .map(|i| container(format!("{prefix}{i}")))
            .collect::<Vec<_>>()
    })
}

fn volumes() -> impl Strategy<Value = Vec<Value>> {
    let sources = vec![
        json!({"emptyDir": {}}),
        json!({"emptyDir": {"medium": "Memory"}}),
        json!({"emptyDir": {"medium": "HugePages-2Mi"}}),
        json!({"secret": {"secretName": "a", "defaultMode": 420}}),
        json!({"secret": {"secretName": "a", "defaultMode": 256}}),
        json!({"configMap": {"name": "a", "items": [{"key": "a", "path": "b", "mode": 256}]}}),
        json!({"nfs": {"server": "a", "path": "/"}}),
        json!({"hostPath": {"path": "/etc"}}),
        json!({"hostPath": {"path": "C:\\a"}}),
        json!({"persistentVolumeClaim": {"claimName": "a"}}),
    ];
    vec(select(sources), 0..3).prop_map(|sources| {
        let named = |(i, mut source): (usize, Value)| {
            source["name"] = json!(format!("v{i}"));
            source
        };
        sources.into_iter().enumerate().map(named).collect()
    })
}

/// A pod spec without evidence, but for hints.
fn spec() -> impl Strategy<Value = Value> {
    let fields = some_of(
        vec![
            json!({"hostNetwork": true}),
            json!({"hostPID": true}),
            json!({"hostIPC": false}),
            json!({"hostUsers": true}),
            json!({"hostUsers": false}),
            json!({"shareProcessNamespace": false}),
            json!({"shareProcessNamespace": true}),
            json!({"dnsPolicy": "ClusterFirstWithHostNet"}),
            json!({"dnsConfig": {"searches": ["a.example", "b.example"]}}),
            json!({"tolerations": []}),
            json!({"tolerations": [{"operator": "Exists"}]}),
            json!({"tolerations": [{"key": "os", "operator": "Equal", "value": "windows"}]}),
            json!({"nodeSelector": {"disk": "ssd"}}),
            json!({"nodeSelector": {}}),
            json!({"terminationGracePeriodSeconds": 30}),
            json!({"priority": 5, "enableServiceLinks": true}),
            json!({"securityContext": {}}),
            json!({"securityContext": {"runAsUser": 0}}),
            json!({"securityContext": {"fsGroup": 5}}),
            json!({"securityContext": {"sysctls": []}}),
            json!({"securityContext": {"supplementalGroups": []}}),
            json!({"securityContext": {"supplementalGroupsPolicy": "Merge"}}),
            json!({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}),
        ],
        3,
    );
    (fields, containers("c", 1), containers("i", 0), volumes()).prop_map(
        |(mut spec, containers, init, volumes)| {
            spec["containers"] = json!(containers);
            if !init.is_empty() {
                spec["initContainers"] = json!(init);
            }
            if !volumes.is_empty() {
                spec["volumes"] = json!(volumes);
            }
            spec
        },
    )
}

fn required(os: &str) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions":
            [{"key": "kubernetes.io/os", "operator": "In", "values": [os]}]}]}}}})
}

/// Decisive or acting evidence for one system, none against it.
fn evidence(os: &'static str) -> impl Strategy<Value = Value> {
    let mut pieces = vec![
        json!({"nodeSelector": {"kubernetes.io/os": os}}),
        json!({"nodeSelector": {"beta.kubernetes.io/os": os}}),
        json!({"os": {"name": os}}),
        required(os),
    ];
    if os == "windows" {
        pieces.extend([
            json!({"nodeSelector": {"node.kubernetes.io/windows-build": "10.0.20348"}}),
            json!({"securityContext": {"windowsOptions": {"runAsUserName": "ContainerUser"}}}),
        ]);
    }
    vec(select(pieces), 1..3).prop_map(|pieces| {
        let mut all = json!({});
        pieces.iter().for_each(|piece| merge(&mut all, piece));
        all
    })
}

fn object_with(evidence: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    (select(KINDS.to_vec()), spec(), evidence).prop_map(|(kind, mut spec, evidence)| {
        merge(&mut spec, &evidence);
        object_of(kind, spec)
    })
}

pub(crate) fn linux_object() -> impl Strategy<Value = Value> {
    object_with(evidence("linux"))
}

pub(crate) fn windows_object() -> impl Strategy<Value = Value> {
    object_with(evidence("windows"))
}

/// Any object, contradictions and hints included.
pub(crate) fn any_object() -> impl Strategy<Value = Value> {
    let evidence = (
        proptest::option::of(evidence("windows")),
        proptest::option::of(evidence("linux")),
    );
    let metadata = some_of(
        vec![
            json!({"annotations": {"transom.dev/os": "windows"}}),
            json!({"annotations": {"a": "b"}}),
            json!({"labels": {"kubernetes.io/os": "windows"}}),
        ],
        1,
    );
    (select(KINDS.to_vec()), spec(), evidence, metadata).prop_map(
        |(kind, mut spec, (windows, linux), metadata)| {
            for evidence in [windows, linux].into_iter().flatten() {
                merge(&mut spec, &evidence);
            }
            let mut object = object_of(kind, spec);
            merge(pod_metadata_mut(&mut object), &metadata);
            object
        },
    )
}
