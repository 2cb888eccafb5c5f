//! What was read of a cluster: each part of it, or why it was not.
//!
//! Filled by `command::doctor`, read by the checks.

use std::collections::BTreeMap;

use super::Unasked;
use super::objects::{
    Budget, Configuration, Deployment, EndpointSlice, Entry, KyvernoPolicy, Node, RuntimeClass,
    Service, ServiceReference, Version,
};
use super::selector::{Labels, is_part_of};
use crate::facts::{Facts, NodeFacts, Nodes, RuntimeClassFacts, Taint};
use crate::misplaced::{Host, Hosts, Misplaced};
use crate::os::Os;
use crate::policy::Policy;

/// What was read, or in a sentence why it was not.
pub type Asked<T> = Result<T, String>;

/// Something that has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are the kinds
pub enum Part {
    Version,
    Groups,
    MutatingWebhooks,
    ValidatingWebhooks,
    Namespaces,
    Nodes,
    RuntimeClasses,
    Service,
    EndpointSlices,
    Deployments,
    Budgets,
    ConfigMap,
    Pods,
    DaemonSets,
    KyvernoPolicies,
    Connection,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Version,
        Self::Groups,
        Self::MutatingWebhooks,
        Self::ValidatingWebhooks,
        Self::Namespaces,
        Self::Nodes,
        Self::RuntimeClasses,
        Self::Service,
        Self::EndpointSlices,
        Self::Deployments,
        Self::Budgets,
        Self::ConfigMap,
        Self::Pods,
        Self::DaemonSets,
        Self::KyvernoPolicies,
        Self::Connection,
    ];

    /// Its group and its resources in the API; nothing of what is no resource.
    #[must_use]
    pub fn resources(self) -> Option<(&'static str, &'static [&'static str])> {
        Some(match self {
            Self::Version | Self::Groups | Self::Connection => return None,
            Self::MutatingWebhooks => (
                "admissionregistration.k8s.io",
                &["mutatingwebhookconfigurations"],
            ),
            Self::ValidatingWebhooks => (
                "admissionregistration.k8s.io",
                &["validatingwebhookconfigurations"],
            ),
            Self::Namespaces => ("", &["namespaces"]),
            Self::Nodes => ("", &["nodes"]),
            Self::RuntimeClasses => ("node.k8s.io", &["runtimeclasses"]),
            Self::Service => ("", &["services"]),
            Self::EndpointSlices => ("discovery.k8s.io", &["endpointslices"]),
            Self::Deployments => ("apps", &["deployments"]),
            Self::Budgets => ("policy", &["poddisruptionbudgets"]),
            Self::ConfigMap => ("", &["configmaps"]),
            Self::Pods => ("", &["pods"]),
            Self::DaemonSets => ("apps", &["daemonsets"]),
            Self::KyvernoPolicies => ("kyverno.io", &["clusterpolicies", "policies"]),
        })
    }

    /// It is one object, by its name.
    #[must_use]
    pub fn is_single(self) -> bool {
        matches!(self, Self::Service | Self::ConfigMap)
    }

    /// It lies in Transom's own namespace.
    #[must_use]
    pub fn is_own(self) -> bool {
        matches!(
            self,
            Self::Service
                | Self::EndpointSlices
                | Self::Deployments
                | Self::Budgets
                | Self::ConfigMap
        )
    }

    /// What reading it takes, in Markdown.
    #[must_use]
    pub fn right(self) -> String {
        match self {
            Self::ConfigMap => return "[the configuration](#the-configuration)".to_owned(),
            Self::MutatingWebhooks | Self::ValidatingWebhooks => {
                return "[the webhook configurations](#rights)".to_owned();
            }
            _ => {}
        }
        let Some((group, resources)) = self.resources() else {
            return match self {
                Self::Connection => "[a connection](#the-certificate)",
                Self::Groups => "`get /apis`",
                _ => "`get /version`",
            }
            .to_owned();
        };
        let verb = if self.is_single() { "get" } else { "list" };
        let dot = if group.is_empty() { "" } else { "." };
        let rights = resources
            .iter()
            .map(|resource| format!("`{verb} {resource}{dot}{group}`"));
        let place = if self.is_own() {
            " in its namespace"
        } else {
            ""
        };
        rights.collect::<Vec<_>>().join(", ") + place
    }
}

/// The configuration in force, and where it comes from.
#[derive(Debug)]
pub struct Settings {
    /// What is made of it.
    pub policy: Policy,
    /// In words: `ConfigMap transom/transom-config (mode enforce, …)`.
    pub origin: String,
}

/// Who answers where reviews are sent.
#[derive(Clone, Debug)]
pub struct Served {
    /// The host and port that was connected to.
    pub at: String,
    /// The certificate that is shown, DER, or why there is none that the caBundle trusts.
    pub certificate: Result<Vec<u8>, String>,
}

