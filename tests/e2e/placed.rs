//! Where pods land: a Windows image without a selector, before and with Transom; and what Linux sees of it: nothing.

use serde_json::{Value, json};

use crate::WINDOWS_IMAGE;
use crate::cluster::Cluster;
use crate::kubectl::Namespace;
use crate::transom::{Options, Transom};

tests![without_transom_a_windows_image_runs_on_a_linux_node_and_with_it_on_a_windows_node,];

fn without_transom_a_windows_image_runs_on_a_linux_node_and_with_it_on_a_windows_node(
    cluster: &Cluster,
) {
    let before = cluster.namespace("before", &[]);
    let web = run(&before, "web", WINDOWS_IMAGE);
    assert!(web.iter().all(|pod| node(pod).starts_with("linux-")));
    let linux = run(&before, "proxy", "nginx:1.29");
    let deployment = before.get(&["deployment", "proxy"]);

    let transom = Transom::install(cluster, "placed", &Options::default());
    let with = transom.namespace("with", &[]);
    let web = run(&with, "web", WINDOWS_IMAGE);
    assert!(web.iter().all(|pod| node(pod).starts_with("windows-")));
    let same = run(&with, "proxy", "nginx:1.29");
    assert!(same.iter().all(|pod| node(pod).starts_with("linux-")));
    assert_eq!(
        with.get(&["deployment", "proxy"])["spec"],
        deployment["spec"]
    );
    assert_eq!(same.len(), linux.len());
    for (with, before) in same.iter().zip(&linux) {
        assert_eq!(without_chance(with), without_chance(before));
    }
}

/// Applies a Deployment, waits until it has been rolled out; its pods.
fn run(namespace: &Namespace<'_>, name: &str, image: &str) -> Vec<Value> {
    let manifest = format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers:
      - {{name: main, image: '{image}'}}
"
    );
    let told = namespace.apply("deployment.yaml", &manifest);
    assert!(told.succeeded(), "{told}");
    namespace.ok(&[
        "rollout",
        "status",
        &format!("deployment/{name}"),
        "--timeout=60s",
    ]);
    let pods = namespace.pods(name);
    assert_eq!(pods.len(), 2);
    pods
}

/// The node that a pod runs on.
pub(crate) fn node(pod: &Value) -> &str {
    assert_eq!(pod["status"]["phase"], "Running", "{pod}");
    pod["spec"]["nodeName"].as_str().unwrap()
}

/// A pod's spec without what differs from pod to pod: its node, and the random name of its token's volume.
fn without_chance(pod: &Value) -> Value {
    let spec = &pod["spec"];
    let volume = spec["volumes"][0]["name"].as_str().unwrap();
    let text = spec.to_string().replace(volume, "token");
    let mut spec: Value = serde_json::from_str(&text).unwrap();
    spec["nodeName"] = json!("");
    spec
}
