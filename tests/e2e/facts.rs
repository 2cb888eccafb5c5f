//! What Transom learns of the cluster while it runs: RuntimeClasses, labels of namespaces, taints of nodes; and what it
//! does without any news.

use std::time::Instant;

use hyper::Method;
use serde_json::{Value, json};

use crate::balancer::Balancer;
use crate::cluster::Cluster;
use crate::kubectl::Namespace;
use crate::proof::node;
use crate::transom::{LABEL, Options, Transom, admin, metric};
use crate::{eventually, windows_pod};

tests![
    a_taint_of_all_windows_nodes_is_tolerated_and_that_of_one_is_not,
    what_is_known_stays_in_force_while_the_api_server_cannot_be_asked,
    a_runtime_class_makes_the_template_of_a_deployment_windows,
    the_label_of_a_namespace_changes_its_mode,
    a_namespace_that_is_used_as_soon_as_it_is_made_has_its_own_mode,
];

/// A Deployment that says nothing of Windows in its own fields, but what Windows cannot honour.
fn deployment(runtime_class: &str) -> Value {
    let labels = json!({"app": "web"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
            "runtimeClassName": runtime_class,
            "securityContext": {"runAsUser": 1000},
            "containers": [{"name": "main", "image": "registry.example/app:1"}],
        }}},
    })
}

fn runtime_class(name: &str) -> Value {
    json!({
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": "runhcs",
        "scheduling": {"nodeSelector": {"kubernetes.io/os": "windows"}},
    })
}

fn bad_pod() -> Value {
    let mut pod = windows_pod("bad");
    pod["spec"]["hostPID"] = json!(true);
    pod
}

/// How a pod is answered that is refused in mode enforce.
fn status(namespace: &Namespace<'_>) -> u16 {
    namespace.dry_run(&bad_pod()).0
}

fn a_runtime_class_makes_the_template_of_a_deployment_windows(cluster: &Cluster) {
    const CLASS: &str = "facts-windows";
    let kubeconfig = cluster.admin();
    let options = Options {
        kubeconfig: Some(&kubeconfig),
        ..Options::default()
    };
    let transom = Transom::install(cluster, "classes", &options);
    let namespace = transom.namespace("classes", &[]);
    namespace.file("web.yaml", &deployment(CLASS).to_string());
    let try_it = || namespace.kubectl(&["apply", "--dry-run=server", "-f", "web.yaml"]);
    let silent = try_it();
    assert!(silent.succeeded() && silent.stderr.is_empty(), "{silent}");

    namespace.create(&runtime_class(CLASS).to_string());
    let refused = eventually("a RuntimeClass is evidence", || {
        let told = try_it();
        (!told.succeeded()).then_some(told)
    });
    insta::assert_snapshot!("template_of_a_runtime_class", refused);

    namespace.ok(&["delete", "runtimeclass", CLASS]);
    eventually("a RuntimeClass that is gone is none", || {
        try_it().succeeded().then_some(())
    });
}

fn the_label_of_a_namespace_changes_its_mode(cluster: &Cluster) {
    let kubeconfig = cluster.admin();
    let options = Options {
        kubeconfig: Some(&kubeconfig),
        ..Options::default()
    };
    let transom = Transom::install(cluster, "labels", &options);
    let namespace = transom.namespace("labels", &[]);
    assert_eq!(status(&namespace), 403);
    for (label, expected) in [
        ("transom.dev/mode=warn", 201),
        ("transom.dev/mode=enforce", 403),
        ("transom.dev/mode=audit", 201),
        ("transom.dev/mode-", 403),
    ] {
        namespace.ok(&["label", "namespace", "labels", "--overwrite", label]);
        let labelled = Instant::now();
        eventually("the mode is another one", || {
            (status(&namespace) == expected).then_some(())
        });
        println!("{label}: in force after {:?}", labelled.elapsed());
    }
}

