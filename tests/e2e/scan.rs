//! `transom scan` by the kubeconfig of an administrator: what is planted among thousands of objects is found, in
//! memory that does not grow with them; and pods that controllers made count for their workloads.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::eventually;
use crate::proc;
use crate::transom::PROGRAM;

tests![
    a_scan_finds_what_was_planted_in_memory_that_does_not_grow,
    a_scan_counts_pods_for_the_workload_that_made_them,
    reports_daemon_sets_on_the_nodes_that_the_controller_chose,
];

const NAMESPACES: usize = 5;
/// In each of them.
const OBJECTS: usize = 1_000;

fn a_scan_finds_what_was_planted_in_memory_that_does_not_grow(cluster: &Cluster) {
    // Thousands of Deployments keep the controllers busy, for which the other tests would wait.
    let cluster = &Cluster::start(cluster.assets());
    let mut planted = BTreeSet::new();
    let mut objects = Vec::new();
    for namespace in 0..NAMESPACES {
        let namespace = format!("many-{namespace}");
        cluster.namespace(&namespace, &[]);
        for index in 0..OBJECTS {
            let (is_windows, is_flawed) = (index % 3 != 0, index % 37 == 0);
            let object = object(&namespace, index, is_windows, is_flawed);
            if is_windows && is_flawed {
                let kind = object["kind"].as_str().unwrap();
                planted.insert(format!("deny WIN101 {kind} {namespace}/object-{index}"));
            }
            objects.push(object);
        }
    }
    cluster
        .api()
        .for_each(&objects, async |connection, object| {
            let path = path_of(object);
            let answer = connection.send(Method::POST, &path, Some(object)).await;
            let (code, answer) = answer.unwrap();
            assert_eq!(code, 201, "{}", String::from_utf8_lossy(&answer));
        });

    let all = scan(cluster, &["-A"]);
    let found = all.found("many-");
    assert_eq!(found.len(), planted.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), planted);
    assert!(all.report["summary"]["judged"].as_u64() >= Some((NAMESPACES * OBJECTS) as u64));

    let part = scan(cluster, &["-n", "many-0"]);
    assert_eq!(part.report["summary"]["judged"], OBJECTS);
    let (Some(all), Some(part)) = (all.peak, part.peak) else {
        println!("SKIPPED: the memory of a scan: there is no /proc here; run it on Linux");
        return;
    };
    println!("peak of a scan: {part} kB for {OBJECTS} objects, {all} kB for five times as many");
    assert!(all < part * 3 / 2, "{all} kB against {part} kB");
}

fn a_scan_counts_pods_for_the_workload_that_made_them(cluster: &Cluster) {
    let namespace = cluster.namespace("scan-owned", &[]);
    let spec = pod_spec(true, true);
    let labels = json!({"app": "web"});
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template},
    });
    namespace.create(&deployment.to_string());
    let found = eventually("three pods of a Deployment", || {
        let scanned = scan(cluster, &["-n", "scan-owned"]);
        let is_complete = scanned.report["findings"][0]["pods"] == 3;
        is_complete.then(|| (scanned.found("scan-owned"), scanned.report))
    });
    let (found, report) = found;
    assert_eq!(found, ["deny WIN101 Deployment scan-owned/web"]);
    assert_eq!(
        report["summary"]["owned"],
        json!({"Pod": 3, "ReplicaSet": 1})
    );
}

