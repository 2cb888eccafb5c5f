//! Transom is down: what failurePolicy makes of it.

use serde_json::json;

use crate::cluster::Cluster;
use crate::transom::{Options, Transom};
use crate::{eventually, windows_pod};

tests![
    with_ignore_pods_are_admitted_unseen_while_transom_is_down,
    with_fail_windows_pods_wait_for_transom,
];

fn with_ignore_pods_are_admitted_unseen_while_transom_is_down(cluster: &Cluster) {
    let mut transom = Transom::install(cluster, "ignore", &Options::default());
    let namespace = transom.namespace("ignore", &[]);
    transom.stop();
    let mut unseen = windows_pod("unseen");
    unseen["spec"]["hostPID"] = json!(true);
    namespace.create(&unseen.to_string());
    assert!(namespace.get(&["pod", "unseen"])["spec"]["os"].is_null());
    transom.start();
    // It is deleted and its labels change, as if it had never been wrong.
    namespace.ok(&["label", "pod", "unseen", "a=b"]);
    namespace.ok(&["delete", "pod", "unseen"]);
    namespace.create(&windows_pod("seen").to_string());
    assert_eq!(
        namespace.get(&["pod", "seen"])["spec"]["os"]["name"],
        "windows"
    );
}

fn with_fail_windows_pods_wait_for_transom(cluster: &Cluster) {
    let options = Options {
        failure_policy: "Fail",
        ..Options::default()
    };
    let mut transom = Transom::install(cluster, "fail", &options);
    let namespace = transom.namespace("fail", &[]);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": windows_pod("")["spec"]},
        },
    });
    namespace.create(&deployment.to_string());
    namespace.ok(&["rollout", "status", "deployment/web", "--timeout=60s"]);
    transom.stop();
    let told = namespace.apply("pod.yaml", &windows_pod("waits").to_string());
    assert!(!told.succeeded(), "{told}");
    let words = r#"failed calling webhook "mutate.transom.dev""#;
    assert!(told.stderr.contains(words), "{told}");
    // What needs no new object goes on: scaling down, deleting.
    namespace.ok(&["scale", "deployment/web", "--replicas=2"]);
    let name = namespace.pods("web")[0]["metadata"]["name"].clone();
    namespace.ok(&["delete", "pod", name.as_str().unwrap()]);

    // The controllers try again by themselves.
    transom.start();
    eventually("the Deployment has its pods", || {
        let status = namespace.get(&["deployment", "web"]);
        (status["status"]["readyReplicas"] == 2).then_some(())
    });
    for pod in namespace.pods("web") {
        assert_eq!(pod["spec"]["os"]["name"], "windows", "{pod}");
    }
}
