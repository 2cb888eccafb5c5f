//! Pod Security `restricted`, which asks less of a pod that says os=windows.

use serde_json::{Value, json};

use crate::WINDOWS_IMAGE;
use crate::cluster::Cluster;
use crate::transom::{LABEL, Options, Transom};

tests![a_windows_pod_is_admitted_to_a_restricted_namespace,];

fn pod(name: &str, context: &Value) -> String {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{
            "name": "main", "image": WINDOWS_IMAGE, "securityContext": context,
        }]},
    })
    .to_string()
}

fn a_windows_pod_is_admitted_to_a_restricted_namespace(cluster: &Cluster) {
    let restricted = [
        ("pod-security.kubernetes.io/enforce", "restricted"),
        (LABEL, "restricted"),
    ];
    let namespace = cluster.namespace("restricted", &restricted);
    let for_windows = json!({"runAsNonRoot": true});
    // All that `restricted` asks of a Linux pod.
    let for_both = json!({
        "runAsNonRoot": true,
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    let refused = namespace.apply("before.yaml", &pod("before", &for_windows));
    assert!(refused.stderr.contains("violates PodSecurity"), "{refused}");

    let _transom = Transom::install(cluster, "restricted", &Options::default());
    for (name, context) in [("for-windows", for_windows), ("for-both", for_both)] {
        let told = namespace.apply("pod.yaml", &pod(name, &context));
        assert!(told.succeeded(), "{told}");
        let pod = namespace.get(&["pod", name]);
        assert_eq!(pod["spec"]["os"]["name"], "windows");
        let context = &pod["spec"]["containers"][0]["securityContext"];
        assert_eq!(context, &json!({"runAsNonRoot": true}));
    }
    let told = namespace.apply("pod.yaml", &pod("root", &json!({"privileged": false})));
    assert!(told.stderr.contains("runAsNonRoot != true"), "{told}");
}
