//! The configuration file as it is written: its keys, their defaults, and what can be wrong.
//!
//! Not here: what is made of it (`policy`), and reading the file (the shell does).

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use crate::os::{OS_LABEL, Source};

/// What `apiVersion` has to be.
pub const API_VERSION: &str = "transom.dev/v1alpha1";
/// What `kind` has to be.
pub const KIND: &str = "Config";

/// The configuration file, as written. Every key is optional but the first two.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// [`API_VERSION`].
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// Which default actions are in force.
    #[serde(default)]
    pub profile: ProfileName,
    /// The mode of namespaces that nobody gave another.
    #[serde(default)]
    pub mode: ModeName,
    /// By name. The namespace's own label wins.
    #[serde(default)]
    #[serde(deserialize_with = "given")]
    pub namespaces: BTreeMap<String, NamespaceConfig>,
    /// Actions by code or name of the rule.
    #[serde(default)]
    #[serde(deserialize_with = "given")]
    pub rules: BTreeMap<String, ActionName>,
    /// Rules, by code or name, that an annotation `transom.dev/ignore.CODE` may silence.
    #[serde(default)]
    #[serde(deserialize_with = "given")]
    pub ignorable: Vec<String>,
    /// Who is never judged.
    #[serde(default)]
    pub exemptions: ExemptionConfig,
    /// What findings in objects come to that a controller made for an owner which was judged.
    #[serde(default)]
    pub owned_objects: OwnedObjects,
    /// How Windows pods are known.
    #[serde(default)]
    pub evidence: EvidenceConfig,
    /// What Windows pods are given.
    #[serde(default)]
    pub placement: PlacementConfig,
    /// Whether pods without any evidence of Windows are kept on Linux nodes; a namespace's label
    /// `transom.dev/linux-guard` wins.
    #[serde(default)]
    pub linux_guard: bool,
    /// Where HostProcess containers may run, as far as rule WIN117 is on.
    #[serde(default)]
    pub host_process: HostProcessConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            profile: ProfileName::default(),
            mode: ModeName::default(),
            namespaces: BTreeMap::new(),
            rules: BTreeMap::new(),
            ignorable: Vec::new(),
            exemptions: ExemptionConfig::default(),
            owned_objects: OwnedObjects::default(),
            evidence: EvidenceConfig::default(),
            placement: PlacementConfig::default(),
            linux_guard: false,
            host_process: HostProcessConfig::default(),
        }
    }
}

/// `current` or `kep-116`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // the names are the values
pub enum ProfileName {
    #[default]
    Current,
    #[serde(rename = "kep-116")]
    Kep116,
}

/// `off`, `audit`, `warn` or `enforce`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // the names are the values
pub enum ModeName {
    Off,
    Audit,
    Warn,
    #[default]
    Enforce,
}

/// `off`, `warn`, `repair` or `deny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // the names are the values
pub enum ActionName {
    Off,
    Warn,
    Repair,
    Deny,
}

/// Settings of one namespace.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamespaceConfig {
    /// Its mode.
    pub mode: ModeName,
}

/// Who is never judged.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExemptionConfig {
    /// By name.
    #[serde(deserialize_with = "given")]
    pub namespaces: Vec<String>,
    /// By the name that the API server authenticated.
    #[serde(deserialize_with = "given")]
    pub users: Vec<String>,
    /// Whoever is in one of these groups.
    #[serde(deserialize_with = "given")]
    pub groups: Vec<String>,
    /// Pods of these runtime classes.
    #[serde(deserialize_with = "given")]
    pub runtime_classes: Vec<String>,
}

impl Default for ExemptionConfig {
    fn default() -> Self {
        Self {
            namespaces: vec!["kube-system".to_owned()],
            users: Vec::new(),
            groups: Vec::new(),
            runtime_classes: Vec::new(),
        }
    }
}

/// `warn` or `enforce`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // the names are the values
pub enum OwnedObjects {
    #[default]
    Warn,
    Enforce,
}

/// How Windows pods are known.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EvidenceConfig {
    /// By the names of their images.
    pub images: ImageConfig,
    /// Hints that make a pod a Windows pod by themselves.
    #[serde(deserialize_with = "given")]
    pub acting: Vec<Hint>,
}

/// A hint at Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hint {
    /// An empty `windowsOptions`.
    WindowsOptions,
    /// Preferred node affinity.
    PreferredAffinity,
    /// The pod's label `kubernetes.io/os`.
    PodLabel,
    /// An image's name of the class `hint`.
    ImageHint,
    /// Paths and programs that only Windows has.
    WindowsText,
    /// A toleration that names a Windows taint.
    Toleration,
}

