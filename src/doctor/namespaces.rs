//! The checks of namespaces: labels, Pod Security, and which of them Transom does not look into.

use std::collections::BTreeMap;

use super::objects::Configuration;
use super::selector::Labels;
use super::snapshot::{Installation, asking, known};
use super::webhooks::labels_of;
use super::{Check, Cluster, Few, Part, Said, Told, Unasked, count, ok, or_ok, warn};
use crate::facts::NamespaceFacts;
use crate::mode::Mode;
use crate::policy::Policy;

pub(super) const NAMESPACE_LABELS: Check = Check {
    name: "namespace-labels",
    looks_at: "labels `transom.dev/*` of namespaces are ones that mean something, and are watched",
    helps: "the key or value that is named; `watchNamespaces` of the chart",
    needs: &[Part::Namespaces],
    run: namespace_labels,
};

pub(super) const POD_SECURITY: Check = Check {
    name: "pod-security",
    looks_at: "no namespace enforces Pod Security at a version before v1.25, which does not know `spec.os`",
    helps: "a later `enforce-version`, or [what such a namespace asks for](coexistence.md#pod-security)",
    needs: &[Part::Namespaces, Part::ConfigMap],
    run: pod_security,
};

pub(super) const MODES: Check = Check {
    name: "modes",
    looks_at: "in how many namespaces Transom enforces, warns, audits, or is off",
    helps: "[rolling out](operations.md#rolling-out)",
    needs: &[
        Part::MutatingWebhooks,
        Part::ValidatingWebhooks,
        Part::Namespaces,
        Part::ConfigMap,
    ],
    run: modes,
};

pub(super) const COVERAGE: Check = Check {
    name: "coverage",
    looks_at: "no Windows pods are in namespaces that Transom does not look into: mode off, or excluded by a selector",
    helps: "the label `transom.dev/mode`, `webhook.*.namespaceSelector`; `exemptions.namespaces` if it is meant so",
    needs: &[
        Part::MutatingWebhooks,
        Part::ValidatingWebhooks,
        Part::Namespaces,
        Part::ConfigMap,
        Part::Pods,
    ],
    run: coverage,
};

fn facts(labels: &Labels) -> NamespaceFacts {
    let labels = labels.iter();
    NamespaceFacts::from_labels(labels.map(|(key, value)| (key.as_str(), value.as_str())))
}

fn namespace_labels(cluster: &Cluster) -> Told {
    let mut flaws = BTreeMap::<String, Vec<&str>>::new();
    let mut labelled = Vec::new();
    for (name, labels) in known(&cluster.namespaces)? {
        let found = labels
            .iter()
            .filter_map(|(k, v)| NamespaceFacts::flaw(k, v));
        for flaw in found {
            flaws.entry(flaw).or_default().push(name);
        }
        if labels.keys().any(|key| key.starts_with("transom.dev/")) {
            labelled.push(name);
        }
    }
    let flaws = flaws.into_iter().map(|(flaw, names)| {
        let remedy = format!(
            "kubectl label --overwrite namespace {} KEY=VALUE, or KEY- to take it away",
            names[0]
        );
        warn(format!("{}: {flaw}", Few(&names)), remedy)
    });
    let mut found: Vec<_> = flaws.collect();
    if !labelled.is_empty() && !cluster.watches("--watch-namespaces") {
        found.push(warn(
            format!(
                "{}: no label transom.dev/* counts but mode=off, since labels are not watched",
                Few(&labelled)
            ),
            "watchNamespaces=true in the chart (--watch-namespaces)",
        ));
    }
    or_ok(found, || match labelled.len() {
        0 => "no namespace has a label of Transom".to_owned(),
        some => format!("those of {} mean something", count(some, "namespace")),
    })
}

fn pod_security(cluster: &Cluster) -> Told {
    let sets = cluster.settings()?.policy.placement.set_pod_os;
    let watches = cluster.watches("--watch-namespaces");
    let mut old = BTreeMap::<&str, Vec<&str>>::new();
    for (name, labels) in known(&cluster.namespaces)? {
        let facts = facts(labels);
        let label = |key: &str| {
            let value = labels.get(&format!("pod-security.kubernetes.io/{key}"));
            value.map(String::as_str)
        };
        if name == "kube-system" || facts.mode == Some(Mode::Off) {
            continue;
        }
        // The other levels ask a Windows pod for nothing that it cannot have. Without a label it is the API server's.
        let is_strict = matches!(label("enforce"), None | Some("restricted"));
        let by_label = facts.set_pod_os.filter(|_| watches);
        if facts.old_pod_security && is_strict && by_label.unwrap_or(sets) {
            let version = label("enforce-version").unwrap_or_default();
            old.entry(version).or_default().push(name);
        }
    }
    let found = old.into_iter().map(|(version, names)| {
        warn(
            format!(
                "{}: Pod Security is enforced at {version}, which does not know spec.os: a Windows pod has to set what is for \
                 Linux alone, or is refused",
                Few(&names)
            ),
            "label it pod-security.kubernetes.io/enforce-version=v1.25 or later; transom.dev/set-pod-os=never says that it is \
             meant so",
        )
    });
    or_ok(found.collect(), || {
        "no namespace enforces a version that does not know spec.os".to_owned()
    })
}