fn a_namespace_that_is_used_as_soon_as_it_is_made_has_its_own_mode(cluster: &Cluster) {
    const ROUNDS: u64 = 20;
    let kubeconfig = cluster.admin();
    // The mode by default is none of those that the namespaces have.
    let options = Options {
        config: "mode: \"off\"",
        kubeconfig: Some(&kubeconfig),
        ..Options::default()
    };
    let transom = Transom::install(cluster, "young", &options);
    // No ServiceAccount has to be there for a Deployment, unlike for a pod.
    let mut deployment = deployment("none");
    deployment["spec"]["template"]["spec"]["os"] = json!({"name": "windows"});
    deployment["spec"]["template"]["spec"]["securityContext"] = Value::Null;
    deployment["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    for round in 0..ROUNDS {
        for (mode, expected) in [("enforce", 403), ("warn", 201), ("audit", 201)] {
            let name = format!("young-{mode}-{round}");
            let labels = json!({LABEL: "young", "transom.dev/mode": mode});
            let namespace = json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels},
            });
            let path = format!("/apis/apps/v1/namespaces/{name}/deployments?dryRun=All");
            cluster.api().with(async |connection| {
                let made = connection.send(Method::POST, "/api/v1/namespaces", Some(&namespace));
                assert_eq!(made.await.unwrap().0, 201);
                let used = connection.send(Method::POST, &path, Some(&deployment));
                let (status, body) = used.await.unwrap();
                let told = String::from_utf8_lossy(&body).into_owned();
                assert_eq!(status, expected, "{name}: {told}");
            });
        }
    }
    // What was told tells the modes apart.
    let decided = |decision: &str| {
        let labels = format!(
            "decision=\"{decision}\",kind=\"Deployment\",operation=\"CREATE\",webhook=\"validate\""
        );
        let name = "transom_admission_requests_total";
        metric(transom.admin_address, name, &labels)
    };
    let counts = ["deny", "warn", "allow", "patch"].map(decided);
    assert_eq!(counts, [ROUNDS, ROUNDS, ROUNDS, 0]);
    let asked = |result: &str| {
        let labels = format!("result=\"{result}\"");
        let name = "transom_namespace_lookups_total";
        metric(transom.admin_address, name, &labels)
    };
    println!(
        "{} namespaces, {} of which had to be asked for",
        3 * ROUNDS,
        asked("found")
    );
    assert_eq!(asked("failed"), 0);
}

fn what_is_known_stays_in_force_while_the_api_server_cannot_be_asked(cluster: &Cluster) {
    const CLASS: &str = "facts-late";
    let proxy = Balancer::start();
    proxy.lead_to(vec![cluster.api().address]);
    let kubeconfig = cluster.admin_at(proxy.port());
    let options = Options {
        kubeconfig: Some(&kubeconfig),
        ..Options::default()
    };
    let transom = Transom::install(cluster, "cut", &options);
    let namespace = transom.namespace("cut", &[("transom.dev/mode", "warn")]);
    namespace.file("web.yaml", &deployment(CLASS).to_string());
    let readyz = || admin(transom.admin_address, "/readyz?verbose");
    let is_current = |kind: &str| {
        let labels = format!("facts=\"{kind}\"");
        metric(transom.admin_address, "transom_facts_current", &labels)
    };
    // It has heard of the namespace.
    assert_eq!(status(&namespace), 201);
    let kinds = ["namespaces", "nodes", "runtimeclasses"];
    for kind in kinds {
        assert_eq!(is_current(kind), 1, "{kind}");
        assert!(
            readyz().contains(&format!("[+]{kind} ok\n")),
            "{}",
            readyz()
        );
    }

    proxy.lead_to(Vec::new());
    proxy.cut();
    for kind in kinds {
        eventually("a watch is known to be broken", || {
            let told = format!("[+]{kind} ok, but: cannot watch the {kind}: ");
            (is_current(kind) == 0 && readyz().contains(&told)).then_some(())
        });
        let told = format!("cannot watch the {kind}: ");
        let log = transom.log();
        let mut lines = log.lines().filter(|line| line.contains(&told));
        let line = lines.next().unwrap_or_else(|| panic!("{log}"));
        assert!(line.contains("stays in force"), "{line}");
    }
    namespace.ok(&[
        "label",
        "namespace",
        "cut",
        "--overwrite",
        "transom.dev/mode=enforce",
    ]);
    namespace.create(&runtime_class(CLASS).to_string());
    assert_eq!(status(&namespace), 201, "the last that was known");
    // Of what nobody can tell the mode is warn at most, whatever its label says.
    let unknown = transom.namespace("cut-unknown", &[("transom.dev/mode", "enforce")]);
    assert_eq!(status(&unknown), 201);
    let failed = metric(
        transom.admin_address,
        "transom_namespace_lookups_total",
        "result=\"failed\"",
    );
    assert!(failed > 0);

    proxy.lead_to(vec![cluster.api().address]);
    let back = Instant::now();
    eventually("the label arrives", || {
        (status(&namespace) == 403 && status(&unknown) == 403).then_some(())
    });
    println!(
        "the label arrived {:?} after the API server",
        back.elapsed()
    );
    eventually("the RuntimeClass arrives", || {
        let told = namespace.kubectl(&["apply", "--dry-run=server", "-f", "web.yaml"]);
        told.stderr.contains("WIN101").then_some(())
    });
    // Of nodes there is no news.
    for kind in ["namespaces", "runtimeclasses"] {
        eventually("a watch is known to be back", || {
            let told = format!("[+]{kind} ok\n");
            (is_current(kind) == 1 && readyz().contains(&told)).then_some(())
        });
        let told = format!("the watch on {kind} is back");
        assert!(transom.log().contains(&told));
    }
    namespace.ok(&["delete", "runtimeclass", CLASS]);
}

