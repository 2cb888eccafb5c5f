//! What the cluster knows beside the objects themselves: pages of lists → facts.
//!
//! Not here: what follows from a fact (`os`, `rules`, `admit`).

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use super::page::{Page, Unreadable};
use crate::facts::{Facts, NamespaceFacts, NodeFacts, RuntimeClassFacts};
use crate::os::{BUILD_LABEL, OS_LABEL, Os};

/// A kind that facts are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// `v1` Namespace: its labels.
    Namespace,
    /// `node.k8s.io` RuntimeClass: what its pods are scheduled to.
    RuntimeClass,
    /// `v1` Node: its labels.
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
            Self::Node => "that a pod is on a Windows or Linux node is no evidence",
        }
    }

    /// Adds what a page says.
    ///
    /// # Errors
    /// An object of it cannot be read.
    pub fn add(self, page: &Page<'_>, facts: &mut Facts) -> Result<(), Unreadable> {
        let mut items = page.items();
        items.try_for_each(|item| self.add_object(item.get(), facts))
    }

    /// Adds what one object says.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn add_object(self, object: &str, facts: &mut Facts) -> Result<(), Unreadable> {
        let Object {
            metadata,
            scheduling,
        } = serde_json::from_str(object)?;
        let (name, labels) = (metadata.name.into_owned(), metadata.labels);
        match self {
            Self::Namespace => {
                let labels = labels.iter().map(|(key, value)| (&**key, &**value));
                let known = NamespaceFacts::from_labels(labels);
                facts.namespaces.insert(name, known);
            }
            Self::RuntimeClass => {
                let selector = scheduling.map(|scheduling| scheduling.node_selector);
                let os = selector.as_ref().and_then(os);
                facts.runtime_classes.insert(name, RuntimeClassFacts { os });
            }
            Self::Node => {
                let build = labels.get(BUILD_LABEL).map(|build| build.to_string());
                let os = os(&labels);
                facts.nodes.insert(name, NodeFacts { os, build });
            }
        }
        Ok(())
    }
}

type Labels<'p> = HashMap<Cow<'p, str>, Cow<'p, str>>;

fn os(labels: &Labels<'_>) -> Option<Os> {
    Os::parse(labels.get(OS_LABEL)?)
}

#[derive(Deserialize)]
struct Object<'p> {
    #[serde(borrow)]
    metadata: Meta<'p>,
    #[serde(borrow, default)]
    scheduling: Option<Scheduling<'p>>,
}

#[derive(Deserialize)]
struct Meta<'p> {
    #[serde(borrow)]
    name: Cow<'p, str>,
    #[serde(borrow, default)]
    labels: Labels<'p>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scheduling<'p> {
    #[serde(borrow, default)]
    node_selector: Labels<'p>,
}
