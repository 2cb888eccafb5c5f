//! The objects of the Kubernetes API, as far as a check looks at them. What an object has beside that is not kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

pub use super::selector::{Labels, Requirement, Selector};

/// What the API server says of itself.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// `1`
    pub major: String,
    /// `36`, with some clouds `36+`
    pub minor: String,
    /// `v1.36.3`
    pub git: String,
}

/// `metadata`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Meta {
    pub name: String,
    pub namespace: String,
    pub labels: Labels,
}

/// Of whatever kind, of which nothing else is looked at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Object {
    pub metadata: Meta,
}

/// A MutatingWebhookConfiguration or ValidatingWebhookConfiguration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Configuration {
    pub metadata: Meta,
    #[serde(deserialize_with = "nullable")]
    pub webhooks: Vec<Entry>,
}

/// A webhook of such a configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Entry {
    pub name: String,
    pub client_config: ClientConfig,
    #[serde(deserialize_with = "nullable")]
    pub rules: Vec<Rule>,
    pub failure_policy: String,
    pub timeout_seconds: u32,
    #[serde(deserialize_with = "nullable")]
    pub namespace_selector: Selector,
    #[serde(deserialize_with = "nullable")]
    pub match_conditions: Vec<MatchCondition>,
    /// Of a mutating webhook.
    pub reinvocation_policy: String,
}

/// Where reviews are sent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct ClientConfig {
    /// base64
    pub ca_bundle: Option<String>,
    pub service: Option<ServiceReference>,
    pub url: Option<String>,
}

/// The Service that reviews are sent to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct ServiceReference {
    pub namespace: String,
    pub name: String,
    pub port: Option<u16>,
}

/// What a webhook is asked about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Rule {
    #[serde(deserialize_with = "nullable")]
    pub operations: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    pub api_groups: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    pub resources: Vec<String>,
}

/// What else has to hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct MatchCondition {
    pub name: String,
    pub expression: String,
}

/// A Node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Node {
    pub metadata: Meta,
    pub spec: NodeSpec,
    pub status: NodeStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct NodeSpec {
    #[serde(deserialize_with = "nullable")]
    pub taints: Vec<Taint>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct NodeStatus {
    pub capacity: Memory,
    pub allocatable: Memory,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Memory {
    pub memory: String,
}

/// A RuntimeClass.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct RuntimeClass {
    pub metadata: Meta,
    #[serde(deserialize_with = "nullable")]
    pub scheduling: Scheduling,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Scheduling {
    pub node_selector: Labels,
}

/// A Service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Service {
    pub metadata: Meta,
    pub spec: ServiceSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct ServiceSpec {
    pub selector: Labels,
    #[serde(rename = "type")]
    pub kind: String,
}

/// An EndpointSlice.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct EndpointSlice {
    pub metadata: Meta,
    #[serde(deserialize_with = "nullable")]
    pub endpoints: Vec<Endpoint>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Endpoint {
    #[serde(deserialize_with = "nullable")]
    pub addresses: Vec<String>,
    pub conditions: Conditions,
    pub node_name: Option<String>,
    /// The pod.
    pub target_ref: Option<Named>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Conditions {
    /// Absent is as good as true.
    pub ready: Option<bool>,
}

/// A Deployment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Deployment {
    pub metadata: Meta,
    pub spec: DeploymentSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct DeploymentSpec {
    pub replicas: Option<usize>,
    pub template: Template,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Template {
    pub metadata: Meta,
    pub spec: PodSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct PodSpec {
    pub containers: Vec<Container>,
    pub volumes: Vec<Volume>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Container {
    pub args: Vec<String>,
    pub env: Vec<Variable>,
    pub volume_mounts: Vec<Mount>,
}

impl Container {
    /// What `transom serve` is given for a flag with a value, by the flag or by its environment variable.
    #[must_use]
    pub fn value_of(&self, flag: &str) -> Option<&str> {
        let mut args = self.args.iter();
        let by_flag = args.find_map(|arg| {
            let rest = arg.strip_prefix(flag)?;
            match rest.strip_prefix('=') {
                Some(value) => Some(Some(value)),
                None if rest.is_empty() => Some(None),
                None => None,
            }
        });
        match by_flag {
            Some(Some(value)) => Some(value),
            Some(None) => args.next().map(String::as_str),
            None => self.variable(flag),
        }
    }

    /// Whether it is given a flag without a value, by the flag or by its environment variable.
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.args.iter().any(|arg| arg == flag) || self.variable(flag) == Some("true")
    }

    fn variable(&self, flag: &str) -> Option<&str> {
        let name = flag.trim_start_matches('-').replace('-', "_");
        let name = format!("TRANSOM_{}", name.to_uppercase());
        let variable = self.env.iter().find(|variable| variable.name == name)?;
        Some(&variable.value)
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Variable {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Mount {
    pub name: String,
    pub mount_path: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Volume {
    pub name: String,
    pub config_map: Option<Named>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Named {
    pub name: String,
}

/// A ConfigMap.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct ConfigMap {
    pub data: BTreeMap<String, String>,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct Budget {
    pub metadata: Meta,
    pub spec: BudgetSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kubernetes has it
pub struct BudgetSpec {
    /// Absent, it selects nothing.
    pub selector: Option<Selector>,
}

/// A Policy or ClusterPolicy of Kyverno.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // as Kyverno has it
pub struct KyvernoPolicy {
    pub metadata: Meta,
    pub spec: serde_json::Value,
}

/// Go writes null for an empty list or struct, where it writes anything.
fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
