//! What of SARIF 2.1.0 is written, in its own names.
//!
//! Not here: what is said with it (`sarif`).

use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    pub(super) schema: &'static str,
    pub(super) version: &'static str,
    pub(super) runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) tool: Tool,
    pub(super) invocations: [Invocation; 1],
    pub(super) column_kind: &'static str,
    pub(super) results: Vec<Result>,
}

#[derive(Serialize)]
pub(super) struct Tool {
    pub(super) driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) semantic_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) information_uri: Option<&'static str>,
    pub(super) rules: Vec<Descriptor>,
    pub(super) notifications: Vec<Descriptor>,
}

/// A rule, or a kind of notification.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) short_description: Text,
    pub(super) full_description: Text,
    pub(super) help: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help_uri: Option<&'static str>,
    pub(super) default_configuration: Configuration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) properties: Option<Tags>,
}

#[derive(Serialize)]
pub(super) struct Text {
    pub(super) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) markdown: Option<String>,
}

impl Text {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            markdown: None,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Configuration {
    pub(super) enabled: bool,
    pub(super) level: Level,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Level {
    Note,
    Warning,
    Error,
}

#[derive(Serialize)]
pub(super) struct Tags {
    pub(super) tags: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(super) execution_successful: bool,
    pub(super) tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
pub(super) struct Notification {
    pub(super) descriptor: Reference,
    pub(super) level: Level,
    pub(super) message: Text,
    pub(super) locations: [Location; 1],
}

#[derive(Serialize)]
pub(super) struct Reference {
    pub(super) id: &'static str,
    pub(super) index: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Result {
    pub(super) rule_id: &'static str,
    pub(super) rule_index: usize,
    pub(super) level: Level,
    pub(super) message: Text,
    pub(super) locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) related_locations: Vec<Location>,
    pub(super) partial_fingerprints: Fingerprints,
    pub(super) suppressions: Vec<Suppression>,
    pub(super) properties: Properties,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) logical_locations: Vec<LogicalLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Text>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: Artifact,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<Region>,
}

#[derive(Serialize)]
pub(super) struct Artifact {
    pub(super) uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: usize,
    pub(super) start_column: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end_column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) snippet: Option<Text>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogicalLocation {
    pub(super) fully_qualified_name: String,
    pub(super) kind: &'static str,
}

#[derive(Serialize)]
pub(super) struct Fingerprints {
    #[serde(rename = "ruleObjectField/v1")]
    pub(super) rule_object_field: String,
}

#[derive(Serialize)]
pub(super) struct Suppression {
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) justification: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Properties {
    pub(super) severity: &'static str,
    pub(super) object: String,
    pub(super) path: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) absent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) evidence: Option<String>,
}
