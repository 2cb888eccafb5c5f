//! What holds for every pod, tried on generated ones: fields that the rules look at, evidence for
//! either system, in every kind. PROPTEST_CASES sets the number of cases.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

mod common;

use common::{
    Answer, KINDS, ask, ask_with, create, detected, merge, object_of, pod_metadata_mut, pod_spec,
    pod_spec_mut, recording, recordings, review_of,
};
use k8s_openapi::api::core::v1::Pod;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};
use transom::admit::admit;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::os::Os;
use transom::policy::Policy;
use transom::review;

/// The default of proptest is 256 cases; regressions become plain tests, not files.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

// ── Pods ─────────────────────────────────────────────────────────────────────────────────────

/// Some of these pieces, merged.
fn some_of(pieces: Vec<Value>, most: usize) -> impl Strategy<Value = Value> {
    vec(select(pieces), 0..=most).prop_map(|pieces| {
        let mut all = json!({});
        pieces.iter().for_each(|piece| merge(&mut all, piece));
        all
    })
}

/// What containers may have in their security context.
fn context() -> impl Strategy<Value = Value> {
    some_of(
        vec![
            json!({"runAsUser": 1000}),
            json!({"runAsGroup": 0}),
            json!({"runAsNonRoot": true}),
            json!({"privileged": true}),
            json!({"privileged": false}),
            json!({"allowPrivilegeEscalation": true}),
            json!({"allowPrivilegeEscalation": false}),
            json!({"readOnlyRootFilesystem": true}),
            json!({"readOnlyRootFilesystem": false}),
            json!({"procMount": "Default"}),
            json!({"procMount": "Unmasked"}),
            json!({"capabilities": {"drop": ["ALL"]}}),
            json!({"capabilities": {"add": ["NET_ADMIN"]}}),
            json!({"capabilities": {}}),
            json!({"seLinuxOptions": {}}),
            json!({"seccompProfile": {"type": "RuntimeDefault"}}),
            json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}}),
            json!({"appArmorProfile": {"type": "Unconfined"}}),
            json!({"appArmorProfile": {"type": "RuntimeDefault"}}),
        ],
        3,
    )
}

fn image() -> impl Strategy<Value = &'static str> {
    select(vec![
        "registry.example/app:1",
        "registry.example/app:1",
        "registry.example/other@sha256:0123",
        "registry.example/team/iis:1",
    ])
}

