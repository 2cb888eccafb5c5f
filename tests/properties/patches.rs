//! Patches: which objects get one, what it changes, and what is said of the patched object.

use crate::common::{
    Answer, ask, create, detected, endpoint_of, pod_spec, pod_spec_mut, recordings,
};
use crate::config;
use crate::objects::{any_object, linux_object, windows_object};
use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::os::Os;
use transom::policy::Policy;

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
}

fn both(object: &Value) -> (Answer, Answer) {
    let body = create(object);
    (ask(Endpoint::Mutate, &body), ask(Endpoint::Validate, &body))
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

#[test]
fn recordings_are_patched_as_their_operations_say() {
    for (name, body) in recordings() {
        let answer = ask(endpoint_of(&name), &body);
        if answer.patch.is_some() {
            let review: Value = serde_json::from_slice(&body).unwrap();
            let object = &review["request"]["object"];
            same_but_for_the_patch(object, &answer.patched(object), &answer.repair);
        }
    }
}
