//! Every kind that carries pods, for Windows and for Linux side by side: all of them are rolled out, on the right nodes.

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::kubectl::Namespace;
use crate::transom::{Options, Transom};
use crate::{WINDOWS_IMAGE, eventually};

tests![
    every_kind_is_rolled_out_on_the_right_nodes,
    workloads_live_their_lives_under_transom,
];

fn template(os: &str) -> Value {
    let image = match os {
        "windows" => WINDOWS_IMAGE,
        _ => "nginx:1.29",
    };
    json!({
        "metadata": {"labels": {"os": os}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    })
}

/// A manifest with a workload of each kind.
pub(crate) fn every_kind(os: &str) -> Value {
    let object = |group: &str, kind: &str, spec: Value| {
        let name = format!("{}-{os}", kind.to_lowercase());
        let mut object = json!({"apiVersion": group, "kind": kind, "metadata": {"name": name}});
        object["metadata"]["labels"] = json!({"os": os});
        if !spec.is_null() {
            object["spec"] = spec;
        }
        // What a controller selects by.
        if object.pointer("/spec/selector").is_some() {
            let labels = json!({"os": os, "kind": kind});
            let selector = match kind {
                "ReplicationController" => &mut object["spec"]["selector"],
                _ => &mut object["spec"]["selector"]["matchLabels"],
            };
            *selector = labels.clone();
            object["spec"]["template"]["metadata"]["labels"] = labels;
        }
        object
    };
    let selecting = || json!({"selector": {}, "template": template(os)});
    let mut job = template(os);
    job["spec"]["restartPolicy"] = json!("Never");
    let mut pod = object("v1", "Pod", template(os)["spec"].clone());
    pod["metadata"]["labels"] = json!({"os": os});
    let mut pod_template = object("v1", "PodTemplate", Value::Null);
    pod_template["template"] = template(os);
    let mut stateful = selecting();
    stateful["serviceName"] = json!("none");
    json!({"apiVersion": "v1", "kind": "List", "items": [
        pod,
        pod_template,
        object("v1", "ReplicationController", selecting()),
        object("apps/v1", "ReplicaSet", selecting()),
        object("apps/v1", "Deployment", selecting()),
        object("apps/v1", "StatefulSet", stateful),
        object("apps/v1", "DaemonSet", selecting()),
        object("batch/v1", "Job", json!({"template": job})),
        object("batch/v1", "CronJob", json!({
            "schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": job}},
        })),
    ]})
}

fn every_kind_is_rolled_out_on_the_right_nodes(cluster: &Cluster) {
    let transom = Transom::install(cluster, "workloads", &Options::default());
    let namespace = transom.namespace("workloads", &[]);
    for os in ["windows", "linux"] {
        let told = namespace.apply("all.yaml", &every_kind(os).to_string());
        assert!(told.succeeded(), "{told}");
        let cron_job = format!("--from=cronjob/cronjob-{os}");
        namespace.ok(&["create", "job", &format!("from-cronjob-{os}"), &cron_job]);
    }
    for os in ["windows", "linux"] {
        for kind in ["deployment", "statefulset", "daemonset"] {
            let name = format!("{kind}/{kind}-{os}");
            namespace.ok(&["rollout", "status", &name, "--timeout=60s"]);
        }
        for kind in ["replicationcontroller", "replicaset"] {
            let name = format!("{kind}/{kind}-{os}");
            let ready = "--for=jsonpath={.status.readyReplicas}=1";
            namespace.ok(&["wait", ready, &name, "--timeout=60s"]);
        }
        let complete = |name: &str| {
            let name = format!("job/{name}-{os}");
            namespace.ok(&["wait", "--for=condition=Complete", &name, "--timeout=60s"]);
        };
        complete("job");
        complete("from-cronjob");
        let pod = format!("pod/pod-{os}");
        namespace.ok(&["wait", "--for=condition=Ready", &pod, "--timeout=60s"]);

        let list = namespace.get(&["pods", "-l", &format!("os={os}")]);
        let pods = list["items"].as_array().unwrap();
        // The pod, one of each of six kinds, and the DaemonSet's on both nodes.
        assert_eq!(pods.len(), 1 + 6 + 2, "{os}: {}", names(pods));
        for pod in pods {
            let node = pod["spec"]["nodeName"].as_str().unwrap();
            assert!(
                node.starts_with(os),
                "{} is on {node}",
                pod["metadata"]["name"]
            );
            let said = &pod["spec"]["os"]["name"];
            assert_eq!(said == "windows", os == "windows", "{pod}");
        }
    }
}

fn names(pods: &[Value]) -> String {
    let names = pods
        .iter()
        .map(|pod| pod["metadata"]["name"].as_str().unwrap());
    names.collect::<Vec<_>>().join(", ")
}

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, finalizers: [e2e.transom.dev/wait]}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: 'mcr.microsoft.com/windows/nanoserver:ltsc2022'}
";

fn workloads_live_their_lives_under_transom(cluster: &Cluster) {
    let transom = Transom::install(cluster, "lives", &Options::default());
    let namespace = transom.namespace("lives", &[]);
    let rolled_out = || namespace.ok(&["rollout", "status", "deployment/web", "--timeout=60s"]);
    namespace.file("web.yaml", DEPLOYMENT);
    let dry = namespace.ok(&["apply", "--dry-run=server", "-f", "web.yaml"]);
    assert_eq!(dry, "deployment.apps/web created (server dry run)\n");
    namespace.ok(&["apply", "--server-side", "-f", "web.yaml"]);
    rolled_out();
    // The template of a Deployment is the user's: nothing to tell in a diff.
    let same = namespace.kubectl(&["diff", "--server-side", "-f", "web.yaml"]);
    assert_eq!((same.code, same.stdout.as_str()), (Some(0), ""), "{same}");
    namespace.ok(&["scale", "deployment/web", "--replicas=3"]);
    rolled_out();
    assert_eq!(namespace.pods("web").len(), 3);
    let before = uids(&namespace);
    namespace.ok(&["rollout", "restart", "deployment/web"]);
    rolled_out();
    eventually("the old pods are gone", || {
        (namespace.pods("web").len() == 3).then_some(())
    });
    assert!(uids(&namespace).iter().all(|uid| !before.contains(uid)));
    let edited = namespace.edit(
        &["edit", "deployment/web"],
        "sed -i s/replicas:.3/replicas:\\ 2/",
    );
    assert!(edited.succeeded(), "{edited}");
    rolled_out();
    assert!(namespace.pods("web").iter().all(|pod| {
        let node = pod["spec"]["nodeName"].as_str().unwrap();
        node.starts_with("windows-")
    }));

    // Deleted, the object waits for its finalizer, which somebody removes.
    namespace.ok(&["delete", "deployment/web", "--wait=false"]);
    let waiting = namespace.get(&["deployment", "web"]);
    assert!(waiting["metadata"]["deletionTimestamp"].is_string());
    let patch = r#"{"metadata":{"finalizers":null}}"#;
    namespace.ok(&["patch", "deployment/web", "--type=merge", "-p", patch]);
    eventually("all is deleted", || {
        let list = namespace.ok(&["get", "deployments,replicasets,pods", "-o", "name"]);
        list.is_empty().then_some(())
    });
}

fn uids(namespace: &Namespace<'_>) -> Vec<String> {
    let uid = |pod: &Value| pod["metadata"]["uid"].as_str().unwrap().to_owned();
    namespace.pods("web").iter().map(uid).collect()
}
