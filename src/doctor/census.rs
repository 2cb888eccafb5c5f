//! How many Windows pods there are in namespaces that Transom does not look into.
//!
//! Pods come one by one and none is kept. Not here: where they come from (`command::doctor`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Cluster;
use super::namespaces::uncovered;
use crate::admit::admit;
use crate::check::creation::Creation;
use crate::decision::Endpoint;
use crate::facts::Facts;
use crate::os::Os;
use crate::policy::Policy;
use crate::review;
use crate::workload::Kind;

/// A count of pods that goes on.
pub struct Census<'c> {
    outside: Vec<&'c str>,
    policy: Policy,
    facts: Facts,
    counts: BTreeMap<String, usize>,
}

/// What is looked at before it is asked what a pod is for.
#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    namespace: String,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    phase: String,
}

impl<'c> Census<'c> {
    /// None was counted yet. It needs what namespaces and nodes there are, and the configuration.
    #[must_use]
    pub fn of(cluster: &'c Cluster) -> Option<Self> {
        let mut policy = cluster.settings().ok()?.policy.clone();
        // Whether a pod is for Windows is not a matter of modes.
        policy.enforce_everywhere();
        Some(Self {
            outside: uncovered(cluster),
            policy,
            facts: cluster.facts(),
            counts: BTreeMap::new(),
        })
    }

    /// The namespaces whose pods have to be counted.
    #[must_use]
    pub fn namespaces(&self) -> &[&'c str] {
        &self.outside
    }

    /// Counts a pod, as JSON, if it is one for Windows that has not ended, and is there.
    pub fn count(&mut self, pod: &str) {
        let Ok(Pod { metadata, status }) = serde_json::from_str(pod) else {
            return;
        };
        let namespace = metadata.namespace;
        let has_ended = ["Succeeded", "Failed"].contains(&&*status.phase);
        if !has_ended && self.outside.contains(&&*namespace) && self.is_for_windows(pod) {
            *self.counts.entry(namespace).or_default() += 1;
        }
    }

    fn is_for_windows(&self, pod: &str) -> bool {
        // In no namespace, it is in none that is off or exempt.
        let creation = Creation {
            kind: Kind::Pod,
            namespace: "",
            object: pod.as_bytes(),
        };
        let body = creation.review();
        let Ok(request) = review::decode(&body, &self.policy) else {
            return false;
        };
        let verdict = admit(Endpoint::Mutate, &request, &self.policy, &self.facts);
        verdict.detected().0 == Some(Os::Windows)
    }

    /// How many there are, by namespace.
    #[must_use]
    pub fn counts(self) -> BTreeMap<String, usize> {
        self.counts
    }
}