fn container(name: String) -> impl Strategy<Value = Value> {
    let fields = some_of(
        vec![
            json!({"command": ["/bin/sh", "-c", "true"]}),
            json!({"command": ["app"]}),
            json!({"env": [{"name": "A", "value": "b"}]}),
            json!({"resources": {"limits": {"memory": "1Gi"}}}),
            json!({"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}),
            json!({"volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "b"}]}),
            json!({"volumeMounts": [{"name": "v", "mountPath": "/a", "readOnly": true}]}),
            json!({"volumeDevices": [{"name": "v", "devicePath": "/dev/a"}]}),
            json!({"livenessProbe": {"exec": {"command": ["bash"]}}}),
            json!({"lifecycle": {"stopSignal": "SIGUSR1"}}),
            json!({"terminationMessagePath": "/dev/termination-log"}),
        ],
        2,
    );
    (fields, proptest::option::of(context()), image()).prop_map(move |(mut all, context, image)| {
        all["name"] = json!(name);
        all["image"] = json!(image);
        if let Some(context) = context {
            all["securityContext"] = context;
        }
        all
    })
}

fn containers(prefix: &'static str, least: usize) -> impl Strategy<Value = Vec<Value>> {
    (least..=least + 2).prop_flat_map(move |count| {
        (0..count)
            .map(|i| container(format!("{prefix}{i}")))
            .collect::<Vec<_>>()
    })
}

fn volumes() -> impl Strategy<Value = Vec<Value>> {
    let sources = vec![
        json!({"emptyDir": {}}),
        json!({"emptyDir": {"medium": "Memory"}}),
        json!({"emptyDir": {"medium": "HugePages-2Mi"}}),
        json!({"secret": {"secretName": "a", "defaultMode": 420}}),
        json!({"secret": {"secretName": "a", "defaultMode": 256}}),
        json!({"configMap": {"name": "a", "items": [{"key": "a", "path": "b", "mode": 256}]}}),
        json!({"nfs": {"server": "a", "path": "/"}}),
        json!({"hostPath": {"path": "/etc"}}),
        json!({"hostPath": {"path": "C:\\a"}}),
        json!({"persistentVolumeClaim": {"claimName": "a"}}),
    ];
    vec(select(sources), 0..3).prop_map(|sources| {
        let named = |(i, mut source): (usize, Value)| {
            source["name"] = json!(format!("v{i}"));
            source
        };
        sources.into_iter().enumerate().map(named).collect()
    })
}

/// A pod spec without evidence, but for hints.
fn spec() -> impl Strategy<Value = Value> {
    let fields = some_of(
        vec![
            json!({"hostNetwork": true}),
            json!({"hostPID": true}),
            json!({"hostIPC": false}),
            json!({"hostUsers": true}),
            json!({"hostUsers": false}),
            json!({"shareProcessNamespace": false}),
            json!({"shareProcessNamespace": true}),
            json!({"dnsPolicy": "ClusterFirstWithHostNet"}),
            json!({"dnsConfig": {"searches": ["a.example", "b.example"]}}),
            json!({"tolerations": []}),
            json!({"tolerations": [{"operator": "Exists"}]}),
            json!({"tolerations": [{"key": "os", "operator": "Equal", "value": "windows"}]}),
            json!({"nodeSelector": {"disk": "ssd"}}),
            json!({"nodeSelector": {}}),
            json!({"terminationGracePeriodSeconds": 30}),
            json!({"priority": 5, "enableServiceLinks": true}),
            json!({"securityContext": {}}),
            json!({"securityContext": {"runAsUser": 0}}),
            json!({"securityContext": {"fsGroup": 5}}),
            json!({"securityContext": {"sysctls": []}}),
            json!({"securityContext": {"supplementalGroups": []}}),
            json!({"securityContext": {"supplementalGroupsPolicy": "Merge"}}),
            json!({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}),
        ],
        3,
    );
    (fields, containers("c", 1), containers("i", 0), volumes()).prop_map(
        |(mut spec, containers, init, volumes)| {
            spec["containers"] = json!(containers);
            if !init.is_empty() {
                spec["initContainers"] = json!(init);
            }
            if !volumes.is_empty() {
                spec["volumes"] = json!(volumes);
            }
            spec
        },
    )
}

fn required(os: &str) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions":
            [{"key": "kubernetes.io/os", "operator": "In", "values": [os]}]}]}}}})
}

/// Decisive or acting evidence for one system, none against it.
fn evidence(os: &'static str) -> impl Strategy<Value = Value> {
    let mut pieces = vec![
        json!({"nodeSelector": {"kubernetes.io/os": os}}),
        json!({"nodeSelector": {"beta.kubernetes.io/os": os}}),
        json!({"os": {"name": os}}),
        required(os),
    ];
    if os == "windows" {
        pieces.extend([
            json!({"nodeSelector": {"node.kubernetes.io/windows-build": "10.0.20348"}}),
            json!({"securityContext": {"windowsOptions": {"runAsUserName": "ContainerUser"}}}),
        ]);
    }
    vec(select(pieces), 1..3).prop_map(|pieces| {
        let mut all = json!({});
        pieces.iter().for_each(|piece| merge(&mut all, piece));
        all
    })
}

fn object_with(evidence: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    (select(KINDS.to_vec()), spec(), evidence).prop_map(|(kind, mut spec, evidence)| {
        merge(&mut spec, &evidence);
        object_of(kind, spec)
    })
}

fn linux_object() -> impl Strategy<Value = Value> {
    object_with(evidence("linux"))
}

