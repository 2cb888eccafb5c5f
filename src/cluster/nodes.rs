//! The nodes, watched: their OS, Windows build and taints.
//!
//! A node is written to every few minutes and whenever its health changes, and most of what it says of itself is
//! its status, images above all. Only labels and taints are read, and a node that says the same as before changes
//! nothing. Started by `cluster::join`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{self, Node};
use kube::api::{Api, ApiResource, NotUsed, Object};
use kube::{Client, ResourceExt};
use serde::Deserialize;

use super::watching::{News, Watch};
use crate::facts::{NodeFacts, Taint};
use crate::server::Health;
use crate::webhook::WebhookState;

/// A node without its status.
type Slim = Object<Spec, NotUsed>;

#[derive(Clone, Debug, Deserialize)]
struct Spec {
    #[serde(default)]
    taints: Vec<v1::Taint>,
}

/// Watches forever.
pub(super) async fn keep(
    watch: Watch,
    client: Client,
    webhook: Arc<WebhookState>,
    health: Arc<Health>,
) {
    let take = |news| take(&webhook, news);
    let nodes = Api::all_with(client, &ApiResource::erase::<Node>(&()));
    watch.run::<Slim, _>(nodes, &health, facts, take).await;
}

fn take(webhook: &WebhookState, news: News<NodeFacts>) {
    match news {
        News::All(all) => webhook.learn(|facts| facts.nodes = all.clone().into_iter().collect()),
        News::One(name, node) => {
            if webhook.facts().nodes.get(&name) != Some(&node) {
                webhook.learn(|facts| facts.nodes.insert(name.clone(), node.clone()));
            }
        }
        News::Gone(name) => webhook.learn(|facts| facts.nodes.remove(&name)),
    }
}

fn facts(node: &Slim) -> NodeFacts {
    let labels = node.labels().iter();
    let taints = node.spec.taints.iter().map(|taint| Taint {
        key: taint.key.clone(),
        value: taint.value.clone().unwrap_or_default(),
        effect: taint.effect.clone(),
    });
    NodeFacts::new(
        labels.map(|(key, value)| (key.as_str(), value.as_str())),
        taints,
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::metrics::Metrics;
    use crate::policy::Policy;

    fn read(os: &str, taints: &Value, version: &str) -> NodeFacts {
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "a", "resourceVersion": version, "labels": {
                "kubernetes.io/os": os, "node.kubernetes.io/windows-build": "10.0.20348", "disk": version,
            }},
            "spec": {"podCIDR": "10.0.0.0/24", "taints": taints},
            "status": {"images": [{"names": ["a"], "sizeBytes": 1}], "conditions": [{"lastHeartbeatTime": version}]},
        });
        facts(&serde_json::from_value(node).unwrap())
    }

    #[test]
    fn reads_labels_and_the_taints_that_keep_pods_away() {
        let taints = json!([
            {"key": "os", "value": "windows", "effect": "NoSchedule"},
            {"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
            {"key": "b", "effect": "PreferNoSchedule"},
        ]);
        let node = read("windows", &taints, "1");
        assert_eq!(node.build.as_deref(), Some("10.0.20348"));
        let names: Vec<_> = node.taints.iter().map(|taint| taint.key.as_str()).collect();
        assert_eq!(names, ["a", "os"]);
        let linux = read("linux", &taints, "1");
        assert!(linux.taints.is_empty(), "nobody asks for them");
    }

    /// Nodes are written to all the time.
    #[test]
    fn a_node_that_says_the_same_as_before_changes_nothing() {
        let webhook = WebhookState::new(Policy::default(), Arc::new(Metrics::new()));
        let taints = json!([{"key": "os", "value": "windows", "effect": "NoSchedule"}]);
        let all = [("a".to_owned(), read("windows", &taints, "1"))];
        take(&webhook, News::All(all.into()));
        let before = webhook.facts();
        take(
            &webhook,
            News::One("a".to_owned(), read("windows", &taints, "2")),
        );
        assert!(Arc::ptr_eq(&before, &webhook.facts()));
        take(
            &webhook,
            News::One("a".to_owned(), read("windows", &json!([]), "3")),
        );
        assert!(!Arc::ptr_eq(&before, &webhook.facts()));
        take(&webhook, News::Gone("a".to_owned()));
        assert!(webhook.facts().nodes.is_empty());
    }
}
