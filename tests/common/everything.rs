//! A pod with every field that Transom reads, each with a value of its own type: what tests of all fields
//! and the generated pods of the fuzzing take apart.

use serde_json::{Value, json};

use super::{merge, pod};

/// A pod in which every field that the table reads has a value, of its own type.
pub(crate) fn everything() -> Value {
    let context = json!({
        "runAsUser": 1, "runAsGroup": 1, "runAsNonRoot": true, "privileged": true,
        "allowPrivilegeEscalation": true, "readOnlyRootFilesystem": true, "procMount": "Unmasked",
        "seLinuxOptions": {"level": "s0"},
        "appArmorProfile": {"type": "Localhost"},
        "seccompProfile": {"type": "Localhost"},
        "capabilities": {"add": ["NET_ADMIN"]},
        "windowsOptions": {
            "hostProcess": false, "runAsUserName": "ContainerAdministrator",
            "gmsaCredentialSpecName": "a", "gmsaCredentialSpec": "",
        },
    });
    let exec = json!({"exec": {"command": ["sh"]}});
    let container = json!({
        "name": "main", "image": "app:ltsc2022",
        "command": ["sh"], "args": ["sh"], "workingDir": "C:\\",
        "livenessProbe": exec, "readinessProbe": exec, "startupProbe": exec,
        "lifecycle": {"postStart": exec, "preStop": exec, "stopSignal": "SIGUSR1"},
        "terminationMessagePath": "/a", "ports": [{"protocol": "SCTP"}],
        "restartPolicyRules": [{"action": "RestartAllContainers"}],
        "volumeDevices": [{"name": "v"}],
        "volumeMounts": [{
            "subPath": "a", "subPathExpr": "b", "mountPropagation": "Bidirectional",
            "recursiveReadOnly": "Enabled", "mountPath": "C:\\a",
        }],
        "resources": {
            "limits": {
                "hugepages-2Mi": "2Mi", "cpu": "1", "memory": "1Gi",
                "nvidia.com/gpu": 1, "amd.com/gpu": 1, "gpu.intel.com/i915": 1, "habana.ai/gaudi": 1,
                "aws.amazon.com/neuron": 1, "vpc.amazonaws.com/efa": 1, "google.com/tpu": 1,
                "devices.kubevirt.io/kvm": 1, "rdma/hca": 1,
            },
            "claims": [{"name": "a"}],
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
        "nodeSelector": {
            "kubernetes.io/os": "windows",
            "beta.kubernetes.io/os": "windows",
            "node.kubernetes.io/windows-build": "10.0.20348",
            "kubernetes.azure.com/os-sku": "Windows2022",
            "kubernetes.io/arch": "arm64",
        },
        "os": {"name": "windows"},
        "hostNetwork": true, "hostPID": true, "hostIPC": true, "hostUsers": false,
        "shareProcessNamespace": true, "dnsPolicy": "ClusterFirstWithHostNet",
        "dnsConfig": {"searches": ["a", "b"]},
        "terminationGracePeriodSeconds": 5, "nodeName": "a", "runtimeClassName": "b",
        "resources": {"limits": {"cpu": "1"}}, "resourceClaims": [{"name": "a"}],
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
            "windowsOptions": {
            "hostProcess": false, "runAsUserName": "ContainerAdministrator",
            "gmsaCredentialSpecName": "a", "gmsaCredentialSpec": "",
        },
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
            "uid": "u",
            "labels": {"kubernetes.io/os": "windows"},
            "annotations": {
                "transom.dev/os": "windows",
                "container.apparmor.security.beta.kubernetes.io/main": "localhost/a",
                "container.seccomp.security.alpha.kubernetes.io/main": "localhost/a",
                "seccomp.security.alpha.kubernetes.io/pod": "localhost/a",
                "experimental.windows.kubernetes.io/isolation-type": "hyperv",
                "microsoft.com/hostprocess-inherit-user": "false",
            },
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": true}],
        }),
    );
    object
}