impl Hint {
    pub(crate) fn source(self) -> Source {
        match self {
            Self::WindowsOptions => Source::WindowsOptions,
            Self::PreferredAffinity => Source::PreferredAffinity,
            Self::PodLabel => Source::PodLabel,
            Self::ImageHint => Source::ImageHint,
            Self::WindowsText => Source::WindowsText,
            Self::Toleration => Source::Toleration,
        }
    }
}

/// Windows images by name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImageConfig {
    /// No Linux node can run these.
    pub certain: CertainImages,
    /// Probably for Windows.
    pub hint: HintImages,
}

/// Images that no Linux node can run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CertainImages {
    /// These repositories and everything below them.
    #[serde(deserialize_with = "given")]
    pub repositories: Vec<String>,
    /// Tags that contain one of these.
    #[serde(deserialize_with = "given")]
    pub tags: Vec<String>,
}

impl Default for CertainImages {
    fn default() -> Self {
        Self {
            repositories: strings(&[
                "mcr.microsoft.com/windows",
                "mcr.microsoft.com/dotnet/framework",
            ]),
            tags: strings(&[
                "windowsservercore",
                "nanoserver",
                "ltsc2019",
                "ltsc2022",
                "ltsc2025",
            ]),
        }
    }
}

/// Images that are probably for Windows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HintImages {
    /// Repositories with a word that starts with one of these.
    #[serde(deserialize_with = "given")]
    pub words: Vec<String>,
    /// Tags with one of these among their words (split at `-`, `_`, `.`).
    #[serde(deserialize_with = "given")]
    pub tags: Vec<String>,
}

impl Default for HintImages {
    fn default() -> Self {
        Self {
            words: strings(&["windows", "iis"]),
            tags: strings(&["1809", "1903", "1909", "20H2"]),
        }
    }
}

/// A list or map that is there: `key:` with nothing behind it would silently empty a default.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<T, D::Error> {
    Option::deserialize(value)?.ok_or_else(|| {
        D::Error::custom("nothing is written here: write [] or {} for none, or leave the key out")
    })
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

/// What Windows pods are given.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PlacementConfig {
    /// The key of the node selector.
    pub os_label_key: String,
    /// Added unless they are there in one form or another.
    #[serde(deserialize_with = "given")]
    pub tolerations: Vec<TolerationConfig>,
    /// Whether `spec.os` is set; a namespace's label `transom.dev/set-pod-os` wins.
    #[serde(rename = "setPodOS")]
    pub set_pod_os: SetPodOs,
    /// Whether fields are taken out that the API server refuses beside os=windows.
    pub repair: bool,
}

impl Default for PlacementConfig {
    fn default() -> Self {
        Self {
            os_label_key: OS_LABEL.to_owned(),
            tolerations: vec![TolerationConfig::default()],
            set_pod_os: SetPodOs::default(),
            repair: true,
        }
    }
}

/// `always` or `never`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // the names are the values
pub enum SetPodOs {
    #[default]
    Always,
    Never,
}

/// A toleration for Windows pods.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TolerationConfig {
    /// The taint's key.
    pub key: String,
    /// `Equal` or `Exists`.
    #[serde(default)]
    pub operator: OperatorName,
    /// The taint's value; none with `Exists`.
    #[serde(default)]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule`, `NoExecute`, or empty for all.
    #[serde(default)]
    pub effect: String,
    /// Only for pods of these Windows builds (`10.0.17763`) and of unknown ones.
    #[serde(default)]
    #[serde(deserialize_with = "given")]
    pub builds: Vec<String>,
}

/// `os=Win1809:NoSchedule`, the taint of KEP-116.
impl Default for TolerationConfig {
    fn default() -> Self {
        Self {
            key: "os".to_owned(),
            operator: OperatorName::Equal,
            value: "Win1809".to_owned(),
            effect: "NoSchedule".to_owned(),
            builds: Vec::new(),
        }
    }
}

/// `Equal` or `Exists`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[allow(missing_docs)] // the names are the values
pub enum OperatorName {
    #[default]
    Equal,
    Exists,
}

/// Where HostProcess containers may run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HostProcessConfig {
    /// By name.
    #[serde(deserialize_with = "given")]
    pub namespaces: Vec<String>,
}

/// What is wrong with a configuration, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not YAML, an unknown key, or a value of the wrong type.
    #[error("{0}")]
    Syntax(String),
    /// A value that cannot be.
    #[error("{path}: {problem}")]
    Value {
        /// The key, as in `placement.tolerations[0].effect`.
        path: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}
