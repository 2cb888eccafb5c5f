//! Pods on nodes of an operating system that they are not for, and DaemonSets that run pods there.
//!
//! ```text
//! host   a node, and whether the DaemonSet controller places pods on it
//! live   what is read of pods and DaemonSets beside the evidence
//! ```
//!
//! Objects come one by one and are not kept. `scan` and `doctor` use it. Not here: which operating
//! system a pod is for (`os`), and reading a cluster (`cluster::list`).

mod host;
mod live;

use std::collections::{BTreeMap, BTreeSet};

use crate::check::creation::Creation;
use crate::facts::{Facts, Nodes};
use crate::few::Few;
use crate::os::{self, OS_LABEL, Os};
use crate::policy::Policy;
use crate::review;
use crate::workload::{Kind, Pod};
use live::{DaemonSet, LivePod, Spec};

pub use host::{Host, Hosts};

/// What places pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workload {
    /// Of the object.
    pub namespace: String,
    /// Of the object; `Pod` if nothing controls it.
    pub kind: String,
    /// Of the object.
    pub name: String,
}

/// A workload with pods on nodes of the wrong operating system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// What has to be changed.
    pub workload: Workload,
    /// The operating system that its images are for.
    pub image: Os,
    /// The names of the nodes.
    pub nodes: BTreeSet<String>,
    /// The node selector is right, and `spec.nodeName` bypassed it.
    selects: bool,
}

impl Misplaced {
    /// What is wrong: `Linux image on Windows node win1`.
    #[must_use]
    pub fn problem(&self) -> String {
        let [image, node] = match self.image {
            Os::Linux => ["Linux", "Windows"],
            Os::Windows => ["Windows", "Linux"],
        };
        let plural = if self.nodes.len() == 1 { "" } else { "s" };
        let nodes: Vec<_> = self.nodes.iter().collect();
        format!("{image} image on {node} node{plural} {}", Few(&nodes))
    }

    /// What to do: `select kubernetes.io/os: linux in DaemonSet agent`.
    #[must_use]
    pub fn remedy(&self) -> String {
        let (Workload { kind, name, .. }, os) = (&self.workload, self.image.name());
        match self.selects {
            true => format!(
                "remove spec.nodeName, which bypasses the node selector, from {kind} {name}"
            ),
            false => format!("select {OS_LABEL}: {os} in {kind} {name}"),
        }
    }
}

/// The operating system that a pod is for, as far as it says.
enum Meant {
    For(Os),
    /// Nothing says so, and no node is selected.
    Anything,
    /// Something that is neither, or no clear evidence.
    Unclear,
}

struct Found {
    misplaced: Misplaced,
    /// The pods themselves say which operating system they are for. Otherwise a pod that runs shows
    /// that it is on the right node.
    is_certain: bool,
    runs: bool,
}

/// Finds misplaced workloads. DaemonSets come before pods.
pub struct Search {
    policy: Policy,
    /// Without nodes: that a pod is on a node does not make it one for that node.
    facts: Facts,
    hosts: Hosts,
    daemon_sets: BTreeSet<Workload>,
    found: BTreeMap<Workload, Found>,
}

impl Search {
    /// Nothing is found yet. The nodes of `facts` are not used.
    #[must_use]
    pub fn new(policy: Policy, facts: Facts, hosts: Hosts) -> Self {
        Self {
            policy,
            facts: Facts {
                nodes: Nodes::default(),
                ..facts
            },
            hosts,
            daemon_sets: BTreeSet::new(),
            found: BTreeMap::new(),
        }
    }

