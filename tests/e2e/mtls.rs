//! Clients must present a certificate: an API server that was set up as certs/README.md says is answered, and nobody
//! else.

use std::fs;

use serde_json::json;

use crate::balancer::Balancer;
use crate::blocks::blocks;
use crate::chart::Release;
use crate::client::Authority;
use crate::cluster::Cluster;
use crate::transom::metric;
use crate::{eventually, windows_pod};

tests![only_an_api_server_that_presents_its_certificate_is_answered];

const PAGE: &str = include_str!("../../certs/README.md");

/// Where the files of the page lie, and the Service that it names.
const PLACE: &str = "/etc/kubernetes/admission";
const SERVICE: &str = "transom.transom.svc";

fn only_an_api_server_that_presents_its_certificate_is_answered(cluster: &Cluster) {
    let (clients, balancer) = (Authority::new(), Balancer::start());
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let (_, section) = PAGE.split_once("## Certificates of clients\n").unwrap();
    let pages = blocks(section, "yaml");
    let [configuration, kubeconfig] = &pages[..] else {
        panic!("{pages:?}");
    };
    let here = directory.path().to_str().unwrap();
    let with_port = format!("{SERVICE}:{}", balancer.port());
    assert!(configuration.contains(PLACE) && kubeconfig.contains(PLACE));
    assert!(kubeconfig.contains(SERVICE));
    fs::write(file("admission.yaml"), configuration.replace(PLACE, here)).unwrap();
    let kubeconfig = kubeconfig.replace(PLACE, here).replace(SERVICE, &with_port);
    fs::write(file("webhooks.yaml"), kubeconfig).unwrap();
    let (certificate, key) = clients.client_leaf();
    fs::write(file("client.crt"), certificate).unwrap();
    fs::write(file("client.key"), key).unwrap();
    let flag = format!("--admission-control-config-file={here}/admission.yaml");
    let cluster = &Cluster::start_with(cluster.assets(), &[&flag]);

    let install = |name, balancer| {
        let fail = json!({"failurePolicy": "Fail"});
        let values = json!({
            "tls": {"clientCASecret": "clients"}, "webhook": {"mutating": fail, "validating": fail},
        });
        let mut release = Release::prepare(cluster, name, &values, balancer);
        release.namespace.file("ca.crt", &clients.pem());
        let secret = [
            "create",
            "secret",
            "generic",
            "clients",
            "--from-file=ca.crt",
        ];
        release.namespace.ok(&secret);
        release.deploy();
        release
    };
    let release = install("transom", balancer);
    release.watched("shop", &[]).wait_until_patched();
    assert_eq!(refused(&release), 0);

    // `helm test` has none, and looks whether it is turned away.
    let told = release.test().unwrap();
    assert_eq!(
        told.matches("ok   ").count(),
        release.bundles().len(),
        "{told}"
    );
    assert_eq!(
        told.matches("turns away").count(),
        release.bundles().len(),
        "{told}"
    );
    eventually("who has none is counted", || {
        (refused(&release) > 0).then_some(())
    });

    // A Service that the API server has no certificate for.
    let other = install("transom-other", Balancer::start());
    let namespace = other.watched("other", &[]);
    let pod = windows_pod("a").to_string();
    eventually("the API server is refused", || {
        let told = namespace.apply("pod.yaml", &pod);
        assert!(!told.succeeded(), "{told}");
        let words = "remote error: tls: certificate required";
        told.stderr.trim().ends_with(words).then_some(())
    });
    assert!(other.answered().iter().all(|calls| calls == &[0, 0]));
}

/// Handshakes that came to nothing.
fn refused(release: &Release<'_>) -> u64 {
    let handshakes = |address| metric(address, "transom_errors_total", r#"stage="tls_handshake""#);
    let replicas = release.replicas().iter();
    replicas
        .map(|replica| handshakes(replica.admin_address))
        .sum()
}
