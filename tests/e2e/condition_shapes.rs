//! Windows objects that cost the conditions as much as an object can: each of them reaches the
//! webhook, and its denial names what is wrong with it, whatever the failure policy.
#![allow(clippy::needless_pass_by_value)] // Most objects are made where they are passed.

use hyper::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::common::{merge, object_of, pod_metadata_mut, pod_spec_mut};
use crate::conditions::path_of;
use crate::transom::{Options, Transom};

tests![
    denies_windows_objects_of_every_shape_under_fail,
    denies_windows_objects_of_every_shape_under_ignore,
];

fn denies_windows_objects_of_every_shape_under_fail(cluster: &Cluster) {
    denies_every_shape(cluster, "shapes-fail", "Fail");
}

fn denies_windows_objects_of_every_shape_under_ignore(cluster: &Cluster) {
    denies_every_shape(cluster, "shapes-ignore", "Ignore");
}

fn denies_every_shape(cluster: &Cluster, name: &'static str, failure_policy: &str) {
    let options = Options {
        failure_policy,
        conditions: true,
        ..Options::default()
    };
    let transom = Transom::install(cluster, name, &options);
    let namespace = transom.namespace(name, &[]);
    let mut failures = Vec::new();
    let shapes = shapes();
    assert!(shapes.len() >= 20);
    for (what, answer, mut object) in shapes {
        object["metadata"]["namespace"] = json!(namespace.name());
        let path = path_of(&object, namespace.name());
        let (status, body) = cluster
            .api()
            .ask(Method::POST, &path, Some(&object))
            .unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let message = body["message"].as_str().unwrap_or_default();
        let right = match answer {
            Answer::Denied => status == 403 && message.contains("[WIN201 host-network]"),
            Answer::TooMany => status == 403 && message.contains("more than 65536 fields"),
            // The API server rejects it between the webhooks.
            Answer::Invalid => status == 422 && message.contains("is invalid"),
        };
        if !right || message.contains("matchConditions") || message.contains("size(") {
            let message = message.chars().take(300).collect::<String>();
            failures.push(format!("{what}: {status} {message}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[derive(Clone, Copy)]
enum Answer {
    Denied,
    /// Denied as well: the webhook reads no more.
    TooMany,
    Invalid,
}

/// Required affinity to Windows nodes, and what Windows does not support.
fn windows(spec: Value) -> Value {
    let mut all = json!({
        "hostNetwork": true,
        "containers": [{"name": "a", "image": "registry.example/a:1"}],
        "affinity": required(json!([on_windows()])),
    });
    merge(&mut all, &spec);
    all
}

fn on_windows() -> Value {
    json!({"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}]})
}

fn required(terms: Value) -> Value {
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
}

fn container(fields: Value) -> Value {
    let mut container = json!({"name": "a", "image": "registry.example/a:1"});
    merge(&mut container, &fields);
    windows(json!({"containers": [container]}))
}

fn many(count: usize, entry: impl Fn(usize) -> Value) -> Value {
    (0..count).map(entry).collect()
}

fn containers(count: usize, fields: Value) -> Value {
    many(count, |i| {
        let mut container = json!({"name": format!("c{i}"), "image": "registry.example/a:1"});
        merge(&mut container, &fields);
        container
    })
}

fn map(count: usize, value: &str) -> Value {
    let entry = |i| (format!("k{i}"), json!(value));
    Value::Object((0..count).map(entry).collect())
}

/// Terms that all choose Windows nodes, each with so many other expressions before that.
fn terms(terms: usize, expressions: usize) -> Value {
    many(terms, |_| {
        let key = |i| json!({"key": format!("k{i}"), "operator": "Exists"});
        let mut list = many(expressions, key);
        let last = on_windows()["matchExpressions"][0].clone();
        list.as_array_mut().unwrap().push(last);
        json!({"matchExpressions": list})
    })
}

/// Matches the beginning of the regular expressions at every place, and their end at none.
fn text(length: usize) -> String {
    "1:\\ .exe ".repeat(length / 9)
}

fn shapes() -> Vec<(&'static str, Answer, Value)> {
    let specs = vec![
        (
            "an image of 200 kB",
            container(json!({"image": "a".repeat(200_000)})),
        ),
        (
            "an image of 1.4 MB",
            container(json!({"image": "a".repeat(1_400_000)})),
        ),
        (
            "390 kB of arguments",
            container(json!({"args": vec![text(390); 1_000]})),
        ),
        (
            "an argument of 1.4 MB",
            container(json!({"args": [text(1_400_000)]})),
        ),
        (
            "40,000 arguments",
            container(json!({"args": vec!["a"; 40_000]})),
        ),
        (
            "300,000 arguments",
            container(json!({"args": vec!["a"; 300_000]})),
        ),
        (
            "a command of 100,000",
            container(json!({"command": vec!["a"; 100_000]})),
        ),
        (
            "a working directory of 1 MB",
            container(json!({"workingDir": text(1_000_000)})),
        ),
        (
            "2,000 containers",
            windows(json!({"containers": containers(2_000, json!({}))})),
        ),
        (
            "500 containers with 500 arguments",
            windows(json!({"containers": containers(500, json!({"args": vec!["a"; 500]}))})),
        ),
        (
            "150 containers with 100 arguments",
            windows(
                json!({"containers": containers(150, json!({"args": vec!["--verbose"; 100]}))}),
            ),
        ),
        (
            "50 containers with all that is searched",
            windows(json!({"containers": containers(50, json!({"args": [".".repeat(8_000)]}))})),
        ),
        (
            "50 containers with all that is matched",
            windows(json!({"containers": containers(50, json!({
                "image": ":wwindow-180".repeat(24), "args": [text(300)],
            }))})),
        ),
        (
            "init containers",
            windows(json!({"initContainers": many(2_000, |i| {
                json!({"name": format!("i{i}"), "image": "a"})
            })})),
        ),
        (
            "volume mounts",
            container(json!({"volumeMounts": many(5_000, |i| {
                json!({"name": "v", "mountPath": format!("/{i}")})
            })})),
        ),
        (
            "volumes",
            windows(json!({"volumes": many(5_000, |i| {
                json!({"name": format!("v{i}"), "emptyDir": {}})
            })})),
        ),
        (
            "a host path of 1 MB",
            windows(json!({"volumes": [{"name": "v", "hostPath": {"path": text(1_000_000)}}]})),
        ),
        (
            "tolerations",
            windows(json!({"tolerations": many(20_000, |i| {
                json!({"key": format!("k{i}"), "operator": "Exists"})
            })})),
        ),
        (
            "a term with 20,000 expressions",
            windows(json!({"affinity": required(terms(1, 20_000))})),
        ),
        (
            "3,000 terms",
            windows(json!({"affinity": required(terms(3_000, 0))})),
        ),
        (
            "10,000 terms",
            windows(json!({"affinity": required(terms(10_000, 0))})),
        ),
        (
            "150 terms of 150 expressions",
            windows(json!({"affinity": required(terms(150, 150))})),
        ),
        (
            "50 terms of 49 expressions",
            windows(json!({"affinity": required(terms(50, 49))})),
        ),
        (
            "200,000 values",
            windows(json!({"affinity": required(json!([{"matchExpressions": [
                {"key": "kubernetes.io/os", "operator": "In", "values": vec!["windows"; 200_000]},
            ]}]))})),
        ),
        (
            "a node selector of 20,000",
            windows(json!({"nodeSelector": map(20_000, "v")})),
        ),
        ("evidence in the last of 2,000 containers", {
            let mut list = containers(2_000, json!({}));
            list[1_999]["image"] = json!("mcr.microsoft.com/windows/nanoserver:ltsc2022");
            json!({"hostNetwork": true, "containers": list})
        }),
        (
            "windowsOptions after an image of 1 MB",
            json!({"hostNetwork": true, "containers": [
                {"name": "a", "image": "a".repeat(1_000_000)},
                {"name": "b", "image": "b", "securityContext": {"windowsOptions": {"runAsUserName": "a"}}},
            ]}),
        ),
    ];
    let mut shapes = Vec::new();
    for (what, spec) in specs {
        // Valid for the API server, as far as mounts of volumes that do not exist go.
        let answer = match what {
            "volume mounts" => Answer::Invalid,
            "10,000 terms" | "150 terms of 150 expressions" | "200,000 values" => Answer::TooMany,
            _ => Answer::Denied,
        };
        shapes.push((what, answer, object_of("Pod", spec)));
    }
    // Longer than labels can be.
    let long = windows(json!({"nodeSelector": {"disk": "v".repeat(1_000_000)}}));
    shapes.push((
        "a node selector of 1 MB",
        Answer::Invalid,
        object_of("Pod", long),
    ));
    for (what, key, count, value) in [
        ("10,000 annotations", "annotations", 10_000, "v"),
        (
            "an annotation of 250 kB",
            "annotations",
            1,
            &*"v".repeat(250_000),
        ),
        ("20,000 labels", "labels", 20_000, "v"),
    ] {
        let mut object = object_of("Pod", windows(json!({})));
        merge(
            pod_metadata_mut(&mut object),
            &json!({key: map(count, value)}),
        );
        shapes.push((what, Answer::Denied, object));
    }
    for kind in ["PodTemplate", "Job", "CronJob"] {
        let mut object = object_of(kind, windows(json!({})));
        let spec = pod_spec_mut(&mut object);
        spec["containers"] = containers(500, json!({"args": vec!["a"; 500]}));
        spec["affinity"] = required(terms(100, 100));
        if kind != "PodTemplate" {
            spec["restartPolicy"] = json!("Never");
        }
        if kind == "CronJob" {
            object["spec"]["schedule"] = json!("0 0 * * *");
        }
        shapes.push(("a workload of nested lists", Answer::Denied, object));
    }
    shapes
}
