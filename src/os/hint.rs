//! Hints at Windows: alone they lead to a warning, unless the configuration lets them act.

use super::acting::{named_image, windows_options};
use super::affinity::{self, preferred};
use super::image::Certainty;
use super::system::{BETA_OS_LABEL, HOSTNAME_LABEL, OS_LABEL, OS_SKU_LABEL, Os};
use super::{Evidence, EvidencePolicy, Source, evidence};
use crate::object::demand::Role;
use crate::workload::{Kind, Pod};

/// The taints in the field that name Windows: KEP-116 and its kin, the user guide and EKS,
/// OpenShift, GKE.
pub(crate) const WINDOWS_TAINTS: &[(&str, &str)] = &[
    ("os", "Win1809"),
    ("os", "Win2022"),
    ("os", "Win2025"),
    ("os", "windows"),
    ("os", "Windows"),
    ("node.kubernetes.io/os", "windows"),
    ("kubernetes.io/os", "windows"),
];

/// Whether a pod that is not known to be for Windows may end up on any node: nothing in it says
/// where to run it, and nothing hints at Windows.
pub(crate) fn is_adrift(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> bool {
    let keys = [
        OS_LABEL,
        BETA_OS_LABEL,
        HOSTNAME_LABEL,
        OS_SKU_LABEL,
        policy.os_label_key.as_str(),
    ];
    // The API server has merged a RuntimeClass' node selector into a pod, but into no template.
    let by_class = pod.runtime_class.is_some() && pod.kind != Kind::Pod;
    pod.node_name.is_none()
        && !by_class
        && !has_unreadable_intent(pod)
        && keys.into_iter().all(|key| pod.selector(key).is_none())
        && !affinity::decides(pod, policy)
        && any_hint(pod, policy).is_none()
}

/// An annotation that names no operating system, such as `transom.dev/os: Windows`: whatever was
/// meant, it was not nothing.
fn has_unreadable_intent(pod: &Pod<'_, '_>) -> bool {
    let intent = pod.transom_os.and_then(|at| pod.tape.text(at));
    intent.is_some_and(|os| Os::parse(os).is_none())
}

/// The strongest hint at Windows, unless the pod asks for what only Linux has.
pub(super) fn hint(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> Option<Evidence> {
    match pod.asks_for_linux {
        true => None,
        false => any_hint(pod, policy),
    }
}

fn any_hint(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> Option<Evidence> {
    let windows = Some(Os::Windows);
    windows_options(pod, |_| true)
        .and_then(|at| evidence(windows, Source::WindowsOptions, at))
        .or_else(|| preferred(pod, policy))
        .or_else(|| {
            let at = pod.os_label?;
            let os = pod.tape.text(at).and_then(Os::parse);
            evidence(os.filter(|os| *os == Os::Windows), Source::PodLabel, at)
        })
        .or_else(|| named_image(pod, policy, Certainty::Hint))
        .or_else(|| evidence(windows, Source::WindowsText, pod.windows_text?))
        .or_else(|| tolerated_taint(pod, policy))
}

/// A toleration of a taint that names Windows by key and value.
fn tolerated_taint(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> Option<Evidence> {
    let tape = pod.tape;
    let toleration = tape.children(pod.tolerations?).find(|toleration| {
        let key = tape.child_text(*toleration, Role::Key);
        let value = tape.child_text(*toleration, Role::Value);
        match (key, value) {
            (Some(key), Some(value)) => policy
                .windows_taints
                .iter()
                .any(|(k, v)| k == key && v == value),
            _ => false,
        }
    })?;
    evidence(Some(Os::Windows), Source::Toleration, toleration)
}
