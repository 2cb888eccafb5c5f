//! The webhook configurations: what the API server asks about, and what it never does.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use transom::os::Condition;
use transom::policy::Policy;
use transom::rules;

use super::helm::{Manifests, cases, helm};

pub(super) const KINDS: [&str; 2] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// All entries of both configurations, as far as there are any.
fn entries(manifests: &Manifests) -> Vec<&Value> {
    let configurations = KINDS.iter().flat_map(|kind| manifests.all(kind));
    configurations
        .flat_map(|configuration| configuration["webhooks"].as_array().unwrap())
        .collect()
}

fn entry<'m>(manifests: &'m Manifests, name: &str) -> &'m Value {
    let name = format!("{name}.transom.dev");
    let mut found = entries(manifests).into_iter();
    found
        .find(|entry| entry["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn requirements(entry: &Value) -> &Vec<Value> {
    entry["namespaceSelector"]["matchExpressions"]
        .as_array()
        .unwrap()
}

/// What the API server makes of a selector's expressions, for these labels.
fn selects(entry: &Value, labels: &Value) -> bool {
    let wanted = entry["namespaceSelector"]["matchLabels"].as_object();
    let by_labels = wanted.is_none_or(|wanted| wanted.iter().all(|(k, v)| labels[k] == *v));
    by_labels
        && requirements(entry).iter().all(|requirement| {
            let label = labels.get(requirement["key"].as_str().unwrap());
            let listed = || {
                let values = requirement["values"].as_array().unwrap();
                label.is_some_and(|label| values.contains(label))
            };
            match requirement["operator"].as_str().unwrap() {
                "In" => listed(),
                "NotIn" => !listed(),
                "Exists" => label.is_some(),
                "DoesNotExist" => label.is_none(),
                other => panic!("{other}"),
            }
        })
}

/// The entries that ask about a namespace with these labels.
fn asked_by<'m>(manifests: &'m Manifests, labels: &Value) -> Vec<&'m str> {
    entries(manifests)
        .into_iter()
        .filter(|entry| entry["rules"] != json!([]) && selects(entry, labels))
        .map(|entry| entry["name"].as_str().unwrap())
        .collect()
}

fn named(name: &str) -> Value {
    json!({"kubernetes.io/metadata.name": name})
}

/// A namespace that the selectors of every case let through.
fn shop() -> Value {
    json!({
        "kubernetes.io/metadata.name": "shop", "team": "shop", "environment": "test",
    })
}

#[test]
fn kube_system_our_own_namespace_and_mode_off_are_never_asked_about() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        for labels in [
            json!({}),
            json!({"transom.dev/os": "windows"}),
            json!({"transom.dev/linux-guard": "true"}),
        ] {
            for name in ["kube-system", "transom", "off"] {
                let mut namespace = shop();
                let map = namespace.as_object_mut().unwrap();
                map.extend(labels.as_object().unwrap().clone());
                match name {
                    "off" => map.insert("transom.dev/mode".to_owned(), "off".into()),
                    name => map.insert("kubernetes.io/metadata.name".to_owned(), name.into()),
                };
                assert_eq!(
                    asked_by(&rendered, &namespace),
                    [""; 0],
                    "{case}: {namespace}"
                );
            }
        }
    }
}

#[test]
fn our_exclusions_are_added_to_what_users_select() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("none");
    let mutate = entry(&rendered, "mutate");
    assert_eq!(
        mutate["namespaceSelector"],
        json!({
            "matchLabels": {"team": "shop"},
            "matchExpressions": [
                {"key": "environment", "operator": "In", "values": ["test", "production"]},
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "transom"]},
                {"key": "transom.dev/mode", "operator": "NotIn", "values": ["off"]},
            ],
        })
    );
    assert_eq!(
        mutate["objectSelector"]["matchExpressions"][0]["key"],
        "example.com/unseen"
    );
    assert!(entry(&rendered, "validate").get("objectSelector").is_none());
}

#[test]
fn exempt_namespaces_are_not_asked_about() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("config");
    assert_eq!(asked_by(&rendered, &named("calico-system")), [""; 0]);
    assert_eq!(
        asked_by(&rendered, &named("shop")),
        ["mutate.transom.dev", "validate.transom.dev"]
    );
}

