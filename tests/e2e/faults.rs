//! Transom is killed and started again, over and over, while kubectl applies a thousand pods.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::kubectl::{Namespace, Told};
use crate::scan::scan;
use crate::transom::{Options, Transom};
use crate::windows_pod;

tests![
    with_fail_an_apply_under_kills_is_told_what_failed_and_converges,
    with_ignore_an_apply_under_kills_admits_all_and_the_scan_finds_what_slipped_in,
];

const PODS: usize = 1_000;

/// How long it answers between two kills, and how long it is away.
const UP: Duration = Duration::from_millis(1500);
const DOWN: Duration = Duration::from_millis(500);

fn name(index: usize) -> String {
    format!("pod-{index}")
}

fn is_flawed(index: usize) -> bool {
    index.is_multiple_of(10)
}

/// Pods that nobody schedules, each tenth of which cannot run on Windows.
fn pods() -> String {
    let pods = (0..PODS).map(|index| {
        let mut pod = windows_pod(&name(index));
        pod["spec"]["schedulerName"] = json!("nobody");
        if is_flawed(index) {
            pod["spec"]["hostPID"] = json!(true);
        }
        pod
    });
    json!({"apiVersion": "v1", "kind": "List", "items": pods.collect::<Vec<_>>()}).to_string()
}

/// Applies them while Transom comes and goes; what kubectl told, and how often Transom was killed.
fn apply_under_kills(namespace: &Namespace<'_>, transom: &mut Transom<'_>) -> (Told, usize) {
    let is_done = AtomicBool::new(false);
    let mut kills = 0;
    let told = std::thread::scope(|scope| {
        let applying = scope.spawn(|| {
            let told = namespace.apply("pods.yaml", &pods());
            is_done.store(true, Ordering::Relaxed);
            told
        });
        while !is_done.load(Ordering::Relaxed) {
            std::thread::sleep(UP);
            transom.stop();
            kills += 1;
            std::thread::sleep(DOWN);
            transom.start();
        }
        applying.join().unwrap()
    });
    (told, kills)
}

/// Which pods there are; and which of them are as they were written.
fn admitted(namespace: &Namespace<'_>) -> [BTreeSet<String>; 2] {
    let list = namespace.get(&["pods"]);
    let pods = list["items"].as_array().unwrap();
    let names = |pods: &mut dyn Iterator<Item = &Value>| {
        let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap().to_owned();
        pods.map(name).collect()
    };
    let mut unpatched = pods.iter().filter(|pod| pod["spec"]["os"].is_null());
    [names(&mut pods.iter()), names(&mut unpatched)]
}

fn good() -> BTreeSet<String> {
    let good = (0..PODS).filter(|index| !is_flawed(*index));
    good.map(name).collect()
}

fn count(text: &str, part: &str) -> usize {
    text.lines().filter(|line| line.contains(part)).count()
}

fn with_fail_an_apply_under_kills_is_told_what_failed_and_converges(cluster: &Cluster) {
    let options = Options {
        failure_policy: "Fail",
        abrupt: true,
        ..Options::default()
    };
    let mut transom = Transom::install(cluster, "kills-fail", &options);
    let namespace = transom.namespace("kills-fail", &[]);
    let (told, kills) = apply_under_kills(&namespace, &mut transom);
    let created = count(&told.stdout, " created");
    let failed = count(&told.stderr, "failed calling webhook");
    let denied = count(&told.stderr, "denied the request");
    println!(
        "Fail: {kills} kills during an apply of {PODS} pods: {created} created, {failed} not decided, {denied} denied"
    );
    assert!(kills > 0 && failed > 0, "nothing was disturbed");
    assert_eq!(
        created + failed + denied,
        PODS,
        "each is told of:\n{}",
        told.stderr
    );
    let [there, unpatched] = admitted(&namespace);
    assert_eq!(there.len(), created);
    assert!(there.is_subset(&good()), "a flawed pod was admitted");
    assert_eq!(unpatched, BTreeSet::new());

    // Once more, with Transom there.
    let again = namespace.kubectl(&["apply", "-f", "pods.yaml"]);
    assert_eq!(count(&again.stderr, "failed calling webhook"), 0, "{again}");
    assert_eq!(count(&again.stderr, "denied the request"), PODS / 10);
    assert_eq!(admitted(&namespace), [good(), BTreeSet::new()]);
    remove(&namespace);
}

fn with_ignore_an_apply_under_kills_admits_all_and_the_scan_finds_what_slipped_in(
    cluster: &Cluster,
) {
    let options = Options {
        abrupt: true,
        ..Options::default()
    };
    let mut transom = Transom::install(cluster, "kills-ignore", &options);
    let namespace = transom.namespace("kills-ignore", &[]);
    let (told, kills) = apply_under_kills(&namespace, &mut transom);
    let denied = count(&told.stderr, "denied the request");
    assert_eq!(
        count(&told.stderr, "failed calling webhook"),
        0,
        "{}",
        told.stderr
    );
    let [there, unpatched] = admitted(&namespace);
    assert_eq!(there.len() + denied, PODS);
    assert!(there.is_superset(&good()), "a good pod was refused");
    let slipped_in: BTreeSet<_> = there.difference(&good()).cloned().collect();
    println!(
        "Ignore: {kills} kills during an apply of {PODS} pods: {} admitted, {} of them unpatched, {} of them flawed; \
         {denied} denied",
        there.len(),
        unpatched.len(),
        slipped_in.len()
    );
    assert!(kills > 0 && !unpatched.is_empty(), "nothing was disturbed");
    let found = scan(cluster, &["-n", "kills-ignore"]).found("kills-ignore");
    let want = slipped_in.iter();
    let want: BTreeSet<_> = want
        .map(|name| format!("deny WIN202 Pod kills-ignore/{name}"))
        .collect();
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), want);
    remove(&namespace);
}

fn remove(namespace: &Namespace<'_>) {
    namespace.ok(&[
        "delete",
        "pods",
        "--all",
        "--force",
        "--grace-period=0",
        "--wait=false",
    ]);
}
