//! The check of Kyverno's policies: whether they know `spec.os`.
//!
//! Not here: the engine that judges by them. What is looked for are the three fields that the level restricted asks of
//! every Linux pod, and that the API server refuses beside `spec.os.name: windows`.

use serde_json::Value;

use super::objects::KyvernoPolicy;
use super::snapshot::known;
use super::{Check, Cluster, Few, Part, Told, ok, or_ok, warn};
use crate::workload::Kind;

pub(super) const KYVERNO: Check = Check {
    name: "kyverno",
    looks_at: "no policy of Kyverno that enforces asks Windows pods for what `spec.os.name: windows` forbids",
    helps: "[Kyverno](coexistence.md#kyverno): an exception in the policy, or `placement.setPodOS: never`",
    needs: &[Part::KyvernoPolicies, Part::ConfigMap],
    run: kyverno,
};

fn kyverno(cluster: &Cluster) -> Told {
    let policies = known(&cluster.kyverno)?;
    if policies.is_empty() {
        return Ok(vec![ok("there are no policies of Kyverno")]);
    }
    if !cluster.settings()?.policy.placement.set_pod_os {
        return Ok(vec![ok(
            "placement.setPodOS is never: their policies judge Windows pods as they do others",
        )]);
    }
    let found = policies.iter().filter_map(|policy| {
        let wants = wanted(policy);
        let name = name(policy);
        let remedy = "except pods with spec.os.name: windows in the policy, or set placement.setPodOS: never; in one namespace: the \
                      label transom.dev/set-pod-os=never";
        (!wants.is_empty()).then(|| {
            let text = format!(
                "{name} asks pods for {}, which a pod with spec.os.name: windows cannot have",
                Few(&wants)
            );
            warn(text, remedy)
        })
    });
    or_ok(found.collect(), || {
        let plural = if policies.len() == 1 { "y" } else { "ies" };
        format!(
            "{} polic{plural}, and none that enforces asks for what Windows pods cannot have",
            policies.len()
        )
    })
}

fn name(policy: &KyvernoPolicy) -> String {
    let meta = &policy.metadata;
    match meta.namespace.as_str() {
        "" => format!("ClusterPolicy {}", meta.name),
        namespace => format!("Policy {namespace}/{}", meta.name),
    }
}

/// What a policy that enforces asks Windows pods for as well.
fn wanted(policy: &KyvernoPolicy) -> Vec<String> {
    let spec = &policy.spec;
    // Somebody has thought of Windows.
    if spec.to_string().to_lowercase().contains("windows") {
        return Vec::new();
    }
    let mut wanted = Vec::new();
    for rule in spec["rules"].as_array().into_iter().flatten() {
        if !is_about_pods(&rule["match"]) {
            continue;
        }
        let validate = &rule["validate"];
        let of_rule = validate["failureAction"].as_str();
        let action = of_rule.or_else(|| spec["validationFailureAction"].as_str());
        if !action.is_some_and(|action| action.eq_ignore_ascii_case("enforce")) {
            continue;
        }
        let standard = &validate["podSecurity"];
        // Of any other version Kyverno makes the checks of all versions up to it, also those that do not know spec.os.
        let version = standard["version"].as_str().unwrap_or("latest");
        if standard["level"] == "restricted" && version != "latest" {
            wanted.push(format!("the level restricted of version {version}"));
        }
        for (field, is_in) in FIELDS {
            if !wanted.iter().any(|known| known == field) && is_in(validate) {
                wanted.push((*field).to_owned());
            }
        }
    }
    wanted
}

/// Whether a rule is for a kind that carries pods: `Pod`, `apps/v1/Deployment`, `*`; also if it does not say.
fn is_about_pods(matching: &Value) -> bool {
    let any = matching["any"].as_array().into_iter().flatten();
    let all = matching["all"].as_array().into_iter().flatten();
    let filters = any.chain(all).chain([matching]);
    let kinds = filters.flat_map(|filter| filter["resources"]["kinds"].as_array());
    let mut kinds = kinds.flatten().filter_map(Value::as_str).peekable();
    let carries = |kind: &str| {
        let name = kind.rsplit(['/', '.']).next().unwrap_or(kind);
        name == "*" || Kind::ALL.iter().any(|kind| kind.name() == name)
    };
    kinds.peek().is_none() || kinds.any(carries)
}

/// Whether a validation asks for a field.
type Asks = fn(&Value) -> bool;

/// The fields, and whether a validation asks for them. An anchor around a key, as in `=(seccompProfile)`, asks for a
/// value only where there is one.
const FIELDS: &[(&str, Asks)] = &[
    ("allowPrivilegeEscalation", |value| {
        has_key(value, "allowPrivilegeEscalation")
    }),
    ("capabilities.drop", |value| {
        has_path(value, "capabilities", "drop") || has_text(value, "capabilities.drop")
    }),
    ("seccompProfile", |value| has_key(value, "seccompProfile")),
];

fn has_key(value: &Value, wanted: &str) -> bool {
    match value {
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| key == wanted || has_key(value, wanted)),
        Value::Array(list) => list.iter().any(|value| has_key(value, wanted)),
        _ => false,
    }
}

/// Whether there is one key anywhere below another.
fn has_path(value: &Value, above: &str, wanted: &str) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            (key == above && has_key(value, wanted)) || has_path(value, above, wanted)
        }),
        Value::Array(list) => list.iter().any(|value| has_path(value, above, wanted)),
        _ => false,
    }
}

fn has_text(value: &Value, wanted: &str) -> bool {
    match value {
        Value::Object(map) => map.values().any(|value| has_text(value, wanted)),
        Value::Array(list) => list.iter().any(|value| has_text(value, wanted)),
        Value::String(text) => text.contains(wanted),
        _ => false,
    }
}
