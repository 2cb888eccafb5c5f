//! What remains of a request: the object as it lies in etcd, and the audit log.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::transom::{Options, Transom};
use crate::{WINDOWS_IMAGE, eventually};

tests![
    the_patch_is_in_etcd_and_the_reasons_are_in_the_audit_log,
    a_pod_that_a_controller_names_is_patched,
];

fn the_patch_is_in_etcd_and_the_reasons_are_in_the_audit_log(cluster: &Cluster) {
    let transom = Transom::install(cluster, "stored", &Options::default());
    let namespace = transom.namespace("stored", &[]);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"containers": [{
            "name": "web", "image": WINDOWS_IMAGE,
            "securityContext": {"privileged": false, "runAsNonRoot": true},
        }]},
    });
    namespace.create(&pod.to_string());
    let stored = cluster.stored("pods", "stored", "web");
    let spec = &stored["spec"];
    assert_eq!(spec["os"], json!({"name": "windows"}));
    assert_eq!(spec["nodeSelector"], json!({"kubernetes.io/os": "windows"}));
    let toleration =
        json!({"key": "os", "operator": "Equal", "value": "Win1809", "effect": "NoSchedule"});
    let tolerations = spec["tolerations"].as_array().unwrap();
    assert!(tolerations.contains(&toleration), "{tolerations:?}");
    let context = &spec["containers"][0]["securityContext"];
    assert_eq!(context, &json!({"runAsNonRoot": true}));
    let linux = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "linux"},
        "spec": {"containers": [{"name": "linux", "image": "nginx:1.29"}]},
    });
    namespace.create(&linux.to_string());

    let mut denied = pod;
    denied["metadata"]["name"] = json!("denied");
    denied["spec"]["hostPID"] = json!(true);
    let told = namespace.apply("denied.yaml", &denied.to_string());
    assert!(!told.succeeded(), "{told}");
    // The log is written behind the answers.
    let events = eventually("the audit events of three pods", || {
        let mut events = cluster.audit();
        events.retain(|event| {
            let object = &event["objectRef"];
            object["namespace"] == "stored"
                && object["resource"] == "pods"
                && object["subresource"].is_null()
                && event["verb"] == "create"
        });
        (events.len() == 3).then_some(events)
    });
    let mut told = String::new();
    for event in &events {
        writeln!(
            told,
            "{}",
            event["objectRef"]["name"].as_str().unwrap_or("?")
        )
        .unwrap();
        for (key, value) in event["annotations"].as_object().unwrap() {
            if key.contains("transom.dev/") {
                writeln!(told, "  {key}: {}", text(value)).unwrap();
            }
        }
    }
    insta::assert_snapshot!("audit", told);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn a_pod_that_a_controller_names_is_patched(cluster: &Cluster) {
    let transom = Transom::install(cluster, "generated", &Options::default());
    let namespace = transom.namespace("generated", &[]);
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"},
        "spec": {"template": {
            "metadata": {"labels": {"app": "job"}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": WINDOWS_IMAGE}],
            },
        }},
    });
    namespace.create(&job.to_string());
    let pod = eventually("the pod of the Job", || namespace.pods("job").pop());
    assert_eq!(pod["metadata"]["generateName"], "job-");
    assert_eq!(pod["spec"]["os"]["name"], "windows");
    // The template is the user's.
    let template = &namespace.get(&["job", "job"])["spec"]["template"]["spec"];
    assert!(template["os"].is_null() && template["nodeSelector"].is_null());

    let named = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "named-"},
        "spec": {"hostPID": true, "containers": [{"name": "main", "image": WINDOWS_IMAGE}]},
    });
    namespace.file("named.yaml", &named.to_string());
    let told = namespace.kubectl(&["create", "-f", "named.yaml"]);
    assert!(!told.succeeded(), "{told}");
    assert!(
        told.stderr.contains("spec.hostPID: true [WIN202 host-pid]"),
        "{told}"
    );
}