/// Why Transom does not look into a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outside {
    /// It never does, or the configuration exempts it.
    Exempt,
    Off,
    /// No entry of this kind of configuration selects it.
    NotSelected(&'static str),
}

/// How Transom looks into a namespace, or why it does not.
type Standing = Result<Mode, Outside>;

fn standing(
    one: Installation<'_>,
    policy: &Policy,
    watches: bool,
    name: &str,
    labels: &Labels,
) -> Standing {
    let own = one.service().map(|service| service.namespace.as_str());
    if name == "kube-system" || Some(name) == own || policy.exempt_namespaces.contains(name) {
        return Err(Outside::Exempt);
    }
    // Off by label needs no watching: the chart's selectors see it.
    let by_label = facts(labels).mode;
    let by_label = by_label.filter(|mode| watches || *mode == Mode::Off);
    let by_name = || policy.namespaces.get(name).copied();
    let mode = by_label.or_else(by_name).unwrap_or(policy.mode);
    if mode == Mode::Off {
        return Err(Outside::Off);
    }
    let labels = labels_of(name, labels);
    let selects = |side: &Configuration| {
        let mut entries = asking(side);
        entries.any(|entry| entry.namespace_selector.matches(&labels))
    };
    match one.sides().find(|(_, side)| !selects(side)) {
        Some((kind, _)) => Err(Outside::NotSelected(kind)),
        None => Ok(mode),
    }
}

/// Each namespace, and how Transom looks into it.
fn standings(cluster: &Cluster) -> Result<Vec<(&str, Standing)>, Unasked> {
    let one = cluster.the_installation()?;
    let policy = &cluster.settings()?.policy;
    let watches = cluster.watches("--watch-namespaces");
    let all = known(&cluster.namespaces)?.iter();
    Ok(all
        .map(|(name, labels)| {
            let standing = standing(one, policy, watches, name, labels);
            (name.as_str(), standing)
        })
        .collect())
}

/// The namespaces that Transom does not look into although nobody has exempted them, by name.
pub(super) fn uncovered(cluster: &Cluster) -> Vec<&str> {
    let all = standings(cluster).unwrap_or_default().into_iter();
    let outside =
        all.filter(|(_, standing)| matches!(standing, Err(Outside::Off | Outside::NotSelected(_))));
    outside.map(|(name, _)| name).collect()
}

fn modes(cluster: &Cluster) -> Told {
    let mut counts = BTreeMap::<&str, usize>::new();
    for (_, standing) in standings(cluster)? {
        let what = match standing {
            Ok(mode) => mode.name(),
            Err(Outside::Exempt) => "exempt",
            Err(Outside::Off) => "off",
            Err(Outside::NotSelected(_)) => "not selected",
        };
        *counts.entry(what).or_default() += 1;
    }
    let told = ["enforce", "warn", "audit", "off", "not selected", "exempt"];
    let told = told.into_iter().filter_map(|what| {
        let number = counts.get(what)?;
        Some(format!("{what} {number}"))
    });
    let told: Vec<_> = told.collect();
    Ok(vec![ok(format!("namespaces: {}", told.join(", ")))])
}

fn coverage(cluster: &Cluster) -> Told {
    let standings = standings(cluster)?;
    let pods = known(&cluster.windows_pods)?;
    let told = |name: &str, outside: Outside| -> Option<Said> {
        let number = pods.get(name).copied().filter(|number| *number > 0)?;
        let pods = count(number, "Windows pod");
        match outside {
            Outside::Exempt => None,
            Outside::Off => Some(warn(
                format!("{name} is in mode off and has {pods}: Transom does not look at them"),
                format!(
                    "transom scan -n {name}, then the modes warn and enforce; exemptions.namespaces if it is to stay so"
                ),
            )),
            Outside::NotSelected(kind) => Some(warn(
                format!(
                    "{name} has {pods}, and no entry of the {kind} selects it: Transom does not look at them"
                ),
                "webhook.*.namespaceSelector of the chart, or the labels of the namespace; exemptions.namespaces if it is to \
                 stay so",
            )),
        }
    };
    let found = standings
        .iter()
        .filter_map(|(name, standing)| told(name, standing.err()?));
    or_ok(found.collect(), || {
        "no Windows pod is in a namespace that Transom does not look into".to_owned()
    })
}
