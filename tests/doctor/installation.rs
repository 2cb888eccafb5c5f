//! What is changed in the installation of the sound cluster, and what is said then.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use transom::doctor::Cluster;
use transom::doctor::objects;

use crate::sound::*;

/// A name, the change, and the status and name of each line that is not ok.
pub(crate) type Change = (&'static str, fn(&mut Cluster), &'static [&'static str]);

pub(crate) fn entries(cluster: &mut Cluster) -> impl Iterator<Item = &mut objects::Entry> {
    let mutating = cluster.mutating.as_mut().unwrap();
    let validating = cluster.validating.as_mut().unwrap();
    let ours = mutating.iter_mut().chain(validating);
    ours.filter(|object| object.metadata.name == "transom")
        .flat_map(|object| &mut object.webhooks)
}

pub(crate) fn windows_1(cluster: &mut Cluster) -> &mut objects::Node {
    &mut cluster.nodes.as_mut().unwrap()[1]
}

pub(crate) fn label(cluster: &mut Cluster, namespace: &str, key: &str, value: &str) {
    let namespaces = cluster.namespaces.as_mut().unwrap();
    let labels = namespaces.entry(namespace.to_owned()).or_default();
    labels.insert(key.to_owned(), value.to_owned());
}

pub(crate) fn configure(cluster: &mut Cluster, config: &str) {
    cluster.settings = Ok(Ok(settings(config)));
}

pub(crate) fn taint(cluster: &mut Cluster, taints: &Value) {
    for node in &mut cluster.nodes.as_mut().unwrap()[1..] {
        node.spec.taints = of(taints.clone());
    }
}

pub(crate) fn memory(cluster: &mut Cluster, allocatable: &str) {
    windows_1(cluster).status.allocatable.memory = allocatable.to_owned();
}

pub(crate) fn policy(cluster: &mut Cluster, validate: &Value, action: &str) {
    cluster.kyverno = Ok(of(json!([kyverno(validate, action)])));
}

/// A policy that no Windows pod would meet, for objects of this kind.
pub(crate) fn policy_for(cluster: &mut Cluster, kind: &str) {
    let pattern = json!({"pattern": {"spec": {"capabilities": {"drop": ["ALL"]}}}});
    let mut policy = kyverno(&pattern, "enforce");
    policy["spec"]["rules"][0]["match"] = json!({"any": [{"resources": {"kinds": [kind]}}]});
    cluster.kyverno = Ok(of(json!([policy])));
}

/// In the installation; without a line, all stays in order.
pub(crate) const OF_THE_INSTALLATION: &[Change] = &[
    (
        "an old API server",
        |c| c.version.as_mut().unwrap().minor = "29".to_owned(),
        &["fail kubernetes-version"],
    ),
    (
        "an odd API server",
        |c| c.version.as_mut().unwrap().minor = "many".to_owned(),
        &["fail kubernetes-version"],
    ),
    (
        "a new major version",
        |c| {
            let version = c.version.as_mut().unwrap();
            (version.major, version.minor) = ("2".to_owned(), "0".to_owned());
        },
        &[],
    ),
    (
        "no installation",
        |c| {
            c.mutating = Ok(Vec::new());
            c.validating = Ok(Vec::new());
        },
        &["warn installation"],
    ),
    (
        "another one was chosen",
        |c| c.chosen = Some("other".to_owned()),
        &["fail installation"],
    ),
    (
        "this one was chosen",
        |c| {
            c.chosen = Some("transom".to_owned());
            c.mutating
                .as_mut()
                .unwrap()
                .push(configuration("second", &[entry("mutate.transom.dev")]));
        },
        &[],
    ),
    (
        "two installations",
        |c| {
            c.mutating
                .as_mut()
                .unwrap()
                .push(configuration("second", &[entry("mutate.transom.dev")]));
        },
        &["warn installation"],
    ),
    (
        "no mutating one",
        |c| c.mutating = Ok(Vec::new()),
        &["warn webhook-pair"],
    ),
    (
        "a validating one without rules",
        |c| entries(c).last().unwrap().rules.clear(),
        &["warn webhook-pair"],
    ),
    (
        "no caBundle",
        |c| entries(c).for_each(|e| e.client_config.ca_bundle = None),
        &["fail ca-bundle"],
    ),
    (
        "no caBundle where nothing is asked",
        |c| {
            let objects = [&mut c.mutating, &mut c.validating];
            for object in objects
                .into_iter()
                .filter_map(|list| list.as_mut().unwrap().last_mut())
            {
                object
                    .webhooks
                    .push(of(json!({"name": "unused.transom.dev", "rules": null})));
            }
        },
        &[],
    ),
    (
        "an expired caBundle",
        |c| {
            let bundle = STANDARD.encode(certificate(-1));
            entries(c).for_each(|e| e.client_config.ca_bundle = Some(bundle.clone()));
        },
        &["fail ca-bundle"],
    ),
    (
        "an old caBundle",
        |c| {
            let bundle = STANDARD.encode(certificate(13));
            entries(c).next().unwrap().client_config.ca_bundle = Some(bundle);
        },
        &["warn ca-bundle"],
    ),
    (
        "an expired CA beside its successor",
        |c| {
            let bundle = STANDARD.encode([certificate(-1), certificate(300)].concat());
            entries(c).for_each(|e| e.client_config.ca_bundle = Some(bundle.clone()));
        },
        &[],
    ),
    (
        "a certificate that is not trusted",
        |c| {
            c.served.as_mut().unwrap().certificate = Err(
                "localhost:10250 is not trusted as transom.transom.svc; the caBundle must be that"
                    .to_owned(),
            );
        },
        &["fail certificate"],
    ),
    (
        "a certificate that is not renewed",
        |c| c.served = served(6),
        &["warn certificate"],
    ),
    (
        "a certificate that has expired",
        |c| c.served = served(-1),
        &["fail certificate"],
    ),
    (
        "a long timeout",
        |c| entries(c).next().unwrap().timeout_seconds = 30,
        &["warn timeout"],
    ),
    (
        "conditions of another version",
        |c| {
            entries(c).next().unwrap().match_conditions[0].expression = "false".to_owned();
        },
        &["warn match-conditions"],
    ),
    (
        "no conditions",
        |c| entries(c).for_each(|e| e.match_conditions.clear()),
        &[],
    ),
    (
        "conditions of a name that is not known",
        |c| {
            let other = json!({"name": "windows-evidence-v0", "expression": "false"});
            entries(c).for_each(|e| e.match_conditions = vec![of(other.clone())]);
        },
        &[],
    ),
    (
        "conditions of one's own beside ours",
        |c| {
            let own = json!({"name": "own", "expression": "false"});
            entries(c).for_each(|e| e.match_conditions.push(of(own.clone())));
        },
        &[],
    ),
    (
        "conditions of another configuration",
        |c| {
            configure(c, "evidence: {images: {hint: {words: [dotnet]}}}");
        },
        &["warn match-conditions"],
    ),
    (
        "all namespaces are selected",
        |c| {
            entries(c).next().unwrap().namespace_selector = of(json!({}));
        },
        &["fail exclusions", "fail exclusions"],
    ),
    (
        "a wrong configuration",
        |c| {
            c.settings = Ok(Err(
                "ConfigMap transom/transom-config is not valid: mdoe: unknown key".to_owned(),
            ))
        },
        &[
            "skip match-conditions",
            "fail configuration",
            "skip tolerations",
            "skip untainted-nodes",
            "skip runtime-classes",
            "skip misplaced-pods",
            "skip pod-security",
            "skip kyverno",
            "skip openshift",
            "skip modes",
            "skip coverage",
        ],
    ),
    (
        "no endpoints",
        |c| c.slices = Ok(Vec::new()),
        &["fail endpoints"],
    ),
    (
        "no ready endpoints",
        |c| {
            for endpoint in &mut c.slices.as_mut().unwrap()[0].endpoints {
                endpoint.conditions.ready = Some(false);
            }
        },
        &["fail endpoints"],
    ),
    ("no Service", |c| c.service = Ok(None), &["fail endpoints"]),
    (
        "one replica",
        |c| {
            c.slices.as_mut().unwrap()[0].endpoints.truncate(1);
            c.deployments.as_mut().unwrap()[0].spec.replicas = Some(1);
        },
        &["warn failure-policy"],
    ),
    (
        "one of two replicas is ready",
        |c| c.slices.as_mut().unwrap()[0].endpoints.truncate(1),
        &["warn failure-policy"],
    ),
    (
        "replicas of no Deployment",
        |c| {
            c.deployments = Ok(Vec::new());
            c.budgets = Ok(Vec::new());
        },
        &[],
    ),
    (
        "one replica with two families of addresses",
        |c| {
            let slice = &mut c.slices.as_mut().unwrap()[0];
            slice.endpoints[1].target_ref = slice.endpoints[0].target_ref.clone();
            c.deployments.as_mut().unwrap()[0].spec.replicas = Some(1);
        },
        &["warn failure-policy"],
    ),
    (
        "all replicas on one node",
        |c| {
            for endpoint in &mut c.slices.as_mut().unwrap()[0].endpoints {
                endpoint.node_name = Some("linux-1".to_owned());
            }
        },
        &["warn failure-policy"],
    ),
    (
        "no budget",
        |c| {
            c.budgets = Ok(of(
                json!([{"spec": {"selector": {"matchLabels": {"app": "other"}}}}]),
            ))
        },
        &["warn failure-policy"],
    ),
    (
        "one replica, and failurePolicy Ignore",
        |c| {
            entries(c).for_each(|e| e.failure_policy = "Ignore".to_owned());
            c.slices.as_mut().unwrap()[0].endpoints.truncate(1);
            c.budgets = Ok(Vec::new());
        },
        &[],
    ),
    (
        "a later webhook, and no reinvocation",
        |c| {
            c.mutating
                .as_mut()
                .unwrap()
                .push(configuration("vpc", &[entry("vpc.example")]));
            entries(c).next().unwrap().reinvocation_policy = "Never".to_owned();
        },
        &["warn later-webhooks"],
    ),
    (
        "a later webhook, and reinvocation",
        |c| {
            c.mutating
                .as_mut()
                .unwrap()
                .push(configuration("vpc", &[entry("vpc.example")]));
        },
        &[],
    ),
    (
        "a later webhook for something else",
        |c| {
            let mut vpc = configuration("vpc", &[entry("vpc.example")]);
            vpc.webhooks[0].rules[0].resources = vec!["pods/status".to_owned()];
            c.mutating.as_mut().unwrap().push(vpc);
            entries(c).next().unwrap().reinvocation_policy = "Never".to_owned();
        },
        &[],
    ),
];