    /// The facts without nodes.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Adds a DaemonSet, as JSON.
    pub fn daemon_set(&mut self, object: &str) {
        let Ok(set) = serde_json::from_str::<DaemonSet>(object) else {
            return;
        };
        let workload = set.workload();
        let spec = set.spec();
        let meant = self.meant(Kind::DaemonSet, &workload.namespace, object, spec);
        let (image, is_certain) = match meant {
            Meant::For(os) => (os, true),
            Meant::Anything if !set.is_ready() && !self.placed(Os::Linux, spec).is_empty() => {
                (Os::Linux, false)
            }
            Meant::Anything | Meant::Unclear => {
                self.daemon_sets.insert(workload);
                return;
            }
        };
        let wrong = match image {
            Os::Linux => Os::Windows,
            Os::Windows => Os::Linux,
        };
        let nodes = self.placed(wrong, spec);
        self.daemon_sets.insert(workload.clone());
        if !nodes.is_empty() {
            let misplaced = Misplaced {
                workload: workload.clone(),
                image,
                nodes,
                selects: false,
            };
            let found = Found {
                misplaced,
                is_certain,
                runs: false,
            };
            self.found.insert(workload, found);
        }
    }

    /// Adds a pod, as JSON. Returns whether it is on a node of the wrong operating system.
    pub fn pod(&mut self, object: &str) -> bool {
        let Ok(pod) = serde_json::from_str::<LivePod>(object) else {
            return false;
        };
        let Some(node) = pod.node() else { return false };
        let Some(os) = self.hosts.get(node).and_then(Host::os) else {
            return false;
        };
        let Some(workload) = pod.workload().filter(|_| !pod.is_finished()) else {
            return false;
        };
        // Its template says more than the pod: the controller replaces the required node affinity.
        if self.daemon_sets.contains(&workload) {
            let Some(found) = self.found.get_mut(&workload) else {
                return false;
            };
            found.runs |= !found.is_certain && found.misplaced.image != os && pod.has_run();
            return found.misplaced.image != os && !found.runs;
        }
        let is_lost = |spec: &Spec| {
            let by_taint = spec.placement.tolerates_everything();
            os == Os::Windows && !pod.has_run() && (by_taint || pod.has_no_image())
        };
        let image = match self.meant(Kind::Pod, &workload.namespace, object, &pod.spec) {
            Meant::For(image) if image != os => image,
            Meant::Anything if is_lost(&pod.spec) => Os::Linux,
            _ => return false,
        };
        let entry = self.found.entry(workload.clone());
        let found = entry.or_insert_with(|| Found {
            misplaced: Misplaced {
                workload,
                image,
                nodes: BTreeSet::new(),
                selects: pod.spec.placement.selects(image),
            },
            is_certain: true,
            runs: false,
        });
        found.misplaced.nodes.insert(node.to_owned());
        true
    }

    /// What was found, sorted by namespace, kind and name.
    pub fn finish(self) -> impl Iterator<Item = Misplaced> {
        let found = self.found.into_values();
        found
            .filter(|found| !found.runs)
            .map(|found| found.misplaced)
    }

    /// The nodes of an operating system that a DaemonSet's pods are placed on.
    fn placed(&self, os: Os, spec: &Spec) -> BTreeSet<String> {
        let hosts = self.hosts.iter().filter(|(_, host)| host.os() == Some(os));
        let hosts = hosts.filter(|(name, host)| host.takes(name, &spec.placement));
        hosts.map(|(name, _)| name.clone()).collect()
    }

    fn meant(&self, kind: Kind, namespace: &str, object: &str, spec: &Spec) -> Meant {
        let creation = Creation {
            kind,
            namespace,
            object: object.as_bytes(),
        };
        let body = creation.review();
        let Ok(request) = review::decode(&body, &self.policy) else {
            return Meant::Unclear;
        };
        let object = request.object_at();
        let Some(pod) = object.and_then(|object| Pod::find(request.tape(), object, kind)) else {
            return Meant::Unclear;
        };
        let namespace = self.facts.namespaces.get(namespace);
        let detection = os::detect(&pod, namespace, &self.policy.evidence, &self.facts);
        match detection.os {
            _ if detection.conflict.is_some() => Meant::Unclear,
            Some(os) => Meant::For(os),
            // Who selects nodes by other labels knows their operating system.
            None if detection.hint.is_some() || !spec.placement.selects_nothing() => Meant::Unclear,
            None if spec.needs_linux() => Meant::For(Os::Linux),
            None => Meant::Anything,
        }
    }
}
