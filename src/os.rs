//! Is it a Windows pod? Evidence → Linux, Windows or unknown, with the reasons.
//!
//! Evidence is decisive (spec.os, node selector), acting (nobody would write it for another OS)
//! or a hint. Not here: what follows from it (`decision`), and images' names (`image`). Pure:
//! what the cluster or a registry knows comes in as [`Facts`].

pub(crate) mod affinity;
pub(crate) mod build;
pub(crate) mod image;
mod source;
pub(crate) mod system;
pub(crate) mod text;

use std::collections::HashMap;

use crate::facts::{Facts, NamespaceFacts};
use crate::object::At;
use crate::object::demand::Anchor::{Container, Metadata, Spec};
use crate::object::demand::{Demand, Role};
use crate::workload::Pod;
use affinity::{affinity, known_node, preferred};
use image::{Certainty, ImagePatterns};
use text::is_windows_text;

pub use source::Source;
pub use system::{BETA_OS_LABEL, BUILD_LABEL, OS_LABEL, Os};

/// One piece of evidence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub(crate) os: Os,
    pub(crate) source: Source,
    /// Where it stands; nothing of the object where a namespace's label says so.
    pub(crate) at: Option<At>,
}

/// Two signals that cannot both be right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    /// The weaker signal of the two.
    pub(crate) at: At,
    pub(crate) between: Between,
    /// What it stands against, if that is part of the object.
    pub(crate) against: Option<At>,
}

/// How strong the signals of a [`Conflict`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    /// Decisive ones, or a value that names no OS.
    Decisive,
    /// At most one of them is decisive.
    Acting,
    /// Images, by what a registry says of them.
    Images,
}

impl Between {
    /// No node can run the pod.
    pub(crate) fn is_certain(self) -> bool {
        self != Self::Acting
    }
}

/// What the evidence says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detection {
    /// `None`: nothing decisive or acting was found, or it contradicts itself.
    pub(crate) os: Option<Os>,
    /// The strongest evidence for `os`.
    pub(crate) evidence: Option<Evidence>,
    pub(crate) conflict: Option<Conflict>,
    /// The strongest hint at Windows, where there is nothing but hints.
    pub(crate) hint: Option<Evidence>,
}

impl Detection {
    pub(crate) fn is_windows(&self) -> bool {
        self.os == Some(Os::Windows)
    }
}

/// What the configuration says of evidence.
#[derive(Clone, Debug)]
pub(crate) struct EvidencePolicy {
    pub(crate) images: ImagePatterns,
    /// Hints that act.
    pub(crate) acting: Vec<Source>,
    /// The label that placement writes: as good as [`OS_LABEL`].
    pub(crate) os_label_key: String,
    /// Key and value of each taint that names Windows.
    pub(crate) windows_taints: Vec<(String, String)>,
}

impl EvidencePolicy {
    fn is_os_label(&self, key: &str) -> bool {
        key == OS_LABEL || key == BETA_OS_LABEL || key == self.os_label_key
    }
}

/// The fields that evidence is found in, beyond those of the survey.
pub(crate) const FIELDS: &[Demand] = &[
    Demand::text(Spec, "nodeName", Role::NodeName),
    Demand::text(Metadata, "labels{kubernetes.io/os}", Role::OsLabel),
    Demand::text(Metadata, "annotations{transom.dev/os}", Role::TransomOs),
    Demand::text(Spec, "tolerations[*].key", Role::Key),
    Demand::text(Spec, "tolerations[*].operator", Role::Operator),
    Demand::text(Spec, "tolerations[*].value", Role::Value),
    Demand::text(Spec, "tolerations[*].effect", Role::Effect),
    Demand::present(
        Container,
        "securityContext.windowsOptions.gmsaCredentialSpecName",
        Role::None,
    ),
    Demand::present(
        Container,
        "securityContext.windowsOptions.gmsaCredentialSpec",
        Role::None,
    ),
    Demand::present(
        Spec,
        "securityContext.windowsOptions.gmsaCredentialSpecName",
        Role::None,
    ),
    Demand::present(
        Spec,
        "securityContext.windowsOptions.gmsaCredentialSpec",
        Role::None,
    ),
    Demand::text(Spec, "volumes[*].hostPath.path", Role::HostPath),
    Demand::text(Container, "command[*]", Role::Text).only(is_windows_text),
    Demand::text(Container, "args[*]", Role::Text).only(is_windows_text),
    Demand::text(Container, "workingDir", Role::Text).only(is_windows_text),
    Demand::text(Container, "volumeMounts[*].mountPath", Role::Text).only(is_windows_text),
];

