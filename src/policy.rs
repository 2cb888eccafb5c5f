//! The configuration in force, resolved from what is written (`config`). It cannot be invalid:
//! whatever can be wrong is said when it is made.
//!
//! Which values can be is in `policy/check.rs`. Not here: reading the file (the shell does), and
//! what the settings do.

mod actions;
mod advice;
mod check;
mod names;
mod show;

use std::collections::{HashMap, HashSet};

use crate::config::{
    ActionName, Config, ConfigError, EffectName, Hint, ModeName, OperatorName, OwnedObjects,
    PlacementConfig, ProfileName, SetPodOs, TolerationConfig, Written,
};
use crate::facts::Facts;
use crate::mode::Mode;
use crate::object::trie::Trie;
use crate::os::image::ImagePatterns;
use crate::os::{Build, Condition, EvidencePolicy, OS_LABEL, Os, WINDOWS_TAINTS};
use crate::placement::{Learning, Operator, PlacementPolicy, Selector, Toleration};
use crate::review::fields;
use crate::rules::{self, Action, Profile, Rule, RuleId};
use actions::Actions;

pub use advice::{advice, summary};
pub use show::Shown;

/// The configuration in force: resolved, typed, valid.
#[derive(Clone, Debug)]
pub struct Policy {
    /// What is read of a review.
    pub(crate) fields: Trie,
    /// Some rule for Services is on.
    pub(crate) services: bool,
    pub(crate) mode: Mode,
    pub(crate) namespaces: HashMap<String, Mode>,
    actions: Actions,
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
    pub(crate) linux_guard_selected_pods: bool,
    pub(crate) host_process_namespaces: HashSet<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self::resolve(Config::default())
    }
}

impl Policy {
    /// Reads a configuration file's text.
    ///
    /// # Errors
    /// Everything that is not understood to the letter: unknown keys, unknown rules, values that
    /// cannot be.
    pub fn parse(yaml: &str) -> Result<Self, ConfigError> {
        Self::of(&Written::read(yaml)?)
    }

    /// The CEL expression that lets through to the webhooks what may be of interest to them under this
    /// configuration, for `matchConditions`. What only namespaces, nodes or registries know is not in an object,
    /// and not in there.
    pub fn expression(&self, condition: Condition) -> String {
        condition.expression(&self.evidence)
    }

    /// What is made of a configuration that was read.
    ///
    /// # Errors
    /// Values that cannot be, all of them.
    pub fn of(written: &Written) -> Result<Self, ConfigError> {
        let problems = check::problems(&written.config);
        if problems.is_empty() {
            return Ok(Self::resolve(written.config.clone()));
        }
        Err(ConfigError::new(written.locate(problems)))
    }

    /// As if all namespaces were in mode `enforce`, but those that are off by name.
    pub fn enforce_everywhere(&mut self) {
        self.namespaces.retain(|_, mode| *mode == Mode::Off);
        self.mode = Mode::Enforce;
    }

    /// Places pods without tolerations.
    pub fn without_tolerations(&mut self) {
        self.placement.tolerations.clear();
    }

    /// As if nothing were exempt and no namespace in mode `off`.
    pub fn evaluate_exempt(&mut self) {
        self.exempt_namespaces.clear();
        self.exempt_users.clear();
        self.exempt_groups.clear();
        self.exempt_runtime_classes.clear();
        self.namespaces.retain(|_, mode| *mode != Mode::Off);
        if self.mode == Mode::Off {
            self.mode = Mode::Enforce;
        }
    }

    /// For a cluster with Linux and Windows nodes: Linux workloads that Windows nodes could receive are reported.
    pub fn assume_mixed_cluster(&mut self) {
        self.actions.turn_on(*rules::MISSING_OS_SELECTOR);
    }

    /// Whether tolerations are learnt from the nodes' taints.
    pub fn learns_taints(&self) -> bool {
        self.placement.learning.is_some()
    }

    /// The tolerations that Windows pods are given because of the nodes' taints, as kubectl writes taints.
    pub fn learnt(&self, facts: &Facts) -> Vec<String> {
        let shared = facts.nodes.shared().iter();
        let learnt = shared.filter(|toleration| self.placement.learns(toleration));
        learnt.map(Toleration::taint).collect()
    }

    /// What is done about this tier of a rule.
    pub(crate) fn action(&self, rule: RuleId, tier: u8) -> Action {
        self.actions.get(rule, tier)
    }

    /// Whether `ignoredFields: warn` made a warning of this tier of a rule. The API server still
    /// rejects the field when `spec.os.name` is `windows`.
    pub(crate) fn is_lowered(&self, rule: RuleId, tier: u8) -> bool {
        self.actions.is_lowered(rule, tier)
    }

    /// Whether an object may silence this rule.
    pub(crate) fn is_ignorable(&self, rule: RuleId) -> bool {
        self.ignorable.contains(&rule)
    }

    /// What is done about each tier of a rule.
    pub fn actions(&self, rule: &Rule) -> &[Action] {
        rules::id(rule.code).map_or(&[], |id| &self.actions.all[usize::from(id)])
    }

    /// Of a configuration without problems.
    fn resolve(config: Config) -> Self {
        let actions = Actions::of(&config);
        let placement = placement(config.placement);
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
        let services = rules::of_services().any(|rule| !actions.is_silent(rule));
        Self {
            fields: fields::trie(
                |rule| actions.is_silent(rule),
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
            ignorable: config
                .ignorable
                .iter()
                .filter_map(|name| rules::find(name))
                .collect(),
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
                    linux_repositories: images.linux.repositories,
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
            linux_guard_selected_pods: config.linux_guard_selected_pods,
            host_process_namespaces: config.host_process.namespaces.into_iter().collect(),
        }
    }
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Current => Self::Current,
            ProfileName::Kep116 => Self::Kep116,
        }
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

impl From<Action> for ActionName {
    fn from(action: Action) -> Self {
        match action {
            Action::Off => Self::Off,
            Action::Warn => Self::Warn,
            Action::Repair => Self::Repair,
            Action::Deny => Self::Deny,
        }
    }
}

fn placement(config: PlacementConfig) -> PlacementPolicy {
    PlacementPolicy {
        windows: Selector::new(&config.os_label_key, Os::Windows),
        linux: Selector::new(OS_LABEL, Os::Linux),
        tolerations: config.tolerations.into_iter().map(toleration).collect(),
        learning: config
            .learn_taints
            .then(|| Learning::new(config.learn_taint_keys)),
        set_pod_os: config.set_pod_os == SetPodOs::Always,
        repair: config.repair,
    }
}

fn toleration(config: TolerationConfig) -> Toleration {
    let operator = match config.operator {
        OperatorName::Equal => Operator::Equal,
        OperatorName::Exists => Operator::Exists,
    };
    let effect = match config.effect {
        EffectName::NoSchedule => "NoSchedule",
        EffectName::PreferNoSchedule => "PreferNoSchedule",
        EffectName::NoExecute => "NoExecute",
        EffectName::Any => "",
    };
    // They are valid, which `check` has seen to.
    let builds = config.builds.iter().filter_map(|build| Build::parse(build));
    let builds = builds.collect();
    Toleration::new(config.key, operator, config.value, effect, builds)
}
