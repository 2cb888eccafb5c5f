//! The whole story: a cluster without Transom, with it as the chart installs it, and without it again.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::chart::{CHART, CONFIGURATIONS, Release};
use crate::cluster::Cluster;
use crate::kubectl::Namespace;
use crate::transom::{LABEL, admin};
use crate::{WINDOWS_IMAGE, eventually, windows_pod};

tests![windows_workloads_land_on_windows_nodes_from_helm_install_to_helm_uninstall];

fn windows_workloads_land_on_windows_nodes_from_helm_install_to_helm_uninstall(cluster: &Cluster) {
    // The API server counts what it asks by the webhooks' names, which those of other tests have as well.
    let cluster = &Cluster::start(cluster.assets());
    // Without Transom.
    let before = cluster.namespace("before", &[(LABEL, "transom")]);
    let web = run(&before, "web", WINDOWS_IMAGE);
    assert!(web.iter().all(|pod| node(pod).starts_with("linux-")));
    let linux = run(&before, "proxy", "nginx:1.29");
    let deployment = before.get(&["deployment", "proxy"]);

    // With it.
    let mut release = Release::install(
        cluster,
        "transom",
        &json!({"commonLabels": {"team": "shop"}}),
    );
    release.probe();
    let with = release.watched("with", &[]);
    settle(&with);
    helm_test(&release);
    let calls = cluster.webhook_calls();
    let same = run(&with, "proxy", "nginx:1.29");
    assert_eq!(cluster.webhook_calls(), calls, "Linux is off the wire");
    assert!(same.iter().all(|pod| node(pod).starts_with("linux-")));
    let spec = &with.get(&["deployment", "proxy"])["spec"];
    assert_eq!(spec, &deployment["spec"]);
    assert_eq!(same.len(), linux.len());
    for (with, before) in same.iter().zip(&linux) {
        assert_eq!(without_chance(with), without_chance(before));
    }
    let web = run(&with, "web", WINDOWS_IMAGE);
    assert!(web.iter().all(|pod| node(pod).starts_with("windows-")));
    let root = manifest("root", WINDOWS_IMAGE).replace(
        "    spec:\n",
        "    spec:\n      securityContext: {runAsUser: 1000}\n",
    );
    let refused = with.apply("root.yaml", &root);
    insta::assert_snapshot!("refused", refused);
    let lenient = release.watched("lenient", &[("transom.dev/mode", "warn")]);
    let warned = lenient.apply("root.yaml", &root);
    assert!(warned.succeeded(), "{warned}");
    assert!(warned.stderr.contains("WIN101"), "{warned}");

    // Whatever happens to the release.
    works(&release, &with, "install");
    let bundles = release.bundles();
    release.helm(&[
        "upgrade",
        "transom",
        CHART,
        "--values=values.yaml",
        "--set=log.level=debug",
        "--wait",
    ]);
    works(&release, &with, "upgrade");
    release.restart(0);
    works(&release, &with, "restart-0");
    release.helm(&["rollback", "transom", "1", "--wait"]);
    works(&release, &with, "rollback");
    release.restart(1);
    works(&release, &with, "restart-1");
    assert_eq!(release.bundles(), bundles, "Helm leaves the caBundle alone");

    // Whatever somebody does to the CA.
    for kind in CONFIGURATIONS {
        let patch = r#"[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":""}]"#;
        release
            .namespace
            .ok(&["patch", kind, "transom", "--type=json", "-p", patch]);
    }
    eventually("the caBundle is put right", || {
        (release.bundles() == bundles).then_some(())
    });
    works(&release, &with, "bundle");
    release.namespace.ok(&["delete", "secret", "transom-ca"]);
    eventually("the Secret is there again", || {
        let secret = release
            .namespace
            .kubectl(&["get", "secret", "transom-ca", "-o", "json"]);
        secret.stdout.contains("ca.crt").then_some(())
    });
    works(&release, &with, "secret");
    release.helm(&[
        "upgrade",
        "transom",
        CHART,
        "--values=values.yaml",
        "--set=commonLabels.team=platform",
        "--wait",
    ]);
    works(&release, &with, "upgrade-again");

    // Without it again: the webhooks go before what answers them.
    release.helm(&["uninstall", "transom", "--wait"]);
    let kinds = CONFIGURATIONS.join(",");
    let left = release.namespace.ok(&["get", &kinds, "-o", "name"]);
    assert!(
        !left.lines().any(|line| line.ends_with("/transom")),
        "{left}"
    );
    let deleted = eventually("the audit events of the uninstallation", || {
        let resource = |event: &Value| event["objectRef"]["resource"].as_str().map(str::to_owned);
        let events = cluster.audit();
        let events = events
            .iter()
            .filter(|event| event["verb"] == "delete" && event["objectRef"]["name"] == "transom");
        let deleted: Vec<_> = events.filter_map(resource).collect();
        let all =
            deleted.iter().any(|r| r == "services") && deleted.iter().any(|r| r == "deployments");
        all.then_some(deleted)
    });
    let place = |resource: &str| deleted.iter().position(|r| r == resource);
    for configuration in CONFIGURATIONS {
        for needed in ["services", "deployments"] {
            assert!(place(configuration) < place(needed), "{deleted:?}");
        }
    }
    // A replica that is still there would fill in a Secret that is lost: it has noticed, and may not any more.
    let is_gone = |release: &Release<'_>| {
        let secret = ["get", "secret", "transom-ca"];
        release
            .namespace
            .kubectl(&secret)
            .stderr
            .contains("NotFound")
    };
    for replica in release.replicas() {
        eventually("a replica has noticed", || {
            let told = admin(replica.admin_address, "/readyz?verbose");
            told.contains("cannot read").then_some(())
        });
    }
    assert!(is_gone(&release));
    release.stop();
    assert!(is_gone(&release));
    let after = run(&with, "after", WINDOWS_IMAGE);
    assert!(after.iter().all(|pod| node(pod).starts_with("linux-")));
}

