//! DaemonSets: their controller compares its pods with its template and must never find them wrong.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::kubectl::Namespace;
use crate::proof::node;
use crate::transom::{LABEL, Options, Transom};
use crate::{WINDOWS_IMAGE, eventually};

tests![the_daemon_set_controller_is_content_with_the_pods_that_transom_patched,];

/// A controller that were not content would replace its pods within a second.
const WATCHED: Duration = Duration::from_secs(60);

fn the_daemon_set_controller_is_content_with_the_pods_that_transom_patched(cluster: &Cluster) {
    // From before the installation: one that its author has placed, one that runs on the wrong nodes as well.
    let namespace = cluster.namespace("daemons", &[(LABEL, "daemons")]);
    let mut placed = daemon_set("placed");
    placed["spec"]["template"]["spec"]["nodeSelector"] = json!({"kubernetes.io/os": "windows"});
    placed["spec"]["template"]["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    namespace.create(&placed.to_string());
    namespace.create(&daemon_set("astray").to_string());
    ready(&namespace, "placed", 2);
    ready(&namespace, "astray", 2);
    let mut before = pods(&namespace);

    let _transom = Transom::install(cluster, "daemons", &Options::default());
    namespace.create(&daemon_set("new").to_string());
    ready(&namespace, "new", 2);
    for pod in namespace.pods("new") {
        assert!(node(&pod).starts_with("windows-"), "{pod}");
    }
    let template = &namespace.get(&["daemonset", "new"])["spec"]["template"]["spec"];
    assert_eq!(template["os"]["name"], "windows");
    assert_eq!(
        template["nodeSelector"],
        json!({"kubernetes.io/os": "windows"})
    );

    // One pod of each is replaced under Transom, which gives it what its template does not say.
    for app in ["placed", "astray"] {
        let victim = namespace.pods(app).remove(0);
        let name = victim["metadata"]["name"].as_str().unwrap();
        namespace.ok(&["delete", "pod", name]);
        before.remove(victim["metadata"]["uid"].as_str().unwrap());
        ready(&namespace, app, 2);
    }
    let with = pods(&namespace);
    assert_eq!(with.len(), 6);
    assert!(before.keys().all(|uid| with.contains_key(uid)));
    let replaced = with.iter().filter(|(uid, _)| !before.contains_key(*uid));
    for (_, pod) in replaced {
        assert_eq!(pod["spec"]["os"]["name"], "windows", "{pod}");
        let selects = !pod["spec"]["nodeSelector"].is_null();
        assert_eq!(
            selects,
            pod["metadata"]["labels"]["app"] != "astray",
            "{pod}"
        );
    }
    let started = Instant::now();
    while started.elapsed() < WATCHED {
        assert!(
            pods(&namespace).keys().eq(with.keys()),
            "pods were replaced"
        );
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn daemon_set(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": WINDOWS_IMAGE}]},
            },
        },
    })
}

fn ready(namespace: &Namespace<'_>, name: &str, number: usize) {
    eventually("the pods of a DaemonSet are ready", || {
        let set = namespace.get(&["daemonset", name]);
        let status = &set["status"];
        let settled = status["observedGeneration"] == set["metadata"]["generation"];
        (settled && status["numberReady"] == number && namespace.pods(name).len() == number)
            .then_some(())
    });
}

fn pods(namespace: &Namespace<'_>) -> BTreeMap<String, Value> {
    let list = namespace.get(&["pods"]);
    let pods = list["items"].as_array().unwrap();
    let uid = |pod: &Value| pod["metadata"]["uid"].as_str().unwrap().to_owned();
    pods.iter().map(|pod| (uid(pod), pod.clone())).collect()
}
