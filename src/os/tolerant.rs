//! Pods that may run on nodes of either operating system: they tolerate the taints of Windows nodes
//! and select no operating system.
//!
//! Not here: whether a pod is for Windows (`hint`), and what follows (`decision`).

use super::EvidencePolicy;
use super::hint::selects_no_os;
use crate::object::demand::Role;
use crate::object::{At, Tape};
use crate::workload::Pod;

/// The toleration of a Windows taint, in a pod that selects no operating system.
pub(crate) fn tolerates_windows(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> Option<At> {
    if !selects_no_os(pod, policy) {
        return None;
    }
    let mut tolerations = pod.tape.children(pod.tolerations?);
    tolerations.find(|toleration| covers_a_windows_taint(pod.tape, *toleration, policy))
}

/// Windows taints have the effect NoSchedule.
fn covers_a_windows_taint(tape: &Tape<'_>, toleration: At, policy: &EvidencePolicy) -> bool {
    let text = |role| tape.child_text(toleration, role).unwrap_or_default();
    let (key, value) = (text(Role::Key), text(Role::Value));
    if !["", "NoSchedule"].contains(&text(Role::Effect)) {
        return false;
    }
    let mut taints = policy.windows_taints.iter();
    match text(Role::Operator) {
        "Exists" => key.is_empty() || taints.any(|(known, _)| known == key),
        "Equal" | "" => taints.any(|(k, v)| k == key && v == value),
        _ => false,
    }
}