#[test]
fn every_namespace_is_asked_about_once_by_each_webhook() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("default");
    let labels = |labels: Value| {
        let mut namespace = shop();
        let map = namespace.as_object_mut().unwrap();
        map.extend(labels.as_object().unwrap().clone());
        let asked = asked_by(&rendered, &namespace);
        asked.join(" ").replace(".transom.dev", "")
    };
    assert_eq!(labels(json!({})), "mutate validate");
    for os in ["windows", "linux", "nonsense"] {
        let os = json!({"transom.dev/os": os});
        assert_eq!(labels(os), "mutate-labelled validate-labelled");
    }
    let guard = |value: &str| labels(json!({"transom.dev/linux-guard": value}));
    assert_eq!(guard("true"), "mutate-guarded validate");
    assert_eq!(guard("false"), "mutate validate");
    let both = json!({"transom.dev/linux-guard": "true", "transom.dev/os": "windows"});
    assert_eq!(labels(both), "mutate-labelled validate-labelled");
    for mode in ["enforce", "warn", "audit"] {
        assert_eq!(labels(json!({"transom.dev/mode": mode})), "mutate validate");
    }
}

#[test]
fn labels_ask_for_more_only_where_conditions_ask_for_less() {
    let Some(helm) = helm() else { return };
    let labelled = json!({"kubernetes.io/metadata.name": "shop", "team": "shop", "environment": "test",
        "transom.dev/os": "windows", "transom.dev/linux-guard": "true"});
    for values in [
        "webhook: {matchConditions: notLinux}",
        "webhook: {matchConditions: none}",
        "watchNamespaces: false",
    ] {
        let rendered = helm.with(values).unwrap();
        assert_eq!(
            asked_by(&rendered, &labelled),
            ["mutate.transom.dev", "validate.transom.dev"],
            "{values}"
        );
    }
}

/// An entry that an upgrade takes out stays behind in pieces if somebody else has filled in its caBundle.
#[test]
fn all_values_render_the_same_entries() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        let names: Vec<_> = entries(&rendered)
            .into_iter()
            .map(|entry| entry["name"].as_str().unwrap())
            .collect();
        if case == "everything-off" {
            assert_eq!(names, [""; 0]);
            continue;
        }
        let want = [
            "mutate.transom.dev",
            "mutate-labelled.transom.dev",
            "mutate-guarded.transom.dev",
            "validate.transom.dev",
            "validate-labelled.transom.dev",
        ];
        assert_eq!(names, want, "{case}");
    }
}

/// The conditions of an entry, by name.
fn conditions(entry: &Value) -> Vec<&str> {
    let conditions = entry["matchConditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .map(|condition| condition["name"].as_str().unwrap())
        .collect()
}

#[test]
fn conditions_are_the_chosen_ones_and_those_of_users() {
    let Some(helm) = helm() else { return };
    let users = "mutating: {matchConditions: [{name: mine, expression: 'true'}]}";
    for (mode, ours) in [
        ("evidence", Some(Condition::Evidence.name())),
        ("notLinux", Some(Condition::NotLinux.name())),
        ("none", None),
    ] {
        let values = format!("webhook: {{matchConditions: {mode}, {users}}}");
        let rendered = helm.with(&values).unwrap();
        let mutate: Vec<_> = ours.into_iter().chain(["mine"]).collect();
        assert_eq!(conditions(entry(&rendered, "mutate")), mutate);
        let validate: Vec<_> = ours.into_iter().collect();
        assert_eq!(conditions(entry(&rendered, "validate")), validate);
        for unmarked in ["mutate-labelled", "mutate-guarded"] {
            assert_eq!(conditions(entry(&rendered, unmarked)), ["mine"]);
        }
        assert_eq!(conditions(entry(&rendered, "validate-labelled")), [""; 0]);
    }
}

/// What Helm makes of the values is what the program makes of the configuration that is in the ConfigMap.
#[test]
fn conditions_are_those_of_the_program_for_the_same_configuration() {
    let Some(helm) = helm() else { return };
    let mut seen = BTreeSet::new();
    let odd = "config: {evidence: {images: {certain: {tags: [a.b], repositories: []}, hint: {words: [a-b], tags: []}}}, \
        placement: {tolerations: []}}";
    let nothing = "config: {evidence: {images: {certain: {tags: [], repositories: []}, hint: {words: [], tags: []}}}}";
    let words = |count: usize| {
        let words: Vec<_> = (0..count).map(|i| format!("some-word-{i}")).collect();
        let words = words.join(", ");
        format!("config: {{evidence: {{images: {{hint: {{words: [{words}]}}}}}}}}")
    };
    let (long, longest) = (words(200), words(2_000));
    let more = [odd, nothing, &long, &longest];
    let more = more.map(|values| Arc::new(helm.with(values).unwrap()));
    for rendered in cases().iter().map(|case| helm.ci(case)).chain(more) {
        let config = rendered.configuration()["data"]["config.yaml"].as_str();
        let policy = Policy::parse(config.unwrap()).unwrap();
        for condition in Condition::ALL {
            for entry in entries(&rendered) {
                let conditions = entry["matchConditions"].as_array();
                let mut conditions = conditions.into_iter().flatten();
                if let Some(found) = conditions.find(|c| c["name"] == condition.name()) {
                    assert_eq!(found["expression"], policy.expression(condition));
                    seen.insert(found["expression"].to_string());
                }
            }
        }
    }
    // The default, that of ci/config.yaml, that of ci/not-linux.yaml, and the four above.
    assert_eq!(seen.len(), 7);
}

#[test]
fn entries_say_what_the_api_server_needs() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        let service = rendered.one("Service");
        let ports = service["spec"]["ports"].as_array().unwrap();
        for entry in entries(&rendered) {
            let mutating = entry["name"].as_str().unwrap().starts_with("mutate");
            let reference = &entry["clientConfig"]["service"];
            assert_eq!(reference["name"], service["metadata"]["name"], "{case}");
            assert_eq!(reference["namespace"], service["metadata"]["namespace"]);
            assert_eq!(reference["port"], ports[0]["port"]);
            let path = if mutating { "/mutate" } else { "/validate" };
            assert_eq!(reference["path"], path);
            // Events are effects, but not of dry runs.
            let effects = match case == "everything-on" {
                true => "NoneOnDryRun",
                false => "None",
            };
            assert_eq!(entry["sideEffects"], effects, "{case}");
            assert_eq!(entry["matchPolicy"], "Equivalent");
            assert_eq!(entry["admissionReviewVersions"], json!(["v1"]));
            assert_eq!(entry.get("reinvocationPolicy").is_some(), mutating);
            let policy = if case == "ha" { "Fail" } else { "Ignore" };
            assert_eq!(entry["failurePolicy"], policy, "{case}");
            let seconds = if case == "none" && mutating { 10 } else { 5 };
            assert_eq!(entry["timeoutSeconds"], seconds, "{case}");
        }
    }
}

