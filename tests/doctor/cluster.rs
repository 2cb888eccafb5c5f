//! What is changed in the sound cluster around the installation, and what is said then.

use serde_json::json;

use crate::installation::*;
use crate::sound::*;

/// In nodes, namespaces and policies.
pub(crate) const OF_THE_CLUSTER: &[Change] = &[
    (
        "no Windows node",
        |c| c.nodes.as_mut().unwrap().truncate(1),
        &["warn windows-nodes", "warn runtime-classes"],
    ),
    (
        "a taint that nothing tolerates",
        |c| {
            taint(
                c,
                &json!([{"key": "team", "value": "shop", "effect": "NoSchedule"}]),
            );
        },
        &["fail tolerations"],
    ),
    (
        "a taint that is tolerated",
        |c| {
            taint(
                c,
                &json!([{"key": "team", "value": "shop", "effect": "NoSchedule"}]),
            );
            configure(
                c,
                "placement: {tolerations: [{key: team, operator: Exists}]}",
            );
            entries(c).for_each(|e| e.match_conditions.clear());
        },
        &[],
    ),
    (
        "a taint that is learnt",
        |c| {
            taint(
                c,
                &json!([{"key": "os", "value": "windows", "effect": "NoSchedule"}]),
            );
            configure(c, "placement: {learnTaints: true}");
        },
        &[],
    ),
    (
        "a taint that would be learnt, were nodes watched",
        |c| {
            taint(
                c,
                &json!([{"key": "os", "value": "windows", "effect": "NoSchedule"}]),
            );
            configure(c, "placement: {learnTaints: true}");
            c.deployments.as_mut().unwrap()[0]
                .spec
                .template
                .spec
                .containers[0]
                .args
                .pop();
        },
        &["fail tolerations"],
    ),
    (
        "a taint that is learnt by its key",
        |c| {
            taint(
                c,
                &json!([{"key": "team", "value": "shop", "effect": "NoSchedule"}]),
            );
            configure(c, "placement: {learnTaints: true, learnTaintKeys: [team]}");
        },
        &[],
    ),
    (
        "a taint of one node",
        |c| {
            windows_1(c)
                .spec
                .taints
                .push(of(json!({"key": "gpu", "effect": "NoExecute"})));
        },
        &["warn tolerations"],
    ),
    (
        "a taint of one node that passes",
        |c| {
            windows_1(c).spec.taints.push(of(
                json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}),
            ));
        },
        &[],
    ),
    (
        "a taint that is tolerated for another build",
        |c| {
            configure(
                c,
                "placement: {tolerations: [{key: os, value: Win1809, builds: [10.0.17763]}]}",
            );
        },
        &["fail tolerations"],
    ),
    (
        "no taint",
        |c| windows_1(c).spec.taints.clear(),
        &["warn untainted-nodes"],
    ),
    (
        "no taint, and a guard",
        |c| {
            windows_1(c).spec.taints.clear();
            configure(c, "linuxGuard: true");
        },
        &["warn untainted-nodes"],
    ),
    (
        "no taint, a guard, and all is asked about",
        |c| {
            windows_1(c).spec.taints.clear();
            configure(c, "linuxGuard: true");
            entries(c).for_each(|e| e.match_conditions.clear());
        },
        &[],
    ),
    (
        "no reserved memory",
        |c| memory(c, "16Gi"),
        &["warn reserved-memory"],
    ),
    (
        "the kubelet's default",
        |c| memory(c, "15884Mi"),
        &["warn reserved-memory"],
    ),
    (
        "a little more than the default",
        |c| memory(c, "15883Mi"),
        &[],
    ),
    ("a node that tells nothing yet", |c| memory(c, ""), &[]),
    (
        "a RuntimeClass of a build that is gone",
        |c| {
            let selector = &mut c.runtime_classes.as_mut().unwrap()[1]
                .scheduling
                .node_selector;
            selector.insert(
                "node.kubernetes.io/windows-build".to_owned(),
                "10.0.17763".to_owned(),
            );
        },
        &["warn runtime-classes"],
    ),
    (
        "a Linux DaemonSet that tolerates every taint",
        |c| {
            let set = json!({
                "metadata": {"namespace": "monitoring", "name": "ne"},
                "spec": {"template": {"spec": {
                    "hostNetwork": true, "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "main", "image": "quay.io/prometheus/node-exporter:v1.10.2"}],
                }}},
            });
            let mut search = c.misplaced_search().unwrap();
            search.daemon_set(&set.to_string());
            c.misplaced = Ok(search.finish().collect());
        },
        &["warn misplaced-pods"],
    ),
    (
        "more misplaced pods than are named",
        |c| {
            let mut search = c.misplaced_search().unwrap();
            for i in 0..12 {
                let pod = json!({
                    "metadata": {"namespace": "shop", "name": format!("web-{i:02}")},
                    "spec": {
                        "nodeName": "linux-1",
                        "containers": [{"name": "main", "image": "mcr.microsoft.com/windows/servercore:ltsc2022"}],
                    },
                });
                assert!(search.pod(&pod.to_string()));
            }
            c.misplaced = Ok(search.finish().collect());
        },
        &["warn misplaced-pods"; 11],
    ),
    (
        "a label that does not exist",
        |c| label(c, "shop", "transom.dev/mdoe", "warn"),
        &["warn namespace-labels"],
    ),
    (
        "a value that does not exist",
        |c| label(c, "shop", "transom.dev/mode", "Enforce"),
        &["warn namespace-labels"],
    ),
    (
        "labels that nobody watches",
        |c| {
            c.deployments.as_mut().unwrap()[0]
                .spec
                .template
                .spec
                .containers[0]
                .args
                .remove(2);
        },
        &["warn namespace-labels"],
    ),
    (
        "an old version of Pod Security",
        |c| {
            label(
                c,
                "safe",
                "pod-security.kubernetes.io/enforce-version",
                "v1.24",
            );
        },
        &["warn pod-security"],
    ),
    (
        "an old version of Pod Security, of a level that asks for less",
        |c| {
            label(
                c,
                "safe",
                "pod-security.kubernetes.io/enforce-version",
                "v1.24",
            );
            label(c, "safe", "pod-security.kubernetes.io/enforce", "baseline");
        },
        &[],
    ),
    (
        "an old version of Pod Security, and no spec.os",
        |c| {
            label(
                c,
                "safe",
                "pod-security.kubernetes.io/enforce-version",
                "v1.24",
            );
            label(c, "safe", "transom.dev/set-pod-os", "never");
        },
        &[],
    ),
    (
        "an old version of Pod Security, and never any spec.os",
        |c| {
            label(
                c,
                "safe",
                "pod-security.kubernetes.io/enforce-version",
                "v1.24",
            );
            configure(c, "placement: {setPodOS: never}");
        },
        &["warn openshift"],
    ),
    (
        "another Kubernetes than OpenShift, and never any spec.os",
        |c| {
            c.groups = Ok(["apps", "config.openshift.example"]
                .map(str::to_owned)
                .into());
            configure(c, "placement: {setPodOS: never}");
        },
        &[],
    ),
    (
        "OpenShift, and fields stay",
        |c| configure(c, "placement: {repair: false}"),
        &["warn openshift"],
    ),
    (
        "OpenShift, and a rule for a field of SCC is off",
        |c| configure(c, "rules: {WIN106: \"off\", WIN202: \"off\"}"),
        &["warn openshift"],
    ),
    (
        "Kyverno with a fixed version",
        |c| {
            policy(
                c,
                &json!({"podSecurity": {"level": "restricted", "version": "v1.29"}}),
                "Enforce",
            );
        },
        &["warn kyverno"],
    ),
    (
        "Kyverno for something else than pods",
        |c| policy_for(c, "NetworkPolicy"),
        &[],
    ),
    (
        "Kyverno for Deployments",
        |c| policy_for(c, "apps/v1/Deployment"),
        &["warn kyverno"],
    ),
    (
        "Kyverno with a pattern",
        |c| {
            policy(
                c,
                &json!({"pattern": {"spec": {"containers": [{"securityContext": {"allowPrivilegeEscalation": "false"}}]}}}),
                "enforce",
            );
        },
        &["warn kyverno"],
    ),
    (
        "Kyverno with a condition",
        |c| {
            let deny = json!({"conditions": {"all": [{"key": "ALL", "operator": "AnyNotIn",
            "value": "{{ element.securityContext.capabilities.drop[] || `[]` }}"}]}});
            policy(
                c,
                &json!({"foreach": [{"deny": deny}], "failureAction": "Enforce"}),
                "Audit",
            );
        },
        &["warn kyverno"],
    ),
    (
        "Kyverno that only audits",
        |c| {
            policy(
                c,
                &json!({"podSecurity": {"level": "restricted", "version": "v1.29"}}),
                "Audit",
            );
        },
        &[],
    ),
    (
        "Kyverno with anchors",
        |c| {
            policy(
                c,
                &json!({"pattern": {"spec": {"=(securityContext)": {"=(seccompProfile)": {"=(type)": "RuntimeDefault"}}}}}),
                "Enforce",
            );
        },
        &[],
    ),
    (
        "Kyverno that knows Windows",
        |c| {
            let conditions = json!([{"key": "{{ request.object.spec.os.name || 'linux' }}", "operator": "NotEquals", "value": "windows"}]);
            let mut with = kyverno(
                &json!({"pattern": {"spec": {"securityContext": {"seccompProfile": {"type": "?*"}}}}}),
                "Enforce",
            );
            with["spec"]["rules"][0]["preconditions"] = conditions;
            c.kyverno = Ok(of(json!([with])));
        },
        &[],
    ),
    (
        "Kyverno, and never any spec.os",
        |c| {
            policy(
                c,
                &json!({"podSecurity": {"level": "restricted", "version": "v1.29"}}),
                "Enforce",
            );
            configure(c, "placement: {setPodOS: never}");
        },
        &["warn openshift"],
    ),
    (
        "Windows pods where the mode is off",
        |c| {
            label(c, "old", "transom.dev/mode", "off");
            c.windows_pods.as_mut().unwrap().insert("old".to_owned(), 3);
        },
        &["warn coverage"],
    ),
    (
        "Windows pods that no selector lets in",
        |c| {
            for entry in entries(c) {
                entry
                    .namespace_selector
                    .match_labels
                    .insert("windows".to_owned(), "true".to_owned());
            }
            c.windows_pods
                .as_mut()
                .unwrap()
                .insert("shop".to_owned(), 1);
        },
        &["warn coverage"],
    ),
    (
        "Windows pods that are exempt",
        |c| {
            configure(c, "exemptions: {namespaces: [kube-system, shop]}");
            c.windows_pods
                .as_mut()
                .unwrap()
                .insert("shop".to_owned(), 1);
        },
        &[],
    ),
];
