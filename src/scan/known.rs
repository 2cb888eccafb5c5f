//! What the cluster knows beside the objects themselves: pages of lists → facts.
//!
//! Not here: what follows from a fact (`os`, `rules`, `admit`).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::page::{Page, Unreadable};
use crate::facts::{Facts, NamespaceFacts, NodeFacts, RuntimeClassFacts, Taint};
use crate::misplaced::{Host, Hosts};

/// A kind that facts are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// `v1` Namespace: its labels.
    Namespace,
    /// `node.k8s.io` RuntimeClass: what its pods are scheduled to.
    RuntimeClass,
    /// `v1` Node: its labels and taints.
    Node,
}

impl Known {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Namespace, Self::RuntimeClass, Self::Node];

    /// As Kubernetes writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespace => "Namespace",
            Self::RuntimeClass => "RuntimeClass",
            Self::Node => "Node",
        }
    }

    /// What is not known where this cannot be read.
    #[must_use]
    pub fn loss(self) -> &'static str {
        match self {
            Self::Namespace => "labels of namespaces do not count: mode, operating system, guard",
            Self::RuntimeClass => "a runtimeClassName is no evidence of Windows",
            Self::Node => {
                "that a pod is on a Windows or Linux node is no evidence, their taints are not tolerated, and misplaced pods are not found"
            }
        }
    }
}

/// The facts, as far as they were read.
#[derive(Default)]
pub struct Knowledge {
    facts: Facts,
    /// What they have in common is worked out when all are there.
    nodes: Vec<(String, NodeFacts)>,
    hosts: Hosts,
}

impl Knowledge {
    /// Adds what a page says.
    ///
    /// # Errors
    /// An object of it cannot be read.
    pub fn add(&mut self, kind: Known, page: &Page<'_>) -> Result<(), Unreadable> {
        let mut items = page.items();
        items.try_for_each(|item| self.add_object(kind, item.get()))
    }

    /// Adds what one object says.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn add_object(&mut self, kind: Known, object: &str) -> Result<(), Unreadable> {
        let Object {
            metadata,
            handler,
            scheduling,
            spec,
        } = serde_json::from_str(object)?;
        let name = metadata.name;
        let labels = || {
            let labels = metadata.labels.iter();
            labels.map(|(key, value)| (&**key, &**value))
        };
        match kind {
            Known::Namespace => {
                let known = NamespaceFacts::from_labels(labels());
                self.facts.namespaces.insert(name, known);
            }
            Known::RuntimeClass => {
                let node_selector = scheduling.unwrap_or_default().node_selector;
                let known = RuntimeClassFacts::new(&handler, node_selector);
                self.facts.runtime_classes.insert(name, known);
            }
            Known::Node => {
                let taints = spec.unwrap_or_default().taints.into_iter();
                let taints: Vec<_> = taints
                    .map(|WrittenTaint { key, value, effect }| Taint { key, value, effect })
                    .collect();
                let facts = NodeFacts::new(labels(), taints.iter().cloned());
                let labels = labels().map(|(key, value)| (key.to_owned(), value.to_owned()));
                let labels = labels.collect();
                self.hosts.insert(name.clone(), Host { labels, taints });
                self.nodes.push((name, facts));
            }
        }
        Ok(())
    }

    /// All of it.
    #[must_use]
    pub fn into_facts(self) -> (Facts, Hosts) {
        let facts = Facts {
            nodes: self.nodes.into_iter().collect(),
            ..self.facts
        };
        (facts, self.hosts)
    }
}

#[derive(Deserialize)]
struct Object<'p> {
    #[serde(borrow)]
    metadata: Meta<'p>,
    /// Of a RuntimeClass.
    #[serde(borrow, default)]
    handler: Cow<'p, str>,
    #[serde(default)]
    scheduling: Option<Scheduling>,
    #[serde(default)]
    spec: Option<NodeSpec>,
}

#[derive(Deserialize)]
struct Meta<'p> {
    name: String,
    #[serde(borrow, default)]
    labels: HashMap<Cow<'p, str>, Cow<'p, str>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scheduling {
    #[serde(default)]
    node_selector: BTreeMap<String, String>,
}

/// That of a namespace has nothing of it.
#[derive(Default, Deserialize)]
struct NodeSpec {
    #[serde(default)]
    taints: Vec<WrittenTaint>,
}

#[derive(Deserialize)]
struct WrittenTaint {
    key: String,
    #[serde(default)]
    value: String,
    effect: String,
}
