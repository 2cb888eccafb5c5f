//! What the cluster and registries know, as plain data. `admit` takes it; the shell fills it.
//!
//! Empty facts are good facts: everything works from the object and the configuration alone.

mod nodes;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::mode::Mode;
use crate::os::system::Os;

pub use nodes::{NodeFacts, Nodes, Taint};

/// Everything that is known beyond the review itself.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// By name.
    pub namespaces: HashMap<String, NamespaceFacts>,
    /// By name.
    pub runtime_classes: HashMap<String, RuntimeClassFacts>,
    /// By name.
    pub nodes: Nodes,
    /// By the image's name as pods write it.
    pub images: HashMap<String, ImageFacts>,
    /// The labels of pods that are known to be for Windows, by namespace.
    ///
    /// `scan` alone knows any: it sees all pods anyway. To watch them would be to be sent every pod of the cluster,
    /// and each change of its status, since neither metadata nor a field selector tells which are for Windows; and
    /// only rules for Services ask, which are off by default. At admission Services are for Windows by annotation or
    /// by the label of their namespace.
    pub windows_pods: HashMap<String, HashSet<BTreeMap<String, String>>>,
}

impl Facts {
    /// As if all namespaces with a mode were in mode `enforce`, but those that are off.
    pub fn enforce_everywhere(&mut self) {
        let modes = self.namespaces.values_mut();
        for mode in modes.filter_map(|namespace| namespace.mode.as_mut()) {
            if *mode != Mode::Off {
                *mode = Mode::Enforce;
            }
        }
    }
}

/// What the labels of a namespace say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamespaceFacts {
    /// `transom.dev/mode`
    pub mode: Option<Mode>,
    /// `transom.dev/os`
    pub os: Option<Os>,
    /// `transom.dev/set-pod-os`: `always` or `never`.
    pub set_pod_os: Option<bool>,
    /// `transom.dev/linux-guard`: `true` or `false`.
    pub linux_guard: Option<bool>,
    /// Pod Security is enforced here at a version before v1.25, which does not know `spec.os`.
    pub old_pod_security: bool,
}

/// Our own labels of namespaces, and the values that mean something.
const LABELS: [(&str, &str); 4] = [
    ("transom.dev/mode", "enforce, warn, audit, off"),
    ("transom.dev/os", "windows, linux"),
    ("transom.dev/set-pod-os", "always, never"),
    ("transom.dev/linux-guard", "true, false"),
];

impl NamespaceFacts {
    /// What is wrong with a label, if it is one of ours and means nothing.
    pub fn flaw(key: &str, value: &str) -> Option<String> {
        if !key.starts_with("transom.dev/") {
            return None;
        }
        let Some((_, values)) = LABELS.iter().find(|(known, _)| *known == key) else {
            let known = LABELS.map(|(key, _)| key).join(", ");
            return Some(format!("there is no label {key}; there are {known}"));
        };
        let means_nothing = Self::from_labels([(key, value)]) == Self::default();
        means_nothing.then(|| format!("{key} cannot be {value:?}; it is one of {values}"))
    }

    /// Reads the labels of a namespace. Values that mean nothing are as good as absent.
    pub fn from_labels<'l>(labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> Self {
        let mut facts = Self::default();
        for (key, value) in labels {
            match key {
                "transom.dev/mode" => facts.mode = Mode::parse(value),
                "transom.dev/os" => facts.os = Os::parse(value),
                "transom.dev/set-pod-os" => {
                    facts.set_pod_os = match value {
                        "always" => Some(true),
                        "never" => Some(false),
                        _ => None,
                    };
                }
                "transom.dev/linux-guard" => facts.linux_guard = value.parse().ok(),
                "pod-security.kubernetes.io/enforce-version" => {
                    facts.old_pod_security = minor_version(value).is_some_and(|minor| minor < 25);
                }
                _ => {}
            }
        }
        facts
    }
}

impl NamespaceFacts {
    /// These labels, and the other ones where these say nothing.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            mode: self.mode.or(other.mode),
            os: self.os.or(other.os),
            set_pod_os: self.set_pod_os.or(other.set_pod_os),
            linux_guard: self.linux_guard.or(other.linux_guard),
            old_pod_security: self.old_pod_security || other.old_pod_security,
        }
    }
}

/// `v1.24` → 24; `latest` is no number.
fn minor_version(version: &str) -> Option<u32> {
    version.strip_prefix("v1.")?.parse().ok()
}

/// What a RuntimeClass schedules its pods to, and how it isolates them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeClassFacts {
    /// Its `scheduling.nodeSelector`.
    pub node_selector: BTreeMap<String, String>,
    /// Its handler isolates pods with Hyper-V.
    pub hyper_v: bool,
}

impl RuntimeClassFacts {
    /// Of a RuntimeClass with this handler and `scheduling.nodeSelector`. A handler is a name in
    /// the configuration of the nodes' containerd, which calls those for Hyper-V isolation
    /// `runhcs-wcow-hypervisor`, mostly followed by a build.
    pub fn new(handler: &str, node_selector: BTreeMap<String, String>) -> Self {
        Self {
            node_selector,
            hyper_v: handler.contains("hyperv") || handler.contains("hyper-v"),
        }
    }
}

/// What a registry says of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageFacts {
    /// One for each manifest of an index, one for a plain image.
    pub platforms: Vec<Platform>,
}

/// A platform of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Platform {
    /// `None`: neither Linux nor Windows.
    pub os: Option<Os>,
    /// The Windows build without its revision, such as `10.0.17763`.
    pub build: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_flaws_in_our_own_labels() {
        for (key, values) in LABELS {
            for value in values.split(", ") {
                assert_eq!(NamespaceFacts::flaw(key, value), None, "{key}={value}");
            }
            let flaw = NamespaceFacts::flaw(key, "Windows").unwrap();
            assert!(flaw.contains(key) && flaw.contains(values), "{flaw}");
        }
        let flaw = NamespaceFacts::flaw("transom.dev/so", "windows").unwrap();
        for (key, _) in LABELS {
            assert!(flaw.contains(key), "{flaw}");
        }
        assert_eq!(NamespaceFacts::flaw("team", "shop"), None);
    }

    #[test]
    fn reads_labels_of_namespaces() {
        let facts = NamespaceFacts::from_labels([
            ("transom.dev/mode", "audit"),
            ("transom.dev/os", "windows"),
            ("transom.dev/set-pod-os", "never"),
            ("transom.dev/linux-guard", "true"),
            ("pod-security.kubernetes.io/enforce-version", "v1.24"),
            ("team", "shop"),
        ]);
        assert_eq!(
            facts,
            NamespaceFacts {
                mode: Some(Mode::Audit),
                os: Some(Os::Windows),
                set_pod_os: Some(false),
                linux_guard: Some(true),
                old_pod_security: true,
            }
        );
        let facts = NamespaceFacts::from_labels([
            ("transom.dev/mode", "enforced"),
            ("pod-security.kubernetes.io/enforce-version", "latest"),
        ]);
        assert_eq!(facts, NamespaceFacts::default());
    }
}
