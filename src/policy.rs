//! The configuration in force, resolved from what is written (`config`). It cannot be invalid:
//! whatever can be wrong is said when it is made.
//!
//! Not here: reading the file (the shell does), and what the settings do.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::config::{
    API_VERSION, ActionName, Config, ConfigError, Hint, ImageConfig, KIND, ModeName, OperatorName,
    OwnedObjects, PlacementConfig, ProfileName, SetPodOs, TolerationConfig,
};
use crate::mode::Mode;
use crate::object::trie::Trie;
use crate::os::image::ImagePatterns;
use crate::os::{BUILD_LABEL, EvidencePolicy, OS_LABEL, Os, WINDOWS_TAINTS};
use crate::placement::{Operator, PlacementPolicy, Selector, Toleration};
use crate::review::fields;
use crate::rules::{self, Action, Profile, Rule, RuleId};

/// The configuration in force: resolved, typed, valid.
#[derive(Clone, Debug)]
pub struct Policy {
    /// What is read of a review.
    pub(crate) fields: Trie,
    /// Some rule for Services is on.
    pub(crate) services: bool,
    pub(crate) mode: Mode,
    pub(crate) namespaces: HashMap<String, Mode>,
    /// For each rule, the action of each tier.
    actions: Vec<Vec<Action>>,
    /// Rules that an object may silence.
    ignorable: HashSet<RuleId>,
    pub(crate) exempt_namespaces: HashSet<String>,
    pub(crate) exempt_users: HashSet<String>,
    pub(crate) exempt_groups: HashSet<String>,
    pub(crate) exempt_runtime_classes: HashSet<String>,
    pub(crate) enforce_owned: bool,
    pub(crate) evidence: EvidencePolicy,
    pub(crate) placement: PlacementPolicy,
    pub(crate) linux_guard: bool,
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
        let config: Config = serde_saphyr::from_str(yaml).map_err(|e| syntax(yaml, &e))?;
        Self::try_from(config)
    }

    /// What is done about this tier of a rule.
    pub(crate) fn action(&self, rule: RuleId, tier: u8) -> Action {
        self.actions[usize::from(rule)][usize::from(tier)]
    }

    /// Whether an object may silence this rule.
    pub(crate) fn is_ignorable(&self, rule: RuleId) -> bool {
        self.ignorable.contains(&rule)
    }

    /// What is done about each tier of a rule.
    pub fn actions(&self, rule: &Rule) -> &[Action] {
        rules::id(rule.code).map_or(&[], |id| &self.actions[usize::from(id)])
    }
}

/// What the YAML library says, without its advice to programmers.
fn syntax(yaml: &str, error: &serde_saphyr::Error) -> ConfigError {
    if yaml.trim().is_empty() {
        let start = format!("it starts with apiVersion: {API_VERSION} and kind: {KIND}");
        return ConfigError::Syntax(format!("it is empty; {start}"));
    }
    let text = error
        .to_string()
        .replace(", set DuplicateKeyPolicy in Options if acceptable", "")
        .replace(
            "multiple YAML documents detected; use from_str_multiple or from_str_multiple_with_options",
            "a second YAML document; keep one",
        );
    ConfigError::Syntax(text)
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
        names(&config)?;
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
            ("exemptions.users", &config.exemptions.users),
            ("exemptions.groups", &config.exemptions.groups),
            (
                "exemptions.runtimeClasses",
                &config.exemptions.runtime_classes,
            ),
        ] {
            if let Some(i) = list.iter().position(String::is_empty) {
                return wrong(format!("{path}[{i}]"), "must not be empty");
            }
        }
        image_names(&images)?;
        let actions = actions(profile, &config.rules)?;
        let services = rules::of_services().any(|rule| !is_silent(&actions, rule));
        Ok(Self {
            fields: fields::trie(
                |rule| is_silent(&actions, rule),
                !config.exemptions.groups.is_empty(),
                services,
            ),
            services,
            mode: config.mode.into(),
            namespaces: config
                .namespaces
                .into_iter()
                .map(|(name, namespace)| (name, namespace.mode.into()))
                .collect(),
            actions,
            ignorable: ignorable(&config.ignorable)?,
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
                os_label_key: placement.windows.key.clone(),
                windows_taints,
            },
            placement,
            linux_guard: config.linux_guard,
            host_process_namespaces: config.host_process.namespaces.into_iter().collect(),
        })
    }
}

