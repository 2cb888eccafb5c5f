//! The configuration file: [`Config`] as it is written, [`Policy`] as it is used.
//!
//! A policy cannot be invalid: whatever can be wrong is said when the configuration is read. Not
//! here: reading the file (the shell does), and what the settings do.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::decision::Mode;
use crate::field::write_token;
use crate::object::trie::Trie;
use crate::os::image::ImagePatterns;
use crate::os::{EvidencePolicy, OS_LABEL, Source, WINDOWS_TAINTS};
use crate::placement::{Operator, PlacementPolicy, Toleration};
use crate::review;
use crate::rules::{self, Action, Profile, Rule, RuleId};

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
    pub namespaces: BTreeMap<String, NamespaceConfig>,
    /// Actions by code or name of the rule.
    #[serde(default)]
    pub rules: BTreeMap<String, ActionName>,
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
            exemptions: ExemptionConfig::default(),
            owned_objects: OwnedObjects::default(),
            evidence: EvidenceConfig::default(),
            placement: PlacementConfig::default(),
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
    pub namespaces: Vec<String>,
    /// By the name that the API server authenticated.
    pub users: Vec<String>,
    /// Whoever is in one of these groups.
    pub groups: Vec<String>,
    /// Pods of these runtime classes.
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
    fn source(self) -> Source {
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
    pub repositories: Vec<String>,
    /// Tags that contain one of these.
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
    pub words: Vec<String>,
    /// Tags with one of these among their words (split at `-`, `_`, `.`).
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

fn wrong<T>(path: impl Into<String>, problem: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError::Value {
        path: path.into(),
        problem: problem.into(),
    })
}

/// The configuration in force: resolved, typed, valid.
#[derive(Clone, Debug)]
pub struct Policy {
    /// What is read of a review.
    pub(crate) fields: Trie,
    pub(crate) mode: Mode,
    pub(crate) namespaces: HashMap<String, Mode>,
    /// For each rule, the action of each tier.
    actions: Vec<Vec<Action>>,
    pub(crate) exempt_namespaces: HashSet<String>,
    pub(crate) exempt_users: HashSet<String>,
    pub(crate) exempt_groups: HashSet<String>,
    pub(crate) exempt_runtime_classes: HashSet<String>,
    pub(crate) enforce_owned: bool,
    pub(crate) evidence: EvidencePolicy,
    pub(crate) placement: PlacementPolicy,
    pub(crate) host_process_namespaces: HashSet<String>,
}

impl Default for Policy {
    fn default() -> Self {
        match Self::try_from(Config::default()) {
            Ok(policy) => policy,
            // A test resolves the default configuration.
            Err(error) => unreachable!("the default configuration is valid: {error}"),
        }
    }
}

impl Policy {
    /// Reads a configuration file's text.
    ///
    /// # Errors
    /// Everything that is not understood to the letter: unknown keys, unknown rules, values that
    /// cannot be.
    pub fn parse(yaml: &str) -> Result<Self, ConfigError> {
        let config: Config =
            serde_saphyr::from_str(yaml).map_err(|e| ConfigError::Syntax(e.to_string()))?;
        Self::try_from(config)
    }

    /// What is done about this tier of a rule.
    pub(crate) fn action(&self, rule: RuleId, tier: u8) -> Action {
        self.actions[usize::from(rule)][usize::from(tier)]
    }

    /// What is done about each tier of a rule.
    pub fn actions(&self, rule: &Rule) -> &[Action] {
        rules::id(rule.code).map_or(&[], |id| &self.actions[usize::from(id)])
    }
}

impl TryFrom<Config> for Policy {
    type Error = ConfigError;

