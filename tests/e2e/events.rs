//! What `kubectl` shows of an owner whose pods are refused to its controller, or only let through.

use serde_json::{Value, json};

use crate::WINDOWS_IMAGE;
use crate::chart::{CONFIGURATIONS, Release};
use crate::cluster::Cluster;
use crate::eventually;
use crate::kubectl::Namespace;
use crate::transom::metric;

tests![the_owner_of_pods_that_are_refused_to_its_controller_is_told];

fn the_owner_of_pods_that_are_refused_to_its_controller_is_told(cluster: &Cluster) {
    let values = json!({"events": {"enabled": true}, "config": {"ownedObjects": "enforce"}});
    let release = Release::install(cluster, "transom-events", &values);
    for kind in CONFIGURATIONS {
        let configuration = release.namespace.get(&[kind, "transom-events"]);
        for entry in configuration["webhooks"].as_array().unwrap() {
            assert_eq!(entry["sideEffects"], "NoneOnDryRun");
        }
    }

    // From before Transom, as far as this namespace is concerned.
    let namespace = release.watched("events", &[("transom.dev/mode", "off")]);
    let class = workload(&namespace, "web");
    let mode = |mode: &str| {
        let label = format!("transom.dev/mode={mode}");
        namespace.ok(&["label", "namespace", "events", "--overwrite", &label]);
    };
    mode("enforce");
    let denied = || {
        let labels = "decision=\"deny\",kind=\"Pod\",operation=\"CREATE\",webhook=\"validate\"";
        sum(&release, "transom_admission_requests_total", labels)
    };
    // The webhooks are asked here from now on.
    eventually("a pod is refused", || {
        (namespace.dry_run(&pod("probe", &Value::Null)).0 == 403).then_some(())
    });
    let before = denied();
    namespace.ok(&["scale", "deployment/web", "--replicas=3"]);
    eventually("an event on the ReplicaSet", || {
        (!events(&namespace, "TransomDenied", &class).is_empty()).then_some(())
    });

    // Many refusals make few events: one of each replica, which counts.
    let sent = || sum(&release, "transom_events_total", "result=\"sent\"");
    let all = eventually("an event that counts", || {
        let all = events(&namespace, "TransomDenied", &class);
        let counts = all
            .iter()
            .filter_map(|event| event["series"]["count"].as_u64());
        (counts.sum::<u64>() > 5 && sent() > all.len() as u64).then_some(all)
    });
    let refusals = denied() - before;
    println!(
        "{refusals} refusals, {} events, {} writes",
        all.len(),
        sent()
    );
    assert!(all.len() <= release.replicas().len(), "{all:?}");
    assert!(refusals > 5);
    assert_eq!(all[0]["type"], "Warning");
    assert_eq!(all[0]["reportingComponent"], "transom.dev/transom");
    let note = all[0]["message"].as_str().unwrap();
    let start = "Pod refused: spec.securityContext.runAsUser: 1000 [WIN101 run-as-user] ";
    assert!(note.starts_with(start), "{note}");
    let described = namespace.ok(&["describe", "replicaset", &class]);
    let told = |line: &str| {
        line.contains("TransomDenied")
            && line.contains("transom.dev/transom")
            && line.contains(start)
    };
    assert!(described.lines().any(told), "{described}");

    // A dry run leaves nothing behind; the same for real does.
    let reference = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "dry", "uid": "5f2e6a1c-0000-4000-8000-000000000000",
        "controller": true,
    }]);
    namespace.file("dry.yaml", &pod("dry-run", &reference).to_string());
    let create = [
        "create",
        "-f",
        "dry.yaml",
        "--as=system:serviceaccount:kube-system:replicaset-controller",
    ];
    for _ in 0..3 {
        let told = namespace.kubectl(&[&create[..], &["--dry-run=server"]].concat());
        assert!(told.stderr.contains("WIN101"), "{told}");
    }
    let told = namespace.kubectl(&create);
    assert!(told.stderr.contains("WIN101"), "{told}");
    let all = eventually("an event of what was no dry run", || {
        let all = events(&namespace, "TransomDenied", "dry");
        (!all.is_empty()).then_some(all)
    });
    assert_eq!(all.len(), 1);
    assert!(all[0]["series"].is_null(), "{}", all[0]);

    // What is let through is told as well: in mode warn, the controller gets its pods.
    mode("warn");
    let class = workload(&namespace, "old");
    namespace.ok(&["scale", "deployment/old", "--replicas=2"]);
    namespace.ok(&["rollout", "status", "deployment/old", "--timeout=60s"]);
    let all = eventually("an event on the ReplicaSet of pods that run", || {
        let all = events(&namespace, "TransomWarned", &class);
        (!all.is_empty()).then_some(all)
    });
    let note = all[0]["message"].as_str().unwrap();
    let start = "Pod admitted, though mode enforce refuses new workloads like it: spec.securityContext.runAsUser: 1000 [WIN101 ";
    assert!(note.starts_with(start), "{note}");
    let failed = sum(&release, "transom_events_total", "result=\"failed\"");
    assert_eq!(failed, 0);
}

/// A Deployment with a flaw and no pods yet; the name of its ReplicaSet.
fn workload(namespace: &Namespace<'_>, name: &str) -> String {
    let labels = json!({"app": name});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod("", &Value::Null)["spec"]},
        },
    });
    namespace.create(&deployment.to_string());
    eventually("a ReplicaSet", || {
        let list = namespace.get(&["replicasets", "-l", &format!("app={name}")]);
        list["items"][0]["metadata"]["name"]
            .as_str()
            .map(str::to_owned)
    })
}

fn pod(name: &str, owners: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "ownerReferences": owners},
        "spec": {
            "securityContext": {"runAsUser": 1000},
            "containers": [{"name": "main", "image": WINDOWS_IMAGE}],
        },
    })
}

/// The events with this reason on a ReplicaSet.
fn events(namespace: &Namespace<'_>, reason: &str, name: &str) -> Vec<Value> {
    let selector =
        format!("reason={reason},involvedObject.kind=ReplicaSet,involvedObject.name={name}");
    let list = namespace.get(&["events", "--field-selector", &selector]);
    list["items"].as_array().unwrap().clone()
}

/// A metric of all replicas.
fn sum(release: &Release<'_>, name: &str, labels: &str) -> u64 {
    let replicas = release.replicas().iter();
    replicas
        .map(|replica| metric(replica.admin_address, name, labels))
        .sum()
}