/// What was read of a cluster.
#[derive(Debug)]
pub struct Cluster {
    /// What time it is, in seconds since 1970.
    pub now: i64,
    /// The webhook configurations' name, where somebody has chosen one.
    pub chosen: Option<String>,
    /// What the API server says of itself.
    pub version: Asked<Version>,
    /// The names of the groups of its API.
    pub groups: Asked<Vec<String>>,
    /// All of them, not only ours.
    pub mutating: Asked<Vec<Configuration>>,
    /// All of them, not only ours.
    pub validating: Asked<Vec<Configuration>>,
    /// The labels of each, by name.
    pub namespaces: Asked<BTreeMap<String, Labels>>,
    /// All nodes.
    pub nodes: Asked<Vec<Node>>,
    /// All of them.
    pub runtime_classes: Asked<Vec<RuntimeClass>>,
    /// That of the installation; nothing if there is none of its name.
    pub service: Asked<Option<Service>>,
    /// Those of that Service.
    pub slices: Asked<Vec<EndpointSlice>>,
    /// Those of the installation's namespace.
    pub deployments: Asked<Vec<Deployment>>,
    /// Those of the installation's namespace.
    pub budgets: Asked<Vec<Budget>>,
    /// The configuration in force, or what is wrong with it.
    pub settings: Asked<Result<Settings, String>>,
    /// How many Windows pods there are in namespaces without coverage, by namespace.
    pub windows_pods: Asked<BTreeMap<String, usize>>,
    /// Workloads with pods on nodes of the wrong operating system.
    pub misplaced: Asked<Vec<Misplaced>>,
    /// All of both kinds.
    pub kyverno: Asked<Vec<KyvernoPolicy>>,
    /// Who answers where reviews are sent.
    pub served: Asked<Served>,
}

impl Cluster {
    /// One of which nothing was read yet, for this reason.
    #[must_use]
    pub fn unread(now: i64, why: &str) -> Self {
        fn no<T>(why: &str) -> Asked<T> {
            Err(why.to_owned())
        }
        Self {
            now,
            chosen: None,
            version: no(why),
            groups: no(why),
            mutating: no(why),
            validating: no(why),
            namespaces: no(why),
            nodes: no(why),
            runtime_classes: no(why),
            service: no(why),
            slices: no(why),
            deployments: no(why),
            budgets: no(why),
            settings: no(why),
            windows_pods: no(why),
            misplaced: no(why),
            kyverno: no(why),
            served: no(why),
        }
    }

