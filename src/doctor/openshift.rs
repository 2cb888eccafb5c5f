//! The check of OpenShift, whose admission plugin for SecurityContextConstraints (SCC) changes pods before webhooks.

use super::snapshot::known;
use super::{Check, Cluster, Few, Part, Told, ok, warn};
use crate::rules::{self, Action, Rule};

pub(super) const OPENSHIFT: Check = Check {
    name: "openshift",
    looks_at: "on OpenShift, Transom can remove what SecurityContextConstraints write into Windows pods, and set `spec.os`",
    helps: "[OpenShift](coexistence.md#openshift): `placement.setPodOS: always` and `placement.repair: true`",
    needs: &[Part::Groups, Part::ConfigMap],
    run: openshift,
};

/// The API group of SecurityContextConstraints.
const GROUP: &str = "security.openshift.io";

fn openshift(cluster: &Cluster) -> Told {
    if !known(&cluster.groups)?.iter().any(|group| group == GROUP) {
        return Ok(vec![ok(format!("not OpenShift: no API group {GROUP}"))]);
    }
    let policy = &cluster.settings()?.policy;
    let is_off = |rule: &&Rule| policy.actions(rule).contains(&Action::Off);
    let off: Vec<_> = rules::all()
        .filter(|rule| rule.is_of_scc())
        .filter(is_off)
        .map(|rule| rule.code)
        .collect();
    let keeps =
        "Windows pods without spec.os keep the fields that SecurityContextConstraints write";
    Ok(vec![
        if !policy.placement.set_pod_os || !policy.placement.repair {
            warn(
                format!("placement does not set spec.os and repair: {keeps}"),
                "placement.setPodOS: always and placement.repair: true, or write spec.os.name: windows into templates",
            )
        } else if !off.is_empty() {
            warn(
                format!("{} off: {keeps}", Few(&off)),
                "set another action for these rules, or write spec.os.name: windows into templates",
            )
        } else {
            ok(
                "from Windows pods without spec.os, Transom removes the fields that SecurityContextConstraints write, and sets spec.os",
            )
        },
    ])
}
