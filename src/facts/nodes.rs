//! The nodes of a cluster, and what all of its Windows nodes have in common.
//!
//! What they have in common is worked out when a node changes, so that a review only looks at it. Not here: what
//! is made of it (`placement`, `rules`), and where nodes come from (`cluster`).

use std::collections::{BTreeSet, HashMap};

use crate::os::{BUILD_LABEL, OS_LABEL, Os};
use crate::placement::Toleration;

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// From the label `kubernetes.io/os`.
    pub os: Option<Os>,
    /// From the label `node.kubernetes.io/windows-build`, such as `10.0.17763`.
    pub build: Option<String>,
    /// Of a Windows node, those that keep pods away.
    pub taints: BTreeSet<Taint>,
}

/// A taint that keeps pods away from a node: one with the effect NoSchedule or NoExecute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    /// A label key.
    pub key: String,
    /// A label value; empty if there is none.
    pub value: String,
    /// `NoSchedule` or `NoExecute`.
    pub effect: String,
}

impl NodeFacts {
    /// Reads the labels and taints of a node.
    pub fn new<'l>(
        labels: impl IntoIterator<Item = (&'l str, &'l str)>,
        taints: impl IntoIterator<Item = Taint>,
    ) -> Self {
        let mut facts = Self::default();
        for (key, value) in labels {
            match key {
                OS_LABEL => facts.os = Os::parse(value),
                BUILD_LABEL => facts.build = Some(value.to_owned()),
                _ => {}
            }
        }
        if facts.is_windows() {
            let keeps_away = |taint: &Taint| ["NoSchedule", "NoExecute"].contains(&&*taint.effect);
            facts.taints = taints.into_iter().filter(keeps_away).collect();
        }
        facts
    }

    fn is_windows(&self) -> bool {
        self.os == Some(Os::Windows)
    }
}

/// All nodes that are known.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    by_name: HashMap<String, NodeFacts>,
    builds: Vec<String>,
    shared: Vec<Toleration>,
}

impl Nodes {
    /// What is known of a node.
    pub fn get(&self, name: &str) -> Option<&NodeFacts> {
        self.by_name.get(name)
    }

    /// Whether no node is known.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// How many nodes are known.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// A new node, or what a node has become.
    pub fn insert(&mut self, name: String, node: NodeFacts) {
        self.by_name.insert(name, node);
        self.sum_up();
    }

    /// A node that is gone.
    pub fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
        self.sum_up();
    }

    /// The builds of the Windows nodes, each once; none where one of them is not known.
    pub(crate) fn builds(&self) -> &[String] {
        &self.builds
    }

    /// Tolerations of the taints that all Windows nodes share; none where no Windows node is known.
    pub(crate) fn shared(&self) -> &[Toleration] {
        &self.shared
    }

    fn sum_up(&mut self) {
        let mut windows = self.by_name.values().filter(|node| node.is_windows());
        let builds: Option<BTreeSet<_>> = windows.clone().map(|node| node.build.clone()).collect();
        self.builds = builds.into_iter().flatten().collect();
        let first = windows.next().map(|node| &node.taints);
        let is_shared = |taint: &&Taint| windows.clone().all(|node| node.taints.contains(*taint));
        let shared = first.into_iter().flatten().filter(is_shared);
        self.shared = shared.map(Toleration::of_taint).collect();
    }
}

impl FromIterator<(String, NodeFacts)> for Nodes {
    fn from_iter<I: IntoIterator<Item = (String, NodeFacts)>>(nodes: I) -> Self {
        let mut all = Self {
            by_name: nodes.into_iter().collect(),
            ..Self::default()
        };
        all.sum_up();
        all
    }
}
