//! What is read of a live pod or DaemonSet beside the evidence: its owner, its node and its status.
//!
//! Not here: what follows from it (`misplaced`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Workload;
use super::host::Placement;
use crate::os::text::is_linux_path;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    namespace: String,
    labels: Option<BTreeMap<String, String>>,
    owner_references: Vec<Owner>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Owner {
    kind: String,
    name: String,
    controller: bool,
}

/// A pod's spec.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
    host_network: bool,
    volumes: Option<Vec<Volume>>,
    #[serde(flatten)]
    pub(super) placement: Placement,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Volume {
    host_path: Option<HostPath>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HostPath {
    path: String,
}

impl Spec {
    /// Whether the pod cannot start on Windows. HostProcess pods, which use the host's network
    /// there, carry evidence of Windows.
    pub(super) fn needs_linux(&self) -> bool {
        let volumes = self.volumes.iter().flatten();
        let mut paths = volumes.filter_map(|volume| volume.host_path.as_ref());
        self.host_network || paths.any(|path| is_linux_path(&path.path))
    }
}

/// A pod.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LivePod {
    metadata: Metadata,
    pub(super) spec: Spec,
    status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodStatus {
    phase: String,
    init_container_statuses: Vec<ContainerStatus>,
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerStatus {
    state: State,
    last_state: State,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct State {
    waiting: Option<Waiting>,
    running: Option<Running>,
    terminated: Option<Terminated>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Waiting {
    message: String,
}

#[derive(Debug, Default, Deserialize)]
struct Running {}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Terminated {
    reason: String,
}

impl State {
    /// Whether a process of the image was started.
    fn has_run(&self) -> bool {
        const ENDED: [&str; 3] = ["Completed", "Error", "OOMKilled"];
        let ended = self.terminated.as_ref();
        self.running.is_some() || ended.is_some_and(|end| ENDED.contains(&end.reason.as_str()))
    }

    /// Whether the registry has no image for the node's platform, in the words of containerd and
    /// of dockerd.
    fn has_no_image(&self) -> bool {
        const MESSAGES: [&str; 3] = [
            "no match for platform in manifest",
            "no matching manifest for windows/",
            "cannot be used on this platform",
        ];
        let waiting = self.waiting.as_ref();
        waiting.is_some_and(|waiting| MESSAGES.iter().any(|text| waiting.message.contains(text)))
    }
}

impl LivePod {
    /// The name of its node, once it has one.
    pub(super) fn node(&self) -> Option<&str> {
        self.spec.placement.node_name.as_deref()
    }

    pub(super) fn is_finished(&self) -> bool {
        ["Succeeded", "Failed"].contains(&self.status.phase.as_str())
    }

    pub(super) fn has_run(&self) -> bool {
        let mut all = self.containers();
        all.any(|status| status.state.has_run() || status.last_state.has_run())
    }

    pub(super) fn has_no_image(&self) -> bool {
        self.containers().any(|status| status.state.has_no_image())
    }

    fn containers(&self) -> impl Iterator<Item = &ContainerStatus> {
        let PodStatus {
            init_container_statuses: init,
            container_statuses: others,
            ..
        } = &self.status;
        init.iter().chain(others)
    }

    /// What has to be changed to place the pod elsewhere; nothing of a static pod, which has no
    /// other node.
    pub(super) fn workload(&self) -> Option<Workload> {
        let Metadata {
            name,
            namespace,
            labels,
            owner_references,
        } = &self.metadata;
        let workload = |kind: &str, name: &str| {
            Some(Workload {
                namespace: namespace.clone(),
                kind: kind.to_owned(),
                name: name.to_owned(),
            })
        };
        let Some(owner) = owner_references.iter().find(|owner| owner.controller) else {
            return workload("Pod", name);
        };
        // A Deployment appends the hash to its own name.
        let hash = labels
            .iter()
            .find_map(|labels| labels.get("pod-template-hash"));
        let deployment = hash.and_then(|hash| {
            let stem = owner.name.strip_suffix(hash.as_str())?;
            stem.strip_suffix('-')
        });
        match (owner.kind.as_str(), deployment) {
            ("Node", _) => None,
            ("ReplicaSet", Some(name)) => workload("Deployment", name),
            (kind, _) => workload(kind, &owner.name),
        }
    }
}

/// A DaemonSet.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DaemonSet {
    metadata: Metadata,
    spec: DaemonSetSpec,
    status: DaemonSetStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DaemonSetSpec {
    template: Template,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Template {
    spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DaemonSetStatus {
    desired_number_scheduled: u64,
    number_ready: u64,
}

impl DaemonSet {
    pub(super) fn workload(&self) -> Workload {
        let Metadata {
            name, namespace, ..
        } = &self.metadata;
        Workload {
            namespace: namespace.clone(),
            kind: "DaemonSet".to_owned(),
            name: name.clone(),
        }
    }

    pub(super) fn spec(&self) -> &Spec {
        &self.spec.template.spec
    }

    /// Whether the pods run on all nodes that they are placed on.
    pub(super) fn is_ready(&self) -> bool {
        let DaemonSetStatus {
            desired_number_scheduled: desired,
            number_ready: ready,
        } = self.status;
        desired > 0 && ready >= desired
    }
}