    fn try_from(config: Config) -> Result<Self, ConfigError> {
        if config.api_version != API_VERSION {
            let problem = format!("must be {API_VERSION}, not {:?}", config.api_version);
            return wrong("apiVersion", problem);
        }
        if config.kind != KIND {
            return wrong("kind", format!("must be {KIND}, not {:?}", config.kind));
        }
        let profile = match config.profile {
            ProfileName::Current => Profile::Current,
            ProfileName::Kep116 => Profile::Kep116,
        };
        let placement = placement(config.placement)?;
        let own_taints = placement
            .tolerations
            .iter()
            .map(|t| (t.key.as_str(), t.value.as_str()));
        let windows_taints = WINDOWS_TAINTS
            .iter()
            .copied()
            .chain(own_taints)
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let images = config.evidence.images;
        for (path, list) in [
            (
                "evidence.images.certain.repositories",
                &images.certain.repositories,
            ),
            ("evidence.images.certain.tags", &images.certain.tags),
            ("evidence.images.hint.words", &images.hint.words),
            ("evidence.images.hint.tags", &images.hint.tags),
            ("exemptions.namespaces", &config.exemptions.namespaces),
            ("exemptions.users", &config.exemptions.users),
            ("exemptions.groups", &config.exemptions.groups),
            (
                "exemptions.runtimeClasses",
                &config.exemptions.runtime_classes,
            ),
            ("hostProcess.namespaces", &config.host_process.namespaces),
        ] {
            if let Some(i) = list.iter().position(String::is_empty) {
                return wrong(format!("{path}[{i}]"), "must not be empty");
            }
        }
        let actions = actions(profile, &config.rules)?;
        Ok(Self {
            fields: review::trie(
                |rule| is_silent(&actions, rule),
                !config.exemptions.groups.is_empty(),
            ),
            mode: config.mode.into(),
            namespaces: config
                .namespaces
                .into_iter()
                .map(|(name, namespace)| (name, namespace.mode.into()))
                .collect(),
            actions,
            exempt_namespaces: config.exemptions.namespaces.into_iter().collect(),
            exempt_users: config.exemptions.users.into_iter().collect(),
            exempt_groups: config.exemptions.groups.into_iter().collect(),
            exempt_runtime_classes: config.exemptions.runtime_classes.into_iter().collect(),
            enforce_owned: config.owned_objects == OwnedObjects::Enforce,
            evidence: EvidencePolicy {
                images: ImagePatterns {
                    certain_repositories: images.certain.repositories,
                    certain_tags: images.certain.tags,
                    hint_words: images.hint.words,
                    hint_tags: images.hint.tags,
                },
                acting: config
                    .evidence
                    .acting
                    .into_iter()
                    .map(Hint::source)
                    .collect(),
                os_label_key: placement.os_label_key.clone(),
                windows_taints,
            },
            placement,
            host_process_namespaces: config.host_process.namespaces.into_iter().collect(),
        })
    }
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Off => Self::Off,
            ModeName::Audit => Self::Audit,
            ModeName::Warn => Self::Warn,
            ModeName::Enforce => Self::Enforce,
        }
    }
}

impl From<ActionName> for Action {
    fn from(name: ActionName) -> Self {
        match name {
            ActionName::Off => Self::Off,
            ActionName::Warn => Self::Warn,
            ActionName::Repair => Self::Repair,
            ActionName::Deny => Self::Deny,
        }
    }
}

/// Whether nothing comes of any finding of this rule.
fn is_silent(actions: &[Vec<Action>], rule: RuleId) -> bool {
    actions[usize::from(rule)]
        .iter()
        .all(|action| *action == Action::Off)
}

/// The actions of all tiers. An action that the configuration sets becomes that of the first
/// tier, and no other tier exceeds it.
fn actions(
    profile: Profile,
    set: &BTreeMap<String, ActionName>,
) -> Result<Vec<Vec<Action>>, ConfigError> {
    let mut actions: Vec<Vec<Action>> = rules::all()
        .map(|rule| rule.tiers.iter().map(|tier| tier.action(profile)).collect())
        .collect();
    let mut named = HashMap::new();
    for (name, action) in set {
        let action = Action::from(*action);
        let path = format!("rules.{name}");
        let Some((rule, id)) = Rule::find(name).and_then(|r| Some((r, rules::id(r.code)?))) else {
            return wrong(
                path,
                "there is no such rule; use a code such as WIN301 or a name such as sub-path",
            );
        };
        if let Some(other) = named.insert(rule.code, name) {
            return wrong(path, format!("the same rule as {other}; keep one of them"));
        }
        if action == Action::Repair && !rule.is_repairable() {
            let problem = "cannot be repair: only fields that the API server refuses beside \
                 spec.os.name: windows are taken out; use deny, warn or off";
            return wrong(path, problem);
        }
        let mut tiers = actions[usize::from(id)].iter_mut();
        if let Some(first) = tiers.next() {
            *first = action;
        }
        tiers.for_each(|tier| *tier = action.min(*tier));
    }
    Ok(actions)
}