/// Weighs all evidence in a pod.
pub(crate) fn detect(
    pod: &Pod<'_, '_>,
    namespace: Option<&NamespaceFacts>,
    policy: &EvidencePolicy,
    facts: &Facts,
) -> Detection {
    let mut decisive = Decisive::default();
    decisive.read(pod, policy);
    if let Some(conflict) = decisive.conflict {
        return Detection {
            os: decisive.first.map(|evidence| evidence.os),
            evidence: decisive.first,
            conflict: Some(conflict),
            hint: None,
        };
    }

    // Beside a decisive signal only what contradicts it matters.
    let said = decisive.first.map(|evidence| evidence.os);
    let windows = match said {
        Some(Os::Windows) => None,
        _ => acting_windows(pod, policy, facts),
    };
    let linux = match said {
        Some(Os::Linux) => None,
        _ => acting_linux(pod, policy, facts),
    };
    let conflict = match decisive.foreign {
        // Neither Linux nor Windows, and yet for Windows: no node is both.
        Some(at) if decisive.first.is_none() => windows.and_then(|windows| {
            Some(Conflict {
                at: windows.at?,
                between: Between::Acting,
                against: Some(at),
            })
        }),
        _ => conflict(decisive.first, windows, linux),
    };
    let conflict = mixed_images(pod, facts).or(conflict);
    let evidence = match (decisive.first, windows, linux) {
        (Some(decisive), ..) => Some(decisive),
        (None, Some(_), Some(_)) => None,
        (None, ..) if decisive.foreign.is_some() => None,
        (None, windows, linux) => windows
            .or(linux)
            .or_else(|| declared(pod, namespace))
            .or_else(|| hint(pod, policy).filter(|h| policy.acting.contains(&h.source))),
    };
    let hint = match (evidence, conflict) {
        (None, None) => hint(pod, policy),
        _ => None,
    };
    Detection {
        os: evidence.map(|evidence| evidence.os),
        evidence,
        conflict,
        hint,
    }
}

/// Acting evidence against a decisive or acting signal for the other OS.
fn conflict(
    decisive: Option<Evidence>,
    windows: Option<Evidence>,
    linux: Option<Evidence>,
) -> Option<Conflict> {
    let (acting, against) = match (decisive, windows, linux) {
        (Some(d), Some(windows), _) if d.os == Os::Linux => (windows, d),
        (Some(d), _, Some(linux)) if d.os == Os::Windows => (linux, d),
        (None, Some(windows), Some(linux)) => (windows, linux),
        _ => return None,
    };
    Some(Conflict {
        at: acting.at?,
        between: Between::Acting,
        against: against.at,
    })
}

/// `spec.os.name` and the node selector.
#[derive(Default)]
struct Decisive {
    first: Option<Evidence>,
    conflict: Option<Conflict>,
    /// A node selector for an OS that is neither.
    foreign: Option<At>,
}

impl Decisive {
    fn read(&mut self, pod: &Pod<'_, '_>, policy: &EvidencePolicy) {
        let mut said: Option<(At, &str)> = None;
        if let Some(at) = pod.os_name {
            let name = pod.tape.text(at).unwrap_or_default();
            if Os::parse(name).is_none() {
                self.conflict = Some(Conflict {
                    at,
                    between: Between::Decisive,
                    against: None,
                });
                return;
            }
            said = Some((at, name));
            self.first = evidence(Os::parse(name), Source::OsField, at);
        }
        let custom = Some(policy.os_label_key.as_str())
            .filter(|key| *key != OS_LABEL && *key != BETA_OS_LABEL);
        for key in custom.into_iter().chain([OS_LABEL, BETA_OS_LABEL]) {
            let Some((at, name)) = pod.selector(key) else {
                continue;
            };
            let os = Os::parse(name);
            self.first = self
                .first
                .or_else(|| evidence(os, Source::NodeSelector, at));
            if os.is_none() {
                self.foreign.get_or_insert(at);
            }
            match said {
                // A third OS is none of our business, unless Windows is the other one.
                Some((against, other)) if other != name && [other, name].contains(&"windows") => {
                    self.conflict.get_or_insert(Conflict {
                        at,
                        between: Between::Decisive,
                        against: Some(against),
                    });
                }
                Some(_) => {}
                None => said = Some((at, name)),
            }
        }
    }
}

fn evidence(os: Option<Os>, source: Source, at: At) -> Option<Evidence> {
    Some(Evidence {
        os: os?,
        source,
        at: Some(at),
    })
}

