//! Placement: the selector, the tolerations and the label that are added.

use crate::common::{OS, ask_with, create, merge, pod, policy};
use crate::{container, image_only, is_silent, mutate, patched_paths, windows};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;

#[test]
fn adds_only_what_is_missing() {
    let toleration = |fields: Value| json!({"tolerations": [fields]});
    for (what, fields, missing) in [
        ("nothing", json!({}), true),
        (
            "the very same",
            toleration(
                json!({"key": "os", "operator": "Equal", "value": "Win1809", "effect": "NoSchedule"}),
            ),
            false,
        ),
        (
            "operator left out",
            toleration(json!({"key": "os", "value": "Win1809", "effect": "NoSchedule"})),
            false,
        ),
        (
            "every effect",
            toleration(json!({"key": "os", "value": "Win1809"})),
            false,
        ),
        (
            "every value",
            toleration(json!({"key": "os", "operator": "Exists"})),
            false,
        ),
        (
            "everything",
            toleration(json!({"operator": "Exists"})),
            false,
        ),
        (
            "everything of an effect",
            toleration(json!({"operator": "Exists", "effect": "NoSchedule"})),
            false,
        ),
        (
            "another effect",
            toleration(json!({"operator": "Exists", "effect": "NoExecute"})),
            true,
        ),
        (
            "another value",
            toleration(json!({"key": "os", "value": "windows"})),
            true,
        ),
        (
            "another key",
            toleration(json!({"key": "o", "operator": "Exists"})),
            true,
        ),
        ("an empty list", json!({"tolerations": []}), true),
        ("null", json!({"tolerations": null}), true),
    ] {
        let object = pod(windows(fields));
        let patched = mutate(&object).patched(&object);
        let before = object["spec"]["tolerations"].as_array().map_or(0, Vec::len);
        let after = patched["spec"]["tolerations"]
            .as_array()
            .map_or(0, Vec::len);
        assert_eq!(after - before, usize::from(missing), "{what}");
        is_silent(what, &mutate(&patched));
    }
    for selector in [
        json!({}),
        Value::Null,
        json!({"disk": "ssd"}),
        json!({"beta.kubernetes.io/os": "windows"}),
    ] {
        let mut object = pod(image_only());
        object["spec"]["nodeSelector"] = selector.clone();
        let patched = mutate(&object).patched(&object);
        assert_eq!(patched["spec"]["nodeSelector"][OS], "windows");
        for (key, value) in selector.as_object().into_iter().flatten() {
            assert_eq!(&patched["spec"]["nodeSelector"][key], value);
        }
    }
    for os in [json!({}), Value::Null, json!({"name": null})] {
        let mut object = pod(image_only());
        object["spec"]["os"] = os;
        let patched = mutate(&object).patched(&object);
        assert_eq!(patched["spec"]["os"], json!({"name": "windows"}));
    }
}

#[test]
fn adds_the_tolerations_of_the_pods_build() {
    let policy = policy(
        "placement:\n  tolerations:\n  - {key: os, value: Win1809, builds: [10.0.17763]}\n  \
         - {key: os, value: Win2022, builds: [10.0.20348]}\n  \
         - {key: os, value: Win2025, builds: [10.0.26100]}\n  - {key: pool, operator: Exists}\n",
    );
    let build = "node.kubernetes.io/windows-build";
    let sku = "kubernetes.azure.com/os-sku";
    let required = |values: Value| {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchExpressions": [{"key": build, "operator": "In", "values": values}]}]}}}})
    };
    let image =
        |image: &str| windows(json!({"containers": [container("a", json!({"image": image}))]}));
    for (what, spec, want) in [
        (
            "unknown",
            windows(json!({})),
            vec!["Win1809", "Win2022", "Win2025", ""],
        ),
        (
            "by selector",
            windows(json!({"nodeSelector": {build: "10.0.17763"}})),
            vec!["Win1809", ""],
        ),
        (
            "by affinity",
            required(json!(["10.0.20348"])),
            vec!["Win2022", ""],
        ),
        (
            "by affinity to two",
            required(json!(["10.0.17763", "10.0.20348"])),
            vec!["Win1809", "Win2022", ""],
        ),
        ("by image", image("a:ltsc2019"), vec!["Win1809", ""]),
        ("by image", image("a:nanoserver-1809"), vec!["Win1809", ""]),
        // Since Windows Server 2022 images run on nodes of the next release, too.
        (
            "by image",
            image("a:ltsc2022"),
            vec!["Win2022", "Win2025", ""],
        ),
        ("by image", image("a:ltsc2025"), vec!["Win2025", ""]),
        (
            "by image and selector",
            {
                let mut spec = image("a:ltsc2022");
                merge(&mut spec, &json!({"nodeSelector": {build: "10.0.26100"}}));
                spec
            },
            vec!["Win2025", ""],
        ),
        (
            "by an AKS release",
            windows(json!({"nodeSelector": {sku: "Windows2022"}})),
            vec!["Win2022", ""],
        ),
        ("another build", image("a:10.0.14393.1"), vec![""]),
        (
            "no whole word",
            image("a:xltsc2019"),
            vec!["Win1809", "Win2022", "Win2025", ""],
        ),
    ] {
        let object = pod(spec);
        let answer = ask_with(
            Endpoint::Mutate,
            &create(&object),
            &policy,
            &Facts::default(),
        );
        let patched = answer.patched(&object);
        let values: Vec<_> = patched["spec"]["tolerations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["value"].as_str().unwrap_or(""))
            .collect();
        assert_eq!(values, want, "{what}");
    }
}

#[test]
fn writes_the_configured_label() {
    let policy = policy("placement: {osLabelKey: example.com/os, tolerations: []}");
    let object = pod(windows(json!({})));
    let answer = ask_with(
        Endpoint::Mutate,
        &create(&object),
        &policy,
        &Facts::default(),
    );
    assert_eq!(
        patched_paths(&answer),
        ["add /spec/os", "add /spec/nodeSelector/example.com~1os"]
    );
}
