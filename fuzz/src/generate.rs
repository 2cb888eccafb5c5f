//! Bytes → an object with some of the fields that Transom reads: the right type mostly, any value sometimes.
//!
//! The fields are those of the pod of `tests/common/everything.rs`.

use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

use super::common::everything::everything;
use super::common::{KINDS, merge, object_of, pod_metadata_mut, pointers};

/// A field: the steps to it, and its value in the pod that has them all.
struct Leaf {
    steps: Vec<String>,
    value: Value,
}

static LEAVES: LazyLock<Vec<Leaf>> = LazyLock::new(|| {
    let pod = everything();
    let pointers = pointers(&pod).into_iter();
    pointers
        .filter(|pointer| pointer.starts_with("/spec/") || pointer.starts_with("/metadata/"))
        .map(|pointer| Leaf {
            steps: steps(&pointer),
            value: pod.pointer(&pointer).unwrap().clone(),
        })
        .collect()
});

/// Values that mean something somewhere.
static WORDS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let text = "windows linux Windows Localhost RuntimeDefault Unconfined Default Unmasked Memory HugePages \
        Always OnRootMismatch Strict Merge MountOption ClusterFirst None SIGTERM SIGKILL RestartAllContainers \
        Disabled HostToContainer IfPossible Exists NotIn Equal PreferNoSchedule NoExecute os Win1809 Win2022 \
        kubernetes.io/os node.kubernetes.io/windows-build 10.0.17763 10.0.20348 app:ltsc2019 app:ltsc2022 \
        app:1 mcr.microsoft.com/windows/servercore:1809 mcr.microsoft.com/dotnet/framework team/iis:1 app@sha256:0 \
        ALL NET_ADMIN /bin/sh bash powershell.exe cmd.exe C:\\a \\\\.\\pipe\\a /proc /etc/a hyperv DaemonSet \
        ReplicaSet apps/v1 main kube-api-access-abcde 1Gi hyperv 0";
    let text = text.split_whitespace().map(Value::from);
    let others = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(30),
        json!(420),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("a\u{1b}b\n\"\\"),
        json!([]),
        json!({}),
        json!(["ALL"]),
        json!([null]),
        json!([{}]),
        json!({"kubernetes.io/os": "windows"}),
        json!({"hostProcess": true}),
        json!({"name": "windows"}),
        json!({"type": "RuntimeDefault"}),
    ];
    text.chain(others).collect()
});

/// An object of some kind.
pub fn object(u: &mut Unstructured<'_>) -> Result<Value> {
    let kind = *u.choose(&KINDS)?;
    // Mostly pods: they are what is patched.
    let kind = if u.ratio(2, 3)? { "Pod" } else { kind };
    let mut pod =
        json!({"spec": {"containers": [{"name": "main", "image": "app:1"}]}, "metadata": {}});
    if u.ratio(3, 4)? {
        pod["spec"]["nodeSelector"] = json!({"kubernetes.io/os": "windows"});
    }
    changes(u, &mut pod)?;
    let mut object = object_of(kind, pod["spec"].take());
    merge(pod_metadata_mut(&mut object), &pod["metadata"]);
    Ok(object)
}

/// Sets some fields of an object that looks like a pod.
pub fn changes(u: &mut Unstructured<'_>, pod: &mut Value) -> Result<()> {
    for _ in 0..u.int_in_range(0..=12)? {
        let leaf = u.choose(&LEAVES)?;
        let value = match u.int_in_range(0..=9)? {
            0..=5 => leaf.value.clone(),
            6..=8 => {
                let like = |value: &&Value| {
                    std::mem::discriminant(*value) == std::mem::discriminant(&leaf.value)
                };
                let words: Vec<_> = WORDS.iter().filter(like).collect();
                (*u.choose(&words)?).clone()
            }
            _ => u.choose(&WORDS)?.clone(),
        };
        set(u, pod, &leaf.steps, value)?;
    }
    Ok(())
}

fn set(u: &mut Unstructured<'_>, at: &mut Value, steps: &[String], value: Value) -> Result<()> {
    let Some((step, rest)) = steps.split_first() else {
        *at = value;
        return Ok(());
    };
    let below = if step.parse::<usize>().is_ok() {
        let list = become_list(at);
        let index = u.int_in_range(0..=list.len().min(3))?;
        if index == list.len() {
            list.push(json!({}));
        }
        &mut list[index]
    } else {
        become_map(at).entry(step).or_insert(Value::Null)
    };
    set(u, below, rest, value)
}

fn become_list(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = json!([]);
    }
    value.as_array_mut().unwrap()
}

fn become_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().unwrap()
}

fn steps(pointer: &str) -> Vec<String> {
    let steps = pointer.split('/').skip(1);
    steps
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect()
}