fn windows_object() -> impl Strategy<Value = Value> {
    object_with(evidence("windows"))
}

/// Any object, contradictions and hints included.
fn any_object() -> impl Strategy<Value = Value> {
    let evidence = (
        proptest::option::of(evidence("windows")),
        proptest::option::of(evidence("linux")),
    );
    let metadata = some_of(
        vec![
            json!({"annotations": {"transom.dev/os": "windows"}}),
            json!({"annotations": {"a": "b"}}),
            json!({"labels": {"kubernetes.io/os": "windows"}}),
        ],
        1,
    );
    (select(KINDS.to_vec()), spec(), evidence, metadata).prop_map(
        |(kind, mut spec, (windows, linux), metadata)| {
            for evidence in [windows, linux].into_iter().flatten() {
                merge(&mut spec, &evidence);
            }
            let mut object = object_of(kind, spec);
            merge(pod_metadata_mut(&mut object), &metadata);
            object
        },
    )
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

fn both(object: &Value) -> (Answer, Answer) {
    let body = create(object);
    (ask(Endpoint::Mutate, &body), ask(Endpoint::Validate, &body))
}

/// The findings in an order of their own. Of several hints that are equally strong WIN604 tells
/// the first of the document, whichever that is.
fn unordered(answer: &Answer) -> Vec<String> {
    let told = answer.findings().into_iter().map(|finding| {
        let (start, _) = finding.rsplit_once(' ').unwrap_or((&finding, ""));
        match start.ends_with("WIN604") {
            true => start.to_owned(),
            false => finding,
        }
    });
    sorted(told.collect())
}

/// Whether two objects are the same to Kubernetes' own type, but for what patches touch.
fn same_but_for_the_patch(before: &Value, after: &Value, repaired: &[String]) {
    let decode = |object: &Value| -> Pod {
        let spec = pod_spec(object);
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "Pod", "spec": spec})).unwrap()
    };
    let (mut before, mut after) = (decode(before), decode(after));
    let (old, new) = (before.spec.as_mut().unwrap(), after.spec.as_mut().unwrap());
    // Placement only adds.
    if old.os.is_none() && new.os.as_ref().is_some_and(|os| os.name == "windows") {
        new.os = None;
    }
    let selector = new.node_selector.get_or_insert_default();
    let old_selector = old.node_selector.get_or_insert_default();
    if !old_selector.contains_key("kubernetes.io/os") {
        let added = selector.remove("kubernetes.io/os");
        assert!(added.is_none_or(|added| added == "windows"));
    }
    let tolerations = new.tolerations.get_or_insert_default();
    let old_tolerations = old.tolerations.get_or_insert_default();
    assert!(tolerations.starts_with(old_tolerations), "added at the end");
    for added in tolerations.drain(old_tolerations.len()..) {
        assert_eq!(added.key.as_deref(), Some("os"));
        assert_eq!(added.value.as_deref(), Some("Win1809"));
    }
    // What is left differs by the repaired fields alone.
    let mut before = serde_json::to_value(&before).unwrap();
    let after = serde_json::to_value(&after).unwrap();
    for repair in repaired {
        let (_, path) = repair.split_once(' ').unwrap();
        let below = path.rsplit_once("spec.").map_or(path, |(_, below)| below);
        let pointer = format!("/spec/{}", below.replace(['.', '['], "/").replace(']', ""));
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = before.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        assert!(parent.remove(name).is_some(), "{repair}");
    }
    assert_eq!(before, after);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn linux_objects_are_left_alone(object in linux_object()) {
        let body = create(&object);
        let found = detected(&body, &Policy::default(), &Facts::default());
        prop_assert_eq!(found.0, Some(Os::Linux));
        let (mutated, validated) = both(&object);
        for answer in [mutated, validated] {
            prop_assert!(answer.allowed);
            prop_assert_eq!(answer.patch, None);
            prop_assert!(answer.response.get("warnings").is_none());
            prop_assert!(answer.response.get("auditAnnotations").is_none());
        }
    }

    #[test]
    fn patching_twice_is_patching_once(object in any_object()) {
        let (mutated, _) = both(&object);
        let once = mutated.patched(&object);
        let again = ask(Endpoint::Mutate, &create(&once));
        prop_assert_eq!(&again.patch, &None);
        prop_assert_eq!(again.patched(&once), once);
    }

    #[test]
    fn a_patch_changes_nothing_but_what_it_names(object in any_object()) {
        let (mutated, validated) = both(&object);
        prop_assert_eq!(&validated.patch, &None);
        let patched = mutated.patched(&object);
        same_but_for_the_patch(&object, &patched, &mutated.repair);
        let kind = object["kind"].as_str().unwrap();
        if mutated.patch.is_some() {
            prop_assert!(["Pod", "DaemonSet"].contains(&kind));
        }
        // Beside the pod spec nothing changes at all.
        let mut rest = patched;
        *pod_spec_mut(&mut rest) = pod_spec(&object).clone();
        prop_assert_eq!(rest, object);
    }

    #[test]
    fn validate_says_no_more_of_a_patched_object(object in any_object()) {
        let (mutated, before) = both(&object);
        if !mutated.allowed {
            prop_assert!(!before.allowed, "what /mutate denies, /validate denies");
            return Ok(());
        }
        let after = ask(Endpoint::Validate, &create(&mutated.patched(&object)));
        for finding in &after.deny {
            prop_assert!(before.deny.contains(finding), "{finding} is new");
        }
        for finding in &after.warn {
            prop_assert!(before.warn.contains(finding), "{finding} is new");
        }
        for repaired in &mutated.repair {
            prop_assert!(!after.warn.contains(repaired) && !after.deny.contains(repaired));
            prop_assert!(before.warn.contains(repaired) || before.deny.contains(repaired));
        }
        prop_assert_eq!(after.allowed, before.allowed || after.deny.is_empty());
    }

    /// Every Windows pod that is admitted carries what it needs.
    #[test]
    fn admitted_windows_pods_are_placed(object in windows_object()) {
        let (mutated, _) = both(&object);
        let kind = object["kind"].as_str().unwrap();
        if !mutated.allowed || !["Pod", "DaemonSet"].contains(&kind) {
            return Ok(());
        }
        let patched = mutated.patched(&object);
        let spec = pod_spec(&patched);
        prop_assert_eq!(&spec["nodeSelector"]["kubernetes.io/os"], "windows");
        let tolerations = spec["tolerations"].as_array().unwrap();
        let tolerated = tolerations.iter().any(|t| {
            t["operator"] == "Exists" && t.get("key").is_none() || t["value"] == "Win1809"
        });
        prop_assert!(tolerated);
    }

    #[test]
    fn the_order_of_keys_does_not_matter(object in any_object(), seed in any::<u64>()) {
        let review = review_of(&object, "CREATE", None);
        let shuffled = shuffle(&review, &mut seed.clone());
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let straight = ask(endpoint, &serde_json::to_vec(&review).unwrap());
            let other = ask(endpoint, shuffled.as_bytes());
            prop_assert_eq!(straight.allowed, other.allowed);
            prop_assert_eq!(straight.patched(&object), other.patched(&object));
            prop_assert_eq!(unordered(&straight), unordered(&other));
        }
    }

    #[test]
    fn the_parse_agrees_with_a_walk_over_values(object in windows_object()) {
        let answer = ask(Endpoint::Validate, &create(&object));
        let told: Vec<_> = answer.deny.iter().chain(&answer.warn).cloned().collect();
        let told = told.into_iter().filter(|f| WALKED.contains(&&f[..6])).collect();
        prop_assert_eq!(sorted(told), sorted(walk(&object)));
    }

    #[test]
    fn arbitrary_bytes_are_survived(bytes in vec(any::<u8>(), 0..300)) {
        answers_or_refuses(&bytes)?;
    }

    #[test]
    fn arbitrary_json_is_survived(value in json_value()) {
        answers_or_refuses(&serde_json::to_vec(&value).unwrap())?;
        let mut review = review_of(&object_of("Pod", json!({})), "CREATE", None);
        review["request"]["object"] = value.clone();
        answers(&review)?;
        review["request"]["operation"] = json!("UPDATE");
        review["request"]["oldObject"] = value;
        answers(&review)?;
    }

    #[test]
    fn values_in_odd_places_are_survived(
        object in any_object(),
        operation in select(vec!["CREATE", "UPDATE"]),
        splices in vec((any::<Index>(), json_value()), 1..4),
    ) {
        let mut review = review_of(&object, operation, Some(&object));
        for (at, value) in splices {
            // Below the objects, so that the uid stays what it is.
            let places = pointers(&review, "")
                .into_iter()
                .filter(|p| p.starts_with("/request/object/") || p.starts_with("/request/oldObject/"))
                .collect::<Vec<_>>();
            if !places.is_empty() {
                *review.pointer_mut(at.get::<String>(&places)).unwrap() = value;
            }
        }
        answers(&review)?;
    }
}

