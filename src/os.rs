//! Is it a Windows pod? Evidence → Linux, Windows or unknown, with the reasons.
//!
//! Evidence is decisive (spec.os, node selector), acting (nobody would write it for another OS)
//! or a hint. Not here: what follows from it (`decision`), and images' names (`image`). Pure:
//! what the cluster or a registry knows comes in as [`Facts`].

mod acting;
pub(crate) mod affinity;
pub(crate) mod build;
pub(crate) mod cel;
mod decisive;
mod declared;
mod hint;
pub(crate) mod image;
pub(crate) mod selection;
mod source;
pub(crate) mod system;
pub(crate) mod text;
mod tolerant;

use crate::facts::{Facts, NamespaceFacts};
use crate::object::At;
use crate::object::demand::Anchor::{self, Container, Metadata, Spec};
use crate::object::demand::{Demand, Role, Shape};
use crate::workload::Pod;
use decisive::Decisive;
use declared::declared;
use hint::hint;
use image::ImagePatterns;
use text::is_windows_text;

pub(crate) use acting::class_os;
pub use build::{Build, runs_on};
pub use cel::{Condition, chart_template};
pub(crate) use declared::detect_service;
pub(crate) use hint::{WINDOWS_TAINTS, is_adrift};
pub use source::Source;
pub use system::{BETA_OS_LABEL, BUILD_LABEL, OS_LABEL, OS_SKU_LABEL, Os};
pub(crate) use tolerant::tolerates_windows;

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
    Demand::text(Container, "command[0]", Role::None),
    Demand::text(Container, "command[*]", Role::Text).only(is_windows_text),
    Demand::text(Container, "args[*]", Role::Text).only(is_windows_text),
    Demand::text(Container, "workingDir", Role::Text).only(is_windows_text),
    Demand::text(Container, "volumeMounts[*].mountPath", Role::Text).only(is_windows_text),
    Demand::bool(Container, "securityContext.privileged", Role::Privileged),
    identity(Spec, "securityContext.runAsUser"),
    identity(Spec, "securityContext.fsGroup"),
    identity(Spec, "securityContext.seLinuxOptions"),
    identity(Container, "securityContext.runAsUser"),
    identity(Container, "securityContext.seLinuxOptions"),
];

const fn identity(anchor: Anchor, path: &'static str) -> Demand {
    Demand::new(anchor, path, Role::LinuxIdentity, Shape::Any)
}

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
        _ => acting::windows(pod, policy, facts),
    };
    let linux = match said {
        Some(Os::Linux) => None,
        _ => acting::linux(pod, policy, facts),
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
    let conflict = acting::mixed_images(pod, facts).or(conflict);
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

fn evidence(os: Option<Os>, source: Source, at: At) -> Option<Evidence> {
    Some(Evidence {
        os: os?,
        source,
        at: Some(at),
    })
}
