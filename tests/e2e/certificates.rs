//! Certificates of our own, with the chart's account and arguments: who may do what, the one CA, its rotation, and what
//! somebody else does to it.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use crate::chart::{CONFIGURATIONS, Release};
use crate::client::{self, BOTH};
use crate::cluster::Cluster;
use crate::http::Connection;
use crate::transom::metric;
use crate::{eventually, windows_pod};

tests![
    a_rotation_of_leaf_and_ca_fails_no_request,
    replicas_that_start_at_once_agree_on_one_ca_and_heal_what_others_do_to_it,
];

/// Requests that are on their way at the same time.
const LOAD: usize = 4;

/// Between two requests of one of them: other tests run on the same machine.
const PAUSE: Duration = Duration::from_millis(100);

fn fail() -> Value {
    json!({"mutating": {"failurePolicy": "Fail"}, "validating": {"failurePolicy": "Fail"}})
}

fn replicas_that_start_at_once_agree_on_one_ca_and_heal_what_others_do_to_it(cluster: &Cluster) {
    const NAME: &str = "transom-agreed";
    const HOST: &str = "transom-agreed.transom-agreed.svc";
    const SECRET: &str = "transom-agreed-ca";
    let release = Release::install(cluster, NAME, &json!({"webhook": fail()}));
    let namespace = release.watched("agreed", &[]);
    let data = || {
        let get = ["get", "secret", SECRET, "-o", "json"];
        let told = release.namespace.kubectl(&get);
        let secret: Option<Value> = serde_json::from_str(&told.stdout).ok();
        secret.map_or(Value::Null, |secret| secret["data"].clone())
    };
    let agreed = data();
    let keys: Vec<_> = agreed.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ca.crt", "ca.key"]);
    let ca = text(&agreed["ca.crt"]);
    assert_eq!(ca.matches("BEGIN").count(), 1);
    let bundles = release.bundles();
    assert_eq!(bundles.len(), 5);
    assert!(bundles.iter().all(|bundle| *bundle == agreed["ca.crt"]));
    let written = |cause: &str| {
        let labels = format!("cause=\"{cause}\"");
        let replicas = release.replicas().iter();
        replicas
            .map(|replica| metric(replica.admin_address, "transom_ca_writes_total", &labels))
            .sum::<u64>()
    };
    assert_eq!(written("created"), 1);
    let shown = shown(&release, HOST, &ca).unwrap();
    assert_eq!(shown.len(), 2, "a leaf for each replica");
    namespace.wait_until_patched();

    // Not what was agreed, until one of them has put it right.
    let other = STANDARD.encode(rcgen::KeyPair::generate().unwrap().serialize_pem());
    let garbage = STANDARD.encode("garbage");
    for damage in [
        json!({"data": null}),
        json!({"data": {"ca.crt": garbage}}),
        json!({"data": {"ca.key": garbage}}),
        json!({"data": {"ca.key": other}}),
        json!({"data": {"next-ca.crt": garbage, "previous-ca.crt": garbage}}),
    ] {
        let before = written("restored");
        let damage = damage.to_string();
        let patch = ["patch", "secret", SECRET, "--type=merge", "-p", &damage];
        release.namespace.ok(&patch);
        eventually("the Secret is as it was", || {
            (data() == agreed && written("restored") > before).then_some(())
        });
        namespace.wait_until_patched();
    }
    release.namespace.ok(&["delete", "secret", SECRET]);
    eventually("the Secret is there again", || {
        (data() == agreed).then_some(())
    });
    namespace.wait_until_patched();

    let stranger = cluster.client_config(1, "/")["caBundle"].clone();
    for kind in CONFIGURATIONS {
        let configuration = release.namespace.get(&[kind, NAME]);
        let entries = configuration["webhooks"].as_array().unwrap().len();
        let patch = (0..entries).map(|entry| {
            let path = format!("/webhooks/{entry}/clientConfig/caBundle");
            json!({"op": "replace", "path": path, "value": stranger})
        });
        let patch: Value = patch.collect();
        let patch = patch.to_string();
        let patch = ["patch", kind, NAME, "--type=json", "-p", &patch];
        release.namespace.ok(&patch);
    }
    eventually("the caBundle is as it was", || {
        (release.bundles() == bundles).then_some(())
    });
    namespace.wait_until_patched();
    assert_eq!(
        self::shown(&release, HOST, &ca).unwrap(),
        shown,
        "nobody needed a new leaf"
    );
    assert_eq!(written("created"), 1);
}

