//! All replicas are gone under failurePolicy Fail: what goes on, what waits, how a cluster is freed, and how Transom
//! comes back, even into a namespace that was deleted with it.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use crate::blocks::{blocks, commands};
use crate::chart::{CONFIGURATIONS, Release, helm};
use crate::cluster::Cluster;
use crate::eventually;
use crate::kubectl::{Namespace, Told};
use crate::proof::manifest;
use crate::workloads::every_kind;
use crate::{WINDOWS_IMAGE, windows_pod};

tests![a_cluster_outlives_all_replicas_and_is_freed_by_the_documented_command];

const NAME: &str = "transom";
const HIGH_AVAILABILITY: &str = include_str!("../../charts/transom/values-ha.yaml");
const OPERATIONS: &str = include_str!("../../docs/operations.md");

fn a_cluster_outlives_all_replicas_and_is_freed_by_the_documented_command(cluster: &Cluster) {
    // The release is asked about all namespaces, which other tests would notice. Behind an address of this range there is
    // nobody, as behind that of a Service without endpoints.
    let flags = ["--service-cluster-ip-range=127.96.0.0/24"];
    let cluster = &Cluster::start_with(cluster.assets(), &flags);
    let mut values: Value = serde_saphyr::from_str(HIGH_AVAILABILITY).unwrap();
    for webhook in ["mutating", "validating"] {
        values["webhook"][webhook]["namespaceSelector"] = Value::Null;
    }
    let mut release = Release::install(cluster, NAME, &values);
    assert_eq!(release.replicas().len(), 3);
    let shop = cluster.namespace("shop", &[]);
    shop.wait_until_patched();
    let told = shop.apply("web.yaml", &manifest("web", WINDOWS_IMAGE));
    assert!(told.succeeded(), "{told}");
    rolled_out(&shop, "deployment/web");

    release.stop();
    assert_refused(&shop);
    others_go_on(&release, &shop);
    // What there is goes on, and what a controller wants to make waits.
    shop.ok(&["scale", "deployment/web", "--replicas=3"]);
    no_endpoints(&release);
    the_message_is_the_documented_one(&shop);
    assert_eq!(shop.pods("web").len(), 2);

    // The documented way out, and back.
    let commands = commands(section("## Emergency"));
    let begins = |start: &str| commands.iter().find(|c| c.starts_with(start)).unwrap();
    let command: Vec<_> = begins("kubectl delete").split(' ').skip(1).collect();
    let started = Instant::now();
    shop.ok(&command);
    let ran = started.elapsed();
    eventually("a Windows pod is admitted", || {
        (shop.dry_run(&windows_pod("free")).0 == 201).then_some(())
    });
    println!(
        "the emergency command took {ran:?}, and after {:?} a Windows pod was admitted",
        started.elapsed()
    );
    rolled_out(&shop, "deployment/web");
    assert_eq!(shop.pods("web").len(), 3);
    release
        .namespace
        .ok(&["scale", "deployment/transom", "--replicas=3"]);
    release.lead_here();
    release.start();
    let command: Vec<_> =
        begins("helm upgrade transom charts/transom --namespace transom --reuse-values")
            .split(' ')
            .skip(1)
            .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    helm(cluster, root, &command).unwrap_or_else(|told| panic!("{told}"));
    shop.wait_until_patched();

    // Uninstalled and installed again.
    release.helm(&["uninstall", NAME, "--wait"]);
    release.stop();
    assert!(
        shop.apply("pod.yaml", &windows_pod("between").to_string())
            .succeeded()
    );
    release.deploy();
    shop.wait_until_patched();

    // Somebody deletes the namespace: the configurations stay, and are of the same use as any without a replica.
    let before = release.bundles();
    release.namespace.ok(&["delete", "namespace", NAME]);
    release.stop();
    assert_refused(&shop);
    let told = shop.apply("linux.yaml", &every_kind("linux").to_string());
    assert!(told.succeeded(), "{told}");
    release.namespace.ok(&["create", "namespace", NAME]);
    release.deploy();
    shop.wait_until_patched();
    let after = release.bundles();
    assert!(
        before.iter().all(|bundle| !after.contains(bundle)),
        "a CA of its own"
    );
    let test = release.test().unwrap();
    assert_eq!(test.matches("ok   ").count(), after.len(), "{test}");
    release.helm(&["uninstall", NAME, "--wait"]);
    let left = shop.ok(&["get", &CONFIGURATIONS.join(","), "-o", "name"]);
    assert!(!left.contains("/transom\n"), "{left}");
}

