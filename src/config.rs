//! The configuration file as it is written: its keys, their defaults, and what may stand there.
//!
//! A new key is a field here and an entry in `examples/config.yaml`; the JSON Schema, the checks
//! and `transom config show` follow from the field. Not here: what is made of it (`policy`), and
//! reading the file (the shell does).

mod check;
mod error;
mod schema;
mod written;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::os::{OS_LABEL, Source};

pub use error::{ConfigError, Problem};
pub use schema::schema;
pub use written::Written;

/// The configuration file, as written. Every key is optional but the first two.
// The schema asks for the first two keys; as fields they have the one value that they can have.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("required" = ["apiVersion", "kind"]))]
pub struct Config {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// What this file is.
    pub kind: Kind,
    /// Which default actions the rules have.
    pub profile: ProfileName,
    /// What comes of findings in namespaces that are not listed under namespaces.
    pub mode: ModeName,
    /// The mode of single namespaces, by name.
    #[schemars(extend("propertyNames" = schema::namespace()))]
    pub namespaces: BTreeMap<String, NamespaceConfig>,
    /// What happens to objects with fields that Windows ignores: the highest action of these
    /// cases. The profile kep-116 does not use it; an action under rules takes precedence.
    pub ignored_fields: IgnoredFields,
    /// What is done about what a rule finds, by the rule's code or name.
    #[schemars(schema_with = "schema::rules")]
    pub rules: BTreeMap<String, ActionName>,
    /// Rules, by code or name, that an annotation transom.dev/ignore.CODE of the object may
    /// silence.
    #[schemars(schema_with = "schema::rule_names")]
    pub ignorable: Vec<String>,
    /// Who is never judged.
    pub exemptions: ExemptionConfig,
    /// Findings in an object that a controller of the control plane made for an owner that is
    /// judged itself.
    pub owned_objects: OwnedObjects,
    /// How Windows pods are recognised, beyond what their own fields say.
    pub evidence: EvidenceConfig,
    /// What /mutate gives Windows pods.
    pub placement: PlacementConfig,
    /// Whether pods without any evidence of Windows are kept on Linux nodes.
    pub linux_guard: bool,
    /// Whether linuxGuard also covers pods that have a node selector or required node affinity, but none
    /// that names an operating system. Such a pod may select Windows nodes by a label of their pool.
    pub linux_guard_selected_pods: bool,
    /// HostProcess containers, as far as rule WIN117 is on.
    pub host_process: HostProcessConfig,
}

/// The version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[allow(missing_docs)] // the names are the values
pub enum ApiVersion {
    #[default]
    #[serde(rename = "transom.dev/v1alpha1")]
    V1Alpha1,
}

/// What the file is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[allow(missing_docs)] // the names are the values
pub enum Kind {
    #[default]
    Config,
}

/// Which default actions are in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileName {
    /// What is true of supported releases of Kubernetes and Windows Server.
    #[default]
    Current,
    /// KEP-116 to the letter: Kubernetes 1.14, Windows Server 2019, Docker.
    #[serde(rename = "kep-116")]
    Kep116,
}

/// What happens to objects with fields that Windows ignores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum IgnoredFields {
    /// Deny the object.
    #[default]
    Deny,
    /// Warn; deny only when spec.os.name is windows, since the API server rejects such an object.
    Warn,
    /// Remove the fields in /mutate and warn; where they cannot be removed, like warn.
    Repair,
}

impl IgnoredFields {
    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Repair => "repair",
        }
    }
}

/// How findings are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModeName {
    /// Do not look.
    Off,
    /// Tell metrics and the audit log; no warning, no patch.
    Audit,
    /// Warn instead of refusing; the patch adds node selector and tolerations only.
    Warn,
    /// Refuse, warn, and patch in full.
    #[default]
    Enforce,
}

/// What is done about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // the names are the values
pub enum ActionName {
    Off,
    Warn,
    Repair,
    Deny,
}

impl ActionName {
    /// All of them, in rising order.
    pub const ALL: [Self; 4] = [Self::Off, Self::Warn, Self::Repair, Self::Deny];
}

/// Settings of one namespace.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamespaceConfig {
    /// Its mode.
    pub mode: ModeName,
}

/// Who is never judged.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExemptionConfig {
    /// Every object in these namespaces. Whoever changes this list should keep kube-system.
    #[schemars(schema_with = "schema::namespaces")]
    pub namespaces: Vec<String>,
    /// Requests of these users, by the name that the API server authenticated.
    #[schemars(inner(length(min = 1)))]
    pub users: Vec<String>,
    /// Requests of whoever is in one of these groups.
    #[schemars(inner(length(min = 1)))]
    pub groups: Vec<String>,
    /// Pods, and templates of pods, of these runtime classes.
    #[schemars(inner(length(min = 1)))]
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

/// What findings in objects come to that were made for an owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OwnedObjects {
    /// Warn; workloads from before the installation go on running when they are rescheduled.
    #[default]
    Warn,
    /// As in any other object: for clusters where evidence of Windows is added to pods only, so that
    /// their templates are not evaluated.
    Enforce,
}

/// How Windows pods are known.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EvidenceConfig {
    /// By the names of images: REPOSITORY:TAG.
    pub images: ImageConfig,
    /// Hints that are enough to make a pod a Windows pod.
    pub acting: Vec<Hint>,
}

/// A hint at Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hint {
    /// An empty securityContext.windowsOptions.
    WindowsOptions,
    /// Preferred node affinity.
    PreferredAffinity,
    /// The pod's label kubernetes.io/os: windows.
    PodLabel,
    /// An image by the list evidence.images.hint.
    ImageHint,
    /// Paths and programs that only Windows has, such as C:\\ and powershell.exe.
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
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImageConfig {
    /// No Linux node can run these images, so one of them makes the pod a Windows pod.
    pub certain: CertainImages,
    /// These images are probably for Windows: alone, they lead to a warning (WIN604) and no more.
    pub hint: HintImages,
    /// These images run on Linux, whatever their names say: they are not evidence of Windows.
    pub linux: LinuxImages,
}

