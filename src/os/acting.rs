//! Acting evidence: nobody would write it for another operating system.
//!
//! Affinity and known nodes are in `affinity`; what is declared weighs less, and is in `declared`.

use super::affinity::{affinity, known_node};
use super::build::is_windows_sku;
use super::image::Certainty;
use super::system::{BUILD_LABEL, OS_SKU_LABEL, Os};
use super::{Between, Conflict, Evidence, EvidencePolicy, Source, evidence};
use crate::facts::{Facts, RuntimeClassFacts};
use crate::object::At;
use crate::workload::Pod;

pub(super) fn windows(
    pod: &Pod<'_, '_>,
    policy: &EvidencePolicy,
    facts: &Facts,
) -> Option<Evidence> {
    let windows = Some(Os::Windows);
    windows_options(pod, |at| pod.tape.entry(at).end > at + 1)
        .and_then(|at| evidence(windows, Source::WindowsOptions, at))
        .or_else(|| {
            let (at, _) = pod.selector(BUILD_LABEL)?;
            evidence(windows, Source::Build, at)
        })
        .or_else(|| {
            let (at, sku) = pod.selector(OS_SKU_LABEL)?;
            evidence(windows.filter(|_| is_windows_sku(sku)), Source::Build, at)
        })
        .or_else(|| affinity(pod, policy).filter(|e| e.os == Os::Windows))
        .or_else(|| known_node(pod, facts).filter(|e| e.os == Os::Windows))
        .or_else(|| runtime_class(pod, policy, facts).filter(|e| e.os == Os::Windows))
        .or_else(|| registry(pod, facts, Os::Windows))
        .or_else(|| named_image(pod, policy, Certainty::Certain))
}

pub(super) fn linux(pod: &Pod<'_, '_>, policy: &EvidencePolicy, facts: &Facts) -> Option<Evidence> {
    affinity(pod, policy)
        .filter(|e| e.os == Os::Linux)
        .or_else(|| known_node(pod, facts).filter(|e| e.os == Os::Linux))
        .or_else(|| runtime_class(pod, policy, facts).filter(|e| e.os == Os::Linux))
        .or_else(|| registry(pod, facts, Os::Linux))
}

/// The first `windowsOptions`, of the pod or a container, that pass.
pub(super) fn windows_options(pod: &Pod<'_, '_>, pass: impl Fn(At) -> bool) -> Option<At> {
    let containers = pod.containers.iter().map(|c| c.windows.at);
    std::iter::once(pod.windows.at)
        .chain(containers)
        .flatten()
        .find(|at| pass(*at))
}

/// The OS that the node selector of a RuntimeClass names, unless it names both.
pub(crate) fn class_os(class: &RuntimeClassFacts, policy: &EvidencePolicy) -> Option<Os> {
    let mut systems = class.node_selector.iter().filter_map(|(key, value)| {
        if key == BUILD_LABEL || key == OS_SKU_LABEL && is_windows_sku(value) {
            Some(Os::Windows)
        } else {
            Os::parse(value).filter(|_| policy.is_os_label(key))
        }
    });
    let first = systems.next();
    first.filter(|first| systems.all(|os| os == *first))
}

/// That of the pod's RuntimeClass.
fn runtime_class(pod: &Pod<'_, '_>, policy: &EvidencePolicy, facts: &Facts) -> Option<Evidence> {
    let at = pod.runtime_class?;
    let class = facts.runtime_classes.get(pod.tape.text(at)?)?;
    let os = class_os(class, policy);
    evidence(os, Source::RuntimeClass, at)
}

/// An image that is known to be for this OS alone.
fn registry(pod: &Pod<'_, '_>, facts: &Facts, os: Os) -> Option<Evidence> {
    if facts.images.is_empty() {
        return None;
    }
    images(pod).find_map(|at| {
        let image = facts.images.get(pod.tape.text(at)?)?;
        let only = !image.platforms.is_empty() && image.platforms.iter().all(|p| p.os == Some(os));
        evidence(Some(os).filter(|_| only), Source::Registry, at)
    })
}

/// Images of one pod for different systems: no node can run both.
pub(super) fn mixed_images(pod: &Pod<'_, '_>, facts: &Facts) -> Option<Conflict> {
    Some(Conflict {
        at: registry(pod, facts, Os::Windows)?.at?,
        between: Between::Images,
        against: Some(registry(pod, facts, Os::Linux)?.at?),
    })
}

fn images<'p>(pod: &'p Pod<'_, '_>) -> impl Iterator<Item = At> + 'p {
    pod.containers
        .iter()
        .filter_map(|container| container.image)
}

/// The first image whose name is in this class.
pub(super) fn named_image(
    pod: &Pod<'_, '_>,
    policy: &EvidencePolicy,
    certainty: Certainty,
) -> Option<Evidence> {
    let at = images(pod).find(|at| {
        let image = pod.tape.text(*at).unwrap_or_default();
        match certainty {
            Certainty::Certain => policy.images.is_certain(image),
            Certainty::Hint => policy.images.is_hint(image),
        }
    })?;
    let source = match certainty {
        Certainty::Certain => Source::CertainImage,
        Certainty::Hint => Source::ImageHint,
    };
    evidence(Some(Os::Windows), source, at)
}
