//! Pods that say os=windows and set some of the fields that a Windows pod may not have; they are valid otherwise.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

/// A field and values for it. The API server refuses each of them, unless it is said otherwise.
#[derive(Debug)]
struct Field {
    path: &'static [&'static str],
    values: &'static [&'static str],
}

const fn field(path: &'static [&'static str], values: &'static [&'static str]) -> Field {
    Field { path, values }
}

const SC: &str = "securityContext";

const POD: &[Field] = &[
    field(&["hostPID"], &["true"]),
    field(&["hostIPC"], &["true"]),
    field(&["hostUsers"], &["true", "false"]),
    field(&["shareProcessNamespace"], &["true", "false"]),
    field(&["resources"], &["{}", r#"{"limits":{"cpu":"1"}}"#]),
    field(&[SC, "appArmorProfile"], APP_ARMOR),
    field(&[SC, "seLinuxOptions"], SE_LINUX),
    field(&[SC, "seLinuxChangePolicy"], &[r#""Recursive""#]),
    field(&[SC, "seccompProfile"], SECCOMP),
    field(&[SC, "fsGroup"], &["0", "2000"]),
    field(
        &[SC, "fsGroupChangePolicy"],
        &[r#""Always""#, r#""OnRootMismatch""#],
    ),
    field(
        &[SC, "sysctls"],
        &[r#"[{"name":"kernel.shm_rmid_forced","value":"0"}]"#],
    ),
    field(&[SC, "runAsUser"], ID),
    field(&[SC, "runAsGroup"], ID),
    field(&[SC, "supplementalGroups"], &["[]", "[1, 2]"]),
    field(
        &[SC, "supplementalGroupsPolicy"],
        &[r#""Merge""#, r#""Strict""#],
    ),
];

const CONTAINER: &[Field] = &[
    field(&[SC, "appArmorProfile"], APP_ARMOR),
    field(&[SC, "seLinuxOptions"], SE_LINUX),
    field(&[SC, "seccompProfile"], SECCOMP),
    field(
        &[SC, "capabilities"],
        &["{}", r#"{"drop":["ALL"]}"#, r#"{"add":["NET_ADMIN"]}"#],
    ),
    field(&[SC, "readOnlyRootFilesystem"], &["true", "false"]),
    field(&[SC, "privileged"], &["true", "false"]),
    field(&[SC, "allowPrivilegeEscalation"], &["true", "false"]),
    field(&[SC, "procMount"], &[r#""Default""#, r#""Unmasked""#]),
    field(&[SC, "runAsUser"], ID),
    field(&[SC, "runAsGroup"], ID),
];

/// What neither the API server nor we refuse.
const HARMLESS: &[Field] = &[
    field(&["hostPID"], &["false"]),
    field(&["hostIPC"], &["false"]),
    field(&["hostNetwork"], &["false"]),
    field(&["dnsPolicy"], &[r#""Default""#]),
    field(&["nodeSelector"], &[r#"{"kubernetes.io/os":"windows"}"#]),
    field(&[SC, "sysctls"], &["[]"]),
    field(&[SC, "runAsNonRoot"], &["true", "false"]),
    field(
        &[SC, "windowsOptions"],
        &[r#"{"runAsUserName":"ContainerUser"}"#],
    ),
];

const ID: &[&str] = &["0", "1000"];
const APP_ARMOR: &[&str] = &[
    r#"{"type":"Unconfined"}"#,
    r#"{"type":"RuntimeDefault"}"#,
    r#"{"type":"Localhost","localhostProfile":"a"}"#,
];
const SECCOMP: &[&str] = &[
    r#"{"type":"RuntimeDefault"}"#,
    r#"{"type":"Unconfined"}"#,
    r#"{"type":"Localhost","localhostProfile":"a.json"}"#,
];
const SE_LINUX: &[&str] = &["{}", r#"{"level":"s0:c1"}"#];

const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Every field that the API server must have refused, without indices.
pub(super) fn refused_fields() -> Vec<String> {
    let path = |field: &Field| field.path.join(".");
    let pod = POD.iter().map(|field| format!("spec.{}", path(field)));
    let containers = LISTS.iter().flat_map(|list| {
        let fields = CONTAINER.iter();
        fields.map(move |field| format!("spec.{list}.{}", path(field)))
    });
    pod.chain(containers).collect()
}

/// For each of them, by its path, pods of no operating system that set it to one of its values.
pub(super) fn samples() -> Vec<(String, Vec<Value>)> {
    let pod = |place: &[&str], value: &str| {
        let container = json!([{"name": "a", "image": "a"}]);
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sample"},
            "spec": {"containers": container, "initContainers": container},
        });
        pod["spec"]["initContainers"][0]["name"] = json!("init");
        let at = place.iter().fold(&mut pod["spec"], |at, name| match at {
            Value::Array(list) => &mut list[0][*name],
            at => &mut at[*name],
        });
        *at = serde_json::from_str(value).unwrap();
        pod
    };
    let sample = |list: Option<&'static str>, field: &Field| {
        let place: Vec<_> = list.iter().chain(field.path).copied().collect();
        let values = field.values.iter();
        let pods = values.map(|value| pod(&place, value)).collect();
        (format!("spec.{}", place.join(".")), pods)
    };
    // Ephemeral containers cannot be created with a pod.
    let lists = ["containers", "initContainers"];
    let containers = lists
        .iter()
        .flat_map(|list| CONTAINER.iter().map(|field| sample(Some(list), field)));
    let all = POD.iter().map(|field| sample(None, field));
    all.chain(containers).collect()
}

/// Whether a pod has this field, in the first container if it is one of a container.
pub(super) fn has(pod: &Value, field: &str) -> bool {
    let value = field.split('.').fold(pod, |at, name| match at {
        Value::Array(list) => &list[0][name],
        at => &at[name],
    });
    !value.is_null()
}

/// Removes these fields, from all containers.
pub(super) fn remove(pod: &mut Value, fields: &BTreeSet<String>) {
    fn below(at: &mut Value, path: &[&str]) {
        match (at, path) {
            (Value::Array(list), path) => list.iter_mut().for_each(|at| below(at, path)),
            (Value::Object(map), [last]) => _ = map.remove(*last),
            (Value::Object(map), [first, rest @ ..]) => {
                if let Some(at) = map.get_mut(*first) {
                    below(at, rest);
                }
            }
            _ => {}
        }
    }
    for field in fields {
        let path: Vec<_> = field.split('.').collect();
        below(pod, &path);
    }
}

/// Some of the fields, with values.
fn some(
    fields: &'static [Field],
    most: usize,
) -> impl Strategy<Value = Vec<(&'static Field, Value)>> {
    let all: Vec<&'static Field> = fields.iter().collect();
    subsequence(all, 0..=most).prop_flat_map(|fields| {
        let with_value = |field: &'static Field| {
            select(field.values)
                .prop_map(move |value| (field, serde_json::from_str::<Value>(value).unwrap()))
        };
        fields.into_iter().map(with_value).collect::<Vec<_>>()
    })
}

fn set(object: &mut Value, fields: Vec<(&Field, Value)>) {
    for (field, value) in fields {
        let place = field
            .path
            .iter()
            .fold(&mut *object, |at, name| &mut at[*name]);
        *place = value;
    }
}

/// A container whose name starts so; half of them set nothing.
pub(super) fn container(name: &'static str) -> impl Strategy<Value = Value> {
    let fields = prop_oneof![Just(Vec::new()), some(CONTAINER, 2)];
    fields.prop_map(move |fields| {
        let mut container = json!({"name": name, "image": "a"});
        set(&mut container, fields);
        container
    })
}

pub(super) fn pod() -> impl Strategy<Value = Value> {
    let pod = prop_oneof![Just(Vec::new()), some(POD, 3)];
    let containers = (
        vec(container("app"), 1..=2),
        vec(container("init"), 0..=2),
        vec(container("ephemeral"), 0..=1),
    );
    (pod, some(HARMLESS, 2), containers).prop_map(|(fields, harmless, containers)| {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "generated"},
            "spec": {"os": {"name": "windows"}},
        });
        set(&mut pod["spec"], harmless);
        set(&mut pod["spec"], fields);
        for (list, mut containers) in
            LISTS
                .into_iter()
                .zip([containers.0, containers.1, containers.2])
        {
            for (index, container) in containers.iter_mut().enumerate() {
                let name = container["name"].as_str().unwrap();
                container["name"] = json!(format!("{name}-{index}"));
            }
            if !containers.is_empty() {
                pod["spec"][list] = Value::Array(containers);
            }
        }
        pod
    })
}
