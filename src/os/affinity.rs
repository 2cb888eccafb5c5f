//! Node affinity as evidence: to the OS label, to a Windows build, to known nodes.

use super::build::is_windows_sku;
use super::system::{BUILD_LABEL, HOSTNAME_LABEL, OS_SKU_LABEL, Os};
use super::{Evidence, EvidencePolicy, Source, evidence};
use crate::facts::Facts;
use crate::object::demand::Anchor::Spec;
use crate::object::demand::{Demand, Role};
use crate::object::{At, Tape};
use crate::workload::Pod;

macro_rules! required {
    ($path:literal) => {
        concat!(
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
            ".nodeSelectorTerms[*].",
            $path
        )
    };
}

macro_rules! preferred {
    ($path:literal) => {
        concat!(
            "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[*].",
            $path
        )
    };
}

/// The fields of node affinity.
pub(crate) const FIELDS: &[Demand] = &[
    Demand::list(
        Spec,
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        Role::RequiredTerms,
    ),
    Demand::list(Spec, required!("matchExpressions"), Role::MatchExpressions),
    Demand::text(Spec, required!("matchExpressions[*].key"), Role::Key),
    Demand::text(
        Spec,
        required!("matchExpressions[*].operator"),
        Role::Operator,
    ),
    Demand::list(Spec, required!("matchExpressions[*].values"), Role::Values),
    Demand::text(Spec, required!("matchExpressions[*].values[*]"), Role::None),
    Demand::list(Spec, required!("matchFields"), Role::MatchFields),
    Demand::text(Spec, required!("matchFields[*].key"), Role::Key),
    Demand::text(Spec, required!("matchFields[*].operator"), Role::Operator),
    Demand::list(Spec, required!("matchFields[*].values"), Role::Values),
    Demand::text(Spec, required!("matchFields[*].values[*]"), Role::None),
    Demand::list(
        Spec,
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution",
        Role::PreferredTerms,
    ),
    Demand::map(Spec, preferred!("preference"), Role::Preference),
    Demand::list(
        Spec,
        preferred!("preference.matchExpressions"),
        Role::MatchExpressions,
    ),
    Demand::text(
        Spec,
        preferred!("preference.matchExpressions[*].key"),
        Role::Key,
    ),
    Demand::text(
        Spec,
        preferred!("preference.matchExpressions[*].operator"),
        Role::Operator,
    ),
    Demand::list(
        Spec,
        preferred!("preference.matchExpressions[*].values"),
        Role::Values,
    ),
    Demand::text(
        Spec,
        preferred!("preference.matchExpressions[*].values[*]"),
        Role::None,
    ),
];

/// Required affinity: the terms are alternatives, so every one must restrict the pod to the same
/// OS.
pub(super) fn affinity(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> Option<Evidence> {
    let terms = pod.required_terms?;
    let mut verdict: Option<Evidence> = None;
    for term in pod.tape.children(terms) {
        let by_name = pod.tape.child(term, Role::MatchFields).is_some();
        let expressions = pod.tape.child(term, Role::MatchExpressions);
        let expressions = expressions.filter(|at| pod.tape.children(*at).next().is_some());
        let Some(expressions) = expressions else {
            match by_name {
                true => return None,
                // An empty term matches no node.
                false => continue,
            }
        };
        let here = restriction(pod.tape, expressions, policy)?;
        match verdict {
            Some(before) if before.os != here.os => return None,
            Some(_) => {}
            None => verdict = Some(here),
        }
    }
    verdict
}

/// The OS that the expressions of one term restrict a pod to. They all have to hold.
fn restriction(tape: &Tape<'_>, expressions: At, policy: &EvidencePolicy) -> Option<Evidence> {
    tape.children(expressions).find_map(|expression| {
        let key = tape.child_text(expression, Role::Key)?;
        let operator = tape.child_text(expression, Role::Operator)?;
        let values = tape.child(expression, Role::Values);
        let all = |passes: &dyn Fn(&str) -> bool| {
            values.is_some_and(|values| {
                tape.children(values).next().is_some()
                    && tape
                        .children(values)
                        .all(|value| tape.text(value).is_some_and(passes))
            })
        };
        let all_are = |os: Os| all(&|value| value == os.name());
        if key == BUILD_LABEL {
            return match operator {
                "In" | "Exists" | "Gt" | "Lt" => {
                    evidence(Some(Os::Windows), Source::Build, expression)
                }
                _ => None,
            };
        }
        if key == OS_SKU_LABEL {
            let windows = operator == "In" && all(&is_windows_sku);
            return evidence(
                Some(Os::Windows).filter(|_| windows),
                Source::Build,
                expression,
            );
        }
        if !policy.is_os_label(key) {
            return None;
        }
        let os = match operator {
            "In" if all_are(Os::Windows) => Os::Windows,
            "In" if all_are(Os::Linux) => Os::Linux,
            // Whoever keeps off Windows nodes is Linux, whatever the label of its node says.
            "NotIn" if all_are(Os::Windows) => Os::Linux,
            _ => return None,
        };
        evidence(Some(os), Source::RequiredAffinity, values?)
    })
}

/// Whether required affinity says anything about the OS label, or names its nodes.
pub(super) fn decides(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> bool {
    let tape = pod.tape;
    let Some(terms) = pod.required_terms else {
        return false;
    };
    tape.children(terms).any(|term| {
        let expressions = tape.child(term, Role::MatchExpressions);
        let mut keys = expressions
            .into_iter()
            .flat_map(|at| tape.children(at))
            .filter_map(|expression| tape.child_text(expression, Role::Key));
        let decides =
            |key: &str| policy.is_os_label(key) || [HOSTNAME_LABEL, OS_SKU_LABEL].contains(&key);
        tape.child(term, Role::MatchFields).is_some() || keys.any(decides)
    })
}

pub(super) fn known_node(pod: &Pod<'_, '_>, facts: &Facts) -> Option<Evidence> {
    if facts.nodes.is_empty() {
        return None;
    }
    let os_of = |at: At| {
        let node = facts.nodes.get(pod.tape.text(at)?)?;
        evidence(node.os, Source::NodeName, at)
    };
    if let Some(found) = pod.node_name.and_then(os_of) {
        return Some(found);
    }
    // Terms and values are alternatives: they must all be nodes of one OS.
    let tape = pod.tape;
    let mut agreed: Option<Evidence> = None;
    for term in tape.children(pod.required_terms?) {
        let fields = tape.child(term, Role::MatchFields)?;
        let names = tape.children(fields).find_map(|field| {
            let by_name = tape.child_text(field, Role::Key) == Some("metadata.name")
                && tape.child_text(field, Role::Operator) == Some("In");
            tape.child(field, Role::Values).filter(|_| by_name)
        })?;
        for name in tape.children(names) {
            let here = os_of(name)?;
            match agreed {
                Some(before) if before.os != here.os => return None,
                Some(_) => {}
                None => agreed = Some(here),
            }
        }
    }
    agreed
}

/// Preferred affinity is a hint.
pub(super) fn preferred(pod: &Pod<'_, '_>, policy: &EvidencePolicy) -> Option<Evidence> {
    let tape = pod.tape;
    let terms = pod.preferred_terms?;
    tape.children(terms).find_map(|term| {
        let preference = tape.child(term, Role::Preference)?;
        let expressions = tape.child(preference, Role::MatchExpressions)?;
        restriction(tape, expressions, policy)
            .filter(|found| found.os == Os::Windows)
            .and_then(|found| evidence(Some(found.os), Source::PreferredAffinity, terms))
    })
}