/// Images that no Linux node can run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CertainImages {
    /// These repositories and everything below them, also after the name of a mirror.
    #[schemars(inner(regex(pattern = schema::REPOSITORY)))]
    pub repositories: Vec<String>,
    /// Tags that contain one of these, anywhere.
    #[schemars(inner(regex(pattern = r"^[A-Za-z0-9_.-]+$")))]
    pub tags: Vec<String>,
}

impl Default for CertainImages {
    fn default() -> Self {
        Self {
            repositories: strings(&[
                "mcr.microsoft.com/windows",
                "mcr.microsoft.com/dotnet/framework",
                "mcr.microsoft.com/businesscentral",
                "nanoserver",
                "servercore",
                "windowsservercore",
            ]),
            tags: strings(&["nanoserver", "servercore", "ltsc20", "ltsc-20"]),
        }
    }
}

/// Images that are probably for Windows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HintImages {
    /// Repositories with a word that starts with one of these, apart from the registry's host.
    #[schemars(inner(regex(pattern = r"^[a-z0-9_./-]+$")))]
    pub words: Vec<String>,
    /// Tags with one of these among their words, alone or followed by a number. Words are split at -, _
    /// and dots.
    #[schemars(inner(regex(pattern = r"^[A-Za-z0-9]+$")))]
    pub tags: Vec<String>,
}

impl Default for HintImages {
    fn default() -> Self {
        Self {
            words: strings(&[
                "windows",
                "nanoserver",
                "servercore",
                "dotnet/framework",
                "iis",
                "sigwindowstools",
            ]),
            tags: strings(&["windows", "win", "hostprocess"]),
        }
    }
}

/// Images that run on Linux although their names look like Windows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LinuxImages {
    /// These repositories and everything below them, also after the name of a mirror.
    #[schemars(inner(regex(pattern = schema::REPOSITORY)))]
    pub repositories: Vec<String>,
}

/// Windows in a virtual machine: <https://github.com/dockur/windows>.
impl Default for LinuxImages {
    fn default() -> Self {
        Self {
            repositories: strings(&[
                "dockurr/windows",
                "dockurr/windows-arm",
                "dockur/windows",
                "dockur/windows-arm",
            ]),
        }
    }
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

/// What Windows pods are given.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PlacementConfig {
    /// The key of the node selector; its value is windows.
    #[schemars(regex(pattern = schema::LABEL_KEY))]
    pub os_label_key: String,
    /// Added unless the pod tolerates the same already; what the Windows nodes are tainted with.
    pub tolerations: Vec<TolerationConfig>,
    /// Whether the taints that all Windows nodes of the cluster share are tolerated as well, if their
    /// key or value names Windows. Needs --watch-nodes.
    pub learn_taints: bool,
    /// Keys of taints that are learnt whatever their names.
    #[schemars(inner(regex(pattern = schema::LABEL_KEY)))]
    pub learn_taint_keys: Vec<String>,
    /// Whether spec.os.name: windows is added.
    #[serde(rename = "setPodOS")]
    pub set_pod_os: SetPodOs,
    /// Whether fields are taken out that ask for nothing Windows lacks, but that the API server
    /// refuses beside spec.os.name: windows.
    pub repair: bool,
}

impl Default for PlacementConfig {
    fn default() -> Self {
        Self {
            os_label_key: OS_LABEL.to_owned(),
            tolerations: vec![TolerationConfig::default()],
            learn_taints: false,
            learn_taint_keys: Vec::new(),
            set_pod_os: SetPodOs::default(),
            repair: true,
        }
    }
}

/// Whether `spec.os` is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SetPodOs {
    /// Wherever the pod can pass the API server's validation with it.
    #[default]
    Always,
    /// Nowhere; for policies that do not know the field.
    Never,
}

/// A toleration for Windows pods.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TolerationConfig {
    /// The taint's key.
    #[schemars(regex(pattern = schema::LABEL_KEY))]
    pub key: String,
    /// Equal (key and value) or Exists (key alone, then the value must be empty).
    #[serde(default)]
    pub operator: OperatorName,
    /// The taint's value.
    #[serde(default)]
    #[schemars(regex(pattern = schema::LABEL_VALUE))]
    pub value: String,
    /// The taint's effect; empty for all three.
    #[serde(default)]
    pub effect: EffectName,
    /// Only for pods that can run on nodes of these Windows builds, and for pods whose build is unknown;
    /// empty for all.
    #[serde(default)]
    #[schemars(inner(regex(pattern = r"^10\.0\.[0-9]+$")))]
    pub builds: Vec<String>,
}

/// `os=Win1809:NoSchedule`, the taint of KEP-116.
impl Default for TolerationConfig {
    fn default() -> Self {
        Self {
            key: "os".to_owned(),
            operator: OperatorName::Equal,
            value: "Win1809".to_owned(),
            effect: EffectName::NoSchedule,
            builds: Vec::new(),
        }
    }
}

/// How a toleration matches a taint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum OperatorName {
    /// Key and value are the taint's.
    #[default]
    Equal,
    /// The key is the taint's; the value must be empty.
    Exists,
}

/// The effect of the taints that are tolerated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[allow(missing_docs)] // the names are the values
pub enum EffectName {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
    #[default]
    #[serde(rename = "")]
    Any,
}

/// Where HostProcess containers may run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HostProcessConfig {
    /// Where they may run.
    #[schemars(schema_with = "schema::namespaces")]
    pub namespaces: Vec<String>,
}