    /// All installations of Transom, by the names of their webhook configurations: those with an entry that bears our
    /// name, whatever else is called how.
    pub(super) fn installations(&self) -> Result<Vec<Installation<'_>>, Unasked> {
        let mut found = BTreeMap::<&str, Installation<'_>>::new();
        let (mutating, validating) = (known(&self.mutating)?, known(&self.validating)?);
        let sides = mutating.iter().map(|object| (object, true));
        let sides = sides.chain(validating.iter().map(|object| (object, false)));
        for (object, mutates) in sides {
            let name = object.metadata.name.as_str();
            let is_ours = |entry: &Entry| entry.name.ends_with(".transom.dev");
            let is_wanted = self.chosen.as_deref().is_none_or(|chosen| chosen == name);
            if !is_wanted || !object.webhooks.iter().any(is_ours) {
                continue;
            }
            let installation = found.entry(name).or_insert(Installation {
                name,
                mutating: None,
                validating: None,
            });
            match mutates {
                true => installation.mutating = Some(object),
                false => installation.validating = Some(object),
            }
        }
        Ok(found.into_values().collect())
    }

    /// The one installation, if there is one.
    ///
    /// # Errors
    /// It cannot be read whether there is one, or nobody says which one of several.
    pub fn installation(&self) -> Asked<Option<Installation<'_>>> {
        let found = self.installations().map_err(|unasked| match unasked {
            Unasked::Unread(why) => why,
            Unasked::Nothing => String::new(),
        })?;
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            several => Err(format!(
                "Transom is installed {} times: choose one with --webhook-configuration",
                several.len()
            )),
        }
    }

    /// The same. Where there is none, or more than one, the check `installation` says so.
    pub(super) fn the_installation(&self) -> Result<Installation<'_>, Unasked> {
        match self.installations()?.as_slice() {
            [one] => Ok(*one),
            _ => Err(Unasked::Nothing),
        }
    }

    pub(super) fn settings(&self) -> Result<&Settings, Unasked> {
        let settings = known(&self.settings)?.as_ref();
        settings.map_err(|_| {
            Unasked::Unread("cannot be told while the configuration is not valid".to_owned())
        })
    }

    /// The Deployment behind the Service.
    pub(super) fn deployment(&self) -> Result<Option<&Deployment>, Unasked> {
        let Some(service) = known(&self.service)? else {
            return Ok(None);
        };
        let selector = &service.spec.selector;
        let mut deployments = known(&self.deployments)?.iter();
        Ok(deployments.find(|deployment| {
            let labels = &deployment.spec.template.metadata.labels;
            !selector.is_empty() && is_part_of(selector, labels)
        }))
    }

    /// Whether the replicas watch what this flag names. Where nothing is installed, or it cannot be seen, they do: so
    /// the chart has it.
    pub(super) fn watches(&self, flag: &str) -> bool {
        let Ok(Some(deployment)) = self.deployment() else {
            return true;
        };
        let mut containers = deployment.spec.template.spec.containers.iter();
        containers.any(|container| container.has(flag))
    }

    /// The nodes as the webhook knows them.
    pub(super) fn node_facts(&self) -> Result<Nodes, Unasked> {
        let nodes = known(&self.nodes)?.iter();
        Ok(nodes
            .map(|node| (node.metadata.name.clone(), facts_of(node)))
            .collect())
    }

    /// The nodes with their labels and taints, if some run Linux and some run Windows.
    pub(super) fn mixed_hosts(&self) -> Option<Hosts> {
        let nodes = self.nodes.as_ref().ok()?.iter();
        let has = |os| nodes.clone().any(|node| facts_of(node).os == Some(os));
        let is_mixed = has(Os::Linux) && has(Os::Windows);
        let host = |node: &Node| Host {
            labels: node.metadata.labels.clone(),
            taints: taints_of(node).collect(),
        };
        is_mixed.then(|| {
            let hosts = nodes.map(|node| (node.metadata.name.clone(), host(node)));
            hosts.collect()
        })
    }

    /// What the webhook would know of nodes and RuntimeClasses, as far as it was read.
    pub(super) fn facts(&self) -> Facts {
        let classes = self.runtime_classes.iter().flatten();
        Facts {
            nodes: self.node_facts().unwrap_or_default(),
            runtime_classes: classes
                .map(|class| (class.metadata.name.clone(), class_facts(class)))
                .collect(),
            ..Facts::default()
        }
    }
}

/// What was read, or the reason why a check cannot look at it.
pub(super) fn known<T>(asked: &Asked<T>) -> Result<&T, Unasked> {
    asked.as_ref().map_err(|why| Unasked::Unread(why.clone()))
}

/// A node's taints.
fn taints_of(node: &Node) -> impl Iterator<Item = Taint> {
    node.spec.taints.iter().map(|taint| Taint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect.clone(),
    })
}

/// A node as the webhook knows it.
pub(super) fn facts_of(node: &Node) -> NodeFacts {
    let labels = node.metadata.labels.iter();
    let labels = labels.map(|(key, value)| (key.as_str(), value.as_str()));
    NodeFacts::new(labels, taints_of(node))
}

/// A RuntimeClass as the webhook knows it.
pub(super) fn class_facts(class: &RuntimeClass) -> RuntimeClassFacts {
    RuntimeClassFacts {
        node_selector: class.scheduling.node_selector.clone(),
        ..RuntimeClassFacts::default()
    }
}

/// An installation: its two webhook configurations, which have one name.
#[derive(Clone, Copy, Debug)]
pub struct Installation<'c> {
    /// The name of both.
    pub name: &'c str,
    /// The MutatingWebhookConfiguration.
    pub mutating: Option<&'c Configuration>,
    /// The ValidatingWebhookConfiguration.
    pub validating: Option<&'c Configuration>,
}

impl<'c> Installation<'c> {
    /// The configurations that there are, with what they are.
    pub(super) fn sides(&self) -> impl Iterator<Item = (&'static str, &'c Configuration)> {
        let mutating = self.mutating.map(|c| ("MutatingWebhookConfiguration", c));
        let validating = self
            .validating
            .map(|c| ("ValidatingWebhookConfiguration", c));
        mutating.into_iter().chain(validating)
    }

    /// The entries that anything is asked of.
    pub fn asking(&self) -> impl Iterator<Item = &'c Entry> {
        self.sides().flat_map(|(_, side)| asking(side))
    }

    /// The Service of the first entry that has one.
    #[must_use]
    pub fn service(&self) -> Option<&'c ServiceReference> {
        let mut entries = self.sides().flat_map(|(_, side)| &side.webhooks);
        entries.find_map(|entry| entry.client_config.service.as_ref())
    }
}

/// Those of its entries that anything is asked of: the chart leaves one that is not needed without rules.
pub(super) fn asking(side: &Configuration) -> impl Iterator<Item = &Entry> {
    side.webhooks.iter().filter(|entry| !entry.rules.is_empty())
}
