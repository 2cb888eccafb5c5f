//! A sound cluster, as a snapshot of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use transom::authority::Authority;
use transom::config::Written;
use transom::doctor::objects::{Configuration, Version};
use transom::doctor::{Asked, Cluster, Labels, Served, Settings};
use transom::os::Condition;
use transom::policy::Policy;
use x509_parser::pem::Pem;

pub(crate) const NOW: i64 = 1_800_000_000;
pub(crate) const DAY: i64 = 24 * 60 * 60;

pub(crate) fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The PEM of a certificate with so many days left.
pub(crate) fn certificate(days: i64) -> Vec<u8> {
    let made = NOW - 1000 * DAY;
    let lifetime = (1000 + days) * DAY + DAY / 2;
    let authority = Authority::new("test", made, lifetime).unwrap();
    authority.certificate().pem().into()
}

pub(crate) fn served(days: i64) -> Asked<Served> {
    let pem = certificate(days);
    let pem = Pem::iter_from_buffer(&pem).next().unwrap().unwrap();
    Ok(Served {
        at: "localhost:10250".to_owned(),
        certificate: Ok(pem.contents),
    })
}

pub(crate) fn settings(config: &str) -> Settings {
    let header = "apiVersion: transom.dev/v1alpha1\nkind: Config\n";
    let written = Written::from_bytes(format!("{header}{config}").as_bytes()).unwrap();
    Settings {
        policy: Policy::of(&written).unwrap(),
        origin: "ConfigMap transom/transom-config: mode enforce".to_owned(),
    }
}

pub(crate) fn entry(name: &str) -> Value {
    json!({
        "name": name,
        "clientConfig": {
            "caBundle": STANDARD.encode(certificate(200)),
            "service": {"namespace": "transom", "name": "transom", "port": 443},
        },
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
        "failurePolicy": "Fail",
        "timeoutSeconds": 5,
        "reinvocationPolicy": "IfNeeded",
        "namespaceSelector": {"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "transom"]},
            {"key": "transom.dev/mode", "operator": "NotIn", "values": ["off"]},
        ]},
        "matchConditions": [{
            "name": "windows-evidence",
            "expression": Policy::default().expression(Condition::Evidence),
        }],
    })
}

pub(crate) fn configuration(name: &str, entries: &[Value]) -> Configuration {
    of(json!({"metadata": {"name": name}, "webhooks": entries}))
}

pub(crate) fn node(name: &str, os: &str, taints: &Value) -> Value {
    json!({
        "metadata": {"name": name, "labels": {
            "kubernetes.io/os": os,
            "node.kubernetes.io/windows-build": "10.0.20348",
        }},
        "spec": {"taints": taints},
        "status": {"capacity": {"memory": "16Gi"}, "allocatable": {"memory": "14Gi"}},
    })
}

pub(crate) fn windows_taint() -> Value {
    json!([{"key": "os", "value": "Win1809", "effect": "NoSchedule"}])
}

pub(crate) fn replica(number: usize) -> Value {
    json!({
        "addresses": [format!("10.0.0.{number}")],
        "conditions": {"ready": true},
        "nodeName": format!("linux-{number}"),
        "targetRef": {"kind": "Pod", "name": format!("transom-{number}")},
    })
}

pub(crate) fn deployment() -> Value {
    json!({
        "metadata": {"name": "transom", "namespace": "transom"},
        "spec": {"replicas": 2, "template": {
            "metadata": {"labels": {"app": "transom"}},
            "spec": {
                "containers": [{
                    "args": ["serve", "--config=/etc/transom/config.yaml", "--watch-namespaces", "--watch-nodes"],
                    "volumeMounts": [{"name": "tls", "mountPath": "/tls"}, {"name": "config", "mountPath": "/etc/transom"}],
                }],
                "volumes": [{"name": "tls"}, {"name": "config", "configMap": {"name": "transom-config"}}],
            },
        }},
    })
}

pub(crate) fn kyverno(validate: &Value, action: &str) -> Value {
    json!({
        "metadata": {"name": "restrict"},
        "spec": {"validationFailureAction": action, "rules": [{"name": "rule", "validate": validate}]},
    })
}

pub(crate) fn sound() -> Cluster {
    let labels = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        pairs
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect::<Labels>()
    };
    let namespaces = [
        ("kube-system", labels(&[])),
        ("transom", labels(&[])),
        ("shop", labels(&[("transom.dev/mode", "warn")])),
        (
            "safe",
            labels(&[
                ("pod-security.kubernetes.io/enforce", "restricted"),
                ("pod-security.kubernetes.io/enforce-version", "v1.25"),
            ]),
        ),
    ];
    let standard = json!({"podSecurity": {"level": "restricted", "version": "latest"}});
    Cluster {
        chosen: None,
        now: NOW,
        version: Ok(Version {
            major: "1".to_owned(),
            minor: "36+".to_owned(),
            git: "v1.36.3".to_owned(),
        }),
        groups: Ok(["apps", "security.openshift.io"].map(str::to_owned).into()),
        mutating: Ok(vec![
            configuration("earlier", &[entry("earlier.example")]),
            configuration("transom", &[entry("mutate.transom.dev")]),
        ]),
        validating: Ok(vec![configuration(
            "transom",
            &[entry("validate.transom.dev")],
        )]),
        namespaces: Ok(namespaces
            .map(|(name, labels)| (name.to_owned(), labels))
            .into()),
        nodes: Ok(of(json!([
            node("linux-1", "linux", &json!(null)),
            node("windows-1", "windows", &windows_taint()),
            node("windows-2", "windows", &windows_taint()),
        ]))),
        runtime_classes: Ok(of(json!([
            {"metadata": {"name": "gvisor"}},
            {"metadata": {"name": "windows-2022"}, "scheduling": {"nodeSelector": {
                "kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.20348",
            }}},
        ]))),
        service: Ok(of(
            json!({"spec": {"type": "ClusterIP", "selector": {"app": "transom"}}}),
        )),
        slices: Ok(of(
            json!([{"endpoints": [replica(1), replica(2)]}, {"endpoints": null}]),
        )),
        deployments: Ok(of(json!([deployment()]))),
        budgets: Ok(of(
            json!([{"spec": {"selector": {"matchLabels": {"app": "transom"}}}}]),
        )),
        settings: Ok(Ok(settings(""))),
        windows_pods: Ok([].into()),
        misplaced: Ok(Vec::new()),
        kyverno: Ok(of(json!([kyverno(&standard, "Enforce")]))),
        served: served(20),
    }
}
