//! What /mutate denies already and what it leaves to /validate.

use crate::common::{KINDS, object_of, pod, pod_spec};
use crate::{container, is_silent, mutate, secured, validate, windows, windows_os};
use serde_json::json;

#[test]
fn mutate_denies_only_what_the_api_server_would_refuse_first() {
    let refused = [
        json!({"hostPID": true}),
        json!({"hostIPC": true}),
        json!({"hostUsers": false}),
        json!({"shareProcessNamespace": true}),
        json!({"resources": {"limits": {"cpu": 1}}}),
        json!({"securityContext": {"runAsUser": 0}}),
        json!({"securityContext": {"runAsGroup": 0}}),
        json!({"securityContext": {"fsGroup": 0}}),
        json!({"securityContext": {"fsGroupChangePolicy": "Always"}}),
        json!({"securityContext": {"supplementalGroups": [1]}}),
        json!({"securityContext": {"supplementalGroupsPolicy": "Strict"}}),
        json!({"securityContext": {"sysctls": [{"name": "a", "value": "b"}]}}),
        json!({"securityContext": {"seLinuxOptions": {"level": "s0"}}}),
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
        json!({"volumes": [{"name": "v", "iscsi": {"targetPortal": "a", "iqn": "b", "lun": 0}}]}),
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