#[test]
fn only_a_bundle_that_was_given_is_rendered() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        for entry in entries(&rendered) {
            let bundle = &entry["clientConfig"]["caBundle"];
            assert_eq!(bundle.is_null(), case != "existing-secret", "{case}");
        }
    }
    let rendered = helm.ci("existing-secret");
    let bundle = entry(&rendered, "mutate-guarded")["clientConfig"]["caBundle"].as_str();
    assert!(
        bundle
            .unwrap()
            .starts_with("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJ")
    );
}

/// `group/resource` of all rules of an entry.
fn resources(entry: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for rule in entry["rules"].as_array().unwrap() {
        assert_eq!(rule["operations"], json!(["CREATE", "UPDATE"]));
        assert_eq!(rule["apiVersions"], json!(["v1"]));
        assert_eq!(rule["scope"], "Namespaced");
        let group = rule["apiGroups"][0].as_str().unwrap();
        for resource in rule["resources"].as_array().unwrap() {
            all.push(format!("{group}/{}", resource.as_str().unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn all_kinds_with_a_pod_in_them_are_asked_about() {
    let Some(helm) = helm() else { return };
    let want = [
        "/pods",
        "/pods/ephemeralcontainers",
        "/podtemplates",
        "/replicationcontrollers",
        "apps/daemonsets",
        "apps/deployments",
        "apps/replicasets",
        "apps/statefulsets",
        "batch/cronjobs",
        "batch/jobs",
    ];
    for entry in entries(&helm.ci("default")) {
        assert_eq!(resources(entry), want, "{}", entry["name"]);
    }
}

#[test]
fn services_are_asked_about_where_a_rule_looks_at_them() {
    let Some(helm) = helm() else { return };
    let asks = |values: &str, name| {
        let rendered = helm.with(values).unwrap();
        let resources = resources(entry(&rendered, name));
        resources.contains(&"/services".to_owned())
    };
    let services: Vec<_> = rules::all()
        .filter(|rule| rule.code.starts_with("WIN7"))
        .collect();
    assert!(!services.is_empty());
    for rule in services {
        for name in [rule.code, rule.name] {
            let on = format!("config: {{rules: {{{name}: warn}}}}");
            assert!(
                asks(&on, "validate") && asks(&on, "validate-labelled"),
                "{on}"
            );
            assert!(!asks(&on, "mutate"));
        }
    }
    assert!(asks("config: {profile: kep-116}", "validate"));
    assert!(!asks(
        "config: {rules: {WIN701: 'off', WIN101: deny}}",
        "validate"
    ));
    let off = "{WIN701: 'off', external-traffic-policy-local: 'off', WIN703: 'off'}";
    assert!(!asks(
        &format!("config: {{profile: kep-116, rules: {off}}}"),
        "validate"
    ));
}
