//! The patch that places and repairs a Windows pod: a few operations, in an order that an API
//! server can apply, and their form as JSON Patch (RFC 6902).
//!
//! It only adds what is missing and removes what a rule's action says; it never changes a value,
//! so applying it twice is applying it once. Not here: whether there is anything to patch at all
//! (`decision`). Operations are streamed into the answer and never built as typed values.

use std::collections::HashSet;

use crate::facts::Nodes;
use crate::object::{At, FieldPath};
use crate::placement::{PlacementPolicy, Selector};
use crate::workload::Pod;

/// The most fields that one patch removes. Real pods have a few; without a limit a response could be several times as
/// large as its request.
pub(crate) const MAX_REMOVED: usize = 1024;

/// A part of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// `spec.os` is added.
    Os,
    /// The node selector is added.
    NodeSelector,
    /// Configured tolerations are added.
    Toleration,
    /// Tolerations are added that the nodes' taints ask for.
    LearntToleration,
    /// Fields are taken out.
    Repair,
    /// A pod without evidence of Windows is kept on Linux nodes.
    LinuxGuard,
}

impl Change {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Os,
        Self::NodeSelector,
        Self::Toleration,
        Self::LearntToleration,
        Self::Repair,
        Self::LinuxGuard,
    ];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Os => "os",
            Self::NodeSelector => "node-selector",
            Self::Toleration => "toleration",
            Self::LearntToleration => "learnt-toleration",
            Self::Repair => "repair",
            Self::LinuxGuard => "linux-guard",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// `spec.os.name`, or `spec.os` whole: a path into an absent object would be refused.
    AddOs,
    AddSelector,
    /// The node selector for Linux.
    GuardLinux,
    /// The configured toleration at this place of the list.
    AddToleration(usize),
    /// The toleration at this place of those that all Windows nodes ask for.
    AddLearnt(usize),
    /// A field that is taken out.
    Remove(At),
}

/// What to change in one pod or pod template. Empty: nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patch {
    pub(crate) operations: Vec<Operation>,
}

impl Patch {
    /// What kinds of changes these are, each once.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> {
        let change = |operation: &Operation| match operation {
            Operation::AddOs => Change::Os,
            Operation::AddSelector => Change::NodeSelector,
            Operation::AddToleration(_) => Change::Toleration,
            Operation::AddLearnt(_) => Change::LearntToleration,
            Operation::Remove(_) => Change::Repair,
            Operation::GuardLinux => Change::LinuxGuard,
        };
        // Operations of one kind stand side by side.
        let mut last = None;
        self.operations.iter().filter_map(move |operation| {
            let change = change(operation);
            (last.replace(change) != Some(change)).then_some(change)
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The same, but without taking out these fields. The API server would refuse them beside
    /// os=windows, so that is not put there either, and without it nothing is taken out.
    pub(crate) fn sparing(&self, spared: &HashSet<At>) -> Self {
        let mut operations = self.operations.clone();
        operations
            .retain(|operation| !matches!(operation, Operation::Remove(at) if spared.contains(at)));
        if operations.len() < self.operations.len() && operations.contains(&Operation::AddOs) {
            operations.retain(|o| !matches!(o, Operation::AddOs | Operation::Remove(_)));
        }
        Self { operations }
    }

    /// Writes the operations as a JSON Patch for the object that the pod is part of.
    /// Nodes and policy are those that it was made with.
    pub(crate) fn write(
        &self,
        pod: &Pod<'_, '_>,
        policy: &PlacementPolicy,
        nodes: &Nodes,
        out: &mut String,
    ) {
        let spec = pod.tape.path(pod.spec.unwrap_or(pod.at));
        let mut has_tolerations = pod.tolerations.is_some();
        let mut separator = "[";
        for operation in &self.operations {
            out.push_str(separator);
            separator = ",";
            match operation {
                Operation::AddOs if pod.os.is_some() => {
                    begin("add", &spec, "/os/name", out);
                    out.push_str(r#""windows""#);
                }
                Operation::AddOs => {
                    begin("add", &spec, "/os", out);
                    out.push_str(r#"{"name":"windows"}"#);
                }
                Operation::AddSelector => select(&policy.windows, pod, &spec, out),
                Operation::GuardLinux => select(&policy.linux, pod, &spec, out),
                Operation::AddToleration(which) | Operation::AddLearnt(which) => {
                    let list = match operation {
                        Operation::AddLearnt(_) => nodes.shared(),
                        _ => &policy.tolerations,
                    };
                    let toleration = &list[*which].json;
                    if has_tolerations {
                        begin("add", &spec, "/tolerations/-", out);
                        out.push_str(toleration);
                    } else {
                        begin("add", &spec, "/tolerations", out);
                        out.extend(["[", toleration, "]"]);
                    }
                    has_tolerations = true;
                }
                Operation::Remove(at) => {
                    out.push_str(r#"{"op":"remove","path":""#);
                    pointer(&pod.tape.path(*at), out);
                    out.push('"');
                }
            }
            out.push('}');
        }
        out.push(']');
    }
}

/// Adds one key to the node selector, or a whole one.
fn select(selector: &Selector, pod: &Pod<'_, '_>, spec: &FieldPath<'_>, out: &mut String) {
    if pod.node_selector.is_some() {
        begin("add", spec, &selector.pointer, out);
        out.extend(["\"", selector.os.name(), "\""]);
    } else {
        begin("add", spec, "/nodeSelector", out);
        out.push_str(&selector.json);
    }
}

/// An operation up to its value.
fn begin(op: &str, parent: &FieldPath<'_>, below: &str, out: &mut String) {
    out.extend([r#"{"op":""#, op, r#"","path":""#]);
    pointer(parent, out);
    out.extend([below, r#"","value":"#]);
}

fn pointer(path: &FieldPath<'_>, out: &mut String) {
    // Writing to memory does not fail.
    let _ = path.write_pointer(out);
}
