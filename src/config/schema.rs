//! The JSON Schema of the configuration: for editors, and for the check of its structure.
//!
//! It follows from the types of `config` and from the table of rules. Not here: the check itself
//! (`check`). The patterns are for editors; `policy` says the same with better words.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{ActionName, Config};
use crate::rules::{self, Action, Consequence, Profile, Rule};

/// What Kubernetes calls a qualified name.
pub(super) const LABEL_KEY: &str =
    r"^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$";
/// A label's or a taint's value.
pub(super) const LABEL_VALUE: &str = r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$";
/// A repository of images, with or without a registry.
pub(super) const REPOSITORY: &str = r"^([^*\s/]+/)*[^*\s/:@]+$";
const NAMESPACE: &str = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";

/// The schema (draft 2020-12), without references.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
        });
        let mut schema = settings.into_generator().into_root_schema_for::<Config>();
        let id = "https://transom.dev/schemas/v1alpha1/config.json";
        schema.insert("$id".to_owned(), id.into());
        schema.insert("title".to_owned(), "Configuration of Transom".into());
        schema.to_value()
    });
    &SCHEMA
}

/// A namespace's name.
pub(super) fn namespace() -> Value {
    json!({"pattern": NAMESPACE})
}

/// A list of them.
pub(super) fn namespaces(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "string", "pattern": NAMESPACE}})
}

/// A property for each rule's code and one for its name.
pub(super) fn rules(_: &mut SchemaGenerator) -> Schema {
    let names = rules::all().flat_map(|rule| [(rule.code, rule), (rule.name, rule)]);
    let properties = names.map(|(name, rule)| (name.to_owned(), actions(name, rule)));
    let properties: serde_json::Map<_, _> = properties.collect();
    json_schema!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// A list of rules, by code or name.
pub(super) fn rule_names(_: &mut SchemaGenerator) -> Schema {
    let names = rules::all().flat_map(|rule| [rule.code, rule.name]);
    let names: Vec<_> = names.collect();
    json_schema!({"type": "array", "items": {"enum": names}})
}

/// What may be done about a rule's findings.
fn actions(name: &str, rule: &Rule) -> Value {
    let other = if name == rule.code {
        rule.name
    } else {
        rule.code
    };
    let default = |profile| {
        rule.tiers
            .first()
            .map_or("", |tier| tier.action(profile).name())
    };
    let default = match (default(Profile::Current), default(Profile::Kep116)) {
        (current, kep_116) if current == kep_116 => current.to_owned(),
        (current, kep_116) => format!("{current}, in profile kep-116 {kep_116}"),
    };
    let first = rule.tiers.first();
    let is_lowered = first.is_some_and(|tier| {
        tier.consequence == Some(Consequence::Ignored) && tier.current == Action::Deny
    });
    let switch = if is_lowered {
        ", lowered by ignoredFields"
    } else {
        ""
    };
    let actions = ActionName::ALL.into_iter();
    let actions = actions.filter(|action| *action != ActionName::Repair || rule.is_repairable());
    let actions: Vec<_> = actions.collect();
    json!({
        "description": format!("{other}: {}. Default: {default}{switch}.", rule.brief),
        "enum": actions,
    })
}