/// The release's namespace, kube-system, and whatever does not speak of Windows.
fn others_go_on(release: &Release<'_>, shop: &Namespace<'_>) {
    let system = Namespace::new(release.cluster, "kube-system".to_owned());
    let own = &release.namespace;
    // Otherwise the one namespace admits nothing but Transom.
    own.ok(&[
        "label",
        "namespace",
        NAME,
        "pod-security.kubernetes.io/enforce-",
    ]);
    for (namespace, os) in [(own, "windows"), (&system, "windows"), (shop, "linux")] {
        let told = namespace.apply("all.yaml", &every_kind(os).to_string());
        assert!(told.succeeded(), "{told}");
        for kind in ["deployment", "statefulset", "daemonset"] {
            rolled_out(namespace, &format!("{kind}/{kind}-{os}"));
        }
        namespace.ok(&["rollout", "restart", &format!("deployment/deployment-{os}")]);
        rolled_out(namespace, &format!("deployment/deployment-{os}"));
        namespace.ok(&["delete", "-f", "all.yaml"]);
    }
    // A node is lost, and its replicas are made anew.
    let ours = "app.kubernetes.io/name=transom";
    own.ok(&["delete", "pods", "--selector", ours]);
    rolled_out(own, "deployment/transom");
    let told = shop.apply("all.yaml", &every_kind("windows").to_string());
    assert!(
        !told.succeeded() && !told.stdout.contains("created"),
        "{told}"
    );
}

/// The Service as the chart makes it, and no pod behind it.
fn no_endpoints(release: &Release<'_>) {
    let own = &release.namespace;
    own.ok(&["scale", "deployment/transom", "--replicas=0"]);
    let ours = "app.kubernetes.io/name=transom";
    own.ok(&[
        "wait",
        "pod",
        "--selector",
        ours,
        "--for=delete",
        "--timeout=60s",
    ]);
    let patch = r#"{"spec":{"type":"ClusterIP","externalName":null}}"#;
    own.ok(&["patch", "service", NAME, "--type=merge", "-p", patch]);
}

fn the_message_is_the_documented_one(shop: &Namespace<'_>) {
    let blocks = blocks(section("## Emergency"), "console");
    let documented = blocks[0].split_once('\n').unwrap().1.trim();
    eventually("the API server knows that there is nobody", || {
        let told = assert_refused(shop).stderr;
        (without_numbers(&told) == without_numbers(documented)).then_some(())
    });
}

/// Address and port of the Service are others here.
fn without_numbers(told: &str) -> String {
    let (start, rest) = told.trim().split_once("transom.svc:").unwrap();
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let (middle, end) = rest.split_once("dial tcp ").unwrap_or((rest, ""));
    let end = end.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ':'));
    [start, middle, end].join("…")
}

/// A Windows pod, and who it is that could not be asked.
fn assert_refused(namespace: &Namespace<'_>) -> Told {
    let started = Instant::now();
    let told = namespace.apply("pod.yaml", &windows_pod("refused").to_string());
    println!(
        "refused after {:?}: {}",
        started.elapsed(),
        told.stderr.trim()
    );
    let words = r#"failed calling webhook "mutate.transom.dev""#;
    assert!(!told.succeeded() && told.stderr.contains(words), "{told}");
    told
}

fn rolled_out(namespace: &Namespace<'_>, workload: &str) {
    namespace.ok(&["rollout", "status", workload, "--timeout=60s"]);
}

/// A section of the page, from its heading to the next of that level.
fn section(heading: &str) -> &'static str {
    let rest = OPERATIONS.split_once(&format!("{heading}\n")).unwrap().1;
    rest.split_once("\n## ")
        .map_or(rest, |(section, _)| section)
}