// ── What the properties are made of ──────────────────────────────────────────────────────────

/// The value as text, with the keys of every object in some order.
fn shuffle(value: &Value, seed: &mut u64) -> String {
    let mut random = |below: usize| {
        // xorshift: any order will do, the same for the same seed.
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        usize::try_from(*seed % (below as u64).max(1)).unwrap()
    };
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            for i in (1..keys.len()).rev() {
                keys.swap(i, random(i + 1));
            }
            let members: Vec<_> = keys
                .into_iter()
                .map(|(key, value)| format!("{}:{}", json!(key), shuffle(value, seed)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(list) => {
            let elements: Vec<_> = list.iter().map(|value| shuffle(value, seed)).collect();
            format!("[{}]", elements.join(","))
        }
        scalar => scalar.to_string(),
    }
}

/// The rules that `walk` knows, too.
const WALKED: [&str; 8] = [
    "WIN101", "WIN113", "WIN201", "WIN202", "WIN301", "WIN304", "WIN307", "WIN504",
];

/// The same rules once more, by hand over a tree of values.
fn walk(object: &Value) -> Vec<String> {
    let kind = object["kind"].as_str().unwrap();
    let root = common::spec_path(kind);
    let spec = pod_spec(object);
    let mut found = Vec::new();
    let mut tell = |fires: bool, code: &str, path: String| {
        if fires {
            found.push(format!("{code} {root}{path}"));
        }
    };
    let set = |value: &Value| !value.is_null();
    let shell = |value: &Value| {
        value.as_str().is_some_and(|word| {
            word.starts_with("/bin/")
                || word.starts_with("/usr/bin/")
                || ["sh", "bash"].contains(&word)
        })
    };
    let user = &spec["securityContext"]["runAsUser"];
    tell(set(user), "WIN101", ".securityContext.runAsUser".to_owned());
    tell(
        spec["hostNetwork"] == true,
        "WIN201",
        ".hostNetwork".to_owned(),
    );
    tell(spec["hostPID"] == true, "WIN202", ".hostPID".to_owned());
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for (i, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            let at = format!(".{list}[{i}]");
            let context = &container["securityContext"];
            for (code, field) in [("WIN101", "runAsUser"), ("WIN113", "privileged")] {
                tell(
                    set(&context[field]),
                    code,
                    format!("{at}.securityContext.{field}"),
                );
            }
            for (j, mount) in container["volumeMounts"]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
            {
                let sub_path = mount["subPath"]
                    .as_str()
                    .is_some_and(|path| !path.is_empty());
                tell(
                    sub_path,
                    "WIN301",
                    format!("{at}.volumeMounts[{j}].subPath"),
                );
            }
            tell(
                shell(&container["command"][0]),
                "WIN504",
                format!("{at}.command[0]"),
            );
            let probe = &container["livenessProbe"]["exec"]["command"][0];
            tell(
                shell(probe),
                "WIN504",
                format!("{at}.livenessProbe.exec.command[0]"),
            );
        }
    }
    for (i, volume) in spec["volumes"].as_array().into_iter().flatten().enumerate() {
        let medium = volume["emptyDir"]["medium"] == "Memory";
        tell(medium, "WIN304", format!(".volumes[{i}].emptyDir.medium"));
        tell(set(&volume["nfs"]), "WIN307", format!(".volumes[{i}].nfs"));
    }
    found
}