/// It says what it found, and leaves nothing behind but the pod that failed.
fn helm_test(release: &Release<'_>) {
    let left = || {
        let kinds = "clusterroles,clusterrolebindings,serviceaccounts,pods";
        let names = release.namespace.ok(&["get", kinds, "-o", "name"]);
        let of_test = names.lines().filter(|name| name.ends_with("/transom-test"));
        of_test.map(str::to_owned).collect::<Vec<_>>()
    };
    let told = release.deserted(|| release.test()).unwrap_err();
    assert!(told.contains("pod transom-test failed"), "{told}");
    assert_eq!(left(), ["pod/transom-test"]);
    let told = release.test().unwrap();
    assert_eq!(told.matches("ok   ").count(), 5, "{told}");
    assert_eq!(told.lines().count(), 5, "{told}");
    assert_eq!(left(), Vec::<String>::new());
}

/// The API server learns of webhooks, and of their caBundle, a moment after they are written.
pub(crate) fn settle(namespace: &Namespace<'_>) {
    let pods = [windows_pod("good"), bad_pod()];
    eventually("the webhooks are called", || {
        let [good, bad] = pods.each_ref().map(|pod| namespace.dry_run(pod));
        assert_eq!(good.0, 201);
        (good.1["spec"]["os"]["name"] == "windows" && bad.0 == 403).then_some(())
    });
}

/// A Windows pod is patched and a bad one is refused, by each of the replicas while it is alone: the API server asks as
/// often as pods come, and the replica answers as often as it asks.
fn works(release: &Release<'_>, namespace: &Namespace<'_>, when: &str) {
    release.probe();
    for number in 0..release.replicas().len() {
        release.lead_to(number);
        settle(namespace);
        let cluster = release.cluster;
        let (asked, mut answered) = (cluster.webhook_calls(), release.answered());

        let mut good = windows_pod(&format!("{when}-{number}"));
        namespace.file("good.yaml", &good.to_string());
        good = serde_json::from_str(&namespace.ok(&["apply", "-o", "json", "-f", "good.yaml"]))
            .unwrap();
        assert_eq!(good["spec"]["os"]["name"], "windows");
        assert_eq!(good["spec"]["nodeSelector"]["kubernetes.io/os"], "windows");
        let told = namespace.apply("bad.yaml", &bad_pod().to_string());
        assert!(told.stderr.contains("WIN202"), "{told}");

        let mut now = cluster.webhook_calls();
        for (webhook, before) in asked {
            *now.get_mut(&webhook).unwrap() -= before;
        }
        now.retain(|_, rise| *rise > 0);
        let wanted = [
            ("mutate.transom.dev", false, 2),
            ("validate.transom.dev", false, 1),
            ("validate.transom.dev", true, 1),
        ];
        let wanted = wanted.map(|(name, refused, calls)| ((name.to_owned(), refused), calls));
        assert_eq!(now, BTreeMap::from(wanted));
        answered[number] = answered[number].map(|count| count + 2);
        assert_eq!(release.answered(), answered);
    }
    release.balance();
}

fn bad_pod() -> Value {
    let mut pod = windows_pod("bad");
    pod["spec"]["hostPID"] = json!(true);
    pod
}

pub(crate) fn manifest(name: &str, image: &str) -> String {
    format!(
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
    )
}

/// Applies a Deployment, waits until it has been rolled out; its pods.
fn run(namespace: &Namespace<'_>, name: &str, image: &str) -> Vec<Value> {
    let told = namespace.apply("deployment.yaml", &manifest(name, image));
    assert!(told.succeeded(), "{told}");
    let deployment = format!("deployment/{name}");
    namespace.ok(&["rollout", "status", &deployment, "--timeout=60s"]);
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
