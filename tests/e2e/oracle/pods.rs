//! Pods that say os=windows and set some of the fields that a Windows pod may not have; they are valid otherwise.

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
