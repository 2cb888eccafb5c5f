//! Hints at Windows: alone they lead to a warning, unless the configuration lets them act.

use super::acting::{named_image, windows_options};
use super::affinity::{self, preferred};
use super::image::Certainty;
use super::system::{BETA_OS_LABEL, HOSTNAME_LABEL, OS_LABEL, OS_SKU_LABEL, Os};
use super::{Evidence, EvidencePolicy, Source, evidence};
use crate::object::demand::Role;
use crate::workload::{Kind, Pod};

/// The taints that name Windows. docs/windows-on-kubernetes.md says where most of them are used.
pub(crate) const WINDOWS_TAINTS: &[(&str, &str)] = &[
    // KEP-116, and the same for later releases.
    ("os", "Win1809"),
    ("os", "Win2022"),
    ("os", "Win2025"),
    // The user guide of Kubernetes.
    ("os", "windows"),
    // OpenShift.
    ("os", "Windows"),
    // Terraform modules for EKS.
    ("OS", "Windows"),
    // GKE.
    ("node.kubernetes.io/os", "windows"),
    // AKS on Azure Local.
    ("node.kubernetes.io/os", "Windows"),
    ("sku", "Windows"),
    // The scripts of Kubernetes for Google Compute Engine.
    ("node.kubernetes.io/os", "win1809"),
    // The node label as a taint.
    ("kubernetes.io/os", "windows"),
    ("kubernetes.io/os", "Windows"),
];

/// Whether a pod that is not known to be for Windows may end up on any node: nothing in it says
/// on which operating system to run it, and nothing hints at Windows.
pub(crate) fn is_adrift(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> bool {
    selects_no_os(pod, policy) && !has_unreadable_intent(pod) && any_hint(pod, policy).is_none()
}

/// Whether neither the operating system nor single nodes are selected.
pub(super) fn selects_no_os(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> bool {
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
        && keys.into_iter().all(|key| pod.selector(key).is_none())
        && !affinity::decides(pod, policy)
}

/// An annotation that names no operating system, such as `transom.dev/os: Windows`: whatever was
/// meant, it was not nothing.
fn has_unreadable_intent(pod: &Pod<'_, '_>) -> bool {
    let intent = pod.transom_os.and_then(|at| pod.tape.text(at));
    intent.is_some_and(|os| Os::parse(os).is_none())
}

/// The strongest hint at Windows, unless the pod asks for what only Linux has.
pub(super) fn hint(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> Option<Evidence> {
    if pod.asks_for_linux {
        return None;
    }
    // Where a hint is evidence, such settings are findings.
    let speaks = |hint: &Evidence| policy.acting.contains(&hint.source) || !pod.looks_like_linux();
    any_hint(pod, policy).filter(speaks)
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
