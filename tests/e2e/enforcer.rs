//! Another field manager at our webhook configurations: AKS' admissions enforcer, and what it makes of `helm upgrade`.
//!
//! The enforcer itself is not here. It is played by the name of its field manager, its requirements and the annotation that
//! it heeds, as AKS has them (https://github.com/Azure/AKS/issues/4002).

use serde_json::{Value, json};

use crate::chart::{CHART, CONFIGURATIONS, Release};
use crate::cluster::Cluster;

tests![an_upgrade_stumbles_over_the_admissions_enforcer_only_where_it_was_let_in];

const NAME: &str = "transom-enforced";
const MANAGER: &str = "admissionsenforcer";

fn an_upgrade_stumbles_over_the_admissions_enforcer_only_where_it_was_let_in(cluster: &Cluster) {
    let release = Release::install(cluster, NAME, &json!({}));
    let namespace = release.watched("enforced", &[]);
    namespace.wait_until_patched();
    let bundles = release.bundles();

    // As the chart is: kept out, and upgrades go on.
    let selectors = selectors(&release);
    enforce(&release);
    assert_eq!(self::selectors(&release), selectors);
    upgrade(&release, &["--set=log.level=debug"]).unwrap();

    // Let in.
    let without = r"--set=webhook.annotations.admissions\.enforcer/disabled=null";
    upgrade(&release, &[without]).unwrap();
    enforce(&release);
    let enforced = self::selectors(&release);
    let has_requirement = |selector: &Value| selector.to_string().contains("control-plane");
    assert!(enforced.iter().all(has_requirement), "{enforced:?}");
    namespace.wait_until_patched();
    let told = upgrade(&release, &[without, "--set=log.level=info"]).unwrap_err();
    assert!(told.contains("conflict"), "{told}");
    assert!(told.contains(MANAGER), "{told}");
    assert!(told.contains("namespaceSelector"), "{told}");
    assert_eq!(self::selectors(&release), enforced);
    namespace.wait_until_patched();

    let forced = [without, "--set=log.level=info", "--force-conflicts"];
    upgrade(&release, &forced).unwrap();
    assert_eq!(self::selectors(&release), selectors);
    assert_eq!(release.bundles(), bundles, "the caBundle is not taken away");
    namespace.wait_until_patched();
    enforce(&release);
    assert_eq!(self::selectors(&release), enforced);
    namespace.wait_until_patched();
}

fn upgrade(release: &Release<'_>, args: &[&str]) -> Result<String, String> {
    let upgrade = ["upgrade", NAME, CHART, "--values=values.yaml", "--wait"];
    release.try_helm(&[&upgrade, args].concat())
}

/// The namespaceSelector of each entry.
fn selectors(release: &Release<'_>) -> Vec<Value> {
    let configurations = CONFIGURATIONS.map(|kind| release.namespace.get(&[kind, NAME]));
    let entries = configurations
        .iter()
        .flat_map(|c| c["webhooks"].as_array().unwrap());
    entries
        .map(|entry| entry["namespaceSelector"].clone())
        .collect()
}

/// Has each entry leave out the namespaces of AKS' own, unless the annotation forbids that.
fn enforce(release: &Release<'_>) {
    for kind in CONFIGURATIONS {
        let configuration = release.namespace.get(&[kind, NAME]);
        if configuration["metadata"]["annotations"]["admissions.enforcer/disabled"] == "true" {
            continue;
        }
        let entries = configuration["webhooks"].as_array().unwrap().len();
        let requirements = [
            json!({"key": "kubernetes.azure.com/managedby", "operator": "NotIn", "values": ["aks"]}),
            json!({"key": "control-plane", "operator": "NotIn", "values": ["true"]}),
        ];
        let patch = (0..entries).flat_map(|entry| {
            let path = format!("/webhooks/{entry}/namespaceSelector/matchExpressions/-");
            let add = move |requirement| json!({"op": "add", "path": path, "value": requirement});
            requirements.each_ref().map(add)
        });
        let patch = Value::from_iter(patch).to_string();
        let manager = format!("--field-manager={MANAGER}");
        let patch = ["patch", kind, NAME, "--type=json", &manager, "-p", &patch];
        release.namespace.ok(&patch);
    }
}
