//! RBAC and tokens: what the chosen features need, and nothing else.

use std::collections::BTreeSet;

use serde_json::Value;

use super::helm::{Manifests, SILENT, cases, helm, is_test};

/// `role: verb group/resource/name` for each right that is not for `helm test`.
fn rights(manifests: &Manifests) -> BTreeSet<String> {
    fn list<'v>(rule: &'v Value, key: &str) -> Vec<&'v str> {
        let list = rule[key].as_array();
        list.into_iter()
            .flatten()
            .map(|v| v.as_str().unwrap())
            .collect()
    }
    let mut all = BTreeSet::new();
    for kind in ["ClusterRole", "Role"] {
        for role in manifests.all(kind).into_iter().filter(|o| !is_test(o)) {
            for rule in role["rules"].as_array().unwrap() {
                let names = list(rule, "resourceNames");
                for (group, resource) in list(rule, "apiGroups")
                    .into_iter()
                    .flat_map(|g| list(rule, "resources").into_iter().map(move |r| (g, r)))
                {
                    let verbs = list(rule, "verbs").join(",");
                    let names = names.join(",");
                    all.insert(format!("{kind}: {verbs} {group}/{resource} [{names}]"));
                }
            }
        }
    }
    all
}

const CONFIGURATIONS: [&str; 2] = [
    "ClusterRole: get,list,watch,patch admissionregistration.k8s.io/mutatingwebhookconfigurations [transom]",
    "ClusterRole: get,list,watch,patch admissionregistration.k8s.io/validatingwebhookconfigurations [transom]",
];
const NAMESPACES: &str = "ClusterRole: get,list,watch /namespaces []";
const CLASSES: &str = "ClusterRole: list,watch node.k8s.io/runtimeclasses []";
const NODES: &str = "ClusterRole: list,watch /nodes []";
const EVENTS: &str = "ClusterRole: create,patch events.k8s.io/events []";
const SECRET: &str = "Role: get,list,watch,create,update,patch /secrets [transom-ca]";

#[test]
fn rights_are_those_that_the_features_need() {
    let Some(helm) = helm() else { return };
    let [mutating, validating] = CONFIGURATIONS;
    for (values, want) in [
        (
            "{}",
            vec![mutating, validating, NAMESPACES, CLASSES, NODES, SECRET],
        ),
        (
            "watchNamespaces: false",
            vec![mutating, validating, CLASSES, NODES, SECRET],
        ),
        (
            "watchRuntimeClasses: false",
            vec![mutating, validating, NAMESPACES, NODES, SECRET],
        ),
        (
            "watchNodes: false",
            vec![mutating, validating, NAMESPACES, CLASSES, SECRET],
        ),
        ("tls: {mode: certManager}", vec![NAMESPACES, CLASSES, NODES]),
        (
            "tls: {mode: existingSecret, existingSecret: a}",
            vec![NAMESPACES, CLASSES, NODES],
        ),
        (
            "{watchNamespaces: false, watchNodes: false, tls: {mode: certManager}}",
            vec![CLASSES],
        ),
        (SILENT, vec![]),
        (
            "{events: {enabled: true}, watchNamespaces: false, watchRuntimeClasses: false, watchNodes: false, tls: {mode: certManager}}",
            vec![EVENTS],
        ),
        ("rbac: {create: false}", vec![]),
        (
            "{metrics: {serviceMonitor: {enabled: true}}, autoscaling: {enabled: true}, networkPolicy: {enabled: true}}",
            vec![mutating, validating, NAMESPACES, CLASSES, NODES, SECRET],
        ),
    ] {
        let rights = rights(&helm.with(values).unwrap());
        let want = want.into_iter().map(str::to_owned).collect();
        assert_eq!(rights, want, "{values}");
    }
}

#[test]
fn a_token_is_mounted_where_the_program_has_rights_to_use() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        let spec = &rendered.one("Deployment")["spec"]["template"]["spec"];
        let mounted = spec["automountServiceAccountToken"].as_bool().unwrap();
        let without = ["cert-manager-own-ca", "existing-secret", "everything-off"];
        assert_eq!(mounted, !without.contains(&case.as_str()), "{case}");
        if case != "everything-off" {
            assert_eq!(mounted, !rights(&rendered).is_empty(), "{case}");
        }
        for account in rendered.all("ServiceAccount") {
            assert_eq!(account["automountServiceAccountToken"], false, "{case}");
        }
    }
}

#[test]
fn nothing_is_granted_by_a_wildcard() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        for role in [rendered.all("Role"), rendered.all("ClusterRole")].concat() {
            assert!(!role["rules"].to_string().contains('*'), "{case}: {role}");
        }
    }
}

#[test]
fn bindings_lead_from_our_account_to_our_role() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        let account = &rendered.one("Deployment")["spec"]["template"]["spec"]["serviceAccountName"];
        for kind in ["Role", "ClusterRole"] {
            let bindings = rendered.all(&format!("{kind}Binding"));
            assert_eq!(bindings.len(), rendered.all(kind).len(), "{case}");
            for binding in bindings {
                assert_eq!(binding["roleRef"]["kind"], kind);
                assert_eq!(binding["roleRef"]["name"], binding["metadata"]["name"]);
                let [subject] = &binding["subjects"].as_array().unwrap()[..] else {
                    panic!("{binding}");
                };
                assert_eq!(subject["namespace"], "transom");
                if is_test(binding) {
                    assert_eq!(subject["name"], binding["metadata"]["name"]);
                } else {
                    assert_eq!(subject["name"], *account, "{case}");
                }
            }
        }
    }
}

/// `helm test` has an account of its own, which reads our two configurations, and a pod that no Service chooses.
#[test]
fn the_test_may_read_what_it_tests() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("default");
    let role = rendered
        .all("ClusterRole")
        .into_iter()
        .find(|o| is_test(o))
        .unwrap();
    let rules = role["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0]["verbs"], serde_json::json!(["get"]));
    assert_eq!(rules[0]["resourceNames"], serde_json::json!(["transom"]));
    let pod = rendered.test_pod();
    assert_eq!(pod["spec"]["serviceAccountName"], role["metadata"]["name"]);
    let selector = rendered.one("Service")["spec"]["selector"]
        .as_object()
        .unwrap();
    let labels = &pod["metadata"]["labels"];
    assert!(!selector.iter().all(|(key, value)| labels[key] == *value));
}
