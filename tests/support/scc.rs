//! OpenShift's SecurityContextConstraints (SCC): what its admission plugin writes into pods, as in
//! `AssignSecurityContext` of openshift/apiserver-library-go (a8019f39f670, September 2025).
//!
//! Not here: which SCC is chosen, and what the plugin denies.
#![allow(dead_code, clippy::unwrap_used)] // Not every test uses all of it.

use serde_json::{Map, Value, json};

/// The annotation by which the plugin names the SCC that it applied.
pub(crate) const ANNOTATION: &str = "openshift.io/scc";
/// The first user and group of a namespace's range.
pub(crate) const ID: i64 = 1_000_680_000;
/// The level of a namespace.
pub(crate) const LEVEL: &str = "s0:c26,c15";

/// The settings of an SCC that write something.
#[derive(Clone, Copy)]
pub(crate) struct Scc {
    pub(crate) name: &'static str,
    /// MustRunAsRange.
    user: bool,
    /// MustRunAs.
    fs_group: bool,
    supplemental_groups: bool,
    selinux: bool,
    /// The first of `seccompProfiles` that is not `*`.
    seccomp: bool,
    /// `requiredDropCapabilities`.
    drop: &'static [&'static str],
    /// `allowPrivilegeEscalation`.
    escalation: bool,
}

/// The SCC of ordinary pods since OpenShift 4.11.
pub(crate) const RESTRICTED_V2: Scc = Scc {
    name: "restricted-v2",
    user: true,
    fs_group: true,
    supplemental_groups: false,
    selinux: true,
    seccomp: true,
    drop: &["ALL"],
    escalation: false,
};

/// The SCC of ordinary pods before.
pub(crate) const RESTRICTED: Scc = Scc {
    name: "restricted",
    seccomp: false,
    drop: &["KILL", "MKNOD", "SETGID", "SETUID"],
    escalation: true,
    ..RESTRICTED_V2
};

/// An SCC for pods on the host's network.
pub(crate) const HOSTNETWORK_V2: Scc = Scc {
    name: "hostnetwork-v2",
    supplemental_groups: true,
    ..RESTRICTED_V2
};

/// Whether the plugin ignores this pod.
pub(crate) fn is_ignored(pod: &Value) -> bool {
    pod["spec"]["os"]["name"] == "windows"
}

/// Writes what is missing, on creation.
pub(crate) fn assign(scc: &Scc, pod: &mut Value) {
    if is_ignored(pod) {
        return;
    }
    let spec = map(&mut pod["spec"]);
    let context = map(spec.entry("securityContext").or_insert(Value::Null));
    if scc.supplemental_groups {
        set(context, "supplementalGroups", json!([ID]));
    }
    if scc.fs_group {
        set(context, "fsGroup", json!(ID));
    }
    if scc.selinux {
        set(context, "seLinuxOptions", json!({"level": LEVEL}));
    }
    if scc.seccomp {
        set(context, "seccompProfile", json!({"type": "RuntimeDefault"}));
    }
    let of_pod = context.clone();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let container = map(container);
            let context = map(container.entry("securityContext").or_insert(Value::Null));
            assign_container(scc, &of_pod, context);
        }
    }
    let annotations = map(map(&mut pod["metadata"])
        .entry("annotations")
        .or_insert(Value::Null));
    if scc.seccomp {
        let key = "seccomp.security.alpha.kubernetes.io/pod".to_owned();
        annotations.insert(key, json!("runtime/default"));
    }
    annotations.insert(ANNOTATION.to_owned(), json!(scc.name));
    let key = "security.openshift.io/validated-scc-subject-type".to_owned();
    annotations.insert(key, json!("user"));
}

/// Fields of the pod count for the container.
fn assign_container(scc: &Scc, of_pod: &Map<String, Value>, context: &mut Map<String, Value>) {
    if scc.user && !of_pod.contains_key("runAsUser") {
        set(context, "runAsUser", json!(ID));
    }
    let user = context.get("runAsUser").or_else(|| of_pod.get("runAsUser"));
    let is_other_than_root = user.and_then(Value::as_i64).is_some_and(|user| user > 0);
    if is_other_than_root && !of_pod.contains_key("runAsNonRoot") {
        set(context, "runAsNonRoot", json!(true));
    }
    if !scc.drop.is_empty() {
        let capabilities = map(context.entry("capabilities").or_insert(Value::Null));
        let own = capabilities.get("drop").and_then(Value::as_array);
        let mut drop: Vec<Value> = own.cloned().unwrap_or_default();
        drop.extend(scc.drop.iter().map(|name| json!(name)));
        drop.sort_by_key(ToString::to_string);
        drop.dedup();
        capabilities.insert("drop".to_owned(), Value::Array(drop));
    }
    if !scc.escalation {
        set(context, "allowPrivilegeEscalation", json!(false));
    }
}

/// What is there stays.
fn set(map: &mut Map<String, Value>, key: &str, value: Value) {
    map.entry(key).or_insert(value);
}

/// An object, made where there is none.
fn map(value: &mut Value) -> &mut Map<String, Value> {
    if value.is_null() {
        *value = json!({});
    }
    value.as_object_mut().unwrap()
}