/// The CA is replaced after 40 seconds, the leafs every 13, and after 60 nobody trusts the first CA any more.
fn a_rotation_of_leaf_and_ca_fails_no_request(cluster: &Cluster) {
    const NAME: &str = "transom-rotation";
    const HOST: &str = "transom-rotation.transom-rotation.svc";
    let lifetimes = json!(["--ca-lifetime=60s", "--leaf-lifetime=20s"]);
    let values = json!({"webhook": fail(), "extraArgs": lifetimes});
    let release = Release::install(cluster, NAME, &values);
    release.watched("rotation", &[]).wait_until_patched();

    let ended = AtomicBool::new(false);
    let sent = AtomicU64::new(0);
    let failures = Mutex::new(Vec::new());
    let mut leafs = BTreeSet::new();
    let mut handshakes = 0;
    let mut rotations = 0;
    std::thread::scope(|scope| {
        for _ in 0..LOAD {
            scope.spawn(|| {
                cluster.api().with(async |connection| {
                    while !ended.load(Ordering::Relaxed) {
                        sent.fetch_add(1, Ordering::Relaxed);
                        if let Err(error) = self::create(connection, "rotation").await {
                            failures.lock().unwrap().push(error);
                        }
                        tokio::time::sleep(PAUSE).await;
                    }
                });
            });
        }
        // The API server keeps its connections. Whoever comes anew trusts the caBundle of a moment ago.
        let first = believed(cluster, NAME);
        eventually("the first CA has gone", || {
            let believed = believed(cluster, NAME);
            std::thread::sleep(PAUSE);
            match shown(&release, HOST, &believed) {
                Ok(shown) => leafs.extend(shown),
                Err(error) => failures.lock().unwrap().push(error.to_string()),
            }
            handshakes += release.replicas().len();
            let promoted = release.replicas().iter().map(|replica| {
                let labels = "cause=\"promoted\"";
                metric(replica.admin_address, "transom_ca_writes_total", labels)
            });
            rotations = promoted.sum();
            let gone = !believed.contains(first.trim()) && rotations > 0;
            gone.then_some(())
        });
        ended.store(true, Ordering::Relaxed);
    });
    let failures = failures.into_inner().unwrap();
    println!(
        "{} requests, {handshakes} handshakes, {rotations} rotations of the CA, {} certificates shown, {} failures",
        sent.into_inner(),
        leafs.len(),
        failures.len()
    );
    assert_eq!(failures, Vec::<String>::new());
    // Each replica has renewed its own under the same CA, and changed to the next.
    assert!(leafs.len() >= 6, "{}", leafs.len());
}

/// A Windows pod, created for no longer than the answer takes; why it was not, or not patched.
async fn create(connection: &mut Connection, namespace: &str) -> Result<(), String> {
    let pod = windows_pod("probe");
    let path = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
    let answer = connection.send(Method::POST, &path, Some(&pod)).await;
    let (status, body) = answer.map_err(|error| error.to_string())?;
    let told: Value = serde_json::from_slice(&body).unwrap();
    match (status, told["spec"]["os"]["name"].as_str()) {
        (201, Some("windows")) => Ok(()),
        _ => Err(told.to_string()),
    }
}

/// Whom the API server trusts, as one configuration has it.
fn believed(cluster: &Cluster, name: &str) -> String {
    let [kind, _] = CONFIGURATIONS;
    let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}/{name}");
    let (_, body) = cluster.api().ask(Method::GET, &path, None).unwrap();
    let configuration: Value = serde_json::from_slice(&body).unwrap();
    text(&configuration["webhooks"][0]["clientConfig"]["caBundle"])
}

/// The leaf that each replica shows to who trusts these CAs and calls it by its Service.
fn shown(
    release: &Release<'_>,
    host: &'static str,
    ca: &str,
) -> std::io::Result<BTreeSet<Vec<u8>>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let leaf = async |address| {
        let stream = client::connect(address, host, client::client(ca, BOTH)).await?;
        let chain = stream.get_ref().1.peer_certificates().unwrap();
        Ok(chain[0].to_vec())
    };
    let leafs = release.replicas().iter();
    leafs
        .map(|replica| runtime.block_on(leaf(replica.address)))
        .collect()
}

fn text(base64: &Value) -> String {
    let bytes = STANDARD.decode(base64.as_str().unwrap()).unwrap();
    String::from_utf8(bytes).unwrap()
}
