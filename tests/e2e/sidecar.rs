//! Another mutating webhook that comes after ours and injects a container made for Linux.

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::transom::{LABEL, Options, Transom};
use crate::webhook::Webhook;
use crate::{WINDOWS_IMAGE, eventually};

tests![a_sidecar_that_is_injected_after_us_is_seen,];

fn a_sidecar_that_is_injected_after_us_is_seen(cluster: &Cluster) {
    let transom = Transom::install(cluster, "sidecar", &Options::default());
    let namespace = transom.namespace("sidecar", &[]);
    let injector = Webhook::start(cluster, |_, request| Some(inject(request)));
    // Webhooks are called in the order of their configurations' names: this one comes after ours.
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "zz-sidecar"},
        "webhooks": [{
            "name": "inject.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "clientConfig": cluster.client_config(injector.port(), "/inject"),
            "namespaceSelector": {"matchLabels": {LABEL: "sidecar"}},
            "objectSelector": {"matchExpressions": [{"key": "inject", "operator": "Exists"}]},
            "rules": [{
                "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["pods"],
            }],
        }],
    });
    namespace.create(&configuration.to_string());
    let pod = |name: &str, image: &str, inject: &str| {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "main", "image": image}]},
        });
        pod["metadata"]["labels"] = json!({"inject": inject});
        pod.to_string()
    };
    eventually("the injector is called", || {
        namespace.file("probe.yaml", &pod("probe", "nginx:1.29", "harmless"));
        let args = [
            "create",
            "--dry-run=server",
            "-o",
            "json",
            "-f",
            "probe.yaml",
        ];
        namespace.ok(&args).contains("\"mesh\"").then_some(())
    });

    let told = namespace.apply("pod.yaml", &pod("harmless", WINDOWS_IMAGE, "harmless"));
    assert!(told.succeeded(), "{told}");
    let harmless = namespace.get(&["pod", "harmless"]);
    assert_eq!(harmless["spec"]["os"]["name"], "windows");
    let mesh = &harmless["spec"]["containers"][1];
    assert_eq!(mesh["name"], "mesh");
    assert_eq!(mesh["securityContext"], json!({"runAsNonRoot": true}));

    let told = namespace.apply("pod.yaml", &pod("harmful", WINDOWS_IMAGE, "harmful"));
    assert!(!told.succeeded(), "{told}");
    insta::assert_snapshot!("sidecar", told);
}

/// The patch that adds a container, as the pod's label says.
fn inject(request: &Value) -> Value {
    let context = match request["object"]["metadata"]["labels"]["inject"].as_str() {
        Some("harmful") => json!({"runAsUser": 1337, "runAsNonRoot": true}),
        _ => json!({
            "runAsNonRoot": true,
            "privileged": false,
            "capabilities": {"drop": ["ALL"]},
        }),
    };
    let mesh = json!({"name": "mesh", "image": "example.com/mesh:1", "securityContext": context});
    json!([{"op": "add", "path": "/spec/containers/-", "value": mesh}])
}