fn acting_windows(pod: &Pod<'_, '_>, policy: &EvidencePolicy, facts: &Facts) -> Option<Evidence> {
    let windows = Some(Os::Windows);
    windows_options(pod, |at| pod.tape.entry(at).end > at + 1)
        .and_then(|at| evidence(windows, Source::WindowsOptions, at))
        .or_else(|| {
            let (at, _) = pod.selector(BUILD_LABEL)?;
            evidence(windows, Source::Build, at)
        })
        .or_else(|| affinity(pod, policy).filter(|e| e.os == Os::Windows))
        .or_else(|| known_node(pod, facts).filter(|e| e.os == Os::Windows))
        .or_else(|| runtime_class(pod, facts).filter(|e| e.os == Os::Windows))
        .or_else(|| registry(pod, facts, Os::Windows))
        .or_else(|| named_image(pod, policy, Certainty::Certain))
}

fn acting_linux(pod: &Pod<'_, '_>, policy: &EvidencePolicy, facts: &Facts) -> Option<Evidence> {
    affinity(pod, policy)
        .filter(|e| e.os == Os::Linux)
        .or_else(|| known_node(pod, facts).filter(|e| e.os == Os::Linux))
        .or_else(|| runtime_class(pod, facts).filter(|e| e.os == Os::Linux))
        .or_else(|| registry(pod, facts, Os::Linux))
}

/// The first `windowsOptions`, of the pod or a container, that pass.
fn windows_options(pod: &Pod<'_, '_>, pass: impl Fn(At) -> bool) -> Option<At> {
    let containers = pod.containers.iter().map(|c| c.windows.at);
    std::iter::once(pod.windows.at)
        .chain(containers)
        .flatten()
        .find(|at| pass(*at))
}

fn runtime_class(pod: &Pod<'_, '_>, facts: &Facts) -> Option<Evidence> {
    let at = pod.runtime_class?;
    let class = facts.runtime_classes.get(pod.tape.text(at)?)?;
    evidence(class.os, Source::RuntimeClass, at)
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
fn mixed_images(pod: &Pod<'_, '_>, facts: &Facts) -> Option<Conflict> {
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
fn named_image(
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

/// A Service is for the system of the pods that it selects, as far as anybody knows.
pub(crate) fn detect_service(
    service: &Pod<'_, '_>,
    name: &str,
    namespace: Option<&NamespaceFacts>,
    facts: &Facts,
) -> Detection {
    let evidence = annotated(service)
        .or_else(|| selected_pods(service, facts.windows_pods.get(name)?))
        .or_else(|| labelled(namespace));
    Detection {
        os: evidence.map(|evidence| evidence.os),
        evidence,
        ..Detection::default()
    }
}

/// The selector of a Service, if Windows pods match it.
fn selected_pods(
    service: &Pod<'_, '_>,
    windows_pods: &[HashMap<String, String>],
) -> Option<Evidence> {
    let tape = service.tape;
    let at = tape.child(service.spec?, Role::ServiceSelector)?;
    tape.members(at).next()?;
    let selects = |labels: &HashMap<String, String>| {
        let mut wanted = tape.members(at);
        wanted.all(|(key, value)| labels.get(key).map(String::as_str) == tape.text(value))
    };
    let windows = windows_pods.iter().any(selects);
    evidence(
        Some(Os::Windows).filter(|_| windows),
        Source::SelectedPods,
        at,
    )
}

/// What the object, its template or its namespace says it is for.
fn declared(pod: &Pod<'_, '_>, namespace: Option<&NamespaceFacts>) -> Option<Evidence> {
    annotated(pod).or_else(|| labelled(namespace))
}

/// The namespace's label.
fn labelled(namespace: Option<&NamespaceFacts>) -> Option<Evidence> {
    Some(Evidence {
        os: namespace?.os?,
        source: Source::Declared,
        at: None,
    })
}

/// The annotation of the pod or its template, then that of the object.
fn annotated(pod: &Pod<'_, '_>) -> Option<Evidence> {
    let on_object = || {
        let metadata = pod.tape.child(pod.object, Role::Metadata)?;
        let annotations = pod.tape.child(metadata, Role::Annotations)?;
        pod.tape.child(annotations, Role::TransomOs)
    };
    let said = |at: At| {
        let os = pod.tape.text(at).and_then(Os::parse);
        evidence(os, Source::Declared, at)
    };
    let annotation = pod.transom_os.and_then(said);
    annotation.or_else(|| said(on_object()?))
}

/// Whether a pod that is not known to be for Windows may end up on any node: nothing in it says
/// where to run it, and nothing hints at Windows.
pub(crate) fn is_adrift(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> bool {
    let keys = [OS_LABEL, BETA_OS_LABEL, policy.os_label_key.as_str()];
    pod.node_name.is_none()
        && keys.into_iter().all(|key| pod.selector(key).is_none())
        && !affinity::decides(pod, policy)
        && any_hint(pod, policy).is_none()
}

/// The strongest hint at Windows, unless the pod asks for what only Linux has.
fn hint(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> Option<Evidence> {
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
