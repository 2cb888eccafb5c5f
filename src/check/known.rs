//! What manifests say of the cluster: Namespaces and RuntimeClasses of the input → facts.
//!
//! Not here: what follows from a fact (`os`, `admit`), and the cluster's own objects (`scan::known`).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use super::creation::short;
use super::report::FileReport;
use crate::facts::{Facts, NamespaceFacts, RuntimeClassFacts};
use crate::field::Step;
use crate::yaml::{Node, Value};

/// A kind that facts are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Namespace,
    RuntimeClass,
}

/// What the manifests of one file say of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    namespaces: Vec<(String, NamespaceFacts)>,
    runtime_classes: Vec<(String, RuntimeClassFacts)>,
}

impl Known {
    /// The kind by its names in manifests.
    pub(super) fn find(group: &str, kind: &str) -> Option<Self> {
        match (group, kind) {
            ("", "Namespace") => Some(Self::Namespace),
            ("node.k8s.io", "RuntimeClass") => Some(Self::RuntimeClass),
            _ => None,
        }
    }
}

impl Said {
    pub(super) fn add(&mut self, known: Known, node: &Node) {
        /// As many labels of one object are read.
        const MOST: usize = 100;
        let path = |names: &[&'static str]| {
            names
                .iter()
                .map(|name| Step::Name(name))
                .collect::<Vec<_>>()
        };
        let text = |names: &[&'static str]| {
            let located = node.locate(path(names));
            let scalar = located.node.scalar().filter(|_| located.complete);
            scalar.map(|scalar| scalar.text.as_str())
        };
        let texts = |names: &[&'static str]| {
            let located = node.locate(path(names));
            let map = match &located.node.value {
                Value::Map(map) if located.complete => map.as_slice(),
                _ => &[],
            };
            let texts = map.iter().take(MOST);
            texts.filter_map(|(key, node)| Some((key.text.as_str(), node.scalar()?.text.as_str())))
        };
        let Some(name) = text(&["metadata", "name"]).map(short) else {
            return;
        };
        match known {
            Known::Namespace => {
                let facts = NamespaceFacts::from_labels(texts(&["metadata", "labels"]));
                self.namespaces.push((name, facts));
            }
            Known::RuntimeClass => {
                let selector = texts(&["scheduling", "nodeSelector"]);
                let selector: BTreeMap<_, _> = selector
                    .map(|(key, value)| (short(key), short(value)))
                    .collect();
                let handler = text(&["handler"]).unwrap_or_default();
                let facts = RuntimeClassFacts::new(handler, selector);
                self.runtime_classes.push((name, facts));
            }
        }
    }
}

/// The facts that all files agree on. What manifests of the same name say differently, such as those of
/// two clusters in one repository, is not used.
pub fn facts<'r>(reports: impl IntoIterator<Item = &'r FileReport>) -> Facts {
    let mut facts = Facts::default();
    let mut differing = (HashSet::new(), HashSet::new());
    for Said {
        namespaces,
        runtime_classes,
    } in reports.into_iter().map(|report| &report.said)
    {
        agree(namespaces, &mut facts.namespaces, &mut differing.0);
        agree(
            runtime_classes,
            &mut facts.runtime_classes,
            &mut differing.1,
        );
    }
    facts
        .namespaces
        .retain(|name, said| !differing.0.contains(name) && *said != NamespaceFacts::default());
    facts
        .runtime_classes
        .retain(|name, said| !differing.1.contains(name) && *said != RuntimeClassFacts::default());
    facts
}

fn agree<T: Clone + PartialEq>(
    said: &[(String, T)],
    facts: &mut HashMap<String, T>,
    differing: &mut HashSet<String>,
) where
    String: Hash,
{
    for (name, said) in said {
        let known = facts.entry(name.clone()).or_insert_with(|| said.clone());
        if known != said {
            differing.insert(name.clone());
        }
    }
}

impl FileReport {
    /// Whether an object of the file names one of these.
    pub fn refers_to(&self, facts: &Facts) -> bool {
        self.subjects.iter().any(|subject| {
            let class = subject.refers.runtime_class.as_ref();
            facts.namespaces.contains_key(&subject.refers.namespace)
                || class.is_some_and(|class| facts.runtime_classes.contains_key(class))
        })
    }
}