fn placement(config: PlacementConfig) -> Result<PlacementPolicy, ConfigError> {
    if !is_label_key(&config.os_label_key) {
        return wrong(
            "placement.osLabelKey",
            format!(
                "{:?} is not a label key; the usual one is {OS_LABEL}",
                config.os_label_key
            ),
        );
    }
    if config.os_label_key == crate::os::BETA_OS_LABEL {
        return wrong(
            "placement.osLabelKey",
            format!("is the label of long ago; use {OS_LABEL}"),
        );
    }
    let tolerations = config.tolerations.into_iter().enumerate();
    let tolerations: Result<Vec<_>, _> = tolerations.map(|(i, t)| toleration(i, t)).collect();
    let mut selector_pointer = "/nodeSelector/".to_owned();
    // Writing to memory does not fail.
    let _ = write_token(&config.os_label_key, &mut selector_pointer);
    Ok(PlacementPolicy {
        selector: json!({ config.os_label_key.as_str(): "windows" }).to_string(),
        selector_pointer,
        os_label_key: config.os_label_key,
        tolerations: tolerations?,
        set_pod_os: config.set_pod_os == SetPodOs::Always,
        repair: config.repair,
    })
}

fn toleration(i: usize, config: TolerationConfig) -> Result<Toleration, ConfigError> {
    let path = |field: &str| format!("placement.tolerations[{i}].{field}");
    if !is_label_key(&config.key) {
        return wrong(
            path("key"),
            format!("{:?} is not the key of a taint", config.key),
        );
    }
    let operator = match config.operator {
        OperatorName::Equal => Operator::Equal,
        OperatorName::Exists => Operator::Exists,
    };
    if operator == Operator::Exists && !config.value.is_empty() {
        return wrong(path("value"), "must be empty with operator Exists");
    }
    if !is_label_value(&config.value) {
        return wrong(
            path("value"),
            format!("{:?} is not the value of a taint", config.value),
        );
    }
    if !["", "NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&config.effect.as_str()) {
        let problem = format!(
            "{:?} is not an effect; use NoSchedule, PreferNoSchedule or NoExecute",
            config.effect
        );
        return wrong(path("effect"), problem);
    }
    for (j, build) in config.builds.iter().enumerate() {
        let number = build.strip_prefix("10.0.").unwrap_or_default();
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            let problem = format!("{build:?} is not a Windows build such as 10.0.17763");
            return wrong(path(&format!("builds[{j}]")), problem);
        }
    }
    Ok(Toleration {
        json: toleration_json(&config, operator),
        key: config.key,
        operator,
        value: config.value,
        effect: config.effect,
        builds: config.builds,
    })
}

/// The toleration as it is added: in the order of the API, without the fields that are empty.
/// Keys and values need no escapes, as they were checked.
fn toleration_json(config: &TolerationConfig, operator: Operator) -> String {
    let fields = [
        ("key", config.key.as_str()),
        ("operator", operator.name()),
        ("value", &config.value),
        ("effect", &config.effect),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let fields: Vec<_> = fields
        .map(|(name, value)| format!("\"{name}\":\"{value}\""))
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// `example.com/name` or `name`: what Kubernetes calls a qualified name.
fn is_label_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_domain = |prefix: &str| {
        prefix.len() <= 253
            && prefix.split('.').all(|label| {
                !label.is_empty()
                    && !label.starts_with('-')
                    && !label.ends_with('-')
                    && label
                        .bytes()
                        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            })
    };
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_domain)
}

/// At most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_label_value(value: &str) -> bool {
    let ends = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    value.len() <= 63
        && ends(value.bytes().next())
        && ends(value.bytes().next_back())
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}