fn wrong<T>(path: impl Into<String>, problem: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError::Value {
        path: path.into(),
        problem: problem.into(),
    })
}

/// Names of namespaces are taken to the letter: a pattern would exempt nobody.
fn names(config: &Config) -> Result<(), ConfigError> {
    let exempt = config.exemptions.namespaces.iter().enumerate();
    let exempt = exempt.map(|(i, name)| (format!("exemptions.namespaces[{i}]"), name));
    let modes = config.namespaces.keys();
    let modes = modes.map(|name| (format!("namespaces.{name}"), name));
    let host_process = config.host_process.namespaces.iter().enumerate();
    let host_process = host_process.map(|(i, name)| (format!("hostProcess.namespaces[{i}]"), name));
    for (path, name) in exempt.chain(modes).chain(host_process) {
        if !is_domain_label(name) || name.len() > 63 {
            let problem =
                format!("{name:?} is not the name of a namespace; patterns are not known");
            return wrong(path, problem);
        }
    }
    Ok(())
}

/// Patterns of images that could never match are mistakes.
fn image_names(images: &ImageConfig) -> Result<(), ConfigError> {
    let path = |list: &str, i: usize| format!("evidence.images.{list}[{i}]");
    for (i, repository) in images.certain.repositories.iter().enumerate() {
        let last = repository.rsplit('/').next().unwrap_or_default();
        if last.is_empty() || last.contains([':', '@']) || repository.contains(['*', ' ']) {
            let problem =
                format!("{repository:?} is not a repository: no tag, no pattern, no / at the end");
            return wrong(path("certain.repositories", i), problem);
        }
    }
    let is_tag = |tag: &str| {
        tag.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    for (i, tag) in images.certain.tags.iter().enumerate() {
        if !is_tag(tag) {
            return wrong(
                path("certain.tags", i),
                format!("{tag:?} cannot be part of a tag"),
            );
        }
    }
    for (i, tag) in images.hint.tags.iter().enumerate() {
        if !tag.bytes().all(|b| b.is_ascii_alphanumeric()) {
            let problem = format!("{tag:?} is not one word; tags are split at -, _ and .");
            return wrong(path("hint.tags", i), problem);
        }
    }
    for (i, word) in images.hint.words.iter().enumerate() {
        if !word
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_./".contains(&b))
        {
            let problem =
                format!("{word:?} cannot be part of a repository, which is in lower case");
            return wrong(path("hint.words", i), problem);
        }
    }
    Ok(())
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

/// The rule of this code or name.
fn find(path: &str, name: &str) -> Result<(&'static Rule, RuleId), ConfigError> {
    match Rule::find(name).and_then(|rule| Some((rule, rules::id(rule.code)?))) {
        Some(found) => Ok(found),
        None => wrong(
            path,
            "there is no such rule; use a code such as WIN301 or a name such as sub-path",
        ),
    }
}

fn ignorable(names: &[String]) -> Result<HashSet<RuleId>, ConfigError> {
    let mut ids = HashSet::new();
    for (i, name) in names.iter().enumerate() {
        let path = format!("ignorable[{i}]");
        let (rule, id) = find(&path, name)?;
        if !ids.insert(id) {
            return wrong(path, format!("{} stands there twice", rule.code));
        }
    }
    Ok(ids)
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
        let (rule, id) = find(&path, name)?;
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
    if config.os_label_key == BUILD_LABEL {
        let problem = format!("is the label of Windows builds; use {OS_LABEL}");
        return wrong("placement.osLabelKey", problem);
    }
    for (i, toleration) in config.tolerations.iter().enumerate() {
        if config.tolerations[..i].contains(toleration) {
            let path = format!("placement.tolerations[{i}]");
            return wrong(path, "stands there twice");
        }
    }
    let tolerations = config.tolerations.into_iter().enumerate();
    let tolerations: Result<Vec<_>, _> = tolerations.map(|(i, t)| toleration(i, t)).collect();
    Ok(PlacementPolicy {
        windows: Selector::new(&config.os_label_key, Os::Windows),
        linux: Selector::new(OS_LABEL, Os::Linux),
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
    let is_domain = |prefix: &str| prefix.len() <= 253 && prefix.split('.').all(is_domain_label);
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_domain)
}

/// Lower-case letters, digits and `-`, which stands at neither end.
fn is_domain_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
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
