//! A node, and whether the DaemonSet controller places pods on it.
//!
//! Follows `nodeShouldRunDaemonPod` of Kubernetes' DaemonSet controller: node name, node selector,
//! required node affinity, taints. <https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/controller/daemon/daemon_controller.go>

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::facts::Taint;
use crate::os::{OS_LABEL, Os};

/// The nodes of a cluster, by name.
pub type Hosts = BTreeMap<String, Host>;

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// By key.
    pub labels: BTreeMap<String, String>,
    /// Of every effect.
    pub taints: Vec<Taint>,
}

/// What of a pod's spec decides about its node.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Placement {
    pub(super) node_name: Option<String>,
    pub(super) node_selector: Option<BTreeMap<String, String>>,
    pub(super) affinity: Option<Affinity>,
    pub(super) tolerations: Option<Vec<Toleration>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Affinity {
    node_affinity: Option<NodeAffinity>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeAffinity {
    required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeSelector {
    node_selector_terms: Vec<Term>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Term {
    match_expressions: Vec<Requirement>,
    match_fields: Vec<Requirement>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Requirement {
    key: String,
    operator: String,
    values: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Toleration {
    key: String,
    operator: String,
    value: String,
    effect: String,
}

impl Host {
    /// By the label that every kubelet sets.
    pub(super) fn os(&self) -> Option<Os> {
        self.labels.get(OS_LABEL).and_then(|os| Os::parse(os))
    }

    /// Whether the DaemonSet controller places a pod on this node.
    pub(super) fn takes(&self, name: &str, pod: &Placement) -> bool {
        let own_name = pod.node_name.as_deref().filter(|name| !name.is_empty());
        let mut selector = pod.node_selector.iter().flatten();
        own_name.is_none_or(|own| own == name)
            && selector.all(|(key, value)| self.labels.get(key) == Some(value))
            && pod
                .required()
                .is_none_or(|terms| terms.iter().any(|term| self.matches(name, term)))
            && self.taints.iter().all(|taint| pod.tolerates(taint))
    }

    /// A term without requirements matches nothing.
    fn matches(&self, name: &str, term: &Term) -> bool {
        let fields = &term.match_fields;
        let is_empty = fields.is_empty() && term.match_expressions.is_empty();
        !is_empty
            && fields.iter().all(|field| {
                let value = (field.key == "metadata.name").then_some(name);
                field.holds(value)
            })
            && term.match_expressions.iter().all(|expression| {
                let value = self.labels.get(&expression.key);
                expression.holds(value.map(String::as_str))
            })
    }
}

impl Placement {
    fn required(&self) -> Option<&[Term]> {
        let affinity = self.affinity.as_ref()?.node_affinity.as_ref()?;
        let required = &affinity.required_during_scheduling_ignored_during_execution;
        Some(&required.as_ref()?.node_selector_terms)
    }

    /// Whether nothing but the DaemonSet controller, which names a node in `matchFields`, limits
    /// the nodes.
    pub(super) fn selects_nothing(&self) -> bool {
        let mut terms = self.required().unwrap_or_default().iter();
        self.node_selector.as_ref().is_none_or(BTreeMap::is_empty)
            && terms.all(|term| term.match_expressions.is_empty())
    }

    /// Whether the node selector names this operating system.
    pub(super) fn selects(&self, os: Os) -> bool {
        let selector = self.node_selector.as_ref();
        selector.is_some_and(|labels| labels.get(OS_LABEL).is_some_and(|own| own == os.name()))
    }

    /// Whether any taint is tolerated.
    pub(super) fn tolerates_everything(&self) -> bool {
        let any = Taint {
            key: "any".to_owned(),
            value: String::new(),
            effect: "NoSchedule".to_owned(),
        };
        let mut tolerations = self.tolerations.iter().flatten();
        tolerations.any(|own| own.key.is_empty() && own.covers(&any))
    }

    fn tolerates(&self, taint: &Taint) -> bool {
        /// Tolerations that the controller adds to every pod.
        const ADDED: [&str; 7] = [
            "not-ready",
            "unreachable",
            "disk-pressure",
            "memory-pressure",
            "pid-pressure",
            "unschedulable",
            "network-unavailable",
        ];
        let condition = taint.key.strip_prefix("node.kubernetes.io/");
        !["NoSchedule", "NoExecute"].contains(&taint.effect.as_str())
            || condition.is_some_and(|condition| ADDED.contains(&condition))
            || self
                .tolerations
                .iter()
                .flatten()
                .any(|own| own.covers(taint))
    }
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_listed = value.is_some_and(|value| self.values.iter().any(|own| own == value));
        let numbers = || {
            Some((
                value?.parse::<i64>().ok()?,
                self.values.first()?.parse().ok()?,
            ))
        };
        match self.operator.as_str() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => numbers().is_some_and(|(value, limit)| value > limit),
            "Lt" => numbers().is_some_and(|(value, limit)| value < limit),
            _ => false,
        }
    }
}

impl Toleration {
    fn covers(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match self.operator.as_str() {
                "Exists" => true,
                "Equal" | "" => self.value == taint.value,
                _ => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn host() -> Host {
        let labels = [(OS_LABEL, "windows"), ("cores", "8"), ("disk", "ssd")];
        Host {
            labels: labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            taints: vec![
                taint("os", "windows", "NoSchedule"),
                taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),
                taint("quiet", "", "PreferNoSchedule"),
            ],
        }
    }

    fn taint(key: &str, value: &str, effect: &str) -> Taint {
        let [key, value, effect] = [key, value, effect].map(str::to_owned);
        Taint { key, value, effect }
    }

    fn takes(pod: Value) -> bool {
        let pod: Placement = serde_json::from_value(pod).unwrap();
        host().takes("win1", &pod)
    }

    fn affinity(term: &Value) -> bool {
        takes(json!({
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{"matchExpressions": [{"key": "no", "operator": "Exists"}]}, term]}}},
        }))
    }

    #[test]
    fn places_pods_that_tolerate_the_taints() {
        for (tolerations, expected) in [
            (json!(null), false),
            (json!([{"operator": "Exists"}]), true),
            (
                json!([{"operator": "Exists", "effect": "NoSchedule"}]),
                true,
            ),
            (
                json!([{"operator": "Exists", "effect": "NoExecute"}]),
                false,
            ),
            (json!([{"key": "os", "operator": "Exists"}]), true),
            (json!([{"key": "os", "value": "windows"}]), true),
            (
                json!([{"key": "os", "operator": "Equal", "value": "linux"}]),
                false,
            ),
            (json!([{"key": "team", "operator": "Exists"}]), false),
            (
                json!([{"key": "os", "operator": "Gt", "value": "1"}]),
                false,
            ),
        ] {
            assert_eq!(
                takes(json!({"tolerations": tolerations})),
                expected,
                "{tolerations}"
            );
        }
    }

    #[test]
    fn places_pods_that_select_the_node() {
        let all = json!([{"operator": "Exists"}]);
        for (selector, expected) in [
            (json!({"disk": "ssd"}), true),
            (json!({"disk": "hdd"}), false),
            (json!({"kubernetes.io/os": "linux"}), false),
        ] {
            let pod = json!({"tolerations": all, "nodeSelector": selector});
            assert_eq!(takes(pod), expected, "{selector}");
        }
        assert!(takes(json!({"tolerations": all, "nodeName": "win1"})));
        assert!(!takes(json!({"tolerations": all, "nodeName": "win2"})));
    }

    #[test]
    fn evaluates_every_operator_of_required_affinity() {
        for (key, operator, values, expected) in [
            ("disk", "In", json!(["hdd", "ssd"]), true),
            ("disk", "In", json!(["hdd"]), false),
            ("disk", "NotIn", json!(["ssd"]), false),
            ("gpu", "NotIn", json!(["yes"]), true),
            ("disk", "Exists", json!([]), true),
            ("gpu", "Exists", json!([]), false),
            ("gpu", "DoesNotExist", json!([]), true),
            ("disk", "DoesNotExist", json!([]), false),
            ("cores", "Gt", json!(["4"]), true),
            ("cores", "Gt", json!(["8"]), false),
            ("cores", "Lt", json!(["16"]), true),
            ("disk", "Lt", json!(["16"]), false),
            ("disk", "Like", json!(["ssd"]), false),
        ] {
            let term =
                json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
            assert_eq!(affinity(&term), expected, "{key} {operator} {values}");
        }
        let field = |name: &str| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]});
        assert!(affinity(&field("win1")) && !affinity(&field("win2")));
        assert!(!affinity(&json!({})), "an empty term matches nothing");
    }
}
