//! OpenShift: a stub of its admission plugin for SecurityContextConstraints (SCC) changes pods before
//! Transom and validates them after it. On OpenShift it is part of the API server.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::kubectl::Namespace;
use crate::scc::{self, RESTRICTED_V2};
use crate::transom::{LABEL, Options, Transom};
use crate::webhook::Webhook;
use crate::{WINDOWS_IMAGE, eventually};

tests![
    repairs_what_scc_writes_and_scc_leaves_the_pod_alone,
    keeps_debug_containers_as_scc_requires_them,
];

/// What the stub was called for: whether it mutates, whether it ignored the pod.
type Calls = Arc<Mutex<Vec<(bool, bool)>>>;

/// The stub for the namespaces with this label. It ends with the value.
fn install(cluster: &Cluster, namespace: &Namespace<'_>, label: &str) -> (Webhook, Calls) {
    let calls = Calls::default();
    let stub = Webhook::start(cluster, {
        let calls = Arc::clone(&calls);
        move |path, request| {
            let object = &request["object"];
            let (mutates, is_ignored) = (path == "/mutate", scc::is_ignored(object));
            calls.lock().unwrap().push((mutates, is_ignored));
            match mutates {
                true => mutate(request),
                false => validate(object),
            }
        }
    });
    for (kind, path) in [("Mutating", "/mutate"), ("Validating", "/validate")] {
        let mut entry = json!({
            "name": "scc.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "clientConfig": cluster.client_config(stub.port(), path),
            "namespaceSelector": {"matchLabels": {LABEL: label}},
            "rules": [{
                "operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["pods", "pods/ephemeralcontainers"],
            }],
        });
        if kind == "Mutating" {
            // As the plugin, which the API server calls again after webhooks changed the object.
            entry["reinvocationPolicy"] = json!("IfNeeded");
        }
        // Webhooks are called in the order of their configurations' names: this one comes before ours.
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {"name": format!("aa-scc-{label}")},
            "webhooks": [entry],
        });
        namespace.create(&configuration.to_string());
    }
    (stub, calls)
}

/// Spec and annotations as the plugin writes them on creation; of an UPDATE, the new debug containers.
fn mutate(request: &Value) -> Option<Value> {
    let object = &request["object"];
    let mut assigned = object.clone();
    scc::assign(&RESTRICTED_V2, &mut assigned);
    if assigned == *object {
        return None;
    }
    let patch = match request["operation"] == "CREATE" {
        true => json!([
            {"op": "replace", "path": "/spec", "value": assigned["spec"]},
            {"op": "add", "path": "/metadata/annotations", "value": assigned["metadata"]["annotations"]},
        ]),
        false => json!([{
            "op": "add", "path": "/spec/ephemeralContainers",
            "value": assigned["spec"]["ephemeralContainers"],
        }]),
    };
    Some(patch)
}

/// What the plugin would still change is denied.
fn validate(object: &Value) -> Option<Value> {
    let mut assigned = object.clone();
    scc::assign(&RESTRICTED_V2, &mut assigned);
    let message = "unable to validate against any security context constraint";
    (assigned["spec"] != object["spec"]).then(|| json!(message))
}

fn pod(name: &str, labels: &Value, spec: &Value) -> String {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec,
    })
    .to_string()
}

