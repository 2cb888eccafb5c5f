//! The check for pods on nodes of the wrong operating system.
//!
//! Not here: how they are found (`crate::misplaced`).

use super::snapshot::known;
use super::{Check, Cluster, Part, Said, Told, Unasked, or_ok, warn};
use crate::facts::{Facts, NamespaceFacts};
use crate::misplaced::{Misplaced, Search, Workload};

pub(super) const MISPLACED_PODS: Check = Check {
    name: "misplaced-pods",
    looks_at: "no Linux pod is on a Windows node, no Windows pod on a Linux node, and no DaemonSet places pods there",
    helps: "`kubernetes.io/os` in the node selector of the workload that is named; `linuxGuard: true`",
    needs: &[Part::Nodes, Part::DaemonSets, Part::Pods, Part::ConfigMap],
    run: misplaced_pods,
};

impl Cluster {
    /// A search for misplaced pods, if there are nodes of both operating systems and the
    /// configuration is known.
    #[must_use]
    pub fn misplaced_search(&self) -> Option<Search> {
        let hosts = self.mixed_hosts()?;
        let policy = self.settings().ok()?.policy.clone();
        let namespaces = self.namespaces.iter().flatten();
        let namespaces = namespaces.map(|(name, labels)| {
            let labels = labels.iter().map(|(k, v)| (k.as_str(), v.as_str()));
            (name.clone(), NamespaceFacts::from_labels(labels))
        });
        let facts = Facts {
            namespaces: namespaces.collect(),
            ..self.facts()
        };
        Some(Search::new(policy, facts, hosts))
    }
}

/// As many workloads are named.
const NAMED: usize = 10;

fn misplaced_pods(cluster: &Cluster) -> Told {
    known(&cluster.nodes)?;
    cluster.settings()?;
    if cluster.mixed_hosts().is_none() {
        return Err(Unasked::Nothing);
    }
    let all = known(&cluster.misplaced)?;
    let mut found: Vec<_> = all.iter().take(NAMED).map(said).collect();
    if all.len() > NAMED {
        let more = all.len() - NAMED;
        found.push(warn(
            format!("{more} more workloads have pods on nodes of the wrong operating system"),
            "transom scan --all-namespaces lists them",
        ));
    }
    or_ok(found, || {
        "no pod is on a node of the wrong operating system".to_owned()
    })
}

fn said(misplaced: &Misplaced) -> Said {
    let Workload {
        namespace,
        kind,
        name,
    } = &misplaced.workload;
    let text = format!("{kind} {namespace}/{name}: {}", misplaced.problem());
    warn(text, misplaced.remedy())
}