/// Any JSON, with many names and words that mean something here.
fn json_value() -> impl Strategy<Value = Value> {
    let words = vec![
        "spec",
        "containers",
        "securityContext",
        "windows",
        "linux",
        "os",
        "name",
        "template",
        "metadata",
        "annotations",
        "nodeSelector",
        "kubernetes.io/os",
        "volumes",
        "nfs",
        "affinity",
        "tolerations",
        "AdmissionReview",
        "request",
        "uid",
        "object",
        "kind",
        "runAsUser",
        "\\\"\n",
    ];
    let key = prop_oneof![select(words.clone()).prop_map(str::to_owned), ".{0,6}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(words).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((key.clone(), inner), 0..6)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn pointers(value: &Value, path: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut below = |key: &str, value: &Value| {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        out.extend(pointers(value, &path));
        out.push(path);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| below(key, value)),
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                below(&i.to_string(), value);
            }
        }
        _ => {}
    }
    out
}

fn answers_or_refuses(body: &[u8]) -> Result<bool, TestCaseError> {
    let (policy, facts) = (Policy::default(), Facts::default());
    let Ok(request) = review::decode(body, &policy) else {
        return Ok(false);
    };
    for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
        let bytes = review::encode(&admit(endpoint, &request, &policy, &facts));
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        prop_assert_eq!(&answer["response"]["uid"], request.uid());
    }
    Ok(true)
}

