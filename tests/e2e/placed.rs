//! Where pods land: a Windows image without a selector, before and with Transom.

use serde_json::Value;

use crate::Test;
use crate::cluster::Cluster;
use crate::kubectl::Namespace;
use crate::transom::{Options, Transom};

pub(crate) const TESTS: &[Test] = &[(
    "without_transom_a_windows_image_runs_on_a_linux_node_and_with_it_on_a_windows_node",
    without_transom_a_windows_image_runs_on_a_linux_node_and_with_it_on_a_windows_node,
)];

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: 'mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022'}
";

fn without_transom_a_windows_image_runs_on_a_linux_node_and_with_it_on_a_windows_node(
    cluster: &Cluster,
) {
    let nodes = |namespace: &Namespace<'_>| {
        namespace.file("web.yaml", DEPLOYMENT);
        namespace.ok(&["apply", "-f", "web.yaml"]);
        namespace.ok(&["rollout", "status", "deployment/web", "--timeout=60s"]);
        let pods = namespace.pods("web");
        pods.iter().map(node).collect::<Vec<_>>()
    };
    let before = nodes(&cluster.namespace("before", &[]));
    assert!(before.iter().all(|n| n.starts_with("linux-")), "{before:?}");

    let transom = Transom::install(cluster, "placed", &Options::default());
    let with = nodes(&transom.namespace("with", &[]));
    assert!(with.iter().all(|n| n.starts_with("windows-")), "{with:?}");
}

fn node(pod: &Value) -> String {
    assert_eq!(pod["status"]["phase"], "Running", "{pod}");
    pod["spec"]["nodeName"].as_str().unwrap().to_owned()
}
