//! The recordings once more, with evidence of another sort.

use std::collections::BTreeMap;

use crate::common::{
    Answer, Expected, KINDS, OS, ask, detected, endpoint_of, expectations, pod_spec, pod_spec_mut,
    recordings,
};
use crate::{BETA, BUILD, has_toleration};
use serde_json::{Value, json};
use transom::facts::Facts;
use transom::os::{Os, Source};
use transom::policy::Policy;

const NEUTRAL: &str = "registry.example/team/app:1.0";
/// The build of the recordings' own images.
const CERTAIN: &str = "registry.example/team/app:1.0-ltsc2022";

fn has_pod(object: &Value) -> bool {
    KINDS.contains(&object["kind"].as_str().unwrap()) && pod_spec(object).is_object()
}

fn set_images(object: &mut Value, image: &str) {
    let spec = pod_spec_mut(object);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            container["image"] = json!(image);
        }
    }
}

/// Takes away everything but the images that speaks for an operating system.
fn strip(object: &mut Value) {
    fn options(owner: &mut Value) {
        if let Some(context) = owner["securityContext"].as_object_mut() {
            context.remove("windowsOptions");
        }
    }
    let spec = pod_spec_mut(object);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        spec[list]
            .as_array_mut()
            .into_iter()
            .flatten()
            .for_each(options);
    }
    options(spec);
    let spec = spec.as_object_mut().unwrap();
    for field in ["os", "affinity"] {
        spec.remove(field);
    }
    if let Some(selector) = spec.get_mut("nodeSelector") {
        for key in [OS, BETA, BUILD] {
            selector.as_object_mut().unwrap().remove(key);
        }
    }
    if let Some(tolerations) = spec.get_mut("tolerations") {
        tolerations
            .as_array_mut()
            .unwrap()
            .retain(|t| t["key"] != "os");
    }
}

fn objects_of(review: &mut Value) -> impl Iterator<Item = &mut Value> {
    let request = review["request"].as_object_mut().unwrap();
    request
        .iter_mut()
        .filter(|(key, value)| ["object", "oldObject"].contains(&key.as_str()) && !value.is_null())
        .map(|(_, object)| object)
}

/// The recordings of kinds with a pod, as values.
fn reviews() -> BTreeMap<String, Value> {
    recordings()
        .into_iter()
        .map(|(name, body)| (name, serde_json::from_slice::<Value>(&body).unwrap()))
        .filter(|(_, review)| has_pod(&review["request"]["object"]))
        .collect()
}

fn judged(name: &str, review: &Value) -> Answer {
    ask(endpoint_of(name), &serde_json::to_vec(review).unwrap())
}

/// The same findings; a `Value` has its keys in another order than the recording.
fn finds(name: &str, answer: &Answer, expected: &Expected) {
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        list
    };
    for (got, want) in [
        (&answer.deny, &expected.deny),
        (&answer.warn, &expected.warn),
        (&answer.repair, &expected.repair),
    ] {
        assert_eq!(sorted(got), sorted(want), "{name}");
    }
}

#[test]
fn recordings_with_neutral_images_get_the_same_answers() {
    let expectations = expectations();
    let mut count = 0;
    for (name, mut review) in reviews() {
        let before = judged(&name, &review);
        objects_of(&mut review).for_each(|object| set_images(object, NEUTRAL));
        let answer = judged(&name, &review);
        let expected = &expectations[&name];
        finds(&name, &answer, expected);
        assert_eq!(answer.patch, before.patch, "{name}");
        count += 1;
    }
    assert_eq!(count, 269);
}

/// Recordings that are about the very evidence that is taken away.
const ABOUT_EVIDENCE: &[(&str, &str)] = &[
    (
        "pod-create-bad-os-linux-winoptions",
        "windowsOptions against os=linux",
    ),
    (
        "pod-create-bad-os-name",
        "a name that is no operating system",
    ),
    (
        "pod-create-os-conflict-selector",
        "os=windows against a Linux selector",
    ),
    (
        "pod-create-win-hostprocess",
        "HostProcess is said in windowsOptions",
    ),
    (
        "pod-create-win-hostprocess-os",
        "HostProcess is said in windowsOptions",
    ),
    (
        "pod-create-bad-hostprocess-mixed",
        "HostProcess is said in windowsOptions",
    ),
];

/// What a recording without its decisive evidence is held to: the recording of the same pod that
/// has a selector only, or else (`os` is what the patch makes of it) its own line.
#[test]
fn recordings_with_an_image_as_their_only_evidence_get_the_answers_of_their_twins() {
    let expectations = expectations();
    let facts = Facts::default();
    let default = Policy::default();
    let (mut judged_all, mut left_out) = (0, Vec::new());
    for (name, mut review) in reviews() {
        let (base, end) = name.rsplit_once('.').unwrap();
        if ABOUT_EVIDENCE.iter().any(|(about, _)| *about == base) {
            left_out.push(base.to_owned());
            continue;
        }
        let body = serde_json::to_vec(&review).unwrap();
        if detected(&body, &default, &facts).0 != Some(Os::Windows) {
            continue;
        }
        let says_os = pod_spec(&review["request"]["object"])["os"]["name"] == "windows";
        objects_of(&mut review).for_each(|object| {
            strip(object);
            set_images(object, CERTAIN);
        });
        let object = review["request"]["object"].clone();
        let body = serde_json::to_vec(&review).unwrap();
        let found = detected(&body, &default, &facts);
        assert_eq!(
            found,
            (Some(Os::Windows), Some(Source::CertainImage)),
            "{name}"
        );

        let twin = format!("{}.{end}", base.replace("winos-", "win-"));
        let own = &expectations[&name];
        let mut expected = match expectations.get(&twin) {
            // The API server made a field of the twin's annotation, as nothing said os=windows.
            Some(_) if name == "pod-create-winos-apparmor-annotation.validating" => own.clone(),
            Some(twin) => twin.clone(),
            None => own.clone(),
        };
        let has_own_line_only = says_os && (twin == name || !expectations.contains_key(&twin));
        if has_own_line_only && end == "mutating" && !own.deny.is_empty() {
            // What the API server refuses beside os=windows is /validate's without it.
            expected.deny.clear();
            expected.warn.clear();
            expected.patch = match object["kind"].as_str() {
                Some("Pod" | "DaemonSet") => "toleration".to_owned(),
                _ => String::new(),
            };
        } else if has_own_line_only && !expected.patch.is_empty() {
            expected.patch = "os toleration".to_owned();
        }

        let answer = judged(&name, &review);
        finds(&name, &answer, &expected);
        let patched = answer.patched(&object);
        let spec = pod_spec(&patched);
        let says = |word| expected.patch.split(' ').any(|w| w == word);
        assert_eq!(spec["os"]["name"] == "windows", says("os"), "{name}: os");
        assert_eq!(
            has_toleration(spec),
            says("toleration"),
            "{name}: toleration"
        );
        // A DaemonSet's pod keeps the selector of its template, here none.
        let of_daemon_set = object["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet";
        let selector = says("toleration") && !of_daemon_set;
        assert_eq!(
            spec["nodeSelector"][OS] == "windows",
            selector,
            "{name}: selector"
        );
        judged_all += 1;
    }
    assert!(judged_all > 200, "{judged_all}");
    left_out.dedup();
    assert_eq!(left_out.len(), ABOUT_EVIDENCE.len(), "{left_out:?}");
}