/// The review is one, so it has to be answered with its uid.
fn answers(review: &Value) -> Result<(), TestCaseError> {
    let answered = answers_or_refuses(&serde_json::to_vec(review).unwrap())?;
    prop_assert!(answered, "refused: {review}");
    Ok(())
}

// ── The same of recorded objects ─────────────────────────────────────────────────────────────

#[test]
fn the_order_of_keys_does_not_matter_in_recordings() {
    for (i, (name, body)) in recordings().into_iter().enumerate() {
        let review: Value = serde_json::from_slice(&body).unwrap();
        let endpoint = common::endpoint_of(&name);
        let straight = ask(endpoint, &body);
        let mut seed = i as u64 + 1;
        let other = ask(endpoint, shuffle(&review, &mut seed).as_bytes());
        assert_eq!(straight.allowed, other.allowed, "{name}");
        assert_eq!(
            sorted(straight.findings()),
            sorted(other.findings()),
            "{name}"
        );
        let object = &review["request"]["object"];
        assert_eq!(straight.patched(object), other.patched(object), "{name}");
    }
}

#[test]
fn recordings_are_patched_as_their_operations_say() {
    for (name, body) in recordings() {
        let answer = ask(common::endpoint_of(&name), &body);
        if answer.patch.is_some() {
            let review: Value = serde_json::from_slice(&body).unwrap();
            let object = &review["request"]["object"];
            same_but_for_the_patch(object, &answer.patched(object), &answer.repair);
        }
    }
}

/// Facts and policy are read, never written: the same question gets the same answer.
#[test]
fn the_same_question_gets_the_same_answer() {
    let (policy, facts) = (Policy::default(), Facts::default());
    let body = recording("pod-create-win-c-privileged-false.mutating");
    let first = ask_with(Endpoint::Mutate, &body, &policy, &facts);
    for _ in 0..3 {
        assert_eq!(ask_with(Endpoint::Mutate, &body, &policy, &facts), first);
    }
}