fn a_taint_of_all_windows_nodes_is_tolerated_and_that_of_one_is_not(cluster: &Cluster) {
    // The nodes of the others keep their taints.
    let cluster = &Cluster::start(cluster.assets());
    const TAINT: &str = "platform.example/os=windows:NoSchedule";
    let kubeconfig = cluster.admin();
    let options = Options {
        config: "placement: {learnTaints: true}",
        kubeconfig: Some(&kubeconfig),
        ..Options::default()
    };
    let transom = Transom::install(cluster, "taints", &options);
    let namespace = transom.namespace("taints", &[]);
    let is_tolerated = || {
        let (status, pod) = namespace.dry_run(&windows_pod("web"));
        assert_eq!(status, 201, "{pod}");
        let tolerations = pod["spec"]["tolerations"].as_array().unwrap();
        let mut keys = tolerations.iter().map(|toleration| &toleration["key"]);
        keys.any(|key| key == "platform.example/os")
    };
    let learnt = || {
        let metrics = admin(transom.admin_address, "/metrics");
        let mut lines = metrics.lines();
        let count = lines.find_map(|line| line.strip_prefix("transom_learnt_tolerations "));
        count.unwrap().parse::<u64>().unwrap()
    };
    assert!(!is_tolerated());

    // Of one, and of one that comes after it: when that is known, so is the first.
    namespace.ok(&["taint", "nodes", "windows-2019", TAINT]);
    let labels = json!({"kubernetes.io/os": "windows"});
    let taints =
        json!([{"key": "platform.example/os", "value": "windows", "effect": "NoSchedule"}]);
    let later = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "windows-later", "labels": labels},
        "spec": {"taints": taints},
    });
    namespace.create(&later.to_string());
    eventually("a node is known", || {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "root"},
            "spec": {
                "nodeName": "windows-later", "securityContext": {"runAsUser": 1000},
                "containers": [{"name": "main", "image": "registry.example/app:1"}],
            },
        });
        (namespace.dry_run(&pod).0 == 403).then_some(())
    });
    assert!(!is_tolerated());
    assert_eq!(learnt(), 0);

    // Of all: and a pod runs there.
    namespace.ok(&["taint", "nodes", "windows-2022", TAINT]);
    let tainted = Instant::now();
    eventually("the taint is tolerated", || is_tolerated().then_some(()));
    println!("a taint of all is tolerated after {:?}", tainted.elapsed());
    assert_eq!(learnt(), 1);
    namespace.create(&windows_pod("lands").to_string());
    namespace.ok(&[
        "wait",
        "--for=condition=Ready",
        "pod/lands",
        "--timeout=60s",
    ]);
    assert!(node(&namespace.get(&["pod", "lands"])).starts_with("windows-"));

    // Of one again.
    namespace.ok(&["taint", "nodes", "windows-2019", &format!("{TAINT}-")]);
    eventually("the taint is tolerated no more", || {
        (!is_tolerated()).then_some(())
    });
    assert_eq!(learnt(), 0);
}