/// What the DaemonSet controller does decides: of each DaemonSet that selects no operating system the nodes that have its
/// pods are reported, whether pods are read or not.
fn reports_daemon_sets_on_the_nodes_that_the_controller_chose(cluster: &Cluster) {
    let namespace = cluster.namespace("scan-misplaced", &[]);
    let tolerations = json!([{"operator": "Exists"}]);
    let affinity = |requirement: Value| {
        let terms = json!([{"matchExpressions": [requirement]}]);
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
    };
    let build = "node.kubernetes.io/windows-build";
    for (name, fields) in [
        ("everywhere", json!({"tolerations": tolerations})),
        ("no-toleration", json!({})),
        (
            "by-key",
            json!({"tolerations": [{"key": "os", "operator": "Exists"}]}),
        ),
        (
            "no-execute",
            json!({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}),
        ),
        (
            "linux",
            json!({"tolerations": tolerations, "nodeSelector": {"kubernetes.io/os": "linux"}}),
        ),
        (
            "no-build",
            json!({"tolerations": tolerations, "affinity": affinity(json!({"key": build, "operator": "DoesNotExist"}))}),
        ),
        (
            "not-windows",
            json!({"tolerations": tolerations, "affinity": affinity(
                json!({"key": "kubernetes.io/os", "operator": "NotIn", "values": ["windows"]}),
            )}),
        ),
    ] {
        let labels = json!({"app": name});
        let mut spec = json!({
            "hostNetwork": true,
            "containers": [{"name": "main", "image": "registry.example/agent:1"}],
        });
        let fields = fields.as_object().unwrap().clone();
        spec.as_object_mut().unwrap().extend(fields);
        let set = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        });
        namespace.create(&set.to_string());
        let settled = |set: &Value| {
            let status = &set["status"];
            status["observedGeneration"] == set["metadata"]["generation"]
                && status["desiredNumberScheduled"].as_u64() >= Some(2)
                && status["currentNumberScheduled"] == status["desiredNumberScheduled"]
        };
        eventually("the controller has made all pods of a DaemonSet", || {
            settled(&namespace.get(&["daemonset", name])).then_some(())
        });
        let pods = namespace.pods(name).into_iter();
        let nodes = pods.map(|pod| {
            let affinity = &pod["spec"]["affinity"]["nodeAffinity"];
            let required = &affinity["requiredDuringSchedulingIgnoredDuringExecution"];
            let node = &required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0];
            node.as_str().unwrap().to_owned()
        });
        let wrong: BTreeSet<_> = nodes.filter(|node| node.starts_with("windows-")).collect();
        let report = scan(cluster, &["-n", "scan-misplaced"]).report;
        let found = report["oddities"].as_array().unwrap().iter();
        let subject = format!("DaemonSet scan-misplaced/{name}");
        let found: Vec<_> = found.filter(|o| o["subject"] == subject).collect();
        assert_eq!(
            found.len(),
            usize::from(!wrong.is_empty()),
            "{name}: {found:?}"
        );
        for oddity in found {
            let plural = if wrong.len() == 1 { "" } else { "s" };
            let nodes: Vec<_> = wrong.iter().map(String::as_str).collect();
            let nodes = nodes.join(", ");
            assert_eq!(
                oddity["message"],
                format!(
                    "Linux image on Windows node{plural} {nodes}; select kubernetes.io/os: linux in DaemonSet {name}"
                )
            );
        }
        assert_eq!(report["findings"], json!([]), "{name}");
    }
}

/// Objects that no controller and no scheduler has anything to do with.
fn object(namespace: &str, index: usize, is_windows: bool, is_flawed: bool) -> Value {
    let name = format!("object-{index}");
    let metadata = json!({"name": name, "namespace": namespace});
    let mut spec = pod_spec(is_windows, is_flawed);
    let labels = json!({"app": name});
    match index % 10 {
        0 => {
            spec["restartPolicy"] = "Never".into();
            let job = json!({"spec": {"template": {"spec": spec}}});
            json!({
                "apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata,
                "spec": {"schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": job},
            })
        }
        1..=4 => json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": {
                "replicas": 0, "paused": true, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }),
        _ => {
            spec["schedulerName"] = "nobody".into();
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        }
    }
}

fn pod_spec(is_windows: bool, is_flawed: bool) -> Value {
    let os = if is_windows { "windows" } else { "linux" };
    let mut spec = json!({
        "nodeSelector": {"kubernetes.io/os": os},
        "containers": [{"name": "main", "image": "registry.example/app:1"}],
    });
    if is_flawed {
        spec["securityContext"] = json!({"runAsUser": 1000});
    }
    spec
}

fn path_of(object: &Value) -> String {
    let namespace = object["metadata"]["namespace"].as_str().unwrap();
    let kind = object["kind"].as_str().unwrap().to_lowercase();
    match object["apiVersion"].as_str().unwrap() {
        "v1" => format!("/api/v1/namespaces/{namespace}/{kind}s"),
        version => format!("/apis/{version}/namespaces/{namespace}/{kind}s"),
    }
}

pub(crate) struct Scanned {
    report: Value,
    /// The most memory that the program had, in kB, as nearly as it was looked at.
    peak: Option<u64>,
}

pub(crate) fn scan(cluster: &Cluster, args: &[&str]) -> Scanned {
    let mut command = Command::new(PROGRAM);
    let kubeconfig = cluster.admin();
    let output = cluster
        .directory()
        .join(format!("scan{}.json", args.concat()));
    command.arg("scan").arg("--kubeconfig").arg(kubeconfig);
    command
        .args(args)
        .args(["-q", "-o", "json", "--output-file"]);
    command.arg(&output).current_dir(cluster.directory());
    let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
    let mut peak = None;
    let code = loop {
        peak = proc::kilobytes(child.id(), "VmHWM").or(peak);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(code < 2, "exit code {code}");
    Scanned {
        report: serde_json::from_slice(&std::fs::read(output).unwrap()).unwrap(),
        peak,
    }
}

impl Scanned {
    /// `severity CODE Kind namespace/name` of each finding in namespaces that begin so.
    pub(crate) fn found(&self, namespaces: &str) -> Vec<String> {
        let findings = self.report["findings"].as_array().unwrap().iter();
        let ours = findings.filter(|finding| {
            let namespace = finding["object"]["namespace"].as_str();
            namespace.is_some_and(|name| name.starts_with(namespaces))
        });
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        ours.map(|finding| {
            let object = &finding["object"];
            let [severity, code] = ["severity", "code"].map(|key| text(&finding[key]));
            let [kind, namespace, name] =
                ["kind", "namespace", "name"].map(|key| text(&object[key]));
            format!("{severity} {code} {kind} {namespace}/{name}")
        })
        .collect()
    }
}