fn repairs_what_scc_writes_and_scc_leaves_the_pod_alone(cluster: &Cluster) {
    let label = "openshift";
    let namespace = cluster.namespace(label, &[(LABEL, label)]);
    let (_stub, calls) = install(cluster, &namespace, label);
    let image = |image: &str| json!({"containers": [{"name": "main", "image": image}]});
    // The stub alone: what a Linux pod gets.
    eventually("the stub is called", || {
        namespace.file(
            "linux.yaml",
            &pod("linux", &json!({}), &image("nginx:1.29")),
        );
        let args = [
            "create",
            "--dry-run=server",
            "-o",
            "json",
            "-f",
            "linux.yaml",
        ];
        namespace.ok(&args).contains(scc::ANNOTATION).then_some(())
    });
    let told = namespace.apply(
        "linux.yaml",
        &pod("linux", &json!({}), &image("nginx:1.29")),
    );
    assert!(told.succeeded(), "{told}");
    let linux = namespace.get(&["pod", "linux"]);
    let context = &linux["spec"]["containers"][0]["securityContext"];
    assert_eq!(context["runAsUser"], scc::ID);
    assert_eq!(linux["spec"]["securityContext"]["fsGroup"], scc::ID);

    let transom = Transom::install(cluster, label, &Options::default());
    calls.lock().unwrap().clear();
    let told = namespace.apply(
        "pod.yaml",
        &pod("windows", &json!({}), &image(WINDOWS_IMAGE)),
    );
    assert!(told.succeeded(), "{told}");
    let windows = namespace.get(&["pod", "windows"]);
    assert_eq!(windows["spec"]["os"]["name"], "windows");
    assert_eq!(windows["spec"]["securityContext"], json!({}));
    let context = &windows["spec"]["containers"][0]["securityContext"];
    assert_eq!(context, &json!({"runAsNonRoot": true}));
    let annotation = &windows["metadata"]["annotations"][scc::ANNOTATION];
    assert_eq!(annotation, RESTRICTED_V2.name);
    // Called before Transom, again because Transom changed the pod, and for validation.
    let seen = calls.lock().unwrap().clone();
    assert_eq!(seen, [(true, false), (true, true), (false, true)]);
    assert!(transom.calls("mutate") > 0);

    // A field of the author is denied as everywhere, and SCC's are not part of the message.
    let mut spec = image(WINDOWS_IMAGE);
    spec["securityContext"] = json!({"runAsGroup": 1000});
    let told = namespace.apply("pod.yaml", &pod("author", &json!({}), &spec));
    assert!(!told.succeeded(), "{told}");
    assert!(told.stderr.contains("WIN102"), "{told}");
    assert!(!told.stderr.contains("[WIN106"), "{told}");

    // Templates are not changed by SCC, and denied.
    let mut template = image(WINDOWS_IMAGE);
    template["securityContext"] = json!({"fsGroup": scc::ID});
    let app = json!({"app": "shop"});
    let deployment = |spec: &Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"},
            "spec": {
                "selector": {"matchLabels": app.clone()},
                "template": {"metadata": {"labels": app.clone()}, "spec": spec},
            },
        })
        .to_string()
    };
    let told = namespace.apply("deployment.yaml", &deployment(&template));
    assert!(!told.succeeded(), "{told}");
    assert!(told.stderr.contains("WIN106"), "{told}");

    // The pod of a ReplicaSet has spec.os, although its template does not.
    let told = namespace.apply("deployment.yaml", &deployment(&image(WINDOWS_IMAGE)));
    assert!(told.succeeded(), "{told}");
    let of_deployment = eventually("the ReplicaSet made its pod", || {
        let pods = namespace.get(&["pods", "--selector", "app=shop"]);
        pods["items"].as_array()?.first().cloned()
    });
    assert_eq!(of_deployment["spec"]["os"]["name"], "windows");
    assert_eq!(of_deployment["spec"]["securityContext"], json!({}));
}

fn keeps_debug_containers_as_scc_requires_them(cluster: &Cluster) {
    let label = "openshift-debug";
    let namespace = cluster.namespace(label, &[(LABEL, label)]);
    // A Windows pod from before Transom: it does not say os=windows.
    let (_stub, _) = install(cluster, &namespace, label);
    let spec = json!({"containers": [{"name": "main", "image": WINDOWS_IMAGE}]});
    eventually("the stub is called", || {
        namespace.file("old.yaml", &pod("old", &json!({}), &spec));
        let args = ["create", "--dry-run=server", "-o", "json", "-f", "old.yaml"];
        namespace.ok(&args).contains(scc::ANNOTATION).then_some(())
    });
    let told = namespace.apply("old.yaml", &pod("old", &json!({}), &spec));
    assert!(told.succeeded(), "{told}");
    let _transom = Transom::install(cluster, label, &Options::default());
    let debug = json!({
        "name": "debug", "image": WINDOWS_IMAGE,
        "securityContext": {
            "runAsUser": scc::ID, "runAsNonRoot": true, "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
        },
    });
    let patch = json!({"spec": {"ephemeralContainers": [debug]}}).to_string();
    let args = [
        "patch",
        "pod",
        "old",
        "--subresource=ephemeralcontainers",
        "-p",
        &patch,
    ];
    namespace.ok(&args);
    let old = namespace.get(&["pod", "old"]);
    let context = &old["spec"]["ephemeralContainers"][0]["securityContext"];
    assert_eq!(context["runAsUser"], scc::ID);
}
